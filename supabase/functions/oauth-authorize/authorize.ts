import { AuthorizationRequest } from "#shared/auth/authorization_request.ts";
import { AUTHORIZE, authorize as issueCode } from "#shared/auth/authorize.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";

export const authorize = endpoint(
  {
    ...AUTHORIZE,
    summary: "Allow an application to act for the signed-in person",
    description:
      "The bearer is the person's session JWT of Supabase Auth. Send the browser to `redirect_url`. The code in it " +
      "works once, for ten minutes, for this client, `redirect_uri` and `code_challenge`. Errors are never answered " +
      "by redirect. `partners:write` needs a sign-in of the last 15 minutes. Applications use the page in the metadata's `authorization_endpoint`. That page signs the " +
      "person in and calls this endpoint.",
    body: AuthorizationRequest,
    response: z
      .object({
        redirect_url: z.string().meta({
          description: "Where to send the browser",
          example: "https://app.example/callback?code=…&state=…&iss=…",
        }),
      })
      .meta({ id: "Authorization" }),
    errors: [
      "unsupported_response_type",
      "invalid_client",
      "invalid_redirect_uri",
      "unauthorized_client",
      "invalid_scope",
      "recent_sign_in_required",
    ],
    failure: "authorize_failed",
  },
  async ({ body, call, environment }) => ({ redirect_url: await issueCode(environment, call, body) }),
);
