import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { filter, instant, limit, lineOf, moment, offset, orNull, uuid } from "#shared/values/fields.ts";
import { CatalogCharger, pageFields } from "#shared/values/models.ts";
import { chargerNames } from "./charger_names.ts";

const Charger = z
  .object({
    charger_id: z.guid().meta({ description: "The charger" }),
    account_id: z.guid().meta({ description: "The account" }),
    connection_id: z.guid().meta({ description: "The connection: one metering point (EAN) of an account" }),
    external_ref: z.string().nullable().meta({ description: "Your own name of it, as it is compared" }),
    serial_number: z.string().nullable().meta({ description: "Its serial number, as it is compared" }),
    catalog: CatalogCharger,
    mid_eligible: z.boolean().nullable().meta({
      description: "Whether its kWh may become ERE; null until we have judged the evidence of its MID meter",
    }),
    power_kw: z.number().nullable().meta({ description: "The most it delivers to one car, in kW" }),
    evses: z
      .array(
        z.object({
          evse_no: z.int().meta({ description: "Its number, from 1" }),
          party: z.string().optional().meta({ description: "The party that uses these names, at a hub" }),
          evse_uid: z.string().optional().meta({ description: "Your platform's id of the EVSE" }),
          evse_id: z.string().optional().meta({ description: "eMI3 id, as it is compared" }),
          meter_id: z.string().optional().meta({ description: "The id of its meter" }),
        }),
      )
      .meta({ description: "The EVSEs that have names" }),
    status: z.enum(["active", "removed"]).meta({ description: "A removed charger keeps what it charged" }),
    created_at: instant().meta({ description: "When it was registered" }),
    counts_from: instant()
      .nullable()
      .meta({
        description:
          "Sessions that began before belong to an earlier registration of the same charger, and are not counted here; " +
          "null if there was none",
      }),
    removed_at: instant().nullable().meta({ description: "When it was removed; null while it is active" }),
  })
  .meta({ id: "ClientCharger", description: "A charger of yours, with its names" });

export const listClientChargers = endpoint(
  {
    id: "listClientChargers",
    summary: "List your chargers and their names, newest first",
    caller: { kind: "cpo", scope: "cpo:accounts:read" },
    limit: "cpo_read",
    sql: ["list_chargers"],
    query: z.object({
      limit: limit(50),
      offset: offset(),
      account_id: uuid().optional().meta({ description: "Return only chargers of this account" }),
      external_ref: filter(120).meta({ description: "Return only chargers with this external_ref" }),
    }),
    response: z
      .object({ chargers: z.array(Charger).meta({ description: "This page of chargers" }), ...pageFields })
      .meta({ id: "ClientChargerPage" }),
    errors: ["invalid_request"],
    failure: "list_failed",
  },
  ({ query, call }) => call("list_chargers", query),
);

const which = {
  charger_id: orNull(uuid()).meta({ description: "The charger" }),
  external_ref: orNull(lineOf(1, 120)).meta({ description: "Instead of charger_id: your own name of it" }),
};
const isNamed = ({ charger_id, external_ref }: { charger_id: string | null; external_ref: string | null }) =>
  charger_id !== null || external_ref !== null;
const NAME_ONE = { message: "send charger_id or external_ref", path: ["charger_id"] };

export const updateCharger = endpoint(
  {
    id: "updateCharger",
    summary: "Name a charger and its EVSEs, or correct its power",
    description:
      "A field that you leave out stays; `null` and `[]` clear it. Name the charger by `charger_id` or `external_ref`; " +
      "to change `external_ref`, send `charger_id`. Parked charging sessions that use one of its names are stored: up " +
      "to 1,000 now, others within minutes.",
    caller: { kind: "cpo", scope: "cpo:chargers:write" },
    idempotent: true,
    limit: "cpo_write",
    sql: ["update_charger"],
    body: z
      .object({
        ...chargerNames,
        charger_id: which.charger_id,
        from: orNull(moment()).meta({
          description:
            "Since when the names hold, now if omitted: a session means the charger that had its name at the start. " +
            "Not before the last session that was stored by a name you move",
          example: "2026-03-01T00:00:00+01:00",
        }),
      })
      .refine(isNamed, NAME_ONE)
      .meta({ id: "UpdateCharger" }),
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        sessions_stored: z.int().meta({ description: "Number of parked sessions that this call stored" }),
        charger: Charger,
      })
      .meta({ id: "UpdatedCharger" }),
    errors: ["charger_not_found", "name_taken", "name_in_use"],
    failure: "update_failed",
  },
  ({ body, rawBody, call }) => {
    // null clears, absent keeps: the rules of fields make both null
    const sent = JSON.parse(rawBody) as Record<string, unknown>;
    return call("update_charger", Object.fromEntries(Object.entries(body).filter(([field]) => field in sent)));
  },
);

export const removeCharger = endpoint(
  {
    id: "removeCharger",
    summary: "Remove a charger that no longer stands there",
    description:
      "What it charged stays and counts. Sessions that began before now may still name it. Its names and serial " +
      "number are free for another charger.",
    caller: { kind: "cpo", scope: "cpo:chargers:write" },
    idempotent: true,
    limit: "cpo_write",
    sql: ["remove_charger"],
    body: z.object(which).refine(isNamed, NAME_ONE).meta({ id: "RemoveCharger" }),
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        changed: z.boolean().meta({ description: "False if it was removed before" }),
        charger_id: z.guid().meta({ description: "The charger" }),
        removed_at: instant().meta({ description: "When it was removed" }),
      })
      .meta({ id: "RemovedCharger" }),
    errors: ["charger_not_found"],
    failure: "update_failed",
  },
  ({ body, call }) => call("remove_charger", body),
);
