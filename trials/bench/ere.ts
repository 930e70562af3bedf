// A year from kWh to euro: the operator's steps, each beside one statement where a statement can do the same.

import type pg from "pg";
import type { Machine } from "../../packages/operator/src/command.ts";
import { exportBatch, prepare } from "../../packages/operator/src/payouts.ts";
import { type Bench, progress } from "./kit/bench.ts";
import { against, alone, type Finding, type Target } from "./kit/findings.ts";
import { median } from "./kit/measure.ts";
import { processorTime } from "./kit/processor.ts";
import { withStack } from "./kit/stack.ts";
import { addYear, QUARTERS, type Year } from "./kit/year.ts";

/** What is judged of a month, but for reasons, flags and other tenants. */
const BOOKABLE = `
    from core.delivered_months d
    join core.ere_factors f on f.delivery_year = extract(year from d.period)
    join core.connections c on c.partner_id = d.partner_id and c.id = d.connection_id and c.status = 'active'
     and c.ean_validation_status = 'matched' and c.registration_status = 'goedgekeurd'
    join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id and a.iban_ciphertext is not null
    join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
    join core.signatories s on s.partner_id = a.partner_id and s.account_id = a.id
    join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id and d.period between m.valid_from and m.covered_until
    join core.chargers h on h.partner_id = c.partner_id and h.connection_id = c.id and h.status = 'active' and h.mid_eligible
   where d.period between '2026-01-01' and '2026-12-01' and d.status = 'staged' and d.total_kwh > 0
     and (d.delivery_id is not null or (c.ean_code, d.period) not in (
           select o.ean_code, t.period
             from core.connections o join core.delivered_months t on t.partner_id = o.partner_id and t.connection_id = o.id
            where o.status = 'archived' and t.delivery_id is not null))`;

/** It reads all there is: hash joins, with room for them. */
const SETTINGS = "set enable_nestloop = off; set work_mem = '64MB'";

const BARE_PREVIEW = `select count(*)::int as months, sum(d.total_kwh) as kwh, sum(d.total_kwh * f.ere_per_kwh) as ere ${BOOKABLE}`;

/** Tables like those that are written, indexes and checks and all, without keys of other tables, triggers and row-level security. */
const TABLES = `
  create table bench.booking_rows (like core.booking_rows including all);
  create table bench.ledger_entries (like core.ledger_entries including all);
  create table bench.delivered_months (like core.delivered_months including all);
  insert into bench.delivered_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, delivery_id, received_at)
  select partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, delivery_id, received_at from core.delivered_months`;

const BARE_SUBMIT = `
  with claimed as (
    insert into bench.booking_rows
      (partner_id, booking_id, account_id, connection_id, owner_id, period, kwh, session_count, source, delivery_id, ere_per_kwh, ean_code,
       ean_exclusive, signatory, postal_code, house_number, house_number_addition, street, city, mandate_id, mandate_signed_at,
       mandate_valid_from, mandate_valid_until, fee_pct, partner_share_pct, share_partner_id, charger_brand, charger_serial)
    select c.partner_id, d.partner_id, c.account_id, c.id, c.owner_id, d.period, d.total_kwh, d.session_count,
           case when d.delivery_id is null then 'own_sessions' else 'delivered_total' end, d.delivery_id, f.ere_per_kwh, c.ean_code,
           c.ean_exclusive, s.full_name, l.postal_code, l.house_number, l.house_number_addition, l.street, l.city, m.id, m.signed_at,
           m.valid_from, m.valid_until, m.fee_pct, m.partner_share_pct, c.partner_id, h.brand, h.serial_number
    ${BOOKABLE}
    returning *
  ), posted as (
    insert into bench.ledger_entries (partner_id, debit, credit, unit, amount, cause)
    select partner_id, account_id, booking_id, 'kWh', kwh, 'row:' || id || ':submitted' from claimed
  ), locked as (
    update bench.delivered_months d set status = 'submitted' from claimed r
     where d.partner_id = r.partner_id and d.connection_id = r.connection_id and d.period = r.period
  )
  select count(*)::int as months from claimed`;

type Step = "preview" | "submit" | "export" | "credit" | "sale" | "prepare" | "file" | "settle" | "check";
/** Seconds by the clock, and of Postgres' processor time where that can be told. */
type Took = { clock: number; postgres: number | null };
type Turn = Record<Step | "bare preview" | "bare submit", Took>;
type Timed = <T>(step: keyof Turn, work: () => Promise<T>) => Promise<T>;

/** What of the operator's answers is read here. */
type Answer = { total: { months: number }; booking: { quarter: string; rows: number; ere: number } };

/** Everything from the preview to the bank, in the order of the operator; how long each step took, of all quarters together. */
async function turn({ admin, operators }: Year, postgresPid: number): Promise<Turn> {
  const took = {} as Turn;
  const timed: Timed = async (step, work) => {
    const processor = () => processorTime(postgresPid, { children: true });
    const [begun, before] = [performance.now(), processor()];
    const done = await work();
    const [ended, after] = [performance.now(), processor()];
    took[step] = {
      clock: (ended - begun) / 1000,
      postgres: before === null || after === null ? null : (after - before) / 1000,
    };
    progress(`  ${step} ${took[step].clock.toFixed(2)} s`);
    return done;
  };
  const expected = await bareSide(admin, timed);
  await operators(async (anna, bram) => {
    const everyQuarter = async (ops: string, input: (quarter: string) => object = () => ({})) => {
      const answers: Answer[] = [];
      for (const quarter of QUARTERS)
        answers.push((await anna.call(ops, { booking: quarter, ...input(quarter) })) as Answer);
      return answers;
    };
    const agree = (what: string, months: number[]) => {
      const found = months.reduce((sum, each) => sum + each, 0);
      if (found !== expected) throw new Error(`${found} months were ${what}, and ${expected} by the bare statement`);
    };
    const previews = await timed("preview", () => everyQuarter("booking_preview", (quarter) => ({ quarter })));
    agree(
      "previewed",
      previews.map(({ total }) => total.months),
    );
    const submitted = await timed("submit", async () => {
      await everyQuarter("booking_open", (quarter) => ({ quarter }));
      return everyQuarter("booking_submit");
    });
    agree(
      "submitted",
      submitted.map(({ booking }) => booking.rows),
    );
    await timed("export", () => everyQuarter("booking_export"));
    const credited = await timed("credit", () => everyQuarter("booking_credit"));
    const half = new Map(credited.map(({ booking }) => [booking.quarter, (booking.ere / 2).toFixed(6)]));
    const sale = (quarter: string) => ({ ere: half.get(quarter), price: "0.42", buyer: "Bench", reference: quarter });
    await timed("sale", () => everyQuarter("sale_record", sale));
    await pay(anna, bram, timed);
    const { ok, wrong } = await timed("check", () => anna.call("ledger_check", {}));
    if (ok !== true) throw new Error(`the ledger does not agree: ${JSON.stringify(wrong)}`);
  });
  return took;
}

/** The bare statements; how many months can be booked. */
async function bareSide(admin: pg.Pool, timed: Timed): Promise<number> {
  await admin.query(TABLES);
  await admin.query("vacuum (analyze) bench.delivered_months");
  const connection = await admin.connect();
  try {
    await connection.query(SETTINGS);
    const preview = await timed("bare preview", () => connection.query(BARE_PREVIEW));
    const submit = await timed("bare submit", () => connection.query(BARE_SUBMIT));
    if (preview.rows[0].months !== submit.rows[0].months) throw new Error("the bare statements found different months");
    return preview.rows[0].months;
  } finally {
    connection.release(true);
  }
}

/** Everybody is paid, as `payout prepare`, `approve`, `export` and `settle` do it. */
async function pay(anna: Machine, bram: Machine, timed: Timed): Promise<void> {
  const { batch } = (await timed("prepare", () => prepare({}, anna))) as { batch: { batch_id: string } };
  await bram.call("payout_approve", { batch: batch.batch_id });
  await timed("file", () => exportBatch({ batch: batch.batch_id }, anna));
  await timed("settle", () => anna.call("payout_settle", { batch: batch.batch_id }));
}

const NAMES: Record<Step, string> = {
  preview: "booking preview",
  submit: "booking open and submit",
  export: "booking export",
  credit: "booking credit",
  sale: "sale record, of half of it",
  prepare: "payout prepare, with IBANs opened and judged",
  file: "payout export",
  settle: "payout settle",
  check: "ledger check",
};

export const ere: Bench = {
  about: "a year from kWh to the bank by the operator's steps, beside one bare statement, and beside a tenth of it",
  defaults: { accounts: 10_000, rounds: 3, seconds: 1 },
  run: ({ accounts, rounds }) =>
    withStack(async (stack) => {
      const sizes = { tenth: Math.ceil(accounts / 10), whole: accounts };
      const turns: Record<keyof typeof sizes, Turn[]> = { tenth: [], whole: [] };
      for (let round = 0; round < rounds; round++)
        for (const size of ["tenth", "whole"] as const) {
          progress(`a year of ${sizes[size]} accounts`);
          const year = await addYear(stack, `bench_${size}_${round}`, sizes[size]);
          turns[size].push(await turn(year, stack.postgres_pid));
        }
      const of = (size: keyof typeof sizes, step: keyof Turn) => ({
        clock: median(turns[size], (each) => each[step].clock)[step].clock,
        postgres: median(turns[size], (each) => each[step].postgres ?? 0)[step].postgres,
      });
      /** A step of the whole year, by itself, or beside something else that was timed. */
      const finding = (step: Step, target: Target | null, floor?: { what: string; took: Took }): Finding => {
        const { clock, postgres } = of("whole", step);
        if (!floor) return alone(`${NAMES[step]}, a year`, "s", clock, target, { postgres_s: postgres });
        const processor_ratio = postgres && floor.took.postgres ? postgres / floor.took.postgres : null;
        const beside = { what: floor.what, value: floor.took.clock };
        return against(`${NAMES[step]}, a year`, "s", clock, beside, target, { postgres_s: postgres, processor_ratio });
      };
      const targets: Partial<Record<Step, Target>> = {
        preview: { at_most: 20 },
        submit: { at_most: 20 },
        check: { at_most: 10 },
      };
      const steps = Object.keys(NAMES) as Step[];
      return [
        ...steps.map((step) => finding(step, targets[step] ?? null)),
        ...(["preview", "submit"] as const).map((step) =>
          finding(step, null, { what: "one bare set-based statement", took: of("whole", `bare ${step}`) }),
        ),
        ...steps.map((step) =>
          finding(step, { at_most: 13 }, { what: `that of ${sizes.tenth} accounts`, took: of("tenth", step) }),
        ),
      ];
    }),
};
