import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashSecret } from "#shared/auth/tokens.ts";
import { addConnection } from "../harness/connections.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";
import { newAddress } from "../pages/signatory_customer.ts";

let world: World;
let token: string;
beforeAll(async () => {
  world = await createWorld({ limits: "lifted" });
  token = await world.partnerA.client.token();
});
afterAll(() => world.close());

const PERSON = { full_name: "Willem Bakker", phone: "0612345678" };
const COMPANY = { name: "Bakker Laden BV", kvk: "12345678", vat: "NL123456789B01" };
const MISSING = "00000000-0000-4000-8000-000000000000";

const update = (body: unknown, as = token) => world.post("/v1/accounts:update", body, as);
async function newAccount(fields: object = {}) {
  const email = newAddress();
  return { email, ...(await createAccount(world, world.partnerA, { person: { ...PERSON, email }, ...fields })) };
}
async function signedAccount(fields: object = {}) {
  const account = await newAccount(fields);
  await signMandate(world, account.account_id);
  return account;
}
const mailsTo = (email: string, template: string) =>
  world.mails("where recipient = $1 and template = $2 order by created_at", email, template);
const mailedLink = async (account_id: string, fields: object = {}) => {
  const { status, body } = await world.post("/v1/mandate-links", { account_id, send_email: true, ...fields }, token);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.mandate_link as string;
};
const linkIn = ({ links }: { links: string[] } = { links: [] }) =>
  links.find((link) => link.includes("/mandate/")) ?? "";
async function openLink(link: string) {
  const caller = { kind: "anyone", host: "sandbox", request_id: "test" };
  const token_hash = hashSecret(link.split("/").pop() ?? "");
  return JSON.parse(await world.environment.db.call("open_mandate_link", caller, { token_hash, address_hash: "test" }));
}
const stored = (account_id: string) =>
  world.row(
    `select s.full_name, s.email, s.phone, a.company from core.accounts a
       join core.signatories s on s.partner_id = a.partner_id and s.account_id = a.id where a.id = $1`,
    account_id,
  );

describe("contract §2 POST /v1/accounts:update before a signature", () => {
  test("contract §2 corrects person and company, and keeps what was not sent", async () => {
    const { account_id, account, email } = await newAccount({ type: "zakelijk", company: COMPANY });
    const { status, body } = await update({
      cpo_external_ref: account.cpo_external_ref,
      person: { full_name: "Wilma Bakker" },
      company: { name: "Bakker Laden B.V." },
    });
    expect([status, body]).toEqual([
      200,
      {
        ok: true,
        changed: true,
        account_id,
        cpo_external_ref: account.cpo_external_ref,
        person: { full_name: "Wilma Bakker", email, phone: "+31612345678" },
        company: { ...COMPANY, name: "Bakker Laden B.V." },
        signed: false,
        mandate_links_voided: 0,
        mandate_links_mailed: 0,
      },
    ]);
    expect(await mailsTo(email, "contact_changed"), "nobody signed, so nobody is told").toEqual([]);
    expect(
      await world.row(
        "select details from core.audit_log where subject_id = $1 and action = 'account.updated'",
        account_id,
      ),
    ).toEqual({ details: { fields: ["full_name", "company"] } });
  });

  test("contract §2 adds the company that a business account lacks", async () => {
    const { account_id } = await newAccount({ type: "vve" });
    expect((await update({ account_id, company: { name: "VvE De Linde" } })).body).toMatchObject({
      changed: true,
      company: { name: "VvE De Linde" },
    });
  });

  test("contract §2 the same update twice changes once", async () => {
    const { account_id } = await newAccount();
    const sent = { account_id, person: { email: newAddress(), phone: "" } };
    expect((await update(sent)).body.changed).toBe(true);
    expect((await update(sent)).body).toMatchObject({ changed: false, person: { phone: "+31612345678" } });
    const { n } = await world.row(
      "select count(*)::int as n from core.audit_log where subject_id = $1 and action = 'account.updated'",
      account_id,
    );
    expect(n).toBe(1);
  });

  test("contract §2 attack: a link mailed to a wrong address stops working, and a new one is mailed to the right address", async () => {
    const { account_id, email: wrong } = await newAccount();
    const old = await mailedLink(account_id, { validity_years: 3, locale: "en" });
    const right = newAddress();
    const { body } = await update({ account_id, person: { email: right } });
    expect(body).toMatchObject({ changed: true, mandate_links_voided: 1, mandate_links_mailed: 1 });
    expect(JSON.stringify(body), "the answer has no link: this scope issues none").not.toContain("/mandate/");
    expect((await openLink(old)).state).toBe("voided");
    const [mail] = await mailsTo(right, "mandate_link");
    expect(mail?.locale).toBe("en");
    const opened = await openLink(linkIn(mail));
    expect(opened).toMatchObject({ state: "open", facts: { email: right } });
    expect(opened.periods).toMatchObject([{ validity_years: 3 }]);
    expect(await mailsTo(wrong, "contact_changed"), "the wrong address is a stranger's").toEqual([]);
  });

  test("contract §2 each connection with a mailed link gets one, and an own link is only voided", async () => {
    const account = await newAccount();
    const second = await addConnection(world, account.account_id);
    const own = await world.post(
      "/v1/mandate-links",
      { account_id: account.account_id, connection_id: account.connection_id },
      token,
    );
    await mailedLink(account.account_id, { connection_id: second });
    const email = newAddress();
    expect((await update({ account_id: account.account_id, person: { email } })).body).toMatchObject({
      mandate_links_voided: 2,
      mandate_links_mailed: 1,
    });
    expect((await openLink(own.body.mandate_link)).state).toBe("voided");
    expect(await mailsTo(email, "mandate_link")).toHaveLength(1);
  });

  test("contract §2 another name or company leaves the link open: its page shows the new one", async () => {
    const { account_id } = await newAccount();
    const link = await mailedLink(account_id);
    await update({ account_id, person: { full_name: "Wilma Bakker" } });
    expect(await openLink(link)).toMatchObject({ state: "open", facts: { full_name: "Wilma Bakker" } });
  });

  test("contract §2 an expired or used link brings no new one", async () => {
    const { account_id } = await newAccount();
    await mailedLink(account_id);
    await world.row(
      `update core.mandate_links l set expires_at = private.now() - interval '1 second' from core.connections c
        where c.id = l.connection_id and c.account_id = $1`,
      account_id,
    );
    const email = newAddress();
    expect((await update({ account_id, person: { email } })).body).toMatchObject({
      mandate_links_voided: 0,
      mandate_links_mailed: 0,
    });
    expect(await mailsTo(email, "mandate_link")).toEqual([]);
  });

  test("contract §2 a new address that bounces is corrected once more", async () => {
    const { account_id } = await newAccount();
    await mailedLink(account_id);
    const [bounces, right] = [newAddress(), newAddress()];
    await update({ account_id, person: { email: bounces } });
    await world.row(
      "update core.mail_outbox set status = 'failed', last_error = 'EENVELOPE 550 RCPT TO' where recipient = $1",
      bounces,
    );
    expect((await update({ account_id, person: { email: right } })).body).toMatchObject({
      mandate_links_voided: 1,
      mandate_links_mailed: 1,
    });
    expect((await openLink(linkIn((await mailsTo(right, "mandate_link"))[0]))).state).toBe("open");
  });
});

describe("contract §2 POST /v1/accounts:update after a signature", () => {
  test("contract §2 changes e-mail and telephone, and tells the old address without the new one", async () => {
    const { account_id, email: old } = await signedAccount();
    const email = newAddress();
    const { body } = await update({ account_id, person: { email, phone: "0687654321" } });
    expect(body).toMatchObject({ changed: true, signed: true, person: { email, phone: "+31687654321" } });
    const [mail, ...more] = await mailsTo(old, "contact_changed");
    expect(more).toEqual([]);
    expect(mail?.text).toContain("e-mailadres");
    expect(mail?.text).toContain("telefoonnummer");
    expect(mail?.text).toContain("Klopt dit niet? Laat het ons dan meteen weten.");
    expect(mail?.links, "no secret is in it").toEqual([]);
    for (const secret of [email, "87654321"]) expect(mail?.text).not.toContain(secret);
  });

  test.each([
    ["another name", { person: { full_name: "Iemand Anders" } }],
    ["another company", { company: { name: "Iemand BV" } }],
    ["another name beside an e-mail address", { person: { full_name: "Iemand Anders", email: newAddress() } }],
  ])("contract §2 %s is refused, and nothing is stored or mailed", async (_, change) => {
    const { account_id, email } = await signedAccount();
    const before = await stored(account_id);
    const { status, body } = await update({ account_id, ...change });
    expect([status, body.error]).toEqual([409, "account_signed"]);
    expect(await stored(account_id)).toEqual(before);
    expect(await mailsTo(email, "contact_changed")).toEqual([]);
  });

  test("contract §2 the same name and company beside a new address are no change of them", async () => {
    const { account_id } = await signedAccount({ type: "zakelijk", company: COMPANY });
    const sent = { person: { ...PERSON, email: newAddress() }, company: COMPANY };
    expect((await update({ account_id, ...sent })).body).toMatchObject({ changed: true, signed: true });
  });

  test("contract §2 a mandate that ended keeps name and company fixed", async () => {
    const { account_id, connection_id } = await signedAccount();
    await world.row(
      "update core.mandates set status = 'revoked', ended_at = now(), ended_reason = 'customer' where connection_id = $1",
      connection_id,
    );
    expect((await update({ account_id, person: { full_name: "Iemand Anders" } })).body.error).toBe("account_signed");
  });

  test("contract §2 who declined has signed nothing", async () => {
    const { account_id, connection_id } = await newAccount();
    await world.row(
      `insert into core.mandates (partner_id, connection_id, owner_id, status)
       select partner_id, id, owner_id, 'declined' from core.connections where id = $1`,
      connection_id,
    );
    expect((await update({ account_id, person: { full_name: "Iemand Anders" } })).body).toMatchObject({
      changed: true,
      signed: false,
    });
  });

  test("contract §2 a signed account without an address gets one, and nobody can be told", async () => {
    const { account_id } = await createAccount(world, world.partnerA, { person: { ...PERSON, email: null } });
    await signMandate(world, account_id);
    const email = newAddress();
    expect((await update({ account_id, person: { email } })).body).toMatchObject({ changed: true, signed: true });
    expect(await mailsTo(email, "contact_changed")).toEqual([]);
  });
});

describe("contract §2 attack: who may update an account, and when", () => {
  test("contract §2 attack: another client of the partner, and of another partner, find no account", async () => {
    const { account_id, account, email } = await newAccount();
    const sibling = await world.addClient(world.partnerA.id);
    for (const client of [sibling, world.partnerB.client])
      for (const by of [{ account_id }, { cpo_external_ref: account.cpo_external_ref }]) {
        const { status, body } = await update({ ...by, person: { email: newAddress() } }, await client.token());
        expect([status, body.error]).toEqual([404, "account_not_found"]);
      }
    expect(await stored(account_id)).toMatchObject({ email });
  });

  test("contract §2 every refusal has a name", async () => {
    const { account_id } = await newAccount();
    const refusals: [object, number, string][] = [
      [{ account_id }, 400, "invalid_request"],
      [{ account_id, person: null, company: null }, 400, "invalid_request"],
      [{ person: { email: newAddress() } }, 400, "invalid_request"],
      [{ account_id, person: { email: "geen adres" } }, 400, "invalid_request"],
      [{ account_id, person: { email: `${"a".repeat(250)}@example.nl` } }, 400, "invalid_request"],
      [{ account_id, person: { full_name: "x" } }, 400, "invalid_request"],
      [{ account_id, person: { phone: "12" } }, 400, "invalid_request"],
      [{ account_id, person: "Willem" }, 400, "invalid_request"],
      [{ account_id, company: { kvk: "1234" } }, 400, "invalid_request"],
      [{ account_id: MISSING, person: { email: newAddress() } }, 404, "account_not_found"],
      [{ account_id, cpo_external_ref: "of-nobody", person: { email: newAddress() } }, 404, "account_not_found"],
    ];
    for (const [body, status, error] of refusals) {
      const answer = await update(body);
      expect([answer.status, answer.body.error], JSON.stringify(body)).toEqual([status, error]);
    }
    expect((await update({ account_id, person: {} })).body).toMatchObject({ changed: false });
  });

  test("contract §2 attack: ten equal updates at once change and mail once", async () => {
    const { account_id, email: old } = await signedAccount();
    const person = { email: newAddress() };
    const answers = await Promise.all(Array.from({ length: 10 }, () => update({ account_id, person })));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(answers.filter(({ body }) => body.changed)).toHaveLength(1);
    expect(await mailsTo(old, "contact_changed")).toHaveLength(1);
  });

  test("contract §2 attack: ten addresses at once leave one open link, at the address that stands", async () => {
    const { account_id } = await newAccount();
    await mailedLink(account_id);
    const addresses = Array.from({ length: 10 }, newAddress);
    const answers = await Promise.all(addresses.map((email) => update({ account_id, person: { email } })));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    const { email } = await stored(account_id);
    const open: string[] = [];
    for (const address of addresses)
      for (const mail of await mailsTo(address, "mandate_link"))
        if ((await openLink(linkIn(mail))).state === "open") open.push(address);
    expect(open).toEqual([email]);
  });

  test("contract §2 attack: a signature and another name at once: one of the two is refused", async () => {
    for (let round = 0; round < 5; round += 1) {
      const { account_id } = await newAccount();
      const [signed, renamed] = await Promise.allSettled([
        signMandate(world, account_id),
        update({ account_id, person: { full_name: "Iemand Anders" } }),
      ]);
      const answer = renamed.status === "fulfilled" ? renamed.value : null;
      const mandate = await world.row(
        "select signed_name from core.mandates m join core.connections c on c.id = m.connection_id where c.account_id = $1",
        account_id,
      );
      const { full_name } = await stored(account_id);
      if (signed.status === "fulfilled") expect(mandate.signed_name, "evidence and account agree").toBe(full_name);
      else expect(mandate).toBeUndefined();
      expect([200, 409]).toContain(answer?.status);
      if (answer?.status === 409) expect([answer.body.error, full_name]).toEqual(["account_signed", PERSON.full_name]);
    }
  });
});
