import { afterAll, beforeAll, expect, test } from "vitest";
import { createAccount } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

// A batch reads once what the mandates of its connection cover. Here every history of mandates is judged month by month beside it.

let world: World;
let token: string;
beforeAll(async () => {
  world = await createWorld({ limits: "lifted", now: "2028-06-15T09:00:00Z" });
  token = await world.partnerA.client.token();
});
afterAll(() => world.close());

type Mandate = { status: "signed" | "revoked" | "expired" | "declined"; years: [number, number]; lapsed?: true };
const signed = (from: number, until: number): Mandate => ({ status: "signed", years: [from, until] });
const expired = (from: number, until: number): Mandate => ({ status: "expired", years: [from, until] });
const revoked = (from: number, until: number): Mandate => ({ status: "revoked", years: [from, until] });
const declined: Mandate = { status: "declined", years: [0, 0] };

const HISTORIES: [name: string, mandates: Mandate[]][] = [
  ["no mandate", []],
  ["one that was declined", [declined]],
  ["one that holds", [signed(2026, 2028)]],
  ["one that holds, of an earlier year", [signed(2025, 2027)]],
  ["one that ran out", [expired(2026, 2026)]],
  ["one that was revoked", [revoked(2026, 2028)]],
  ["a revoked one, and one after it", [revoked(2026, 2028), signed(2027, 2027)]],
  ["two with a year between them", [expired(2026, 2026), signed(2028, 2028)]],
  ["two that overlap", [expired(2026, 2027), signed(2027, 2028)]],
  ["two that follow each other", [expired(2026, 2026), signed(2027, 2027)]],
  ["one that ran out and lapsed", [{ ...expired(2026, 2026), lapsed: true }]],
  ["a lapsed one, and one that covers the same year", [{ ...expired(2026, 2026), lapsed: true }, signed(2026, 2026)]],
  ["a declined one, and one that holds", [declined, signed(2027, 2027)]],
];

/** Every month from 2025-10 to 2028-06. */
const PERIODS = Array.from({ length: 33 }, (_, index) => {
  const month = 2025 * 12 + 9 + index;
  return `${Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, "0")}`;
});

function verdictOf(mandates: Mandate[], period: string): "staged" | "outside_mandate" {
  if (mandates.every(({ status }) => status === "declined")) return "staged";
  const year = Number(period.slice(0, 4));
  const covered = mandates.some(
    ({ status, years: [from, until], lapsed }) =>
      (status === "signed" || status === "expired") && !lapsed && from <= year && year <= until,
  );
  return covered && period >= "2026-01" ? "staged" : "outside_mandate";
}

async function give(connection_id: string, mandates: Mandate[]): Promise<void> {
  for (const { status, years, lapsed } of mandates) {
    const decided = status === "declined" ? null : years;
    await world.row(
      `with link as (
         insert into core.mandate_links (partner_id, connection_id, owner_id, token_hash, validity_years, expires_at, used_at)
         select partner_id, id, owner_id, sha256(gen_random_uuid()::text::bytea), 1, private.now(), private.now()
           from core.connections where id = $1 returning *)
       insert into core.mandates (partner_id, connection_id, owner_id, link_id, status, valid_from, valid_until, fee_pct, partner_share_pct,
                                  signed_name, signed_at, document, document_sha256, lapsed_at)
       select partner_id, connection_id, owner_id, id, $2, make_date($3::int, 1, 1), make_date($4::int, 12, 31), case when $3 is not null then 20 end,
              case when $3 is not null then 25 end, case when $3 is not null then 'Sanne' end, case when $3 is not null then private.now() end,
              case when $3 is not null then 'test' end, case when $3 is not null then 'test' end, case when $5 then private.now() end from link`,
      connection_id,
      status,
      decided?.[0] ?? null,
      decided?.[1] ?? null,
      lapsed ?? false,
    );
  }
}

async function statuses(connection_id: string): Promise<string[]> {
  const { rows } = await world.database.admin.query<{ status: string }>(
    "select status from core.delivered_months where connection_id = $1 order by period",
    [connection_id],
  );
  return rows.map(({ status }) => status);
}

test.each(HISTORIES)("contract §2 with %s each month of a batch is judged as it is alone", async (_name, mandates) => {
  const { account_id, connection_id } = await createAccount(world);
  await give(connection_id, mandates);
  const expected = PERIODS.map((period) => verdictOf(mandates, period));

  // latest first, so that neither the order of the batch nor that of the table decides
  const sent = PERIODS.toReversed();
  const { status, body } = await world.post(
    "/v1/sessions:batch",
    { account_id, months: sent.map((period) => ({ period, total_kwh: 1 })) },
    token,
  );
  expect(status).toBe(200);
  expect(body.results).toEqual(
    sent.map((period, index) => ({
      period,
      status: expected.at(-1 - index) === "staged" ? "ingested" : "outside_mandate",
      change: "created",
    })),
  );
  expect(await statuses(connection_id)).toEqual(expected);
  const { rows } = await world.database.admin.query(
    `select private.month_status($1, d.period) as alone
       from core.delivered_months d, set_config('app.partner_id', d.partner_id::text, false) where d.connection_id = $1 order by d.period`,
    [connection_id],
  );
  expect(rows.map(({ alone }) => alone)).toEqual(expected);
});

test.each(HISTORIES)("contract §2 months that were there before %s are judged again", async (_name, mandates) => {
  const { account_id, connection_id } = await createAccount(world);
  const months = PERIODS.map((period) => ({ period, total_kwh: 1 }));
  expect((await world.post("/v1/sessions:batch", { account_id, months }, token)).body.accepted).toBe(PERIODS.length);
  await world.row(
    "update core.delivered_months set status = 'registered' where connection_id = $1 and period = '2026-05-01'",
    connection_id,
  );
  await give(connection_id, mandates);
  const client = await world.database.admin.connect();
  await client.query("select set_config('app.partner_id', $1, false)", [world.partnerA.id]);
  await client.query("select private.judge_months($1)", [connection_id]).finally(() => client.release(true));
  expect(await statuses(connection_id)).toEqual(
    PERIODS.map((period) => (period === "2026-05" ? "registered" : verdictOf(mandates, period))),
  );
});
