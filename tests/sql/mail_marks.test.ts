import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cloneDatabase, type Database } from "../harness/database.ts";
import { FILL_MARKS } from "../harness/mail_marks.ts";

// Marks of a mail, filled by the database. A mail is made a pattern once and filled for each of its letters.

let database: Database;
beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(() => database.drop());

const fill = async (template: string, fields: Record<string, string | null>, html = false): Promise<string> => {
  const { rows } = await database.admin.query(FILL_MARKS, [template, fields, html]);
  return rows[0].text;
};

describe("a template is filled", () => {
  test.each<[name: string, template: string, fields: Record<string, string | null>, filled: string]>([
    ["with a field, wherever its mark stands", "{{a}}, {{a}}{{a}}", { a: "x" }, "x, xx"],
    ["with several fields, in whatever order", "{{b}} {{a}} {{c}} {{b}}", { a: "1", b: "2", c: "3" }, "2 1 3 2"],
    ["where one name begins like another", "{{a}}{{ab}}{{a_b}}", { a: "1", ab: "2", a_b: "3" }, "123"],
    ["with nothing where a field is null", "<{{a}}>", { a: null }, "<>"],
    ["but for a mark without a field, which stays", "{{a}} {{nobody}}", { a: "x" }, "x {{nobody}}"],
    ["and a mark in a field stays text", "{{a}} {{b}}", { a: "{{b}}", b: "x" }, "{ {b}} x"],
    ["and braces around a mark stay", "{ {{a}} } {{{a}}}", { a: "x" }, "{ x } {x}"],
    ["where it has percent signs", "100% %s %1$s {{a}}%", { a: "x" }, "100% %s %1$s x%"],
    ["where a field has percent signs", "{{a}}", { a: "%s %1$s 50%" }, "%s %1$s 50%"],
    ["where a field has a backslash, lines and an apostrophe", "{{a}}", { a: "\\1 \n'\\" }, "\\1 \n'\\"],
    ["without marks", "none", { a: "x" }, "none"],
    ["that is empty", "", { a: "x" }, ""],
  ])("%s", async (_name, template, fields, filled) => {
    expect(await fill(template, fields)).toBe(filled);
  });

  test("and what is put into HTML is escaped, the template is not", async () => {
    expect(await fill("<b>{{a}}</b> {{b}}", { a: `<i> & "x" 'y'` }, true)).toBe(
      "<b>&lt;i&gt; &amp; &quot;x&quot; &#39;y&#39;</b> {{b}}",
    );
  });
});

test("each letter of a mail has its own fields; a null one has the mail's default; one cause is one mail", async () => {
  const mail = {
    template: "test",
    locale: "nl",
    subject: "{{name}}: {{what}} 100%",
    html: "<p>{{name}}</p>",
    text: "{{name}} {{url}}",
    links: ["{{url}}", "https://example.nl/%20"],
    defaults: { name: "klant", what: "iets" },
  };
  const letters = [
    { recipient: "a@example.nl", cause: "1", fields: { name: "A & B", what: null, url: "https://a.nl/?x=1&y=%2F" } },
    { recipient: "b@example.nl", cause: "2", fields: { name: null, what: "{{name}}", url: "u" } },
    { recipient: "c@example.nl", cause: "2", fields: { name: "C", what: "c", url: "u" } },
  ];
  await database.admin.query("insert into core.partners (name, slug) values ('A', 'a')");
  const client = await database.admin.connect();
  try {
    await client.query("select set_config('app.partner_id', id::text, false) from core.partners where slug = 'a'");
    await client.query("select private.enqueue_mails($1, $2)", [mail, JSON.stringify(letters)]);
  } finally {
    client.release(true);
  }
  const { rows } = await database.admin.query(
    "select recipient, subject, html, text, links, status from core.mail_outbox order by cause",
  );
  expect(rows).toEqual([
    {
      recipient: "a@example.nl",
      subject: "A & B: iets 100%",
      html: "<p>A &amp; B</p>",
      text: "A & B https://a.nl/?x=1&y=%2F",
      links: ["https://a.nl/?x=1&y=%2F", "https://example.nl/%20"],
      status: "captured",
    },
    {
      recipient: "b@example.nl",
      subject: "klant: { {name}} 100%",
      html: "<p>klant</p>",
      text: "klant u",
      links: ["u", "https://example.nl/%20"],
      status: "captured",
    },
  ]);
});
