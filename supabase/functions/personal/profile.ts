import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";

export const getProfile = endpoint(
  {
    id: "getProfile",
    summary: "Read your e-mail address and name",
    caller: { kind: "user", scope: "profile:read" },
    limit: "user",
    sql: ["get_profile"],
    response: z
      .object({
        email: z.string().nullable().meta({ description: "E-mail address" }),
        name: z.string().nullable().meta({ description: "The person's name", example: "Sanne de Vries" }),
      })
      .meta({ id: "Profile" }),
    errors: [],
    failure: "internal_error",
  },
  ({ call }) => call("get_profile"),
);
