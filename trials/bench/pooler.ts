// The way through a pooler in transaction mode, which every hosted function goes.

import { isDeepStrictEqual } from "node:util";
import { batches } from "./batch.ts";
import { type Bench, progress } from "./kit/bench.ts";
import { alone, rateAgainst } from "./kit/findings.ts";
import { ask } from "./kit/load.ts";
import { takeTurns } from "./kit/measure.ts";
import { startPooler } from "./kit/pooler.ts";
import { positionPath } from "./kit/routes.ts";
import { bearer, liftLimits, type Seeded, seed, tokensOf } from "./kit/seed.ts";
import type { Served } from "./kit/serve.ts";
import { withStack } from "./kit/stack.ts";
import { positions } from "./read.ts";

const CLIENTS = 50;
const CONCURRENCY = 16;
/** Asked both ways and compared. */
const COMPARED = 400;

export const pooler: Bench = {
  about: "positions and batches through PgBouncer in transaction mode, beside direct connections; the same answers",
  defaults: { accounts: 20_000, rounds: 11, seconds: 1 },
  run: (options) =>
    withStack(async (stack) => {
      const pooled = await startPooler([stack.url("edge"), stack.url("edge_slow")], stack.folder);
      try {
        const seeded = await seed(stack.admin, CLIENTS, options.accounts);
        await liftLimits(stack.admin);
        const tokens = await tokensOf(stack, seeded.clients);
        const direct = await stack.serve("cpo-v1");
        const through = await stack.serve("cpo-v1", {
          EDGE_DATABASE_URL: pooled.url(stack.url("edge")),
          EDGE_SLOW_DATABASE_URL: pooled.url(stack.url("edge_slow")),
        });
        progress("answers both ways");
        const same = await sameAnswers(seeded, tokens, direct, through);
        progress("rates both ways");
        const read = await takeTurns(
          {
            through: positions(stack, through, seeded, tokens, CONCURRENCY),
            direct: positions(stack, direct, seeded, tokens, CONCURRENCY),
          },
          options,
        );
        const written = await takeTurns(
          { through: batches(stack, through, seeded, tokens, 12), direct: batches(stack, direct, seeded, tokens, 12) },
          options,
        );
        const beside = (turns: typeof read) => ({ what: "direct connections", figures: turns.direct });
        const at = `${CONCURRENCY} at once`;
        return [
          alone(`positions answered alike, of ${COMPARED}, ${at}`, "answers", same, { exactly: COMPARED }),
          rateAgainst(`GET /v1/ere-positions?cpo_external_ref=…, ${at}`, "requests/s", read.through, beside(read), {
            at_least: 0.9,
          }),
          rateAgainst(
            `POST /v1/sessions:batch of 12 months, ${at}`,
            "months/s",
            written.through,
            beside(written),
            { at_least: 0.9 },
            12,
          ),
        ];
      } finally {
        await pooled.stop();
      }
    }),
};

/** How many positions are answered alike, while as many are asked at once as the load does. @throws when one is not answered. */
async function sameAnswers(seeded: Seeded, tokens: string[], direct: Served, through: Served): Promise<number> {
  let same = 0;
  let asked = 0;
  const worker = async () => {
    while (asked < COMPARED) {
      const account = seeded.accounts[asked++ % seeded.accounts.length];
      if (!account) throw new Error("the bench has no accounts");
      const request = { path: positionPath(account.reference), headers: bearer(tokens[account.client]) };
      const [one, other] = await Promise.all([ask(direct.url, request), ask(through.url, request)]);
      if (isDeepStrictEqual(one, other)) same += 1;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return same;
}
