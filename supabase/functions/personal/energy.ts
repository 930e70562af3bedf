import { Month } from "#shared/endpoints/responses/energy.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";

/** Programs written for services that count MID chargers apart look for the names with _all. */
const EnergyMonth = Month.extend({
  kwh_all: z.number().meta({ description: "kWh of all your chargers: the same as `kwh`" }),
  sessions_all: z.int().meta({ description: "Sessions of all your chargers: the same as `sessions`" }),
});

export const getEnergy = endpoint(
  {
    id: "getEnergy",
    summary: "Read your energy per month and in total",
    description:
      "Completed sessions of all your chargers, newest month first. A session belongs to the month in which it " +
      "started, by Dutch time, and is never split. So `GET /sessions` from the first of a month to the first of the " +
      "next adds up to that month. A session that cannot be true appears there with `flags`, and is not counted " +
      "here. `ere_credits` counts sessions of MID chargers on a connection under your mandate, for delivery years " +
      "2026 and later. Once a month is booked, it has the booked ERE.",
    caller: { kind: "user", scope: "energy:read" },
    limit: "user",
    sql: ["get_energy"],
    response: z
      .object({
        total_kwh: z.number().meta({ description: "kWh of all months" }),
        total_ere_credits: z.number().meta({ description: "ERE of all months" }),
        total_sessions: z.int().meta({ description: "Completed sessions of all months" }),
        total_kwh_all: z.number().meta({ description: "kWh of all your chargers: the same as `total_kwh`" }),
        total_sessions_all: z
          .int()
          .meta({ description: "Sessions of all your chargers: the same as `total_sessions`" }),
        months: z.array(EnergyMonth).meta({ description: "The months" }),
      })
      .meta({ id: "Energy" }),
    errors: [],
    failure: "internal_error",
  },
  ({ call }) => call("get_energy"),
);
