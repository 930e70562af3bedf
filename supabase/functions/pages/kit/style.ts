import { createHash } from "node:crypto";
import { type Shade, shadesOf } from "#shared/domain/brand.ts";
import { FONT_STACK, LETTERS, PALETTE } from "#shared/look/palette.ts";
import { PARTS_STYLE } from "./parts/style.ts";

/** The one style sheet. Plain CSS, served from the pages' own origin; nothing in it moves. */
export const STYLE = `
${PALETTE}
*, ::before, ::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
${LETTERS}
body {
  margin: 0; min-height: 100vh; min-height: 100svh; display: flex; flex-direction: column;
  background: var(--ground); color: var(--ink);
  font: 1.0625rem/1.6 ${FONT_STACK};
  overflow-wrap: break-word;
  --width: 44rem; --edge-of-page: max(1.25rem, calc(50% - var(--width) / 2));
}
/* what is read keeps its measure, what is compared uses the width */
.area { --width: 76rem; }
.area main :is(h1, h2, h3, p, ul, ol, dl, .panel, .status, .field, .pair, fieldset, .errors, .document) { max-width: 42rem; }
.area main .figures { max-width: none; }
/* a page that only asks or says something has its measure in the middle */
.area main:not(:has(.beside, .chart, .figures, .scroll, .cards, .filter, .rows, .log, .funnel, pre)) > * { max-width: 42rem; margin-inline: auto; }
header, main, footer, .menu { width: 100%; margin: 0; padding-left: var(--edge-of-page); padding-right: var(--edge-of-page); }
header { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 0 1rem; padding-top: .5rem; padding-bottom: .5rem; background: var(--sheet); border-bottom: 1px solid var(--line); }
main { padding-top: 1.75rem; padding-bottom: 3rem; }
footer { margin-top: auto; padding-top: 1.5rem; padding-bottom: 2rem; color: var(--quiet); font-size: 1rem; }
footer p { margin: 0; }
footer a { display: inline-flex; align-items: center; min-height: 2.75rem; }
@media (min-width: 48rem) {
  main { width: min(100% - 2.5rem, var(--width)); margin: 2.5rem auto; padding: 2.75rem 3.25rem 3.25rem; background: var(--sheet); border: 1px solid var(--line); border-radius: 16px; }
  .area main { margin-top: 1.75rem; padding: 2.25rem 2.5rem 2.75rem; }
}

.menu { flex-wrap: wrap; padding-left: calc(var(--edge-of-page) - .75rem); padding-right: calc(var(--edge-of-page) - .75rem); background: var(--sheet); border-bottom: 1px solid var(--line); }
.menu a, .years a { display: flex; align-items: center; justify-content: center; min-height: 2.75rem; padding: 0 .75rem; border-bottom: 3px solid transparent; text-decoration: none; }
.menu a { margin-bottom: -1px; }
.menu a:hover, .years a:hover { border-bottom-color: var(--edge); }
.menu a[aria-current], .years a[aria-current] { border-bottom-color: var(--accent); color: var(--ink); font-weight: 650; }
.menu details { margin: 0; }
.menu summary { padding: 0 .75rem; border-bottom: 3px solid transparent; font-weight: 400; }
.menu details > * { width: fit-content; }
.menu :not([open]) > .here { border-bottom-color: var(--accent); color: var(--ink); font-weight: 650; }
.menu [open] { flex-basis: 100%; }
@media (min-width: 40rem) { @supports selector(::details-content) { .menu details, .menu ::details-content { display: contents; content-visibility: visible; } .menu summary { display: none; } } }
.years { flex-wrap: wrap; margin-bottom: 1rem; }
@media (max-width: 30rem) { .menu { padding-left: .75rem; padding-right: .75rem; font-size: .9375rem; } .menu :is(a, summary) { padding: 0 .5rem; } .menu summary::before { width: .9rem; } }
@media (max-width: 25rem) { .menu { padding-left: .5rem; padding-right: .5rem; } .menu :is(a, summary) { padding: 0 .3rem; } }
@media (max-width: 21rem) { .menu { font-size: .875rem; } .menu :is(a, summary) { padding: 0 .2rem; } .menu summary::before { width: .7rem; } }

@media (min-width: 48rem) { .area .blocks :is(td, th) { padding-inline: .6rem; } .area .blocks th:first-child { padding-left: 0; } .area .blocks :is(td, th):last-child { padding-right: 0; } }

header nav { flex: none; }
/* a phone has room for the language to change to */
@media (max-width: 30rem) { header nav [aria-current] { display: none; } }
.service { min-width: 0; display: flex; align-items: center; gap: .6rem; margin: 0; font-weight: 650; overflow-wrap: anywhere; }
/* a long name is read whole by whoever does not see it, and on hover */
.service:has(.name) { flex: 1 1 9rem; }
.service .name { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden; line-height: 1.35; }
@media print { .service .name { display: inline; } }
/* a bolt in a leaf: decoration, so it has no name */
.mark { position: relative; padding-left: calc(28px + .6rem); }
.mark::before { content: ""; position: absolute; top: 50%; left: 0; width: 28px; height: 28px; margin-top: -14px; background: var(--accent); clip-path: path(evenodd, "M4 24V14C4 8.5 8.5 4 14 4h10v10c0 5.5-4.5 10-10 10zM15.6 7.5 9.5 15.2h4.1l-1.2 5.3 6.1-7.7h-4.1z"); forced-color-adjust: none; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.service small { display: block; font-size: .9375rem; font-weight: 400; color: var(--quiet); }
/* a logo is made for paper, so it stands on white where the page is dark; its name is read where it does not load */
.logo { display: block; box-sizing: content-box; max-width: 100%; height: auto; color: var(--ink); }
@media (prefers-color-scheme: dark) { .logo { padding: .35rem; border-radius: 6px; background: #fff; color: #17211c; } }
nav { display: flex; margin: 0 -.5rem; font-size: 1rem; }
nav a, nav span { display: flex; align-items: center; min-height: 2.75rem; min-width: 2.75rem; padding: 0 .5rem; }
nav span { color: var(--quiet); }

h1, h2, h3 { line-height: 1.25; text-wrap: balance; }
h1 { margin: 0 0 1rem; font-size: clamp(1.625rem, 1.4rem + 1.2vw, 2rem); letter-spacing: -.015em; font-weight: 700; }
h2 { margin: 2.5rem 0 .5rem; font-size: 1.3rem; }
p, ul, ol { margin: 0 0 1rem; }
p, li { text-wrap: pretty; }
ul { padding-left: 1.3rem; }
li { margin-bottom: .35rem; }
.lead { font-size: 1.1875rem; line-height: 1.5; }
.quiet { color: var(--quiet); }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
a { color: var(--accent); text-underline-offset: .18em; text-decoration-thickness: .07em; }
a:hover { color: var(--accent-strong); text-decoration-thickness: .14em; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 3px; border-radius: 4px; }

.up { margin: -.75rem 0 .25rem; }
.up a { gap: .4rem; text-decoration: none; }
.up a:hover { text-decoration: underline; }
.up a::before { content: "←" / ""; }
.skip { position: absolute; left: 1rem; top: -5rem; padding: .6rem 1rem; background: var(--sheet); border-radius: 8px; }
.skip:focus { top: .5rem; }
.steps { margin: 0 0 1.5rem; font-size: 1rem; color: var(--quiet); }
.steps p { margin: 0 0 .5rem; }
.steps strong { color: var(--ink); font-weight: 650; }
.track { display: grid; grid-auto-flow: column; grid-auto-columns: 1fr; gap: .25rem; }
.track span { border-top: 6px solid var(--line); border-radius: 3px; }
.track .past { border-top-color: var(--accent); }

.document { margin: 1.75rem 0; padding: 1.75rem 1.75rem 1rem; background: var(--sheet); border: 1px solid var(--line); border-top: 4px solid var(--accent); border-radius: 10px; }
.document h2 { margin: 0 0 1.25rem; font-size: 1.3rem; }
.document h3 { margin: 1.5rem 0 .5rem; padding-top: 1.25rem; border-top: 1px solid var(--line); font-size: 1.0625rem; }
.document section:first-of-type h3 { margin-top: 0; }
.document details { margin: 0; border-top: 1px solid var(--line); }
.document summary { padding: .35rem 0; }
.document summary h3 { margin: 0; padding: 0; border: 0; }
dl { margin: 0 0 1rem; }
dl div { display: grid; grid-template-columns: minmax(8rem, 30%) 1fr; gap: 0 1rem; padding: .2rem 0; }
dt { color: var(--quiet); }
dd { margin: 0; font-weight: 550; min-width: 0; }
.fingerprint { font: .9rem/1.5 ui-monospace, Consolas, "Liberation Mono", monospace; overflow-wrap: anywhere; }

h2.first { margin-top: 0; }
.sheet h3 { margin: 0 0 .35rem; font-size: 1.0625rem; }
dd small, th small, td small { display: block; color: var(--quiet); font-size: .9375rem; font-weight: 400; }
code { font: .95rem/1.5 ui-monospace, Consolas, "Liberation Mono", monospace; overflow-wrap: anywhere; }
.todo { padding: 0; list-style: none; }
.todo li { margin: 0 0 1rem; padding: 1.25rem 1.5rem; background: var(--state-tint); border-left: 4px solid var(--state); border-radius: 0 10px 10px 0; }
.todo p { margin: 0; }
.todo .actions { margin-top: 1rem; }
.may { padding: 0; list-style: none; }
.may li { display: flex; gap: .75rem; margin: 0; padding: .55rem 0; border-bottom: 1px solid var(--line); }
.may .icon { flex: none; margin-top: .2rem; color: var(--accent); }
.kinds { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0 0 .5rem; padding: 0; list-style: none; }
.kinds li { display: flex; align-items: center; gap: .5rem; margin: 0; font-size: 1rem; }
.kinds li::before { content: ""; width: .9rem; height: .9rem; border: 1.5px solid var(--accent); border-radius: 3px; background: var(--accent); }
.kinds .kind-1::before { border-color: var(--way); background: var(--way); }
.kinds .kind-2::before { border: 1.5px dashed var(--edge); background: none; }
.kinds :not([class])::before { content: none; }
.money { margin-bottom: 2.25rem; }
.money .figures { margin-bottom: .75rem; }
.money details { margin-bottom: 0; }
.timeline { margin: 1rem 0 1.5rem; padding: 0; list-style: none; }
.area main .timeline { max-width: 42rem; }
.timeline li { position: relative; margin: 0; padding: 0 0 .9rem 2.5rem; }
.timeline li::before { position: absolute; left: 0; top: .05rem; z-index: 1; display: grid; place-items: center; width: 1.6rem; height: 1.6rem; border: 2px solid var(--state); border-radius: 50%; background: var(--sheet); color: var(--sheet); content: ""; font-size: .9rem; font-weight: 700; line-height: 1; }
.timeline li:not(:last-child)::after { position: absolute; left: calc(.8rem - 1px); top: 1.4rem; bottom: -.1rem; content: ""; border-left: 2px solid var(--line); }
.timeline .done::before { content: "✓" / ""; background: var(--state); color: var(--on-accent); }
.timeline .done:not(:last-child)::after { border-left-color: var(--accent); }
.timeline .now::before { border-width: 5px; }
.timeline .yours::before { content: "!" / ""; background: var(--state); }
.timeline .ended::before { content: "×" / ""; background: var(--state); }
.timeline strong { font-weight: 650; }
.timeline .later strong { color: var(--quiet); font-weight: 400; }
.timeline li > span:not(.hidden) { display: inline-block; color: var(--quiet); }
@media (max-width: 30rem) { .timeline li > span:not(.hidden) { display: block; } .timeline .button { padding-left: .5rem; padding-right: .5rem; } }
.timeline div { margin: .4rem 0 .25rem; padding: .85rem 1.1rem; border-left: 4px solid var(--state); border-radius: 0 10px 10px 0; background: var(--state-tint); }
.timeline div > :last-child { margin-bottom: 0; }
.timeline p { margin: 0 0 .4rem; }
.timeline .who { font-weight: 650; }
.timeline .actions { margin-top: .75rem; }
.scroll { overflow-x: auto; margin: 0 0 1rem; }
table { width: 100%; border-collapse: collapse; font-size: 1rem; }
td:not(.text), tfoot th { font-variant-numeric: tabular-nums; }
.texts td { font-variant-numeric: normal; }
@media (max-width: 30rem) { table { font-size: .9375rem; } dd small, th small, td small { font-size: .875rem; } }
th, td { padding: .55rem .4rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th:first-child { padding-left: 0; }
th:first-child, th.text, td.text, .texts :is(th, td) { text-align: left; }
th:last-child, td:last-child { padding-right: 0; }
thead th { color: var(--quiet); font-weight: 400; }
tbody th { font-weight: 550; }
@media (min-width: 23rem) { tbody th, tbody th .chip { white-space: nowrap; } tbody th small, .blocks th { white-space: normal; } }
.blocks tbody th { min-width: 10rem; overflow-wrap: anywhere; }
@media (min-width: 48rem) { td .chip { white-space: nowrap; } .blocks tbody th { max-width: 22rem; } }
tbody th > a { display: inline-flex; align-items: center; min-height: 1.75rem; color: var(--ink); font-weight: 650; text-decoration-color: var(--edge); }
thead a { color: inherit; text-decoration-color: transparent; }
thead a:hover { text-decoration-color: currentColor; }
[aria-sort] a { color: var(--ink); font-weight: 650; }
tfoot th, tfoot td { border-bottom: 0; font-weight: 650; }
@media screen and (max-width: 47.99rem) {
  .blocks :is(tbody, tfoot, tr, th, td) { display: block; padding: 0; border: 0; text-align: left; }
  .blocks tr { padding: 1rem 0; border-bottom: 1px solid var(--line); }
  .blocks tr:first-child { padding-top: 0; }
  .blocks th { margin-bottom: .4rem; font-size: 1.0625rem; }
  .blocks td { display: flow-root; padding: .1rem 0 .1rem 8.5rem; }
  .blocks td::before { content: attr(data-column); float: left; width: 8rem; margin-left: -8.5rem; color: var(--quiet); }
  .blocks thead, .blocks .none { display: none; }
}

.apart { margin-top: 2.5rem; }
.panel { margin: 0 0 1.75rem; padding: 1.25rem 1.5rem; background: var(--state-tint); border-left: 4px solid var(--state); border-radius: 0 10px 10px 0; }
.confirm .hint, .confirm .tick, .confirm .actions { margin-bottom: .25rem; }
.confirm { position: sticky; bottom: 0; z-index: 1; padding: .75rem 0; background: var(--ground); border-top: 1px solid var(--line); }
@media (min-width: 48rem) { .confirm { background: var(--sheet); } }
:root:has(.confirm) { scroll-padding-bottom: 10rem; }
/* in sight as soon as somebody is ticked, however long the list is */
:not(:has(:checked)) > .ticked { position: static; border-top: 0; }
.ticked .actions { margin-top: 0; }
th[aria-sort="ascending"] a::after { content: " ▲" / ""; }
th[aria-sort="descending"] a::after { content: " ▼" / ""; }
.pick { display: inline-flex; align-items: center; justify-content: center; width: 2.75rem; height: 2.75rem; margin: -.6rem 0 -.6rem -.6rem; vertical-align: middle; }
/* from a row that is ticked past the rows after it */
.pick + .skip { left: auto; top: auto; z-index: 1; opacity: 0; pointer-events: none; }
.pick + .skip:focus { opacity: 1; }
.pick:not(:has(:checked)) + .skip { display: none; }
.pick ~ a { max-width: calc(100% - 3rem); }
.pick input { width: 1.4rem; height: 1.4rem; margin: 0; accent-color: var(--accent); }
.beside { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(28rem, 100%), 1fr)); gap: 2.5rem 3rem; align-items: start; margin: 2.5rem 0; }
:is(h1, .lead) + .beside { margin-top: 0; }
.beside > * > :last-child { margin-bottom: 0; }
.funnel { margin: 0 0 1rem; padding: 0; list-style: none; }
.funnel li { display: grid; grid-template-columns: 10.5rem 1fr; gap: 0 1rem; align-items: center; margin: 0 0 .75rem; }
.funnel span { white-space: nowrap; }
.funnel svg { width: 100%; height: 1.75rem; border-radius: 5px; background: var(--tint); }
.funnel rect { fill: var(--accent); }
.funnel small { grid-column: -2; color: var(--quiet); }
@media (max-width: 24rem) { .funnel li { grid-template-columns: minmax(0, 1fr); } }
.panel > :last-child, .errors > :last-child, .sheet > :last-child { margin-bottom: 0; }
.status { position: relative; padding: 1.1rem 1.25rem 1.1rem 3.75rem; border: 1px solid var(--line); border-left: 4px solid var(--state); border-radius: 0 10px 10px 0; margin: 0 0 1.75rem; background: var(--state-tint); }
.status > :last-child { margin-bottom: 0; }
.status::before { position: absolute; left: 1.1rem; top: 1.1rem; display: grid; place-items: center; width: 1.75rem; height: 1.75rem; border-radius: 50%; background: var(--state); color: var(--sheet); font-weight: 700; line-height: 1; }
.status.done::before { content: "✓" / ""; color: var(--on-accent); }
.status.waits::before { content: "!" / ""; }
.status.withdrawn::before { content: "×" / ""; }
.status.ended { border-left-style: dashed; }
.status.ended::before { content: "–" / ""; background: none; border: 2px solid var(--edge); color: var(--ink); }
.address { font-size: 1.125rem; font-weight: 650; overflow-wrap: anywhere; }
.sheet { margin: 2.5rem 0 0; padding: 1.25rem 1.5rem; border: 1px solid var(--line); border-radius: 10px; background: var(--sheet); }
.sheet h2 { margin: 0 0 .35rem; font-size: 1.125rem; }
.offer, section.sheet { margin: 2rem 0; }
div.offer { margin: 1.25rem 0; }
.offer h3 { margin: 1.75rem 0 .35rem; font-size: 1.0625rem; }
.offer form { margin: 0 0 1rem; display: grid; grid-template-columns: 9rem auto; justify-content: start; gap: 0 .75rem; }
.offer .field { display: contents; }
.offer form .button { justify-self: start; }
.offer details { margin: 0; }
.offer details + p { margin-top: .75rem; }
.offer .field > :not(input) { grid-column: 1 / -1; }
.sum { max-width: 28rem; margin: 0 0 1.75rem; }
.sum tbody th { font-weight: 400; white-space: normal; }
.sum tfoot :is(th, td) { border-top: 2px solid var(--edge); }
.choices { margin: .75rem 0 0; padding: 0; list-style: none; }
.choices li { margin: 0; }
.choices a, .choices li[aria-current] { display: grid; grid-template-columns: 1.75rem 1fr; gap: 0 .75rem; align-items: center; min-height: 2.75rem; padding: .5rem .75rem; border: 1.5px solid transparent; border-radius: 8px; }
.choices a::before, .choices li[aria-current]::before { content: ""; grid-row: span 2; width: 1.25rem; height: 1.25rem; border: 2px solid var(--edge); border-radius: 50%; }
.choices li[aria-current] { border-color: var(--accent); background: var(--tint); }
.choices li[aria-current]::before { border: 6px solid var(--accent); }
.choices a { text-decoration: none; }
.choices a:hover { border-color: var(--edge); }
.choices small { grid-column: 2; color: var(--quiet); font-size: .9375rem; font-weight: 400; line-height: 1.4; }
.pages { margin: 0 0 1.75rem; padding: 0; list-style: none; }
.pages li { margin: 0; padding: .6rem 0; border-bottom: 1px solid var(--line); }
.pages a { display: inline-flex; align-items: center; min-height: 1.75rem; font-weight: 650; }
.pages small { display: block; color: var(--quiet); font-size: 1rem; }
.pages strong { color: var(--ink); }
.pages .actions { margin: .5rem 0; }
@media (min-width: 48rem) { .area main .log { max-width: none; } .log li { display: flex; justify-content: space-between; gap: 2rem; } .log small { flex: none; max-width: 60%; } }
details { margin: 0 0 1.75rem; }
form + details { margin-top: 1.25rem; }
summary { display: flex; align-items: center; min-height: 2.75rem; color: var(--accent); font-weight: 600; cursor: pointer; }
summary:hover { text-decoration: underline; text-underline-offset: .18em; }
summary::before { content: "+"; width: 1.4rem; font-weight: 700; }
[open] > summary::before { content: "–"; }
summary::-webkit-details-marker { display: none; }

.field { margin: 0 0 1.75rem; }
label { font-weight: 650; }
.field > label { display: block; margin-bottom: .2rem; }
.hint { margin: 0 0 .4rem; color: var(--quiet); font-size: 1rem; }
.wrong { margin: 0 0 .4rem; color: var(--wrong); font-weight: 650; }
input[type="text"], input[type="tel"], input[type="email"], input[type="password"], select { display: block; width: 100%; min-height: 3.25rem; padding: .5rem .9rem; border: 1.5px solid var(--edge); border-radius: 8px; background: var(--sheet); color: var(--ink); font: inherit; }
input[type="file"], textarea { display: block; width: 100%; min-height: 3.25rem; padding: .75rem .9rem; border: 1.5px solid var(--edge); border-radius: 8px; background: var(--sheet); color: var(--ink); font: inherit; }
textarea { resize: vertical; }
textarea[aria-invalid="true"] { border-color: var(--wrong); border-width: 2px; }
progress { width: 100%; height: 1rem; margin: 0 0 1rem; accent-color: var(--accent); }
fieldset { margin: 0 0 1.75rem; padding: 0; border: 0; min-width: 0; }
legend { padding: 0; margin-bottom: .4rem; font-weight: 650; }
.choice { display: grid; grid-template-columns: 1.75rem 1fr; gap: .75rem; align-items: start; min-height: 2.75rem; padding: .5rem 0; font-weight: 400; cursor: pointer; }
.choice input { width: 1.75rem; height: 1.75rem; margin: 0; accent-color: var(--accent); }
.choice small { display: block; color: var(--quiet); font-size: 1rem; }
.under { margin: .25rem 0 0 2.5rem; }
/* what belongs to a choice is asked once it is made */
.choice:not(:has(:checked)) + .under { display: none; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0 1.25rem; }
input.code { width: 11.5rem; font-size: 1.5rem; letter-spacing: .22em; font-variant-numeric: tabular-nums; }
input[type="file"] { display: block; width: 100%; min-height: 3.25rem; padding: .6rem .9rem; border: 1.5px dashed var(--edge); border-radius: 8px; background: var(--sheet); color: var(--ink); font: inherit; font-size: 1rem; }
input[type="file"]::file-selector-button { min-height: 1.9rem; margin-right: 1rem; padding: .1rem .9rem; border: 1.5px solid var(--accent); border-radius: 6px; background: transparent; color: var(--accent); font: inherit; font-weight: 650; cursor: pointer; }
/* as specific as the fields above, which it follows */
input[aria-invalid="true"], select[aria-invalid="true"] { border-color: var(--wrong); border-width: 2px; }
.tick input[aria-invalid="true"] { box-shadow: 0 0 0 2px var(--wrong); border-radius: 3px; }
.tick label { display: grid; grid-template-columns: 1.75rem 1fr; gap: .75rem; align-items: start; min-height: 2.75rem; padding: .5rem 0; font-weight: 400; cursor: pointer; }
.tick input { width: 1.75rem; height: 1.75rem; margin: 0; accent-color: var(--accent); }
.tick { margin-bottom: 1rem; }

.actions { display: flex; flex-wrap: wrap; align-items: center; gap: .75rem 1.75rem; margin: 1.75rem 0 0; }
.actions + p, .actions + h3, form + h3 { margin-top: 1.75rem; }
.save, [data-print] { display: flex; flex-wrap: wrap; align-items: center; gap: 0 1.75rem; }
.actions + .chips { margin-top: 1.25rem; }
/* things to do beside each other, each a form of its own */
.actions .actions { margin: 0; }
.button { display: inline-flex; align-items: center; justify-content: center; min-height: 3.25rem; padding: .6rem 1.75rem; border: 2px solid var(--accent); border-radius: 8px; background: var(--fill, var(--accent)); color: var(--on-fill, var(--on-accent)); font: inherit; font-weight: 650; text-align: center; text-decoration: none; cursor: pointer; }
.button:hover { background: var(--accent-strong); border-color: var(--accent-strong); color: var(--on-accent); }
.button.second { background: transparent; color: var(--accent); }
.button.second:hover { border-color: var(--accent-strong); color: var(--accent-strong); }
.link { display: inline-flex; align-items: center; min-height: 2.75rem; }
@media (max-width: 30rem) { .actions .button { width: 100%; } }
pre { margin: 0 0 1rem; padding: 1rem 1.25rem; border: 1px solid var(--line); border-radius: 8px; background: var(--sheet); font-size: .95rem; line-height: 1.5; white-space: pre-wrap; overflow-wrap: anywhere; }
input[type="color"] { flex: none; width: 4rem; height: 3.25rem; padding: .2rem; border: 1.5px solid var(--edge); border-radius: 8px; background: var(--sheet); cursor: pointer; }
.field:has(> [type="color"]) { display: flex; flex-wrap: wrap; gap: 0 .75rem; }
.field:has(> [type="color"]) > :is(label, p) { flex: 0 0 100%; }
.field > [data-color] { flex: 0 1 12rem; }
.field .copy { margin-top: .5rem; }
td .copy { display: block; margin: .4rem 0; }
.busy { margin: .5rem 0 0; color: var(--quiet); }
@media (prefers-reduced-motion: reduce) { .busy progress { display: none; } }

.errors { margin: 0 0 1.75rem; padding: 1.25rem 1.5rem; background: var(--wrong-tint); border: 2px solid var(--wrong); border-radius: 10px; }
.errors h2 { margin: 0 0 .5rem; font-size: 1.2rem; }
.errors ul { margin: 0; padding: 0; list-style: none; }
.errors a { display: inline-flex; align-items: center; min-height: 2.75rem; color: var(--wrong); font-weight: 650; }

@media (max-width: 30rem) {
  .button { padding-left: 1rem; padding-right: 1rem; }
  .document { margin: 1.25rem 0; padding: 1rem 1rem .5rem; }
  .document section h3 { margin-top: .9rem; padding-top: .9rem; }
  .sheet { padding: 1rem; }
  h2 { margin-top: 1.75rem; }
  .beside { gap: 1.75rem; margin: 1.75rem 0; }
  main { padding-top: 1.25rem; padding-bottom: 1.5rem; }
  footer { padding-top: .75rem; padding-bottom: 1rem; }
  .sum { margin-bottom: 1.25rem; }
  .offer, section.sheet { margin: 1.25rem 0; }
  .choices strong { font-size: .9375rem; }
  .known + details { margin-bottom: 0; }
  .choices { margin: .5rem -.5rem 0; }
  .choices a, .choices li[aria-current] { grid-template-columns: 1.5rem 1fr; gap: 0 .5rem; padding: .35rem .5rem; line-height: 1.4; }
  .document h2 { margin-bottom: .5rem; font-size: 1.15rem; }
  dl.known div { grid-template-columns: 9.5rem 1fr; }
  dl div { grid-template-columns: 1fr; padding: .3rem 0; }
  .document dl div { grid-template-columns: 6.5rem 1fr; }
}
${PARTS_STYLE}
@media (forced-colors: active) {
  /* these colors show a border that was transparent, and no background */
  :is(.menu, .years) :is(a:not([aria-current]), summary:not(.here)) { border-bottom-color: Canvas; }
  .chips :is(a[aria-current], .chosen) { outline: 2px solid LinkText; }
  .kinds li::before { forced-color-adjust: none; }
}
@media print {
  /* more specific than the colours of a partner, whose sheet comes after this one */
  :root:root { color-scheme: light; --ground: #fff; --sheet: #fff; --ink: #000; --quiet: #333; --line: #999; --edge: #555; --accent: #000; --accent-strong: #000; --on-accent: #fff; --tint: #fff; --wrong: #000; --wrong-tint: #fff; --wait: #000; --wait-tint: #fff; --way: #000; --way-tint: #fff; }
  html { font-size: 10.5pt; }
  body { display: block; font-size: 1rem; line-height: 1.45; }
  nav, button, .button, .skip, .steps, .actions, .errors, .save, .signed-in, .years, .filter, .bar { display: none; }
  header, main, footer { width: auto; max-width: none; margin: 0; padding: 0 0 1rem; border: 0; border-radius: 0; }
  a { color: inherit; text-decoration: none; }
  .kinds li::before, .timeline li::before, .status::before { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .document { border: 0; padding: 0; }
  .panel, .status, .todo li, .timeline div { background: none; }
  .folded::details-content, .document ::details-content { content-visibility: visible; display: block; }
  :is(.folded, .document) summary::before { content: none; }
  .scroll { overflow: visible; }
  table { min-width: 0; font-size: 9.5pt; }
  th, td { padding-left: .3rem; padding-right: .3rem; }
  tbody th { white-space: normal; overflow-wrap: anywhere; }
  thead { display: table-header-group; }
  tr, figure, .chart, .rows li, .status, .panel, .sheet, .figures div { break-inside: avoid; }
  h1, h2, h3 { break-after: avoid; }
}
`.trim();

/** Changes with the style sheet: a page never meets that of another version. */
export const STYLE_VERSION = createHash("sha256").update(STYLE).digest("hex").slice(0, 12);

/** A partner's color, as shadesOf uses it on both backgrounds. What is no color changes nothing. */
export function brandStyle({ color }: Record<string, string>): string {
  const shades = shadesOf(color);
  if (!shades) return "";
  const { light, dark } = shades;
  return `:root { ${colorsOf(light, "black", "#ffffff")} }
@media (prefers-color-scheme: dark) { :root { ${colorsOf(dark, "white", "#18211c")} } }`;
}

/** The variables of the style sheet that a shade takes the place of. */
export const colorsOf = ({ accent, fill, on_fill }: Shade, toward: string, sheet: string): string =>
  `--accent: ${accent}; --accent-strong: color-mix(in srgb, ${accent} 80%, ${toward}); --tint: color-mix(in srgb, ${accent} 8%, ${sheet}); --fill: ${fill}; --on-fill: ${on_fill};`;
