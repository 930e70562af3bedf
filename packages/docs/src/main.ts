// npm run docs: writes the documentation into a folder, to be served by any web server.

import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { packClient } from "./pack_client.ts";
import { writeSite } from "./write_site.ts";

const HELP = `Writes the documentation as static files.

  npm run docs -- [options]

  --api <address>   where the API is, such as https://api.example.com   (where the site itself is)
  --out <folder>    where to write; what was there is removed           (packages/docs/dist)
  --help            this text
`;

function readOptions() {
  const { values } = parseArgs({
    options: {
      api: { type: "string" },
      out: { type: "string", default: fileURLToPath(new URL("../dist", import.meta.url)) },
      help: { type: "boolean", default: false },
    },
  });
  const api = values.api?.replace(/\/+$/, "");
  if (api !== undefined && !/^https?:\/\/[^\s/?#"]+[^\s?#"]*$/.test(api))
    throw new Error(`--api is an address such as https://api.example.com, not "${values.api}"`);
  return { api, out: resolve(values.out), help: values.help };
}

let options: ReturnType<typeof readOptions> | undefined;
try {
  options = readOptions();
} catch (error) {
  process.stderr.write(`${(error as Error).message.split(". To specify")[0]}\n\n${HELP}`);
  process.exitCode = 2;
}
if (options?.help) process.stdout.write(HELP);
else if (options) {
  const files = writeSite(options.out, options);
  await packClient(options.out);
  process.stdout.write(`${files + 1} files in ${options.out}\n`);
}
