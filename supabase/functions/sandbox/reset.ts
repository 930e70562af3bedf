import { claimKey } from "#shared/domain/claim/links.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { CALLER } from "./caller.ts";

export const resetSandbox = endpoint(
  {
    id: "resetSandbox",
    summary: "Delete every customer attributed to the partner and every draft it uploaded",
    description:
      "One transaction deletes drafts, the accounts that customers made from them, and their chargers, sessions, " +
      "mail, logins and opt-outs. Their e-mail addresses and the import cap are free again. People who came with a " +
      "login of their own (through an application) keep it, but are no longer the partner's customers. Settlements " +
      "are undone. The API key, settings, and accounts of the CPO API with their months stay.",
    caller: CALLER,
    idempotent: true,
    limit: "sandbox",
    sql: ["reset_sandbox"],
    slow: true,
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        customers_deleted: z.int().meta({ description: "Number of customers deleted" }),
        drafts_deleted: z.int().meta({ description: "Number of drafts deleted" }),
      })
      .meta({ id: "ResetSandbox" }),
    errors: [],
    failure: "sandbox_step_failed",
  },
  ({ call, environment }) => call("reset_sandbox", { key: claimKey(environment) }),
);
