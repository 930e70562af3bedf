// The whole flow as an application meets it.

import * as oauth from "oauth4webapi";
import { afterAll, beforeAll, expect, test } from "vitest";
import { application } from "./application.ts";
import { createOAuthWorld, type OAuth, type Person, REDIRECT_URI } from "./oauth_world.ts";

let world: OAuth;
let person: Person;
let app: Awaited<ReturnType<typeof application>>;
beforeAll(async () => {
  world = await createOAuthWorld();
  person = await world.person();
  app = await application(world.url, { ...(await world.app()), redirect_uri: REDIRECT_URI });
});
afterAll(() => world.close());

test("contract §7 RFC 8414 the metadata says what is there, and no more", () => {
  expect(app.server).toEqual({
    issuer: world.url,
    authorization_endpoint: `${world.url}/pages/consent`,
    token_endpoint: `${world.url}/oauth-token`,
    revocation_endpoint: `${world.url}/oauth-revoke`,
    scopes_supported: expect.arrayContaining(["sessions:read", "partners:write", "cpo:sessions:write"]),
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
    token_endpoint_auth_methods_supported: ["client_secret_post"],
    revocation_endpoint_auth_methods_supported: ["client_secret_post"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    ui_locales_supported: ["nl", "en"],
  });
});

test("contract §7 RFC 8414 where a path cannot begin with a dot, the function has it under its own name", async () => {
  const response = await fetch(`${world.url}/oauth-token/.well-known/oauth-authorization-server`);
  expect(await response.json()).toEqual(app.server);
  expect(response.headers.get("access-control-allow-origin")).toBe("*");
});

test.each(["post", "basic"] as const)(
  "§4.5 oauth4webapi by %s: discovery, consent, code, refresh, revocation",
  async (by) => {
    const app = await application(world.url, { ...(await world.app()), redirect_uri: REDIRECT_URI }, by);
    const first = await app.redeem(await app.callback(person, "sessions:read energy:read"));
    expect(first).toMatchObject({ token_type: "bearer", expires_in: 3600, scope: "sessions:read energy:read" });
    const second = await app.refresh(first.refresh_token);
    expect(second.refresh_token).not.toBe(first.refresh_token);
    await app.revoke(second.access_token);
    const third = await app.refresh(second.refresh_token);
    await app.revoke(third.refresh_token);
    await expect(app.refresh(third.refresh_token)).rejects.toMatchObject({ error: "invalid_grant", status: 400 });
  },
);

test("§4.5 RFC 9700 §4.4 mix-up: our answer names us, and the library refuses one that names another issuer", async () => {
  const { answer } = await app.callback(person, "energy:read");
  expect(answer.get("iss")).toBe(world.url);
  const mixed = new URL(`${REDIRECT_URI}&${answer}`);
  mixed.searchParams.set("iss", "https://evil.example");
  expect(() => oauth.validateAuthResponse(app.server, app.client, mixed, answer.get("state") ?? "")).toThrow(/iss/);
});

test("§4.5 RFC 9700 §4.7 CSRF: state comes back as it was sent, and the library refuses another", async () => {
  const { answer } = await app.callback(person, "energy:read");
  const forged = new URL(`${REDIRECT_URI}&${answer}`);
  expect(() => oauth.validateAuthResponse(app.server, app.client, forged, "another state")).toThrow(/state/);
});

test("§4.5 RFC 9700 §4.5 an injected code: the verifier of another browser gets nothing", async () => {
  const { answer } = await app.callback(person, "energy:read");
  const verifier = oauth.generateRandomCodeVerifier();
  await expect(app.redeem({ answer, verifier })).rejects.toMatchObject({ error: "invalid_grant" });
});
