// The promise of the log: whoever reads from cursor to cursor misses nothing, reads nothing twice, and in one order.

import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPartnerWorld, type PartnerWorld } from "../partner/partner_world.ts";
import type { LogEvent } from "./log.ts";

let world: PartnerWorld;
beforeAll(async () => {
  world = await createPartnerWorld();
});
afterAll(() => world.close());

const WRITERS = 12;
const READERS = 3;
const TRANSACTIONS = 60;
const ACCOUNTS = 4;

/** Writes events in transactions that take their time; every fifth is rolled back. Says what it committed. */
async function write(writer: number, partner: string): Promise<string[]> {
  const client = new pg.Client(world.database.admin.options.connectionString);
  await client.connect();
  const committed: string[] = [];
  for (let turn = 0; turn < TRANSACTIONS; turn++) {
    const account = (writer + turn) % ACCOUNTS;
    const labels: string[] = [];
    await client.query("begin");
    // half of them change the same thing as others do, which makes them wait for each other
    const { rows } =
      turn % 2
        ? { rows: [] }
        : await client.query("select nextval('public.turn_' || $1) as n from pg_advisory_xact_lock($1)", [account]);
    for (let n = 0; n <= (writer + turn) % 3; n++) {
      const label = [writer, turn, n, ...(rows[0] ? [account, rows[0].n] : [])].join("-");
      const data = { status: "claimed", external_ref: label };
      await client.query("select private.append_event($1, $1, 'draft.claimed', gen_random_uuid(), $2)", [
        partner,
        data,
      ]);
      labels.push(label);
      if ((writer * 7 + turn) % 4 === 0) await sleep(1 + ((writer + turn) % 5));
    }
    const kept = (writer + turn) % 5 !== 0;
    await client.query(kept ? "commit" : "rollback");
    if (kept) committed.push(...labels);
  }
  await client.end();
  return committed;
}

/** Reads on from cursor to cursor until the writers are done and nothing is left. */
async function follow(reader: number, done: () => boolean): Promise<LogEvent[]> {
  const seen: LogEvent[] = [];
  let after = "";
  for (;;) {
    const finished = done();
    const query = new URLSearchParams({ limit: String([7, 50, 200][reader % 3]), ...(after && { after }) });
    const { status, body } = await world.get(`/partner/events?${query}`, world.keyA);
    expect(status).toBe(200);
    seen.push(...body.events);
    after = body.next_cursor;
    if (finished && !body.has_more) return seen;
    // a reader that never rests takes the processor from the writers
    if (!body.has_more) await sleep(5 * reader);
  }
}

test("§6 twelve writers with rollbacks and three readers: no event is missed, none read twice, and all in one order", async () => {
  for (let n = 0; n < ACCOUNTS; n++) await world.database.admin.query(`create sequence public.turn_${n}`);
  let writing = true;
  const readers = Array.from({ length: READERS }, (_, reader) => follow(reader, () => !writing));
  // another partner's writers at the same time: a log of its own, with numbers of its own
  const other = write(0, world.partnerB.id);
  const written = (
    await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer, world.partnerA.id)))
  ).flat();
  await other;
  writing = false;
  const logs = await Promise.all(readers);

  for (const events of logs) {
    const labels = events.map(({ data }) => data.external_ref);
    expect(labels.length).toBe(written.length);
    expect(new Set(labels)).toEqual(new Set(written));
    expect(events.map(({ sequence }) => sequence)).toEqual(written.map((_, index) => index + 1));
    expect(events.map(({ id }) => id)).toEqual(logs[0]?.map(({ id }) => id));
  }
  const [log = []] = logs;
  // what one transaction wrote stands in its order, and so does what waited for another
  for (let writer = 0; writer < WRITERS; writer++) {
    const own = log.map(({ data }) => data.external_ref as string).filter((label) => label.startsWith(`${writer}-`));
    const key = (label: string) => label.split("-").map(Number) as [number, number, number];
    expect(own).toEqual([...own].sort((a, b) => key(a)[1] - key(b)[1] || key(a)[2] - key(b)[2]));
  }
  for (let account = 0; account < ACCOUNTS; account++) {
    const { rows } = await world.database.admin.query(
      "select split_part(data ->> 'external_ref', '-', 5)::int as n from core.events where partner_id = $1 and split_part(data ->> 'external_ref', '-', 4) = $2 order by sequence, arrival",
      [world.partnerA.id, String(account)],
    );
    expect(rows.length).toBeGreaterThan(50);
    expect(rows.map(({ n }) => n)).toEqual(rows.map(({ n }) => n).sort((a, b) => a - b));
  }
  const { n } = await world.row("select count(*)::int as n from core.events where partner_id = $1", world.partnerB.id);
  const { status, body } = await world.get("/partner/events?limit=200", world.keyB);
  expect([status, body.events.length, body.events.at(-1)?.sequence]).toEqual([200, n, n]);
});
