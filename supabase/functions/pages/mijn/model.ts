/** What the api functions behind a person's own pages answer, as private.own_accounts and its neighbours in SQL say. */
import type { Signed } from "../kit/signature.ts";

export type Month = { month: string; kwh: number; sessions: number; ere_credits: number };

export type Quarter = {
  quarter: string;
  kwh: number;
  ere_credits: number;
  sold_ere: number;
  price_per_ere: number | null;
  revenue_eur: number | null;
  status: "open" | "closed" | "sold" | "paid";
};

export type Position = { year: number; forecast_ere: number | null; quarters: Quarter[] };

export type Prices = { price_per_ere_eur: number | null; ere_per_kwh: number | null; fee_pct: number | null };

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
  payout_handler: "service_pays_customer" | "via_cpo_invoicing";
  iban_last4: string | null;
  iban_held_until: string | null;
  checklist: Record<"mandate_signed" | "ean_validated" | "mid_charger_registered" | "iban_present", boolean>;
  chargers: { count: number; with_mid: number; waiting: number };
  connections: Connection[];
};

export type Overview = {
  email: string;
  name: string | null;
  year: number;
  months: Month[];
  position: Position;
  prices: Prices;
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

export type Charging = {
  email: string;
  year: number;
  years: number[];
  months: Month[];
  sessions: ChargingSession[];
  has_more: boolean;
};

export type Earnings = {
  email: string;
  year: number;
  years: number[];
  position: Position;
  prices: Prices;
  accounts: Account[];
  payouts: { line_id: string; paid_on: string; amount_eur: number }[];
};

export type Mandates = { email: string; accounts: Account[]; mandates: (Signed & { connection_id: string })[] };
