import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { sqlKeys } from "#shared/auth/keys.ts";
import { serve } from "#shared/http/serve.ts";
import { surface } from "../../supabase/functions/worker/app.ts";
import { thawClock } from "../harness/database.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount, newEan } from "../harness/people.ts";
import { startSmtp } from "../harness/smtp.ts";
import { createWorld, type World } from "../harness/world.ts";

type Run = {
  ok: boolean;
  jobs: Record<string, number>;
  jobs_failed: number;
  mail: { sent: number; failed: number; problem?: string };
  ean_checks: { checked: number; failed: number };
};

let smtp: Awaited<ReturnType<typeof startSmtp>>;
let world: World;
beforeAll(async () => {
  smtp = await startSmtp();
  world = await createWorld({
    host: "production",
    variables: { SMTP_URL: smtp.url, MAIL_FROM: "ERE Dienst <no-reply@ere.example>" },
  });
});
afterAll(async () => {
  await world?.close();
  await smtp?.close();
});
beforeEach(async () => {
  await world.database.admin.query("truncate core.mail_outbox, core.notices");
  await thawClock(world.database.admin);
  Object.assign(smtp, { received: [], refuse: null, refuseSender: null, delay_ms: 0 });
  world.log.length = 0;
});

async function run(environment = world.environment): Promise<Run> {
  const { WORKER_SECRET } = environment.config;
  const request = new Request("http://api.test/worker/run", {
    method: "POST",
    headers: { authorization: `Bearer ${WORKER_SECRET}` },
  });
  const response = await serve(surface, environment).fetch(request);
  const answer = await response.json();
  expect(response.status, JSON.stringify(answer)).toBe(200);
  return answer as Run;
}

const LINK = "https://pages.example/mandate/geheim";

/** A mail with the link to sign by; its subject begins with the name of the CPO. */
async function enqueue(recipient: string, partner_name = "Laadpunt"): Promise<string> {
  const { id } = await world.row(
    `insert into core.mail_outbox (partner_id, cause, template, locale, recipient, content, status)
     values ($1, $2, 'mandate_link', 'nl', $3, $4, 'queued') returning id`,
    world.partnerA.id,
    randomUUID(),
    recipient,
    { full_name: "Sanne", partner_name, link: LINK },
  );
  return id;
}

const outbox = (id: string) => world.mail("where id = $1", id);
const headersOf = (message: string) => message.slice(0, message.indexOf("\r\n\r\n"));

describe("§5 who may run it", () => {
  test.each([
    ["nobody", {}],
    ["a wrong secret", { authorization: "Bearer x" }],
    ["the secret without Bearer", { authorization: "secret" }],
  ])("a request with %s is refused with 401", async (_who, headers) => {
    const request = new Request("http://api.test/worker/run", { method: "POST", headers });
    const response = await serve(surface, world.environment).fetch(request);
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ error: "Missing or invalid API token" });
  });
  test("a CPO's token is refused with 401", async () => {
    const authorization = `Bearer ${await world.partnerA.client.token()}`;
    const request = new Request("http://api.test/worker/run", { method: "POST", headers: { authorization } });
    expect((await serve(surface, world.environment).fetch(request)).status).toBe(401);
  });
  test("the hosted path answers as well, and GET does not", async () => {
    const authorization = `Bearer ${world.environment.config.WORKER_SECRET}`;
    const send = (method: string) =>
      serve(surface, world.environment).fetch(
        new Request("http://x/worker/run", { method, headers: { authorization } }),
      );
    expect((await send("GET")).status).toBe(404);
    expect((await send("POST")).status).toBe(200);
  });
});

describe("§6 mail", () => {
  test("a run with nothing to do answers counts of nothing", async () => {
    expect(await run()).toEqual({
      ok: true,
      jobs: expect.objectContaining({ mail_purged: 0, mandates_expired: 0 }),
      jobs_failed: 0,
      notices: { mailed: 0 },
      mail: { sent: 0, failed: 0 },
      ocpi: { pages: 0, refused: 0, failed: 0 },
      webhooks: { delivered: 0, failed: 0 },
      drafts: { expired: 0, purged: 0, reminded: 0, looked_up: 0, failed: 0 },
      ean_checks: { checked: 0, failed: 0 },
      audit: { chained: 0, more: false, sealed: null },
      ledger: { checked: 1, wrong: 0, failed: 0 },
      dashboards: { recounted: 0, failed: 0 },
    });
  });

  test("is sent although somebody holds a mandate that has ended, and the other mandates expire", async () => {
    const [held, other] = [await createAccount(world), await createAccount(world)];
    for (const { account_id } of [held, other]) await signMandate(world, account_id);
    await world.row("update core.mandates set valid_until = '2025-12-31', valid_from = '2025-01-01' returning 1");
    await world.database.admin.query("truncate core.mail_outbox");
    await enqueue("sanne@example.nl");
    const holder = await world.database.admin.connect();
    try {
      await holder.query("begin");
      await holder.query("select from core.mandates where connection_id = $1 for update", [held.connection_id]);
      expect(await run()).toMatchObject({ jobs: { mandates_expired: 1 }, notices: { mailed: 1 }, mail: { sent: 2 } });
      await holder.query("rollback");
    } finally {
      holder.release();
    }
    expect((await run()).jobs.mandates_expired).toBe(1);
  });

  test("contract §9 of a deactivated partner no invitation leaves until it is active again; what was signed is told", async () => {
    const invitation = await enqueue("sanne@example.nl");
    const told = await enqueue("eva@example.nl");
    await world.row(
      `update core.mail_outbox set template = 'customer_iban_changed', content = '{"brand": {"name": "Laadpunt"}, "iban_masked": "**** 4300", "held_until": "2026-11-22T12:00:00Z"}' where id = $1`,
      told,
    );
    const set = (active: boolean) =>
      world.row("update core.partners set is_active = $2 where id = $1", world.partnerA.id, active);
    await set(false);
    try {
      expect((await run()).mail).toEqual({ sent: 1, failed: 0 });
      expect(await outbox(invitation)).toMatchObject({ status: "queued", attempts: 0 });
    } finally {
      await set(true);
    }
    expect((await run()).mail).toEqual({ sent: 1, failed: 0 });
    expect(smtp.received.map(({ to }) => to)).toEqual([["eva@example.nl"], ["sanne@example.nl"]]);
  });

  test("is sent as text and HTML, known by its outbox id, and wiped once sent", async () => {
    const id = await enqueue("sanne@example.nl", "Łukasz 🐢");
    expect((await run()).mail).toEqual({ sent: 1, failed: 0 });
    const [mail] = smtp.received;
    expect(mail).toMatchObject({ from: "no-reply@ere.example", to: ["sanne@example.nl"] });
    const headers = headersOf(mail?.message ?? "");
    expect(headers).toContain("From: ERE Dienst <no-reply@ere.example>");
    expect(headers).toContain(`Message-ID: <${id}@ere.example>`);
    expect(headers).toContain("Auto-Submitted: auto-generated");
    expect(headers).toMatch(/multipart\/alternative/);
    expect(mail?.message).toContain("text/plain");
    expect(mail?.message).toContain("text/html");
    expect(await outbox(id)).toMatchObject({ status: "sent", attempts: 1, content: {}, last_error: null });
    expect((await run()).mail, "never again").toEqual({ sent: 0, failed: 0 });
  });

  test.each([
    ["the subject", "sanne@example.nl", "Hallo\r\nBcc: dief@example.org\r\n\r\nx"],
    ["the recipient", "sanne@example.nl>\r\nBcc: dief@example.org", "Hallo"],
    ["a list of recipients", "sanne@example.nl, dief@example.org", "Hallo"],
  ])("a line break or list in %s adds no header and no recipient", async (_where, recipient, subject) => {
    await enqueue(recipient, subject);
    await run();
    for (const { to, message } of smtp.received) {
      expect(to).toHaveLength(1);
      expect(to).not.toContain("dief@example.org");
      expect(headersOf(message)).not.toMatch(/^Bcc:/im);
    }
  });

  test("a failure of one does not stop the others; a refused recipient is final, a busy mailbox is tried again", async () => {
    smtp.refuse = (recipient) => ({ "weg@example.nl": 550, "vol@example.nl": 452 })[recipient] ?? null;
    const [gone, full, ...good] = [
      await enqueue("weg@example.nl"),
      await enqueue("vol@example.nl"),
      ...(await Promise.all(Array.from({ length: 5 }, (_, index) => enqueue(`goed${index}@example.nl`)))),
    ];
    const { ok, mail } = await run();
    expect({ ok, mail }).toEqual({ ok: true, mail: { sent: 5, failed: 2 } });
    for (const id of good) expect((await outbox(id)).status).toBe("sent");
    expect(await outbox(gone)).toMatchObject({ status: "failed", last_error: "EENVELOPE 550 RCPT TO" });
    const waiting = await outbox(full);
    expect(waiting).toMatchObject({ status: "queued", last_error: "EENVELOPE 452 RCPT TO" });
    expect(waiting.links, "kept until it is sent").toEqual([LINK]);
    expect(waiting.next_attempt_at - Date.now()).toBeLessThan(61_000);
    expect(waiting.next_attempt_at - Date.now()).toBeGreaterThan(30_000);
    expect(JSON.stringify(world.log)).not.toMatch(/example\.nl|geheim/);
  });

  test("a job of the database that fails stops no other job and no mail; it waits longer each time, and the answer and the log say so", async () => {
    await world.freeze("2026-11-22T12:00:00Z");
    await enqueue("jan@example.nl");
    await world.row("alter function private.expire_mandates() rename to expire_rightly");
    await world.row("create function private.expire_mandates() returns int language sql return 1 / 0");
    try {
      const first = await run();
      expect(first).toMatchObject({ ok: false, jobs: { mail_purged: 0 }, jobs_failed: 1, mail: { sent: 1 } });
      expect(first.jobs).not.toHaveProperty("mandates_expired");
      expect(await run(), "not yet").toMatchObject({ ok: true, jobs_failed: 0 });
      await world.freeze("2026-11-22T12:00:21Z");
      expect(await run()).toMatchObject({ ok: false, jobs_failed: 1 });
      await world.freeze("2026-11-22T12:00:42Z");
      expect(await run(), "not yet").toMatchObject({ ok: true, jobs_failed: 0 });
      await world.freeze("2026-11-22T12:01:02Z");
    } finally {
      await world.row("drop function private.expire_mandates()");
      await world.row("alter function private.expire_rightly() rename to expire_mandates");
    }
    expect(world.log).toContainEqual(
      expect.objectContaining({ event: "job_failed", job: "mandates_expired", sqlstate: "22012" }),
    );
    expect(await run()).toMatchObject({ ok: true, jobs: { mandates_expired: 0 } });
    expect(await world.row("select from core.failing_jobs")).toBeUndefined();
  });

  test("attack: a client whose parked sessions cannot be judged stops no job, and nothing of another client", async () => {
    await world.freeze("2026-11-22T12:00:00Z");
    const park = ({ id, client }: World["partnerA"], item: unknown) =>
      world.row(
        `insert into core.parked_charging (partner_id, owner_id, source, known_as, names, item, reason, retry_at)
         select $1, c.id, 'api', 'x', '{external_ref:X}', $3, 'unknown_charger', private.now()
           from core.oauth_clients c where c.client_id = $2 returning id, owner_id`,
        id,
        client.client_id,
        JSON.stringify(item),
      );
    const item = { external_ref: "X", started_at: "2026-11-01T10:00:00Z" };
    const [bad, good] = [await park(world.partnerA, "no session at all"), await park(world.partnerB, item)];
    const due = async ({ id }: { id: string }) =>
      (await world.row("select retry_at is not null as due from core.parked_charging where id = $1", id)).due;
    expect(await run()).toMatchObject({ ok: false, jobs: { parked_stored: 0, mandates_expired: 0 }, jobs_failed: 1 });
    expect([await due(bad), await due(good)]).toEqual([true, false]);
    expect(world.log).toContainEqual(
      expect.objectContaining({
        event: "job_failed",
        job: "parked_stored",
        client_id: bad.owner_id,
        sqlstate: "22023",
      }),
    );
    expect(await world.row("select job, client_id, failures from core.failing_jobs")).toEqual({
      job: "parked_stored",
      client_id: bad.owner_id,
      failures: 1,
    });
    await world.row("update core.parked_charging set item = $2 where id = $1", bad.id, item);
    await world.freeze("2026-11-22T12:00:21Z");
    expect(await run()).toMatchObject({ ok: true, jobs_failed: 0 });
    expect(await world.row("select from core.failing_jobs")).toBeUndefined();
    await world.row("delete from core.parked_charging");
  });

  test("attack: a job that takes its time leaves mail all of its own, and one that hangs elsewhere is passed by", async () => {
    await enqueue("jan@example.nl");
    await world.row("alter function private.expire_mandates() rename to expire_rightly");
    await world.row(
      "create function private.expire_mandates() returns int language plpgsql as $$ begin perform pg_sleep(13); return 1; end $$",
    );
    try {
      const hanging = run();
      await expect
        .poll(() =>
          world.row("select from pg_stat_activity where wait_event = 'PgSleep' and query like '%run_due_job%'"),
        )
        .toBeDefined();
      const begun = performance.now();
      expect(await run()).toMatchObject({ ok: true, jobs: { mandates_expired: 0 }, mail: { sent: 1 } });
      expect(performance.now() - begun).toBeLessThan(9_000);
      await enqueue("eva@example.nl");
      expect(await hanging).toMatchObject({ ok: true, jobs: { mandates_expired: 1 }, mail: { sent: 1 } });
    } finally {
      await world.row("drop function private.expire_mandates()");
      await world.row("alter function private.expire_rightly() rename to expire_mandates");
    }
  });

  test("attack: what failed and is no more, a client's or a job's, is not noted for ever", async () => {
    await world.row(
      `insert into core.failing_jobs (job, client_id, failures, sqlstate, retry_at)
       values ('parked_stored', gen_random_uuid(), 3, '22007', private.now() + interval '1 hour'),
              ('job_of_old', private.no_client(), 3, '22007', private.now() + interval '1 hour')`,
    );
    expect(await run()).toMatchObject({ ok: true });
    expect(await world.row("select from core.failing_jobs")).toBeUndefined();
  });

  test("a server that refuses us is our fault, not the mail's: all of it waits, and the answer says so", async () => {
    smtp.refuseSender = 550;
    const ids = await Promise.all(Array.from({ length: 6 }, (_, index) => enqueue(`m${index}@example.nl`)));
    const { ok, mail } = await run();
    expect(ok).toBe(false);
    expect(mail).toEqual({
      sent: 0,
      failed: 6,
      problem: "The mail server does not take mail: EENVELOPE 550 MAIL FROM",
    });
    for (const id of ids) expect(await outbox(id)).toMatchObject({ status: "queued" });
  });

  test("a server that is away: the run ends soon, everything waits", async () => {
    const id = await enqueue("sanne@example.nl");
    const away = { ...world.environment, config: { ...world.environment.config, SMTP_URL: "smtp://127.0.0.1:1" } };
    const started = Date.now();
    const { ok, mail } = await run(away);
    expect(Date.now() - started).toBeLessThan(10_000);
    expect(ok).toBe(false);
    expect(mail).toMatchObject({
      sent: 0,
      failed: 1,
      problem: expect.stringMatching(/^The mail server does not take mail: E/),
    });
    expect((await outbox(id)).status).toBe("queued");
  });

  test("back-off: twelve attempts over seventeen hours, then failed", async () => {
    smtp.refuse = () => 451;
    const id = await enqueue("sanne@example.nl");
    // the database counts microseconds: a clock stopped in the millisecond of the mail may be before it
    let now = Date.now() + 1000;
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 12; attempt++) {
      await world.freeze(new Date(now).toISOString());
      expect((await run()).mail).toEqual({ sent: 0, failed: 1 });
      const { next_attempt_at, status } = await outbox(id);
      expect(status).toBe(attempt === 12 ? "failed" : "queued");
      if (attempt < 12) {
        waits.push(Math.round((next_attempt_at - now) / 60_000));
        await world.freeze(new Date(+next_attempt_at - 1000).toISOString());
        expect((await run()).mail, "not before its time").toEqual({ sent: 0, failed: 0 });
      }
      now = +next_attempt_at;
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 256, 256]);
  });

  test("a mail that cannot be written is tried again, and the others are sent", async () => {
    const broken = await enqueue("sanne@example.nl");
    await world.row(`update core.mail_outbox set template = 'claim', content = '{"x": 1}' where id = $1`, broken);
    const other = await enqueue("eva@example.nl");
    expect((await run()).mail).toEqual({ sent: 1, failed: 1 });
    expect(await world.row("select status, last_error from core.mail_outbox where id = $1", broken)).toEqual({
      status: "queued",
      last_error: "not written: TypeError",
    });
    expect(await outbox(other)).toMatchObject({ status: "sent" });
  });

  test.each([
    ["mandate_link", { full_name: "Sanne", partner_name: "Laadpunt" }],
    ["mandate_link", { full_name: "Sanne", link: LINK }],
    ["mandate_code", { full_name: "Sanne", partner_name: "Laadpunt" }],
    ["claim_code", { purpose: "sign", brand: {}, code: "123456" }],
    ["customer_iban_changed", { brand: { name: "Laadpunt" } }],
    ["payout_sent", { notice: { kind: "payout_sent", iban_last4: "4300" }, reader: { full_name: "Sanne" } }],
    ["of_another_release", { full_name: "Sanne" }],
  ])("of %s %j nothing is sent, for something is missing", async (template, content) => {
    const id = await enqueue("sanne@example.nl");
    await world.row("update core.mail_outbox set template = $2, content = $3 where id = $1", id, template, content);
    expect((await run()).mail).toEqual({ sent: 0, failed: 1 });
    expect(smtp.received).toEqual([]);
  });

  test("a customer whose name looks like a field that is missing gets mail", async () => {
    const id = await enqueue("sanne@example.nl", "undefined NaN");
    expect((await run()).mail).toEqual({ sent: 1, failed: 0 });
    expect(await outbox(id)).toMatchObject({ status: "sent" });
  });

  test("five workers at once send each mail once", async () => {
    smtp.delay_ms = 5;
    for (let index = 0; index < 60; index++) await enqueue(`m${index}@example.nl`);
    const runs = await Promise.all(Array.from({ length: 5 }, () => run()));
    expect(runs.reduce((sum, { mail }) => sum + mail.sent, 0)).toBe(60);
    expect(new Set(smtp.received.map(({ to }) => to[0])).size).toBe(60);
    expect(smtp.received).toHaveLength(60);
  });

  test("a worker that died after its lease: offered again after five minutes, not before", async () => {
    await world.freeze("2026-11-20T12:00:00Z");
    const id = await enqueue("sanne@example.nl");
    const worker = { kind: "worker", host: "production", request_id: "dead" };
    expect(JSON.parse(await world.environment.slowDb.call("lease_mail", worker, { size: 5 }))).toHaveLength(1);
    await world.freeze("2026-11-20T12:04:59Z");
    expect((await run()).mail.sent).toBe(0);
    await world.freeze("2026-11-20T12:05:00Z");
    expect((await run()).mail.sent).toBe(1);
    expect(await outbox(id)).toMatchObject({ status: "sent", attempts: 2 });
  });

  test("a link that a newer one voided before it was sent is dropped; the newer one goes out", async () => {
    const token = await world.partnerA.client.token();
    const { account_id } = await createAccount(world);
    for (let turn = 0; turn < 2; turn++) await world.post("/v1/mandate-links", { account_id, send_email: true }, token);
    expect((await run()).mail).toEqual({ sent: 1, failed: 0 });
    const { rows } = await world.database.admin.query("select status from core.mail_outbox order by created_at");
    expect(rows.map(({ status }) => status)).toEqual(["dropped", "sent"]);
  });

  test("attack: mail is dropped if its reader opted out by a newer link, made with another of OPT_OUT_KEYS", async () => {
    const [reader, other] = ["gestopt@example.nl", "sanne@example.nl"];
    const key = JSON.parse(sqlKeys(world.environment)).opt_out;
    // the links have the hash under the key before; the newer link had it under the current key
    const ids = [await enqueue(reader), await enqueue(other), await enqueue(reader)];
    await world.row(
      `update core.mail_outbox set content = content || '{"unsubscribe_url": "https://pages.example/unsubscribe/old"}'
        where id = any ($1)`,
      ids.slice(0, 2),
    );
    await world.row("select private.suppress(private.email_hash($1, $2))", reader, key);
    expect((await run()).mail).toEqual({ sent: 2, failed: 0 });
    expect(await outbox(ids[0] as string)).toMatchObject({ status: "dropped", attempts: 0 });
    expect(await world.row("select content from core.mail_outbox where id = $1", ids[0])).toEqual({ content: {} });
    expect(smtp.received.map(({ to }) => to[0]).sort()).toEqual([reader, other].sort());
  });

  test("without SMTP_URL mail waits, and the answer and the log say so; with nothing waiting all is well", async () => {
    const { SMTP_URL: _none, ...config } = world.environment.config;
    const environment = { ...world.environment, config };
    expect(await run(environment)).toMatchObject({ ok: true, mail: { sent: 0, failed: 0 } });
    const id = await enqueue("sanne@example.nl");
    const { ok, mail } = await run(environment);
    expect(ok).toBe(false);
    expect(mail.problem).toBe("SMTP_URL is not set: 1 mail waits and none is sent");
    expect(world.log).toContainEqual(
      expect.objectContaining({ level: "error", event: "mail_not_configured", waiting: 1 }),
    );
    expect(await outbox(id)).toMatchObject({ status: "queued", attempts: 0 });

    const logged = () => world.log.filter(({ event }) => event === "mail_not_configured").map(({ waiting }) => waiting);
    expect((await run(environment)).mail.problem).toContain("1 mail waits");
    expect(logged(), "once while nothing changes").toEqual([1]);
    await enqueue("piet@example.nl");
    await run(environment);
    expect(logged()).toEqual([1, 2]);
  });

  test("the sandbox captures: nothing is sent, the body stays to be read", async () => {
    const sandbox = await createWorld({ variables: { SMTP_URL: smtp.url } });
    try {
      const { account_id } = await createAccount(sandbox);
      const token = await sandbox.partnerA.client.token();
      const issued = await sandbox.post("/v1/mandate-links", { account_id, send_email: true }, token);
      expect(issued.body.email_sent).toBe(true);
      expect((await run(sandbox.environment)).mail).toEqual({ sent: 0, failed: 0 });
      expect(smtp.received).toEqual([]);
      const mail = await sandbox.mail();
      expect(mail).toMatchObject({
        status: "captured",
        template: "mandate_link",
        subject: "partner-a vraagt uw machtiging voor uw laadstroom",
        links: [issued.body.mandate_link],
      });
      expect(mail.text).toContain("Beste Sanne de Vries,");
      expect(mail.text).toContain(issued.body.mandate_link);
    } finally {
      await sandbox.close();
    }
  });

  test("a hostile name fills its mark as text: in HTML escaped, in no header a line", async () => {
    const sandbox = await createWorld();
    try {
      const name = `<b>"Sanne"</b> & {{partner_name}}`;
      const { account_id } = await createAccount(sandbox, sandbox.partnerA, {
        person: { full_name: name, email: "s@example.nl" },
      });
      const token = await sandbox.partnerA.client.token();
      await sandbox.post("/v1/mandate-links", { account_id, send_email: true }, token);
      const mail = await sandbox.mail();
      expect(mail.html).toContain("&lt;b&gt;&quot;Sanne&quot;&lt;/b&gt; &amp;");
      expect(mail.html).not.toContain("<b>");
    } finally {
      await sandbox.close();
    }
  });
});

describe("§9.6 the weekly re-check of EANs", () => {
  /** A signed connection that the register did not know, last checked more than a week ago. */
  async function unverified(fields: Record<string, unknown> = {}) {
    const ean_code = newEan();
    const address = { postal_code: "1234AB", house_number: Math.floor(Math.random() * 90_000) + 1 };
    const { account_id, connection_id } = await createAccount(world, world.partnerA, {
      connection: { ean_code, ...address },
      ...fields,
    });
    await signMandate(world, account_id);
    await world.row(
      "update core.connections set ean_checked_at = private.now() - interval '7 days' where id = $1",
      connection_id,
    );
    const status = async () =>
      (await world.row("select ean_validation_status from core.connections where id = $1", connection_id))
        .ean_validation_status;
    expect(await status()).toBe("unverified");
    return { ean_code, ...address, status, connection_id };
  }
  const register = ({
    ean_code,
    postal_code,
    house_number,
  }: {
    ean_code: string;
    postal_code: string;
    house_number: number;
  }) =>
    world.row(
      "insert into core.ean_register_points (ean_code, postal_code, house_number, street, city) values ($1, $2, $3, 'Dorpsstraat', 'Utrecht')",
      ean_code,
      postal_code,
      house_number,
    );

  test("what the register has learned since is taken over; each is asked once", async () => {
    const [known, other, unknown] = [await unverified(), await unverified(), await unverified()];
    await register(known);
    await register({ ...other, ean_code: newEan() });
    expect((await run()).ean_checks).toEqual({ checked: 3, failed: 0 });
    expect([await known.status(), await other.status(), await unknown.status()]).toEqual([
      "matched",
      "mismatch",
      "not_found",
    ]);
    expect((await run()).ean_checks.checked).toBe(0);
  });

  test("three workers at once ask about each connection once", async () => {
    const connections = await Promise.all(Array.from({ length: 8 }, () => unverified()));
    const runs = await Promise.all([run(), run(), run()]);
    expect(runs.reduce((sum, { ean_checks }) => sum + ean_checks.checked, 0)).toBe(8);
    const { n } = await world.row(
      "select count(*) as n from core.ean_checks where connection_id = any ($1)",
      connections.map(({ connection_id }) => connection_id),
    );
    expect(Number(n), "once at creation, once now").toBe(16);
  });

  test("a register that is away leaves it unverified for another week, and the run goes on", async () => {
    const { status } = await unverified();
    const config = {
      ...world.environment.config,
      EAN_REGISTER: "http" as const,
      EAN_REGISTER_URL: "http://127.0.0.1:1",
    };
    expect((await run({ ...world.environment, config })).ean_checks).toEqual({ checked: 1, failed: 0 });
    expect(await status()).toBe("unverified");
    expect((await run()).ean_checks.checked).toBe(0);
  });
});
