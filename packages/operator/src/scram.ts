// The verifier that Postgres stores for a password. Computed here, because a password in a statement could end up in
// the server's log.

import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";

const ITERATIONS = 4096;

/** The SCRAM-SHA-256 verifier of a password (RFC 5803) of ASCII characters. */
export function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, "sha256");
  const mac = (message: string) => createHmac("sha256", salted).update(message).digest();
  const stored = createHash("sha256").update(mac("Client Key")).digest("base64");
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString("base64")}$${stored}:${mac("Server Key").toString("base64")}`;
}
