import type { KeptDocument } from "#shared/domain/documents.ts";
import type { Farewell } from "#shared/domain/mail/notices.ts";
import type { Gate } from "#shared/values/gates.ts";
/** What the api functions behind a person's own pages answer, as private.own_accounts and its neighbors in SQL say. */
import type { UserScope } from "#shared/values/scopes.ts";
import type { Offer } from "../kit/offer.ts";
import type {} from "../kit/page_request.ts";
import type { Signed } from "../kit/signature.ts";

export type Month = { month: string; kwh: number; sessions: number; ere_credits: number };

type Quarter = {
  quarter: string;
  kwh: number;
  ere_credits: number;
  sold_ere: number;
  price_per_ere: number | null;
  status: "open" | "closed" | "sold" | "paid";
};

type Position = { year: number; forecast_ere: number | null; quarters: Quarter[] };

/** ERE that are not sold, which may bring the last average price of their tenant, null before its first sale, less the mandate's fee. */
export type Unsold = { ere: number; price_per_ere_eur: number | null; fee_pct: number };

export type Connection = {
  connection_id: string;
  ean_code: string;
  ean_validation_status: string | null;
  street: string | null;
  house_number: number;
  house_number_addition: string | null;
  postal_code: string;
  city: string | null;
  registration_status: "concept" | "ingediend" | "goedgekeurd" | "afgekeurd";
  mandate_status: "pending" | "signed" | "expired" | "revoked" | "declined";
  valid_from: string | null;
  valid_until: string | null;
  renewed_until: string | null;
  may_sign_again: boolean;
};

export type Account = {
  account_id: string;
  /** The claim whose pages can do more with it; null where it began otherwise. */
  draft_id: string | null;
  /** The CPO whose customer they signed as; null of an account of their own. */
  cpo: string | null;
  payout_handler: "service_pays_customer" | "via_cpo_invoicing";
  /** What they signed for last; null before. */
  fee_pct: number | null;
  iban_last4: string | null;
  iban_held_until: string | null;
  /** Whether the bank was asked to pay all that is owed. */
  sent: boolean;
  checklist: Record<Gate, boolean>;
  chargers: { count: number; with_mid: number; waiting: number };
  connections: Connection[];
};

/** A quarter, by its first day, in which something counts. Of net_eur, which is sold, unpaid_eur is still to be paid. */
export type Earned = {
  quarter: string;
  kwh: number;
  ere: number;
  sold_ere: number;
  net_eur: number;
  unpaid_eur: number;
  unsold: Unsold[];
};

/** The progress of an account: the day of each step, or null. */
export type Progress = {
  signed_on: string | null;
  withdrawn_on: string | null;
  approved_on: string | null;
  charger_on: string | null;
  /** Names of chargers that connect by OCPP, and never did. */
  silent_chargers: string[];
  first_month: string | null;
  /** These three say the latest. */
  booked_on: string | null;
  sold_on: string | null;
  paid_on: string | null;
};

/** A charger whose kWh do not count. */
export type IdleCharger = { name: string; kwh: number; why: "no_mid" | "mid_unknown" | "no_connection" };

export type Overview = {
  email: string;
  name: string | null;
  year: number;
  charged_kwh: number;
  quarters: Earned[];
  /**
   * What was paid since the year began, and ever: to the person, or to the CPO that settles with them. Of it, debts were taken
   * back since: each comes off later payments of its account, which will be for its `unsold`.
   */
  paid: { year_eur: number; all_eur: number; debts: { eur: number; unsold: Unsold[] }[] };
  /** What one of the accounts was told before signing; null without accounts. */
  offer: Offer | null;
  progress: Record<string, Progress>;
  idle_chargers: IdleCharger[];
  left_out: LeftOut[];
  accounts: Account[];
};

export type ChargingSession = {
  id: string;
  charger_nickname: string;
  started_at: string;
  ended_at: string | null;
  kwh: number;
  status: "active" | "charging" | "completed";
  ere_credits: number | null;
  flags: string[];
};

/** What of a year does not count; the register's own words where it gave any. */
export type LeftOut = {
  month: string;
  kwh: number;
  why: "before_ere" | "outside_mandate" | "mandate_ended" | "register" | "after_booking" | "no_factor";
  reason: string | null;
};

export type Charging = {
  email: string;
  year: number;
  years: number[];
  months: Month[];
  left_out: LeftOut[];
  idle_chargers: IdleCharger[];
  sessions: ChargingSession[];
  has_more: boolean;
};

export type Earnings = {
  email: string;
  year: number;
  years: number[];
  position: Position;
  quarters: Earned[];
  left_out: LeftOut[];
  idle_chargers: IdleCharger[];
  accounts: Account[];
  payouts: Payout[];
  /** The years that are over in which there was money, newest first. */
  overviews: { account_id: string; year: number }[];
};

/** Paid to the person; or to the CPO that settles with them, whose name it then has. */
export type Payout = { paid_on: string; amount_eur: number } & (
  | { line_id: string; part_id: null; cpo: null }
  | { line_id: null; part_id: string; cpo: string }
);

/** An account that the service pays, for who signed for it at a CPO. */
export type SignedAccount = {
  email: string;
  partner_id: string;
  partner_name: string;
  iban_last4: string | null;
  code_sent: boolean;
};

/** What withdrawing the mandate for a connection would mean, for who signed for it at a CPO. */
export type SignedMandate = {
  email: string;
  partner_name: string;
  ean_code: string;
  registration_status: Connection["registration_status"];
  may_still_book: boolean;
  renewed_until: string | null;
  /** The first day of the month that would be lost, and what was charged in it so far. */
  withdrawal: { covered_until: string | null; month: string; lost_kwh: number };
  code_sent: boolean;
};

export type Mandates = { email: string; accounts: Account[]; mandates: (Signed & { connection_id: string })[] };

export type Charger = {
  id: string;
  nickname: string;
  status: "online" | "offline";
  mid_certified: boolean;
  is_charging: boolean;
  current_session?: { started_at: string; kwh_so_far: number };
  ocpp_identity?: string;
  last_seen_at?: string;
  password_refused_at?: string;
  latest_meter_wh?: number;
};
/** `mid_unknown` has the chargers of which nobody knows yet whether they have a MID meter. */
export type Chargers = { email: string; accounts: Account[]; chargers: Charger[]; mid_unknown: string[] };

export type Application = {
  client_id: string;
  name: string;
  operated_by: string | null;
  scopes: UserScope[];
  allowed_at: string;
  last_used_at: string;
};
export type Sharing = {
  email: string;
  /** Who brought the person; null where nobody did, or they stopped sharing. The month as 2026-03-01. */
  partner: { partner_id: string; name: string; source: string; since: string } | null;
  /** The CPOs whose customer they signed as. */
  cpos: string[];
  applications: Application[];
};

export type Token = {
  id: string;
  name: string;
  scopes: UserScope[];
  last4: string;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
};
export type Tokens = { email: string; tokens: Token[] };

/** What the end of the account means. */
export type End = Farewell & {
  /** The partner that nobody else manages. */
  managed_alone: string | null;
  iban_missing: boolean;
};
export type Ending = { email: string; end: End };

/** What api.export_own_data gives, as far as the table of it says it; the JSON file has all. */
export type OwnData = {
  login: { email: string; name: string | null; created_at: string };
  accounts: {
    created_at: string;
    iban_last4: string | null;
    signatory: { full_name: string; phone: string | null } | null;
    connections: {
      ean_code: string;
      street: string | null;
      house_number: number;
      house_number_addition: string | null;
      postal_code: string;
      city: string | null;
      mandates: { signed_at: string | null; valid_from: string; valid_until: string }[];
      months: { month: string; kwh: number }[];
    }[];
    payouts: { paid_at: string; amount_eur: number; iban_last4: string }[];
  }[];
  chargers: { charger_id: string; name: string; serial_number: string | null; created_at: string }[];
  charging_sessions: {
    charger_id: string;
    started_at: string;
    ended_at: string | null;
    kwh: number;
    meter_start_kwh: number | null;
    meter_end_kwh: number | null;
    source: string;
  }[];
  partner: { name: string } | null;
  applications: { name: string; allowed_at: string }[];
  tokens: { name: string; created_at: string }[];
};

declare module "../kit/page_request.ts" {
  interface SqlAnswers {
    read_own_start: Overview;
    read_own_charging: Charging;
    read_own_earnings: Earnings;
    read_own_mandates: Mandates;
    open_own_document: KeptDocument;
    open_own_claim: { draft_id: string };
    read_own_chargers: Chargers;
    renew_ocpp_password: { identity: string };
    remove_own_charger: { removed: boolean };
    read_own_sharing: Sharing;
    stop_sharing: { ended: boolean };
    stop_application: { ended: boolean };
    read_own_tokens: Tokens;
    read_own_end: Ending;
    export_own_data: OwnData;
    close_own_account: { closed: boolean; end: Farewell };
    read_signed_account: SignedAccount;
    open_signed_mandate: SignedMandate;
  }
}
