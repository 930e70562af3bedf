import { longMonth } from "../kit/document.ts";
import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { figure } from "../kit/parts/figure.ts";
import { chartOfMonths, inNumbers, table } from "../kit/signed_in_views.ts";
import type { IdleCharger, LeftOut, Month } from "./model.ts";
import type { MijnFrame } from "./request.ts";
import { WORDS } from "./words.ts";

/** The twelve months of a year, those without charging too. */
function whole(year: number, months: readonly Month[]): Month[] {
  return Array.from({ length: 12 }, (_, index) => {
    const month = `${year}-${String(index + 1).padStart(2, "0")}-01`;
    return months.find((known) => known.month === month) ?? { month, kwh: 0, sessions: 0, ere_credits: 0 };
  });
}

const sumOf = (months: readonly Month[], of: "kwh" | "sessions" | "ere_credits") =>
  months.reduce((sum, month) => sum + month[of], 0);

/** The sessions of some months, where they are known, and what is earned by them. */
const earnedBy = (frame: MijnFrame, sessions: number, ere: number) => [
  ...(frame.is_signatory ? [] : [`${inNumbers(frame, sessions)} ${WORDS[frame.locale].months.of_sessions(sessions)}`]),
  `${inNumbers(frame, ere, 2)} ERE`,
];

/** What was charged in a year, in large. */
export const yearFigure = (frame: MijnFrame, months: readonly Month[]): Html =>
  figure(
    `${inNumbers(frame, sumOf(months, "kwh"))} kWh`,
    earnedBy(frame, sumOf(months, "sessions"), sumOf(months, "ere_credits")).join(", "),
  );

/** A year as twelve columns. The same numbers stand in monthTable(). */
export function monthBars(frame: MijnFrame, year: number, months: readonly Month[]): Html {
  const words = WORDS[frame.locale].months;
  const all = whole(year, months);
  const total = sumOf(all, "kwh");
  const most = all.reduce((best, month) => (month.kwh > best.kwh ? month : best));
  const said = total > 0 ? words.description(inNumbers(frame, total), longMonth(most.month, frame.words)) : words.none;
  return chartOfMonths(
    frame,
    `${words.title(year)}. ${said}`,
    all.map(({ month, kwh, sessions, ere_credits }) => ({
      day: month,
      value: kwh,
      href: kwh > 0 ? sessionsOf(frame, year, month) : undefined,
      said: [
        `${inNumbers(frame, kwh, Number.isInteger(kwh) ? 0 : 1)} kWh`,
        ...earnedBy(frame, sessions, ere_credits),
      ].join(", "),
    })),
  );
}

/** Where the sessions of a month are; nowhere for the customer of a CPO, which delivers totals. */
const sessionsOf = (frame: MijnFrame, year: number, month: string): string | undefined =>
  frame.is_signatory
    ? undefined
    : `${frame.to("/charging", { year: String(year), month: month.slice(0, 7) })}#sessions`;

/** The months in which something was charged, each a link to its sessions. */
export function monthTable(frame: MijnFrame, year: number, months: readonly Month[], label: string): Html {
  const words = WORDS[frame.locale].months;
  const total = (of: "kwh" | "sessions" | "ere_credits") => sumOf(months, of);
  const cells = (kwh: number, sessions: number, ere: number) => [
    inNumbers(frame, kwh),
    inNumbers(frame, sessions),
    inNumbers(frame, ere, 2),
  ];
  const name = new Intl.DateTimeFormat(frame.words.date_locale, { month: "long", timeZone: "UTC" });
  return table(
    label,
    [words.month, words.kwh, words.sessions, words.ere].map((name) => ({ name })),
    months.map(({ month, kwh, sessions, ere_credits }) => {
      const [href, said] = [sessionsOf(frame, year, month), name.format(new Date(month))];
      return [href ? html`<a href="${href}">${said}</a>` : said, ...cells(kwh, sessions, ere_credits)];
    }),
    { total: [words.total, ...cells(total("kwh"), total("sessions"), total("ere_credits"))] },
  );
}

/** What of a year does not count, by charger and by month, why, and what to do: the register's own words where it gave any. */
export function leftOut(
  frame: MijnFrame,
  { left_out, idle_chargers }: { left_out: readonly LeftOut[]; idle_chargers: readonly IdleCharger[] },
): Html {
  if (left_out.length + idle_chargers.length === 0) return html``;
  const words = WORDS[frame.locale].left_out;
  return html`<section aria-labelledby="left-out"><h2 id="left-out">${words.title}</h2>
<ul>${idle_chargers.map(({ name, kwh, why }) => html`<li>${words.charger(inNumbers(frame, kwh), name)} ${words[why]}</li>`)}
${left_out.map(({ month, kwh, why, reason }) => html`<li>${words.line(inNumbers(frame, kwh), longMonth(month, frame.words))} ${words[why]}${reason ? html` ${words.reason(reason)}` : ""}</li>`)}</ul>
${idle_chargers.length > 0 ? html`<p><a class="link" href="${frame.to("/chargers")}">${WORDS[frame.locale].chargers.title}</a></p>` : ""}
</section>`;
}
