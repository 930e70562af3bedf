// What an endpoint of one integrator costs the others, and what is sent to whom nothing is shown any more.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { deliverWebhooks } from "../../supabase/functions/worker/webhooks.ts";
import { createPartnerWorld, type PartnerWorld } from "../partner/partner_world.ts";
import { readLog } from "./log.ts";
import { addEndpoint, type Receiver, startReceiver } from "./receiver.ts";

const START = "2026-06-15T12:00:00Z";
const later = (seconds: number) => new Date(Date.parse(START) + seconds * 1000).toISOString();
const worker = { kind: "worker", host: "sandbox", request_id: "test" };

let world: PartnerWorld;
let receiver: Receiver;
beforeAll(async () => {
  world = await createPartnerWorld({ now: START, variables: { WEBHOOK_ALLOW_LOOPBACK: "true" } });
});
afterAll(() => world.close());
beforeEach(async () => {
  receiver = await startReceiver();
  await world.freeze(START);
  await world.database.admin.query(
    "delete from core.webhook_endpoints; delete from core.events; delete from core.event_heads",
  );
});
afterEach(() => receiver.close());

/** A partner's own log, or that of a client of its. */
type Log = { partner?: string; owner?: string };
const endpoint = async (options: Log & { types?: string[] | null } = {}) =>
  (await addEndpoint(world, receiver.url, options)).id;
/** Events of a log: the partner's own unless told. */
async function happen(
  count: number,
  { partner = world.partnerA.id, owner = partner, type = "draft.claimed" }: Log & { type?: string } = {},
) {
  await world.row(
    `insert into core.events (partner_id, owner_id, type, subject_id, data)
     select $1, $2, $3::text, gen_random_uuid(), json_build_object('status', split_part($3, '.', 2)) from generate_series(1, $4)`,
    partner,
    owner,
    type,
    count,
  );
}
const call = (name: string, ...input: (object | null)[]) => world.environment.slowDb.call(name, worker, ...input);
const deliver = () =>
  deliverWebhooks(world.environment, call as Parameters<typeof deliverWebhooks>[1], Date.now() + 30_000, "test");
const claim = async (size: number) => JSON.parse(await call("lease_webhooks", { size, key: "00" }));

/** Rows that a statement reads of the log and of what waits to be sent again. */
async function reads(statement: string): Promise<number> {
  await world.database.admin.query("vacuum analyze core.events, core.webhook_retries");
  const client = await world.database.admin.connect();
  const count = async () => {
    const { rows } = await client.query(
      `select sum(seq_tup_read + idx_tup_fetch)::int as read from pg_stat_xact_user_tables
        where schemaname = 'core' and relname in ('events', 'webhook_retries')`,
    );
    return rows[0].read;
  };
  try {
    // as in tables of millions, of which nobody reads all that is kept
    await client.query("begin; set local enable_seqscan = off; drop index core.events_age");
    const before = await count();
    await client.query(statement);
    return (await count()) - before;
  } finally {
    await client.query("rollback");
    client.release();
  }
}

describe("§6 endpoints that keep others waiting", () => {
  test("have one turn, and then all others have theirs", async () => {
    const ids = [await endpoint(), await endpoint(), await endpoint({ partner: world.partnerB.id }), await endpoint()];
    await happen(500);
    await happen(1, { partner: world.partnerB.id });
    const turns: string[] = [];
    for (let second = 0; second < ids.length; second++) {
      await world.freeze(later(second));
      // the order in which rows lie there is no order of turns
      await world.database.admin.query("vacuum (index_cleanup on) core.webhook_endpoints");
      const [{ partner_id, webhook_id, lease_id, posts }] = await claim(1);
      turns.push(webhook_id);
      const results = [{ ...posts[0], at: later(second), status: 204, ms: 9000 }];
      await call("settle_webhook", { partner_id, webhook_id, lease_id, results, operator: null });
    }
    expect(new Set(turns)).toEqual(new Set(ids));
  });

  test("cost a turn of the worker no more for all that is to be sent again", async () => {
    const id = await endpoint();
    await happen(20_000);
    await world.row("select private.sequence_all($1, $1)", world.partnerA.id);
    await world.row(
      "select private.set_tenant(e.partner_id), private.replay_webhook(e, $2) from core.webhook_endpoints e where id = $1",
      id,
      { from: START },
    );
    await world.row("update core.webhook_endpoints set delivered_to = 20000");
    await world.row(
      "select private.set_tenant(e.partner_id), private.replay_webhook(e, $2) from core.webhook_endpoints e where id = $1",
      id,
      { from: START },
    );
    expect(await world.row("select count(*)::int from core.webhook_retries")).toEqual({ count: 20_000 });
    await world.freeze(later(60));
    expect(await reads("select private.lease_webhooks(1, '00')")).toBeLessThan(2_000);
  });

  test("that want a rare type have the log looked through in parts", async () => {
    const id = await endpoint({ types: ["draft.expired"] });
    await happen(25_000);
    await happen(1, { type: "draft.expired" });
    await world.row("select private.sequence_all($1, $1)", world.partnerA.id);
    expect(await reads("select private.lease_webhooks(1, '00')")).toBeLessThan(15_000);
    expect(await deliver()).toEqual({ delivered: 1, failed: 0 });
    expect(await world.row("select delivered_to from core.webhook_endpoints where id = $1", id)).toEqual({
      delivered_to: "25001",
    });
  });
});

describe("§6 a log", () => {
  test("is looked through in parts for a rare type, and nothing is left out", async () => {
    await happen(25_000);
    await happen(1, { type: "draft.expired" });
    const first = await world.get("/partner/events?type=draft.expired", world.keyA);
    expect(first.body).toMatchObject({ events: [], has_more: true });
    const { events } = await readLog(world, "partner", world.keyA, { type: "draft.expired" });
    expect(events.map(({ sequence }) => sequence)).toEqual([25_001]);
  });
});

describe("§6 a client that was disabled", () => {
  test("is sent nothing any more, and all of it once it is enabled again", async () => {
    const { client_id } = world.partnerA.client;
    const { id: owner } = await world.row("select id from core.oauth_clients where client_id = $1", client_id);
    await endpoint({ owner });
    await happen(2, { owner, type: "account.created" });
    await world.row("update core.oauth_clients set disabled_at = private.now() where id = $1", owner);
    expect(await deliver()).toEqual({ delivered: 0, failed: 0 });
    await world.row("update core.oauth_clients set disabled_at = null where id = $1", owner);
    expect(await deliver()).toEqual({ delivered: 2, failed: 0 });
  });
});
