/** What the api functions behind the pages of a partner answer, as pages/partner/portal_start.sql says. */

import { Brand } from "#shared/domain/answers.ts";
import { WebhookAttempt } from "#shared/domain/events.ts";
import type {} from "#shared/endpoints/answers.ts";
import {
  Branding as BrandingFields,
  type Company,
  Dashboard,
  PartnerSelf,
  Payout,
} from "#shared/endpoints/responses/partner.ts";
import { Webhook } from "#shared/endpoints/responses/webhook.ts";
import type { AnswersOf, SqlAnswer } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";
import { checklist } from "#shared/values/gates.ts";

/** Who is signed in, and for whom. */
export const Who = z.object({ email: z.string(), partner_name: z.string() });
export type Who = z.output<typeof Who>;

export type Figures = z.output<typeof Dashboard>;
export type Month = Figures["months"][number];
export type Partner = z.output<typeof PartnerSelf>;
export type { Company, Webhook };
export type Attempt = z.output<typeof WebhookAttempt>;
export type LoggedEvent = SqlAnswer<"show_event">;

/** What an invoice in the partner's name still needs: private.why_no_invoice. */
export const InvoicesNeed = z
  .enum(["vat_regime_missing", "vat_number_missing", "vat_number_not_dutch", "vat_number_dutch", "address_missing"])
  .nullable();

/** As private.webhooks_counted. */
const WebhookCounts = z.object({ enabled: z.number(), disabled: z.number(), failing: z.number() });

/** at_least: there are more than are counted. */
const Won = z.object({ customers: z.number(), at_least: z.boolean() });

/** What a partner should look at, of its newest drafts and customers; `all` where there are no more. */
const Attention = z.object({
  drafts: z.object({
    examined: z.number(),
    all: z.boolean(),
    conflict: z.number(),
    mail: z.number(),
    ean: z.number(),
    expiring: z.number(),
  }),
  /** Null as long as the figures are. */
  customers: z
    .object({
      examined: z.number(),
      all: z.boolean(),
      without_charger: z.number(),
      without_mid: z.number(),
      mail: z.number(),
      rejected: z.number(),
      /** Of these and the next two: accounts of its CPO clients. */
      unsigned: z.number(),
      ean: z.number(),
      months_rejected: Won,
    })
    .nullable(),
  webhooks: WebhookCounts,
  /** What its CPO clients need; parked counts up to 1,001 charging sessions. */
  clients: z.array(
    z.object({ id: z.string(), name: z.string(), failing: z.number(), disabled: z.number(), parked: z.number() }),
  ),
  account_missing: z.boolean(),
  /** Why the last payment to the partner did not arrive, as private.payment_back; null where it did. */
  payment_failed: z.enum(["account", "holder", "none"]).nullable(),
  /** Accounts of its CPO clients whose IBAN has wrong check digits; up to 1,001. */
  iban_wrong: z.number(),
  /** Those whose last payment the bank sent back because of their IBAN; up to 1,001. */
  paid_back: z.number(),
  /** Accounts of its CPO clients whom mail does not reach; up to 1,001. */
  mail_failed: z.number(),
  invoices_need: InvoicesNeed,
  /** Customers that may be signed up in 30 days, and how many of them still. */
  cap: z.number(),
  cap_left: z.number(),
});
export type Attention = z.output<typeof Attention>;

const Start = z.object({
  who: Who,
  /** Whether they are a customer too. */
  own_pages: z.boolean(),
  /** Null until somebody has counted them: the first reader, or the worker where that reader's time ran out. */
  figures: Dashboard.nullable(),
  /** The same of the accounts of its CPO clients, which have no drafts. Null as long as figures is. */
  accounts: Dashboard.extend({ drafts: z.null() }).nullable(),
  /** Customers won in the year that was asked, else in this month, and in the one before. */
  /** `has_factor`: what a kWh of its year is worth in ERE is set. */
  period: z.object({ won: Won, won_before: Won, has_factor: z.boolean() }),
  /** What the share of new customers is, and the last average price of an ERE; null before the first. */
  terms: z.object({
    fee_pct: z.number(),
    share_pct: z.number(),
    price_per_ere_eur: z.number().nullable(),
    /** The same of what the accounts of its CPO clients sold. */
    accounts_price_per_ere_eur: z.number().nullable(),
    iban_last4: z.string().nullable(),
    /** Until when nothing is paid to a new account number. */
    iban_held_until: z.string().nullable(),
  }),
  /** Null as long as figures is. */
  payouts: z.array(Payout).nullable(),
  /** What it is owed, VAT included and debts taken off, with what is on its way to the bank. Null as long as figures is. */
  coming_eur: z.number().nullable(),
  attention: Attention,
});
export type Start = z.output<typeof Start>;

const Settings = z.object({
  who: Who,
  /** Within the last 15 minutes, as what moves money or shows a secret needs. */
  signed_in_recently: z.boolean(),
  partner: PartnerSelf,
  /** Until when nothing is paid to a new account number. */
  iban_held_until: z.string().nullable(),
  invoices_need: InvoicesNeed,
  webhooks: WebhookCounts,
  clients: z.number(),
});
export type Settings = z.output<typeof Settings>;

/** A row of the audit log that the partner's people, its key or the operator left. */
const Change = z.object({
  at: z.string(),
  action: z.string(),
  by: z.enum(["person", "key", "operator"]),
  /** Of the person; null where their login is gone. */
  email: z.string().nullable(),
  /** What it was about: a draft, a webhook or a manager that is still there, by name. */
  about: z.string().nullable(),
  subject_id: z.string().nullable(),
  details: z.record(z.string(), z.unknown()),
});
export type Change = z.output<typeof Change>;

/** They are counted for a page, and not for a file. */
const Log = z.object({
  who: Who,
  counts: z.object({ person: z.number(), key: z.number(), operator: z.number() }).nullable(),
  changes: z.array(Change),
  before: z.string().nullable(),
});
export type Log = z.output<typeof Log>;

/** Settings of how a partner looks, and what is made of them. */
const Branding = z.object({ who: Who, branding: BrandingFields, brand: Brand });
export type Branding = z.output<typeof Branding>;

const Webhooks = z.object({
  who: Who,
  signed_in_recently: z.boolean(),
  webhooks: z.array(Webhook),
  /** Its CPO clients, which have webhooks of their own. */
  clients: z.array(z.object({ id: z.string(), name: z.string(), webhooks: WebhookCounts })),
});
export type Webhooks = z.output<typeof Webhooks>;

const OneWebhook = z.object({
  who: Who,
  signed_in_recently: z.boolean(),
  webhook: Webhook,
  /** Until when the secret before this one signs too. */
  previous_until: z.string().nullable(),
  retries: z.object({ waiting: z.number(), given_up: z.number() }),
  /** Of the last 30 days; attempts are the newest of them. */
  attempts_total: z.number(),
  attempts: z.array(WebhookAttempt),
});
export type OneWebhook = z.output<typeof OneWebhook>;

const Client = z.object({
  id: z.string(),
  client_id: z.string(),
  name: z.string(),
  scopes: z.array(z.string()),
  missing_scopes: z.array(z.string()),
  created_at: z.string(),
  secret_number: z.number(),
  secret_rotated_at: z.string(),
  last_used_at: z.string().nullable(),
  disabled_at: z.string().nullable(),
  /** Counted up to 10,001. */
  accounts: z.number(),
  webhooks: WebhookCounts,
});
export type Client = z.output<typeof Client>;

const Clients = z.object({ who: Who, clients: z.array(Client) });
export type Clients = z.output<typeof Clients>;

const OneClient = z.object({
  who: Who,
  signed_in_recently: z.boolean(),
  client: Client,
  webhooks: z.array(Webhook.extend({ attempts: z.array(WebhookAttempt) })),
  /** The names of chargers that its parked sessions wait for. */
  parked: z.array(z.object({ kind: z.string(), value: z.string(), sessions: z.number() })),
  accounts: z.array(
    z.object({
      account_id: z.string(),
      reference: z.string().nullable(),
      name: z.string().nullable(),
      created_at: z.string(),
      checklist: checklist(),
      ere_eligible: z.boolean(),
      /** False where its check digits are wrong, or the bank sent our last payment back because of it. */
      iban_fits: z.boolean(),
      latest: z.object({ period: z.string(), total_kwh: z.number(), rejected: z.boolean() }).nullable(),
    }),
  ),
  /** The last account of the page where there are more. */
  after: z.string().nullable(),
});
export type OneClient = z.output<typeof OneClient>;

export const ANSWERS = {
  show_portal_start: Start,
  read_portal_settings: Settings,
  read_portal_log: Log,
  read_portal_clients: Clients,
  read_portal_client: OneClient,
  rotate_client_secret: z.object({ ok: z.boolean() }),
  read_portal_branding: Branding,
  read_portal_webhooks: Webhooks,
  read_portal_webhook: OneWebhook,
  revoke_partner_key: z.object({ ok: z.literal(true), revoked: z.boolean() }),
  set_partner_return_url: z.object({ ok: z.boolean() }),
};
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
