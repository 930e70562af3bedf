import { afterAll, beforeAll, expect, test } from "vitest";
import { cloneDatabase, type Database } from "../harness/database.ts";

let database: Database;
beforeAll(async () => {
  database = await cloneDatabase();
  await database.admin.query("insert into core.partners (name, slug) values ('A', 'a')");
});
afterAll(() => database.drop());

async function enqueue(mail: object, letters: object[]) {
  const client = await database.admin.connect();
  try {
    await client.query("select set_config('app.partner_id', id::text, false) from core.partners where slug = 'a'");
    await client.query("select private.enqueue_mails($1, $2)", [mail, JSON.stringify(letters)]);
  } finally {
    client.release(true);
  }
  const { rows } = await database.admin.query(
    "delete from core.mail_outbox returning cause, recipient, template, locale, content, status",
  );
  return rows.sort((a, b) => a.cause.localeCompare(b.cause));
}

test("each letter has what it shares with the others and what is its own; one cause is one mail", async () => {
  const mail = { template: "claim", locale: "en", content: { message: "Hallo", brand: null }, key: "00" };
  const letters = [
    { recipient: "a@example.nl", cause: "1", content: { full_name: "A & <b>", brand: { name: "Zon" } } },
    { recipient: "b@example.nl", cause: "2", content: { full_name: null } },
    { recipient: "c@example.nl", cause: "2", content: { full_name: "C" } },
  ];
  const stored = { template: "claim", locale: "en", status: "captured" };
  expect(await enqueue(mail, letters)).toEqual([
    {
      ...stored,
      cause: "1",
      recipient: "a@example.nl",
      content: { message: "Hallo", full_name: "A & <b>", brand: { name: "Zon" } },
    },
    { ...stored, cause: "2", recipient: "b@example.nl", content: { message: "Hallo", full_name: null, brand: null } },
  ]);
});
