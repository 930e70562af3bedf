import type { Call } from "#shared/foundation/answers.ts";
import type { Environment } from "#shared/foundation/environment.ts";

/** The api functions that OCPI may run. */
export const SQL = ["read_ocpi_registration", "register_ocpi", "unregister_ocpi", "take_cdr", "get_cdr"] as const;

/** A request of a platform, admitted by its first statement. */
export type PlatformRequest = {
  environment: Environment;
  /** OCPI_PARTY. */
  self: string;
  request: Request;
  param: (name: string) => string;
  /** The body as it was sent. */
  text: string;
  /** The tokens that the Authorization header may mean. */
  tokens: string[];
  call: Call<(typeof SQL)[number]>;
  /** Who asks. @throws {ApiError} if they are not admitted. */
  owner: () => Promise<string>;
  /** Puts a line in the log. It must have no value that was sent. */
  note: (line: Record<string, string>) => void;
};
