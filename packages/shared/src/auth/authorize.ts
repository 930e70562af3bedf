import { createHash } from "node:crypto";
import * as z from "zod";
import type { Environment } from "#shared/foundation/environment.ts";
import { ApiError } from "#shared/foundation/errors.ts";
import { hashSecret, newSecret } from "./tokens.ts";

/**
 * A person allowing an application (RFC 6749 section 4.1, PKCE of RFC 7636 by S256 only). Here and not in a function's folder
 * because two functions do it: oauth-authorize for dashboards, and pages, where the person is asked.
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

/** Who may allow an application, what that counts against, and what it runs: the same for the endpoint and for the page. */
export const AUTHORIZE = {
  id: "authorize",
  caller: { kind: "session" },
  limit: "user",
  sql: ["issue_authorization_code"],
} as const;

/**
 * Where the browser goes with its code, which works once. `call` runs what AUTHORIZE declares, for the person.
 * @throws {ApiError} a refusal of the request, which no redirect may tell.
 */
export async function authorize(
  environment: Environment,
  call: (name: "issue_authorization_code", request: object) => Promise<string>,
  { response_type, redirect_uri, state, client_id, scope, code_challenge }: AuthorizationRequest,
): Promise<string> {
  if (response_type !== "code") throw new ApiError("unsupported_response_type");
  const code = newSecret();
  await call("issue_authorization_code", {
    client_id,
    redirect_uri,
    scope,
    code_challenge,
    code_hash: hashSecret(code),
  });
  return redirectUrl(redirect_uri, environment.config.AUTH_URL, { code, state });
}
