// The shortest npm run trial -- faults: two parts of the product are killed under load.

import type pg from "pg";
import { expect, test } from "vitest";
import { faults } from "../../trials/faults/run.ts";
import { readMailbox } from "../../trials/load/heard.ts";
import { openJournal } from "../../trials/load/journal.ts";
import { prepareSandbox } from "../harness/prepared.ts";

test("whatever was acknowledged is stored once after Postgres and the functions were killed under load", async () => {
  const only = ["Postgres is killed", "the functions are killed"];
  const writing = ["months", "sessions", "imports", "charging"];
  const options = { host: "sandbox", seed: 27, seconds: 0, only, writing, prepare: prepareSandbox } as const;
  const { faults: happened, writes, broken } = await faults(options);
  expect(broken).toEqual([]);
  expect(happened.map(({ fault }) => fault).sort()).toEqual(only);
  for (const { failures } of happened) expect(Object.keys(failures)).not.toEqual([]);
  for (const { acknowledged } of Object.values(writes)) expect(acknowledged).toBeGreaterThan(0);
});

test("a mail whose code was used before we knew that it was sent is not a foreign one", async () => {
  const mails = ["sent", "dropped", "foreign"].map((id) => ({
    from: "",
    to: [`${id}@example.nl`],
    message: `Message-ID: <${id}@x>`,
  }));
  const stored = ["sent", "dropped"].map((id) => ({ id, status: id, recipient: `${id}@example.nl` }));
  const query = async (text: string) => ({
    rows: stored.filter(({ status }) => !text.includes(" in (") || text.includes(`'${status}'`)),
  });
  const journal = await openJournal("http://localhost");
  await readMailbox(mails, journal).check({ query } as unknown as pg.Pool);
  expect(journal.broken()).toEqual([{ promise: "mail: a mail came under a foreign id", first: "foreign", count: 1 }]);
});
