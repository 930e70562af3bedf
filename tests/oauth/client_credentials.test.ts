import { decodeJwt, decodeProtectedHeader } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { readConfiguration } from "#shared/foundation/configuration.ts";
import { serve } from "#shared/http/serve.ts";
import { surface as cpo } from "../../supabase/functions/cpo-v1/app.ts";
import { surface as oauthToken } from "../../supabase/functions/oauth-token/app.ts";
import { BASE_URL, newAddress, newTokenKey, variables } from "../harness/environment.ts";
import type { Client } from "../harness/people.ts";
import { createWorld, type Sent, type World } from "../harness/world.ts";

// the clock stands still, so that nothing is refilled but by a test that moves it
const NINE = "2026-11-20T09:00:00Z";
const ALL =
  "cpo:accounts:read cpo:accounts:write cpo:mandates:write cpo:chargers:write cpo:sessions:write cpo:webhooks";

let world: World;
let client: Client;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  await world.freeze(NINE);
  client = await world.addClient(world.partnerA.id);
});

const request = (fields: Record<string, unknown> = {}, sent: Sent = {}) =>
  world.send("/oauth-token", {
    body: { grant_type: "client_credentials", client_id: client.client_id, client_secret: client.secret, ...fields },
    ...sent,
  });
const form = (pairs: [string, string][], type = "application/x-www-form-urlencoded") =>
  request({}, { raw: new URLSearchParams(pairs).toString(), headers: { "content-type": type } });
const good = (): [string, string][] => [
  ["grant_type", "client_credentials"],
  ["client_id", client.client_id],
  ["client_secret", client.secret],
];
const tokenWorks = async (token: string) => (await world.get("/v1/accounts", token)).status === 200;

describe("§4.1 a token", () => {
  test("§4.1 a token is given for a JSON body", async () => {
    const { status, body } = await request();
    expect([status, body]).toEqual([
      200,
      { access_token: expect.any(String), token_type: "Bearer", expires_in: 3600, scope: ALL },
    ]);
  });

  test.each([
    "application/x-www-form-urlencoded",
    "application/x-www-form-urlencoded;charset=UTF-8",
    "Application/X-WWW-Form-URLEncoded",
  ])("§4.1 a token is given for a form body of type %s", async (type) => {
    expect((await form([...good(), ["scope", "cpo:accounts:read cpo:sessions:write"]], type)).body).toMatchObject({
      token_type: "Bearer",
      scope: "cpo:accounts:read cpo:sessions:write",
    });
  });

  test("§5.6 neither it nor a refusal may be stored, and browsers may read both", async () => {
    for (const answer of [await request(), await request({ client_secret: "x" }), await world.send("/oauth-token")]) {
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.headers.get("pragma")).toBe("no-cache");
      expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    }
  });

  test("RFC 9068 section 2: its header and claims", async () => {
    const { body } = await request({ scope: "cpo:accounts:read" });
    expect(decodeProtectedHeader(body.access_token)).toEqual({ alg: "ES256", typ: "at+jwt", kid: "test" });
    const iat = Date.parse(NINE) / 1000;
    expect(decodeJwt(body.access_token)).toEqual({
      iss: world.environment.config.AUTH_URL,
      aud: world.environment.config.BASE_URL,
      sub: client.client_id,
      client_id: client.client_id,
      scope: "cpo:accounts:read",
      secret_number: 1,
      jti: expect.any(String),
      iat,
      exp: iat + 3600,
    });
  });

  test("RFC 9068 section 2: no two tokens have the same jti", async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => request()));
    expect(new Set(answers.map(({ body }) => decodeJwt(body.access_token).jti)).size).toBe(10);
  });

  test("§8 lives 3600 seconds: good in its last, dead at their end", async () => {
    await world.freeze("2026-11-20T09:00:00.900Z");
    const { access_token } = (await request()).body;
    await world.freeze("2026-11-20T09:59:59.999Z");
    expect(await tokenWorks(access_token)).toBe(true);
    await world.freeze("2026-11-20T10:00:00Z");
    expect(await tokenWorks(access_token)).toBe(false);
  });
});

describe("§5.3 scope", () => {
  const cases: [string, unknown, number, string][] = [
    ["omitted: everything granted", undefined, 200, ALL],
    ["empty: everything granted", "", 200, ALL],
    ["of spaces: everything granted", "   ", 200, ALL],
    ["narrower", "cpo:accounts:read", 200, "cpo:accounts:read"],
    [
      "in another order: answered in the granted one",
      "cpo:sessions:write cpo:accounts:read",
      200,
      "cpo:accounts:read cpo:sessions:write",
    ],
    ["with a repeat and extra spaces", " cpo:accounts:read  cpo:accounts:read ", 200, "cpo:accounts:read"],
    ["unknown", "cpo:everything", 400, "invalid_scope"],
    ["of which one is not granted", "cpo:accounts:read energy:read", 400, "invalid_scope"],
    ["in upper case", "CPO:ACCOUNTS:READ", 400, "invalid_scope"],
    ["separated by commas", "cpo:accounts:read,cpo:accounts:write", 400, "invalid_scope"],
    ["with SQL in it", "x' or '1'='1", 400, "invalid_scope"],
  ];
  test.each(cases)("§5.3 a scope is answered as it is asked for: %s", async (_what, scope, status, expected) => {
    const answer = await request({ scope });
    expect([answer.status, answer.body.scope ?? answer.body.error]).toEqual([status, expected]);
  });

  test("§5.3 a token of a narrower scope reaches no more than that", async () => {
    const { access_token } = (await request({ scope: "cpo:accounts:read" })).body;
    expect(await tokenWorks(access_token)).toBe(true);
    expect((await world.post("/v1/accounts", {}, access_token)).body.error).toBe("Insufficient scope");
  });
});

describe("§7 refusals", () => {
  const cases: [string, Record<string, unknown>, number, string][] = [
    ["a wrong secret", { client_secret: "wrong" }, 401, "invalid_client"],
    ["an empty secret", { client_secret: "" }, 401, "invalid_client"],
    ["no secret", { client_secret: undefined }, 401, "invalid_client"],
    ["an unknown client", { client_id: "cpo_nobody" }, 401, "invalid_client"],
    ["no client", { client_id: undefined }, 401, "invalid_client"],
    ["a client_id of 10,000 characters", { client_id: "c".repeat(10_000) }, 401, "invalid_client"],
    ["SQL for a client_id", { client_id: "' or true --" }, 401, "invalid_client"],
    ["no grant_type", { grant_type: undefined }, 400, "unsupported_grant_type"],
    ["an unknown grant_type", { grant_type: "password" }, 400, "unsupported_grant_type"],
    ["a grant_type every object has", { grant_type: "constructor" }, 400, "unsupported_grant_type"],
    ["a number for a client_id", { client_id: 5 }, 400, "invalid_request"],
    ["null for a scope", { scope: null }, 400, "invalid_request"],
    ["an array for a scope", { scope: ["cpo:accounts:read"] }, 400, "invalid_request"],
    ["NUL in a client_id (RFC 6749 appendix A)", { client_id: "cpo\u0000" }, 400, "invalid_request"],
    ["half a character in a scope", { scope: "\ud800" }, 400, "invalid_request"],
    ["letters beyond ASCII in a secret", { client_secret: "é" }, 400, "invalid_request"],
  ];
  test.each(cases)("§7 a request with %s is refused as RFC 6749 says", async (_what, fields, status, error) => {
    const answer = await request(fields, { headers: { "x-forwarded-for": newAddress() } });
    expect([answer.status, answer.body.error]).toEqual([status, error]);
    expect(answer.body).toMatchObject({ error_description: expect.any(String) }); // RFC 6749 section 5.2
    expect(answer.body).not.toHaveProperty("rate");
  });

  test("§4.1 HTTP Basic is not accepted, not even beside a good body", async () => {
    const basic = `Basic ${Buffer.from(`${client.client_id}:${client.secret}`).toString("base64")}`;
    for (const fields of [{}, { client_id: undefined, client_secret: undefined }]) {
      const answer = await request(fields, { headers: { authorization: basic } });
      expect([answer.status, answer.body.error]).toEqual([401, "invalid_client"]);
      expect(answer.headers.get("www-authenticate")).toBe('Basic realm="oauth"');
    }
    // only who used Basic is asked for it
    expect((await request({ client_secret: "x" })).headers.get("www-authenticate")).toBeNull();
  });

  test.each([
    ["nothing", "", "application/x-www-form-urlencoded", "unsupported_grant_type"],
    ["nothing, of no type", "", "text/plain", "invalid_request"],
    ["a form that says it is JSON", "grant_type=client_credentials", "application/json", "invalid_request"],
    ["a form that says it is text", "grant_type=client_credentials", "text/plain", "invalid_request"],
    ["half a JSON", '{"grant_type":', "application/json", "invalid_request"],
    ["XML", "<grant_type/>", "application/xml", "invalid_request"],
    [
      "multipart",
      '--x\r\ncontent-disposition: form-data; name="grant_type"',
      "multipart/form-data; boundary=x",
      "invalid_request",
    ],
  ])("field E1 a body that is neither form nor JSON: %s", async (_what, raw, type, error) => {
    const answer = await request({}, { raw, headers: { "content-type": type } });
    expect([answer.status, answer.body.error]).toEqual([400, error]);
    expect(answer.body.error_description).toEqual(expect.any(String));
  });

  test("RFC 6749 section 3.2: a parameter may not be repeated", async () => {
    for (const name of ["grant_type", "client_id", "client_secret", "scope", "other"]) {
      const { body } = await form([...good(), ["scope", ""], ["other", "x"], [name, "x"]]);
      expect(body).toMatchObject({ error: "invalid_request", issues: [{ path: name }] });
    }
  });

  test("RFC 6749 section 3.2: an unknown parameter is ignored", async () => {
    const unknown: [string, string][] = [
      ["resource", "https://x.example"],
      ["__proto__", "x"],
    ];
    expect((await form([...good(), ...unknown])).status).toBe(200);
    expect((await request({ resource: "https://x.example" })).status).toBe(200);
  });

  test("§7 a client not provisioned for client credentials: unauthorized_client, but only to who knows its secret", async () => {
    client = await world.addClient(world.partnerA.id, { grant_types: ["authorization_code"] });
    expect((await request()).body.error).toBe("unauthorized_client");
    expect((await request({ client_secret: "wrong" })).body.error).toBe("invalid_client");
  });

  test("contract §9 a client without a partner gets a token; /v1 refuses it", async () => {
    client = await world.addClient(null);
    const { access_token } = (await request()).body;
    expect((await world.get("/v1/accounts", access_token)).body.error).toBe("client_not_linked");
  });
});

describe("§5 what the operator changes", () => {
  const change = (what: string, value?: unknown) =>
    world.row(
      `update core.oauth_clients set ${what} where id = $1`,
      client.id,
      ...(value === undefined ? [] : [value]),
    );

  test("§5 a rotated secret: the old one stops working at once, the new one works, tokens live on", async () => {
    const { access_token } = (await request()).body;
    const secret = newSecret();
    await change("secret_hash = decode($2, 'hex')", hashSecret(secret));
    expect((await request()).body.error).toBe("invalid_client");
    expect((await request({ client_secret: secret })).status).toBe(200);
    expect(await tokenWorks(access_token)).toBe(true);
  });

  test("§5 attack: revoked with its secret, a token ends whatever the clocks say; one of the new secret works at once", async () => {
    const { access_token } = (await request()).body;
    const secret = newSecret();
    const rotated = `select ops.client_rotate_secret(jsonb_build_object('client', $1::text, 'secret_hash', $2::text,
      'revoke_tokens', true, 'operator', 'test')) as json`;
    // a function whose clock is ahead issued it
    await world.freeze("2026-11-20T08:59:31Z");
    await world.row(rotated, client.client_id, hashSecret(secret));
    await world.freeze(NINE);
    expect(await tokenWorks(access_token)).toBe(false);
    expect(await tokenWorks((await request({ client_secret: secret })).body.access_token)).toBe(true);
  });

  test("§7 a disabled client is answered like an unknown one; enabled again it works", async () => {
    await change("disabled_at = now()");
    const { request_id: _, ...disabled } = (await request()).body;
    const { request_id: __, ...unknown } = (await request({ client_id: "cpo_nobody" })).body;
    expect(disabled).toEqual(unknown);
    await change("disabled_at = null");
    expect((await request()).status).toBe(200);
  });
});

test("§5 keys are rotated without downtime: the new one signs, the old one's tokens live until it is dropped", async () => {
  const [oldKey, newKey] = [newTokenKey("old"), newTokenKey("new")];
  const withKeys = (...keys: object[]) => {
    const { TOKEN_KEYS } = readConfiguration(variables({ TOKEN_KEYS: JSON.stringify({ keys }) }));
    const environment = { ...world.environment, config: { ...world.environment.config, TOKEN_KEYS } };
    const functions = { token: serve(oauthToken, environment), cpo: serve(cpo, environment) };
    return {
      async token(): Promise<string> {
        const body = JSON.stringify(Object.fromEntries(good()));
        const answer = await functions.token.fetch(
          new Request(`${BASE_URL}/oauth-token`, {
            method: "POST",
            body,
            headers: { "x-forwarded-for": newAddress() },
          }),
        );
        return (await answer.json()).access_token;
      },
      async status(token: string): Promise<number> {
        const headers = { authorization: `Bearer ${token}` };
        return (await functions.cpo.fetch(new Request(`${BASE_URL}/v1/accounts`, { headers }))).status;
      },
    };
  };
  const old = await withKeys(oldKey).token();
  const during = withKeys(newKey, oldKey);
  const fresh = await during.token();
  expect([decodeProtectedHeader(old).kid, decodeProtectedHeader(fresh).kid]).toEqual(["old", "new"]);
  expect([await during.status(old), await during.status(fresh)]).toEqual([200, 200]);
  const after = withKeys(newKey);
  expect([await after.status(old), await after.status(fresh)]).toEqual([401, 200]);
});

describe("contract §1 limits of the token endpoint", () => {
  const from = (address: string, fields: Record<string, unknown> = {}) =>
    request(fields, { headers: { "x-forwarded-for": address } });
  const guess = (address: string) => from(address, { client_secret: "guess" });
  const statuses = async (times: number, send: (index: number) => Promise<{ status: number }>) => {
    const counted: Record<number, number> = {};
    const answers = await Promise.all(Array.from({ length: times }, (_, index) => send(index)));
    for (const { status } of answers) counted[status] = (counted[status] ?? 0) + 1;
    return counted;
  };

  test("contract §1 ten failures in 5 minutes per client and address; attack: nobody's guesses keep out the right secret", async () => {
    const address = newAddress();
    for (let failure = 1; failure <= 10; failure++) expect((await guess(address)).status).toBe(401);
    expect((await from(address)).status).toBe(200);
    const blocked = await guess(address);
    expect(blocked).toMatchObject({ status: 429, body: { error: "Too many requests", retry_after_seconds: 30 } });
    expect(blocked.headers.get("ratelimit-policy")).toBe('"token_failures";q=10;w=300');
    expect(blocked.headers.get("retry-after")).toBe("30");
  });

  test("contract §1 another address, or another client at the same one, is not blocked", async () => {
    const address = newAddress();
    await statuses(11, () => guess(address));
    expect((await from(newAddress())).status).toBe(200);
    const { client_id, secret: client_secret } = await world.addClient(world.partnerA.id);
    expect((await from(address, { client_id, client_secret })).status).toBe(200);
    expect((await from(address, { client_id: "cpo_nobody" })).status).toBe(401);
  });

  test("contract §1 one more attempt after 30 seconds, ten after 5 minutes: what was refused cost nothing", async () => {
    const address = newAddress();
    for (let failure = 1; failure <= 40; failure++) await guess(address);
    await world.freeze("2026-11-20T09:00:29Z");
    expect((await guess(address)).status).toBe(429);
    await world.freeze("2026-11-20T09:00:30Z");
    expect([(await guess(address)).status, (await guess(address)).status]).toEqual([401, 429]);
    await world.freeze("2026-11-20T09:05:30Z");
    expect(await statuses(12, () => guess(address))).toEqual({ 401: 10, 429: 2 });
  });

  test("contract §1 attack: a client without a secret is authenticated by nobody, whatever asks for it", async () => {
    const { rows } = await world.database.admin.query(
      "select (private.authenticate_client(jsonb_build_object('client_id', $1::text, 'address_hash', 'a'), null)).refusal as refusal",
      [client.client_id],
    );
    expect(rows[0].refusal).toMatchObject({ refused: "invalid_client" });
  });

  test("contract §1 forty guesses at once: ten learn that they were wrong", async () => {
    const address = newAddress();
    expect(await statuses(40, () => guess(address))).toEqual({ 401: 10, 429: 30 });
  });

  test("contract §1 sixty tokens a minute per client, from wherever; then one a second", async () => {
    expect(await statuses(70, (index) => from(`192.0.2.${index}`))).toEqual({ 200: 60, 429: 10 });
    const refused = await from(newAddress());
    expect(refused).toMatchObject({ status: 429, body: { retry_after_seconds: 1 } });
    expect(refused.headers.get("ratelimit-policy")).toBe('"token";q=60;w=60');
    await world.freeze("2026-11-20T09:00:01Z");
    expect(await statuses(2, () => from("192.0.2.1"))).toEqual({ 200: 1, 429: 1 });
  });

  test("contract §1 a stranger's guesses from many addresses do not spend the client's own requests", async () => {
    expect(await statuses(80, (index) => guess(`198.51.100.${index}`))).toEqual({ 401: 80 });
    expect((await from("192.0.2.200")).status).toBe(200);
  });

  test("contract §1 guessing client ids fills no table: an address has one row for all unknown ones", async () => {
    const address = newAddress();
    const rows = async () => Number((await world.row("select count(*) from core.rate_limit_state")).count);
    const before = await rows();
    for (let guessed = 0; guessed < 5; guessed++) await from(address, { client_id: `cpo_${guessed}` });
    expect(await rows()).toBe(before + 1);
  });

  test("contract §1 addresses are stored hashed", async () => {
    await guess("203.0.113.77, 10.0.0.1");
    const { dump } = await world.row("select string_agg(s::text, ' ') as dump from core.rate_limit_state s");
    expect(dump).toContain(`client:${client.id}@`);
    expect(dump).not.toContain("203.0.113");
  });
});
