import { afterAll, beforeAll, expect, test } from "vitest";
import { hashSecret } from "#shared/auth/tokens.ts";
import { MID_CHARGER } from "../harness/chargers.ts";
import { runDueJobs } from "../harness/due_jobs.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount, newEan } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";
import { cpoOf } from "./cpo.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

const { token, connectionOf, positionOf, deliver, monthsOf } = cpoOf(() => world);
const runJobs = () => runDueJobs(world);

test.each([
  ["2026-12-31T22:59:59Z", "2026", "2027", "the last second of the year in the Netherlands"],
  ["2026-12-31T23:30:00Z", "2027", "2027", "half past midnight there, New Year's Eve in UTC"],
  ["2027-01-01T00:30:00Z", "2027", "2027", "new year in both"],
  ["2026-06-30T22:30:00Z", "2026", "2026", "a summer night"],
  ["2026-10-31T22:59:59Z", "2026", "2026", "the last second of October there, in winter time"],
  ["2026-10-31T23:00:00Z", "2026", "2027", "November there, October in UTC: weeks would be no year"],
])("contract §2 a first mandate for a year, signed at %s, covers %s to %s: %s", async (moment, year, until) => {
  await world.travel(moment);
  const account = await createAccount(world);
  await signMandate(world, account.account_id);
  expect(await connectionOf(account)).toMatchObject({
    mandate_status: "signed",
    mandate_valid_from: `${year}-01-01`,
    mandate_valid_until: `${until}-12-31`,
    mandate_signed_at: moment,
  });
  expect((await positionOf(account)).mandate_valid_from).toBe(`${year}-01-01`);
});

test.each([
  [1, "2026"],
  [3, "2028"],
  [5, "2030"],
])("contract §2 a mandate for %i years expires after 31 December %s, with no job needed", async (years, last) => {
  await world.travel("2026-10-20T12:00:00Z");
  const account = await createAccount(world);
  await signMandate(world, account.account_id, world.partnerA, years);
  await world.post("/v1/chargers", { account_id: account.account_id, ...MID_CHARGER }, await token());
  await world.travel(`${last}-12-31T22:59:59Z`);
  expect((await connectionOf(account)).mandate_status).toBe("signed");
  expect((await positionOf(account)).ere_eligible).toBe(true);
  await world.travel(`${last}-12-31T23:00:00Z`);
  expect((await connectionOf(account)).mandate_status).toBe("expired");
  expect(await positionOf(account)).toMatchObject({
    ere_eligible: false,
    mandate_valid_from: null,
    checklist: { mandate_signed: false, ean_validated: true, mid_charger_registered: true, iban_present: true },
  });
});

test.each([
  ["before the job noted the end", false],
  ["after the job noted the end", true],
])(
  "contract §2 renewal keeps the old year's months covered, revoking the new mandate too, but no correction of the connection: %s",
  async (_name, noted) => {
    await world.travel("2026-10-20T12:00:00Z");
    const account = await createAccount(world);
    await signMandate(world, account.account_id);
    expect(await deliver(account, "2026-09", "2026-10")).toEqual(["ingested", "ingested"]);

    await world.travel("2027-02-03T12:00:00Z");
    if (noted) expect((await runJobs()).mandates_expired).toBeGreaterThan(0);
    expect(await deliver(account, "2026-12", "2027-01"), "no tacit renewal").toEqual(["ingested", "outside_mandate"]);

    const { body: link } = await world.post("/v1/mandate-links", { account_id: account.account_id }, await token());
    expect(link.mandate_status, "an expired mandate can be renewed").toBe("expired");
    await signMandate(world, account.account_id);
    expect(await connectionOf(account)).toMatchObject({ mandate_status: "signed", mandate_valid_from: "2027-01-01" });
    const covered = { "2026-09": "staged", "2026-10": "staged", "2026-12": "staged" };
    expect(await monthsOf(account)).toEqual({ ...covered, "2027-01": "staged" });

    await world.travel("2027-02-04T12:00:00Z");
    await world.row("select ops.mandate_revoke(jsonb_build_object('connection', $1::text))", account.connection_id);
    expect(await monthsOf(account)).toEqual({ ...covered, "2027-01": "outside_mandate" });

    const correction = { account_id: account.account_id, connection: { ean_code: newEan() } };
    await world.post("/v1/connections:update", { ...correction, acknowledge_mandate_lapses: true }, await token());
    expect(new Set(Object.values(await monthsOf(account)))).toEqual(new Set(["outside_mandate"]));
  },
);

test.each([
  ["the EAN, before the job noted the end", () => ({ ean_code: newEan() }), false],
  ["the EAN, after it", () => ({ ean_code: newEan() }), true],
  ["the address", () => ({ house_number: 9 }), false],
])(
  "contract §9 corrected after a mandate expired: %s; its open months count no more, if that is acknowledged",
  async (_what, connection, noted) => {
    await world.travel("2026-10-20T12:00:00Z");
    const account = await createAccount(world);
    await signMandate(world, account.account_id);
    await deliver(account, "2026-08", "2026-09", "2026-10");
    await world.row(
      "update core.delivered_months set status = 'registered' where connection_id = $1 and period = '2026-08-01'",
      account.connection_id,
    );
    await world.travel("2027-02-03T12:00:00Z");
    if (noted) await runJobs();
    const before = await monthsOf(account);
    const correct = async (acknowledge_mandate_lapses: boolean) => {
      const body = { account_id: account.account_id, connection: change, acknowledge_mandate_lapses };
      return world.post("/v1/connections:update", body, await token());
    };
    const change = connection();
    expect(await correct(false)).toMatchObject({ status: 409, body: { error: "mandate_acknowledgement_required" } });
    expect(await monthsOf(account), "nothing stored").toEqual(before);

    expect((await correct(true)).body).toMatchObject({
      changed: true,
      mandate_revoked: false,
      mandate_status: "expired",
    });
    const after = { "2026-08": "registered", "2026-09": "outside_mandate", "2026-10": "outside_mandate" };
    expect(await monthsOf(account)).toEqual(after);
    expect((await positionOf(account)).total_kwh_delivered, "what is registered stays").toBe(10);
    expect(await deliver(account, "2026-11", "2026-12"), "what was signed was for the EAN and address before").toEqual([
      "outside_mandate",
      "outside_mandate",
    ]);
    expect(
      (await world.row("select count(*)::int from core.counted_months where connection_id = $1", account.connection_id))
        .count,
    ).toBe(1);
  },
);

test("contract §2 an expired mandate is no signed one: a correction revokes nothing and needs no acknowledgement", async () => {
  await world.travel("2026-10-20T12:00:00Z");
  const account = await createAccount(world);
  await signMandate(world, account.account_id);
  await world.travel("2027-01-01T12:00:00Z");
  const body = { account_id: account.account_id, connection: { city: "Elders" } };
  expect((await world.post("/v1/connections:update", body, await token())).body).toMatchObject({
    changed: true,
    mandate_revoked: false,
    mandate_status: "expired",
  });
});

test("contract §2 a link expires after 14 days, across a change of summer time", async () => {
  await world.travel("2026-10-20T12:00:00Z");
  const { account_id } = await createAccount(world);
  const { body } = await world.post("/v1/mandate-links", { account_id }, await token());
  expect(body).toMatchObject({ expires_at: "2026-11-03T12:00:00Z", expires_in: 1_209_600 });
  const state = async () => {
    const caller = { kind: "anyone", host: "sandbox", request_id: "test" };
    const token_hash = hashSecret(body.mandate_link.split("/").pop());
    return JSON.parse(
      await world.environment.db.call("open_mandate_link", caller, { token_hash, address_hash: "test" }),
    ).state;
  };
  await world.travel("2026-11-03T11:59:59Z");
  expect(await state()).toBe("open");
  await world.travel("2026-11-03T12:00:00Z");
  expect(await state()).toBe("expired");
});
