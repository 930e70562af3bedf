import { z } from "#shared/foundation/zod.ts";
import { instant } from "#shared/values/fields.ts";

export const ChargingSession = z
  .object({
    id: z.guid().meta({ description: "Its id; it never changes" }),
    charger_id: z.guid().meta({ description: "The charger" }),
    charger_nickname: z.string().meta({ description: "The name you gave the charger" }),
    started_at: instant().meta({ description: "When it began" }),
    ended_at: instant().nullable().meta({ description: "When it ended; null while it is running" }),
    kwh: z.number().meta({ description: "kWh" }),
    status: z
      .enum(["active", "charging", "completed"])
      .meta({ description: "active: connected without charging; charging; completed" }),
    ere_credits: z.number().nullable().meta({
      description: "Null if the session earns none: no MID meter, no mandate, not completed, or flagged",
    }),
    counts_for_ere: z.boolean().meta({
      description: "Whether its kWh are in the total of a month that counts toward ERE",
    }),
    flags: z.array(z.string()).meta({
      description:
        "Why the session does not count: negative, ends_before_start, wrong_clock, too_long (31 days), " +
        "beyond_power, beyond_capacity, other_registration, no_end, meter_disagrees, abroad, duplicate or overlapping (another session, received earlier). after_lock: it came or changed after its " +
        "month was booked, and counts as energy only",
    }),
  })
  .meta({ id: "Session" });
export type ChargingSession = z.output<typeof ChargingSession>;
