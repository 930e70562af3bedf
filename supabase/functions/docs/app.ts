import { Hono } from "hono";
import * as z from "zod";
import { type Environment, oncePerEnvironment } from "#shared/foundation/environment.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import type { Surface } from "#shared/http/surface.ts";

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
const openApi = endpoint(
  {
    id: "openApi",
    method: "GET",
    path: "/openapi.json",
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

/** The documentation is files, which a function does not serve: it leads there. */
const leadToDocs = ({ config }: Environment) =>
  new Hono().get("/docs", (c) => c.redirect(config.DOCS_URL ?? `${config.BASE_URL}/openapi.json`));

export const surface: Surface = {
  slug: "docs",
  prefix: "",
  endpoints: [openApi],
  cors: true,
  pages: { sql: [], routes: leadToDocs },
};
