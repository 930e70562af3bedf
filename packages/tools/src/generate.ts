// npm run generate: writes the files that programs make out of the sources.

import { spawnSync } from "node:child_process";
import { ROOT } from "#local/checkout.ts";

type Step = { program: string; argv: string[]; env?: Record<string, string> };
type What = { about: string; steps: readonly Step[] };

const node = (file: string, ...argv: string[]): Step => ({ program: process.execPath, argv: [ROOT + file, ...argv] });
const vitest = (file: string) => node("node_modules/vitest/vitest.mjs", "run", file);

const OPENAPI: Step[] = [
  node("packages/tools/src/write_openapi.ts"),
  { program: "npm", argv: ["run", "--silent", "generate", "--workspace", "@ere-api/client"] },
];

const GENERATED: Record<string, What> = {
  openapi: { about: "openapi.json, and the types of the client, from the declared endpoints", steps: OPENAPI },
  examples: {
    about: "the examples of openapi.json, as a database answers them; and openapi.json",
    steps: [{ ...vitest("tests/contract/examples.test.ts"), env: { RECORD_EXAMPLES: "1" } }, ...OPENAPI],
  },
  fonts: {
    about: "the letters of documents and pages, from the packages that have them",
    steps: [node("packages/tools/src/write_fonts.ts")],
  },
  bundle: {
    about: "supabase/bundles: what is deployed of each function",
    steps: [node("packages/tools/src/bundle.ts")],
  },
  trace: {
    about: "tests/TRACE.md: which test proves which section",
    steps: [node("packages/tools/src/write_trace.ts")],
  },
};

const [name = ""] = process.argv.slice(2);
const what = Object.hasOwn(GENERATED, name) ? GENERATED[name] : undefined;
if (!what) {
  const list = Object.entries(GENERATED).map(([key, { about }]) => `  ${key.padEnd(9)} ${about}\n`);
  process.stderr.write(`npm run generate -- <what>\n\n${list.join("")}`);
  process.exit(name ? 2 : 0);
}
for (const { program, argv, env } of what.steps) {
  const done = spawnSync(program, argv, { cwd: ROOT, stdio: "inherit", env: { ...process.env, ...env } });
  if (done.error) throw done.error;
  if (done.status !== 0) process.exit(done.status ?? 1);
}
