// What the environment of a function says in a test.

import { generateKeyPairSync, randomBytes } from "node:crypto";
import { TEST_SERVICE } from "#shared/foundation/configuration.ts";

export const BASE_URL = "http://api.test";

export function newTokenKey(kid: string): Record<string, unknown> {
  return { ...generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }), kid };
}

/** A network address nobody else in a test has. */
export const newAddress = (): string => `10.${[...randomBytes(3)].join(".")}`;

export function variables(overrides: Record<string, string> = {}): Record<string, string> {
  return {
    API_HOST: "sandbox",
    BASE_URL,
    AUTH_URL: BASE_URL,
    PAGES_URL: `${BASE_URL}/pages`,
    EDGE_DATABASE_URL: "postgresql://unused",
    EDGE_SLOW_DATABASE_URL: "postgresql://unused",
    SUPABASE_URL: BASE_URL,
    TOKEN_KEYS: JSON.stringify({ keys: [newTokenKey("test")] }),
    IBAN_KEYS: JSON.stringify({ current: "test", keys: { test: randomBytes(32).toString("base64") } }),
    WORKER_SECRET: randomBytes(32).toString("hex"),
    CLIENT_ADDRESS: "x-forwarded-for:1",
    LOG_REQUESTS: "all",
    OCPP_GATEWAY_URL: "wss://ocpp.example.com",
    ...TEST_SERVICE,
    ...overrides,
  };
}
