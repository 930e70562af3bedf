import { expect, test } from "vitest";
import { serve } from "#shared/http/serve.ts";
import { surface } from "../../supabase/functions/docs/app.ts";
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
