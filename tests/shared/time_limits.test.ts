// A lock that is held for long, and a database that stops answering: what waits for them ends, and everything else goes on.

import { afterAll, beforeAll, expect, test } from "vitest";
import { defaultLimits } from "#shared/domain/ean_register/codeboek.ts";
import { connect, QUICK, SLOW } from "#shared/foundation/db.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { serve } from "#shared/http/serve.ts";
import { surface as cpo } from "../../supabase/functions/cpo-v1/app.ts";
import { surface as pages } from "../../supabase/functions/pages/app.ts";
import { freezable } from "../harness/freezable.ts";
import { createAccount } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
let token: string;
beforeAll(async () => {
  world = await createWorld({ limits: "lifted" });
  token = await world.partnerA.client.token();
});
afterAll(() => world.close());

/** A function with the connections that one has hosted. */
function hosted(surface: typeof cpo, url = world.database.url("edge"), limits = QUICK) {
  const environment: Environment = { ...world.environment, db: connect(url, limits) };
  const { fetch } = serve(surface, environment);
  const send = (path: string, body?: object) =>
    fetch(
      new Request(new URL(path, "http://api.test"), {
        ...(body ? { method: "POST", body: JSON.stringify(body) } : {}),
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          "x-forwarded-for": "192.0.2.1",
        },
      }),
    );
  return { send, end: () => environment.db.end() };
}

test("contract §9 attack: four calls on a row that somebody holds are ended with 503 and Retry-After, and every other route answers meanwhile", async () => {
  const { account_id, connection_id } = await createAccount(world);
  const api = hosted(cpo);
  const holder = await world.database.admin.connect();
  try {
    await holder.query("begin");
    await holder.query("select from core.connections where id = $1 for update", [connection_id]);
    const begun = performance.now();
    const months = [{ period: "2026-01", total_kwh: 1 }];
    const waiting = Array.from({ length: 4 }, () => api.send("/v1/sessions:batch", { account_id, months }));
    const others = await Promise.all(
      ["/v1/accounts", "/v1/ere-positions", "/v1/catalog/chargers", "/v1/accounts?limit=1"].map((path) =>
        api.send(path),
      ),
    );
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(performance.now() - begun, "as soon as the first of the four is ended").toBeLessThan(8000);
    for (const answer of await Promise.all(waiting)) {
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"]);
      expect((await answer.json()).error).toBe("Service is temporarily unavailable, try again shortly");
    }
    await holder.query("rollback");
    expect((await api.send("/v1/sessions:batch", { account_id, months })).status).toBe(200);
    expect((await world.row("select count(*)::int as count from core.deliveries")).count, "none of the four").toBe(1);
  } finally {
    await holder.query("rollback");
    holder.release();
    await api.end();
  }
});

test("contract §9 attack: what is answered 503 because it waited is not stored, though the lock is freed right after the answer", async () => {
  const { account_id, connection_id } = await createAccount(world);
  // shorter than the lock_timeout of `edge`, as for a call that waited for its place before
  const limits = { max: 4, patience_ms: 1_500 };
  const [api, db] = [hosted(cpo, undefined, limits), connect(world.database.url("edge"), limits)];
  const holder = await world.database.admin.connect();
  const backends = async () =>
    (await world.row("select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock'")).count;
  try {
    await world.database.admin.query(
      `create table core.late (n int);
       create function api.write_late(caller jsonb) returns json language plpgsql security definer as $$
       begin perform from core.connections where id = '${connection_id}' for update; insert into core.late values (1); return 'true'; end $$;
       grant execute on function api.write_late(jsonb) to edge`,
    );
    await holder.query("begin");
    await holder.query("select from core.connections where id = $1 for update", [connection_id]);
    const months = [{ period: "2026-01", total_kwh: 1 }];
    const late = { code: "service_unavailable" };
    const [answer] = await Promise.all([
      api.send("/v1/sessions:batch", { account_id, months }),
      expect(db.call("write_late", {})).rejects.toMatchObject(late),
    ]);
    const begun = performance.now();
    await expect(db.withDeadlineFrom(begun - limits.patience_ms).call("write_late", {})).rejects.toMatchObject(late);
    expect(performance.now() - begun, "its patience began before").toBeLessThan(limits.patience_ms);
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"]);
    await holder.query("rollback");
    await expect.poll(backends).toBe(0);
    const stored = "select count(*)::int as count from core.deliveries where connection_id = $1";
    expect((await world.row(stored, connection_id)).count).toBe(0);
    expect((await world.row("select count(*)::int as count from core.late")).count).toBe(0);
  } finally {
    await holder.query("rollback");
    holder.release();
    await Promise.all([api.end(), db.end()]);
  }
});

test("contract §9 attack: sixteen writes that wait for a locked table leave a connection to what only reads, and each is answered within 10 s", async () => {
  const { account_id } = await createAccount(world);
  const api = hosted(cpo);
  const holder = await world.database.admin.connect();
  try {
    expect((await api.send("/v1/accounts")).status).toBe(200);
    await holder.query("begin");
    await holder.query("lock table core.deliveries in share mode");
    const months = [{ period: "2026-01", total_kwh: 1 }];
    let ended = 0;
    const waiting = Array.from({ length: 16 }, async () => {
      const begun = performance.now();
      const { status, headers } = await api.send("/v1/sessions:batch", { account_id, months });
      ended += 1;
      return { status, retry: headers.get("retry-after"), seconds: (performance.now() - begun) / 1000 };
    });
    // the writes have taken what connections they may have
    const waits =
      "select count(*)::int as count from pg_locks where relation = 'core.deliveries'::regclass and not granted";
    await expect.poll(async () => (await world.row(waits)).count).toBeGreaterThan(0);
    for (let read = 0; read < 3; read += 1) expect((await api.send("/v1/accounts")).status).toBe(200);
    expect(ended, "no read waited until a write was ended").toBe(0);
    for (const { status, retry, seconds } of await Promise.all(waiting)) {
      expect([status, retry]).toEqual([503, "5"]);
      expect(seconds).toBeLessThan(10);
    }
    await holder.query("rollback");
    expect((await api.send("/v1/sessions:batch", { account_id, months })).status).toBe(200);
  } finally {
    await holder.query("rollback");
    holder.release();
    await api.end();
  }
});

test("contract §9 attack: six slow requests of one client take one connection of a process, and another client's is answered first", async () => {
  await world.database.admin.query(
    `create function api.store_slowly(caller jsonb, seconds jsonb) returns json language plpgsql as $$
     begin perform pg_sleep((seconds ->> 'seconds')::numeric); return '1'; end $$;
     grant execute on function api.store_slowly(jsonb, jsonb) to edge_slow`,
  );
  const db = connect(world.database.url("edge_slow"), SLOW);
  const answered: string[] = [];
  const ask = (client_id: string, seconds: number) =>
    db.call("store_slowly", { client_id }, { seconds }).then(() => answered.push(client_id));
  await Promise.all([...Array.from({ length: 6 }, () => ask("busy", 0.4)), ask("other", 0)]);
  expect(answered).toEqual(["other", ...Array(6).fill("busy")]);
  await db.end();
});

test.each([
  ["a caller", (client_id: string) => ({ client_id })],
  ["a ticket", (client_id: string) => ({ credential: { kind: "cpo", client_id } })],
])("contract §9 attack: writes of one client, of %s, leave a place for another's", async (_, who) => {
  await world.database.admin.query(
    `create or replace function api.store_soon(caller jsonb, seconds jsonb) returns json language plpgsql as $$
     begin perform pg_sleep((seconds ->> 'seconds')::numeric); return '1'; end $$;
     grant execute on function api.store_soon(jsonb, jsonb) to edge`,
  );
  const db = connect(world.database.url("edge"), QUICK);
  const answered: string[] = [];
  const ask = (client: string, seconds: number) =>
    db.call("store_soon", who(client), { seconds }).then(() => answered.push(client));
  await Promise.all([...Array.from({ length: 6 }, () => ask("busy", 0.4)), ask("other", 0)]);
  expect(answered).toEqual(["other", ...Array(6).fill("busy")]);
  await db.end();
});

test("contract §9 attack: all clients of a partner leave one connection of a process to others", async () => {
  const db = connect(world.database.url("edge_slow"), SLOW);
  const answered: string[] = [];
  const ask = (partner_id: string, client_id: string, seconds: number) =>
    db.call("store_slowly", { client_id, partner_id }, { seconds }).then(() => answered.push(partner_id));
  await Promise.all([...["a", "b", "c", "d"].map((client) => ask("many", client, 0.4)), ask("other", "e", 0)]);
  expect(answered).toEqual(["other", ...Array(4).fill("many")]);
  await db.end();
});

test("contract §9 attack: whoever waits for its turn too long is told to come again, and the turn goes on to the next", async () => {
  const db = connect(world.database.url("edge_slow"), { ...SLOW, turn_ms: 300 });
  const ask = (seconds: number) => db.call("store_slowly", { client_id: "busy" }, { seconds });
  const first = ask(1);
  await expect(ask(0)).rejects.toMatchObject({ code: "service_unavailable" });
  await first;
  expect(await ask(0)).toBe("1");
  await db.end();
});

test("contract §9 attack: a slow request waits a second for a lock, not longer, with its connection", async () => {
  const holder = await world.database.admin.connect();
  const db = connect(world.database.url("edge_slow"), SLOW);
  try {
    await world.database.admin.query(
      `create function api.store_locked(caller jsonb) returns json language plpgsql security definer as $$
       begin perform private.lock('uploads', 'held'); return '1'; end $$;
       grant execute on function api.store_locked(jsonb) to edge_slow`,
    );
    await holder.query("begin");
    await holder.query("select private.lock('uploads', 'held')");
    const begun = performance.now();
    await expect(db.call("store_locked", {})).rejects.toMatchObject({
      code: "service_unavailable",
      cause: { code: "55P03" },
    });
    expect(performance.now() - begun).toBeLessThan(2_000);
  } finally {
    await holder.query("rollback");
    holder.release();
    await db.end();
  }
});

test("contract §9 a statement that runs too long is ended by the database, and its connection goes on", async () => {
  await world.database.admin.query(
    `create function api.slow(caller jsonb) returns json language plpgsql as $$ begin perform pg_sleep(20); return '1'; end $$;
     create function api.backend(caller jsonb) returns json language sql as $$ select to_json(pg_backend_pid()) $$;
     grant execute on function api.slow(jsonb), api.backend(jsonb) to edge`,
  );
  const db = connect(world.database.url("edge"), { max: 1, patience_ms: 10_000 });
  const backend = await db.call("backend", {});
  await expect(db.call("slow", {})).rejects.toMatchObject({ code: "service_unavailable", cause: { code: "57014" } });
  expect(await db.call("backend", {})).toBe(backend);
  await db.end();
});

test("contract §9 whoever waits for the database, or for the EAN register, as long as we wait has an answer within 10 s, or 65 s if it is slow", async () => {
  for (const [role, { patience_ms }, promised_ms] of [
    ["edge", QUICK, 10_000],
    ["edge_slow", SLOW, 65_000],
  ] as const) {
    // the database ends what it still can end first
    const { ends_ms } = await world.row(
      "select extract(epoch from split_part(c, '=', 2)::interval)::int * 1000 as ends_ms from pg_roles, unnest(rolconfig) c where rolname = $1 and c like 'statement_timeout=%'",
      role,
    );
    expect(patience_ms).toBeGreaterThan(ends_ms);
    expect(patience_ms).toBeLessThanOrEqual(promised_ms - 1_000);
  }
  expect(defaultLimits.budget_ms).toBeLessThanOrEqual(8_000);
});

test("contract §9 attack: a database that stops answering is 503 within its limit, on API and pages, and nothing hangs after it", async () => {
  const proxy = await freezable(world.database.url("edge"));
  const [api, site] = [hosted(cpo, proxy.url), hosted(pages, proxy.url)];
  const ask = async ([{ send }, path]: [typeof api, string]) => {
    const begun = performance.now();
    const answer = await send(path);
    await answer.text();
    return {
      status: answer.status,
      retry: answer.headers.get("retry-after"),
      seconds: (performance.now() - begun) / 1000,
    };
  };
  const link = `/pages/mandate/${"a".repeat(43)}`;
  try {
    expect((await ask([api, "/v1/accounts"])).status).toBe(200);
    expect((await ask([site, link])).status).toBe(404);
    proxy.freeze(true);
    // more than there are connections
    const asked: [typeof api, string][] = [...Array(8).fill([api, "/v1/accounts"]), [site, link]];
    for (const { status, retry, seconds } of await Promise.all(asked.map(ask))) {
      expect([status, retry]).toEqual([503, "5"]);
      expect(seconds).toBeLessThan(12);
    }
    proxy.freeze(false);
    expect((await ask([api, "/v1/accounts"])).status).toBe(200);
    expect((await ask([site, link])).status).toBe(404);
  } finally {
    proxy.close();
    await Promise.all([api.end(), site.end()]);
  }
});
