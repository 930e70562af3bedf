import { dayOf } from "#shared/values/dutch_clock.ts";
import type { Cell } from "../../kit/csv.ts";
import type { PortalFrame } from "../request.ts";
import { WORDS } from "../words.ts";
import type { Draft } from "./model.ts";
import { numberOf } from "./number.ts";

/** The columns of the file of drafts. */
export function columnsOf(frame: PortalFrame): Cell[] {
  const { person, email, status, connection, made, invited, claimed, until, city, reference, number } =
    WORDS[frame.locale].drafts;
  return [person, email, status, connection, made, invited, claimed, until, city, reference, number];
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
    numberOf(draft.draft_id),
  ];
}
