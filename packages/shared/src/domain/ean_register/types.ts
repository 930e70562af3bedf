export type EanRegisterAddress = {
  postal_code: string;
  house_number: number;
  house_number_addition: string | null;
};

/** An address of which the caller may know a part only, the rest being in the database. */
export type PartialAddress = { [part in keyof EanRegisterAddress]?: EanRegisterAddress[part] | undefined };

export type EanRegisterPoint = {
  ean_code: string;
  street: string | null;
  city: string | null;
  house_number_addition: string | null;
};

/** Why there is no answer. `silent` and the sandbox's `timeout` are test values; the others are what happened to a request. */
export type UnavailableReason =
  | "timeout"
  | "network"
  | "malformed"
  | "oversized"
  | "circuit_open"
  | "silent"
  | `status_${number}`;

export type EanRegisterAnswer =
  | { source: "codeboek" | "sandbox"; outcome: "points"; points: EanRegisterPoint[] }
  | { source: "codeboek" | "sandbox"; outcome: "unknown_address" }
  | { source: "codeboek" | "sandbox"; outcome: "unavailable"; reason: UnavailableReason }
  /** Not an answer but where to find it: core.ean_register_points, read by the statement that needs it. */
  | { source: "table" };

/**
 * Which metering points are at an address. The EAN register only reports; whether an EAN matches, and what a missing
 * answer means for a write, is for SQL to judge.
 */
export type EanRegister = {
  /** An answer that costs no input or output and needs no more of the address, or null: then `lookup` is needed. */
  known(address: PartialAddress, ean_code?: string): EanRegisterAnswer | null;
  /** Never throws and never rejects: a register that is down is the answer `unavailable`. */
  lookup(address: EanRegisterAddress, ean_code?: string): Promise<EanRegisterAnswer>;
};

export type EanRegisterConfig = {
  host: "sandbox" | "production";
  driver: "http" | "table";
  /** Root of the EAN-codeboek; null is the public one. */
  url: string | null;
  /** Sent as X-API-Key where the EAN register asks for one. */
  api_key?: string | null;
  fetch?: typeof fetch;
  now?: () => number;
  random?: () => number;
  sleep?: (ms: number) => Promise<void>;
  limits?: Partial<CodeboekLimits>;
};

export type CodeboekLimits = {
  attempt_ms: number;
  /** For a whole lookup: every page, retry and pause. */
  budget_ms: number;
  retries: number;
  backoff_ms: number;
  page_bytes: number;
  pages: number;
  circuit_failures: number;
  circuit_pause_ms: number;
  cache_entries: number;
  confirmed_ms: number;
  unconfirmed_ms: number;
};
