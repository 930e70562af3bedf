import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MID_CHARGER } from "../harness/chargers.ts";
import { accountBody, createAccount } from "../harness/people.ts";
import { createWorld, rowCounts, type World } from "../harness/world.ts";

// What every row of the error tables has in common, for the routes of the account side.

let world: World;
beforeAll(async () => {
  world = await createWorld();
  await world.row(
    `create function private.shut_down() returns trigger language plpgsql as
     $$ begin raise exception 'terminating connection' using errcode = '57P01'; end $$`,
  );
});
afterAll(() => world.close());

/** Runs while the database is broken in one way, and mends it. */
async function whileBroken<T>(how: string, undo: string, run: () => Promise<T>): Promise<T> {
  await world.row(how);
  return run().finally(() => world.row(undo));
}

type Account = Awaited<ReturnType<typeof createAccount>>;
const ROUTES: [string, { scope: string; failure: string; body?: (account: Account) => object }][] = [
  ["/v1/accounts", { scope: "cpo:accounts:read", failure: "list_failed" }],
  ["/v1/accounts", { scope: "cpo:accounts:write", failure: "account_create_failed", body: () => accountBody() }],
  [
    "/v1/connections:update",
    {
      scope: "cpo:accounts:write",
      failure: "update_failed",
      body: ({ account_id }) => ({ account_id, connection: { city: "Elders" } }),
    },
  ],
  [
    "/v1/chargers",
    {
      scope: "cpo:chargers:write",
      failure: "charger_create_failed",
      body: ({ account_id }) => ({ account_id, ...MID_CHARGER }),
    },
  ],
  [
    "/v1/mandate-links",
    {
      scope: "cpo:mandates:write",
      failure: "mandate_link_failed",
      body: ({ account_id }) => ({ account_id, send_email: true }),
    },
  ],
];
const TABLES = [
  "chargers",
  "accounts",
  "signatories",
  "connections",
  "locations",
  "mandate_links",
  "mail_outbox",
  "audit_log",
  "ean_checks",
];

describe.each(ROUTES)("%s, %j", (path, { scope, failure, body }) => {
  const send = async (fields: Parameters<World["send"]>[1] = {}) =>
    world.send(path, { token: await world.partnerA.client.token(), ...fields });

  test("§7 who may not call: each refusal, its status and its body", async () => {
    const payload = body ? { body: {} } : {};
    const unlinked = await world.addClient(null);
    const others = ["cpo:accounts:read", "cpo:accounts:write", "cpo:mandates:write"].filter((other) => other !== scope);
    const narrow = await world.addClient(world.partnerA.id, { scopes: others });
    const request_id = expect.any(String);
    const detail = expect.any(String);

    for (const headers of [{}, { authorization: "Bearer nonsense" }, { authorization: "Basic abc" }]) {
      const { status, body: answer } = await world.send(path, { ...payload, headers });
      expect([status, answer]).toEqual([401, { error: "Missing or invalid API token", detail, request_id }]);
    }
    const unknown = await send({ ...payload, token: await unlinked.token() });
    expect([unknown.status, unknown.body]).toEqual([403, { error: "client_not_linked", detail, request_id }]);
    for (const token of [await narrow.token(), await world.partnerA.client.token(others.join(" "))]) {
      const { status, body: answer } = await send({ ...payload, token });
      expect([status, answer]).toEqual([
        403,
        { error: "Insufficient scope", detail, required_scope: scope, request_id },
      ]);
    }
    const active = (is_active: boolean) =>
      `update core.partners set is_active = ${is_active} where id = '${world.partnerA.id}'`;
    await whileBroken(active(false), active(true), async () => {
      expect((await send(payload)).body.error).toBe("client_not_linked");
    });
  });

  test("§8 rate limit: 429 with retry_after_seconds, before the body is read", async () => {
    const client = await world.addClient(world.partnerA.id);
    await world.row(
      "insert into core.rate_limit_overrides (subject, bucket, quota) select $1, bucket, 1 from core.rate_limits",
      `client:${client.id}`,
    );
    const request = { token: await client.token(), ...(body ? { raw: "not JSON" } : {}) };
    expect((await send(request)).status).toBe(body ? 400 : 200);
    const { status, headers, body: answer } = await send(request);
    expect([status, answer]).toEqual([
      429,
      {
        error: "Too many requests",
        detail: expect.any(String),
        retry_after_seconds: expect.any(Number),
        request_id: expect.any(String),
      },
    ]);
    expect(answer.retry_after_seconds).toBeGreaterThan(0);
    expect(headers.get("retry-after")).toBe(String(answer.retry_after_seconds));
  });

  if (body) {
    test("contract §1 what is no JSON object: invalid_json, invalid_request, payload_too_large", async () => {
      const errorOf = async (raw: BodyInit) => {
        const answer = await send({ raw });
        return [answer.status, answer.body.error];
      };
      const bytes = new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
      for (const raw of ["", "{", "{'a': 1}", "NaN", '{"a": 01}', bytes])
        expect(await errorOf(raw)).toEqual([400, "invalid_json"]);
      for (const raw of ["null", "[]", '"text"', "12", "true", "{}", `[${"[".repeat(50_000)}${"]".repeat(50_000)}]`]) {
        expect(await errorOf(raw), raw.slice(0, 20)).toEqual([400, "invalid_request"]);
      }
      const whole = JSON.stringify(body(await createAccount(world)));
      const padded = (size: number) => whole.replace(/\}$/, `,"padding":"${"x".repeat(size - whole.length - 13)}"}`);
      expect(padded(1024 * 1024)).toHaveLength(1024 * 1024);
      expect((await errorOf(padded(1024 * 1024)))[0]).toBe(200);
      expect(await errorOf(padded(1024 * 1024 + 1))).toEqual([413, "payload_too_large"]);
      expect(await errorOf(padded(2 * 1024 * 1024))).toEqual([413, "payload_too_large"]);
    });
  }

  test("contract §1 our failure: 500 by its name, nothing stored, the cause in the log only", async () => {
    const account = await createAccount(world);
    const payload = body ? { body: body(account) } : {};
    const before = await rowCounts(world, ...TABLES);
    // the audit row is the last thing a write does; a list has none
    const [how, undo] = body
      ? [
          "alter table core.audit_log add constraint broken check (action = 'never') not valid",
          "alter table core.audit_log drop constraint broken",
        ]
      : [
          "alter function private.iso(timestamptz) rename to iso_is_gone",
          "alter function private.iso_is_gone(timestamptz) rename to iso",
        ];
    const { status, body: answer } = await whileBroken(how, undo, () => send(payload));
    expect([status, answer]).toEqual([
      500,
      { error: failure, detail: expect.any(String), request_id: expect.any(String) },
    ]);
    expect(await rowCounts(world, ...TABLES)).toEqual(before);
    const line = world.log.at(-1);
    expect(line).toMatchObject({ level: "error", status: 500, error: failure, request_id: answer.request_id });
    expect(line?.cause).toMatchObject({ sqlstate: body ? "23514" : "42883" });
    expect(JSON.stringify(world.log)).not.toMatch(/sanne|de vries|NL91ABNA|8716871\d{11}|3818 ?LH|612345678/i);
  });

  test("contract §1 a database that goes away: 503 with Retry-After", async () => {
    const account = await createAccount(world);
    const payload = body ? { body: body(account) } : {};
    // a write fails at its work, a list when it is charged
    const table = body ? "core.audit_log" : "core.rate_limit_state";
    const {
      status,
      headers,
      body: answer,
    } = await whileBroken(
      `create trigger gone before insert on ${table} for each row execute function private.shut_down()`,
      `drop trigger gone on ${table}`,
      () => send(payload),
    );
    // whom the database had admitted before, in a statement of its own or with the one that asked the EAN register, knows that much
    const what = world.log.at(-1)?.caller ? "Service" : "Authentication";
    expect([status, answer.error]).toEqual([503, `${what} is temporarily unavailable, try again shortly`]);
    expect(headers.get("retry-after")).toBe("5");
  });
});
