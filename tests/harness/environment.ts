// What the environment of a function says in a test.

import { generateKeyPairSync, randomBytes } from "node:crypto";
import { TEST_SERVICE } from "#shared/foundation/configuration.ts";

export const BASE_URL = "http://api.test";

export function newTokenKey(kid: string): Record<string, unknown> {
  return { ...generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }), kid };
}

/** A ring of one key: of IBANs, links, opt-outs or references. */
export const newRing = (name = "test"): string =>
  JSON.stringify({ current: name, keys: { [name]: randomBytes(32).toString("base64") } });

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
    IBAN_KEYS: newRing(),
    LINK_KEYS: newRing(),
    OPT_OUT_KEYS: newRing(),
    CUSTOMER_REF_KEYS: newRing(),
    WORKER_SECRET: randomBytes(32).toString("hex"),
    METRICS_SECRET: randomBytes(32).toString("hex"),
    GATEWAY_SECRET: randomBytes(32).toString("hex"),
    CLIENT_ADDRESS: "x-forwarded-for:1",
    LOG_REQUESTS: "all",
    OCPI_PARTY: "NL-ERE",
    OCPP_GATEWAY_URL: "wss://ocpp.example.com",
    ...TEST_SERVICE,
    ...overrides,
  };
}
