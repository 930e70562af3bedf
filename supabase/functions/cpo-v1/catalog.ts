import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { filter, limit } from "#shared/values/fields.ts";
import { CatalogCharger } from "#shared/values/models.ts";
import { cut, storable } from "#shared/values/text.ts";

/** Wildcards of a search pattern, replaced with spaces (specification section 4.1). */
const PATTERN_CHARACTERS = /[%_,()]/g;

export const listCatalogChargers = endpoint(
  {
    id: "listCatalogChargers",
    summary: "List charger models with a MID meter, by brand and model",
    description:
      'If the MID meter depends on the order code, the family has a separate "(MID variant)" model. Choose it only ' +
      "if this charger has the meter.",
    caller: { kind: "cpo", scope: null },
    limit: "cpo_read",
    sql: ["list_catalog_chargers"],
    query: z.object({
      search: filter(80)
        .transform((value) => value?.replace(PATTERN_CHARACTERS, " ").trim() || null)
        .meta({
          description: "Case-insensitive substring of brand or model",
          override: { type: "string", maxLength: 80 },
        }),
      limit: limit(100),
    }),
    response: z
      .object({
        models: z.array(CatalogCharger).meta({ description: "This page of models, by brand and model" }),
        count: z.int().meta({ description: "Items on this page" }),
        has_more: z.boolean().meta({ description: "Whether another page exists" }),
      })
      .meta({ id: "CatalogPage" }),
    errors: [],
    failure: "catalog_lookup_failed",
  },
  ({ query, call }) => call("list_catalog_chargers", query),
);

const reported = z
  .string()
  .optional()
  // drop characters that cannot be stored; a name with nothing else counts as missing
  .transform((value) =>
    cut(
      storable(value ?? "")
        .replaceAll("\ufffd", "")
        .trim(),
      120,
    ),
  )
  .meta({ override: { type: "string", minLength: 1, maxLength: 120 }, param: { required: true } });

export const resolveCatalogCharger = endpoint(
  {
    id: "resolveCatalogCharger",
    summary: "Resolve a BootNotification to a catalogue model",
    description:
      "Uses the same resolver as the service's OCPP gateway. An unknown pair is a normal response: `resolved` is " +
      "false, and `suggestions` lists the brand's MID models.",
    caller: { kind: "cpo", scope: null },
    limit: "cpo_read",
    sql: ["get_charger_resolution"],
    query: z.object({
      vendor: reported.meta({ description: "chargePointVendor of the BootNotification" }),
      model: reported.meta({ description: "chargePointModel of the BootNotification" }),
    }),
    response: z
      .object({
        resolved: z.boolean().meta({ description: "Whether the catalogue has this charger" }),
        vendor: z.string().meta({ description: "The vendor you sent" }),
        model: z.string().meta({ description: "The model you sent" }),
        catalog_charger_id: z
          .guid()
          .nullable()
          .meta({ description: "A model of the catalogue, from GET /v1/catalog/chargers" }),
        brand: z.string().nullable().meta({ description: "The catalogue model's maker; null if no model was found" }),
        catalog_model: z.string().nullable().meta({ description: "The catalogue model; null if none was found" }),
        mid_meter: z.boolean().nullable().meta({
          description:
            "Whether the model has a MID meter; null if no model was found or its evidence is not judged yet",
        }),
        detail: z.string().meta({ description: "The result in words" }),
        suggestions: z
          .array(CatalogCharger)
          .meta({ description: "The brand's models with a MID meter, if no model was found" }),
      })
      .meta({ id: "Resolution" }),
    errors: ["vendor_and_model_required"],
    failure: "catalog_lookup_failed",
  },
  ({ query, call, fail }) => {
    if (!query.vendor || !query.model) return fail("vendor_and_model_required");
    return call("get_charger_resolution", query);
  },
);
