import type { parsePhoneNumberFromString } from "libphonenumber-js/min";
import { z } from "#shared/foundation/zod.ts";

let parse: typeof parsePhoneNumberFromString | undefined;

/** The numbering plans of the world, without which phone() cannot read: a sixth of the start of a function, and few requests need them. */
export async function loadNumberingPlans(): Promise<void> {
  parse ??= (await import("libphonenumber-js/min")).parsePhoneNumberFromString;
}

/** A telephone number, Dutch or international, stored as E.164 (`+31612345678`). Reads once loadNumberingPlans() has come back. */
export const phone = () =>
  z
    .string()
    .max(40)
    .transform((value, context) => {
      if (!parse) throw new Error("loadNumberingPlans() comes before a phone number");
      const parsed = parse(value.trim(), { defaultCountry: "NL", extract: false });
      // a Dutch one is held to its own plan, where a digit too few is still possible; ranges of other countries change too often
      if (
        parsed &&
        (parsed.country === "NL" || parsed.countryCallingCode === "31" ? parsed.isValid() : parsed.isPossible())
      )
        return parsed.number as string;
      context.addIssue("must be a telephone number, Dutch or with its country code");
      return z.NEVER;
    })
    .meta({ example: "0612345678" });
