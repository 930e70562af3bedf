import type { Surface } from "#shared/http/surface.ts";
import { pages } from "./pages.ts";

/** What people see: the page a signatory signs on. */
export const surface: Surface = { slug: "pages", prefix: "/pages", endpoints: [], pages };
