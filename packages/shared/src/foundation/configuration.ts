/**
 * What an operator sets; `.env.example` describes each. Checked by hand, without zod: every function reads this before
 * its first answer, and some would load zod only for this (docs/results/performance.md, "A cold start").
 */

/** A deployment that is not configured: says which variables, never their values. */
export class ConfigurationError extends Error {
  override name = "ConfigurationError";
}

/** Reads the text of one variable. @throws {ConfigurationError} what it must be. */
type Rule<Value = unknown> = (text: string) => Value;

/** `value`, or the fault where it is not what it must be. */
function held<Value>(holds: boolean, fault: string, value: Value): Value {
  if (!holds) throw new ConfigurationError(fault);
  return value;
}

const like =
  (pattern: RegExp, fault: string): Rule<string> =>
  (text) =>
    held(pattern.test(text), fault, text);

const some = like(/./s, "must not be empty");

const oneLine =
  (longest: number): Rule<string> =>
  (text) => {
    const line = text.trim();
    return held(
      /^[^\p{Cc}]+$/u.test(line) && line.length <= longest,
      `must be one line of at most ${longest} characters`,
      line,
    );
  };

const oneOf =
  <const Choice extends string>(...choices: Choice[]): Rule<Choice> =>
  (text) =>
    held(choices.includes(text as Choice), `must be one of ${choices.join(", ")}`, text as Choice);

const url: Rule<string> = (text) => held(URL.canParse(text.trim()), "must be a URL", text.trim().replace(/\/+$/, ""));

const email = like(
  /^(?:[\w'+-]+\.)*[\w'+-]*[\w+-]@(?:[A-Za-z0-9][A-Za-z0-9-]*\.)+[A-Za-z]{2,}$/,
  "must be an e-mail address",
);

/** `cf-connecting-ip`: a header of the platform's own. `x-forwarded-for:2`: the second entry from the right of one that grows. */
const addressSource: Rule<{ header: string; entry: number | null }> = (text) => {
  const fault = "must be a header's name, in lower case, and :n for its n-th entry from the right";
  const [header = "", entry] = held(/^[a-z][a-z0-9-]*(:[1-9])?$/.test(text), fault, text).split(":");
  return { header, entry: entry === undefined ? null : Number(entry) };
};

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ConfigurationError("must be JSON");
  }
}

type Fields = Record<string, unknown>;
const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A private key, as a JWK. */
type TokenKey = { kty: "EC"; crv: "P-256"; kid: string; x: string; y: string; d: string };

const isTokenKey = (key: unknown): key is TokenKey =>
  isObject(key) &&
  key.kty === "EC" &&
  key.crv === "P-256" &&
  ["kid", "x", "y", "d"].every((name) => typeof key[name] === "string");

const tokenKeys: Rule<{ keys: TokenKey[] }> = (text) => {
  const set = json(text);
  const keys = isObject(set) && Array.isArray(set.keys) ? set.keys : [];
  return { keys: held(keys.length > 0 && keys.every(isTokenKey), "must be a JWKS of private keys for ES256", keys) };
};

/** Keys by their names: `current` makes, all of them read. */
export type KeyRing = { current: string; keys: Record<string, string> };

/** A ring of keys, as JSON. @throws {ConfigurationError} what it must be. */
export const readKeyRing: Rule<KeyRing> = (text) => {
  const ring = Object(json(text));
  const keys = Object(ring.keys);
  const all = [keys[ring.current], ...Object.values(keys)];
  return held(
    all.every((key) => typeof key === "string" && /^[\w+/]{43}=$/.test(key)),
    "must be 32-byte base64 keys, one current",
    ring,
  );
};

/** One secret, or while it is rotated two: the new one, which is shown to others, and the old one, still taken. */
const secret = like(
  /^[^\s,]{32,}(,[^\s,]{32,})?$/,
  "must have at least 32 characters and no space, or while it rotates be two of these: new,old",
);
/** The secrets of a variable, the current one first. */
export const secretsIn = (text: string): [string, ...string[]] => text.split(",") as [string, ...string[]];

const texts: Rule<Record<string, string>> = (text) => {
  const value = json(text);
  const hold = isObject(value) && Object.values(value).every((each) => typeof each === "string");
  return held(hold, "must be an object of texts", value as Record<string, string>);
};

/** What the keys and tokens of a deployment begin with. */
export const KEY_PREFIX = /^[a-z]{2,12}$/;

const REQUIRED = {
  API_HOST: oneOf("sandbox", "production"),
  BASE_URL: url,
  AUTH_URL: url,
  PAGES_URL: url,
  EDGE_DATABASE_URL: some,
  EDGE_SLOW_DATABASE_URL: some,
  TOKEN_KEYS: tokenKeys,
  IBAN_KEYS: readKeyRing,
  LINK_KEYS: readKeyRing,
  OPT_OUT_KEYS: readKeyRing,
  CUSTOMER_REF_KEYS: readKeyRing,
  WORKER_SECRET: secret,
  METRICS_SECRET: secret,
  GATEWAY_SECRET: secret,
  CLIENT_ADDRESS: addressSource,
  SUPABASE_URL: url,
  KEY_PREFIX: like(KEY_PREFIX, "must be 2 to 12 lower-case letters"),
  // who the service is: what a mandate authorises, and what a signatory is shown of it
  SERVICE_NAME: oneLine(80),
  SUPPORT_EMAIL: email,
  MAIL_FROM: oneLine(200),
  SERVICE_ADDRESS: oneLine(200),
  SERVICE_KVK: like(/^\d{8}$/, "must be a number of 8 digits"),
  SERVICE_PHONE: like(/^\+?\d(?:[ -]?\d){8,14}$/, "must be a telephone number"),
  CONDITIONS_URL: url,
  PRIVACY_URL: url,
  EAN_REGISTER: oneOf("http", "table"),
  WEBHOOK_ALLOW_LOOPBACK: oneOf("true", "false"),
  LOG_REQUESTS: oneOf("all", "sampled"),
} satisfies Record<string, Rule>;

/** Each opens one door, so no two may be equal. */
const DOORS = ["WORKER_SECRET", "METRICS_SECRET", "GATEWAY_SECRET"] as const;
const haveOne = (one: unknown, other: unknown) =>
  typeof one === "string" &&
  typeof other === "string" &&
  secretsIn(one).some((each) => secretsIn(other).includes(each));

const OPTIONAL = {
  EDGE_REPLICA_DATABASE_URL: some,
  SIGN_IN_ISSUER: url,
  PUBLISHABLE_KEY: some,
  SUPABASE_SECRET_KEY: some,
  SUPABASE_SECRET_KEYS: texts,
  SERVICE_VAT: like(/^NL\d{9}B\d{2}$/, "must be a Dutch VAT number"),
  EAN_REGISTER_URL: url,
  EAN_REGISTER_KEY: some,
  SMTP_URL: (text: string) => text,
  DOCS_URL: url,
  OCPP_GATEWAY_URL: url,
  OCPI_PARTY: like(/^[A-Z]{2}-[A-Z0-9]{3}$/, "must be a country and a party, such as NL-ERE"),
} satisfies Record<string, Rule>;

/** What stands for a variable that is not set. */
const DEFAULTS: Partial<Record<keyof typeof REQUIRED, string>> = {
  KEY_PREFIX: "ere",
  EAN_REGISTER: "table",
  WEBHOOK_ALLOW_LOOPBACK: "false",
  LOG_REQUESTS: "sampled",
};

/** What stands for who the service is where nobody signs anything real. On production nothing does. */
export const TEST_SERVICE = {
  SERVICE_NAME: "ERE Service",
  SUPPORT_EMAIL: "support@example.com",
  MAIL_FROM: "ERE Service <no-reply@example.com>",
  SERVICE_ADDRESS: "Teststraat 1, 1234 AB Teststad",
  SERVICE_KVK: "12345678",
  SERVICE_PHONE: "+31 20 123 45 67",
  CONDITIONS_URL: "https://example.com/conditions",
  PRIVACY_URL: "https://example.com/privacy",
} as const satisfies Partial<Record<keyof typeof REQUIRED, string>>;

export type Configuration = { [Name in keyof typeof REQUIRED]: ReturnType<(typeof REQUIRED)[Name]> } & {
  [Name in keyof typeof OPTIONAL]?: ReturnType<(typeof OPTIONAL)[Name]> | undefined;
};

const defaultsFor = (host: string | undefined): Record<string, string> => ({
  ...DEFAULTS,
  ...(host === "production" ? {} : TEST_SERVICE),
});

/** The variables without which no function of a host starts. */
export const requiredFor = (host: string): string[] =>
  Object.keys(REQUIRED).filter((name) => !(name in defaultsFor(host)));

/** @throws {ConfigurationError} naming every variable that is missing or malformed. */
export function readConfiguration(variables: Record<string, string | undefined>): Configuration {
  const defaults = defaultsFor(variables.API_HOST);
  const faults: string[] = [];
  const config: Fields = {};
  const rules: Record<string, Rule> = { ...REQUIRED, ...OPTIONAL };
  for (const [name, rule] of Object.entries(rules)) {
    const text = variables[name] ?? defaults[name];
    try {
      if (text !== undefined) config[name] = rule(text);
      else if (name in REQUIRED) throw new ConfigurationError("is not set");
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      faults.push(`${name}: ${error.message}`);
    }
  }
  for (const [index, name] of DOORS.entries())
    if (DOORS.slice(0, index).some((other) => haveOne(config[name], config[other])))
      faults.push(`${name}: must be another secret than ${DOORS.slice(0, index).join(" and ")}`);
  if (faults.length === 0) return config as Configuration;
  throw new ConfigurationError(`Set these variables (see .env.example): ${faults.join("; ")}`);
}
