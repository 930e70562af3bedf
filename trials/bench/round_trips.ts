// How often a request waits for the database, exactly, by reading along between function and Postgres.

import type { Bench } from "./kit/bench.ts";
import { startCountingProxy } from "./kit/counting_proxy.ts";
import { alone, type Finding } from "./kit/findings.ts";
import { openConnection, wire } from "./kit/load.ts";
import { furnish, routesOf } from "./kit/routes.ts";
import { liftLimits, seed, tokensOf } from "./kit/seed.ts";
import { withStack } from "./kit/stack.ts";

const REQUESTS = 20;

export const round_trips: Bench = {
  about: "statements a request, counted between function and Postgres, of every route that is much used",
  defaults: { accounts: 1000, rounds: 1, seconds: 1 },
  run: ({ accounts }) =>
    withStack(async (stack) => {
      const seeded = await seed(stack.admin, 5, accounts);
      await liftLimits(stack.admin);
      const world = await furnish(stack.admin, seeded, await tokensOf(stack, seeded.clients));
      const proxy = await startCountingProxy(stack.database_port);
      const through = (url: string) => url.replace(`:${stack.database_port}/`, `:${proxy.port}/`);
      const variables = {
        EDGE_DATABASE_URL: through(stack.url("edge")),
        EDGE_SLOW_DATABASE_URL: through(stack.url("edge_slow")),
      };
      try {
        const findings: Finding[] = [];
        const routes = routesOf(world);
        for (const slug of new Set(routes.map((each) => each.slug))) {
          const served = await stack.serve(slug, variables);
          const connection = await openConnection(served.url);
          for (const { what, request } of routes.filter((each) => each.slug === slug)) {
            const send = async (n: number) => {
              const { status, body } = await connection.send(wire(request(n)));
              if (status !== 200) throw new Error(`${what} answered ${status}: ${body}`);
            };
            await send(0); // what a first request does once is no part of the others
            proxy.waits();
            for (let n = 1; n <= REQUESTS; n++) await send(n);
            findings.push(alone(what, "statements a request", proxy.waits().length / REQUESTS, { exactly: 1 }));
          }
          connection.close();
          await served.stop();
        }
        return findings;
      } finally {
        await proxy.close();
      }
    }),
};
