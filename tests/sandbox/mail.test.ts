// GET /sandbox/v1/mail: the mail the sandbox kept instead of sending (specification sections 2 and 4.3).

import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { aboutMail } from "#shared/domain/mail/about.ts";
import { accountBody } from "../harness/people.ts";
import { heading, newBrowser } from "../pages/claimant.ts";
import { addLogin, draftRow, newEmail } from "../partner/partner_world.ts";
import { createSandboxWorld, later, type SandboxWorld, START } from "./sandbox_world.ts";

let world: SandboxWorld;
beforeAll(async () => {
  world = await createSandboxWorld({ limits: "lifted" });
});
afterEach(() => world.travel(START));
afterAll(() => world.close());

type Mail = {
  id: string;
  to: string;
  template: string;
  links: string[];
  captured_at: string;
  text: string;
  html: string;
  from: string;
  subject: string;
};
const mail = async (query = "", key = world.keyA): Promise<Mail[]> => {
  const { status, body } = await world.get(`/sandbox/v1/mail${query}`, key);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.mail;
};
const invite = async (email: string, key = world.keyA) =>
  (await world.post("/partner/drafts/import", { consent: true, rows: [draftRow({ email })] }, key)).body.created[0];

describe("§4.3 captured mail", () => {
  test("§4.3 a draft's life in mail, newest first, every field, HTML and text; the links open the pages", async () => {
    const email = newEmail();
    const { draft_id, claim_url } = await invite(email);
    await world.travel(later(3 * 86_400));
    await world.work();
    for (const { links } of await mail(`?to=${email}`))
      for (const link of links) expect((await newBrowser(world)(link)).status, link).toBe(200);
    await world.travel(later(3 * 86_400 + 60));
    expect((await world.claim(draft_id)).status).toBe(200);
    const mails = await mail(`?to=${email}`);
    expect(mails.map(({ template }) => template).sort()).toEqual([
      "claim",
      "claim_code",
      "claim_code",
      "mandate_signed",
      "reminder",
    ]);
    expect(mails.at(-1)).toMatchObject({
      template: "claim",
      captured_at: START,
      to: email,
      from: world.environment.config.MAIL_FROM,
    });
    expect(mails.at(-2)?.template).toBe("reminder");
    for (const { html, text, subject } of mails)
      expect([html.includes("<"), text.length > 50, subject.length > 5]).toEqual([true, true, true]);
    expect(mails.at(-1)?.links).toContain(claim_url);
    const signed = mails.find(({ template }) => template === "mandate_signed");
    expect(heading((await newBrowser(world)(signed?.links[0] ?? "")).text)).toBe("Deze aanmelding is al afgerond");
  });

  test("§4.3 a code that is mailed opens the claim for who reads it here", async () => {
    const { email, claim_url } = await invite(newEmail());
    const ask = newBrowser(world);
    await world.travel(later(1));
    await ask(`${claim_url}/code`, { form: {} });
    const [newest] = await mail(`?to=${email}&limit=1`);
    const code = /^ {4}(\d{6})$/m.exec(newest?.text ?? "")?.[1] ?? "";
    await ask(`${claim_url}/proof`, { form: { code } });
    expect((await ask(claim_url)).location).toContain("/details");
  });

  test("§4.3 to: only to this address, in any case, spaces around it; nobody's address has no mail", async () => {
    const email = newEmail();
    await invite(email);
    for (const to of [email, email.toUpperCase(), ` ${email} `, email.replace("@", "%40")])
      expect(
        (await mail(`?to=${to === email.replace("@", "%40") ? to : encodeURIComponent(to)}`)).map(
          ({ to: told }) => told,
        ),
      ).toEqual([email]);
    expect(await mail(`?to=${newEmail()}`)).toEqual([]);
    for (const to of ["%", "_", "%00", "x".repeat(400), "%E0%A4%A", "💥"]) expect(await mail(`?to=${to}`)).toEqual([]);
    expect((await mail("?to=")).length).toBeGreaterThan(1);
  });

  test("§4.3 a mail that this release cannot write is listed without text, and the others with theirs", async () => {
    const email = newEmail();
    await invite(email);
    for (const [template, locale, content] of [
      ["of_another_release", "nl", {}],
      ["mandate_link", "fr", {}],
      ["claim", "nl", { html: 5 }],
    ])
      await world.row(
        `insert into core.mail_outbox (partner_id, cause, template, locale, recipient, content, status)
         values ($1, $2, $3, $4, $5, $6, 'captured')`,
        ...[world.partnerA.id, randomBytes(8).toString("hex"), template, locale, email, content],
      );
    const listed = (await mail(`?to=${email}`)).map(({ template, text }) => [template, text.length > 0]);
    expect(listed.sort()).toEqual([
      ["claim", false],
      ["claim", true],
      ["mandate_link", false],
      ["of_another_release", false],
    ]);
  });

  test("§8 limit: default 20, at least 1, at most 200; what is no number is the default", async () => {
    const rows = Array.from({ length: 230 }, () => draftRow());
    await world.post("/partner/drafts/import", { consent: true, rows }, world.keyA);
    for (const [limit, size] of [
      ["", 20],
      ["5", 5],
      ["1", 1],
      ["0", 20],
      ["-3", 1],
      ["1000", 200],
      ["abc", 20],
      ["1e99", 200],
      ["2.9", 2],
    ] as const)
      expect([limit, (await mail(`?limit=${limit}`)).length]).toEqual([limit, size]);
    expect(await mail("")).toHaveLength(20);
    const mails = await mail("?limit=200");
    const order = mails.map(({ captured_at, id }) => captured_at + id);
    expect(order).toEqual([...order].sort().reverse());
  });

  test("§4.3 only the partner's own, mandate mail of its CPO accounts included", async () => {
    const person = { full_name: "Sanne de Vries", email: newEmail(), phone: null };
    for (const { client } of [world.partnerA, world.partnerB]) {
      const { account_id } = (await world.post("/v1/accounts", accountBody({ person }), await client.token())).body;
      await world.post("/v1/mandate-links", { account_id, send_email: true }, await client.token());
    }
    const [a, b] = [await mail(`?to=${person.email}`), await mail(`?to=${person.email}`, world.keyB)];
    expect([a.length, b.length]).toEqual([1, 1]);
    expect(a[0]?.links).not.toEqual(b[0]?.links);
    expect((await newBrowser(world)(a[0]?.links[0] ?? "")).status).toBe(200);
    const own = new Set((await mail("?limit=200")).map(({ id }) => id));
    expect((await mail("?limit=200", world.keyB)).filter(({ id }) => own.has(id))).toEqual([]);
  });

  test("contract §5 the code with which a customer signs in is shown to who brought them; of somebody who came by themselves to nobody", async () => {
    const { draft_id, email } = await invite(newEmail());
    expect((await world.claim(draft_id)).status).toBe(200);
    const { email: stranger } = await addLogin(world);
    await world.row("update auth.users set email_confirmed_at = now() where email = $1", stranger);
    await invite(stranger);
    const { config, db } = world.environment;
    for (const address of [email, stranger]) {
      const secret = () => randomBytes(32).toString("hex");
      const answer = await db.call(
        "send_sign_in_code",
        { kind: "anyone", host: "sandbox", request_id: "test" },
        {
          ...{
            address_hash: secret(),
            email_hash: secret(),
            token_hash: secret(),
            code_hash: secret(),
            email: address,
          },
          mail: aboutMail(config, "sign_in", "nl", { code: "123456", app: "Laadapp" }),
        },
      );
      expect(JSON.parse(answer)).toEqual({ ok: true });
      const { sent } = await world.row(
        "select count(*)::int as sent from core.mail_outbox where recipient = $1 and template = 'sign_in'",
        address,
      );
      expect(sent).toBe(1);
    }
    const codes = async (address: string, key: string) =>
      (await mail(`?to=${address}`, key)).filter(({ template }) => template === "sign_in").map(({ text }) => text);
    expect(await codes(email, world.keyA)).toEqual([expect.stringContaining("123456")]);
    expect(await codes(email, world.keyB)).toEqual([]);
    expect([...(await codes(stranger, world.keyA)), ...(await codes(stranger, world.keyB))]).toEqual([]);
  });
});
