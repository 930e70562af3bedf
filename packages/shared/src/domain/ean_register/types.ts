import type { EanRegisterAddress, EanRegisterPoint } from "#shared/domain/answers.ts";

/** An address of which the caller may know only a part; the database has the rest. */
export type PartialAddress = { [part in keyof EanRegisterAddress]?: EanRegisterAddress[part] | undefined };

/** Why there is no answer. `silent` and the sandbox's `timeout` are test values; the others are real failures. */
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
  /** A reference instead of an answer: core.ean_register_points, read by the statement that needs it. */
  | { source: "table" };

/**
 * Finds the metering points at an address. The EAN register only reports. SQL judges whether an EAN matches, and what
 * a missing answer means.
 */
export type EanRegister = {
  /** An answer that needs no I/O and no more of the address; null if `lookup` is needed. */
  known(address: PartialAddress, ean_code?: string): EanRegisterAnswer | null;
  /** Never throws or rejects: if the register is down, the answer is `unavailable`. */
  lookup(address: EanRegisterAddress, ean_code?: string): Promise<EanRegisterAnswer>;
};

export type EanRegisterConfig = {
  host: "sandbox" | "production";
  driver: "http" | "table";
  /** Root of the EAN-codeboek; null means the public one. */
  url: string | null;
  /** Sent as X-API-Key, if the EAN register asks for a key. */
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
