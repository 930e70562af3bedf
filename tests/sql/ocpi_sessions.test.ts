// A CDR of OCPI, as domain/charging_in/ocpi reads it, is stored as a session of any other source is.

import { afterAll, beforeAll, expect, test } from "vitest";
import { readCdr } from "#shared/domain/charging_in/ocpi/cdr.ts";
import { MID_CHARGER } from "../harness/chargers.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

const CARD = "012345678";
const EVSE = { evse_uid: "nl-3256", evse_id: "NL*TNM*E041503003" };
const cdr = (fields: object = {}, location: object = {}) => ({
  country_code: "NL",
  party_id: "TNM",
  id: "cdr-1",
  start_date_time: "2026-03-10T18:00:00",
  end_date_time: "2026-03-10T19:00:00Z",
  cdr_token: { country_code: "DE", party_id: "TNM", uid: CARD, type: "RFID", contract_id: `DE8ACC${CARD}` },
  auth_method: "WHITELIST",
  cdr_location: { id: "LOC1", city: "Gent", country: "NLD", ...EVSE, connector_power_type: "AC_3_PHASE", ...location },
  currency: "EUR",
  charging_periods: [],
  signed_data: { encoding_method: "OCMF", signed_values: [{ nature: "End", plain_data: "", signed_data: "OCMF|x" }] },
  total_cost: { excl_vat: 4 },
  total_energy: 5.1234,
  total_time: 1,
  last_updated: "2026-03-10T19:00:01Z",
  ...fields,
});

let world: World;
let account: { account_id: string; connection_id: string };
let charger: string;
beforeAll(async () => {
  world = await createWorld({ now: "2026-04-01T12:00:00Z" });
  account = await createAccount(world);
  const token = await world.partnerA.client.token();
  const body = { account_id: account.account_id, ...MID_CHARGER, serial_number: "S1" };
  charger = (await world.post("/v1/chargers", body, token)).body.charger_id;
  await signMandate(world, account.account_id);
});
afterAll(() => world.close());

/** As the owner of the api functions, for partner A's client. */
async function acting(statement: string, ...values: unknown[]) {
  const session = await world.database.admin.connect();
  try {
    await session.query("begin; set local role api_owner");
    const { id } = world.partnerA.client;
    const caller = { kind: "cpo", partner_id: world.partnerA.id, client_id: id, host: "sandbox", request_id: "r1" };
    await session.query("select private.act_as($1, 'cpo')", [caller]);
    const { rows } = await session.query(statement, values);
    await session.query("commit");
    return rows;
  } finally {
    session.release(true);
  }
}

async function deliver(sent: object) {
  const read = readCdr(sent);
  if (!("kind" in read) || read.kind !== "session") throw new Error(JSON.stringify(read));
  const item = { ...read.session, place: 1, sent_sha256: "ab".repeat(32) };
  const statement = `select json_agg(json_strip_nulls(json_build_object('place', r.place, 'status', r.status, 'reason', r.reason,
              'session_id', r.session_id, 'flags', r.flags))) as answer from private.store_client_sessions($1, $2) r`;
  const [row] = await acting(statement, world.partnerA.client.id, JSON.stringify([item]));
  return row.answer[0];
}
const month = () =>
  world.row(
    "select total_kwh::float8 as kwh, session_count as sessions from core.delivered_months where connection_id = $1 and period = '2026-03-01'",
    account.connection_id,
  );

test("§1 it waits until its EVSE has a name, and is the month's then", async () => {
  expect(await deliver(cdr())).toMatchObject({ status: "parked", reason: "unknown_charger" });
  expect(await month()).toBeUndefined();
  const naming =
    "select private.store_parked($2, private.name_charger(h, $3)) as freed from core.chargers h where id = $1";
  expect(await acting(naming, charger, world.partnerA.client.id, { evses: [EVSE] })).toEqual([{ freed: 1 }]);
  expect(await deliver(cdr())).toMatchObject({ status: "unchanged", flags: [] });
  expect(await month()).toEqual({ kwh: 5.123, sessions: 1 });
});

test("§1 one abroad is stored, and counted nowhere", async () => {
  const abroad = cdr(
    { id: "cdr-2", start_date_time: "2026-03-11T18:00:00Z", end_date_time: "2026-03-11T19:00:00Z" },
    { country: "BEL" },
  );
  expect(await deliver(abroad)).toMatchObject({ status: "created", flags: ["abroad"] });
  expect(await month()).toEqual({ kwh: 5.123, sessions: 1 });
});

test("§1 its signed values are kept, and its card nowhere", async () => {
  const { signed, document, signature } = await world.row(
    "select signed, signature, document from core.charging_evidence where external_id = 'NL-TNM:CDR-1'",
  );
  // core.ocpi_cdrs has the document
  expect([signed, signature, document]).toEqual([["OCMF|x"], "unchecked", null]);
  for (const table of ["charging_evidence", "charging_sessions", "parked_charging", "events", "audit_log"])
    expect(
      await world.row(`select count(*)::int as found from core.${table} t where t::text like '%${CARD}%'`),
    ).toEqual({ found: 0 });
});
