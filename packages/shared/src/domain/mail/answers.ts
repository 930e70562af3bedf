import { z } from "#shared/foundation/zod.ts";
import type { StoredMail } from "./mail.ts";

/** A mail as it was stored, maybe by another release: whoever writes its text sees whether it can. */
export const storedMail = {
  template: z.custom<StoredMail["template"]>((template) => typeof template === "string"),
  locale: z.custom<StoredMail["locale"]>((locale) => typeof locale === "string"),
  content: z.custom<StoredMail["content"]>((content) => typeof content === "object"),
};
