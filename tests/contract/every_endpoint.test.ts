// What holds for every endpoint, derived from the endpoint list: a new endpoint is covered by being declared.

import { importJWK, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect } from "../../packages/shared/src/db.ts";
import type { Endpoint } from "../../packages/shared/src/endpoint.ts";
import type { Environment } from "../../packages/shared/src/environment.ts";
import { wireText } from "../../packages/shared/src/errors.ts";
import { CPO_SCOPES } from "../../packages/shared/src/scopes.ts";
import { serve } from "../../packages/shared/src/surface.ts";
import { hashSecret, issueUserToken, newSecret } from "../../packages/shared/src/tokens.ts";
import { BASE_URL, createWorld, newTokenKey, type Sent, SURFACES, type World } from "../harness/world.ts";
import { bare, CPO_ENDPOINTS, ENDPOINTS, named, requestTo, type Sample, samplesFor, scopeOf } from "./samples.ts";

let world: World;
let samples: Map<string, Sample>;
beforeAll(async () => {
  world = await createWorld();
  samples = await samplesFor(world);
});
afterAll(() => world.close());

/** The function an endpoint belongs to, over an environment of the test's own. */
function functionOf(endpoint: Endpoint, environment: Environment) {
  const surface = SURFACES.find(({ endpoints }) => endpoints.includes(endpoint));
  if (!surface) throw new Error(`${endpoint.id} belongs to no function`);
  return serve(surface, environment);
}

const everyScope = Object.keys(CPO_SCOPES);
const UNAUTHORIZED = { error: "Missing or invalid API token" };

test("contract §1 every endpoint has a sample request that succeeds, or these tests prove nothing", async () => {
  const token = await world.partnerA.client.token();
  for (const endpoint of ENDPOINTS) {
    const { path, body } = samples.get(endpoint.id) ?? { path: "" };
    const { status } = await world.send(path, { method: endpoint.method, token, ...(body ? { body } : {}) });
    expect([endpoint.id, status]).toEqual([endpoint.id, 200]);
  }
});

// Credentials --------------------------------------------------------------------------------------------------------

type Forgery = {
  claims?: Record<string, unknown>;
  header?: Record<string, unknown>;
  key?: Record<string, unknown>;
  alg?: "none" | "HS256";
};

/** A token that is right in everything but what is said. */
async function forge({ claims = {}, header = {}, key, alg }: Forgery): Promise<string> {
  const own = world.environment.config.TOKEN_KEYS.keys[0];
  const { client_id } = world.partnerA.client;
  const now = Math.floor(Date.now() / 1000);
  const good = {
    iss: BASE_URL,
    aud: BASE_URL,
    sub: client_id,
    client_id,
    jti: crypto.randomUUID(),
    iat: now,
    exp: now + 3600,
  };
  const payload = Object.fromEntries(
    Object.entries({ ...good, scope: everyScope.join(" "), ...claims }).filter(([, value]) => value !== undefined),
  );
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
  if (alg === "none") return `${encode({ alg, typ: "at+jwt" })}.${encode(payload)}.`;
  const token = new SignJWT(payload).setProtectedHeader({ alg: alg ?? "ES256", typ: "at+jwt", kid: "test", ...header });
  // the classic confusion: what we publish of our key, used as a shared secret
  if (alg === "HS256") return token.sign(new TextEncoder().encode(JSON.stringify({ ...own, d: undefined })));
  return token.sign(await importJWK(key ?? own ?? {}, "ES256"));
}

/** What a person may hold, good in every way: an application's access token for them, and a token of their own. */
async function tokensOfAPerson(): Promise<string[]> {
  const user_id = crypto.randomUUID();
  const personal = `${world.environment.config.KEY_PREFIX}_pat_${newSecret()}`;
  await world.row("insert into auth.users (id, email) values ($1, $2)", user_id, `${user_id}@example.nl`);
  await world.row(
    "insert into core.personal_tokens (user_id, name, token_hash, last4, scopes) values ($1, 'x', decode($2, 'hex'), $3, '{sessions:read}')",
    user_id,
    hashSecret(personal),
    personal.slice(-4),
  );
  const app = await world.addClient(null, { scopes: ["sessions:read"], grant_types: ["authorization_code"] });
  const { id: grantId } = await world.row(
    "insert into core.oauth_grants (user_id, client_id, scopes) values ($1, $2, '{sessions:read}') returning id",
    user_id,
    app.id,
  );
  const { client_id: clientId } = app;
  return [
    await issueUserToken(world.environment, { userId: user_id, clientId, scope: "sessions:read", grantId }),
    personal,
  ];
}

const soon = () => Math.floor(Date.now() / 1000);
const bad: [what: string, authorization: () => Promise<string | undefined>][] = [
  ["no credential", async () => undefined],
  ["an empty bearer", async () => "Bearer "],
  ["a garbage bearer", async () => "Bearer garbage"],
  ["a bearer with a space in it", async () => `Bearer ${await forge({})} ${await forge({})}`],
  [
    "HTTP Basic with the right secret",
    async () => {
      const { client_id, secret } = world.partnerA.client;
      return `Basic ${Buffer.from(`${client_id}:${secret}`).toString("base64")}`;
    },
  ],
  ["alg none", async () => `Bearer ${await forge({ alg: "none" })}`],
  ["our public key as an HMAC secret", async () => `Bearer ${await forge({ alg: "HS256" })}`],
  ["another issuer", async () => `Bearer ${await forge({ claims: { iss: "https://evil.example" } })}`],
  ["no issuer", async () => `Bearer ${await forge({ claims: { iss: undefined } })}`],
  ["another audience", async () => `Bearer ${await forge({ claims: { aud: "https://evil.example" } })}`],
  ["another key under our kid", async () => `Bearer ${await forge({ key: newTokenKey("test") })}`],
  ["an unknown kid", async () => `Bearer ${await forge({ header: { kid: "unknown" } })}`],
  ["typ JWT (RFC 9068 section 4)", async () => `Bearer ${await forge({ header: { typ: "JWT" } })}`],
  ["no typ", async () => `Bearer ${await forge({ header: { typ: undefined } })}`],
  ["expired a second ago", async () => `Bearer ${await forge({ claims: { iat: soon() - 3601, exp: soon() - 1 } })}`],
  ["no expiry", async () => `Bearer ${await forge({ claims: { exp: undefined } })}`],
  ["issued in the future", async () => `Bearer ${await forge({ claims: { iat: soon() + 3600, exp: soon() + 7200 } })}`],
  ["not valid yet", async () => `Bearer ${await forge({ claims: { nbf: soon() + 3600 } })}`],
  ["no subject", async () => `Bearer ${await forge({ claims: { sub: undefined } })}`],
  ["no client", async () => `Bearer ${await forge({ claims: { client_id: undefined } })}`],
  ["an unknown client", async () => `Bearer ${await forge({ claims: { sub: "cpo_x", client_id: "cpo_x" } })}`],
  [
    "its payload altered",
    async () => {
      const [header, , signature] = (await forge({ claims: { scope: "" } })).split(".");
      const [, payload] = (await forge({})).split(".");
      return `Bearer ${header}.${payload}.${signature}`;
    },
  ],
];

describe.each(named(CPO_ENDPOINTS))("%s", (_, endpoint) => {
  test.each(bad)("§5 %s: 401", async (_what, authorization) => {
    const header = await authorization();
    const answer = await world.send(endpoint.path, {
      ...bare(endpoint),
      headers: header ? { authorization: header } : {},
    });
    expect(answer).toMatchObject({ status: 401, body: UNAUTHORIZED });
    expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer/);
  });

  test("§5 a client disabled after its token was issued: 401", async () => {
    const client = await world.addClient(world.partnerA.id);
    const token = await client.token();
    await world.row("update core.oauth_clients set disabled_at = now() where id = $1", client.id);
    expect(await world.send(endpoint.path, { ...bare(endpoint), token })).toMatchObject({
      status: 401,
      body: UNAUTHORIZED,
    });
  });

  test("§5 a client not linked to a partner, or linked to a deactivated one: 403 client_not_linked", async () => {
    const unlinked = await world.addClient(null);
    const { id } = await world.row(
      "insert into core.partners (name, slug, is_active) values ('x', gen_random_uuid()::text, false) returning id",
    );
    const deactivated = await world.addClient(id);
    for (const client of [unlinked, deactivated]) {
      const answer = await world.send(endpoint.path, { ...bare(endpoint), token: await client.token() });
      expect(answer).toMatchObject({ status: 403, body: { error: "client_not_linked" } });
    }
  });

  const scope = scopeOf(endpoint);
  if (scope) {
    test("§5.1 a token without the scope: 403 Insufficient scope, and which", async () => {
      const others = everyScope.filter((other) => other !== scope).join(" ");
      const answer = await world.send(endpoint.path, {
        ...bare(endpoint),
        token: await world.partnerA.client.token(others),
      });
      expect(answer).toMatchObject({
        status: 403,
        body: { error: "Insufficient scope", required_scope: scope, detail: expect.any(String) },
      });
    });

    test("§5.1 a scope taken from the client ends with the tokens that have it: 403", async () => {
      const client = await world.addClient(world.partnerA.id);
      const token = await client.token();
      await world.row(
        "update core.oauth_clients set scopes = array_remove(scopes, $2) where id = $1",
        client.id,
        scope,
      );
      const answer = await world.send(endpoint.path, { ...bare(endpoint), token });
      expect(answer).toMatchObject({ status: 403, body: { error: "Insufficient scope", required_scope: scope } });
    });
  } else {
    test("§5.2 any valid CPO token will do, without a single scope", async () => {
      const client = await world.addClient(world.partnerA.id, { scopes: [] });
      const { path } = samples.get(endpoint.id) ?? { path: "" };
      expect((await world.send(path, { token: await client.token("") })).status).toBe(200);
    });
  }

  test("§5.4 a user's token and a personal token: 403 cpo_token_required, on the catalog with required_scope any", async () => {
    for (const token of await tokensOfAPerson()) {
      const answer = await world.send(endpoint.path, { ...bare(endpoint), token });
      expect(answer).toMatchObject({
        status: 403,
        body: { error: "cpo_token_required", detail: expect.any(String), ...(scope ? {} : { required_scope: "any" }) },
      });
    }
  });

  test("§8 over its limit: 429 with retry_after_seconds and the headers, and the request has no effect", async () => {
    const client = await world.addClient(world.partnerA.id);
    await world.row(
      "insert into core.rate_limit_overrides (subject, bucket, quota) values ($1, $2, 1)",
      `client:${client.id}`,
      endpoint.limit,
    );
    const token = await client.token();
    const first = await world.send(endpoint.path, { ...bare(endpoint), token });
    expect(first.status).not.toBe(429);
    expect(first.headers.get("ratelimit-policy")).toBe(`"${endpoint.limit}";q=1;w=60`);
    expect(first.headers.get("ratelimit")).toMatch(/;r=0;t=60$/);
    const { path, body } = samples.get(endpoint.id) ?? { path: "" };
    const answer = await world.send(path, { method: endpoint.method, token, ...(body ? { body } : {}) });
    expect(answer).toMatchObject({ status: 429, body: { error: "Too many requests" } });
    expect(answer.body.retry_after_seconds).toBeGreaterThanOrEqual(58);
    expect(answer.body.retry_after_seconds).toBeLessThanOrEqual(60);
    expect(answer.headers.get("retry-after")).toBe(String(answer.body.retry_after_seconds));
    expect(answer.headers.get("ratelimit")).toMatch(/;r=0;t=\d+$/);
    expect(answer.body).not.toHaveProperty("rate");
  });
});

// Bodies -------------------------------------------------------------------------------------------------------------

const withBody = ENDPOINTS.filter(({ body }) => body);
const TWO_MB = 2 * 1024 * 1024;
const bodies: [what: string, raw: () => BodyInit, status: number, error: string][] = [
  ["nothing", () => "", 400, "invalid_json"],
  ["not JSON", () => "{grant_type: x}", 400, "invalid_json"],
  ["half a JSON", () => '{"months": [', 400, "invalid_json"],
  ["NaN", () => '{"total_kwh": NaN}', 400, "invalid_json"],
  ["not UTF-8", () => new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), 400, "invalid_json"],
  ["half a character at its end", () => new Uint8Array([0x22, 0xc3]), 400, "invalid_json"],
  ["UTF-16", () => new Uint8Array(Buffer.from('\ufeff{"a":1}', "utf16le")), 400, "invalid_json"],
  ["a JSON array", () => "[]", 400, "invalid_request"],
  ["null", () => "null", 400, "invalid_request"],
  ["a string", () => '"text"', 400, "invalid_request"],
  ["a number", () => "1e400", 400, "invalid_request"],
  ["100,000 nested arrays", () => "[".repeat(100_000) + "]".repeat(100_000), 400, "invalid_request"],
  ["2 MB", () => `{"x":"${"x".repeat(TWO_MB)}"}`, 413, "payload_too_large"],
];

describe.each(named(withBody))("%s", (_, endpoint) => {
  test.each(bodies)("contract §1 a body of %s: %#", async (_what, raw, status, error) => {
    const answer = await world.send(endpoint.path, { token: await world.partnerA.client.token(), raw: raw() });
    expect(answer).toMatchObject({ status, body: { error } });
    if (error === "invalid_request") expect(answer.body.issues).not.toHaveLength(0);
  });

  test("contract §1 a body of 2 MB without a length: 413, read no further than the limit", async () => {
    let pulled = 0;
    const body = new ReadableStream({
      pull(controller) {
        pulled += 1;
        if (pulled > 32) controller.close();
        else controller.enqueue(new Uint8Array(65_536).fill(0x20));
      },
    });
    const token = await world.partnerA.client.token();
    const init = { method: "POST", body, duplex: "half", headers: { authorization: `Bearer ${token}` } };
    const response = await functionOf(endpoint, world.environment).fetch(
      new Request(new URL(endpoint.path, BASE_URL), init),
    );
    expect([response.status, (await response.json()).error]).toEqual([413, "payload_too_large"]);
    expect(pulled).toBeLessThan(20);
  });
});

test("contract §1 a body of exactly the limit is read; one byte more is not", async () => {
  const token = await world.partnerA.client.token();
  const body = JSON.stringify(samples.get("deliverMonths")?.body);
  const filled = (size: number) => body + " ".repeat(size - body.length);
  const at = (size: number) => world.send("/v1/sessions:batch", { token, raw: filled(size) });
  expect((await at(1024 * 1024)).status).toBe(200);
  expect((await at(1024 * 1024 + 1)).status).toBe(413);
});

test("contract §1 a byte order mark before the JSON is forgiven", async () => {
  const token = await world.partnerA.client.token();
  const raw = `\ufeff${JSON.stringify(samples.get("deliverMonths")?.body)}`;
  expect((await world.send("/v1/sessions:batch", { token, raw })).status).toBe(200);
});

// The order of checks (contract section 1): for each pair of faults, the earlier one is answered ---------------------

describe("contract §1 the order of checks", () => {
  type Pair = [answered: string, status: number, before: string, sent: () => Promise<Sent & { path?: string }>];
  const good = { account_id: crypto.randomUUID(), catalog_charger_id: crypto.randomUUID() };
  const broken = "{";
  const mistyped = JSON.stringify({ ...good, serial_number: 5 });
  /** A token of a new client, whose bucket is spent when told so. */
  const token = async (fields: { scopes?: string[]; partner?: null; spent?: boolean } = {}) => {
    const client = await world.addClient(fields.partner === null ? null : world.partnerA.id, fields);
    if (fields.spent)
      await world.row(
        "insert into core.rate_limit_state (subject, bucket, full_at) values ('client:' || $1::text, 'cpo_write', now() + interval '1 hour')",
        client.id,
      );
    return client.token();
  };
  const noScope: string[] = [];
  const pairs: Pair[] = [
    ["route", 404, "credential", async () => ({ path: "/v1/nothing" })],
    ["method", 404, "credential", async () => ({ path: "/v1/catalog/chargers" })],
    ["credential", 401, "JSON", async () => ({ raw: broken })],
    ["link to a partner", 403, "scope", async () => ({ token: await token({ scopes: noScope, partner: null }) })],
    ["scope", 403, "rate limit", async () => ({ token: await token({ scopes: noScope, spent: true }) })],
    ["scope", 403, "JSON", async () => ({ token: await token({ scopes: noScope }), raw: broken })],
    ["rate limit", 429, "JSON", async () => ({ token: await token({ spent: true }), raw: broken })],
    ["rate limit", 429, "fields", async () => ({ token: await token({ spent: true }), raw: mistyped })],
    ["JSON", 400, "lookup", async () => ({ token: await token(), raw: broken })],
    ["fields", 400, "lookup", async () => ({ token: await token(), raw: mistyped })],
    ["lookup", 404, "state", async () => ({ token: await token() })],
  ];
  test.each(pairs)("%s (%i) is judged before %s", async (_answered, status, _before, sent) => {
    const { path = "/v1/chargers", ...rest } = await sent();
    const answer = await world.send(path, { method: "POST", raw: JSON.stringify(good), ...rest });
    expect(answer.status).toBe(status);
  });
});

// Failures of our own ------------------------------------------------------------------------------------------------

describe("contract §1 the database cannot be reached", () => {
  test.each(named(ENDPOINTS))(
    "%s: 503 with Retry-After, and it answers again once the database does",
    async (_, endpoint) => {
      let down = true;
      const token = await world.partnerA.client.token();
      const closed = connect("postgresql://edge:edge@127.0.0.1:1/none");
      const db = {
        ...world.environment.db,
        call: (...args: Parameters<typeof closed.call>) => (down ? closed : world.environment.db).call(...args),
      };
      const { fetch } = functionOf(endpoint, { ...world.environment, db });
      const send = () => fetch(requestTo(endpoint, samples.get(endpoint.id) ?? { path: "" }, token));
      const answer = await send();
      expect(answer.status).toBe(503);
      expect(answer.headers.get("retry-after")).toBe("5");
      const { error } = await answer.json();
      expect(error).toBe(
        wireText(endpoint.caller.kind === "cpo" ? "authentication_unavailable" : "service_unavailable"),
      );
      expect(world.log.at(-1)).toMatchObject({ status: 503, cause: { code: "ECONNREFUSED" } });
      down = false;
      expect((await send()).status).not.toBe(503);
    },
  );
});

describe("contract §1 a failure of our own", () => {
  const QUOTED = "Sanne de Vries NL91ABNA0417164300";
  let broken: World;
  beforeAll(async () => {
    broken = await createWorld();
    await broken.database.admin.query(
      "alter table core.partners disable row level security; grant insert on core.partners to api_owner",
    );
  });
  afterAll(() => broken.close());

  test.each(named(ENDPOINTS))(
    "%s: its failure code; the cause is in the log, without what the database quoted",
    async (_, endpoint) => {
      const token = await broken.partnerA.client.token();
      for (const name of endpoint.sql) {
        const { args } = await broken.row("select pg_get_function_arguments(('api.' || $1)::regproc) as args", name);
        // breaks a constraint: the database's detail quotes the row
        await broken.database.admin.query(
          `create or replace function api.${name}(${args}) returns json language plpgsql security definer as $$
           begin insert into core.partners (name, slug) values ('x', '${QUOTED}'); return null; end $$`,
        );
      }
      const { path, body: sent } = samples.get(endpoint.id) ?? { path: "" };
      const { status, body } = await broken.send(path, {
        method: endpoint.method,
        token,
        ...(sent ? { body: sent } : {}),
      });
      expect([status, body.error]).toEqual([500, wireText(endpoint.failure)]);
      expect(Object.keys(body)).toHaveLength(3); // error, what to do, request_id
      const line = broken.log.at(-1);
      expect(line).toMatchObject({
        level: "error",
        request_id: body.request_id,
        error: endpoint.failure,
        cause: {
          sqlstate: "23514",
          constraint: "partners_slug_shape",
          place: expect.stringContaining(`api.${endpoint.sql[0]}`),
        },
      });
      expect(JSON.stringify([body, line])).not.toMatch(/Sanne|NL91/);
    },
  );
});

test("§5 no secret and no token is in the database in clear", async () => {
  const { client } = world.partnerA;
  const { body } = await world.post("/oauth-token", {
    grant_type: "client_credentials",
    client_id: client.client_id,
    client_secret: client.secret,
  });
  const { rows } = await world.database.admin.query(
    "select c.oid::regclass::text as name from pg_class c where c.relnamespace = 'core'::regnamespace and c.relkind = 'r'",
  );
  for (const { name } of rows) {
    const { dump } = await world.row(`select coalesce(string_agg(t::text, ' '), '') as dump from ${name} t`);
    expect([name, dump.includes(client.secret), dump.includes(body.access_token)]).toEqual([name, false, false]);
  }
  const { stored } = await world.row(
    "select encode(secret_hash, 'hex') as stored from core.oauth_clients where id = $1",
    client.id,
  );
  expect(stored).toBe(hashSecret(client.secret));
});
