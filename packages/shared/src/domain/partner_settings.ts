/** What a partner may set of itself, by the Partner API or in its pages: the same rules for both. */

import type { Environment } from "#shared/foundation/environment.ts";
import { z } from "#shared/foundation/zod.ts";
import { email, iban, lineOf, postalCode } from "#shared/values/fields.ts";
import { isIban, sealIban } from "#shared/values/iban.ts";

/** Sent replaces, null or empty clears, not sent stays. */
const setting = <T extends z.ZodType<string>>(schema: T) =>
  z.union([z.literal("").transform(() => null), schema, z.null()]).optional();

/** Company data, field by field. */
export const COMPANY = {
  name: setting(lineOf(1, 120)).meta({ description: "The company's name" }),
  kvk: setting(z.string().regex(/^\d{8}$/, "must be 8 digits")).meta({ description: "KVK number, 8 digits" }),
  vat: setting(lineOf(4, 20)).meta({ description: "VAT number" }),
  street: setting(lineOf(1, 120)).meta({ description: "Street" }),
  house_number: setting(lineOf(1, 20)).meta({ description: "House number" }),
  postal_code: setting(postalCode()).meta({ description: "Dutch postal code" }),
  city: setting(lineOf(1, 120)).meta({ description: "Town" }),
};

export const ACCOUNT_HOLDER = lineOf(2, 120);

/**
 * The account that a partner's share is paid to, as api.set_partner_iban takes it, with the IBAN sealed for the partner. Null where
 * what was sent is no IBAN.
 */
export async function payoutAccount(
  environment: Environment,
  { iban: sent, account_holder }: { iban: unknown; account_holder: string },
  tenant: () => Promise<string>,
) {
  const clear = iban().safeParse(sent).data;
  if (!clear || !(await isIban(clear))) return null;
  return { iban: sealIban(environment, await tenant(), clear), account_holder };
}
/** How pages and mail to its customers look, field by field. */
export const BRANDING = {
  display_name: setting(lineOf(1, 120)).meta({ description: "The name that customers see" }),
  logo_url: setting(
    z
      .url({ protocol: /^https$/, hostname: z.regexes.domain, error: "must be an https address", abort: true })
      .max(500)
      // others may write it into pages and mail; we never fetch it
      .refine((url) => !/[\s"'`<>\\]/.test(url), "must have quotes, spaces, < and > encoded, such as %22"),
  ).meta({ description: "An https address of the logo" }),
  primary_color: setting(z.string().regex(/^#[0-9A-Fa-f]{6}$/, "must look like #0b6b4f")).meta({
    description: "Colour of buttons and links, as #0b6b4f",
  }),
  reply_to: setting(email()).meta({ description: "Where answers to mail go" }),
};
