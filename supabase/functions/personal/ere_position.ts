import { ErePosition } from "#shared/endpoints/responses/energy.ts";
import { endpoint } from "#shared/http/endpoint.ts";

export const getErePosition = endpoint(
  {
    id: "getErePosition",
    summary: "Read your ERE of this year: reserved, sold, forecast, by quarter",
    description:
      "The current calendar year in the Netherlands and its quarters so far. `kwh` is the energy that counts toward " +
      "ERE: metered by a MID charger, on a connection under your mandate. Once the register has credited a month, " +
      "it is the kWh that the register accepted. `ere_credits` is the ERE of those kWh. `reserved_ere` is the ERE " +
      "that the register has credited and that are not sold yet. `forecast_ere` covers the whole year: the ERE so " +
      "far, plus your own monthly average for the rest of this month and each later month. The average is over the " +
      "complete months before this one, since the first that counted, at most twelve, of connections whose mandate " +
      "is still in force. A quarter is `open` while it " +
      "lasts and `closed` after it. It is `sold` once any of it is sold, and `paid` once we have paid you for " +
      "everything sold. `revenue_eur` is your part of the sales, after the fee; `price_per_ere` is the price before " +
      "the fee. The numbers are those of your own pages. Money is in euros with two decimals, after the fee. What is " +
      "sold is in `paid` or `payable`. What counts and is not sold is in `unsold`: so far (`ytd_`), for the rest of " +
      "the year (`future_`), and both. What it may bring is an estimate at the last average price that we published; " +
      "it is null if there are such ERE and we published no price.",
    caller: { kind: "user", scope: "energy:read" },
    limit: "user",
    sql: ["get_ere_position"],
    response: ErePosition,
    errors: [],
    failure: "internal_error",
  },
  ({ call }) => call("get_ere_position"),
);
