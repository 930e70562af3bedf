import { longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import type { Gate } from "#shared/values/gates.ts";
import { longMonth } from "../kit/document.ts";
import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { inNumbers } from "../kit/signed_in_views.ts";
import { claimButton, renewButton } from "./frame.ts";
import { nameOf } from "./mandates.ts";
import type { Account, Earned, Overview, Progress } from "./model.ts";
import { barredBy, quarterName } from "./money.ts";
import type { MijnFrame } from "./request.ts";
import { WORDS } from "./words.ts";

/** With more accounts than this, the page shows only accounts that wait for the person. */
const MANY = 5;

type Step = "signed" | "approved" | "charger" | "first_kwh" | "booked" | "sold" | "paid";

/** What a step waits for: who must act, and what is said of it. */
type Wait = { who: "you" | "us" | "cpo" | null; said: Html };

/** A completed step shows its day, if known. An open step says what it waits for, unless earlier steps are open. */
type Shown = { step: Step; done: boolean; when: string | null; waits: readonly Wait[]; ended?: boolean; of?: Reached };

/** The last quarter that got as far as a step, by its first day, and how many that are over did not. */
type Reached = { step: keyof typeof REACHED; last: string | undefined; rest: number };

/** From signed to paid for each account, with days, the next step, and who must do it; and whether the person must do anything. */
export function progressOf(frame: MijnFrame, overview: Overview): { shown: Html; asks: boolean } {
  const words = WORDS[frame.locale].progress;
  const { accounts, progress } = overview;
  const owes = overview.paid.debts.length > 0;
  const all = accounts.flatMap((account) => {
    const of = progress[account.account_id];
    if (!of) return [];
    // the quarters are of all accounts together
    const steps = stepsOf(frame, account, of).map((step) =>
      accounts.length > 1 ? step : { ...step, ...reachedBy(step.step, overview, of.booked_quarters) },
    );
    return [{ account, steps, waits: steps.some((step) => step.waits.some(({ who }) => who === "you")) }];
  });
  const shown = all.length > MANY ? all.filter(({ waits }) => waits) : all;
  const others = all.length - shown.length;
  const page = html`${
    shown.length === 1 && others === 0
      ? timeline(frame, shown[0]?.account, shown[0]?.steps ?? [], owes)
      : shown.map(
          ({ account, steps, waits }) =>
            html`<details${waits ? html` open` : ""}><summary>${nameOf(account)}: ${nextOf(frame, steps)}</summary>
${timeline(frame, account, steps, owes)}</details>`,
        )
  }
${others > 0 ? html`<p>${words.others(inNumbers(frame, others))}</p>` : ""}`;
  return { shown: page, asks: all.some(({ waits }) => waits) };
}

/** Whether a quarter got as far as a step. */
const REACHED = {
  booked: ({ quarter }: Earned, booked: readonly string[]) => booked.includes(quarter),
  sold: ({ sold_ere }: Earned) => sold_ere > 0,
  paid: ({ net_eur, unpaid_eur }: Earned) => net_eur > 0 && unpaid_eur <= 0,
};

/** How far the quarters are that count, for the steps that each quarter takes. */
function reachedBy(step: Step, { quarters, month, paid }: Overview, booked: readonly string[]): { of?: Reached } {
  const over = (first: string) =>
    first.slice(0, 4) < month.slice(0, 4) || Number(first.slice(5, 7)) + 3 <= Number(month.slice(5, 7));
  if (!(step === "booked" || step === "sold" || step === "paid")) return {};
  const is = (quarter: Earned) => REACHED[step](quarter, booked);
  const open = quarters.filter((each) => each.ere > 0 && over(each.quarter) && !is(each));
  // of a debt a quarter was paid, although nothing of it is sold now
  const rest = step === "paid" && paid.debts.length > 0 ? 0 : open.length;
  return { of: { step, last: quarters.findLast(is)?.quarter, rest } };
}

/** The first step that waits, in a few words. */
function nextOf(frame: MijnFrame, steps: readonly Shown[]): string {
  const words = WORDS[frame.locale].progress;
  const next = steps.find(({ waits, ended }) => waits.length > 0 || ended);
  if (!next) return words.goes_on_short;
  return next.ended ? words.withdrawn_short : words.next(words.steps[next.step].open);
}

function timeline(frame: MijnFrame, account: Account | undefined, steps: readonly Shown[], owes: boolean): Html {
  const words = WORDS[frame.locale].progress;
  const settled = !owes && steps.every(({ done, waits, ended }) => done && waits.length === 0 && !ended);
  return html`${settled ? html`<p>${account?.payout_handler === "via_cpo_invoicing" && account.cpo ? words.goes_on_via(account.cpo) : words.goes_on}</p>` : ""}
<ol class="timeline">${steps.map(({ step, done, when, waits, ended, of }) => {
    const { done: was, open } = words.steps[step];
    const name = !done ? open : of?.last ? words.of_quarter(was, quarterName(frame, of.last)) : was;
    const rest = done && of?.last && of.rest > 0 ? words.rest[of.step](of.rest) : "";
    const now = waits.length > 0;
    const state = ended
      ? "ended"
      : now
        ? waits.some(({ who }) => who === "you")
          ? "yours"
          : "now"
        : done
          ? "done"
          : "later";
    return html`<li class="${state}"${now ? html` aria-current="step"` : ""}><strong>${ended ? words.withdrawn : name}</strong>${when ? html` <span>${when}</span>` : done ? html`<span class="hidden"> ${words.done}</span>` : now ? "" : html`<span class="hidden"> ${words.later}</span>`}${rest ? html`<p class="quiet">${rest}</p>` : ""}
${waits.map(({ who, said }) => html`<div>${who ? html`<p class="who">${who === "cpo" ? words.who.cpo(account?.cpo ?? "") : words.who[who]}</p>` : ""}${said}</div>`)}</li>`;
  })}</ol>`;
}

function stepsOf(frame: MijnFrame, account: Account, progress: Progress): Shown[] {
  const words = WORDS[frame.locale].progress;
  const day = (date: string | null) => date && longDate(date, frame.words);
  const { cpo, connections, checklist, chargers } = account;
  const has = (...statuses: Account["connections"][number]["mandate_status"][]) =>
    connections.some(({ mandate_status }) => statuses.includes(mandate_status));
  const withdrawn = has("revoked") && !has("signed", "expired", "pending");
  const approved = connections.some(({ registration_status }) => registration_status === "goedgekeurd");
  const wait = (who: Wait["who"], text: string | Html): Wait => ({
    who,
    said: typeof text === "string" ? html`<p>${text}</p>` : text,
  });
  const latest = (date: string | null) => date && words.latest(day(date) ?? "");

  const signing: Wait[] = signAgain(frame, account);
  if (progress.signed_on === null && !withdrawn) signing.push(wait("you", WORDS[frame.locale].overview.unsigned));
  const connected = chargers.with_mid > 0;
  const isSigned = checklist.mandate_signed;
  const charger = isSigned && !connected ? chargerWaits(frame, account, progress) : [];
  const needed = isSigned ? needs(frame, account) : [];
  const reviewed = () => approvalWaits(frame, account, charger.length > 0);
  const approval = approved || !isSigned ? [] : needed.length > 0 ? needed : reviewed();
  const first: Wait[] =
    progress.first_month !== null || !connected || !isSigned
      ? []
      : [cpo ? wait("cpo", words.first_kwh_via(cpo)) : wait("you", firstKwh(frame))];
  // what others do comes after what the person must do
  const goes = approved && progress.first_month !== null;
  const back = cameBack(frame, account);
  const steps: Shown[] = [
    {
      step: "signed",
      done: progress.signed_on !== null,
      when: withdrawn ? day(progress.withdrawn_on) : day(progress.signed_on),
      waits: withdrawn ? [] : signing,
      ended: withdrawn,
    },
    { step: "approved", done: approved, when: day(progress.approved_on), waits: approval },
    { step: "charger", done: connected, when: day(progress.charger_on), waits: charger },
    {
      step: "first_kwh",
      done: progress.first_month !== null,
      when: progress.first_month && longMonth(progress.first_month, frame.words),
      waits: first,
    },
    {
      step: "booked",
      done: progress.booked_on !== null,
      when: latest(progress.booked_on),
      waits: [...(approved ? needed : []), ...(goes && progress.booked_on === null ? [wait("us", words.booking)] : [])],
    },
    {
      step: "sold",
      done: progress.sold_on !== null,
      when: latest(progress.sold_on),
      waits: progress.booked_on !== null && progress.sold_on === null ? [wait("us", words.selling)] : [],
    },
    {
      step: "paid",
      done: progress.paid_on !== null,
      when: latest(progress.paid_on),
      waits:
        back.length > 0
          ? back
          : progress.sold_on !== null && progress.paid_on === null
            ? [wait("us", paying(frame, account))]
            : [],
    },
  ];
  if (!withdrawn) return steps;
  // what was withdrawn goes no further than what is booked
  const kept = steps.filter(
    ({ step, done }) => step === "signed" || done || (progress.booked_on !== null && step !== "charger"),
  );
  return kept.map((step) => (step.ended ? { ...step, waits: [wait(null, after(frame, account, progress))] } : step));
}

/** After a withdrawal: what still comes, and how to come back. */
function after(frame: MijnFrame, account: Account, progress: Progress): Html {
  const { cpo, connections } = account;
  const words = WORDS[frame.locale].progress;
  const signs = !cpo && connections.some(({ may_sign_again }) => may_sign_again);
  const how = cpo ? words.again_via(cpo) : signs ? words.sign_again : words.again;
  const way = signs
    ? toClaim(frame, account, "/mandate", WORDS[frame.locale].overview.sign_again.action)
    : mailUs(frame);
  return html`<p>${progress.first_month === null ? words.withdrawn_nothing : words.withdrawn_kept} ${how}</p>${cpo ? "" : way}`;
}

const mailUs = (frame: MijnFrame) =>
  html`<p><a class="link" href="mailto:${frame.config.SUPPORT_EMAIL}">${WORDS[frame.locale].overview.mail_us}</a></p>`;

/** A button to the claim pages of an account that has some; the others write. */
const toClaim = (frame: MijnFrame, { account_id, draft_id }: Account, page: string, label: string) =>
  draft_id ? claimButton(frame, account_id, page, label) : mailUs(frame);

function signAgain(frame: MijnFrame, account: Account): Wait[] {
  const { sign_again } = WORDS[frame.locale].overview;
  const renewable = account.connections.filter(({ may_sign_again }) => may_sign_again);
  const said = (button: Html): Wait => ({ who: "you", said: html`<p>${sign_again.text}</p>${button}` });
  if (renewable.length === 0) return [];
  return account.cpo
    ? renewable.map(({ connection_id }) =>
        said(renewButton(frame, account.account_id, connection_id, sign_again.action)),
      )
    : [said(toClaim(frame, account, "/mandate", sign_again.action))];
}

/** A charger that counts is not known yet. */
function chargerWaits(frame: MijnFrame, account: Account, { silent_chargers }: Progress): Wait[] {
  const { overview, progress: words } = WORDS[frame.locale];
  const { cpo, chargers } = account;
  if (silent_chargers.length > 0)
    return [
      {
        who: "you",
        said: html`<p>${words.silent(silent_chargers.join(", "))}</p><p><a class="link" href="${frame.to("/chargers")}">${words.silent_action}</a></p>`,
      },
    ];
  if (chargers.waiting > 0) return [{ who: "us", said: html`<p>${words.mid_waits}</p>` }];
  const { text, action } = overview[chargers.count === 0 ? "charger" : "mid_charger"];
  if (cpo) return [{ who: "cpo", said: html`<p>${text} ${overview.ask_cpo(cpo)}</p>` }];
  return [{ who: "you", said: html`<p>${text}</p>${toClaim(frame, account, "/charger", action)}` }];
}

/** Where the person gives the account number of an account that the service pays. */
const toIban = (frame: MijnFrame, account: Account, label: string) =>
  account.cpo
    ? html`<p><a class="link" href="${frame.to(`/account/${account.account_id}`)}">${label}</a></p>`
    : toClaim(frame, account, "/payout", label);

/** A payment came back, and nothing is paid before the person acts. */
function cameBack(frame: MijnFrame, account: Account): Wait[] {
  const back = barredBy(account);
  if (!back) return [];
  const { text, action } = WORDS[frame.locale].overview.back[back.because];
  const way = back.because === "account" ? toIban(frame, account, action) : mailUs(frame);
  return [{ who: "you", said: html`<p>${text(back.iban_last4)}</p>${way}` }];
}

/** What an account lacks beside a charger, which is a step of its own. */
function needs(frame: MijnFrame, account: Account): Wait[] {
  const { overview } = WORDS[frame.locale];
  const { cpo, checklist, connections, payout_handler } = account;
  const iban = (): Wait[] => {
    if (checklist.iban_present) return [];
    if (payout_handler !== "service_pays_customer")
      return cpo ? [{ who: "you", said: html`<p>${overview.iban_via(cpo)}</p>` }] : [];
    const { text, action } = overview.iban;
    return [{ who: "you", said: html`<p>${text}</p>${toIban(frame, account, action)}` }];
  };
  const ean = (): Wait[] => {
    if (!connections.some(({ ean_validation_status: is }) => is === "mismatch" || is === "not_found")) return [];
    return cpo
      ? [{ who: "cpo", said: html`<p>${overview.ean_via(cpo)}</p>` }]
      : [{ who: "you", said: html`<p>${overview.ean}</p>${mailUs(frame)}` }];
  };
  // signing and the charger are steps of their own
  const lacks: Record<Gate, () => Wait[]> = {
    iban_present: iban,
    ean_validated: ean,
    mid_charger_registered: () => [],
    mandate_signed: () => [],
  };
  return Object.values(lacks).flatMap((waits) => waits());
}

/** Where a registration is that lacks nothing we know of. */
function approvalWaits(frame: MijnFrame, { connections, chargers }: Account, chargerMissing: boolean): Wait[] {
  const words = WORDS[frame.locale].progress;
  const is = (status: string) => connections.some(({ registration_status }) => registration_status === status);
  // nothing else is lacking: whoever finds out has it judged again
  if (is("afgekeurd") && chargerMissing && chargers.waiting > 0)
    return [{ who: "us", said: html`<p>${words.rejected_mid}</p>` }];
  if (is("afgekeurd")) return [{ who: "you", said: html`<p>${words.rejected}</p>${mailUs(frame)}` }];
  if (is("ingediend")) return [{ who: "us", said: html`<p>${words.reviewing}</p>` }];
  return chargerMissing ? [] : [{ who: "us", said: html`<p>${words.checking}</p>` }];
}

function firstKwh(frame: MijnFrame): Html {
  const words = WORDS[frame.locale].progress;
  return html`<p>${words.first_kwh}</p><p><a class="link" href="${frame.to("/chargers")}">${words.silent_action}</a></p>`;
}

function paying(frame: MijnFrame, { payout_handler, cpo }: Account): string {
  const words = WORDS[frame.locale].progress;
  return payout_handler === "via_cpo_invoicing" && cpo ? words.paying_via(cpo) : words.paying;
}
