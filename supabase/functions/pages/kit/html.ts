/**
 * Hono's HTML, through one file of ours. Deno looks up a package again for each file that names it. For fifty files
 * that was a quarter of the start (docs/results/performance.md, "A cold start").
 */
export { html } from "hono/html";
