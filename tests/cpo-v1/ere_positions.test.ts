import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MID_CHARGER } from "../harness/chargers.ts";
import { addConnection } from "../harness/connections.ts";
import { signMandate } from "../harness/mandate.ts";
import { accountBody, createAccount, type Partner } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld({ limits: "lifted", now: "2026-11-20T09:00:00Z" });
});
afterAll(() => world.close());

const list = async (query: Record<string, string> = {}, partner: Partner = world.partnerA) =>
  (await world.get(`/v1/ere-positions?${new URLSearchParams(query)}`, await partner.client.token("cpo:accounts:read")))
    .body;
const position = async (cpo_external_ref: string) => {
  const { positions } = await list({ cpo_external_ref });
  expect(positions).toHaveLength(1);
  return positions[0];
};
const register = async (account_id: string, fields: Record<string, unknown> = {}) =>
  (await world.post("/v1/chargers", { account_id, ...MID_CHARGER, ...fields }, await world.partnerA.client.token()))
    .body;
const deliver = async (account_id: string, months: [string, number][], connection_id?: string) =>
  world.post(
    "/v1/sessions:batch",
    { account_id, connection_id, months: months.map(([period, total_kwh]) => ({ period, total_kwh })) },
    await world.partnerA.client.token(),
  );
type Gates = {
  mandate_signed: boolean;
  ean_validated: boolean;
  mid_charger_registered: boolean;
  iban_present: boolean;
};
/** An account on which exactly these gates hold. */
async function accountWith(gates: Gates) {
  const body = accountBody(gates.iban_present ? {} : { iban: null });
  if (!gates.ean_validated) Object.assign(body.connection as object, { ean_code: "871687000000000023" });
  const account = await createAccount(world, world.partnerA, body);
  if (gates.mandate_signed) await signMandate(world, account.account_id);
  if (gates.mid_charger_registered) await register(account.account_id);
  return account;
}

describe("§1 the four gates", () => {
  const combinations: Gates[] = Array.from({ length: 16 }, (_, bits) => ({
    mandate_signed: Boolean(bits & 1),
    ean_validated: Boolean(bits & 2),
    mid_charger_registered: Boolean(bits & 4),
    iban_present: Boolean(bits & 8),
  }));
  test.each(combinations)(
    "§1 mandate $mandate_signed, EAN $ean_validated, MID charger $mid_charger_registered, IBAN $iban_present",
    async (gates) => {
      const { account } = await accountWith(gates);
      const { checklist, ere_eligible, mandate_valid_from } = await position(account.cpo_external_ref);
      expect(checklist).toEqual(gates);
      expect(ere_eligible).toBe(Object.values(gates).every(Boolean));
      expect(mandate_valid_from).toBe(gates.mandate_signed ? "2026-01-01" : null);
    },
  );

  const all: Gates = { mandate_signed: true, ean_validated: true, mid_charger_registered: true, iban_present: true };
  const changes: [string, (account: { account_id: string; connection_id: string }) => Promise<unknown>, keyof Gates][] =
    [
      [
        "a revoked mandate",
        ({ connection_id }) =>
          world.row("update core.mandates set status = 'revoked' where connection_id = $1", connection_id),
        "mandate_signed",
      ],
      [
        "an EAN found elsewhere",
        ({ connection_id }) =>
          world.row("update core.connections set ean_validation_status = 'mismatch' where id = $1", connection_id),
        "ean_validated",
      ],
      [
        "an EAN not checked yet",
        ({ connection_id }) =>
          world.row("update core.connections set ean_validation_status = null where id = $1", connection_id),
        "ean_validated",
      ],
      [
        "a removed charger",
        ({ account_id }) =>
          world.row(
            "update core.chargers set status = 'removed', removed_at = private.now() where account_id = $1",
            account_id,
          ),
        "mid_charger_registered",
      ],
      [
        "a charger whose meter is in doubt",
        ({ account_id }) => world.row("update core.chargers set mid_eligible = null where account_id = $1", account_id),
        "mid_charger_registered",
      ],
      [
        "a charger without MID meter",
        ({ account_id }) =>
          world.row("update core.chargers set mid_eligible = false where account_id = $1", account_id),
        "mid_charger_registered",
      ],
      [
        "an IBAN taken away",
        ({ account_id }) =>
          world.row(
            "update core.accounts set iban_ciphertext = null, iban_key_id = null, iban_last4 = null where id = $1",
            account_id,
          ),
        "iban_present",
      ],
    ];
  test.each(changes)("§1 %s closes its gate, and no other", async (_what, change, gate) => {
    const account = await accountWith(all);
    await change(account);
    const { checklist, ere_eligible } = await position(account.account.cpo_external_ref);
    expect([checklist, ere_eligible]).toEqual([{ ...all, [gate]: false }, false]);
  });

  test("contract §2 an EAN an operator judged by hand opens the gate as a matched one does", async () => {
    const { account, connection_id } = await accountWith({ ...all, ean_validated: false });
    await world.row("update core.connections set ean_validation_status = 'manual' where id = $1", connection_id);
    expect((await position(account.cpo_external_ref)).ere_eligible).toBe(true);
  });

  test("contract §2 a mandate ends with its last year, without any job having run", async () => {
    const { account } = await accountWith(all);
    try {
      // signed in November, it lasts until the end of the next year
      await world.freeze("2027-12-31T22:59:59Z");
      expect((await position(account.cpo_external_ref)).ere_eligible).toBe(true);
      await world.freeze("2027-12-31T23:00:00Z"); // midnight in Amsterdam
      expect(await position(account.cpo_external_ref)).toMatchObject({
        ere_eligible: false,
        checklist: { mandate_signed: false },
        mandate_valid_from: null,
      });
    } finally {
      await world.freeze("2026-11-20T09:00:00Z");
      await world.row("truncate core.rate_limit_state");
    }
  });
});

describe("§2 several connections", () => {
  test("§2 gates of different connections do not add up; the one that is furthest speaks for the account", async () => {
    const { account, account_id, connection_id } = await createAccount(world);
    const second = await addConnection(world, account_id);
    await signMandateOf(account_id, connection_id);
    await register(account_id, { connection_id: second, serial_number: randomUUID() });
    expect(await position(account.cpo_external_ref)).toMatchObject({ ere_eligible: false });
    await register(account_id, { connection_id, serial_number: randomUUID() });
    expect(await position(account.cpo_external_ref)).toMatchObject({
      ere_eligible: true,
      mandate_valid_from: "2026-01-01",
    });
  });

  test("§2 months of every connection are shown, of archived ones too, by month; the total is of all", async () => {
    const { account, account_id, connection_id } = await createAccount(world);
    const second = await addConnection(world, account_id);
    await deliver(account_id, [
      ["2026-01", 10],
      ["2026-02", 20],
    ]);
    await deliver(account_id, [["2026-01", 1]], second);
    await world.row("update core.connections set status = 'archived' where id = $1", second);
    const { delivered_months, total_kwh_delivered, checklist } = await position(account.cpo_external_ref);
    expect(
      delivered_months
        .map(({ period, connection_id: id, total_kwh }: Record<string, unknown>) => [period, id, total_kwh])
        .sort(),
    ).toEqual(
      [
        ["2026-01-01", connection_id, 10],
        ["2026-01-01", second, 1],
        ["2026-02-01", connection_id, 20],
      ].sort(),
    );
    expect([total_kwh_delivered, checklist.ean_validated]).toEqual([31, true]);
  });

  test("§2 an account whose connections are all archived keeps its months and its IBAN, and no other gate", async () => {
    const { account, account_id, connection_id } = await createAccount(world);
    await deliver(account_id, [["2026-01", 10]]);
    await world.row("update core.connections set status = 'archived' where id = $1", connection_id);
    expect(await position(account.cpo_external_ref)).toMatchObject({
      ere_eligible: false,
      checklist: { mandate_signed: false, ean_validated: false, mid_charger_registered: false, iban_present: true },
      total_kwh_delivered: 10,
    });
  });

  async function signMandateOf(account_id: string, connection_id: string) {
    await world.row(
      "update core.connections set status = 'archived' where account_id = $1 and id <> $2",
      account_id,
      connection_id,
    );
    await signMandate(world, account_id);
    await world.row("update core.connections set status = 'active' where account_id = $1", account_id);
  }
});

describe("§2 delivered months", () => {
  test("§2 a position nothing was delivered for has no months and no total", async () => {
    const { account, account_id } = await createAccount(world, world.partnerA, { payout_handler: "via_cpo_invoicing" });
    expect(await position(account.cpo_external_ref)).toMatchObject({
      account_id,
      cpo_external_ref: account.cpo_external_ref,
      payout_handler: "via_cpo_invoicing",
      delivered_months: [],
      total_kwh_delivered: 0,
      ere: null,
    });
  });

  test("contract §2 the total counts staged, submitted and registered months, exactly; the others are shown only", async () => {
    const { account, account_id, connection_id } = await createAccount(world);
    await deliver(account_id, [
      ["2026-01", 0.1],
      ["2026-02", 0.2],
      ["2026-03", 312.345],
      ["2026-04", 1000],
      ["2026-05", 5000],
    ]);
    const set = (period: string, status: string) =>
      world.row(
        "update core.delivered_months set status = $3 where connection_id = $1 and period = $2",
        connection_id,
        `${period}-01`,
        status,
      );
    await set("2026-02", "submitted");
    await set("2026-03", "registered");
    await set("2026-04", "outside_mandate");
    await set("2026-05", "rejected");
    const { delivered_months, total_kwh_delivered } = await position(account.cpo_external_ref);
    const received_at = "2026-11-20T09:00:00Z";
    const row = (period: string, total_kwh: number, status: string) => ({
      period: `${period}-01`,
      total_kwh,
      session_count: 0,
      status,
      received_at,
      connection_id,
      accepted_kwh: null,
      register_reason: null,
    });
    expect(delivered_months).toEqual([
      row("2026-01", 0.1, "staged"),
      row("2026-02", 0.2, "submitted"),
      row("2026-03", 312.345, "registered"),
      row("2026-04", 1000, "outside_mandate"),
      row("2026-05", 5000, "rejected"),
    ]);
    expect(total_kwh_delivered).toBe(312.645);
  });
});

describe("§4.1 the list", () => {
  let owner: Partner;
  let references: string[];
  beforeAll(async () => {
    owner = { id: world.partnerA.id, client: await world.addClient(world.partnerA.id) };
    references = [];
    for (let index = 0; index < 5; index++) {
      const { account } = await createAccount(world, owner);
      // newest first, so each is put before the others; two of them share a moment
      await world.row(
        "update core.accounts set created_at = created_at + make_interval(hours => $2) where id = $1",
        (account as { id?: string }).id,
        Math.floor(index / 2),
      );
      references.unshift(account.cpo_external_ref);
    }
  });
  const page = async (query: Record<string, string>) => {
    const { positions, ...rest } = await list(query, owner);
    return {
      ...rest,
      references: positions.map(({ cpo_external_ref }: { cpo_external_ref: string }) => cpo_external_ref),
    };
  };

  test("contract §1 pages neither repeat nor skip, newest first, and has_more says whether there is another", async () => {
    const whole = await page({});
    expect(whole).toMatchObject({ limit: 50, offset: 0, count: 5, has_more: false });
    expect(whole.references.toSorted()).toEqual(references.toSorted());
    const pages = await Promise.all(["0", "2", "4", "6"].map((offset) => page({ limit: "2", offset })));
    expect(pages.flatMap((one) => one.references)).toEqual(whole.references);
    expect(pages.map(({ count, has_more }) => [count, has_more])).toEqual([
      [2, true],
      [2, true],
      [1, false],
      [0, false],
    ]);
  });

  test("contract §1 a page that ends with the last row has no more", async () => {
    expect(await page({ limit: "5" })).toMatchObject({ count: 5, has_more: false });
    expect(await page({ limit: "4" })).toMatchObject({ count: 4, has_more: true });
  });

  const lenient: [string, string, number, number][] = [
    ["", "", 50, 0],
    ["0", "0", 50, 0],
    ["x", "x", 50, 0],
    ["-5", "-5", 1, 0],
    ["1.9", "1.9", 1, 1],
    ["201", "1", 200, 1],
    ["1e999", "1e999", 200, Number.MAX_SAFE_INTEGER],
  ];
  test.each(lenient)("§8 limit=%j and offset=%j are read as %i and %i", async (limit, offset, size, skipped) => {
    expect(await list({ limit, offset }, owner)).toMatchObject({ limit: size, offset: skipped });
  });

  test("§4.1 cpo_external_ref gives that account only: trimmed, 120 characters kept, letter for letter", async () => {
    const [reference = ""] = references;
    expect((await page({ cpo_external_ref: `  ${reference} ` })).references).toEqual([reference]);
    expect((await page({ cpo_external_ref: reference.toLowerCase() })).references).toEqual([]);
    expect((await page({ cpo_external_ref: `${reference}%` })).references).toEqual([]);
    expect((await page({ cpo_external_ref: "' or true --" })).references).toEqual([]);
    expect((await page({ cpo_external_ref: "\u0000" })).references).toEqual([]);
    const long = "x".repeat(130);
    await createAccount(world, owner, { cpo_external_ref: long });
    expect((await page({ cpo_external_ref: long })).references).toEqual(["x".repeat(120)]);
  });

  test("§5 a client sees its own accounts: not another client's of its partner, nor another partner's", async () => {
    const [reference = ""] = references;
    for (const stranger of [world.partnerA, world.partnerB]) {
      expect((await list({ cpo_external_ref: reference }, stranger)).positions).toEqual([]);
    }
    const ours = new Set(
      (await list({ limit: "200" }, owner)).positions.map(({ account_id }: { account_id: string }) => account_id),
    );
    const theirs = (await list({ limit: "200" })).positions.filter(({ account_id }: { account_id: string }) =>
      ours.has(account_id),
    );
    expect([ours.size, theirs]).toEqual([6, []]);
  });
});
