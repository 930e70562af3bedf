import { z } from "#shared/foundation/zod.ts";
import { instant } from "#shared/values/fields.ts";

const ConnectionType = z.enum(["easee", "wallbox", "zaptec", "enphase", "ocpp", "smappee", "v2c", "other"]);
const ChargerStatus = z
  .enum(["online", "offline"])
  .meta({ description: "online: the charger contacted us in the last 3 minutes" });
const mid_certified = z
  .boolean()
  .meta({ description: "Whether its MID meter is confirmed: only then do its kWh earn ERE" });

export const Charger = z
  .object({
    id: z.guid().meta({ description: "Its id; it never changes" }),
    nickname: z.string().meta({ description: "The name you gave it" }),
    connection_type: ConnectionType.meta({ description: "How it is connected" }),
    status: ChargerStatus,
    mid_certified,
    mid_eligible: z.boolean().nullable().meta({
      description: "Whether its model has a MID meter; null while we do not know its model",
    }),
    is_charging: z.boolean().meta({ description: "Whether a car is charging now" }),
    current_session: z
      .object({
        id: z.guid().meta({ description: "The session's id; it never changes" }),
        started_at: instant().meta({ description: "When it began" }),
        kwh_so_far: z.number().meta({ description: "kWh until now" }),
        id_tag: z
          .string()
          .optional()
          .meta({
            description:
              "The card that started it, if the charger told one. Only your own token reads it, not an application's. " +
              "We drop it when the session ends",
            example: "04A3B2C1D4E5F6",
          }),
      })
      .optional()
      .meta({ description: "While a car is connected; null otherwise" }),
    ocpp_identity: z.string().optional().meta({ description: "How it identifies itself, if it connects by OCPP" }),
    last_seen_at: instant().optional().meta({ description: "When we last heard of it" }),
    password_refused_at: instant()
      .optional()
      .meta({
        description:
          "When a connection under its identity last gave a wrong password, if we did not hear of the charger since. It " +
          "may be a stranger's charger: an identity is no secret",
      }),
    latest_meter_wh: z.int().optional().meta({ description: "The meter's last reading, in Wh" }),
    meter_updated_at: instant().optional().meta({ description: "When the meter was last read" }),
  })
  .meta({ id: "Charger" });
export type Charger = z.output<typeof Charger>;
