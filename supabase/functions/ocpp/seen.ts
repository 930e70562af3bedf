import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";

export const seeChargers = endpoint(
  {
    id: "seeChargers",
    summary: "Note which chargers were heard of in the last minute",
    description:
      "`gone` lists connections to close: of chargers that were removed or got a new password, and `silent` ones that " +
      "are not their charger's newest. A `silent` one is only asked about, not noted.",
    caller: { kind: "worker", secret: "GATEWAY_SECRET" },
    limit: null,
    sql: ["note_seen_chargers"],
    body: z.object({
      chargers: z
        .array(z.object({ charger_id: z.guid(), generation: z.int().min(1), silent: z.boolean().default(false) }))
        .max(1_000),
    }),
    response: z.object({ gone: z.array(z.object({ charger_id: z.guid(), generation: z.int() })) }),
    errors: [],
    failure: "internal_error",
  },
  ({ body, call }) => call("note_seen_chargers", body),
);
