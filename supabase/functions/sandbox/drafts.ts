import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { eanCode, iban as ibanRule, orNull, trimmedTo } from "#shared/values/fields.ts";
import { RegistrationStatus } from "#shared/values/models.ts";
import { loadNumberingPlans, phone } from "#shared/values/phone.ts";
import { CALLER, named } from "./caller.ts";
import { ChargerProfile, SandboxChargerProfile, SyncResult, VirtualCharger } from "./charger_profile.ts";
import { REHEARSAL_ERRORS, REHEARSAL_SQL, type Rehearsed, rehearse, TEST } from "./rehearsal.ts";

const StepResult = z.enum(["done", "already_done", "skipped"]).meta({
  id: "SandboxStepResult",
  description: "done: by this call; already_done: before this call; skipped: not requested",
});

export const claimDraft = endpoint(
  {
    id: "claimSandboxDraft",
    summary: "Act as the draft's customer: claim it, sign the mandate, and with submit connect a charger and submit",
    description:
      "`id` is the draft's id or your external_ref. This call runs the same functions as the claim pages. It proves " +
      "the address with the mailed code, confirms each page and signs the mandate. Details that you did not upload " +
      "get test values. The call is safe to repeat: a step that is done says so. An error names the step that " +
      "failed; earlier steps stay done. The draft ends in `conflict` if its EAN is in use, or if the login belongs " +
      "to another partner. Then the call returns 409 `draft_not_claimable`: withdraw the draft and create it again. " +
      "EAN test values are 8716870000000000 followed by 16 matched, 23 unverified, 30 mismatch, 47 address unknown, " +
      "54 in use, 61 register timeout. Any other EAN is matched. The call never uses a login that was not created " +
      "by one of your claims.",
    params: { id: "The draft's id, or your external_ref" },
    caller: CALLER,
    idempotent: true,
    limit: "sandbox",
    sql: REHEARSAL_SQL,
    prepare: loadNumberingPlans,
    body: z
      .object({
        submit: z
          .boolean()
          .default(false)
          .meta({ description: "Also connect a virtual charger and submit the registration; particulier only" }),
        iban: z
          .unknown()
          .optional()
          .meta({
            override: { type: ["string", "null"], minLength: 15, maxLength: 34 },
            description: `15 to 34 letters and digits; null: none. If omitted with submit: ${TEST.iban}.`,
          }),
        ean: z
          .unknown()
          .optional()
          .meta({
            override: { type: ["string", "null"], pattern: "^\\d{18}$" },
            description: "Replaces the uploaded EAN; a test value sets the outcome of the check",
            example: TEST.ean,
          }),
        phone: orNull(phone()).meta({ description: "Dutch mobile; a test number if omitted" }),
        street: orNull(trimmedTo(120)).meta({ description: `${TEST.street} if omitted` }),
        charger: SandboxChargerProfile.nullish().meta({
          description: "How the virtual charger charges; used with submit",
        }),
      })
      .meta({ id: "ClaimSandboxDraft" }),
    bodyOptional: true,
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        draft_id: z.guid().meta({ description: "The draft" }),
        external_ref: z.string().nullable().meta({ description: "Your own customer number" }),
        account_id: z.guid().meta({ description: "The account" }),
        customer_ref: z.string().meta({ description: "The customer; each partner sees a different value" }),
        email: z.string().meta({ description: "E-mail address" }),
        draft_status: z.literal("active").meta({ description: "Status of the draft" }),
        registration_status: RegistrationStatus,
        steps: z
          .object({
            claim: StepResult.meta({ description: "Claiming the draft" }),
            activate: StepResult.meta({ description: "Signing the mandate" }),
            iban: StepResult.meta({ description: "Adding the IBAN" }),
            submit: StepResult.meta({ description: "Submitting the registration" }),
          })
          .meta({ description: "The result of each step" }),
        charger: VirtualCharger.nullable().meta({
          description: "The virtual charger that was connected; null if there was none",
        }),
        sync: SyncResult.nullable().meta({ description: "The sessions that were collected from the charger" }),
        next: z.string().meta({ description: "What to call next, in words" }),
      })
      .meta({ id: "ClaimedSandboxDraft" }),
    errors: [...REHEARSAL_ERRORS, "invalid_ean", "invalid_iban"],
    failure: "sandbox_step_failed",
  },
  async ({ body, param, call, environment, admitted, address, fail }) => {
    const ean = orNull(eanCode()).safeParse(body.ean).data;
    if (ean === undefined) return fail("invalid_ean");
    const iban = body.iban === undefined || body.iban === null ? body.iban : ibanRule().safeParse(body.iban).data;
    if (iban === undefined && body.iban !== undefined) return fail("invalid_iban");
    const caller = await admitted();
    const rehearsed = await rehearse({ environment, caller, address, call }, named(param), {
      ...{ submit: body.submit, iban, ean, phone: body.phone, street: body.street },
      profile: body.charger ?? ChargerProfile.parse({}),
    });
    return answerOf(rehearsed);
  },
);

function answerOf(rehearsed: Rehearsed) {
  const {
    draft_id,
    external_ref,
    account_id,
    customer_ref,
    email,
    draft_status,
    registration_status,
    charger,
    steps,
    sync,
  } = rehearsed;
  return {
    ok: true as const,
    ...{ draft_id, external_ref, account_id, customer_ref, email, draft_status, registration_status, steps },
    charger: charger ?? null,
    sync,
    next: nextOf(rehearsed),
  };
}

function nextOf({ registration_status, account_id, type, charger }: Rehearsed): string {
  const customer = `POST /sandbox/v1/customers/${account_id}`;
  switch (registration_status) {
    case "ingediend":
      return `The registration is reviewed 2 minutes after it was submitted; ${customer}/review decides now.`;
    case "goedgekeurd":
      return `The registration is approved; ${customer}/sync collects new sessions, GET /partner/customers shows the customer.`;
    case "afgekeurd":
      return `The registration is rejected; ${customer}/chargers with a MID charger answers that, and submits it again.`;
    default:
      return charger || type !== "particulier"
        ? `Nothing is submitted yet: a signature and a charger are needed. ${customer}/chargers connects a virtual charger.`
        : `${customer}/chargers connects a virtual charger and submits the registration; so does this call with submit: true.`;
  }
}
