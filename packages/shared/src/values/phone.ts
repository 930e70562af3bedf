import { parsePhoneNumberFromString } from "libphonenumber-js/min";
import * as z from "zod";

/** A telephone number, Dutch or international, stored as E.164 (`+31612345678`). */
export const phone = () =>
  z
    .string()
    .max(40)
    .transform((value, context) => {
      const parsed = parsePhoneNumberFromString(value.trim(), { defaultCountry: "NL", extract: false });
      if (parsed?.isPossible()) return parsed.number as string;
      context.addIssue("must be a telephone number, Dutch or with its country code");
      return z.NEVER;
    })
    .meta({ example: "0612345678" });
