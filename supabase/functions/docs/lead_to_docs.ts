import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";

/** The documentation is files, which a function does not serve: it leads there. */
export const leadToDocs = endpoint(
  {
    id: "leadToDocs",
    summary: "Go to the documentation",
    caller: { kind: "anyone" },
    limit: null,
    sql: [],
    response: z.never(),
    errors: [],
    failure: "internal_error",
  },
  async ({ environment: { config } }) => Response.redirect(config.DOCS_URL ?? `${config.BASE_URL}/openapi.json`),
);
