// The dashboard is always the sum of its rows, whatever changed them, in whatever order and however many at once. Above 1,000 customers
// it is the last count, and a reader of an old one has the worker count again.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addCustomers } from "../../trials/bench/kit/people.ts";
import { createEreWorld, type EreWorld } from "../ere/ere_world.ts";
import { addChargingPerson, type Charging } from "../ere/person.ts";
import { addCharger } from "../harness/chargers.ts";
import { runDueJobs } from "../harness/due_jobs.ts";
import { giveMandate } from "../harness/mandate.ts";
import { createAccount, type Partner } from "../harness/people.ts";
import { addLogin, draftRow, giveKey } from "./partner_world.ts";

let world: EreWorld;
let keys: { partner: Partner; key: string }[];
let people: Charging[];
beforeAll(async () => {
  world = await createEreWorld();
  keys = [];
  for (const partner of [world.partnerA, world.partnerB]) keys.push({ partner, key: await giveKey(world, partner.id) });
  people = [];
  for (let n = 0; n < 5; n++) people.push(await addChargingPerson(world));
  await world.row("update core.partners set iban_changed_at = '2026-01-01'");
  await world.done("figures publish 2026");
});
afterAll(() => world.close());

const MONTHS = ["2026-02", "2026-03", "2026-04", "2026-05", "2026-06", "2026-07", "2026-08"];

/** Both clocks stand at another moment, from which on limits are full. */
async function at(moment: string) {
  await world.freeze(moment);
  await world.row("delete from core.rate_limit_state");
}

/** The same numbers at every run, so that a failure is one again. */
function numbers(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** What GET /partner/dashboard says, added up from the rows by the views that positions show. */
const FROM_ROWS = `
  with customers as (select * from core.attributions where partner_id = $1),
  connected as (
    select k.user_id, k.attached_month, c.connection_id, c.status = 'active' and c.mandate_status = 'signed' as signed
      from customers k
      join core.accounts b on b.partner_id = private.people_tenant() and b.user_id = k.user_id
      join core.connection_mandates c on c.partner_id = b.partner_id and c.account_id = b.id),
  months as (
    select d.period, sum(d.total_kwh) as kwh, coalesce(sum(coalesce(d.accepted_kwh, d.total_kwh) * m.ere_per_kwh), 0) as ere, count(distinct k.user_id) filter (where d.total_kwh > 0) as active
      from connected k
      join core.delivered_months d on d.partner_id = private.people_tenant() and d.connection_id = k.connection_id and d.period >= k.attached_month
      left join core.counted_months m on m.partner_id = d.partner_id and m.connection_id = d.connection_id and m.period = d.period
     where d.status = 'staged' or d.locked group by d.period),
  unsold as (
    select coalesce(sum(d.total_kwh * f.ere_per_kwh * (select m.fee_pct * m.partner_share_pct from core.mandates m
                                                        where m.connection_id = d.connection_id and d.period between m.valid_from and m.covered_until
                                                        order by m.signed_at desc, m.id limit 1)) filter (where r.id is null), 0)
         + coalesce(sum((coalesce(b.accepted_kwh, d.total_kwh) * f.ere_per_kwh
                         - (select coalesce(sum(a.ere), 0) from core.allocations a where a.row_id = r.id and a.reversal_id is null))
                        * r.fee_pct * r.partner_share_pct) filter (where r.share_partner_id = $1), 0) as ere
      from connected k
      join core.delivered_months d on d.connection_id = k.connection_id and d.period >= k.attached_month
      join core.ere_factors f on f.delivery_year = extract(year from d.period)
      left join core.booking_rows r on r.connection_id = d.connection_id and r.period = d.period and r.live
      left join core.credits b on b.row_id = r.id and b.reversed_at is null
     where d.status = 'staged' or d.locked)
  select json_build_object(
    'as_of', private.iso(private.now()),
    'customers_total', (select count(*) from customers),
    'customers_active', (select count(distinct k.user_id) from connected k where k.signed),
    'drafts', (select json_object_agg(s, (select count(*) from core.drafts d where d.partner_id = $1 and private.draft_status(d) = s))
                 from unnest(array['invited', 'claimed', 'expired', 'conflict', 'active']) s),
    'chargers_total', (select count(*) from customers k join core.chargers h on h.user_id = k.user_id and h.status = 'active'),
    'kwh_total', (select round(coalesce(sum(kwh), 0), 2) from months),
    'kwh_this_month', (select round(coalesce(sum(kwh), 0), 2) from months where period = date_trunc('month', private.today())),
    'ere_estimated', (select round(coalesce(sum(ere), 0), 2) from months),
    'partner_share_estimated_eur', (select trunc(greatest(ere, 0) / 10000 * coalesce(private.last_price(private.people_tenant()), 0), 2) from unsold),
    'months', (select coalesce(json_agg(json_build_object('month', to_char(m.period, 'YYYY-MM'), 'kwh', round(m.kwh, 2), 'ere_credits', round(m.ere, 2),
                                                          'active_customers', m.active) order by m.period desc), '[]') from months m)) as figures`;

/** Whether there was ever something in each state that makes a difference. */
const STATES = `
  select exists (select from core.booking_rows where live) as booked, exists (select from core.booking_rows where status = 'withdrawn') as withdrawn,
         exists (select from core.credits where reversed_at is null) as credited, exists (select from core.credits where reversed_at is not null) as reversed,
         exists (select from core.allocations where reversal_id is null) as sold, exists (select from core.allocations where reversal_id is not null) as unsold,
         exists (select from core.allocations where share_partner_id is not null and reversal_id is null) as shared,
         exists (select from core.drafts where status = 'conflict') as conflict,
         exists (select from core.ended_attributions) as ended, exists (select from core.connections where status = 'archived') as archived,
         exists (select from core.mandates where status = 'revoked') as revoked`;
const seen: Record<string, boolean> = {};
/** Whether some dashboard estimated a share. */
let paid = false;

async function rightFor(what: string) {
  for (const { partner, key } of keys) {
    const { body } = await world.get("/partner/dashboard", key);
    expect(body, what).toEqual((await world.row(FROM_ROWS, partner.id)).figures);
    paid ||= body.partner_share_estimated_eur > 0;
    expect(
      await world.row(
        "select sum(wrong)::int as wrong, min(example) as example from private.check_partner_sums($1)",
        partner.id,
      ),
      what,
    ).toEqual({ wrong: 0, example: null });
  }
  for (const [what, is] of Object.entries(await world.row(STATES))) seen[what] = seen[what] || is === true;
}

function shuffled<T>(list: readonly T[], pick: (below: number) => number): T[] {
  const rest = [...list];
  return list.flatMap(() => rest.splice(pick(rest.length), 1));
}

type Change = [what: string, change: (pick: (below: number) => number) => Promise<unknown>];
const one = <T>(list: readonly T[], pick: (below: number) => number) => list[pick(list.length)] as T;
const sql = (statement: string, ...values: unknown[]) => world.row(statement, ...values);
const service = (command: string) => world.run(`${command} --partner service`);

const CHANGES: Change[] = [
  ["charges", (pick) => one(people, pick).charge(one(MONTHS, pick), 10_000 + pick(90_000))],
  ["charges", (pick) => one(people, pick).charge(one(MONTHS, pick), 10_000 + pick(90_000))],
  ["charges nothing any more", (pick) => one(people, pick).charge(one(MONTHS, pick), 0)],
  [
    "is brought by a partner",
    (pick) =>
      sql("select private.reserve_customer($1, $2, 'manual')", one(people, pick).id, one(keys, pick).partner.id),
  ],
  [
    "was brought earlier",
    (pick) =>
      sql(
        "update core.attributions set attached_month = $2 where user_id = $1",
        one(people, pick).id,
        `${one(MONTHS, pick)}-01`,
      ),
  ],
  [
    "stops sharing",
    async (pick) => {
      const { id } = one(people, pick);
      await sql("update core.attributions set attached_month = '2026-04-01' where user_id = $1", id);
      await sql("select private.stop_sharing($1, partner_id) from core.attributions where user_id = $1", id);
    },
  ],
  ["gets another charger", (pick) => addCharger(world, one(people, pick))],
  [
    "loses a charger",
    (pick) =>
      sql(
        `update core.chargers set status = 'removed', removed_at = private.now()
          where id = (select id from core.chargers where user_id = $1 and status = 'active' order by created_at desc, id limit 1)`,
        one(people, pick).id,
      ),
  ],
  [
    "withdraws the mandate",
    (pick) =>
      sql(
        "update core.mandates set status = 'revoked', ended_at = private.now(), ended_reason = 'customer' where connection_id = $1 and status = 'signed'",
        one(people, pick).connection_id,
      ),
  ],
  ["signs", (pick) => giveMandate(world, one(people, pick))],
  [
    "moves out, or in again",
    (pick) =>
      sql(
        "update core.connections set status = case status when 'active' then 'archived' else 'active' end where id = $1",
        one(people, pick).connection_id,
      ),
  ],
  [
    "is uploaded",
    (pick) =>
      world.post(
        "/partner/drafts/import",
        { consent: true, send_invite: false, rows: [draftRow(), draftRow()] },
        one(keys, pick).key,
      ),
  ],
  [
    "turns the draft down, or lets it expire",
    (pick) =>
      sql(
        `update core.drafts set status = case when $2 then 'conflict' else status end, expires_at = private.now()
          where id = (select id from core.drafts where partner_id = $1 and status = 'invited' order by id limit 1)`,
        one(keys, pick).partner.id,
        pick(2) === 0,
      ),
  ],
  [
    "is withdrawn",
    (pick) =>
      sql(
        "delete from core.drafts where id = (select id from core.drafts where partner_id = $1 order by id limit 1)",
        one(keys, pick).partner.id,
      ),
  ],
  [
    "is booked",
    async (pick) => {
      const quarter = one(["2026-Q1", "2026-Q2"], pick);
      await service(`booking open ${quarter}`);
      await service(`booking submit ${quarter}`);
    },
  ],
  [
    "is not booked after all",
    async (pick) => {
      const quarter = one(["2026-Q1", "2026-Q2"], pick);
      for (const step of ["open", "submit", "withdraw"]) await service(`booking ${step} ${quarter}`);
    },
  ],
  ["is credited", (pick) => service(`booking credit ${one(["2026-Q1", "2026-Q2"], pick)}`)],
  [
    "is sold",
    async (pick) => {
      const quarter = one(["2026-Q1", "2026-Q2"], pick);
      for (const step of ["open", "submit", "credit"]) await service(`booking ${step} ${quarter}`);
      await service(`sale record ${quarter} --ere 1.5 --price 2 --buyer B --reference S-${pick(1e9)}`);
    },
  ],
  [
    "is not sold after all",
    async () => {
      const sale = await sql(
        "select reference from core.sales s where not exists (select from core.sale_reversals r where r.sale_id = s.id) limit 1",
      );
      if (sale) await service(`sale reverse ${sale.reference} --reason test`);
    },
  ],
  [
    "is credited otherwise",
    async () => {
      const row = await sql(
        "select id from core.booking_rows where status in ('registered', 'rejected') order by id limit 1",
      );
      if (row) await world.run(["booking", "reverse-credit", row.id, "--reason", "test"]);
    },
  ],
  [
    "is rejected",
    () =>
      sql(
        "update core.delivered_months set status = 'rejected' where (partner_id, connection_id, period) = (select partner_id, connection_id, period from core.delivered_months where status = 'staged' order by period, connection_id limit 1)",
      ),
  ],
  [
    "has no login any more",
    async (pick) => {
      const { id } = await addLogin(world);
      await sql("select private.reserve_customer($1, $2, 'manual')", id, one(keys, pick).partner.id);
      if (pick(2) === 0) await sql("delete from auth.users where id = $1", id);
    },
  ],
  [
    "is due",
    () =>
      world.environment.slowDb.call(
        "run_draft_jobs",
        { kind: "worker", host: "sandbox", request_id: "test" },
        { mails: {}, links: {}, size: 10 },
      ),
  ],
];

test("contract §4 the dashboard is right from a month that was charged to ERE that are sold", async () => {
  for (const [n, person] of people.entries()) {
    for (const month of MONTHS) await person.charge(month, 100_000);
    await world.row("select private.reserve_customer($1, $2, 'manual')", person.id, keys[n % 2]?.partner.id);
    await world.row("update core.attributions set attached_month = '2026-03-01' where user_id = $1", person.id);
    await rightFor(`person ${n}`);
  }
  const steps = ["open", "submit", "withdraw", "open", "submit"].map((step) => `booking ${step} 2026-Q1`);
  for (const step of steps) {
    await world.done(`${step} --partner service`);
    await rightFor(step);
  }
  // of one row the register takes a part, and the dashboard shows no more
  const { id } = await world.row("select id from core.booking_rows where live order by period desc, id limit 1");
  const file = join(mkdtempSync(join(tmpdir(), "ere-dashboard-")), "credits.csv");
  writeFileSync(file, `row_id,accepted_kwh,reason\n${id},40,meter\n`);
  await world.done(["booking", "credit", "2026-Q1", "--partner", "service", "--file", file]);
  await rightFor("credited in part");
  for (const step of ["booking credit 2026-Q1", "sale record 2026-Q1 --ere 20 --price 2 --buyer B --reference S"]) {
    await world.done(`${step} --partner service`);
    await rightFor(step);
  }
});

test.each([1, 2])(
  "contract §4 the dashboard is right after every change, in an order that nobody chose (%i)",
  async (seed) => {
    const pick = numbers(seed);
    for (let pass = 0; pass < 3; pass++)
      for (const [what, change] of shuffled(CHANGES, pick)) {
        await change(pick).catch((error) => {
          throw new Error(what, { cause: error });
        });
        await rightFor(`pass ${pass}: ${what}`);
      }
  },
);

test("contract §4 all that changes the dashboard was really among that", () => {
  expect(seen).toEqual(Object.fromEntries(Object.keys(seen).map((what) => [what, true])));
  expect(paid).toBe(true);
});

test("contract §4 attack: fifty changes at once, and the dashboard is right", async () => {
  const pick = numbers(4);
  for (let round = 0; round < 2; round++) {
    const asked = Array.from({ length: 50 }, () => one(CHANGES, pick));
    const done = await Promise.allSettled(asked.map(([, change]) => change(pick)));
    const failed = done.flatMap((each, n) => (each.status === "rejected" ? [`${asked[n]?.[0]}: ${each.reason}`] : []));
    expect(failed).toEqual([]);
    await rightFor(`round ${round}`);
  }
});

test("contract §4 a month of one customer, whom two connections and two requests change at once, is counted whole", async () => {
  const person = await addChargingPerson(world);
  await world.row("select private.reserve_customer($1, $2, 'manual')", person.id, world.partnerA.id);
  await Promise.all(MONTHS.flatMap((month, n) => [person.charge(month, 1000 * n), person.charge(month, 2000 * n)]));
  await rightFor("charged at once");
});

test("contract §4 at midnight, and as the year turns, the dashboard says what holds then", async () => {
  const person = await addChargingPerson(world);
  await world.row("select private.reserve_customer($1, $2, 'manual')", person.id, world.partnerA.id);
  await giveMandate(world, person, "2027-01-01", "2027-12-31");
  await person.charge("2026-08", 50_000);
  const key = keys[0]?.key;
  const told = async () => {
    const { customers_active, kwh_this_month, drafts } = (await world.get("/partner/dashboard", key)).body;
    return { customers_active, kwh_this_month, expired: drafts.expired };
  };
  await world.post("/partner/drafts/import", { consent: true, send_invite: false, rows: [draftRow()] }, key);
  const waiting = (await world.get("/partner/dashboard", key)).body.drafts;
  for (const moment of [
    "2026-08-31T21:59:59Z",
    "2026-08-31T22:00:00Z",
    "2026-12-31T22:59:59Z",
    "2026-12-31T23:00:00Z",
    "2028-01-01T00:00:00Z",
  ]) {
    await at(moment);
    await rightFor(moment);
  }
  await at("2026-08-31T22:00:00Z");
  expect((await told()).kwh_this_month).toBe(0);
  await at("2027-06-01T12:00:00Z");
  expect(await told()).toEqual({ customers_active: 1, kwh_this_month: 0, expired: waiting.expired + waiting.invited });
  // the job writes down what the calendar says already
  await runDueJobs(world);
  await rightFor("the mandates of last year are noted as expired");
});

test("contract §4 ledger check counts each dashboard again, and names the first month that is not what positions show", async () => {
  const check = async () => {
    const { json, err } = await world.run("ledger check");
    if (!json) throw new Error(err);
    return json;
  };
  expect((await check()).ok).toBe(true);
  await world.row("alter function private.count_dashboard(uuid, boolean) rename to count_rightly");
  await world.row(
    `create function private.count_dashboard(partner uuid, of_clients boolean default false) returns json language sql stable
       return '{"months": [{"month": "2025-01", "kwh": 1, "ere_credits": 0}]}'::json`,
  );
  await world.row("alter function private.count_dashboard(uuid, boolean) owner to postgres");
  const { ok, wrong } = await check().finally(async () => {
    await world.row("drop function private.count_dashboard(uuid, boolean)");
    await world.row("alter function private.count_rightly(uuid, boolean) rename to count_dashboard");
  });
  expect(ok).toBe(false);
  expect(wrong).toContainEqual({
    partner_slug: "service",
    check: "dashboards show what customers delivered",
    expected: 0,
    found: 1,
    wrong: 1,
    first: "month 2025-01",
  });
});

test("contract §4 what accounts of clients may still earn is of what is accepted and not sold, from delivery to a reversed sale", async () => {
  await at("2026-08-15T12:00:00Z");
  const partner = await world.addPartner("rekeningen");
  // 20 % of the proceeds are the fee, and 25 % of that is the partner's: 1 in 20
  const first = await world.customer({ "2026-04": 1000 }, partner);
  const second = await world.customer({ "2026-07": 500 }, partner);
  const count = async () =>
    await world.row(
      `select f ->> 'kwh_total' as kwh, f ->> 'ere_estimated' as ere,
                f ->> 'partner_share_estimated_eur' as share, f ->> 'customers_active' as active
           from private.count_dashboard($1, true) f`,
      partner.id,
    );
  const is = async (what: string, kwh: string, ere: string, share: string) => {
    expect(await count(), what).toMatchObject({ kwh, ere, share, active: "2" });
    expect(
      await world.row("select sum(wrong)::int as wrong from private.check_partner_sums($1)", partner.id),
      what,
    ).toEqual({ wrong: 0 });
  };
  await world.done(`figures publish 2026 --partner ${partner.id}`);
  await is("delivered, and nothing was sold yet, so there is no price", "1500.00", "499.04", "0.00");
  const { bookings } = await world.done(`booking open 2026-Q2 --partner ${partner.id}`);
  const booking = bookings[0].booking_id;
  await world.done(`booking submit ${booking}`);
  const { id } = await world.row("select id from core.booking_rows where booking_id = $1", booking);
  const file = join(mkdtempSync(join(tmpdir(), "ere-accounts-")), "credits.csv");
  writeFileSync(file, `row_id,accepted_kwh,reason\n${id},600,meter\n`);
  await world.done(["booking", "credit", booking, "--file", file]);
  await is("of 1,000 kWh the register took 600", "1500.00", "365.96", "0.00");
  await world.done(`sale record ${booking} --ere 100 --price 2 --buyer B --reference REKENING-1`);
  // (600 + 500) x 0.332694 - 100 = 265.9634 ERE, at € 2, of which 1 in 20
  await is("100 ERE are sold at € 2", "1500.00", "365.96", "26.59");
  await world.done(["sale", "reverse", "REKENING-1", "--reason", "test"]);
  await is("the sale was reversed, and its price with it", "1500.00", "365.96", "0.00");
  await world.done(`sale record ${booking} --ere 199.6164 --price 1 --buyer B --reference REKENING-2`);
  // all that is credited is sold: 500 x 0.332694 are left, at € 1
  await is("all that is credited is sold", "1500.00", "365.96", "8.31");
  await world.row(
    "update core.delivered_months set status = 'rejected' where connection_id = $1 returning 1",
    second.connection_id,
  );
  await is("a month was rejected", "1000.00", "199.62", "0.00");
  expect(first.account_id).not.toBe(second.account_id);
});

test("contract §4 ledger check counts the accounts of clients too", async () => {
  const { id } = await world.row("select id from core.partners where slug = 'rekeningen'");
  await world.row("alter function private.count_dashboard(uuid, boolean) rename to count_rightly");
  await world.row(
    `create function private.count_dashboard(partner uuid, of_clients boolean default false) returns json language sql stable
       return case when of_clients then '{"months": [{"month": "2026-04", "kwh": 1000, "ere_credits": 1}]}'::json
                   else '{"months": []}'::json end`,
  );
  const { rows } = await world.database.admin
    .query("select what, wrong::int, example from private.check_partner_sums($1)", [id])
    .finally(async () => {
      await world.row("drop function private.count_dashboard(uuid, boolean)");
      await world.row("alter function private.count_rightly(uuid, boolean) rename to count_dashboard");
    });
  expect(rows).toEqual([
    { what: "dashboards show what customers delivered", wrong: 0, example: null },
    { what: "dashboards show what accounts delivered", wrong: 1, example: "month 2026-04" },
  ]);
});

describe("contract §4 above 1,000 customers", () => {
  let large: Partner;
  let key: string;
  let kicks = 0;
  const read = async () => {
    const { status, body } = await world.get("/partner/dashboard", key);
    expect(status).toBe(200);
    return body;
  };
  const counted = async () => (await world.row(FROM_ROWS, large.id)).figures;
  const work = async (path: string) => {
    const { status, body } = await world.post(path, {}, world.environment.config.WORKER_SECRET);
    await world.idle();
    expect(status).toBe(200);
    return body;
  };
  const charge = () =>
    world.row(
      `update core.delivered_months set total_kwh = total_kwh + 1
        where owner_id = (select user_id from core.attributions where partner_id = $1 limit 1)`,
      large.id,
    );
  beforeAll(async () => {
    await at("2026-09-02T10:00:00Z");
    large = await world.addPartner("large");
    key = await giveKey(world, large.id);
    await addCustomers(world.database.admin, large.id, 1001, 2);
    world.environment.kick = () => {
      kicks += 1;
    };
  });

  test("a first reader without the time to count has the worker count, and says to come back", async () => {
    const writer = await world.database.admin.connect();
    const reader = await world.database.admin.connect();
    try {
      await writer.query("begin");
      await writer.query("lock table core.delivered_months");
      const ask = "select private.partner_figures(p) as f from core.partners p where p.id = $1";
      const first = reader.query(ask, [large.id]);
      const waiting = "select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock'";
      await expect.poll(async () => (await world.row(waiting)).n).toBe(1);
      expect((await writer.query(ask, [large.id])).rows, "another does not count too").toEqual([{ f: null }]);
      expect((await writer.query("select from core.dashboards where partner_id = $1", [large.id])).rows).toEqual([]);
      const { pid } = (await world.row("select pid from pg_stat_activity where wait_event_type = 'Lock'")) as {
        pid: number;
      };
      await world.row("select pg_cancel_backend($1)", pid); // as its time limit would
      expect((await first).rows).toEqual([{ f: null }]);
    } finally {
      await writer.query("rollback");
      writer.release();
      reader.release();
    }
    const answers = await Promise.all(Array.from({ length: 10 }, () => world.get("/partner/dashboard", key)));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(503));
    expect(answers[0]?.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(kicks).toBe(1);
    await work("/worker/kick");
    kicks = 0;
  });

  test("the dashboard is the last count, and of the readers that find it older than a minute one has it counted", async () => {
    const first = await read();
    expect(first).toEqual(await counted());
    expect(first).toMatchObject({ as_of: "2026-09-02T10:00:00Z", customers_total: 1001 });
    await charge();
    await at("2026-09-02T10:01:00Z");
    expect(await read()).toEqual(first);
    expect(kicks, "a minute is not too old").toBe(0);
    await at("2026-09-02T10:01:01Z");
    expect(await Promise.all(Array.from({ length: 10 }, read))).toEqual(Array(10).fill(first));
    expect(kicks).toBe(1);
    await work("/worker/kick");
    const second = await read();
    expect(second).toEqual(await counted());
    expect(second).not.toEqual(first);
    expect(kicks).toBe(1);
  });

  test("a dashboard whose count never came is asked for again after a minute", async () => {
    await at("2026-09-02T11:00:00Z");
    await read();
    expect(kicks).toBe(2);
    await at("2026-09-02T11:01:00Z");
    await read();
    expect(kicks).toBe(2);
    await at("2026-09-02T11:01:01Z");
    await read();
    expect(kicks).toBe(3);
  });

  test("of ten workers at once one counts, and what nobody asked for it does not count", async () => {
    const recount = async () =>
      JSON.parse(
        await world.environment.slowDb.call("recount_dashboard", {
          kind: "worker",
          host: "sandbox",
          request_id: "test",
        }),
      );
    const done = await Promise.all(Array.from({ length: 10 }, recount));
    expect(done.filter(({ partner_id }) => partner_id)).toEqual([{ partner_id: large.id, error: null }]);
    await at("2026-09-02T21:59:59Z");
    expect(await recount()).toEqual({ partner_id: null, error: null });
  });

  test("each dashboard is counted once a night, though nobody reads it", async () => {
    await charge();
    await at("2026-09-02T22:00:00Z");
    expect((await work("/worker/run")).dashboards).toEqual({ recounted: 1, failed: 0 });
    expect((await work("/worker/run")).dashboards).toEqual({ recounted: 0, failed: 0 });
    const asked = kicks;
    expect(await read()).toEqual(await counted());
    expect(kicks).toBe(asked);
  });

  test("attack: one dashboard that cannot be counted keeps no other from its turn, and is tried again after ten minutes", async () => {
    await at("2026-09-03T22:00:00Z");
    // due before the large one's
    await world.row(
      `insert into core.dashboards (partner_id, as_of, asked_at, figures)
       values ($1, '2026-09-01T00:00:00Z', '2026-09-03T21:59:00Z', '{}')`,
      world.partnerB.id,
    );
    await world.row(
      "create function core.fail() returns trigger language plpgsql as 'begin raise division_by_zero; end'",
    );
    await world.row(
      `create trigger fail before update of figures on core.dashboards for each row
         when (new.partner_id = '${world.partnerB.id}') execute function core.fail()`,
    );
    const runs = [];
    try {
      for (const moment of ["22:00:00", "22:09:59", "22:10:00"]) {
        await at(`2026-09-03T${moment}Z`);
        runs.push((await work("/worker/run")).dashboards);
      }
    } finally {
      await world.row("drop function core.fail() cascade");
    }
    expect(runs).toEqual([
      { recounted: 1, failed: 1 },
      { recounted: 0, failed: 0 },
      { recounted: 0, failed: 1 },
    ]);
    await at("2026-09-03T22:20:00Z");
    expect((await work("/worker/run")).dashboards).toEqual({ recounted: 1, failed: 0 });
    await world.row("delete from core.dashboards where partner_id = $1", world.partnerB.id);
    await at("2026-09-02T22:00:00Z");
  });

  test("attack: accounts that take too long to count keep no other figure from being counted", async () => {
    await at("2026-09-04T22:00:00Z");
    await charge();
    await world.row("update core.dashboards set payouts = null, needs = null where partner_id = $1", large.id);
    const { whole } = await world.row(
      "select pg_get_functiondef('private.count_dashboard(uuid, boolean)'::regprocedure) as whole",
    );
    await world.row(whole.replace(/\bbegin\n/i, "begin\n if of_clients then raise query_canceled; end if;\n"));
    const { dashboards } = await work("/worker/run").finally(() => world.row(whole));
    expect(dashboards.failed).toBe(1);
    expect(await read()).toEqual(await counted());
    const kept = "select payouts is not null as payouts, needs is not null as needs from core.dashboards";
    expect(await world.row(`${kept} where partner_id = $1`, large.id)).toEqual({ payouts: true, needs: true });
    await world.row(
      "update core.dashboards set failed_at = null, as_of = private.now() where partner_id = $1",
      large.id,
    );
    await at("2026-09-02T22:00:00Z");
  });

  test("with 1,000 it is of now", async () => {
    await world.row(
      "delete from core.attributions where user_id = (select user_id from core.attributions where partner_id = $1 limit 1)",
      large.id,
    );
    await at("2026-09-02T22:00:01Z");
    const told = await read();
    expect(told).toEqual(await counted());
    expect(told).toMatchObject({ as_of: "2026-09-02T22:00:01Z", customers_total: 1000 });
  });

  test("attack: while somebody writes rows of 10,000 customers, nobody waits: neither their partner, nor another's batch, nor another's customer", async () => {
    const huge = await world.addPartner("huge");
    const hugeKey = await giveKey(world, huge.id);
    await world.row("update core.locations set postal_code = '1011AA' where postal_code = '3818LH'");
    await world.row("update auth.users set email = id || '@example.nl'");
    // 100,000 pass as well, and take longer to make
    await addCustomers(world.database.admin, huge.id, 10_000, 1);
    const account = await createAccount(world, world.partnerB);
    const token = await world.partnerB.client.token();
    const others: string[] = [];
    for (let n = 0; n < 10; n++) {
      const other = await addChargingPerson(world);
      await world.row("select private.reserve_customer($1, $2, 'manual')", other.id, world.partnerB.id);
      others.push(await other.token());
    }
    expect((await world.get("/partner/dashboard", hugeKey)).status).toBe(200);

    let writing = true;
    const writer = (async () => {
      const client = await world.database.admin.connect();
      try {
        await client.query("begin");
        await client.query(
          "update core.delivered_months set total_kwh = total_kwh + 1 where owner_id in (select user_id from core.attributions where partner_id = $1)",
          [huge.id],
        );
        // what a commit does, and then longer than a request waits for a lock
        await client.query("set constraints all immediate");
        await client.query("select pg_sleep(4)");
        await client.query("commit");
      } finally {
        client.release();
        writing = false;
      }
    })();
    const statuses = new Set<number>();
    for (let n = 0; writing; n++) {
      const answers = await Promise.all([
        world.get("/partner/dashboard", hugeKey),
        world.post(
          "/v1/sessions:batch",
          { account_id: account.account_id, months: [{ period: "2026-08", total_kwh: 10, session_count: 1 }] },
          token,
        ),
        world.post("/chargers", { nickname: "Oprit", connection_type: "ocpp" }, others[n % others.length]),
      ]);
      for (const { status } of answers) statuses.add(status);
      await sleep(100);
    }
    await writer;
    expect([...statuses].sort()).toEqual([200, 201]);
  });
});
