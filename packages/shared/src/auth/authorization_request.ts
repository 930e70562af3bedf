import { z } from "#shared/foundation/zod.ts";

/** What an authorization request may hold: visible ASCII and spaces (RFC 6749 appendix A), of a length that fits an address. */
const parameter = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[\x20-\x7e]*$/, "must be printable ASCII");

export const AuthorizationRequest = z
  .object({
    client_id: parameter(200).meta({ description: "The client or application" }),
    redirect_uri: parameter(500).meta({ description: "One registered for the client, letter for letter" }),
    response_type: parameter(50).meta({ description: "`code`" }),
    scope: parameter(500).meta({ description: "Space-separated", example: "sessions:read energy:read" }),
    state: parameter(2000).meta({ description: "Comes back as it was sent: bind it to the browser (CSRF)" }),
    code_challenge: z
      .string()
      .regex(/^[A-Za-z0-9_-]{43}$/, "must be the base64url SHA-256 of the verifier, 43 characters")
      .meta({ description: "Base64url SHA-256 of the verifier (RFC 7636)" }),
    code_challenge_method: z.literal("S256", "must be S256").meta({ description: "Always S256" }),
  })
  .meta({ id: "AuthorizationRequest" });
export type AuthorizationRequest = z.output<typeof AuthorizationRequest>;
