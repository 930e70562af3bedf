import { Dashboard } from "#shared/endpoints/responses/partner.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";
import { DraftEanStatus } from "#shared/values/draft_ean_status.ts";
import { MailFailure } from "#shared/values/mail_failure.ts";
import { AccountType } from "#shared/values/models.ts";
import { Who } from "../model.ts";

/** What the api functions of pages/partner/portal_drafts.sql answer. */

export const DraftStatus = Dashboard.shape.drafts.keyof();
export type DraftStatus = z.output<typeof DraftStatus>;

const Draft = z.object({
  draft_id: z.string(),
  status: DraftStatus,
  type: AccountType,
  name: z.string().nullable(),
  email: z.string(),
  external_ref: z.string().nullable(),
  city: z.string().nullable(),
  ean_status: DraftEanStatus,
  ean_candidates: z.number(),
  created_at: z.string(),
  invited_at: z.string().nullable(),
  claimed_at: z.string().nullable(),
  expires_at: z.string(),
  mail_failed_at: z.string().nullable(),
  mail_failed_reason: MailFailure.nullable(),
});
export type Draft = z.output<typeof Draft>;

const Drafts = z.object({
  who: Who,
  drafts: z.array(Draft),
  /** How many were found among those that were searched, and how many of each status whatever status is asked for. */
  total: z.number(),
  counts: z.partialRecord(DraftStatus, z.number()),
  /** Where the older ones begin that were not searched. */
  more_after: z.string().nullable(),
});
export type Drafts = z.output<typeof Drafts>;

/** Whether the customer may be mailed once more: private.draft_mailing. */
const MailingState = z.enum(["may", "too_soon", "mail_limit", "enough", "opted_out", "not_claimable"]);
export type MailingState = z.output<typeof MailingState>;

const OneDraft = z.object({
  who: Who,
  draft: Draft,
  mailing: z.object({
    state: MailingState,
    last_at: z.string().nullable(),
    again_at: z.string().nullable(),
    by_hand: z.number(),
  }),
  claim_url: z.string().nullable(),
  /** Of whom it became. */
  customer_ref: z.string().nullable(),
});
export type OneDraft = z.output<typeof OneDraft>;

const Withdrawn = z.object({ withdrawn: z.number(), kept: z.number() });
export type Withdrawn = z.output<typeof Withdrawn>;

export const ANSWERS = {
  read_portal_drafts: Drafts,
  read_portal_draft: OneDraft,
  invite_draft_again: z.object({ state: MailingState }),
  invite_drafts_again: z.object({ sent: z.number(), not_sent: z.number() }),
  withdraw_drafts: Withdrawn,
};
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
