import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openIban } from "#shared/values/iban.ts";
import { MID_CHARGER } from "../harness/chargers.ts";
import { signMandate } from "../harness/mandate.ts";
import { accountBody, createAccount } from "../harness/people.ts";
import { createWorld, rowCounts, type World } from "../harness/world.ts";

let world: World;
let token: string;
beforeAll(async () => {
  world = await createWorld({ limits: "lifted" });
  token = await world.partnerA.client.token();
});
afterAll(() => world.close());

const IBAN = "NL91ABNA0417164300";
const create = (iban: unknown) => world.post("/v1/accounts", accountBody({ iban }), token);
const kept = (account: string) =>
  world.row(
    `select partner_id, iban_ciphertext as ciphertext, iban_key_id as key_id, iban_last4 as last4
       from core.accounts where id = $1`,
    account,
  );

/** The tables of core in which a row holds one of these texts, in any column, in any case. */
async function tablesHolding(...texts: string[]): Promise<string[]> {
  const { rows } = await world.database.admin.query<{ name: string }>(
    "select c.oid::regclass::text as name from pg_class c where c.relnamespace = 'core'::regnamespace and c.relkind = 'r'",
  );
  const found = [];
  for (const { name } of rows) {
    const { held } = await world.row(
      `select exists (select from ${name} t, unnest($1::text[]) x where strpos(lower(t::text), lower(x)) > 0) as held`,
      texts,
    );
    if (held) found.push(name);
  }
  return found;
}

describe("§4.1 an IBAN is 15 to 34 letters and digits once spaces are gone, without a checksum", () => {
  test.each([
    ["upper case", IBAN, IBAN],
    ["spaces, lower case", " nl91 abna 0417 1643 00\t", IBAN],
    ["no-break spaces", "NL91\u00a0ABNA\u00a00417\u00a01643\u00a000", IBAN],
    ["a wrong checksum", "NL00ABNA0417164300", "NL00ABNA0417164300"],
    ["15 characters", "NO9386011117947", "NO9386011117947"],
    ["34 characters", `XX00${"A1".repeat(15)}`, `XX00${"A1".repeat(15)}`],
  ])("§4.1 an IBAN in %s is stored", async (_name, sent, clear) => {
    const { status, body } = await create(sent);
    expect([status, body.iban_stored]).toEqual([200, true]);
    expect(body.iban_checksum_ok, "told, and stored all the same").toBe(/^(NL91|NO93)/.test(clear));
    const sealed = await kept(body.account_id);
    expect(openIban(world.environment, world.partnerA.id, sealed)).toBe(clear);
    expect(sealed.last4).toBe(clear.slice(-4));
  });

  test.each([
    ["absent", undefined],
    ["null", null],
    ["empty", ""],
    ["blank", "  "],
  ])("§4.1 an IBAN that is %s can be added later, by a repeat", async (_name, sent) => {
    const { body } = await create(sent);
    expect(body.iban_stored).toBe(false);
    const again = { cpo_external_ref: body.account.cpo_external_ref };
    expect((await world.post("/v1/accounts", { ...again, iban: IBAN }, token)).body.iban_stored).toBe(true);
    const third = await world.post("/v1/accounts", { ...again, iban: sent }, token);
    expect(third.body.iban_stored, "no IBAN in a repeat leaves the stored one").toBe(true);
    expect(openIban(world.environment, world.partnerA.id, await kept(body.account_id))).toBe(IBAN);
  });

  test.each([
    ["14 characters", "NL91ABNA041716"],
    ["35 characters", "A".repeat(35)],
    ["punctuation", "NL91-ABNA-0417-1643-00"],
    ["letters of another script", "ΝL91ABNA0417164300"],
    ["a number", 910417164300417],
    ["an object", { value: IBAN }],
    ["a list", [IBAN]],
    ["false", false],
    ["SQL", "NL91ABNA'; drop table core.accounts"],
  ])("contract §2 an IBAN of %s is invalid_iban, and nothing is stored", async (_name, sent) => {
    const before = await rowCounts(world, "accounts", "connections", "ean_checks");
    const { status, body } = await create(sent);
    expect([status, body]).toEqual([
      400,
      {
        error: "invalid_iban",
        detail: "Send an IBAN of 15 to 34 letters and digits. Nothing was changed.",
        request_id: expect.anything(),
      },
    ]);
    expect(await rowCounts(world, "accounts", "connections", "ean_checks")).toEqual(before);
  });

  test("contract §2 a repeat with an invalid IBAN changes nothing, with a valid one replaces it", async () => {
    const { account_id, account } = await createAccount(world);
    const before = await kept(account_id);
    const repeat = (iban: string) => world.post("/v1/accounts", { ...accountBody({ iban }), ...account }, token);
    expect((await repeat("NL91")).body.error).toBe("invalid_iban");
    expect(await kept(account_id)).toEqual(before);
    expect((await repeat("DE89370400440532013000")).body).toMatchObject({ account_id, idempotent: true });
    expect((await kept(account_id)).last4).toBe("3000");
    const { n } = await world.row(
      "select count(*)::int as n from core.audit_log where action = 'account.iban_stored' and subject_id = $1",
      account_id,
    );
    expect(n).toBe(1);
  });
});

describe("contract §2 an IBAN is encrypted before it reaches the database", () => {
  test("contract §2 it opens under its own tenant only, untouched only, with the key it names", async () => {
    const { body } = await create(IBAN);
    const sealed = await kept(body.account_id);
    expect(() => openIban(world.environment, world.partnerB.id, sealed)).toThrow();
    const bytes = Buffer.from(sealed.ciphertext, "base64");
    bytes[14] = (bytes[14] ?? 0) ^ 1;
    expect(() =>
      openIban(world.environment, sealed.partner_id, { ...sealed, ciphertext: bytes.toString("base64") }),
    ).toThrow();
    expect(() => openIban(world.environment, sealed.partner_id, { ...sealed, key_id: "gone" })).toThrow("gone");
  });

  test("contract §2 equal IBANs do not look equal", async () => {
    const [one, two] = [await create(IBAN), await create(IBAN)];
    expect((await kept(one.body.account_id)).ciphertext).not.toBe((await kept(two.body.account_id)).ciphertext);
  });

  test("contract §2 a new key seals what comes, the old one still opens what was", async () => {
    const old = await create(IBAN);
    const { IBAN_KEYS } = world.environment.config;
    IBAN_KEYS.keys.next = randomBytes(32).toString("base64");
    IBAN_KEYS.current = "next";
    const young = await create(IBAN);
    const sealed = [await kept(old.body.account_id), await kept(young.body.account_id)];
    expect(sealed.map(({ key_id }) => key_id)).toEqual(["test", "next"]);
    expect(sealed.map((one) => openIban(world.environment, world.partnerA.id, one))).toEqual([IBAN, IBAN]);
  });

  test("contract §2 after a whole story no answer, no log line and no column of any table holds it", async () => {
    const clear = "NL02RABO0123456789";
    const spaced = "NL02 RABO 0123 4567 89";
    const answers: unknown[] = [];
    const tell = async (path: string, body?: unknown) => {
      const answer = await world.send(path, { token, body });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      answers.push(answer.body);
      return answer.body;
    };
    const body = accountBody({ iban: spaced });
    const { account_id } = await tell("/v1/accounts", body);
    await tell("/v1/accounts", body);
    await signMandate(world, account_id);
    await tell("/v1/chargers", { account_id, ...MID_CHARGER });
    await tell("/v1/sessions:batch", { account_id, months: [{ period: "2026-01", total_kwh: 1 }] });
    await tell("/v1/connections:update", {
      account_id,
      connection: { city: "Elders" },
      acknowledge_mandate_lapses: true,
    });
    await tell("/v1/mandate-links", { account_id, send_email: true });
    await tell("/v1/accounts");
    await tell("/v1/ere-positions");
    await world.post("/v1/accounts", accountBody({ iban: `${clear}!` }), token);

    const forms = [
      clear,
      spaced,
      ...["utf8", "utf16le"].flatMap((encoding) =>
        [Buffer.from(clear, encoding as BufferEncoding)].flatMap((bytes) => [
          bytes.toString("base64"),
          bytes.toString("hex"),
        ]),
      ),
    ];
    for (const text of [JSON.stringify(answers), JSON.stringify(world.log)]) {
      expect(forms.filter((form) => text.toLowerCase().includes(form.toLowerCase()))).toEqual([]);
    }
    expect(await tablesHolding(...forms)).toEqual([]);
    const { connection } = body as { connection: { ean_code: string } };
    expect(await tablesHolding(connection.ean_code), "the search would have found it").toContain("core.connections");
  });
});

describe("§4.1 an account number that a client gives again", () => {
  const changed = (account: string) =>
    world.row(
      "select iban_changed_at::text as at, iban_ciphertext as sealed from core.accounts where id = $1",
      account,
    );
  const told = async (account: string) =>
    (
      await world.database.admin.query(
        "select details from core.notices where account_id = $1 and kind = 'payout_iban_changed' order by id",
        [account],
      )
    ).rows.map(({ details }) => details.iban_last4);

  test.each([
    ["a whole body", {}],
    ["a body of which the rest is broken", { person: "x" }],
  ])(
    "§4.1 contract §3 the same one, in %s, stays as it is: no payout waits for it again, and nobody is told",
    async (_, rest) => {
      const body = accountBody({ iban: IBAN });
      const { account_id } = (await world.post("/v1/accounts", body, token)).body;
      await signMandate(world, account_id);
      const before = await changed(account_id);
      const again = await world.post("/v1/accounts", { ...body, ...rest, iban: "nl91 abna 0417 1643 00" }, token);
      expect([again.status, again.body.idempotent]).toEqual([200, true]);
      expect([await changed(account_id), await told(account_id)]).toEqual([before, []]);
    },
  );

  test("§4.1 contract §3 whoever has a client's key and moves a customer's payouts: the signatory is told, and 48 hours begin", async () => {
    const body = accountBody({ iban: IBAN });
    const { account_id } = (await world.post("/v1/accounts", body, token)).body;
    // nobody has signed: to whom it would be news
    await world.post("/v1/accounts", { ...body, iban: "NL20INGB0001234567" }, token);
    expect(await told(account_id)).toEqual([]);
    await signMandate(world, account_id);
    await world.row("update core.accounts set iban_changed_at = '2026-01-01' where id = $1", account_id);
    // the same last characters are not the same number
    for (const iban of ["DE89370400440532014567", IBAN]) {
      const before = await changed(account_id);
      await world.post("/v1/accounts", { ...body, iban }, token);
      expect(openIban(world.environment, world.partnerA.id, await kept(account_id))).toBe(iban);
      expect((await changed(account_id)).at).not.toBe(before.at);
    }
    expect((await told(account_id)).sort()).toEqual(["4300", "4567"]);
  });

  test("§4.1 contract §3 what the CPO is paid for its customers is the CPO's to know", async () => {
    const body = accountBody({ iban: IBAN, payout_handler: "via_cpo_invoicing" });
    const { account_id } = (await world.post("/v1/accounts", body, token)).body;
    await signMandate(world, account_id);
    await world.post("/v1/accounts", { ...body, iban: "NL20INGB0001234567" }, token);
    expect(await told(account_id)).toEqual([]);
  });
});
