// The session pipeline where much comes in at once.

import { afterAll, beforeAll, expect, test } from "vitest";
import { addCharger, ingest, type SessionItem } from "../harness/chargers.ts";
import { giveMandate } from "../harness/mandate.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld({ now: "2027-02-01T12:00:00Z" });
});
afterAll(() => world.close());

/** A charger that we know since 2019. */
async function addOldCharger() {
  const id = await addCharger(world, await world.addUser());
  await world.row("update core.chargers set created_at = '2019-01-01Z' where id = $1", id);
  return id;
}

test("§8 10,000 sessions are one set-based batch", async () => {
  const charger_id = await addOldCharger();
  const start = Date.UTC(2020, 0, 1);
  const iso = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
  const sessionsOf = (charger_id: string, count: number): SessionItem[] =>
    Array.from({ length: count }, (_, n) => ({
      charger_id,
      external_id: `s${n}`,
      started_at: iso(start + n * 6 * 3_600_000),
      ended_at: iso(start + n * 6 * 3_600_000 + 3_600_000),
      wh: 5000,
    }));
  const timed = async (batch: readonly SessionItem[]) => {
    const begun = performance.now();
    const results = await ingest(world, ...batch);
    return { ms: Math.round(performance.now() - begun), statuses: new Set(results.map(({ status }) => status)) };
  };
  // a connection that took sessions one by one keeps no plan for one
  for (const one of sessionsOf(await addOldCharger(), 20)) await ingest(world, one);
  const few = await timed(sessionsOf(await addOldCharger(), 500));
  const sessions = sessionsOf(charger_id, 10_000);
  const first = await timed(sessions);
  const again = await timed(sessions);
  for (const each of sessions) each.wh = 5000 - 1;
  const corrected = await timed(sessions);
  console.log(
    `500 sessions: ${few.ms} ms; 10,000: ${first.ms} ms new, ${again.ms} ms again, ${corrected.ms} ms each corrected`,
  );
  expect([first.statuses, again.statuses, corrected.statuses]).toEqual([
    new Set(["created"]),
    new Set(["unchanged"]),
    new Set(["updated"]),
  ]);
  expect(
    await world.row("select sum(wh)::int as wh from core.charger_months where charger_id = $1", charger_id),
  ).toEqual({ wh: 49_990_000 });
  // twenty times as many: with a nested loop anywhere they would take four hundred times as long, some minutes
  for (const { ms } of [first, again, corrected]) expect(ms).toBeLessThan(150 * few.ms);
});

test("§8 2,000 pieces of one charge, in one day, take no longer than a statement may, new or corrected", async () => {
  const pieces = (charger_id: string, seconds: number, lasting: number): SessionItem[] =>
    Array.from({ length: 2000 }, (_, n) => ({
      charger_id,
      external_id: `s${n}`,
      started_at: new Date(Date.UTC(2020, 0, 1) + n * seconds * 1000).toISOString(),
      ended_at: new Date(Date.UTC(2020, 0, 1) + (n * seconds + lasting) * 1000).toISOString(),
      wh: 20,
    }));
  const charger = async () => addOldCharger();
  const timed = async (batch: readonly SessionItem[]) => {
    const begun = performance.now();
    const results = await ingest(world, ...batch);
    return { ms: Math.round(performance.now() - begun), flagged: results.filter(({ flags }) => flags?.length).length };
  };
  const apart = await timed(pieces(await charger(), 86_400, 20));
  for (const [what, batch, flagged] of [
    ["one after the other", pieces(await charger(), 20, 20), 0],
    ["all at once", pieces(await charger(), 10, 36_000), 1999],
  ] as const) {
    const first = await timed(batch);
    for (const each of batch) each.wh = 21;
    const corrected = await timed(batch);
    console.log(`2,000 ${what}: ${first.ms} ms new, ${corrected.ms} ms corrected; days apart: ${apart.ms} ms`);
    expect([first.flagged, corrected.flagged]).toEqual([flagged, flagged]);
    // corrected all at once takes some 23 times as long as days apart
    for (const { ms } of [first, corrected]) expect(ms).toBeLessThan(45 * apart.ms);
  }
});

test("§8 attack: 3,000 charges that one charger began today do not hold the job that gives up charges", async () => {
  await world.row(
    `with began as (
       insert into core.ocpp_transactions (partner_id, charger_id, owner_id, connector, first_at, clock, is_over, created_at)
       select h.partner_id, h.id, h.owner_id, 1, m.at, 'charger', true, m.at
         from core.chargers h, generate_series(1, 3000) n, private.now() p (now),
              lateral (select p.now - interval '1 day' + n * interval '1 second') m (at)
        where h.id = $1 returning *)
     insert into core.charging_sessions (partner_id, charger_id, id, owner_id, source, external_id, started_at, busy_from, wh, status, received_at)
     select b.partner_id, b.charger_id, private.session_id(b.charger_id, 'ocpp', '1.6:' || b.id), b.owner_id, 'ocpp',
            '1.6:' || b.id, b.first_at, b.first_at, 0, 'active', b.created_at from began b`,
    await addOldCharger(),
  );
  const givenUp = async () => (await world.row("select private.give_up_charges() as n")).n;
  const begun = performance.now();
  expect(await givenUp()).toBe(0);
  expect(performance.now() - begun).toBeLessThan(2000);
  await world.row(
    "update core.ocpp_transactions set (created_at, first_at) = (created_at - interval '2 days', first_at - interval '2 days')",
  );
  await world.row(
    "update core.charging_sessions set (received_at, started_at) = (received_at - interval '2 days', started_at - interval '2 days')",
  );
  expect(await givenUp()).toBe(2999);
});

test("§8 attack: a charger of 6,000 sessions boots as another's number, or no longer: what counts follows at once", async () => {
  const user = await world.addUser();
  const charger_id = await addCharger(world, user);
  await world.row("update core.chargers set created_at = '2019-01-01Z' where id = $1", charger_id);
  await giveMandate(world, user);
  const hours = (n: number) => new Date(Date.UTC(2020, 0, 1) + n * 3_600_000).toISOString();
  const began = performance.now();
  await ingest(
    world,
    ...Array.from({ length: 6000 }, (_, n) => ({
      ...{ charger_id, external_id: `s${n}`, started_at: hours(n * 6), ended_at: hours(n * 6 + 1), wh: 5000 },
    })),
  );
  const stored = performance.now() - began;
  for (const [counts_from, sessions] of [
    ["infinity", 0],
    [hours(9000), 4500],
    [null, 6000],
  ] as const) {
    const begun = performance.now();
    await world.row("update core.chargers set counts_from = $2 where id = $1", charger_id, counts_from);
    const ms = Math.round(performance.now() - begun);
    console.log(`6,000 sessions, stored in ${Math.round(stored)} ms, counts_from ${counts_from}: ${ms} ms`);
    expect(
      await world.row(
        `select (select sum(total_kwh)::int from core.delivered_months where connection_id = $2) as kwh,
                (select count(*)::int from core.charging_sessions where charger_id = $1 and flags = '{}') as sessions,
                (select sum(sessions)::int from core.charger_months where charger_id = $1) as listed`,
        ...[charger_id, user.connection_id],
      ),
    ).toEqual({ kwh: sessions * 5, sessions, listed: sessions });
    expect(ms).toBeLessThan(5 * stored);
  }
});
