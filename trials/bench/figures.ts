// What published figures add to a position. Half of the clients have none: their positions say `ere: null`.

import type { Bench } from "./kit/bench.ts";
import { durationAgainst } from "./kit/findings.ts";
import { wire } from "./kit/load.ts";
import { requests, takeTurns } from "./kit/measure.ts";
import { bearer, inTurn, liftLimits, type Seeded, seed, tokensOf } from "./kit/seed.ts";
import { withStack } from "./kit/stack.ts";
import { positions } from "./read.ts";

const CLIENTS = 50;

export const figures: Bench = {
  about: "positions with published figures, beside positions without",
  defaults: { accounts: 100_000, rounds: 11, seconds: 1 },
  run: (options) =>
    withStack(async (stack) => {
      const seeded = await seed(stack.admin, CLIENTS, options.accounts);
      await liftLimits(stack.admin);
      const tokens = await tokensOf(stack, seeded.clients);
      const ours = await stack.serve("cpo-v1");
      const without = (client: number) => client % 2 === 1;
      const bare = seeded.clients.filter((_, place) => without(place)).map(({ partner_id }) => partner_id);
      await stack.admin.query("delete from core.figures where partner_id = any ($1)", [bare]);

      const one = (is: (client: number) => boolean) => {
        const half: Seeded = { ...seeded, accounts: seeded.accounts.filter(({ client }) => is(client)) };
        return positions(stack, ours, half, tokens, 1);
      };
      const page = (is: (client: number) => boolean) => {
        const path = "/v1/ere-positions?limit=200";
        const next = inTurn(
          tokens.filter((_, place) => is(place)).map((token) => wire({ path, headers: bearer(token) })),
        );
        return requests(stack, ours, { url: ours.url, next, concurrency: 1 });
      };
      const compared = async (what: string, of: typeof one) => {
        const turns = await takeTurns({ ours: of((client) => !without(client)), bare: of(without) }, options);
        const floor = { what: "the same without figures", figures: turns.bare };
        return durationAgainst(`${what}, one at a time`, turns.ours, floor, "p50_ms", { at_most: 1.15 });
      };
      return [
        await compared("GET /v1/ere-positions?cpo_external_ref=…", one),
        await compared("GET /v1/ere-positions?limit=200", page),
      ];
    }),
};
