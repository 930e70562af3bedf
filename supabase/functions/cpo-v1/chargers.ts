import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { orNull, serialNumber, trimmedTo, uuid } from "#shared/values/fields.ts";
import { CatalogCharger } from "#shared/values/models.ts";

const Repeat = z.object({ account_id: uuid(), serial_number: serialNumber() });

const reported = () => orNull(trimmedTo(120));

export const registerCharger = endpoint(
  {
    id: "registerCharger",
    summary: "Register a charger on an account",
    description:
      "Binds the charger to the account's active connection (the first one, unless `connection_id` picks another). Send `catalog_charger_id`, or " +
      "`ocpp_vendor` and `ocpp_model` as the charger reports them; the id wins when both are sent. `serial_number` is optional for the first " +
      "charger, required from the second on, and the idempotency key: a charger of the account that has it is answered whatever else is sent. A model without MID meter registers with `mid_eligible: false`; `null` " +
      "means its evidence is still to be judged.",
    caller: { kind: "cpo", scope: "cpo:chargers:write" },
    idempotent: "serial_number",
    limit: "cpo_write",
    sql: ["register_charger", "repeat_charger"],
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
      })
      .refine(({ catalog_charger_id, ocpp_vendor, ocpp_model }) => catalog_charger_id || (ocpp_vendor && ocpp_model), {
        message: "send catalog_charger_id, or ocpp_vendor and ocpp_model",
        path: ["catalog_charger_id"],
      })
      .meta({ id: "RegisterCharger" }),
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: what was asked for is done" }),
        idempotent: z.boolean().meta({ description: "True when the account had this charger already" }),
        charger_id: z.guid().meta({ description: "The charger" }),
        catalog: CatalogCharger,
        mid_eligible: z.boolean().nullable().meta({
          description: "Whether its kWh may become ERE; null while the evidence of its MID meter is still to be judged",
        }),
        account_ere_eligible: z.boolean().meta({ description: "Whether all four gates of the account hold now" }),
      })
      .meta({ id: "RegisteredCharger" }),
    errors: [
      "account_not_found",
      "no_connection",
      "catalog_unresolved",
      "serial_number_required",
      "charger_claimed",
      "charger_limit_reached",
    ],
    failure: "catalog_lookup_failed",
    // a known serial number is recognised before the rest of the body is judged
    salvage: async (raw, { call }) => {
      const { data } = Repeat.safeParse(raw);
      if (!data?.serial_number) return null;
      const answer = await call("repeat_charger", data);
      return answer === "null" ? null : answer;
    },
  },
  ({ body, call }) => call("register_charger", body),
);
