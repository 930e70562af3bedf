// Prints new keys as variables: `npx node packages/tools/src/new_keys.ts >> .env`.

import { newKeys } from "#local/keys.ts";

for (const [name, value] of Object.entries(newKeys())) console.log(`${name}='${value}'`);
