// What the charging of each customer has become.

import { paginate } from "@ere-api/client";
import { client } from "./client.js";

for await (const { cpo_external_ref, ere_eligible, checklist, ere } of paginate(client, "/v1/ere-positions", {
  limit: 200,
})) {
  const closed = Object.entries(checklist).filter(([, open]) => !open);
  const state = ere_eligible ? "eligible" : `waits for ${closed.map(([gate]) => gate).join(", ")}`;
  console.log([cpo_external_ref, state, `${ere?.kwh_counted ?? 0} kWh`, `${ere?.net_eur ?? 0} euro`].join("; "));
}
