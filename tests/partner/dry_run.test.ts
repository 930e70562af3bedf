// `dry_run: true`: what an import would do, word for word, and nothing done.

import { readFileSync } from "node:fs";
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
let manager: string;
let tables: string[];
beforeAll(async () => {
  world = await createPartnerWorld();
  manager = await world.manager(world.partnerA);
  const { rows } = await world.database.admin.query(
    "select relname from pg_class where relnamespace = 'core'::regnamespace and relkind in ('r', 'p') and not relispartition and relname <> 'rate_limit_state'",
  );
  tables = rows.map(({ relname }) => relname);
});
afterAll(() => world.close());
beforeEach(() => world.row("delete from core.draft_uploads"));

const PATH = "/partner/drafts/import";

/** What an answer says, without what only an import has. */
const said = ({ status, body }: Answer) => ({
  status,
  body: {
    ...body,
    dry_run: null,
    batch_id: null,
    claim_urls: [],
    created: body.created.map((row: object) => ({ ...row, draft_id: null, claim_url: null })),
  },
});

/** Sends a dry run with consent, and then the import: both say the same, and the dry run stores its row of the audit log alone. */
async function bothWays(fields: Record<string, unknown>, path = PATH): Promise<Answer> {
  const before = await rowCounts(world, ...tables);
  const dry = await world.post(path, { ...fields, dry_run: true, consent: true }, world.keyA);
  expect(await rowCounts(world, ...tables)).toEqual({ ...before, audit_log: (before.audit_log ?? 0) + 1 });
  const real = await world.post(path, { ...fields, consent: true, send_invite: false }, world.keyA);
  expect(said(dry)).toEqual(said(real));
  return dry;
}

describe("contract §4 a dry run says what the import then does, and stores and mails nothing", () => {
  test("contract §4 its shape is the import's: without ids and links", async () => {
    const row = draftRow({ external_ref: "KL-1" });
    const { status, body } = await bothWays({ rows: [row] });
    expect([status, body]).toMatchObject([
      200,
      {
        ok: true,
        dry_run: true,
        added: 1,
        batch_id: null,
        created: [
          {
            row: 1,
            sheet_row: null,
            draft_id: null,
            email: row.email,
            external_ref: "KL-1",
            claim_url: null,
            ean_status: "pending",
          },
        ],
        claim_urls: [],
        cap: { rolling_days: 30, rolling_cap: 1000, remaining_before: 1000 },
      },
    ]);
  });

  test("contract §4 every reason: bad rows, known, opted-out and foreign addresses, twice in a request, and what is dropped of a row", async () => {
    const own = await addDraft(world);
    const foreign = await addDraft(world, {}, world.keyB);
    const over = await addDraft(world);
    await world.row("update core.drafts set expires_at = now() where id = $1", over.draft_id);
    const person = await addLogin(world);
    await world.row("select private.reserve_customer($1, $2, 'referral_link')", person.id, world.partnerB.id);
    const opted = newEmail();
    await world.row("select private.suppress(private.email_hash($1, $2))", opted, claimKey(world.environment));
    const twice = newEmail();
    const { body } = await bothWays({
      rows: [
        draftRow({ email: own.email }),
        draftRow({ email: foreign.email }),
        draftRow({ email: over.email }),
        draftRow({ email: person.email }),
        draftRow({ email: opted }),
        draftRow({ email: twice, naam: "" }),
        draftRow({ email: twice }),
        draftRow({ email: twice }),
        draftRow({ type: "zakelijk", kvk: 123 }),
        draftRow({ ean: "8,71687E+17" }),
        draftRow({ huisnummer: "geen" }),
        draftRow({ ean: newEan(), referral_code: "ONBEKEND" }),
        draftRow({ charger: { brand: "Nergens", serial_number: "1" } }),
        "text",
      ],
    });
    expect(body.rejected.map(({ row, reason }: Record<string, unknown>) => [row, reason])).toEqual([
      [1, "already_drafted"],
      [2, "conflict"],
      [4, "existing_user"],
      [5, "suppressed"],
      [6, "invalid"],
      [8, "already_drafted"],
      [9, "missing_kvk"],
      [13, "charger_brand_unsupported"],
      [14, "invalid"],
    ]);
    expect(body.created.map(({ row }: { row: number }) => row)).toEqual([3, 7, 10, 11, 12]);
    expect([body.ean_ignored, body.address_ignored, body.referral_codes]).toMatchObject([
      [{ reason: "invalid_ean" }],
      [{ reason: "invalid_house_number" }],
      [{ code: "ONBEKEND", matched: false }],
    ]);
  });

  test("contract §4 chargers: of a brand that the partner is linked with, of another, and one that somebody has", async () => {
    const charger = { brand: "Alfen", serial_number: "DRY-1" };
    const link = (...brands: string[]) =>
      world.row("update core.partners set charger_brands = $2 where id = $1", world.partnerA.id, brands);
    await link();
    expect((await bothWays({ rows: [draftRow({ charger })] })).body.skipped.charger_not_linked).toBe(1);
    await link("Alfen");
    expect((await bothWays({ rows: [draftRow({ charger })] })).body.added).toBe(1);
  });

  test("contract §4 the cap: what would fit, and what would not; an address whose first row does not fit does not fit either", async () => {
    await world.row(
      "insert into core.draft_uploads (partner_id) select $1 from generate_series(1, 998)",
      world.partnerA.id,
    );
    const [first, last] = [newEmail(), newEmail()];
    const emails = [first, first, newEmail(), last, last];
    const { body } = await bothWays({ rows: emails.map((email) => draftRow({ email })) });
    expect(body).toMatchObject({ added: 2, cap: { remaining_before: 2 } });
    expect(body.rejected).toMatchObject([
      { row: 2, reason: "already_drafted" },
      { row: 4, reason: "over_cap" },
      { row: 5, reason: "over_cap" },
    ]);
  });

  test("contract §4 more than 500 rows: the rest is counted", async () => {
    const rows = Array.from({ length: 501 }, () => draftRow());
    expect((await bothWays({ rows })).body).toMatchObject({ added: 500, skipped: { over_request_limit: 1 } });
  });

  test("contract §4 a CSV: rows by the number a spreadsheet shows beside them, blank lines and header counted", async () => {
    const csv = [
      "\ufeffsep=;",
      "",
      "naam;email;hobby",
      `"twee\nregels";${newEmail()};x`,
      ";;",
      `Eva;geen adres;`,
      "",
      `Tom;${newEmail()};`,
    ].join("\r\n");
    const { body } = await bothWays({ csv });
    expect(body.created).toMatchObject([
      { row: 1, sheet_row: 3 },
      { row: 3, sheet_row: 7 },
    ]);
    expect(body.rejected).toMatchObject([{ row: 2, sheet_row: 5, reason: "invalid" }]);
    const file = readFileSync(new URL("fixtures/excel_nl.csv", import.meta.url), "utf8");
    expect((await bothWays({ csv: file })).body.rejected).toMatchObject([{ row: 2, sheet_row: 3 }]);
  });

  test("contract §4 one customer, and POST /partner/customers: no address is looked up", async () => {
    const before = await rowCounts(world, ...tables);
    const { body } = await world.post("/partner/customers", { ...draftRow(), dry_run: true }, world.keyA);
    expect(body).toMatchObject({ dry_run: true, added: 1, created: [{ ean_status: "pending" }] });
    expect(await rowCounts(world, ...tables)).toEqual(before);
  });

  test("contract §4 an upload: dry_run as a field of the form, or of JSON", async () => {
    const csv = `email,naam\n${newEmail()},Jan`;
    const form = new FormData();
    form.set("dry_run", "true");
    form.set("file", new Blob([csv], { type: "text/csv" }), "klanten.csv");
    const request = new Response(form);
    const answer = await world.send("/partner/uploads", {
      token: manager,
      raw: await request.arrayBuffer(),
      headers: { "content-type": request.headers.get("content-type") ?? "" },
    });
    expect(answer.body).toMatchObject({ dry_run: true, added: 1, created: [{ sheet_row: 2 }] });
    expect((await world.post("/partner/uploads", { csv, dry_run: true }, manager)).body.added).toBe(1);
    expect((await world.post("/partner/uploads", { csv, dry_run: false }, manager)).body.error).toBe(
      "consent_required",
    );
  });
});

describe("contract §4 a dry run without consent tells nothing that depends on people of other tenants", () => {
  /** An address of each kind that another tenant's people decide, and the partner's own. */
  async function known() {
    const foreign = await addDraft(world, {}, world.keyB);
    const customer = await addLogin(world);
    await world.row("select private.reserve_customer($1, $2, 'referral_link')", customer.id, world.partnerB.id);
    const opted = newEmail();
    await world.row("select private.suppress(private.email_hash($1, $2))", opted, claimKey(world.environment));
    return [foreign.email, customer.email, opted];
  }
  const strangers = () => [newEmail(), newEmail(), newEmail()];

  /** What an answer says, without the addresses that were sent. */
  const shape = ({ status, body }: Answer, emails: string[]) =>
    emails.reduce((text, email, nth) => text.replaceAll(email, `#${nth}`), JSON.stringify([status, body]));

  test("contract §4 a customer, an opted-out address and another partner's draft are answered as unknown ones, on every path", async () => {
    const [people, nobody] = [await known(), strangers()];
    const rows = (emails: string[]) =>
      emails.flatMap((email) => [draftRow({ email, naam: "Jan" }), draftRow({ email, naam: "Jan" })]);
    const csv = (emails: string[]) => `email,naam\n${emails.map((email) => `${email},Jan`).join("\n")}`;
    const asked: ((emails: string[]) => Promise<Answer>)[] = [
      (emails) => world.post(PATH, { rows: rows(emails), dry_run: true }, world.keyA),
      (emails) => world.post(PATH, { rows: rows(emails), dry_run: true, consent: false }, world.keyA),
      (emails) => world.post(PATH, { rows: rows(emails), dry_run: true, consent: "true" }, world.keyA),
      (emails) => world.post(PATH, { csv: csv(emails), dry_run: true, send_invite: false }, world.keyA),
      (emails) => world.post("/partner/customers", { rows: rows(emails), dry_run: true }, world.keyA),
      (emails) => world.post("/partner/uploads", { csv: csv(emails), dry_run: true }, manager),
    ];
    const before = await rowCounts(world, ...tables);
    for (const ask of asked) expect(shape(await ask(people), people)).toBe(shape(await ask(nobody), nobody));
    expect(await rowCounts(world, ...tables)).toEqual(before);
  });

  test("contract §4 it says the partner's own open drafts, and a row's own faults", async () => {
    const own = await addDraft(world);
    const { body } = await world.post(
      PATH,
      { rows: [draftRow({ email: own.email }), draftRow({ naam: "" }), draftRow()], dry_run: true },
      world.keyA,
    );
    expect(body.added).toBe(1);
    expect(body.rejected).toMatchObject([
      { row: 1, reason: "already_drafted" },
      { row: 2, reason: "invalid" },
    ]);
  });

  test("contract §4 a charger that somebody has is told with consent only", async () => {
    await world.row("update core.partners set charger_brands = '{Alfen}' where id = $1", world.partnerA.id);
    const charger = { brand: "Alfen", serial_number: "DRY-TAKEN" };
    await addCustomer(world, world.partnerB, "manual");
    await world.row("update core.chargers set serial_number = $1 where brand = 'Alfen'", charger.serial_number);
    const dry = (consent: boolean) =>
      world.post(PATH, { rows: [draftRow({ charger })], dry_run: true, consent }, world.keyA);
    expect((await dry(false)).body.skipped.charger_claimed).toBe(0);
    expect((await dry(true)).body.skipped.charger_claimed).toBe(1);
  });

  test("contract §4 with consent it is told, and the audit log has a row for it, without anybody's data", async () => {
    const people = await known();
    await world.row("delete from core.draft_uploads");
    const rows = people.map((email) => draftRow({ email }));
    const { body } = await world.post(PATH, { rows, dry_run: true, consent: true }, world.keyA);
    expect(body.rejected.map(({ reason }: { reason: string }) => reason)).toEqual([
      "conflict",
      "existing_user",
      "suppressed",
    ]);
    const { row } = await world.row(
      "select to_json(a) as row from core.audit_log a where action = 'drafts.previewed' order by id desc limit 1",
    );
    expect(row).toMatchObject({ partner_id: world.partnerA.id, details: { rows: 3, source: "csv" } });
    for (const email of people) expect(JSON.stringify(row)).not.toContain(email);
  });

  test("contract §4 attack: an import of which no row becomes a draft tells who is known, and leaves a row of the audit log", async () => {
    const charger = { brand: "Unsupported", serial_number: "X1" };
    const rows = [...(await known()), newEmail()].map((email) => draftRow({ email, charger }));
    const last = () => world.row("select id, action, partner_id, details from core.audit_log order by id desc limit 1");
    const before = await last();
    const { body } = await world.import(rows);
    expect(body.rejected.map(({ reason }: { reason: string }) => reason)).toEqual([
      "conflict",
      "existing_user",
      "suppressed",
      "charger_brand_unsupported",
    ]);
    const after = await last();
    expect(after.id).not.toBe(before.id);
    expect(after).toMatchObject({
      action: "drafts.previewed",
      partner_id: world.partnerA.id,
      details: { rows: 4, source: "csv" },
    });
    // one new customer among them hides nothing
    await world.import([...rows, draftRow()]);
    expect(await last()).toMatchObject({ action: "drafts.imported", details: { added: 1, rows: 5 } });
  });
});

test("contract §4 a dry run is one statement, holds up no import, and waits for none", async () => {
  const rows = [draftRow()];
  const dry = () => world.post(PATH, { rows, dry_run: true }, world.keyA);
  expect(await statementsOf(world, dry)).toEqual(["import_drafts"]);
  const connection = await world.database.admin.connect();
  try {
    await connection.query("begin");
    await connection.query("select private.lock('imports', $1)", [world.partnerA.id]);
    expect((await dry()).body.added).toBe(1);
  } finally {
    await connection.query("rollback");
    connection.release();
  }
});

test("contract §4 a dry_run that is no boolean is refused, and nothing is imported", async () => {
  for (const dry_run of ["true", 1, "yes", {}])
    for (const path of [PATH, "/partner/customers"])
      expect(await world.post(path, { consent: true, rows: [draftRow()], dry_run }, world.keyA)).toMatchObject({
        status: 400,
        body: { error: "invalid_request", issues: [{ path: "dry_run" }] },
      });
});

test("contract §4 a dry run counts on the rate limit of imports", async () => {
  await world.limit("partner_import", 2);
  await world.row("delete from core.rate_limit_state");
  const statuses = [];
  for (let n = 0; n < 3; n++)
    statuses.push((await world.post(PATH, { rows: [draftRow()], dry_run: true }, world.keyA)).status);
  expect(statuses).toEqual([200, 200, 429]);
  await world.limit("partner_import");
});
