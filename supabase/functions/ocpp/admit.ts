import { hashSecret } from "#shared/auth/tokens.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { storable } from "#shared/values/text.ts";

export const admitCharger = endpoint(
  {
    id: "admitCharger",
    summary: "Check the HTTP Basic credentials that a charger connects with",
    description:
      "`generation` grows with each connection of a charger. Send it with its messages: those of a connection from " +
      "before the password was renewed are refused. A mirror has no identity: `password` is the secret of its address. " +
      "`identified`: the charger need not be asked what it is.",
    caller: { kind: "worker", secret: "GATEWAY_SECRET" },
    limit: null,
    sql: ["admit_charger"],
    body: z.object({ identity: z.string().max(64).nullable(), password: z.string().max(200) }),
    response: z.object({
      ok: z.boolean(),
      charger_id: z.guid().optional(),
      generation: z.int().optional(),
      identified: z.boolean().optional(),
    }),
    errors: [],
    failure: "internal_error",
  },
  ({ body: { identity, password }, call }) =>
    call("admit_charger", {
      identity: identity === null ? null : storable(identity),
      password_hash: hashSecret(password),
    }),
);
