// What customers are told after signing: by real mail, once each, in their language, whenever the worker comes by.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { hashSecret } from "#shared/auth/tokens.ts";
import { serve } from "#shared/http/serve.ts";
import { surface } from "../../supabase/functions/worker/app.ts";
import { runDueJobs } from "../harness/due_jobs.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount } from "../harness/people.ts";
import { startSmtp } from "../harness/smtp.ts";
import { createWorld, type World } from "../harness/world.ts";

let smtp: Awaited<ReturnType<typeof startSmtp>>;
let world: World;
beforeAll(async () => {
  smtp = await startSmtp();
  world = await createWorld({ host: "production", variables: { SMTP_URL: smtp.url, EAN_REGISTER: "table" } });
});
afterAll(async () => {
  await world?.close();
  await smtp?.close();
});
beforeEach(async () => {
  await world.database.admin.query("truncate core.notices, core.mail_outbox");
  await world.database.admin.query("update core.mandates set status = 'expired' where status = 'signed'");
  smtp.received.length = 0;
  world.log.length = 0;
});
afterEach(() =>
  expect(JSON.stringify(world.log), "no personal data in logs").not.toMatch(/@example|Sanne|mandate\/[0-9A-Za-z]/),
);

async function run() {
  const { WORKER_SECRET } = world.environment.config;
  const headers = { authorization: `Bearer ${WORKER_SECRET}` };
  const response = await serve(surface, world.environment).fetch(
    new Request("http://api.test/worker/run", { method: "POST", headers }),
  );
  const answer = await response.json();
  expect(response.status, JSON.stringify(answer)).toBe(200);
  return answer as { notices: { mailed: number }; mail: { sent: number }; jobs: Record<string, number> };
}

/** What arrived since, by recipient: subject and text as they were sent. */
function arrived(): { to: string | undefined; subject: string; text: string }[] {
  const received = smtp.received.map(({ to, message }) => {
    const text = message
      .replace(/=\r?\n/g, "")
      .replace(/((?:=[0-9A-F]{2})+)/g, (bytes) => Buffer.from(bytes.replaceAll("=", ""), "hex").toString("utf8"));
    const [, encoded = ""] = /^Subject: ((?:.|\r\n )*)/m.exec(message) ?? [];
    const subject = encoded.replace(/\r\n /g, "").replace(/=\?UTF-8\?Q\?(.*?)\?=/g, (_, word: string) =>
      decodeURIComponent(
        word
          .replaceAll("_", " ")
          .replace(/%/g, "%25")
          .replace(/=([0-9A-F]{2})/g, "%$1"),
      ),
    );
    return { to: to[0], subject, text };
  });
  smtp.received.length = 0;
  return received;
}
const subjects = () => arrived().map(({ subject }) => subject);

let people = 0;
/** A customer of a CPO whose mandate of one year was signed in June, so that it ends this year. */
async function signedFor2026(fields: { locale?: "nl" | "en"; email?: string | null } = {}) {
  await world.travel("2026-06-15T12:00:00Z");
  people += 1;
  const { locale, email = `klant${people}@example.nl` } = fields;
  const person = { full_name: "Sanne de Vries", email, phone: null };
  const account = await createAccount(world, world.partnerA, { person });
  await signMandate(world, account.account_id);
  if (locale)
    await world.row("update core.mandates set locale = $2 where connection_id = $1", account.connection_id, locale);
  await world.database.admin.query("truncate core.mail_outbox");
  return { ...account, email };
}

/** Nothing is missing any more, so the registration is reviewed. */
async function submitted(connection_id: string) {
  await world.row(
    "update core.connections set registration_status = 'ingediend', submitted_at = private.now(), ean_validation_status = 'matched' where id = $1",
    connection_id,
  );
  await world.row(
    `insert into core.chargers (partner_id, account_id, connection_id, owner_id, catalog_charger_id, brand, mid_eligible)
     select c.partner_id, c.account_id, c.id, c.owner_id, m.id, m.brand, true from core.connections c, core.charger_models m where c.id = $1 and m.mid_meter limit 1`,
    connection_id,
  );
}

describe("contract §2 before a mandate ends", () => {
  test("a mail on 1 November and one on 1 December, once each, with a link by which it is renewed", async () => {
    const { email, account_id, connection_id } = await signedFor2026();
    const told = async (moment: string) => {
      await world.travel(moment);
      await run();
      await run();
      return subjects();
    };
    expect(await told("2026-10-31T22:59:59Z"), "the last second of October in the Netherlands").toEqual([]);
    await world.travel("2026-10-31T23:00:00Z");
    expect(await run()).toMatchObject({ jobs: { endings_announced: 1 }, notices: { mailed: 1 }, mail: { sent: 1 } });
    const [first] = arrived();
    expect(first).toMatchObject({ to: email, subject: "Uw machtiging eindigt op 31 december 2026" });
    expect(first?.text).toContain("Beste Sanne de Vries,");
    expect(await told("2026-11-15T12:00:00Z")).toEqual([]);
    expect(await told("2026-11-30T22:59:59Z")).toEqual([]);
    expect(await told("2026-11-30T23:00:00Z"), "1 December, midnight").toEqual([
      "Nog niet verlengd: uw machtiging eindigt op 31 december 2026",
    ]);
    expect(await told("2026-12-24T12:00:00Z")).toEqual([]);

    const link = /http:\/\/api\.test\/pages\/mandate\/[0-9A-Za-z]{43}/.exec(first?.text ?? "")?.[0] ?? "none";
    const token_hash = hashSecret(link.split("/").pop() ?? "");
    const opened = JSON.parse(
      await world.environment.db.call(
        "open_mandate_link",
        { kind: "anyone", host: "production", request_id: "test" },
        { token_hash, address_hash: "test" },
      ),
    );
    expect(opened, "eight weeks later it still works").toMatchObject({ state: "open", held_until: "2026-12-31" });
    expect(opened.periods[0]).toEqual({ validity_years: 1, valid_from: "2027-01-01", valid_until: "2027-12-31" });
    const links = await world.row(
      "select count(*)::int as n from core.mandate_links where connection_id = $1",
      connection_id,
    );
    expect(links, "one to sign by, and one in each mail").toEqual({ n: 3 });
    const { body } = await world.get("/v1/accounts?limit=1", await world.partnerA.client.token());
    expect(body.accounts[0]).toMatchObject({ account_id, connections: [{ mandate_status: "signed" }] });
  });

  test("a worker that was down that day tells it later: in November the first, in December the second alone", async () => {
    await signedFor2026();
    await world.travel("2026-11-17T12:00:00Z");
    await run();
    expect(subjects()).toEqual(["Uw machtiging eindigt op 31 december 2026"]);
    await signedFor2026();
    await world.travel("2026-12-03T12:00:00Z");
    await run();
    expect(subjects().sort()).toEqual(Array(2).fill("Nog niet verlengd: uw machtiging eindigt op 31 december 2026"));
  });

  test("two workers at once, ten times: one mail", async () => {
    await signedFor2026();
    await world.travel("2026-11-01T12:00:00Z");
    await Promise.all(Array.from({ length: 10 }, () => run()));
    await world.travel("2026-11-01T12:10:00Z");
    await run();
    expect(subjects()).toHaveLength(1);
  });

  test("a worker that died after it took the notice: told five minutes later", async () => {
    await signedFor2026();
    await world.travel("2026-11-01T12:00:00Z");
    const caller = { kind: "worker", host: "production", request_id: "dead" };
    await runDueJobs(world);
    expect(JSON.parse(await world.environment.slowDb.call("due_notices", caller, { size: 10 }))).toHaveLength(1);
    expect((await run()).notices).toEqual({ mailed: 0 });
    await world.travel("2026-11-01T12:05:01Z");
    expect((await run()).notices).toEqual({ mailed: 1 });
  });

  test("not to who has renewed, was revoked, has years left or has no address; in the language it was signed in", async () => {
    const renewed = await signedFor2026();
    const revoked = await signedFor2026();
    const [silent, english] = [await signedFor2026({ email: null }), await signedFor2026({ locale: "en" })];
    await world.travel("2026-06-15T12:00:00Z");
    const long = await createAccount(world);
    await signMandate(world, long.account_id, world.partnerA, 3);
    await world.row("select ops.mandate_revoke($1)", { connection: revoked.connection_id });
    await world.travel("2026-11-01T00:30:00Z");
    await signMandate(world, renewed.account_id);
    await world.database.admin.query("truncate core.mail_outbox, core.notices");
    await run();
    expect(arrived()).toMatchObject([{ to: english.email, subject: "Your mandate ends on 31 December 2026" }]);
    await run();
    expect(
      await world.row(
        "select count(*)::int as n from core.notices where account_id = $1 and due_at is not null",
        silent.account_id,
      ),
      "nobody to tell is no reason to try again",
    ).toEqual({ n: 0 });
  });

  test("renewed between the notice and its mail: nothing is sent", async () => {
    const { account_id } = await signedFor2026();
    await world.travel("2026-11-01T12:00:00Z");
    await runDueJobs(world);
    await signMandate(world, account_id);
    await world.database.admin.query("truncate core.mail_outbox");
    expect((await run()).notices).toEqual({ mailed: 0 });
    expect(subjects()).toEqual([]);
  });

  test("contract §9 while a partner is deactivated its customers cannot renew, and are not asked to", async () => {
    await signedFor2026();
    const set = (active: boolean) =>
      world.row("update core.partners set is_active = $2 where id = $1", world.partnerA.id, active);
    await world.travel("2026-11-01T12:00:00Z");
    await set(false);
    await run();
    await set(true);
    expect(subjects()).toEqual([]);
    await run();
    expect(subjects()).toHaveLength(1);
  });

  test("a link that the CPO issued itself goes on working beside the one in the mail", async () => {
    const { account_id } = await signedFor2026();
    await world.travel("2026-11-01T12:00:00Z");
    const { body } = await world.post("/v1/mandate-links", { account_id }, await world.partnerA.client.token());
    await run();
    const token_hash = hashSecret(body.mandate_link.split("/").pop());
    const caller = { kind: "anyone", host: "production", request_id: "test" };
    const opened = await world.environment.db.call("open_mandate_link", caller, { token_hash, address_hash: "test" });
    expect(JSON.parse(opened).state).toBe("open");
  });
});

describe("contract §2 when a mandate has ended", () => {
  test("at midnight on 1 January in the Netherlands it is over, and who has not renewed is told so once", async () => {
    const { connection_id } = await signedFor2026();
    await world.travel("2026-12-31T22:59:59Z");
    await run();
    arrived();
    const statusOf = async () =>
      (await world.row("select status from core.mandates where connection_id = $1", connection_id)).status;
    expect(await statusOf()).toBe("signed");
    await world.travel("2026-12-31T23:00:00Z");
    expect((await run()).jobs.mandates_expired).toBe(1);
    await run();
    expect(await statusOf()).toBe("expired");
    const [mail, ...rest] = arrived();
    expect(rest).toEqual([]);
    expect(mail?.subject).toBe("Uw machtiging is afgelopen");
    expect(mail?.text).toContain("gold tot en met 31 december 2026");
    expect(mail?.text, "a link to sign again").toMatch(/\/pages\/mandate\/[0-9A-Za-z]{43}/);
    expect(
      await world.row(
        "select actor from core.audit_log where action = 'mandate.expired' and subject_id = $1",
        connection_id,
      ),
    ).toEqual({ actor: "worker" });
  });

  test("who has renewed is told nothing", async () => {
    const { account_id } = await signedFor2026();
    await world.travel("2026-11-20T12:00:00Z");
    await signMandate(world, account_id);
    await world.database.admin.query("truncate core.mail_outbox");
    await world.travel("2027-01-01T00:30:00Z");
    expect(await run()).toMatchObject({ jobs: { mandates_expired: 1 }, notices: { mailed: 0 } });
    expect(subjects()).toEqual([]);
  });

  test.each([
    ["by the operator", {}, "Wij hebben uw machtiging beëindigd.", "Wat al is ingeboekt, blijft ingeboekt."],
    [
      "for the customer",
      { asked_by_customer: true },
      "U heeft uw machtiging ingetrokken.",
      "Wat u tot en met 31 augustus 2026 laadde, telt nog mee.",
    ],
  ])("ended %s, it is said by whom and what still counts", async (_who, how, said, rest) => {
    const { connection_id, email } = await signedFor2026();
    if ("asked_by_customer" in how) await submitted(connection_id);
    await world.travel("2026-09-15T12:00:00Z");
    await world.row("select ops.mandate_revoke($1)", { connection: connection_id, ...how });
    await run();
    const [mail] = arrived();
    expect(mail).toMatchObject({ to: email, subject: "Uw machtiging geldt niet meer" });
    expect(mail?.text).toContain(said);
    expect(mail?.text).toContain(rest);
  });

  test("ended by a correction, it is said what to do", async () => {
    const { account_id } = await signedFor2026();
    const body = { account_id, connection: { house_number: "9" }, acknowledge_mandate_lapses: true };
    expect((await world.post("/v1/connections:update", body, await world.partnerA.client.token())).status).toBe(200);
    await run();
    const [mail] = arrived();
    expect(mail?.text).toContain("De EAN-code of het adres van uw aansluiting is gewijzigd.");
    expect(mail?.text).toContain("Vraag partner-a dan om een nieuwe machtiging.");
  });
});

describe("contract §2 what becomes of a registration", () => {
  test.each([
    ["goedgekeurd", "Uw registratie is goedgekeurd", "partner-a houdt u op de hoogte."],
    ["afgekeurd", "Uw registratie is afgekeurd: wat u kunt doen", "Vraag partner-a wat er nodig is."],
  ])("%s: the CPO's customer is told, once", async (verdict, subject, said) => {
    const { connection_id } = await signedFor2026();
    await submitted(connection_id);
    for (let times = 0; times < 2; times++)
      await world.row("select ops.registration_review($1)", { connection: connection_id, verdict });
    await run();
    await run();
    const mails = arrived();
    expect(mails.map((mail) => mail.subject)).toEqual([subject]);
    expect(mails[0]?.text).toContain(said);
  });
});
