import { createHash, randomUUID } from "node:crypto";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sealIban } from "#shared/values/iban.ts";
import { creditTransfers, type Transfer } from "../../packages/operator/src/sepa_file.ts";
import { rowCounts } from "../harness/world.ts";
import type { Customer } from "./ere_world.ts";
import { createPayoutWorld, type PayoutWorld, type Run } from "./payout_world.ts";
import { addChargingPerson } from "./person.ts";

let world: PayoutWorld;
beforeEach(async () => {
  world = await createPayoutWorld();
});
afterEach(() => world.close());

/** Runs a command that is refused with this sentence; nothing happens. */
async function refused(run: Run, command: string | string[], sentence: string | RegExp) {
  const tables = ["payout_batches", "payout_lines", "payout_parts", "ledger_entries", "audit_log"] as const;
  const before = await rowCounts(world, ...tables);
  const { code, out, err } = await run(command);
  expect(err).toMatch(sentence);
  expect(err).toMatch(/^error: [^\n]+\.\n$/);
  expect([code, out]).toEqual([1, ""]);
  expect(await rowCounts(world, ...tables)).toEqual(before);
}
async function prepare(command = "payout prepare") {
  const { code, err, json } = await world.anna(command);
  expect([code, err]).toEqual([0, ""]);
  const reasons = Object.fromEntries(
    json.payees.map(({ payee, reason }: { payee: string; reason: string }) => [payee, reason]),
  );
  return { ...json, reasons };
}
const done = async (run: Run, command: string | string[]) => {
  const { code, err, json } = await run(command);
  expect([code, err]).toEqual([0, ""]);
  return json;
};
const id = (customer: Customer | undefined) => String(customer?.account_id);
const rename = (customer: Customer | undefined, name: string) =>
  world.row("update core.signatories set full_name = $2 where account_id = $1", id(customer), name);
async function partnerIban(iban: string | null, hours = 1000, holder = "Laadpunt B.V.") {
  const { ciphertext, key_id, last4 } = sealIban(world.environment, world.partnerA.id, iban ?? "");
  await world.row(
    "update core.partners set iban_ciphertext = $2, iban_key_id = $3, iban_last4 = $4, iban_holder = $5 where id = $1",
    world.partnerA.id,
    ciphertext,
    key_id,
    last4,
    holder,
  );
  await world.row(
    "update core.partners set iban_changed_at = private.now() - make_interval(hours => $2) where id = $1",
    world.partnerA.id,
    hours,
  );
}

describe("contract §3 payout prepare", () => {
  test("contract §3 takes every balance from the minimum on, one line a payee; the rest is carried over", async () => {
    // 80 % is the customer's, 5 % its partner's
    const [five, less, much] = await world.sold([6.25, 6.23, 100]);
    const { batch, reasons } = await prepare();
    expect(batch).toMatchObject({
      status: "prepared",
      lines: 2,
      amount_eur: 85,
      minimum_eur: 5,
      prepared_by: "operator_anna",
    });
    const lines = await world.linesOf(batch.batch_id);
    expect(lines.map(({ payee, name, iban, amount_eur }) => [payee, name, iban, amount_eur]).sort()).toEqual(
      [
        [id(five), "Sanne de Vries", "**** 4300", 5],
        [id(much), "Sanne de Vries", "**** 4300", 80],
      ].sort(),
    );
    expect(reasons).toEqual({ [id(less)]: "below_minimum", [world.partnerA.id]: "iban_missing" });
    expect(await world.balances("customer")).toEqual({ [id(less)]: 4.99 });
    expect(await world.balances("payout")).toEqual({ [id(five)]: 5, [id(much)]: 80 });
    await world.agrees();

    // what was carried over is paid with what comes later, as one line
    await world.sell(less as Customer, 10, "2026-05");
    const later = await prepare("payout prepare --minimum 12.99");
    expect((await world.linesOf(later.batch.batch_id)).map(({ amount_eur }) => amount_eur)).toEqual([12.99]);
    await world.agrees();
  });

  test("contract §3 a partner's line is its share, and through it what its customers get where the CPO settles with them", async () => {
    const own = await world.sold([100]);
    const through = await world.sold([50, 20], { fields: { payout_handler: "via_cpo_invoicing" } });
    await partnerIban("DE89370400440532013000");
    const { batch } = await prepare();
    const lines = await world.linesOf(batch.batch_id);
    // shares 5 + 2.50 + 1; nets 40 + 16
    expect(lines.map(({ payee, name, amount_eur }) => [payee, name, amount_eur]).sort()).toEqual(
      [
        [id(own[0]), "Sanne de Vries", 80],
        [world.partnerA.id, "Laadpunt B.V.", 64.5],
      ].sort(),
    );
    const { rows } = await world.database.admin.query(
      "select kind, account_id, amount::float from core.payout_parts where line_id = $1 order by amount",
      [lines.find(({ payee }) => payee === world.partnerA.id)?.line_id],
    );
    expect(rows).toEqual([
      { kind: "partner", account_id: null, amount: 8.5 },
      { kind: "customer", account_id: id(through[1]), amount: 16 },
      { kind: "customer", account_id: id(through[0]), amount: 40 },
    ]);
    await world.agrees();
  });

  test("contract §3 what a person earned a partner is in the ledger of the house, and in the same line", async () => {
    const [customer] = await world.sold([100]);
    await partnerIban("DE89370400440532013000");
    const person = await addChargingPerson(world);
    await world.row("select private.reserve_customer($1, $2, 'manual')", person.id, world.partnerA.id);
    await world.row("update core.attributions set attached_month = '2026-02-01'");
    await person.charge("2026-04", 100_000);
    for (const step of ["open", "submit", "credit"]) await world.done(`booking ${step} 2026-Q2 --partner service`);
    await world.done("sale record 2026-Q2 --partner service --ere 14 --price 10 --buyer B --reference P-1");
    const { batch } = await prepare();
    const line = (await world.linesOf(batch.batch_id)).find(({ payee }) => payee !== id(customer));
    expect(line).toMatchObject({ payee: world.partnerA.id, amount_eur: 12, parts: 2 });
    expect(await world.balances("partner")).toEqual({});
    await world.agrees();
  });

  test("contract §3 whoever cannot be paid is left out and named: no IBAN, one of an hour ago, of no checksum, of no SEPA country, a name of nothing", async () => {
    const [none, hour, twoDays, checksum, outside, unnamed, good] = await world.sold(Array(7).fill(100));
    await world.row(
      "update core.accounts set iban_ciphertext = null, iban_key_id = null, iban_last4 = null where id = $1",
      id(none),
    );
    await world.setIban(hour as Customer, "DE89370400440532013000", 1);
    await world.setIban(twoDays as Customer, "DE89370400440532013000", 48);
    await world.setIban(checksum as Customer, "NL00ABNA0417164300");
    await world.setIban(outside as Customer, "TR330006100519786457841326");
    await rename(unnamed, "☺ ☺☺");
    await partnerIban("NL91ABNA0417164300", 47);
    const { batch, reasons, payees, left_out } = await prepare();
    expect(reasons).toEqual({
      [id(none)]: "iban_missing",
      [id(hour)]: "iban_changed",
      [id(checksum)]: "iban_invalid",
      [id(outside)]: "iban_outside_sepa",
      [id(unnamed)]: "name_unreadable",
      [world.partnerA.id]: "iban_changed",
    });
    expect(payees.find(({ payee }: { payee: string }) => payee === id(hour))).toMatchObject({
      partner_slug: "partner-a",
      amount_eur: 80,
      iban: "**** 3000",
      until: "2026-08-17T11:00:00Z",
    });
    expect(left_out[0]).toEqual({ reason: "iban_changed", payees: 2, amount_eur: 115 });
    expect((await world.linesOf(batch.batch_id)).map(({ payee }) => payee).sort()).toEqual(
      [id(twoDays), id(good)].sort(),
    );
    await world.agrees();
  });

  test("contract §3 a name has the letters that every bank takes, without accents, at most 70 of them", async () => {
    const names = {
      "Zoë Müller-Größe": "Zoe Muller-Grosse",
      "Ægir Ørsted": "AEgir Orsted",
      "Łukasz Đoković & Zonen": "Lukasz Dokovic Zonen",
      "D’Artagnan (Œuvre), Þór": "D'Artagnan (OEuvre), Thor",
      [`☺ ${"x".repeat(90)}`]: "x".repeat(70),
      [`${"é".repeat(69)} ☺ y`]: "e".repeat(69),
      "ﬁrma ½": "firma 1 2",
      Иван: "Ivan",
      "Щербаков Юрій": "Shcherbakov Yurij".replace("ij", "iy"),
      "Γιώργος Παπαδόπουλος": "Giorgos Papadopoulos",
      אברהם: null,
      王小明: null,
      "- . -": null,
    };
    for (const [name, wanted] of Object.entries(names))
      expect([name, (await world.row("select private.sepa_name($1) as name", name)).name]).toEqual([name, wanted]);

    const [customer] = await world.sold([100]);
    await rename(customer, `☺ ${"x".repeat(90)}`);
    const { batch_id, xml } = await world.exported();
    expect((await world.linesOf(batch_id)).map(({ name }) => name)).toEqual(["x".repeat(70)]);
    expect(xml).toContain(`<Nm>${"x".repeat(70)}</Nm>`);
  });

  test("contract §3 when nothing more can come the rest is paid, however little; a cent too", async () => {
    const [ended, goes_on, unsold] = await world.sold([1, 1, 1]);
    for (const customer of [ended, unsold])
      await world.row("update core.mandates set status = 'expired' where connection_id = $1", customer?.connection_id);
    // of each 2.32694 ERE are not sold yet
    expect((await prepare()).reasons).toMatchObject({ [id(ended)]: "below_minimum", [id(goes_on)]: "below_minimum" });
    const { rows } = await world.database.admin.query(
      "select booking_id from core.booking_rows where account_id = $1",
      [id(ended)],
    );
    await world.done(`sale record ${rows[0].booking_id} --ere 2.32694 --price 0.01 --buyer B --reference R-1`);
    await partnerIban("NL91ABNA0417164300");
    const { batch, reasons } = await prepare();
    expect(reasons).toMatchObject({ [id(goes_on)]: "below_minimum", [id(unsold)]: "below_minimum" });
    expect(reasons[world.partnerA.id]).toBe("below_minimum");
    expect((await world.linesOf(batch.batch_id)).map(({ payee, amount_eur }) => [payee, amount_eur])).toEqual([
      [id(ended), 0.82],
    ]);
    await world.agrees();
  });

  test("contract §3 a rest is paid too where the register granted no more, or what is left to sell is worth no cent", async () => {
    const [granted, worthless, worth] = await world.sold([1, 1, 1]);
    await world.row("update core.mandates set status = 'expired'");
    const bookingOf = async (customer: Customer | undefined) =>
      (await world.row("select booking_id from core.booking_rows where account_id = $1", id(customer))).booking_id;
    // the register grants less for the whole than its rows come to, and all of that is sold
    await world.done(`booking credit ${await bookingOf(granted)} --granted 1`);
    // 0.02 ERE at 0.20 and 0.03 at 0.20 are left: 0.4 and 0.6 cent
    for (const [customer, ere] of [
      [worthless, 2.30694],
      [worth, 2.29694],
    ] as const)
      await world.done(
        `sale record ${await bookingOf(customer)} --ere ${ere} --price 0.2 --buyer B --reference ${id(customer)}`,
      );
    const { batch, reasons } = await prepare();
    expect(reasons).toMatchObject({ [id(worth)]: "below_minimum" });
    expect(
      Object.fromEntries((await world.linesOf(batch.batch_id)).map((line) => [line.payee, line.amount_eur])),
    ).toEqual({ [id(granted)]: 0.8, [id(worthless)]: 1.17 });
    await world.agrees();
  });

  test("contract §3 months that wait of a customer who went, and took the charger along, hold no cent back", async () => {
    const [customer] = await world.sold([1]);
    const { booking_id } = await world.row(
      "select booking_id from core.booking_rows where account_id = $1",
      id(customer),
    );
    await world.done(`sale record ${booking_id} --ere 2.32694 --price 0.01 --buyer B --reference R-1`);
    await world.deliver(customer as Customer, { "2026-07": 40 });
    await world.done(["mandate", "revoke", customer?.connection_id ?? "", "--asked-by-customer", "--yes"]);
    expect(await world.statuses(customer as Customer)).toMatchObject({ "2026-07": "staged" });
    expect((await prepare()).reasons, "July can still be booked").toMatchObject({ [id(customer)]: "below_minimum" });
    await world.row(
      "update core.chargers set status = 'removed', removed_at = '2026-06-01Z' where account_id = $1",
      id(customer),
    );
    const { batch } = await prepare();
    expect((await world.linesOf(batch.batch_id)).map(({ payee, amount_eur }) => [payee, amount_eur])).toEqual([
      [id(customer), 0.82],
    ]);
    await world.agrees();
  });

  test("contract §3 of ten at once one takes the balances; then there is nobody to pay", async () => {
    await world.sold([100, 50]);
    const ran = await Promise.all(
      Array.from({ length: 10 }, (_, n) => (n % 2 ? world.anna : world.bram)("payout prepare")),
    );
    expect(ran.map(({ code }) => code)).toEqual(Array(10).fill(0));
    expect(ran.filter(({ json }) => json.changed)).toHaveLength(1);
    expect(await world.balances("customer")).toEqual({});
    await world.agrees();
    const { out } = await world.anna("payout prepare");
    expect(JSON.parse(out)).toMatchObject({ changed: false, batch: null });
  });

  test("contract §3 takes the keys, a login of one's own and a minimum that is one", async () => {
    await world.sold([100]);
    await refused(world.run, "payout prepare", "IBANs and webhook secrets are encrypted: set IBAN_KEYS");
    const keys = { IBAN_KEYS: JSON.stringify(world.environment.config.IBAN_KEYS) };
    const { operate } = await import("../operator/operator.ts");
    const shared: Run = (command) =>
      operate(String(command).split(" "), { OPERATOR_DATABASE_URL: world.database.url("operator"), ...keys });
    await refused(shared, "payout prepare", "each with their own login, and operator is shared");
    for (const minimum of ["-1", "0.001", "five", "1e3"])
      await refused(world.anna, ["payout", "prepare", `--minimum=${minimum}`], "A minimum is a number of euro");
    // other keys than those it was encrypted with
    const other: Run = (command) =>
      operate([...String(command).split(" "), "--json"], {
        OPERATOR_DATABASE_URL: world.database.url("operator_anna"),
        IBAN_KEYS: JSON.stringify({ current: "test", keys: { test: Buffer.alloc(32).toString("base64") } }),
      });
    expect((await other("payout prepare")).json).toMatchObject({
      changed: false,
      payees: [{ reason: "iban_missing" }, { reason: "iban_unreadable" }],
    });
  });

  test("contract §3 what changed between judging and preparing is left out", async () => {
    const [customer] = await world.sold([100]);
    const { rows } = await world.database.admin.query("select partner_id, id from core.accounts");
    const judged = [
      { partner_id: rows[0].partner_id, account_id: rows[0].id, ciphertext: "what was there", problem: null },
    ];
    const client = new pg.Client({ connectionString: world.database.url("operator_anna") });
    await client.connect();
    const answer = await client.query("select ops.payout_prepare($1) as answer", [{ judged }]);
    await client.end();
    expect(answer.rows[0].answer.payees).toContainEqual(
      expect.objectContaining({ payee: id(customer), reason: "not_judged" }),
    );
  });
});

test("contract §3 a line that failed while a batch was prepared holds its IBAN back", async () => {
  const [customer] = await world.sold([100]);
  const { batch_id } = await world.exported();
  await world.sell(customer as Customer, 50, "2026-05");
  const client = new pg.Client({ connectionString: world.database.url("operator_anna") });
  await client.connect();
  const ops = (name: string, input: object) =>
    client.query(`select ops.${name}($1) as answer`, [input]).then(({ rows }) => rows[0].answer);
  // what one command does in two steps, and between them another operator hears from the bank
  const { payees } = await ops("payout_due", {});
  const [line] = await world.linesOf(batch_id);
  await done(world.bram, ["payout", "settle", "--failed", line?.line_id ?? ""]);
  const judged = payees.map((payee: { iban: { ciphertext: string } }) => ({
    ...payee,
    ciphertext: payee.iban.ciphertext,
    problem: null,
  }));
  const prepared = await ops("payout_prepare", { judged });
  await client.end();
  expect([judged.length, prepared.batch, prepared.payees]).toEqual([
    1,
    null,
    expect.arrayContaining([expect.objectContaining({ payee: id(customer), reason: "not_judged", amount_eur: 120 })]),
  ]);
  expect((await prepare()).reasons).toMatchObject({ [id(customer)]: "iban_failed" });
});

describe("contract §3 payout approve, cancel", () => {
  test("contract §3 whoever prepared a batch cannot approve it; somebody else can, once", async () => {
    await world.sold([100]);
    const { batch } = await prepare();
    const approve = ["payout", "approve", batch.batch_id, "--yes"];
    await refused(world.anna, approve, /operator_anna prepared the batch .*, so somebody else has to approve it/);
    await refused(world.run, approve, "operator is shared");
    await refused(
      world.anna,
      ["payout", "export", batch.batch_id, "--out", "x"],
      "is prepared; only an approved batch",
    );
    expect(await done(world.bram, approve)).toMatchObject({
      changed: true,
      batch: { status: "approved", approved_by: "operator_bram" },
    });
    expect((await done(world.bram, approve)).changed).toBe(false);
    await refused(world.bram, "payout approve nonsense", 'No batch has the id "nonsense"');
    // nobody else's hand can do it either
    await expect(
      world.row("update core.payout_batches set prepared_by = 'operator_bram' where id = $1", batch.batch_id),
    ).rejects.toMatchObject({ constraint: "payout_batches_two_people" });
  });

  test("contract §3 a batch that is cancelled gives all back; one that was exported cannot be", async () => {
    const [customer] = await world.sold([100]);
    const { batch } = await prepare();
    await done(world.bram, ["payout", "approve", batch.batch_id, "--yes"]);
    const cancel = ["payout", "cancel", batch.batch_id, "--reason", "too early"];
    expect(await done(world.anna, cancel)).toMatchObject({ changed: true, batch: { status: "cancelled" } });
    expect((await done(world.anna, cancel)).changed).toBe(false);
    expect(await world.balances("customer")).toEqual({ [id(customer)]: 80 });
    expect(await world.balances("payout")).toEqual({});
    await world.agrees();
    await refused(world.bram, ["payout", "approve", batch.batch_id, "--yes"], "was cancelled");
    await refused(world.anna, ["payout", "export", batch.batch_id, "--out", "x"], "is cancelled");
    await refused(world.anna, ["payout", "settle", batch.batch_id], "is cancelled");
    const { batch_id } = await world.exported();
    await refused(world.anna, ["payout", "cancel", batch_id, "--reason", "x"], "it may be at the bank");
    expect(
      (await done(world.run, "payout list")).batches.map(({ status }: { status: string }) => status).sort(),
    ).toEqual(["cancelled", "exported"]);
  });
});

describe("contract §3 payout export", () => {
  test("contract §3 a batch is exported once; again only with a reason, and then it is the same bytes", async () => {
    await world.sold([100, 33.33]);
    const { batch_id, xml } = await world.exported();
    const out = join(world.folder, "again.xml");
    await refused(world.anna, ["payout", "export", batch_id, "--out", out], "was exported on 2026-08-15T12:00:00Z");
    await refused(
      world.anna,
      ["payout", "export", batch_id, "--out", out, "--again"],
      "Give a reason with --reason: 1 to 500",
    );
    await world.freeze("2026-09-01T12:00:00Z");
    await world.row("update core.signatories set full_name = 'Another'");
    const again = await done(world.bram, ["payout", "export", batch_id, "--out", out, "--again", "--reason", "lost"]);
    expect(readFileSync(out, "utf8")).toBe(xml);
    expect(again).toMatchObject({
      file: out,
      batch: {
        status: "exported",
        exported_by: "operator_anna",
        file_sha256: createHash("sha256").update(xml).digest("hex"),
      },
    });
    expect(again.xml).toBeUndefined();
    expect(statSync(out).mode & 0o777).toBe(0o600);
    const { rows } = await world.database.admin.query(
      "select actor, details from core.audit_log where action = 'payout.exported_again'",
    );
    expect(rows).toEqual([{ actor: "operator_bram:tester", details: { reason: "lost" } }]);
    // with keys that lack the one it was encrypted with
    const { operate } = await import("../operator/operator.ts");
    const keys = JSON.stringify({ current: "new", keys: { new: Buffer.alloc(32).toString("base64") } });
    const { code, err } = await operate(["payout", "export", batch_id, "--out", out, "--again", "--reason", "x"], {
      OPERATOR_DATABASE_URL: world.database.url("operator_anna"),
      IBAN_KEYS: keys,
      PAYOUT_ACCOUNT_NAME: "ERE Service B.V.",
      PAYOUT_ACCOUNT_IBAN: "NL20INGB0001234567",
    });
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/^error: The file of batch .* is encrypted with the key "test"/),
    ]);
  });

  test("contract §3 a batch that is cancelled while its file is made has none, and is said to be cancelled", async () => {
    await world.sold([100]);
    const { batch } = await prepare();
    expect((await world.bram(["payout", "approve", batch.batch_id, "--yes"])).code).toBe(0);
    const [exported, cancelled] = await Promise.all([
      world.anna(["payout", "export", batch.batch_id, "--out", join(world.folder, "raced.xml")]),
      world.bram(["payout", "cancel", batch.batch_id, "--reason", "too early", "--yes"]),
    ]);
    // one of them was first
    if (cancelled.code === 0) expect([exported.code, exported.err]).toEqual([1, expect.stringMatching(/cancelled/)]);
    else expect([exported.code, cancelled.err]).toEqual([0, expect.stringMatching(/at the bank|exported/)]);
    expect(existsSync(join(world.folder, "raced.xml"))).toBe(exported.code === 0);
    const keep = "select ops.payout_keep_file(json_build_object('batch', $1::uuid)::jsonb)";
    if (cancelled.code === 0) await expect(world.row(keep, batch.batch_id)).rejects.toThrow("payout_cancelled");
    await world.agrees();
  });

  test("contract §3 of ten at once one file is kept", async () => {
    await world.sold([100]);
    const { batch } = await prepare();
    await done(world.bram, ["payout", "approve", batch.batch_id, "--yes"]);
    const ran = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        world.anna(["payout", "export", batch.batch_id, "--out", join(world.folder, `race-${n}.xml`)]),
      ),
    );
    expect(ran.filter(({ code }) => code === 0)).toHaveLength(1);
    for (const { err } of ran.filter(({ code }) => code === 1)) expect(err).toMatch(/was exported on/);
  });

  test("contract §3 no IBAN is printed, logged or stored in clear", async () => {
    const clear = "DE89370400440532013000";
    const [customer] = await world.sold([100]);
    await world.setIban(customer as Customer, clear);
    const { batch_id, xml } = await world.exported();
    expect(xml).toContain(`<IBAN>${clear}</IBAN>`);
    const printed = [
      await world.anna(["payout", "show", batch_id]),
      await world.anna(["payout", "list"]),
      await world.anna(["payout", "export", batch_id, "--out", join(world.folder, "x"), "--again", "--reason", "x"]),
      await world.anna(["payout", "settle", batch_id]),
    ];
    expect(printed.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    const { rows } = await world.database.admin.query(
      "select to_jsonb(b)::text as row from core.payout_batches b union all select to_jsonb(l)::text from core.payout_lines l union all select to_jsonb(a)::text from core.audit_log a",
    );
    for (const text of [...printed.flatMap(({ out, err }) => [out, err]), ...rows.map(({ row }) => row)])
      expect(text).not.toContain(clear.slice(4));
  });

  test("contract §3 from which account is paid has to be said, and be one", async () => {
    await world.sold([100]);
    const { batch } = await prepare();
    await done(world.bram, ["payout", "approve", batch.batch_id, "--yes"]);
    const { operate } = await import("../operator/operator.ts");
    const keys = { IBAN_KEYS: JSON.stringify(world.environment.config.IBAN_KEYS) };
    for (const [env, sentence] of [
      [{}, "PAYOUT_ACCOUNT_NAME, PAYOUT_ACCOUNT_IBAN"],
      [{ PAYOUT_ACCOUNT_NAME: "Dienst ☺", PAYOUT_ACCOUNT_IBAN: "NL20INGB0001234567" }, "PAYOUT_ACCOUNT_NAME"],
      [{ PAYOUT_ACCOUNT_NAME: "Dienst", PAYOUT_ACCOUNT_IBAN: "NL00RABO0123456789" }, "PAYOUT_ACCOUNT_IBAN"],
      [
        { PAYOUT_ACCOUNT_NAME: "Dienst", PAYOUT_ACCOUNT_IBAN: "NL20INGB0001234567", PAYOUT_ACCOUNT_BIC: "x" },
        "PAYOUT_ACCOUNT_BIC",
      ],
    ] as [Record<string, string>, string][])
      await refused(
        (command) =>
          operate(command as string[], { OPERATOR_DATABASE_URL: world.database.url("operator_anna"), ...keys, ...env }),
        ["payout", "export", batch.batch_id, "--out", join(world.folder, "none")],
        `not readable: ${sentence}.`,
      );
  });
});

describe("contract §3 payout settle, release", () => {
  test("contract §3 payout iban stores the account of heirs once two people typed the same, and the bank is told their name", async () => {
    const [customer] = await world.sold([100]);
    const account = String(customer?.account_id);
    const typing = (who: "anna" | "bram", line: string, holder = "Erven de Vries") =>
      world[who](["payout", "iban", account, "--holder", holder, "--reason", "letter of the heirs"], line);
    expect((await typing("anna", "NL91ABNA0417164301")).err).toMatch(/no IBAN/);
    expect((await typing("anna", "DE89370400440532013000", "李")).err).toMatch(/letters/);
    for (const changed of [true, false])
      expect((await typing("anna", "de89 3704 0044 0532 0130 00")).json).toMatchObject({ changed, stored: false });
    // another IBAN, or another name, is asked for anew
    expect((await typing("bram", "NL20INGB0001234567")).json).toMatchObject({ changed: true, stored: false });
    expect((await typing("anna", "NL20INGB0001234567", "Erven")).json).toMatchObject({ stored: false });
    expect((await typing("bram", "DE89370400440532013000", "Erven")).json).toMatchObject({ stored: false });
    expect((await typing("anna", "DE89370400440532013000", "Erven")).json).toMatchObject({ stored: true });
    const stored = await world.row(
      "select iban_last4, iban_holder, iban_asked, iban_changed_at = private.now() as now from core.accounts where id = $1",
      account,
    );
    expect(stored).toEqual({ iban_last4: "3000", iban_holder: "Erven", iban_asked: null, now: true });
    const audited = await world.row(
      "select json_agg(details) as details from core.audit_log where subject_id = $1",
      account,
    );
    expect(JSON.stringify(audited)).not.toMatch(/3000|Erven/);
    await world.row("update core.accounts set iban_changed_at = '2026-01-01' where id = $1", account);
    const { xml } = await world.exported();
    expect(xml).toMatch(/<Nm>Erven<\/Nm>[\s\S]*DE89370400440532013000/);
  });

  test("contract §3 settle pays what was not said to have failed; what failed is in the balance again, and reported twice changes nothing", async () => {
    const [bad, good] = await world.sold([100, 50]);
    const { batch_id } = await world.exported();
    const line = (await world.linesOf(batch_id)).find(({ payee }) => payee === id(bad))?.line_id ?? "";
    const fail = ["payout", "settle", "--failed", line, "--reason", "AC04 closed account"];
    expect(await done(world.anna, fail)).toMatchObject({
      changed: true,
      failed: 1,
      paid: 0,
      batch: null,
      lines: [{ line_id: line, status: "failed", failed_reason: "AC04 closed account", amount_eur: 80 }],
    });
    expect(await world.balances("customer")).toEqual({ [id(bad)]: 80 });
    await world.agrees();
    const before = await rowCounts(world, "ledger_entries", "audit_log");
    expect(await done(world.bram, fail)).toMatchObject({ changed: false, failed: 0 });
    await refused(world.bram, [...fail.slice(0, -1), "MD07"], `failed before, with the reason "AC04 closed account"`);
    expect(await rowCounts(world, "ledger_entries", "audit_log")).toEqual(before);

    expect(await done(world.anna, ["payout", "settle", batch_id])).toMatchObject({
      changed: true,
      paid: 1,
      batch: { status: "settled", paid: 1, paid_eur: 40, failed: 1, failed_eur: 80 },
    });
    expect((await done(world.anna, ["payout", "settle", batch_id])).changed).toBe(false);
    // both are told that money is on its way, with the days; then one that it was paid, and one asked for another IBAN
    const { rows } = await world.database.admin.query(
      "select account_id, kind, details from core.notices where kind like 'payout%' order by kind, details -> 'amount_eur'",
    );
    const told = (customer: Customer | undefined, kind: string, amount_eur: number, days?: object) => ({
      account_id: id(customer),
      kind,
      details: { amount_eur, iban_last4: "4300", ...days },
    });
    const days = { from: "2026-08-17", until: "2026-08-19" }; // it is a Saturday
    expect(rows).toEqual([
      told(bad, "payout_failed", 80),
      told(good, "payout_paid", 40, { quarters: ["2026-04-01"], kwh: 3.006 }),
      told(good, "payout_sent", 40, days),
      told(bad, "payout_sent", 80, days),
    ]);
    expect([await world.balances("payout"), await world.balances("bank")]).toEqual([{}, { [id(good)]: 40 }]);
    await world.agrees();
  });

  test("contract §3 a line that came back after it was paid is in the balance again, once, whatever it is called", async () => {
    const [customer] = await world.sold([100]);
    const { batch_id, xml } = await world.exported();
    await done(world.anna, ["payout", "settle", batch_id]);
    const endToEnd = /<EndToEndId>([0-9a-f]{32})<\/EndToEndId>/.exec(xml)?.[1] ?? "";
    const ran = await Promise.all(
      Array.from({ length: 10 }, () => world.anna(["payout", "settle", "--failed", endToEnd])),
    );
    expect(ran.map(({ code }) => code)).toEqual(Array(10).fill(0));
    expect(ran.filter(({ json }) => json.changed)).toHaveLength(1);
    expect([await world.balances("customer"), await world.balances("bank"), await world.balances("payout")]).toEqual([
      { [id(customer)]: 80 },
      {},
      {},
    ]);
    await world.agrees();
  });

  test("contract §3 after a failed line only another IBAN is paid, or the same once it is released", async () => {
    const [customer] = await world.sold([100]);
    const { batch_id } = await world.exported();
    const [line] = await world.linesOf(batch_id);
    await done(world.anna, ["payout", "settle", batch_id, "--failed", line?.line_id ?? ""]);
    // encrypted again it is another ciphertext, and the same IBAN
    await world.setIban(customer as Customer, "NL91ABNA0417164300");
    expect((await prepare()).reasons).toMatchObject({ [id(customer)]: "iban_failed" });
    const release = ["payout", "release", id(customer), "--reason", "the bank was in error"];
    expect(await done(world.bram, release)).toMatchObject({ changed: true, line: { line_id: line?.line_id } });
    expect((await done(world.bram, release)).changed).toBe(false);
    const again = await world.exported();
    const [second] = await world.linesOf(again.batch_id);
    await done(world.anna, ["payout", "settle", "--failed", second?.line_id ?? ""]);
    await world.setIban(customer as Customer, "DE89370400440532013000");
    const third = await world.exported();
    expect(third.xml).toContain("DE89370400440532013000");
    await done(world.anna, ["payout", "settle", third.batch_id]);
    await refused(world.anna, ["payout", "release", "nobody", "--reason", "x"], 'No payment to "nobody" failed');
    await refused(world.anna, ["payout", "release", "partner-a", "--reason", "x"], 'No payment to "partner-a" failed');
    await world.agrees();
  });

  test("contract §3 an IBAN that failed is not paid after another one was, nor after a line that succeeded, until it is released", async () => {
    const [customer] = await world.sold([100]);
    const first = await world.exported();
    await world.sell(customer as Customer, 50, "2026-05");
    const second = await world.exported();
    // the older of two payments to one IBAN comes back after the newer was paid
    await done(world.anna, ["payout", "settle", second.batch_id]);
    const [line] = await world.linesOf(first.batch_id);
    await done(world.anna, ["payout", "settle", first.batch_id, "--failed", line?.line_id ?? ""]);
    expect((await prepare()).reasons).toMatchObject({ [id(customer)]: "iban_failed" });
    // another one is paid; back at the first it is barred all the same
    await world.setIban(customer as Customer, "DE89370400440532013000");
    const third = await world.exported();
    expect(third.xml).toContain("DE89370400440532013000");
    await done(world.anna, ["payout", "settle", third.batch_id]);
    await world.sell(customer as Customer, 30, "2026-06");
    await world.setIban(customer as Customer, "NL91ABNA0417164300");
    expect((await prepare()).reasons).toMatchObject({ [id(customer)]: "iban_failed" });
    const release = ["payout", "release", id(customer), "--reason", "the bank was in error"];
    expect(await done(world.bram, release)).toMatchObject({ changed: true, line: { line_id: line?.line_id } });
    expect((await done(world.bram, release)).changed).toBe(false);
    expect((await world.exported()).xml).toContain("NL91ABNA0417164300");
    await world.agrees();
  });

  test("contract §3 nothing, unknown lines, and lines that are not at the bank yet are refused; one of several, and none is noted", async () => {
    await world.sold([100]);
    const { batch } = await prepare();
    const [line] = await world.linesOf(batch.batch_id);
    await refused(world.anna, "payout settle", "with --booked those that the bank paid after all");
    await refused(world.anna, ["payout", "settle", batch.batch_id], "is prepared; the bank does not have it yet");
    await refused(world.anna, ["payout", "settle", "--failed", line?.line_id ?? ""], "is prepared; the bank");
    await done(world.bram, ["payout", "approve", batch.batch_id, "--yes"]);
    await done(world.anna, ["payout", "export", batch.batch_id, "--out", join(world.folder, "x")]);
    const unknown = "0b0d1e00-0000-4000-8000-000000000000";
    const twice = ["--failed", line?.line_id ?? "", "--booked", String(line?.line_id).replaceAll("-", "")];
    await refused(world.anna, ["payout", "settle", ...twice], "is in both --failed and --booked");
    await refused(
      world.anna,
      ["payout", "settle", "--failed", line?.line_id ?? "", unknown],
      `No batch has a line "${unknown}"`,
    );
    await world.agrees();
  });

  test("contract §3 what was paid and then taken back is a balance below zero, which later payouts settle", async () => {
    const [customer] = await world.sold([100]);
    const { batch_id } = await world.exported();
    await world.refused(["sale", "reverse", "V-1", "--reason", "x"], "has been paid out");
    await done(world.anna, ["payout", "settle", batch_id]);
    await world.done(["sale", "reverse", "V-1", "--reason", "the buyer withdrew", "--recover"]);
    expect(await world.balances("customer")).toEqual({ [id(customer)]: -80 });
    expect((await prepare()).reasons).toMatchObject({ [id(customer)]: "owes" });
    await world.sell(customer as Customer, 110, "2026-05");
    const { batch } = await prepare();
    expect((await world.linesOf(batch.batch_id)).map(({ amount_eur }) => amount_eur)).toEqual([8]);
    await world.agrees();
  });

  test("contract §3 a sale is not taken back while its money goes out; of ten pairs at once each ends one way", async () => {
    const customers = await world.sold(Array(5).fill(100));
    const [prepared, ...reversed] = await Promise.all([
      world.anna("payout prepare"),
      ...customers.map((_, n) => world.run(["sale", "reverse", `V-${n + 1}`, "--reason", "x"])),
    ]);
    const gone = reversed.filter(({ code }) => code === 0).length;
    expect(prepared?.json.batch?.lines ?? 0).toBe(5 - gone);
    for (const { code, err } of reversed)
      expect([code, err]).toEqual(code ? [1, expect.stringMatching(/paid out/)] : [0, ""]);
    expect(Object.values(await world.balances("customer"))).toEqual([]);
    await world.agrees();
  });
});

describe("contract §3 payouts after a restore", () => {
  /** What a restore leaves: another server, and a file that only the bank has. */
  const restore = () => world.row("update core.deployment set pays_from = 'the server before'");
  const sent = (payments: Partial<Transfer>[]) => {
    const transfers = payments.map((payment) => ({
      ...{ line_id: randomUUID(), reference: "K7QM34ACDE", name: "Sanne de Vries", iban: "NL91ABNA0417164300" },
      ...{ amount_eur: 80, ...payment },
    }));
    const batch_id = randomUUID();
    const debtor = { name: "ERE Service B.V.", iban: "NL20INGB0001234567" };
    const xml = creditTransfers(batch_id, "2026-08-14T14:00:00", debtor, transfers);
    const file = join(world.folder, `${batch_id}.xml`);
    writeFileSync(file, xml);
    return { batch_id, file, xml, lines: transfers.map(({ line_id }) => line_id) };
  };
  const WAITS = "was restored or moved to another server";

  test("contract §3 new payouts wait until an operator has said what the bank has", async () => {
    const [customer] = await world.sold([100]);
    const { batch } = await prepare();
    await done(world.bram, ["payout", "approve", batch.batch_id, "--yes"]);
    await world.sell(customer as Customer, 50, "2026-05");
    await restore();
    await refused(world.anna, "payout prepare", WAITS);
    await refused(world.anna, ["payout", "export", batch.batch_id, "--out", join(world.folder, "x.xml")], WAITS);
    await refused(world.anna, ["payout", "cancel", batch.batch_id, "--reason", "x", "--yes"], WAITS);
    await refused(world.run, ["payout", "resume", "--reason", "x", "--yes"], "operator is shared");
    const resume = ["payout", "resume", "--reason", "the bank has none", "--yes"];
    expect(await done(world.anna, resume)).toEqual({ changed: true });
    expect(await done(world.anna, resume)).toEqual({ changed: false });
    expect(await world.row("select details from core.audit_log where action = 'payout.resumed'")).toEqual({
      details: { reason: "the bank has none" },
    });
    await done(world.anna, ["payout", "export", batch.batch_id, "--out", join(world.folder, "y.xml")]);
    expect((await prepare()).batch.amount_eur).toBe(40);
    await world.agrees();
  });

  test("contract §3 nobody is paid by a database that cannot tell which server it is, and the operator reads what it lacks", async () => {
    const { admin } = world.database;
    await admin.query("revoke execute on function pg_control_system() from public");
    try {
      await refused(world.anna, "payout prepare", "Grant execute on it");
    } finally {
      await admin.query("grant execute on function pg_control_system() to public");
    }
  });

  test("contract §3 a batch that only the bank has is taken in from its file, once, under its ids, by two people", async () => {
    const [one, other, unpaid] = await world.sold([100, 50, 25]);
    // since the payment, or before it: the restored database has another IBAN, of an hour ago
    await world.setIban(one as Customer, "DE89370400440532013000", 1);
    await rename(other, "Sanne Jansen");
    await restore();
    const { batch_id, file, xml, lines } = sent([{ amount_eur: 80 }, { amount_eur: 40 }]);
    expect(await done(world.anna, ["payout", "adopt", file])).toMatchObject({
      changed: true,
      batch: { batch_id, status: "prepared", lines: 2, amount_eur: 120, prepared_by: "operator_anna" },
    });
    expect(await done(world.bram, ["payout", "adopt", file])).toMatchObject({ changed: false });
    await refused(world.anna, ["payout", "approve", batch_id, "--yes"], "somebody else has to approve it");
    await done(world.bram, ["payout", "approve", batch_id, "--yes"]);
    await refused(world.anna, ["payout", "resume", "--reason", "x", "--yes"], "is not exported yet");
    expect(await done(world.anna, ["payout", "adopt", file])).toMatchObject({
      changed: true,
      batch: { status: "exported", file_sha256: createHash("sha256").update(xml).digest("hex") },
    });
    expect(await done(world.anna, ["payout", "adopt", file])).toMatchObject({ changed: false });
    const again = join(world.folder, "again.xml");
    await done(world.bram, ["payout", "export", batch_id, "--out", again, "--again", "--reason", "x"]);
    expect(readFileSync(again, "utf8")).toBe(xml);
    const kept = (await world.linesOf(batch_id)).map(({ line_id, payee, name, iban, amount_eur }) =>
      [line_id, payee, name, iban, amount_eur].join(),
    );
    expect(kept.sort()).toEqual(
      [
        [lines[0], id(one), "Sanne de Vries", "**** 4300", 80].join(),
        [lines[1], id(other), "Sanne de Vries", "**** 4300", 40].join(),
      ].sort(),
    );

    await done(world.anna, ["payout", "resume", "--reason", "all taken in", "--yes"]);
    // the bank names a payment by its EndToEndId
    await done(world.anna, ["payout", "settle", batch_id, "--failed", String(lines[1]).replaceAll("-", "")]);
    const { batch, reasons } = await prepare();
    expect((await world.linesOf(batch.batch_id)).map(({ payee, amount_eur }) => [payee, amount_eur])).toEqual([
      [id(unpaid), 20],
    ]);
    expect(reasons).toMatchObject({ [id(other)]: "iban_failed" });
    await world.agrees();
  });

  test("contract §3 a batch that was approved before is exported by the file that the bank has, and by no other", async () => {
    await world.sold([100]);
    const { batch } = await prepare();
    const [line] = await world.linesOf(batch.batch_id);
    await done(world.bram, ["payout", "approve", batch.batch_id, "--yes"]);
    await restore();
    const debtor = { name: "ERE Service B.V.", iban: "NL20INGB0001234567" };
    const payment = { line_id: line?.line_id ?? "", reference: "K7QM34ACDE", name: "Sanne de Vries", amount_eur: 80 };
    const file = join(world.folder, "bank.xml");
    const write = (iban: string) =>
      writeFileSync(file, creditTransfers(batch.batch_id, "2026-08-14T14:00:00", debtor, [{ ...payment, iban }]));
    write("DE89370400440532013000");
    await refused(world.anna, ["payout", "adopt", file], "The file pays something else than the batch");
    write("NL91ABNA0417164300");
    expect(await done(world.anna, ["payout", "adopt", file])).toMatchObject({ batch: { status: "exported" } });
    await world.agrees();
  });

  test("contract §3 a file that pays what nobody is owed, that is cut off, or of a cancelled batch, takes nothing in", async () => {
    await world.sold([100]);
    const { batch } = await prepare();
    await done(world.anna, ["payout", "cancel", batch.batch_id, "--reason", "x", "--yes"]);
    await restore();
    const more = sent([{}, { amount_eur: 12.5, name: "Noor Bakker" }]);
    await refused(
      world.anna,
      ["payout", "adopt", more.file],
      "Of 2 payments of the file, 1 are not what anybody is owed here: 12.50 to Noor Bakker",
    );
    writeFileSync(more.file, more.xml.replace(/<CdtTrfTxInf>.*?<\/CdtTrfTxInf>/s, ""));
    await refused(world.anna, ["payout", "adopt", more.file], "This is not a whole file of payout export");
    await refused(world.anna, ["payout", "adopt", join(world.folder, "none.xml")], "cannot be read");
    const { file, xml, batch_id } = sent([{}]);
    writeFileSync(file, xml.replaceAll(batch_id.replaceAll("-", ""), batch.batch_id.replaceAll("-", "")));
    await refused(world.anna, ["payout", "adopt", file], "was cancelled");
    await refused(world.run, ["payout", "adopt", file], "encrypted: set IBAN_KEYS");
  });
});
