// Who may call the Partner API, and whom it refuses: derived from the endpoint list (contract section 1, specification section 5).

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { hashSecret, newPartnerKey, newSecret } from "#shared/auth/tokens.ts";
import { connect } from "#shared/foundation/db.ts";
import { wireText } from "#shared/foundation/errors.ts";
import { errorsOf } from "#shared/http/endpoint.ts";
import { endpointsOf, pathsOf, type Routed, serve } from "#shared/http/serve.ts";
import { surface } from "../../supabase/functions/partner/app.ts";
import { BASE_URL } from "../harness/environment.ts";
import type { World } from "../harness/world.ts";
import { addDraft, addLogin, createPartnerWorld, draftRow, newEmail, type PartnerWorld } from "./partner_world.ts";

let world: PartnerWorld;
beforeAll(async () => {
  world = await createPartnerWorld();
});
afterAll(() => world.close());

const ENDPOINTS = await endpointsOf(surface);
const rule = (endpoint: Routed) => endpoint.caller as { scope: "partners:read" | "partners:write"; key: boolean };
const named = (endpoints: readonly Routed[]) => endpoints.map((each) => [`${each.method} ${each.path}`, each] as const);

/** A good body for each endpoint. */
async function bodyOf(id: string): Promise<object | undefined> {
  const bodies: Record<string, () => object | Promise<object>> = {
    addCustomers: () => ({ consent: true, ...draftRow() }),
    importDrafts: () => ({ consent: true, rows: [draftRow()] }),
    withdrawDraft: async () => ({ draft_id: (await addDraft(world)).draft_id }),
    issueAuthLink: async () => ({ draft_id: (await addDraft(world)).draft_id }),
    setPartnerCompany: () => ({ name: "Laadpunt Zuid" }),
    setPartnerPayoutIban: () => ({ iban: "NL91ABNA0417164300", account_holder: "Laadpunt Zuid" }),
    setPartnerBranding: () => ({ display_name: "Laadpunt" }),
    invitePeople: () => ({ emails: [newEmail()] }),
    uploadDrafts: () => ({ csv: `email,naam\n${newEmail()},Jan`, consent: true }),
    mintPartnerApiKey: () => ({ rotate: true }),
    createWebhook: () => ({ url: "https://laadpunt-zuid.example.com/events" }),
    updateWebhook: () => ({ types: null }),
    replayWebhook: () => ({ failed: true }),
  };
  return bodies[id]?.();
}
const send = async (endpoint: Routed, token?: string, body?: object, at: World = world) =>
  at.send(pathOf(endpoint), { method: endpoint.method, ...(token ? { token } : {}), ...(body ? { body } : {}) });
/** The path, of a thing that nobody has. */
const pathOf = ({ path }: Routed) =>
  path.replace(/\{\w+\}/, (id) => (id === "{invoice_number}" ? "2026-0001" : randomUUID()));
/** What those who get in are answered; what belongs to a thing that there is, the contract tests ask. */
const inside = ({ path }: Routed) =>
  path.includes("{") ? { status: 404, body: { error: expect.stringMatching(/_not_found$/) } } : { status: 200 };
const bare = (endpoint: Routed) => ({ method: endpoint.method, ...(endpoint.method === "POST" ? { raw: "" } : {}) });

describe.each(named(ENDPOINTS))("%s", (_, endpoint) => {
  const { scope, key } = rule(endpoint);
  // minting and revoking keys must not end the others' turns
  beforeEach(async () => {
    world.keyA = await world.key(world.partnerA);
  });

  test("§4.5 a managing person's token with the scope gets in; without it: 403, and which", async () => {
    const body = await bodyOf(endpoint.id);
    expect(await send(endpoint, await world.manager(world.partnerA), body)).toMatchObject(inside(endpoint));
    const other = scope === "partners:read" ? "partners:write" : "partners:read";
    for (const scopes of [[other], ["chargers:read"]])
      expect(
        await world.send(endpoint.path, { ...bare(endpoint), token: await world.manager(world.partnerA, ...scopes) }),
      ).toMatchObject({ status: 403, body: { error: "Insufficient scope", required_scope: scope } });
  });

  if (key) {
    test("§5 a partner key gets in", async () => {
      expect(await send(endpoint, world.keyA, await bodyOf(endpoint.id))).toMatchObject(inside(endpoint));
    });
  } else {
    test("contract §4 a partner key does not, before anything of the body is read: 403, and which scope a person needs", async () => {
      expect(await world.send(endpoint.path, { ...bare(endpoint), token: world.keyA })).toMatchObject({
        status: 403,
        body: { error: "Insufficient scope", required_scope: scope, detail: expect.any(String) },
      });
    });
  }

  test("contract §1 a CPO token and a personal token: 403 Insufficient scope", async () => {
    const { id } = await addLogin(world);
    const personal = `${world.environment.config.KEY_PREFIX}_pat_${newSecret()}`;
    await world.row(
      "insert into core.personal_tokens (user_id, name, token_hash, last4, scopes) values ($1, 'x', decode($2, 'hex'), 'abcd', '{sessions:read}')",
      id,
      hashSecret(personal),
    );
    await world.row("insert into core.partner_managers (partner_id, user_id) values ($1, $2)", world.partnerA.id, id);
    for (const token of [await world.partnerA.client.token(), personal])
      expect(await world.send(endpoint.path, { ...bare(endpoint), token })).toMatchObject({
        status: 403,
        body: { error: "Insufficient scope", required_scope: scope },
      });
  });

  test("§5 no credential, garbage, an unknown key and a revoked one: 401", async () => {
    const revoked = world.keyA;
    world.keyA = await world.key(world.partnerA);
    const { api_key } = newPartnerKey(world.environment.config);
    for (const token of [undefined, "garbage", api_key, revoked, `${world.keyA}x`, world.keyA.slice(0, -1)]) {
      const answer = await world.send(endpoint.path, { ...bare(endpoint), ...(token ? { token } : {}) });
      expect(answer).toMatchObject({ status: 401, body: { error: "Missing or invalid API token" } });
    }
  });

  test("§7 a person who manages no partner, and anybody of a deactivated one: 403 No partner is linked", async () => {
    const { id } = await world.row(
      "insert into core.partners (name, slug) values ('Uit', gen_random_uuid()::text) returning id",
    );
    const off = { ...world.partnerA, id };
    const tokens = [await world.manager(null), await world.manager(off), ...(key ? [await world.key(off)] : [])];
    await world.row("update core.partners set is_active = false where id = $1", id);
    for (const token of tokens)
      expect(await world.send(endpoint.path, { ...bare(endpoint), token })).toMatchObject({
        status: 403,
        body: { error: "No partner is linked to this API key" },
      });
  });

  test("§8 over its limit: 429 with retry_after_seconds, and no effect; another partner is not held up", async () => {
    const subject = key ? `partner:${world.partnerA.id}` : null;
    const bucket = endpoint.limit as string;
    const token = key ? world.keyA : await world.manager(world.partnerA);
    const { count } = await world.row("select count(*)::int as count from core.drafts");
    await world.limit(bucket, 1);
    await world.row("delete from core.rate_limit_state");
    await world.send(endpoint.path, { ...bare(endpoint), token });
    const answer = await world.send(endpoint.path, { ...bare(endpoint), token });
    expect(answer).toMatchObject({
      status: 429,
      body: { error: "Too many requests", retry_after_seconds: expect.any(Number) },
    });
    expect(answer.headers.get("ratelimit-policy")).toBe(`"${bucket}";q=1;w=60`);
    if (subject)
      expect((await world.send(endpoint.path, { ...bare(endpoint), token: world.keyB })).status).not.toBe(429);
    await world.limit(bucket);
    expect((await world.row("select count(*)::int as count from core.drafts")).count).toBe(count);
  });

  test("contract §1 the database cannot be reached: 503 with Retry-After", async () => {
    const closed = connect("postgresql://edge:edge@127.0.0.1:1/none");
    const { fetch } = serve(surface, { ...world.environment, db: closed });
    const request = new Request(new URL(endpoint.path, BASE_URL), {
      method: endpoint.method,
      headers: { authorization: `Bearer ${world.keyA}` },
    });
    const answer = await fetch(request);
    expect([answer.status, answer.headers.get("retry-after"), (await answer.json()).error]).toEqual([
      503,
      "5",
      "Authentication is temporarily unavailable, try again shortly",
    ]);
  });

  test("§9.1 answers at the specification's path and behind its function's name", () => {
    expect(pathsOf(surface, endpoint.path)).toEqual([endpoint.path, `/partner${endpoint.path}`]);
  });
});

describe("§5 keys", () => {
  test("§5.5 on the wrong host: 401 that says so, on every surface", async () => {
    const live = `ere_live_${newSecret()}`;
    for (const path of ["/partner/me", "/v1/accounts"])
      expect(await world.get(path, live)).toMatchObject({
        status: 401,
        body: {
          error: "Missing or invalid API token",
          detail: "This is a production key; it does not work on the sandbox host.",
        },
      });
    const production = await createPartnerWorld({ host: "production" });
    expect((await production.get("/partner/me", production.keyA)).body.partner.api_key.prefix).toBe("ere_live_");
    expect((await production.get("/partner/me", `ere_test_${newSecret()}`)).body.detail).toBe(
      "This is a sandbox key; it does not work on the production host.",
    );
    await production.close();
  });

  test("§5.5 a sandbox key with the live prefix works if it was minted before September 2026, and on the sandbox only", async () => {
    const store = async (at: World, key: string, created_at: string) =>
      at.row(
        "update core.partner_keys set key_hash = decode($2, 'hex'), created_at = $3 where partner_id = $1 and revoked_at is null",
        at.partnerB.id,
        hashSecret(key),
        created_at,
      );
    const old = `ere_live_${newSecret()}`;
    await store(world, old, "2026-08-31T23:59:59Z");
    expect((await world.get("/partner/me", old)).status).toBe(200);
    await store(world, old, "2026-09-01T00:00:00Z");
    expect((await world.get("/partner/me", old)).status).toBe(401);
    const production = await createPartnerWorld({ host: "production" });
    const test = `ere_test_${newSecret()}`;
    await store(production, test, "2026-08-01T00:00:00Z");
    expect((await production.get("/partner/me", test)).status).toBe(401);
    await production.close();
    world.keyB = await world.key(world.partnerB);
  });

  test("contract §1, §9 a partner key elsewhere: Insufficient scope on /v1, partner_api_key_scope on the catalog, 404 where nothing is", async () => {
    expect(await world.get("/v1/accounts", world.keyA)).toMatchObject({
      status: 403,
      body: { error: "Insufficient scope", required_scope: "cpo:accounts:read" },
    });
    expect(await world.get("/v1/catalog/chargers", world.keyA)).toMatchObject({
      status: 403,
      body: { error: "partner_api_key_scope" },
    });
    for (const path of ["/partner", "/partner/nothing", "/partner/drafts/x", "/v1/nothing"])
      expect((await world.get(path, world.keyA)).status).toBe(404);
    expect((await world.send("/partner/me", { method: "POST", token: world.keyA, body: {} })).status).toBe(404);
  });

  test("the use of a key is noted to the minute, and the key itself is nowhere", async () => {
    await world.get("/partner/me", world.keyA);
    const { body } = await world.get("/partner/me", world.keyA);
    expect(body.partner.api_key).toEqual({
      prefix: "ere_test_",
      last4: world.keyA.slice(-4),
      created_at: expect.any(String),
      last_used_at: expect.any(String),
    });
    const { dump } = await world.row("select string_agg(k::text, '') as dump from core.partner_keys k");
    expect(dump).not.toContain(world.keyA);
    expect(JSON.stringify(world.log)).not.toContain(world.keyA);
  });

  test("SQL itself refuses a key where a person is needed, and any other kind of caller", async () => {
    const { db } = world.environment;
    const key = { kind: "partner", partner_id: world.partnerA.id, host: "sandbox", request_id: "x" };
    for (const name of ["set_partner_company", "set_partner_branding", "set_partner_iban", "mint_partner_key"])
      await expect(db.call(name, key, {})).rejects.toMatchObject({ code: "42501" });
    await expect(db.call("revoke_partner_key", key)).rejects.toMatchObject({ code: "42501" });
    for (const endpoint of ENDPOINTS)
      for (const name of endpoint.sql) {
        const args = (
          await world.row("select pronargs::int as n from pg_proc where oid = ('api.' || $1)::regproc", name)
        ).n;
        await expect(db.call(name, { kind: "worker" }, ...Array(args - 1).fill({}))).rejects.toMatchObject({
          code: "42501",
        });
      }
  });
});

describe("bodies", () => {
  const withBody = ENDPOINTS.filter(({ body }) => body);
  test.each(named(withBody))(
    "contract §1 %s refuses by name what is no JSON object, and whatever it is never with 500",
    async (_, endpoint) => {
      const token = await world.manager(world.partnerA);
      for (const [raw, error] of [
        ...(endpoint.bodyOptional ? [] : [["", "invalid_json"]]),
        ["{", "invalid_json"],
        ["[]", "invalid_request"],
        ["null", "invalid_request"],
        ['"x"', "invalid_request"],
      ])
        expect(await world.send(endpoint.path, { token, raw: raw ?? "" })).toMatchObject({
          status: 400,
          body: { error },
        });
      expect((await world.send(endpoint.path, { token, raw: `{"x":"${"x".repeat(2.1 * 1024 * 1024)}"}` })).status).toBe(
        413,
      );
      const strange = [7, "", " ", "\u0000", "x".repeat(5_000), [], {}, null, true, [null], "\ud800"];
      for (const name of [
        "draft_id",
        "email",
        "return_url",
        "rows",
        "csv",
        "file",
        "consent",
        "send_invite",
        "emails",
        "message",
        "iban",
        "account_holder",
        "name",
        "rotate",
      ])
        for (const value of strange) {
          const { status } = await world.post(
            endpoint.path,
            { consent: true, account_holder: "Eva", draft_id: randomUUID(), [name]: value },
            token,
          );
          expect([name, value, status]).not.toEqual([name, value, 500]);
        }
    },
  );
});

test("contract §1 a failure of our own: its failure code, the cause in the log only", async () => {
  const broken = await createPartnerWorld();
  const token = await broken.manager(broken.partnerA);
  for (const endpoint of ENDPOINTS) {
    const body =
      endpoint.id === "withdrawDraft" || endpoint.id === "issueAuthLink"
        ? { draft_id: randomUUID() }
        : await bodyOf(endpoint.id);
    for (const name of endpoint.sql) {
      const { args } = await broken.row("select pg_get_function_arguments(('api.' || $1)::regproc) as args", name);
      await broken.database.admin.query(
        `create or replace function api.${name}(${args}) returns json language plpgsql security definer as $$ begin return 1 / 0; end $$`,
      );
    }
    const answer = await send(endpoint, token, body, broken);
    expect([answer.status, answer.body.error]).toEqual([500, wireText(endpoint.failure)]);
    expect(Object.keys(answer.body)).toHaveLength(3);
    expect(errorsOf(endpoint).has(endpoint.failure)).toBe(true);
    expect(broken.log.at(-1)).toMatchObject({ cause: { sqlstate: "22012" } });
  }
  await broken.close();
});
