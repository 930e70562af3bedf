// What is written to a partner's customers, and how they get out of it.

import { SMTPServer } from "smtp-server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { claimKey, claimLinks, claimToken, readClaimToken } from "#shared/domain/claim/links.ts";
import { type StoredMail, writeMail } from "#shared/domain/mail/mail.ts";
import { serve } from "#shared/http/serve.ts";
import { surface as pages } from "../../supabase/functions/pages/app.ts";
import { surface as worker } from "../../supabase/functions/worker/app.ts";
import { newRing } from "../harness/environment.ts";
import { asProduction } from "../harness/world.ts";
import { type ClaimWorld, createClaimWorld, type Draft, heading, newBrowser, newDraft } from "./claimant.ts";

let world: ClaimWorld;
beforeAll(async () => {
  world = await createClaimWorld();
});
afterAll(() => world.close());

/** Runs the jobs of drafts, and answers the reminders that one draft has had. */
async function runJobs({ config } = world.environment): Promise<Record<string, number>> {
  const caller = { kind: "worker", host: config.API_HOST, request_id: "test" };
  const input = { links: claimLinks(world.environment), size: 100 };
  return JSON.parse(await world.environment.slowDb.call("run_draft_jobs", caller, input));
}
const unsubscribeUrl = async ({ email }: Draft): Promise<string> =>
  (await world.row("select private.unsubscribe_url($1, $2) as url", email, claimLinks(world.environment))).url;
const aged = (days: number) => ({ created_at: new Date(Date.now() - days * 86_400_000 - 60_000).toISOString() });

test("contract §4 SQL and TypeScript derive the same link, which no other key opens", async () => {
  const draft = await newDraft(world);
  const { token } = await world.row(
    "select private.claim_token($1, $2) as token",
    draft.id,
    claimKey(world.environment),
  );
  expect(token).toBe(claimToken(world.environment, draft.id));
  expect(readClaimToken(world.environment, token)).toBe(draft.id);
  const { config } = world.environment;
  const rotated = { ...world.environment, config: { ...config, LINK_KEYS: JSON.parse(newRing()) } };
  expect(readClaimToken(rotated, token)).toBeNull();
  for (const broken of ["", "x", `${token}x`, token.toUpperCase(), token.replace("-", ""), `${token}\n`])
    expect(readClaimToken(world.environment, broken)).toBeNull();
});

describe("§6 opting out", () => {
  test("one click from a mail program, without cookie, origin or our own form (RFC 8058)", async () => {
    const draft = await newDraft(world);
    const url = await unsubscribeUrl(draft);
    const boundary = "xyz";
    const body = `--${boundary}\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--${boundary}--\r\n`;
    const response = await serve(pages, world.environment).fetch(
      new Request(url, {
        method: "POST",
        body,
        headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
      }),
    );
    expect(response.status).toBe(200);
    const { suppressed } = await world.row(
      "select exists (select from core.suppressions where email_hash = private.email_hash($1, $2)) as suppressed",
      draft.email.toUpperCase(),
      claimKey(world.environment),
    );
    expect(suppressed).toBe(true);
  });

  test("opening the link asks first; a reminder that is due is not sent; the claim link still works", async () => {
    const draft = await newDraft(world, aged(3));
    const ask = newBrowser(world);
    const url = await unsubscribeUrl(draft);
    const before = await world.row("select count(*)::int as n from core.suppressions");
    expect(heading((await ask(url)).text)).toBe("Geen berichten meer ontvangen?");
    expect(await world.row("select count(*)::int as n from core.suppressions")).toEqual(before);
    for (let clicks = 0; clicks < 2; clicks++)
      expect(heading((await ask(url, { form: {} })).text)).toBe("U krijgt geen berichten meer");
    expect(await world.row("select count(*)::int as n from core.suppressions")).toEqual({ n: before.n + 1 });
    await runJobs();
    expect(
      await world.row("select count(*)::int as n from core.mail_outbox where recipient = $1", draft.email),
    ).toEqual({ n: 0 });
    expect((await ask(draft.link)).status).toBe(200);
  });

  test("works when the draft is long gone, and with no other address's token", async () => {
    const [draft, other] = [await newDraft(world), await newDraft(world)];
    const url = await unsubscribeUrl(draft);
    await world.row("delete from core.drafts where id = $1", draft.id);
    const forged = (await unsubscribeUrl(other)).replace(/[^/]{64}-/, `${url.split("/").pop()?.slice(0, 64)}-`);
    expect((await newBrowser(world)(forged, { form: {} })).status).toBe(404);
    expect((await newBrowser(world)(url, { form: {} })).status).toBe(200);
  });
});

describe("contract §4 reminders", () => {
  test("on day 3, 10 and 30, once each, in the partner's name and with the way out", async () => {
    const draft = await newDraft(world);
    const causes = async () =>
      (
        await world.database.admin.query(
          "select cause from core.mail_outbox where recipient = $1 order by created_at, cause",
          [draft.email],
        )
      ).rows.map(({ cause }) => cause.split(":").pop());
    const age = (days: number) =>
      world.row("update core.drafts set created_at = $2 where id = $1", draft.id, aged(days).created_at);
    for (const [days, sent] of [
      [2.9, []],
      [3, ["1"]],
      [9, ["1"]],
      [10, ["1", "2"]],
      [30, ["1", "2", "3"]],
      [59, ["1", "2", "3"]],
    ] as const) {
      await age(days);
      await Promise.all(Array.from({ length: 5 }, () => runJobs()));
      expect([days, await causes()]).toEqual([days, sent]);
    }
    const mail = await world.mail("where recipient = $1 limit 1", draft.email);
    expect(mail).toMatchObject({
      template: "reminder",
      subject: "Uw aanmelding voor ERE bij Zonneveld staat nog klaar",
      reply_to: "hulp@zonneveld.example",
      unsubscribe_url: await unsubscribeUrl(draft),
      links: [draft.link, await unsubscribeUrl(draft)],
    });
    expect(mail.html).toContain("background: #7a1fa2");
    expect(`${mail.html}${mail.text}`).not.toMatch(/\{\{|undefined/);
  });

  test("none where the partner passes on the link itself, or the customer has claimed", async () => {
    const quiet = await newDraft(world, { ...aged(10), send_invite: false });
    const busy = await newDraft(world, { ...aged(10), status: "claimed" });
    await runJobs();
    expect(
      await world.row(
        "select count(*)::int as n from core.mail_outbox where recipient in ($1, $2)",
        quiet.email,
        busy.email,
      ),
    ).toEqual({ n: 0 });
  });

  test("60 days after creation it expires; 30 days later it is deleted, and an audit row without personal data stays", async () => {
    const draft = await newDraft(world, {
      expires_at: new Date(Date.now() - 1000).toISOString(),
      progress: { answers: { full_name: "X" } },
    });
    await runJobs();
    expect(await world.row("select status, progress from core.drafts where id = $1", draft.id)).toEqual({
      status: "expired",
      progress: {},
    });
    await world.row("update core.drafts set expires_at = private.now() - interval '30 days' where id = $1", draft.id);
    expect((await runJobs()).purged).toBe(1);
    expect(await world.row("select count(*)::int as n from core.drafts where id = $1", draft.id)).toEqual({ n: 0 });
    const audit = await world.row("select action, details from core.audit_log where subject_id = $1", draft.id);
    expect(audit).toEqual({ action: "draft.deleted", details: { status: "expired" } });
  });
});

test("§6 RFC 8058 the worker sends List-Unsubscribe with one click, and answers go to the partner", async () => {
  const received: string[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData(stream, _session, done) {
      let text = "";
      stream.on("data", (chunk) => {
        text += chunk;
      });
      stream.on("end", () => {
        received.push(text);
        done();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.server.address() as { port: number };
    const draft = await newDraft(world, aged(3));
    const run = await asProduction(world, async (production) => {
      await runJobs(production);
      const environment = { ...production, config: { ...production.config, SMTP_URL: `smtp://127.0.0.1:${port}` } };
      return serve(worker, environment).fetch(
        new Request("http://x/worker/run", {
          method: "POST",
          headers: { authorization: `Bearer ${production.config.WORKER_SECRET}` },
        }),
      );
    });
    expect(run.status).toBe(200);
    const mail = received.find((text) => text.includes(`To: ${draft.email}`))?.replace(/\r\n[ \t]+/g, " ") ?? "";
    expect(mail).toContain(`List-Unsubscribe: <${await unsubscribeUrl(draft)}>`);
    expect(mail).toContain("List-Unsubscribe-Post: List-Unsubscribe=One-Click");
    expect(mail).toContain("Reply-To: hulp@zonneveld.example");
    const sent = await world.mail("where recipient = $1", draft.email);
    expect(sent).toMatchObject({ status: "sent", content: {} });
  } finally {
    await new Promise<void>((resolve) => server.close(resolve));
  }
});

describe("contract §4 a partner's color", () => {
  test("nothing but a color gets into the database, where mail takes it from", async () => {
    for (const wrong of ["red", "#123456; } body { display: none", "#12345"])
      await expect(
        world.row(
          "update core.partners set branding = branding || $1 where id = $2",
          { primary_color: wrong },
          world.partnerB.id,
        ),
      ).rejects.toThrow("partners_color_is_one");
  });

  test("the style sheet takes a color and nothing else", async () => {
    const style = async (color: string) =>
      (await newBrowser(world)(`/pages/brand.css?${new URLSearchParams({ color })}`)).text;
    expect(await style("#123456")).toContain("--accent: #123456");
    expect(await style("}x{")).toBe("");
  });
});

describe("§6 the texts", () => {
  const config = { SERVICE_NAME: "ERE & Co", SUPPORT_EMAIL: "hulp@example.nl", PAGES_URL: "https://pages.example" };
  const hostile = "<img src=x onerror=alert(1)>";
  const brand = { name: hostile, color: "#ffd400", reply_to: "x@y.nl" };

  test.each(["nl", "en"] as const)(
    "every mail says who, what and how to stop, and escapes what others wrote (%s)",
    (locale) => {
      const offer = { ere_per_kwh: 0.27, price_per_ere_eur: 0.49, fee_pct: 20 };
      const links = { claim_url: "https://x/claim/y", unsubscribe_url: "https://x/u/y" };
      const letter = { full_name: hostile, brand, ...links, offer };
      const code = { code: "012345", brand };
      const iban = { brand, iban_masked: "**** 4300" };
      const stored = [
        { template: "claim", content: { ...letter, message: hostile } },
        { template: "reminder", content: letter },
        { template: "sign_in", content: { ...letter, link: "https://x/enter/y" } },
        { template: "claim_code", content: { ...code, purpose: "prove" } },
        { template: "claim_code", content: { ...code, purpose: "sign" } },
        { template: "iban_changed", content: { ...iban, partner_name: hostile, account_holder: hostile } },
        { template: "customer_iban_changed", content: { ...iban, held_until: "2026-11-22T09:00:00Z" } },
      ];
      const write = (mail: object) => writeMail(config, { ...mail, locale } as StoredMail);
      const all = stored.map(write);
      for (const mail of all) {
        expect(mail.html, "what others wrote is no image").not.toContain("<img src=x");
        expect(mail.html).toContain(`<html lang="${locale}">`);
        for (const body of [mail.html, mail.text]) {
          expect(body).toContain("hulp@example.nl");
          expect(body).not.toMatch(/undefined|null|\[object/);
        }
      }
      expect(all[0]?.html, "a light color has dark letters").toContain("background: #ffd400; color: #000000");
      // so that its button is seen: 3:1 on white and on dark (WCAG 2.2, 1.4.11)
      expect(all[0]?.html).toContain("border: 2px solid #7f6a00");
      const black = write({ template: "claim", content: { ...letter, brand: { ...brand, color: "#000000" } } });
      expect(black.html).toContain("border-color: #949494 !important");
      const logo = { hash: "0".repeat(64), width: 120, height: 40 };
      const content = { ...iban, held_until: "2026-11-22T09:00:00Z", brand: { ...brand, logo } };
      const { html } = write({ template: "customer_iban_changed", content });
      expect(html).toContain(
        `<img src="https://pages.example/logo/${logo.hash}.png" alt="&lt;img src=x onerror=alert(1)&gt;" width="120" height="40"`,
      );
      expect(all[0]?.links).toEqual(["https://x/claim/y", "https://x/u/y"]);
      expect(all[2]?.links).toEqual(["https://x/enter/y", "https://x/u/y"]);
      expect(all[6]?.reply_to).toBe("x@y.nl");
      expect(all[3]?.subject).toMatch(/^012345 /);
      expect(all[3]?.text).not.toBe(all[4]?.text);
    },
  );
});
