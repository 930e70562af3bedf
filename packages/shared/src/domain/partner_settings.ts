/** What a partner may set of itself, by the Partner API or in its pages: the same rules for both. */
import * as z from "zod";
import { lineOf, postalCode } from "#shared/values/fields.ts";

/** Sent replaces, null or empty clears, not sent stays. */
export const setting = <T extends z.ZodType<string>>(schema: T) =>
  z.union([z.literal("").transform(() => null), schema, z.null()]).optional();

/** Company data, field by field. */
export const COMPANY = {
  name: setting(lineOf(1, 120)),
  kvk: setting(z.string().regex(/^\d{8}$/, "must be 8 digits")),
  vat: setting(lineOf(4, 20)),
  street: setting(lineOf(1, 120)),
  house_number: setting(lineOf(1, 20)),
  postal_code: setting(postalCode()),
  city: setting(lineOf(1, 120)),
};
