import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accountBody, createAccount } from "../harness/people.ts";
import { createWorld, rowCounts, type World } from "../harness/world.ts";

let world: World;
let token: string;
beforeAll(async () => {
  world = await createWorld({ limits: "lifted" });
  token = await world.partnerA.client.token();
});
afterAll(() => world.close());

const post = (body: unknown) => world.post("/v1/accounts", body, token);
const stored = () => rowCounts(world, "accounts", "signatories", "connections", "locations");
const UUID = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
/** 120 characters of which each takes two UTF-16 units. */
const LONG = "⚡️🔌".repeat(40);

describe("§4.1 POST /v1/accounts creates a concept account", () => {
  test("§4.1 answers the account, its connection and its location, and never the IBAN", async () => {
    const body = accountBody({
      type: "zakelijk",
      display_name: "Bakkerij De Korst",
      payout_handler: "via_cpo_invoicing",
      company: { name: "Bakkerij De Korst B.V.", kvk: "12345678", vat: "NL001234567B01" },
    });
    const { status, body: answer } = await post(body);
    expect(status).toBe(200);
    expect(answer).toEqual({
      ok: true,
      idempotent: false,
      account_id: UUID,
      connection_id: UUID,
      location_id: UUID,
      ean_validation_status: "matched",
      iban_stored: true,
      iban_checksum_ok: true,
      mandate_status: "pending",
      account: {
        id: answer.account_id,
        type: "zakelijk",
        display_name: "Bakkerij De Korst",
        payout_handler: "via_cpo_invoicing",
        cpo_external_ref: body.cpo_external_ref,
        created_at: TIME,
      },
    });
    const { company } = await world.row("select company from core.accounts where id = $1", answer.account_id);
    expect(company).toEqual({ name: "Bakkerij De Korst B.V.", kvk: "12345678", vat: "NL001234567B01" });
  });

  test("§2 only a signatory's name and a connection are required: the rest has its default", async () => {
    const { connection } = accountBody();
    const { body } = await post({ person: { full_name: "Jo" }, connection });
    expect(body).toMatchObject({
      iban_stored: false,
      account: {
        type: "particulier",
        payout_handler: "service_pays_customer",
        display_name: null,
        cpo_external_ref: null,
      },
    });
    expect(await world.row("select * from core.signatories where account_id = $1", body.account_id)).toMatchObject({
      full_name: "Jo",
      email: null,
      phone: null,
    });
  });

  test("§4.1 a concept account has no mandate, does not count and is registered as concept", async () => {
    const { account } = await createAccount(world);
    const { body } = await world.get(`/v1/accounts?cpo_external_ref=${account.cpo_external_ref}`, token);
    expect(body.accounts[0]).toEqual({
      ...account,
      account_id: expect.anything(),
      access_channel: "cpo_api",
      iban_checksum_ok: true,
      payment_returned_on: null,
      signatory: {
        full_name: "Sanne de Vries",
        email: "sanne@example.nl",
        mail_failed_at: null,
        mail_failed_reason: null,
      },
      connections: [
        {
          connection_id: UUID,
          ean_code: expect.stringMatching(/^\d{18}$/),
          status: "active",
          registration_status: "concept",
          ean_validation_status: "matched",
          mandate_status: "pending",
          mandate_valid_from: null,
          mandate_valid_until: null,
          mandate_renewed_until: null,
          mandate_signed_at: null,
        },
      ],
    });
    const positions = await world.get(`/v1/ere-positions?cpo_external_ref=${account.cpo_external_ref}`, token);
    expect(positions.body.positions[0].ere_eligible).toBe(false);
  });

  test("§9.2 unknown fields are ignored, at every depth", async () => {
    const body = accountBody({
      surprise: 1,
      access_channel: "partner",
      created_at: "2020-01-01",
      __proto__: { type: 1 },
    });
    const { status, body: answer } = await post({
      ...body,
      person: { ...(body.person as object), surprise: { deep: [] } },
      connection: { ...(body.connection as object), status: "archived", ean_validation_status: "manual" },
    });
    expect([status, answer.ean_validation_status]).toEqual([200, "matched"]);
  });

  test("§2 location_id is the address: shared by a tenant's connections there, however it is written", async () => {
    const at = (postal_code: string, house_number: unknown, house_number_addition?: string) => ({
      connection: { ...(accountBody().connection as object), postal_code, house_number, house_number_addition },
    });
    const first = await createAccount(world, world.partnerA, at("1017 ab", "4-a"));
    const same = await createAccount(world, world.partnerA, at("1017AB", 4, "A"));
    const neighbor = await createAccount(world, world.partnerA, at("1017AB", 4, "B"));
    const elsewhere = await createAccount(world, world.partnerB, at("1017AB", "4A"));
    expect(same.location_id).toBe(first.location_id);
    expect(new Set([first, neighbor, elsewhere].map(({ location_id }) => location_id)).size).toBe(3);
  });
});

describe("§8 cpo_external_ref and display_name are trimmed to 120 characters, never refused for their length", () => {
  test.each([
    ["spaces around", "  KL 1\t\n", "KL 1"],
    ["121 letters", "a".repeat(121), "a".repeat(120)],
    ["a space at the cut", `${"b".repeat(119)} c`, "b".repeat(119)],
    ["emoji at the cut", `${LONG.repeat(2)}`, Array.from(LONG.repeat(2)).slice(0, 120).join("")],
    ["200,000 characters", "d".repeat(200_000), "d".repeat(120)],
    ["other scripts", "Škoda — Ελλάδα — 日本 — ‏עברית", "Škoda — Ελλάδα — 日本 — ‏עברית"],
  ])("§8 a name with %s is kept as far as it goes", async (_name, sent, kept) => {
    const { body } = await post(accountBody({ cpo_external_ref: sent, display_name: sent }));
    expect(body.account).toMatchObject({ cpo_external_ref: kept, display_name: kept });
    const found = await world.get(`/v1/accounts?cpo_external_ref=${encodeURIComponent(sent.slice(0, 1000))}`, token);
    expect(found.body.accounts.map((account: { id: string }) => account.id)).toEqual([body.account_id]);
    const again = await post({ cpo_external_ref: sent });
    expect(again.body, "the same reference, cut the same way").toMatchObject({
      idempotent: true,
      account_id: body.account_id,
    });
  });

  test.each([
    ["absent", undefined],
    ["null", null],
    ["empty", ""],
    ["blank", " \t "],
  ])("contract §2 a reference that is %s is none: every call creates", async (_name, cpo_external_ref) => {
    const first = await createAccount(world, world.partnerA, { cpo_external_ref });
    const second = await createAccount(world, world.partnerA, { cpo_external_ref });
    expect(first.account.cpo_external_ref).toBeNull();
    expect(second.account_id).not.toBe(first.account_id);
  });
});

describe("§4.1 cpo_external_ref is the idempotency key", () => {
  test("§4.1 a repeat answers the existing account and ignores the rest of the body", async () => {
    const body = accountBody();
    const first = await post(body);
    const before = await stored();
    const again = await post({
      ...accountBody(),
      cpo_external_ref: body.cpo_external_ref,
      iban: undefined,
      type: "vve",
      person: { full_name: "Somebody Else" },
    });
    expect(again.body).toEqual({ ...first.body, idempotent: true });
    expect(await stored()).toEqual(before);
  });

  const broken: [string, Record<string, unknown>][] = [
    ["nothing else", {}],
    ["no person", { connection: accountBody().connection }],
    ["a broken EAN", { connection: { ean_code: "1" } }],
    [
      "wrong types everywhere",
      { type: 7, display_name: [], payout_handler: {}, person: "x", connection: null, company: 3 },
    ],
    [
      "an EAN that is in use",
      { connection: { ean_code: "871687000000000054", postal_code: "1234AB", house_number: 1 } },
    ],
    [
      "an EAN at another address",
      { connection: { ean_code: "871687000000000030", postal_code: "1234AB", house_number: 1 } },
    ],
  ];
  test.each(broken)("contract §9 a repeat is recognised before the rest is judged: %s", async (_name, rest) => {
    const body = accountBody({ iban: null });
    const first = await post(body);
    const iban = "NL20INGB0001234567";
    const again = await post({ ...rest, cpo_external_ref: body.cpo_external_ref, iban });
    expect(again.body).toEqual({ ...first.body, idempotent: true, iban_stored: true, iban_checksum_ok: true });
    const refused = await post({ ...rest, cpo_external_ref: body.cpo_external_ref, iban: "NL20" });
    expect([refused.status, refused.body.error]).toEqual([400, "invalid_iban"]);
    const { iban_last4 } = await world.row("select iban_last4 from core.accounts where id = $1", first.body.account_id);
    expect(iban_last4, "the refused one changed nothing").toBe("4567");
  });

  test("contract §9 a broken body with a reference that is not known is judged as any other", async () => {
    const before = await stored();
    const { status, body } = await post({ cpo_external_ref: "never seen", iban: "NL20" });
    expect([status, body.error]).toEqual([400, "invalid_request"]);
    expect(await stored()).toEqual(before);
  });

  test("§9.6 a repeat answers the current mandate_status", async () => {
    const { account_id, connection_id, account } = await createAccount(world);
    await world.row(
      `with l as (insert into core.mandate_links (partner_id, connection_id, owner_id, token_hash, locale, validity_years, expires_at, used_at)
                  select partner_id, id, owner_id, sha256('x'), 'nl', 1, now(), now() from core.connections where partner_id = $1 and id = $2 returning *)
       insert into core.mandates (partner_id, connection_id, owner_id, link_id, status) select partner_id, connection_id, owner_id, id, 'declined' from l`,
      world.partnerA.id,
      connection_id,
    );
    const again = await post({ cpo_external_ref: account.cpo_external_ref });
    expect(again.body).toMatchObject({ account_id, mandate_status: "declined" });
  });

  test("contract §2 ten first calls at once make one account and get one answer", async () => {
    const body = accountBody();
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(body)));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(new Set(answers.map((answer) => answer.body.account_id)).size).toBe(1);
    expect(answers.filter((answer) => !answer.body.idempotent)).toHaveLength(1);
    const { n } = await world.row(
      "select count(*)::int as n from core.accounts where cpo_external_ref = $1",
      body.cpo_external_ref,
    );
    expect(n).toBe(1);
  });

  test("contract §2 the reference is unique per client: another client of the same partner has its own account", async () => {
    const colleague = await world.addClient(world.partnerA.id);
    const mine = await createAccount(world);
    const { cpo_external_ref } = mine.account;
    const theirs = await createAccount(world, { id: world.partnerA.id, client: colleague }, { cpo_external_ref });
    const foreign = await createAccount(world, world.partnerB, { cpo_external_ref });
    expect(new Set([mine, theirs, foreign].map(({ account_id }) => account_id)).size).toBe(3);
    expect((await post({ cpo_external_ref })).body.account_id).toBe(mine.account_id);
  });
});
