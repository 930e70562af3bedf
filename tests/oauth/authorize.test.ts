import { generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { hashSecret } from "#shared/auth/tokens.ts";
import { newTokenKey } from "../harness/environment.ts";
import { rowCounts } from "../harness/world.ts";
import {
  type App,
  authorizationOf,
  codeOf,
  createOAuthWorld,
  newVerifier,
  type OAuth,
  type Person,
  REDIRECT_URI,
} from "./oauth_world.ts";

const NINE = "2026-11-20T09:00:00Z";
const MISSING = { error: "Missing or invalid API token" };

let world: OAuth;
let person: Person;
let app: App;
beforeAll(async () => {
  world = await createOAuthWorld({ limits: "lifted" });
});
afterAll(() => world.close());
beforeEach(async () => {
  await world.freeze(NINE);
  person = await world.person();
  app = await world.app();
});

const ask = async (fields: Record<string, unknown> = {}, session?: string) =>
  world.post("/oauth-authorize", authorizationOf(app, newVerifier(), fields), session ?? (await person.session()));

describe("§4.5 oauth-authorize", () => {
  test("contract §7 attack: partners:write takes a sign-in of the last 15 minutes, so an open browser gives no keys away", async () => {
    app = await world.app({ scopes: ["partners:read", "partners:write"] });
    const session = await person.session();
    await world.freeze("2026-11-20T09:15:01Z");
    expect(await ask({ scope: "partners:read partners:write" }, session)).toMatchObject({
      status: 403,
      body: { error: "recent_sign_in_required" },
    });
    expect((await ask({ scope: "partners:read" }, session)).status).toBe(200);
    expect((await ask({ scope: "partners:write" })).status).toBe(200);
  });

  test("answers the registered URI with code and state, and who answers (RFC 9207)", async () => {
    const { status, body, headers } = await ask({ state: "a&b=c d" });
    expect(status).toBe(200);
    expect(body.redirect_url.startsWith(`${REDIRECT_URI}&`), "its own query stays").toBe(true);
    const answer = new URL(body.redirect_url).searchParams;
    expect(Object.fromEntries(answer)).toEqual({
      from: "ere",
      code: expect.stringMatching(/^[0-9A-Za-z]{43}$/),
      state: "a&b=c d",
      iss: world.url,
    });
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("pragma")).toBe("no-cache");
  });

  test("a URI without a query gets one, and is not normalised", async () => {
    const redirect_uri = "http://127.0.0.1:8123";
    app = await world.app({ redirect_uris: [redirect_uri] });
    const { body } = await ask({ redirect_uri });
    expect(body.redirect_url).toMatch(/^http:\/\/127\.0\.0\.1:8123\?code=/);
  });

  test("a scope named twice, or with spaces around it, is one scope", async () => {
    expect((await ask({ scope: " sessions:read  energy:read sessions:read " })).status).toBe(200);
    const { scopes } = await world.row("select scopes from core.oauth_grants where user_id = $1", person.id);
    expect(scopes).toEqual(["sessions:read", "energy:read"]);
  });

  test("answers browsers of any origin", async () => {
    const response = await fetch(`${world.url}/oauth-authorize`, {
      method: "OPTIONS",
      headers: {
        origin: "https://dashboard.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, content-type",
      },
    });
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("access-control-allow-headers")).toBe("authorization, content-type");
  });

  test("stores the code as its hash only", async () => {
    const code = await codeOf(world, person, app, newVerifier());
    const { hash } = await world.row(
      "select encode(c.code_hash, 'hex') as hash from core.oauth_codes c join core.oauth_grants g on g.id = c.grant_id where g.user_id = $1",
      person.id,
    );
    expect(hash).toBe(hashSecret(code));
  });

  const bad: [what: string, fields: Record<string, unknown>, status: number, error: string][] = [
    ...(
      [
        "client_id",
        "redirect_uri",
        "response_type",
        "scope",
        "state",
        "code_challenge",
        "code_challenge_method",
      ] as const
    ).flatMap((name): [string, Record<string, unknown>, number, string][] => [
      [`no ${name}`, { [name]: undefined }, 400, "invalid_request"],
      [`an empty ${name}`, { [name]: "" }, 400, "invalid_request"],
      [`a ${name} that is a list`, { [name]: ["x", "y"] }, 400, "invalid_request"],
      [`a ${name} with a NUL`, { [name]: "x\u0000" }, 400, "invalid_request"],
    ]),
    ["a state of 2001 characters", { state: "x".repeat(2001) }, 400, "invalid_request"],
    ["response_type token (RFC 9700 §2.1.2)", { response_type: "token" }, 400, "unsupported_response_type"],
    ["response_type code token", { response_type: "code token" }, 400, "unsupported_response_type"],
    ["an unknown client", { client_id: "app_unknown" }, 401, "invalid_client"],
    ["a client_id that is SQL", { client_id: "' or true --" }, 401, "invalid_client"],
    ["an unknown scope", { scope: "sessions:read admin" }, 400, "invalid_scope"],
    ["a scope not registered for the client", { scope: "profile:read" }, 400, "invalid_scope"],
    ["partners:write not registered", { scope: "sessions:read partners:write" }, 400, "invalid_scope"],
    ["spaces for a scope", { scope: "   " }, 400, "invalid_scope"],
    ["a scope in capitals", { scope: "Sessions:read" }, 400, "invalid_scope"],
  ];
  test.each(bad)("%s is refused by name (case %#)", async (_what, fields, status, error) => {
    const before = await rowCounts(world, "oauth_grants", "oauth_codes", "oauth_consents");
    const answer = await ask(fields);
    expect(answer).toMatchObject({ status, body: { error, error_description: expect.any(String) } });
    expect(answer.headers.get("location")).toBeNull();
    expect(await rowCounts(world, "oauth_grants", "oauth_codes", "oauth_consents")).toEqual(before);
  });

  test("a CPO's scope, even one that the client has, is nothing a person can give", async () => {
    app = await world.app({ scopes: ["sessions:read", "cpo:accounts:read"] });
    expect(await ask({ scope: "sessions:read cpo:accounts:read" })).toMatchObject({
      status: 400,
      body: { error: "invalid_scope" },
    });
  });

  test("a CPO client has no code grant: unauthorized_client; a disabled application is none: invalid_client", async () => {
    const { client } = world.partnerA;
    await world.row("update core.oauth_clients set redirect_uris = $2 where id = $1", client.id, [REDIRECT_URI]);
    expect(await ask({ client_id: client.client_id })).toMatchObject({
      status: 400,
      body: { error: "unauthorized_client" },
    });
    await world.row("update core.oauth_clients set disabled_at = now() where id = $1", app.id);
    expect(await ask()).toMatchObject({ status: 401, body: { error: "invalid_client" } });
  });
});

describe("§5.6 RFC 9700 §4.8.2 PKCE downgrade", () => {
  test.each([
    ["plain", { code_challenge_method: "plain" }],
    ["s256 in lower case", { code_challenge_method: "s256" }],
    ["none", { code_challenge_method: "none" }],
    ["no method, which would mean plain", { code_challenge_method: undefined }],
    ["no challenge", { code_challenge: undefined }],
    ["neither", { code_challenge: undefined, code_challenge_method: undefined }],
    ["a challenge one character short", { code_challenge: "x".repeat(42) }],
    ["a challenge one character long", { code_challenge: "x".repeat(44) }],
    ["a padded challenge", { code_challenge: `${"x".repeat(43)}=` }],
    ["a challenge in plain base64", { code_challenge: `${"x".repeat(42)}+` }],
  ])("a code_challenge_method of %s is refused with 400 invalid_request", async (_what, fields) => {
    expect(await ask(fields)).toMatchObject({ status: 400, body: { error: "invalid_request" } });
  });
});

describe("contract §7 RFC 9700 §4.1.3 redirect URIs are compared letter for letter", () => {
  test.each([
    ["another host", "https://evil.example/callback?from=ere"],
    ["a subdomain", "https://x.app.example/callback?from=ere"],
    ["the host as somebody's user name", "https://app.example@evil.example/callback?from=ere"],
    ["a path below", "https://app.example/callback/../evil?from=ere"],
    ["one more character", `${REDIRECT_URI}x`],
    ["one more parameter", `${REDIRECT_URI}&next=https://evil.example`],
    ["no query", "https://app.example/callback"],
    ["a slash at the end", "https://app.example/callback/?from=ere"],
    ["the scheme in capitals", "HTTPS://app.example/callback?from=ere"],
    ["the host in capitals", "https://APP.example/callback?from=ere"],
    ["the port spelled out", "https://app.example:443/callback?from=ere"],
    ["http", "http://app.example/callback?from=ere"],
    ["a fragment", `${REDIRECT_URI}#x`],
    ["an encoded letter", "https://app.example/%63allback?from=ere"],
    ["javascript", "javascript:alert(1)"],
    ["data", "data:text/html,x"],
    ["a pattern", "https://app.example/%"],
  ])("%s is refused with 400 invalid_redirect_uri, and not redirected to", async (_what, redirect_uri) => {
    const answer = await ask({ redirect_uri });
    expect(answer).toMatchObject({ status: 400, body: { error: "invalid_redirect_uri" } });
    expect(JSON.stringify(answer.body)).not.toContain("evil");
    expect(answer.headers.get("location")).toBeNull();
  });

  test("a URI of another application is not ours", async () => {
    const other = "https://other.example/callback";
    await world.app({ redirect_uris: [other] });
    expect(await ask({ redirect_uri: other })).toMatchObject({ body: { error: "invalid_redirect_uri" } });
  });
});

// The session ---------------------------------------------------------------------------------------------------------

describe("§4.5 the session JWT", () => {
  const unsigned = (claims: object, header: object) =>
    [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  const claims = () => ({
    iss: `${world.url}/auth/v1`,
    aud: "authenticated",
    sub: person.id,
    role: "authenticated",
    exp: Math.floor(Date.parse(NINE) / 1000) + 3600,
  });
  const bad: [what: string, session: () => Promise<string>][] = [
    ["none at all", async () => " "],
    ["garbage", async () => "garbage"],
    ["alg none", async () => `${unsigned(claims(), { alg: "none", typ: "JWT" })}.`],
    ["alg none with a signature", async () => `${unsigned(claims(), { alg: "none", typ: "JWT" })}.AAAA`],
    [
      "the public key as an HMAC secret",
      async () => {
        const { d: _private, ...published } = world.authKeys.current;
        const secret = new TextEncoder().encode(JSON.stringify(published));
        return new SignJWT(claims()).setProtectedHeader({ alg: "HS256", kid: "auth-1" }).sign(secret);
      },
    ],
    [
      "another project: its issuer and its key",
      async () =>
        world.signSession({ sub: person.id, iss: "https://other.supabase.co/auth/v1" }, {}, newTokenKey("auth-1")),
    ],
    [
      "another project's key under our issuer and kid",
      async () => world.signSession({ sub: person.id }, {}, newTokenKey("auth-1")),
    ],
    ["another issuer, our key", async () => person.session({ iss: "https://other.supabase.co/auth/v1" })],
    ["our issuer with a slash", async () => person.session({ iss: `${world.url}/auth/v1/` })],
    ["another audience", async () => person.session({ aud: "anon" })],
    ["no audience", async () => person.session({ aud: undefined })],
    ["expired a second ago", async () => person.session({ exp: Math.floor(Date.parse(NINE) / 1000) - 1 })],
    ["no expiry", async () => person.session({ exp: undefined })],
    ["not valid yet", async () => person.session({ nbf: Math.floor(Date.parse(NINE) / 1000) + 60 })],
    ["anonymous", async () => person.session({ is_anonymous: true })],
    ["no subject", async () => person.session({ sub: undefined })],
    ["a login that is gone", async () => person.session({ sub: crypto.randomUUID() })],
    [
      "its payload altered",
      async () => {
        const [header, , signature] = (await person.session()).split(".");
        const [, payload] = (await (await world.person()).session()).split(".");
        return `${header}.${payload}.${signature}`;
      },
    ],
    [
      "a key that its own header brings (jwk)",
      async () => {
        const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
        const jwk = await crypto.subtle.exportKey("jwk", publicKey);
        return new SignJWT(claims()).setProtectedHeader({ alg: "ES256", jwk: jwk as never }).sign(privateKey);
      },
    ],
  ];
  test.each(bad)("a session that is %s is refused with 401", async (_what, session) => {
    const answer = await ask({}, await session());
    expect(answer).toMatchObject({ status: 401, body: MISSING });
    expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer/);
  });

  test("a CPO token is no session: 401", async () => {
    expect(await ask({}, await world.partnerA.client.token())).toMatchObject({ status: 401, body: MISSING });
  });

  test("a session is no credential of /v1: 401", async () => {
    expect(await world.get("/v1/accounts", await person.session())).toMatchObject({ status: 401, body: MISSING });
  });

  test("RFC 9700 §4.3.2 a session in the query string admits nobody", async () => {
    const path = `/oauth-authorize?access_token=${await person.session()}`;
    expect(await world.send(path, { body: authorizationOf(app, newVerifier()) })).toMatchObject({ status: 401 });
  });

  test("session survives key rotation of Auth: the new key is fetched, the old one is dead", async () => {
    const old = await person.session();
    expect((await ask({}, old)).status).toBe(200);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 31_000 });
    try {
      world.authKeys.current = newTokenKey("auth-2");
      expect((await ask({}, await person.session())).status, "a session of the new key, at once").toBe(200);
      expect(await ask({}, old)).toMatchObject({ status: 401, body: MISSING });
      const fetched = world.authKeys.fetched;
      for (let i = 0; i < 5; i++)
        await ask({}, await world.signSession({ sub: person.id }, {}, newTokenKey(`unknown-${i}`)));
      expect(world.authKeys.fetched, "unknown keys do not make us hammer Auth").toBeLessThanOrEqual(fetched + 1);
    } finally {
      vi.useRealTimers();
    }
  });

  test("Auth's keys cannot be had: 503, nobody is told that the session is bad", async () => {
    const fresh = await createOAuthWorld();
    try {
      const someone = await fresh.person();
      const its = await fresh.app();
      const send = async () =>
        fresh.post("/oauth-authorize", authorizationOf(its, newVerifier()), await someone.session());
      fresh.authKeys.answer = () => new Response("down", { status: 500 });
      const answer = await send();
      expect(answer).toMatchObject({
        status: 503,
        body: { error: "Authentication is temporarily unavailable, try again shortly" },
      });
      expect(answer.headers.get("retry-after")).toBe("5");
      fresh.authKeys.answer = null;
      expect((await send()).status).toBe(200);
    } finally {
      await fresh.close();
    }
  });
});

// Consent and attribution --------------------------------------------------------------------------------------------

describe("§4.5 consent", () => {
  const consents = async () =>
    (
      await world.database.admin.query(
        "select scopes, private.iso(last_at) as last_at, withdrawn_at from core.oauth_consents where user_id = $1 order by last_at",
        [person.id],
      )
    ).rows;

  test("is recorded once per person and application: when last, and what was allowed last", async () => {
    const TEN = "2026-11-20T10:00:00Z";
    const first = app;
    await ask();
    app = await world.app();
    await ask({ scope: "sessions:read" });
    app = first;
    await world.freeze(TEN);
    await ask({ scope: "energy:read" });
    expect(await consents()).toEqual([
      { scopes: ["sessions:read"], last_at: NINE, withdrawn_at: null },
      { scopes: ["energy:read"], last_at: TEN, withdrawn_at: null },
    ]);
    const { rows } = await world.database.admin.query(
      "select actor, details from core.audit_log where action = 'oauth.consented' and actor = $1 order by id",
      [`session:${person.id}`],
    );
    expect(rows.map(({ details }) => details.scopes)).toEqual([
      ["chargers:read", "sessions:read", "energy:read"],
      ["sessions:read"],
      ["energy:read"],
    ]);
  });
});

describe("§4.5 attribution of a person to the partner of an application", () => {
  const attribution = async (who = person) =>
    world.row(
      "select partner_id, source, attached_month::text as attached_month from core.attributions where user_id = $1",
      who.id,
    );
  const partnerApp = () => world.app({ partner: world.partnerA.id });

  test("on first consent, as oauth_consent", async () => {
    app = await partnerApp();
    await ask();
    expect(await attribution()).toEqual({
      partner_id: world.partnerA.id,
      source: "oauth_consent",
      attached_month: "2026-11-01",
    });
  });

  test("not where the application belongs to no partner", async () => {
    await ask();
    expect(await attribution()).toBeUndefined();
  });

  test("(1) whoever has a partner keeps it", async () => {
    await world.row("select private.reserve_customer($1, $2, 'referral_code')", person.id, world.partnerB.id);
    app = await partnerApp();
    await ask();
    expect(await attribution()).toMatchObject({ partner_id: world.partnerB.id, source: "referral_code" });
  });

  test.each([
    ["7 days to the second", "2026-11-13T09:00:00Z", true],
    ["7 days and a second", "2026-11-13T08:59:59Z", false],
  ])("(2) a login that is too old to be brought is nobody's: %s", async (_what, created_at, attributed) => {
    person = await world.person({ created_at });
    app = await partnerApp();
    await ask();
    expect((await attribution()) !== undefined).toBe(attributed);
  });

  test("(3) a deactivated partner gets nobody: its application is given no code", async () => {
    const { id } = await world.row(
      "insert into core.partners (name, slug, is_active) values ('Gone', gen_random_uuid()::text, false) returning id",
    );
    app = await world.app({ partner: id });
    expect(await ask()).toMatchObject({ status: 400, body: { error: "unauthorized_client" } });
    expect(await attribution()).toBeUndefined();
  });

  test("later consents change nothing: not a link made meanwhile, not a partner activated meanwhile", async () => {
    await ask();
    await world.row("update core.oauth_clients set partner_id = $2 where id = $1", app.id, world.partnerA.id);
    await ask();
    await ask({ scope: "energy:read" });
    expect(await attribution()).toBeUndefined();
  });

  test("an application of no partner attributes nobody", async () => {
    app = await world.app({ partner: null });
    expect((await ask()).status).toBe(200);
    expect(await attribution()).toBeUndefined();
  });

  test("ten first consents at once: one attribution, one consent, ten codes", async () => {
    app = await partnerApp();
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask()));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    const { rows } = await world.database.admin.query(
      "select count(*)::int as n from core.audit_log where action = 'user.attributed' and subject_id = $1",
      [person.id],
    );
    expect(rows[0].n).toBe(1);
    expect(await attribution()).toMatchObject({ partner_id: world.partnerA.id });
  });
});
