import { createHash } from "node:crypto";
import type { Call } from "#shared/foundation/answers.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { ApiError } from "#shared/foundation/errors.ts";
import type { AuthorizationRequest } from "./authorization_request.ts";
import { hashSecret, newSecret } from "./tokens.ts";

/**
 * A person allowing an application (RFC 6749 section 4.1, PKCE of RFC 7636 by S256 only). Here and not in a function's folder
 * because two functions do it: oauth-authorize for dashboards, and pages, where the person is asked.
 */

/** The client's redirect URI with parameters of the answer, and who answers (RFC 9207). Never normalised: it was matched as text. */
function redirectUrl(redirect_uri: string, issuer: string, parameters: Record<string, string>): string {
  const query = new URLSearchParams({ ...parameters, iss: issuer });
  return `${redirect_uri}${redirect_uri.includes("?") ? "&" : "?"}${query}`;
}

/** The same for an error (RFC 6749 section 4.1.2.1), in plain English for the maker of the client. */
export function refusalUrl(
  redirect_uri: string,
  issuer: string,
  { error, description, state }: { error: string; description: string; state?: string | undefined },
): string {
  // its signs: ASCII without quotes and backslashes
  const error_description = description.replace(/[^ !#-[\]-~]/g, "'");
  return redirectUrl(redirect_uri, issuer, { error, error_description, ...(state && { state }) });
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
  call: Call<"issue_authorization_code">,
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
