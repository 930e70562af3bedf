/**
 * Zod, through one file of ours. Deno looks up a package again for each file that names it, which costs as much as
 * making four rules (docs/results/performance.md, "A cold start").
 */
export * as z from "zod";
