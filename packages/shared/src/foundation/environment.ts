import process from "node:process";
import * as z from "zod";
import { connect, type Db, QUICK, SLOW } from "./db.ts";
import { gather } from "./gather.ts";
import { consoleLog, type Log } from "./log.ts";

const url = z.url().transform((value) => value.replace(/\/+$/, ""));
const json = z.string().transform((value, context) => {
  try {
    return JSON.parse(value) as unknown;
  } catch {
    context.addIssue("is not JSON");
    return z.NEVER;
  }
});

/** `cf-connecting-ip`: a header of the platform's own. `x-forwarded-for:2`: the second entry from the right of one that grows. */
const addressSource = z
  .string()
  .regex(/^[a-z][a-z0-9-]*(:[1-9])?$/, "is a header's name, in lower case, and :n for its n-th entry from the right")
  .transform((value) => {
    const [header = "", entry] = value.split(":");
    return { header, entry: entry === undefined ? null : Number(entry) };
  });

/** What the keys and tokens of a deployment begin with. */
export const keyPrefix = z.string().regex(/^[a-z]{2,12}$/, "must be 2 to 12 lower-case letters");

/** The keys of stored IBANs, as JSON. */
export const ibanKeys = json.pipe(
  z
    .object({ current: z.string(), keys: z.record(z.string(), z.base64()) })
    .refine(({ current, keys }) => Object.hasOwn(keys, current), "names a current key that is not among keys"),
);

const oneLine = (max: number) =>
  z
    .string()
    .trim()
    .regex(/^[^\p{Cc}]+$/u, "is one line")
    .max(max);

/** Who the service is: what a mandate authorises, and what a signatory is shown of it. */
const Service = z.object({
  SERVICE_NAME: oneLine(80),
  SUPPORT_EMAIL: z.email(),
  MAIL_FROM: oneLine(200),
  SERVICE_ADDRESS: oneLine(200),
  SERVICE_KVK: z.string().regex(/^\d{8}$/, "is a number of 8 digits"),
  SERVICE_PHONE: z.string().regex(/^\+?\d(?:[ -]?\d){8,14}$/, "is a telephone number"),
  CONDITIONS_URL: url,
  PRIVACY_URL: url,
}).shape;

/** What stands in for it where nobody signs anything real. */
export const TEST_SERVICE = {
  SERVICE_NAME: "ERE Service",
  SUPPORT_EMAIL: "support@example.com",
  MAIL_FROM: "ERE Service <no-reply@example.com>",
  SERVICE_ADDRESS: "Teststraat 1, 1234 AB Teststad",
  SERVICE_KVK: "12345678",
  SERVICE_PHONE: "+31 20 123 45 67",
  CONDITIONS_URL: "https://example.com/conditions",
  PRIVACY_URL: "https://example.com/privacy",
} as const;

/** What an operator sets; `.env.example` describes each. */
const Configuration = z.object({
  API_HOST: z.enum(["sandbox", "production"]),
  BASE_URL: url,
  AUTH_URL: url,
  PAGES_URL: url,
  EDGE_DATABASE_URL: z.string().min(1),
  EDGE_SLOW_DATABASE_URL: z.string().min(1),
  TOKEN_KEYS: json.pipe(
    z.object({
      keys: z
        .array(
          z.looseObject({
            kty: z.literal("EC"),
            crv: z.literal("P-256"),
            kid: z.string(),
            x: z.string(),
            y: z.string(),
            d: z.string(),
          }),
        )
        .min(1),
    }),
  ),
  IBAN_KEYS: ibanKeys,
  WORKER_SECRET: z.string().min(32),
  CLIENT_ADDRESS: addressSource,
  SUPABASE_URL: url,
  SIGN_IN_ISSUER: url.optional(),
  PUBLISHABLE_KEY: z.string().min(1).optional(),
  SUPABASE_SECRET_KEY: z.string().min(1).optional(),
  SUPABASE_SECRET_KEYS: json.pipe(z.record(z.string(), z.string())).optional(),
  KEY_PREFIX: keyPrefix.default("ere"),
  SERVICE_NAME: Service.SERVICE_NAME.default(TEST_SERVICE.SERVICE_NAME),
  SUPPORT_EMAIL: Service.SUPPORT_EMAIL.default(TEST_SERVICE.SUPPORT_EMAIL),
  MAIL_FROM: Service.MAIL_FROM.default(TEST_SERVICE.MAIL_FROM),
  SERVICE_ADDRESS: Service.SERVICE_ADDRESS.default(TEST_SERVICE.SERVICE_ADDRESS),
  SERVICE_KVK: Service.SERVICE_KVK.default(TEST_SERVICE.SERVICE_KVK),
  SERVICE_VAT: z
    .string()
    .regex(/^NL\d{9}B\d{2}$/, "is a Dutch VAT number")
    .optional(),
  SERVICE_PHONE: Service.SERVICE_PHONE.default(TEST_SERVICE.SERVICE_PHONE),
  CONDITIONS_URL: Service.CONDITIONS_URL.default(TEST_SERVICE.CONDITIONS_URL),
  PRIVACY_URL: Service.PRIVACY_URL.default(TEST_SERVICE.PRIVACY_URL),
  EAN_REGISTER: z.enum(["http", "table"]).default("table"),
  EAN_REGISTER_URL: url.optional(),
  EAN_REGISTER_KEY: z.string().min(1).optional(),
  OCPP_GATEWAY_URL: url.default("wss://ocpp.example.com"),
  SMTP_URL: z.string().optional(),
  DOCS_URL: url.optional(),
  WEBHOOK_ALLOW_LOOPBACK: z.enum(["true", "false"]).default("false"),
  LOG_REQUESTS: z.enum(["all", "sampled"]).default("sampled"),
});

/** On production nothing stands in for who the service is. */
const ProductionConfiguration = Configuration.extend(Service);

export type Configuration = z.output<typeof Configuration>;

/** Everything a function reaches outside itself. Tests hand in their own; hosted it is read once, at the first request. */
export type Environment = {
  config: Configuration;
  db: Db;
  /** The same as another role, for what takes long: its statements and their locks may wait longer. */
  slowDb: Db;
  now: () => Date;
  log: Log;
  /** Has the worker send what was just put in the outbox. Nobody waits for it. */
  kick: () => void;
  /** Work that goes on after the answer. */
  waitUntil: (work: Promise<unknown>) => void;
};

/** A deployment that is not configured: says which variables, never their values. */
export class ConfigurationError extends Error {
  override name = "ConfigurationError";
}

/** @throws {ConfigurationError} naming every variable that is missing or malformed. */
export function readConfiguration(variables: Record<string, string | undefined>): Configuration {
  const rules = variables.API_HOST === "production" ? ProductionConfiguration : Configuration;
  const result = rules.safeParse(variables);
  if (result.success) return result.data;
  const faults = result.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  throw new ConfigurationError(`Set these variables (see .env.example): ${faults.join("; ")}`);
}

export function readEnvironment(variables: Record<string, string | undefined> = process.env): Environment {
  const config = readConfiguration(variables);
  const kick = kicker(config);
  return {
    config,
    db: connect(config.EDGE_DATABASE_URL, QUICK, kick),
    slowDb: connect(config.EDGE_SLOW_DATABASE_URL, SLOW, kick),
    now: () => new Date(),
    log: consoleLog(config.LOG_REQUESTS),
    kick,
    waitUntil,
  };
}

/** What the platform (Supabase Edge Runtime) offers: a function that has answered is kept for what it still does. */
type Platform = { EdgeRuntime?: { waitUntil: (work: Promise<unknown>) => void } };

/** Elsewhere the process lives on by itself. */
function waitUntil(work: Promise<unknown>): void {
  (globalThis as Platform).EdgeRuntime?.waitUntil(work);
}

/** Long enough for a cold worker. What a kick did not reach, the schedule does. */
const KICK_MS = 5_000;

/** Asks the worker to send what waits; of several kicks at once one is sent. */
export function kicker({ SUPABASE_URL, WORKER_SECRET }: Pick<Configuration, "SUPABASE_URL" | "WORKER_SECRET">) {
  const send = gather(() =>
    fetch(`${SUPABASE_URL}/functions/v1/worker/kick`, {
      method: "POST",
      headers: { Authorization: `Bearer ${WORKER_SECRET}` },
      signal: AbortSignal.timeout(KICK_MS),
    }).then(
      (response) => response.body?.cancel(),
      () => {},
    ),
  );
  return () => waitUntil(send());
}

/** Makes something from an environment once and keeps it as long as the environment lives (key sets, registers). */
export function oncePerEnvironment<T>(make: (environment: Environment) => T): (environment: Environment) => T {
  const made = new WeakMap<Environment, T>();
  return (environment) => {
    let value = made.get(environment);
    if (value === undefined) {
      value = make(environment);
      made.set(environment, value);
    }
    return value;
  };
}
