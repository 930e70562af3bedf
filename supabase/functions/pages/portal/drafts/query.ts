import { lineIn } from "../line.ts";
import type { PortalRequest } from "../request.ts";

export const STATUSES = ["invited", "claimed", "active", "conflict", "expired"] as const;
/** A stage, or several together: whoever began and whoever has become a customer since. */
export const STAGES = ["invited", "begun", "claimed", "active", "conflict", "expired"] as const;
export type Stage = (typeof STAGES)[number];
export const stagesOf = (stage: Stage): readonly (typeof STATUSES)[number][] =>
  stage === "begun" ? ["claimed", "active"] : [stage];
export const NEEDS = ["conflict", "mail", "ean", "expiring"] as const;

/** By what they are sorted; the newest first where nothing is named. */
export const SORTS = ["oldest", "name", "status", "until", "city"] as const;

/** What the address looks for; what it cannot mean is left out. */
export type DraftQuery = {
  q?: string;
  status?: Stage;
  needs?: (typeof NEEDS)[number];
  sort?: (typeof SORTS)[number];
};

/** Drafts of a page. */
export const PAGE = 25;

export function askedOf({ c }: PortalRequest): DraftQuery {
  const q = lineIn(c.req.query("q"));
  const status = STAGES.find((each) => each === c.req.query("status"));
  const needs = NEEDS.find((each) => each === c.req.query("needs"));
  const sort = SORTS.find((each) => each === c.req.query("sort"));
  return {
    ...(q ? { q } : {}),
    ...(status ? { status } : {}),
    ...(needs ? { needs } : {}),
    ...(sort ? { sort } : {}),
  };
}
