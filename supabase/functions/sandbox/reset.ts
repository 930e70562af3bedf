import { claimKey } from "#shared/domain/claim/links.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { CALLER } from "./caller.ts";

export const resetSandbox = endpoint(
  {
    id: "resetSandbox",
    summary: "Delete every customer attributed to the partner and every draft it uploaded",
    description:
      "In one transaction: drafts, the accounts customers made of them, their chargers, sessions, mail, logins and opt-outs; e-mail addresses and the import cap are free again. " +
      "People who came with a login of their own (through an application) keep it, and are the partner's no more. What was settled is settled no more. The key, settings, and accounts of the CPO API with their months stay.",
    caller: CALLER,
    idempotent: true,
    limit: "sandbox",
    sql: ["reset_sandbox"],
    slow: true,
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: what was asked for is done" }),
        customers_deleted: z.int().meta({ description: "Customers that were deleted" }),
        drafts_deleted: z.int().meta({ description: "Drafts that were deleted" }),
      })
      .meta({ id: "ResetSandbox" }),
    errors: [],
    failure: "sandbox_step_failed",
  },
  ({ call, environment }) => call("reset_sandbox", { key: claimKey(environment) }),
);
