import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { filter, limit } from "#shared/values/fields.ts";
import { CatalogCharger } from "#shared/values/models.ts";
import { cut, storable } from "#shared/values/text.ts";

/** Characters with a meaning in a search pattern, replaced with spaces (specification section 4.1). */
const PATTERN_CHARACTERS = /[%_,()]/g;

export const listCatalogChargers = endpoint(
  {
    id: "listCatalogChargers",
    summary: "List charger models with a MID meter, by brand and model",
    description:
      'A family whose MID meter depends on the order code appears once as an explicit "(MID variant)" model: choose it only when this charger has the meter.',
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
  // what cannot be stored is left out, so that a name of nothing else counts as missing
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
      "The same resolver the service's OCPP gateway uses. An unknown pair is a normal answer with `resolved` false and the brand's MID models as `suggestions`.",
    caller: { kind: "cpo", scope: null },
    limit: "cpo_read",
    sql: ["resolve_catalog_charger"],
    query: z.object({
      vendor: reported.meta({ description: "chargePointVendor of the BootNotification" }),
      model: reported.meta({ description: "chargePointModel of the BootNotification" }),
    }),
    response: z
      .object({
        resolved: z.boolean().meta({ description: "Whether the catalogue has this charger" }),
        vendor: z.string().meta({ description: "The vendor, as it was sent" }),
        model: z.string().meta({ description: "The model, as it was sent" }),
        catalog_charger_id: z
          .guid()
          .nullable()
          .meta({ description: "A model of the catalogue, from GET /v1/catalog/chargers" }),
        brand: z
          .string()
          .nullable()
          .meta({ description: "The maker of the catalogue's model; null where none was found" }),
        catalog_model: z.string().nullable().meta({ description: "The catalogue's model; null where none was found" }),
        mid_meter: z.boolean().nullable().meta({
          description:
            "Whether that model has a MID meter; null where none was found, or its evidence is still to be judged",
        }),
        detail: z.string().meta({ description: "What it means, for a person to read" }),
        suggestions: z
          .array(CatalogCharger)
          .meta({ description: "The brand's models with a MID meter, where none was found" }),
      })
      .meta({ id: "Resolution" }),
    errors: ["vendor_and_model_required"],
    failure: "catalog_lookup_failed",
  },
  ({ query, call, fail }) => {
    if (!query.vendor || !query.model) return fail("vendor_and_model_required");
    return call("resolve_catalog_charger", query);
  },
);
