// A position by its reference: what an integrator asks most.

import { isDeepStrictEqual } from "node:util";
import { type Bench, progress } from "./kit/bench.ts";
import { type Finding, rateAgainst, type Target } from "./kit/findings.ts";
import { ask, wire } from "./kit/load.ts";
import { type Contender, type Options, requests, takeTurns } from "./kit/measure.ts";
import { POSITION_BY_REFERENCE } from "./kit/positions.ts";
import { positionPath } from "./kit/routes.ts";
import { bearer, inTurn, liftLimits, type Seeded, seed, tokensOf } from "./kit/seed.ts";
import type { Served } from "./kit/serve.ts";
import { type Stack, withStack } from "./kit/stack.ts";

const CLIENTS = 50;
const CONCURRENCIES = [16, 64];
/** The row as JSON, as a function would answer it. */
const BY_KEY = "select to_json(a) as account from core.accounts a where a.partner_id = $1 and a.id = $2";

/** That statement in a function, which plans it once a connection and not once a request. */
const FUNCTION = `
  create function bench.position(partner uuid, client uuid, reference text) returns text language plpgsql stable
  as $$ begin return (select answer from (${POSITION_BY_REFERENCE}) position); end $$`;
const PLANNED = "select bench.position($1, $2, $3) as answer";

export const read: Bench = {
  about:
    "a position by its reference, beside one bare primary-key select and one bare statement that builds the same answer",
  defaults: { accounts: 100_000, rounds: 11, seconds: 1 },
  run: (options) =>
    withStack(async (stack) => {
      const seeded = await seed(stack.admin, CLIENTS, options.accounts);
      await liftLimits(stack.admin);
      const tokens = await tokensOf(stack, seeded.clients);
      const ours = await stack.serve("cpo-v1");
      await stack.admin.query(FUNCTION);
      const floor = await stack.serveFloor({ by_key: BY_KEY, same: POSITION_BY_REFERENCE, planned: PLANNED });
      await sameAnswers(seeded, tokens, ours, floor);
      const findings: Finding[] = [];
      for (const concurrency of CONCURRENCIES) {
        progress(`${concurrency} at once`);
        findings.push(...(await compare(stack, seeded, tokens, { ours, floor, concurrency, options })));
      }
      return findings;
    }),
};

/** Requests for positions, in turn over the accounts: of the function, with the token of each one's client. */
export function positions(
  stack: Stack,
  ours: Served,
  seeded: Seeded,
  tokens: string[],
  concurrency: number,
): Contender {
  const next = inTurn(
    seeded.accounts.map(({ reference, client }) =>
      wire({ path: positionPath(reference), headers: bearer(tokens[client]) }),
    ),
  );
  return requests(stack, ours, { url: ours.url, next, concurrency });
}

type Sides = { ours: Served; floor: Served; concurrency: number; options: Options };

async function compare(stack: Stack, seeded: Seeded, tokens: string[], { ours, floor, concurrency, options }: Sides) {
  const bare = (path: (place: number) => string) => {
    const next = inTurn(seeded.accounts.map((_, place) => wire({ path: path(place) })));
    return requests(stack, floor, { url: floor.url, next, concurrency });
  };
  const turns = await takeTurns(
    {
      ours: positions(stack, ours, seeded, tokens, concurrency),
      by_key: bare((place) => `/by_key?${keyOf(seeded, place)}`),
      same: bare((place) => `/same?${referenceOf(seeded, place)}`),
      planned: bare((place) => `/planned?${referenceOf(seeded, place)}`),
    },
    options,
  );
  const what = `GET /v1/ere-positions?cpo_external_ref=…, ${concurrency} at once`;
  const held = (name: "by_key" | "same" | "planned", floorWhat: string, target: Target | null) =>
    rateAgainst(what, "requests/s", turns.ours, { what: floorWhat, figures: turns[name] }, target);
  return [
    held("by_key", "one bare primary-key select", { at_least: 0.4 }),
    held("same", "one bare statement that builds the same answer", { at_least: 0.8 }),
    held("planned", "that statement in a function that plans it once", { at_least: 0.4 }),
  ];
}

function keyOf({ clients, accounts }: Seeded, place: number): string {
  const account = accounts[place];
  return `partner=${clients[account?.client ?? 0]?.partner_id}&account=${account?.id}`;
}

function referenceOf({ clients, accounts }: Seeded, place: number): string {
  const account = accounts[place];
  const client = clients[account?.client ?? 0];
  return `partner=${client?.partner_id}&client=${client?.id}&reference=${account?.reference}`;
}

/** A floor that answers less would be none. @throws when the two answers differ for one of the first accounts. */
async function sameAnswers(seeded: Seeded, tokens: string[], ours: Served, floor: Served): Promise<void> {
  for (const [place, { reference, client }] of seeded.accounts.slice(0, 100).entries()) {
    const answer = await ask(ours.url, { path: positionPath(reference), headers: bearer(tokens[client]) });
    for (const name of ["same", "planned"]) {
      const bare = await ask(floor.url, { path: `/${name}?${referenceOf(seeded, place)}` });
      if (!isDeepStrictEqual(answer, bare))
        throw new Error(`the floor answers another position:\n${JSON.stringify(answer)}\n${JSON.stringify(bare)}`);
    }
  }
}
