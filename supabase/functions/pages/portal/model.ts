import type {} from "../kit/page_request.ts";
/** What the api functions behind the pages of a partner answer, as pages/partner/portal_start.sql says. */

import type { Brand } from "#shared/domain/brand.ts";

/** Who is signed in, and for whom. */
export type Who = { email: string; partner_name: string };

export type Month = { month: string; kwh: number; ere_credits: number; active_customers: number };

/** As GET /partner/dashboard. */
export type Figures = {
  as_of: string;
  customers_total: number;
  customers_active: number;
  drafts: Record<"invited" | "claimed" | "expired" | "conflict" | "active", number>;
  chargers_total: number;
  kwh_total: number;
  kwh_this_month: number;
  ere_estimated: number;
  partner_share_estimated_eur: number;
  months: Month[];
};

/** What a partner should look at, of its newest drafts and customers; `all` where there are no more. */
export type Attention = {
  drafts: { examined: number; all: boolean } & Record<"conflict" | "ean" | "expiring", number>;
  customers: { examined: number; all: boolean } & Record<"without_charger" | "without_mid" | "rejected", number>;
  webhooks: { disabled: number; failing: number };
  account_missing: boolean;
  invoices_need: Settings["invoices_need"];
  /** Customers that may be signed up in 30 days, and how many of them still. */
  cap: number;
  cap_left: number;
};

export type Start = {
  who: Who;
  /** Null until somebody has counted them: the first reader, or the worker where that reader's time ran out. */
  figures: Figures | null;
  attention: Attention;
};

export type Company = Record<
  "name" | "kvk" | "vat" | "street" | "house_number" | "postal_code" | "city",
  string | null
>;

/** As GET /partner/me. */
export type Partner = {
  name: string;
  return_url: string | null;
  company: Company;
  payout: { iban_masked: string | null; account_holder: string | null };
  branding: Record<"display_name" | "logo_url" | "primary_color" | "reply_to", string | null>;
  api_key: { prefix: string; last4: string; created_at: string; last_used_at: string | null } | null;
};

export type Settings = {
  who: Who;
  /** Within the last 15 minutes, as what moves money or shows a secret needs. */
  signed_in_recently: boolean;
  partner: Partner;
  /** Until when nothing is paid to a new account number. */
  iban_held_until: string | null;
  /** What an invoice in the partner's name still needs: private.why_no_invoice. */
  invoices_need:
    | "vat_regime_missing"
    | "vat_number_missing"
    | "vat_number_not_dutch"
    | "vat_number_dutch"
    | "address_missing"
    | null;
  webhooks: { enabled: number; disabled: number };
};

/** A row of the audit log that the partner's people, its key or the operator left. */
export type Change = {
  at: string;
  action: string;
  by: "person" | "key" | "operator";
  /** Of the person; null where their login is gone. */
  email: string | null;
  /** What it was about: a draft, a webhook or a manager that is still there, by name. */
  about: string | null;
  subject_id: string | null;
  details: Record<string, unknown>;
};

export type Log = { who: Who; total: number; changes: Change[]; before: string | null };

/** Settings of how a partner looks, and what is made of them. */
export type Branding = {
  who: Who;
  branding: Record<"display_name" | "primary_color" | "reply_to", string | null>;
  brand: Brand;
};

/** An endpoint, as GET /partner/webhooks. */
export type Webhook = {
  id: string;
  url: string;
  types: string[];
  status: "enabled" | "disabled";
  disabled_reason: string | null;
  failing_since: string | null;
  last_error: string | null;
};

export type Attempt = {
  event_id: string;
  type: string;
  attempt: number;
  at: string;
  status: number | null;
  /** How long the receiver took. */
  ms: number | null;
  error: string | null;
  next_attempt_at: string | null;
};

export type Webhooks = { who: Who; signed_in_recently: boolean; webhooks: Webhook[] };

export type OneWebhook = {
  who: Who;
  signed_in_recently: boolean;
  webhook: Webhook;
  /** Until when the secret before this one signs too. */
  previous_until: string | null;
  retries: { waiting: number; given_up: number };
  /** Of the last 30 days; attempts are the newest of them. */
  attempts_total: number;
  attempts: Attempt[];
};

/** As GET /partner/events/{event_id}. */
export type LoggedEvent = { id: string; type: string; created_at: string; sequence: number; data: unknown };

declare module "../kit/page_request.ts" {
  interface SqlAnswers {
    read_portal_settings: Settings;
    read_portal_log: Log;
    read_portal_branding: Branding;
    read_portal_webhooks: Webhooks;
    read_portal_webhook: OneWebhook;
    revoke_partner_key: { revoked: boolean };
    set_partner_return_url: { ok: boolean };
    replay_webhook: { events: number };
    ping_webhook: { ping: string };
    read_ping: { ok: boolean; attempt: Attempt } | null;
    show_event: LoggedEvent;
  }
}
