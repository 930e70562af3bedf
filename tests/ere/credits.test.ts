import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { rowCounts } from "../harness/world.ts";
import { type Customer, createEreWorld, type EreWorld, rowsOf } from "./ere_world.ts";

let world: EreWorld;
let folder: string;
let customers: Customer[];
let booking_id: string;
/** Row ids by month, of the first customer. */
let row: Record<string, string>;
let files = 0;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "ere-credits-"));
});
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(async () => {
  world = await createEreWorld();
  customers = [
    await world.customer({ "2026-04": 100, "2026-05": 200, "2026-06": 300 }),
    await world.customer({ "2026-04": 50 }),
  ];
  booking_id = (await world.done("booking open 2026-Q2")).bookings[0].booking_id;
  await world.done("booking submit 2026-Q2");
  const [first] = customers;
  row = Object.fromEntries(
    (await rowsOf(world, booking_id))
      .filter(({ ean_code }) => ean_code === first?.ean_code)
      .map(({ period, id }) => [period, id]),
  );
});
afterEach(() => world.close());

/** A file with these lines below its header. */
function file(...lines: string[]): string {
  files += 1;
  const path = join(folder, `${files}.csv`);
  writeFileSync(path, `row_id,accepted_kwh,reason\n${lines.join("\n")}\n`);
  return path;
}
const credit = (...lines: string[]) => ["booking", "credit", booking_id, "--file", file(...lines)];
const creditsOfRows = async () =>
  Object.fromEntries(
    (await rowsOf(world, booking_id)).map(({ id, status, accepted_kwh, ere }) => [id, [status, accepted_kwh, ere]]),
  );

async function refusedWhole(command: string[], sentence: string | RegExp) {
  const tables = ["credits", "ledger_entries", "audit_log"] as const;
  const before = [await rowCounts(world, ...tables), await creditsOfRows()];
  await world.refused(command, sentence);
  expect([await rowCounts(world, ...tables), await creditsOfRows()]).toEqual(before);
}

describe("contract §3 booking credit", () => {
  test("contract §3 without a file all that wait are credited whole; a second time nothing changes", async () => {
    const { changed, booking } = await world.done(`booking credit ${booking_id}`);
    expect([changed, booking]).toEqual([
      true,
      expect.objectContaining({ waiting: 0, registered: 4, rejected: 0, accepted_kwh: 650, ere: 216.2511 }),
    ]);
    expect(await world.statuses(customers[0] as Customer)).toEqual({
      "2026-04": "registered",
      "2026-05": "registered",
      "2026-06": "registered",
    });
    expect(await world.deliver(customers[0] as Customer, { "2026-04": 1 })).toEqual(["locked"]);
    expect((await world.done(`booking credit ${booking_id}`)).changed).toBe(false);
    await world.refused(`booking withdraw ${booking_id} --yes`, "has credited or rejected rows");
    await world.agrees();
  });

  test("contract §3 by a file: whole, in part, and rejected; rows it leaves out go on waiting, and it may come twice", async () => {
    const command = credit(
      `${row["2026-04"]},100,`,
      `${row["2026-05"]},150.5,"meter read late, by hand"`,
      `${row["2026-06"]},0,no such connection`,
    );
    const { booking } = await world.done(command);
    expect(booking).toMatchObject({ waiting: 1, registered: 2, rejected: 1, accepted_kwh: 250.5 });
    expect(await creditsOfRows()).toMatchObject({
      [row["2026-04"] as string]: ["registered", "100.000", "33.269400"],
      // 150.5 x 0.332694 = 50.070447
      [row["2026-05"] as string]: ["registered", "150.500", "50.070447"],
      [row["2026-06"] as string]: ["rejected", "0.000", "0.000000"],
    });
    expect(await world.statuses(customers[0] as Customer)).toEqual({
      "2026-04": "registered",
      "2026-05": "registered",
      "2026-06": "rejected",
    });
    const { positions } = (await world.get("/v1/ere-positions?limit=200", await world.partnerA.client.token())).body;
    const { account_id } = customers[0] as Customer;
    const own = positions.find((position: { account_id: string }) => position.account_id === account_id);
    expect(
      own.delivered_months.map(({ register_reason }: { register_reason: string | null }) => register_reason),
      "the register's words where it gave less, or nothing",
    ).toEqual([null, "meter read late, by hand", "no such connection"]);
    await world.agrees();
    expect((await world.done(command)).changed).toBe(false);
    await refusedWhole(credit(`${row["2026-05"]},151,read again`), "was credited another amount");
    await refusedWhole(credit(`${row["2026-06"]},300,`), "was credited another amount");
    // the rest
    expect((await world.done(`booking credit ${booking_id}`)).booking).toMatchObject({ waiting: 0, registered: 3 });
    await world.agrees();
  });

  test("contract §3 a rejected month can be delivered again, and goes into a supplementary booking", async () => {
    const [first] = customers as [Customer];
    await world.done(credit(`${row["2026-06"]},0,too much`));
    const { left_out } = await world.done("booking preview 2026-Q2");
    expect(left_out).toContainEqual({ reason: "rejected_by_register", months: 1, kwh: 300 });
    expect(await world.deliver(first, { "2026-06": 280 })).toEqual(["ingested"]);
    const { bookings } = await world.done("booking open 2026-Q2");
    await world.done("booking submit 2026-Q2");
    expect(await rowsOf(world, bookings[0].booking_id)).toMatchObject([{ period: "2026-06", kwh: "280.000" }]);
    await world.refused(
      ["booking", "reverse-credit", String(row["2026-06"]), "--reason", "a mistake"],
      `2026-06 of row ${row["2026-06"]} was delivered or booked again`,
    );
    await world.agrees();
  });

  test("contract §3 one line at fault, and nothing is credited; the refusal names the line and the row", async () => {
    const other = await world.customer({ "2026-01": 10 });
    const [elsewhere] = (await world.done("booking open 2026-Q1")).bookings;
    await world.done("booking submit 2026-Q1");
    const [foreign] = await rowsOf(world, elsewhere.booking_id);
    const good = `${row["2026-04"]},100,`;
    const may = row["2026-05"] as string;
    const nobody = "0b0d1e00-0000-4000-8000-000000000000";
    for (const [line, sentence] of [
      [`${nobody},10,`, `Line 3 of the file, row ${nobody}, is not a row of this booking. Nothing was credited.`],
      ["twelve,10,", "Line 3 of the file is not a row of this booking."],
      [",10,", "Line 3 of the file is not a row of this booking."],
      [`${foreign?.id},10,`, `Line 3 of the file, row ${foreign?.id}, belongs to another booking.`],
      [good, "Line 2 of the file, row .* occurs more than once in the file; another line is at fault too."],
      [`${may},200.001,`, `Line 3 of the file, row ${may}, would be credited more kWh than were submitted.`],
      [`${may},199.999,`, `Line 3 of the file, row ${may}, is credited less than was submitted, but has no reason.`],
      [`${may},0, `, "but has no reason"],
      [`${may},-1,less`, "has an accepted_kwh that is not a number"],
      [`${may},1.0001,less`, "has an accepted_kwh that is not a number"],
      [`${may},"1,5",less`, "has an accepted_kwh that is not a number"],
      [`${may},1e2,less`, "has an accepted_kwh that is not a number"],
      [`${may},,less`, "has an accepted_kwh that is not a number"],
      [`${may},NaN,less`, "has an accepted_kwh that is not a number"],
      [`${may},1,"two\nlines"`, "has a reason that is longer"],
      [`${may},1,${"x".repeat(501)}`, "has a reason that is longer"],
    ] as [string, string][])
      await refusedWhole(credit(good, line), new RegExp(sentence));
    await world.refused(["booking", "credit", nobody], '" matches no booking');
    expect(other.account_id).toBeTruthy();
    await world.agrees();
  });

  test("contract §3 a file that cannot be read is said to be so before the database is asked", async () => {
    const bad = (content: string | Uint8Array) => {
      const path = file();
      writeFileSync(path, content);
      return ["booking", "credit", booking_id, "--file", path];
    };
    await refusedWhole(
      ["booking", "credit", booking_id, "--file", join(folder, "none.csv")],
      /cannot be read .ENOENT./,
    );
    await refusedWhole(bad(""), "must name row_id,accepted_kwh,reason; it lacks row_id,accepted_kwh,reason");
    await refusedWhole(bad("row_id,kwh\n"), "it lacks accepted_kwh,reason");
    await refusedWhole(bad("row_id,accepted_kwh,reason\n"), "has no rows");
    await refusedWhole(bad(`row_id,accepted_kwh,reason\n${row["2026-04"]},1,a,b\n`), /Line 2 of .* cannot be read/);
    await refusedWhole(bad('row_id,accepted_kwh,reason\nx,1,"a\n'), /Line 2 of .* cannot be read/);
    const [one, kwh] = [row["2026-04"], "1"];
    await refusedWhole(
      bad(`row_id,accepted_kwh, accepted_kwh,reason\n${one},${kwh},2,b\n`),
      "names accepted_kwh more than once",
    );
    await refusedWhole(bad(`row_id,accepted_kwh,reason\r\n${one},${kwh},b\0\r\n`), /Line 2 of .*NUL/);
    for (const typed of ["1e1", "NaN", "-0", "0x10", "1,5", "١٢", "+1", "1.0000", "Infinity", "9999999999"])
      await refusedWhole(credit(`${one},"${typed}",b`), "has an accepted_kwh that is not a number");
    await refusedWhole(bad(Uint8Array.of(0xff, 0xfe, 0x00)), "is not written in UTF-8");
    // semicolons, a byte order mark, other columns and blank lines are no obstacle
    const path = file();
    writeFileSync(path, `\ufeffaccepted_kwh;row_id ;reason;note\r\n100;${row["2026-04"]};;fine\r\n\r\n`);
    expect((await world.done(["booking", "credit", booking_id, "--file", path])).booking.registered).toBe(1);
  });

  test("contract §3 of ten at once one credits", async () => {
    const command = credit(`${row["2026-04"]},100,`, `${row["2026-06"]},0,no`);
    const answers = await Promise.all(Array.from({ length: 10 }, () => world.done(command)));
    expect(answers.filter(({ changed }) => changed)).toHaveLength(1);
    await world.agrees();
  });

  test("contract §3 a delivery and a rejection at once: the month is delivered again, or locked as it was", async () => {
    const [first] = customers as [Customer];
    const [[status]] = await Promise.all([
      world.deliver(first, { "2026-06": 280 }),
      world.done(credit(`${row["2026-06"]},0,no`)),
    ]);
    expect((await world.statuses(first))["2026-06"]).toBe(status === "locked" ? "rejected" : "staged");
    await world.agrees();
  });

  test("contract §3 two quarters of one account at once: the sums of its year have both", async () => {
    const [first] = customers as [Customer];
    await world.deliver(first, { "2026-01": 70 });
    const { bookings } = await world.done("booking open 2026-Q1");
    const worker = await world.database.admin.connect();
    try {
      await worker.query("begin");
      await worker.query("select ops.booking_credit($1)", [{ booking: booking_id }]);
      await worker.query("select ops.sale_record($1)", [
        { booking: booking_id, reference: "V-1", ere: "10", price: "0.40", buyer: "B", date: "2026-08-15" },
      ]);
      const other = world.done(`booking submit ${bookings[0].booking_id}`);
      const waiting = "select count(*)::int as n from pg_locks where locktype = 'advisory' and not granted";
      await expect.poll(async () => (await world.row(waiting)).n).toBe(1);
      await worker.query("commit");
      await other;
    } finally {
      await worker.query("rollback");
      worker.release();
    }
    const kept =
      "select kwh::float, round(registered_ere, 2)::float as registered from core.account_years where account_id = $1";
    expect(await world.row(kept, first.account_id)).toEqual({ kwh: 670, registered: 199.62 });
    await world.agrees();
  });

  test("contract §3 a step of retention waits for a booking that is being worked on, and neither ends the other", async () => {
    const worker = await world.database.admin.connect();
    try {
      await worker.query("begin");
      await worker.query("select ops.booking_credit($1)", [{ booking: booking_id }]);
      const step = world.row("select ops.retention_step($1)", { kind: "bookings", size: 10 }).catch((error) => error);
      const waiting =
        "select count(*)::int as n from pg_locks where relation::regclass::text like 'core.%' and not granted";
      await expect.poll(async () => (await world.row(waiting)).n).toBe(1);
      await worker.query("select ops.booking_credit($1)", [{ booking: booking_id, granted: 216 }]);
      await worker.query("commit");
      expect(await step).toMatchObject({ retention_step: { rows: 0 } });
    } finally {
      await worker.query("rollback");
      worker.release();
    }
    await world.agrees();
  });
});

describe("contract §3 booking reverse-credit", () => {
  const reverse = (id: string | undefined) => ["booking", "reverse-credit", String(id), "--reason", "wrong file"];

  test("contract §3 every balance is as it was, and the row can be credited again; a second time nothing changes", async () => {
    const balances = async () =>
      (
        await world.database.admin.query(
          "select kind, owner, balance from core.ledger_balances where balance <> 0 order by 1, 2",
        )
      ).rows;
    const before = [await balances(), await creditsOfRows()];
    await world.done(credit(`${row["2026-04"]},90,less`, `${row["2026-05"]},200,`, `${row["2026-06"]},0,no`));
    for (const id of Object.values(row)) expect((await world.done(reverse(id))).changed).toBe(true);
    expect([await balances(), await creditsOfRows()]).toEqual(before);
    await world.agrees();
    for (const id of Object.values(row)) expect((await world.done(reverse(id))).changed).toBe(false);
    expect(await world.statuses(customers[0] as Customer)).toMatchObject({ "2026-06": "submitted" });
    await world.done(credit(`${row["2026-04"]},95,less`, `${row["2026-06"]},300,`));
    expect(await creditsOfRows()).toMatchObject({ [String(row["2026-04"])]: ["registered", "95.000", "31.605930"] });
    await world.agrees();
    // with everything taken back it can be withdrawn
    for (const id of Object.values(row)) await world.done(reverse(id));
    expect((await world.done(`booking withdraw ${booking_id}`)).changed).toBe(true);
    await world.agrees();
  });

  test("contract §3 a row must be known, a reason given, and its ERE not sold", async () => {
    await world.refused(reverse("nonsense"), 'No booking has a row with the id "nonsense"');
    await world.refused(
      ["booking", "reverse-credit", String(row["2026-04"]), "--reason", " "],
      "Give a reason with --reason: 1 to 500",
    );
    await world.done(`booking credit ${booking_id}`);
    await world.done(`sale record ${booking_id} --ere 216.2511 --price 0.5 --buyer B --reference R-1`);
    await world.refused(reverse(row["2026-04"]), `ERE of row ${row["2026-04"]} are sold, by R-1`);
    await world.agrees();
  });
});

describe("contract §3 booking credit --granted", () => {
  test("contract §3 another total than the rows come to has its difference on an account, and caps what is sold", async () => {
    const difference = async () =>
      (await world.row("select balance::float from core.ledger_balances where kind = 'difference'"))?.balance;
    // 216.2511 by the rows
    const { booking } = await world.done(`booking credit ${booking_id} --granted 200`);
    expect([booking.ere, booking.granted_ere, await difference()]).toEqual([216.2511, 200, -16.2511]);
    expect((await world.done(`booking credit ${booking_id} --granted 200`)).changed).toBe(false);
    await world.refused(
      `sale record ${booking_id} --ere 200.000001 --price 1 --buyer B --reference R-1`,
      "200.000001 ERE cannot be sold: 200 of the booking are credited and unsold",
    );
    await world.done(`sale record ${booking_id} --ere 199 --price 1 --buyer B --reference R-1`);
    await world.agrees();
    await world.refused(`booking credit ${booking_id} --granted 198.999999`, "because 199 of them are already sold");
    // more than the rows have is sold by nobody
    await world.done(`booking credit ${booking_id} --granted 300`);
    expect(await difference()).toBe(83.7489);
    await world.refused(
      `sale record ${booking_id} --ere 18 --price 1 --buyer B --reference R-2`,
      "17.2511 of the booking",
    );
    for (const granted of ["-1", "1.0000001", "x", "1e3"])
      await world.refused(["booking", "credit", booking_id, "--granted", granted], "A number of ERE is");
    await world.agrees();
  });

  test("contract §3 it holds while rows are still credited and taken back", async () => {
    await world.done([...credit(`${row["2026-04"]},100,`), "--granted", "30"]);
    await world.agrees();
    await world.done(credit(`${row["2026-05"]},200,`));
    await world.agrees();
    await world.done(["booking", "reverse-credit", String(row["2026-04"]), "--reason", "wrong file"]);
    await world.agrees();
    expect((await world.done(`booking list ${booking_id}`)).bookings[0]).toMatchObject({
      ere: 66.5388,
      granted_ere: 30,
    });
  });
});
