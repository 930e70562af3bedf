import process from "node:process";
import * as z from "zod";
import { connect, type Db, SLOW } from "./db.ts";
import { type Log, logToConsole } from "./log.ts";

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
  PUBLISHABLE_KEY: z.string().min(1).optional(),
  SUPABASE_SECRET_KEY: z.string().min(1).optional(),
  SUPABASE_SECRET_KEYS: json.pipe(z.record(z.string(), z.string())).optional(),
  KEY_PREFIX: keyPrefix.default("ere"),
  SERVICE_NAME: z.string().default("ERE Service"),
  SUPPORT_EMAIL: z.email().default("support@example.com"),
  EAN_REGISTER: z.enum(["http", "table"]).default("table"),
  EAN_REGISTER_URL: url.optional(),
  EAN_REGISTER_KEY: z.string().min(1).optional(),
  OCPP_GATEWAY_URL: url.default("wss://ocpp.example.com"),
  SMTP_URL: z.string().optional(),
  MAIL_FROM: z.string().default("ERE Service <no-reply@example.com>"),
});

export type Configuration = z.output<typeof Configuration>;

/** Everything a function reaches outside itself. Tests hand in their own; hosted it is read once, at the first request. */
export type Environment = {
  config: Configuration;
  db: Db;
  /** The same as another role, for what takes long: its statements and their locks may wait longer. */
  slowDb: Db;
  now: () => Date;
  log: Log;
};

/** A deployment that is not configured: says which variables, never their values. */
export class ConfigurationError extends Error {
  override name = "ConfigurationError";
}

/** @throws {ConfigurationError} naming every variable that is missing or malformed. */
export function readConfiguration(variables: Record<string, string | undefined>): Configuration {
  const result = Configuration.safeParse(variables);
  if (result.success) return result.data;
  const faults = result.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  throw new ConfigurationError(`Set these variables (see .env.example): ${faults.join("; ")}`);
}

export function readEnvironment(variables: Record<string, string | undefined> = process.env): Environment {
  const config = readConfiguration(variables);
  return {
    config,
    db: connect(config.EDGE_DATABASE_URL),
    slowDb: connect(config.EDGE_SLOW_DATABASE_URL, SLOW),
    now: () => new Date(),
    log: logToConsole,
  };
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
