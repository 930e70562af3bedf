import type { Surface } from "#shared/http/serve.ts";

export const surface: Surface = {
  slug: "docs",
  prefix: "",
  endpoints: {
    "GET /openapi.json": async () => (await import("./openapi.ts")).openApi,
    "GET /llms.txt": async () => (await import("./lead_to_docs.ts")).leadToLlms,
    "GET /docs": async () => (await import("./lead_to_docs.ts")).leadToDocs,
    "GET /docs/{file}": async () => (await import("./lead_to_docs.ts")).leadToFile,
  },
  cors: true,
};
