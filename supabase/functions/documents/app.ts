import type { Surface } from "#shared/http/serve.ts";
import type {} from "./answers.ts";

export const surface: Surface = {
  slug: "documents",
  prefix: "/documents",
  endpoints: { "POST /documents/run": async () => (await import("./run.ts")).run },
};
