/** What an operator sets; docs/deploy.md describes each variable. */

export type AddressSource = "socket" | "proxy" | { header: string; entry: number | null };

export type Settings = {
  /** Root of the edge function's routes, without a slash at the end. */
  functionUrl: string;
  secret: string;
  host: string;
  port: number;
  adminPort: number;
  /** Where a charger's network address comes from. */
  clientAddress: AddressSource;
  mostConnections: number;
  admissionsPerSecond: number;
  /** Time between two pings. Two without an answer end a connection that has answered one before. */
  pingMs: number;
  /** After such a silence we ask whether the charger is connected elsewhere. */
  silentMs: number;
  /** Time between two reports of who was heard of. */
  seenMs: number;
  /** MeterValues of a charger that come faster are held back, and passed on together. */
  valuesMs: number;
  /** From when a connection counts as live: chargers send what they queued first. */
  liveMs: number;
  /** One try of a call to the function. */
  callMs: number;
  /** The longest time over which connections are closed at the end. */
  drainMs: number;
};

export const DEFAULTS = {
  host: "0.0.0.0",
  port: 8080,
  adminPort: 9090,
  clientAddress: "socket",
  mostConnections: 20_000,
  admissionsPerSecond: 50,
  pingMs: 45_000,
  silentMs: 20 * 60_000,
  seenMs: 60_000,
  valuesMs: 60_000,
  liveMs: 60_000,
  callMs: 6_000,
  drainMs: 30_000,
} satisfies Partial<Settings>;

/** A gateway that is not configured: says which variables, never their values. */
export class SettingsError extends Error {
  override name = "SettingsError";
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** @throws {SettingsError} naming every variable that is missing or malformed. */
export function readSettings(variables: Record<string, string | undefined>): Settings {
  const faults: string[] = [];
  const whole = (name: string, fallback: number, from: number, to: number) => {
    const text = variables[name];
    if (text === undefined || text === "") return fallback;
    const number = Number(text);
    if (!/^\d+$/.test(text) || number < from || number > to) faults.push(`${name}: must be from ${from} to ${to}`);
    return number;
  };
  const functionUrl = (variables.GATEWAY_FUNCTION_URL ?? "").replace(/\/+$/, "");
  const url = URL.canParse(functionUrl) ? new URL(functionUrl) : null;
  if (!url || !(url.protocol === "https:" || (url.protocol === "http:" && LOOPBACK.test(url.hostname))))
    faults.push("GATEWAY_FUNCTION_URL: must be an https URL (http on this machine only)");
  const secret = variables.GATEWAY_SECRET ?? "";
  if (secret.length < 32) faults.push("GATEWAY_SECRET: must have at least 32 characters");
  const source = variables.CLIENT_ADDRESS || "socket";
  if (!/^(?:socket|proxy|[a-z][a-z0-9-]*(?::[1-9])?)$/.test(source))
    faults.push(
      "CLIENT_ADDRESS: must be socket, proxy, or a header in lower case, with :n for its n-th entry from the right",
    );
  const [header = "", entry] = source.split(":");
  const settings: Settings = {
    ...DEFAULTS,
    functionUrl,
    secret,
    host: variables.HOST || DEFAULTS.host,
    port: whole("PORT", DEFAULTS.port, 0, 65_535),
    adminPort: whole("ADMIN_PORT", DEFAULTS.adminPort, 0, 65_535),
    mostConnections: whole("MOST_CONNECTIONS", DEFAULTS.mostConnections, 1, 200_000),
    admissionsPerSecond: whole("ADMISSIONS_PER_SECOND", DEFAULTS.admissionsPerSecond, 1, 10_000),
    clientAddress:
      header === "socket" || header === "proxy"
        ? header
        : { header, entry: entry === undefined ? null : Number(entry) },
  };
  if (faults.length > 0) throw new SettingsError(`Set these variables (see docs/deploy.md): ${faults.join("; ")}`);
  return settings;
}
