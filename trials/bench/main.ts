// What our way through costs beside the bare database or another program, on this machine.

import { parseArgs } from "node:util";
import { PostgresError } from "#local/postgres.ts";
import { BENCHES } from "./benches.ts";
import { type Bench, BenchError } from "./kit/bench.ts";
import type { Finding } from "./kit/findings.ts";
import { thisMachine } from "./kit/machine.ts";
import type { Options } from "./kit/measure.ts";
import { describeReport, type Report } from "./kit/report.ts";

const HELP = `Measures the service beside a floor, in the same run, on this machine. docs/performance.md says how to read it.

  npm run trial -- bench <name> [options]

  --accounts <number>   rows to run over; each bench has its own number
  --rounds <number>     turns of each side, of which the median counts
  --seconds <number>    how long a turn lasts
  --json                one JSON document instead of lines

${Object.entries(BENCHES)
  .map(([name, { about }]) => `  ${name.padEnd(13)} ${about}`)
  .join("\n")}
`;

/** @throws with what is wrong about the command line. */
function readCommandLine(): { name: string; bench: Bench; options: Options; json: boolean } | null {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      accounts: { type: "string" },
      rounds: { type: "string" },
      seconds: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const [name, ...others] = positionals;
  if (name === undefined || values.help) return null;
  const bench = (BENCHES as Record<string, Bench>)[name];
  if (!bench) throw new Error(`There is no bench "${name}".`);
  if (others.length > 0) throw new Error(`One bench at a time, not "${positionals.join(" ")}".`);
  const options = { ...bench.defaults };
  for (const key of ["accounts", "rounds", "seconds"] as const) {
    const given = values[key];
    if (given === undefined) continue;
    const value = Number(given);
    if (!(value > 0) || (key !== "seconds" && !Number.isInteger(value)))
      throw new Error(`--${key} is a ${key === "seconds" ? "" : "whole "}number above 0, not "${given}".`);
    options[key] = value;
  }
  return { name, bench, options, json: values.json };
}

async function main(): Promise<number> {
  let asked: ReturnType<typeof readCommandLine>;
  try {
    asked = readCommandLine();
  } catch (error) {
    process.stderr.write(`${(error as Error).message.split(". To specify")[0]}\n\n${HELP}`);
    return 2;
  }
  if (!asked) {
    process.stdout.write(HELP);
    return 0;
  }
  const { name, bench, options, json } = asked;
  const machine = thisMachine();
  const at = new Date().toISOString();
  let findings: Finding[];
  try {
    findings = await bench.run(options);
  } catch (error) {
    if (!(error instanceof BenchError || error instanceof PostgresError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
  const report: Report = { bench: name, about: bench.about, at, machine, options, findings };
  process.stdout.write(`${json ? JSON.stringify(report, null, 2) : describeReport(report)}\n`);
  return 0;
}

process.exitCode = await main();
