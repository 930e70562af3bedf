// Mail that does not arrive: refused by the mail server, given up, or reported by a mail server later.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { serve } from "#shared/http/serve.ts";
import { surface } from "../../supabase/functions/worker/app.ts";
import { thawClock } from "../harness/database.ts";
import { createAccount } from "../harness/people.ts";
import { startSmtp } from "../harness/smtp.ts";
import { operate, operatorOf } from "../operator/operator.ts";
import { addCustomer, createPartnerWorld, draftRow, newEmail, type PartnerWorld } from "../partner/partner_world.ts";

let smtp: Awaited<ReturnType<typeof startSmtp>>;
let world: PartnerWorld;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "bounces-"));
  smtp = await startSmtp();
  world = await createPartnerWorld({
    host: "production",
    variables: { SMTP_URL: smtp.url, MAIL_FROM: "ERE Dienst <no-reply@ere.example>" },
  });
});
afterAll(async () => {
  await world?.close();
  await smtp?.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  await thawClock(world.database.admin);
  await world.row("update core.mail_outbox set status = 'dropped' where status = 'queued'");
  Object.assign(smtp, { received: [], refuse: null, refuseSender: null });
  world.log.length = 0;
});

async function run(): Promise<{ sent: number; failed: number }> {
  const headers = { authorization: `Bearer ${world.environment.config.WORKER_SECRET}` };
  const request = new Request("http://api.test/worker/run", { method: "POST", headers });
  const answer = await (await serve(surface, world.environment).fetch(request)).json();
  expect(answer, JSON.stringify(answer)).toMatchObject({ ok: expect.any(Boolean) });
  return answer.mail;
}

const token = () => world.partnerA.client.token();

/** A customer of a CPO, whose link waits to be mailed. */
async function linkFor() {
  const email = newEmail();
  const account = await createAccount(world, world.partnerA, { person: { full_name: "Sanne de Vries", email } });
  const { status } = await world.post(
    "/v1/mandate-links",
    { account_id: account.account_id, send_email: true },
    await token(),
  );
  expect(status).toBe(200);
  return { ...account, email, cpo_external_ref: account.account.cpo_external_ref };
}

/** Who signs for the account, as the CPO reads it. */
async function signatoryOf({ cpo_external_ref }: { cpo_external_ref: string }) {
  const { body } = await world.get(`/v1/accounts?cpo_external_ref=${cpo_external_ref}`, await token());
  const { mail_failed_at, mail_failed_reason } = body.accounts[0].signatory;
  return { failed: mail_failed_at !== null, reason: mail_failed_reason };
}
const REACHED = { failed: false, reason: null };
const missed = (reason: string) => ({ failed: true, reason });

async function eventsOf(type: string, account_id: string) {
  const { body } = await world.get(`/v1/events?type=${type}&account_id=${account_id}&limit=200`, await token());
  return body.events.map(({ data }: { data: unknown }) => data);
}

async function draftFor(email = newEmail(), key = world.keyA) {
  const { body } = await world.import([draftRow({ email, external_ref: email })], { send_invite: true }, key);
  expect(body).toMatchObject({ added: 1 });
  return { email, draft_id: body.created[0].draft_id as string };
}
async function draftOf(email: string, key = world.keyA) {
  const { body } = await world.get(`/partner/drafts?external_ref=${email}`, key);
  return body.drafts[0];
}
async function draftEvents(draft_id: string, key = world.keyA) {
  const { body } = await world.get("/partner/events?type=draft.mail_failed&limit=200", key);
  return body.events
    .map(({ data }: { data: { draft_id: string } }) => data)
    .filter((data: { draft_id: string }) => data.draft_id === draft_id);
}

describe("§6 mail that the mail server refuses", () => {
  test("a link to sign that is refused is told: on the link, the customer, and in the log of the client, once", async () => {
    smtp.refuse = () => [550, "5.1.1 <klant@example.nl>: no such user"];
    const account = await linkFor();
    expect(await run()).toEqual({ sent: 0, failed: 1 });
    expect(await signatoryOf(account)).toEqual(missed("unknown_address"));
    const event = {
      account_id: account.account_id,
      cpo_external_ref: account.cpo_external_ref,
      connection_id: account.connection_id,
      reason: "unknown_address",
    };
    expect(await eventsOf("mandate.mail_failed", account.account_id)).toEqual([event]);
    expect(
      await world.row(
        "select mail_failed_reason as reason from core.mandate_links where connection_id = $1",
        account.connection_id,
      ),
    ).toEqual({ reason: "unknown_address" });
    expect(JSON.stringify(world.log)).not.toMatch(/voorbeeld\.nl/);

    await world.post("/v1/mandate-links", { account_id: account.account_id, send_email: true }, await token());
    expect(await run()).toEqual({ sent: 0, failed: 1 });
    expect(await eventsOf("mandate.mail_failed", account.account_id), "it still fails").toEqual([event]);
    const other = await world.get("/partner/events?type=mandate.mail_failed", world.keyB);
    expect(other.body.events).toEqual([]);
  });

  test("a later mail that is taken clears it, and when mail fails again it is told again", async () => {
    const account = await linkFor();
    const again = () => world.post("/v1/mandate-links", { account_id: account.account_id, send_email: true }, token_);
    const token_ = await token();
    smtp.refuse = () => 550;
    await run();
    expect(await signatoryOf(account)).toEqual(missed("refused"));
    smtp.refuse = null;
    await again();
    expect(await run()).toEqual({ sent: 1, failed: 0 });
    expect(await signatoryOf(account)).toEqual(REACHED);
    smtp.refuse = () => [552, "5.2.2 mailbox full"];
    await again();
    await run();
    expect(await signatoryOf(account)).toEqual(missed("mailbox_full"));
    expect(await eventsOf("mandate.mail_failed", account.account_id)).toHaveLength(2);
  });

  test("another address clears it; the same address does not", async () => {
    const account = await linkFor();
    smtp.refuse = () => 550;
    await run();
    const set = (email: string) =>
      world.row("update core.signatories set email = $2 where account_id = $1 returning 1", account.account_id, email);
    await set(account.email);
    expect(await signatoryOf(account)).toEqual(missed("refused"));
    await set(newEmail());
    expect(await signatoryOf(account)).toEqual(REACHED);
  });

  test("a mail to an address that was corrected meanwhile says nothing about the new one", async () => {
    const account = await linkFor();
    await world.row("update core.signatories set email = $2 where account_id = $1", account.account_id, newEmail());
    await world.row(
      "update core.mail_outbox set cause = replace(cause, 'mandate_link', 'mandate_signed') where status = 'queued'",
    );
    smtp.refuse = () => 550;
    expect(await run()).toEqual({ sent: 0, failed: 1 });
    expect(await signatoryOf(account)).toEqual(REACHED);
    expect(await eventsOf("mandate.mail_failed", account.account_id)).toEqual([]);
  });

  test("attack: a mail server that answers 451 for hours changes nothing until we give up; then it is told", async () => {
    smtp.refuse = () => [451, "4.7.1 try later"];
    const account = await linkFor();
    const { email, draft_id } = await draftFor();
    let now = Date.now() + 1000;
    for (let attempt = 1; attempt <= 12; attempt++) {
      await world.freeze(new Date(now).toISOString());
      expect(await run()).toEqual({ sent: 0, failed: 2 });
      if (attempt < 12) {
        const { marked } = await world.row(
          `select (select count(*)::int from core.signatories where mail_failed_at is not null and email = $1)
                + (select count(*)::int from core.drafts where mail_failed_at is not null and id = $2) as marked`,
          account.email,
          draft_id,
        );
        expect(marked).toBe(0);
      }
      const { next } = await world.row(
        "select max(next_attempt_at) as next from core.mail_outbox where recipient in ($1, $2)",
        account.email,
        email,
      );
      now = +next;
    }
    const { reason } = await world.row(
      "select mail_failed_reason as reason from core.signatories where email = $1",
      account.email,
    );
    expect(reason).toBe("given_up");
    const draft = await world.row("select mail_failed_reason as reason from core.drafts where id = $1", draft_id);
    expect(draft.reason).toBe("given_up");
  });

  test("an invitation that is refused is told on the draft, and in the partner's log alone", async () => {
    smtp.refuse = () => [550, "5.1.1 unknown"];
    const { email, draft_id } = await draftFor();
    expect(await run()).toEqual({ sent: 0, failed: 1 });
    expect(await draftOf(email)).toMatchObject({
      status: "invited",
      mail_failed_at: expect.any(String),
      mail_failed_reason: "unknown_address",
    });
    const told = [{ draft_id, external_ref: email, status: "invited", reason: "unknown_address" }];
    expect(await draftEvents(draft_id)).toEqual(told);
    expect(await draftEvents(draft_id, world.keyB)).toEqual([]);
    smtp.refuse = null;
    const { body } = await world.post("/partner/drafts/auth-link", { draft_id, send_email: true }, world.keyA);
    expect(body).toMatchObject({ email_sent: true });
    await run();
    expect(await draftOf(email)).toMatchObject({ mail_failed_at: null, mail_failed_reason: null });
    expect(await draftEvents(draft_id)).toEqual(told);
  });

  test("drafts are withdrawn while their refused mail is settled: neither waits for the other", async () => {
    smtp.refuse = () => 550;
    const drafts = [];
    for (let n = 0; n < 10; n++) drafts.push(await draftFor());
    const [mail, ...withdrawn] = await Promise.all([
      run(),
      ...drafts.map(({ draft_id }) => world.post("/partner/drafts/withdraw", { draft_id }, world.keyA)),
    ]);
    expect(withdrawn.map(({ status }) => status)).toEqual(drafts.map(() => 200));
    expect(mail).toMatchObject({ failed: expect.any(Number) });
    expect(JSON.stringify(world.log)).not.toContain("40P01");
  });

  test("mail resend --failed takes what failed of a partner since a moment, and leaves what is of no use", async () => {
    const operator = operatorOf(world.database);
    const clear = async () => world.row("delete from core.mail_outbox where status in ('failed', 'bounced')");
    await clear();
    smtp.refuse = () => 550;
    const account = await linkFor();
    const expired = await linkFor();
    await draftFor(newEmail(), world.keyB);
    expect(await run()).toMatchObject({ failed: 3 });
    await world.row(
      "update core.mandate_links set voided_at = private.now() where connection_id = $1",
      expired.connection_id,
    );
    const counts = async (more: string) => {
      const { code, json, err } = await operator(`mail resend --failed --yes ${more}`.trim());
      expect([code, err]).toEqual([0, expect.any(String)]);
      return Object.fromEntries(
        json.outcomes.map(({ outcome, mails }: { outcome: string; mails: number }) => [outcome, mails]),
      );
    };
    expect(await counts("--partner partner-a --since 2999-01-01")).toEqual({});
    expect(await counts("--partner partner-a --since 2020-01-01T00:00:00Z")).toEqual({ resent: 1, mail_outdated: 1 });
    smtp.refuse = null;
    expect(await run()).toEqual({ sent: 1, failed: 0 });
    expect(smtp.received.map(({ to }) => to)).toEqual([[account.email]]);
    expect(await signatoryOf(account)).toEqual(REACHED);
    expect(await counts("")).toEqual({ resent: 1, mail_outdated: 1 });
    expect(await counts("--partner partner-b"), "it goes by itself").toEqual({ waits: 1 });

    const env = { OPERATOR_DATABASE_URL: world.database.url("operator") };
    const asked: string[] = [];
    await world.row("update core.mail_outbox set status = 'failed', last_error = 'x' where status = 'queued'");
    const no = await operate(["mail", "resend", "--failed"], env, {
      confirm: async (question) => {
        asked.push(question);
        return false;
      },
    });
    expect([no.code, asked]).toEqual([1, ["The next run of the worker sends these again."]]);
    expect(no.err).toMatch(/mails {2}outcome\n +1 {2}/);
    for (const [argv, said] of [
      ["mail resend", "Name one mail"],
      [`mail resend ${account.account_id} --failed`, "Name one mail"],
      [`mail resend ${account.account_id} --partner partner-a`, "go with --failed"],
      ["mail resend --failed --since yesterday", "A moment is written"],
      ["mail resend --failed --partner nobody", "No partner"],
    ] as const) {
      const { code, err } = await operator(argv);
      expect([code, err]).toEqual([1, expect.stringContaining(said)]);
    }
    await clear();
  });
});

type Bounce = {
  mail?: string;
  recipient?: string;
  original?: string;
  /** X-ERE-Mail */
  ours?: string;
  /** The Message-ID that a mail service made. */
  replaced?: string;
  action?: string;
  status?: string;
  returned?: string;
  more?: string;
};

/** A delivery report as mail servers write it. */
function report(bounce: Bounce): string {
  const {
    mail,
    ours,
    replaced,
    recipient,
    original,
    action = "failed",
    status = "5.1.1",
    returned = "message/rfc822",
  } = bounce;
  return [
    "Return-Path: <>",
    "From: MAILER-DAEMON@mx.example (Mail Delivery System)",
    "To: no-reply@ere.example",
    "Subject: Undelivered Mail Returned to Sender",
    "MIME-Version: 1.0",
    'Content-Type: multipart/report; report-type=delivery-status; boundary="B1"',
    "",
    "--B1",
    "Content-Type: text/plain; charset=us-ascii",
    "",
    "I'm sorry to have to inform you that your message could not be delivered.",
    "",
    "--B1",
    "Content-Type: message/delivery-status",
    "",
    "Reporting-MTA: dns; mx.example",
    "",
    `Final-Recipient: rfc822; ${recipient}`,
    ...(original ? [`Original-Recipient: rfc822;${original}`] : []),
    `Action: ${action}`,
    `Status: ${status}`,
    `Diagnostic-Code: smtp; 550 5.1.1 <${recipient}>:`,
    "    Recipient address rejected",
    "",
    "--B1",
    `Content-Type: ${returned}`,
    "",
    "Return-Path: <no-reply@ere.example>",
    ...(replaced || mail ? [`Message-ID: <${replaced ?? `${mail}@ere.example`}>`] : []),
    ...(ours ? [`X-ERE-Mail: ${ours}`] : []),
    `To: ${recipient}`,
    "Subject: =?UTF-8?Q?Teken?=",
    "",
    bounce.more ?? "body",
    "--B1--",
    "",
  ].join("\r\n");
}

describe("§6 mail that comes back", () => {
  /** A customer to whom mail was sent, with its id. */
  async function mailed() {
    const account = await linkFor();
    expect(await run()).toEqual({ sent: 1, failed: 0 });
    const { id } = await world.row("select id from core.mail_outbox where recipient = $1", account.email);
    return { ...account, recipient: account.email, mail: id as string };
  }
  let files = 0;
  const file = (content: string | Buffer, name = `bounce-${++files}.eml`) => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
  async function feed(path: string): Promise<{ place: string; outcome: string }[]> {
    const { code, json, err } = await operatorOf(world.database)(["mail", "bounced", "--file", path]);
    expect([code, err]).toEqual([0, expect.any(String)]);
    return json.reports;
  }
  const outcomes = async (path: string) => (await feed(path)).map(({ outcome }) => outcome);
  const marked = async () =>
    (
      await world.row(
        `select (select count(*)::int from core.signatories where mail_failed_at is not null)
              + (select count(*)::int from core.drafts where mail_failed_at is not null)
              + (select count(*)::int from core.mail_outbox where status = 'bounced') as n`,
      )
    ).n;

  test("a report that the mail bounced is told on link, customer and in the log; the second time it changes nothing", async () => {
    const sent = await mailed();
    const path = file(report(sent));
    expect(await outcomes(path)).toEqual(["failed"]);
    expect(await signatoryOf(sent)).toEqual(missed("unknown_address"));
    expect(await eventsOf("mandate.mail_failed", sent.account_id)).toHaveLength(1);
    expect(await outcomes(path)).toEqual(["known"]);
    expect(await eventsOf("mandate.mail_failed", sent.account_id)).toHaveLength(1);
    const operator = operatorOf(world.database);
    const { json } = await operator("mail list --failed --limit 1");
    expect(json.mails[0]).toMatchObject({ id: sent.mail, status: "bounced", last_error: "bounced 5.1.1" });
    const { code, err } = await operator(`mail resend ${sent.mail}`);
    expect([code, err]).toEqual([1, expect.stringContaining("was sent and came back")]);
    const [audited] = (
      await world.database.admin.query("select action from core.audit_log where subject_id = $1", [sent.mail])
    ).rows;
    expect(audited).toEqual({ action: "mail.bounced" });
  });

  test("attack: ten operators feed one report at the same time, and one of them changes something", async () => {
    const sent = await mailed();
    const path = file(report(sent));
    const all = (await Promise.all(Array.from({ length: 10 }, () => outcomes(path)))).flat();
    expect(all.filter((outcome) => outcome === "failed")).toHaveLength(1);
    expect(await eventsOf("mandate.mail_failed", sent.account_id)).toHaveLength(1);
  });

  test.each<[string, Bounce & { upper?: true; forwarded?: true }, string]>([
    ["only the headers came back", { returned: "text/rfc822-headers" }, "unknown_address"],
    ["the recipient is written in capitals", { upper: true }, "unknown_address"],
    ["the mail was forwarded, and the original recipient is named", { forwarded: true }, "unknown_address"],
    ["the mailbox is full", { status: "5.2.2" }, "mailbox_full"],
    ["the mail server has its reasons", { status: "5.7.1" }, "refused"],
    ["a mail server gave up after days", { status: "4.4.7" }, "given_up"],
    ["the status cannot be read", { status: "weg" }, "refused"],
    [
      "a mail service has an id of its own",
      { replaced: "0102019-5f0c-000000@eu-west-1.amazonses.com" },
      "unknown_address",
    ],
    ["its id looks like ours", { replaced: "5f0c9a52-7b1e-4c0e-9d6e-2f1b8f6f4a11@mx.example" }, "unknown_address"],
    ["30 MB came back", { more: "x".repeat(30_000_000) }, "unknown_address"],
  ])("%s", async (_what, { upper, forwarded, ...change }, reason) => {
    const sent = await mailed();
    const bounce = {
      ...sent,
      ...(upper && { recipient: sent.recipient.toUpperCase() }),
      ...(forwarded && { recipient: "elders@example.org", original: sent.recipient }),
      ...(change.replaced && { ours: String(/^X-ERE-Mail: (\S+)$/im.exec(smtp.received.at(-1)?.message ?? "")?.[1]) }),
      ...change,
    };
    expect(await outcomes(file(report(bounce)))).toEqual(["failed"]);
    expect(await signatoryOf(sent)).toEqual(missed(reason));
  });

  test("attack: what is no final report of our mail to this recipient is told, and changes nothing", async () => {
    const sent = await mailed();
    const other = await mailed();
    const never = await linkFor();
    const { id: unsent } = await world.row("select id from core.mail_outbox where recipient = $1", never.email);
    const before = await marked();
    const whole = report(sent);
    for (const [what, content, outcome] of [
      ["delayed", report({ ...sent, action: "delayed", status: "4.4.1" }), "temporary"],
      ["delivered", report({ ...sent, action: "delivered", status: "2.0.0" }), "temporary"],
      ["an action that there is not", report({ ...sent, action: "failed-maybe" }), "temporary"],
      ["forged by who knows the recipient only", report({ ...sent, mail: unsent }), "not_ours"],
      ["an id that nobody has", report({ ...sent, mail: "5f0c9a52-7b1e-4c0e-9d6e-2f1b8f6f4a11" }), "not_ours"],
      ["the mail of another customer", report({ ...sent, recipient: other.recipient }), "not_ours"],
      ["mail that was never sent", report({ recipient: never.email, mail: unsent }), "not_ours"],
      ["a pattern as recipient", report({ ...sent, recipient: "%" }), "not_ours"],
      ["no id", report({ recipient: sent.recipient }), "without_id"],
      ["an id in another header", whole.replace("Message-ID", "X-Message-ID"), "without_id"],
      ["who knows the recipient only, in our header", report({ recipient: sent.recipient, ours: unsent }), "not_ours"],
      ["a header that is no id", report({ recipient: sent.recipient, ours: `${sent.mail}x` }), "without_id"],
      ["an answer of a person", "From: jan@example.nl\r\nSubject: Re\r\n\r\nIk ben op vakantie.", "not_a_report"],
      ["nothing", "", "not_a_report"],
      ["bytes", Buffer.from([0, 255, 254, 13, 10, 0]), "not_a_report"],
      ["a report in the text only", `Subject: x\r\n\r\n${whole}`, "not_a_report"],
      ["cut off before the recipient", whole.slice(0, whole.indexOf("Final-Recipient")), "without_id"],
      ["cut off before the mail", whole.slice(0, whole.indexOf("Message-ID")), "without_id"],
      ["headers without end", `X-A: ${"a".repeat(3_000_000)}`, "not_a_report"],
    ] as const)
      expect([what, ...(await outcomes(file(content)))]).toEqual([what, outcome]);
    expect(await marked()).toBe(before);
    expect(await signatoryOf(sent)).toEqual(REACHED);
  });

  test("a report of an older mail changes nothing where a later mail arrived, or the address is another now", async () => {
    const sent = await mailed();
    await world.post("/v1/mandate-links", { account_id: sent.account_id, send_email: true }, await token());
    expect(await run()).toEqual({ sent: 1, failed: 0 });
    expect(await outcomes(file(report(sent)))).toEqual(["failed"]);
    expect(await signatoryOf(sent)).toEqual(REACHED);

    const moved = await mailed();
    await world.row("update core.signatories set email = $2 where account_id = $1", moved.account_id, newEmail());
    expect(await outcomes(file(report(moved)))).toEqual(["failed"]);
    expect(await signatoryOf(moved)).toEqual(REACHED);
  });

  test("a mail that bounced behind a later one is told once that one bounced too", async () => {
    const [first, second] = [await mailed(), await mailed()];
    await world.row("update core.signatories set email = $2 where account_id = $1", second.account_id, first.email);
    await world.row(
      "update core.mail_outbox set recipient = $2, done_at = done_at + interval '1 second' where id = $1",
      second.mail,
      first.email,
    );
    expect(await outcomes(file(report(first)))).toEqual(["failed"]);
    expect(await signatoryOf(first)).toEqual(REACHED);
    expect(await outcomes(file(report({ ...second, recipient: first.email, status: "5.2.2" })))).toEqual(["failed"]);
    expect(await signatoryOf(second)).toEqual(missed("mailbox_full"));
    expect(await signatoryOf(first)).toEqual(missed("unknown_address"));
  });

  test("a thousand reports in an mbox, and the files of a folder: each is read once, wherever a chunk ends", async () => {
    const sent = await mailed();
    const drafted = await draftFor();
    await run();
    const { id } = await world.row("select id from core.mail_outbox where recipient = $1", drafted.email);
    const strangers = Array.from({ length: 998 }, (_, n) =>
      report({ mail: "5f0c9a52-7b1e-4c0e-9d6e-2f1b8f6f4a11", recipient: `weg${n}@example.nl`, more: "x".repeat(n) }),
    );
    const all = [report({ mail: id, recipient: drafted.email }), ...strangers, report(sent)];
    const separator = "From MAILER-DAEMON Fri Nov 20 09:30:00 2026";
    const mbox = all.map((message) => `${separator}\n${message.replaceAll("\r\n", "\n")}\n`).join("");
    const told = await outcomes(file(mbox, "all.mbox"));
    expect(told).toHaveLength(1000);
    expect([told[0], told[999], new Set(told.slice(1, 999))]).toEqual(["failed", "failed", new Set(["not_ours"])]);
    expect(await draftOf(drafted.email)).toMatchObject({ mail_failed_reason: "unknown_address" });
    expect(await draftEvents(drafted.draft_id)).toHaveLength(1);
    expect(await signatoryOf(sent)).toEqual(missed("unknown_address"));

    const many = [];
    for (let n = 0; n < 20; n++) many.push(await linkFor());
    await run();
    const { rows } = await world.database.admin.query(
      "select id as mail, recipient from core.mail_outbox where recipient = any ($1)",
      [many.map(({ email }) => email)],
    );
    const inOrder = (reports: Bounce[]) => file(reports.map((each) => `${separator}\n${report(each)}\n`).join(""));
    const both = await Promise.all([rows, rows.toReversed()].map((reports) => outcomes(inOrder(reports))));
    expect(both.flat().toSorted()).toEqual([...Array(20).fill("failed"), ...Array(20).fill("known")]);

    const maildir = join(folder, "maildir");
    mkdirSync(join(maildir, "cur"), { recursive: true });
    const one = await mailed();
    writeFileSync(join(maildir, "cur", "1"), report(one));
    writeFileSync(join(maildir, "cur", "2"), "Subject: hallo\r\n\r\n");
    expect(await outcomes(maildir)).toEqual(["not_a_report", "failed"].toSorted().reverse());
    expect(await signatoryOf(one)).toEqual(missed("unknown_address"));
  });

  test("a person reads what did not arrive and what changed nothing; a file that is not there is named", async () => {
    const sent = await mailed();
    const env = { OPERATOR_DATABASE_URL: world.database.url("operator") };
    const path = file(`From x\n${report(sent)}\n\nFrom y\nSubject: hallo\n\n`);
    const { code, out } = await operate(["mail", "bounced", "--file", path], env);
    expect([code, out]).toEqual([0, expect.stringContaining("1 mail did not arrive. Nothing else was changed.")]);
    expect(out).toContain(sent.mail);
    expect(out).toContain("this is no delivery report");
    expect(out).not.toContain(sent.recipient);
    const missing = await operate(["mail", "bounced", "--file", join(folder, "nowhere")], env);
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining("cannot be read (ENOENT)")]);
  });

  test("mail to a customer whom a partner brought: the partner reads it of its own customer, and of nobody else", async () => {
    const partner = world.partnerA;
    const added = async (source: string) => {
      const email = newEmail();
      const user = await addCustomer(world, partner, source, { email });
      const { notice } = await world.row(
        `insert into core.notices (partner_id, account_id, owner_id, kind, cause, due_at)
         select partner_id, id, owner_id, 'registration_approved', 'test:' || id, null from core.accounts where user_id = $1
         returning id as notice`,
        user,
      );
      const { mail } = await world.row(
        `insert into core.mail_outbox (partner_id, cause, template, locale, recipient, content, status, done_at)
         values ($1, 'claim_notice:' || $2, 'registration_approved', 'nl', $3, '{}', 'sent', private.now()) returning id as mail`,
        partner.id,
        notice,
        email,
      );
      return { email, mail };
    };
    const own = await added("partner_upload");
    const hidden = await added("oauth_consent");
    for (const { mail, email } of [own, hidden])
      expect(await outcomes(file(report({ mail, recipient: email })))).toEqual(["failed"]);
    const { body } = await world.get("/partner/customers", world.keyA);
    const told = body.customers.map((customer: Record<string, unknown>) => [
      customer.source,
      customer.mail_failed_reason,
    ]);
    expect(told.toSorted()).toEqual([
      ["oauth_consent", undefined],
      ["partner_upload", "unknown_address"],
    ]);
    const { body: log } = await world.get("/partner/events?type=mandate.mail_failed", world.keyA);
    expect(log.events.map(({ data }: { data: unknown }) => data)).toEqual([
      { customer_ref: expect.any(String), external_ref: null, reason: "unknown_address" },
    ]);
  });
});
