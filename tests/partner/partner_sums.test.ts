// The sums that the dashboard is made of are always those of the rows, whatever changed these, in whatever order and however many at once.

import { afterAll, beforeAll, expect, test } from "vitest";
import { createEreWorld, type EreWorld } from "../ere/ere_world.ts";
import { addChargingPerson, type Charging } from "../ere/person.ts";
import { addCharger } from "../harness/chargers.ts";
import { giveMandate } from "../harness/mandate.ts";
import type { Partner } from "../harness/people.ts";
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

/** What GET /partner/dashboard says, added up from the rows in one statement that knows no kept sum. */
const FROM_ROWS = `
  with customers as (select * from core.attributions where partner_id = $1),
  connected as (
    select k.user_id, k.attached_month, c.connection_id, c.status = 'active' and c.mandate_status = 'signed' as signed
      from customers k
      join core.accounts b on b.partner_id = private.house() and b.user_id = k.user_id
      join core.connection_mandates c on c.partner_id = b.partner_id and c.account_id = b.id),
  months as (
    select d.period, sum(d.total_kwh) as kwh, coalesce(sum(m.ere), 0) as ere, count(distinct k.user_id) filter (where d.total_kwh > 0) as active
      from connected k
      join core.delivered_months d on d.partner_id = private.house() and d.connection_id = k.connection_id and d.period >= k.attached_month
      left join core.counted_months m on m.partner_id = d.partner_id and m.connection_id = d.connection_id and m.period = d.period
     where d.status = 'staged' or d.locked group by d.period)
  select json_build_object(
    'customers_total', (select count(*) from customers),
    'customers_active', (select count(distinct k.user_id) from connected k where k.signed),
    'drafts', (select json_object_agg(s, (select count(*) from core.drafts d where d.partner_id = $1 and private.draft_status(d) = s))
                 from unnest(array['invited', 'claimed', 'expired', 'conflict', 'active']) s),
    'chargers_total', (select count(*) from customers k join core.chargers h on h.user_id = k.user_id and h.status = 'active'),
    'kwh_total', (select round(coalesce(sum(kwh), 0), 2) from months),
    'kwh_this_month', (select round(coalesce(sum(kwh), 0), 2) from months where period = date_trunc('month', private.today())),
    'ere_estimated', (select round(coalesce(sum(ere), 0), 2) from months),
    'months', (select coalesce(json_agg(json_build_object('month', to_char(m.period, 'YYYY-MM'), 'kwh', round(m.kwh, 2), 'ere_credits', round(m.ere, 2),
                                                          'active_customers', m.active) order by m.period desc), '[]') from months m)) as figures`;

/** Whether there was ever something in each state that makes a difference. */
const STATES = `
  select exists (select from core.booking_rows where live) as booked, exists (select from core.booking_rows where status = 'withdrawn') as withdrawn,
         exists (select from core.credits where reversed_at is null) as credited, exists (select from core.credits where reversed_at is not null) as reversed,
         exists (select from core.allocations where reversal_id is null) as sold, exists (select from core.allocations where reversal_id is not null) as unsold,
         exists (select from core.customer_months where sold_ere > 0) as shared, exists (select from core.partner_sums where folded) as folded,
         exists (select from core.partner_sums where not folded) as fresh, exists (select from core.drafts where status = 'conflict') as conflict,
         exists (select from core.ended_attributions) as ended, exists (select from core.connections where status = 'archived') as archived,
         exists (select from core.mandates where status = 'revoked') as revoked`;
const seen: Record<string, boolean> = {};

async function rightFor(what: string) {
  for (const { partner, key } of keys) {
    const { partner_share_estimated_eur, ...told } = (await world.get("/partner/dashboard", key)).body;
    expect(told, what).toEqual((await world.row(FROM_ROWS, partner.id)).figures);
    expect(partner_share_estimated_eur, what).toBeGreaterThanOrEqual(0);
    expect(await world.row("select wrong::int, example from private.check_partner_sums($1)", partner.id), what).toEqual(
      { wrong: 0, example: null },
    );
  }
  expect(await world.row("select count(*)::int as left from core.recounts")).toEqual({ left: 0 });
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
    (pick) => sql("select private.claim_customer($1, $2, 'manual')", one(people, pick).id, one(keys, pick).partner.id),
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
      await sql("select private.claim_customer($1, $2, 'manual')", id, one(keys, pick).partner.id);
      if (pick(2) === 0) await sql("delete from auth.users where id = $1", id);
    },
  ],
  ["is folded", () => sql("select private.fold_partner_sums()")],
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
    await world.row("select private.claim_customer($1, $2, 'manual')", person.id, keys[n % 2]?.partner.id);
    await world.row("update core.attributions set attached_month = '2026-03-01' where user_id = $1", person.id);
    await rightFor(`person ${n}`);
  }
  const steps = ["open", "submit", "withdraw", "open", "submit", "credit"].map((step) => `booking ${step} 2026-Q1`);
  for (const step of [...steps, "sale record 2026-Q1 --ere 20 --price 2 --buyer B --reference S"]) {
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
  await world.row("select private.claim_customer($1, $2, 'manual')", person.id, world.partnerA.id);
  await Promise.all(MONTHS.flatMap((month, n) => [person.charge(month, 1000 * n), person.charge(month, 2000 * n)]));
  await rightFor("charged at once");
});

test("contract §4 attack: transactions that change the same people in opposite orders, and take half of it back, both commit", async () => {
  const pair = [await addChargingPerson(world), await addChargingPerson(world)];
  for (const person of pair) {
    await world.row("select private.claim_customer($1, $2, 'manual')", person.id, world.partnerA.id);
    await person.charge("2026-08", 1000);
  }
  const change = async (order: Charging[], statement: string) => {
    const client = await world.database.admin.connect();
    try {
      await client.query("begin");
      for (const { id } of order) {
        await client.query("savepoint half");
        await client.query(statement, [id]);
        await client.query("set constraints all immediate");
        await client.query("rollback to savepoint half");
        await client.query(statement, [id]);
      }
      // the second folds what the first does not, for which it waits
      await client.query("select private.fold_partner_sums()");
      await client.query("commit");
    } finally {
      await client.query("rollback");
      client.release();
    }
  };
  await Promise.all([
    change(pair, "update core.chargers set status = 'removed' where user_id = $1"),
    change([...pair].reverse(), "update core.delivered_months set total_kwh = total_kwh + 7 where owner_id = $1"),
  ]);
  await rightFor("opposite orders");
});

test("contract §4 attack: where customers cannot be counted as a request commits, it fails and leaves nothing", async () => {
  const person = await addChargingPerson(world);
  await world.row("select private.claim_customer($1, $2, 'manual')", person.id, world.partnerA.id);
  const token = await person.token();
  const register = () => world.post("/chargers", { nickname: "Oprit", connection_type: "ocpp" }, token);
  const chargers = async () =>
    (await world.row("select count(*)::int as n from core.chargers where user_id = $1", person.id)).n;
  await world.row("alter table core.customer_totals add constraint uncountable check (chargers < 2) not valid");
  expect((await register()).status).toBe(500);
  expect(await chargers()).toBe(1);
  await world.row("alter table core.customer_totals drop constraint uncountable");
  expect((await register()).status).toBe(201);
  expect(await chargers()).toBe(2);
  await rightFor("counted again");
});

test("contract §4 what is kept wrongly is found by the ledger check and put right by the operator, everything else stays", async () => {
  const { id } = world.partnerA;
  await world.row(
    "update core.customer_months set kwh = kwh + 1 where (user_id, period) = (select user_id, period from core.customer_months where partner_id = $1 limit 1)",
    id,
  );
  await world.row(
    "update core.customer_totals set chargers = 9 where user_id = (select user_id from core.customer_totals where partner_id = $1 limit 1)",
    id,
  );
  await world.row("insert into core.partner_sums (partner_id, what, amount) values ($1, 'draft:active', 3)", id);
  const { code, json } = await world.run("ledger check");
  expect([code, json.ok]).toEqual([1, false]);
  expect(json.wrong).toEqual([
    {
      partner_slug: "partner-a",
      check: "kept sums are those of customers and drafts",
      expected: expect.any(Number),
      found: expect.any(Number),
      wrong: 3,
      first: expect.any(String),
    },
  ]);
  expect(await world.done("partner recount partner-a")).toMatchObject({ sums: 1 });
  await rightFor("recounted");
  expect(await world.done("partner recount partner-a")).toMatchObject({ customers: 0, sums: 0 });
});

test("contract §4 at midnight, and as the year turns, the dashboard says what holds then", async () => {
  const person = await addChargingPerson(world);
  await world.row("select private.claim_customer($1, $2, 'manual')", person.id, world.partnerA.id);
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
  await world.environment.slowDb.call("run_due_jobs", { kind: "worker", host: "sandbox", request_id: "test" });
  await rightFor("the mandates of last year are noted as expired");
});
