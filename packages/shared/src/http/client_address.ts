import { hashAddress } from "#shared/auth/tokens.ts";
import { type Configuration, ConfigurationError } from "#shared/foundation/configuration.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { ApiError } from "#shared/foundation/errors.ts";
import { canonical, networkOf } from "#shared/values/network.ts";

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
