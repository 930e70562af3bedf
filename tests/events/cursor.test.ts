// Cursors: whose they are, how long they are good, and what else a reader may ask of a log.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAccount } from "../harness/people.ts";
import { createPartnerWorld, type PartnerWorld } from "../partner/partner_world.ts";
import { readLog } from "./log.ts";

const START = "2026-06-15T12:00:00Z";
const daysLater = (days: number) => new Date(Date.parse(START) + days * 86_400_000).toISOString();

let world: PartnerWorld;
beforeAll(async () => {
  world = await createPartnerWorld({ now: START });
});
afterAll(() => world.close());

const token = () => world.partnerA.client.token();
const list = async (query: string, bearer?: string) => world.get(`/v1/events${query}`, bearer ?? (await token()));

describe("§6 a cursor", () => {
  test("is there before the first event, and behind the last; from it on only what is new is read", async () => {
    const empty = await list("");
    expect(empty.body).toEqual({ events: [], next_cursor: expect.stringMatching(/^[\w-]{22}$/), has_more: false });
    const { account_id, connection_id, account } = await createAccount(world);
    const { body } = await list(`?after=${empty.body.next_cursor}`);
    expect(body.events).toEqual([
      {
        id: expect.any(String),
        type: "account.created",
        created_at: START,
        sequence: 1,
        account_id,
        data: { account_id, cpo_external_ref: account.cpo_external_ref, connection_id },
      },
    ]);
    expect((await list(`?after=${body.next_cursor}`)).body).toEqual({ ...body, events: [] });
    expect((await list(`/${body.events[0].id}`)).body).toEqual(body.events[0]);
  });

  test("goes on where a page ended, whatever the page's length and filter; limit is read leniently", async () => {
    for (let n = 0; n < 5; n++) await createAccount(world);
    const all = await readLog(world, "client", await token());
    expect(all.events.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await readLog(world, "client", await token(), { limit: 1 })).toEqual(all);
    const first = (await list("?limit=2&type=account.created")).body;
    expect(first).toMatchObject({ events: all.events.slice(0, 2), has_more: true });
    expect((await list(`?after=${first.next_cursor}`)).body.events).toEqual(all.events.slice(2));
    const none = (await list("?type=mandate.signed")).body;
    expect(none).toEqual({ events: [], next_cursor: all.cursor, has_more: false });
    for (const limit of ["0", "x", "201", "1000", ""])
      expect((await list(`?limit=${limit}`)).body.events).toHaveLength(6);
    expect((await list("?limit=-1")).body.events).toHaveLength(1);
    const [, second] = all.events;
    expect((await list(`?account_id=${second?.account_id}`)).body.events).toEqual([second]);
    expect((await list("?account_id=00000000-0000-4000-8000-000000000001")).body.events).toEqual([]);
  });

  test("made up, of another log, or of a number that never was, is refused", async () => {
    const own = (await list("")).body.next_cursor;
    const colleague = await world.addClient(world.partnerA.id);
    await createAccount(world, world.partnerB);
    const foreign = (await list("", await world.partnerB.client.token())).body.next_cursor;
    const partner = (await world.get("/partner/events", world.keyA)).body.next_cursor;
    const { ahead } = await world.row("select private.cursor_at($1, 999) as ahead", world.partnerA.client.id);
    const { negative } = await world.row("select private.cursor_at($1, -1) as negative", world.partnerA.client.id);
    const broken = [
      "x",
      "0",
      own.slice(1),
      `${own}A`,
      own.toLowerCase(),
      `A${own.slice(1)}`,
      "é",
      "' or 1=1",
      "A".repeat(22),
      "-".repeat(22),
      "a".repeat(5000),
    ];
    for (const after of [...broken.filter((each) => each !== own), foreign, partner, ahead, negative]) {
      const answer = await list(`?after=${encodeURIComponent(after)}`);
      expect([answer.status, answer.body.error], after).toEqual([400, "invalid_cursor"]);
    }
    expect((await list(`?after=${own}`, await colleague.token())).body.error).toBe("invalid_cursor");
    expect((await world.get(`/partner/events?after=${own}`, world.keyA)).body.error).toBe("invalid_cursor");
    expect((await list("?after=")).status).toBe(200);
  });

  test("unknown types are refused, of several even one; spaces and empty parts are forgiven", async () => {
    for (const type of ["mandate.sign", "account.created,nothing", "*", "ping", "ACCOUNT.CREATED", "a".repeat(9000)]) {
      const answer = await list(`?type=${type}`);
      expect([answer.status, answer.body.error], type).toEqual([400, "invalid_request"]);
    }
    expect((await list("?account_id=none")).status).toBe(400);
    expect((await list("?type=account.created,%20mandate.signed,,")).body.events).toHaveLength(6);
    expect((await list("?type=,")).body.events).toHaveLength(6);
  });

  test("an event that is not there, is another's, or has no id for a name is not found", async () => {
    const [theirs] = (await readLog(world, "client", await world.partnerB.client.token())).events;
    const [own] = (await readLog(world, "client", await token())).events;
    for (const id of [theirs?.id, "00000000-0000-4000-8000-000000000001", "x", "%00"])
      expect(await list(`/${id}`)).toMatchObject({ status: 404, body: { error: "event_not_found" } });
    expect(await world.get(`/partner/events/${own?.id}`, world.keyA)).toMatchObject({
      status: 404,
      body: { error: "event_not_found" },
    });
  });

  test("a partner's key reads no client's log, a client's token no partner's", async () => {
    expect(await list("", world.keyA)).toMatchObject({ status: 403, body: { error: "Insufficient scope" } });
    expect(await world.get("/partner/events", await token())).toMatchObject({ status: 403 });
    expect(await list("", await world.partnerA.client.token("cpo:sessions:write"))).toMatchObject({
      status: 403,
      body: { required_scope: "cpo:accounts:read" },
    });
    expect((await world.get("/partner/events", await world.manager(world.partnerA, "partners:read"))).status).toBe(200);
  });
});

describe("§6 after 90 days", () => {
  const counts = () =>
    world.row("select count(*)::int as events from core.events where owner_id = $1", world.partnerA.client.id);
  const sweep = () => world.row("select private.sweep_events() as swept");

  test("an event is gone at once, swept or not; a cursor before it is refused and says where to go on", async () => {
    const before = await readLog(world, "client", await token());
    const [first] = before.events;
    const beginning = (await world.row("select private.cursor_at($1, 0) as cursor", world.partnerA.client.id)).cursor;
    const middle = (await list("?limit=2")).body.next_cursor;
    await world.travel(daysLater(60));
    const { account_id } = await createAccount(world);

    await world.travel(daysLater(89.9));
    expect((await list(`?after=${beginning}`)).body.events).toHaveLength(7);
    await world.travel(daysLater(91));
    for (const swept of [false, true]) {
      if (swept) expect(await sweep()).toMatchObject({ swept: expect.not.stringMatching(/^0$/) });
      for (const after of [beginning, middle]) {
        const { status, body } = await list(`?after=${after}`);
        expect([status, body.error]).toEqual([410, "cursor_expired"]);
        expect((await list(`?after=${body.oldest_cursor}`)).body.events).toMatchObject([{ account_id, sequence: 7 }]);
      }
      // who had read all of it has missed nothing
      expect((await list(`?after=${before.cursor}`)).body.events).toHaveLength(1);
      expect((await list("")).body.events).toMatchObject([{ account_id, sequence: 7 }]);
      expect((await list(`/${first?.id}`)).status).toBe(404);
      expect(await counts()).toEqual({ events: swept ? 1 : 7 });
    }
  });

  test("events that nobody read are counted before they go: a cursor from before them has expired too", async () => {
    const { cursor } = await readLog(world, "client", await token());
    for (let n = 0; n < 3; n++) await createAccount(world);
    await world.travel(daysLater(200));
    await sweep();
    expect(await counts()).toEqual({ events: 0 });
    const expired = await list(`?after=${cursor}`);
    expect([expired.status, expired.body.error]).toEqual([410, "cursor_expired"]);
    const { body } = await list(`?after=${expired.body.oldest_cursor}`);
    expect(body).toEqual({ events: [], next_cursor: expired.body.oldest_cursor, has_more: false });
    await createAccount(world);
    expect((await list(`?after=${body.next_cursor}`)).body.events).toMatchObject([{ sequence: 11 }]);
  });
});
