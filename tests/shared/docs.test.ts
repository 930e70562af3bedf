import { expect, test } from "vitest";
import { errorsOf } from "#shared/http/endpoint.ts";
import { serve } from "#shared/http/serve.ts";
import { buildSite } from "../../packages/docs/src/site.ts";
import { surface } from "../../supabase/functions/docs/app.ts";
import { ENDPOINTS_OF, SURFACES } from "../harness/answers.ts";
import { createWorld } from "../harness/world.ts";

test("§9.5 the description of the API names this host and its support, and browsers may read it", async () => {
  const world = await createWorld();
  const docs = serve(surface, world.environment);
  for (const path of ["/openapi.json", "/docs/openapi.json"]) {
    const response = await docs.fetch(new Request(`http://api.test${path}`));
    expect(response.status).toBe(200);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    const document = await response.json();
    expect(document.openapi).toMatch(/^3\.1/);
    const { SERVICE_NAME, SUPPORT_EMAIL, BASE_URL } = world.environment.config;
    expect(document.info.contact).toEqual({ name: SERVICE_NAME, email: SUPPORT_EMAIL });
    expect(document.servers).toEqual([expect.objectContaining({ url: BASE_URL })]);
  }
  await world.close();
});

test("§9.5 /docs and /llms.txt lead to the documentation; where there is none, to openapi.json", async () => {
  const of = async (variables: Record<string, string>) => {
    const world = await createWorld({ variables });
    const docs = serve(surface, world.environment);
    const lead = async (path: string) => {
      const { status, headers } = await docs.fetch(new Request(`http://api.test${path}`));
      return [status, headers.get("location")];
    };
    const answers = [];
    for (const path of ["/docs", "/llms.txt", "/docs/llms.txt", "/docs/ere-client-1.0.0.tgz"])
      answers.push(await lead(path));
    await world.close();
    return [answers, world.environment.config.BASE_URL] as const;
  };
  const [there] = await of({ DOCS_URL: "https://docs.example.nl/ere/" });
  const file = [302, "https://docs.example.nl/ere/ere-client-1.0.0.tgz"];
  const llms = [302, "https://docs.example.nl/ere/llms.txt"];
  expect(there).toEqual([[302, "https://docs.example.nl/ere"], llms, llms, file]);
  const [none, base] = await of({});
  expect(none).toEqual(Array(4).fill([302, `${base}/openapi.json`]));
});

test("§7 the body of every error leads to its row of the documentation; where there is none, it has no doc_url", async () => {
  const world = await createWorld({ variables: { DOCS_URL: "https://docs.example.nl/ere/" } });
  const page = "https://docs.example.nl/ere/errors.html";
  const token = await world.partnerA.client.token();
  for (const [path, sent, error] of [
    ["/v1/accounts", {}, "missing_or_invalid_token"],
    ["/v1/nothing", { token }, "not_found"],
    ["/v1/accounts", { token, body: {} }, "invalid_request"],
    ["/oauth-token", { body: { grant_type: "password" } }, "unsupported_grant_type"],
  ] as const) {
    const { body } = await world.send(path, sent);
    expect(body.doc_url).toBe(`${page}#${error}`);
  }
  await world.close();
  const without = await createWorld();
  expect((await without.get("/v1/accounts")).body).not.toHaveProperty("doc_url");
  await without.close();
});

test("§7 every error of an operation has a row that a link leads to", () => {
  const errors = String(buildSite().get("errors.html"));
  const endpoints = SURFACES.flatMap(({ slug }) => ENDPOINTS_OF.get(slug) ?? []);
  const codes = new Set(endpoints.flatMap((endpoint) => [...errorsOf(endpoint)]));
  expect(codes.size).toBeGreaterThan(100);
  expect([...codes, "not_found"].filter((code) => !errors.includes(` id="${code}"`))).toEqual([]);
});
