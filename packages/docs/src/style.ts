import { FONT_STACK, LETTERS, PALETTE } from "#shared/look/palette.ts";

/** The line above every page. */
const HEADER = `
body > header { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 0 1rem; padding-top: .75rem; padding-bottom: .75rem; }
.service { margin: 0; font-weight: 650; }
.service a { display: flex; align-items: center; gap: .6rem; min-height: 2.75rem; color: var(--ink); text-decoration: none; }
.service small { margin-left: .3rem; font-size: .9375rem; font-weight: 400; color: var(--quiet); }
.leaf { fill: var(--accent); }
.bolt { fill: var(--on-accent); }
body > header nav { display: flex; flex-wrap: wrap; margin: 0 -.5rem; font-size: 1rem; }
body > header nav a { display: flex; align-items: center; min-height: 2.75rem; padding: 0 .5rem; }
a { color: var(--accent); text-underline-offset: .18em; text-decoration-thickness: .07em; }
a:hover { color: var(--accent-strong); text-decoration-thickness: .14em; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 3px; border-radius: 4px; }
`.trim();

/** In the look of the pages, for a screen with a menu beside the text. */
export const STYLE = `
${PALETTE}
:root { --code: #f7faf8; --word: #0b5cad; --string: #7a4300; --number: #6b2fa0; --remark: #53605a; }
@media (prefers-color-scheme: dark) {
  :root { --code: #121a16; --word: #8ec5ff; --string: #f0c078; --number: #d3b3ff; --remark: #a9b7af; }
}
*, ::before, ::after { box-sizing: border-box; }
${LETTERS}
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; scroll-padding-top: 1rem; }
body {
  margin: 0; min-height: 100vh; display: flex; flex-direction: column; background: var(--ground); color: var(--ink);
  font: 1.0625rem/1.6 ${FONT_STACK};
  overflow-wrap: break-word;
}
body > header, .columns, body > footer { width: 100%; max-width: 76rem; margin: 0 auto; padding: 0 1.25rem; }
${HEADER}
.skip { position: absolute; left: 1rem; top: -5rem; z-index: 1; padding: .75rem 1rem; background: var(--sheet); border: 1px solid var(--edge); border-radius: 8px; }
.skip:focus { top: .5rem; }

[role="search"] { position: relative; display: flex; align-items: center; gap: .6rem; flex: 1 1 16rem; max-width: 26rem; }
[role="search"] input { flex: 1; min-width: 0; min-height: 2.75rem; padding: 0 .75rem; border: 1px solid var(--edge); border-radius: 8px; background: var(--sheet); color: var(--ink); font: inherit; }
@media (scripting: none) { [role="search"] { display: none; } }
#found:not(:empty), #results { position: absolute; z-index: 2; top: 100%; right: 0; width: min(34rem, calc(100vw - 2.5rem)); margin: .35rem 0 0; padding: .6rem 1rem; background: var(--sheet); border: 1px solid var(--edge); border-radius: 10px; font-size: 1rem; }
#results { max-height: 70vh; margin-top: 3.2rem; padding: .35rem; overflow-y: auto; list-style: none; }
#results li { margin: 0; }
#results a { display: block; min-height: 2.75rem; padding: .5rem .65rem; border-radius: 6px; text-decoration: none; line-height: 1.35; overflow-wrap: anywhere; }
#results a:hover, #results a:focus-visible { background: var(--tint); outline-offset: -3px; }
#results b { font-weight: 650; }
#results small { margin-left: .5rem; color: var(--quiet); font-size: .9375rem; }
mark { background: var(--tint); color: inherit; font-weight: 650; }
.contents { margin-bottom: 1.5rem; }
.contents ul { columns: 18rem; }
.lost { display: block; }
#results span { display: block; color: var(--ink); font-size: .9375rem; }

.columns { flex: 1; display: grid; grid-template-columns: 14rem minmax(0, 1fr); gap: 0 3rem; align-items: start; padding-top: 1rem; padding-bottom: 3rem; }
.narrow { display: none; }
.wide { position: sticky; top: 1rem; max-height: calc(100vh - 2rem); overflow-y: auto; }
.chapter { margin: .9rem 0 .2rem; font-size: .9375rem; font-weight: 650; color: var(--quiet); }
.chapter:first-child { margin-top: .25rem; }
.columns nav ul { margin: 0; padding: 0; list-style: none; }
.columns nav li { margin: 0; }
.columns nav a { display: flex; align-items: center; min-height: 2rem; padding: .15rem .75rem; border-left: 3px solid var(--line); color: var(--ink); text-decoration: none; font-size: 1rem; line-height: 1.3; }
.columns nav a:hover { border-left-color: var(--edge); }
.columns nav a[aria-current] { border-left-color: var(--accent); background: var(--tint); font-weight: 650; }
main { min-width: 0; max-width: 54rem; }

h1, h2, h3 { line-height: 1.25; text-wrap: balance; }
h1 { margin: 0 0 1rem; font-size: clamp(1.7rem, 1.4rem + 1.6vw, 2.125rem); letter-spacing: -.015em; }
h2 { margin: 2.75rem 0 .5rem; font-size: 1.35rem; }
h3 { margin: 2rem 0 .35rem; font-size: 1.1rem; }
p, ul, ol { margin: 0 0 1rem; }
ul, ol { padding-left: 1.4rem; }
li { margin-bottom: .4rem; }
code { padding: .1em .3em; border-radius: 5px; background: var(--tint); font: .9em/1.5 ui-monospace, Consolas, "Liberation Mono", monospace; overflow-wrap: anywhere; }
h1 code, h2 code, h3 code { padding: 0; background: none; font-size: 1em; }
pre { margin: 0 0 1.25rem; padding: 1rem 1.15rem; background: var(--code); border: 1px solid var(--line); border-radius: 10px; line-height: 1.5; }
pre code { padding: 0; background: none; font-size: .875rem; overflow-wrap: anywhere; white-space: pre-wrap; }
pre.answer { margin-top: -.75rem; background: none; border-style: dashed; }
pre.answer small { display: block; font: .875rem/1.5 ${FONT_STACK}; color: var(--quiet); }
pre button { float: right; min-height: 2.25rem; margin: -.45rem -.6rem .25rem .75rem; padding: 0 .75rem; border: 1px solid var(--line); border-radius: 8px; background: var(--sheet); color: var(--accent); font: .9375rem/1.2 ${FONT_STACK}; cursor: pointer; user-select: none; }
pre button:hover { border-color: var(--accent); }
.hljs-comment { color: var(--remark); font-style: italic; }
.hljs-keyword, .hljs-built_in, .hljs-attr, .hljs-title { color: var(--word); }
.hljs-string, .hljs-regexp { color: var(--string); }
.hljs-number, .hljs-literal, .hljs-variable { color: var(--number); }
blockquote { margin: 0 0 1.25rem; padding: 1rem 1.25rem; background: var(--tint); border-left: 4px solid var(--accent); border-radius: 0 10px 10px 0; }
blockquote > :last-child { margin-bottom: 0; }
.scroll { overflow-x: auto; margin: 0 0 1.25rem; }
table { width: 100%; border-collapse: collapse; font-size: .9375rem; line-height: 1.45; overflow-wrap: normal; }
th, td { padding: .5rem .75rem .5rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; min-width: 5rem; }
td code, th code { overflow-wrap: normal; }
td:first-child code { white-space: nowrap; }
thead th { color: var(--quiet); font-weight: 400; }

footer { padding-bottom: 2rem !important; font-size: 1rem; }
footer nav { display: flex; flex-wrap: wrap; justify-content: space-between; gap: .75rem; margin-bottom: 1.5rem; }
footer nav a { flex: 1 1 14rem; max-width: 24rem; padding: .75rem 1.15rem; background: var(--sheet); border: 1px solid var(--line); border-radius: 10px; text-decoration: none; font-weight: 650; }
footer nav a:hover { border-color: var(--edge); }
footer nav small { display: block; color: var(--quiet); font-size: .9375rem; font-weight: 400; }
footer [rel="next"] { margin-left: auto; text-align: right; }
footer p { margin: 0; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--quiet); }

@media (max-width: 56rem) {
  .columns { display: block; padding-top: 0; }
  .wide { display: none; }
  .narrow { display: block; margin: 0 0 1.5rem; border: 1px solid var(--line); border-radius: 10px; background: var(--sheet); }
  summary { display: flex; align-items: center; min-height: 2.75rem; padding: 0 1rem; cursor: pointer; font-weight: 650; }
  summary::before { content: "+"; width: 1.4rem; }
  [open] > summary::before { content: "–"; }
  summary::-webkit-details-marker { display: none; }
  .narrow nav { padding: 0 1rem 1rem; }
  pre button { min-height: 2.75rem; }
  [role="search"] { order: 1; flex-basis: 100%; max-width: none; margin: .35rem 0; }
  .columns nav a { min-height: 2.75rem; }
}
@media print {
  header nav, [role="search"], pre button, .wide, .narrow, footer, .skip { display: none; }
  .columns { display: block; }
}
`.trim();

/** Our header above Scalar, which takes its colours from here; it brings everything else. */
export const REFERENCE_STYLE = `
${PALETTE}
${LETTERS}
*, ::before, ::after { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1.0625rem/1.6 ${FONT_STACK}; }
${HEADER}
body > header { padding-left: 1.25rem; padding-right: 1.25rem; border-bottom: 1px solid var(--line); }
noscript p { padding: 1.25rem; }
.scalar-app {
  --scalar-font: ${FONT_STACK};
  --scalar-font-code: ui-monospace, Consolas, "Liberation Mono", monospace;
}
.light-mode {
  --scalar-color-1: #17211c; --scalar-color-2: #53605a; --scalar-color-3: #53605a; --scalar-color-accent: #0b6b4f;
  --scalar-background-1: #ffffff; --scalar-background-2: #f3f6f4; --scalar-background-3: #e6f2ec; --scalar-background-accent: #e6f2ec;
  --scalar-border-color: #d8e0db;
  --scalar-color-green: #0b6b4f; --scalar-color-blue: #1c5396; --scalar-color-orange: #8a4600; --scalar-color-red: #a8241c; --scalar-color-purple: #6340a8; --scalar-color-yellow: #6f5600;
}
.dark-mode {
  --scalar-color-1: #e9efeb; --scalar-color-2: #a9b7af; --scalar-color-3: #a9b7af; --scalar-color-accent: #6fd3aa;
  --scalar-background-1: #0f1512; --scalar-background-2: #18211c; --scalar-background-3: #1c2f27; --scalar-background-accent: #1c2f27;
  --scalar-border-color: #33413a;
  --scalar-color-green: #6fd3aa; --scalar-color-blue: #8dbdf5; --scalar-color-orange: #f0b075; --scalar-color-red: #f79a92; --scalar-color-purple: #c3aaf5; --scalar-color-yellow: #e2c766;
}
/* on a phone the heading in its bar is longer than the bar */
.t-doc__header span { overflow: hidden; text-overflow: ellipsis; }
`.trim();
