import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { describe, expect, test } from "vitest";
import { newKeys } from "#local/keys.ts";
import { ConfigurationError, readConfiguration } from "#shared/foundation/configuration.ts";
import { type Environment, oncePerEnvironment } from "#shared/foundation/environment.ts";

const example = readFileSync(new URL("../../.env.example", import.meta.url), "utf8");
const required = parseEnv(example);
const everything = parseEnv(example.replace(/^#(?=[A-Z_]+=)/gm, ""));
const optional = Object.fromEntries(Object.entries(everything).filter(([name]) => !(name in required)));

/** The names that reading the configuration asks for. */
function namesRead(): string[] {
  const names = new Set<string>();
  const recorder = new Proxy<Record<string, string>>({}, { get: (_, name) => void names.add(String(name)) });
  expect(() => readConfiguration(recorder)).toThrow(ConfigurationError);
  return [...names];
}

/** What everybody fills in for themselves. */
const filled = () => ({ ...newKeys(), CLIENT_ADDRESS: "x-forwarded-for:1" });

describe(".env.example", () => {
  test("describes every variable that is read, and no other", () => {
    expect(Object.keys(everything).sort()).toEqual(namesRead().sort());
  });

  test("with generated keys and the place of the client's address is a configuration", () => {
    expect(readConfiguration({ ...required, ...filled() })).toMatchObject({ API_HOST: "sandbox" });
  });

  test("shows the default of what may be left out", () => {
    const defaults: Record<string, unknown> = readConfiguration({ ...required, ...filled() });
    for (const [name, shown] of Object.entries(optional)) expect([name, defaults[name] ?? ""]).toEqual([name, shown]);
  });

  test.each(Object.keys(required))("asks for %s: without it the refusal names it", (name) => {
    const rest = Object.fromEntries(Object.entries({ ...required, ...filled() }).filter(([key]) => key !== name));
    expect(() => readConfiguration(rest)).toThrow(name);
  });

  test("does not hold a key of anybody", () => {
    for (const name of Object.keys(newKeys())) expect(required[name]).toBe("");
  });
});

describe("a variable that is malformed is named, and its value is not", () => {
  const key = { kty: "EC", crv: "P-256", kid: "k", x: "x", y: "y", d: "d" };
  const SHORT = Buffer.alloc(31).toString("base64");
  const ring = { current: "a", keys: { a: Buffer.alloc(32).toString("base64") } };
  const MALFORMED: [string, string][] = [
    ["API_HOST", "staging"],
    ["BASE_URL", "api.example.com"],
    ["SUPPORT_EMAIL", "support@example"],
    ["MAIL_FROM", "ERE\nService"],
    ["SERVICE_NAME", "x".repeat(81)],
    ["SERVICE_ADDRESS", " "],
    ["SERVICE_KVK", "1234567"],
    ["SERVICE_PHONE", "020"],
    ["SERVICE_VAT", "NL123456789"],
    ["EDGE_DATABASE_URL", ""],
    ["WORKER_SECRET", "x".repeat(31)],
    ["METRICS_SECRET", "x".repeat(31)],
    ["GATEWAY_SECRET", ""],
    ["LINK_KEYS", ""],
    ["LINK_KEYS", JSON.stringify({ current: "a", keys: { a: SHORT } })],
    ["OPT_OUT_KEYS", JSON.stringify({ ...ring, current: "b" })],
    ["CUSTOMER_REF_KEYS", JSON.stringify({ current: "a", keys: { a: "x".repeat(44) } })],
    ["CLIENT_ADDRESS", "X-Real-IP"],
    ["CLIENT_ADDRESS", "x-forwarded-for:0"],
    ["KEY_PREFIX", "ERE"],
    ["EAN_REGISTER", "file"],
    ["TOKEN_KEYS", "{keys}"],
    ["TOKEN_KEYS", "null"],
    ["TOKEN_KEYS", JSON.stringify({ keys: [] })],
    ["TOKEN_KEYS", JSON.stringify({ keys: [{ ...key, crv: "P-384" }] })],
    ["TOKEN_KEYS", JSON.stringify({ keys: [key, { ...key, d: undefined }] })],
    ["IBAN_KEYS", "null"],
    ["IBAN_KEYS", JSON.stringify({ current: "b", keys: { a: "AAAA" } })],
    ["IBAN_KEYS", JSON.stringify({ current: "toString", keys: {} })],
    ["IBAN_KEYS", JSON.stringify({ current: "a", keys: { a: "AAA" } })],
    ["SUPABASE_SECRET_KEYS", JSON.stringify({ default: 1 })],
  ];
  test.each(MALFORMED)("%s=%s", (name, value) => {
    const read = () => readConfiguration({ ...required, ...filled(), [name]: value });
    expect(read).toThrow(new RegExp(`env\\.example\\): ${name}: [^;]+$`));
    if (value.trim()) expect(read).not.toThrow(value);
  });

  test("and all of them at once", () => {
    const wrong = { ...required, ...filled(), BASE_URL: "x", KEY_PREFIX: "X" };
    expect(() => readConfiguration(wrong)).toThrow(
      /BASE_URL: must be a URL; KEY_PREFIX: must be 2 to 12 lower-case letters$/,
    );
  });
});

test("a secret opens one door only", () => {
  const { WORKER_SECRET, ...keys } = filled();
  expect(() => readConfiguration({ ...required, ...keys, WORKER_SECRET, GATEWAY_SECRET: WORKER_SECRET })).toThrow(
    /GATEWAY_SECRET: must be another secret than WORKER_SECRET and METRICS_SECRET$/,
  );
});

test("of a secret that rotates both values are long enough, and open no other door", () => {
  const { WORKER_SECRET = "", METRICS_SECRET = "", ...keys } = filled();
  const read = (worker: string) => () =>
    readConfiguration({ ...required, ...keys, METRICS_SECRET, WORKER_SECRET: worker }).WORKER_SECRET;
  const made = "n".repeat(32);
  expect(read(`${made},${WORKER_SECRET}`)()).toBe(`${made},${WORKER_SECRET}`);
  for (const wrong of [`${made},short`, `${made},`, `${made},${made},${made}`, `${made}, ${WORKER_SECRET}`])
    expect(read(wrong)).toThrow(/WORKER_SECRET: must have at least 32 characters/);
  expect(read(`${made},${METRICS_SECRET}`)).toThrow(/METRICS_SECRET: must be another secret than WORKER_SECRET$/);
});

test("new keys are new each time, and survive being written to a file and read again", () => {
  const keys: Record<string, string> = newKeys();
  const lines = Object.entries(keys).map(([name, value]) => `${name}='${value}'`);
  expect(parseEnv(lines.join("\n"))).toEqual(keys);
  for (const [name, value] of Object.entries(newKeys())) expect(value).not.toBe(keys[name]);
});

describe("what is made once for an environment", () => {
  const environment = {} as Environment;

  test("is made once for all who ask at once, and kept", async () => {
    let made = 0;
    const numberOf = oncePerEnvironment(async () => ++made);
    expect(await Promise.all([numberOf(environment), numberOf(environment)])).toEqual([1, 1]);
    expect(await numberOf(environment)).toBe(1);
    expect(await numberOf({} as Environment)).toBe(2);
  });

  test("fails for all who ask at once, and is made again for the next", async () => {
    let made = 0;
    const numberOf = oncePerEnvironment(async () => {
      made += 1;
      if (made === 1) throw new Error("the module did not load");
      return made;
    });
    const failed = await Promise.allSettled([numberOf(environment), numberOf(environment)]);
    expect(failed.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(await numberOf(environment)).toBe(2);
  });
});
