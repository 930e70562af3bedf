import type { Brand } from "#shared/domain/brand.ts";
import type { Stage } from "#shared/domain/claim/flow.ts";
import type { StepName } from "#shared/domain/claim/model.ts";
import type { KeptDocument } from "#shared/domain/documents.ts";
import type { OpenFacts, Period } from "#shared/domain/mandate_text/mandate_text.ts";
import type { Gate } from "#shared/values/gates.ts";
import type { Locale } from "#shared/values/locale.ts";
import type { AccountType } from "#shared/values/models.ts";
import type { Offer } from "../kit/offer.ts";
import type {} from "../kit/page_request.ts";
import type { Signed } from "../kit/signature.ts";

/** What private.claim_view tells. What lies below `email` only an open or active draft has, the rest only a proven one. */
export type Claim = {
  state: "open" | "active" | "expired" | "conflict" | "gone";
  status?: "invited" | "claimed" | "active";
  locale?: Locale;
  /** Null once they stopped sharing. */
  brand?: Brand | null;
  partner_name?: string;
  email?: string;
  code_sent?: boolean;
  answers?: Partial<Answers>;
  open_step?: StepName | null;
  candidates?: { ean_code: string; street?: string | null; city?: string | null }[];
  iban_last4?: string | null;
  /** What may be signed now, once every step is confirmed, and again in the last weeks of what was signed and after it. */
  facts?: OpenFacts | null;
  periods?: Period[];
  /** What it yields: before the address is proven, and before signing. */
  offer?: Offer;
  /** The fee, before the address is proven; later it is in facts. */
  fee_pct?: number;
  charger?: { name: string; mid_meter: boolean | null } | null;
  brands?: string[];
  models?: { id: string; model: string; mid_meter: boolean | null }[] | null;
  signed?: Signed;
  /** What is signed for the years after. */
  renewal?: Signed | null;
  /** The last day of what is signed. */
  held_until?: string | null;
  /** What a withdrawal would leave and lose; while the mandate holds. */
  withdrawal?: Withdrawal | null;
  checklist?: Record<Gate, boolean>;
  registration_status?: "concept" | "ingediend" | "goedgekeurd" | "afgekeurd";
  may_still_book?: boolean;
  ean_validation_status?: string | null;
  chargers?: Charger[];
  /** Newest first; the day as 2026-12-31. */
  payouts?: { line_id: string; paid_on: string; amount_eur: number }[];
  return_url?: string | null;
  /** The address of their login, where this browser may be signed in to it. */
  login?: string | null;
};

type Answers = {
  type: AccountType;
  full_name: string | null;
  phone: string | null;
  company_name: string | null;
  kvk: string | null;
  vat: string | null;
  postal_code: string | null;
  house_number: number | null;
  house_number_addition: string | null;
  street: string | null;
  city: string | null;
  ean_code: string | null;
  brand: string | null;
  catalog_charger_id?: string | null;
  serial_number: string | null;
};

type Withdrawal = {
  /** The last day that would still count, or null. */
  covered_until: string | null;
  /** The first day of the month that would be lost, and what was charged in it so far. */
  month: string;
  lost_kwh: number;
};

export type Charger = { name: string; serial_number: string | null; mid_eligible: boolean | null };

/** Whether this replaces an account number, which needs a code. */
export const changesIban = ({ signed, iban_last4 }: Claim): boolean => signed !== undefined && Boolean(iban_last4);

export type SignInLink = {
  state: "open" | "active" | "expired" | "conflict" | "gone" | "used" | "unknown";
  locale?: Locale;
  brand?: Brand;
  /** Of a link that is used. */
  draft_id?: string;
};

declare module "../kit/page_request.ts" {
  interface SqlAnswers {
    open_sign_in_link: SignInLink;
    use_sign_in_link: { draft_id: string; stage: Stage };
    read_claim_mandate: KeptDocument;
    read_claim_statement: KeptDocument;
  }
}
