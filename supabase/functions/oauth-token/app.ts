import type { Surface } from "#shared/http/serve.ts";
import type {} from "./answers.ts";

export const surface: Surface = {
  slug: "oauth-token",
  title: "Tokens",
  about: "Access tokens (OAuth 2.0)",
  prefix: "",
  endpoints: {
    "POST /oauth-token": async () => (await import("./token.ts")).token,
    "GET /.well-known/oauth-authorization-server": async () => (await import("./metadata.ts")).metadata,
  },
  cors: true,
  errors: "oauth",
};
