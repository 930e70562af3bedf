/**
 * What rules are made with. Through one file of ours, because Deno looks up a package anew for each file that names it, which costs as much
 * as making four rules (docs/performance.md, "A cold start").
 */
export * as z from "zod";
