import { expect, test } from "vitest";
import {
  hashAddress,
  hashSecret,
  issueClientToken,
  newSecret,
  readAccessToken,
  sameSecret,
} from "#shared/auth/tokens.ts";
import { BoundedMap } from "#shared/foundation/bounded_map.ts";
import { readConfiguration } from "#shared/foundation/configuration.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { variables } from "../harness/environment.ts";

const CLIENT = { clientId: "cpo_x", scope: "cpo:accounts:read", secretNumber: 1 };

/** What tokens need of an environment; a database is not among it. */
function environmentAt(moment: string, overrides: Record<string, string> = {}): Environment {
  return { config: readConfiguration(variables(overrides)), now: () => new Date(moment) } as unknown as Environment;
}

test("§5 a secret is 32 random bytes in base62, never the same twice", () => {
  const secrets = Array.from({ length: 1000 }, () => newSecret());
  expect(new Set(secrets).size).toBe(1000);
  for (const secret of secrets) expect(secret).toMatch(/^[0-9A-Za-z]{43}$/);
  // the first digit is worth little of the last bits, all others use the whole alphabet
  expect(new Set(secrets.map((secret) => secret.at(-1))).size).toBe(62);
});

test("§5 what is stored of a secret is its SHA-256", () => {
  expect(hashSecret("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

test.each([
  ["abc", "abc", true],
  ["abc", "abd", false],
  ["abc", "abcd", false],
  ["", "", true],
  ["", "abc", false],
])("§5 whether the secrets %j and %j are the same is told without a hint: %s", (given, expected, same) => {
  expect(sameSecret(given, expected)).toBe(same);
});

test("§8 an address is hashed with the host's own key: equal here, unlike elsewhere, never readable", () => {
  const environment = environmentAt("2026-11-20T09:00:00Z");
  const hashed = hashAddress(environment, "192.0.2.1");
  expect(hashAddress(environment, "192.0.2.1")).toBe(hashed);
  expect(hashAddress(environment, "192.0.2.2")).not.toBe(hashed);
  expect(hashAddress(environmentAt("2026-11-20T09:00:00Z"), "192.0.2.1")).not.toBe(hashed);
  expect(hashed).not.toContain("192.0.2");
});

test("§8 a host whose clock is half a minute behind reads a token just issued; two minutes behind it does not", async () => {
  const TOKEN_KEYS = variables().TOKEN_KEYS ?? "";
  const at = (moment: string) => environmentAt(moment, { TOKEN_KEYS });
  const token = await issueClientToken(at("2026-11-20T09:00:00Z"), CLIENT);
  expect(await readAccessToken(at("2026-11-20T08:59:30Z"), token)).toMatchObject({
    clientId: "cpo_x",
    subject: "cpo_x",
    scopes: ["cpo:accounts:read"],
  });
  expect(await readAccessToken(at("2026-11-20T08:58:00Z"), token)).toBeNull();
});

test.each([
  ["sandbox and production", { BASE_URL: "https://production.example" }],
  ["two issuers", { AUTH_URL: "https://other.example" }],
])("§5 a token is good on its own host only: %s sharing a key", async (_what, other) => {
  const TOKEN_KEYS = variables().TOKEN_KEYS ?? "";
  const moment = "2026-11-20T09:00:00Z";
  const token = await issueClientToken(environmentAt(moment, { TOKEN_KEYS }), { ...CLIENT, scope: "" });
  expect(await readAccessToken(environmentAt(moment, { TOKEN_KEYS }), token)).not.toBeNull();
  expect(await readAccessToken(environmentAt(moment, { TOKEN_KEYS, ...other }), token)).toBeNull();
});

test("§5 a token that was read before is refused once it has expired, and so is one with another signature", async () => {
  let now = new Date("2026-11-20T09:00:00Z");
  const environment = { ...environmentAt(""), now: () => now };
  const issue = () => issueClientToken(environment, CLIENT);
  const [token, other] = [await issue(), await issue()];
  const read = (bearer: string) => readAccessToken(environment, bearer);
  const known = await read(token);
  expect(known).toMatchObject({ clientId: "cpo_x" });
  expect(await read(token), "remembered").toBe(known);

  const [header, payload, signature = ""] = token.split(".");
  const first = signature.startsWith("A") ? "B" : "A";
  for (const forged of [first + signature.slice(1), other.split(".")[2], "", `${signature}A`])
    expect(await read(`${header}.${payload}.${forged}`)).toBeNull();
  expect(await read(token)).toBe(known);

  now = new Date("2026-11-20T09:59:59Z");
  expect(await read(token)).toBe(known);
  now = new Date("2026-11-20T10:00:00Z");
  expect(await read(token)).toBeNull();
  expect(await read(token), "forgotten").toBeNull();
});

test("§8 what is remembered is bounded: the oldest is forgotten first", () => {
  const map = new BoundedMap<string, number>(2);
  for (const [index, key] of ["a", "b", "c"].entries()) map.set(key, index);
  expect(["a", "b", "c"].map((key) => map.get(key))).toEqual([undefined, 1, 2]);
  map.set("c", 3);
  expect(["b", "c"].map((key) => map.get(key))).toEqual([1, 3]);
  map.delete("b");
  map.set("d", 4);
  expect(["b", "c", "d"].map((key) => map.get(key))).toEqual([undefined, 3, 4]);
});
