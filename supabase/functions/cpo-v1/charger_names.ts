import { z } from "#shared/foundation/zod.ts";
import { lineOf, orNull } from "#shared/values/fields.ts";

const name = () => orNull(lineOf(1, 120));

const Evse = z
  .object({
    evse_uid: name().meta({ description: "The id that your platform gives the EVSE (OCPI evse_uid)" }),
    evse_id: name().meta({
      description: "eMI3 id, compared without stars, dashes and spaces",
      example: "NL*TNM*E77*1",
    }),
    meter_id: name().meta({ description: "The id of its meter" }),
    party: orNull(z.string().regex(/^[A-Za-z]{2}-?[A-Za-z0-9]{3}$/, "must look like NL-TNM")).meta({
      description: "For a hub: only sessions of this party (country and party id) use these names",
      example: "NL-TNM",
    }),
  })
  .meta({ id: "EvseNames" });

/** How charging sessions name a charger; fields of POST /v1/chargers and of POST /v1/chargers:update. */
export const chargerNames = {
  external_ref: name().meta({
    description: "Your own name of the charger, 1 to 120 characters, compared in upper case",
    example: "PAAL-17",
  }),
  power_kw: z
    .number()
    .min(0.1)
    .max(1000)
    .nullish()
    .meta({ description: "The most it delivers to one car, in kW; sessions beyond it are not counted", example: 11 }),
  evses: z
    .array(Evse)
    .max(10)
    .nullish()
    .meta({ description: "Its EVSEs, at most 10. Each charges one car; the first is evse_no 1" }),
};
