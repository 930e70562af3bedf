import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";

const LEADS = {
  caller: { kind: "anyone" },
  limit: null,
  sql: [],
  response: z.never(),
  errors: [],
  failure: "internal_error",
} as const;

/** The documentation is files, which a function does not serve: it leads there. */
export const leadToDocs = endpoint(
  { ...LEADS, id: "leadToDocs", summary: "Go to the documentation" },
  async ({ environment: { config } }) => Response.redirect(config.DOCS_URL ?? `${config.BASE_URL}/openapi.json`),
);

/** Its links are relative to the documentation, so it is served there only. */
export const leadToLlms = endpoint(
  { ...LEADS, id: "leadToLlms", summary: "Go to the documentation's index for language models" },
  async ({ environment: { config } }) =>
    Response.redirect(config.DOCS_URL ? `${config.DOCS_URL}/llms.txt` : `${config.BASE_URL}/openapi.json`),
);

/** Also to a file of it, such as the packed client. */
export const leadToFile = endpoint(
  { ...LEADS, id: "leadToFile", summary: "Go to a file of the documentation", params: { file: "Its name" } },
  async ({ environment: { config }, param }) =>
    Response.redirect(
      config.DOCS_URL ? `${config.DOCS_URL}/${encodeURIComponent(param("file"))}` : `${config.BASE_URL}/openapi.json`,
    ),
);
