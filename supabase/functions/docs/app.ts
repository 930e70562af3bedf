import type { Surface } from "#shared/http/surface.ts";

export const surface: Surface = {
  slug: "docs",
  prefix: "",
  endpoints: {
    "GET /openapi.json": async () => (await import("./openapi.ts")).openApi,
    "GET /docs": async () => (await import("./lead_to_docs.ts")).leadToDocs,
  },
  cors: true,
};
