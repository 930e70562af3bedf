// Bringing customers on a partner's pages by plain HTTP: looked at first, imported once, kept for an hour and for nobody else.

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import Excel from "exceljs";
import { strToU8, zipSync } from "fflate";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newSecret } from "#shared/auth/tokens.ts";
import { MAX_IMPORT } from "#shared/domain/import/model.ts";
import { readFile, readTable } from "#shared/domain/import/table.ts";
import { rowCounts } from "../harness/world.ts";
import { newEmail } from "../partner/partner_world.ts";
import { type SandboxWorld, START } from "../sandbox/sandbox_world.ts";
import { partsOf } from "../unit/sheet/workbook.ts";
import { type Browser, formToken, heading, newBrowser, type PageAnswer } from "./claimant.ts";
import { createCustomerWorld } from "./customer.ts";
import { type Manager, newManager, portal, portalBrowser } from "./manager.ts";

let world: SandboxWorld;
let manager: Manager;
let ask: Browser;
let colleague: Browser;
let stranger: Browser;
beforeAll(async () => {
  world = await createCustomerWorld();
  manager = await newManager(world, world.partnerA);
  ask = await portalBrowser(world, manager);
  colleague = await portalBrowser(world, await newManager(world, world.partnerA));
  stranger = await portalBrowser(world, await newManager(world, world.partnerB));
});
afterAll(() => world.close());
beforeEach(async () => {
  await world.row("delete from core.draft_uploads");
  await world.row("delete from core.imports");
});

/** A sheet that is 200 MB when it is unpacked. */
const bomb = zipSync({
  ...Object.fromEntries(Object.entries(partsOf({})).map(([name, text]) => [name, strToU8(text)])),
  "xl/worksheets/sheet1.xml": new Uint8Array(200_000_000),
}) as Uint8Array<ArrayBuffer>;

const DRAFTS = ["drafts", "draft_uploads", "mail_outbox"];
const fixture = (name: string) => readFileSync(new URL(`../partner/fixtures/${name}.csv`, import.meta.url));
const csvOf = (...emails: string[]) => `\ufeffnaam;email\r\n${emails.map((email) => `Jan;${email}\r\n`).join("")}`;
const emails = (count: number) => Array.from({ length: count }, newEmail);
const tokenOf = async (browser: Browser, page: string) => formToken((await browser(portal(world, page))).text);

/** Sends a file as the form on the page does. */
async function upload(
  file: BlobPart | null,
  { browser = ask, name = "klanten.csv", lang = "nl", consent = true, mail = "no" } = {},
): Promise<PageAnswer> {
  const form = new FormData();
  form.set("form_token", await tokenOf(browser, "/import"));
  if (consent) form.set("consent", "yes");
  form.set("mail", mail);
  form.set("file", new File(file === null ? [] : [file], file === null ? "" : name));
  return browser(portal(world, `/import?lang=${lang}`), { form });
}

/** The page on which a file is looked at. */
async function look(file: BlobPart, browser = ask, mail = "no") {
  const { status, location } = await upload(file, { browser, mail });
  expect(status).toBe(303);
  const at = location ?? "";
  return {
    at,
    page: `/import/${at.split("/import/")[1]?.split("?")[0]}`,
    ...(await browser(at).then(({ text }) => ({ text }))),
  };
}

const confirm = async (page: string, fields: Record<string, string> = {}, browser = ask) => {
  const form = { form_token: await tokenOf(browser, page), ...fields };
  return browser(portal(world, page), { form });
};
const drafted = async (...of: string[]) =>
  (await world.row("select count(*)::int as n from core.drafts where email = any ($1)", of)).n;

/** The rows of the table: their number, and the customer with what happens. */
const rowsOf = (text: string): [number, string][] =>
  [...text.matchAll(/<tr><th scope="row">(\d+)<\/th>\s*<td>(.*?)<\/td>/gs)].map(([, row, cell = ""]) => [
    Number(row),
    cell
      .replace(/<[^>]*>/g, " ")
      .replace(/\s+/g, " ")
      .trim(),
  ]);

describe("contract §4 bringing customers on a partner's pages", () => {
  test("contract §4 a file from Dutch Excel: each row by its own number and why, nothing stored before it is confirmed", async () => {
    const before = await rowCounts(world, ...DRAFTS);
    const { text, page } = await look(fixture("excel_nl"));
    expect(heading(text)).toBe("Dit zou er gebeuren");
    expect(text).toContain("Van 4 regels worden er 3 aangemeld.");
    const rows = rowsOf(text);
    expect(rows.map(([row]) => row)).toEqual([2, 3, 5, 6]);
    expect(rows[1]?.[1]).toContain("KvK-nummer");
    expect(rows.flat().join()).toContain("De EAN-code is niet te lezen");
    expect(await rowCounts(world, ...DRAFTS)).toEqual(before);
    const english = await ask(portal(world, `${page}?lang=en`));
    expect(english.text).toContain("Of 4 rows, 3 will be signed up.");
    expect(rowsOf(english.text)[1]?.[1]).toContain("A business needs a KvK number of 8 digits");

    expect((await confirm(page)).status).toBe(303);
    const done = (await ask(portal(world, page))).text;
    expect(heading(done)).toBe("Uw klanten zijn aangemeld");
    expect(done).toContain("Niemand is gemaild.");
    const links = done.match(/<code data-copy>[^<]*\/claim\/[^<]*<\/code>/g) ?? [];
    expect(links).toHaveLength(3);
    expect(rowsOf(done).map(([row]) => row)).toEqual([2, 3, 5, 6]);
    const after = await rowCounts(world, ...DRAFTS);
    expect([after.drafts, after.mail_outbox]).toEqual([(before.drafts ?? 0) + 3, before.mail_outbox]);
    const { text: csv } = await ask(portal(world, `${page}/result.csv`));
    expect(csv.trim().split("\r\n")).toHaveLength(5);
    expect(csv).toContain("'=HYPERLINK");
  });

  test("contract §4 without the consent nothing is shown of a file, a customer or addresses; nothing is ticked beforehand", async () => {
    const [email = ""] = emails(1);
    for (const page of ["/import", "/import/customer", "/import/invite"])
      expect((await ask(portal(world, page))).text).not.toMatch(/<input type="checkbox"[^>]*checked/);
    const send = async (page: string, fields: Record<string, string>) =>
      ask(portal(world, page), { form: { form_token: await tokenOf(ask, page), ...fields } });
    const brought = await upload(csvOf(email), { consent: false });
    const waiting = `/import/${brought.location?.split("/import/")[1]?.split("?")[0]}`;
    const looks = "select count(*)::int as n from core.audit_log where action = 'drafts.previewed'";
    const before = await world.row(looks);
    for (const { status, text } of [
      await ask(portal(world, waiting)),
      await send("/import/customer", { naam: "Jan", email }),
      await send("/import/invite", { emails: email }),
    ]) {
      expect(status).toBe(422);
      expect(/<p class="wrong" id="consent-error">([^<]*)/.exec(text)?.[1]).toMatch(
        /^Bevestig dat .* toestemming heeft/,
      );
    }
    expect((await ask(portal(world, waiting))).text).not.toContain(email);
    expect((await confirm(waiting)).location, "not past it").toContain(waiting);
    expect((await ask(portal(world, `${waiting}/mend.csv`))).status).toBe(404);
    const unticked = { form_token: await tokenOf(ask, waiting) };
    expect((await ask(portal(world, `${waiting}/consent`), { form: unticked })).status).toBe(422);
    expect(await world.row(looks), "nobody was looked up").toEqual(before);
    // the file is still there: they only tick
    const form = { form_token: await tokenOf(ask, waiting), consent: "yes", mail: "no" };
    const agreed = await ask(portal(world, `${waiting}/consent`), { form });
    expect((await ask(agreed.location ?? "")).text).toContain("Van 1 regel wordt er 1 aangemeld.");
    const { text } = await look(csvOf(email));
    expect(text).not.toMatch(/<input type="checkbox"[^>]*checked/);
    expect(text).not.toContain('name="consent"');
    expect(await drafted(email)).toBe(0);
  });

  test("contract §4 the first look at what was brought is in the audit log, without anybody's data; the next ones ask nothing", async () => {
    const [email = ""] = emails(1);
    const looks = () => world.row("select count(*)::int as n from core.audit_log where action = 'drafts.previewed'");
    const { n } = await looks();
    const { page, text } = await look(csvOf(email));
    expect((await looks()).n).toBe(n + 1);
    const again = await ask(portal(world, `${page}?show=good`));
    expect(rowsOf(again.text)).toEqual(rowsOf(text));
    expect((await looks()).n).toBe(n + 1);
    const { details } = await world.row(
      "select details from core.audit_log where action = 'drafts.previewed' order by id desc limit 1",
    );
    expect(details).toEqual({ rows: 1, source: "csv", manager_id: manager.user_id });
  });

  test("contract §4 who mails is chosen before the look, as it was the last time; a whole import is mailed after all, once", async () => {
    const chosen = async (browser = stranger) =>
      /name="mail" value="(\w+)" checked/.exec((await browser(portal(world, "/import"))).text)?.[1];
    expect(await chosen(), "the first time nothing is").toBeUndefined();
    const unsaid = await upload(csvOf(...emails(1)), { browser: stranger, mail: "" });
    const asked = await stranger(unsaid.location ?? "");
    expect([asked.status, asked.text.includes("Kies wie de klanten hun link stuurt")]).toEqual([422, true]);
    const all = emails(3);
    const [opted = "", ...others] = all;
    const { page } = await look(csvOf(...all), stranger);
    await confirm(page, {}, stranger);
    expect(await chosen()).toBe("no");
    const done = (await stranger(portal(world, page))).text;
    expect(done).toContain("Mail deze 3 klanten alsnog");
    const [link = ""] = [...done.matchAll(/<code data-copy>([^<]*)/g)].map(([, at = ""]) => at);
    await world.rows("update core.drafts set status = 'claimed', claimed_at = now() where email = $1", opted);
    const form = { form_token: await tokenOf(stranger, page) };
    for (const { status } of await Promise.all(
      Array.from({ length: 10 }, () => stranger(portal(world, `${page}/mail`), { form })),
    ))
      expect(status).toBe(303);
    expect((await ask(portal(world, `${page}/mail`), { form: { form_token: await tokenOf(ask, page) } })).status).toBe(
      404,
    );
    const mails = await world.mails("where recipient = any ($1) order by recipient", all);
    expect(mails.map(({ recipient, template }) => [recipient, template])).toEqual(
      others.toSorted().map((email) => [email, "claim"]),
    );
    expect(link).toContain("/claim/");
    const after = (await stranger(portal(world, page))).text;
    expect(after).toContain("Zij hebben een mail gekregen");
    expect(after).not.toMatch(/alsnog|\/claim\//);
    expect(await chosen()).toBe("yes");
  });

  test("contract §4 who chooses it has them mailed, each once", async () => {
    const [email = ""] = emails(1);
    const { page } = await look(csvOf(email), ask, "yes");
    await confirm(page);
    const { text } = await ask(portal(world, page));
    expect(text).toContain("Van 1 regel is er 1 aangemeld. Zij hebben een mail gekregen");
    expect(text).not.toContain("/claim/");
    expect(await world.row("select count(*)::int as n from core.mail_outbox where recipient = $1", email)).toEqual({
      n: 1,
    });
  });

  test("contract §4 a file of 1,100 rows in stretches, confirmed ten times at once: each row once, and what was foretold", async () => {
    const all = emails(1_098);
    const [first = "", second = ""] = all;
    const { page } = await look(csvOf(...all, first, second));
    const foretold = rowsOf((await ask(portal(world, `${page}?show=bad`))).text);
    expect(foretold).toHaveLength(100);
    const form = { form_token: await tokenOf(ask, page) };
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(portal(world, page), { form })));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(303));
    expect(await drafted(...all)).toBe(1_000);
    const done = (await ask(portal(world, `${page}?show=bad`))).text;
    expect(done).toContain("Van 1.100 regels zijn er 1.000 aangemeld.");
    expect(rowsOf(done)).toEqual(foretold);
    expect(done).toContain("Staat dubbel in het bestand: ook op regel 2");
    const { n } = await world.row(
      "select count(*)::int as n from core.audit_log where action = 'drafts.imported' and details ->> 'added' = '500'",
    );
    expect(n).toBe(2);
    // the list has the order of the sheet, over its parts too
    const { text: listed } = await ask(portal(world, "/drafts.csv"));
    const order = listed.split("\r\n").map((line) => (line.split(";")[1] ?? "").replaceAll('"', ""));
    expect(order.filter((email) => all.includes(email))).toEqual(all.slice(0, 1_000));
    // another ten minutes later change nothing
    await confirm(page);
    expect(await drafted(...all)).toBe(1_000);
  });

  test("contract §4 who is looked at in the old year and signed up in the new one is of the new one", async () => {
    const [email = ""] = emails(1);
    await world.travel("2026-12-31T22:59:50Z"); // 23:59:50 in the Netherlands
    const browser = await portalBrowser(world, await newManager(world, world.partnerB));
    const { page } = await look(csvOf(email), browser);
    await world.travel("2026-12-31T23:00:10Z");
    await confirm(page, {}, browser);
    const { text } = await browser(portal(world, `/drafts?q=${email}`));
    await world.travel(START);
    expect([text.includes("1 jan 2027"), text.includes("31 dec 2026")]).toEqual([true, false]);
  });

  test("contract §4 what is left of an import that broke off is done by going on", async () => {
    const all = emails(600);
    const { page } = await look(csvOf(...all));
    await confirm(page);
    // as after a crash between two stretches
    await world.row(
      "update core.imports set rows_done = 500, outcomes = (select jsonb_agg(o) from jsonb_array_elements(outcomes) o where (o ->> 'row')::int <= 500)",
    );
    await world.row("delete from core.drafts where email = any ($1)", all.slice(500));
    const half = (await ask(portal(world, page))).text;
    expect(heading(half)).toBe("Nog niet alles is gedaan");
    expect(half).toContain('<progress value="500" max="600"');
    await confirm(page, {});
    expect(await drafted(...all)).toBe(600);
    expect(heading((await ask(portal(world, page))).text)).toBe("Uw klanten zijn aangemeld");
  });

  test("contract §4 while somebody else holds it nothing is done, and the page says to confirm it again", async () => {
    const [email = ""] = emails(1);
    const { page } = await look(csvOf(email));
    const holder = await world.database.admin.connect();
    try {
      await holder.query("begin");
      await holder.query("select from core.imports for update");
      const { status, text } = await confirm(page);
      expect([status, await drafted(email)]).toEqual([200, 0]);
      expect(text).toContain("Bevestig het nog eens");
    } finally {
      await holder.query("rollback");
      holder.release();
    }
    await confirm(page);
    expect(await drafted(email)).toBe(1);
  });

  test("contract §4 who is mailed by themselves while the whole import is mailed gets one letter", async () => {
    const all = emails(2);
    const [mailed = "", other = ""] = all;
    const { page } = await look(csvOf(...all));
    await confirm(page);
    const form = { form_token: await tokenOf(ask, page) };
    const holder = await world.database.admin.connect();
    try {
      await holder.query("begin");
      await holder.query("update core.drafts set invited_at = now() where email = $1", [mailed]);
      const sending = ask(portal(world, `${page}/mail`), { form });
      await expect
        .poll(() =>
          world.rows("select from pg_stat_activity where wait_event_type = 'Lock' and query ~ 'invite_import'"),
        )
        .toHaveLength(1);
      await holder.query("commit");
      expect((await sending).status).toBe(303);
    } finally {
      await holder.query("rollback");
      holder.release();
    }
    const mails = await world.mails("where recipient = any ($1)", all);
    expect(mails.map(({ recipient }) => recipient)).toEqual([other]);
  });

  test("contract §4 it is encrypted, for who brought it alone, and gone after an hour", async () => {
    const [email = ""] = emails(1);
    const { page } = await look(csvOf(email));
    const { kept } = await world.row("select i::text as kept from core.imports i");
    expect(kept).not.toContain(email);
    for (const browser of [colleague, stranger]) {
      const { status, text } = await browser(portal(world, page));
      expect([status, text.includes(email)]).toEqual([404, false]);
      const form = { form_token: await tokenOf(browser, "/import") };
      expect((await browser(portal(world, page), { form })).status).toBe(404);
      expect((await browser(portal(world, `${page}/result.csv`))).status).toBe(404);
    }
    await world.row("update core.imports set expires_at = created_at");
    expect((await ask(portal(world, page))).status).toBe(404);
    const form = { form_token: await tokenOf(ask, "/import") };
    expect((await ask(portal(world, page), { form })).status).toBe(404);
    expect(await drafted(email)).toBe(0);
    await world.row("select private.expire_drafts()");
    expect(await rowCounts(world, "imports")).toEqual({ imports: 0 });
    for (const id of [randomUUID(), "x", "%00", "..%2f"])
      expect((await ask(portal(world, `/import/${id}`))).status).toBe(404);
  });

  test("contract §4 ten files of a person are kept at most, and none that was confirmed makes room", async () => {
    const [email = ""] = emails(1);
    const { page } = await look(csvOf(email));
    await confirm(page);
    for (let n = 0; n < 12; n++) await look(csvOf(...emails(1)));
    expect(await rowCounts(world, "imports")).toEqual({ imports: 11 });
    expect((await ask(portal(world, page))).status).toBe(200);
  });

  test("contract §4 ten that are done are kept at most, however many somebody confirms within the hour", async () => {
    const [email = ""] = emails(1);
    for (let n = 0; n < 12; n++) await confirm((await look(csvOf(email))).page);
    expect(await rowCounts(world, "imports")).toEqual({ imports: 10 });
  });

  test.each([
    ["no file", null, "Kies een bestand"],
    ["an empty file", "", "Dit bestand is leeg"],
    ["the beginning of a workbook", new Uint8Array([0x50, 0x4b, 3, 4, 20, 0, 6, 0]), "beschadigd"],
    ["an old workbook of Excel", Buffer.from("d0cf11e0a1b11ae1", "hex"), "van vóór 2007"],
    ["a sheet that grows to 200 MB", bomb, "groter dan 16 MB"],
    ["UTF-16 without a mark", Buffer.from("email;naam\r\na@b.nl;Jan", "utf16le"), "bestand uit een spreadsheet"],
    ["tabs", "email\tnaam\na@b.nl\tJan", "tabs"],
    ["no header", "a@voorbeeld.nl;Jan\n", "waaronder email"],
    ["a quote that never closes", 'email;naam\n"a;b', "aanhalingsteken"],
    ["a header alone", "email;naam\r\n", "geen klanten"],
    ["5,001 rows", `email\n${"a@b.nl\n".repeat(5_001)}`, "5.001 regels"],
    ["2 MiB + 1", `email\n${"x".repeat(MAX_IMPORT - 5)}`, "groter dan 2 MB"],
  ] as [string, BlobPart | null, string][])(
    "contract §4 %s: the field says what to do, and nothing is kept",
    async (_what, file, says) => {
      const { status, text } = await upload(file);
      expect(status).toBe(422);
      expect(/<p class="wrong" id="file-error">([^<]*)/.exec(text)?.[1]?.replaceAll("&quot;", '"')).toContain(says);
      expect(await rowCounts(world, "imports")).toEqual({ imports: 0 });
    },
  );

  test("contract §4 a file of 3 MiB is answered with a page, and one of 2 MiB is read", async () => {
    const { status, text } = await upload("x".repeat(3 * 1024 * 1024));
    expect([status, heading(text)]).toEqual([413, "Dit bestand is te groot"]);
    const [email = ""] = emails(1);
    const csv = `naam,email\n${"J".repeat(MAX_IMPORT - email.length - 13)},${email}\n`;
    expect(csv.length).toBe(MAX_IMPORT);
    expect((await look(csv)).text).toContain("Van 1 regel wordt er 1 aangemeld.");
  });

  test("contract §4 a header of a megabyte is no page of a megabyte, whether its column is read or not", async () => {
    const dashes = "-".repeat(500_000);
    const { text } = await look(`e${dashes}mail;naam;x${dashes}\n${newEmail()};Jan;x\n`);
    expect(text).toContain("Van 1 regel wordt er 1 aangemeld.");
    expect(text.length).toBeLessThan(20_000);
    expect((await upload(`email${";x".repeat(500)}\nx@y.nl`)).text).toContain("meer dan 500 kolommen");
  });

  test("contract §4 what is kept of a file is bounded by its bytes as they are stored", async () => {
    const before = await rowCounts(world, "imports");
    const refused = await upload(`email\n${"\u0001".repeat(2_000_000)}`);
    expect([refused.status, refused.text.includes("tekens die in geen tekst horen")]).toEqual([422, true]);
    expect(await rowCounts(world, "imports")).toEqual(before);
    // the largest file of text fits: quotes and line ends are escaped
    const line = `"a@voorbeeld.nl";"""${"x".repeat(385)}"""\n`;
    const quoted = await upload(`email;naam\n${line.repeat(4990)}`);
    expect(quoted.status).toBe(303);
    const { size } = await world.row("select max(octet_length(ciphertext)) as size from core.imports");
    expect(size).toBeLessThanOrEqual(6_291_456);
    // with the most columns, each chosen by the longest name
    const csv = `email${";x".repeat(499)}\na@b.nl;${"\u0001".repeat(500_000)}`;
    const { length } = JSON.stringify(await readTable(Buffer.from(csv)));
    const wide = (size: number) => upload(csv + "x".repeat(size - length));
    expect((await wide(3 * 1024 * 1024 - 2048)).status).toBe(422);
    const kept = `/import/${(await wide((3 * 1024 - 16) * 1024)).location?.split("/import/")[1]?.split("?")[0]}`;
    const form = new URLSearchParams({ form_token: await tokenOf(ask, "/import"), "column-0": "email" });
    for (let place = 1; place < 500; place++) form.set(`column-${place}`, "contactpersoon");
    const chosen = await ask(portal(world, `${kept}/columns`), { form });
    expect([chosen.status, chosen.location]).toEqual([303, expect.stringContaining("/import/")]);
    await world.row("delete from core.imports where octet_length(ciphertext) > 1000000");
  });

  test("contract §4 a form that is none of this page's is refused", async () => {
    const form = new FormData();
    form.set("file", new File([csvOf(...emails(1))], "klanten.csv"));
    expect((await ask(portal(world, "/import"), { form })).status).toBe(403);
    form.set("form_token", await tokenOf(ask, "/import"));
    expect((await ask(portal(world, "/import"), { form, headers: { "sec-fetch-site": "cross-site" } })).status).toBe(
      403,
    );
    expect((await ask(portal(world, "/import"), { form: { form_token: await tokenOf(ask, "/import") } })).status).toBe(
      403,
    );
    expect(await rowCounts(world, "imports")).toEqual({ imports: 0 });
  });

  test("contract §4 nothing of a file is read for who is not signed in, however they say that they are", async () => {
    const unreadable = {
      form: { form_token: "x" },
      headers: { "content-type": "multipart/form-data; boundary=x", cookie: `portal=${newSecret()}` },
    };
    for (const path of ["/import", "/settings/branding/logo"]) {
      const answer = await newBrowser(world)(portal(world, path), unreadable);
      expect([answer.status, answer.location], path).toEqual([303, expect.stringContaining("/portal/sign-in")]);
      const own = { ...unreadable, headers: { "content-type": unreadable.headers["content-type"] } };
      expect((await ask(portal(world, path), own)).status, "of who is, it is").toBe(400);
    }
  });

  /** A workbook of one sheet. */
  const workbook = async (...rows: Excel.CellValue[][]) => {
    const book = new Excel.Workbook();
    book.addWorksheet("verborgen", { state: "hidden" }).addRow(["email"]);
    const sheet = book.addWorksheet("Klanten");
    for (const row of rows) sheet.addRow(row);
    return new Uint8Array(await book.xlsx.writeBuffer());
  };

  test("contract §4 an Excel file: its first visible sheet, formulas by their value, an error named at its row", async () => {
    const [one = "", two = "", three = ""] = emails(3);
    const file = await workbook(
      ["Naam", "E-mail", "Postcode", "Huisnummer", "Klantnummer"],
      ["Zoë", one, "3818 LH", 8, { formula: "1+1", result: 1024 }],
      [],
      [{ error: "#N/A" }, two, "3818 LH", { error: "#REF!" }, 1025],
      ["Jan", three, "3818 LH", { error: "#REF!" }, 1026],
    );
    const { text, page } = await look(file);
    expect(text).toContain("Van 3 regels worden er 2 aangemeld.");
    const rows = rowsOf(text);
    expect(rows.map(([row]) => row)).toEqual([2, 4, 5]);
    expect(rows[1]?.[1]).toContain("Naam heeft een fout in de spreadsheet");
    expect(rows[2]?.[1]).toContain("Het huisnummer ontbreekt of is niet te lezen");
    await confirm(page);
    const draft = "select name, house_number, external_ref from core.drafts where email = $1";
    expect(await world.row(draft, one)).toEqual({ name: "Zoë", house_number: 8, external_ref: "1024" });
    expect(await drafted(one, two, three)).toBe(2);
  });

  test.each<[what: string, encoding: (csv: string) => BlobPart]>([
    ["Windows-1252", (csv) => Buffer.from(csv, "latin1")],
    ["UTF-16 with a mark and tabs", (csv) => Buffer.from(`\ufeff${csv.replaceAll(";", "\t")}`, "utf16le")],
    ["UTF-8 without a mark", (csv) => Buffer.from(csv)],
  ])("contract §4 a file in %s is read as it is meant, commas in names too", async (what, encode) => {
    const [email = ""] = emails(1);
    const { text, page } = await look(encode(`naam;email\r\nVries, Zoë de;${email}\r\n`));
    expect(text.includes("Klopt deze naam?")).toBe(what === "Windows-1252");
    expect(text).toContain("Vries, Zoë de");
    await confirm(page);
    expect(await world.row("select name from core.drafts where email = $1", email)).toEqual({ name: "Vries, Zoë de" });
  });

  test("contract §4 a title above the header is no header, and a file without one is told what it lacks", async () => {
    const [email = ""] = emails(1);
    const { text } = await look(`Klanten van Zonneveld\nStand van november\n\nNaam;E-mail\nJan;${email}\n`);
    expect(text).toContain("Kolommen: 2 gelezen, 0 overgeslagen");
    expect(rowsOf(text)).toHaveLength(1);
  });

  test("contract §4 a column with another name is asked about and read as they choose, and an address column is needed", async () => {
    const [email = ""] = emails(1);
    const { text, page } = await look(`Klantnaam;Postadres elektronisch;Huisnr;Pc\nJan;${email};8;3818 LH\n`);
    expect(heading(text)).toBe("Wat staat in welke kolom?");
    for (const meant of ["Huisnummer", "Postcode"]) expect(text).toContain(`Bedoelt u: ${meant}?`);
    expect(text, "by what is in it, whatever stands above it").toContain("Bedoelt u: E-mailadres?");
    expect(text).toContain("Kijk of wij hieronder goed kozen");
    expect(text).toContain("Kolommen: 4 gelezen, 0 overgeslagen");
    expect(text, "the only way on").toContain('<button class="button">Lees het bestand zo</button>');
    expect((await look("Klantnaam;Huisnr\nJan;8\n")).text).toContain(
      "Wij weten niet in welke kolom het e-mailadres staat",
    );
    expect((await confirm(page)).location, "nothing is imported before").toContain(page);
    const form = {
      form_token: await tokenOf(ask, page),
      "column-0": "naam",
      "column-1": "email",
      "column-2": "huisnummer",
      "column-3": "postcode",
    };
    const { status, location } = await ask(portal(world, `${page}/columns`), { form });
    expect(status).toBe(303);
    const chosen = `/import/${location?.split("/import/")[1]?.split("?")[0]}`;
    expect((await ask(portal(world, chosen))).text).toContain("Van 1 regel wordt er 1 aangemeld.");
    await confirm(chosen);
    expect(await world.row("select name, house_number, postal_code from core.drafts where email = $1", email)).toEqual({
      name: "Jan",
      house_number: 8,
      postal_code: "3818LH",
    });
    const others = { browser: stranger, form: { form_token: await tokenOf(stranger, "/import") } };
    expect((await stranger(portal(world, `${page}/columns`), { form: others.form })).status).toBe(404);
    expect((await stranger(portal(world, `${chosen}/mend.csv`))).status).toBe(404);
  });

  test("contract §4 a name in several columns is asked about and read whole, first name first", async () => {
    const [email = ""] = emails(1);
    const { text, page } = await look(`Achternaam;Voornaam;Tussenvoegsel;Email\nVries;Sanne;de;${email}\n`);
    expect(text.match(/Bedoelt u: Naam\?/g)).toHaveLength(3);
    // nothing is known of the row before they chose
    expect(rowsOf(text)[0]?.[1]).toContain("Kies eerst wat er in de kolom Achternaam staat");
    expect(text).toMatch(/class="check"[^>]*>[^<]*<strong>1<.*class="bad"[^>]*>[^<]*<strong>0</s);
    expect(text).toContain("Wij herkennen niet elke kolom zeker.");
    expect(text).not.toContain("worden er 0");
    expect(text).not.toContain("mend.csv");
    const form = {
      form_token: await tokenOf(ask, page),
      ...{ "column-0": "naam", "column-1": "naam", "column-2": "naam", "column-3": "email" },
    };
    const { location } = await ask(portal(world, `${page}/columns`), { form });
    await confirm(`/import/${location?.split("/import/")[1]?.split("?")[0]}`);
    expect(await world.row("select name from core.drafts where email = $1", email)).toEqual({ name: "Sanne de Vries" });
  });

  test("contract §4 rows are counted by kind, shown by kind, and the bad ones downloaded as they stand in the file", async () => {
    const [good = "", check = ""] = emails(2);
    const csv = `Naam;E-mail;Postcode;Huisnummer;Hobby\nJan;${good};3818 LH;8;x\nPiet;geen;3818 LH;8;=1+1\nAn;${check};nergens;8;y\n;ook geen;;;z\n`;
    const { text, page } = await look(csv);
    const count = (html: string, kind: string) =>
      new RegExp(`class="${kind}"[^>]*>[^<]*<strong>(\\d+)`).exec(html)?.[1];
    expect(["all", "good", "check", "bad"].map((kind) => count(text, kind))).toEqual(["4", "1", "1", "2"]);
    expect(text, "half of it failed").toContain('class="panel waits"');
    const shown = async (show: string) => rowsOf((await ask(portal(world, `${page}?show=${show}`))).text);
    expect((await shown("good")).map(([row]) => row)).toEqual([2]);
    expect((await shown("check")).map(([row]) => row)).toEqual([4]);
    expect((await shown("bad")).map(([row]) => row)).toEqual([3, 5]);
    const { text: mend, bytes = new Uint8Array() } = await ask(portal(world, `${page}/mend.csv`));
    expect(mend.replace("\ufeff", "").split("\r\n").slice(0, 3)).toEqual([
      '"Naam";"E-mail";"Postcode";"Huisnummer";"Hobby";"Wat er gebeurde"',
      `"Piet";"geen";"3818 LH";"8";"'=1+1";"Niet te lezen. E-mail is geen e-mailadres."`,
      ';"ook geen";;;"z";"Niet te lezen. E-mail is geen e-mailadres."',
    ]);
    const cells = (await readTable(bytes)).rows.map((row) => row.cells.slice(0, 5));
    expect(cells[0], "brought again, it says the same").toEqual(["Piet", "geen", "3818 LH", "8", "=1+1"]);
    await confirm(page);
    const done = (await ask(portal(world, page))).text;
    expect(done).toContain('class="panel waits"');
    expect((await ask(portal(world, `${page}/mend.csv`))).text).toBe(mend);
  });

  test("contract §4 a sheet of 5,000 rows is looked at at once and signed up in parts, up to the cap", async () => {
    const all = emails(5_000);
    const { text, page } = await look(
      await workbook(["naam", "email"], ...all.map((email) => ["Jan", email])),
      stranger,
    );
    expect(text).toContain("Van 5.000 regels worden er 1.000 aangemeld.");
    const numbers = async (number: number) => {
      const links = (await stranger(portal(world, `${page}?page=${number}`))).text.matchAll(
        /aria-label="Bladzijde (\d+)"/g,
      );
      return [...links].map(([, each]) => Number(each));
    };
    expect(await numbers(25), "Tab is soon past them").toEqual([1, 24, 25, 26, 50]);
    expect(await numbers(50)).toEqual([1, 49, 50]);
    for (let click = 0; click < 20; click++) {
      await confirm(page, {}, stranger);
      if (!(await stranger(portal(world, page))).text.includes("<progress")) break;
    }
    expect((await stranger(portal(world, page))).text).toContain("Van 5.000 regels zijn er 1.000 aangemeld.");
    expect(await drafted(...all)).toBe(1_000);
  });

  test.each([
    ["template.csv", "nl", "klanten.csv", "type;naam;email"],
    ["template.xlsx", "nl", "klanten.xlsx", "type;naam;email"],
    ["template.xlsx", "en", "customers.xlsx", "type;name;email"],
  ])(
    "contract §4 the template %s in %s is what the import reads, and invites nobody",
    async (path, lang, file, starts) => {
      const address = portal(world, `/import/${path}?lang=${lang}`);
      const { headers, bytes = new Uint8Array() } = await ask(address);
      expect(headers.get("content-disposition")).toContain(file);
      const { columns, rows } = await readFile(bytes);
      expect(
        columns
          .map(({ header }) => header)
          .join(";")
          .startsWith(starts),
      ).toBe(true);
      expect(columns.filter(({ column }) => column === null)).toEqual([]);
      expect(rows).toEqual([]);
      expect((await upload(bytes, { name: file })).text).toContain("staan geen klanten onder de kolommen");
    },
  );

  test("contract §4 one customer by a form: what is wrong stands at its field, and the rest as for a file", async () => {
    const send = async (fields: Record<string, string>) =>
      ask(portal(world, "/import/customer"), {
        form: { form_token: await tokenOf(ask, "/import/customer"), consent: "yes", mail: "no", ...fields },
      });
    for (const [fields, field] of [
      [{ naam: "Jan", email: "geen" }, "email"],
      [{ naam: "", email: newEmail() }, "naam"],
      [{ type: "zakelijk", email: newEmail(), kvk: "12" }, "kvk"],
      [{ type: "zakelijk", email: newEmail() }, "kvk"],
    ] as [Record<string, string>, string][]) {
      const { status, text } = await send(fields);
      expect([status, text.includes(`id="${field}-error"`)]).toEqual([422, true]);
    }
    const [email = ""] = emails(1);
    const { location } = await send({ naam: "Jan", email, postcode: "3818 LH", huisnummer: "16", phone: "0612345678" });
    const page = `/import/${location?.split("/import/")[1]?.split("?")[0]}`;
    await confirm(page);
    expect(await world.row("select phone, house_number, source from core.drafts where email = $1", email)).toEqual({
      phone: "+31612345678",
      house_number: 16,
      source: "csv",
    });
  });

  test("contract §4 people by their addresses alone: each mailed once, in the partner's words", async () => {
    const send = async (fields: Record<string, string>) =>
      ask(portal(world, "/import/invite"), {
        form: { form_token: await tokenOf(ask, "/import/invite"), consent: "yes", ...fields },
      });
    expect((await send({ emails: " ", message: "" })).status).toBe(422);
    const many = await send({ emails: emails(101).join("\n"), message: "Welkom" });
    expect([many.status, many.text.match(/@voorbeeld\.nl/g)?.length]).toEqual([422, 101]);
    const [one = "", other = ""] = emails(2);
    const { location } = await send({ emails: `${one}\n${other}, ${one}`, message: "Hallo buur" });
    const page = `/import/${location?.split("/import/")[1]?.split("?")[0]}`;
    const { text } = await ask(portal(world, page));
    expect(text).toContain("Nodig 2 mensen uit");
    expect(text).not.toContain('name="consent"');
    expect(await drafted(one, other)).toBe(0);
    await confirm(page, {});
    const rows = await world.mails("where recipient = any ($1)", [one, other]);
    expect(rows.map((mail) => mail.text.includes("Hallo buur"))).toEqual([true, true]);
    expect(await world.row("select source, send_invite from core.drafts where email = $1", one)).toEqual({
      source: "invite",
      send_invite: true,
    });
  });
});
