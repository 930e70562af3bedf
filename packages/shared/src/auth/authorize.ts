import { createHash } from "node:crypto";
import * as z from "zod";
import { endpoint } from "#shared/http/endpoint.ts";
import type { Surface } from "#shared/http/surface.ts";
import { hashSecret, newSecret } from "./tokens.ts";

/**
 * A person allowing an application (RFC 6749 section 4.1, PKCE of RFC 7636 by S256 only). Here and not in the function's folder
 * because two functions speak it: oauth-authorize for dashboards, and pages, whose consent page calls this same endpoint.
 */

/** What an authorization request may hold: visible ASCII and spaces (RFC 6749 appendix A), of a length that fits an address. */
const parameter = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[\x20-\x7e]*$/, "must be printable ASCII");

export const AuthorizationRequest = z
  .object({
    client_id: parameter(200),
    redirect_uri: parameter(500).meta({ description: "One registered for the client, letter for letter" }),
    response_type: parameter(50).meta({ description: "`code`" }),
    scope: parameter(500).meta({ description: "Space-separated", example: "sessions:read energy:read" }),
    state: parameter(2000).meta({ description: "Comes back as it was sent: bind it to the browser (CSRF)" }),
    code_challenge: z
      .string()
      .regex(/^[A-Za-z0-9_-]{43}$/, "must be the base64url SHA-256 of the verifier, 43 characters"),
    code_challenge_method: z.literal("S256", "must be S256"),
  })
  .meta({ id: "AuthorizationRequest" });
export type AuthorizationRequest = z.output<typeof AuthorizationRequest>;

/** The client's redirect URI with parameters of the answer, and who answers (RFC 9207). Never normalised: it was matched as text. */
export function redirectUrl(redirect_uri: string, issuer: string, parameters: Record<string, string>): string {
  const query = new URLSearchParams({ ...parameters, iss: issuer });
  return `${redirect_uri}${redirect_uri.includes("?") ? "&" : "?"}${query}`;
}

/** The challenge that a verifier answers, or null when it is no verifier (RFC 7636 section 4.1). */
export function challengeOf(verifier: string): string | null {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return null;
  return createHash("sha256").update(verifier).digest("base64url");
}

const authorize = endpoint(
  {
    id: "authorize",
    method: "POST",
    path: "/oauth-authorize",
    summary: "Allow an application to act for the signed-in person",
    description:
      "The bearer is the person's session JWT of Supabase Auth. Send the browser to `redirect_url`. The code in it works once, " +
      "for ten minutes, for this client, `redirect_uri` and `code_challenge`. No error is ever answered by redirect. " +
      "Applications use the page that the metadata names as `authorization_endpoint`, which signs the person in and calls this.",
    caller: { kind: "session" },
    limit: "user",
    sql: ["issue_authorization_code"],
    body: AuthorizationRequest,
    response: z
      .object({
        redirect_url: z.string().meta({ example: "https://app.example/callback?code=…&state=…&iss=…" }),
      })
      .meta({ id: "Authorization" }),
    errors: [
      "unsupported_response_type",
      "invalid_client",
      "invalid_redirect_uri",
      "unauthorized_client",
      "invalid_scope",
    ],
    failure: "authorize_failed",
  },
  async ({ body, call, environment, fail }) => {
    const { client_id, redirect_uri, scope, state, code_challenge } = body;
    if (body.response_type !== "code") fail("unsupported_response_type");
    const code = newSecret();
    await call("issue_authorization_code", {
      client_id,
      redirect_uri,
      scope,
      code_challenge,
      code_hash: hashSecret(code),
    });
    return { redirect_url: redirectUrl(redirect_uri, environment.config.AUTH_URL, { code, state }) };
  },
);

export const surface: Surface = {
  slug: "oauth-authorize",
  about: "Consent of a person to an application (OAuth 2.0)",
  prefix: "",
  endpoints: [authorize],
  cors: true,
  errors: "oauth",
};
