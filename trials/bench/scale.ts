// Whether answers take as long over a thousand times the rows.

import { type Bench, progress } from "./kit/bench.ts";
import { durationAgainst, type Finding } from "./kit/findings.ts";
import { wire } from "./kit/load.ts";
import { type Contender, type Figures, requests, takeTurns } from "./kit/measure.ts";
import { furnish, type Route, routesOf } from "./kit/routes.ts";
import { bearer, liftLimits, seed, tokensOf } from "./kit/seed.ts";
import type { Served } from "./kit/serve.ts";
import { type Stack, withStack } from "./kit/stack.ts";

const SMALL = 1000;
/** One after another: how long each takes is asked, not how many go at once. */
const CONCURRENCY = 1;

export const scale: Bench = {
  about: "every list, lookup, batch and position over 1,000,000 accounts of one client, beside over 1,000",
  defaults: { accounts: 1_000_000, rounds: 11, seconds: 0.5 },
  run: (options) =>
    withStack(async (stack) => {
      const small = await stack.another("bench_small");
      const sides = {
        large: await side(stack, stack.admin, {}, options.accounts),
        small: await side(stack, small.admin, small.variables, SMALL),
      };
      const findings: Finding[] = [];
      const compare = async (what: string, large: Contender, beside: Contender, at_most: number) => {
        progress(what);
        const turns: Record<"large" | "small", Figures> = await takeTurns({ large, small: beside }, options);
        const floor = { what: `that over ${SMALL}`, figures: turns.small };
        findings.push(durationAgainst(what, turns.large, floor, "p50_ms", { at_most }));
      };
      for (const [place, { what }] of sides.large.routes.entries())
        await compare(what, sides.large.ask(place), sides.small.ask(place), 1.3);

      // nine tenths down, beside the first page over few
      const offset = Math.floor((options.accounts * 9) / 10);
      for (const path of ["/v1/accounts", "/v1/ere-positions"])
        await compare(
          `GET ${path}?limit=50&offset=${offset}`,
          sides.large.page(`${path}?limit=50&offset=${offset}`),
          sides.small.page(`${path}?limit=50`),
          5,
        );
      return findings;
    }),
};

/** A database with so many accounts of one client, functions on it, and a contender for each of its routes. */
async function side(stack: Stack, admin: Stack["admin"], variables: Record<string, string>, accounts: number) {
  const seeded = await seed(admin, 1, accounts);
  await liftLimits(admin);
  const tokens = await tokensOf(stack, seeded.clients, variables);
  const routes: Route[] = routesOf(await furnish(admin, seeded, tokens, Math.ceil(accounts / 10)));
  const functions = new Map<string, Served>();
  for (const slug of new Set(routes.map((each) => each.slug))) functions.set(slug, await stack.serve(slug, variables));
  const send = (slug: string, next: () => Buffer): Contender => {
    const served = functions.get(slug);
    if (!served) throw new Error(`${slug} is not served`);
    return requests(stack, served, { url: served.url, next, concurrency: CONCURRENCY });
  };
  return {
    routes,
    ask(place: number): Contender {
      const route = routes[place];
      if (!route) throw new Error(`there is no route ${place}`);
      let n = 0;
      return send(route.slug, () => wire(route.request(n++)));
    },
    page: (path: string) => send("cpo-v1", () => wire({ path, headers: bearer(tokens[0]) })),
  };
}
