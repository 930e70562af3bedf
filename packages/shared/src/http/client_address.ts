import { isIPv4, isIPv6 } from "node:net";
import { hashAddress } from "#shared/auth/tokens.ts";
import { type Configuration, ConfigurationError } from "#shared/foundation/configuration.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { ApiError } from "#shared/foundation/errors.ts";

/**
 * The client's network address, as the platform saw it: read from the header in CLIENT_ADDRESS. Personal data:
 * evidence of a signature, never logged. There is no fallback, because the client can write every other header.
 * @throws {ApiError} `service_unavailable`, with the variable named in the log
 */
export function clientAddress(request: Request, config: Configuration): string {
  const address = findAddress(request, config);
  if (address !== null) return address;
  const { header, entry } = config.CLIENT_ADDRESS;
  const where = entry === null ? header : `entry ${entry} from the right of ${header}`;
  const fault = new ConfigurationError(`CLIENT_ADDRESS: this request has no network address in ${where}`);
  throw new ApiError("service_unavailable", {}, fault);
}

/** The address in the header that CLIENT_ADDRESS names, or null. */
export function findAddress({ headers }: Request, { CLIENT_ADDRESS: { header, entry } }: Configuration): string | null {
  const value = headers.get(header) ?? "";
  // without an entry the header is the platform's own: one address, and a list is invalid
  return canonical((entry === null ? value : (value.split(",").at(-entry) ?? "")).trim());
}

/** The origin of a request, for counting. */
export function clientHash(request: Request, environment: Environment): string {
  return hashAddress(environment, networkOf(clientAddress(request, environment.config)));
}

/** An address in its canonical spelling, or null. IPv4 within IPv6 (::ffff:192.0.2.1) is IPv4. */
function canonical(address: string): string | null {
  if (isIPv4(address)) return address;
  if (!isIPv6(address)) return null;
  const spelled = URL.parse(`http://[${address}]`)?.hostname.slice(1, -1);
  if (!spelled) return null; // a zone, which no client on the internet has
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(spelled);
  if (!mapped) return spelled;
  const [high = 0, low = 0] = mapped.slice(1).map((part) => Number.parseInt(part, 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/**
 * The unit that counts as one client: an IPv4 address, or a 64-bit IPv6 network, because one subscriber has all of
 * it.
 */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [front = "", back] = address.split("::");
  const left = front.split(":").filter(Boolean);
  const right = (back ?? "").split(":").filter(Boolean);
  const zeros = Array<string>(8 - left.length - right.length).fill("0");
  return `${[...left, ...zeros, ...right].slice(0, 4).join(":")}::/64`;
}
