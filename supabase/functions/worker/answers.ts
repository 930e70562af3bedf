import { Brand, EanRegisterAddress, Locale, Sealed } from "#shared/domain/answers.ts";
import { storedMail } from "#shared/domain/mail/answers.ts";
import type { Notice } from "#shared/domain/mail/notices.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";

const LeasedMail = z.object({
  partner_id: z.string(),
  id: z.string(),
  recipient: z.string(),
  ...storedMail,
});
export type LeasedMail = z.output<typeof LeasedMail>;

/** A notice as private.notice_post gives it. */
const DueNotice = z.object({
  partner_id: z.string(),
  notice_id: z.string(),
  notice: z.custom<Notice>((notice) => typeof notice === "object"),
  locale: Locale,
  full_name: z.string(),
  partner_name: z.string(),
  brand: Brand.nullable(),
  account: z.enum(["own", "cpo"]),
  /** The claim through which a person has pages of their own. */
  draft_id: z.string().nullable(),
  /** For a payout: whether the customer can sign in to the page that shows it. */
  may_sign_in: z.boolean(),
  /** Whether the signatory may sign again, for which there is a link in the mail. */
  may_sign: z.boolean(),
});
export type DueNotice = z.output<typeof DueNotice>;

const DueDraft = EanRegisterAddress.extend({ partner_id: z.string(), draft_id: z.string() });
export type DueDraft = z.output<typeof DueDraft>;

const DueConnection = EanRegisterAddress.extend({
  partner_id: z.string(),
  connection_id: z.string(),
  ean_code: z.string(),
});
export type DueConnection = z.output<typeof DueConnection>;

const Pull = z.object({
  partner_id: z.string(),
  owner_id: z.string(),
  lease_id: z.string(),
  versions_url: z.string(),
  cdrs_url: z.string(),
  origins: z.array(z.string()),
  their_token: Sealed,
  plain_token: z.boolean(),
  /** Whom to ask: hubs, which answer for all behind them, then each party. */
  parties: z.array(z.string()),
  /** Whose CDRs are read; null for the first of them. */
  party: z.string().nullable(),
  /** What was refused in this pass: of the first such party, and how many parties. */
  refused: z.object({ reason: z.string(), saw: z.string(), parties: z.number() }).nullable(),
  date_from: z.string(),
  date_to: z.string(),
  offset: z.number(),
});
export type Pull = z.output<typeof Pull>;

/** A parked CDR. `words` are what was kept of it. */
const Unread = z.object({
  partner_id: z.string(),
  owner_id: z.string(),
  words: z.unknown(),
  sent_sha256: z.string().nullable(),
});

const Post = z.object({
  event_id: z.string(),
  type: z.string(),
  attempt: z.number(),
  again: z.boolean(),
  sequence: z.number().nullable(),
  body: z.record(z.string(), z.unknown()),
});
export type Post = z.output<typeof Post>;

const LeasedWebhook = z.object({
  partner_id: z.string(),
  webhook_id: z.string(),
  lease_id: z.string(),
  url: z.string(),
  secrets: z.array(Sealed),
  posts: z.array(Post),
});
export type LeasedWebhook = z.output<typeof LeasedWebhook>;

const Figure = z.object({ name: z.string(), label: z.string().nullable(), value: z.number().nullable() });
export type Figure = z.output<typeof Figure>;

/** A job, and the client that it is for if it works through clients. */
const DueJob = z.object({ job: z.string(), partner_id: z.string().nullable(), owner_id: z.string().nullable() });
export type DueJob = z.output<typeof DueJob>;

export const ANSWERS = {
  due_jobs: z.array(DueJob),
  run_due_job: z.object({ rows: z.number() }),
  record_failed_job: z.object({ failures: z.number() }),
  run_draft_jobs: z.object({ expired: z.number(), purged: z.number(), reminded: z.number() }),
  due_draft_lookups: z.array(DueDraft),
  due_ean_checks: z.array(DueConnection),
  due_notices: z.array(DueNotice),
  mail_notices: z.object({ mailed: z.number() }),
  lease_mail: z.array(LeasedMail),
  read_waiting_mail: z.object({ waiting: z.number() }),
  lease_webhooks: z.array(LeasedWebhook),
  lease_ocpi_pulls: z.array(Pull),
  /** `leased` is false where another worker has the lease. */
  lease_unread_cdrs: z.array(Unread),
  take_reread_cdrs: z.object({ taken: z.number() }),
  take_pulled_cdrs: z.object({ leased: z.boolean(), faulty: z.number(), stale: z.number() }),
  chain_audit: z.object({
    chained: z.number(),
    more: z.boolean(),
    sealed: z.object({ day: z.string(), hash: z.string() }).nullable(),
  }),
  begin_ledger_check: z.object({ partner_id: z.string().nullable() }),
  finish_ledger_check: z.object({ wrong: z.number() }),
  recount_dashboard: z.object({ partner_id: z.string().nullable(), error: z.string().nullable() }),
  list_metrics: z.array(Figure),
};
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
