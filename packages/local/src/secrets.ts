// Everything secret of one local stack: made once, kept in its data folder, so that a restart keeps tokens valid.

import { generateKeyPairSync, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { newSecret } from "#shared/auth/tokens.ts";
import { newKeys } from "./keys.ts";
import { readJson, writeJson } from "./stack.ts";

type Jwk = JsonWebKey & { kid: string };

/** Two operators: some things take two people. */
export const OPERATORS = ["anna", "bram"] as const;
type OperatorRole = `operator_${(typeof OPERATORS)[number]}`;

export type Secrets = {
  passwords: Record<
    "supabase_admin" | "postgres" | "edge" | "edge_slow" | "operator" | OperatorRole | "supabase_auth_admin",
    string
  >;
  /** Keys and secrets, as the functions read them. */
  functions: ReturnType<typeof newKeys>;
  /** Signs the sessions of the local Auth issuer. */
  auth_key: Jwk;
  publishable_key: string;
  secret_key: string;
  demo: { client_secret: string; app_secret: string; password: string; personal_token: string; partner_key: string };
};

/** @throws when the file exists and cannot be read as what it was: a new one would lock the data away. */
export function loadSecrets(data_dir: string): Secrets {
  const file = join(data_dir, "secrets.json");
  const kept = readJson<Secrets>(file);
  // keys, the demo and the roles have grown since the file was written
  if (kept) {
    const secrets = {
      ...kept,
      passwords: { ...makePasswords(), ...kept.passwords },
      functions: { ...newKeys(), ...kept.functions },
      demo: { ...makeDemoSecrets(), ...kept.demo },
    };
    if (JSON.stringify(secrets) !== JSON.stringify(kept)) writeJson(file, secrets);
    return secrets;
  }
  if (existsSync(file)) throw new Error(`${file} is damaged. Restore it, or begin again with --fresh.`);
  const secrets = makeSecrets();
  writeJson(file, secrets);
  return secrets;
}

function makeSecrets(): Secrets {
  return {
    passwords: makePasswords(),
    functions: newKeys(),
    auth_key: signingKey(),
    publishable_key: `sb_publishable_${random(24)}`,
    secret_key: `sb_secret_${random(24)}`,
    demo: makeDemoSecrets(),
  };
}

function makePasswords(): Secrets["passwords"] {
  return {
    supabase_admin: random(24),
    postgres: random(24),
    edge: random(24),
    edge_slow: random(24),
    operator: random(24),
    operator_anna: random(24),
    operator_bram: random(24),
    supabase_auth_admin: random(24),
  };
}

function makeDemoSecrets(): Secrets["demo"] {
  return {
    client_secret: random(32),
    app_secret: random(32),
    password: random(12),
    personal_token: random(32),
    partner_key: newSecret(),
  };
}

function random(bytes: number): string {
  return randomBytes(bytes).toString("base64url");
}

function signingKey(): Jwk {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { ...privateKey.export({ format: "jwk" }), kid: random(9), alg: "ES256", use: "sig" };
}
