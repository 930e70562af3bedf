import type { Rate } from "./admission.ts";

export type { Rate };

/** Microseconds between two requests of who makes use of a whole quota: rounded down as `private.step` does. */
const stepOf = ({ quota, window }: Rate) => Math.max(Math.floor((window * 1_000_000) / quota), 1);

/** Requests that fit at once. */
export function remaining(rate: Rate): number {
  const room = Math.floor((rate.window * 1_000_000 - rate.full_in) / stepOf(rate));
  return Math.min(Math.max(room, 0), rate.quota);
}

/** Seconds until the whole quota fits again. */
export function resetsIn({ full_in }: Rate): number {
  return Math.ceil(full_in / 1_000_000);
}

/** Seconds until one more request fits: at least 1 after a refusal. */
export function fitsIn(rate: Rate): number {
  const wait = Math.ceil((stepOf(rate) + rate.full_in - rate.window * 1_000_000) / 1_000_000);
  return Math.max(wait, rate.allowed ? 0 : 1);
}
