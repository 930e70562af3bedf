import { hashSecret } from "#shared/auth/tokens.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { storable } from "#shared/values/text.ts";

export const admitCharger = endpoint(
  {
    id: "admitCharger",
    summary: "Check the HTTP Basic credentials that a charger connects with",
    description:
      "`generation` grows with each connection of a charger. Send it with its messages: those of an older connection " +
      "are refused.",
    caller: { kind: "worker", secret: "GATEWAY_SECRET" },
    limit: null,
    sql: ["admit_charger"],
    body: z.object({ identity: z.string().max(64), password: z.string().max(200) }),
    response: z.object({ ok: z.boolean(), charger_id: z.guid().optional(), generation: z.int().optional() }),
    errors: [],
    failure: "internal_error",
  },
  ({ body: { identity, password }, call }) =>
    call("admit_charger", { identity: storable(identity), password_hash: hashSecret(password) }),
);
