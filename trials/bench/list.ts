// Pages of the two lists, one at a time: what a client waits for.

import { isDeepStrictEqual } from "node:util";
import { FIRST_ACCOUNTS } from "./kit/accounts.ts";
import { type Bench, progress } from "./kit/bench.ts";
import { type Finding, rateAgainst } from "./kit/findings.ts";
import { ask, wire } from "./kit/load.ts";
import { answerOf, repeated, requests, takeTurns } from "./kit/measure.ts";
import { FIRST_POSITIONS } from "./kit/positions.ts";
import { bearer, inTurn, liftLimits, seed, tokensOf } from "./kit/seed.ts";
import { withStack } from "./kit/stack.ts";

const CLIENTS = 50;
const PAGES = [
  { path: "/v1/accounts", items: "accounts", size: 50, bare: FIRST_ACCOUNTS },
  { path: "/v1/ere-positions", items: "positions", size: 50, bare: FIRST_POSITIONS },
  { path: "/v1/ere-positions", items: "positions", size: 200, bare: FIRST_POSITIONS },
];

export const list: Bench = {
  about: "pages of accounts and of positions, beside one bare json_agg of the same columns",
  defaults: { accounts: 100_000, rounds: 11, seconds: 1 },
  run: (options) =>
    withStack(async (stack) => {
      const seeded = await seed(stack.admin, CLIENTS, options.accounts);
      await liftLimits(stack.admin);
      const tokens = await tokensOf(stack, seeded.clients);
      const ours = await stack.serve("cpo-v1");
      const findings: Finding[] = [];
      for (const { path, items, size, bare } of PAGES) {
        progress(`${size} ${items}`);
        const pages = seeded.clients.map((client, place) => ({
          request: { path: `${path}?limit=${size}`, headers: bearer(tokens[place]) },
          values: [client.partner_id, client.id, size],
        }));
        for (const { request, values } of pages.slice(0, 5)) {
          const answer = await ask<Record<string, unknown>>(ours.url, request);
          if (!isDeepStrictEqual(answer[items], JSON.parse(await answerOf(stack.admin, bare, values))))
            throw new Error(`the bare statement answers other ${items}`);
        }
        const next = inTurn(pages.map(({ request }) => wire(request)));
        const values = inTurn(pages.map((page) => page.values));
        const turns = await takeTurns(
          {
            ours: requests(stack, ours, { url: ours.url, next, concurrency: 1 }),
            bare: repeated(stack, null, () => answerOf(stack.admin, bare, values())),
          },
          options,
        );
        findings.push(
          rateAgainst(
            `GET ${path}?limit=${size}, one at a time`,
            "pages/s",
            turns.ours,
            { what: "one bare json_agg of the same columns", figures: turns.bare },
            { at_least: 0.4 },
          ),
        );
      }
      return findings;
    }),
};
