/**
 * Hono's HTML, through one file of ours. Deno looks up a package again for each file that names it: with some fifty
 * files that took a quarter of the start (docs/performance.md, "A cold start").
 */
export { html } from "hono/html";
