// Who leaves loses nothing of what was charged before: the charger counts for the months in which it stood there.

import { afterAll, beforeAll, expect, test } from "vitest";
import { claimKey } from "#shared/domain/claim/links.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import { createEreWorld, type EreWorld, rowsOf } from "./ere_world.ts";
import { addChargingPerson, type Charging } from "./person.ts";

let world: EreWorld;
beforeAll(async () => {
  world = await createEreWorld();
});
afterAll(() => world.close());

/** As the person in a browser in which they have just signed in. */
const as = ({ id }: Charging, name: string, ...input: object[]) =>
  world.environment.db.call(
    name,
    {
      kind: "session",
      user_id: id,
      partner_id: "00000000-0000-4000-8000-000000000000",
      signed_in_at: world.environment.now().toISOString(),
      host: world.environment.config.API_HOST,
      request_id: "test",
    } as never,
    ...input,
  );
const close = (person: Charging) =>
  as(person, "close_own_account", {
    key: claimKey(world.environment),
    mail: aboutMail(world.environment.config, "account_closed", "nl", {}),
  });

async function booked() {
  const { bookings } = await world.done("booking open 2026-Q2");
  await world.done("booking submit 2026-Q2");
  return rowsOf(world, bookings[0].booking_id);
}

test("contract §3 the months before the end of an account are booked, with the charger that stood there; those after it are not", async () => {
  const [leaver, remover, former] = [
    await addChargingPerson(world),
    await addChargingPerson(world),
    await addChargingPerson(world),
  ];
  for (const person of [leaver, remover, former]) {
    await person.charge("2026-05", 50_000);
    await person.charge("2026-06", 40_000);
  }
  await world.row("update core.chargers set brand = 'Alfen', serial_number = 'ACE1234' where user_id = $1", leaver.id);
  await world.freeze("2026-07-20T12:00:00Z");
  expect(JSON.parse(await close(leaver))).toEqual({
    closed: true,
    end: expect.objectContaining({ accounts: 1, lost_kwh: 0, month_kwh: 0 }),
  });
  const { id } = await world.row("select id from core.chargers where user_id = $1", remover.id);
  expect(JSON.parse(await as(remover, "remove_own_charger", { id }))).toEqual({ removed: true });
  await world.freeze("2026-08-15T12:00:00Z");
  // whose time another registration of the charger has
  await world.row(
    "update core.chargers set status = 'removed', removed_at = private.now(), counts_until = '-infinity' where user_id = $1",
    former.id,
  );
  // as if it had gone in May: June is none of its months
  await world.row("update core.chargers set removed_at = '2026-05-31T21:59:59Z' where id = $1", id);

  const rows = await booked();
  const of = ({ account_id }: Charging) => rows.filter((row) => row.account_id === account_id);
  expect(of(leaver).map(({ period, kwh }) => [period, kwh])).toEqual([
    ["2026-05", "50.000"],
    ["2026-06", "40.000"],
  ]);
  expect(of(remover).map(({ period }) => period)).toEqual(["2026-05"]);
  expect(of(former)).toEqual([]);
  const evidence = await world.row(
    "select charger_brand, charger_serial from core.booking_rows where account_id = $1 limit 1",
    leaver.account_id,
  );
  expect(evidence).toEqual({ charger_brand: "Alfen", charger_serial: "ACE1234" });
  await world.agrees();
});

test("contract §3 months of somebody who left before the registration was judged are booked once it is approved", async () => {
  const [waiting, rejected, revoked] = [
    await addChargingPerson(world),
    await addChargingPerson(world),
    await addChargingPerson(world),
  ];
  await world.freeze("2026-07-01T12:00:00Z");
  const become = (person: Charging, status: string) =>
    world.row(
      "update core.connections set registration_status = $2, submitted_at = private.now() where id = $1",
      person.connection_id,
      status,
    );
  for (const person of [waiting, rejected, revoked]) {
    await person.charge("2026-05", 50_000);
    await become(person, "ingediend");
    await world.row("update core.chargers set mid_eligible = true where user_id = $1", person.id);
  }
  await become(rejected, "afgekeurd");
  await world.done(`mandate revoke ${revoked.connection_id} --yes`);
  await world.freeze("2026-07-20T12:00:00Z");
  const lost = async (person: Charging) => JSON.parse(await as(person, "read_own_end")).end.lost_kwh;
  expect([await lost(waiting), await lost(rejected)], "said before, where nothing can come of it").toEqual([0, 50]);
  for (const person of [waiting, rejected]) await close(person);
  const mayYield = async ({ account_id }: Charging) =>
    (await world.row("select private.may_yield(private.people_tenant(), $1, '{}') as may", account_id)).may;
  expect([await mayYield(waiting), await mayYield(rejected)], "what is left is paid without a minimum").toEqual([
    true,
    false,
  ]);

  await world.freeze("2026-08-15T12:00:00Z");
  expect((await booked()).filter(({ account_id }) => account_id === waiting.account_id)).toEqual([]);
  await world.done(`registration review ${waiting.connection_id} goedgekeurd`);
  // its mandate covers nothing any more
  await world.refused(`registration review ${revoked.connection_id} goedgekeurd`, "mandate_signed");
  const rows = (await booked()).filter(({ account_id }) => account_id === waiting.account_id);
  expect(rows.map(({ period, kwh }) => [period, kwh])).toEqual([["2026-05", "50.000"]]);
  await world.agrees();
});
