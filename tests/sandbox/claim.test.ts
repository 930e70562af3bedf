// POST /sandbox/v1/drafts/{id}/claim: the claim flow of the pages, played from wherever a draft is (specification section 4.3).

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { PEOPLE_TENANT } from "#shared/domain/claim/links.ts";
import { openIban } from "#shared/values/iban.ts";
import { newEan } from "../harness/people.ts";
import { ANSWERS, answer, type Draft, fill, newBrowser, prove, readyToSign } from "../pages/claimant.ts";
import { draftRow, newEmail } from "../partner/partner_world.ts";
import {
  createSandboxWorld,
  everyCount,
  type Imported,
  later,
  madeOf,
  type SandboxWorld,
  START,
  testEan,
} from "./sandbox_world.ts";

let world: SandboxWorld;
beforeAll(async () => {
  world = await createSandboxWorld();
});
afterEach(() => world.travel(START));
afterAll(() => world.close());

const DONE = { claim: "done", activate: "done", submit: "done", iban: "done" };
const AGAIN = { claim: "already_done", activate: "already_done", submit: "already_done", iban: "already_done" };
const onPages = ({ draft_id, email, claim_url }: Imported): Draft => ({ id: draft_id, email, link: claim_url });
const accountsOf = async (draft_id: string) =>
  world.row(
    `select count(distinct a.id)::int as accounts, count(distinct m.id)::int as mandates, count(distinct h.id)::int as chargers
       from core.drafts d left join core.accounts a on a.user_id = d.user_id
       left join core.connections c on c.account_id = a.id left join core.mandates m on m.connection_id = c.id
       left join core.chargers h on h.account_id = a.id where d.id = $1`,
    draft_id,
  );
const stateOf = (draft_id: string) =>
  world.row("select status, conflict_reason from core.drafts where id = $1", draft_id);
const IN_CONFLICT = { error: "draft_not_claimable", status: "conflict", draft_status: "conflict", reason: "conflict" };
const mailsTo = async (email: string) =>
  (await world.rows("select template from core.mail_outbox where recipient = $1 order by 1", email)).map(
    (m) => m.template,
  );
/** Nothing beside what a request always leaves: no row of any table differs. */
async function changesNothing(run: () => Promise<unknown>) {
  const before = await everyCount(world);
  await run();
  expect({ ...(await everyCount(world)), rate_limit_state: 0 }).toEqual({ ...before, rate_limit_state: 0 });
}

test("§4.3 the audit log names the sandbox helper, and not the customer it plays, in every row", async () => {
  const { draft_id } = await world.draft();
  expect((await world.claim(draft_id, { submit: true })).status).toBe(200);
  const { rows } = await world.database.admin.query(
    `select distinct split_part(a.actor, ':', 1) as actor from core.audit_log a join core.drafts d on d.id = $1
      where (a.subject_id in (d.id, d.account_id, d.user_id) or a.actor like '%' || d.user_id
            or a.subject_id in (select c.id from core.connections c where c.account_id = d.account_id))`,
    [draft_id],
  );
  expect(rows).toEqual([{ actor: "sandbox" }]);
});

test("§4.3 a customer whose login is banned is not played: 409 draft_not_claimable says so", async () => {
  const { draft_id, email } = await world.draft();
  expect((await world.claim(draft_id)).status).toBe(200);
  await world.row("update auth.users set banned_until = private.now() + interval '1 day' where email = $1", email);
  expect(await world.claim(draft_id, { submit: true })).toMatchObject({
    status: 409,
    body: { error: "draft_not_claimable", reason: "banned_login", status: "active" },
  });
});

describe("§4.3 claim: the customer played from draft to submitted registration", () => {
  test("§4.3 by draft id, plain: claimed and activated, no IBAN, no charger, and what to do next", async () => {
    const { draft_id, email } = await world.draft({ external_ref: "PLAIN-1" });
    const { status, body } = await world.claim(draft_id);
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body).toMatchObject({
      ...{ ok: true, draft_id, external_ref: "PLAIN-1", email, draft_status: "active", registration_status: "concept" },
      steps: { claim: "done", activate: "done", submit: "skipped", iban: "skipped" },
      ...{ charger: null, sync: null, next: expect.stringContaining(`/customers/${body.account_id}/chargers`) },
    });
    expect(await mailsTo(email)).toEqual(["claim_code", "claim_code", "mandate_signed"]);
  });

  test("§4.3 by external_ref with submit: test IBAN, virtual charger, its sessions, ingediend; a repeat changes nothing", async () => {
    const { email } = await world.draft({ external_ref: "KL/2 é?" });
    const { status, body } = await world.claim("KL/2 é?", { submit: true });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body).toMatchObject({
      steps: DONE,
      registration_status: "ingediend",
      charger: { mid: true },
      sync: { ok: true, error: null },
    });
    expect(body.sync.sessions_created).toBeGreaterThan(180);
    expect(await accountsOf(body.draft_id)).toEqual({ accounts: 1, mandates: 1, chargers: 1 });
    const again = (await world.claim("KL/2 é?", { submit: true })).body;
    expect(again).toEqual({ ...body, steps: AGAIN, sync: { ok: true, sessions_created: 0, error: null } });
    expect(await accountsOf(body.draft_id)).toEqual({ accounts: 1, mandates: 1, chargers: 1 });
    expect(await mailsTo(email)).toEqual(["claim_code", "claim_code", "mandate_signed"]);
    const { customers } = (await world.get("/partner/customers", world.keyA)).body;
    const { customer_ref } = body;
    expect(customers.find((each: { customer_ref: string }) => each.customer_ref === customer_ref)).toMatchObject({
      ...{
        external_ref: "KL/2 é?",
        source: "partner_upload",
        email,
        registration_status: "ingediend",
        has_charger: true,
      },
    });
  });

  test("§4.3 of several drafts with one external_ref the newest that can be claimed", async () => {
    const oldest = await world.draft({ external_ref: "TWICE" });
    await world.travel(later(1));
    const newer = await world.draft({ external_ref: "TWICE" });
    await world.travel(later(2));
    const newest = await world.draft({ external_ref: "TWICE" });
    await world.row("update core.drafts set status = 'conflict' where id = $1", newest.draft_id);
    expect((await world.claim("TWICE")).body.draft_id).toBe(newer.draft_id);
    expect((await world.claim("TWICE")).body.draft_id).toBe(oldest.draft_id);
    // none is left to claim: the newest says how it stands
    expect((await world.claim("TWICE")).status).toBe(409);
  });

  test("§4.3 an external_ref that looks like an id is found; a draft's own id goes before it", async () => {
    const own = await world.draft();
    const ref = await world.draft({ external_ref: own.draft_id });
    const other = crypto.randomUUID();
    const { draft_id } = await world.draft({ external_ref: other });
    expect((await world.claim(own.draft_id)).body.draft_id).toBe(own.draft_id);
    expect((await world.claim(own.draft_id.toUpperCase())).body.draft_id).toBe(own.draft_id);
    expect((await world.claim(other)).body.draft_id).toBe(draft_id);
    expect((await world.claim(ref.draft_id)).body.steps.claim).toBe("done");
  });

  test("§4.3 what is stored is what the pages store, evidence and mail included", async () => {
    const fields = { external_ref: "SAME", phone: "0612345678", straat: "Dorpsstraat", plaats: "Amersfoort" };
    const byHand = await world.draft({ ...fields, ean: newEan() });
    const ask = newBrowser(world);
    await prove(world, ask, onPages(byHand));
    for (const step of ["details", "address"]) await fill(ask, onPages(byHand), step, ANSWERS[step] ?? {});
    const { ean } = await world.row("select ean from core.drafts where id = $1", byHand.draft_id);
    await fill(ask, onPages(byHand), "ean", { point: "other", ean_code: ean });
    for (const step of ["payout", "charger"]) await fill(ask, onPages(byHand), step, ANSWERS[step] ?? {});
    const form = await readyToSign(world, ask, onPages(byHand));
    expect((await ask(`${onPages(byHand).link}/sign`, { form })).status).toBe(303);

    const played = await world.draft({ ...fields, ean: newEan() });
    expect((await world.claim(played.draft_id, { iban: "NL91ABNA0417164300" })).status).toBe(200);
    const made = await madeOf(world, byHand.draft_id);
    expect(made).toMatchObject({
      status: "active",
      attributions: [{ source: "partner_upload", external_ref: "SAME" }],
    });
    expect(await madeOf(world, played.draft_id)).toEqual(made);
    const evidence = await world.row(
      `select m.address, m.user_agent, m.code_confirmed, m.code_sent_to, m.document from core.mandates m
         join core.connections c on c.id = m.connection_id join core.drafts d on d.account_id = c.account_id where d.id = $1`,
      played.draft_id,
    );
    expect(evidence).toMatchObject({
      address: "192.0.2.1",
      user_agent: "sandbox",
      code_confirmed: true,
      code_sent_to: played.email,
    });
    expect(evidence.document).toContain("Dorpsstraat");
  });

  test("§4.3 every field is what the customer answers; lengths are trimmed, the IBAN is stored encrypted", async () => {
    const ean = newEan();
    const { draft_id } = await world.draft({ ean: testEan(30), phone: "0687654321" });
    const street = "Straat ".repeat(40);
    const { status, body } = await world.claim(draft_id, {
      ...{
        submit: true,
        iban: "be68 5390 0754 7034",
        ean: ` ${ean.slice(0, 9)} ${ean.slice(9)}`,
        phone: "06 11223344",
        street,
      },
      charger: { mid: false, kwh_per_session: 5, sessions_per_week: 1, power_kw: 3.7, since: "2026-11-01" },
      unknown: "ignored",
    });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body).toMatchObject({ steps: DONE, charger: { mid: false } });
    const stored = await world.row(
      `select a.iban_ciphertext as ciphertext, a.iban_key_id as key_id, s.phone, l.street, c.ean_code, v.wh_per_session, v.power_kw::float, v.since::text
         from core.accounts a join core.signatories s on s.account_id = a.id join core.connections c on c.account_id = a.id
         join core.locations l on l.id = c.location_id join core.chargers h on h.account_id = a.id join core.virtual_chargers v on v.charger_id = h.id
        where a.id = $1`,
      body.account_id,
    );
    expect(openIban(world.environment, PEOPLE_TENANT, stored)).toBe("BE68539007547034");
    expect(stored).toMatchObject({
      phone: "+31611223344",
      ean_code: ean,
      wh_per_session: 5000,
      power_kw: 3.7,
      since: "2026-11-01",
    });
    expect(stored.street).toBe(street.trim().slice(0, 120).trim());
  });

  test.each([
    ["absent", {}, "skipped", null],
    ["null", { iban: null }, "skipped", null],
    ["given", { iban: "NL02ABNA0123456789" }, "done", "6789"],
    ["absent, submitting", { submit: true }, "done", "4300"],
    ["null, submitting", { submit: true, iban: null }, "skipped", null],
    ["given, submitting", { submit: true, iban: "NL02ABNA0123456789" }, "done", "6789"],
  ])("§4.3 an iban that is %s is what the customer has afterwards", async (_title, body, step, last4) => {
    const { account_id, steps } = await world.customer({}, body);
    expect(steps.iban).toBe(step);
    expect((await world.row("select iban_last4 from core.accounts where id = $1", account_id)).iban_last4).toBe(last4);
    expect((await world.row("select count(*)::int as n from core.mail_outbox where cause like 'claim_iban:%'")).n).toBe(
      0,
    );
  });

  test.each([
    [
      "zakelijk",
      { type: "zakelijk", kvk: "87654321", bedrijfsnaam: "Bakkerij", contactpersoon: "Jan Jansen" },
      "Bakkerij",
    ],
    ["zakelijk, little uploaded", { type: "zakelijk", kvk: "87654321", naam: null }, "Testbedrijf"],
    ["vve", { type: "vve", naam: null }, "Testbedrijf"],
  ])(
    "contract §5 a customer of type %s is claimed without submit; with it unsupported_type and nothing half done",
    async (_title, fields, company) => {
      const { draft_id } = await world.draft(fields);
      await changesNothing(async () => {
        const refused = await world.claim(draft_id, { submit: true });
        expect([refused.status, refused.body.error]).toEqual([409, "unsupported_type"]);
      });
      const { status, body } = await world.claim(draft_id);
      expect(status, JSON.stringify(body)).toBe(200);
      const account = await world.row(
        "select type, display_name, company from core.accounts where id = $1",
        body.account_id,
      );
      expect(account).toMatchObject({ type: fields.type, display_name: company });
      expect((await world.claim(draft_id, { submit: true })).body.error).toBe("unsupported_type");
    },
  );

  test.each([
    ["no address", { postcode: "", huisnummer: "" }, { postal_code: "1234AB", house_number: 1, ean_code: testEan(16) }],
    ["a bad postcode", { postcode: "99", huisnummer: "8" }, { postal_code: "1234AB" }],
    [
      "house number 78, ambiguous",
      { postcode: "1011 AA", huisnummer: "78" },
      { postal_code: "1011AA", house_number: 78 },
    ],
    ["house number 47, no points", { huisnummer: "47" }, { house_number: 47, ean_code: testEan(16) }],
    ["house number 61, the register silent", { huisnummer: "61" }, { house_number: 61, ean_code: testEan(16) }],
    ["an addition", { huisnummer: "9", toevoeging: "bis" }, { house_number: 9, house_number_addition: "BIS" }],
    ["no name beside a contact", { contactpersoon: "Piet Puk" }, { postal_code: "3818LH" }],
  ])(
    "contract §5 a draft with %s is claimed with what there is, and test values for the rest",
    async (_title, fields, expected) => {
      for (const source of ["csv", "api"]) {
        const row = draftRow({ ...fields, ...(source === "api" ? { email: newEmail() } : {}) });
        const { body } = await world.post(
          "/partner/drafts/import",
          { consent: true, send_invite: false, rows: [row], source },
          world.keyA,
        );
        const claimed = await world.claim(
          body.created[0].draft_id,
          source === "api" && "huisnummer" in fields ? { ean: testEan(16) } : {},
        );
        expect(claimed.status, JSON.stringify(claimed.body)).toBe(200);
        const stored = await world.row(
          `select l.postal_code, l.house_number, l.house_number_addition, c.ean_code, c.ean_validation_status as ean from core.connections c
           join core.locations l on l.id = c.location_id where c.account_id = $1`,
          claimed.body.account_id,
        );
        expect(stored).toMatchObject(expected);
      }
    },
  );

  test("§2 a draft of an invitation is attributed as partner_invite", async () => {
    const { draft_id } = await world.draft();
    await world.row("update core.drafts set source = 'invite' where id = $1", draft_id);
    const { account_id } = (await world.claim(draft_id)).body;
    const sql =
      "select t.source from core.attributions t join core.accounts a on a.user_id = t.user_id where a.id = $1";
    expect(await world.row(sql, account_id)).toEqual({ source: "partner_invite" });
    expect((await world.play(account_id, "chargers")).status).toBe(200);
  });
});

describe("contract §5 EAN test values", () => {
  test.each([
    [16, "matched"],
    [23, "unverified"],
    [47, "unverified"],
    [61, "unverified"],
  ])("the test value %i is stored as %s, uploaded or given, as often as wanted", async (ending, status) => {
    for (const [fields, body] of [
      [{ ean: testEan(ending) }, {}],
      [{}, { ean: testEan(ending) }],
    ]) {
      const { account_id } = await world.customer(fields, body);
      const sql = "select ean_code, ean_validation_status as status from core.connections where account_id = $1";
      expect(await world.row(sql, account_id)).toEqual({ ean_code: testEan(ending), status });
    }
  });

  test("contract §5 the test value 30 is 422 ean_address_mismatch at step activate; another EAN resumes", async () => {
    const { draft_id } = await world.draft();
    for (let time = 0; time < 12; time += 1) {
      const { status, body } = await world.claim(draft_id, { submit: true, ean: testEan(30) });
      expect([status, body.error, body.step]).toEqual([422, "ean_address_mismatch", "activate"]);
    }
    expect(await accountsOf(draft_id)).toEqual({ accounts: 0, mandates: 0, chargers: 0 });
    const { steps } = (await world.claim(draft_id, { submit: true, ean: testEan(16) })).body;
    expect(steps).toEqual({ ...DONE, claim: "already_done" });
  });

  test("an uploaded EAN that is in use is no conflict where the call gives another", async () => {
    const { draft_id } = await world.draft({ ean: testEan(54) });
    const { status, body } = await world.claim(draft_id, { submit: true, ean: testEan(16) });
    expect([status, body.steps]).toEqual([200, DONE]);
  });

  test("30 uploaded is met at activate; 54 uploaded ends the draft in conflict, as on the pages", async () => {
    const mismatch = await world.draft({ ean: testEan(30) });
    expect((await world.claim(mismatch.draft_id)).body).toMatchObject({
      error: "ean_address_mismatch",
      step: "activate",
    });
    expect((await world.claim(mismatch.draft_id, { ean: newEan() })).status).toBe(200);
    const taken = await world.draft({ ean: testEan(54) });
    for (let time = 0; time < 2; time += 1) {
      const { status, body } = await world.claim(taken.draft_id);
      expect([status, body]).toMatchObject([409, { ...IN_CONFLICT, step: "claim" }]);
    }
  });

  test("contract §5 54 given is a conflict like an uploaded one, at whichever stage it is given", async () => {
    for (const [stage, step] of [
      ["invited", "claim"],
      ["claimed", "activate"],
    ]) {
      const { draft_id } = await world.draft({ ean: testEan(30) });
      // refused at activate, so that the draft is claimed and not active
      if (stage === "claimed") expect((await world.claim(draft_id)).body.step).toBe("activate");
      for (const body of [{ ean: testEan(54) }, {}]) {
        const refused = await world.claim(draft_id, { submit: true, ...body });
        expect([refused.status, refused.body]).toMatchObject([409, IN_CONFLICT]);
        if (body.ean) expect(refused.body.step).toBe(step);
      }
      expect(await stateOf(draft_id)).toEqual({ status: "conflict", conflict_reason: "ean_in_use" });
      expect(await accountsOf(draft_id)).toEqual({ accounts: 0, mandates: 0, chargers: 0 });
    }
  });

  test("contract §5 an EAN of another connection is a conflict, whoever has it", async () => {
    const ean = newEan();
    await world.customer({}, { ean });
    const { draft_id } = await world.draft({}, world.keyB);
    expect((await world.claim(draft_id, { ean }, world.keyB)).body).toMatchObject(IN_CONFLICT);
    expect(await stateOf(draft_id)).toEqual({ status: "conflict", conflict_reason: "ean_in_use" });
  });
});

describe("§4.3 claim: resumed from wherever a customer left", () => {
  const STEPS = ["details", "address", "ean", "payout", "charger"];
  test.each(
    [-1, 0, 1, 2, 3, 4, 5].map(
      (done) => [done < 0 ? "the code alone" : done > 4 ? "the code to sign with" : STEPS[done], done] as const,
    ),
  )("a claim goes on after %s on the pages", async (_title, done) => {
    const imported = await world.draft({ ean: newEan() });
    const draft = onPages(imported);
    const ask = newBrowser(world);
    await prove(world, ask, draft);
    const { ean } = await world.row("select ean from core.drafts where id = $1", draft.id);
    const forms: Record<string, Record<string, string>> = {
      ...ANSWERS,
      details: { full_name: "Anders Heten", type: "particulier", phone: "0611111111" },
      ean: { point: "other", ean_code: ean },
    };
    for (const step of STEPS.slice(0, done + 1))
      expect((await fill(ask, draft, step, forms[step] ?? {})).status).toBe(303);
    if (done > 4) await readyToSign(world, ask, draft);
    const { status, body } = await world.claim(draft.id, { submit: true });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body.steps).toEqual({ ...DONE, claim: "already_done" });
    expect(body.registration_status).toBe("ingediend");
    const { full_name } = await world.row(
      "select full_name from core.signatories where account_id = $1",
      body.account_id,
    );
    // what the customer typed stands
    expect(full_name).toBe(done < 0 ? "Sanne de Vries" : "Anders Heten");
  });

  test("signed on the pages without IBAN and charger: submit adds both, nothing is signed again", async () => {
    const imported = await world.draft({ ean: newEan() });
    const ask = newBrowser(world);
    await prove(world, ask, onPages(imported));
    const { ean } = await world.row("select ean from core.drafts where id = $1", imported.draft_id);
    await answer(ask, onPages(imported), { ean, payout: { later: "yes" } });
    const form = await readyToSign(world, ask, onPages(imported));
    expect((await ask(`${imported.claim_url}/sign`, { form })).status).toBe(303);
    const { body } = await world.claim(imported.draft_id, { submit: true });
    expect(body).toMatchObject({ registration_status: "ingediend", steps: { ...AGAIN, iban: "done", submit: "done" } });
    expect(await accountsOf(imported.draft_id)).toEqual({ accounts: 1, mandates: 1, chargers: 1 });
  });

  test("moved to another address on the pages: its connection, not that of the address that was uploaded", async () => {
    const { body } = await world.post(
      "/partner/drafts/import",
      { consent: true, send_invite: false, source: "api", rows: [draftRow({ postcode: "2011 AA", huisnummer: "5" })] },
      world.keyA,
    );
    const draft = onPages(body.created[0]);
    const ask = newBrowser(world);
    await prove(world, ask, draft);
    await fill(ask, draft, "details", ANSWERS.details ?? {});
    const moved = { ...ANSWERS.address, postal_code: "2011 BB", house_number: "6" };
    expect((await fill(ask, draft, "address", moved)).status).toBe(303);
    const { text } = await ask(`${draft.link}/ean`);
    const [, shown] = /name="point" value="(\d{18})"/.exec(text) ?? [];
    const { account_id } = (await world.claim(draft.id)).body;
    const stored = await world.row("select ean_code from core.connections where account_id = $1", account_id);
    expect(stored).toEqual({ ean_code: shown });
  });

  test("claimed without submit, then with", async () => {
    const { draft_id, charger } = await world.customer({}, {});
    expect(charger).toBe(null);
    const { body } = await world.claim(draft_id, { submit: true });
    expect(body.steps).toEqual({ ...AGAIN, iban: "done", submit: "done" });
    expect(body.registration_status).toBe("ingediend");
  });

  test("the login deleted meanwhile: the address is proven again", async () => {
    const { draft_id, email } = await world.draft();
    expect((await world.claim(draft_id, { ean: testEan(30) })).status).toBe(422);
    await world.row("delete from auth.users where email = $1", email);
    const { body } = await world.claim(draft_id, { submit: true });
    expect(body.steps).toEqual(DONE);
  });

  test("the mandate ended: nothing can be submitted any more, and the answer says so", async () => {
    const { draft_id, account_id } = await world.customer({}, {});
    await world.row(
      "update core.mandates m set status = 'revoked', ended_at = now(), ended_reason = 'customer' from core.connections c where c.id = m.connection_id and c.account_id = $1",
      account_id,
    );
    const { status, body } = await world.claim(draft_id, { submit: true });
    expect([status, body.registration_status]).toEqual([200, "concept"]);
    expect(body.next).toContain("signature");
  });
});

describe("§4.3 claim: at once", () => {
  test("ten at once of one draft: one account, one mandate, one charger, each mail once, no failure", async () => {
    await world.limit("page", 60);
    for (let round = 0; round < 3; round += 1) {
      const { draft_id, email } = await world.draft();
      const answers = await Promise.all(Array.from({ length: 10 }, () => world.claim(draft_id, { submit: true })));
      const failed = answers.filter(({ status }) => status !== 200).map(({ body }) => body);
      expect(failed, JSON.stringify(world.log.filter(({ level }) => level === "error"))).toEqual([]);
      expect(await accountsOf(draft_id)).toEqual({ accounts: 1, mandates: 1, chargers: 1 });
      expect(new Set(answers.map(({ body }) => body.charger.charger_id)).size).toBe(1);
      expect(answers.filter(({ body }) => body.steps.activate === "done")).toHaveLength(1);
      expect(answers.filter(({ body }) => body.steps.claim === "done")).toHaveLength(1);
      expect(await mailsTo(email)).toEqual(["claim_code", "claim_code", "mandate_signed"]);
    }
    await world.limit("page");
  });

  test("ten at once of a claim signed without: one IBAN, one charger, and one mail about the IBAN", async () => {
    for (let round = 0; round < 4; round += 1) {
      const { draft_id, email } = await world.customer({}, {});
      const answers = await Promise.all(Array.from({ length: 10 }, () => world.claim(draft_id, { submit: true })));
      expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
      expect(answers.filter(({ body }) => body.steps.submit === "done").length).toBeGreaterThanOrEqual(1);
      expect(await accountsOf(draft_id)).toEqual({ accounts: 1, mandates: 1, chargers: 1 });
      expect(await mailsTo(email)).toEqual(["claim_code", "claim_code", "customer_iban_changed", "mandate_signed"]);
    }
  });

  test("contract §5 another rehearsal of the draft is waited for, one that died until its lease ends, and nobody for 10 s", async () => {
    const [stuck, dead] = [await world.draft(), await world.draft()];
    for (const { draft_id } of [stuck, dead])
      await world.row(
        "update core.drafts set rehearsal_id = gen_random_uuid(), rehearsal_until = private.now() + interval '20 seconds' where id = $1",
        draft_id,
      );
    const begun = performance.now();
    const refused = world.claim(stuck.draft_id).then((answer) => ({ ...answer, ms: performance.now() - begun }));
    let answered = false;
    const waiting = world.claim(dead.draft_id, { submit: true }).finally(() => {
      answered = true;
    });
    await world.row("select pg_sleep(1)");
    expect(answered).toBe(false);
    await world.row("update core.drafts set rehearsal_until = private.now() where id = $1", dead.draft_id);
    expect((await waiting).body.steps).toEqual(DONE);
    const { status, headers, ms } = await refused;
    expect([status, headers.get("retry-after")]).toEqual([503, "5"]);
    expect(ms).toBeGreaterThan(8_000);
    expect(await stateOf(stuck.draft_id)).toMatchObject({ status: "invited" });
    expect(
      await world.row("select rehearsal_id, rehearsal_until from core.drafts where id = $1", dead.draft_id),
      "given back",
    ).toEqual({ rehearsal_id: null, rehearsal_until: null });
  });

  test("ten different drafts at once", async () => {
    const drafts = await Promise.all(Array.from({ length: 10 }, () => world.draft({ ean: newEan() })));
    const answers = await Promise.all(drafts.map(({ draft_id }) => world.claim(draft_id, { submit: true })));
    expect(answers.map(({ status, body }) => [status, body.registration_status])).toEqual(
      Array(10).fill([200, "ingediend"]),
    );
  });

  test("two drafts with one EAN at once: one gets it, the other is told", async () => {
    const ean = newEan();
    const drafts = [await world.draft(), await world.draft()];
    const answers = await Promise.all(drafts.map(({ draft_id }) => world.claim(draft_id, { ean })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(["ean_in_use", "draft_not_claimable"]).toContain(answers.find(({ status }) => status === 409)?.body.error);
  });
});

describe("§4.3 claim: refused", () => {
  const claimable = async (draft_id: string, key = world.keyA) => {
    const { status, body } = await world.claim(draft_id, {}, key);
    return [status, body.error, body.reason ?? null, body.status ?? null];
  };

  test("nothing there, another partner's, withdrawn: draft_not_found", async () => {
    const { draft_id } = await world.draft({ external_ref: "MINE" });
    const gone = await world.draft();
    await world.post("/partner/drafts/withdraw", { draft_id: gone.draft_id }, world.keyA);
    const missing = [404, "draft_not_found", null, null];
    await changesNothing(async () => {
      for (const id of [
        crypto.randomUUID(),
        "nobody",
        gone.draft_id,
        "x".repeat(4000),
        "%",
        "\u0000",
        "a\u0000b",
        "'; --",
        "💥",
      ])
        expect(await claimable(id), id).toEqual(missing);
      expect(await claimable(draft_id, world.keyB)).toEqual(missing);
      expect(await claimable("MINE", world.keyB)).toEqual(missing);
    });
  });

  test("contract §5 expired and in conflict: draft_not_claimable with status and reason; active is no error", async () => {
    const expired = await world.draft();
    await world.row("update core.drafts set expires_at = created_at where id = $1", expired.draft_id);
    const conflict = await world.draft();
    await world.row("update core.drafts set status = 'conflict' where id = $1", conflict.draft_id);
    await changesNothing(async () => {
      expect(await claimable(expired.draft_id)).toEqual([409, "draft_not_claimable", "expired", "expired"]);
      expect(await claimable(conflict.draft_id)).toEqual([409, "draft_not_claimable", "conflict", "conflict"]);
    });
  });

  test("§4.3 never enters a login the caller did not make, whatever the draft's state", async () => {
    const own = await world.draft();
    await world.row(
      "insert into auth.users (id, email, email_confirmed_at, raw_app_meta_data) values (gen_random_uuid(), $1::text, now(), jsonb_build_object('proved_email', $1::text))",
      own.email,
    );
    const unconfirmed = await world.draft();
    await world.row("insert into auth.users (id, email) values (gen_random_uuid(), $1)", unconfirmed.email);
    const proven = await world.draft();
    await world.row(
      "insert into auth.users (id, email, email_confirmed_at, raw_app_meta_data) values (gen_random_uuid(), $1::text, now(), jsonb_build_object('proved_email', $1::text))",
      proven.email,
    );
    await prove(world, newBrowser(world), onPages(proven));
    for (const [{ draft_id }, status] of [
      [own, "invited"],
      [unconfirmed, "invited"],
      [proven, "claimed"],
    ] as const)
      await changesNothing(async () =>
        expect(await claimable(draft_id)).toEqual([409, "draft_not_claimable", "existing_login", status]),
      );
  });

  test("contract §5 a login that belongs to another partner ends the draft in conflict, as the pages do", async () => {
    for (const stage of ["invited", "claimed"]) {
      const draft = await world.draft({ ean: testEan(30) });
      if (stage === "claimed") expect((await world.claim(draft.draft_id)).body.step).toBe("activate");
      else
        await world.row(
          "insert into auth.users (id, email, email_confirmed_at, raw_app_meta_data) values (gen_random_uuid(), $1::text, now(), jsonb_build_object('proved_email', $1::text))",
          draft.email,
        );
      await world.row(
        `insert into core.attributions (partner_id, user_id, source, attached_month)
         select $1, id, 'oauth_consent', '2026-11-01' from auth.users where email = $2`,
        world.partnerB.id,
        draft.email,
      );
      for (let time = 0; time < 2; time += 1)
        expect((await world.claim(draft.draft_id, { submit: true })).body).toMatchObject(IN_CONFLICT);
      expect(await stateOf(draft.draft_id)).toEqual({ status: "conflict", conflict_reason: "existing_user" });
    }
  });

  test("§4.3 nor what a person with a login of their own signed on the pages", async () => {
    const imported = await world.draft({ ean: newEan() });
    await world.row(
      "insert into auth.users (id, email, email_confirmed_at, raw_app_meta_data) values (gen_random_uuid(), $1::text, now(), jsonb_build_object('proved_email', $1::text))",
      imported.email,
    );
    const ask = newBrowser(world);
    await prove(world, ask, onPages(imported));
    const { ean } = await world.row("select ean from core.drafts where id = $1", imported.draft_id);
    await answer(ask, onPages(imported), { ean, payout: { later: "yes" } });
    const form = await readyToSign(world, ask, onPages(imported));
    expect((await ask(`${imported.claim_url}/sign`, { form })).status).toBe(303);
    await changesNothing(async () =>
      expect((await world.claim(imported.draft_id, { submit: true })).body).toMatchObject({
        error: "draft_not_claimable",
        reason: "existing_login",
      }),
    );
  });

  test("contract §9 withdrawn and drafted again: the same partner's claim reuses the login, another partner's does not enter it", async () => {
    const email = newEmail();
    const first = await world.draft({ email });
    await world.claim(first.draft_id, { ean: testEan(30) });
    const login = await world.row("select id from auth.users where email = $1", email);
    await world.post("/partner/drafts/withdraw", { draft_id: first.draft_id }, world.keyA);
    const second = await world.draft({ email });
    const other = await world.post(
      "/partner/drafts/import",
      { consent: true, send_invite: false, rows: [draftRow({ email })] },
      world.keyB,
    );
    expect(other.body.rejected).toMatchObject([{ email, reason: "conflict" }]);
    await world.post("/partner/drafts/withdraw", { draft_id: second.draft_id }, world.keyA);
    const theirs = await world.draft({ email }, world.keyB);
    expect(await claimable(theirs.draft_id, world.keyB)).toEqual([
      409,
      "draft_not_claimable",
      "existing_login",
      "invited",
    ]);
    await world.post("/partner/drafts/withdraw", { draft_id: theirs.draft_id }, world.keyB);
    const third = await world.draft({ email });
    const { account_id } = (await world.claim(third.draft_id)).body;
    expect(await world.row("select user_id as id from core.accounts where id = $1", account_id)).toEqual(login);
  });

  test("Supabase Auth away: 503 naming the step, however often; then it goes on", async () => {
    const { draft_id } = await world.draft();
    world.auth.broken = true;
    for (let time = 0; time < 12; time += 1) {
      const { status, body } = await world.claim(draft_id, { submit: true });
      expect([status, body.step]).toEqual([503, "claim"]);
    }
    world.auth.broken = false;
    expect((await world.claim(draft_id, { submit: true })).body.steps).toEqual(DONE);
  });

  test("§8 a draft's codes are not counted on the sandbox: the helper mails as many as it needs", async () => {
    const { draft_id } = await world.draft();
    world.auth.broken = true;
    for (let code = 0; code < 12; code += 1) {
      expect((await world.claim(draft_id)).status).toBe(503);
      await world.row(
        "update core.one_time_codes set expires_at = private.now() where subject = $1",
        `claim:${draft_id}`,
      );
    }
    world.auth.broken = false;
    expect((await world.claim(draft_id)).status).toBe(200);
  });

  test.each([
    ["an EAN of 17 digits", { ean: "87168700000000001" }, "invalid_ean"],
    ["an EAN that is a number", { ean: 871687 }, "invalid_ean"],
    ["an EAN of letters", { ean: "87168700000000001O" }, "invalid_ean"],
    ["an IBAN of 14 characters", { iban: "NL91ABNA041716" }, "invalid_iban"],
    ["an IBAN of 35 characters", { iban: "A".repeat(35) }, "invalid_iban"],
    ["an IBAN that is a number", { iban: 1 }, "invalid_iban"],
    ["an IBAN with signs", { iban: "NL91-ABNA-0417-1643-00" }, "invalid_iban"],
    ["a telephone number that is none", { phone: "bel mij" }, "invalid_request"],
    ["submit as a word", { submit: "yes" }, "invalid_request"],
    ["a street with a control character", { street: "a\u0000b" }, "invalid_request"],
    ["power 0", { submit: true, charger: { power_kw: 0 } }, "invalid_request"],
    ["0.05 kWh a session", { submit: true, charger: { kwh_per_session: 0.05 } }, "invalid_request"],
    ["51 sessions a week", { submit: true, charger: { sessions_per_week: 51 } }, "invalid_request"],
    [
      "a profile that does not fit a week",
      { submit: true, charger: { kwh_per_session: 100, power_kw: 1, sessions_per_week: 2 } },
      "invalid_request",
    ],
    ["since before 2026", { submit: true, charger: { since: "2025-12-31" } }, "invalid_request"],
    ["since in the future", { submit: true, charger: { since: "2026-11-21" } }, "invalid_request"],
    ["since that is no day", { submit: true, charger: { since: "2026-02-30" } }, "invalid_request"],
    [
      "a charger model that is none",
      { submit: true, charger: { catalog_charger_id: crypto.randomUUID() } },
      "catalog_unresolved",
    ],
  ])("a claim with %s is refused by name, and nothing is stored", async (_title, body, error) => {
    const { draft_id } = await world.draft();
    await changesNothing(async () => {
      const answer = await world.claim(draft_id, body);
      expect([answer.status < 500, answer.body.error]).toEqual([true, error]);
    });
  });

  test("a body that is no JSON, or no object", async () => {
    const { draft_id } = await world.draft();
    const path = `/sandbox/v1/drafts/${draft_id}/claim`;
    expect((await world.send(path, { token: world.keyA, raw: "{" })).body.error).toBe("invalid_json");
    expect((await world.send(path, { token: world.keyA, raw: "[]" })).body.error).toBe("invalid_request");
  });
});
