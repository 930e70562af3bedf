// How a log gets its numbers: in turns of ten thousand, whoever asks for it, and in one order whatever its length.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createPartnerWorld, type PartnerWorld } from "../partner/partner_world.ts";
import { readLog } from "./log.ts";

const START = "2026-06-15T12:00:00Z";
const later = (hours: number) => new Date(Date.parse(START) + hours * 3_600_000).toISOString();

let world: PartnerWorld;
beforeAll(async () => {
  world = await createPartnerWorld({ now: START });
});
afterAll(() => world.close());
beforeEach(async () => {
  await world.freeze(START);
  await world.database.admin.query(
    "delete from core.webhook_endpoints; delete from core.events; delete from core.event_heads",
  );
});

/** Events of a partner's own log, each with its place among them as its reference. */
const happen = (count: number, partner = world.partnerA.id) =>
  world.row(
    `insert into core.events (partner_id, owner_id, type, subject_id, data)
     select $1, $1, 'draft.claimed', gen_random_uuid(), json_build_object('status', 'claimed', 'external_ref', n::text) from generate_series(1, $2::int) n`,
    partner,
    count,
  );
const head = async (partner = world.partnerA.id) =>
  (await world.row("select sequence::int, swept::int from core.event_heads where partner_id = $1", partner)) ?? null;
const sweep = async () => Number((await world.row("select private.sweep_events() as swept")).swept);

describe("§6 a log that nobody has read", () => {
  test("is numbered ten thousand events a turn, in their order, and says as long that there are more", async () => {
    await happen(25_000);
    const read = (query: string) => world.get(`/partner/events?${query}`, world.keyA);
    const first = (await read("limit=1")).body;
    expect([first.events[0].sequence, first.has_more, await head()]).toEqual([1, true, { sequence: 10_000, swept: 0 }]);
    // behind the last number there is more, of which nobody knows what it is
    const { cursor } = await world.row("select private.cursor_at($1, 10000) as cursor", world.partnerA.id);
    await world.row("update core.event_heads set sequence = sequence");
    const next = (await read(`limit=1&after=${cursor}`)).body;
    expect([next.events[0].sequence, next.has_more, await head()]).toEqual([
      10_001,
      true,
      { sequence: 20_000, swept: 0 },
    ]);
    expect((await read("limit=1")).body.has_more).toBe(true);
    expect(await head()).toEqual({ sequence: 25_000, swept: 0 });
    const { rows } = await world.database.admin.query(
      "select count(*)::int as wrong from core.events where sequence <> (data ->> 'external_ref')::bigint",
    );
    expect(rows).toEqual([{ wrong: 0 }]);
  });

  test("is read to its end by who follows has_more, a filter that finds nothing included", async () => {
    await happen(20_001);
    const none = (await world.get("/partner/events?type=draft.expired", world.keyA)).body;
    expect([none.events, none.has_more]).toEqual([[], true]);
    expect((await readLog(world, "partner", world.keyA, { type: "draft.expired" })).events).toEqual([]);
    expect(await head()).toEqual({ sequence: 20_001, swept: 0 });
  });

  test("has its end looked for by an endpoint that begins there: it is sent nothing of before", async () => {
    await happen(12_000);
    const url = "https://receiver.example.com/";
    const { body } = await world.post("/partner/webhooks", { url }, await world.manager(world.partnerA));
    expect(body.delivered_to).toBe(12_000);
  });

  test("is numbered by the worker once an hour has passed, so that its first reader finds little to do", async () => {
    await happen(15_000);
    expect(await sweep()).toBe(0);
    expect(await head()).toBe(null);
    await world.freeze(later(1));
    for (const sequence of [10_000, 15_000]) {
      expect(await sweep()).toBe(0);
      expect(await head()).toEqual({ sequence, swept: 0 });
    }
  });

  test("is deleted after 90 days ten thousand in a run, each counted before it goes", async () => {
    await happen(12_000);
    await happen(5, world.partnerB.id);
    await world.freeze(later(91 * 24));
    const swept = [await sweep(), await sweep(), await sweep()];
    expect([swept.reduce((sum, each) => sum + each), Math.max(...swept)]).toEqual([12_005, 10_000]);
    expect([await head(), await head(world.partnerB.id)]).toEqual([
      { sequence: 12_000, swept: 12_000 },
      { sequence: 5, swept: 5 },
    ]);
    expect(await world.row("select count(*)::int from core.events")).toEqual({ count: 0 });
  });
});

test("§6 the sweep waits for nobody who holds a log, and comes back for it; two at once take their logs apart", async () => {
  for (const { id } of [world.partnerA, world.partnerB]) {
    await world.row("insert into core.event_heads (partner_id, owner_id) values ($1, $1)", id);
    await happen(3, id);
  }
  await world.freeze(later(91 * 24));
  const [held, other] = await Promise.all([world.database.admin.connect(), world.database.admin.connect()]);
  try {
    for (const client of [held, other]) await client.query("begin; set local lock_timeout = '1s'");
    await held.query("select private.sequence_events($1, $1)", [world.partnerB.id]);
    // a run of jobs, which holds what it swept until it ends
    const first = await other.query("select private.sweep_events()::int as swept");
    expect(first.rows).toEqual([{ swept: 3 }]);
    // and another one, which finds both held
    expect((await held.query("select private.sweep_events()::int as swept")).rows).toEqual([{ swept: 3 }]);
  } finally {
    for (const client of [held, other]) {
      await client.query("commit");
      client.release();
    }
  }
  expect(await sweep()).toBe(0);
  for (const { id } of [world.partnerA, world.partnerB]) expect(await head(id)).toEqual({ sequence: 3, swept: 3 });
});
