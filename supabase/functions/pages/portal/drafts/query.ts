import { lineIn } from "../line.ts";
import type { PortalVisit } from "../visit.ts";

export const STATUSES = ["invited", "claimed", "active", "conflict", "expired"] as const;
export const NEEDS = ["conflict", "ean", "expiring"] as const;

/** What the address looks for; what it cannot mean is left out. */
export type DraftQuery = { q?: string; status?: (typeof STATUSES)[number]; needs?: (typeof NEEDS)[number] };

export function askedOf({ c }: PortalVisit): DraftQuery {
  const q = lineIn(c.req.query("q"));
  const status = STATUSES.find((each) => each === c.req.query("status"));
  const needs = NEEDS.find((each) => each === c.req.query("needs"));
  return { ...(q ? { q } : {}), ...(status ? { status } : {}), ...(needs ? { needs } : {}) };
}
