// What holds for every endpoint, derived from the endpoint list: a new endpoint is covered by being declared.

import { decodeJwt, importJWK, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { connect, type Db } from "#shared/foundation/db.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { wireText } from "#shared/foundation/errors.ts";
import { bucketOf, type CallerRule, isFile } from "#shared/http/endpoint.ts";
import { type Routed, serve } from "#shared/http/serve.ts";
import { CPO_SCOPES, PERSONAL_SCOPES, USER_SCOPES } from "#shared/values/scopes.ts";
import { ENDPOINTS_OF, SERVED } from "../harness/answers.ts";
import { BASE_URL, newTokenKey } from "../harness/environment.ts";
import type { User } from "../harness/people.ts";
import { rowCounts, type Sent } from "../harness/world.ts";
import { createOAuthWorld, type OAuth } from "../oauth/oauth_world.ts";
import { giveKey } from "../partner/partner_world.ts";
import { bare, ENDPOINTS, named, requestTo, type Sample, samplesFor, scopeOf, sent } from "./samples.ts";

let world: OAuth;
/** A person who manages a partner, which their tokens without partners:* say nothing of. */
let user: User;
let partnerKey: string;
/** A credential that is good no longer, for each kind of caller who needs one. */
let expired: Record<Exclude<CallerRule["kind"], "anyone">, string>;
let sample: (endpoint: Routed) => Sample;
let tables: string[];
beforeAll(async () => {
  world = await createOAuthWorld({ limits: "lifted" });
  user = await world.addUser();
  const manages = "insert into core.partner_managers (partner_id, user_id) values ($1, $2)";
  await world.row(manages, (await world.addPartner()).id, user.id);
  partnerKey = await giveKey(world, (await world.addPartner()).id);
  const disabled = await world.addClient(world.partnerA.id);
  const gone = await world.addUser();
  const revoked = (await world.addPartner()).id;
  expired = {
    cpo: await disabled.token(),
    user: await gone.token(),
    partner: await gone.appToken(),
    session: await world.signSession({ sub: gone.id, email: gone.email }),
    sandbox: await giveKey(world, revoked),
    worker: newSecret(),
  };
  await world.row("update core.oauth_clients set disabled_at = now() where id = $1", disabled.id);
  await world.row("update auth.users set deleted_at = now() where id = $1", gone.id);
  await world.row("update core.partner_keys set revoked_at = now() where partner_id = $1", revoked);
  sample = await samplesFor(world);
  const { rows } = await world.database.admin.query(
    "select relname from pg_class where relnamespace = 'core'::regnamespace and relkind = 'r' and relname !~ '^rate_limit'",
  );
  tables = rows.map(({ relname }) => relname);
});
afterAll(() => world.close());

/** Samples for the limits alone: other tests see nothing of them. To make them takes a second or two. */
let limited: ReturnType<typeof samplesFor> | undefined;

/** Samples for what uses them up, one endpoint after the other. */
let spent: ReturnType<typeof samplesFor> | undefined;

function surfaceOf(endpoint: Routed) {
  const surface = SERVED.find(({ slug }) => ENDPOINTS_OF.get(slug)?.includes(endpoint));
  if (!surface) throw new Error(`${endpoint.id} belongs to no function`);
  return surface;
}

/** The function an endpoint belongs to, over an environment of the test's own. */
const functionOf = (endpoint: Routed, environment: Environment) => serve(surfaceOf(endpoint), environment);

/** The first endpoint of each kind, where the kind alone decides what is tested. */
function firstOfEach(kind: (endpoint: Routed) => unknown[]): ReadonlySet<Routed> {
  const first = new Map<string, Routed>();
  for (const endpoint of ENDPOINTS) {
    const key = JSON.stringify([surfaceOf(endpoint).slug, ...kind(endpoint)]);
    if (!first.has(key)) first.set(key, endpoint);
  }
  return new Set(first.values());
}
/** Who reads the credential: the same code for all of a function that want this kind of caller. */
const DOORS = firstOfEach(({ caller }) => [caller.kind, caller.kind === "worker" && caller.secret]);
/** What the credential is judged by, and whether that is done before, with or after the endpoint's own statement. */
const RULES = firstOfEach(({ caller, body, slow, sql }) => [caller, body !== undefined, slow, sql.length > 0]);
/** Who reads the body. */
const READERS = firstOfEach(({ body, accepts, maxBody, levels, bodyOptional, salvage, slow }) => [
  ...[body !== undefined, accepts, maxBody, levels, bodyOptional, salvage !== undefined, slow],
]);

const UNAUTHORIZED = { error: "Missing or invalid API token" };

/** An endpoint without a body reads none; no client can send one with GET. */
const garbage = ({ body, method }: Routed, length: number) =>
  body || method === "GET" ? {} : { raw: "{".repeat(length) };

test.each(named(ENDPOINTS))(
  "contract §1 %s has a sample request that succeeds, whatever stands in a body it does not read, and that no cache stores",
  async (_, endpoint) => {
    const good = sample(endpoint);
    const { status, headers } = await world.send(good.path, { ...sent(good), ...garbage(endpoint, 100) });
    expect(status).toBe(endpoint.status ?? 200);
    // no secret, and nothing that is somebody's own, stays behind in a cache; the description of the API may
    expect(headers.get("cache-control")).toMatch(endpoint.id === "openApi" ? /^public/ : /\bno-store$/);
  },
);

// Credentials --------------------------------------------------------------------------------------------------------

/** Each credential there is, good in every way, with every scope it may carry unless told. */
const CREDENTIALS = {
  "a CPO token": (...scopes: string[]) => world.partnerA.client.token(scopes.length > 0 ? scopes.join(" ") : undefined),
  "an application's token": (...scopes: string[]) =>
    user.appToken(...(scopes.length > 0 ? scopes : Object.keys(USER_SCOPES))),
  "a personal token": (...scopes: string[]) => user.token(...scopes),
  "a session": () => world.signSession({ sub: user.id, email: user.email }),
  "a partner key": async () => partnerKey,
  WORKER_SECRET: async () => world.environment.config.WORKER_SECRET,
  METRICS_SECRET: async () => world.environment.config.METRICS_SECRET,
  GATEWAY_SECRET: async () => world.environment.config.GATEWAY_SECRET,
};
type Credential = keyof typeof CREDENTIALS;
const NAMES = Object.keys(CREDENTIALS) as Credential[];

/** The table of contract section 1, by what the endpoint wants: who is let in, and who is refused otherwise than by 401. */
const LET_IN: Record<CallerRule["kind"], readonly Credential[]> = {
  cpo: ["a CPO token"],
  user: ["an application's token", "a personal token"],
  partner: ["a partner key", "an application's token"],
  sandbox: ["a partner key"],
  session: ["a session"],
  worker: ["WORKER_SECRET", "METRICS_SECRET", "GATEWAY_SECRET"],
  anyone: NAMES, // who asks for no bearer does not look at one
};
const admitted = ({ caller }: Routed) =>
  LET_IN[caller.kind].filter((name) => {
    if (caller.kind === "worker") return name === caller.secret;
    return name !== "a partner key" || caller.kind !== "partner" || caller.key;
  });
const FORBIDDEN: Partial<Record<CallerRule["kind"], Partial<Record<Credential, string>>>> = {
  cpo: {
    "an application's token": "cpo_token_required",
    "a personal token": "cpo_token_required",
    "a partner key": "Insufficient scope",
  },
  user: { "a CPO token": "Insufficient scope", "a partner key": "Insufficient scope" },
  partner: {
    "a CPO token": "Insufficient scope",
    "a personal token": "Insufficient scope",
    "a partner key": "Insufficient scope", // where a person is needed
  },
  sandbox: {
    "a CPO token": "Insufficient scope",
    "an application's token": "Insufficient scope",
    "a personal token": "Insufficient scope",
  },
  session: { "a partner key": "partner_api_key_scope" },
};

type Forgery = {
  claims?: Record<string, unknown>;
  header?: Record<string, unknown>;
  key?: Record<string, unknown>;
  alg?: "none" | "HS256";
};
type Forge = (forgery: Forgery) => Promise<string>;

/** A token that an endpoint would take, right in everything but what is said. */
const forgeFor =
  ({ caller }: Routed): Forge =>
  async ({ claims = {}, header = {}, key, alg }) => {
    const isSession = caller.kind === "session";
    const own = isSession ? world.authKeys.current : (world.environment.config.TOKEN_KEYS.keys[0] ?? {});
    const model = caller.kind === "cpo" ? "a CPO token" : isSession ? "a session" : "an application's token";
    const payload = Object.fromEntries(
      Object.entries({ ...decodeJwt(await CREDENTIALS[model]()), ...claims }).filter(
        ([, value]) => value !== undefined,
      ),
    );
    const typ = isSession ? "JWT" : "at+jwt";
    const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
    if (alg === "none") return `${encode({ alg, typ })}.${encode(payload)}.`;
    const token = new SignJWT(payload).setProtectedHeader({
      alg: alg ?? "ES256",
      typ,
      kid: String(own.kid),
      ...header,
    });
    // the classic confusion: what is published of the key, used as a shared secret
    if (alg === "HS256") return token.sign(new TextEncoder().encode(JSON.stringify({ ...own, d: undefined })));
    return token.sign(await importJWK(key ?? own, "ES256"));
  };

const soon = () => Math.floor(Date.now() / 1000);
type Bad = [what: string, authorization: (forge: Forge, endpoint: Routed) => Promise<string | undefined>];
const bad: Bad[] = [
  ["no credential", async () => undefined],
  ["an empty bearer", async () => "Bearer "],
  ["a garbage bearer", async () => "Bearer garbage"],
  ["a bearer with a space in it", async (forge) => `Bearer ${await forge({})} ${await forge({})}`],
  ["a good one under another scheme", async (_forge, endpoint) => `Token ${sample(endpoint).token}`],
  [
    "HTTP Basic with the right secret",
    async () => {
      const { client_id, secret } = world.partnerA.client;
      return `Basic ${Buffer.from(`${client_id}:${secret}`).toString("base64")}`;
    },
  ],
  ["a personal token nobody made", async () => `Bearer ${world.environment.config.KEY_PREFIX}_pat_${newSecret()}`],
  ["alg none", async (forge) => `Bearer ${await forge({ alg: "none" })}`],
  ["the public key as an HMAC secret", async (forge) => `Bearer ${await forge({ alg: "HS256" })}`],
  ["another issuer", async (forge) => `Bearer ${await forge({ claims: { iss: "https://evil.example" } })}`],
  ["no issuer", async (forge) => `Bearer ${await forge({ claims: { iss: undefined } })}`],
  ["another audience", async (forge) => `Bearer ${await forge({ claims: { aud: "https://evil.example" } })}`],
  ["another key under the same kid", async (forge) => `Bearer ${await forge({ key: newTokenKey("test") })}`],
  ["an unknown kid", async (forge) => `Bearer ${await forge({ header: { kid: "unknown" } })}`],
  [
    "expired a second ago",
    async (forge) => `Bearer ${await forge({ claims: { iat: soon() - 3601, exp: soon() - 1 } })}`,
  ],
  ["no expiry", async (forge) => `Bearer ${await forge({ claims: { exp: undefined } })}`],
  ["not valid yet", async (forge) => `Bearer ${await forge({ claims: { nbf: soon() + 3600 } })}`],
  ["no subject", async (forge) => `Bearer ${await forge({ claims: { sub: undefined } })}`],
  ["of nobody", async (forge) => `Bearer ${await forge({ claims: { sub: crypto.randomUUID(), client_id: "cpo_x" } })}`],
  [
    "its payload altered",
    async (forge) => {
      const [header, , signature] = (await forge({ claims: { scope: "" } })).split(".");
      const [, payload] = (await forge({})).split(".");
      return `Bearer ${header}.${payload}.${signature}`;
    },
  ],
];
/** Of access tokens (RFC 9068); a session JWT is written by Supabase Auth, which has neither type nor client. */
const badAccessToken: Bad[] = [
  ["typ JWT (RFC 9068 section 4)", async (forge) => `Bearer ${await forge({ header: { typ: "JWT" } })}`],
  ["no typ", async (forge) => `Bearer ${await forge({ header: { typ: undefined } })}`],
  [
    "issued in the future",
    async (forge) => `Bearer ${await forge({ claims: { iat: soon() + 3600, exp: soon() + 7200 } })}`,
  ],
  ["no client", async (forge) => `Bearer ${await forge({ claims: { client_id: undefined } })}`],
];

describe.each(named(ENDPOINTS))("%s", (_, endpoint) => {
  const { kind } = endpoint.caller;
  const scope = scopeOf(endpoint);
  /** What a credential may carry at most; a partner key carries none. */
  const allScopes = (name: Credential): string[] =>
    name === "a personal token" ? PERSONAL_SCOPES : Object.keys(name === "a CPO token" ? CPO_SCOPES : USER_SCOPES);
  /** A token of a client that no other test has. */
  const tokenOfItsOwn = async () =>
    kind === "cpo" ? (await world.addClient(world.partnerA.id)).token() : CREDENTIALS["an application's token"]();
  const sendBare = (token: string) => world.send(endpoint.path, { ...bare(endpoint), token });

  test.each(admitted(endpoint))("contract §1 %s with no more than the scope of the endpoint gets in", async (name) => {
    const token = await CREDENTIALS[name](...(scope ? [scope] : []));
    const good = sample(endpoint);
    expect([401, 403, 500, 503]).not.toContain((await world.send(good.path, { ...sent(good), token })).status);
  });

  if (kind !== "anyone")
    test("§5 a request without a credential, or with one that is good no longer, is refused with 401", async () => {
      for (const headers of [{}, { authorization: `Bearer ${expired[kind]}` }]) {
        const answer = await world.send(endpoint.path, { ...bare(endpoint), headers });
        expect(answer).toMatchObject({ status: 401, body: UNAUTHORIZED });
        expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer/);
      }
    });

  const refused = RULES.has(endpoint) ? NAMES.filter((name) => !admitted(endpoint).includes(name)) : [];
  test.each(refused)("contract §1 %s is refused as the table says", async (name) => {
    const answer = await sendBare(await CREDENTIALS[name]());
    const listed = FORBIDDEN[kind]?.[name];
    const error = listed === "Insufficient scope" && !scope ? "partner_api_key_scope" : listed;
    // the catalogue takes any CPO token, whatever its scopes
    const requiredScope = error === "cpo_token_required" ? (scope ? undefined : "any") : scope;
    expect([answer.status, answer.body.error, answer.body.required_scope]).toEqual(
      error ? [403, error, requiredScope ?? undefined] : [401, UNAUTHORIZED.error, undefined],
    );
  });

  if (kind === "anyone") {
    test("contract §1 asks for no bearer: garbage in its place changes nothing", async () => {
      const good = sample(endpoint);
      expect((await world.send(good.path, { ...sent(good), token: "garbage" })).status).toBe(200);
    });
  } else if (DOORS.has(endpoint)) {
    if (kind !== "worker")
      test("§5 a forgery that changes nothing is no forgery, or the next tests prove nothing", async () => {
        // which is not to say that the sandbox lets applications in
        const refusals = kind === "sandbox" ? [401] : [401, 403];
        expect(refusals).not.toContain((await sendBare(await forgeFor(endpoint)({}))).status);
      });

    test.each(kind === "session" ? bad : [...bad, ...badAccessToken])(
      "§5 a request with %s is refused with 401",
      async (_what, authorization) => {
        const header = await authorization(forgeFor(endpoint), endpoint);
        const answer = await world.send(endpoint.path, {
          ...bare(endpoint),
          headers: header ? { authorization: header } : {},
        });
        expect(answer).toMatchObject({ status: 401, body: UNAUTHORIZED });
        expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer/);
      },
    );
  }

  const isRule = RULES.has(endpoint);
  if (isRule && (kind === "cpo" || kind === "user" || kind === "partner"))
    test("§5 a client disabled after its token was issued: 401", async () => {
      const token = await tokenOfItsOwn();
      await world.row(
        "update core.oauth_clients set disabled_at = now() where client_id = $1",
        decodeJwt(token).client_id,
      );
      expect(await sendBare(token)).toMatchObject({ status: 401, body: UNAUTHORIZED });
    });

  if (isRule && (kind === "session" || kind === "user" || kind === "partner"))
    test("§5 a login that is gone: 401, whichever credential it had", async () => {
      const gone = await world.addUser();
      const tokens = [await world.signSession({ sub: gone.id }), await gone.token(), await gone.appToken()];
      const had = { session: tokens.slice(0, 1), user: tokens.slice(1), partner: tokens.slice(2) };
      await world.row("update auth.users set deleted_at = now() where id = $1", gone.id);
      for (const token of had[kind]) expect(await sendBare(token)).toMatchObject({ status: 401, body: UNAUTHORIZED });
    });

  if (isRule && kind === "cpo")
    test("§5 a client not linked to a partner, or linked to a deactivated one: 403 client_not_linked", async () => {
      const unlinked = await world.addClient(null);
      const { id } = await world.row(
        "insert into core.partners (name, slug, is_active) values ('x', gen_random_uuid()::text, false) returning id",
      );
      const deactivated = await world.addClient(id);
      for (const client of [unlinked, deactivated])
        expect(await sendBare(await client.token())).toMatchObject({
          status: 403,
          body: { error: "client_not_linked" },
        });
    });

  if (isRule && scope) {
    const lacking = { status: 403, body: { error: "Insufficient scope", required_scope: scope } };

    const scoped = admitted(endpoint).filter((name) => name !== "a partner key");
    test.each(scoped)(
      "§5.1 %s without the scope is refused with 403 Insufficient scope, which says which one",
      async (name) => {
        const others = allScopes(name).filter((other) => other !== scope);
        const answer = await sendBare(await CREDENTIALS[name](...others));
        expect(answer).toMatchObject({ ...lacking, body: { ...lacking.body, detail: expect.any(String) } });
      },
    );

    test("§5.1 a scope taken from the client ends with the tokens that have it: 403", async () => {
      const token = await tokenOfItsOwn();
      await world.row(
        "update core.oauth_clients set scopes = array_remove(scopes, $2) where client_id = $1",
        decodeJwt(token).client_id,
        scope,
      );
      expect(await sendBare(token)).toMatchObject(lacking);
    });
  } else if (isRule && kind === "cpo") {
    test("§5.2 any valid CPO token will do, without a single scope", async () => {
      const client = await world.addClient(world.partnerA.id, { scopes: [] });
      expect((await world.send(sample(endpoint).path, { token: await client.token("") })).status).toBe(200);
    });
  }

  const bucket = bucketOf(endpoint);
  if (bucket) {
    test("§8 over its limit: 429 with retry_after_seconds and the headers, and the request has no effect", async () => {
      limited ??= samplesFor(world);
      const good = (await limited)(endpoint);
      await world.row("delete from core.rate_limit_state where subject = $1", good.subject);
      await world.row(
        "insert into core.rate_limit_overrides (subject, bucket, quota) values ($1, $2, 1) on conflict do nothing",
        good.subject,
        bucket,
      );
      const began = Date.now();
      // an endpoint that authenticates what is in the body counts nobody's request without one
      const first = await world.send(good.path, { ...sent(good), ...(endpoint.limit ? bare(endpoint) : {}) });
      expect(first.status).not.toBe(429);
      expect(first.headers.get("ratelimit-policy")).toBe(`"${bucket}";q=1;w=60`);
      expect(first.headers.get("ratelimit")).toMatch(/;r=0;t=60$/);
      await world.idle();
      const before = await rowCounts(world, ...tables);
      const answer = await world.send(good.path, sent(good));
      expect(await rowCounts(world, ...tables)).toEqual(before);
      expect(answer).toMatchObject({ status: 429, body: { error: "Too many requests" } });
      // the minute runs from the first request on, however long this machine took since
      const gone = Math.ceil((Date.now() - began) / 1000);
      expect(answer.body.retry_after_seconds).toBeGreaterThanOrEqual(60 - gone);
      expect(answer.body.retry_after_seconds).toBeLessThanOrEqual(60);
      expect(answer.headers.get("retry-after")).toBe(String(answer.body.retry_after_seconds));
      expect(answer.headers.get("ratelimit")).toMatch(/;r=0;t=\d+$/);
      expect(answer.body).not.toHaveProperty("rate");
    });
  } else {
    test("§8 has no limit, and says nothing of one", async () => {
      const good = sample(endpoint);
      const { headers } = await world.send(good.path, sent(good));
      expect([headers.get("ratelimit"), headers.get("ratelimit-policy")]).toEqual([null, null]);
    });
  }
});

describe("§8 limits are kept per application and person", () => {
  const profile = ENDPOINTS.filter(({ id }) => id === "getProfile");
  /** What is left in the bucket after one request more. */
  const left = async (token: string, path = "/profile") => {
    const { status, headers } = await world.get(path, token);
    expect(status).toBe(200);
    return Number(/;r=(\d+);/.exec(headers.get("ratelimit") ?? "")?.[1]);
  };
  /** Another token like this one, as the application has after a refresh; for somebody else where that is told. */
  const again = async (token: string, claims: Record<string, unknown> = {}) => {
    const [endpoint] = profile;
    if (!endpoint) throw new Error("no endpoint");
    return forgeFor(endpoint)({ claims: { ...decodeJwt(token), jti: crypto.randomUUID(), ...claims } });
  };
  beforeAll(async () => {
    await world.limit("user", 60);
    await world.freeze(new Date().toISOString()); // nothing is refilled meanwhile
  });
  afterAll(() => world.limit("user"));

  test("§8 two tokens of one application and person share one bucket", async () => {
    const first = await (await world.addUser()).appToken();
    const second = await again(first);
    expect([await left(first), await left(second), await left(first)]).toEqual([59, 58, 57]);
  });

  test("§8 another application, another person, and the person's own token: each a bucket of its own", async () => {
    const [person, other] = [await world.addUser(), await world.addUser()];
    const first = await person.appToken();
    expect([await left(first), await left(first)]).toEqual([59, 58]);
    const { id: grant_id } = await world.row(
      `insert into core.oauth_grants (user_id, client_id, scopes)
       select $2, client_id, scopes from core.oauth_grants where id = $1 returning id`,
      decodeJwt(first).grant_id,
      other.id,
    );
    const sameAppForOther = await again(first, { sub: other.id, grant_id });
    for (const token of [await person.appToken(), await person.token(), sameAppForOther, await other.token()])
      expect(await left(token)).toBe(59);
    expect(await left(first)).toBe(57);
  });

  test("§8 a person's own tokens count together, and so do their sessions, apart from the tokens", async () => {
    const person = await world.addUser();
    const session = () => world.signSession({ sub: person.id });
    expect([await left(await person.token()), await left(await person.token())]).toEqual([59, 58]);
    expect([await left(await session(), "/tokens"), await left(await session(), "/tokens")]).toEqual([59, 58]);
  });
});

// Bodies -------------------------------------------------------------------------------------------------------------

const withBody = ENDPOINTS.filter((endpoint) => endpoint.body && !isFile(endpoint));
const deliverMonths = () => {
  const endpoint = ENDPOINTS.find(({ id }) => id === "deliverMonths");
  if (!endpoint) throw new Error("no deliverMonths");
  return sample(endpoint);
};
/** More than it takes: 2 MB, unless it takes that. */
const tooMuch = ({ maxBody = 0 }: Routed) => Math.max(2 * 1024 * 1024, maxBody + 1);
function nested({ maxBody = 200_000 }: Routed): string {
  const depth = Math.min(maxBody, 200_000) / 2;
  return "[".repeat(depth) + "]".repeat(depth);
}
const bodies: [what: string, raw: (endpoint: Routed) => BodyInit, status: number, error: string][] = [
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
  ["as many nested arrays as fit, up to 100,000", nested, 400, "invalid_request"],
  ["2 MB", (endpoint) => `{"x":"${"x".repeat(tooMuch(endpoint))}"}`, 413, "payload_too_large"],
];
const JSON_BODIES = ["a JSON array", "null", "a string", "a number"];

const bodiless = ENDPOINTS.filter((endpoint) => READERS.has(endpoint) && !endpoint.body && endpoint.method !== "GET");
test.each(named(bodiless))("contract §1 %s reads no body: 2 MB of garbage change nothing", async (_, endpoint) => {
  spent ??= samplesFor(world);
  const good = (await spent)(endpoint);
  const answer = await world.send(good.path, { ...sent(good), ...garbage(endpoint, tooMuch(endpoint)) });
  expect(answer.status).toBe(200);
});

test.each(named(withBody.filter(({ bodyOptional }) => bodyOptional)))(
  "§4.3 %s takes nothing at all for a body",
  async (_, endpoint) => {
    spent ??= samplesFor(world);
    const good = (await spent)(endpoint);
    expect((await world.send(good.path, { ...sent(good), raw: "" })).status).toBe(200);
  },
);

describe.each(named(withBody))("%s", (_, endpoint) => {
  const read = bodies.filter(([what]) => what !== "nothing" || !endpoint.bodyOptional);
  // JSON of another kind is refused by the rules of the endpoint
  const wrong = READERS.has(endpoint) ? read : read.filter(([what]) => JSON_BODIES.includes(what));
  test.each(wrong)("contract §1 a body of %s is refused by name (case %#)", async (_what, raw, status, named) => {
    const inJson = raw === nested && endpoint.levels ? "invalid_json" : named;
    // RFC 6749 has no word for JSON
    const error = endpoint.accepts?.includes("form") && inJson === "invalid_json" ? "invalid_request" : inJson;
    const answer = await world.send(endpoint.path, { ...sent(sample(endpoint)), raw: raw(endpoint) });
    expect(answer).toMatchObject({ status, body: { error } });
    if (error === "invalid_request") expect(answer.body.issues).not.toHaveLength(0);
  });

  if (!READERS.has(endpoint)) return;
  test("contract §1 a body of 2 MB without a length: 413, read no further than the limit", async () => {
    const CHUNK = 65_536;
    const chunks = Math.ceil(tooMuch(endpoint) / CHUNK);
    let pulled = 0;
    const body = new ReadableStream({
      pull(controller) {
        pulled += 1;
        if (pulled > 2 * chunks) controller.close();
        else controller.enqueue(new Uint8Array(CHUNK).fill(0x20));
      },
    });
    const headers = { authorization: `Bearer ${sample(endpoint).token}` };
    const response = await functionOf(endpoint, world.environment).fetch(
      new Request(new URL(endpoint.path, BASE_URL), { method: "POST", body, duplex: "half", headers } as RequestInit),
    );
    expect([response.status, (await response.json()).error]).toEqual([413, "payload_too_large"]);
    expect(pulled).toBeLessThan((endpoint.maxBody ?? 1024 * 1024) / CHUNK + 4);
  });
});

test("contract §1 a body of exactly the limit is read; one byte more is not", async () => {
  const { token, body: months } = deliverMonths();
  const body = JSON.stringify(months);
  const filled = (size: number) => body + " ".repeat(size - body.length);
  const at = (size: number) => world.send("/v1/sessions:batch", { raw: filled(size), ...(token ? { token } : {}) });
  expect((await at(1024 * 1024)).status).toBe(200);
  expect((await at(1024 * 1024 + 1)).status).toBe(413);
});

test("contract §1 a byte order mark before the JSON is forgiven", async () => {
  const { body, ...good } = deliverMonths();
  const raw = `\ufeff${JSON.stringify(body)}`;
  expect((await world.send(good.path, { ...sent(good), raw })).status).toBe(200);
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

const withDatabase = ENDPOINTS.filter(({ sql }) => sql.length > 0);

/** The environment with a database at another address while `down` says so. */
function failing(url: string, down: () => boolean): Environment {
  const closed = connect(url);
  const { db, slowDb } = world.environment;
  const instead = (open: Db): Db => ({
    ...open,
    withDeadlineFrom: (begun) => instead(open.withDeadlineFrom(begun)),
    call: (...args) => (down() ? closed : open).call(...args),
    open: (...args) => (down() ? closed : open).open(...args),
  });
  return { ...world.environment, db: instead(db), slowDb: instead(slowDb) };
}

const outages: [what: string, endpoints: readonly Routed[], url: () => string, cause: object][] = [
  ["cannot be reached", ENDPOINTS, () => "postgresql://edge:edge@127.0.0.1:1/none", { code: "ECONNREFUSED" }],
  [
    "refuses the login",
    [...DOORS],
    () => world.database.url("edge").replace(":edge@", ":another@"),
    { sqlstate: "28P01" },
  ],
];
describe.each(outages)("contract §1 the database %s", (_what, endpoints, url, cause) => {
  test.each(named(endpoints.filter((endpoint) => withDatabase.includes(endpoint))))(
    "%s answers 503 with Retry-After, and answers again once the database does",
    async (_, endpoint) => {
      let down = true;
      const { fetch } = functionOf(
        endpoint,
        failing(url(), () => down),
      );
      const send = () => fetch(requestTo(sample(endpoint)));
      const answer = await send();
      expect(answer.status).toBe(503);
      expect(answer.headers.get("retry-after")).toBe("5");
      const { error } = await answer.json();
      const isAdmittedBySql = ["cpo", "user", "session", "partner", "sandbox"].includes(endpoint.caller.kind);
      expect(error).toBe(wireText(isAdmittedBySql ? "authentication_unavailable" : "service_unavailable"));
      expect(world.log.at(-1)).toMatchObject({ status: 503, cause });
      down = false;
      expect((await send()).status).not.toBe(503);
    },
  );

  test.each(named(endpoints.filter((endpoint) => !withDatabase.includes(endpoint))))(
    "%s needs no database: it answers, and has no failure of the database's",
    async (_, endpoint) => {
      const { fetch } = functionOf(
        endpoint,
        failing(url(), () => true),
      );
      expect((await fetch(requestTo(sample(endpoint)))).status).toBe(200);
    },
  );
});

describe("contract §1 a failure of our own", () => {
  const QUOTED = "Sanne de Vries NL91ABNA0417164300";
  let broken: OAuth;
  let brokenSample: typeof sample;
  beforeAll(async () => {
    broken = await createOAuthWorld({ limits: "lifted" });
    brokenSample = await samplesFor(broken);
    await broken.database.admin.query(
      "alter table core.partners disable row level security; grant insert on core.partners to api_owner",
    );
  });
  afterAll(() => broken.close());

  test.each(named(withDatabase))(
    "%s answers its failure code; the cause is in the log, without what the database quoted",
    async (_, endpoint) => {
      for (const name of endpoint.sql) {
        const { args } = await broken.row("select pg_get_function_arguments(('api.' || $1)::regproc) as args", name);
        // breaks a constraint: the database's detail quotes the row
        await broken.database.admin.query(
          `create or replace function api.${name}(${args}) returns json language plpgsql security definer as $$
           begin insert into core.partners (name, slug) values ('x', '${QUOTED}'); return null; end $$`,
        );
      }
      const good = brokenSample(endpoint);
      const { status, body } = await broken.send(good.path, sent(good));
      expect([status, body.error]).toEqual([500, wireText(endpoint.failure)]);
      expect(Object.keys(body).filter((key) => key !== "step")).toHaveLength(3); // error, what to do, request_id
      const line = broken.log.at(-1);
      expect(line).toMatchObject({
        level: "error",
        request_id: body.request_id,
        error: endpoint.failure,
        cause: {
          sqlstate: "23514",
          constraint: "partners_slug_shape",
          place: expect.stringMatching(new RegExp(`api\\.(${endpoint.sql.join("|")})\\b`)),
        },
      });
      expect(JSON.stringify([body, line])).not.toMatch(/Sanne|NL91ABNA/);
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
