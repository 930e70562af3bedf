import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { orNull, serialNumber, trimmedTo, uuid } from "#shared/values/fields.ts";
import { CatalogCharger } from "#shared/values/models.ts";
import { chargerNames } from "./charger_names.ts";

const Repeat = z.object({ account_id: uuid(), serial_number: serialNumber() });

const reported = () => orNull(trimmedTo(120));

export const registerCharger = endpoint(
  {
    id: "registerCharger",
    summary: "Register a charger on an account",
    description:
      "Binds the charger to an active connection of the account: the one in `connection_id`, or else the first one. " +
      "Send `catalog_charger_id`, or `ocpp_vendor` and `ocpp_model` as the charger reports them. The id wins if you " +
      "send both. `serial_number` is the idempotency key. It is optional for the first charger and required from " +
      "the second on. If the account has a charger with this serial number, the call returns that charger and " +
      "ignores the rest of the body. A model without MID meter registers with `mid_eligible: false`; `null` means " +
      "that we have not judged the evidence of its meter yet. Charging sessions may name the charger by `external_ref` " +
      "or by a name in `evses`. Parked sessions with such a name are stored now.",
    caller: { kind: "cpo", scope: "cpo:chargers:write" },
    idempotent: "serial_number",
    limit: "cpo_write",
    sql: ["register_charger", "get_known_charger"],
    body: z
      .object({
        account_id: uuid().meta({ description: "The account" }),
        connection_id: orNull(uuid()).meta({ description: "The connection: one metering point (EAN) of an account" }),
        catalog_charger_id: orNull(uuid()).meta({
          description: "A model of the catalogue, from GET /v1/catalog/chargers",
        }),
        ocpp_vendor: reported().meta({ description: "chargePointVendor of the BootNotification", example: "Alfen BV" }),
        ocpp_model: reported().meta({
          description: "chargePointModel of the BootNotification",
          example: "NG910-60023",
        }),
        ocpp_meter_type: reported().meta({ description: "meterType of the BootNotification; some models need it" }),
        serial_number: orNull(serialNumber()).meta({
          description: "1 to 64 characters, compared upper-case without spaces",
        }),
        ...chargerNames,
      })
      .refine(({ catalog_charger_id, ocpp_vendor, ocpp_model }) => catalog_charger_id || (ocpp_vendor && ocpp_model), {
        message: "send catalog_charger_id, or ocpp_vendor and ocpp_model",
        path: ["catalog_charger_id"],
      })
      .meta({ id: "RegisterCharger" }),
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        idempotent: z.boolean().meta({ description: "True if the account already had this charger" }),
        charger_id: z.guid().meta({ description: "The charger" }),
        catalog: CatalogCharger,
        mid_eligible: z.boolean().nullable().meta({
          description: "Whether its kWh may become ERE; null until we have judged the evidence of its MID meter",
        }),
        account_ere_eligible: z.boolean().meta({ description: "Whether all four gates of the account are open now" }),
      })
      .meta({ id: "RegisteredCharger" }),
    errors: [
      "account_not_found",
      "no_connection",
      "catalog_unresolved",
      "serial_number_required",
      "charger_claimed",
      "charger_limit_reached",
      "name_taken",
      // the specification names it here too
      "catalog_lookup_failed",
    ],
    failure: "charger_create_failed",
    // recognize a known serial number before judging the rest of the body
    salvage: async (raw, { call }) => {
      const { data } = Repeat.safeParse(raw);
      if (!data?.serial_number) return null;
      const answer = await call("get_known_charger", data);
      return answer === "null" ? null : answer;
    },
  },
  ({ body, call }) => call("register_charger", body),
);
