// Months delivered in batches.

import { type Bench, progress } from "./kit/bench.ts";
import { type Finding, rateAgainst } from "./kit/findings.ts";
import { ask, type Outgoing, wire } from "./kit/load.ts";
import { type Contender, requests, takeTurns } from "./kit/measure.ts";
import { batchOf, monthsBack } from "./kit/routes.ts";
import { type Account, bearer, inTurn, isOpen, liftLimits, type Seeded, seed, tokensOf } from "./kit/seed.ts";
import type { Served } from "./kit/serve.ts";
import { type Stack, withStack } from "./kit/stack.ts";

const CLIENTS = 50;
const CONCURRENCY = 16;
const SIZES = [12, 240];

/** A table like that of the months, without foreign keys, triggers and row-level security, and with the same rows in it. */
const TABLE = `
  create table bench.months (like core.delivered_months including all);
  insert into bench.months (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, delivery_id, received_at)
  select partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, delivery_id, received_at from core.delivered_months;`;

const UPSERT = `
  insert into bench.months (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, delivery_id, received_at)
  select (b.body ->> 'partner_id')::uuid, (b.body ->> 'connection_id')::uuid, (b.body ->> 'owner_id')::uuid,
         to_date(m.period, 'YYYY-MM'), m.total_kwh, m.session_count, 'cpo_api', 'staged', (b.body ->> 'connection_id')::uuid, now()
    from (select $1::jsonb as body) b, jsonb_to_recordset(b.body -> 'months') as m (period text, total_kwh numeric, session_count int)
  on conflict (partner_id, connection_id, period) do update
     set total_kwh = excluded.total_kwh, session_count = excluded.session_count, source = excluded.source, status = excluded.status,
         delivery_id = excluded.delivery_id, received_at = excluded.received_at`;

export const batch: Bench = {
  about: "sessions:batch of 12 and of 240 months, beside one bare set-based upsert of the same rows",
  defaults: { accounts: 100_000, rounds: 11, seconds: 1 },
  run: (options) =>
    withStack(async (stack) => {
      const seeded = await seed(stack.admin, CLIENTS, options.accounts);
      await liftLimits(stack.admin);
      await stack.admin.query(TABLE);
      await stack.admin.query("vacuum (analyze) bench.months");
      const tokens = await tokensOf(stack, seeded.clients);
      const ours = await stack.serve("cpo-v1");
      const floor = await stack.serveFloor({ upsert: UPSERT });
      await storesAll(seeded, tokens, ours, floor);
      const findings: Finding[] = [];
      for (const size of SIZES) {
        progress(`${size} months`);
        const turns = await takeTurns(
          { ours: batches(stack, ours, seeded, tokens, size), floor: upserts(stack, floor, seeded, size) },
          options,
        );
        findings.push(
          rateAgainst(
            `POST /v1/sessions:batch of ${size} months, ${CONCURRENCY} at once`,
            "months/s",
            turns.ours,
            { what: "one bare set-based upsert of the same rows", figures: turns.floor },
            { at_least: 0.4 },
            size,
          ),
        );
      }
      return findings;
    }),
};

/** Batches of new totals, in turn over the accounts, each by its client. */
export function batches(stack: Stack, ours: Served, seeded: Seeded, tokens: string[], size: number): Contender {
  const account = inTurn(seeded.accounts.filter(isOpen));
  const periods = monthsBack(size);
  const next = () => wire(delivery(account(), tokens, periods));
  return requests(stack, ours, { url: ours.url, next, concurrency: CONCURRENCY });
}

function upserts(stack: Stack, floor: Served, seeded: Seeded, size: number): Contender {
  const account = inTurn(seeded.accounts.filter(isOpen));
  const periods = monthsBack(size);
  const next = () => wire(upsert(account(), seeded, periods));
  return requests(stack, floor, { url: floor.url, next, concurrency: CONCURRENCY });
}

function delivery(account: Account, tokens: string[], periods: string[]): Outgoing {
  return {
    method: "POST",
    path: "/v1/sessions:batch",
    headers: bearer(tokens[account.client]),
    body: batchOf(account, periods),
  };
}

function upsert(account: Account, { clients }: Seeded, periods: string[]): Outgoing {
  const client = clients[account.client];
  const ids = { partner_id: client?.partner_id, connection_id: account.connection_id, owner_id: client?.id };
  return { method: "POST", path: "/upsert", body: { ...ids, ...batchOf(account, periods) } };
}

/** @throws when either side leaves a month of a batch out. */
async function storesAll(seeded: Seeded, tokens: string[], ours: Served, floor: Served): Promise<void> {
  const account = seeded.accounts.find(isOpen);
  if (!account) throw new Error("the bench has no accounts");
  for (const size of SIZES) {
    const periods = monthsBack(size);
    type Delivered = { accepted: number; outside_mandate: number };
    const { accepted, outside_mandate } = await ask<Delivered>(ours.url, delivery(account, tokens, periods));
    const { rows } = await ask<{ rows: number }>(floor.url, upsert(account, seeded, periods));
    if (accepted + outside_mandate !== size || rows !== size)
      throw new Error(`of ${size} months ${accepted + outside_mandate} were stored by us, ${rows} by the floor`);
  }
}
