import type {} from "../../kit/page_request.ts";
import type { Figures, Who } from "../model.ts";

/** What the api functions of pages/partner/portal_drafts.sql answer. */

export type DraftStatus = keyof Figures["drafts"];

export type Draft = {
  draft_id: string;
  status: DraftStatus;
  type: "particulier" | "zakelijk" | "vve";
  name: string | null;
  email: string;
  external_ref: string | null;
  city: string | null;
  ean_status: "pending" | "resolved" | "ambiguous" | "not_found" | "provided" | "no_address" | "failed";
  ean_candidates: number;
  created_at: string;
  invited_at: string | null;
  claimed_at: string | null;
  expires_at: string;
};

/** What the log of changes calls a draft, also once it is withdrawn and its data is gone. */
export const numberOf = (draft_id: string): string => draft_id.slice(0, 8);

export type Drafts = {
  who: Who;
  drafts: Draft[];
  /** How many were found among those that were searched, and how many of each status whatever status is asked for. */
  total: number;
  counts: Partial<Record<DraftStatus, number>>;
  /** Where the older ones begin that were not searched. */
  more_after: string | null;
};

/** Whether the customer may be mailed once more: private.draft_mailing. */
export type MailingState = "may" | "too_soon" | "mail_limit" | "enough" | "opted_out" | "not_claimable";

export type OneDraft = {
  who: Who;
  draft: Draft;
  mailing: { state: MailingState; last_at: string | null; again_at: string | null; by_hand: number };
  claim_url: string | null;
  /** Of whom it became. */
  customer_ref: string | null;
};

export type Withdrawn = { withdrawn: number; kept: number };

declare module "../../kit/page_request.ts" {
  interface SqlAnswers {
    read_portal_drafts: Drafts;
    read_portal_draft: OneDraft;
    invite_draft_again: { state: MailingState };
    invite_drafts_again: { sent: number; not_sent: number };
    withdraw_drafts: Withdrawn;
  }
}
