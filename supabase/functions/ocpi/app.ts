import type { Surface } from "#shared/http/serve.ts";
import type {} from "./answers.ts";

/** What platforms of CPOs call: OCPI 2.2.1. Its answers have OCPI's own form, so it declares no endpoints. */
export const surface: Surface = {
  slug: "ocpi",
  prefix: "/ocpi",
  endpoints: {},
  pages: { under: "/ocpi", load: async () => (await import("./ocpi.ts")).ocpi },
};
