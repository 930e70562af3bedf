// Who may call the personal routes and /tokens: fails closed, exactly as specification section 5 and the table of contract section 1 say.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { endpointsOf } from "#shared/http/serve.ts";
import { PERSONAL_SCOPES } from "#shared/values/scopes.ts";
import { surface } from "../../supabase/functions/personal/app.ts";
import { addCharger } from "../harness/chargers.ts";
import type { User } from "../harness/people.ts";
import { createOAuthWorld, type OAuth } from "../oauth/oauth_world.ts";

let world: OAuth;
let user: User;
let session: string;
let charger: string;
beforeAll(async () => {
  world = await createOAuthWorld({ limits: "lifted" });
});
afterAll(() => world.close());
beforeEach(async () => {
  user = await world.addUser();
  session = await world.signSession({ sub: user.id, email: user.email });
  charger = await addCharger(world, user);
  await world.row(
    "update core.chargers set ocpp_identity = $2, ocpp_password_hash = sha256($3) where id = $1 returning id",
    charger,
    `ERE-${charger}`,
    Buffer.from("secret"),
  );
});

const ENDPOINTS = await endpointsOf(surface);
const ofUser = ENDPOINTS.flatMap(({ method, path, caller }) =>
  caller.kind === "user" ? [[`${method} ${path}`, method, path, caller.scope] as const] : [],
);
const ofSession = ENDPOINTS.flatMap(({ method, path, caller }) =>
  caller.kind === "session" ? [[`${method} ${path}`, method, path] as const] : [],
);
const BODY = { nickname: "Oprit", connection_type: "ocpp", name: "Test", scopes: ["energy:read"] };

async function call(method: "GET" | "POST" | "DELETE", path: string, token?: string, headers = {}) {
  const id = path.startsWith("/chargers/") ? charger : "00000000-0000-4000-8000-000000000001";
  const concrete = path.replace("{id}", id);
  const sent = { method, headers, ...(method === "POST" ? { body: BODY } : {}), ...(token ? { token } : {}) };
  return world.send(concrete, sent);
}

test("§4.4 the routes and their scopes", () => {
  expect(Object.fromEntries(ofUser.map(([name, , , scope]) => [name, scope]))).toEqual({
    "GET /chargers": "chargers:read",
    "POST /chargers": "chargers:write",
    "POST /chargers/{id}/ocpp-credentials": "chargers:write",
    "GET /sessions": "sessions:read",
    "GET /energy": "energy:read",
    "GET /ere-position": "energy:read",
    "GET /profile": "profile:read",
  });
  expect(ofSession.map(([name]) => name)).toEqual(["GET /tokens", "POST /tokens", "DELETE /tokens/{id}"]);
});

describe.each(ofUser)("§5 %s", (_, method, path, scope) => {
  test("a personal token and an application's token get in with the scope alone", async () => {
    for (const token of [await user.token(scope), await user.appToken(scope)])
      expect((await call(method, path, token)).status).toBeLessThan(300);
  });

  test("every other scope is refused with 403 Insufficient scope, which says which one", async () => {
    const others = PERSONAL_SCOPES.filter((other) => other !== scope);
    for (const token of [await user.token(...others), await user.appToken(...others)])
      expect(await call(method, path, token)).toMatchObject({
        status: 403,
        body: { error: "Insufficient scope", required_scope: scope },
      });
  });

  test("a scope the application has lost since holds no longer", async () => {
    const token = await user.appToken(scope);
    await world.row("update core.oauth_clients set scopes = '{}' where scopes = array[$1]", scope);
    expect((await call(method, path, token)).status).toBe(403);
  });

  test("a CPO token is refused with 403 Insufficient scope", async () => {
    expect(await call(method, path, await world.partnerA.client.token())).toMatchObject({
      status: 403,
      body: { error: "Insufficient scope", required_scope: scope },
    });
  });

  test("a session JWT is refused with 401", async () => {
    expect((await call(method, path, session)).status).toBe(401);
  });

  test.each([
    ["nothing", async () => undefined],
    ["garbage", async () => "garbage"],
    ["a personal token of the right form", async () => `ere_pat_${"0".repeat(43)}`],
    ["a personal token cut short", async () => (await user.token()).slice(0, -1)],
  ])("a request with %s is refused with 401", async (_what, credential) => {
    const answer = await call(method, path, await credential());
    expect([answer.status, answer.body.error]).toEqual([401, "Missing or invalid API token"]);
  });

  test("a token in the query string, the body or another header admits nobody", async () => {
    const token = await user.token();
    for (const name of ["access_token", "token", "api_key", "authorization"])
      expect((await call(method, `${path}?${name}=${token}`)).status).toBe(401);
    for (const headers of [
      { "x-api-key": token },
      { apikey: token },
      { cookie: `access_token=${token}` },
      { authorization: token },
    ])
      expect((await call(method, path, undefined, headers)).status).toBe(401);
  });

  test("§8 over its rate limit it answers 429 with retry_after_seconds", async () => {
    const token = await user.token(scope);
    await world.limit("user", 1);
    try {
      expect((await call(method, path, token)).status).toBeLessThan(300);
      const { status, body, headers } = await call(method, path, token);
      expect([status, body.error]).toEqual([429, "Too many requests"]);
      expect(headers.get("retry-after")).toBe(String(body.retry_after_seconds));
    } finally {
      await world.limit("user");
    }
  });
});

describe.each(ofSession)("§5 %s", (_, method, path) => {
  test("a session gets in", async () => {
    expect([200, 404]).toContain((await call(method, path, session)).status);
  });

  test("any token is refused with 401, however many scopes it has", async () => {
    for (const token of [await user.token(), await user.appToken(), await world.partnerA.client.token()])
      expect((await call(method, path, token)).status).toBe(401);
  });

  test.each([
    ["of another project", (claims: object) => world.signSession({ ...claims, iss: "https://evil.example/auth/v1" })],
    ["of an anonymous person", (claims: object) => world.signSession({ ...claims, is_anonymous: true })],
    ["of somebody who is gone", () => world.signSession({ sub: "00000000-0000-4000-8000-000000000009" })],
    ["expired", (claims: object) => world.signSession({ ...claims, exp: Math.floor(Date.now() / 1000) - 1 })],
  ])("a session that is %s is refused with 401", async (_what, sign) => {
    expect((await call(method, path, await sign({ sub: user.id }))).status).toBe(401);
  });
});

describe("§5 rule 4: /v1 refuses a person's tokens", () => {
  test.each(["/v1/accounts", "/v1/ere-positions", "/v1/catalog/chargers"])(
    "%s refuses them with cpo_token_required",
    async (path) => {
      for (const token of [await user.token(), await user.appToken()])
        expect(await world.get(path, token)).toMatchObject({ status: 403, body: { error: "cpo_token_required" } });
      expect((await world.get(path, session)).status).toBe(401);
    },
  );
});

test("§5 an unknown route is 404 whatever the credential, a wrong method too", async () => {
  for (const token of [undefined, await user.token(), session])
    for (const path of ["/chargers/x", "/sessions/", "/tokens/a/b", "/energy2"])
      expect((await world.get(path, token)).status).toBe(404);
  expect((await world.send("/energy", { method: "DELETE", token: await user.token() })).status).toBe(404);
});

test("contract §1 browsers of other origins may call, preflight included", async () => {
  const headers = {
    origin: "https://app.example",
    "access-control-request-method": "DELETE",
    "access-control-request-headers": "authorization",
  };
  const { serve } = await import("#shared/http/serve.ts");
  const preflight = await serve(surface, world.environment).fetch(
    new Request("http://api.test/tokens/x", { method: "OPTIONS", headers }),
  );
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("access-control-allow-origin")).toBe("*");
  expect(preflight.headers.get("access-control-allow-methods")).toContain("DELETE");
  expect(preflight.headers.get("access-control-allow-headers")).toBe("authorization");
  const answer = await world.send("/profile", {
    token: await user.token(),
    headers: { origin: "https://app.example" },
  });
  expect(answer.headers.get("access-control-allow-origin")).toBe("*");
});
