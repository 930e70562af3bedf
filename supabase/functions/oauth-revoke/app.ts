import type { Surface } from "#shared/http/serve.ts";
import type {} from "./answers.ts";

export const surface: Surface = {
  slug: "oauth-revoke",
  title: "Revocation",
  about: "Revocation of tokens (OAuth 2.0)",
  prefix: "",
  endpoints: { "POST /oauth-revoke": async () => (await import("./revoke.ts")).revoke },
  cors: true,
  errors: "oauth",
};
