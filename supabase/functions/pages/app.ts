import type { Surface } from "#shared/http/surface.ts";
import { FLOWS, pages } from "./pages.ts";

/** What people see. */
export const surface: Surface = {
  slug: "pages",
  prefix: "/pages",
  endpoints: {},
  pages: { sql: FLOWS.flatMap(({ sql }) => sql), routes: pages },
};
