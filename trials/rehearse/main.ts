// Does what docs/operations.md tells an operator to do, on a stack of its own.

import { parseArgs } from "node:util";
import { booking } from "./booking.ts";
import { restore } from "./restore.ts";
import { rotate } from "./rotate.ts";
import { upload } from "./upload.ts";

const REHEARSALS = { booking, restore, rotate, upload };

const HELP = `Rehearses docs/operations.md on a stack of its own. Exit code 1 if something does not hold.

  npm run trial -- rehearse booking|restore|rotate|upload [--seed <number>]

  booking   wrong kWh booked, and corrected at each moment that it may be noticed
  restore   a wrong deed, and the restore to the moment before it, from a base copy and the log
  rotate    every key and secret replaced: what still works, with the old key kept and without it
  upload    the same sessions delivered twice, in each way that is known
`;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options: { seed: { type: "string" } }, allowPositionals: true });
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32));
  const rehearse = REHEARSALS[positionals.join() as keyof typeof REHEARSALS];
  if (!rehearse || !Number.isSafeInteger(seed)) {
    process.stderr.write(HELP);
    return 2;
  }
  const result = await rehearse({ seed, say: (line) => process.stderr.write(`${line}\n`) });
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  return result.checks.every(({ holds }) => holds) ? 0 : 1;
}

process.exit(await main());
