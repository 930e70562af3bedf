import { Hono } from "hono";
import type { Environment } from "#shared/foundation/environment.ts";
import type { Surface } from "#shared/http/surface.ts";

/** The documentation is files, which a function does not serve: it leads there. */
const leadToDocs = ({ config }: Environment) =>
  new Hono().get("/docs", (c) => c.redirect(config.DOCS_URL ?? `${config.BASE_URL}/openapi.json`));

export const surface: Surface = {
  slug: "docs",
  prefix: "",
  endpoints: { "GET /openapi.json": async () => (await import("./openapi.ts")).openApi },
  cors: true,
  pages: { sql: [], routes: leadToDocs },
};
