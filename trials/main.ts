// npm run trial: runs a trial. A trial is a folder here with a main.ts, whose first line says what it does.

import { existsSync, readdirSync, readFileSync } from "node:fs";

const mainOf = (name: string) => new URL(`${name}/main.ts`, import.meta.url);
const TRIALS = readdirSync(new URL(".", import.meta.url)).filter((name) => existsSync(mainOf(name)));
const about = (name: string) =>
  readFileSync(mainOf(name), "utf8")
    .split("\n")[0]
    ?.replace(/^\/\/ /, "");

const [name] = process.argv.splice(2, 1);
if (name !== undefined && TRIALS.includes(name)) {
  await import(mainOf(name).href);
} else {
  const list = TRIALS.map((trial) => `  ${trial.padEnd(14)} ${about(trial)}\n`).join("");
  process.stderr.write(`npm run trial -- <name> [options]; --help shows the options of a trial\n\n${list}`);
  process.exitCode = name === undefined ? 0 : 2;
}
