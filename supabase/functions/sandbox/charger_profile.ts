import { z } from "#shared/foundation/zod.ts";
import { orNull, uuid } from "#shared/values/fields.ts";

const WEEK_S = 7 * 24 * 3600;
const hundredths = (value: number) => Math.round(value * 100) / 100;

/** How a virtual charger charges. Its sessions never overlap, so a week has to hold them. */
export const ChargerProfile = z
  .object({
    mid: z.boolean().default(true).meta({ description: "false: no MID meter, so its sessions never count toward ERE" }),
    kwh_per_session: z.number().min(0.1).max(100).default(12).meta({ description: "kWh of one session" }),
    sessions_per_week: z
      .number()
      .min(0)
      .max(50)
      .transform(hundredths)
      .default(4)
      .meta({ description: "Sessions in a week" }),
    power_kw: z
      .number()
      .min(1)
      .max(50)
      .transform(hundredths)
      .default(11)
      .meta({ description: "Determines how long a session lasts" }),
    since: z.iso
      .date()
      .refine((date) => date >= "2026-01-01", "must not be before 2026-01-01")
      .default("2026-01-01")
      .meta({ description: "First day with sessions, not after today" }),
    catalog_charger_id: orNull(uuid()).meta({ description: "A model of the catalogue; it takes precedence over mid" }),
  })
  .transform(({ kwh_per_session, ...profile }) => ({ ...profile, wh_per_session: Math.round(kwh_per_session * 1000) }))
  .refine(
    // in whole numbers: what just fits a week fits
    ({ wh_per_session, power_kw, sessions_per_week }) =>
      sessions_per_week === 0 ||
      Math.ceil((wh_per_session * 360) / Math.round(power_kw * 100)) <=
        Math.floor((WEEK_S * 100) / Math.round(sessions_per_week * 100)),
    {
      path: ["sessions_per_week"],
      message: "this number of sessions of kwh_per_session at power_kw does not fit in a week",
    },
  );

/** As it is sent; every field has a default. */
export const SandboxChargerProfile = ChargerProfile.meta({ id: "SandboxChargerProfile" });

export type ChargerProfile = z.output<typeof ChargerProfile>;

export const VirtualCharger = z
  .object({
    charger_id: z.guid().meta({ description: "The charger" }),
    integration_id: z.guid().meta({ description: "The connection that the virtual charger is on" }),
    catalog_charger_id: z.guid().meta({ description: "A model of the catalogue, from GET /v1/catalog/chargers" }),
    brand: z.string().meta({ description: "The maker" }),
    model: z.string().meta({ description: "The model" }),
    mid: z.boolean().meta({ description: "Whether it has a MID meter" }),
  })
  .meta({ id: "VirtualCharger" });

export const SyncResult = z
  .object({
    ok: z.boolean().meta({ description: "Whether sessions could be collected" }),
    sessions_created: z.int().meta({ description: "Number of new charging sessions" }),
    error: z.string().nullable().meta({ description: "Why the sessions could not be collected; null if they were" }),
  })
  .meta({ id: "SyncResult" });
