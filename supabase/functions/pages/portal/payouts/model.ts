import type { KeptDocument } from "#shared/domain/documents.ts";
import type {} from "../../kit/page_request.ts";
import type { Settings, Start, Who } from "../model.ts";

/** As GET /partner/payouts. */
export type Payout = {
  payout_id: string;
  /** As 2026-Q2. */
  period: string;
  status: "pending" | "approved" | "paid" | "failed" | "none_due";
  customers: number;
  kwh: number;
  ere_units: number;
  partner_share_eur: number;
  vat_eur: number;
  paid_at: string | null;
};

/** As GET /partner/invoices. */
export type Invoice = {
  number: string;
  period: string;
  issued_on: string;
  corrects: string | null;
  net_eur: number;
  vat_eur: number;
  total_eur: number;
};

/** What api.read_portal_payouts answers. */
export type Payouts = {
  who: Who;
  payouts: Payout[];
  invoices: Invoice[];
  fee_pct: number;
  share_pct: number;
  iban_last4: string | null;
  iban_held_until: string | null;
  invoices_need: Settings["invoices_need"];
};

declare module "../../kit/page_request.ts" {
  interface SqlAnswers {
    read_portal_payouts: Payouts;
    show_portal_start: Start & { payouts: Payout[] };
    read_invoice: KeptDocument;
  }
}
