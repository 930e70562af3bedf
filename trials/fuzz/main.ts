// Requests of every operation and credential in openapi.json, valid, nearly valid and hostile, against the whole product.

import { parseArgs } from "node:util";
import { memoryOf, withStack } from "../kit/stack.ts";
import { fuzz } from "./run.ts";

const HELP = `Sends random requests of every operation in openapi.json, with every kind of credential. Ids that answers gave are used again.
A fault is an answer of 500 or 503 (but for document_not_ready), one that is not declared or does not fit its schema, or one that comes too late.

  npm run trial -- fuzz [options]

  --requests <number>   how many                                (100000)
  --seed <number>       repeats the choices of an earlier run   (random)
  --at-once <number>    how many wait at the same time          (8)
`;

function options() {
  const { values } = parseArgs({
    options: {
      requests: { type: "string", default: "100000" },
      seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 32)) },
      "at-once": { type: "string", default: "8" },
      help: { type: "boolean", default: false },
    },
  });
  const whole = (name: "requests" | "seed" | "at-once") => {
    const value = Number(values[name]);
    if (!Number.isInteger(value) || value < 0) throw new Error(`--${name} is a whole number, not "${values[name]}".`);
    return value;
  };
  return { help: values.help, requests: whole("requests"), seed: whole("seed"), at_once: whole("at-once") };
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
  const memory_mib: number[] = [];
  const result = await withStack(async ({ stack, db, processes, logged }) => ({
    ...(await fuzz(stack, db, {
      ...asked,
      progress(begun, faults) {
        memory_mib.push(Math.round(memoryOf(processes().functions)));
        process.stderr.write(`\r${begun} of ${asked.requests}, ${faults} faults, ${memory_mib.at(-1)} MiB `);
      },
    })),
    memory_mib,
    failures: logged('"level":"error"').slice(0, 10),
  }));
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  return result.faults.length + result.malformed.faults.length > 0 ? 1 : 0;
}

process.exit(await main());
