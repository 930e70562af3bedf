// The shortest npm run faults: two parts of the product are killed under load.

import { expect, test } from "vitest";
import { faults } from "../../trials/faults/run.ts";
import { prepare } from "../harness/prepared.ts";

test("whatever was acknowledged is stored once after Postgres and the functions were killed under load", async () => {
  const only = ["Postgres is killed", "the functions are killed"];
  const writing = ["months", "sessions", "imports", "charging"];
  const options = { host: "sandbox", seed: 27, seconds: 0, only, writing, prepare } as const;
  const { faults: happened, writes, broken } = await faults(options);
  expect(broken).toEqual([]);
  expect(happened.map(({ fault }) => fault).sort()).toEqual(only);
  for (const { failures } of happened) expect(Object.keys(failures)).not.toEqual([]);
  for (const { acknowledged } of Object.values(writes)) expect(acknowledged).toBeGreaterThan(0);
});
