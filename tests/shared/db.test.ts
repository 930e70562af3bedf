// The one door to the database, and the rate limits behind it.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { connect, UnmetNeed } from "#shared/foundation/db.ts";
import { ApiError, Refusal } from "#shared/foundation/errors.ts";
import { openPool } from "#shared/foundation/pool.ts";
import { fitsIn, type Rate, remaining, resetsIn } from "#shared/foundation/rate.ts";
import { RATE_LIMITS } from "#shared/values/rate_limits.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

/** One connection. */
const ONE = { max: 1, patience_ms: 10_000 };

/** An api function for one test, whose body is what the test says. */
async function define(name: string, body: string): Promise<void> {
  await world.database.admin.query(
    `create or replace function api.${name}(a jsonb default null, b jsonb default null) returns json language plpgsql as $$ ${body} $$`,
  );
  await world.database.admin.query(`grant execute on function api.${name}(jsonb, jsonb) to edge`);
}
const failure = (name: string, ...args: (object | null)[]): Promise<ApiError> =>
  world.environment.db.call(name, ...args).then(
    (answer) => Promise.reject(new Error(`answered ${answer}`)),
    (error) => error,
  );

describe("architecture §3 a call", () => {
  test("hands its arguments over as they are, whatever is in them, and its answer back as text", async () => {
    await define("echo", "begin return json_build_object('a', a, 'b', b); end");
    const strange = {
      quote: "'; drop table core.accounts; --",
      emoji: "⚡",
      nested: [[{}]],
      number: 1e300,
      null: null,
    };
    expect(JSON.parse(await world.environment.db.call("echo", strange, null))).toEqual({ a: strange, b: null });
    await define("precise", 'begin return \'{"kwh": 0.100, "big": 12345678901234567890}\'::json; end');
    expect(await world.environment.db.call("precise")).toBe('{"kwh": 0.100, "big": 12345678901234567890}');
  });

  test("a raised refusal and an answered one are the same error to the caller, but only the answered one keeps what it wrote", async () => {
    const write = (slug: string) => `insert into core.partners (name, slug) values ('x', '${slug}');`;
    await world.database.admin.query(
      "grant usage on schema core, private to edge; grant insert on core.partners to edge; alter table core.partners disable row level security; grant execute on function private.refuse(text, json), private.refusal(text, json), private.now() to edge",
    );
    await define(
      "raised",
      `begin ${write("raised")} perform private.refuse('ean_in_use', '{"x": 1}'); return null; end`,
    );
    await define("answered", `begin ${write("answered")} return private.refusal('ean_in_use', '{"x": 1}'); end`);
    for (const name of ["raised", "answered"]) {
      const error = await failure(name);
      expect([error.code, error.fields]).toEqual(["ean_in_use", { x: 1 }]);
    }
    const { slugs } = await world.row(
      "select array_agg(slug) as slugs from core.partners where slug in ('raised', 'answered')",
    );
    expect(slugs).toEqual(["answered"]);
  });

  const states: [string, string, boolean][] = [
    ["08006", "connection failure", true],
    ["53300", "too many connections", true],
    ["57014", "cancelled, as by a statement timeout", true],
    ["57P01", "shut down", true],
    ["25P04", "out of the time that we wait", true],
    ["28P01", "a password that is not taken", true],
    ["55P03", "waited too long for a lock", true],
    ["22P02", "a value that is none", false],
    ["23505", "a constraint", false],
    ["42501", "not allowed", false],
    ["P0001", "an exception nobody named", false],
  ];
  test.each(states)("SQLSTATE %s (%s) is worth trying again: %s", async (state, _what, again) => {
    await define("fails", `begin raise exception 'Sanne' using errcode = '${state}'; end`);
    const error = await failure("fails");
    expect(error instanceof ApiError && error.code === "service_unavailable").toBe(again);
  });

  test.each(["23503", "40001", "40P01", "42883", "42P01", "42703", "0A000"])(
    "SQLSTATE %s is repeated twice, and no more",
    async (state) => {
      await world.database.admin.query(
        "create sequence if not exists core.calls; grant usage on sequence core.calls to edge; grant usage on schema core to edge",
      );
      const times = (failing: number) =>
        define(
          "flaky",
          `begin if nextval('core.calls') <= ${failing} then raise exception using errcode = '${state}'; end if; return '"done"'; end`,
        );
      await world.database.admin.query("alter sequence core.calls restart");
      await times(2);
      expect(await world.environment.db.call("flaky")).toBe('"done"');
      await world.database.admin.query("alter sequence core.calls restart");
      await times(3);
      expect(await failure("flaky")).toMatchObject({ code: state });
    },
  );

  test("a refusal that the error table does not know is no error of the API: only who expects it can answer it", async () => {
    await define("unknown", `begin return '{"refused": "no_such_code", "with": {"x": 1}}'; end`);
    const error = await failure("unknown");
    expect(error).toBeInstanceOf(Refusal);
    expect(error).not.toBeInstanceOf(ApiError);
    expect([error.code, error.fields]).toEqual(["no_such_code", { x: 1 }]);
  });

  test.each([
    ['{"refused":"ean_in_use"}', "ean_in_use", {}],
    ['\n { "with" : {"x": 1} , \t"refused"\n: "ean_in_use" }', "ean_in_use", { x: 1 }],
  ])(
    "an envelope is known by its key, wherever it stands and whatever white space is around it: %j",
    async (text, code, fields) => {
      await define("written", `begin return '${text}'; end`);
      expect(await failure("written")).toMatchObject({ code, fields });
    },
  );

  test.each([
    '[{"refused": "ean_in_use"}, {"need": "login"}]',
    '{"row": {"refused": "ean_in_use", "need": "login"}, "rows": [{"refused": "ean_in_use"}]}',
    '{"name": "\\"refused\\" \\"next\\"", "refused_at": null, "next_step": "ean"}',
    '{"words": ["refused", "need"]}',
    '"refused"',
    '"need"',
    '"{\\"refused\\": \\"ean_in_use\\"}"',
    "null",
    "true",
    "[]",
  ])("an answer that only holds these words is an answer: %s", async (text) => {
    await define("worded", `begin return '${text}'; end`);
    expect(await world.environment.db.call("worded")).toBe(text);
  });

  test("that asks for something first ends in what it asks for, for callFor() to fetch", async () => {
    await world.database.admin.query("grant execute on function private.need(text, json) to edge");
    await define("asking", `begin return private.need('ean_register', '{"ean_code": "x"}'); end`);
    const error = await failure("asking", { kind: "anyone" }, {});
    expect(error).toBeInstanceOf(UnmetNeed);
    expect(error).toMatchObject({
      message: "api.asking needs ean_register",
      need: "ean_register",
      about: { ean_code: "x" },
    });
  });

  test("a refusal or a failure of SQL keeps the connection: the next call need not open one", async () => {
    await define("backend", "begin return to_json(pg_backend_pid()); end");
    await define(
      "refuses",
      `begin raise exception using errcode = 'RULES', message = 'ean_in_use', detail = '{}'; end`,
    );
    await define("breaks", "begin return 1 / 0; end");
    const db = connect(world.database.url("edge"), ONE);
    const backend = await db.call("backend");
    for (const name of ["refuses", "breaks", "refuses"]) await expect(db.call(name)).rejects.toThrow();
    expect(await db.call("backend")).toBe(backend);
    await db.end();
  });

  test("a connection lost in the middle of a query: 503, the process lives, and the next call has another", async () => {
    await define("slow", "begin perform pg_sleep(20); return '1'; end");
    await define("one", "begin return '1'; end");
    const db = connect(world.database.url("edge"), ONE);
    const lost = db.call("slow").catch((error) => error);
    const kill = () =>
      world.row(
        "select count(pg_terminate_backend(pid))::int from pg_stat_activity where datname = current_database() and query like '%api.slow%' and state = 'active' and usename = 'edge'",
      );
    await expect.poll(async () => (await kill()).count).toBe(1);
    expect(await lost).toMatchObject({ code: "service_unavailable" });
    expect(await db.call("one")).toBe("1");
    await db.end();
  });

  test("connections that the server closed are replaced: the next call answers", async () => {
    await define("one", "begin return '1'; end");
    const db = connect(world.database.url("edge"));
    expect(await db.call("one")).toBe("1");
    await world.row(
      "select count(pg_terminate_backend(pid)) from pg_stat_activity where usename = 'edge' and datname = current_database()",
    );
    await expect.poll(() => db.call("one").catch(() => "down")).toBe("1");
    await db.end();
  });

  describe("attack: a connection that is lost at any moment ends no process, and the next one answers", () => {
    const kill = (pid: number) => world.row("select pg_terminate_backend($1)", pid);
    const backend = async (client: pg.PoolClient): Promise<number> =>
      (await client.query("select pg_backend_pid() as pid")).rows[0].pid;
    const ended = (client: pg.PoolClient) => new Promise<void>((resolve) => client.once("end", resolve));

    test.each<[string, (client: pg.PoolClient, pool: pg.Pool) => Promise<void>]>([
      [
        "idle",
        async (client) => {
          const pid = await backend(client);
          client.release();
          await Promise.all([ended(client), kill(pid)]);
        },
      ],
      [
        "handed out, before its statement",
        async (client, pool) => {
          const pid = await backend(client);
          client.release();
          const again = await pool.connect();
          await Promise.all([ended(again), kill(pid)]);
          await expect(again.query("select 1")).rejects.toThrow();
          again.release();
        },
      ],
      [
        "new, before its first statement",
        async (client) => {
          const { processID } = client as unknown as { processID: number };
          await Promise.all([ended(client), kill(processID)]);
          client.release();
        },
      ],
      [
        "between two statements of a transaction",
        async (client) => {
          await client.query("begin");
          await Promise.all([ended(client), kill(await backend(client))]);
          await expect(client.query("commit")).rejects.toThrow();
          client.release();
        },
      ],
      [
        "in a statement",
        async (client) => {
          const pid = await backend(client);
          const slow = expect(client.query("select pg_sleep(60)")).rejects.toThrow();
          await Promise.all([slow, ended(client), kill(pid)]);
          client.release();
        },
      ],
      [
        "while it is closed",
        async (client) => {
          const pid = await backend(client);
          const killed = kill(pid);
          client.release(true);
          await killed;
        },
      ],
    ])("%s", async (_moment, lose) => {
      const pool = openPool(world.database.url("edge"), ONE);
      await lose(await pool.connect(), pool);
      expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
      await pool.end();
    });

    test("while it connects", async () => {
      const proxy = createServer((socket) => socket.once("data", () => socket.destroy())).listen(0, "127.0.0.1");
      await once(proxy, "listening");
      const url = new URL(world.database.url("edge"));
      url.port = String((proxy.address() as AddressInfo).port);
      const db = connect(url.href, ONE);
      for (let time = 0; time < 3; time += 1)
        await expect(db.call("one")).rejects.toMatchObject({ code: "service_unavailable" });
      await db.end();
      proxy.close();
    });

    test("by an error of the system whose code looks like an SQLSTATE: EBADF, EPIPE, here ELOOP", async () => {
      const folder = mkdtempSync(join(tmpdir(), "loop-"));
      symlinkSync("socket", join(folder, "socket"));
      const db = connect(`postgresql://edge@/x?host=${encodeURIComponent(join(folder, "socket"))}`, ONE);
      const error = await db.call("one").catch((error) => error);
      expect(error).toMatchObject({ code: "service_unavailable", cause: { code: "ELOOP" } });
      await db.end();
      rmSync(folder, { recursive: true });
    });
  });

  test("an api function runs for the kind of caller it names, and for nobody who names none", async () => {
    const query = { limit: 1, offset: 0, cpo_external_ref: null };
    const good = { kind: "cpo", partner_id: world.partnerA.id, client_id: world.partnerA.client.id };
    await world.environment.db.call("list_accounts", good, query);
    for (const caller of [
      null,
      {},
      { kind: null },
      { kind: "worker" },
      { kind: "anyone" },
      { kind: ["cpo"] },
      { ...good, kind: "CPO" },
    ]) {
      expect(await failure("list_accounts", caller, query)).toMatchObject({ code: "42501" });
    }
  });
});

describe("contract §1 rate limits", () => {
  let subject: string;
  beforeEach(async () => {
    subject = `client:${randomUUID()}`;
    await world.freeze("2026-11-20T09:00:00Z");
  });
  const said = (rate: Rate | undefined) =>
    rate && { allowed: rate.allowed, remaining: remaining(rate), reset: resetsIn(rate), retry_after: fitsIn(rate) };
  const debit = async (bucket: string, times = 1, who = subject): Promise<Rate[]> => {
    const { rows } = await world.database.admin.query(
      "select private.debit($1, $2) as rate from generate_series(1, $3)",
      [who, bucket, times],
    );
    return rows.map(({ rate }) => rate);
  };
  const allowed = (rates: Rate[]) => rates.filter((rate) => rate.allowed).length;
  const override = (quota: number) =>
    world.row(
      "insert into core.rate_limit_overrides (subject, bucket, quota) values ($1, 'cpo_read', $2)",
      subject,
      quota,
    );

  test("the buckets are those of the contract, and those that the document publishes", async () => {
    const { buckets } = await world.row(
      "select json_object_agg(bucket, array[quota, window_seconds]) as buckets from core.rate_limits",
    );
    const published = Object.entries(RATE_LIMITS).map(([name, limit]) => [name, [limit.quota, limit.window_seconds]]);
    expect(buckets).toMatchObject({ ...Object.fromEntries(published), token_failures: [10, 300], page: [60, 60] });
  });

  test("400 at once from a bucket of 300: exactly 300 are let in", async () => {
    const rates = (await Promise.all(Array.from({ length: 400 }, () => debit("cpo_read")))).flat();
    expect(allowed(rates)).toBe(300);
    expect(Math.min(...rates.map(remaining))).toBe(0);
  });

  test("refilled continuously: 300 a minute is one each 0.2 s, and full after a minute, never more", async () => {
    await debit("cpo_read", 300);
    const letIn = async (seconds: number) => {
      await world.freeze(new Date(Date.parse("2026-11-20T09:00:00Z") + seconds * 1000).toISOString());
      return allowed(await debit("cpo_read", 400));
    };
    expect([await letIn(0.19), await letIn(0.2), await letIn(1.2), await letIn(61.2), await letIn(3600)]).toEqual([
      0, 1, 5, 300, 300,
    ]);
  });

  test("says what is left, when one more is let in, and when all are", async () => {
    const [first] = await debit("token");
    expect(first).toMatchObject({ bucket: "token", quota: 60, window: 60, full_in: 1_000_000 });
    expect(said(first)).toEqual({ allowed: true, remaining: 59, reset: 1, retry_after: 0 });
    const last = (await debit("token", 59)).at(-1);
    expect(said(last)).toEqual({ allowed: true, remaining: 0, reset: 60, retry_after: 1 });
    expect(said((await debit("token")).at(0))).toEqual({ allowed: false, remaining: 0, reset: 60, retry_after: 1 });
  });

  test("a refused request costs nothing: after a thousand of them the wait is what it was", async () => {
    await debit("token", 60);
    expect(allowed(await debit("token", 1000))).toBe(0);
    await world.freeze("2026-11-20T09:00:01Z");
    expect(allowed(await debit("token", 2))).toBe(1);
  });

  test("buckets are apart, and so are subjects", async () => {
    await debit("cpo_write", 120);
    expect(allowed(await debit("cpo_write"))).toBe(0);
    expect(allowed(await debit("cpo_read"))).toBe(1);
    expect(allowed(await debit("cpo_write", 1, `client:${randomUUID()}`))).toBe(1);
  });

  test.each([1, 7, 9, 11, 60, 299, 1000])("an override of %i a minute lets in exactly that many", async (quota) => {
    await override(quota);
    const rates = await debit("cpo_read", quota + 5);
    expect(allowed(rates)).toBe(quota);
    expect(rates[0]?.quota).toBe(quota);
    expect(said(rates[0])?.remaining).toBe(quota - 1);
  });

  test("a changed override holds at once, for the part of the bucket that is left", async () => {
    await debit("cpo_read", 250);
    await override(60);
    expect(allowed(await debit("cpo_read", 100))).toBe(10); // a sixth
    await world.row("update core.rate_limit_overrides set quota = 600 where subject = $1", subject);
    await world.freeze("2026-11-20T09:00:30Z");
    expect(allowed(await debit("cpo_read", 400))).toBe(300); // half a minute's
  });

  test("all tokens of a client share its limit", async () => {
    const client = await world.addClient(world.partnerA.id);
    await world.row(
      "insert into core.rate_limit_overrides (subject, bucket, quota) values ('client:' || $1::text, 'cpo_read', 3)",
      client.id,
    );
    const statuses = [];
    for (let index = 0; index < 4; index++) {
      statuses.push((await world.get("/v1/catalog/chargers?limit=1", await client.token())).status);
    }
    expect(statuses).toEqual([200, 200, 200, 429]);
    expect((await world.post("/v1/chargers", {}, await client.token())).status).toBe(400);
  });

  test("an update of a limit stays on its page: no index has to follow it (HOT)", async () => {
    const client = await world.database.admin.connect();
    const updates = async () => {
      await client.query("select pg_stat_force_next_flush()");
      const counted =
        "select n_tup_upd::int as all, n_tup_hot_upd::int as hot from pg_stat_user_tables where relname = 'rate_limit_state'";
      return (await client.query<{ all: number; hot: number }>(counted)).rows[0] as { all: number; hot: number };
    };
    const before = await updates();
    // fifty clients, as often as a page of the table has room for them many times over
    for (let request = 0; request < 2000; request++)
      await client.query("select private.debit('client:' || $1::text, 'user')", [request % 50]);
    const after = await updates();
    client.release();
    // other connections may count late what they updated before
    expect(after.all - before.all).toBeGreaterThanOrEqual(1950);
    // a page is tidied when nobody can see the old rows any more, which another transaction at work may put off
    expect((after.hot - before.hot) / (after.all - before.all)).toBeGreaterThan(0.6);
    const { indexed } = await world.row(
      `select array_agg(distinct a.attname::text order by a.attname::text) as indexed
         from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
        where i.indrelid = 'core.rate_limit_state'::regclass`,
    );
    expect(indexed).toEqual(["bucket", "subject"]);
  });

  test("a bucket that is full again is swept, one that is not stays", async () => {
    await debit("token");
    await debit("cpo_read", 300);
    await world.freeze("2026-11-20T09:00:30Z");
    await world.row("select private.sweep('rate_limits')");
    const { rows } = await world.database.admin.query("select bucket from core.rate_limit_state where subject = $1", [
      subject,
    ]);
    expect(rows).toEqual([{ bucket: "cpo_read" }]);
  });
});
