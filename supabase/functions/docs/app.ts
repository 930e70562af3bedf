import * as z from "zod";
import { endpoint } from "#shared/http/endpoint.ts";
import type { Surface } from "#shared/http/surface.ts";
import openapi from "../../../openapi.json" with { type: "json" };

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
  async ({ environment: { config } }) =>
    new Response(JSON.stringify({ ...openapi, servers: [{ ...openapi.servers[0], url: config.BASE_URL }] }), {
      headers: { "Content-Type": "application/json", "Cache-Control": "public, max-age=300" },
    }),
);

export const surface: Surface = { slug: "docs", prefix: "", endpoints: [openApi], cors: true };
