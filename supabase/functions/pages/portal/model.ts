/** What the api functions behind the pages of a partner answer, as partner/portal.sql says. */

/** Who is signed in, and for whom. */
export type Who = { email: string; partner_name: string };

export type Month = { month: string; kwh: number; ere_credits: number; active_customers: number };

/** As GET /partner/dashboard. */
export type Figures = {
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

export type Start = { who: Who; figures: Figures };
