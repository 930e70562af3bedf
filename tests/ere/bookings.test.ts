import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Papa from "papaparse";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { addCharger, ingest } from "../harness/chargers.ts";
import { FORMULAS, formulasIn } from "../harness/csv_cells.ts";
import { giveMandate } from "../harness/mandate.ts";
import { createAccount } from "../harness/people.ts";
import { rowCounts } from "../harness/world.ts";
import { operate } from "../operator/operator.ts";
import { createEreWorld, type EreWorld, rowsOf } from "./ere_world.ts";

let world: EreWorld;
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "ere-bookings-"));
});
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(async () => {
  world = await createEreWorld();
});
afterEach(() => world.close());

const bookingsOf = async (command: string) => (await world.done(command)).bookings;
/** The reasons of a preview, each with how many months it leaves out. */
async function leftOut(quarter: string): Promise<Record<string, number>> {
  const { left_out } = await world.done(`booking preview ${quarter}`);
  return Object.fromEntries(left_out.map(({ reason, months }: { reason: string; months: number }) => [reason, months]));
}
const nothingHappened = async (act: () => Promise<unknown>) => {
  const tables = ["bookings", "booking_rows", "ledger_accounts", "ledger_entries", "audit_log"] as const;
  const before = await rowCounts(world, ...tables);
  await act();
  expect(await rowCounts(world, ...tables)).toEqual(before);
};

describe("contract §3 booking preview", () => {
  test("contract §3 a month is left out for the first reason that holds; with the last of them gone it is taken in", async () => {
    const { account_id, connection_id } = await createAccount(world);
    const customer = { account_id, connection_id, ean_code: "" };
    await world.deliver(customer, { "2026-04": 100 });
    const update = (statement: string) => world.row(statement, connection_id);
    const connection = (change: string) => update(`update core.connections set ${change} where id = $1`);
    const reasons: string[] = [];
    const note = async () => reasons.push(Object.keys(await leftOut("2026-Q2")).join());

    // everything that can be in the way is
    await connection("ean_validation_status = 'unverified', registration_status = 'concept'");
    await update(
      "update core.accounts set iban_ciphertext = null, iban_key_id = null, iban_last4 = null where id = (select account_id from core.connections where id = $1)",
    );
    await update("update core.delivered_months set status = 'registered' where connection_id = $1");
    await note();
    await update(
      "update core.delivered_months set status = 'rejected', total_kwh = 0, delivery_id = null where connection_id = $1",
    );
    await world.freeze("2026-04-20T12:00:00Z");
    await note();
    await world.freeze("2026-08-15T12:00:00Z");
    await world.done("factor set 2026 --bookable-until 2026-08-14");
    await note();
    await world.done("factor set 2026 --bookable-until 2026-08-15");
    await note();
    await update(
      `with link as (insert into core.mandate_links (partner_id, connection_id, owner_id, token_hash, validity_years, expires_at)
         select partner_id, id, owner_id, sha256(id::text::bytea), 1, private.now() from core.connections where id = $1 returning *)
       insert into core.mandates (partner_id, connection_id, owner_id, link_id, status) select partner_id, connection_id, owner_id, id, 'declined' from link`,
    );
    await note();
    const sign = (years: string, status: string) =>
      update(
        `with link as (insert into core.mandate_links (partner_id, connection_id, owner_id, token_hash, validity_years, expires_at)
           select partner_id, id, owner_id, sha256(gen_random_uuid()::text::bytea), 1, private.now() from core.connections where id = $1 returning *)
         insert into core.mandates (partner_id, connection_id, owner_id, link_id, status, valid_from, valid_until, fee_pct, partner_share_pct, signed_name, signed_at, document, document_sha256)
         select partner_id, connection_id, owner_id, id, '${status}', '${years}-01-01', '${years}-12-31', 20, 25, 'S', private.now(), 'x', 'x' from link`,
      );
    await sign("2026", "revoked");
    await sign("2027", "signed");
    await note();
    await sign("2026", "expired");
    await note();
    await connection("ean_validation_status = 'manual'");
    await note();
    await update(
      `insert into core.chargers (partner_id, account_id, connection_id, owner_id, catalog_charger_id, brand, mid_eligible)
       select c.partner_id, c.account_id, c.id, c.owner_id, m.id, m.brand, true
         from core.connections c, (select * from core.charger_models where mid_meter limit 1) m where c.id = $1`,
    );
    await note();
    await update(
      "update core.accounts set iban_ciphertext = 'x', iban_key_id = 'x', iban_last4 = '4300' where id = (select account_id from core.connections where id = $1)",
    );
    await note();
    await connection("registration_status = 'ingediend'");
    await note();
    await connection("registration_status = 'afgekeurd'");
    await note();
    await connection("registration_status = 'goedgekeurd'");
    await note();
    await update("update core.delivered_months set status = 'staged' where connection_id = $1");
    await note();
    await update("update core.delivered_months set total_kwh = 100 where connection_id = $1");
    // another connection with this EAN, which has been archived since, was delivered a total of the month
    await world.row(
      `with other as (
         insert into core.connections (partner_id, account_id, owner_id, location_id, ean_code, status)
         select partner_id, account_id, owner_id, location_id, ean_code, 'archived' from core.connections where id = $1 returning *),
       delivery as (
         insert into core.deliveries (partner_id, connection_id, owner_id, client_id, request_id, body, body_sha256)
         select partner_id, id, owner_id, owner_id, 'x', 'x', 'x' from other returning *)
       insert into core.delivered_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, delivery_id, received_at)
       select partner_id, connection_id, owner_id, '2026-04-01', 50, 1, 'x', 'staged', id, private.now() from delivery`,
      connection_id,
    );
    expect(await leftOut("2026-Q2")).toEqual({ no_mandate: 1, already_delivered: 1 });
    await world.row("update core.delivered_months set status = 'outside_mandate' where source = 'x'");
    expect(await leftOut("2026-Q2")).toEqual({ no_mandate: 1 });
    expect((await world.done("booking preview 2026-Q2")).total).toEqual({ months: 1, kwh: 100, ere: 33.2694 });

    expect(reasons).toEqual([
      "already_booked",
      "month_not_over",
      "year_closed",
      "no_mandate",
      "no_mandate",
      "outside_mandate",
      "gate:ean_validated",
      "gate:mid_charger_registered",
      "gate:iban_present",
      "registration_open",
      "registration_open",
      "registration_rejected",
      "rejected_by_register",
      "zero_kwh",
    ]);
  });

  test("contract §3 the running quarter can be looked at; a quarter is written 2026-Q2, and its year has a factor", async () => {
    await world.customer({ "2026-07": 10, "2026-08": 10 });
    const { total, left_out } = await world.done("booking preview 2026-Q3");
    expect([total.months, left_out]).toEqual([1, [{ reason: "month_not_over", months: 1, kwh: 10 }]]);
    for (const quarter of ["2026-Q5", "2026Q2", "2026-4", "q2", "2025-Q4", ""])
      await world.refused(["booking", "preview", quarter], "A quarter is written 2026-Q2");
    await world.refused("booking preview 2027-Q1", "2027-Q1 has not begun");
    await world.travel("2027-01-15T12:00:00Z");
    await world.refused("booking preview 2027-Q1", "There is no factor for 2027 yet");
  });

  test("contract §3 what looks implausible is taken in, shown first, and kept with the row", async () => {
    const { connection_id } = await world.customer({
      "2026-03": 400,
      "2026-04": 400,
      "2026-05": 400,
      "2026-06": 36_001,
    });
    await world.row(
      "update core.delivered_months set session_count = case extract(month from period) when 5 then 745 when 6 then 0 else session_count end where connection_id = $1",
      connection_id,
    );
    await world.customer({ "2026-04": 300 });
    const preview = await world.done("booking preview 2026-Q2");
    expect(preview.flagged_months).toBe(2);
    expect(preview.flagged.map(({ period, flags }: { period: string; flags: string[] }) => [period, flags])).toEqual([
      ["2026-06", ["beyond_power", "above_average", "no_sessions"]],
      ["2026-05", ["too_many_sessions", "repeated_total"]],
    ]);
    const [booking] = await bookingsOf("booking open 2026-Q2");
    await world.done("booking submit 2026-Q2");
    const { flags } = await world.row(
      "select array_agg(flags::text order by period) as flags from core.booking_rows where booking_id = $1 and flags <> '{}'",
      booking.booking_id,
    );
    expect(flags).toEqual(["{too_many_sessions,repeated_total}", "{beyond_power,above_average,no_sessions}"]);
  });

  test("contract §3 the file of a preview has every month, with its reason and its flags", async () => {
    const customer = await world.customer({ "2026-04": 42.5 });
    await world.deliver(customer, { "2026-05": 0 });
    const file = join(folder, "preview.csv");
    const { csv, file: said } = await world.done(["booking", "preview", "2026-Q2", "--csv", file]);
    expect([csv, said]).toEqual([undefined, file]);
    const { data } = Papa.parse<Record<string, string>>(readFileSync(file, "utf8").trimEnd(), { header: true });
    expect(data).toEqual([
      {
        taken: "yes",
        reason: "",
        flags: "",
        partner: "partner-a",
        account_id: customer.account_id,
        connection_id: customer.connection_id,
        ean: customer.ean_code,
        period: "2026-04",
        kwh: "42.500",
        sessions: "5",
        source: "delivered_total",
        ere: "14.139495000",
      },
      expect.objectContaining({ taken: "no", reason: "zero_kwh", period: "2026-05", kwh: "0.000" }),
    ]);
    await world.refused(["booking", "preview", "2026-Q2", "--csv", folder], "cannot be written");
  });

  test("contract §3 sessions that come after their month was booked are listed, and in no booking", async () => {
    const person = await world.addUser();
    await giveMandate(world, person);
    const charger = await addCharger(world, person);
    await world.row(
      "update core.accounts set iban_ciphertext = 'x', iban_key_id = 'x', iban_last4 = '1' where id = $1",
      person.account_id,
    );
    await world.row(
      "update core.connections set registration_status = 'goedgekeurd' where id = $1",
      person.connection_id,
    );
    const charge = (external_id: string, hour: string) =>
      ingest(world, {
        charger_id: charger,
        external_id,
        started_at: `2026-05-10T${hour}:00:00Z`,
        ended_at: `2026-05-10T${hour}:50:00Z`,
        wh: 5000,
      });
    await charge("a", "10");
    await world.done("booking open 2026-Q2");
    await world.done("booking submit 2026-Q2");
    await charge("b", "12");
    const { left_out } = await world.done("booking preview 2026-Q2");
    expect(left_out).toEqual([
      { reason: "already_booked", months: 1, kwh: 5 },
      { reason: "arrived_after_lock", months: 1, kwh: 5 },
    ]);
    // withdrawn, the month is what was charged in it
    await world.done("booking withdraw 2026-Q2");
    expect((await world.done("booking preview 2026-Q2")).total.kwh).toBe(10);
    await world.agrees();
  });
});

describe("contract §3 booking open, submit, withdraw", () => {
  test("contract §3 a quarter is opened for every partner that has months, and submitted in one go", async () => {
    const a = await world.customer({ "2026-04": 100, "2026-05": 200 });
    const b = await world.customer({ "2026-06": 50 }, world.partnerB);
    await world.customer();
    const opened = await bookingsOf("booking open 2026-Q2");
    expect(
      opened.map(({ partner_slug, number, status }: Record<string, string>) => [partner_slug, number, status]),
    ).toEqual([
      ["partner-a", 1, "open"],
      ["partner-b", 1, "open"],
    ]);
    expect(new Set(opened.map(({ run_id }: { run_id: string }) => run_id)).size).toBe(1);
    expect(await world.done("booking open 2026-Q2")).toMatchObject({ changed: false, bookings: opened });

    const ran = await world.run("booking submit 2026-Q2");
    expect(ran.err).toBe("partner-a 2026-Q2 number 1: done, 1 of 2\npartner-b 2026-Q2 number 1: done, 2 of 2\n");
    expect(ran.json.results).toMatchObject([
      { changed: true, booking: { rows: 2, kwh: 300, waiting: 2, status: "submitted" } },
      { changed: true, booking: { rows: 1, kwh: 50 } },
    ]);
    expect(await world.statuses(a)).toEqual({ "2026-04": "submitted", "2026-05": "submitted" });
    expect(await world.deliver(a, { "2026-04": 1, "2026-06": 7 })).toEqual(["locked", "ingested"]);
    expect(await world.deliver(b, { "2026-06": 1 }, world.partnerB)).toEqual(["locked"]);
    await world.agrees();

    // a second time there is nothing to do
    await nothingHappened(() => world.done(`booking submit ${opened[0].booking_id}`));
    // what came later goes into a supplementary booking
    const [supplement] = await bookingsOf("booking open 2026-Q2 --partner partner-a");
    expect(supplement).toMatchObject({ number: 2, status: "open" });
    await world.refused(
      "booking export 2026-Q2 --partner partner-a --out x",
      "matches several bookings; name one by its id, from booking list 2026-Q2 --partner partner-a.",
    );
    await world.refused("booking export 2026-Q2 --out x", "from booking list 2026-Q2, or add --partner.");
    await world.done(`booking submit ${supplement.run_id}`);
    expect(await rowsOf(world, supplement.booking_id)).toMatchObject([{ period: "2026-06", kwh: "7.000" }]);
    expect(await bookingsOf("booking list 2026-Q2 --status open")).toEqual([]);
    await world.agrees();
  });

  test("contract §3 a quarter that is not over can be opened, not submitted; one to come not even opened", async () => {
    await world.customer({ "2026-07": 10 });
    await world.done("booking open 2026-Q3");
    await nothingHappened(() => world.refused("booking submit 2026-Q3", "2026-Q3 is not over"));
    await world.refused("booking open 2026-Q4", "2026-Q4 has not begun");
    await world.freeze("2026-10-01T00:00:00Z"); // 2 o'clock in the Netherlands
    await world.done("booking submit 2026-Q3");
    await world.agrees();
  });

  test("contract §3 where there is nothing to take in, the booking stays open", async () => {
    const { connection_id } = await world.customer({ "2026-01": 10 });
    const [booking] = await bookingsOf("booking open 2026-Q1 --partner partner-a");
    await world.done(`mandate revoke ${connection_id}`);
    await nothingHappened(async () =>
      expect(await world.done("booking submit 2026-Q1")).toMatchObject({
        results: [{ changed: false, booking: { booking_id: booking.booking_id, status: "open", rows: 0 } }],
      }),
    );
    await world.refused("booking export 2026-Q1 --out x", `The booking ${booking.booking_id} is open`);
    expect((await world.done("booking withdraw 2026-Q1")).booking.status).toBe("withdrawn");
    await world.refused(`booking submit ${booking.booking_id}`, "was withdrawn");
    await world.refused("booking submit 2026-Q2", '" matches no booking');
    await world.refused("booking withdraw nonsense", '" matches no booking');
  });

  test("contract §3 by ten people at once a quarter is booked once", async () => {
    const customers = [];
    for (let n = 0; n < 4; n += 1) customers.push(await world.customer({ "2026-04": 10, "2026-05": 20 }));
    const opened = await Promise.all(Array.from({ length: 10 }, () => bookingsOf("booking open 2026-Q2")));
    const [booking_id] = [...new Set(opened.flat().map((each: { booking_id: string }) => each.booking_id))];
    expect(opened.flat().length).toBe(10);
    const submitted = await Promise.all(Array.from({ length: 10 }, () => world.done(`booking submit ${booking_id}`)));
    expect(submitted.flatMap(({ results }) => results).filter(({ changed }) => changed)).toHaveLength(1);
    expect(await rowsOf(world, String(booking_id))).toHaveLength(8);
    await world.agrees();
    const withdrawn = await Promise.all(Array.from({ length: 10 }, () => world.done(`booking withdraw ${booking_id}`)));
    expect(withdrawn.filter(({ changed }) => changed)).toHaveLength(1);
    await world.agrees();
  });

  test("contract §3 months that come and are corrected by ten writers during a submit are in it as they are, or in the next", async () => {
    const waits = await world.customer({ "2026-04": 10 });
    const writers = [];
    for (let n = 0; n < 10; n += 1) writers.push(await world.customer());
    const { booking_id } = (await bookingsOf("booking open 2026-Q2"))[0];
    // whoever is at this customer lets the submit wait after it has looked which months are open
    const other = await world.database.admin.connect();
    await other.query("begin");
    await other.query("select from core.connections where id = $1 for no key update", [waits.connection_id]);
    const running = world.done(`booking submit ${booking_id}`);
    const waiting =
      "wait_event_type = 'Lock' and query like 'select ops.booking_submit%' and datname = current_database()";
    await expect
      .poll(async () => (await world.database.admin.query(`select from pg_stat_activity where ${waiting}`)).rowCount)
      .toBe(1);
    // the first month of each, and then its correction, which is not committed before the submit goes on
    await Promise.all(writers.map((each) => world.deliver(each, { "2026-04": 100 })));
    const corrections = await Promise.all(
      writers.map(async (each) => {
        const client = await world.database.admin.connect();
        await client.query("begin");
        await client.query("select from core.connections where id = $1 for no key update", [each.connection_id]);
        await client.query("update core.delivered_months set total_kwh = 120 where connection_id = $1", [
          each.connection_id,
        ]);
        return client;
      }),
    );
    await other.query("rollback");
    other.release();
    // until it is done, or waits for them
    let done = false;
    void running.finally(() => {
      done = true;
    });
    const held = `select from pg_stat_activity where ${waiting} and query_start < now() - interval '1 second'`;
    await expect.poll(async () => done || (await world.database.admin.query(held)).rowCount === 1).toBe(true);
    for (const client of corrections) {
      await client.query("commit");
      client.release();
    }
    await running;
    const differ = `select r.kwh, d.total_kwh from core.booking_rows r
      join core.delivered_months d on d.connection_id = r.connection_id and d.period = r.period where r.kwh <> d.total_kwh`;
    expect((await world.database.admin.query(differ)).rows).toEqual([]);
    await world.agrees();
    await world.done("booking open 2026-Q2");
    await world.done("booking submit 2026-Q2");
    const { rows } = await world.database.admin.query("select kwh::float from core.booking_rows order by kwh");
    expect(rows.map(({ kwh }) => kwh)).toEqual([10, ...Array(10).fill(120)]);
    await world.agrees();
  });

  test("contract §3 interrupted after half, what is submitted is whole, and the same command does the rest", async () => {
    await world.customer({ "2026-04": 10 });
    const b = await world.customer({ "2026-04": 10 }, world.partnerB);
    await world.done("booking open 2026-Q2");
    // somebody delivers to partner B's customer just now, and the second booking waits
    const other = await world.database.admin.connect();
    await other.query("begin");
    await other.query("select from core.connections where id = $1 for no key update", [b.connection_id]);
    const running = world.run("booking submit 2026-Q2");
    const waiting =
      "select pid from pg_stat_activity where wait_event_type = 'Lock' and query like 'select ops.booking_submit%' and datname = current_database()";
    await expect.poll(async () => (await world.database.admin.query(waiting)).rowCount).toBe(1);
    await world.database.admin.query(`select pg_terminate_backend(pid) from (${waiting}) w`);
    const { code, err } = await running;
    expect([code, err]).toEqual([1, expect.stringContaining("partner-a 2026-Q2 number 1: done, 1 of 2")]);
    await other.query("rollback");
    other.release();

    expect(await world.statuses(b)).toEqual({ "2026-04": "staged" });
    await world.agrees();
    const { results } = await world.done("booking submit 2026-Q2");
    expect(results).toMatchObject([{ changed: true, booking: { partner_slug: "partner-b", rows: 1 } }]);
    await world.agrees();
  });

  test("contract §3 withdrawn months are staged, or outside a mandate that has ended meanwhile, and booked again", async () => {
    const stays = await world.customer({ "2026-04": 100 });
    const leaves = await world.customer({ "2026-04": 200 });
    await world.done("booking open 2026-Q2");
    await world.done("booking submit 2026-Q2");
    await world.done(`mandate revoke ${leaves.connection_id}`);
    expect(await world.statuses(leaves)).toEqual({ "2026-04": "submitted" });
    const { booking } = await world.done("booking withdraw 2026-Q2");
    expect(booking).toMatchObject({ status: "withdrawn", rows: 2, waiting: 0 });
    expect([await world.statuses(stays), await world.statuses(leaves)]).toEqual([
      { "2026-04": "staged" },
      { "2026-04": "outside_mandate" },
    ]);
    await world.agrees();
    expect(await world.deliver(stays, { "2026-04": 101 })).toEqual(["ingested"]);
    const [again] = await bookingsOf("booking open 2026-Q2");
    await world.done("booking submit 2026-Q2");
    expect(await rowsOf(world, again.booking_id)).toMatchObject([{ kwh: "101.000", ean_code: stays.ean_code }]);
    await world.agrees();
  });

  test("contract §3 an EAN is booked once a month, whatever tenant it moved to", async () => {
    const first = await world.customer({ "2026-04": 100 });
    await world.done("booking open 2026-Q2");
    await world.done("booking submit 2026-Q2");
    await world.done(`connection archive ${first.connection_id}`);
    const second = await world.customer({}, world.partnerB);
    await world.row("update core.connections set ean_code = $2 where id = $1", second.connection_id, first.ean_code);
    await world.deliver(second, { "2026-04": 100, "2026-05": 60 }, world.partnerB);
    const { taken, left_out } = await world.done("booking preview 2026-Q2 --partner partner-b");
    expect([taken, left_out]).toEqual([
      [{ partner_slug: "partner-b", months: 1, kwh: 60, ere: 19.96164 }],
      [{ reason: "already_booked", months: 1, kwh: 100 }],
    ]);
    await world.done("booking open 2026-Q2 --partner partner-b");
    await world.done("booking submit 2026-Q2 --partner partner-b");
    await world.agrees();
  });

  test("contract §3 the sandbox's test EANs are booked as often as there are customers with them", async () => {
    for (const partner of [world.partnerA, world.partnerB]) {
      const customer = await world.customer({}, partner);
      await world.row(
        "update core.connections set ean_code = '871687000000000016', ean_exclusive = false where id = $1",
        customer.connection_id,
      );
      await world.deliver(customer, { "2026-04": 10 }, partner);
    }
    await world.done("booking open 2026-Q2");
    const { results } = await world.done("booking submit 2026-Q2");
    expect(results.map(({ booking }: { booking: { rows: number } }) => booking.rows)).toEqual([1, 1]);
    await world.agrees();
  });
});

describe("contract §3 what a row keeps, and the file for the register", () => {
  const rowOf = (connection_id: string) =>
    world.row(
      "select r.*, to_char(r.period, 'YYYY-MM') as month from core.booking_rows r where r.connection_id = $1",
      connection_id,
    );

  test("contract §3 the percentages are those of the signature, whatever the partner's are by then", async () => {
    const customer = await world.customer({ "2026-04": 100 });
    await world.done("partner set partner-a --fee-pct 30 --share-pct 50");
    const later = await world.customer({ "2026-04": 100 });
    await world.done("booking open 2026-Q2");
    await world.done("booking submit 2026-Q2");
    expect(await rowOf(customer.connection_id)).toMatchObject({ fee_pct: "20.00", partner_share_pct: "25.00" });
    expect(await rowOf(later.connection_id)).toMatchObject({ fee_pct: "30.00", partner_share_pct: "50.00" });
  });

  test.each([
    ["who had brought them by that month", false],
    ["who had, though they have stopped sharing since", true],
  ])("contract §3 a share goes to the CPO's partner, and of a person to %s", async (_who, stopped) => {
    const customer = await world.customer({ "2026-04": 10 });
    const person = await world.addUser();
    await giveMandate(world, person);
    const charger = await addCharger(world, person);
    await world.row(
      "update core.accounts set iban_ciphertext = 'x', iban_key_id = 'x', iban_last4 = '1' where id = $1",
      person.account_id,
    );
    await world.row(
      "update core.connections set registration_status = 'goedgekeurd' where id = $1",
      person.connection_id,
    );
    for (const month of ["04", "05"])
      await ingest(world, {
        charger_id: charger,
        external_id: month,
        started_at: `2026-${month}-10T10:00:00Z`,
        ended_at: `2026-${month}-10T11:00:00Z`,
        wh: 5000,
      });
    await world.row(
      "insert into core.attributions (partner_id, user_id, source, attached_month) values ($1, $2, 'manual', '2026-05-01')",
      world.partnerB.id,
      person.id,
    );
    if (stopped) await world.row("select private.stop_sharing($1, $2)", person.id, world.partnerB.id);
    await world.done("booking open 2026-Q2");
    await world.done("booking submit 2026-Q2");
    expect((await rowOf(customer.connection_id)).share_partner_id).toBe(world.partnerA.id);
    const { rows } = await world.database.admin.query(
      "select share_partner_id, source from core.booking_rows where connection_id = $1 order by period",
      [person.connection_id],
    );
    expect(rows).toEqual([
      { share_partner_id: null, source: "own_sessions" },
      { share_partner_id: world.partnerB.id, source: "own_sessions" },
    ]);
  });

  test("contract §3 the file has what was true at submission, and is the same bytes for good", async () => {
    const customer = await world.customer({ "2026-04": 42.37 });
    await world.row(
      "update core.signatories set full_name = $2 where account_id = $1",
      customer.account_id,
      '=Jan "de" Boer, sr.',
    );
    const [booking] = await bookingsOf("booking open 2026-Q2");
    await world.done("booking submit 2026-Q2");
    const file = join(folder, "export.csv");
    const command = ["booking", "export", "2026-Q2", "--out", file];
    const first = await world.done(command);
    const said = await operate(command, { OPERATOR_DATABASE_URL: world.database.url("operator") });
    expect(said.out, "what the next command reads").toContain("a CSV of row_id,accepted_kwh,reason");
    const bytes = readFileSync(file);
    expect(statSync(file).mode & 0o777, "it names people").toBe(0o600);
    expect(first).toEqual({
      booking_id: booking.booking_id,
      quarter: "2026-Q2",
      again: false,
      sha256: createHash("sha256").update(bytes).digest("hex"),
      file,
    });
    const [row] = await rowsOf(world, booking.booking_id);
    const { mandate_id } = await rowOf(customer.connection_id);
    expect(bytes.toString("utf8")).toBe(
      [
        '"row_id","booking","quarter","period","ean","kwh","ere","signatory","postal_code","house_number","addition","street","city","mandate_id","mandate_signed_at","mandate_valid_from","mandate_valid_until","source","charger_brand","charger_model","charger_serial"',
        `"${row?.id}","${booking.booking_id}","2026-Q2","2026-04",${customer.ean_code},42.370,14.096244,"'=Jan ""de"" Boer, sr.","3818LH",8,,"Dorpsstraat","Amersfoort","${mandate_id}","2026-08-15T12:00:00Z","2026-01-01","2026-12-31","delivered_total","Alfen","Eve Single Pro-line 3-phase","S${customer.ean_code}"`,
        "",
      ].join("\r\n"),
    );
    // whatever happens afterwards
    await world.row("update core.signatories set full_name = 'Jan Smit' where account_id = $1", customer.account_id);
    await world.done("booking credit 2026-Q2");
    expect(await world.done(command)).toEqual({ ...first, again: true });
    expect(readFileSync(file)).toEqual(bytes);
    expect((await bookingsOf("booking list 2026-Q2"))[0].export_sha256).toBe(first.sha256);
    await world.refused(["booking", "export", "2026-Q2", "--out", folder], "cannot be written");
  });

  test("contract §3 attack: a name that a spreadsheet would compute, whichever delimiter splits the register's file", async () => {
    const { line } = await world.row("select private.csv_line(variadic $1) as line", FORMULAS);
    expect(formulasIn(line)).toEqual([]);
    expect((await world.row("select private.csv_line('Jan;=1+1;x', '-12.50', null) as line")).line).toBe(
      `"Jan;'=1+1;x",-12.50,\r\n`,
    );
  });

  test("contract §3 a booking that was exported is withdrawn with a reason, since the register may have its file", async () => {
    await world.customer({ "2026-04": 10 });
    await world.done("booking open 2026-Q2");
    await world.done("booking submit 2026-Q2");
    await world.done(["booking", "export", "2026-Q2", "--out", join(folder, "sent.csv")]);
    await world.refused(
      "booking withdraw 2026-Q2",
      "was exported on 2026-08-15T12:00:00Z, so the register may have its file",
    );
    await world.refused(["booking", "withdraw", "2026-Q2", "--reason", " "], "1 to 500 characters");
    const why = "dropped by the register, case 12";
    const { booking } = await world.done(["booking", "withdraw", "2026-Q2", "--reason", why]);
    expect(booking.status).toBe("withdrawn");
    const { details } = await world.row("select details from core.audit_log where action = 'booking.withdrawn'");
    expect(details).toEqual({ rows: 1, reason: why });
    await world.agrees();
  });

  describe("contract §3 the readings of a meter tell whether a session is missing, or told twice", () => {
    const reading = (external_id: string, day: number, from: number, to: number, fields: object = {}) => ({
      external_id,
      started_at: `2026-05-${day}T10:00:00Z`,
      ended_at: `2026-05-${day}T12:00:00Z`,
      wh: to - from,
      meter_start_wh: from,
      meter_end_wh: to,
      ...fields,
    });
    test.each<[string, ReturnType<typeof reading>[], string[]]>([
      ["all are there", [reading("a", 10, 100_000, 110_000), reading("b", 11, 110_000, 118_000)], []],
      ["one is lost", [reading("a", 10, 100_000, 110_000), reading("c", 12, 118_000, 126_000)], ["meter_gap"]],
      [
        "one is told twice, at another time",
        [reading("a", 10, 100_000, 110_000), reading("b", 11, 110_000, 118_000), reading("b2", 14, 110_000, 118_000)],
        ["meter_gap"],
      ],
      ["a register begins at 0 each time", [reading("a", 10, 0, 9000), reading("b", 11, 0, 8000)], []],
      [
        "the meter was replaced",
        [reading("a", 10, 900_000, 909_000, { meter_id: "M1" }), reading("b", 11, 50, 8000, { meter_id: "M2" })],
        [],
      ],
      ["less than 1 kWh is lost", [reading("a", 10, 100_000, 110_000), reading("b", 11, 110_900, 118_000)], []],
    ])("%s", async (_, sessions, flags) => {
      const person = await world.addUser();
      await giveMandate(world, person);
      const charger_id = await addCharger(world, person);
      const items = sessions.map((each) => ({ source: "ocpp", charger_id, ...each }));
      await world.row(
        `with acting as materialized (select private.act_for_person(private.people_tenant(), $2))
         select r.status from acting cross join lateral private.store_sessions($1) r`,
        JSON.stringify(items),
        person.id,
      );
      const { found } = await world.row(
        "select flags as found from private.judge_quarter(private.people_tenant(), '2026-04-01') where connection_id = $1",
        person.connection_id,
      );
      expect(found).toEqual(flags);
    });

    test("a session of another meter than its EVSE has says so", async () => {
      const person = await world.addUser();
      await giveMandate(world, person);
      const charger_id = await addCharger(world, person);
      const flagsOf = async (meter_id: string, evse_no = 1) => {
        await ingest(world, { charger_id, ...reading("a", 10, 100_000, 110_000, { meter_id }) });
        await world.row(
          `insert into core.charger_names (partner_id, owner_id, kind, value, charger_id, evse_no)
           select partner_id, owner_id, 'meter_id', 'M-1', id, $2 from core.chargers where id = $1
           on conflict on constraint charger_names_pkey do update set evse_no = excluded.evse_no`,
          charger_id,
          evse_no,
        );
        const { found } = await world.row(
          "select flags as found from private.judge_quarter(private.people_tenant(), '2026-04-01') where connection_id = $1",
          person.connection_id,
        );
        return found;
      };
      expect(await flagsOf(" m-1")).toEqual([]);
      expect(await flagsOf("M-2")).toEqual(["other_meter"]);
      expect(await flagsOf("M-2", 2)).toEqual([]);
    });

    test("a typed total that differs from the sessions of its month says so", async () => {
      const person = await world.addUser();
      await giveMandate(world, person);
      const charger = await addCharger(world, person);
      await ingest(world, {
        charger_id: charger,
        external_id: "a",
        started_at: "2026-05-10T10:00:00Z",
        ended_at: "2026-05-10T12:00:00Z",
        wh: 10_000,
      });
      const flagsAt = async (kwh: number) => {
        const { id } = await world.row(
          `with delivery as (
             insert into core.deliveries (partner_id, connection_id, owner_id, client_id, request_id, body, body_sha256)
             select partner_id, id, owner_id, gen_random_uuid(), 'r', '', '' from core.connections where id = $1 returning id)
           select id from delivery`,
          person.connection_id,
        );
        await world.row(
          "update core.delivered_months set total_kwh = $2, delivery_id = $3 where connection_id = $1",
          person.connection_id,
          kwh,
          id,
        );
        const { found } = await world.row(
          "select flags as found from private.judge_quarter(private.people_tenant(), '2026-04-01') where connection_id = $1",
          person.connection_id,
        );
        return found;
      };
      expect(await flagsAt(10.9)).toEqual([]);
      expect(await flagsAt(11.5)).toEqual(["differs_from_sessions"]);
    });
  });
});
