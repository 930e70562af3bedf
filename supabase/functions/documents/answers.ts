import { Locale, Signed } from "#shared/domain/answers.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";

/** The logo of the partner that the customer knows. */
const Logo = z.object({ name: z.string(), png: z.string(), width: z.number(), height: z.number() });

/** What api.lease_documents tells of a signed mandate. Days are as 2026-12-31, the moment is in ISO 8601. */
const SignedMandate = Signed.omit({ status: true, ended_at: true, covered_until: true }).extend({
  connection_id: z.string(),
});
export type SignedMandate = z.output<typeof SignedMandate>;

/** Amounts are decimals in text, exactly as they were stored. */
const sums = { kwh: z.string(), ere: z.string(), gross: z.string(), fee: z.string(), net: z.string() };

/** What private.statement_content tells of a payout: plain data. */
const Statement = z.object({
  locale: Locale,
  /** Who is paid. */
  customer: z.string(),
  logo: Logo.nullable(),
  /** By which the payment is found: the reference on the bank statement. */
  reference: z.string(),
  /** The day it was paid, as 2026-12-31. */
  paid_on: z.string(),
  /** The account it was paid to; null if we paid the CPO, which settles with the customer. */
  iban_last4: z.string().nullable(),
  /** The name of that CPO. */
  paid_to: z.string().nullable(),
  /** A delivered month of a connection, and its part of what was sold at a price for an ERE. kWh with three decimals, ERE with six, euro with two. */
  rows: z.array(z.object({ period: z.string(), ean_code: z.string(), price: z.string(), ...sums })),
  totals: z.object(sums),
  /** What of the amount no row explains: a sale taken back that was paid before; "0.00" where there is none. */
  other: z.string(),
  /** What was paid. */
  amount: z.string(),
});
export type Statement = z.output<typeof Statement>;

/** What private.overview_content tells of a customer's year. Days are calendar days, amounts euro. */
const YearOverview = z.object({
  locale: Locale,
  customer: z.string(),
  logo: Logo.nullable(),
  /** The CPO that is paid, and settles with the customer; null where the service pays them. */
  cpo: z.string().nullable(),
  overview: z.object({
    account_id: z.string(),
    year: z.number(),
    currency: z.literal("EUR"),
    kwh_sold: z.number(),
    ere_sold: z.number(),
    gross_eur: z.number(),
    fee_eur: z.number(),
    net_eur: z.number(),
    paid_eur: z.number(),
    /** A sale that was taken back has amounts below zero. Its quarter is that of delivery, as 2026-Q2. */
    sales: z.array(
      z.object({
        sold_on: z.string(),
        quarter: z.string(),
        price_per_ere_eur: z.number(),
        kwh: z.number(),
        ere: z.number(),
        gross_eur: z.number(),
        fee_eur: z.number(),
        net_eur: z.number(),
      }),
    ),
    payments: z.array(
      z.object({
        paid_on: z.string(),
        amount_eur: z.number(),
        to: z.enum(["cpo", "customer"]),
        iban: z.string(),
        reference: z.string(),
      }),
    ),
  }),
});
export type YearOverview = z.output<typeof YearOverview>;

/** What private.invoice_content tells of an invoice: plain data. Amounts are decimals in text, exactly as they were stored; below zero in a credit note. */
const Invoice = z.object({
  locale: Locale,
  number: z.string(),
  /** A day, as 2026-12-31. */
  issued_on: z.string(),
  /** Of delivery, as 2026-Q2. */
  quarter: z.string(),
  /** The invoice that a credit note takes back from; null in an invoice. */
  corrects: z.object({ number: z.string(), issued_on: z.string() }).nullable(),
  /** In whose name it is: company data as it was on that day. */
  supplier: z.object({
    name: z.string(),
    kvk: z.string().nullable().exactOptional(),
    vat: z.string().nullable().exactOptional(),
    street: z.string().nullable().exactOptional(),
    house_number: z.string().nullable().exactOptional(),
    postal_code: z.string().nullable().exactOptional(),
    city: z.string().nullable().exactOptional(),
  }),
  vat_regime: z.enum(["none", "small_business", "regular", "reverse_charge"]),
  /** Percent, with two decimals. */
  vat_rate: z.string(),
  net: z.string(),
  vat: z.string(),
  total: z.string(),
  /** The share by the month of delivery. */
  months: z.array(
    z.object({ period: z.string(), customers: z.number(), ere: z.string(), fee: z.string(), share: z.string() }),
  ),
});
export type Invoice = z.output<typeof Invoice>;

const leased = { partner_id: z.string(), id: z.string(), created_at: z.string() };
/** A document as api.lease_documents gives it. */
const Due = z.discriminatedUnion("kind", [
  z.object({ ...leased, kind: z.literal("mandate"), content: SignedMandate }),
  z.object({ ...leased, kind: z.literal("statement"), content: Statement }),
  z.object({ ...leased, kind: z.literal("overview"), content: YearOverview }),
  z.object({ ...leased, kind: z.literal("invoice"), content: Invoice }),
]);
export type Due = z.output<typeof Due>;

export const ANSWERS = { lease_documents: z.array(Due) };
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
