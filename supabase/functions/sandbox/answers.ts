import { Brand, EanRegisterPoint, Locale } from "#shared/domain/answers.ts";
import { Answers } from "#shared/domain/claim/answers.ts";
import { STEP_NAMES } from "#shared/domain/claim/model.ts";
import { storedMail } from "#shared/domain/mail/answers.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";
import { AccountType, RegistrationStatus } from "#shared/values/models.ts";
import { SyncResult, VirtualCharger } from "./charger_profile.ts";

/** A draft, and the account it has led to. */
const Rehearsal = z.object({
  draft_id: z.string(),
  /** Whether this rehearsal alone may move it. */
  held: z.boolean(),
  external_ref: z.string().nullable(),
  email: z.string(),
  type: AccountType,
  locale: Locale,
  draft_status: z.enum(["invited", "claimed", "expired", "conflict", "active"]),
  stage: z.enum(["invited", "by_link", "claimed", "active", "expired", "conflict"]),
  foreign_login: z.boolean(),
  banned_login: z.boolean(),
  account_id: z.string().nullable(),
  customer_ref: z.string().nullable(),
  brand: Brand,
  answers: Answers,
  candidates: z.array(EanRegisterPoint),
  confirmed: z.array(z.enum(STEP_NAMES)),
  registration_status: RegistrationStatus.nullable().exactOptional(),
  iban_present: z.boolean().exactOptional(),
  charger: VirtualCharger.nullable().exactOptional(),
});
export type Rehearsal = z.output<typeof Rehearsal>;

/** Whose signature is played, and where: of api.prepare_signature. */
const PreparedSignature = z.object({ connection_id: z.string(), email: z.string().nullable(), locale: Locale });
export type PreparedSignature = z.output<typeof PreparedSignature>;

export const ANSWERS = {
  prepare_signature: PreparedSignature,
  connect_virtual_charger: VirtualCharger,
  sync_customer: SyncResult,
  find_rehearsal: Rehearsal,
  list_captured_mail: z.object({
    mail: z.array(
      z.object({
        id: z.string(),
        captured_at: z.string(),
        to: z.string(),
        from: z.string(),
        ...storedMail,
      }),
    ),
  }),
};
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
