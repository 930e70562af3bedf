// Three compressed days under every kind of write, and what grew that should not.

import { parseArgs } from "node:util";
import { soak } from "./run.ts";

const HELP = `Writes to the whole product for three compressed days, and shows the highest of each figure on each day: memory, connections,
waits for locks, dead rows, lag of jobs, tables that should not grow. Exit code 1 if the last day is worse than the day before.

  npm run trial -- soak [options]

  --minutes <number>   of the three days together   (10)
  --host <host>        sandbox or production alone   (both, one after the other)
  --seed <number>      repeats the choices of an earlier run   (random)
`;

const HOSTS = ["sandbox", "production"] as const;

async function main(): Promise<number> {
  let asked: { minutes: number; seed: number; host?: string | undefined; help: boolean };
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: "string", default: "10" },
        host: { type: "string" },
        seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 32)) },
        help: { type: "boolean", default: false },
      },
    });
    asked = { ...values, minutes: Number(values.minutes), seed: Number(values.seed) };
    if (!(asked.minutes > 0)) throw new Error(`--minutes is a number above 0, not "${values.minutes}".`);
    if (!Number.isInteger(asked.seed)) throw new Error(`--seed is a whole number, not "${values.seed}".`);
  } catch (error) {
    process.stderr.write(`${(error as Error).message.split(". To specify")[0]}\n\n${HELP}`);
    return 2;
  }
  const { help, host, minutes, seed } = asked;
  const hosts = HOSTS.filter((each) => host === undefined || each === host);
  if (help || hosts.length === 0) {
    process[help ? "stdout" : "stderr"].write(HELP);
    return help ? 0 : 2;
  }
  const results = [];
  for (const each of hosts) {
    process.stderr.write(`${each}, seed ${seed}\n`);
    const result = await soak({ host: each, minutes, seed });
    for (const { figure, unit, days, good } of result.figures) {
      const values = days.map((value) => String(value).padStart(9)).join("");
      process.stderr.write(`${figure.padEnd(40)}${values} ${unit.padEnd(4)} ${good ? "" : "grew"}\n`);
    }
    results.push(result);
  }
  process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
  return results.some(({ broken, figures }) => broken.length > 0 || figures.some(({ good }) => !good)) ? 1 : 0;
}

process.exit(await main());
