// What the answers of several api functions share. Only tests run these schemas; everything else takes their types.

import { z } from "#shared/foundation/zod.ts";
import { LOCALES } from "#shared/values/locale.ts";
import { AccountType, PayoutHandler } from "#shared/values/models.ts";

export const Locale = z.enum(LOCALES);

/** A logo that we store, by the SHA-256 of its PNG, with its display size in CSS pixels. */
export const ShownLogo = z.object({ hash: z.string(), width: z.number(), height: z.number() });
export type ShownLogo = z.output<typeof ShownLogo>;

/** The name, logo and color in which a page or a mail appears: private.partner_brand. */
export const Brand = z.object({
  name: z.string(),
  reply_to: z.string().nullable().exactOptional(),
  /** As the partner chose it, #rrggbb. shadesOf says how it is used. */
  color: z.string().nullable().exactOptional(),
  logo: ShownLogo.nullable().exactOptional(),
});
export type Brand = z.output<typeof Brand>;

/** private.kept_document: the bytes as base64, their SHA-256 as hex, and the file name without extension. */
export const KeptDocument = z.object({ pdf: z.string(), sha256: z.string(), name: z.string() });
export type KeptDocument = z.output<typeof KeptDocument>;

/** What seal() of values/sealed.ts made. */
export const Sealed = z.object({ ciphertext: z.string(), key_id: z.string() });

/** private.connection_facts: what a mandate is composed of, before its years are chosen. */
export const OpenFacts = z.object({
  partner_name: z.string(),
  type: AccountType,
  company_name: z.string().nullable(),
  kvk: z.string().nullable(),
  full_name: z.string(),
  email: z.string().nullable(),
  ean_code: z.string(),
  street: z.string().nullable(),
  house_number: z.number(),
  house_number_addition: z.string().nullable(),
  postal_code: z.string(),
  city: z.string().nullable(),
  /** What the customer pays of what their ERE yield, in percent: no part of the text, but of what is agreed to. */
  fee_pct: z.number(),
  /** For a claim: the hash of all other answers, so that none changes between reading and signing. */
  besides: z.string().exactOptional(),
});
export type OpenFacts = z.output<typeof OpenFacts>;

/** Years that a mandate can be signed for: private.mandate_periods. Calendar days. */
export const Period = z.object({
  validity_years: z.literal([1, 3, 5]),
  valid_from: z.string(),
  valid_until: z.string(),
});
export type Period = z.output<typeof Period>;

/** What a mandate yields, as far as private.offer knows. */
export const Offer = z.object({
  payout_handler: PayoutHandler,
  ere_per_kwh: z.number().nullable(),
  /** What an ERE brought on average, last; null as long as nothing was sold. */
  price_per_ere_eur: z.number().nullable(),
});
export type Offer = z.output<typeof Offer>;

/** What was signed: private.shown_mandate. */
export const Signed = z.object({
  mandate_id: z.string(),
  status: z.enum(["signed", "revoked", "expired"]),
  document: z.string(),
  document_sha256: z.string(),
  signed_name: z.string(),
  signed_at: z.string(),
  /** Null where nothing but the name was asked for. */
  code_sent_to: z.string().nullable(),
  valid_from: z.string(),
  valid_until: z.string(),
  ended_at: z.string().nullable(),
  /** The last day that counts by it; null where nothing does any more but what is booked. */
  covered_until: z.string().nullable(),
});
export type Signed = z.output<typeof Signed>;

/** What withdrawing a mandate leaves and loses: private.withdrawal_means. */
export const Withdrawal = z.object({
  /** The last day that would still count, or null. */
  covered_until: z.string().nullable(),
  /** The first day of the month that would be lost, and what was charged in it so far. */
  month: z.string(),
  lost_kwh: z.number(),
});

/** What closing an account meant: private.own_end. Days are calendar days; `month` is the first of this month. */
export const Farewell = z.object({
  accounts: z.number(),
  /** Whether a mandate still holds, which then ends. */
  mandated: z.boolean(),
  balance_eur: z.number(),
  lost_kwh: z.number(),
  month: z.string(),
  month_kwh: z.number(),
  kept_until: z.string().nullable(),
});
export type Farewell = z.output<typeof Farewell>;

/** A metering point, as the EAN register knows it. */
export const EanRegisterPoint = z.object({
  ean_code: z.string(),
  street: z.string().nullable(),
  city: z.string().nullable(),
  house_number_addition: z.string().nullable(),
});
export type EanRegisterPoint = z.output<typeof EanRegisterPoint>;

/** An address that the EAN register is asked about. */
export const EanRegisterAddress = z.object({
  postal_code: z.string(),
  house_number: z.number(),
  house_number_addition: z.string().nullable(),
});
export type EanRegisterAddress = z.output<typeof EanRegisterAddress>;
