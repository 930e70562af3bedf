import { randomBytes } from "node:crypto";
import { hashSecret } from "#shared/auth/tokens.ts";
import { Charger } from "#shared/endpoints/responses/charger.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { lineOf, ocppIdentity, requiring } from "#shared/values/fields.ts";

const Credentials = z.object({
  identity: z.string().meta({ description: "The charger's own identity, the last part of the address" }),
  endpoint: z.string().meta({
    description: "The address of the OCPP server",
    example: "wss://ocpp.example.com/ere-4f1c09d2b7a3",
  }),
  password: z.string().meta({ description: "Shown once" }),
  mirror_endpoint: z.string().meta({
    description:
      "For a charger that has another back office: where a proxy sends us a copy of what the charger says. It needs no " +
      "password and takes any identity after it. Shown once",
    example: "wss://ocpp.example.com/m/5d1c0a9e4f7b2836d1c0a9e4f7b2836d5e4f7b28",
  }),
});

/** 40 hex digits: the longest password that chargers of OCPP 1.6 and 2.0.1 both take. */
const LONGEST = 40;
const newPassword = (length = LONGEST) =>
  randomBytes(LONGEST / 2)
    .toString("hex")
    .slice(0, length);

/** What the charger, or a mirror, is told; and the hashes that we keep. */
function newCredentials(length?: number) {
  const [password, mirror] = [newPassword(length), newPassword()];
  return {
    hashes: { password_hash: hashSecret(password), mirror_hash: hashSecret(mirror) },
    shown: (gateway: string, identity: string) => ({
      identity,
      endpoint: `${gateway}/${encodeURIComponent(identity)}`,
      password,
      mirror_endpoint: `${gateway}/m/${mirror}`,
    }),
  };
}

export const listChargers = endpoint(
  {
    id: "listChargers",
    summary: "List your chargers, oldest first, with the current session at each",
    caller: { kind: "user", scope: "chargers:read" },
    limit: "user",
    sql: ["list_own_chargers"],
    response: z
      .object({ chargers: z.array(Charger).meta({ description: "Your chargers, oldest first" }) })
      .meta({ id: "ChargerList" }),
    errors: [],
    failure: "list_failed",
  },
  ({ call }) => call("list_own_chargers"),
);

export const registerOwnCharger = endpoint(
  {
    id: "registerOwnCharger",
    summary: "Register an OCPP charger of yours",
    description:
      "Returns the address, identity and password to enter in the charger (OCPP-J security profile 2: TLS with HTTP " +
      "Basic). The password is shown only once. The charger is bound to your connection, if you have one. We " +
      "determine whether it has a MID meter when it reports its make and model. A second charger counts once we know " +
      "its serial number: it reports it, or you enter it on your pages.",
    caller: { kind: "user", scope: "chargers:write" },
    limit: "user",
    sql: ["register_own_charger"],
    body: z
      .object({
        nickname: lineOf(1, 100).meta({ description: "The name you gave it", example: "Oprit" }),
        // judged below, because its error has a text of its own
        connection_type: z
          .unknown()
          .optional()
          .meta({ description: "How it is connected", override: { type: "string", const: "ocpp" } }),
        ocpp_identity: ocppIdentity()
          .nullish()
          .transform((value) => value ?? null)
          .meta({ description: "How the charger identifies itself; generated if omitted" }),
      })
      .meta({
        id: "RegisterOwnCharger",
        override: requiring("nickname", "connection_type"),
      }),
    status: 201,
    response: z
      .object({
        id: z.guid().meta({ description: "Its id; it never changes" }),
        nickname: z.string().meta({ description: "The name you gave it" }),
        connection_type: z.literal("ocpp").meta({ description: "How it is connected" }),
        status: z.literal("offline").meta({ description: "Always offline: the charger has not contacted us yet" }),
        mid_certified: z
          .literal(false)
          .meta({ description: "Always false: the charger has not reported its model yet" }),
        is_charging: z.literal(false).meta({ description: "Whether a car is charging now" }),
        ocpp: Credentials.meta({ description: "What to enter in the charger" }),
      })
      .meta({ id: "RegisteredOwnCharger" }),
    errors: ["connection_type_required", "ocpp_identity_taken", "charger_limit_reached", "gateway_not_configured"],
    failure: "charger_create_failed",
  },
  async ({ body, call, fail, environment: { config } }) => {
    if (body.connection_type !== "ocpp") fail("connection_type_required");
    const gateway = config.OCPP_GATEWAY_URL ?? fail("gateway_not_configured");
    const identity = body.ocpp_identity ?? `${config.KEY_PREFIX}-${randomBytes(6).toString("hex")}`;
    const { hashes, shown } = newCredentials();
    const { id } = JSON.parse(
      await call("register_own_charger", { nickname: body.nickname, ocpp_identity: identity, ...hashes }),
    );
    return {
      id,
      nickname: body.nickname,
      connection_type: "ocpp",
      status: "offline",
      mid_certified: false,
      is_charging: false,
      ocpp: shown(gateway, identity),
    } as const;
  },
);

export const renewOcppCredentials = endpoint(
  {
    id: "renewOcppCredentials",
    summary: "Give a charger of yours a new OCPP password",
    description:
      "For a charger whose password was lost or seen by others. The old password, and the " +
      "address for a mirror, end at once. A charger that is connected with it is disconnected within two minutes. Its charging sessions stay. `length` is for a charger " +
      "that cannot take 40 characters. Use the longest password that it can take.",
    caller: { kind: "user", scope: "chargers:write" },
    limit: "user",
    sql: ["renew_ocpp_password"],
    params: { id: "The charger's id" },
    bodyOptional: true,
    body: z
      .object({
        length: z.int().min(16).max(LONGEST).default(LONGEST).meta({
          description: "How many hexadecimal digits the password has",
          example: 20,
        }),
      })
      .meta({ id: "RenewOcppCredentials" }),
    response: z.object({ ocpp: Credentials.meta({ description: "What to enter in the charger" }) }).meta({
      id: "OcppCredentials",
    }),
    errors: ["charger_not_found", "gateway_not_configured"],
    failure: "charger_update_failed",
  },
  async ({ body, param, call, fail, environment: { config } }) => {
    const gateway = config.OCPP_GATEWAY_URL ?? fail("gateway_not_configured");
    const { hashes, shown } = newCredentials(body.length);
    const { identity } = JSON.parse(await call("renew_ocpp_password", { charger_id: param("id"), ...hashes }));
    return { ocpp: shown(gateway, identity) };
  },
);
