import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashSecret } from "#shared/auth/tokens.ts";
import { addConnection } from "../harness/connections.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount } from "../harness/people.ts";
import { createWorld, rowCounts, statementsOf, type World } from "../harness/world.ts";

let world: World;
let token: string;
beforeAll(async () => {
  world = await createWorld({ limits: "lifted" });
  token = await world.partnerA.client.token();
});
afterAll(() => world.close());

type Account = Awaited<ReturnType<typeof createAccount>>;
const MISSING = "00000000-0000-4000-8000-000000000000";
/** What the world registers for its partners' clients. */
const REGISTERED = "https://partner-a.example/klaar";
const issue = (body: unknown) => world.post("/v1/mandate-links", body, token);
const hashOf = (link: string) => hashSecret(link.split("/").pop() ?? "");
const linkRow = (link: string) =>
  world.row("select * from core.mandate_links where token_hash = decode($1, 'hex')", hashOf(link));

/** How the signing page would find the link. */
async function stateOf(link: string): Promise<string> {
  const caller = { kind: "anyone", host: "sandbox", request_id: "test" };
  const answer = await world.environment.db.call("open_mandate_link", caller, {
    token_hash: hashOf(link),
    address_hash: "test",
  });
  return JSON.parse(answer).state;
}

/** Refused with this body, and nothing stored: no link, no mail. */
async function refused(body: unknown, status: number, error: object) {
  const before = await rowCounts(world, "mandate_links", "mail_outbox");
  const answer = await issue(body);
  expect([answer.status, answer.body]).toEqual([status, { ...error, request_id: expect.anything() }]);
  expect(await rowCounts(world, "mandate_links", "mail_outbox")).toEqual(before);
}

describe("contract §2 POST /v1/mandate-links issues a link", () => {
  test("contract §2 answers the link, once: only its hash is stored", async () => {
    const account = await createAccount(world);
    const before = Date.now();
    const names = await statementsOf(world, async () => {
      const { status, body } = await issue({ account_id: account.account_id });
      expect(status).toBe(200);
      expect(body).toEqual({
        ok: true,
        account_id: account.account_id,
        connection_id: account.connection_id,
        mandate_link: expect.stringMatching(/^http:\/\/api\.test\/pages\/mandate\/[0-9A-Za-z]{43}$/),
        expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        expires_in: 1_209_600,
        mandate_status: "pending",
        email_sent: false,
        mail_limit: false,
      });
      const lifetime = (Date.parse(body.expires_at) - before) / 1000;
      expect(lifetime).toBeGreaterThan(1_209_600 - 10);
      expect(lifetime).toBeLessThan(1_209_600 + 10);
      const row = await linkRow(body.mandate_link);
      expect(row).toMatchObject({
        locale: null,
        validity_years: null,
        return_url: REGISTERED,
        voided_at: null,
        used_at: null,
      });
      expect(JSON.stringify(row)).not.toContain(body.mandate_link.split("/").pop());
    });
    expect(names).toEqual(["issue_mandate_link"]);
  });

  test.each<[string, (account: Account) => object]>([
    ["account_id", ({ account_id }) => ({ account_id })],
    ["account_id in upper case", ({ account_id }) => ({ account_id: account_id.toUpperCase() })],
    ["cpo_external_ref", ({ account }) => ({ cpo_external_ref: ` ${account.cpo_external_ref} ` })],
    ["both", ({ account, account_id }) => ({ account_id, cpo_external_ref: account.cpo_external_ref })],
    ["all three", ({ account, ...ids }) => ({ ...ids, cpo_external_ref: account.cpo_external_ref })],
  ])("contract §2 the account is found by %s", async (_name, criteria) => {
    const account = await createAccount(world);
    expect((await issue(criteria(account))).body.connection_id).toBe(account.connection_id);
  });

  test.each([1, 3, 5])("contract §2 a mandate may be valid for %i years", async (validity_years) => {
    const { account_id, connection_id } = await createAccount(world);
    await signMandate(world, account_id, world.partnerA, validity_years);
    const { year, month } = await world.row(
      "select extract(year from private.today())::int as year, extract(month from private.today())::int as month",
    );
    const last = Math.max(year + validity_years - 1, month >= 11 ? year + 1 : year);
    const { body } = await world.get("/v1/accounts?limit=1", token);
    expect(body.accounts[0].connections[0]).toMatchObject({
      connection_id,
      mandate_valid_from: `${year}-01-01`,
      mandate_valid_until: `${last}-12-31`,
    });
  });

  test("contract §2 issuing does not change mandate_status, whatever it is", async () => {
    const { account_id, connection_id } = await createAccount(world);
    await signMandate(world, account_id);
    for (const status of ["revoked", "declined", "expired"]) {
      await world.row("update core.mandates set status = $2 where connection_id = $1", connection_id, status);
      expect((await issue({ account_id })).body.mandate_status).toBe(status);
      expect((await issue({ account_id })).body.mandate_status).toBe(status);
    }
  });
});

describe("contract §2 a newer link voids the older", () => {
  test("contract §2 of two made one after another the newer is open", async () => {
    const { account_id } = await createAccount(world);
    const links = [];
    for (let at = 0; at < 3; at++) links.push((await issue({ account_id })).body.mandate_link);
    expect(await Promise.all(links.map(stateOf))).toEqual(["voided", "voided", "open"]);
  });

  test("contract §2 of ten made at once one is left open", async () => {
    const { account_id } = await createAccount(world);
    const answers = await Promise.all(Array.from({ length: 10 }, () => issue({ account_id })));
    const states = await Promise.all(answers.map(({ body }) => stateOf(body.mandate_link)));
    expect(states.sort()).toEqual(["open", ...Array(9).fill("voided")]);
  });

  test("contract §2 a refused call voids nothing, nor does a link of another connection", async () => {
    const { account_id } = await createAccount(world);
    const { mandate_link } = (await issue({ account_id })).body;
    await issue({ account_id, return_url: "https://evil.example" });
    await issue({ account_id: (await createAccount(world)).account_id });
    expect(await stateOf(mandate_link)).toBe("open");
  });
});

describe("contract §2 send_email mails the link to the signatory", () => {
  const mailFor = (connection_id: string) =>
    world.mail(
      `join core.mandate_links l on m.cause = 'mandate_link:' || l.id where l.connection_id = $1`,
      connection_id,
    );

  test.each([
    ["nl", "partner-a"],
    ["en", "partner-a"],
  ])("contract §2 the sandbox captures it, in %s", async (locale, partner_name) => {
    const full_name = `Anna <b>& "Zoë" {{partner_name}}`;
    const { account_id, connection_id } = await createAccount(world, world.partnerA, {
      person: { full_name, email: "Anna@Example.nl" },
    });
    const { body } = await issue({ account_id, send_email: true, locale });
    expect(body.email_sent).toBe(true);
    expect((await linkRow(body.mandate_link)).locale).toBe(locale);
    const mail = await mailFor(connection_id);
    expect(mail).toMatchObject({
      partner_id: world.partnerA.id,
      template: "mandate_link",
      locale,
      recipient: "anna@example.nl",
      status: "captured",
      links: [body.mandate_link],
    });
    expect(mail.text).toContain(body.mandate_link);
    expect(mail.html).toContain(body.mandate_link);
    expect(mail.text, "a mark in a name is text").toContain(full_name);
    expect(mail.html, "what a person calls himself is text").not.toContain("<b>& ");
    for (const part of [mail.subject, mail.text, mail.html]) expect(part).toContain(partner_name);
  });

  test("contract §2 production queues it, to be sent by the worker", async () => {
    const production = await createWorld({ host: "production", variables: { EAN_REGISTER: "table" } });
    try {
      const { account_id } = await createAccount(production);
      const answer = await production.post(
        "/v1/mandate-links",
        { account_id, send_email: true },
        await production.partnerA.client.token(),
      );
      expect(answer.body.email_sent).toBe(true);
      const mails = await production.row(
        "select count(*)::int as n, min(status) as status, min(done_at) as done_at from core.mail_outbox",
      );
      expect(mails).toEqual({ n: 1, status: "queued", done_at: null });
    } finally {
      await production.close();
    }
  });

  test("contract §2 without an address it is signatory_email_missing: send the link yourself", async () => {
    const { account_id } = await createAccount(world, world.partnerA, { person: { full_name: "Jan Bos" } });
    await refused({ account_id, send_email: true }, 422, {
      error: "signatory_email_missing",
      detail: expect.stringContaining("send_email: false"),
    });
    expect((await issue({ account_id, send_email: false })).body).toMatchObject({ ok: true, email_sent: false });
  });

  test.each(["zakelijk", "vve"])(
    "contract §2 the mandate of a %s names the company, or there is no link",
    async (type) => {
      const nameless = [{ type }, { type, company: null }, { type, company: { kvk: "12345678" } }];
      for (const fields of nameless) {
        const { account_id } = await createAccount(world, world.partnerA, fields);
        await refused({ account_id }, 422, { error: "company_required", detail: expect.stringContaining("company") });
      }
      for (const named of [{ company: { name: "Korenaar B.V." } }, { display_name: "VvE Korenaar" }]) {
        const { account_id } = await createAccount(world, world.partnerA, { type, ...named });
        expect((await issue({ account_id })).body.ok).toBe(true);
      }
    },
  );
});

describe("contract §2 what else is refused", () => {
  test.each<[string, (one: Account, other: Account) => object]>([
    ["an unknown account", () => ({ account_id: MISSING })],
    ["an unknown reference", () => ({ cpo_external_ref: "nobody" })],
    [
      "ids that disagree",
      (one, other) => ({ account_id: one.account_id, cpo_external_ref: other.account.cpo_external_ref }),
    ],
    ["a connection's id for an account", (one) => ({ account_id: one.connection_id })],
  ])("contract §2 %s is refused with account_not_found", async (_name, criteria) => {
    const body = criteria(await createAccount(world), await createAccount(world));
    await refused(body, 404, { error: "account_not_found", detail: expect.any(String) });
  });

  test("contract §2 a connection_id that is unknown, another account's or archived is no_connection, which says which it is", async () => {
    const [{ account_id, connection_id }, other] = [await createAccount(world), await createAccount(world)];
    const noConnection = { error: "no_connection", detail: expect.any(String) };
    const notIts = { error: "no_connection", detail: expect.stringContaining("no connection with this connection_id") };
    await refused({ account_id, connection_id: other.connection_id }, 409, notIts);
    await refused({ account_id, connection_id: MISSING }, 409, notIts);
    await world.row("update core.connections set status = 'archived' where id = $1", connection_id);
    await refused({ account_id }, 409, noConnection);
    await refused({ account_id, connection_id }, 409, noConnection);
  });

  test("contract §2 ambiguous_connection, until connection_id picks one", async () => {
    const { account_id } = await createAccount(world);
    const second = await addConnection(world, account_id);
    await refused({ account_id }, 409, { error: "ambiguous_connection", detail: expect.any(String) });
    expect((await issue({ account_id, connection_id: second })).body.connection_id).toBe(second);
  });

  test("contract §2 a mandate that is signed is mandate_already_signed", async () => {
    const { account_id } = await createAccount(world);
    await signMandate(world, account_id);
    await refused({ account_id }, 409, { error: "mandate_already_signed", detail: expect.any(String) });
  });

  test("contract §1 fields are judged before ids, ids before states", async () => {
    const { account_id } = await createAccount(world, world.partnerA, { person: { full_name: "Jan Bos" } });
    await signMandate(world, account_id);
    const errorOf = async (body: object) => (await issue(body)).body.error;
    const all = { account_id: MISSING, return_url: "https://evil.example", send_email: true };
    expect(await errorOf({ ...all, validity_years: 2 })).toBe("invalid_request");
    expect(await errorOf(all)).toBe("return_url_not_allowed");
    expect(await errorOf({ ...all, return_url: null })).toBe("account_not_found");
    expect(await errorOf({ ...all, return_url: null, account_id })).toBe("mandate_already_signed");
  });

  test.each<[string, Record<string, unknown>]>([
    ["account_id", {}],
    ["account_id", { account_id: null, cpo_external_ref: " " }],
    ["account_id", { account_id: "12" }],
    ["cpo_external_ref", { cpo_external_ref: "a\u0000b" }],
    ["cpo_external_ref", { cpo_external_ref: 12 }],
    ["connection_id", { account_id: MISSING, connection_id: "x" }],
    ["locale", { account_id: MISSING, locale: "fr" }],
    ["locale", { account_id: MISSING, locale: "NL" }],
    ["validity_years", { account_id: MISSING, validity_years: 2 }],
    ["validity_years", { account_id: MISSING, validity_years: "3" }],
    ["send_email", { account_id: MISSING, send_email: "true" }],
    ["send_email", { account_id: MISSING, send_email: 1 }],
  ])("contract §1 the field %s is invalid_request as %j", (path, body) =>
    refused(body, 400, {
      error: "invalid_request",
      detail: expect.any(String),
      issues: [{ path, message: expect.any(String) }],
    }),
  );
});
