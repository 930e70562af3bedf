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
  const sessions: SessionItem[] = Array.from({ length: 10_000 }, (_, n) => ({
    charger_id,
    external_id: `s${n}`,
    started_at: iso(start + n * 6 * 3_600_000),
    ended_at: iso(start + n * 6 * 3_600_000 + 3_600_000),
    wh: 5000,
  }));
  const timed = async () => {
    const begun = performance.now();
    const results = await ingest(world, ...sessions);
    return { ms: Math.round(performance.now() - begun), statuses: new Set(results.map(({ status }) => status)) };
  };
  const first = await timed();
  const again = await timed();
  for (const each of sessions) each.wh = 5000 - 1;
  const corrected = await timed();
  console.log(`10,000 sessions: ${first.ms} ms new, ${again.ms} ms again, ${corrected.ms} ms each corrected`);
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
  // a nested loop anywhere would take minutes
  for (const { ms } of [first, again, corrected]) expect(ms).toBeLessThan(15_000);
}, 60_000);
