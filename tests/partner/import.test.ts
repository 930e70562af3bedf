// POST /partner/drafts/import and POST /partner/customers: every field, every counter, and what parallel imports come to.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { claimKey } from "#shared/domain/claim/links.ts";
import type { Answer } from "../harness/answers.ts";
import { newEan } from "../harness/people.ts";
import { rowCounts, statementsOf } from "../harness/world.ts";
import {
  addCustomer,
  addDraft,
  addLogin,
  createPartnerWorld,
  draftRow,
  newEmail,
  type PartnerWorld,
} from "./partner_world.ts";

let world: PartnerWorld;
beforeAll(async () => {
  world = await createPartnerWorld();
});
afterAll(() => world.close());
// each test has its whole cap
beforeEach(() => world.row("delete from core.draft_uploads"));

const stored = (email: string) => world.row("select * from core.drafts where email = $1", email);
const reasons = async (rows: unknown[], fields = {}) =>
  (await world.import(rows, fields)).body.rejected.map(({ reason }: { reason: string }) => reason);

const NO_SKIPS = {
  invalid: 0,
  reserved_domain: 0,
  missing_kvk: 0,
  already_drafted: 0,
  existing_user: 0,
  suppressed: 0,
  conflict: 0,
  over_request_limit: 0,
  over_cap: 0,
  charger_brand_unsupported: 0,
  charger_not_linked: 0,
  charger_claimed: 0,
};

describe("§4.2 what an import answers", () => {
  test("§4.2 rows: a draft each, with its claim link and no mail where send_invite is false", async () => {
    const rows = [draftRow({ external_ref: "KL-1" }), draftRow({ postcode: "", huisnummer: "" })];
    const { status, body } = await world.import(rows);
    expect(status).toBe(200);
    expect(body).toEqual({
      ok: true,
      dry_run: false,
      added: 2,
      batch_id: expect.any(String),
      created: rows.map((row, index) => ({
        row: index + 1,
        sheet_row: null,
        draft_id: expect.any(String),
        email: row.email,
        external_ref: index === 0 ? "KL-1" : null,
        claim_url: expect.stringMatching(/\/pages\/claim\/[0-9a-f]{32}-[\w-]{43}$/),
        ean_status: index === 0 ? "pending" : "no_address",
        ean_candidates: 0,
      })),
      address_ignored: [],
      ean_ignored: [],
      invite_ignored: [],
      claim_urls: body.created.map(({ email, claim_url }: Record<string, string>) => ({ email, claim_url })),
      referral_codes: [],
      rejected: [],
      skipped: NO_SKIPS,
      cap: { rolling_days: 30, rolling_cap: 1000, remaining_before: 1000 },
    });
    expect(await world.row("select 1 from core.mail_outbox where recipient = $1", rows[0]?.email)).toBeUndefined();
    expect(await stored(rows[0]?.email ?? "")).toMatchObject({ status: "invited", source: "csv", invited_at: null });
  });

  test("§4.2 send_invite, the default: each is mailed their own link once; claim_urls stays empty", async () => {
    const rows = [draftRow({ naam: "Eva <b>" }), draftRow({ naam: "Tom" })];
    const { body } = await world.post("/partner/drafts/import", { consent: true, rows }, world.keyA);
    expect([body.added, body.claim_urls]).toEqual([2, []]);
    for (const { email, claim_url, draft_id } of body.created) {
      const mails = await world.mails("where recipient = $1", email);
      expect(mails).toHaveLength(1);
      const [mail] = mails;
      expect(mail).toMatchObject({ cause: `claim:${draft_id}`, status: "captured", partner_id: world.partnerA.id });
      expect(mail.links).toEqual([claim_url, mail.unsubscribe_url]);
      for (const part of [mail.html, mail.text]) {
        expect(part).toContain(claim_url);
        expect(part).not.toContain("{{");
      }
      expect(mail.html).not.toContain("<b>");
      expect(await stored(email)).toMatchObject({ invited_at: expect.any(Date) });
    }
  });

  test("§4.2 consent that is not exactly true: 400 with a Dutch message, nothing stored", async () => {
    const before = await rowCounts(world, "drafts", "draft_uploads", "mail_outbox");
    for (const consent of [undefined, null, false, "true", 1, "yes", [], {}])
      for (const path of ["/partner/drafts/import", "/partner/customers"]) {
        const answer = await world.post(path, { consent, rows: [draftRow()] }, world.keyA);
        expect(answer).toMatchObject({
          status: 400,
          body: { error: "consent_required", message: expect.stringContaining("toestemming") },
        });
      }
    expect(await rowCounts(world, "drafts", "draft_uploads", "mail_outbox")).toEqual(before);
  });

  test("§4.2 neither rows nor csv, or empty ones: nothing is added", async () => {
    for (const body of [
      {},
      { rows: [] },
      { rows: null, csv: null },
      { csv: "" },
      { rows: [], csv: "email\na@voorbeeld.nl" },
    ])
      expect((await world.post("/partner/drafts/import", { consent: true, ...body }, world.keyA)).body).toMatchObject({
        added: 0,
        created: [],
        skipped: NO_SKIPS,
      });
  });

  test("§4.2 source: api as said, everything else is csv; /partner/customers is always api", async () => {
    for (const [source, kept] of [
      ["api", "api"],
      ["csv", "csv"],
      ["API", "csv"],
      [7, "csv"],
      [null, "csv"],
      [undefined, "csv"],
    ]) {
      const row = draftRow();
      await world.import([row], { source });
      expect(await stored(row.email)).toMatchObject({ source: kept });
    }
    const row = draftRow();
    await world.post("/partner/customers", { consent: true, rows: [row], source: "csv" }, world.keyA);
    expect(await stored(row.email)).toMatchObject({ source: "api" });
  });

  test("contract §4 POST /partner/customers takes the fields of one row beside consent", async () => {
    const row = draftRow({ klantnummer: "KL-9" });
    const { body } = await world.post("/partner/customers", { consent: true, send_invite: false, ...row }, world.keyA);
    expect(body).toMatchObject({
      added: 1,
      created: [{ email: row.email, external_ref: "KL-9", ean_status: "resolved" }],
    });
    expect((await world.post("/partner/customers", { consent: true }, world.keyA)).body.added).toBe(0);
  });

  test("an import is one statement, whatever its size, with look-ups two; who sends more than 64 KiB is admitted before it is read", async () => {
    const rows = Array.from({ length: 500 }, () => draftRow());
    expect(await statementsOf(world, () => world.import(rows))).toEqual(["import_drafts"]);
    const large = rows.map((row) => ({ ...row, naam: "N".repeat(120) }));
    expect(await statementsOf(world, () => world.import(large))).toEqual(["admit", "import_drafts"]);
    expect(await statementsOf(world, () => world.import([draftRow()], { source: "api" }))).toEqual([
      "import_drafts",
      "record_draft_lookups",
    ]);
  });
});

describe("§4.2 what a row becomes", () => {
  test("contract §4 every field is kept in its normal form", async () => {
    const row = {
      soort: "Zakelijk",
      name: "  Eva   de Wit ",
      "E-mail": `  EVA.${newEmail().toUpperCase()} `,
      eancode: "8716 8700 0000 0000 16",
      kvknummer: "12.345.678",
      vat: "NL001234567B01",
      company: "De Wit BV",
      contact: "E. de Wit",
      vriendencode: "ZON123",
      klantnummer: "  KL 77 ",
      zipcode: "3818lh",
      house_number: "12 a",
      woonplaats: "Amersfoort",
      street: "Laadlaan",
      phone: "06 12345678",
    };
    const { body } = await world.import([row]);
    expect(body).toMatchObject({
      added: 1,
      referral_codes: [{ code: "ZON123", matched: false }],
      created: [{ ean_status: "provided" }],
    });
    expect(await stored(row["E-mail"].trim().toLowerCase())).toMatchObject({
      type: "zakelijk",
      name: "Eva de Wit",
      ean: "871687000000000016",
      kvk: "12345678",
      vat: "NL001234567B01",
      company_name: "De Wit BV",
      contact_name: "E. de Wit",
      referral_code: "ZON123",
      external_ref: "KL 77",
      postal_code: "3818LH",
      house_number: 12,
      house_number_addition: "A",
      street: "Laadlaan",
      city: "Amersfoort",
      phone: "+31612345678",
    });
  });

  test("a referral code of an active partner matches, in any case", async () => {
    await world.row("update core.partners set referral_code = 'PARTNERB' where id = $1", world.partnerB.id);
    const { body } = await world.import([draftRow({ referral_code: "partnerb" })]);
    expect(body.referral_codes).toMatchObject([{ code: "partnerb", matched: true }]);
    await world.row("update core.partners set is_active = false where id = $1", world.partnerB.id);
    expect((await world.import([draftRow({ referral_code: "PARTNERB" })])).body.referral_codes).toMatchObject([
      { matched: false },
    ]);
    await world.row("update core.partners set is_active = true where id = $1", world.partnerB.id);
  });

  test("contract §9 lengths are trimmed to 120, never refused", async () => {
    const row = draftRow({ naam: "é".repeat(200), external_ref: "😀".repeat(130) });
    expect((await world.import([row])).body.added).toBe(1);
    expect(await stored(row.email)).toMatchObject({ name: "é".repeat(120), external_ref: "😀".repeat(120) });
  });

  test.each([
    ["postcode", "12", "invalid_postal_code"],
    ["postcode", "0000AA", "invalid_postal_code"],
    ["postcode", "", "invalid_postal_code"],
    ["huisnummer", "geen", "invalid_house_number"],
    ["huisnummer", "", "invalid_house_number"],
    ["huisnummer", 12.5, "invalid_house_number"],
    ["huisnummer", 0, "invalid_house_number"],
    ["huisnummer", true, "invalid_house_number"],
    ["huisnummer", { nummer: 8 }, "invalid_house_number"],
    ["huisnummer", "8\u0000", "invalid_house_number"],
    ["toevoeging", ["a"], "invalid_house_number"],
    ["postcode", 3818, "invalid_postal_code"],
    ["postcode", {}, "invalid_postal_code"],
  ])("contract §4 a bad %s %j keeps the draft and drops the address: %s", async (field, value, reason) => {
    const row = draftRow({ [field]: value, plaats: "Amersfoort" });
    const { body } = await world.import([row]);
    expect(body).toMatchObject({
      added: 1,
      address_ignored: [{ email: row.email, reason }],
      created: [{ ean_status: "no_address" }],
    });
    expect(await stored(row.email)).toMatchObject({ postal_code: null, house_number: null, street: null, city: null });
  });

  test.each([
    ["of 17 digits", "87168700000000001"],
    ["as a spreadsheet rounds it", "8,71687E+17"],
    ["as a number that lost its last digits", Number("871687000000000016")],
    ["that is an object", {}],
  ])("contract §4 an EAN %s is dropped and named; the row is kept and its address looked up", async (_what, ean) => {
    const row = draftRow({ ean });
    const { body } = await world.import([row, draftRow({ ean: newEan() })], { source: "api" });
    expect(body).toMatchObject({
      ...{ added: 2, skipped: NO_SKIPS, rejected: [], address_ignored: [] },
      ean_ignored: [{ email: row.email, reason: "invalid_ean" }],
      created: [{ email: row.email, ean_status: "resolved", ean_candidates: 1 }, { ean_status: "provided" }],
    });
    expect((await stored(row.email)).ean).toMatch(/^\d{18}$/);
  });

  test("an e-mail address with spaces around it, upper case, or an IDN domain is one; others are not", async () => {
    const name = newEmail().split("@")[0];
    const { body } = await world.import([
      draftRow({ email: ` ${name}@BÜCHER.example ` }),
      draftRow({ email: `${name}@xn--bcher-kva.example` }),
      draftRow({ email: "a b@voorbeeld.nl" }),
      draftRow({ email: "a@voorbeeld" }),
      draftRow({ email: "a@b@voorbeeld.nl" }),
      draftRow({ email: "a@voorbeeld.nl, b@voorbeeld.nl" }),
      draftRow({ email: "a@bücher.nl/evil.nl" }),
      draftRow({ email: `${"x".repeat(250)}@voorbeeld.nl` }),
      draftRow({ email: null }),
    ]);
    expect(body.created).toMatchObject([{ email: `${name}@xn--bcher-kva.example` }]);
    expect(body.skipped).toEqual({ ...NO_SKIPS, invalid: 7, already_drafted: 1 });
  });

  test("a spreadsheet formula is data", async () => {
    const naam = '=HYPERLINK("https://evil.example";"klik")';
    const row = draftRow({ naam, external_ref: "+31-1", plaats: "@SUM(A1)" });
    expect((await world.import([row])).body.added).toBe(1);
    expect(await stored(row.email)).toMatchObject({ name: naam, external_ref: "+31-1", city: "@SUM(A1)" });
  });

  test("no value of a row reaches SQL or HTML as anything but text", async () => {
    const naam = `'); drop table core.drafts; -- <script>alert(1)</script> {{unsubscribe_url}} $1`;
    const row = draftRow({ naam });
    expect((await world.import([row], { send_invite: true })).body.added).toBe(1);
    expect((await stored(row.email)).name).toBe(naam);
    const { html, text } = await world.mail("where recipient = $1", row.email);
    expect(html).not.toContain("<script>");
    expect(text).toContain("{{unsubscribe_url}} $1,");
  });
});

describe("§4.2 every counter", () => {
  test.each([
    ["no row object", "text"],
    ["a number", 7],
    ["null", null],
    ["an array", [draftRow()]],
    ["an empty row", {}],
    ["particulier without a name", draftRow({ naam: " " })],
    ["an unknown type", draftRow({ type: "bedrijf" })],
    ["a name that is an object", draftRow({ naam: {} })],
    ["a NUL in the name", draftRow({ naam: "a\u0000b" })],
    ["half a surrogate pair", draftRow({ naam: "a\ud800" })],
    ["a name that is no UTF-8", draftRow({ naam: "Jos\ufffd" })],
    ["UTF-8 read as Windows-1252", draftRow({ naam: "JosÃ© GarcÃ­a" })],
    ["a name of one letter, which nobody could sign with", draftRow({ naam: "A" })],
    ["a name of one letter for the contact", draftRow({ contactpersoon: "A" })],
    ["a company of one letter", draftRow({ bedrijfsnaam: "A" })],
    ["a name whose direction is turned", draftRow({ naam: "Jan\u202enaV" })],
    ["a name with a space without width", draftRow({ naam: "Jan\u200bsen" })],
    ["a byte order mark within a name", draftRow({ naam: "Jan\ufeffsen" })],
    ["a city whose direction is turned", draftRow({ plaats: "\u2066Ede\u2069" })],
    ["a charger that is no object", draftRow({ charger: "Easee" })],
    ["a charger without a serial number", draftRow({ charger: { brand: "Easee" } })],
  ])("contract §4 invalid: %s, and says what is wrong with it", async (_what, row) => {
    const { body } = await world.import([draftRow(), row]);
    expect(body).toMatchObject({ added: 1, skipped: { ...NO_SKIPS, invalid: 1 } });
    expect(body.rejected).toEqual([
      {
        email: row !== null && typeof row === "object" && "email" in row ? row.email : null,
        reason: "invalid",
        row: 2,
        sheet_row: null,
        detail: expect.stringMatching(/^\w+: /),
      },
    ]);
  });

  test("a rejected address is shown on one line, without what a terminal or a database would trip over", async () => {
    const { body } = await world.import([draftRow({ email: " a\u001b[31m\u0000\ud800\n\u0085b@c " })]);
    expect(body.rejected).toMatchObject([{ email: "a [31m b@c", reason: "invalid", row: 1 }]);
  });

  test("a name with accents is no mojibake", async () => {
    for (const naam of ["JOÃO SÃO", "Ângela", "Renée Çelik", "Łukasz Ørsted", "Zoë ’t Hart"])
      expect(await reasons([draftRow({ naam })])).toEqual([]);
  });

  test("contract §4 missing_kvk: zakelijk without eight digits; vve needs none, and neither needs a name", async () => {
    for (const kvk of [undefined, "", "1234567", "123456789", "abcdefgh"])
      expect(await reasons([draftRow({ type: "zakelijk", kvk })])).toEqual(["missing_kvk"]);
    const { rejected } = (
      await world.import([draftRow({ type: "zakelijk", kvk: 1234567 }), draftRow({ type: "zakelijk" })])
    ).body;
    expect(rejected[0].detail, "a number out of a spreadsheet").toContain("leading zero");
    expect(rejected[1].detail).toBeUndefined();
    expect(
      await reasons([draftRow({ type: "zakelijk", kvk: "12345678", naam: "" }), draftRow({ type: "vve", naam: "" })]),
    ).toEqual([]);
  });

  test("contract §4 already_drafted: an open draft of one's own, and twice in a request; a first row that failed does not count", async () => {
    const { email } = await addDraft(world);
    expect(await reasons([draftRow({ email: email.toUpperCase() })])).toEqual(["already_drafted"]);
    const twice = newEmail();
    const { body } = await world.import([
      draftRow({ email: twice, naam: "" }),
      draftRow({ email: twice, naam: "eerste" }),
      draftRow({ email: twice, naam: "tweede" }),
    ]);
    expect(body.rejected).toMatchObject([
      { reason: "invalid", row: 1 },
      { reason: "already_drafted", row: 3 },
    ]);
    expect((await stored(twice)).name).toBe("eerste");
  });

  test.each(["expired", "conflict", "active"])("a draft that is %s does not hold its address", async (status) => {
    const { draft_id, email } = await addDraft(world);
    await world.row("update core.drafts set status = $2 where id = $1", draft_id, status);
    expect(await reasons([draftRow({ email })])).toEqual([]);
  });

  test("nor does one whose days are over before a job noticed", async () => {
    const { draft_id, email } = await addDraft(world);
    await world.row("update core.drafts set expires_at = now() where id = $1", draft_id);
    expect(await reasons([draftRow({ email })])).toEqual([]);
    expect(await world.row("select status from core.drafts where id = $1", draft_id)).toEqual({ status: "expired" });
  });

  test("contract §9 existing_user: a login attributed to any partner, or with an account; a bare login does not block", async () => {
    const bare = await addLogin(world);
    expect(await reasons([draftRow({ email: bare.email })])).toEqual([]);
    for (const partner of [world.partnerA, world.partnerB]) {
      const { id, email } = await addLogin(world);
      await world.row("select private.reserve_customer($1, $2, 'referral_link')", id, partner.id);
      expect(await reasons([draftRow({ email })])).toEqual(["existing_user"]);
    }
    const owner = await addLogin(world);
    await world.row(
      "insert into core.accounts (partner_id, user_id, access_channel, type, payout_handler) values (private.people_tenant(), $1, 'user', 'particulier', 'service_pays_customer')",
      owner.id,
    );
    expect(await reasons([draftRow({ email: owner.email })])).toEqual(["existing_user"]);
  });

  test("contract §4 suppressed: an address that opted out, known by its hash alone", async () => {
    const row = draftRow();
    await world.row("select private.suppress(private.email_hash($1, $2))", row.email, claimKey(world.environment));
    expect(await reasons([draftRow({ email: row.email.toUpperCase() })])).toEqual(["suppressed"]);
    const { dump } = await world.row("select string_agg(s::text, '') as dump from core.suppressions s");
    expect(dump).not.toContain(row.email);
  });

  test("contract §4 conflict: an open draft of another partner, and only as long as it is open", async () => {
    const { draft_id, email } = await addDraft(world, {}, world.keyB);
    expect(await reasons([draftRow({ email })])).toEqual(["conflict"]);
    // of the customers of a partner that was deactivated others may make drafts, until it is active again
    const set = (active: boolean) =>
      world.row("update core.partners set is_active = $2 where id = $1", world.partnerB.id, active);
    await set(false);
    const { body } = await world.import([draftRow({ email })]);
    expect(body.added).toBe(1);
    await world.row("delete from core.drafts where id = $1", body.created[0].draft_id);
    await set(true);
    expect(await reasons([draftRow({ email })])).toEqual(["conflict"]);
    await world.row("update core.drafts set status = 'expired' where id = $1", draft_id);
    expect(await reasons([draftRow({ email })])).toEqual([]);
  });

  test("contract §4 over_request_limit: rows beyond 500 are counted, and in no list", async () => {
    const rows = Array.from({ length: 503 }, () => draftRow());
    const { body } = await world.import(rows);
    expect([body.added, body.rejected, body.skipped]).toEqual([500, [], { ...NO_SKIPS, over_request_limit: 3 }]);
  });

  test("contract §4 over_cap: 1,000 in any 30 days, withdrawn ones too; rejected rows cost nothing", async () => {
    await world.row(
      "insert into core.draft_uploads (partner_id, at) select $1, now() - interval '29 days' from generate_series(1, 997)",
      world.partnerA.id,
    );
    await world.row(
      "insert into core.draft_uploads (partner_id, at) select $1, now() - interval '31 days' from generate_series(1, 50)",
      world.partnerA.id,
    );
    const first = await world.import([draftRow({ naam: "" }), draftRow(), draftRow()]);
    expect(first.body).toMatchObject({ added: 2, cap: { remaining_before: 3 } });
    await world.post("/partner/drafts/withdraw", { draft_id: first.body.created[0].draft_id }, world.keyA);
    const second = await world.import([draftRow(), draftRow(), draftRow()]);
    expect(second.body).toMatchObject({
      added: 1,
      skipped: { ...NO_SKIPS, over_cap: 2 },
      cap: { remaining_before: 1 },
    });
    expect(second.body.rejected.map(({ row }: { row: number }) => row)).toEqual([2, 3]);
    expect((await world.import([draftRow()])).body).toMatchObject({ added: 0, cap: { remaining_before: 0 } });
    // another partner has its own
    expect((await world.import([draftRow()], {}, world.keyB)).body.cap.remaining_before).toBeGreaterThan(900);
    expect((await world.get("/partner/me", world.keyA)).body.partner.cap).toEqual({
      rolling_days: 30,
      rolling_cap: 1000,
      remaining: 0,
    });
  });

  test("contract §4, §9 chargers: unsupported brand, brand not linked, claimed elsewhere, and one that may come along", async () => {
    const serial: string = randomUUID();
    const charger = (brand: string, serial_number = serial) => draftRow({ charger: { brand, serial_number } });
    expect(await reasons([charger("Nonsens"), charger("easee")])).toEqual([
      "charger_brand_unsupported",
      "charger_not_linked",
    ]);
    await world.row("update core.partners set charger_brands = '{Alfen,Easee}' where id = $1", world.partnerA.id);
    await addCustomer(world, world.partnerB, "manual");
    await world.row(
      "update core.chargers set serial_number = 'TAKEN-1' where id = (select id from core.chargers where brand = 'Alfen' order by created_at desc limit 1)",
    );
    expect(await reasons([charger("ALFEN", "taken-1")])).toEqual(["charger_claimed"]);
    const row = charger("EASEE", " ab 12 ");
    expect((await world.import([row])).body.added).toBe(1);
    expect((await stored(row.email)).charger).toEqual({ brand: "Easee", serial_number: "AB12" });
  });
});

describe("§4.2 reserved domains", () => {
  let production: PartnerWorld;
  beforeAll(async () => {
    production = await createPartnerWorld({
      host: "production",
      variables: { MAIL_FROM: "ERE <post@ere.service>", BASE_URL: "https://api.ere.service" },
    });
  });
  afterAll(() => production.close());

  test("contract §4 production refuses RFC 2606 names and the service's own; the sandbox takes them", async () => {
    const emails = [
      "a@example.com",
      "a@mail.example.org",
      "a@x.test",
      "a@shop.invalid",
      "a@b.localhost",
      "a@c.example",
      "a@ere.service",
      "a@mail.ere.service",
    ];
    const rows = emails.map((email) => draftRow({ email }));
    const { body } = await production.import([...rows, draftRow({ email: "a@notexample.com" })]);
    expect([body.added, body.skipped.reserved_domain]).toEqual([1, emails.length]);
    expect(await reasons([draftRow({ email: "a@example.com" })])).toEqual([]);
  });

  const invite = (email: string, key?: string) =>
    production.import([draftRow({ email })], { send_invite: true }, key ?? production.keyA);
  const withdraw = ({ body }: Answer, key = production.keyA) =>
    production.post("/partner/drafts/withdraw", { draft_id: body.created[0].draft_id }, key);
  const mailsTo = async (email: string) =>
    (await production.row("select count(*)::int from core.mail_outbox where recipient = $1", email)).count;

  test("contract §4 withdrawn and made again, a draft mails its customer three times a day; the fourth is made all the same, and says so", async () => {
    await production.limit("draft_invitation", 3);
    const [email, other] = [newEmail(), newEmail()];
    for (let time = 1; time <= 3; time++) {
      // a rehearsal counts for nothing
      await production.import([draftRow({ email })], { send_invite: true, dry_run: true });
      const made = await invite(email);
      expect(made.body.invite_ignored).toEqual([]);
      // it was sent: withdrawing a draft takes back only what still waits
      await production.row("update core.mail_outbox set status = 'captured' where recipient = $1", email);
      await withdraw(made);
    }
    const rows = [draftRow({ email }), draftRow({ email: other })];
    const dry = await production.import(rows, { send_invite: true, dry_run: true });
    // others' invitations count too: without consent a dry run tells nothing of them
    const untold = await production.import(rows, { send_invite: true, dry_run: true, consent: false });
    expect([untold.body.added, untold.body.invite_ignored]).toEqual([2, []]);
    const { body } = await production.import(rows, { send_invite: true });
    for (const answer of [dry.body, body])
      expect([answer.added, answer.invite_ignored]).toEqual([2, [{ email, reason: "mail_limit" }]]);
    expect([body.created[0].claim_url, body.claim_urls]).toEqual([expect.stringContaining("/claim/"), []]);
    expect(await production.row("select send_invite, invited_at from core.drafts where email = $1", email)).toEqual({
      send_invite: false,
      invited_at: null,
    });
    expect([await mailsTo(email), await mailsTo(other)]).toEqual([3, 1]);
    // counted by a hash: no address is kept for it
    const named = "select subject from core.mail_counts where strpos(subject, $1) > 0";
    expect(await production.row(named, email)).toBeUndefined();
  });

  test("contract §4 an address has five invitations a day of all partners together, of those sent at once too", async () => {
    await Promise.all([production.limit("draft_invitation", 3), production.limit("draft_invitation_any", 5)]);
    const email = newEmail();
    const ignored: number[] = [];
    for (const key of [
      production.keyA,
      production.keyB,
      production.keyA,
      production.keyB,
      production.keyA,
      production.keyB,
    ]) {
      const made = await invite(email, key);
      ignored.push(made.body.invite_ignored.length);
      await withdraw(made, key);
    }
    expect(ignored).toEqual([0, 0, 0, 0, 0, 1]);
    // of two partners at once one has the draft, and no count is lost
    const two = newEmail();
    await Promise.all([invite(two), invite(two, production.keyB)]);
    expect(await mailsTo(two)).toBe(1);
  });

  test("contract §4 mailing the invitation of a draft once more on the pages counts as well", async () => {
    await production.limit("draft_invitation", 1);
    const email = newEmail();
    await withdraw(await invite(email));
    const { body } = await production.import([draftRow({ email })]);
    const { config, db } = production.environment;
    const { id: partner_id } = production.partnerA;
    const caller = { kind: "partner", host: "production", partner_id, request_id: "test" };
    const links = { key: claimKey(production.environment), pages_url: config.PAGES_URL };
    const again = await db.call("invite_draft_again", caller, { draft_id: body.created[0].draft_id, links });
    expect(JSON.parse(again)).toEqual({ state: "mail_limit" });
    expect(await mailsTo(email)).toBe(0); // withdrawing took back what still waited
  });

  test("contract §4 sign-in links are mailed to an address ten times a day, whichever draft they are for", async () => {
    await production.limit("mail_kind", 10);
    const email = newEmail();
    let sent = 0;
    for (let draft = 1; draft <= 3; draft++) {
      const made = await production.import([draftRow({ email })]);
      const { draft_id } = made.body.created[0];
      for (let link = 1; link <= 4; link++) {
        const answer = await production.post(
          "/partner/drafts/auth-link",
          { draft_id, send_email: true },
          production.keyA,
        );
        if (answer.body.email_sent) sent++;
        expect(answer.body.mail_limit).toBe(!answer.body.email_sent);
      }
      await withdraw(made);
    }
    expect(sent).toBe(10);
  });

  test("mail waits for the worker there, with a link to stop it", async () => {
    const row = draftRow();
    await production.import([row], { send_invite: true });
    expect(await production.mail("where recipient = $1", row.email)).toMatchObject({
      status: "queued",
      unsubscribe_url: expect.stringContaining("/unsubscribe/"),
    });
  });
});

describe("§4.2 looking EANs up", () => {
  test("contract §5 with source api in the request, steered by the house number on the sandbox", async () => {
    const numbers = { 8: "resolved", 78: "ambiguous", 47: "not_found", 61: "failed" };
    const rows = Object.keys(numbers).map((huisnummer) => draftRow({ huisnummer }));
    const { body } = await world.import(rows, { source: "api" });
    const byNumber = Object.fromEntries(
      await Promise.all(rows.map(async (row) => [row.huisnummer, (await stored(row.email)).ean_status])),
    );
    expect(byNumber).toEqual(numbers);
    const answered = Object.fromEntries(
      body.created.map((each: Record<string, unknown>) => [each.ean_status, each.ean_candidates]),
    );
    expect(answered).toEqual({ resolved: 1, ambiguous: 2, not_found: 0, failed: 0 });
    expect(await stored(rows.find(({ huisnummer }) => huisnummer === "8")?.email ?? "")).toMatchObject({
      ean: expect.stringMatching(/^\d{18}$/),
      street: "Teststraat",
    });
    expect((await stored(rows.find(({ huisnummer }) => huisnummer === "78")?.email ?? "")).ean_candidates).toHaveLength(
      2,
    );
  });

  test("a row with an EAN, or without an address, is not looked up", async () => {
    const { body } = await world.import([draftRow({ ean: newEan() }), draftRow({ postcode: null, huisnummer: null })], {
      source: "api",
    });
    expect(body.created.map(({ ean_status }: { ean_status: string }) => ean_status)).toEqual([
      "provided",
      "no_address",
    ]);
  });
});

describe("§4.2 many at once", () => {
  test("contract §4 two imports of the same file make each draft once", async () => {
    const rows = Array.from({ length: 100 }, () => draftRow());
    const answers = await Promise.all([world.import(rows), world.import(rows), world.import(rows)]);
    const added = answers.map(({ body }) => body.added);
    expect(added.sort((a, b) => a - b)).toEqual([0, 0, 100]);
    expect(answers.map(({ body }) => body.skipped.already_drafted).sort((a, b) => a - b)).toEqual([0, 100, 100]);
    const { n } = await world.row(
      "select count(*)::int as n from core.drafts where email = any ($1)",
      rows.map(({ email }) => email),
    );
    expect(n).toBe(100);
  });

  test("two partners with the same file: one has the customers, the other a conflict", async () => {
    const rows = Array.from({ length: 20 }, () => draftRow());
    const [a, b] = await Promise.all([world.import(rows), world.import(rows, {}, world.keyB)]);
    expect([a.body.added, b.body.added].sort((x, y) => x - y)).toEqual([0, 20]);
    expect(a.body.skipped.conflict + b.body.skipped.conflict).toBe(20);
  });

  test("the cap is never passed", async () => {
    await world.row(
      "insert into core.draft_uploads (partner_id) select $1 from generate_series(1, 950)",
      world.partnerA.id,
    );
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => world.import(Array.from({ length: 20 }, () => draftRow()))),
    );
    expect(answers.reduce((sum, { body }) => sum + body.added, 0)).toBe(50);
    expect(answers.reduce((sum, { body }) => sum + body.skipped.over_cap, 0)).toBe(110);
  });
});
