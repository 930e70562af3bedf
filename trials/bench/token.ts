// Access tokens of the client-credentials grant.

import { decodeProtectedHeader } from "jose";
import type { Bench } from "./kit/bench.ts";
import { rateAgainst } from "./kit/findings.ts";
import { ask, type Outgoing, wire } from "./kit/load.ts";
import { requests, takeTurns } from "./kit/measure.ts";
import { tokenRequest } from "./kit/routes.ts";
import { inTurn, liftLimits, seed } from "./kit/seed.ts";
import type { Served } from "./kit/serve.ts";
import { withStack } from "./kit/stack.ts";

const CLIENTS = 50;
const CONCURRENCY = 16;

export const token: Bench = {
  about: "client-credentials tokens, beside the npm package oidc-provider issuing ES256 JWTs from memory",
  defaults: { accounts: 1000, rounds: 11, seconds: 1 },
  run: (options) =>
    withStack(async (stack) => {
      const seeded = await seed(stack.admin, CLIENTS, options.accounts);
      await liftLimits(stack.admin);
      const { rows } = await stack.admin.query("select array_to_string(private.scopes_of('client'), ' ') as scope");
      const scope: string = rows[0].scope;
      const ours = await stack.serve("oauth-token");
      const clients = seeded.clients.map(({ client_id, client_secret }) => ({ client_id, client_secret, scope }));
      const floor = await stack.serveOther("oidc_provider", { CLIENTS: JSON.stringify(clients) });
      // theirs has no default scope: it has to be named
      const asked = (extra: string, path: string) =>
        seeded.clients.map((_, n): Outgoing => {
          const request = tokenRequest(seeded, n);
          return { ...request, path, body: `${request.body}${extra}` };
        });
      const sides = {
        ours: { server: ours, list: asked("", "/oauth-token") },
        floor: { server: floor, list: asked(`&scope=${encodeURIComponent(scope)}`, "/token") },
      };
      for (const { server, list } of Object.values(sides)) await issuesJwts(server, list, scope);
      const contender = ({ server, list }: { server: Served; list: Outgoing[] }) =>
        requests(stack, server, { url: server.url, next: inTurn(list.map(wire)), concurrency: CONCURRENCY });
      const turns = await takeTurns({ ours: contender(sides.ours), floor: contender(sides.floor) }, options);
      return [
        rateAgainst(
          `POST /oauth-token, ${CONCURRENCY} at once`,
          "tokens/s",
          turns.ours,
          { what: "oidc-provider on Node, from memory", figures: turns.floor },
          { at_least: 1 },
        ),
      ];
    }),
};

/** @throws when a token is no signed JWT of the kind that is compared, or grants less. */
async function issuesJwts(server: Served, [request]: Outgoing[], scope: string): Promise<void> {
  if (!request) throw new Error("the bench has no clients");
  const answer = await ask<{ access_token: string; scope: string }>(server.url, request);
  if (decodeProtectedHeader(answer.access_token).alg !== "ES256" || answer.scope !== scope)
    throw new Error(`${server.url} issued another token: ${JSON.stringify(answer)}`);
}
