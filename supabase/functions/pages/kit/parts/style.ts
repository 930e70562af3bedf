/** How the parts look; a part of the one style sheet. A state has the same colors on a chip, a panel, a step and a column. */
export const PARTS_STYLE = `
.icon { flex: none; width: 1.25em; height: 1.25em; vertical-align: -.25em; }
:is(.chip, .panel, .status, .timeline li) { --state: var(--edge); --state-tint: color-mix(in srgb, var(--edge) 12%, var(--sheet)); }
:is(.chip, .panel, .status, .timeline li).done { --state: var(--accent); --state-tint: var(--tint); }
:is(.chip, .panel, .status, .timeline li):is(.way, .now) { --state: var(--way); --state-tint: var(--way-tint); }
:is(.chip, .panel, .status, .timeline li):is(.yours, .waits), .todo { --state: var(--wait); --state-tint: var(--wait-tint); }
:is(.chip, .panel).stopped { --state: var(--wrong); --state-tint: var(--wrong-tint); }
.chip { display: inline-flex; align-items: center; gap: .3rem; max-width: 100%; padding: .1rem .6rem .1rem .4rem; border: 1px solid transparent; border-radius: 1rem; background: var(--state-tint); color: var(--state); font-size: .875rem; font-weight: 600; line-height: 1.5; text-align: left; }
.chip > span:not(.hidden) { min-width: 0; overflow-wrap: anywhere; }
.chip > span:not(.hidden)::first-letter { text-transform: uppercase; }
.chip .icon { width: 1rem; height: 1rem; }
:is(th, td) .chip > span:not(.hidden) { overflow-wrap: break-word; }
@media (max-width: 23rem) { :is(th, td) .chip { padding: .1rem .5rem; } :is(th, td) .chip .icon { display: none; } }
.chip.quiet { border-color: var(--line); background: var(--ground); color: var(--quiet); }

.amount { margin: 0 0 1.25rem; font-size: 1.125rem; }
.amount strong { display: block; color: var(--accent); font-size: clamp(2.25rem, 1.8rem + 2.2vw, 3rem); line-height: 1.15; letter-spacing: -.02em; }
.amount .quiet { font-size: 1rem; }
.next { margin: 0 0 1.5rem; padding: .85rem 1.1rem; border: 1px solid var(--line); border-radius: 10px; }
.next dd { font-weight: 400; }
.next strong { font-size: 1.1875rem; }
dl.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(var(--tile, 9.5rem), 100%), 1fr)); gap: .75rem; margin: 0 0 1.5rem; }
@media (min-width: 48rem) { .figures { --tile: 13rem; } .beside .figures { --tile: 9.5rem; } }
.figures div { display: block; padding: .85rem 1.1rem; border: 1px solid var(--line); border-radius: 10px; }
.figures dd { font-size: 1.375rem; font-weight: 650; line-height: 1.35; }
@media (max-width: 30rem) { .figures div:last-child:nth-child(odd) { grid-column: 1 / -1; } }
.figures small { hyphens: auto; }
.figures a { display: inline-flex; align-items: center; min-height: 1.75rem; }

.rows { margin: 0 0 1.5rem; padding: 0; list-style: none; border-top: 1px solid var(--line); }
.area main .rows, .area main .chart { max-width: none; }
.rows li { margin: 0; border-bottom: 1px solid var(--line); }
.rows a { display: flex; flex-wrap: wrap; align-items: center; gap: .15rem .9rem; min-height: 3.5rem; padding: .6rem 0; color: var(--ink); text-decoration: none; }
.rows a:hover strong { text-decoration: underline; }
.rows .what { flex: 1 1 10rem; min-width: 0; }
.rows strong { font-weight: 650; overflow-wrap: anywhere; }
.rows small { display: block; color: var(--quiet); font-size: .9375rem; overflow-wrap: anywhere; }
.rows .side { display: inline-flex; flex-wrap: wrap; align-items: center; justify-content: flex-end; gap: .25rem .75rem; }
.rows b { font-weight: 650; }
.rows a > .icon, .rows .as { color: var(--quiet); }
.rows .as { display: inline-flex; align-items: center; gap: .35rem; color: var(--accent); font-size: .9375rem; font-weight: 600; }

@media (max-width: 40rem) { .rows a:has(.side) .what { flex-basis: 100%; } .rows .side { flex: 1; justify-content: flex-start; } }

.chips { flex-wrap: wrap; gap: .5rem; margin: 0 0 .75rem; }
.chips a { position: relative; gap: .4rem; min-height: 2.75rem; padding: .2rem .9rem; border: 1.5px solid var(--line); border-radius: 1.4rem; background: var(--sheet); color: var(--ink); text-decoration: none; }
.chips a:hover { border-color: var(--edge); }
.chips a[aria-current] { border-color: var(--accent); background: var(--tint); color: var(--accent); font-weight: 650; }
.chips .check[aria-current] { border-color: var(--wait); background: var(--wait-tint); color: var(--wait); }
.chips .bad[aria-current] { border-color: var(--wrong); background: var(--wrong-tint); color: var(--wrong); }
.chips strong { color: var(--quiet); font-weight: 600; }
.area h1 { margin-bottom: .75rem; }
.filter { position: relative; display: flex; flex-wrap: wrap; align-items: center; gap: .5rem .75rem; margin: 0 0 .5rem; }
.find { position: relative; display: block; flex: 1 1 8rem; max-width: 26rem; }
.find input[type="text"] { min-height: 2.75rem; padding: .3rem 3rem .3rem .9rem; text-overflow: ellipsis; }
.find button { position: absolute; right: 2px; top: 2px; bottom: 2px; width: 2.6rem; padding: 0; border: 0; border-radius: 6px; background: var(--sheet); color: var(--accent); cursor: pointer; }
.filter details { margin: 0; }
.filter summary { gap: .4rem; padding: 0 .9rem; border: 1.5px solid var(--edge); border-radius: 8px; }
.filter summary::before { content: none; }
.filter details > div { padding: 1rem 0 .5rem; }
.filter .chips { flex: 1 1 100%; min-width: 0; margin-bottom: 0; }
.chips .chosen .icon { width: 1rem; height: 1rem; }
.chips .chosen { border-color: var(--accent); background: var(--tint); color: var(--accent); font-weight: 650; }
.chips .clear { padding: .1rem .35rem; border-color: transparent; background: none; color: var(--accent); text-decoration: underline; }
.found-line { margin: 0 0 .25rem; }
.filter .field { margin-bottom: .75rem; }
.filters { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(13rem, 100%), 1fr)); gap: 0 1.25rem; align-items: end; }
@media (min-width: 48rem) {
  .filter { flex-wrap: nowrap; }
  .find { flex: 0 0 15rem; }
  .filter .chips { flex: 1 1 0; flex-wrap: nowrap; gap: .35rem; margin: 0; padding: 3px; overflow-x: auto; scrollbar-width: thin; }
  .filter .chips a { flex: none; min-height: 2.5rem; padding: .1rem .65rem; font-size: .9375rem; }
  .filter details > div { position: absolute; left: 0; right: 0; top: calc(100% + .35rem); z-index: 3; max-width: 52rem; padding: 1.25rem 1.5rem; border: 1px solid var(--line); border-radius: 10px; background: var(--sheet); box-shadow: 0 8px 24px color-mix(in srgb, var(--ink) 16%, transparent); }
}
@media (max-width: 40rem) { .chips { flex-wrap: nowrap; gap: .35rem; margin: 0 -1.25rem .5rem; padding: 3px 1.25rem; overflow-x: auto; } .filter .chips { flex-basis: calc(100% + 2.5rem); } .chips:empty { display: none; } .chips a { flex: none; min-height: 2.5rem; padding: .1rem .65rem; font-size: .9375rem; } .filter [open] { flex-basis: 100%; } }

.records { table-layout: fixed; margin: 0 0 1rem; }
.records :is(th, td) { padding: .5rem .75rem .5rem 0; text-align: left; vertical-align: middle; font-variant-numeric: normal; }
.records tr { position: relative; }
.records tbody th { font-weight: 650; }
.records tbody th > a:last-child { text-decoration: none; }
.records tbody th > a:last-child::after { position: absolute; inset: 0; content: ""; }
.records .pick { position: relative; z-index: 1; }
.records td { color: var(--quiet); }
@media screen and (min-width: 64rem) {
  .records .chip > span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .records :is(th, td) { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .records th:first-child { width: 21%; }
  .records tbody th > a:last-child { display: inline-block; max-width: 100%; overflow: hidden; text-overflow: ellipsis; vertical-align: middle; }
  .records .pick ~ a:last-child { max-width: calc(100% - 2.6rem); }
  .records .state { width: 11.5rem; }
  .records .figure { width: 10.5rem; }
  .records .date { width: 9.25rem; }
  .records .day { width: 7rem; }
  .records thead th { position: sticky; top: 0; z-index: 2; background: var(--sheet); box-shadow: inset 0 -1px var(--line); }
  .records tbody tr:hover { background: var(--ground); }
  :root:has(.records) { scroll-padding-top: 3.5rem; }
}
@media screen and (min-width: 75rem) { .records th:first-child { width: 28%; } .records .figure { width: auto; } }
@media screen and (max-width: 63.99rem) {
  .records, .records tbody { display: block; }
  .records thead, .records td { display: none; }
  .records td::before { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); content: attr(data-column) " "; white-space: nowrap; }
  .records tr { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .15rem .75rem; padding: .55rem 0; border-bottom: 1px solid var(--line); }
  .records tr:first-child { border-top: 1px solid var(--line); }
  .records tbody :is(th, td) { padding: 0; border: 0; }
  .records tbody th { display: flex; align-self: flex-start; flex: 1 1 calc(100% - 8.5rem); min-width: 0; white-space: normal; }
  .records tbody th > a:last-child { min-width: 0; line-height: 1.4; overflow-wrap: anywhere; }
  .records .date { display: block; align-self: flex-start; order: 1; line-height: 1.4; }
  .records .state { display: block; order: 2; max-width: 65%; }
  .records .figure { display: block; flex: 1 1 4rem; order: 3; min-width: 0; text-align: right; line-height: 1.4; }
  .records:has(.pick) tr { padding-left: 2.4rem; }
  .records td.none { visibility: hidden; }
  .records .pick { position: absolute; left: -.6rem; top: .1rem; margin: 0; }
}

.chart { display: grid; grid-auto-flow: column; grid-auto-columns: minmax(0, 8rem); margin: .75rem 0 .5rem; padding: 0; list-style: none; }
.chart li { display: flex; flex-direction: column-reverse; min-width: 0; margin: 0; text-align: center; }
.chart .column { display: flex; flex-direction: column-reverse; padding: 0 14%; border-bottom: 1px solid var(--edge); }
.chart svg { display: block; width: 100%; max-width: 4.5rem; margin: 0 auto; forced-color-adjust: none; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.chart rect { fill: var(--accent); }
.chart:not(:has([class^="kind"])) li:not(.chosen) rect { fill: color-mix(in srgb, var(--accent) 65%, var(--sheet)); }
.chart svg:last-child { border-radius: 3px 3px 0 0; }
.chart .kind-1 rect { fill: var(--way); }
.chart .kind-2 { border: 1.5px dashed var(--edge); }
.chart .kind-2 rect { fill: var(--sheet); }
.chart .name { padding-top: .35rem; color: var(--quiet); font-size: .9375rem; line-height: 1.3; }
.chart .name a { display: inline-block; min-width: 1.5rem; color: inherit; }
.chart small { display: block; font-size: .875rem; }
.chart .number { padding-bottom: .15rem; font-size: .9375rem; font-weight: 600; font-variant-numeric: tabular-nums; line-height: 1.3; white-space: nowrap; }
.chart .chosen .name { color: var(--ink); font-weight: 650; }
.chart .chosen .column { border-bottom: 3px solid var(--accent); margin-bottom: -2px; }
.chart[tabindex] li { cursor: pointer; }
@media (max-width: 40rem) {
  .many { grid-auto-flow: row; grid-auto-columns: minmax(0, 1fr); gap: .4rem; }
  .many li { display: grid; grid-template-columns: 4.25rem 1fr 4.5rem; align-items: center; gap: .5rem; text-align: left; }
  .many .column { flex-direction: row; padding: 0; border: 0; }
  .many .chosen .column { margin: 0; border: 0; }
  .many svg { height: 1.15rem; width: revert-layer; max-width: none; margin: 0; }
  .many .name { padding: 0; }
  .many small { display: inline; }
  .many .number { padding: 0; text-align: right; }
}
.value { min-height: 3.2em; margin: 0 0 .75rem; padding: .35rem .75rem; border-left: 3px solid var(--accent); font-size: 1rem; }
@media (min-width: 40rem) { .value { min-height: 1.6em; } }

.empty { max-width: 42rem; margin: 1rem 0 2rem; padding: 2rem 1.5rem; border: 1.5px dashed var(--line); border-radius: 12px; text-align: center; }
.empty > .icon { width: 2.25rem; height: 2.25rem; margin-bottom: .5rem; color: var(--quiet); }
.area main .empty { max-width: none; }
.empty p { margin: 0 auto .75rem; }
.empty p:last-child { margin-bottom: 0; }

.secret { display: flex; align-items: stretch; max-width: 42rem; margin: .25rem 0; border: 1.5px solid var(--edge); border-radius: 8px; background: var(--sheet); }
.secret code { flex: 1; min-width: 0; padding: .6rem .9rem; align-self: center; }
.secret + small { display: block; color: var(--quiet); font-size: .9375rem; font-weight: 400; }
td details { margin: 0; }
.copy { display: inline-flex; align-items: center; justify-content: center; gap: .35rem; flex: none; min-width: 2.75rem; min-height: 2.75rem; padding: .25rem .6rem; border: 1.5px solid var(--edge); border-radius: 6px; background: transparent; color: var(--accent); font: inherit; font-size: .9375rem; font-weight: 650; cursor: pointer; }
.secret .copy { border: 0; border-left: 1px solid var(--line); border-radius: 0 7px 7px 0; }
.copy:hover { color: var(--accent-strong); background: var(--tint); }

.bar { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .5rem 1.5rem; margin: 1.75rem 0 0; padding: .9rem 0; border-top: 1px solid var(--line); background: var(--ground); }
.bar p { margin: 0; line-height: 1.35; }
.bar strong { font-size: 1.25rem; }
@media (min-width: 48rem) { .bar { background: none; } }
@media (max-width: 47.99rem) and (min-height: 30rem) { .bar { margin-top: 1rem; padding: .5rem 0 .75rem; position: sticky; bottom: 0; z-index: 1; } .bar .button { flex: 1 1 auto; } :root:has(.bar) { scroll-padding-bottom: 9rem; } }

.signed-in { position: relative; margin: 0 -.5rem 0 0; }
.signed-in summary { gap: .4rem; padding: 0 .5rem; border-radius: 8px; color: var(--ink); font-weight: 400; }
.signed-in summary::before { content: none; }
.signed-in summary span { max-width: 14rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.signed-in > div { position: absolute; right: 0; top: 100%; z-index: 2; width: max-content; max-width: min(20rem, calc(100vw - 2.5rem)); padding: 1rem 1.25rem; border: 1px solid var(--line); border-radius: 10px; background: var(--sheet); box-shadow: 0 8px 24px color-mix(in srgb, var(--ink) 16%, transparent); overflow-wrap: anywhere; }
.signed-in p { margin: 0 0 .5rem; color: var(--quiet); font-size: 1rem; }
.plain { min-height: 2.75rem; padding: 0; border: 0; background: none; color: var(--accent); font: inherit; font-weight: 650; text-decoration: underline; text-underline-offset: .18em; cursor: pointer; }
header .right { margin-left: auto; display: flex; flex-wrap: wrap; align-items: center; gap: .5rem; }
@media (max-width: 30rem) { header { position: relative; } header .signed-in { position: static; } header .signed-in > div { left: 1.25rem; right: 1.25rem; width: auto; max-width: none; } }
@media (max-width: 30rem) { .signed-in summary span { max-width: min(9rem, 24vw); } header .right { gap: 0; } }
@media (max-width: 22rem) { .signed-in summary span { max-width: min(10rem, 50vw); } }
.beside > * > h2:first-child, .beside section:first-child > h2, .beside > .money { margin-top: 0; }
@media (min-width: 64rem) { .beside:has(> :nth-child(3):last-child) { grid-template-rows: auto 1fr; } .beside > :nth-child(2):has(+ :last-child) { grid-row: span 2; } }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(26rem, 100%), 1fr)); gap: 1rem; align-items: start; margin-bottom: 2.5rem; }
.cards > .sheet { margin: 0; }
@media (max-width: 22rem) { th, td { padding-left: .25rem; padding-right: .25rem; } }
.link .icon { margin-right: .4rem; }
`.trim();
