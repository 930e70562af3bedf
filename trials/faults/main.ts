// Breaks the whole product part by part under load, and proves that nothing acknowledged is lost.

import { parseArgs } from "node:util";
import type { Host } from "../load/load.ts";
import { FAULTS } from "./faults.ts";
import { faults } from "./run.ts";

const HELP = `Breaks Postgres, the functions, the gateway and their neighbors, one after another, while everything is written to.
Afterwards it compares what was acknowledged with what is stored. Exit code 1 if a promise of docs/faults.md was broken.

  npm run trial -- faults [options]

  --seconds <number>   how long each host is broken; every fault happens once at least   (300)
  --short              only the faults of processes and of Postgres, once each, none at once with another
  --host <host>        sandbox or production alone   (both, one after the other)
  --fault <name>       only this one; may be given several times
  --seed <number>      repeats the choices of an earlier run   (random)
`;

function options() {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string" },
      short: { type: "boolean", default: false },
      host: { type: "string" },
      fault: { type: "string", multiple: true },
      seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 32)) },
      help: { type: "boolean", default: false },
    },
  });
  const whole = (name: string, value: string) => {
    if (!/^\d{1,10}$/.test(value)) throw new Error(`--${name} is a whole number, not "${value}".`);
    return Number(value);
  };
  const { host, short, fault, help } = values;
  if (host !== undefined && host !== "sandbox" && host !== "production")
    throw new Error(`--host is sandbox or production, not "${host}".`);
  const foreign = fault?.find((name) => !FAULTS.some((each) => each.name === name));
  if (foreign) throw new Error(`There is no fault "${foreign}": ${FAULTS.map(({ name }) => name).join(", ")}.`);
  const hosts: Host[] = host ? [host] : short ? ["sandbox"] : ["sandbox", "production"];
  const alone = FAULTS.filter(({ needs, isPair }) => !isPair && (!needs || needs === "disk")).map(({ name }) => name);
  const only = fault ?? (short ? alone : undefined);
  return {
    help,
    hosts,
    seconds: whole("seconds", values.seconds ?? (short ? "0" : "300")),
    seed: whole("seed", values.seed),
    ...(only ? { only } : {}),
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
  const { help, hosts, ...run } = asked;
  if (help) {
    process.stdout.write(HELP);
    return 0;
  }
  const results = [];
  for (const host of hosts) {
    process.stderr.write(`${host}, seed ${run.seed}\n`);
    results.push(await faults({ host, ...run, say: (line) => process.stderr.write(`${line}\n`) }));
  }
  process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
  return results.some(({ broken }) => broken.length > 0) ? 1 : 0;
}

process.exit(await main());
