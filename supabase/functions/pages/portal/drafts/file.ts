import type { Cell } from "../../kit/csv.ts";
import type { PortalFrame } from "../visit.ts";
import { WORDS } from "../words.ts";
import type { Draft } from "./model.ts";

const dayOf = (moment: string | null): string | null => moment?.slice(0, 10) ?? null;

/** The columns of the file of drafts. */
export function columnsOf(frame: PortalFrame): Cell[] {
  const { person, email, status, connection, made, invited, claimed, until, city, reference } =
    WORDS[frame.locale].drafts;
  return [person, email, status, connection, made, invited, claimed, until, city, reference];
}

export function rowOf(frame: PortalFrame, draft: Draft): Cell[] {
  const words = WORDS[frame.locale].drafts;
  return [
    draft.name,
    draft.email,
    words.statuses[draft.status],
    words.ean_short[draft.ean_status],
    dayOf(draft.created_at),
    dayOf(draft.invited_at),
    dayOf(draft.claimed_at),
    draft.status === "invited" ? dayOf(draft.expires_at) : null,
    draft.city,
    draft.external_ref,
  ];
}
