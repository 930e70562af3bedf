import { oncePerEnvironment } from "#shared/foundation/environment.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";

/** Read and written once: it is 400 KB, and the same for everybody. */
const textOf = oncePerEnvironment(async ({ config }) => {
  const { default: openapi } = await import("../../../openapi.json", { with: { type: "json" } });
  const contact = { name: config.SERVICE_NAME, email: config.SUPPORT_EMAIL };
  return JSON.stringify({
    ...openapi,
    info: { ...openapi.info, contact },
    servers: [{ ...openapi.servers[0], url: config.BASE_URL }],
  });
});

/** The description of the API, of this host. A function of its own: no other should carry its weight at a cold start. */
export const openApi = endpoint(
  {
    id: "openApi",
    summary: "The machine-readable description of this API",
    caller: { kind: "anyone" },
    limit: null,
    sql: [],
    response: z.looseObject({ openapi: z.string() }),
    errors: [],
    failure: "internal_error",
  },
  async ({ environment }) =>
    new Response(await textOf(environment), {
      headers: { "Content-Type": "application/json", "Cache-Control": "public, max-age=300" },
    }),
);
