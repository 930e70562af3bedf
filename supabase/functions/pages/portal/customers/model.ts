import type {} from "../../kit/page_request.ts";
import type { DraftStatus } from "../drafts/model.ts";
import type { Who } from "../model.ts";

/** What the api functions of pages/partner/portal_customers.sql answer. */

/** As GET /partner/customers; who it is only where the partner may know. */
export type Customer = {
  customer_ref: string;
  external_ref: string | null;
  naam?: string | null;
  email?: string | null;
  phone?: string | null;
  postal_code?: string | null;
  street?: string | null;
  house_number?: string | null;
  registration_status?: "concept" | "ingediend" | "goedgekeurd" | "afgekeurd" | null;
  city: string | null;
  attached_month: string;
  is_active: boolean;
  effective_fee_pct: number;
  partner_share_pct: number;
  source: "partner_upload" | "partner_invite" | "referral_link" | "referral_code" | "oauth_consent" | "manual";
  type: "particulier" | "zakelijk" | "vve";
  charger_brand: string | null;
  charger_model: string | null;
  charger_mid_eligible: boolean | null;
  charger_count: number;
};

export type Customers = {
  who: Who;
  /** Of all customers, or of those of a month; null where something else is looked for. */
  counted: { total: number; before: number } | null;
  /** Customers on this page and the pages after it, as far as we searched. */
  found: number;
  searched_all: boolean;
  customers: Customer[];
  more_after: string | null;
};

export type OneCustomer = {
  who: Who;
  customer: Customer;
  draft: {
    draft_id: string;
    status: DraftStatus;
    created_at: string;
    invited_at: string | null;
    claimed_at: string | null;
  } | null;
};

declare module "../../kit/page_request.ts" {
  interface SqlAnswers {
    read_portal_customers: Customers;
    read_portal_customer: OneCustomer;
  }
}
