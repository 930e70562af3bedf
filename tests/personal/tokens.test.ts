// Personal tokens: made and revoked by the person in the dashboard, shown once.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { PERSONAL_SCOPES } from "#shared/values/scopes.ts";
import type { User } from "../harness/people.ts";
import { createOAuthWorld, type OAuth } from "../oauth/oauth_world.ts";

let world: OAuth;
let user: User;
let session: string;
beforeAll(async () => {
  world = await createOAuthWorld({ limits: "lifted" });
});
afterAll(() => world.close());
beforeEach(async () => {
  user = await world.addUser();
  session = await world.signSession({ sub: user.id });
});

const create = (fields: Record<string, unknown> = {}, bearer = session) =>
  world.post("/tokens", { name: "Home Assistant", scopes: ["energy:read"], ...fields }, bearer);
const revoke = (id: string, bearer = session) => world.send(`/tokens/${id}`, { method: "DELETE", token: bearer });
const list = async (bearer = session) => (await world.get("/tokens", bearer)).body.tokens;

describe("contract §6 POST /tokens", () => {
  test("shows the token once; only its hash is stored, and it works", async () => {
    const { status, body } = await create({
      name: "  Home Assistant ",
      scopes: ["profile:read", "energy:read", "energy:read"],
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      ok: true,
      token: expect.stringMatching(/^ere_pat_[0-9A-Za-z]{43}$/),
      id: expect.any(String),
      name: "Home Assistant",
      scopes: ["energy:read", "profile:read"],
      last4: body.token.slice(-4),
      created_at: expect.any(String),
      expires_at: null,
      last_used_at: null,
    });
    const row = await world.row("select to_jsonb(t)::text as kept from core.personal_tokens t where id = $1", body.id);
    expect(row.kept).not.toContain(body.token);
    expect(JSON.stringify(world.log)).not.toContain(body.token);
    expect((await world.get("/energy", body.token)).status).toBe(200);
    expect((await world.get("/sessions", body.token)).status).toBe(403);
  });

  test.each([
    [{ name: "" }, "name"],
    [{ name: "x".repeat(101) }, "name"],
    [{ scopes: [] }, "scopes"],
    [{ scopes: "energy:read" }, "scopes"],
    [{ scopes: ["partners:read"] }, "scopes.0"],
    [{ scopes: ["energy:read", "partners:write"] }, "scopes.1"],
    [{ scopes: ["cpo:accounts:read"] }, "scopes.0"],
    [{ expires_at: "tomorrow" }, "expires_at"],
    [{ expires_at: "2020-01-01T00:00:00Z" }, "expires_at"],
  ])("a token of %j is refused with 400", async (fields, path) => {
    const { status, body } = await create(fields);
    expect([status, body.error, body.issues?.[0]?.path]).toEqual([400, "invalid_request", path]);
    expect(await list()).toEqual([]);
  });

  test("one that expires stops at that moment", async () => {
    const { body } = await create({ expires_at: "2099-01-01T13:00:00+01:00" });
    expect(body.expires_at).toBe("2099-01-01T12:00:00Z");
    expect((await world.get("/energy", body.token)).status).toBe(200);
    await world.row("update core.personal_tokens set expires_at = private.now() where id = $1", body.id);
    expect((await world.get("/energy", body.token)).status).toBe(401);
  });

  test("a person may have fifty, and no more", async () => {
    await world.row(
      `insert into core.personal_tokens (user_id, name, token_hash, last4, scopes)
       select $1, 'Test', sha256(gen_random_uuid()::text::bytea), 'abcd', '{energy:read}' from generate_series(1, 49)`,
      user.id,
    );
    const answers = await Promise.all([create(), create(), create()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  });
});

describe("contract §6 GET /tokens", () => {
  test("lists what is not revoked, newest first, and never the token", async () => {
    expect(await list()).toEqual([]);
    const first = (await create({ name: "first" })).body;
    const second = (await create({ name: "second", scopes: PERSONAL_SCOPES })).body;
    const tokens = await list();
    expect(tokens.map(({ name }: { name: string }) => name)).toEqual(["second", "first"]);
    for (const { token } of [first, second]) expect(JSON.stringify(tokens)).not.toContain(token.slice(8));
  });

  test("says when one was last used", async () => {
    const { body } = await create();
    await world.get("/energy", body.token);
    expect(await list()).toMatchObject([{ id: body.id, last_used_at: expect.stringMatching(/Z$/) }]);
  });
});

describe("contract §6 DELETE /tokens/{id}", () => {
  test("stops the token at once, that one only; a second time changes nothing", async () => {
    const [one, other] = [(await create()).body, (await create()).body];
    expect((await world.get("/energy", one.token)).status).toBe(200);
    expect(await revoke(one.id)).toMatchObject({ status: 200, body: { ok: true } });
    expect((await world.get("/energy", one.token)).status).toBe(401);
    expect((await world.get("/energy", other.token)).status).toBe(200);
    expect((await list()).map(({ id }: { id: string }) => id)).toEqual([other.id]);
    expect((await revoke(one.id)).status).toBe(200);
  });

  test("of another person, unknown, or no id at all: 404, and nothing happens", async () => {
    const { body } = await create();
    const stranger = await world.signSession({ sub: (await world.addUser()).id });
    for (const answer of [
      await revoke(body.id, stranger),
      await revoke("00000000-0000-4000-8000-000000000001"),
      await revoke("x"),
      await revoke("%00"),
    ])
      expect([answer.status, answer.body.error]).toEqual([404, "token_not_found"]);
    expect((await world.get("/energy", body.token)).status).toBe(200);
    expect(await list(stranger)).toEqual([]);
  });
});

test.each(["0000-01-01T00:00:00Z", "2099-01-01T00:00:00+16:00", "2099-01-01T00:00:00-23:59"])(
  "contract §6 POST /tokens refuses what the database knows no time for, %s, and names the field",
  async (expires_at) => {
    expect(await create({ expires_at })).toMatchObject({
      status: 400,
      body: { error: "invalid_request", issues: [{ path: "expires_at" }] },
    });
  },
);

test("contract §1 attack: a thief of a token spends its limit, and its owner still revokes it", async () => {
  const limited = await createOAuthWorld();
  try {
    await limited.freeze("2026-11-20T09:00:00Z");
    const owner = await limited.addUser();
    const bearer = await limited.signSession({ sub: owner.id });
    const { body: made } = await limited.post("/tokens", { name: "Lost", scopes: ["energy:read"] }, bearer);
    const thief = () => limited.get("/energy", made.token);
    await Promise.all(Array.from({ length: 60 }, thief));
    expect((await thief()).status).toBe(429);
    expect((await limited.send(`/tokens/${made.id}`, { method: "DELETE", token: bearer })).status).toBe(200);
    expect((await thief()).status).toBe(401);
  } finally {
    await limited.close();
  }
});

test("contract §9 attack: a token that is revoked while it is used: neither waits for the other", async () => {
  const { body: made } = await create();
  expect((await world.get("/energy", made.token)).status).toBe(200);
  await world.row("update core.personal_tokens set last_used_at = null where id = $1", made.id);
  const holder = await world.database.admin.connect();
  const waiting = async () =>
    (
      await world.row(
        "select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      )
    ).n;
  try {
    await holder.query("begin");
    await holder.query("select from core.rate_limit_state where subject = any ($1) for update", [
      [`user:${user.id}`, `session:${user.id}`],
    ]);
    const using = world.get("/energy", made.token);
    await expect.poll(waiting).toBe(1);
    const revoking = revoke(made.id);
    await expect.poll(waiting).toBe(2);
    const begun = performance.now();
    await holder.query("rollback");
    expect([(await using).status, (await revoking).status]).toEqual([200, 200]);
    expect(performance.now() - begun, "the database looks for deadlocks after a second").toBeLessThan(900);
  } finally {
    await holder.query("rollback");
    holder.release();
  }
});
