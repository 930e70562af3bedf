// `npm run -s probe -- --to <file>`, each minute: figures for the textfile collector of Prometheus's node_exporter.
// With --backup, each hour: only when the last backup was made, for which it needs the platform's token.

import { renameSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { deployedFunctions } from "../functions.ts";
import { lastBackup, probe, toText } from "./probe.ts";

const { to, backup } = parseArgs({ options: { to: { type: "string" }, backup: { type: "boolean" } } }).values;
const needed = backup
  ? ["PROJECT_REF", "SUPABASE_ACCESS_TOKEN"]
  : ["BASE_URL", "AUTH_URL", "PROBE_CLIENT_ID", "PROBE_CLIENT_SECRET"];
const missing = needed.filter((name) => !process.env[name]);
if (missing.length > 0) {
  console.error(`Set these variables: ${missing.join(", ")}.`);
  process.exit(2);
}
const functions = deployedFunctions().filter(({ slug, folder }) => slug === folder);
const slugs = functions.map(({ slug }) => slug);
const samples = backup ? await lastBackup(process.env) : await probe(process.env, slugs);
if (!samples) {
  // the time that was told last stays, and grows too old by itself
  console.error("The platform does not say when the last backup was made. Nothing was written.");
  process.exit(1);
}
const text = toText(samples);
if (to) {
  // a scraper never reads half a file
  writeFileSync(`${to}.new`, text);
  renameSync(`${to}.new`, to);
} else process.stdout.write(text);
