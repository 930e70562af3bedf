// npm run faults: breaks the whole product part by part under load, and proves that nothing acknowledged is lost.

import { parseArgs } from "node:util";
import { faults } from "./run.ts";

const HELP = `Breaks Postgres, the functions, the gateway and their neighbors, one after another, while everything is written to.
Afterwards it compares what was acknowledged with what is stored. Exit code 1 if a promise of docs/faults.md was broken.

  npm run faults -- [options]

  --seconds <number>   how long faults are begun           (600)
  --short              the same as --seconds 75
  --seed <number>      repeats the choices of an earlier run   (random)
`;

function options() {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string" },
      short: { type: "boolean", default: false },
      seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 32)) },
      help: { type: "boolean", default: false },
    },
  });
  const whole = (name: string, value: string) => {
    if (!/^\d{1,10}$/.test(value)) throw new Error(`--${name} is a whole number, not "${value}".`);
    return Number(value);
  };
  return {
    help: values.help,
    seconds: whole("seconds", values.seconds ?? (values.short ? "75" : "600")),
    seed: whole("seed", values.seed),
  };
}

async function main(): Promise<number> {
  let asked: ReturnType<typeof options>;
  try {
    asked = options();
  } catch (error) {
    process.stderr.write(`${(error as Error).message.split(". To specify")[0]}\n\n${HELP}`);
    return 2;
  }
  if (asked.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const result = await faults({ ...asked, say: (line) => process.stderr.write(`${line}\n`) });
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  return result.broken.length > 0 ? 1 : 0;
}

process.exit(await main());
