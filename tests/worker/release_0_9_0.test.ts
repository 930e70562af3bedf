// Functions of 0.9.0 run until those of this release replace them, and mail that they wrote waits. To be deleted with the release after 1.0.0.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { claimLinks } from "#shared/domain/claim/links.ts";
import { COUNTERS } from "#shared/domain/import/model.ts";
import { serve } from "#shared/http/surface.ts";
import { surface } from "../../supabase/functions/worker/app.ts";
import { startSmtp } from "../harness/smtp.ts";
import { addDraft, createPartnerWorld, newEmail, type PartnerWorld } from "../partner/partner_world.ts";

let smtp: Awaited<ReturnType<typeof startSmtp>>;
let world: PartnerWorld;
beforeAll(async () => {
  smtp = await startSmtp();
  world = await createPartnerWorld({ host: "production", variables: { SMTP_URL: smtp.url } });
});
afterAll(async () => {
  await world?.close();
  await smtp?.close();
});
beforeEach(async () => {
  await world.database.admin.query("truncate core.mail_outbox");
  smtp.received.length = 0;
});

const worker = { kind: "worker", host: "production", request_id: "0.9.0" } as const;
const called = async (name: string, input: object) =>
  JSON.parse(await world.environment.slowDb.call(name, worker, input));

async function send() {
  const headers = { authorization: `Bearer ${world.environment.config.WORKER_SECRET}` };
  const request = new Request("http://api.test/worker/run", { method: "POST", headers });
  const { mail } = await (await serve(surface, world.environment).fetch(request)).json();
  return mail;
}

const store = (recipient: string, content: object) =>
  world.row(
    `insert into core.mail_outbox (partner_id, cause, template, locale, recipient, content, status)
     values ($1, $2, 'mandate_code', 'nl', $3, $4, 'queued')`,
    world.partnerA.id,
    randomUUID(),
    recipient,
    content,
  );

test("§6 the worker of 0.9.0 gets no mail, for it could not write it, and goes on; the next worker sends it", async () => {
  await store("sanne@example.nl", { full_name: "Sanne", partner_name: "Laadpunt", code: "123456" });
  expect(await called("claim_mail", { size: 20 })).toEqual([]);
  expect(await send()).toEqual({ sent: 1, failed: 0 });
});

test("§6 what 0.9.0 wrote is sent as it wrote it; marks that name no text stay", async () => {
  const name = "{{constructor}} {{logo}} {{x}}";
  const text = `Beste ${name}`;
  const written = { subject: "123456 is uw code", html: `<p>{{sender}} ${name}</p>`, text, links: [] };
  await store("migrated@example.nl", { ...written, html: text, reply_to: null, unsubscribe_url: null });
  await store("composed@example.nl", { ...written, sender: { name: "Zon & Co", logo: "<img>" }, logo: { hash: "00" } });
  expect(await send()).toEqual({ sent: 2, failed: 0 });
  for (const { to, message } of smtp.received) {
    expect(message).toContain("Subject: 123456 is uw code\r\n");
    expect(message.split(name)).toHaveLength(3);
    expect(message.includes("<p>Zon &amp; Co {{constructor}}")).toBe(to[0] === "composed@example.nl");
    expect(message).not.toMatch(/^(Reply-To|List-Unsubscribe):/m);
  }
});

test("contract §7 the page of earnings of 0.9.0 reads a fee, known or not", async () => {
  const caller = { kind: "session", user_id: randomUUID(), host: "production", request_id: "0.9.0" } as const;
  expect(JSON.parse(await world.environment.db.call("read_own_earnings", caller, {})).prices).toEqual({
    fee_pct: null,
  });
});

test("§4.2 the page of sign-ups of 0.9.0 shows the newest, and goes on behind the last it has", async () => {
  for (let n = 0; n < 5; n++) await addDraft(world);
  const caller = { kind: "partner", partner_id: world.partnerA.id, host: "production", request_id: "0.9.0" } as const;
  const seen: string[] = [];
  let after: string | null = null;
  do {
    const query = { for: {}, after, limit: 2 };
    const page = JSON.parse(await world.environment.db.call("read_portal_drafts", caller, query));
    expect(page.drafts.length).toBeGreaterThan(0);
    seen.push(...page.drafts.map(({ draft_id }: { draft_id: string }) => draft_id));
    after = page.more_after;
  } while (after && seen.length < 100);
  const { newest } = await world.row(
    "select array_agg(id order by created_at desc, id desc) as newest from core.drafts where partner_id = $1",
    world.partnerA.id,
  );
  expect(seen).toEqual(newest);
});

test("§4.2 of an import of 0.9.0 the invitation has the partner's words", async () => {
  const { key } = claimLinks(world.environment);
  const links = { key, pages_url: world.environment.config.PAGES_URL };
  const caller = { kind: "partner", partner_id: world.partnerA.id, host: "production", request_id: "0.9.0" } as const;
  const message = "Hallo buur\n\nBekijk uw aanmelding:\n“Tot snel”";
  const words = `\n\n{{partner_name}} schrijft u: “${message}”`;
  for (const said of [words, ""]) {
    const text = `Beste {{full_name}},\n\nU controleert.${said}\n\nBekijk uw aanmelding:\n{{claim_url}}\n\nDe link werkt.`;
    const email = newEmail();
    const rows = [{ place: 1, email, type: "particulier", name: "Sanne" }];
    const input = { source: "invite", send_invite: true, dry_run: false, consent: true, rows, counters: COUNTERS };
    await world.environment.db.call("import_drafts", caller, {
      ...input,
      over_request_limit: 0,
      links,
      mails: { nl: { text }, en: {} },
    });
    const { content } = await world.row("select content from core.mail_outbox where recipient = $1", email);
    expect(content.message).toBe(said ? message : null);
  }
});

test("§6 the worker of 0.9.0 says whom else to warn of an endpoint that fails", async () => {
  const manager = await world.manager(world.partnerA);
  const made = await world.post("/partner/webhooks", { url: "https://hooks.example.com/" }, manager);
  expect(made.status, JSON.stringify(made.body)).toBe(200);
  const { partner_id, id, lease_id } = await world.row(
    `update core.webhook_endpoints set failing_since = private.now() - interval '25 hours', lease_id = gen_random_uuid(), lease_until = private.now() + interval '1 minute'
      where id = $1 returning *`,
    made.body.id,
  );
  const results = [
    {
      event_id: randomUUID(),
      type: "draft.active",
      attempt: 1,
      again: false,
      sequence: 1,
      at: new Date().toISOString(),
      status: 500,
      ms: 1,
    },
  ];
  await called("settle_webhook", {
    partner_id,
    webhook_id: id,
    lease_id,
    results,
    mails: { operator: "operator@example.nl" },
  });
  expect(await world.row("select template from core.mail_outbox where recipient = 'operator@example.nl'")).toEqual({
    template: "webhook_failing",
  });
});
