// The operator's work of every day: who is this, how do they stand, what failed, how much is there.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { hashSecret } from "#shared/auth/tokens.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import { MID_CHARGER } from "../harness/chargers.ts";
import { giveNotice, signMandate } from "../harness/mandate.ts";
import { createAccount, newEan } from "../harness/people.ts";
import { addDraft, createPartnerWorld, draftRow, type PartnerWorld } from "../partner/partner_world.ts";
import { auditOf, operate, operatorOf, type Ran } from "./operator.ts";

const NOBODY = "0b0d1e00-0000-4000-8000-000000000000";

let world: PartnerWorld;
let operator: ReturnType<typeof operatorOf>;
let env: Record<string, string>;
beforeAll(async () => {
  world = await createPartnerWorld({ now: "2026-11-20T12:00:00Z" });
  operator = operatorOf(world.database);
  env = { OPERATOR_DATABASE_URL: world.database.url("operator") };
});
afterAll(() => world.close());
beforeEach(() => world.freeze("2026-11-20T12:00:00Z"));

/** The command succeeded; with what it left in the audit log. */
async function done(command: string | string[]): Promise<Ran & { audit: [action: string, subject: string | null][] }> {
  let ran: Ran | undefined;
  const audit = await auditOf(world.database.admin, async () => {
    ran = await operator(command);
  });
  if (!ran) throw new Error("it did not run");
  expect([ran.code, ran.err]).toEqual([0, ""]);
  return { ...ran, audit: audit.map(({ action, subject_id }) => [action, subject_id]) };
}

/** The command was refused with this sentence, and left nothing in the audit log. */
async function refused(command: string | string[], sentence: string | RegExp): Promise<void> {
  const audit = await auditOf(world.database.admin, async () => {
    const { code, out, err } = await operator(command);
    expect(err).toMatch(sentence);
    expect(err).toMatch(/^error: [^\n]+\.\n$/);
    expect([code, out]).toEqual([1, ""]);
  });
  expect(audit).toEqual([]);
}

const person = (full_name: string, email: string, phone = "0687654321") => ({ person: { full_name, email, phone } });

describe("contract §8 customer find", () => {
  const find = async (...text: string[]) => {
    const { json } = await done(["customer", "find", ...text]);
    return json.customers.map(({ id }: { id: string }) => id) as string[];
  };

  test("contract §8 customer find finds an account by each thing that may be at hand, and leaves an audit row", async () => {
    const ean_code = newEan();
    const { account_id, connection_id } = await createAccount(world, world.partnerA, {
      cpo_external_ref: "KLANT/Ünal-77",
      ...person("Ayşe van der Ünal", "ayse.unal@voorbeeld.nl", "06-12 98 76 54"),
      connection: { ean_code, postal_code: "9711 AB", house_number: "12a" },
    });
    const spaced = `${ean_code.slice(0, 6)} ${ean_code.slice(6)}`;
    for (const text of [
      account_id,
      connection_id,
      ean_code,
      spaced,
      "KLANT/Ünal-77",
      "klant unal 77",
      "Üna",
      "ayse.unal@voorbeeld.nl",
      "AYSE.UNAL",
      "unal",
      "Unal AYS",
      "0612987654",
      "+31 6 12 98 76 54",
      "9711AB 12",
      "9711 ab 12a",
    ])
      expect([text, await find(text)]).toEqual([text, [account_id]]);

    const { json, audit } = await done("customer find ayse.unal");
    expect(json).toEqual({
      customers: [
        {
          kind: "account",
          id: account_id,
          partner_id: world.partnerA.id,
          partner_slug: "partner-a",
          name: "Ayşe van der Ünal",
          email: "ayse.unal@voorbeeld.nl",
          reference: "KLANT/Ünal-77",
          eans: [ean_code],
          status: "pending",
        },
      ],
      more: false,
    });
    expect(audit).toEqual([["customer.found", account_id]]);
    const { out } = await operate(["customer", "find", "ayse.unal"], env);
    expect(out).toMatch(/^kind +id +partner_slug/);
    expect(out).toContain("Ayşe van der Ünal");
  });

  test("contract §8 customer find finds drafts of any partner, until they are an account", async () => {
    const draft = await addDraft(
      world,
      { naam: "Piet Zoekmij", external_ref: "ZM-100", postcode: "8011 CD", huisnummer: "3" },
      world.keyB,
    );
    for (const text of [draft.draft_id, draft.email, "zoekmij", "zm-100", "8011CD 3"])
      expect([text, await find(text)]).toEqual([text, [draft.draft_id]]);
    const { json } = await done("customer find zoekmij");
    expect(json.customers[0]).toMatchObject({ kind: "draft", partner_slug: "partner-b", status: "invited" });
    await world.row("update core.drafts set status = 'active' where id = $1", draft.draft_id);
    expect(await find("zoekmij")).toEqual([]);
    expect(await find(draft.draft_id)).toEqual([]);
  });

  test("contract §8 customer find refuses two letters and signs alone; signs that match anything elsewhere match nothing here", async () => {
    for (const text of ["ab", "a b", "a-1", "%%%", "___", "%_%_", "", "  ", "..."])
      await refused(["customer", "find", text], "at least three letters or digits");
    await createAccount(world, world.partnerA, person("Wilma Wildcard", "wilma@voorbeeld.nl"));
    for (const text of ["w%a", "wil_a", "w*ma", "wil' | 'x", "wil:* | jan", "zzzz%", "\\\\wil\\"])
      expect((await operator(["customer", "find", text])).code, text).toBeLessThan(2);
    expect(await find("zzz%")).toEqual([]);
    expect(await find("wil_ma")).toEqual([]);
    expect(await find("wil' | 'zzz")).toEqual([]);
    expect(await find("x".repeat(5000))).toEqual([]);
    expect((await done(["customer", "find", "nobody-is-called-this"])).audit).toEqual([]);
  });

  test("contract §8 customer find says that an IBAN cannot be searched, however it is typed, and does not repeat it", async () => {
    for (const typed of ["NL91ABNA0417164300", "nl91 abna 0417 1643 00", "NL00ABNA0417164300"]) {
      const { code, err } = await operator(["customer", "find", typed]);
      expect([code, err]).toEqual([1, expect.stringContaining("IBANs are stored encrypted")]);
      expect(err).not.toContain(typed);
    }
    const named = await createAccount(world, world.partnerA, { cpo_external_ref: "NL91ABNA0417164300" });
    const { json } = await done("customer find NL91ABNA0417164300");
    expect(json.customers.map(({ id }: { id: string }) => id)).toEqual([named.account_id]);
  });

  test("contract §8 customer find shows so many, by name, and says when there are more; a limit above 1000 is not understood", async () => {
    for (const name of ["Cees Veelman", "Anna Veelman", "Bart Veelman"])
      await createAccount(world, world.partnerB, person(name, `${name.slice(0, 4).toLowerCase()}@veel.example`));
    const { json, audit } = await done("customer find veelman --limit 2");
    expect(json.customers.map(({ name }: { name: string }) => name)).toEqual(["Anna Veelman", "Bart Veelman"]);
    expect([json.more, audit.length]).toEqual([true, 2]);
    expect((await operate(["customer", "find", "veelman", "--limit", "2"], env)).out).toContain("There are more");
    expect((await done("customer find veelman --limit 3")).json.more).toBe(false);
    for (const limit of ["1001", "100000000000000000000", "0", "-1", "1.5", "x"])
      expect((await operate(["customer", "find", "veelman", "--limit", limit], env)).code).toBe(2);
  });
});

describe("contract §8 customer find shows what is meant exactly first", () => {
  test("contract §8 customer find begins with the whole e-mail address, beyond a thousand others that it begins", async () => {
    const exact = await createAccount(world, world.partnerB, person("Zus Zeker", "klant@zeker.example"));
    const draft = await addDraft(world, { naam: "Zwaan Zeker", email: "klant@zeker.example" }, world.keyB);
    for (const name of ["Anna", "Bart"])
      await createAccount(world, world.partnerB, person(name, `klant@zeker.example.${name.toLowerCase()}.example`));
    const ids = async (typed: string) =>
      (await done(["customer", "find", typed])).json.customers.map(({ id }: { id: string }) => id);
    const found = await ids("Klant@Zeker.example");
    expect(found).toHaveLength(4);
    expect(found.slice(0, 2)).toEqual([exact.account_id, draft.draft_id]);
    // the limit of what is read is per kind of match: the exact one is beside it
    expect((await done(["customer", "find", "klant@zeker.example", "--limit", "1"])).json).toMatchObject({
      customers: [{ id: exact.account_id }],
      more: true,
    });
    const { rows } = await world.database.admin.query(
      "select account_id, exact from private.found_accounts('klant@zeker.example', 1)",
    );
    expect(rows).toEqual([{ account_id: exact.account_id, exact: true }]);
  });

  test("contract §8 account show takes an EAN or an e-mail address, and names the accounts of one that has several", async () => {
    const ean_code = newEan();
    const { account_id } = await createAccount(world, world.partnerA, {
      ...person("Mies Post", "mies@post.example"),
      connection: { ean_code, postal_code: "9711 AB", house_number: "13" },
    });
    for (const typed of ["mies@post.example", "Mies@Post.example", ean_code])
      expect((await done(["account", "show", typed])).json.account.account_id).toBe(account_id);
    await createAccount(world, world.partnerB, person("Mies Post", "mies@post.example"));
    await refused("account show mies@post.example", /^error: "mies@post.example" matches several accounts; .*-.*, .*-/);
  });
});

describe("contract §8 account show", () => {
  test("contract §8 account show says everything about one account, and leaves an audit row in its tenant", async () => {
    const { account_id, connection_id } = await createAccount(world, world.partnerA, {
      cpo_external_ref: "TOON-1",
      ...person("Toon Alles", "toon@voorbeeld.nl"),
    });
    const token = await world.partnerA.client.token();
    const charger = await world.post("/v1/chargers", { account_id, ...MID_CHARGER }, token);
    expect(charger.status).toBe(200);
    await signMandate(world, account_id);
    const { charger_id } = charger.body;
    const started_at = "2026-08-10T18:00:00Z";
    const readings = { meter_start_kwh: 4012.1, meter_end_kwh: 4017.1 };
    const session = { session_id: "S-1", charger_id, started_at, ended_at: "2026-08-10T19:00:00Z", ...readings };
    await world.post("/v1/charging-sessions", { sessions: [session] }, token);
    await world.post(
      "/v1/sessions:batch",
      {
        account_id,
        months: [
          { period: "2026-10", total_kwh: 10.5 },
          { period: "2026-09", total_kwh: 5 },
        ],
      },
      token,
    );
    await giveNotice(world.database.admin, account_id);

    const { json, audit } = await done("account show TOON-1");
    expect(audit).toEqual([["account.shown", account_id]]);
    expect(json.account).toMatchObject({
      account_id,
      partner_slug: "partner-a",
      cpo_external_ref: "TOON-1",
      iban_last4: "4300",
      balance_eur: 0,
      brought_by: null,
    });
    expect(json.signatory).toEqual({
      full_name: "Toon Alles",
      email: "toon@voorbeeld.nl",
      phone: "+31687654321",
      mail_failed_at: null,
      mail_failed_reason: null,
    });
    expect(json.connections).toMatchObject([{ connection_id, mandate_status: "signed" }]);
    expect(json.mandates).toMatchObject([
      { connection_id, status: "signed", signed_name: expect.any(String), code_confirmed: expect.any(Boolean) },
    ]);
    expect(json.chargers).toMatchObject([{ status: "active" }]);
    expect(json.months).toEqual([{ year: 2026, status: expect.any(String), months: 3, kwh: 20.5 }]);
    expect(json.sessions).toMatchObject([{ charger_id, source: "api", started_at, kwh: 5, ...readings, flags: [] }]);
    expect(json.told.map(({ kind }: { kind: string }) => kind)).toContain("registration_approved");
    expect(JSON.stringify(json)).not.toContain("NL91");
    expect((await done(`account show ${account_id}`)).json).toEqual(json);

    const { out } = await operate(["account", "show", "TOON-1"], env);
    for (const title of [
      "Connections",
      "Mandates",
      "Chargers",
      "Months",
      "Charging sessions, the newest 50",
      "Notices they were sent",
    ])
      expect(out).toContain(`\n${title}\n`);
  });

  test("contract §8 account show refuses what is no account, and a reference of two", async () => {
    await refused(["account", "show", "niemand"], 'No account matches "niemand"; find it with customer find');
    await refused(`account show ${NOBODY}`, `"${NOBODY}"`);
    await refused(["account", "show", "%"], '"%"');
    for (const partner of [world.partnerA, world.partnerB])
      await createAccount(world, partner, { cpo_external_ref: "DUBBEL" });
    await refused("account show DUBBEL", 'Several clients have an account "DUBBEL"');
  });
});

describe("contract §8 partner show", () => {
  test("contract §8 partner show says how a partner is set and what it has, of no other partner, and no secret", async () => {
    const other = await world.addPartner("toonbaar");
    const before = (await done("partner show toonbaar")).json;
    expect(before.counts).toMatchObject({ cpo_accounts: 0, customers: 0, drafts: {}, failed_mails: 0, balance_eur: 0 });
    await createAccount(world, other);
    const key = await world.key(other);
    await addDraft(world, {}, key);
    const { json, audit } = await done(`partner show ${other.id}`);
    expect(audit).toEqual([["partner.shown", other.id]]);
    expect(json.partner.slug).toBe("toonbaar");
    expect(json.counts).toMatchObject({ cpo_accounts: 1, drafts: { invited: 1 } });
    expect(json.counts.drafts_left).toBe(before.counts.drafts_left - 1);
    expect(json.clients).toMatchObject([{ client_id: other.client.client_id }]);
    expect(json.key.last4).toBe(key.slice(-4));
    expect(JSON.stringify(json)).not.toContain(key);
    expect(JSON.stringify(json)).not.toMatch(/secret_hash|ciphertext/);
    expect((await operate(["partner", "show", "toonbaar"], env)).out).toContain("\nManagers\n");
    await refused("partner show nergens", 'No partner has the id or slug "nergens"');
    await refused(["partner", "show", "too%"], '"too%"');
    expect((await done("partner show service")).json.counts.balance_eur).toBeNull();
  });
});

describe("contract §8 partner set", () => {
  test("contract §8 partner set --locale and --mandate-years fix them for a partner's customers; any gives them back", async () => {
    await world.addPartner("vast");
    const { json } = await done("partner set vast --locale en --mandate-years 5");
    expect([json.changed, json.partner.locale, json.partner.mandate_years]).toEqual([true, "en", 5]);
    expect((await done("partner set vast --locale en")).json.changed).toBe(false);
    const { json: free } = await done("partner set vast --locale any --mandate-years any");
    expect([free.partner.locale, free.partner.mandate_years]).toEqual([null, null]);
    for (const wrong of [
      ["--locale", "de"],
      ["--mandate-years", "2"],
    ])
      expect((await operate(["partner", "set", "vast", ...wrong], env)).code).toBe(2);
  });
});

describe("contract §8 draft list", () => {
  test("contract §8 draft list is newest first, of one partner and status where asked, and leaves an audit row", async () => {
    const fresh = await world.addPartner("lijst");
    const key = await world.key(fresh);
    const ids: string[] = [];
    for (const day of [1, 2, 3]) {
      await world.freeze(`2026-11-0${day}T12:00:00Z`);
      ids.unshift((await addDraft(world, { naam: `Dag ${day}` }, key)).draft_id);
    }
    await world.freeze("2026-11-20T12:00:00Z");
    const list = async (more = "") => {
      const { json } = await done(`draft list --partner lijst${more}`);
      return json.drafts.map(({ draft_id }: { draft_id: string }) => draft_id);
    };
    expect(await list()).toEqual(ids);
    expect(await list(" --limit 1")).toEqual(ids.slice(0, 1));
    const [newest, claimed, oldest] = ids;
    await world.row("update core.drafts set status = 'claimed', claimed_at = created_at where id = $1", claimed);
    // the job has not written it down yet
    await world.row("update core.drafts set expires_at = '2026-11-19' where id = $1", oldest);
    expect(await list(" --status claimed")).toEqual([claimed]);
    expect(await list(" --status expired")).toEqual([oldest]);
    expect(await list(" --status invited")).toEqual([newest]);
    expect(await list(" --status conflict")).toEqual([]);
    await world.row("update core.drafts set status = 'expired' where id = $1", oldest);
    expect(await list(" --status expired")).toEqual([oldest]);
    expect(await list()).toEqual(ids);

    const { json, audit } = await done("draft list --partner lijst --status claimed");
    expect(audit).toEqual([["drafts.listed", fresh.id]]);
    expect(json.drafts[0]).toMatchObject({ status: "claimed", name: "Dag 2", open_step: expect.any(String) });
    const everywhere = await done("draft list --limit 1000");
    expect(everywhere.json.drafts.map(({ draft_id }: { draft_id: string }) => draft_id)).toEqual(
      expect.arrayContaining(ids),
    );
    expect((await done("draft list --partner partner-a --status conflict")).audit).toEqual([]);
  });

  test("contract §8 draft list refuses a partner that is not there, and does not understand another status or a huge limit", async () => {
    await refused("draft list --partner nergens", "No partner");
    await refused("draft list --partner service", "service's own partner");
    for (const option of [
      ["--status", "gone"],
      ["--limit", "1000000000"],
    ])
      expect((await operate(["draft", "list", ...option], env)).code).toBe(2);
  });
});

describe("contract §8 ean list", () => {
  test("contract §8 ean list --failed names what the register denied or could not be asked, with the check; what waits only without --failed", async () => {
    const failing = async (status: string, outcome: string | null) => {
      const { connection_id } = await createAccount(world);
      await world.row("update core.connections set ean_validation_status = $2 where id = $1", connection_id, status);
      await world.row("delete from core.ean_checks where connection_id = $1", connection_id);
      if (outcome)
        await world.row(
          `insert into core.ean_checks (partner_id, connection_id, owner_id, ean_code, postal_code, house_number, source, outcome, reason)
           select partner_id, id, owner_id, ean_code, '3818LH', 8, 'public', $2, 'timeout' from core.connections where id = $1`,
          connection_id,
          outcome,
        );
      return connection_id;
    };
    const denied = await failing("mismatch", "mismatch");
    const unknown = await failing("not_found", "unknown_address");
    const unanswered = await failing("unverified", "unavailable");
    const unasked = await failing("unverified", null);
    const archived = await failing("mismatch", "mismatch");
    await world.row("update core.connections set status = 'archived' where id = $1", archived);
    const draft = async (ean_status: string) => {
      const { draft_id } = await addDraft(world);
      await world.row("update core.drafts set ean_status = $2 where id = $1", draft_id, ean_status);
      return draft_id;
    };
    const [failed, missing, ambiguous, expired] = [
      await draft("failed"),
      await draft("not_found"),
      await draft("ambiguous"),
      await draft("not_found"),
    ];
    await world.row("update core.drafts set expires_at = '2026-11-19' where id = $1", expired);

    const ids = (rows: { id: string }[]) => rows.map(({ id }) => id).sort();
    const { json, audit } = await done("ean list --failed");
    expect(ids(json.connections)).toEqual([denied, unknown, unanswered].sort());
    expect(ids(json.drafts)).toEqual([failed, missing].sort());
    expect(audit).toEqual([["eans.listed", null]]);
    expect(json.connections.find(({ id }: { id: string }) => id === unanswered)).toMatchObject({
      partner_slug: "partner-a",
      address: "3818LH 8",
      status: "unverified",
      outcome: "unavailable",
      reason: "timeout",
      checked_at: "2026-11-20T12:00:00Z",
    });
    const all = (await done("ean list")).json;
    expect(ids(all.connections)).toEqual([denied, unknown, unanswered, unasked].sort());
    expect(ids(all.drafts)).toEqual(expect.arrayContaining([failed, missing, ambiguous]));
    expect(ids(all.drafts)).not.toContain(expired);
    expect((await done("ean list --limit 1")).json.connections).toHaveLength(1);
    const { out } = await operate(["ean", "list", "--failed"], env);
    expect(out).toMatch(/^Connections\nid +partner_slug/);
    expect(out).toContain("\nDrafts\n");
  });
});

test("contract §8 partner show and stats leave no value blank, and count mail that is tried again apart", async () => {
  const shown = await operate(["partner", "show", "partner-b"], env);
  expect(shown.out).not.toMatch(/ +$/m);
  expect(shown.out).toMatch(/^ {2}payout +-$/m);
  const { json } = await done(["stats"]);
  const named = json.waits.map(({ what }: { what: string }) => what);
  expect(named).toEqual(
    expect.arrayContaining(["mail that did not arrive", "of it mail that failed, and is tried again"]),
  );
});

describe("contract §8 mail that failed", () => {
  /** What the worker writes when a mail server refuses a mail for good. */
  const fail = (id: string) =>
    world.row(
      "update core.mail_outbox set status = 'failed', attempts = 1, last_error = '550 no such user', done_at = private.now() where id = $1",
      id,
    );
  const mailOf = async (cause: string) =>
    (await world.row("select id from core.mail_outbox where cause like $1", cause))?.id as string;
  const caller = { kind: "anyone", host: "sandbox", request_id: "test" };
  const resend = (id: string) => done(["mail", "resend", id]);
  const outdated = (id: string) =>
    refused(
      ["mail", "resend", id],
      `The mail ${id} is about something already done, or has a code or link that expired`,
    );

  /** An account with a link to sign by, mailed; the mail failed. */
  async function failedLink(email = "link@voorbeeld.nl") {
    const account = await createAccount(world, world.partnerA, person("Lies Link", email));
    const token = await world.partnerA.client.token();
    const { body } = await world.post("/v1/mandate-links", { account_id: account.account_id, send_email: true }, token);
    const token_hash = hashSecret(body.mandate_link.split("/").pop());
    const { id: link } = await world.row(
      "select id from core.mandate_links where token_hash = decode($1, 'hex')",
      token_hash,
    );
    const mail = await mailOf(`mandate_link:${link}`);
    await fail(mail);
    return { ...account, token_hash, link, mail };
  }

  test("contract §8 mail list --failed lists what failed for good or waits after a failure, without codes; of one partner where asked", async () => {
    const { mail } = await failedLink("lijst@voorbeeld.nl");
    await world.row(`update core.mail_outbox set content = '{"code": "654321"}' where id = $1`, mail);
    const waiting = await failedLink("wacht@voorbeeld.nl");
    await world.row(
      "update core.mail_outbox set status = 'queued', done_at = null, next_attempt_at = private.now() + interval '1 hour' where id = $1",
      waiting.mail,
    );
    const { json, out } = await done("mail list --failed");
    const ids = json.mails.map(({ id }: { id: string }) => id);
    expect(ids).toEqual(expect.arrayContaining([mail, waiting.mail]));
    expect(new Set(json.mails.map(({ status }: { status: string }) => status))).toEqual(new Set(["failed", "queued"]));
    expect(out + JSON.stringify(json)).not.toContain("654321");
    expect((await done("mail list --failed --partner partner-b")).json.mails).toEqual([]);
    expect((await done("mail list --failed --to lijst@voorbeeld.nl")).json.mails).toHaveLength(1);
    const table = await operate(["mail", "list", "--failed"], env);
    expect(table.out).toMatch(/last_error/);
    expect(table.out).toContain("550 no such user");
    const again = await resend(mail);
    expect(again.out).not.toContain("654321");
  });

  test("contract §8 mail resend queues a failed mail again, once, however many ask at once", async () => {
    const { mail } = await failedLink();
    let answers: Ran[] = [];
    const audit = await auditOf(world.database.admin, async () => {
      answers = await Promise.all(Array.from({ length: 10 }, () => operator(["mail", "resend", mail])));
    });
    expect(answers.map(({ code }) => code)).toEqual(Array(10).fill(0));
    expect(answers.filter(({ json }) => json.changed)).toHaveLength(1);
    expect(audit.map(({ action, subject_id, partner_id }) => [action, subject_id, partner_id])).toEqual([
      ["mail.resent", mail, world.partnerA.id],
    ]);
    expect(await world.row("select status, attempts, done_at from core.mail_outbox where id = $1", mail)).toEqual({
      status: "queued",
      attempts: 0,
      done_at: null,
    });
  });

  test("contract §8 mail resend leaves a mail alone that a worker has in hand; one that waits longer goes at once", async () => {
    const { mail } = await failedLink();
    await resend(mail);
    const claim = async () => {
      const { claimed } = await world.row("select private.lease_mail(100, null) as claimed");
      return claimed.map(({ id }: { id: string }) => id);
    };
    expect(await claim()).toContain(mail);
    expect((await resend(mail)).json.changed).toBe(false);
    expect(await claim()).toEqual([]);
    await world.row(
      "update core.mail_outbox set next_attempt_at = private.now() + interval '64 minutes' where id = $1",
      mail,
    );
    const { json, audit } = await resend(mail);
    expect([json.changed, audit]).toEqual([true, [["mail.resent", mail]]]);
    expect(await claim()).toEqual([mail]);
    await world.row("update core.mail_outbox set status = 'sent' where status = 'queued'");
  });

  test("contract §8 mail resend refuses what is not there, was sent, captured or dropped by a limit, by its id", async () => {
    for (const id of [NOBODY, "nonsense", "%"]) await refused(["mail", "resend", id], `There is no such mail: ${id}`);
    const { mail } = await failedLink();
    await world.row("update core.mail_outbox set status = 'sent' where id = $1", mail);
    await refused(["mail", "resend", mail], `The mail ${mail} was sent`);
    await world.row("update core.mail_outbox set status = 'captured' where id = $1", mail);
    await refused(["mail", "resend", mail], `The mail ${mail} was captured`);
    await world.row("update core.mail_outbox set status = 'dropped' where id = $1", mail);
    await refused(["mail", "resend", mail], `The mail ${mail} was not sent: its address reached its daily limit`);
    await world.row("update core.mail_outbox set status = 'nobody' where id = $1", mail);
    await refused(["mail", "resend", mail], `There is no such mail: ${mail}`);
  });

  test("contract §8 mail resend refuses a link that was replaced, has expired, or was used, and one to a former address", async () => {
    const replaced = await failedLink();
    await world.post("/v1/mandate-links", { account_id: replaced.account_id }, await world.partnerA.client.token());
    await outdated(replaced.mail);

    const expired = await failedLink();
    await world.freeze("2026-12-04T12:00:01Z");
    await outdated(expired.mail);
    await world.freeze("2026-11-20T12:00:00Z");

    const signed = await failedLink();
    await signMandate(world, signed.account_id);
    await outdated(signed.mail);

    const moved = await failedLink();
    await world.row("update core.signatories set email = 'ander@voorbeeld.nl' where account_id = $1", moved.account_id);
    await outdated(moved.mail);
  });

  test("contract §8 mail resend refuses a code that was replaced, has expired, or was guessed at too often", async () => {
    const { token_hash, link } = await failedLink();
    const send = async (code: string) => {
      const code_hash = hashSecret(code);
      await world.environment.db.call("send_mandate_code", caller, {
        token_hash,
        code_hash,
        mail: aboutMail(world.environment.config, "mandate_code", "nl", { code, full_name: "Lies", partner_name: "A" }),
      });
      const mail = await mailOf(`mandate_code:${link}:${code_hash}`);
      await fail(mail);
      return mail;
    };
    const first = await send("111111");
    expect(JSON.stringify((await resend(first)).json)).not.toContain("111111");
    await fail(first);
    const second = await send("222222");
    await outdated(first);
    await world.row("update core.one_time_codes set attempts = 5 where subject = $1", `mandate:${link}`);
    await outdated(second);
    await world.row("update core.one_time_codes set attempts = 0 where subject = $1", `mandate:${link}`);
    await world.freeze("2026-11-20T12:10:00Z");
    await outdated(second);
  });

  test("contract §8 mail resend of claims: an invitation until it is accepted or withdrawn, codes and links while they work, the newest reminder", async () => {
    const row = draftRow();
    await world.import([row], { send_invite: true });
    const draft = await world.row("select id from core.drafts where email = $1", row.email);
    const invitation = await mailOf(`claim:${draft.id}`);
    await fail(invitation);
    expect((await resend(invitation)).json.changed).toBe(true);

    const code_hash = hashSecret("333333");
    const mail = aboutMail(world.environment.config, "claim_code", "nl", { code: "333333", purpose: "prove" });
    await world.environment.db.call("send_claim_code", caller, { draft_id: draft.id, code_hash, mail });
    const code = await mailOf(`claim_code:${draft.id}:%`);
    await fail(code);
    expect((await resend(code)).json.changed).toBe(true);
    await fail(code);
    await world.row("update core.one_time_codes set code_hash = null where subject = $1", `claim:${draft.id}`);
    await outdated(code);

    const link = async () => {
      const answer = await world.post(
        "/partner/drafts/auth-link",
        { draft_id: draft.id, send_email: true },
        world.keyA,
      );
      expect([answer.status, answer.body.email_sent]).toEqual([200, true]);
      const { id } = await world.row(
        "select id from core.draft_links where draft_id = $1 order by created_at desc, expires_at desc limit 1",
        draft.id,
      );
      const mail = await mailOf(`claim_sign_in:${draft.id}:${id}`);
      await fail(mail);
      return mail;
    };
    const signIn = await link();
    expect((await resend(signIn)).json.changed).toBe(true);
    await fail(signIn);
    await world.freeze("2026-11-20T12:05:00Z");
    await outdated(signIn);

    // as the job writes them
    await world.row("update core.drafts set reminders_sent = 2 where id = $1", draft.id);
    for (const n of [1, 2])
      await world.row(
        `insert into core.mail_outbox (partner_id, cause, template, locale, recipient, content, status)
         select partner_id, 'claim_reminder:' || id || ':' || $2, 'reminder', 'nl', email, '{}', 'failed' from core.drafts where id = $1`,
        draft.id,
        String(n),
      );
    await outdated(await mailOf(`claim_reminder:${draft.id}:1`));
    expect((await resend(await mailOf(`claim_reminder:${draft.id}:2`))).json.changed).toBe(true);

    await fail(invitation);
    await world.row("update core.drafts set status = 'claimed' where id = $1", draft.id);
    await outdated(invitation);
    await world.row("delete from core.drafts where id = $1", draft.id);
    await outdated(invitation);
  });

  test("contract §8 mail resend invites nobody who opted out, and not in the name of a partner that is deactivated", async () => {
    const row = draftRow();
    await world.import([row], { send_invite: true });
    const { id } = await world.row("select id from core.drafts where email = $1", row.email);
    const invitation = await mailOf(`claim:${id}`);
    await fail(invitation);
    await done("partner deactivate partner-a");
    await refused(
      ["mail", "resend", invitation],
      `The mail ${invitation} invites in the name of partner-a, which is deactivated`,
    );
    await done("partner activate partner-a");
    const { unsubscribe_url } = await world.mail("where id = $1", invitation);
    const [, email_hash] = /\/unsubscribe\/([0-9a-f]{64})-/.exec(unsubscribe_url) ?? [];
    await world.environment.db.call("opt_out", caller, { email_hash });
    await refused(["mail", "resend", invitation], `The reader of mail ${invitation} has opted out`);
  });

  test("contract §8 mail resend of what a customer is told: as long as it is true, and its link still opens", async () => {
    const { account_id, connection_id } = await createAccount(world);
    const notice = async (kind: string, details: object) =>
      (
        await world.row(
          `insert into core.notices (partner_id, account_id, owner_id, connection_id, kind, cause, details)
           select partner_id, account_id, owner_id, id, $2, gen_random_uuid()::text, $3 from core.connections where id = $1 returning id`,
          connection_id,
          kind,
          JSON.stringify(details),
        )
      ).id;
    const mailed = async (id: string, link: string | null = null) => {
      const mail = await world.row(
        `insert into core.mail_outbox (partner_id, cause, template, locale, recipient, content, status)
         values ($1, 'notice:' || $2, 'something_missing', 'nl', 'sanne@example.nl', jsonb_build_object('reader', jsonb_build_object('link', $3::text)), 'failed') returning id`,
        world.partnerA.id,
        id,
        link,
      );
      return mail.id as string;
    };
    const missing = await mailed(await notice("something_missing", {}));
    expect((await resend(missing)).json.changed).toBe(true);
    await fail(missing);
    await world.post(
      "/v1/chargers",
      { account_id, ...MID_CHARGER, serial_number: "RS-1" },
      await world.partnerA.client.token(),
    );
    await outdated(missing);

    const ended = await notice("mandate_ended", { valid_until: "2025-12-31" });
    const token = await world.partnerA.client.token();
    const { body } = await world.post("/v1/mandate-links", { account_id }, token);
    const mail = await mailed(ended, body.mandate_link);
    expect((await resend(mail)).json.changed).toBe(true);
    await fail(mail);
    await world.post("/v1/mandate-links", { account_id }, token);
    await outdated(mail);
    await world.row(`update core.mail_outbox set content = '{"reader": {"link": null}}' where id = $1`, mail);
    await signMandate(world, account_id);
    await outdated(mail);

    const approved = await mailed(await notice("registration_approved", {}), "https://pages.example/claim/x-y");
    expect((await resend(approved)).json.changed).toBe(true);
  });
});

describe("contract §8 stats", () => {
  test("contract §8 stats counts what waits and what there is, and says what was sold; nothing of it is personal", async () => {
    const before = (await done("stats")).json;
    const count = (json: { holds: { what: string; count: number }[] }, what: string) =>
      json.holds.find((row) => row.what === what)?.count ?? 0;
    const email = "tellen@voorbeeld.nl";
    await createAccount(world, world.partnerA, person("Tel Mee", email));
    const { json, audit, out } = await done("stats");
    expect(audit).toEqual([]);
    expect(json.at).toBe("2026-11-20T12:00:00Z");
    expect(count(json, "accounts")).toBe(count(before, "accounts") + 1);
    expect(json.holds.every(({ about }: { about: boolean }) => about === false)).toBe(true);
    expect(json.waits).toContainEqual({ what: "EANs denied", count: expect.any(Number), or_more: false });
    expect(json.sold).toEqual([]);
    expect(out).not.toContain(email);
    const table = await operate(["stats"], env);
    expect(table.out).toMatch(/^Waits, at 2026-11-20T12:00:00Z\nwhat +count\n/);
    expect((await operate(["stats", "--limit", "3"], env)).code).toBe(2);
  });

  test("contract §8 stats counts no further than ten thousand: above that it says about how many", async () => {
    await world.row(
      `insert into core.draft_uploads (partner_id) select id from core.partners, generate_series(1, 10002) where slug = 'partner-a'`,
    );
    const { held } = await world.row("select private.held('uploads', 'core.draft_uploads')");
    expect(held).toMatchObject({ what: "uploads", about: true });
    expect(held.count).toBeGreaterThanOrEqual(10_000);
    const { waiting } = await world.row("select private.waiting('uploads', 'select from core.draft_uploads')");
    expect(waiting).toEqual({ what: "uploads", count: 10_000, or_more: true });
    await world.row(
      "insert into core.oauth_clients (client_id, name, secret_hash, scopes, grant_types) select 'c' || n, 'c', sha256('x'), '{cpo:accounts:read}', '{client_credentials}' from generate_series(1, 10001) n",
    );
    expect((await operate(["stats"], env)).out).toMatch(/clients +about 10000/);
  });
});
