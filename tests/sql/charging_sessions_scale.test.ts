// The session pipeline where much comes in at once.

import { afterAll, beforeAll, expect, test } from "vitest";
import { addCharger, ingest, type SessionItem } from "../harness/chargers.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld({ now: "2027-02-01T12:00:00Z" });
});
afterAll(() => world.close());

test("§8 10,000 sessions are one set-based batch", async () => {
  const charger_id = await addCharger(world, await world.addUser());
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
  for (const one of sessionsOf(await addCharger(world, await world.addUser()), 20)) await ingest(world, one);
  const few = await timed(sessionsOf(await addCharger(world, await world.addUser()), 500));
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
  ).toEqual({
    wh: 49_990_000,
  });
  // twenty times as many: with a nested loop anywhere they would take four hundred times as long, some minutes
  for (const { ms } of [first, again, corrected]) expect(ms).toBeLessThan(150 * few.ms);
});
