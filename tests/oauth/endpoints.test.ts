// What RFC 6749 asks of every endpoint of OAuth, beside what holds for every endpoint (contract/every_endpoint.test.ts).

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Routed } from "#shared/http/serve.ts";
import { type Sample, samplesFor, sent } from "../contract/samples.ts";
import { ENDPOINTS_OF } from "../harness/answers.ts";
import { createOAuthWorld, type OAuth } from "./oauth_world.ts";

let world: OAuth;
let sample: (endpoint: Routed) => Sample;
beforeAll(async () => {
  world = await createOAuthWorld();
  sample = await samplesFor(world);
});
afterAll(() => world.close());

const ENDPOINTS = [...ENDPOINTS_OF]
  .flatMap(([slug, endpoints]) => (slug.startsWith("oauth-") ? endpoints : []))
  .filter(({ body }) => body);
const named = ENDPOINTS.map((endpoint) => [endpoint.path, endpoint] as const);

describe.each(named)("%s", (path, endpoint) => {
  test("§5.6 no answer may be stored, whatever it is", async () => {
    const good = sent(sample(endpoint));
    for (const one of [{ ...good, raw: "{" }, good]) {
      const { headers } = await world.send(path, one);
      expect([headers.get("cache-control"), headers.get("pragma")]).toEqual(["no-store", "no-cache"]);
    }
  });

  test("§4.5 RFC 6749 §3.2 a form parameter sent twice: 400 invalid_request, where forms are read", async () => {
    const raw = `client_id=x&client_id=other&client_secret=x&token=x&grant_type=refresh_token&refresh_token=x`;
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const answer = await world.send(path, { ...sent(sample(endpoint)), raw, headers });
    expect(answer).toMatchObject({
      status: 400,
      body: { error: endpoint.accepts ? "invalid_request" : "invalid_json" },
    });
  });
});
