// Fresh values for the variables that hold keys: `npx node packages/tools/src/new_keys.ts >> .env`.

import { newKeys } from "../../local/src/keys.ts";

for (const [name, value] of Object.entries(newKeys())) console.log(`${name}='${value}'`);
