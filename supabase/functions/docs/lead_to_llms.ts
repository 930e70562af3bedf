import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";

/** Its links are relative to the documentation, so it is served there only. */
export const leadToLlms = endpoint(
  {
    id: "leadToLlms",
    summary: "Go to the documentation's index for language models",
    caller: { kind: "anyone" },
    limit: null,
    sql: [],
    response: z.never(),
    errors: [],
    failure: "internal_error",
  },
  async ({ environment: { config } }) =>
    Response.redirect(config.DOCS_URL ? `${config.DOCS_URL}/llms.txt` : `${config.BASE_URL}/openapi.json`),
);
