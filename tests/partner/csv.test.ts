// CSV as spreadsheets write it, and as nobody should (specification section 4.2, contract sections 4 and 9).

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readRow } from "#shared/domain/import/rows.ts";
import { isFileFault, readCsv } from "#shared/domain/import/table.ts";
import { createPartnerWorld, newEmail, type PartnerWorld } from "./partner_world.ts";

const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}.csv`, import.meta.url));
const one = async (csv: string) => (await readCsv(csv)).rows[0];
const refusal = async (csv: string) => {
  try {
    await readCsv(csv);
  } catch (error) {
    if (isFileFault(error)) return error.message;
    throw error;
  }
  return null;
};

describe("§4.2 reading", () => {
  const row = { email: "a@voorbeeld.nl", naam: "Jan" };
  test.each([
    ["commas", "email,naam\na@voorbeeld.nl,Jan"],
    ["semicolons", "email;naam\na@voorbeeld.nl;Jan"],
    ["a byte order mark", "\ufeffemail;naam\na@voorbeeld.nl;Jan"],
    ["a sep line", "sep=;\nemail;naam\na@voorbeeld.nl;Jan"],
    ["a sep line after a byte order mark, with CRLF", "\ufeffsep=,\r\nemail,naam\r\na@voorbeeld.nl,Jan\r\n"],
    ["CRLF", "email,naam\r\na@voorbeeld.nl,Jan\r\n"],
    ["CR", "email,naam\ra@voorbeeld.nl,Jan\r"],
    ["mixed line ends", "email,naam\r\n\n\ra@voorbeeld.nl,Jan\r"],
    ["quotes", '"email";"naam"\n"a@voorbeeld.nl";"Jan"'],
    ["spaces around", " email , naam \n a@voorbeeld.nl , Jan "],
    ["blank lines and lines of delimiters", "\n\nemail,naam\n\n , \n,,,\na@voorbeeld.nl,Jan\n,\n\n"],
    ["columns nobody knows", "hobby,email,,naam\nzeilen,a@voorbeeld.nl,x,Jan"],
    ["more values than columns", "email,naam\na@voorbeeld.nl,Jan,x,y,z"],
    ["duplicate headers, the first of which counts", "email,naam,email,NAME\na@voorbeeld.nl,Jan,b@voorbeeld.nl,Piet"],
    ["a charger and a street, which come in rows only", "email,naam,charger,straat\na@voorbeeld.nl,Jan,Easee,Laan"],
  ])("a file with %s is read as it is meant", async (_what, csv) => {
    expect((await readCsv(csv)).rows).toEqual([row]);
  });

  test.each(
    Object.entries({
      type: ["type", "soort"],
      naam: ["naam", "name"],
      email: ["email", "emailadres", "mail", "E-mail"],
      ean: ["ean", "eancode", "EAN code"],
      kvk: ["kvk", "kvknummer", "KvK-nummer"],
      btw: ["btw", "btwnummer", "vat"],
      bedrijfsnaam: ["bedrijfsnaam", "bedrijf", "company_name", "company"],
      contactpersoon: ["contactpersoon", "contact_name", "contact"],
      referral_code: ["referral_code", "referral", "vriendencode"],
      external_ref: ["external_ref", "customer_ref", "klantnummer", "referentie", "extref"],
      postcode: ["postcode", "postal_code", "zip", "zipcode"],
      huisnummer: ["huisnummer", "house_number"],
      toevoeging: ["toevoeging", "huisnummertoevoeging", "house_number_addition", "house_number_suffix"],
      plaats: ["plaats", "woonplaats", "stad", "city"],
    }).flatMap(([column, names]) => names.flatMap((name) => [name, name.toUpperCase()].map((each) => [each, column]))),
  )("§4.2 the header %s stands for %s", async (name, column) => {
    const csv = column === "email" ? `${name}\nx` : `${name};email\nx;a@voorbeeld.nl`;
    expect((await one(csv))?.[column]).toBe("x");
  });

  test("§4.2 names in parts, an address and a telephone number under the names that programs give them", async () => {
    const csv = "Last Name,Email Address,First Name,Mobile\nJansen,a@voorbeeld.nl,Jan,06-12345678";
    expect(await one(csv)).toEqual({ naam: "Jan Jansen", email: "a@voorbeeld.nl", phone: "06-12345678" });
    // a whole name counts before its parts
    expect(await one("Name,First Name,email\nJan,Piet,a@voorbeeld.nl")).toMatchObject({ naam: "Jan" });
  });

  test.each<[row: object, read: object]>([
    [
      { postcode: "3818 LH", huisnummer: "12\u20132" },
      { house_number: 12, house_number_addition: "2" },
    ],
    [
      { postcode: "3818 LH", huisnummer: "00012", toevoeging: "\u2011a" },
      { house_number: 12, house_number_addition: "A" },
    ],
    [{ ean: "8,71687E+17" }, { ean: null, ean_ignored: "invalid_ean" }],
    [{ ean: "871687110000000000" }, { ean: null, ean_ignored: "invalid_ean" }],
    [{ ean: "871687110000000018" }, { ean: "871687110000000018" }],
    [{ email: "o'brien{x}@voorbeeld.nl" }, { email: "o'brien{x}@voorbeeld.nl" }],
    [{ email: "jan.@voorbeeld.nl" }, { reason: "invalid" }],
    [{ email: ".jan@voorbeeld.nl" }, { reason: "invalid" }],
    [{ email: "jan@localhost" }, { reason: "invalid" }],
    [{ naam: "Jan\u00adsen" }, { reason: "invalid" }],
  ])("§4.2 the row %j is read as %j", (row, read) => {
    const sent = { naam: "Jan Jansen", email: "jan@voorbeeld.nl", ...row };
    expect(readRow(sent, 0, { named: true, reserved: () => false })).toMatchObject(read);
  });

  test("§4.2 guards of exporters are taken off a file", async () => {
    expect(await one('email;naam;ean\na@voorbeeld.nl;Jan\u00adsen;="871687110000000018"')).toMatchObject({
      naam: "Jansen",
      ean: "871687110000000018",
    });
  });

  test("delimiters, quotes and line ends inside quotes are data", async () => {
    expect(await one('email;naam\na@voorbeeld.nl;"Jan; de ""Grote"",\nlang"')).toMatchObject({
      naam: 'Jan; de "Grote",\nlang',
    });
  });

  test.each([
    ["nothing but blanks", " \n \n"],
    ["no header", "a@voorbeeld.nl,Jan\nb@voorbeeld.nl,Piet"],
    ["no e-mail column", "naam,ean\nJan,871687000000000016"],
    ["a sep line that names another delimiter than is used", "sep=;\nemail,naam\na@voorbeeld.nl,Jan"],
    ["one line of 2 MB", "x".repeat(2 * 1024 * 1024)],
    ["10,000 columns without an e-mail", Array(10_000).fill("x").join(",")],
  ])("contract §9 a file with %s has no column of addresses", async (_what, csv) => {
    expect(await refusal(csv)).toMatch(/header with a column email/);
  });

  test.each(["email\tnaam\na@voorbeeld.nl\tJan", "sep=\t\nemail\tnaam\na@voorbeeld.nl\tJan"])(
    "contract §9 tabs are no delimiter: %j",
    async (csv) => {
      expect(await refusal(csv)).toMatch(/separated by tabs/);
    },
  );

  test.each(['email,naam\n"a@voorbeeld.nl,Jan\nb@voorbeeld.nl,Piet', 'email,naam\na@voorbeeld.nl,"Jan'])(
    "contract §9 a quote that is never closed is said to be so: %j",
    async (csv) => {
      expect(await refusal(csv)).toMatch(/quote is opened and not closed/);
    },
  );

  test("10,000 columns, and a value of 1 MB, are read in well under a second", async () => {
    // of this process alone, so that no other program makes it longer
    const started = process.cpuUsage();
    const columns = [...Array.from({ length: 10_000 }, (_, index) => `kolom${index}`), "email"];
    const values = Array.from({ length: 20 }, () => [...Array(10_000).fill("x"), "a@voorbeeld.nl"].join(","));
    expect((await readCsv([columns.join(","), ...values].join("\n"))).rows).toHaveLength(20);
    expect((await one(`email,naam\na@voorbeeld.nl,${"x".repeat(1024 * 1024)}`))?.naam).toHaveLength(1024 * 1024);
    const { user, system } = process.cpuUsage(started);
    expect((user + system) / 1000).toBeLessThan(1_000);
  });
});

describe("§4.2 importing", () => {
  let world: PartnerWorld;
  let manager: string;
  beforeAll(async () => {
    world = await createPartnerWorld();
    manager = await world.manager(world.partnerA);
  });
  afterAll(() => world.close());

  const send = (csv: string) =>
    world.post("/partner/drafts/import", { consent: true, send_invite: false, csv }, world.keyA);
  /** As a browser does. */
  const upload = async (
    file: BlobPart | null,
    fields: Record<string, string> = { consent: "true", send_invite: "false" },
    token = manager,
  ) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    if (file !== null) form.set("file", new Blob([file], { type: "text/csv" }), "klanten.csv");
    const request = new Response(form);
    return world.send("/partner/uploads", {
      token,
      raw: await request.arrayBuffer(),
      headers: { "content-type": request.headers.get("content-type") ?? "" },
    });
  };

  test("§4.2 an export from Excel: accents kept, a rounded EAN named, a formula stored as the text it is", async () => {
    const { status, body } = await send(fixture("excel_nl").toString("utf8"));
    expect(status).toBe(200);
    expect(body.created.map(({ email }: { email: string }) => email)).toEqual([
      "jose@voorbeeld.nl",
      "vandam@voorbeeld.nl",
      "formule@voorbeeld.nl",
    ]);
    expect(body.rejected).toMatchObject([{ email: "info@dezon.voorbeeld.nl", reason: "missing_kvk", row: 2 }]);
    expect(body.ean_ignored).toEqual([{ email: "vandam@voorbeeld.nl", reason: "invalid_ean" }]);
    const { rows } = await world.database.admin.query(
      "select name as naam, ean, external_ref from core.drafts order by email",
    );
    expect(rows).toEqual([
      { naam: '=HYPERLINK("https://evil.example")', ean: null, external_ref: "+31" },
      { naam: "José García", ean: "871687000000000016", external_ref: "KL-1" },
      { naam: "Meneer Van Dam", ean: null, external_ref: "KL-3" },
    ]);
  });

  test("§4.2 an export from Google Sheets", async () => {
    const { body } = await send(fixture("google_sheets").toString("utf8"));
    expect([body.added, body.rejected]).toEqual([2, []]);
    expect(
      await world.row(
        "select name as naam, type, company_name as bedrijfsnaam, house_number, house_number_addition, external_ref from core.drafts where email = 'eva@voorbeeld.nl'",
      ),
    ).toEqual({
      naam: "Wit, Eva de",
      type: "zakelijk",
      bedrijfsnaam: "De Wit BV",
      house_number: 12,
      house_number_addition: "2",
      external_ref: "ref, met komma",
    });
  });

  test("a file saved as Windows-1252 is read as it is meant; text that was misread before it came is reported row by row", async () => {
    const bytes = fixture("excel_nl_cp1252");
    const { body } = await upload(new Uint8Array(bytes));
    expect([body.added, body.rejected]).toEqual([2, []]);
    expect(await world.row("select name from core.drafts where email = 'jose2@voorbeeld.nl'")).toEqual({
      name: expect.stringMatching(/^Jos\u00e9/),
    });
    expect((await send(bytes.toString("utf8"))).body.rejected).toContainEqual(
      expect.objectContaining({ reason: "invalid", detail: expect.stringContaining("UTF-8") }),
    );
    // UTF-8 that somebody opened as Windows-1252 and saved again
    const twice = Buffer.from(Buffer.from("naam,email\nRenée,renee@voorbeeld.nl").toString("latin1"), "utf8").toString(
      "utf8",
    );
    expect((await send(twice)).body).toMatchObject({ added: 0, rejected: [{ reason: "invalid" }] });
    const { n } = await world.row("select count(*)::int as n from core.drafts where name ~ '[Ã\ufffd]'");
    expect(n).toBe(0);
  });

  test.each([
    ["no e-mail column", "naam\nJan"],
    ["a quote never closed", 'email,naam\n"a,b'],
    ["tabs", "email\tnaam\na@voorbeeld.nl\tJan"],
    [
      "UTF-16, which Excel calls Unicode text",
      Buffer.from("\ufeffemail;naam\r\na@b.nl;Jan", "utf16le").toString("utf8"),
      /CSV UTF-8/,
    ],
  ])(
    "contract §9 a file with %s is refused with 400 that says what to do, and nothing is stored",
    async (_what, csv, says = /./) => {
      const answer = await send(csv);
      expect(answer).toMatchObject({
        status: 400,
        body: { error: "invalid_request", detail: expect.stringMatching(says), issues: [{ path: "csv" }] },
      });
      expect((await upload(csv)).status).toBe(400);
    },
  );

  test("contract §4 a body of more than 2 MiB: 413; just under it is read", async () => {
    const line = `${newEmail()},Jan\n`;
    const csv = (size: number) => `email,naam\n${line.repeat(Math.floor(size / line.length))}`;
    expect((await send(csv(2.1 * 1024 * 1024))).status).toBe(413);
    expect((await upload(csv(2.1 * 1024 * 1024))).status).toBe(413);
    const { status, body } = await send(csv(1.9 * 1024 * 1024));
    expect([status, body.added, body.skipped.already_drafted]).toEqual([200, 1, 499]);
    expect(body.skipped.over_request_limit).toBeGreaterThan(50_000);
  });

  test("contract §4 an upload: multipart with file, consent and send_invite, or JSON {csv, consent}", async () => {
    const csv = () => `email,naam\n${newEmail()},Jan`;
    expect((await upload(csv(), { consent: "true" })).body).toMatchObject({ added: 1, claim_urls: [] });
    expect((await upload(csv(), { consent: "true", send_invite: "false" })).body.claim_urls).toHaveLength(1);
    expect((await world.post("/partner/uploads", { csv: csv(), consent: true }, manager)).body.added).toBe(1);
    for (const fields of [{}, { consent: "false" }, { consent: "yes" }])
      expect((await upload(csv(), fields as Record<string, string>)).body).toMatchObject({ error: "consent_required" });
    expect((await world.post("/partner/uploads", { csv: csv(), consent: "true" }, manager)).body.error).toBe(
      "consent_required",
    );
    expect((await upload(csv(), { consent: "true", send_invite: "maybe" })).status).toBe(400);
    expect(await upload(csv(), { consent: "true" }, world.keyA)).toMatchObject({
      status: 403,
      body: { error: "Insufficient scope", required_scope: "partners:write" },
    });
  });

  test("an upload without a file is refused with 400 that says so, whatever else is right", async () => {
    for (const answer of [await upload(null), await world.post("/partner/uploads", { consent: true }, manager)])
      expect(answer).toMatchObject({ status: 400, body: { error: "invalid_request", issues: [{ path: "file" }] } });
  });

  test("a form that is none is refused with 400", async () => {
    const answer = await world.send("/partner/uploads", {
      token: manager,
      raw: "no form",
      headers: { "content-type": "multipart/form-data; boundary=x" },
    });
    expect(answer).toMatchObject({ status: 400, body: { error: "invalid_request" } });
  });
});
