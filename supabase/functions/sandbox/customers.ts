import { claimKey } from "#shared/domain/claim/links.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { GATE_NAMES } from "#shared/values/gates.ts";
import { RegistrationStatus } from "#shared/values/models.ts";
import { CALLER, named } from "./caller.ts";
import { SandboxChargerProfile, SyncResult, VirtualCharger } from "./charger_profile.ts";
import { during } from "./rehearsal.ts";

export const connectCharger = endpoint(
  {
    id: "connectVirtualCharger",
    summary: "Connect a virtual charger to a customer, and collect what it charged",
    description:
      "`id` is a customer_ref or an account id. The charger has sessions_per_week sessions a week, from `since` " +
      "until now, and they never change. They go through the same pipeline as real sessions. The same profile again " +
      "returns the same charger; another profile adds a charger, up to ten.",
    params: { id: "A customer_ref or an account id" },
    caller: CALLER,
    idempotent: true,
    limit: "sandbox",
    sql: ["connect_virtual_charger", "sync_customer"],
    body: SandboxChargerProfile,
    bodyOptional: true,
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        ...VirtualCharger.shape,
        sync: SyncResult.meta({ description: "The sessions that were collected from the charger" }),
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
    description: "Collects from every virtual charger of the customer. A repeat creates nothing twice.",
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
      "`id` is a customer_ref or an account id, also of an account created through the CPO API. You choose the " +
      "outcome, so that you can rehearse each. `closed_gates` lists the gates that keep the account from being " +
      "ERE-eligible. The real review, and the automatic one after 2 minutes, approves only with a mandate, a " +
      "validated EAN and a MID charger. A registration is decided once. If it is not submitted or already decided, " +
      "the call returns `nothing_to_review`.",
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
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        from: RegistrationStatus.meta({ description: "Status of the registration before" }),
        to: RegistrationStatus.meta({ description: "Status of the registration now" }),
        closed_gates: z
          .array(z.enum(GATE_NAMES))
          .meta({ description: "The gates of the checklist that are closed; empty if all four are open" }),
      })
      .meta({ id: "ReviewedCustomer" }),
    errors: ["customer_not_found", "nothing_to_review"],
    failure: "sandbox_step_failed",
  },
  ({ body, param, call, environment }) =>
    call("review_customer", { id: named(param), key: claimKey(environment), ...body }),
);
