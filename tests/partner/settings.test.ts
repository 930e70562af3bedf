// GET /partner/me, /payouts, /dashboard, and what a managing person changes (contract section 4).

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openIban } from "#shared/values/iban.ts";
import { addCustomer, addDraft, createPartnerWorld, newEmail, type PartnerWorld } from "./partner_world.ts";

let world: PartnerWorld;
let manager: string;
beforeAll(async () => {
  world = await createPartnerWorld();
  manager = await world.manager(world.partnerA);
});
afterAll(() => world.close());

const me = async (key = world.keyA) => (await world.get("/partner/me", key)).body.partner;
const post = (path: string, body: object, token = manager) => world.post(`/partner/${path}`, body, token);

describe("reads", () => {
  test("contract §4 me: what a new partner has", async () => {
    expect(await me()).toEqual({
      id: world.partnerA.id,
      name: "partner-a",
      slug: "partner-a",
      is_active: true,
      referral_code: null,
      referral_url: null,
      return_url: "https://partner-a.example/klaar",
      default_fee_pct: 20,
      partner_share_pct: 25,
      company: { name: null, kvk: null, vat: null, street: null, house_number: null, postal_code: null, city: null },
      payout: { iban_masked: null, account_holder: null },
      branding: { display_name: null, logo_url: null, primary_color: null, reply_to: null },
      cap: { rolling_days: 30, rolling_cap: 1000, remaining: 1000 },
      api_key: {
        prefix: "ere_test_",
        last4: world.keyA.slice(-4),
        created_at: expect.any(String),
        last_used_at: expect.any(String),
      },
      clients: [expect.objectContaining({ client_id: world.partnerA.client.client_id, last_used_at: null })],
    });
  });

  test("contract §4 payouts: none while nothing is booked", async () => {
    expect((await world.get("/partner/payouts", world.keyA)).body).toEqual({ payouts: [] });
  });
});

describe("§4.2 company and branding", () => {
  test("what is sent replaces, null or empty clears, what is not sent stays; others are untouched", async () => {
    const company = { name: " Laadpunt  Zuid BV", kvk: "12345678", postal_code: "3818 lh" };
    expect((await post("company", company)).body.company).toMatchObject({
      name: "Laadpunt  Zuid BV",
      kvk: "12345678",
      postal_code: "3818LH",
      city: null,
    });
    expect((await post("company", { city: "Amersfoort", kvk: null, name: "" })).body.company).toMatchObject({
      name: null,
      kvk: null,
      postal_code: "3818LH",
      city: "Amersfoort",
    });
    expect((await me()).company).toMatchObject({ city: "Amersfoort" });
    expect((await me(world.keyB)).company.city).toBeNull();
    const branding = {
      display_name: "Laadpunt",
      logo_url: "https://cdn.laadpunt.nl/logo%20%22zuid%22.svg?v=1&a=(b)#c",
      primary_color: "#0B6B4F",
      reply_to: "Hallo@Laadpunt.nl",
    };
    expect((await post("branding", branding)).body).toEqual({
      ok: true,
      branding: { ...branding, reply_to: "hallo@laadpunt.nl" },
    });
    expect((await post("branding", {})).body.branding.display_name).toBe("Laadpunt");
  });

  test("contract §4 a color is kept as it was sent, and stays when something else is set", async () => {
    const color = async () => (await me()).branding.primary_color;
    await post("branding", { primary_color: "#FFD400" });
    await post("branding", { display_name: "Laadpunt" });
    expect(await color()).toBe("#FFD400");
    await post("branding", { primary_color: null });
    expect(await color()).toBeNull();
  });

  test.each<[string, object]>([
    ["company", { kvk: "1234567" }],
    ["company", { postal_code: "12" }],
    ["company", { name: "a\u0000b" }],
    ["branding", { logo_url: "http://cdn.laadpunt.nl/logo.svg" }],
    ["branding", { logo_url: "javascript:alert(1)" }],
    ...['"', "'", "`", "<", ">", " ", "\\"].map((sign): [string, object] => [
      "branding",
      { logo_url: `https://cdn.laadpunt.nl/logo.svg?${sign}onerror=` },
    ]),
    ["branding", { primary_color: "red" }],
    ["branding", { primary_color: "#0b6b4f; background: url(x)" }],
    ["branding", { reply_to: "a@b, c@d" }],
  ])("the settings of %s are refused with 400 and not stored as %j", async (path, body) => {
    const before = await me();
    const answer = await post(path, body);
    expect(answer).toMatchObject({ status: 400, body: { error: "invalid_request" } });
    expect(answer.body.issues, "said once").toHaveLength(1);
    expect({ ...(await me()), api_key: null }).toEqual({ ...before, api_key: null });
  });
});

describe("payout IBAN", () => {
  test.each([
    "NL91ABNA0417164300",
    "nl91 abna 0417 1643 00",
    "DE89370400440532013000",
    "BE68539007547034",
    "GB29NWBK60161331926819",
  ])(
    "contract §4 the IBAN %s is stored sealed, shown by its last four, and every manager is told by mail",
    async (iban) => {
      await world.row(
        "update core.partners set iban_ciphertext = null, iban_key_id = null, iban_last4 = null, iban_holder = null where id = $1 returning 1",
        world.partnerA.id,
      );
      await world.row("delete from core.mail_outbox");
      const { body } = await post("payout-iban", { iban, account_holder: "Laadpunt <Zuid>" });
      const last4 = iban.slice(-5).replace(/\s/g, "").slice(-4);
      expect(body).toEqual({
        ok: true,
        payout: { iban_masked: `**** ${iban.replace(/\s/g, "").slice(-4)}`, account_holder: "Laadpunt <Zuid>" },
      });
      const stored = await world.row(
        "select iban_ciphertext as ciphertext, iban_key_id as key_id from core.partners where id = $1",
        world.partnerA.id,
      );
      expect(openIban(world.environment, world.partnerA.id, stored)).toBe(iban.replace(/\s/g, "").toUpperCase());
      const rows = await world.mails();
      expect(rows).toHaveLength(1);
      expect(rows[0]).toMatchObject({ template: "iban_changed", partner_id: world.partnerA.id });
      expect(rows[0].text).toContain(`**** ${last4}`);
      expect(rows[0].html).not.toMatch(/\{\{|<Zuid>/);
      expect(JSON.stringify([rows[0], world.log])).not.toContain(iban.replace(/\s/g, "").slice(4, -4));
    },
  );

  test("contract §4 the same account again, however it is written, changes nothing and mails nobody; another holder is mailed", async () => {
    await post("payout-iban", { iban: "BE68539007547034", account_holder: "Zuid" });
    const account = () =>
      world.row(
        "select iban_ciphertext, iban_changed_at, iban_holder from core.partners where id = $1",
        world.partnerA.id,
      );
    const before = await account();
    await world.row("delete from core.mail_outbox");
    const again = await post("payout-iban", { iban: "be68 5390 0754 7034", account_holder: "Zuid" });
    expect([again.status, again.body.payout.iban_masked]).toEqual([200, "**** 7034"]);
    expect(await account()).toEqual(before);
    expect(await world.mails()).toEqual([]);
    await post("payout-iban", { iban: "BE68539007547034", account_holder: "Noord" });
    expect(await account()).toEqual({ ...before, iban_holder: "Noord" });
    expect(await world.mails()).toHaveLength(1);
  });

  test.each([
    "NL92ABNA0417164300",
    "NL91ABNA041716430",
    "XX91ABNA0417164300",
    "",
    null,
    7,
    "0417164300",
    "NL91ABNA0417164300NL91ABNA0417164300",
  ])("contract §4 the IBAN %j is refused with 400 invalid_iban; nothing is changed and nobody mailed", async (iban) => {
    const before = (await me()).payout;
    await world.row("delete from core.mail_outbox");
    expect(await post("payout-iban", { iban, account_holder: "Eva" })).toMatchObject({
      status: 400,
      body: { error: "invalid_iban" },
    });
    expect((await me()).payout).toEqual(before);
    expect(await world.row("select 1 from core.mail_outbox")).toBeUndefined();
  });
});

describe("API keys", () => {
  test("contract §4 a key is shown once; with one active: 409 api_key_exists, unless rotated, which ends the old one at once", async () => {
    const first = world.keyA;
    expect(await post("api-keys", {})).toMatchObject({ status: 409, body: { error: "api_key_exists" } });
    expect((await world.get("/partner/me", first)).status).toBe(200);
    const { body } = await post("api-keys", { rotate: true });
    expect(body).toEqual({
      ok: true,
      api_key: expect.stringMatching(/^ere_test_[0-9A-Za-z]{43}$/),
      prefix: "ere_test_",
      last4: body.api_key.slice(-4),
      created_at: expect.any(String),
    });
    expect([
      (await world.get("/partner/me", first)).status,
      (await world.get("/partner/me", body.api_key)).status,
    ]).toEqual([401, 200]);
    expect((await post("api-keys/revoke", {})).body).toEqual({ ok: true, revoked: true });
    expect((await world.get("/partner/me", body.api_key)).status).toBe(401);
    expect((await post("api-keys/revoke", {})).body).toEqual({ ok: true, revoked: false });
    const again = await post("api-keys", {});
    expect((await world.get("/partner/me", again.body.api_key)).status).toBe(200);
    world.keyA = again.body.api_key;
  });

  test("§8 ten minted at once: one active key is left, whether rotated or not", async () => {
    await post("api-keys/revoke", {});
    const answers = await Promise.all(Array.from({ length: 10 }, () => post("api-keys", {})));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)]);
    const rotated = await Promise.all(Array.from({ length: 10 }, () => post("api-keys", { rotate: true })));
    expect(rotated.map(({ status }) => status)).toEqual(Array(10).fill(200));
    const working = [];
    for (const { body } of rotated)
      if ((await world.get("/partner/me", body.api_key)).status === 200) working.push(body.api_key);
    expect(working).toHaveLength(1);
    world.keyA = working[0];
  });
});

describe("§4.2 invites", () => {
  test("contract §4 each address gets a draft without details and a mail with the message in it", async () => {
    const email = newEmail();
    const { body } = await post("invites", {
      emails: [email, "geen adres", email],
      message: "Doe mee!\r\n\r\n<b>{{claim_url}}</b>",
    });
    expect(body).toMatchObject({ added: 1, skipped: { invalid: 1, already_drafted: 1 } });
    expect(await world.row("select source, type, name, send_invite from core.drafts where email = $1", email)).toEqual({
      source: "invite",
      type: "particulier",
      name: null,
      send_invite: true,
    });
    const { html, text } = await world.mail("where recipient = $1", email);
    expect(text, "the lines of a message stay").toContain("Doe mee!\n\n<b>");
    expect(html).toMatch(/white-space: pre-line">[^<]*Doe mee!\n\n&lt;b&gt;/);
    expect(text, "nobody is greeted by an e-mail address").toContain("Beste heer of mevrouw,");
    expect(html).not.toContain("<b>");
    expect(text.match(/\/claim\//g)).toHaveLength(1);
  });

  test("a message with control characters, or over 1,000: 400", async () => {
    for (const message of ["a\u0000b", "a\u001bb", "x".repeat(1001), 7])
      expect((await post("invites", { emails: [newEmail()], message })).status).toBe(400);
  });

  test.each([[[]], [Array(101).fill("a@voorbeeld.nl")], ["a@voorbeeld.nl"], [[7]], [null]])(
    "emails are refused with 400 as %j",
    async (emails) => {
      expect(await post("invites", { emails })).toMatchObject({ status: 400, body: { error: "invalid_request" } });
    },
  );
});

// last: it stops the clock, and tokens issued before would come from its future
describe("dashboard", () => {
  test("contract §4 dashboard: counted from real rows, from the month each customer was attached, by hand", async () => {
    await world.travel("2026-11-20T12:00:00Z");
    const empty = (await world.get("/partner/dashboard", world.keyB)).body;
    expect(empty).toEqual({
      as_of: "2026-11-20T12:00:00Z",
      customers_total: 0,
      customers_active: 0,
      drafts: { invited: 0, claimed: 0, expired: 0, conflict: 0, active: 0 },
      chargers_total: 0,
      kwh_total: 0,
      kwh_this_month: 0,
      ere_estimated: 0,
      partner_share_estimated_eur: 0,
      months: [],
    });
    // delivered in September, October and November; attached in October
    await addCustomer(world, world.partnerB, "partner_upload", { kwh: 100 });
    const unsigned = await addCustomer(world, world.partnerB, "manual", { kwh: 10 });
    await world.row(
      "delete from core.mandates where connection_id = (select c.id from core.connections c join core.accounts a on a.id = c.account_id where a.user_id = $1)",
      unsigned,
    );
    await addCustomer(world, world.partnerA, "manual", { kwh: 1000 });
    const { draft_id } = await addDraft(world, {}, world.keyB);
    await addDraft(world, {}, world.keyB);
    await world.row("update core.drafts set expires_at = '2026-11-20T11:59:59Z' where id = $1", draft_id);
    expect((await world.get("/partner/dashboard", world.keyB)).body).toEqual({
      as_of: "2026-11-20T12:00:00Z",
      customers_total: 2,
      customers_active: 1,
      drafts: { invited: 1, claimed: 0, expired: 1, conflict: 0, active: 0 },
      chargers_total: 2,
      kwh_total: 220,
      kwh_this_month: 110,
      ere_estimated: 66.54, // 200 x 0.505 x 183 x 3.6 / 1000
      partner_share_estimated_eur: 0,
      months: [
        { month: "2026-11", kwh: 110, ere_credits: 33.27, active_customers: 2 },
        { month: "2026-10", kwh: 110, ere_credits: 33.27, active_customers: 2 },
      ],
    });
  });
});
