import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { hashSecret, issueUserToken } from "#shared/auth/tokens.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { endpointsOf, type Surface } from "#shared/http/serve.ts";
import { type Answer, SURFACES } from "../harness/answers.ts";
import { runDueJobs } from "../harness/due_jobs.ts";
import { newAddress } from "../harness/environment.ts";
import { statementsOf } from "../harness/world.ts";
import {
  type App,
  authorizationOf,
  codeOf,
  createOAuthWorld,
  exchange,
  newVerifier,
  type OAuth,
  type Person,
  REDIRECT_URI,
  refresh,
  revoke,
  SCOPES,
  tokensOf,
} from "./oauth_world.ts";

const NINE = "2026-11-20T09:00:00Z";
const at = (seconds: number) => new Date(Date.parse(NINE) + seconds * 1000).toISOString();
const INVALID_GRANT = { status: 400, body: { error: "invalid_grant", error_description: expect.any(String) } };

/** A route for people and nothing else: what is tested here is who gets in. */
const probe = endpoint(
  {
    id: "probe",
    summary: "Says who was admitted",
    caller: { kind: "user", scope: "sessions:read" },
    limit: "user",
    sql: [],
    response: z.object({ user_id: z.string() }),
    errors: [],
    failure: "internal_error",
  },
  async ({ admitted }) => ({ user_id: (await admitted()).user_id ?? "nobody" }),
);
const probes: Surface = { slug: "probe", prefix: "", endpoints: { "GET /probe": async () => probe } };
const ROUTES = (await Promise.all([...SURFACES, probes].map(endpointsOf))).flat();

let world: OAuth;
let person: Person;
let app: App;
beforeAll(async () => {
  world = await createOAuthWorld({ limits: "lifted", surfaces: [probes] });
});
afterAll(() => world.close());
beforeEach(async () => {
  await world.freeze(NINE);
  person = await world.person();
  app = await world.app();
});

/** What a person's route answers to a token. */
async function admitted(token: string): Promise<number> {
  const response = await fetch(`${world.url}/probe`, { headers: { authorization: `Bearer ${token}` } });
  const body = (await response.json()) as { user_id?: string };
  if (response.status === 200) expect(body.user_id).toBe(person.id);
  return response.status;
}

async function grantOf(who = person): Promise<{ id: string; revoked: boolean; refresh_tokens: number }> {
  return world.row(
    `select g.id, g.revoked_at is not null as revoked,
            (select count(*)::int from core.oauth_refresh_tokens t where t.grant_id = g.id) as refresh_tokens
       from core.oauth_grants g where g.user_id = $1 order by g.created_at desc limit 1`,
    who.id,
  );
}

const statuses = (answers: Answer[]) => answers.map(({ status }) => status).sort();

describe("§4.5 a code becomes tokens", () => {
  test("with the declared answer, never to be stored, in one statement", async () => {
    const verifier = newVerifier();
    const code = await codeOf(world, person, app, verifier);
    let answer: Answer | undefined;
    const statements = await statementsOf(world, async () => {
      answer = await exchange(world, app, code, verifier);
    });
    expect(statements).toEqual(["grant_user_token"]);
    expect(answer?.body).toEqual({
      access_token: expect.any(String),
      token_type: "Bearer",
      expires_in: 3600,
      refresh_token: expect.stringMatching(/^[0-9A-Za-z]{43}$/),
      scope: SCOPES.join(" "),
    });
    expect(answer?.headers.get("cache-control")).toBe("no-store");
    expect(answer?.headers.get("pragma")).toBe("no-cache");
    expect(answer?.headers.get("ratelimit-policy")).toMatch(/^"token"/);
  });

  test("the access token is one of RFC 9068 and admits the person for an hour", async () => {
    const { access_token } = await tokensOf(world, person, app);
    expect(decodeProtectedHeader(access_token)).toMatchObject({ alg: "ES256", typ: "at+jwt" });
    expect(decodeJwt(access_token)).toMatchObject({
      iss: world.url,
      aud: world.url,
      sub: person.id,
      client_id: app.client_id,
      scope: SCOPES.join(" "),
      jti: expect.any(String),
      grant_id: (await grantOf()).id,
    });
    await world.freeze(at(3599));
    expect(await admitted(access_token)).toBe(200);
    await world.freeze(at(3600));
    expect(await admitted(access_token)).toBe(401);
  });

  test("as a form, as RFC 6749 has it", async () => {
    const verifier = newVerifier();
    const code = await codeOf(world, person, app, verifier);
    const { client_id, client_secret } = app;
    const raw = new URLSearchParams({
      ...{ grant_type: "authorization_code", client_id, client_secret, code },
      redirect_uri: "https://app.example/callback?from=ere",
      code_verifier: verifier.code_verifier,
    });
    expect(
      (await world.send("/oauth-token", { raw, headers: { "content-type": "application/x-www-form-urlencoded" } }))
        .status,
    ).toBe(200);
  });

  test.each([
    ["599 seconds", 599, 200],
    ["10 minutes", 600, 400],
  ])("a code lives ten minutes and no longer: one of %s", async (_what, seconds, status) => {
    const verifier = newVerifier();
    const code = await codeOf(world, person, app, verifier);
    await world.freeze(at(seconds));
    const answer = await exchange(world, app, code, verifier);
    expect(answer.status).toBe(status);
    if (status === 400) expect(answer).toMatchObject(INVALID_GRANT);
  });

  test.each(["code", "redirect_uri", "code_verifier"])(
    "a request without %s is refused with 400 invalid_request, and the code lives",
    async (name) => {
      const verifier = newVerifier();
      const code = await codeOf(world, person, app, verifier);
      const answer = await exchange(world, app, code, verifier, { [name]: undefined });
      expect(answer).toMatchObject({ status: 400, body: { error: "invalid_request", issues: [{ path: name }] } });
      expect((await exchange(world, app, code, verifier)).status).toBe(200);
    },
  );

  test("a wrong secret: 401 invalid_client; without the grant type: 400 unauthorized_client; the code lives", async () => {
    const verifier = newVerifier();
    const code = await codeOf(world, person, app, verifier);
    const wrong = await exchange(world, app, code, verifier, { client_secret: "wrong" });
    expect(wrong).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    await world.row("update core.oauth_clients set grant_types = '{refresh_token}' where id = $1", app.id);
    const unauthorized = await exchange(world, app, code, verifier);
    expect(unauthorized).toMatchObject({ status: 400, body: { error: "unauthorized_client" } });
    await world.row("update core.oauth_clients set grant_types = '{authorization_code}' where id = $1", app.id);
    const { refresh_token } = (await exchange(world, app, code, verifier)).body;
    expect(await refresh(world, app, refresh_token)).toMatchObject({ body: { error: "unauthorized_client" } });
  });

  test("a CPO client presents a code: 400 unauthorized_client", async () => {
    const verifier = newVerifier();
    const code = await codeOf(world, person, app, verifier);
    const { client_id, secret: client_secret } = world.partnerA.client;
    const answer = await exchange(world, { ...app, client_id, client_secret }, code, verifier);
    expect(answer).toMatchObject({ status: 400, body: { error: "unauthorized_client" } });
  });
});

describe("§5.6 RFC 9700 §4.5.3.1 authorization code injection: PKCE binds the code to the browser that asked", () => {
  test.each([
    ["another's verifier", () => newVerifier().code_verifier],
    ["the challenge itself", ({ code_challenge }: { code_challenge: string }) => code_challenge],
    ["a verifier that is too short", () => "x".repeat(42)],
    ["a verifier that is too long", () => "x".repeat(129)],
    ["a verifier with other characters", () => `${"x".repeat(43)}/`],
    ["an empty challenge's verifier", () => "-"],
  ])("%s is refused with 400 invalid_grant", async (_what, wrong) => {
    const verifier = newVerifier();
    const code = await codeOf(world, person, app, verifier);
    const answer = await exchange(world, app, code, verifier, { code_verifier: wrong(verifier) });
    expect(answer).toMatchObject(INVALID_GRANT);
    expect((await grantOf()).refresh_tokens).toBe(0);
  });

  test("another client with its own good secret: 400 invalid_grant, and the code still works where it belongs", async () => {
    const verifier = newVerifier();
    const code = await codeOf(world, person, app, verifier);
    expect(await exchange(world, await world.app(), code, verifier)).toMatchObject(INVALID_GRANT);
    expect((await exchange(world, app, code, verifier)).status).toBe(200);
  });

  test("another redirect URI, be it registered: 400 invalid_grant", async () => {
    const other = "https://app.example/other";
    app = await world.app({ redirect_uris: ["https://app.example/callback?from=ere", other] });
    const verifier = newVerifier();
    const code = await codeOf(world, person, app, verifier);
    for (const redirect_uri of [other, "https://app.example/callback", ""]) {
      const answer = await exchange(world, app, code, verifier, { redirect_uri });
      expect(answer).toMatchObject({
        status: 400,
        body: { error: redirect_uri ? "invalid_grant" : "invalid_request" },
      });
    }
  });

  test.each([
    ["a code nobody issued", randomBytes(32).toString("base64url")],
    ["SQL", "' or true --"],
    ["as many letters as a body may have", "x".repeat(15_000)],
  ])("%s is refused with 400 invalid_grant", async (_what, code) => {
    expect(await exchange(world, app, code, newVerifier())).toMatchObject(INVALID_GRANT);
  });
});

describe("contract §7 RFC 9700 §4.5 and RFC 6749 §4.1.2 a code used twice", () => {
  test.each([
    ["again at once", 0, 200],
    ["within 30 seconds", 30, 200],
    ["after 31 seconds", 31, 401],
    ["long after it expired", 3000, 401],
  ])("%s it is refused with invalid_grant; afterwards its access token answers %i", async (_what, seconds, status) => {
    const verifier = newVerifier();
    const code = await codeOf(world, person, app, verifier);
    const { body } = await exchange(world, app, code, verifier);
    await world.freeze(at(seconds));
    expect(await exchange(world, app, code, verifier)).toMatchObject(INVALID_GRANT);
    expect(await admitted(body.access_token)).toBe(status);
    expect((await refresh(world, app, body.refresh_token)).status, "and so its refresh token").toBe(
      status === 200 ? 200 : 400,
    );
  });

  test.each([
    ["verifier", { code_verifier: newVerifier().code_verifier }],
    ["redirect URI", { redirect_uri: "https://app.example/other" }],
  ])("attack: a leaked one with another %s ends nothing, and is audited", async (_what, fields) => {
    const verifier = newVerifier();
    const code = await codeOf(world, person, app, verifier);
    const { body } = await exchange(world, app, code, verifier);
    await world.freeze(at(60));
    expect(await exchange(world, app, code, verifier, fields)).toMatchObject(INVALID_GRANT);
    expect(await admitted(body.access_token)).toBe(200);
    const { id } = await grantOf();
    expect(
      await world.row("select action from core.audit_log where subject_id = $1 order by id desc limit 1", id),
    ).toEqual({ action: "oauth.used_code_refused" });
    expect(await exchange(world, app, code, verifier)).toMatchObject(INVALID_GRANT);
    expect(await admitted(body.access_token), "the right verifier again").toBe(401);
  });

  test("another client that presents it later does nothing to the one it was made for", async () => {
    const verifier = newVerifier();
    const code = await codeOf(world, person, app, verifier);
    const { body } = await exchange(world, app, code, verifier);
    await world.freeze(at(60));
    expect(await exchange(world, await world.app(), code, verifier)).toMatchObject(INVALID_GRANT);
    expect(await admitted(body.access_token)).toBe(200);
  });

  test("the family's own lock decides: a second exchange waits for the first, whatever else let it in", async () => {
    const verifier = newVerifier();
    const code = await codeOf(world, person, app, verifier);
    const redeem = (successor: string) =>
      `select (private.redeem_code(c, jsonb_build_object('code_hash', '${hashSecret(code)}', 'redirect_uri', '${REDIRECT_URI}',
         'code_challenge', '${verifier.code_challenge}', 'new_refresh_hash', '${hashSecret(successor)}'))).refusal as refusal
         from core.oauth_clients c where c.id = '${app.id}'`;
    const first = await world.database.admin.connect();
    try {
      await first.query("begin");
      expect((await first.query(redeem("c"))).rows).toEqual([{ refusal: null }]);
      const second = world.database.admin.query(redeem("d"));
      await sleep(200);
      await first.query("commit");
      expect((await second).rows).toEqual([{ refusal: "invalid_grant" }]);
    } finally {
      first.release();
    }
    expect(await grantOf()).toMatchObject({ revoked: false, refresh_tokens: 1 });
  });

  test("ten exchanges at once: one wins, and its tokens work", async () => {
    const verifier = newVerifier();
    const code = await codeOf(world, person, app, verifier);
    const answers = await Promise.all(Array.from({ length: 10 }, () => exchange(world, app, code, verifier)));
    expect(statuses(answers)).toEqual([200, ...Array(9).fill(400)]);
    const { body } = answers.find(({ status }) => status === 200) as Answer;
    expect(await admitted(body.access_token)).toBe(200);
    expect(await grantOf()).toMatchObject({ revoked: false, refresh_tokens: 1 });
  });
});

describe("§4.5 refreshing", () => {
  test("gives a new pair with the same scope; the old access token lives out its hour", async () => {
    const first = await tokensOf(world, person, app);
    const { status, body } = await refresh(world, app, first.refresh_token);
    expect(status).toBe(200);
    expect(body.refresh_token).not.toBe(first.refresh_token);
    expect(body.scope).toBe(first.scope);
    expect([await admitted(first.access_token), await admitted(body.access_token)]).toEqual([200, 200]);
  });

  test.each([
    ["30 days less a second", 30 * 86_400 - 1, 200],
    ["30 days", 30 * 86_400, 400],
  ])("a refresh token lives 30 days and no longer: one of %s", async (_what, seconds, status) => {
    const { refresh_token } = await tokensOf(world, person, app);
    await world.freeze(at(seconds));
    expect((await refresh(world, app, refresh_token)).status).toBe(status);
  });

  test("each rotation begins 30 days again", async () => {
    let { refresh_token } = await tokensOf(world, person, app);
    for (const days of [29, 58, 87]) {
      await world.freeze(at(days * 86_400));
      const { status, body } = await refresh(world, app, refresh_token);
      expect(status).toBe(200);
      refresh_token = body.refresh_token;
    }
  });

  test("a narrower scope narrows this access token only (RFC 6749 §6)", async () => {
    const { refresh_token } = await tokensOf(world, person, app);
    const narrow = await refresh(world, app, refresh_token, { scope: "energy:read" });
    expect(narrow.body.scope).toBe("energy:read");
    expect(await admitted(narrow.body.access_token), "sessions:read is not in it").toBe(403);
    expect((await refresh(world, app, narrow.body.refresh_token)).body.scope).toBe(SCOPES.join(" "));
  });

  test.each(["profile:read", "sessions:read profile:read", "cpo:accounts:read", "*"])(
    "a wider scope (%s): 400 invalid_scope, and the token is not spent",
    async (scope) => {
      const { refresh_token } = await tokensOf(world, person, app);
      const answer = await refresh(world, app, refresh_token, { scope });
      expect(answer).toMatchObject({ status: 400, body: { error: "invalid_scope" } });
      expect((await refresh(world, app, refresh_token)).status).toBe(200);
    },
  );

  test("without a refresh token: 400 invalid_request; with one of nobody, or an access token: invalid_grant", async () => {
    const { access_token } = await tokensOf(world, person, app);
    expect(await refresh(world, app, "")).toMatchObject({ status: 400, body: { error: "invalid_request" } });
    for (const token of ["x", access_token, "' or true --"])
      expect(await refresh(world, app, token)).toMatchObject(INVALID_GRANT);
  });

  test("no refresh token and no code is in the database in clear", async () => {
    const { refresh_token } = await tokensOf(world, person, app);
    const { rows } = await world.database.admin.query(
      "select encode(token_hash, 'hex') as hash from core.oauth_refresh_tokens where grant_id = $1",
      [(await grantOf()).id],
    );
    expect(rows).toEqual([{ hash: hashSecret(refresh_token) }]);
  });
});

describe("contract §7 RFC 9700 §4.14.2 refresh token rotation", () => {
  test("the immediate predecessor again within 30 seconds: invalid_grant, and the family lives", async () => {
    const first = await tokensOf(world, person, app);
    const second = (await refresh(world, app, first.refresh_token)).body;
    await world.freeze(at(30));
    expect(await refresh(world, app, first.refresh_token)).toMatchObject(INVALID_GRANT);
    expect(await admitted(second.access_token)).toBe(200);
    expect((await refresh(world, app, second.refresh_token)).status).toBe(200);
  });

  test("the immediate predecessor after 31 seconds: the family is ended, access tokens too", async () => {
    const first = await tokensOf(world, person, app);
    const second = (await refresh(world, app, first.refresh_token)).body;
    await world.freeze(at(31));
    expect(await refresh(world, app, first.refresh_token)).toMatchObject(INVALID_GRANT);
    expect([await admitted(first.access_token), await admitted(second.access_token)]).toEqual([401, 401]);
    expect(await refresh(world, app, second.refresh_token)).toMatchObject(INVALID_GRANT);
    const { rows } = await world.database.admin.query(
      "select details from core.audit_log where action = 'oauth.grant_ended' and subject_id = $1",
      [(await grantOf()).id],
    );
    expect(rows).toEqual([{ details: { reason: "refresh_token_reused" } }]);
  });

  test("an older generation, even within 30 seconds: the family is ended", async () => {
    const first = await tokensOf(world, person, app);
    const second = (await refresh(world, app, first.refresh_token)).body;
    const third = (await refresh(world, app, second.refresh_token)).body;
    expect(await refresh(world, app, first.refresh_token)).toMatchObject(INVALID_GRANT);
    expect(await admitted(third.access_token)).toBe(401);
    expect(await refresh(world, app, third.refresh_token)).toMatchObject(INVALID_GRANT);
  });

  test("ten refreshes at once with one token: one wins, the others harm nobody, and the winner goes on", async () => {
    const { refresh_token } = await tokensOf(world, person, app);
    const answers = await Promise.all(Array.from({ length: 10 }, () => refresh(world, app, refresh_token)));
    expect(statuses(answers)).toEqual([200, ...Array(9).fill(400)]);
    for (const answer of answers) if (answer.status !== 200) expect(answer).toMatchObject(INVALID_GRANT);
    const { body } = answers.find(({ status }) => status === 200) as Answer;
    expect(await grantOf()).toMatchObject({ revoked: false, refresh_tokens: 2 });
    expect(await admitted(body.access_token)).toBe(200);
    expect((await refresh(world, app, body.refresh_token)).status).toBe(200);
  });

  test("the family's own lock decides: a second refresh waits for the first, whatever else let it in", async () => {
    const { refresh_token } = await tokensOf(world, person, app);
    const rotate = (successor: string) =>
      `select (private.rotate_refresh_token(c, jsonb_build_object('scope', '', 'refresh_hash', '${hashSecret(refresh_token)}',
         'new_refresh_hash', '${hashSecret(successor)}'))).refusal as refusal from core.oauth_clients c where c.id = '${app.id}'`;
    const first = await world.database.admin.connect();
    try {
      await first.query("begin");
      expect((await first.query(rotate("a"))).rows).toEqual([{ refusal: null }]);
      let answered = false;
      const second = world.database.admin.query(rotate("b")).finally(() => {
        answered = true;
      });
      await sleep(200);
      expect(answered).toBe(false);
      await first.query("commit");
      expect((await second).rows).toEqual([{ refusal: "invalid_grant" }]);
    } finally {
      first.release();
    }
    expect(await grantOf()).toMatchObject({ revoked: false, refresh_tokens: 2 });
  });

  test("twenty chains of refreshes at once: no deadlock, each family on its own", async () => {
    const people = await Promise.all(Array.from({ length: 20 }, () => world.person()));
    const chains = people.map(async (who) => {
      let { refresh_token } = await tokensOf(world, who, app);
      for (let turn = 0; turn < 5; turn++) {
        const [a, b] = await Promise.all([refresh(world, app, refresh_token), refresh(world, app, refresh_token)]);
        expect(statuses([a, b])).toEqual([200, 400]);
        refresh_token = (a.status === 200 ? a : b).body.refresh_token;
      }
    });
    await Promise.all(chains);
  });

  test("a refresh token is bound to its client: another's good secret gets invalid_grant and ends nothing", async () => {
    const { refresh_token } = await tokensOf(world, person, app);
    await refresh(world, app, refresh_token);
    await world.freeze(at(60));
    expect(await refresh(world, await world.app(), refresh_token)).toMatchObject(INVALID_GRANT);
    expect(await grantOf()).toMatchObject({ revoked: false });
  });

  test("a refresh token expires when unused, and its family's others with it", async () => {
    const { refresh_token } = await tokensOf(world, person, app);
    await world.freeze(at(31 * 86_400));
    expect(await refresh(world, app, refresh_token)).toMatchObject(INVALID_GRANT);
  });
});

describe("contract §7 RFC 7009 revocation", () => {
  const OK = { status: 200, body: { ok: true } };

  test("an access token stops working at once; its siblings go on", async () => {
    const first = await tokensOf(world, person, app);
    const second = (await refresh(world, app, first.refresh_token)).body;
    expect(await admitted(first.access_token)).toBe(200);
    const answer = await revoke(world, app, first.access_token);
    expect(answer).toMatchObject(OK);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(await admitted(first.access_token)).toBe(401);
    expect(await admitted(second.access_token)).toBe(200);
    expect((await refresh(world, app, second.refresh_token)).status).toBe(200);
  });

  test("a refresh token ends its family: every access token, every refresh token", async () => {
    const first = await tokensOf(world, person, app);
    const second = (await refresh(world, app, first.refresh_token)).body;
    expect(await revoke(world, app, second.refresh_token)).toMatchObject(OK);
    expect([await admitted(first.access_token), await admitted(second.access_token)]).toEqual([401, 401]);
    expect(await refresh(world, app, second.refresh_token)).toMatchObject(INVALID_GRANT);
  });

  test("a rotated refresh token ends its family too", async () => {
    const first = await tokensOf(world, person, app);
    const second = (await refresh(world, app, first.refresh_token)).body;
    expect(await revoke(world, app, first.refresh_token)).toMatchObject(OK);
    expect(await admitted(second.access_token)).toBe(401);
  });

  test("another consent of the same person to the same application is untouched", async () => {
    const phone = await tokensOf(world, person, app);
    const desk = await tokensOf(world, person, app);
    await revoke(world, app, phone.refresh_token);
    expect([await admitted(phone.access_token), await admitted(desk.access_token)]).toEqual([401, 200]);
  });

  test("a CPO client ends its own access token", async () => {
    const { client } = world.partnerA;
    const token = await client.token();
    expect((await world.get("/v1/accounts", token)).status).toBe(200);
    await revoke(world, { id: client.id, client_id: client.client_id, client_secret: client.secret }, token);
    expect((await world.get("/v1/accounts", token)).status).toBe(401);
    expect((await world.get("/v1/accounts", await client.token())).status).toBe(200);
  });

  test("another client's tokens: 200, and nothing happens to them", async () => {
    const { access_token, refresh_token } = await tokensOf(world, person, app);
    const other = await world.app();
    for (const token of [access_token, refresh_token]) expect(await revoke(world, other, token)).toMatchObject(OK);
    expect(await admitted(access_token)).toBe(200);
    expect((await refresh(world, app, refresh_token)).status).toBe(200);
  });

  test.each([
    ["an unknown token", "unknown"],
    ["a JWT of nobody", "a.b.c"],
    ["a token with SQL", "' or true --"],
  ])("%s is answered with 200, and nothing happens", async (_what, token) => {
    expect(await revoke(world, app, token)).toMatchObject(OK);
  });

  test.each([undefined, "access_token", "refresh_token", "nonsense"])(
    "token_type_hint %s is no more than a hint",
    async (token_type_hint) => {
      const { access_token, refresh_token } = await tokensOf(world, person, app);
      const hint = token_type_hint ? { token_type_hint } : {};
      expect(await revoke(world, app, access_token, hint)).toMatchObject(OK);
      expect(await admitted(access_token)).toBe(401);
      expect(await revoke(world, app, refresh_token, hint)).toMatchObject(OK);
      expect(await refresh(world, app, refresh_token)).toMatchObject(INVALID_GRANT);
    },
  );

  test("a token that was revoked before, or is expired, is answered with 200", async () => {
    const { access_token, refresh_token } = await tokensOf(world, person, app);
    for (const token of [access_token, access_token, refresh_token, refresh_token])
      expect(await revoke(world, app, token)).toMatchObject(OK);
    await world.freeze(at(4000));
    expect(await revoke(world, app, access_token)).toMatchObject(OK);
  });

  test("a wrong secret, an unknown client, HTTP Basic: 401 invalid_client, and the token lives", async () => {
    const { access_token } = await tokensOf(world, person, app);
    const { client_id, client_secret } = app;
    const basic = { authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString("base64")}` };
    for (const answer of [
      await revoke(world, app, access_token, { client_secret: "wrong" }),
      await revoke(world, app, access_token, { client_id: "app_unknown" }),
      await revoke(world, app, access_token, { client_secret: undefined }),
      await world.send("/oauth-revoke", { body: { token: access_token, client_id, client_secret }, headers: basic }),
    ])
      expect(answer).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    expect(await admitted(access_token)).toBe(200);
  });

  test("field E1 HTTP Basic stands for id and secret, where the body has neither", async () => {
    const verifier = newVerifier();
    const form = (path: string, fields: Record<string, string>, authorization: string) =>
      world.send(path, {
        raw: new URLSearchParams(fields).toString(),
        headers: {
          "content-type": "application/x-www-form-urlencoded",
          authorization,
          "x-forwarded-for": newAddress(),
        },
      });
    const basic = (id: string, secret: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`;
    const { client_id, client_secret } = app;
    const percent = (text: string) => [...text].map((sign) => `%${sign.charCodeAt(0).toString(16)}`).join("");
    const other = await world.app();
    let { refresh_token, access_token } = (
      await form(
        "/oauth-token",
        {
          grant_type: "authorization_code",
          code: await codeOf(world, person, app, verifier),
          redirect_uri: REDIRECT_URI,
          code_verifier: verifier.code_verifier,
        },
        basic(client_id, client_secret),
      )
    ).body;
    const refreshed = (authorization: string, fields: Record<string, string> = {}) =>
      form("/oauth-token", { grant_type: "refresh_token", refresh_token, ...fields }, authorization);
    for (const authorization of [
      basic(client_id, "wrong"),
      basic("app_unknown", client_secret),
      basic(client_id, ""),
      basic("", ""),
      basic(client_id, "%"),
      basic(client_id, "é"),
      `Basic ${Buffer.from(client_id).toString("base64")}`,
      "Basic ???",
      "Basic",
    ]) {
      const answer = await refreshed(authorization);
      expect([answer.status, answer.body.error], authorization).toEqual([401, "invalid_client"]);
      expect(answer.headers.get("www-authenticate")).toBe('Basic realm="oauth"');
    }
    // a client authenticates in one way
    for (const fields of [{ client_id, client_secret }, { client_secret }, { client_id: other.client_id }])
      expect(await refreshed(basic(client_id, client_secret), fields as Record<string, string>)).toMatchObject({
        status: 401,
      });
    for (const [authorization, fields] of [
      [basic(client_id, client_secret), {}],
      // as in a form, and with what some add
      [basic(percent(client_id), percent(client_secret)), { client_id, client_secret: "" }],
      [basic(client_id, client_secret).replace("Basic", "basic"), { client_id }],
    ] as const) {
      const { status, body } = await refreshed(authorization, fields as Record<string, string>);
      expect(status).toBe(200);
      ({ refresh_token, access_token } = body);
    }
    expect(await admitted(access_token)).toBe(200);
    expect((await form("/oauth-revoke", { token: access_token }, basic(client_id, client_secret))).status).toBe(200);
    expect(await admitted(access_token)).toBe(401);
    // the code of another client stays that client's
    expect((await refreshed(basic(other.client_id, other.client_secret))).body.error).toBe("invalid_grant");
  });

  test("without a token: 400 invalid_request", async () => {
    expect(await revoke(world, app, "")).toMatchObject({ status: 400, body: { error: "invalid_request" } });
  });

  test("revoking while refreshing: whatever the order, no live token is left", async () => {
    for (let round = 0; round < 5; round++) {
      const { refresh_token } = await tokensOf(world, person, app);
      const [refreshed] = await Promise.all([refresh(world, app, refresh_token), revoke(world, app, refresh_token)]);
      if (refreshed.status === 200) {
        expect(await admitted(refreshed.body.access_token)).toBe(401);
        expect(await refresh(world, app, refreshed.body.refresh_token)).toMatchObject(INVALID_GRANT);
      }
    }
  });
});

describe("§5 who is let in", () => {
  test("RFC 9700 §2.3 a token without the route's scope: 403 Insufficient scope", async () => {
    const { access_token } = await tokensOf(world, person, app, "energy:read");
    expect(await admitted(access_token)).toBe(403);
  });

  test("a scope taken from the application ends in tokens already issued, and is not refreshed back", async () => {
    const { access_token } = await tokensOf(world, person, app);
    await world.row("update core.oauth_clients set scopes = '{energy:read}' where id = $1", app.id);
    expect(await admitted(access_token)).toBe(403);
  });

  test("an application that is disabled: its tokens are dead, its secret is too", async () => {
    const { access_token, refresh_token } = await tokensOf(world, person, app);
    await world.row("update core.oauth_clients set disabled_at = now() where id = $1", app.id);
    expect(await admitted(access_token)).toBe(401);
    expect(await refresh(world, app, refresh_token)).toMatchObject({ status: 401, body: { error: "invalid_client" } });
  });

  test("a login that is deleted takes its tokens with it", async () => {
    const { access_token, refresh_token } = await tokensOf(world, person, app);
    await world.row("delete from auth.users where id = $1", person.id);
    expect(await admitted(access_token)).toBe(401);
    expect(await refresh(world, app, refresh_token)).toMatchObject(INVALID_GRANT);
  });

  test("a login that Auth marks as deleted gets no session in and no more tokens out", async () => {
    const { refresh_token } = await tokensOf(world, person, app);
    const verifier = newVerifier();
    const code = await codeOf(world, person, app, verifier);
    await world.row("update auth.users set deleted_at = now() where id = $1", person.id);
    const again = await world.post("/oauth-authorize", authorizationOf(app, verifier), await person.session());
    expect(again.status).toBe(401);
    expect(await exchange(world, app, code, verifier)).toMatchObject(INVALID_GRANT);
    expect(await refresh(world, app, refresh_token)).toMatchObject(INVALID_GRANT);
  });

  test("§5.4 a user token on /v1: 403 cpo_token_required", async () => {
    const { access_token } = await tokensOf(world, person, app);
    expect(await world.get("/v1/accounts", access_token)).toMatchObject({
      status: 403,
      body: { error: "cpo_token_required" },
    });
  });

  test("§5 a CPO token on a person's route: 403 Insufficient scope", async () => {
    expect(await admitted(await world.partnerA.client.token())).toBe(403);
  });

  test("RFC 9700 §4.15 a client whose name is a person's id is not taken for them", async () => {
    const client = await world.addClient(null, { scopes: ["sessions:read"] });
    await world.row("update core.oauth_clients set client_id = $2 where id = $1", client.id, person.id);
    const { body } = await world.post("/oauth-token", {
      grant_type: "client_credentials",
      client_id: person.id,
      client_secret: client.secret,
    });
    expect(decodeJwt(body.access_token).sub).toBe(person.id);
    expect(await admitted(body.access_token)).toBe(403);
  });

  test("RFC 9700 §4.6 a token made for one application says nothing for another: grant, person and client belong together", async () => {
    const mine = await tokensOf(world, person, app);
    const other = await world.app();
    const stranger = await world.person();
    const { grant_id } = decodeJwt(mine.access_token);
    for (const claims of [
      { userId: stranger.id, clientId: app.client_id },
      { userId: person.id, clientId: other.client_id },
    ]) {
      const forged = await issueUserToken(world.environment, {
        ...claims,
        grantId: String(grant_id),
        scope: SCOPES.join(" "),
        secretNumber: 1,
      });
      expect(await admitted(forged)).toBe(401);
    }
  });

  test("RFC 9700 §4.6 a token of our key with a grant or a person that is no id is 401, and asks the database nothing", async () => {
    const { grant_id } = decodeJwt((await tokensOf(world, person, app)).access_token);
    const ids = { userId: person.id, clientId: app.client_id, grantId: String(grant_id) };
    const claims = { ...ids, scope: SCOPES.join(" "), secretNumber: 1 };
    expect(await admitted(await issueUserToken(world.environment, claims))).toBe(200);
    for (const odd of ["x", "1", `${grant_id}0`, `${grant_id}'`, "\u0000", "\ud800", "é".repeat(40)])
      for (const field of ["grantId", "userId", "clientId"]) {
        const forged = await issueUserToken(world.environment, { ...claims, [field]: odd });
        expect([field, odd, await admitted(forged)]).toEqual([field, odd, 401]);
      }
  });

  test("RFC 9700 §2.4 no password grant, RFC 9700 §2.1.2 no implicit grant: 400 unsupported_grant_type", async () => {
    const { client_id, client_secret } = app;
    for (const grant_type of ["password", "implicit", "urn:ietf:params:oauth:grant-type:jwt-bearer", ""]) {
      const answer = await world.post("/oauth-token", {
        ...{ grant_type, client_id, client_secret, username: person.email, password: person.password },
      });
      expect(answer).toMatchObject({ status: 400, body: { error: "unsupported_grant_type" } });
    }
  });
});

describe("§5 RFC 9700 §4.3.2 tokens in query strings are refused on every route", () => {
  const routes = ROUTES.filter(({ caller }) => caller.kind !== "anyone");
  test.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    "%s takes no token from the query",
    async (_, route) => {
      const { access_token } = await tokensOf(world, person, app);
      const tokens = [access_token, await world.partnerA.client.token(), await person.session()];
      for (const token of tokens) {
        const response = await fetch(`${world.url}${route.path}?access_token=${token}&token=${token}`, {
          method: route.method,
        });
        expect(response.status).toBe(401);
      }
    },
  );

  test("nor in a form body (RFC 6750 §2.2)", async () => {
    const raw = new URLSearchParams({ access_token: await world.partnerA.client.token() });
    const answer = await world.send("/v1/sessions:batch", {
      raw,
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    expect(answer.status).toBe(401);
  });

  test.each(["/oauth-token", "/oauth-revoke"])("%s reads no credentials from the query", async (path) => {
    const { access_token, refresh_token } = await tokensOf(world, person, app);
    const query = new URLSearchParams({
      ...{ grant_type: "refresh_token", refresh_token, token: access_token },
      client_id: app.client_id,
      client_secret: app.client_secret,
    });
    const answer = await world.send(`${path}?${query}`, {
      body: { grant_type: "refresh_token", refresh_token, token: access_token },
    });
    expect(answer).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    expect(await admitted(access_token)).toBe(200);
  });
});

describe("§8 RFC 9700 §4.10 guessing is limited, and locks nobody out", () => {
  test("ten wrong secrets from one address, code or refresh or revocation alike; the right one and another address go on", async () => {
    const limited = await createOAuthWorld();
    try {
      await limited.freeze(NINE);
      const its = await limited.app();
      const someone = await limited.person();
      const { refresh_token } = await tokensOf(limited, someone, its);
      const wrong = { ...its, client_secret: "wrong" };
      const from = (address: string, secret: string) =>
        limited.send("/oauth-token", {
          body: { grant_type: "refresh_token", client_id: its.client_id, client_secret: secret, refresh_token },
          headers: { "x-forwarded-for": address },
        });
      for (let i = 0; i < 10; i++) {
        const answer = i % 2 ? await revoke(limited, wrong, "x") : await refresh(limited, wrong, refresh_token);
        expect(answer.status).toBe(401);
      }
      expect((await refresh(limited, wrong, refresh_token)).status).toBe(429);
      expect((await revoke(limited, wrong, refresh_token)).status).toBe(429);
      expect((await from("192.0.2.99", "wrong")).status).toBe(401);
      expect((await refresh(limited, its, refresh_token)).status, "the right secret").toBe(200);
    } finally {
      await limited.close();
    }
  });
});

describe("contract §1 sixty token requests a minute, for each person of an application", () => {
  let limited: OAuth;
  let its: App;
  beforeAll(async () => {
    limited = await createOAuthWorld();
  });
  afterAll(() => limited.close());
  beforeEach(async () => {
    await limited.freeze(NINE);
    its = await limited.app();
  });
  const many = async (times: number, send: () => Promise<Answer>) => {
    const counted: Record<number, number> = {};
    for (let i = 0; i < times; i++) {
      const { status } = await send();
      counted[status] = (counted[status] ?? 0) + 1;
    }
    return counted;
  };

  test("attack: codes that a visitor made up spend nothing that good codes and refreshes need", async () => {
    const someone = await limited.person();
    const { refresh_token } = await tokensOf(limited, someone, its);
    const junk = () => exchange(limited, its, randomBytes(32).toString("base64url"), newVerifier());
    expect(await many(70, junk)).toEqual({ 400: 60, 429: 10 });
    const refreshed = await refresh(limited, its, refresh_token);
    expect(refreshed.status).toBe(200);
    expect(refreshed.headers.get("ratelimit")).toMatch(/^"token";r=58;/);
    await tokensOf(limited, await limited.person(), its);
    expect((await refresh(limited, its, "made up")).status, "made-up tokens count with them").toBe(429);
  });

  test("attack: a grant that ended hears so, and spends nothing of the person's other grants", async () => {
    const someone = await limited.person();
    const over = await tokensOf(limited, someone, its);
    await revoke(limited, its, over.refresh_token);
    expect(await many(61, () => refresh(limited, its, over.refresh_token))).toEqual({ 400: 60, 429: 1 });
    await tokensOf(limited, someone, its);
  });

  test("a person's refreshes count for them alone; one too many uses no token", async () => {
    const someone = await limited.person();
    const tokens = await tokensOf(limited, someone, its);
    const other = await tokensOf(limited, await limited.person(), its);
    let { refresh_token } = tokens;
    const next = async () => {
      const answer = await refresh(limited, its, refresh_token);
      refresh_token = answer.body.refresh_token ?? refresh_token;
      return answer;
    };
    expect(await many(60, next)).toEqual({ 200: 59, 429: 1 });
    expect((await refresh(limited, its, other.refresh_token)).status).toBe(200);
    await limited.freeze(at(60));
    expect((await next()).status, "the token that was refused").toBe(200);
  });
});

describe("§5 what is over is forgotten", () => {
  const purge = () => runDueJobs(world);
  const left = async () => {
    const { id } = await grantOf();
    return world.row(
      `select (select count(*)::int from core.oauth_codes where grant_id = $1) as codes,
              (select count(*)::int from core.oauth_refresh_tokens where grant_id = $1) as refresh_tokens,
              (select count(*)::int from core.revoked_access_tokens) as revoked`,
      id,
    );
  };

  test("a code after a day, a revocation after its hour, refresh tokens and their grant when expired; never earlier", async () => {
    await world.row("delete from core.revoked_access_tokens");
    const { access_token, refresh_token } = await tokensOf(world, person, app);
    await revoke(world, app, access_token);
    await purge();
    expect(await left()).toEqual({ codes: 1, refresh_tokens: 1, revoked: 1 });
    await world.freeze(at(3630));
    await purge();
    expect(await left(), "a function whose clock is behind still reads the token").toMatchObject({ revoked: 1 });
    await world.freeze(at(3631));
    await purge();
    expect(await left()).toEqual({ codes: 1, refresh_tokens: 1, revoked: 0 });
    await world.freeze(at(86_400 + 601));
    await purge();
    expect(await left()).toEqual({ codes: 0, refresh_tokens: 1, revoked: 0 });
    expect((await refresh(world, app, refresh_token)).status).toBe(200);
    await world.freeze(at(60 * 86_400));
    await purge();
    expect(await grantOf()).toBeUndefined();
    const consent = await world.row("select 1 as kept from core.oauth_consents where user_id = $1", person.id);
    expect(consent, "that there was a first consent stays known").toEqual({ kept: 1 });
  });

  test("a code that nobody came for goes with its grant", async () => {
    await codeOf(world, person, app, newVerifier());
    await world.freeze(at(2 * 86_400));
    await purge();
    expect(await grantOf()).toBeUndefined();
  });
});
