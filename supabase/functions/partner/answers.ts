import { KeptDocument } from "#shared/domain/answers.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { MintedKey } from "./settings.ts";

export const ANSWERS = {
  read_invoice: KeptDocument,
  mint_partner_key: MintedKey.omit({ ok: true, api_key: true }),
};
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
