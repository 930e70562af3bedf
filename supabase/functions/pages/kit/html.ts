/**
 * What pages are written with. Through one file of ours, because Deno looks up a package anew for each file that names it: for some fifty
 * files as much as a quarter of the start (docs/performance.md, "A cold start").
 */
export { html } from "hono/html";
