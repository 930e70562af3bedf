// What comes of the bank's answers: who is paid, what is payable again, and whom it takes.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { rowCounts } from "../harness/world.ts";
import { operate } from "../operator/operator.ts";
import { bankEntry, camt, type Detail, pain002, statusOf } from "./bank_files.ts";
import { createPayoutWorld, type PayoutWorld, type Run } from "./payout_world.ts";

let world: PayoutWorld;
beforeEach(async () => {
  world = await createPayoutWorld();
});
afterEach(() => world.close());

const MESSAGE = "camt.053.001.08";
const bare = (id: string) => id.replaceAll("-", "");
let files = 0;
/** Reads a file as the bank sends it; what the database says of each thing. */
async function answer(run: Run, xml: string | Buffer) {
  files += 1;
  const file = join(world.folder, `bank-${files}.xml`);
  writeFileSync(file, xml);
  const { code, err, json } = await run(["payout", "answer", "--file", file]);
  expect([code, err]).toEqual([0, ""]);
  await world.agrees();
  return { ...json, outcomes: json.said.map(({ outcome }: { outcome: string }) => outcome) };
}
/** Both people read the same file. */
const both = async (xml: string) => [await answer(world.anna, xml), await answer(world.bram, xml)];
const booked = (amount: string, batch: string) => entries(batch, amount);
const back = (...details: Detail[]) =>
  camt(
    MESSAGE,
    details.map((each) => bankEntry(MESSAGE, { amount: String(each.amount), credit: true, details: [each] })),
  );
const entries = (batch: string, ...amounts: string[]) =>
  camt(
    MESSAGE,
    amounts.map((amount) => bankEntry(MESSAGE, { amount, batch: bare(batch) })),
  );
const entryOf = (line: string, amount: string, more: Partial<Parameters<typeof bankEntry>[1]> = {}) =>
  camt(MESSAGE, [bankEntry(MESSAGE, { amount, details: [{ line, amount }], ...more })]);
const reject = (batch: string, reason = "DT01") =>
  pain002("pain.002.001.10", { id: bare(batch), group: statusOf("RJCT", reason) });
const notices = async (kind: string) =>
  (await world.database.admin.query("select account_id from core.notices where kind = $1", [kind])).rows.map(
    ({ account_id }) => account_id,
  );
const reasons = async () => {
  const { json } = await world.anna("payout prepare");
  const { payees } = json as { payees: { payee: string; reason: string }[] };
  return Object.fromEntries(payees.map(({ payee, reason }) => [payee, reason]));
};

describe("contract §3 payout answer", () => {
  test("contract §3 one entry settles its batch, to the cent, once; a cent more or another host's batch changes nothing", async () => {
    await world.sold([100, 50]);
    const { batch_id } = await world.exported();
    for (const amount of ["120.01", "119.99"]) {
      const { changed, said } = await answer(world.anna, booked(amount, batch_id));
      expect([changed, said]).toEqual([
        false,
        [expect.objectContaining({ outcome: "sum_differs", amount_eur: Number(amount), wanted_eur: 120 })],
      ]);
    }
    const foreign = await answer(world.anna, booked("120.00", "0b0d1e00-0000-4000-8000-00000000000a"));
    expect([foreign.changed, foreign.outcomes]).toEqual([false, ["unknown"]]);
    const first = await answer(world.anna, booked("120.00", batch_id));
    expect([first.changed, first.outcomes]).toEqual([true, ["paid"]]);
    expect(await world.row("select status from core.payout_batches")).toEqual({ status: "settled" });
    const before = await rowCounts(world, "ledger_entries", "audit_log", "notices", "documents");
    // the same, and an overlapping file of the same day
    const again = await answer(world.bram, booked("120.00", batch_id));
    expect([again.changed, again.outcomes]).toEqual([false, ["already"]]);
    expect(await rowCounts(world, "ledger_entries", "audit_log", "notices", "documents")).toEqual(before);
  });

  test("contract §3 the entries of a batch that the bank booked in parts pay nobody: a person settles it", async () => {
    await world.sold([100, 50, 25]);
    const { batch_id } = await world.exported();
    for (const amounts of [["80.00", "60.00"], ["60.00", "80.00"], ["70.00", "70.00"], ["80.00"]]) {
      const { changed, said } = await answer(world.anna, entries(batch_id, ...amounts));
      expect([changed, said]).toEqual([
        false,
        amounts.map((amount) =>
          expect.objectContaining({ outcome: "sum_differs", amount_eur: Number(amount), wanted_eur: 140 }),
        ),
      ]);
    }
    const { out } = await operate(["payout", "answer", "--file", join(world.folder, `bank-${files}.xml`)], {
      OPERATOR_DATABASE_URL: world.database.url("operator_anna"),
      PAYOUT_ACCOUNT_IBAN: "NL20INGB0001234567",
    });
    expect(out).toMatch(/sum_differs: .*payout settle <batch>/);
    expect((await world.anna(["payout", "settle", batch_id])).json).toMatchObject({ changed: true, paid: 3 });
    const again = await answer(world.bram, entries(batch_id, "80.00", "60.00"));
    expect([again.changed, again.outcomes]).toEqual([false, ["sum_differs", "sum_differs"]]);
  });

  test("attack: two equal entries of half a batch pay nobody", async () => {
    await world.sold([100, 100]);
    const { batch_id } = await world.exported();
    const { changed, outcomes } = await answer(world.anna, entries(batch_id, "80.00", "80.00"));
    expect([changed, outcomes]).toEqual([false, ["sum_differs", "sum_differs"]]);
    expect(await notices("payout_paid")).toEqual([]);
  });

  test.each([75, 100])(
    "attack: where the bank booked apart what it paid and what it sent back (100 and %d), a return of what it paid is none of a surplus",
    async (other) => {
      const [customer, refused] = await world.sold([100, other]);
      const { batch_id } = await world.exported();
      const lines = await world.linesOf(batch_id);
      const lineOf = (payee: typeof customer) =>
        bare(String(lines.find((each) => each.payee === payee?.account_id)?.line_id));
      const part = (other * 0.8).toFixed(2);
      await both(
        pain002("pain.002.001.10", {
          id: bare(batch_id),
          lines: [{ line: lineOf(refused), ...statusOf("RJCT", "AC04") }],
        }),
      );
      const credit = { amount: part, credit: true, details: [{ line: lineOf(refused), reason: "AC04" }] };
      const statement = (...amounts: string[]) =>
        camt(MESSAGE, [
          ...amounts.map((amount) => bankEntry(MESSAGE, { amount, batch: bare(batch_id) })),
          bankEntry(MESSAGE, credit),
        ]);
      const [first] = await both(statement(part, "80.00"));
      expect(first?.changed).toBe(true);
      await both(statement("80.00", part));
      expect(
        await world.row("select count(*)::int as n from core.payout_lines where booked_again is not null"),
      ).toEqual({ n: 0 });
      const [, done] = await both(back({ line: lineOf(customer), amount: "80.00", reason: "AC04" }));
      expect(done?.outcomes).toEqual(["failed"]);
      expect((await world.balances("customer"))[String(customer?.account_id)]).toBe(80);
    },
  );

  test("attack: what the bank booked beside the whole batch is named, in any order of the file", async () => {
    await world.sold([100, 75]);
    const { batch_id } = await world.exported();
    const named = async (...amounts: string[]) =>
      Object.fromEntries(
        (await answer(world.anna, entries(batch_id, ...amounts))).said.map(
          ({ amount_eur, outcome }: Record<string, unknown>) => [amount_eur, outcome],
        ),
      );
    const parts = { 80: "sum_differs", 60: "sum_differs" };
    expect(await named("80.00", "60.00", "140.00")).toEqual({ ...parts, 140: "paid" });
    expect(await named("140.00", "80.00", "60.00")).toEqual({ ...parts, 140: "already" });
    const days = ["2026-08-19", "2026-08-17"].map((day) =>
      bankEntry(MESSAGE, { amount: "140.00", batch: bare(batch_id), day }),
    );
    expect((await answer(world.anna, camt(MESSAGE, days))).outcomes).toEqual(["booked_twice", "already"]);
  });

  test("attack: what has no day, or one that is none, is named and changes nothing", async () => {
    const [customer] = await world.sold([100, 50]);
    const { batch_id } = await world.exported();
    const lines = await world.linesOf(batch_id);
    const line = bare(String(lines.find((each) => each.payee === customer?.account_id)?.line_id));
    const details = [{ line, amount: "80.00" }];
    const undated = (day: string) =>
      camt(MESSAGE, [
        bankEntry(MESSAGE, { amount: "120.00", batch: bare(batch_id), day }),
        bankEntry(MESSAGE, { amount: "80.00", details, day }),
        bankEntry(MESSAGE, { amount: "80.00", credit: true, details: [{ line, reason: "AC04" }], day }),
        bankEntry(MESSAGE, { amount: "9.99", details: [{ line: "huur" }], day }),
      ]);
    for (const day of ["", "2026-02-30"]) {
      const { changed, said, left } = await answer(world.anna, undated(day));
      expect([changed, said.map(({ outcome, line_id }: Record<string, unknown>) => [outcome, line_id])]).toEqual([
        false,
        [null, lines.find((each) => bare(each.line_id) === line)?.line_id].flatMap((id) =>
          id ? [1, 2].map(() => ["no_day", id]) : [["no_day", null]],
        ),
      ]);
      expect(left).toEqual({ "entry about something else": 1 });
    }
    const { out } = await operate(["payout", "answer", "--file", join(world.folder, `bank-${files}.xml`)], {
      OPERATOR_DATABASE_URL: world.database.url("operator_anna"),
      PAYOUT_ACCOUNT_IBAN: "NL20INGB0001234567",
    });
    expect(out).toMatch(/no_day: .*\n.*came back.*payout settle --failed/s);
    expect(await world.row("select count(booked_on)::int as n from core.payout_lines")).toEqual({ n: 0 });
  });

  test("contract §3 only of a return of another amount the operator is told to report it", async () => {
    await world.sold([100]);
    const { batch_id } = await world.exported();
    const line = bare(String((await world.linesOf(batch_id))[0]?.line_id));
    const told = async (xml: string) => {
      expect((await answer(world.anna, xml)).outcomes).toEqual(["amount_differs"]);
      const { out } = await operate(["payout", "answer", "--file", join(world.folder, `bank-${files}.xml`)], {
        OPERATOR_DATABASE_URL: world.database.url("operator_anna"),
        PAYOUT_ACCOUNT_IBAN: "NL20INGB0001234567",
      });
      return /payout settle --failed/.test(out);
    };
    expect(await told(entryOf(line, "81.00"))).toBe(false);
    expect(await told(back({ line, amount: "79.50", reason: "AC04" }))).toBe(true);
  });

  // each as public reports show it: OCA/bank-payment#21 and OCA/bank-statement-import#51, #61, #113, #157, #187, #842, #976,
  // alyf-de/banking#307, hbci4j/hbci4java#104, odoo/odoo#40935, securo-finance/securo#416
  test("contract §3 files as banks write them: encodings, zeros, pages, moments, batches, returns in words, less a charge, or net", async () => {
    const [first, second, third] = await world.sold([100, 50, 25]);
    const { batch_id } = await world.exported();
    const lines = await world.linesOf(batch_id);
    const lineOf = (payee: typeof first) =>
      bare(String(lines.find((each) => each.payee === payee?.account_id)?.line_id));
    const [one, two, three] = [lineOf(first), lineOf(second), lineOf(third)];
    const old = "camt.053.001.02";
    const outcomes = async (xml: string | Buffer) => {
      const { outcomes, left } = await answer(world.anna, xml);
      return [outcomes, Object.keys(left)];
    };
    // before it is booked, and a statement without an entry
    const debit = bankEntry(old, { amount: "000000000000140.00", batch: bare(batch_id), details: [{ line: one }] });
    const listed = debit.replace("</TxDtls>", `</TxDtls><TxDtls><Refs><EndToEndId>${two}</EndToEndId></Refs></TxDtls>`);
    const batch = listed.replace(
      "</NtryDtls>",
      `<TxDtls><Refs><EndToEndId>${three}</EndToEndId></Refs></TxDtls></NtryDtls>`,
    );
    expect(await outcomes(camt(old, [batch.replace("BOOK", "PDNG")]))).toEqual([[], ["entry that is not booked yet"]]);
    expect(await outcomes(camt(old, []))).toEqual([[], []]);
    // without a day of booking nobody knows which booking it is
    const undated = camt(old, [batch.replace(/<BookgDt>.*<\/BookgDt>/, "")]);
    expect(await outcomes(undated)).toEqual([["no_day"], []]);
    // ISO 8859 that is declared as UTF-8, pages of several accounts, a moment, our account as another number
    const page = camt(old, [batch], "NL20 INGB 0001 2345 67").replace(/IBAN>/g, "Othr>");
    const ours = page.replace(/<Othr>(.*)<\/Othr>/, "<Othr><Id>$1</Id></Othr><Nm>Müller</Nm>");
    const [foreign] = camt(old, [debit], "DE89370400440532013000").match(/<Stmt>.*<\/Stmt>/s) ?? [];
    const pages = ours
      .replace("<Stmt>", `${foreign}<Stmt>`)
      .replace(/(.*)<Dt>2026-08-17<\/Dt><\/BookgDt>/s, "$1<DtTm>2026-08-17T13:47:43.673741+02:00</DtTm></BookgDt>");
    const iso = Buffer.from(pages, "latin1");
    const other = "entry of account DE89370400440532013000, which is not PAYOUT_ACCOUNT_IBAN";
    expect(await outcomes(iso)).toEqual([["paid"], [other]]);
    // the same day, payment by payment, in the other report
    const each = camt("camt.054.001.08", [
      bankEntry("camt.054.001.08", {
        amount: "140.00",
        details: [
          { line: one, amount: "80.00" },
          { line: two, amount: "40.00" },
          { line: three, amount: "20.00" },
        ],
      }),
    ]);
    expect(await outcomes(each)).toEqual([["already", "already", "already"], []]);
    // what came back: in words, less a charge, without our id, and net of a payment to somebody else
    const credit = (amount: string, line: string, more = "") =>
      bankEntry(MESSAGE, { amount, credit: true, day: "2026-08-19", details: [{ line, amount }] }).replace(
        "</TxDtls>",
        `${more}</TxDtls>`,
      );
    const words = credit("80.00", one, "<AddtlTxInf>RETOUR AC04 opgeheven</AddtlTxInf>");
    const returned = camt(MESSAGE, [
      words.replace("<Sts>", "<RvslInd>true</RvslInd><Sts>"),
      credit("39.50", two, "<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>"),
      credit("20.00", "NOTPROVIDED", "<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>"),
      credit("20.00", three),
    ]);
    const ask = ["return of 20.00 euro (AC04) that names no payment of ours: ask the bank"];
    const payee = `credit of 20.00 euro that names our payment ${three}, and is no return: if the bank sent it back, run payout settle --failed`;
    expect(await outcomes(returned)).toEqual([
      ["waits", "amount_differs"],
      [...ask, payee],
    ]);
    expect((await answer(world.bram, returned)).outcomes).toEqual(["failed", "amount_differs"]);
    expect(await notices("payout_failed")).toEqual([]);
    await world.anna(["payout", "settle", "--failed", two, "--reason", "AC04 less 0.50"]);
    expect(await notices("payout_failed")).toEqual([second?.account_id]);
    expect(await world.balances("customer")).toEqual({
      [String(first?.account_id)]: 80,
      [String(second?.account_id)]: 40,
    });
    const net = bankEntry(MESSAGE, {
      amount: "10.00",
      day: "2026-08-20",
      details: [
        { line: "huur", amount: "30.00" },
        { line: three, amount: "20.00", reason: "AM04" },
      ],
    }).replace(/DBIT(<\/CdtDbtInd><RtrInf>)/, "CRDT$1");
    expect(await outcomes(camt(MESSAGE, [net]))).toEqual([["waits"], ["payment about something else"]]);
    // what is no such file says what to do
    for (const [bytes, sentence] of [
      [Buffer.from("504b0304140000000800", "hex"), /Unpack a zip first, and read each file of it/],
      [Buffer.from(camt("camt.052.001.08", [])), /This is camt\.052\.001\.08\. Ask the bank for one of pain\.002/],
    ] as const) {
      const file = join(world.folder, "other");
      writeFileSync(file, bytes);
      expect((await world.anna(["payout", "answer", "--file", file])).err).toMatch(sentence);
    }
  });

  test("contract §3 lines are settled and fail by themselves; what comes back waits for a second person, whoever repeats it", async () => {
    const [closed, died, late, good] = await world.sold([100, 50, 25, 20]);
    const { batch_id } = await world.exported();
    const lines = Object.fromEntries(
      (await world.linesOf(batch_id)).map(({ payee, line_id }) => [payee, bare(line_id)]),
    );
    const id = (customer: typeof closed) => String(customer?.account_id);
    const line = (customer: typeof closed) => lines[id(customer)] ?? "";
    const message = "camt.054.001.02";
    const details = [
      { line: line(closed), amount: "80.00" },
      { line: line(good), amount: "16.00" },
    ];
    const some = camt(message, [bankEntry(message, { amount: "96.00", details })]);
    expect((await answer(world.anna, some)).outcomes).toEqual(["paid", "paid"]);
    expect(await world.row("select status from core.payout_batches")).toEqual({ status: "exported" });
    expect(Object.keys(await world.balances("bank")).sort()).toEqual([id(closed), id(good)].sort());

    const returned = back(
      { line: line(closed), amount: "80.00", reason: "AC04" },
      { line: line(died), amount: "40.00", reason: "MD07" },
      { line: line(late), amount: "20.00", reason: "TM01" },
      { line: line(good), amount: "15.99", reason: "AC04" },
      { line: "0b0d1e0000004000800000000000000b", amount: "1.00", reason: "AC04" },
    );
    const waits = ["waits", "waits", "waits", "amount_differs", "unknown"];
    // two people who are one
    const first = await answer(world.anna, returned);
    expect([first.changed, first.outcomes]).toEqual([true, waits]);
    const alone = await answer(world.anna, returned);
    expect([alone.changed, alone.outcomes]).toEqual([false, waits]);
    expect((await world.run(["payout", "answer", "--file", join(world.folder, "x")])).err).toMatch(
      /PAYOUT_ACCOUNT_IBAN/,
    );
    expect(await world.balances("customer")).toEqual({});
    // others read it in another file that overlaps
    const second = await answer(world.bram, returned.replaceAll("<Id>1</Id>", "<Id>2</Id>"));
    expect([second.changed, second.outcomes]).toEqual([
      true,
      ["failed", "failed", "failed", "amount_differs", "unknown"],
    ]);
    expect(second.said[0]).toMatchObject({ means: "the account is closed", effect: "account" });
    expect(await world.balances("customer")).toEqual({ [id(closed)]: 80, [id(died)]: 40, [id(late)]: 20 });
    // only who has to give another account is mailed
    expect(await notices("payout_failed")).toEqual([id(closed)]);
    expect(await world.row("select status from core.payout_batches")).toEqual({ status: "settled" });
    for (const run of [world.anna, world.bram]) {
      const same = await answer(run, returned);
      expect([same.changed, same.outcomes.slice(0, 3)]).toEqual([false, ["already", "already", "already"]]);
    }
    // it was booked before it came back
    const both = camt(MESSAGE, [bankEntry(MESSAGE, { amount: "20.00", details: [{ line: line(late) }] })]);
    expect((await answer(world.anna, both)).outcomes).toEqual(["already"]);
    // who died is not paid to another account either
    await world.setIban(died as never, "DE89370400440532013000");
    expect(await reasons()).toMatchObject({ [id(closed)]: "iban_failed", [id(died)]: "holder_died" });
    const paid = await world.row(
      "select array_agg(payee_id) as payees from core.payout_lines where status = 'pending'",
    );
    expect(paid).toEqual({ payees: [id(late)] });
    expect((await world.anna(["payout", "release", id(died), "--reason", "the heirs gave it"])).code).toBe(0);
    expect(await reasons()).not.toHaveProperty(id(died));
    await world.agrees();
  });

  test("attack: what the bank says that it had before is paid once, wherever and however it says so", async () => {
    const [customer] = await world.sold([100]);
    const { batch_id } = await world.exported();
    const [line] = await world.linesOf(batch_id);
    const end = bare(String(line?.line_id));
    const id = bare(batch_id);
    for (const [status, ...outcomes] of [
      [{ group: statusOf("RJCT", "DU01") }, "had_before"],
      [{ group: statusOf("RJCT"), batch: statusOf("RJCT", "AM05") }, "had_before"],
      [{ group: statusOf("RJCT"), lines: [{ line: end, ...statusOf("RJCT", "DU04") }] }, "had_before", "had_before"],
      [{ group: statusOf("RJCT", "DU01"), lines: [{ line: end, ...statusOf("RJCT") }] }, "had_before", "had_before"],
    ] as const) {
      const said = await both(pain002("pain.002.001.10", { id, ...(status as object) }));
      expect(said.map((each) => each.outcomes)).toEqual([outcomes, outcomes]);
    }
    expect(await world.balances("customer")).toEqual({});
    // as the reason of a payment that came back it says that the money is here
    await answer(world.anna, booked("80.00", batch_id));
    const [, done] = await both(back({ line: end, amount: "80.00", reason: "AM05" }));
    expect(done?.outcomes).toEqual(["failed"]);
    expect(await world.balances("customer")).toEqual({ [String(customer?.account_id)]: 80 });
  });

  test("attack: a batch, or a line, that the bank booked on another day too is told, and its surplus comes back once", async () => {
    const [customer] = await world.sold([100]);
    const { batch_id } = await world.exported();
    const [line] = await world.linesOf(batch_id);
    const end = bare(String(line?.line_id));
    const on = (day: string) => camt(MESSAGE, [bankEntry(MESSAGE, { amount: "80.00", batch: bare(batch_id), day })]);
    const outcomes = async (...files: string[]) => {
      const said: string[] = [];
      for (const file of files) said.push(...(await answer(world.anna, file)).outcomes);
      return said;
    };
    expect(await outcomes(on("2026-08-17"), on("2026-08-17"), entryOf(end, "80.00"))).toEqual([
      "paid",
      "already",
      "already",
    ]);
    expect(
      (
        await world.anna([
          "payout",
          "export",
          batch_id,
          "--out",
          join(world.folder, "a.xml"),
          "--again",
          "--reason",
          "x",
        ])
      ).err,
    ).toMatch(/The bank answered to batch/);
    // a status after it was booked
    const refused = pain002("pain.002.001.10", {
      id: bare(batch_id),
      lines: [{ line: end, ...statusOf("RJCT", "TM01") }],
    });
    expect(await outcomes(refused)).toEqual(["booked_before"]);
    const second = entryOf(end, "80.00", { day: "2026-08-18" });
    expect(await outcomes(on("2026-08-18"), second, second)).toEqual(Array(3).fill("booked_twice"));
    const credit = (day: string) =>
      camt(MESSAGE, [
        bankEntry(MESSAGE, { amount: "80.00", credit: true, day, details: [{ line: end, reason: "FOCR" }] }),
      ]);
    expect(await outcomes(credit("2026-08-19"), credit("2026-08-19"), second)).toEqual([
      "surplus",
      "surplus_before",
      "booked_twice",
    ]);
    expect(await world.balances("customer")).toEqual({});
    // and then the payment itself
    const [, done] = await both(credit("2026-08-20"));
    expect(done?.outcomes).toEqual(["failed"]);
    expect(await outcomes(on("2026-08-17"), entryOf(end, "80.00"), credit("2026-08-19"), credit("2026-08-20"))).toEqual(
      ["already", "already", "already", "already"],
    );
    expect(await world.balances("customer")).toEqual({ [String(customer?.account_id)]: 80 });
    // both payments came back
    expect((await world.anna(["payout", "settle", "--booked", end])).err).toMatch(/came back/);
  });

  test("attack: of what was booked twice one return is the surplus, also in one file with the bookings; the other is a return", async () => {
    const [first, second] = await world.sold([100, 50]);
    const { batch_id } = await world.exported();
    const lines = await world.linesOf(batch_id);
    const endOf = (customer: typeof first) => {
      const { line_id, amount_eur } = lines.find(({ payee }) => payee === customer?.account_id) ?? {};
      return { line: bare(String(line_id)), amount: Number(amount_eur).toFixed(2) };
    };
    const debit = (customer: typeof first, day: string) => {
      const { line, amount } = endOf(customer);
      return bankEntry(MESSAGE, { amount, day, details: [{ line, amount }] });
    };
    const credit = (customer: typeof first, day: string) => {
      const { line, amount } = endOf(customer);
      return bankEntry(MESSAGE, { amount, day, credit: true, details: [{ line, reason: "AC04" }] });
    };
    await answer(world.anna, camt(MESSAGE, [debit(first, "2026-08-17"), debit(second, "2026-08-17")]));
    // days in one file, read by both
    const one = camt(MESSAGE, [debit(first, "2026-08-17"), debit(first, "2026-08-18"), credit(first, "2026-08-19")]);
    expect((await both(one)).map((each) => each.outcomes)).toEqual([
      ["already", "booked_twice", "surplus"],
      ["already", "booked_twice", "surplus_before"],
    ]);
    // both payments came back on one day
    const all = camt(MESSAGE, [
      ...[debit(second, "2026-08-17"), debit(second, "2026-08-18")],
      ...[credit(second, "2026-08-19"), credit(second, "2026-08-19")],
    ]);
    expect((await both(all)).map((each) => each.outcomes)).toEqual([
      ["already", "booked_twice", "surplus", "waits"],
      ["already", "booked_twice", "surplus_before", "failed"],
    ]);
    expect(await world.balances("customer")).toEqual({ [String(second?.account_id)]: 40 });
  });

  test("attack: a batch that is booked again in the file that has its returns leaves a surplus, and no request of one person", async () => {
    await world.sold([100, 50]);
    const { batch_id } = await world.exported();
    const batch = bare(String(batch_id));
    const lines = await world.linesOf(batch_id);
    const amounts = lines.map(({ amount_eur }) => Number(amount_eur));
    const amount = amounts.reduce((sum, each) => sum + each, 0).toFixed(2);
    const debit = (day: string) => bankEntry(MESSAGE, { amount, day, batch });
    const credits = lines.map(({ line_id, amount_eur }) => {
      const back = { amount: Number(amount_eur).toFixed(2), day: "2026-08-18", credit: true };
      return bankEntry(MESSAGE, { ...back, details: [{ line: bare(String(line_id)), reason: "AC04" }] });
    });
    await answer(world.anna, camt(MESSAGE, [debit("2026-08-17")]));
    // the credits alone seem to be returns
    expect((await answer(world.bram, camt(MESSAGE, credits))).outcomes).toEqual(["waits", "waits"]);
    const one = camt(MESSAGE, [debit("2026-08-18"), ...credits]);
    expect((await answer(world.anna, one)).outcomes).toEqual(["booked_twice", "surplus", "surplus"]);
    expect(await world.balances("customer")).toEqual({});
    const asked = "select count(return_asked_by)::int as asked from core.payout_lines";
    expect((await world.database.admin.query(asked)).rows).toEqual([{ asked: 0 }]);
  });

  test("attack: what the bank sent back is not taken as paid by hand, unless it paid it twice", async () => {
    const [customer] = await world.sold([100]);
    const { batch_id } = await world.exported();
    const [line] = await world.linesOf(batch_id);
    const end = bare(String(line?.line_id));
    await answer(world.anna, entryOf(end, "80.00"));
    await both(back({ line: end, amount: "80.00", reason: "AM04" }));
    const take = ["payout", "settle", "--booked", end];
    expect((await world.anna(take)).err).toMatch(/came back, so its money is payable again/);
    expect(await world.balances("customer")).toEqual({ [String(customer?.account_id)]: 80 });
    expect((await answer(world.anna, entryOf(end, "80.00", { day: "2026-08-18" }))).outcomes).toEqual(["booked_twice"]);
    expect((await world.anna(take)).json).toMatchObject({ changed: true, paid: 1 });
    await world.agrees();
  });

  test("attack: both payments that came back on one day, in two files, are named, and the second is told by hand", async () => {
    const [customer] = await world.sold([100]);
    const { batch_id } = await world.exported();
    const [line] = await world.linesOf(batch_id);
    const end = bare(String(line?.line_id));
    for (const day of ["2026-08-17", "2026-08-18"]) await answer(world.anna, entryOf(end, "80.00", { day }));
    const credit = (id: string) => entryOf(end, "80.00", { credit: true, day: "2026-08-19" }).replace("B1", id);
    const returned = (id: string) =>
      credit(id).replace("</TxDtls>", "<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf></TxDtls>");
    const told = async (xml: string) => {
      const file = join(world.folder, "told.xml");
      writeFileSync(file, xml);
      const { out } = await operate(["payout", "answer", "--file", file], {
        OPERATOR_DATABASE_URL: world.database.url("operator_anna"),
        PAYOUT_ACCOUNT_IBAN: "NL20INGB0001234567",
      });
      return out;
    };
    // two files may give one booking two days
    expect(await told(returned("B2"))).toMatch(/surplus: .* that it paid once, run payout settle --failed/);
    expect((await answer(world.anna, returned("B3"))).outcomes).toEqual(["surplus_before"]);
    // an account that was paid is not wrong
    expect(await told(returned("B3"))).toMatch(/payout settle --failed --reason MS03/);
    await world.anna(["payout", "settle", "--failed", end, "--reason", "AC04"]);
    expect((await answer(world.anna, returned("B3"))).outcomes).toEqual(["already"]);
    expect(await world.balances("customer")).toEqual({ [String(customer?.account_id)]: 80 });
  });

  // VMelnalksnis/Gnomeshade#241: a fee has the reference of its payment
  test("attack: a charge under the id of a payment, or a return of another amount, hides neither the payment nor its return", async () => {
    const [first, second] = await world.sold([100, 50]);
    const { batch_id } = await world.exported();
    const lines = await world.linesOf(batch_id);
    const [one, two] = [first, second].map((customer) =>
      bare(String(lines.find(({ payee }) => payee === customer?.account_id)?.line_id)),
    ) as [string, string];
    const entry = (line: string, amount: string, day: string, reason?: string) =>
      bankEntry(MESSAGE, { amount, credit: !!reason, day, details: [{ line, amount, ...(reason ? { reason } : {}) }] });
    const debits = [
      ...[entry(one, "0.25", "2026-08-17"), entry(one, "80.00", "2026-08-17")],
      ...[entry(two, "40.00", "2026-08-17"), entry(two, "0.25", "2026-08-17")],
    ];
    const { outcomes } = await answer(world.anna, camt(MESSAGE, debits));
    expect(outcomes).toEqual(["amount_differs", "paid", "paid", "amount_differs"]);
    const ends = await world.row("select count(*)::int as paid, max(booked_again) as again from core.payout_lines");
    expect(ends).toEqual({ paid: 2, again: null });
    const credits = [
      ...[entry(one, "0.50", "2026-08-19"), entry(one, "80.00", "2026-08-19", "AM04")],
      ...[entry(two, "39.50", "2026-08-18", "AM04"), entry(two, "40.00", "2026-08-19", "AM04")],
    ];
    const [asked, done] = await both(camt(MESSAGE, credits));
    expect(asked?.outcomes).toEqual(["amount_differs", "waits", "amount_differs", "waits"]);
    expect(done?.outcomes).toEqual(["amount_differs", "failed", "amount_differs", "failed"]);
  });

  test("contract §3 two people who read two reasons for one line agree that it failed, and the stricter reason holds", async () => {
    // holder, account, or nothing: whoever reads it first, and whoever by hand
    const orders = ["AC04 TM01", "TM01 AC04", "MD07 AC04", "AC04 MD07", "TM01 XX13"];
    const customers = await world.sold(orders.map((_, n) => 20 + n));
    const { batch_id } = await world.exported();
    const lines = await world.linesOf(batch_id);
    const endOf = (n: number) => bare(String(lines.find(({ payee }) => payee === customers[n]?.account_id)?.line_id));
    const status = (at: 0 | 1) =>
      pain002("pain.002.001.10", {
        id: bare(batch_id),
        lines: orders.map((each, n) => ({ line: endOf(n), ...statusOf("RJCT", each.split(" ")[at]) })),
      });
    // one person who reads both waits with the stricter, and the same files again change nothing
    const waits = orders.map(() => "waits");
    for (const [at, changed] of [
      [0, true],
      [1, true],
      [0, false],
      [1, false],
    ] as const) {
      const said = await answer(world.anna, status(at));
      expect([said.changed, said.outcomes]).toEqual([changed, waits]);
    }
    const undo = await world.bram(["payout", "reject", batch_id, "--reason", "x", "--undo", "--yes"]);
    expect(undo.json).toMatchObject({ changed: true });
    await answer(world.anna, status(0));
    const { changed, said } = await answer(world.bram, status(1));
    const ends = { "AC04 TM01": "AC04", "TM01 AC04": "AC04", "MD07 AC04": "MD07", "AC04 MD07": "MD07" };
    expect([changed, said.map(({ outcome, reason }: Record<string, string>) => [outcome, reason])]).toEqual([
      true,
      orders.map((each) => ["failed", ends[each as keyof typeof ends] ?? "TM01"]),
    ]);
    expect((await notices("payout_failed")).sort()).toEqual([0, 1].map((n) => customers[n]?.account_id).sort());
    expect((await answer(world.anna, status(1))).outcomes).toEqual(orders.map(() => "already"));
    await world.agrees();
  });

  test("contract §3 of several reasons for one line the strictest holds, whatever the bank says of its batch", async () => {
    const customers = await world.sold([100, 50, 25]);
    const { batch_id } = await world.exported();
    const lines = await world.linesOf(batch_id);
    const reasonOf = (code: string) => `<StsRsnInf><Rsn><Cd>${code}</Cd></Rsn></StsRsnInf>`;
    const several = [["NARR", "MD07", "AC04"], ["MS03", "AC04", "AC06"], ["TM01"]].map((codes, n) => ({
      line: bare(String(lines.find(({ payee }) => payee === customers[n]?.account_id)?.line_id)),
      status: `<TxSts>RJCT</TxSts>${codes.map(reasonOf).join("")}`,
    }));
    const status = { id: bare(batch_id), group: statusOf("PART"), batch: statusOf("PART", "AC06"), lines: several };
    const [, done] = await both(pain002("pain.002.001.10", status));
    expect(done?.said.map(({ outcome, reason }: Record<string, string>) => [outcome, reason])).toEqual([
      ["failed", "MD07"],
      ["failed", "AC04"],
      ["failed", "TM01"],
    ]);
    expect(await notices("payout_failed")).toEqual([customers[1]?.account_id]);
    // what another file says that the bank had before has the reason of that file
    await world.exported();
    const [line] = (await world.row("select array_agg(id) as ids from core.payout_lines where status = 'pending'")).ids;
    const one = async (run: Run, reason: string) => {
      const said = { line: bare(String(line)), ...statusOf("RJCT", reason) };
      const [word] = (await answer(run, pain002("pain.002.001.10", { id: bare(batch_id), lines: [said] }))).said;
      return [word.outcome, word.reason];
    };
    expect(await one(world.anna, "TM01")).toEqual(["waits", "TM01"]);
    expect(await one(world.bram, "DU03")).toEqual(["had_before", "DU03"]);
  });

  test("attack: who gave another IBAN between the export and the refusal is not asked for one, and is paid to it", async () => {
    const [changed, same] = await world.sold([100, 50]);
    const { batch_id } = await world.exported();
    await world.setIban(changed as never, "NL20INGB0001234567");
    const lines = (await world.linesOf(batch_id)).map(({ line_id }) => ({
      line: bare(line_id),
      ...statusOf("RJCT", "AC04"),
    }));
    await both(pain002("pain.002.001.10", { id: bare(batch_id), lines }));
    expect(await notices("payout_failed")).toEqual([same?.account_id]);
    const { batch_id: next, xml } = await world.exported();
    expect((await world.linesOf(next)).map(({ payee }) => payee)).toEqual([changed?.account_id]);
    expect(xml).toContain("<IBAN>NL20INGB0001234567</IBAN></Id></CdtrAcct>");
  });

  test("contract §3 what one person read and another says by hand is one failure, by the stricter reason", async () => {
    const customers = await world.sold([100, 50, 25]);
    const { batch_id } = await world.exported();
    const lines = await world.linesOf(batch_id);
    const [closed, late, died] = customers.map(
      (customer) => lines.find(({ payee }) => payee === customer.account_id)?.line_id ?? "",
    ) as [string, string, string];
    const read = [closed, late, died].map((line, n) => ({
      line: bare(line),
      ...statusOf("RJCT", ["AC04", "TM01", "MD07"][n]),
    }));
    await answer(world.anna, pain002("pain.002.001.10", { id: bare(batch_id), lines: read }));
    const fail = async (line: string, reason: string) =>
      (await world.bram(["payout", "settle", "--failed", line, "--reason", reason])).json;
    expect(await fail(closed, "AM04 no money")).toMatchObject({ failed: 1, waits: 0 });
    expect(await fail(late, "the account is another one's")).toMatchObject({ failed: 1, waits: 0 });
    expect(await fail(died, "AC04")).toMatchObject({ failed: 1, waits: 0 });
    expect(await fail(closed, "AM04 no money"), "the same again").toMatchObject({ changed: false, failed: 0 });
    const { ends } = await world.row(
      "select array_agg(failed_reason || ', ' || failed_effect order by amount desc) as ends from core.payout_lines",
    );
    expect(ends).toEqual(["AC04, account", "the account is another one's, account", "MD07, holder"]);
    expect((await notices("payout_failed")).sort()).toEqual([0, 1].map((n) => customers[n]?.account_id).sort());
    await world.agrees();
  });

  test("attack: a reason of the whole batch bars no account of its lines, and mails nobody", async () => {
    const customers = await world.sold([100, 50]);
    const { batch_id } = await world.exported();
    const lines = (await world.linesOf(batch_id)).map(({ line_id }) => ({
      line: bare(String(line_id)),
      ...statusOf("RJCT"),
    }));
    const xml = pain002("pain.002.001.10", { id: bare(batch_id), batch: statusOf("RJCT", "AC06"), lines });
    expect((await both(xml)).map((each) => each.outcomes)).toEqual([
      ["waits", "waits", "waits"],
      ["rejected", "failed", "failed"],
    ]);
    expect(await notices("payout_failed")).toEqual([]);
    expect((await world.exported()).batch_id).not.toBe(batch_id);
    expect(await world.balances("payout")).toEqual(
      Object.fromEntries(customers.map(({ account_id }, n) => [account_id, n === 0 ? 80 : 40])),
    );
  });

  test("contract §8 quarter names whom the bank sent back for a reason that bars nothing, unless the reason is ours", async () => {
    const [customer] = await world.sold([100, 50]);
    const { batch_id } = await world.exported();
    const lines = await world.linesOf(batch_id);
    const refused = lines.map(({ line_id, payee }) => ({
      line: bare(line_id),
      ...statusOf("RJCT", payee === customer?.account_id ? "XX13" : "AM04"),
    }));
    await both(pain002("pain.002.001.10", { id: bare(batch_id), lines: refused }));
    const named = async () =>
      (await world.done("quarter 2026-Q2")).unpayable
        .filter(({ reason }: { reason: string }) => reason === "came_back")
        .map(({ payee, because }: Record<string, string>) => [payee, because]);
    expect(await named()).toEqual([[customer?.account_id, "XX13"]]);
    const { out } = await operate(["quarter", "2026-Q2"], { OPERATOR_DATABASE_URL: world.database.url("operator") });
    expect(out).toMatch(/came back\n.*came_back .*ask about the account, because the bank said XX13/s);
    await world.setIban(customer as never, "DE89370400440532013000");
    expect(await named()).toEqual([]);
  });

  test("attack: one person who writes a file of the bank does not release what it says", async () => {
    const [customer] = await world.sold([100]);
    const { batch_id } = await world.exported();
    await answer(world.anna, booked("80.00", batch_id));
    const [line] = await world.linesOf(batch_id);
    const forged = back({ line: bare(String(line?.line_id)), amount: "80.00", reason: "AC04" });
    expect((await answer(world.anna, forged)).outcomes).toEqual(["waits"]);
    await world.anna(["payout", "settle", "--failed", String(line?.line_id), "--reason", "AC04"]);
    const release = ["payout", "release", String(customer?.account_id), "--reason", "x"];
    expect((await world.anna(release)).err).toMatch(/somebody else has to release/);
    // nor once it has failed
    expect((await answer(world.anna, forged)).outcomes).toEqual(["already"]);
    expect((await world.anna(release)).err).toMatch(/somebody else has to release/);
    // nor by the login that several share
    expect((await world.run(["payout", "settle", "--failed", String(line?.line_id)])).err).toMatch(
      /operator is shared/,
    );
  });

  test("attack: who reported one line of a payee does not release it through another", async () => {
    const [customer] = await world.sold([100]);
    const first = await world.exported();
    await world.sell(customer as never, 50, "2026-05");
    const second = await world.exported();
    const [[one], [two]] = [await world.linesOf(first.batch_id), await world.linesOf(second.batch_id)];
    await both(back({ line: bare(String(two?.line_id)), amount: "40.00", reason: "AC04" }));
    await world.anna(["payout", "settle", "--failed", String(one?.line_id), "--reason", "AC04"]);
    // no line of it waits for the bank any more
    expect(await world.row("select status from core.payout_batches where id = $1", first.batch_id)).toEqual({
      status: "settled",
    });
    expect((await answer(world.bram, reject(first.batch_id))).outcomes).toEqual(["already"]);
    const release = ["payout", "release", String(customer?.account_id), "--reason", "x"];
    expect((await world.anna(release)).err).toMatch(/operator_anna reported[\s\S]*somebody else has to release/);
    expect((await world.bram(release)).json).toMatchObject({ changed: true });
  });

  test("attack: a batch whose lines all failed, and that the bank booked all the same, is named", async () => {
    await world.sold([100, 50]);
    const { batch_id } = await world.exported();
    const lines = (await world.linesOf(batch_id)).map(({ line_id }) => ({
      line: bare(String(line_id)),
      ...statusOf("RJCT", "TM01"),
    }));
    await both(pain002("pain.002.001.10", { id: bare(batch_id), lines }));
    expect((await answer(world.anna, booked("120.00", batch_id))).outcomes).toEqual(["failed_before"]);
  });

  test("contract §3 what failed here by mistake is taken back once, unless another payment has the money; it may come back after that", async () => {
    const [customer] = await world.sold([100, 50]);
    const { batch_id } = await world.exported();
    const line = (await world.linesOf(batch_id)).find(({ payee }) => payee === customer?.account_id)?.line_id ?? "";
    await world.anna(["payout", "settle", "--failed", line]);
    const debit = booked("120.00", batch_id);
    expect((await answer(world.anna, debit)).outcomes).toEqual(["sum_differs"]);
    const take = ["payout", "settle", "--booked", line];
    expect((await world.run(take)).err).toMatch(/operator is shared/);
    // while another payment has it
    await world.bram(["payout", "release", String(customer?.account_id), "--reason", "a mistake"]);
    const { batch } = (await world.anna("payout prepare")).json;
    expect((await world.anna(take)).err).toMatch(/run payout cancel for its batch first/);
    await world.anna(["payout", "cancel", batch.batch_id, "--reason", "x", "--yes"]);
    expect((await world.anna(take)).json).toMatchObject({ changed: true, paid: 1 });
    expect((await world.anna(take)).json).toMatchObject({ changed: false });
    await world.agrees();
    expect(await world.balances("customer")).toEqual({});
    expect((await answer(world.anna, debit)).outcomes).toEqual(["paid"]);
    const [, done] = await both(back({ line: bare(line), amount: "80.00", reason: "AC04" }));
    expect(done?.outcomes).toEqual(["failed"]);
    expect(await world.balances("customer")).toEqual({ [String(customer?.account_id)]: 80 });
    expect((await world.anna(take)).err).toMatch(/came back, so/);
    // of each failure
    expect(await notices("payout_failed")).toEqual(Array(2).fill(customer?.account_id));
  });

  test("attack: a batch is not exported once an IBAN of it was changed or barred after it was prepared", async () => {
    const [customer] = await world.sold([100]);
    const { json } = await world.anna("payout prepare");
    await world.bram(["payout", "approve", json.batch.batch_id, "--yes"]);
    const write = ["payout", "export", json.batch.batch_id, "--out", join(world.folder, "stale.xml")];
    await world.freeze("2026-08-16T12:00:00Z");
    await world.setIban(customer as never, "DE89370400440532013000");
    await world.row("update core.accounts set iban_changed_at = private.now() where id = $1", customer?.account_id);
    expect((await world.anna(write)).err).toMatch(/was changed or barred[\s\S]*payout cancel/);
  });

  test("contract §3 who reported a failure does not release its IBAN", async () => {
    const [customer] = await world.sold([100]);
    const { batch_id } = await world.exported();
    const [line] = await world.linesOf(batch_id);
    await world.anna(["payout", "settle", batch_id, "--failed", String(line?.line_id), "--reason", "AC04"]);
    const release = ["payout", "release", String(customer?.account_id), "--reason", "the bank was in error"];
    expect((await world.anna(release)).err).toMatch(/somebody else/);
    // nor by saying that it was paid all the same
    const take = ["payout", "settle", "--booked", String(line?.line_id)];
    expect((await world.anna(take)).err).toMatch(/somebody else/);
    expect((await world.bram(release)).json).toMatchObject({ changed: true });
  });

  test("contract §3 a return, or a refusal, of what retention deleted is unknown and changes nothing", async () => {
    await world.sold([100]);
    const { batch_id } = await world.exported();
    const [line] = await world.linesOf(batch_id);
    await answer(world.anna, booked("80.00", batch_id));
    await world.freeze("2034-01-02T12:00:00Z");
    while ((await world.row("select private.chain_audit(1000) as answer")).answer.more);
    await world.done("retention run --yes");
    expect(await world.row("select count(*)::int as lines from core.payout_lines")).toEqual({ lines: 0 });
    const before = await rowCounts(world, "ledger_entries", "audit_log", "notices");
    const returned = await both(back({ line: bare(String(line?.line_id)), amount: "80.00", reason: "AC04" }));
    for (const { changed, outcomes } of [...returned, ...(await both(reject(batch_id)))])
      expect([changed, outcomes]).toEqual([false, ["unknown"]]);
    expect(await rowCounts(world, "ledger_entries", "audit_log", "notices")).toEqual(before);
  });

  test("contract §3 lines that failed before count not in the sum of the batch; a return follows the settlement, and a later payment", async () => {
    const [customer, other] = await world.sold([100, 50]);
    const { batch_id } = await world.exported();
    const lines = await world.linesOf(batch_id);
    const lineOf = (payee: typeof customer) =>
      bare(lines.find((each) => each.payee === payee?.account_id)?.line_id ?? "");
    await both(
      pain002("pain.002.001.03", {
        id: bare(batch_id),
        lines: [{ line: lineOf(customer), ...statusOf("RJCT", "AM04") }],
      }),
    );
    expect((await answer(world.anna, booked("120.00", batch_id))).outcomes).toEqual(["sum_differs"]);
    expect((await answer(world.anna, booked("40.00", batch_id))).outcomes).toEqual(["paid"]);
    // nothing is barred, so the next batch pays the same account
    const next = await world.exported();
    await answer(world.anna, booked("80.00", next.batch_id));
    const [, done] = await both(back({ line: lineOf(other), amount: "40.00", reason: "AC01" }));
    expect(done?.outcomes).toEqual(["failed"]);
    expect(await world.balances("customer")).toEqual({ [String(other?.account_id)]: 40 });
    expect(await notices("payout_failed")).toEqual([other?.account_id]);
  });

  test("contract §3 a return that is read before the debit of its batch settles it, and a payment is of the day it was booked", async () => {
    const [first, second] = await world.sold([100, 50, 25]);
    await world.freeze("2026-12-30T12:00:00Z");
    const { batch_id } = await world.exported();
    const lines = await world.linesOf(batch_id);
    const lineOf = (payee: typeof first) => bare(lines.find((each) => each.payee === payee?.account_id)?.line_id ?? "");
    const on = (amount: string, day: string) =>
      camt(MESSAGE, [bankEntry(MESSAGE, { amount, batch: bare(batch_id), day })]);
    await world.freeze("2027-01-04T09:00:00Z");
    // what was refused was never booked; what came back was
    const refused = [{ line: lineOf(second), ...statusOf("RJCT", "AC04") }];
    await both(pain002("pain.002.001.03", { id: bare(batch_id), lines: refused }));
    await both(back({ line: lineOf(first), amount: "80.00", reason: "AC04" }));
    for (const amount of ["140.00", "60.00"])
      expect((await answer(world.anna, on(amount, "2026-12-31"))).outcomes).toEqual(["sum_differs"]);
    expect((await answer(world.anna, on("100.00", "2026-12-31"))).outcomes).toEqual(["paid"]);
    expect((await answer(world.anna, on("100.00", "2026-12-31"))).outcomes).toEqual(["already"]);
    const days = async (batch: string) =>
      (
        await world.row(
          "select array_agg(distinct private.iso(paid_at)) as days from core.payout_lines where batch_id = $1 and status = 'paid'",
          batch,
        )
      ).days;
    expect(await days(batch_id)).toEqual(["2026-12-31T11:00:00Z"]);
    // a line by itself; not before its export, nor after now
    await world.row("update core.accounts set iban_changed_at = '2026-01-01'");
    for (const [day, at] of [
      ["2026-12-31", "2027-01-04T09:00:00Z"],
      ["2027-01-09", "2027-01-05T09:00:00Z"],
    ] as const) {
      await world.freeze("2026-12-30T12:00:00Z");
      await world.sold([30]);
      await world.freeze("2027-01-04T09:00:00Z");
      const next = await world.exported();
      const [line] = await world.linesOf(next.batch_id);
      await world.freeze("2027-01-05T09:00:00Z");
      const details = [{ line: bare(String(line?.line_id)) }];
      const amount = Number(line?.amount_eur).toFixed(2);
      await answer(world.anna, camt(MESSAGE, [bankEntry(MESSAGE, { amount, details, day })]));
      expect(await days(next.batch_id)).toEqual([at]);
    }
  });

  test("contract §3 what failed here by mistake keeps the day on which the bank booked it, whichever was first", async () => {
    const customers = await world.sold([100, 50, 25]);
    await world.freeze("2026-12-30T12:00:00Z");
    const { batch_id } = await world.exported();
    const lines = await world.linesOf(batch_id);
    const [paid = "", refused = "", whole = ""] = customers.map(
      (customer) => lines.find(({ payee }) => payee === customer.account_id)?.line_id,
    );
    await world.freeze("2027-01-04T09:00:00Z");
    const debit = (line: string, amount: string, day = "2026-12-31") => entryOf(bare(line), amount, { day });
    expect((await answer(world.anna, debit(paid, "80.00"))).outcomes).toEqual(["paid"]);
    await world.anna(["payout", "settle", "--failed", paid, refused, whole, "--reason", "AC04"]);
    expect((await answer(world.anna, debit(refused, "40.00"))).outcomes).toEqual(["failed_before"]);
    const all = camt(MESSAGE, [bankEntry(MESSAGE, { amount: "140.00", batch: bare(batch_id), day: "2026-12-31" })]);
    expect((await answer(world.anna, all)).outcomes).toEqual(["failed_before"]);
    expect((await world.bram(["payout", "settle", "--booked", paid, refused, whole])).json).toMatchObject({ paid: 3 });
    const { days } = await world.row("select array_agg(private.iso(paid_at)) as days from core.payout_lines");
    expect(days).toEqual(Array(3).fill("2026-12-31T11:00:00Z"));
    for (const [line, amount] of [
      [paid, "80.00"],
      [refused, "40.00"],
      [whole, "20.00"],
    ] as const)
      expect((await answer(world.anna, debit(line, amount, "2027-01-03"))).outcomes).toEqual(["booked_twice"]);
    await world.anna(["payout", "settle", "--failed", paid, "--reason", "AC04"]);
    expect((await world.bram(["payout", "settle", "--booked", paid])).err).toMatch(/taken back once before/);
  });

  test("contract §3 a line that was refused first, and is a debit and a credit in the statement, counts in the sum", async () => {
    const [customer] = await world.sold([100, 50]);
    const { batch_id } = await world.exported();
    const line = bare(
      String((await world.linesOf(batch_id)).find(({ payee }) => payee === customer?.account_id)?.line_id),
    );
    const lines = [{ line, ...statusOf("RJCT", "AC04") }];
    await both(pain002("pain.002.001.03", { id: bare(batch_id), lines }));
    const details = [{ line, amount: "80.00", reason: "AC04" }];
    const statement = camt(MESSAGE, [
      bankEntry(MESSAGE, { amount: "120.00", batch: bare(batch_id) }),
      bankEntry(MESSAGE, { amount: "80.00", credit: true, details }),
    ]);
    expect((await answer(world.anna, statement)).outcomes).toEqual(["paid", "already"]);
    const again = await answer(world.bram, statement);
    expect([again.changed, again.outcomes]).toEqual([false, ["already", "already"]]);
    expect(await world.balances("customer")).toEqual({ [String(customer?.account_id)]: 80 });
  });

  test("contract §3 a file that the bank refused whole bars nothing and mails nobody; a cancelled batch has no answer", async () => {
    await world.sold([100, 50]);
    const { batch_id, xml } = await world.exported();
    const owed = { ...(await world.balances("payout")) };
    const [first, second] = await both(reject(batch_id));
    expect([first?.outcomes, second?.outcomes]).toEqual([["waits"], ["rejected"]]);
    expect(await world.balances("customer")).toEqual(owed);
    expect(await notices("payout_failed")).toEqual([]);
    expect((await answer(world.anna, reject(batch_id))).outcomes).toEqual(["already"]);
    // unless the bank booked it all the same, of which one line is told first
    const all = (await world.linesOf(batch_id)).map(({ line_id }) => line_id);
    for (const [line, outcome] of [
      [all[0], "failed_before"],
      [all[1], "already"],
    ]) {
      expect((await world.anna(["payout", "settle", "--booked", String(line)])).json).toMatchObject({ paid: 1 });
      expect((await answer(world.anna, booked("120.00", batch_id))).outcomes).toEqual([outcome]);
    }
    await world.sold([100, 50]);
    const next = await world.exported();
    expect(next.batch_id).not.toBe(batch_id);
    expect(next.xml).not.toBe(xml);
    await answer(world.anna, booked("120.00", next.batch_id));
    expect((await answer(world.bram, reject(next.batch_id))).outcomes).toEqual(["booked_before"]);

    await world.sold([30]);
    const { batch } = (await world.anna("payout prepare")).json;
    await world.anna(["payout", "cancel", batch.batch_id, "--reason", "x", "--yes"]);
    const cancelled = await answer(world.anna, reject(batch.batch_id));
    expect([cancelled.changed, cancelled.outcomes]).toEqual([false, ["not_exported"]]);
  });

  test("attack: a refused file, a file that was sent twice, and a line that came back are paid once", async () => {
    const [customer] = await world.sold([100, 50]);
    const { batch_id } = await world.exported();
    const lines = await world.linesOf(batch_id);
    const line = String(lines.find(({ payee }) => payee === customer?.account_id)?.line_id);
    // it was sent twice, and the bank pays the first
    expect((await answer(world.anna, reject(batch_id, "DUPL"))).outcomes).toEqual(["had_before"]);
    const command = ["payout", "reject", batch_id, "--reason", "AM05 sent twice", "--yes"];
    expect((await world.anna(command)).err).toMatch(/had the same order before/);
    // while a refusal waits, nobody is told that it was paid
    expect((await answer(world.anna, reject(batch_id))).outcomes).toEqual(["waits"]);
    expect((await world.run(["payout", "settle", batch_id])).err).toMatch(/Another operator repeats that first/);
    const resend = ["payout", "export", batch_id, "--again", "--reason", "x", "--out", join(world.folder, "twice.xml")];
    expect((await world.bram(resend)).err).toMatch(/The bank answered to batch/);
    expect(await notices("payout_paid")).toEqual([]);
    // a batch that is booked twice in one file, and then at another sum
    const twice = camt(
      MESSAGE,
      [1, 2].map(() => bankEntry(MESSAGE, { amount: "120.00", batch: bare(batch_id) })),
    );
    expect((await answer(world.anna, twice)).outcomes).toEqual(["paid", "booked_twice"]);
    expect((await answer(world.anna, booked("119.99", batch_id))).outcomes).toEqual(["sum_differs"]);
    // where nothing is barred, a line that was paid is payable again once two people say so
    const failing = ["payout", "settle", "--failed", line, "--reason", "AM04 no money"];
    expect((await world.run(failing)).err).toMatch(/operator is shared/);
    for (const changed of [true, false])
      expect((await world.anna(failing)).json).toMatchObject({ changed, failed: 0, waits: 1 });
    expect((await world.bram(failing)).json).toMatchObject({ changed: true, failed: 1, waits: 0 });
    expect(await world.balances("customer")).toEqual({ [String(customer?.account_id)]: 80 });
    // a file that was refused is written never again
    const next = await world.exported();
    await both(reject(next.batch_id));
    const again = [
      "payout",
      "export",
      next.batch_id,
      "--again",
      "--reason",
      "resend",
      "--out",
      join(world.folder, "a.xml"),
    ];
    expect((await world.anna(again)).err).toMatch(/The bank refused the file/);
    await world.agrees();
  });

  test("contract §3 payout reject takes two people, and no batch of which a line was booked", async () => {
    const [customer] = await world.sold([100]);
    const { batch_id } = await world.exported();
    const command = ["payout", "reject", batch_id, "--reason", "DT01 a holiday", "--yes"];
    expect((await world.run(command)).err).toMatch(/operator is shared/);
    for (const changed of [true, false])
      expect((await world.anna(command)).json).toMatchObject({
        changed,
        outcome: "waits",
        batch: { status: "exported" },
      });
    // it was another batch: whoever sees it takes it back
    const undo = (await world.bram([...command, "--undo"])).json;
    expect(undo).toMatchObject({
      changed: true,
      outcome: "undone",
      batch: { status: "exported", reject_asked_by: null },
    });
    expect((await world.bram([...command, "--undo"])).json).toMatchObject({ changed: false });
    await world.anna(command);
    const ran = await Promise.all(Array.from({ length: 10 }, () => world.bram(command)));
    expect(ran.filter(({ json }) => json.changed)).toHaveLength(1);
    expect(ran[0]?.json).toMatchObject({
      batch: { status: "rejected", failed: 1, cancelled_reason: "DT01 a holiday" },
    });
    expect(await world.balances("customer")).toEqual({ [String(customer?.account_id)]: 80 });
    expect((await world.anna(["payout", "settle", batch_id])).err).toMatch(/The bank refused the file/);
    await world.agrees();
    const next = await world.exported();
    await answer(world.anna, booked("80.00", next.batch_id));
    expect((await world.anna(["payout", "reject", next.batch_id, "--reason", "x", "--yes"])).err).toMatch(
      /booked a line/,
    );
  });
});

test("contract §3 the bank pays on TARGET days, and what mails promise counts the same days", async () => {
  const days = (expression: string, from: string, until: string) =>
    world
      .row(
        `select array_agg(to_char(d, 'YYYY-MM-DD') order by d) as days from generate_series($1::date, $2::date, '1 day') d where ${expression}`,
        from,
        until,
      )
      .then((row) => row.days);
  const closed = "not private.is_target_day(d::date) and extract(isodow from d) < 6";
  expect(await days(closed, "2026-01-01", "2028-12-31")).toEqual([
    ...["2026-01-01", "2026-04-03", "2026-04-06", "2026-05-01", "2026-12-25"],
    ...["2027-01-01", "2027-03-26", "2027-03-29"],
    ...["2028-04-14", "2028-04-17", "2028-05-01", "2028-12-25", "2028-12-26"],
  ]);
  const easter = await world.row(
    "select array_agg(to_char(private.easter(y), 'MM-DD') order by y) as days from unnest('{1818,2000,2008,2024,2038,2049}'::int[]) y",
  );
  expect(easter.days).toEqual(["03-22", "04-23", "03-23", "03-31", "04-25", "04-18"]);

  await world.sold([100]);
  await world.freeze("2026-12-26T12:00:00Z");
  const { batch } = (await world.anna("payout prepare")).json;
  await world.bram(["payout", "approve", batch.batch_id, "--yes"]);
  const out = join(world.folder, "december.xml");
  const command = ["payout", "export", batch.batch_id, "--out", out];
  for (const date of ["2026-12-27", "2027-01-01", "2026-12-24", "soon", "2029-01-02"])
    expect((await world.anna([...command, "--date", date])).err).toMatch(
      /give a TARGET day within 90 days, such as 2026-12-28/,
    );
  expect((await world.anna(command)).code).toBe(0);
  expect(readFileSync(out, "utf8")).toContain("<Dt>2026-12-28</Dt>");
  const { details } = await world.row("select details from core.notices where kind = 'payout_sent'");
  expect(details).toMatchObject({ from: "2026-12-28", until: "2026-12-30" });
});

test("contract §3 where no name remains for the bank the operator gives one", async () => {
  const [customer] = await world.sold([100]);
  const id = String(customer?.account_id);
  await world.row("update core.signatories set full_name = '王小明' where account_id = $1", id);
  expect(await reasons()).toMatchObject({ [id]: "name_unreadable" });
  expect((await world.anna(["payout", "name", id, "Wáng"])).err).toMatch(/A name for the bank is 1 to 70/);
  expect((await world.anna(["payout", "name", id, "Wang Xiaoming"])).json).toMatchObject({ changed: true });
  expect((await world.anna(["payout", "name", id, "Wang Xiaoming"])).json).toMatchObject({ changed: false });
  expect((await world.exported()).xml).toContain("<Nm>Wang Xiaoming</Nm>");
});

test("contract §3 the reasons that bar an account are those of docs/ere.md", async () => {
  const { codes } = await world.row(
    "select array_agg(code order by code) as codes from private.bank_reasons() where effect = 'account'",
  );
  const guide = readFileSync(new URL("../../docs/ere.md", import.meta.url), "utf8");
  const [row = ""] = /^\| .*: the account is wrong \|/m.exec(guide) ?? [];
  expect(
    row
      .match(/`\w{4}`/g)
      ?.map((code) => code.slice(1, -1))
      .sort(),
  ).toEqual(codes);
  for (const [reason, effect] of Object.entries({
    MD07: "holder",
    AM04: "none",
    "XX99 new": "none",
    "IBAN is wrong": "account",
    "bank in error": "account",
  }))
    expect((await world.row("select private.failure_effect($1) as effect", reason)).effect).toBe(effect);
});
