import type { Surface } from "#shared/http/serve.ts";

/** For a dashboard that has the person's session; the consent page, in `pages`, allows by the same function. */
export const surface: Surface = {
  slug: "oauth-authorize",
  title: "Consent",
  about: "Consent of a person to an application (OAuth 2.0)",
  prefix: "",
  endpoints: {
    "POST /oauth-authorize": async () => (await import("./authorize.ts")).authorize,
  },
  cors: true,
  errors: "oauth",
};
