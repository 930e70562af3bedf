// The whole flow as an application meets it: oauth4webapi knows the issuer and nothing else.

import * as oauth from "oauth4webapi";
import { afterAll, beforeAll, expect, test } from "vitest";
import { consentVisit, onward } from "./consent_visit.ts";
import { type App, createOAuthWorld, type OAuth, type Person, REDIRECT_URI } from "./oauth_world.ts";

const http = { [oauth.allowInsecureRequests]: true };

let world: OAuth;
let person: Person;
let app: App;
let server: oauth.AuthorizationServer;
let client: oauth.Client;
let authenticate: oauth.ClientAuth;
beforeAll(async () => {
  world = await createOAuthWorld();
  person = await world.person();
  app = await world.app();
  const issuer = new URL(world.url);
  const discovered = await oauth.discoveryRequest(issuer, { ...http, algorithm: "oauth2" });
  server = await oauth.processDiscoveryResponse(issuer, discovered);
  client = { client_id: app.client_id };
  authenticate = oauth.ClientSecretPost(app.client_secret);
});
afterAll(() => world.close());

test("RFC 8414 the metadata says what is there, and no more", () => {
  expect(server).toEqual({
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

test("RFC 8414 where a path cannot begin with a dot, the function has it under its own name", async () => {
  const response = await fetch(`${world.url}/oauth-token/.well-known/oauth-authorization-server`);
  expect(await response.json()).toEqual(server);
  expect(response.headers.get("access-control-allow-origin")).toBe("*");
});

/** The application's part up to the code: sends the browser, and validates what comes back. */
async function callback(scope: string): Promise<[callback: URLSearchParams, verifier: string]> {
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const visit = consentVisit(world, app, {
    scope,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
  });
  expect((await visit.show()).heading).toBe("Sign in");
  expect((await visit.signIn(person)).status).toBe(303);
  const asked = await visit.show();
  expect(asked.heading).toBe("Do you give Laadapp access?");
  const answer = onward(await visit.allow(asked));
  expect(answer.href.startsWith(REDIRECT_URI)).toBe(true);
  return [oauth.validateAuthResponse(server, client, answer, state), verifier];
}

const redeem = async (answer: URLSearchParams, verifier: string) =>
  oauth.processAuthorizationCodeResponse(
    server,
    client,
    await oauth.authorizationCodeGrantRequest(server, client, authenticate, answer, REDIRECT_URI, verifier, http),
  );
const renew = async (refresh_token: string) =>
  oauth.processRefreshTokenResponse(
    server,
    client,
    await oauth.refreshTokenGrantRequest(server, client, authenticate, refresh_token, http),
  );
const end = async (token: string) =>
  oauth.processRevocationResponse(await oauth.revocationRequest(server, client, authenticate, token, http));

test("§4.5 oauth4webapi: discovery, consent, code, refresh, revocation", async () => {
  const first = await redeem(...(await callback("sessions:read energy:read")));
  expect(first).toMatchObject({ token_type: "bearer", expires_in: 3600, scope: "sessions:read energy:read" });

  const second = await renew(first.refresh_token ?? "");
  expect(second.refresh_token).not.toBe(first.refresh_token);
  await end(second.access_token);
  const third = await renew(second.refresh_token ?? "");
  await end(third.refresh_token ?? "");
  await expect(renew(third.refresh_token ?? "")).rejects.toMatchObject({ error: "invalid_grant", status: 400 });
});

test("RFC 9700 §4.4 mix-up: an answer that names another issuer is refused by the library, and ours always names us", async () => {
  const [answer] = await callback("energy:read");
  expect(answer.get("iss")).toBe(world.url);
  const mixed = new URL(`${REDIRECT_URI}&${answer}`);
  mixed.searchParams.set("iss", "https://evil.example");
  expect(() => oauth.validateAuthResponse(server, client, mixed, answer.get("state") ?? "")).toThrow(/iss/);
});

test("RFC 9700 §4.7 CSRF: state comes back as it was sent, and the library refuses another", async () => {
  const [answer] = await callback("energy:read");
  const forged = new URL(`${REDIRECT_URI}&${answer}`);
  expect(() => oauth.validateAuthResponse(server, client, forged, "another state")).toThrow(/state/);
});

test("RFC 9700 §4.5 an injected code: the verifier of another browser gets nothing", async () => {
  const [answer] = await callback("energy:read");
  await expect(redeem(answer, oauth.generateRandomCodeVerifier())).rejects.toMatchObject({ error: "invalid_grant" });
});
