// `npm run -s probe -- --to <file>`, each minute: figures for the textfile collector of Prometheus's node_exporter.

import { renameSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { deployedFunctions } from "../functions.ts";
import { probe, toText } from "./probe.ts";

const { to } = parseArgs({ options: { to: { type: "string" } } }).values;
const missing = ["BASE_URL", "AUTH_URL", "PROBE_CLIENT_ID", "PROBE_CLIENT_SECRET"].filter((name) => !process.env[name]);
if (missing.length > 0) {
  console.error(`Set these variables: ${missing.join(", ")}.`);
  process.exit(2);
}
const functions = deployedFunctions().filter(({ slug, folder }) => slug === folder);
const text = toText(
  await probe(
    process.env,
    functions.map(({ slug }) => slug),
  ),
);
if (to) {
  // a scraper never reads half a file
  writeFileSync(`${to}.new`, text);
  renameSync(`${to}.new`, to);
} else process.stdout.write(text);
