// Imports at the same moment: each waits for another only where both could take the same thing. Asked of the locks, not of the clock:
// an import that is held open, its rows written and not committed, is overtaken, or is waited for until it ends.

import type { PoolClient } from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Partner } from "../harness/people.ts";
import { createPartnerWorld, draftRow, newEmail, type PartnerWorld } from "./partner_world.ts";

let world: PartnerWorld;
beforeAll(async () => {
  world = await createPartnerWorld();
});
afterAll(() => world.close());
beforeEach(() => world.row("delete from core.draft_uploads"));

/** An import that has done everything but commit. */
async function openImport(partner: Partner, emails: string[]): Promise<PoolClient> {
  const client = await world.database.admin.connect();
  await client.query("begin");
  const caller = { kind: "partner", partner_id: partner.id, host: "sandbox" };
  const rows = emails.map((email, index) => ({ place: index + 1, email, type: "particulier", name: "Sanne" }));
  const { rows: answers } = await client.query("select api.import_drafts($1, $2) as answer", [
    caller,
    { source: "api", send_invite: false, rows, counters: ["conflict"], links: { key: "00", pages_url: "https://x" } },
  ]);
  expect(answers[0].answer.added).toBe(emails.length);
  return client;
}

async function close(client: PoolClient, how: "commit" | "rollback"): Promise<void> {
  await client.query(how);
  client.release();
}

/** Resolves once somebody waits for a lock that this connection holds. */
async function waitedFor(client: PoolClient): Promise<void> {
  const { pid } = (await client.query("select pg_backend_pid() as pid")).rows[0];
  const waiting =
    "select from pg_stat_activity where datname = current_database() and $1 = any (pg_blocking_pids(pid))";
  await expect.poll(async () => (await world.database.admin.query(waiting, [pid])).rowCount, { timeout: 2500 }).toBe(1);
}

const newEmails = (count: number) => Array.from({ length: count }, newEmail);
const rowsOf = (emails: string[]) => emails.map((email) => draftRow({ email }));

test("contract §4 a small import does not wait for a large one of another partner", async () => {
  const large = await openImport(world.partnerB, newEmails(500));
  const { body } = await world.import([draftRow()]);
  await close(large, "rollback");
  expect(body.added).toBe(1);
});

test("contract §4 nor do fifty customers, or another large one that has another of the four places", async () => {
  const large = await openImport(world.partnerB, newEmails(500));
  expect((await world.import(rowsOf(newEmails(50)))).body.added).toBe(50);
  const place = ({ id }: Partner) => world.row("select abs(hashtextextended($1, 0) % 4) as place", id);
  const taken = await place(world.partnerB);
  let partner = await world.addPartner();
  while ((await place(partner)).place === taken.place) partner = await world.addPartner();
  expect((await world.import(rowsOf(newEmails(500)), {}, await world.key(partner))).body.added).toBe(500);
  await close(large, "rollback");
});

test("contract §4 an import waits for another partner's that has one of its addresses, and finds that draft", async () => {
  const [shared = "", ...others] = newEmails(3);
  const first = await openImport(world.partnerB, [shared]);
  const second = world.import(rowsOf([shared, ...others]));
  await waitedFor(first);
  await close(first, "commit");
  expect((await second).body).toMatchObject({ added: 2, skipped: { conflict: 1 } });
});

test("contract §4 one whose other import came to nothing makes the draft itself", async () => {
  const emails = newEmails(60);
  const first = await openImport(world.partnerB, emails);
  const second = world.import(rowsOf(emails));
  await waitedFor(first);
  await close(first, "rollback");
  expect((await second).body).toMatchObject({ added: 60, skipped: { conflict: 0 } });
});

test("contract §4 imports of the same addresses in any order do not wait for each other in a circle: each address has one open draft", async () => {
  const emails = newEmails(200);
  const answers = await Promise.all(
    [emails, emails.toReversed()].flatMap((list) => [
      world.import(rowsOf(list)),
      world.import(rowsOf(list), {}, world.keyB),
      world.import(rowsOf(list.slice(0, 40)), {}, world.keyB),
    ]),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  const open =
    "select count(*)::int as drafts, count(distinct email)::int as addresses from core.drafts where email = any ($1)";
  expect(await world.row(open, emails)).toEqual({ drafts: 200, addresses: 200 });
});

test("contract §8 a list of the largest size takes one lock an address, of the few thousand that the server has", async () => {
  const large = await openImport(world.partnerB, newEmails(500));
  const { locks } = (
    await large.query(
      "select count(*)::int as locks from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'",
    )
  ).rows[0];
  await close(large, "rollback");
  expect(locks).toBe(502);
});
