import { expect, test } from "vitest";
import { serve } from "#shared/http/surface.ts";
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
