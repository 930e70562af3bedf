import { claimKey } from "#shared/domain/claim/links.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { RegistrationStatus } from "#shared/values/models.ts";
import { CALLER, named } from "./caller.ts";
import { SandboxChargerProfile, SyncResult, VirtualCharger } from "./charger_profile.ts";
import { during } from "./rehearsal.ts";

export const connectCharger = endpoint(
  {
    id: "connectVirtualCharger",
    summary: "Connect a virtual charger to a customer, and collect what it charged",
    description:
      "`id` is a customer_ref or an account id. Its sessions are the same for good, as many as sessions_per_week since `since`, whole up to now; they pass " +
      "through the pipeline that real ones pass through. The same profile again is the same charger; another profile is another one, up to ten.",
    params: { id: "A customer_ref or an account id" },
    caller: CALLER,
    idempotent: true,
    limit: "sandbox",
    sql: ["connect_virtual_charger", "sync_customer"],
    body: SandboxChargerProfile,
    bodyOptional: true,
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: what was asked for is done" }),
        ...VirtualCharger.shape,
        sync: SyncResult.meta({ description: "What was collected from the charger" }),
      })
      .meta({ id: "ConnectedVirtualCharger" }),
    errors: ["customer_not_found", "no_connection", "charger_limit_reached", "catalog_unresolved"],
    failure: "sandbox_step_failed",
  },
  async ({ body, param, call, environment }) => {
    const customer = { id: named(param), key: claimKey(environment) };
    const charger = await during("charger", () => call("connect_virtual_charger", { ...customer, profile: body }));
    const sync = await during("sync", () => call("sync_customer", customer));
    return { ok: true, ...JSON.parse(charger), sync: JSON.parse(sync) };
  },
);

export const syncCustomer = endpoint(
  {
    id: "syncCustomer",
    summary: "Collect a customer's sessions now instead of within 15 minutes",
    description: "Of every virtual charger the customer has. Twice creates nothing twice.",
    params: { id: "A customer_ref or an account id" },
    caller: CALLER,
    idempotent: true,
    limit: "sandbox",
    sql: ["sync_customer"],
    response: SyncResult,
    errors: ["customer_not_found"],
    failure: "sandbox_step_failed",
  },
  ({ param, call, environment }) =>
    during("sync", () => call("sync_customer", { id: named(param), key: claimKey(environment) })),
);

export const reviewCustomer = endpoint(
  {
    id: "reviewCustomer",
    summary: "Decide a submitted registration now instead of after 2 minutes",
    description:
      "`id` is a customer_ref or an account id, of an account made through the CPO API too. The outcome is the one you ask for, so that you can rehearse each; " +
      "`closed_gates` names what keeps the account from being ERE-eligible. The real review, and the one after 2 minutes, approves only where mandate, EAN and MID charger " +
      "hold. A registration is decided once: what is not submitted, or decided already, answers `nothing_to_review`.",
    params: { id: "A customer_ref or an account id" },
    caller: CALLER,
    idempotent: true,
    limit: "sandbox",
    sql: ["review_customer"],
    body: z
      .object({ outcome: z.enum(["goedgekeurd", "afgekeurd"]).meta({ description: "The decision to make" }) })
      .meta({ id: "ReviewCustomer" }),
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: what was asked for is done" }),
        from: RegistrationStatus.meta({ description: "Where the registration stood" }),
        to: RegistrationStatus.meta({ description: "Where it stands now" }),
        closed_gates: z
          .array(z.enum(["mandate_signed", "ean_validated", "mid_charger_registered", "iban_present"]))
          .meta({ description: "The gates of the checklist that are closed; empty where all four hold" }),
      })
      .meta({ id: "ReviewedCustomer" }),
    errors: ["customer_not_found", "nothing_to_review"],
    failure: "sandbox_step_failed",
  },
  ({ body, param, call, environment }) =>
    call("review_customer", { id: named(param), key: claimKey(environment), ...body }),
);
