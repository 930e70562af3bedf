// What holds for every endpoint, for those of OAuth, whose callers the contract tests of /v1 do not have.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect } from "../../packages/shared/src/db.ts";
import type { Endpoint } from "../../packages/shared/src/endpoint.ts";
import { wireText } from "../../packages/shared/src/errors.ts";
import { serve } from "../../packages/shared/src/surface.ts";
import { SURFACES } from "../harness/world.ts";
import { type App, authorizationOf, createOAuthWorld, newVerifier, type OAuth, type Person } from "./oauth_world.ts";

let world: OAuth;
let person: Person;
let app: App;
beforeAll(async () => {
  world = await createOAuthWorld();
  person = await world.person();
  app = await world.app();
});
afterAll(() => world.close());

const OAUTH = SURFACES.filter(({ slug }) => slug.startsWith("oauth-"));
const ENDPOINTS = OAUTH.flatMap(({ endpoints }) => endpoints).filter(({ body }) => body);
const named = ENDPOINTS.map((endpoint) => [endpoint.path, endpoint] as const);

function sampleOf({ id }: Endpoint): object {
  const { client_id, client_secret } = app;
  if (id === "authorize") return authorizationOf(app, newVerifier());
  if (id === "revoke") return { client_id, client_secret, token: "x" };
  return { grant_type: "refresh_token", client_id, client_secret, refresh_token: "x" };
}
/** A session where the endpoint takes one; the others authenticate what is in the body. */
const credential = async ({ caller }: Endpoint) => (caller.kind === "session" ? { token: await person.session() } : {});

const bodies: [what: string, raw: () => BodyInit, status: number, error: string][] = [
  ["nothing", () => "", 400, "invalid_json"],
  ["half a JSON", () => '{"client_id": [', 400, "invalid_json"],
  ["what is not UTF-8", () => new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), 400, "invalid_json"],
  ["a list", () => "[]", 400, "invalid_request"],
  ["null", () => "null", 400, "invalid_request"],
  ["a text", () => '"text"', 400, "invalid_request"],
  ["lists for texts", () => '{"client_id":["x"],"token":["x"],"grant_type":["x"]}', 400, "invalid_request"],
  ["100,000 nested lists", () => "[".repeat(100_000) + "]".repeat(100_000), 400, "invalid_request"],
  ["2 MB", () => `{"x":"${"x".repeat(2 * 1024 * 1024)}"}`, 413, "payload_too_large"],
];

describe.each(named)("%s", (path, endpoint) => {
  test.each(bodies)("contract §1 a body of %s: %#", async (_what, raw, status, error) => {
    const answer = await world.send(path, { raw: raw(), ...(await credential(endpoint)) });
    expect(answer).toMatchObject({ status, body: { error, error_description: expect.any(String) } });
  });

  test("§5.6 no answer may be stored, whatever it is", async () => {
    for (const sent of [{ raw: "{" }, { body: sampleOf(endpoint) }]) {
      const { headers } = await world.send(path, { ...sent, ...(await credential(endpoint)) });
      expect([headers.get("cache-control"), headers.get("pragma")]).toEqual(["no-store", "no-cache"]);
    }
  });

  test("RFC 6749 §3.2 a form parameter sent twice: 400 invalid_request, where forms are read", async () => {
    const raw = `client_id=${app.client_id}&client_id=other&client_secret=x&token=x&grant_type=refresh_token&refresh_token=x`;
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const answer = await world.send(path, { raw, headers, ...(await credential(endpoint)) });
    expect(answer).toMatchObject({
      status: 400,
      body: { error: endpoint.accepts ? "invalid_request" : "invalid_json" },
    });
  });

  test("contract §1 the database cannot be reached: 503 with Retry-After", async () => {
    const surface = OAUTH.find(({ endpoints }) => endpoints.includes(endpoint));
    if (!surface) throw new Error("no surface");
    const db = connect("postgresql://edge:edge@127.0.0.1:1/none");
    const { token } = (await credential(endpoint)) as { token?: string };
    const response = await serve(surface, { ...world.environment, db }).fetch(
      new Request(new URL(path, world.url), {
        method: "POST",
        headers: { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) },
        body: JSON.stringify(sampleOf(endpoint)),
      }),
    );
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
    const { error } = (await response.json()) as { error: string };
    expect(error).toBe(wireText(token ? "authentication_unavailable" : "service_unavailable"));
  });
});

test.each(named)(
  "contract §1 a failure of our own on %s: server_error, the cause in the log only",
  async (path, endpoint) => {
    const broken = await createOAuthWorld();
    try {
      [person, app] = [await broken.person(), await broken.app()];
      const token = endpoint.caller.kind === "session" ? { token: await person.session() } : {};
      for (const name of endpoint.sql)
        await broken.row(
          `create or replace function api.${name}(caller jsonb, request jsonb) returns json language plpgsql security definer as $$
         begin raise exception 'Sanne de Vries'; end $$`,
        );
      const answer = await broken.send(path, { body: sampleOf(endpoint), ...token });
      expect(answer).toMatchObject({ status: 500, body: { error: "server_error" } });
      expect(broken.log.at(-1)).toMatchObject({
        level: "error",
        error: endpoint.failure,
        cause: { sqlstate: "P0001" },
      });
      expect(JSON.stringify([answer.body, broken.log])).not.toContain("Sanne");
    } finally {
      await broken.close();
    }
  },
);
