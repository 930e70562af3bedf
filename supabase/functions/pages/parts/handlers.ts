import { inEuro } from "#shared/domain/mail/notices.ts";
import { DARK, LIGHT } from "#shared/look/palette.ts";
import { type Frame, type Html, layout } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import type { Handler } from "../kit/page_request.ts";
import { accountMenu } from "../kit/parts/account_menu.ts";
import { bottomBar } from "../kit/parts/bottom_bar.ts";
import { chart } from "../kit/parts/chart.ts";
import { type ChipKind, chip } from "../kit/parts/chip.ts";
import { empty } from "../kit/parts/empty.ts";
import { figure, figures } from "../kit/parts/figure.ts";
import { chipLinks, filterBar } from "../kit/parts/filter_bar.ts";
import { ICONS, icon } from "../kit/parts/icons.ts";
import { records } from "../kit/parts/records.ts";
import { rowList } from "../kit/parts/rows.ts";
import { secretBox } from "../kit/parts/secret.ts";
import { WORDS } from "./words.ts";

const PATH = "/docs/parts";

const showParts: Handler = (request) => request.page(partsPage(request.frame));

/** The colors of each theme for what lies within it, whatever the browser asks for. */
const showPartsStyle: Handler = ({ c }) =>
  c.body(
    `.light {${LIGHT} color-scheme: light; } .dark {${DARK} color-scheme: dark; }
.light, .dark { padding: 1.25rem; border-radius: 12px; background: var(--sheet); color: var(--ink); }
.beside .bar { position: static; } .beside .signed-in[open] { padding-bottom: 9rem; }`,
    200,
    { "Content-Type": "text/css; charset=utf-8", "Cache-Control": "public, max-age=3600" },
  );

function partsPage(frame: Frame): Html {
  const words = WORDS[frame.locale];
  return layout(frame, {
    title: words.title,
    style: `${PATH}.css`,
    menu: html``,
    body: html`<p class="lead">${words.lead}</p>
<div class="beside">${(["light", "dark"] as const).map(
      (theme) => html`<section class="${theme}" aria-label="${words[theme]}"><h2>${words[theme]}</h2>
${allParts(frame, theme)}</section>`,
    )}</div>`,
  });
}

function allParts(frame: Frame, theme: string): Html {
  const words = WORDS[frame.locale];
  const euro = (amount: number) => inEuro(amount, frame.locale);
  const here = frame.to(PATH);
  const months = [204, 216, 96, 0, 332, 1180, 216, 204, 204, 416, 332, 12];
  const name = new Intl.DateTimeFormat(frame.words.date_locale, { month: "short", timeZone: "UTC" });
  return html`<h3>${words.chips}</h3>
<p>${Object.entries(words.states).map(([kind, word]) => html`${chip(kind as ChipKind, word)} `)}${chip("way", words.long)}</p>
<h3>${words.icons}</h3>
<p>${ICONS.map((each) => html`${icon(each)} <small>${each}</small> `)}</p>
<h3>${words.figure}</h3>
${figure(euro(67.72), words.got, words.change)}
${figures([
  { name: words.expected, value: euro(-66.53) },
  { name: words.charged, value: "2.208 kWh", small: words.change },
])}
<h3>${words.rows}</h3>
${rowList([
  {
    href: here,
    what: words.quarter,
    when: words.paid_on,
    amount: euro(67.72),
    chip: chip("done", words.states.done),
    opens: "pdf",
    as: "pdf",
  },
  { href: here, what: "Sanne de Vries", when: words.customer, chip: chip("stopped", words.states.stopped) },
])}
<h3>${words.filter}</h3>
${chipLinks(`${words.filter}, ${words[theme as "light"]}`, [
  { href: here, label: words.all, count: "123", on: true },
  { href: here, label: words.states.yours, count: "4", on: false },
])}
${theme === "light" ? filterBar({ action: here, kept: {}, label: words.search, hint: words.search_hint, value: "", submit: words.search, chips: { label: words.filter, without: words.without }, chosen: [{ href: here, label: words.states.done, count: "4" }], often: [{ href: here, label: words.states.way, count: "12" }], clear: { href: here, label: words.all }, more: { label: words.more, fields: html`` } }) : ""}
<h3>${words.records}</h3>
${records(
  `${words.records}, ${words[theme as "light"]}`,
  [
    { name: words.name },
    { name: words.state, place: "state" },
    { name: words.charger, place: "figure" },
    { name: words.since, place: "date" },
  ],
  [
    [
      html`<a href="${here}">Sanne de Vries</a>`,
      chip("done", words.states.done),
      "Alfen Eve",
      name.format(new Date(Date.UTC(2026, 2))),
    ],
  ],
)}
<h3>${words.chart}</h3>
${chart({
  title: `${words.chart_title}, ${words[theme as "light"]}`,
  points: months.map((value, month) => {
    const short = name.format(new Date(Date.UTC(2026, month)));
    return { short, value: String(value), said: `${short}: ${value} kWh`, values: [value] };
  }),
})}
${chart({
  title: `${words.chart_title}, 2, ${words[theme as "light"]}`,
  points: [
    [60, 0, 0],
    [30, 20, 0],
    [0, 10, 35],
  ].map((values, at) => ({
    short: `K${at + 1}`,
    value: euro(values.reduce((all, each) => all + each)),
    said: `K${at + 1}: ${values.map(euro).join(", ")}`,
    values,
  })),
})}
<h3>${words.empty}</h3>
${empty("bank", words.none, { href: here, label: words.next })}
<h3>${words.secret}</h3>
${secretBox("wss://ocpp.example.com/ere-2b7f0c1d9e4a")}
<h3>${words.menu}</h3>
${accountMenu("sanne@voorbeeld.nl", words.signed_in, html`<p><a href="${here}">${words.sign_out}</a></p>`)}
<h3>${words.bar}</h3>
${bottomBar(html`<strong>± ${euro(279)}</strong> ${words.a_year}`, html`<a class="button" href="${here}">${words.go_on}</a>`)}`;
}

export const handlers = { showParts, showPartsStyle };
