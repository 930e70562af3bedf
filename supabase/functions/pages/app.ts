import type { Surface } from "#shared/http/serve.ts";

/** What people see. */
export const surface: Surface = {
  slug: "pages",
  prefix: "/pages",
  endpoints: {},
  pages: { under: "/pages", load: async () => (await import("./flows.ts")).pages },
};
