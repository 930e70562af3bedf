// Prints new keys as variables: `npx node packages/tools/src/new_keys.ts >> .env`. Given a file, it prints only the variables that the
// file lacks, and derives them from the ones it has: `npx node packages/tools/src/new_keys.ts functions.env >> functions.env`.

import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { newKeys } from "#local/keys.ts";

const [file] = process.argv.slice(2);
if (file !== undefined && !existsSync(file)) {
  console.error(`${file}: there is no such file.`);
  process.exit(2);
}
const kept = file === undefined ? {} : parseEnv(readFileSync(file, "utf8"));
for (const [name, value] of Object.entries(newKeys(kept))) if (!kept[name]) console.log(`${name}='${value}'`);
