// Every bench there is, by its name, in the order of docs/performance.md. Each has a file of that name beside this one.

import { batch } from "./batch.ts";
import { charging_in } from "./charging_in.ts";
import { cold } from "./cold.ts";
import { customers } from "./customers.ts";
import { energy } from "./energy.ts";
import { ere } from "./ere.ts";
import { figures } from "./figures.ts";
import { imports } from "./import.ts";
import type { Bench } from "./kit/bench.ts";
import { list } from "./list.ts";
import { neighbor } from "./neighbor.ts";
import { ocpi } from "./ocpi.ts";
import { ocpp } from "./ocpp.ts";
import { pooler } from "./pooler.ts";
import { read } from "./read.ts";
import { replica } from "./replica.ts";
import { round_trips } from "./round_trips.ts";
import { scale } from "./scale.ts";
import { token } from "./token.ts";

export const BENCHES = {
  read,
  batch,
  token,
  list,
  figures,
  customers,
  import: imports,
  charging_in,
  scale,
  round_trips,
  cold,
  neighbor,
  pooler,
  energy,
  ere,
  ocpi,
  ocpp,
  replica,
} satisfies Record<string, Bench>;
