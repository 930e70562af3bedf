// Fails if a project lacks a variable that its functions need, and names it:
// `npx supabase secrets list --output json | node packages/tools/src/missing_variables.ts <sandbox|production>`.

import { json } from "node:stream/consumers";
import { requiredFor } from "#shared/foundation/configuration.ts";

const [host = ""] = process.argv.slice(2);
if (host !== "sandbox" && host !== "production") throw new Error("usage: missing_variables.ts <sandbox|production>");
const set = ((await json(process.stdin)) as { name: string }[]).map(({ name }) => name);
// the platform sets those of its own
const missing = requiredFor(host).filter((name) => !set.includes(name) && !name.startsWith("SUPABASE_"));
if (missing.length > 0) {
  console.error(`Set these variables of the project, as .env.example says: ${missing.join(", ")}`);
  process.exit(1);
}
