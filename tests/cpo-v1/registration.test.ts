import { afterAll, beforeAll, expect, test } from "vitest";
import { MID_CHARGER } from "../harness/chargers.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount, newEan } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
let token: string;
beforeAll(async () => {
  world = await createWorld({ limits: "lifted" });
  token = await world.partnerA.client.token();
});
afterAll(() => world.close());

type Account = Awaited<ReturnType<typeof createAccount>>;

/** Each gate's opening, as it happens: a repeat, an operator, a registration, a signature. */
const OPENINGS = {
  iban_present: ({ account }: Account) =>
    world.post("/v1/accounts", { cpo_external_ref: account.cpo_external_ref, iban: "NL91ABNA0417164300" }, token),
  ean_validated: ({ connection_id }: Account) =>
    world.row("select ops.connection_set_ean_status($1::jsonb)", {
      connection: connection_id,
      status: "manual",
      operator: "test",
    }),
  mid_charger_registered: ({ account_id }: Account) =>
    world.post("/v1/chargers", { account_id, ...MID_CHARGER }, token),
  mandate_signed: ({ account_id }: Account) => signMandate(world, account_id),
};
type Gate = keyof typeof OPENINGS;
const GATES = Object.keys(OPENINGS) as Gate[];

function ordersOf<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((first) => ordersOf(items.filter((item) => item !== first)).map((rest) => [first, ...rest]));
}

/** An account of which every gate is closed: no IBAN, and an EAN about which the register is silent. */
const closedAccount = () =>
  createAccount(world, world.partnerA, {
    iban: null,
    connection: { ean_code: "871687000000000023", postal_code: "3818LH", house_number: 8 },
  });

async function registrationOf({ account }: Account) {
  const [accounts, positions] = await Promise.all(
    ["accounts", "ere-positions"].map((list) =>
      world.get(`/v1/${list}?cpo_external_ref=${account.cpo_external_ref}`, token),
    ),
  );
  const { checklist, ere_eligible } = positions?.body.positions[0] ?? {};
  return { registration: accounts?.body.accounts[0].connections[0].registration_status, checklist, ere_eligible };
}

test.each(ordersOf(GATES).map((order) => [order.join(", "), order] as const))(
  "contract §2 the registration is submitted by itself exactly when the fourth gate opens: %s",
  async (_name, order) => {
    const account = await closedAccount();
    const opened = new Set<Gate>();
    for (const gate of [null, ...order]) {
      if (gate) {
        await OPENINGS[gate](account);
        opened.add(gate);
      }
      const all = opened.size === 4;
      expect(await registrationOf(account)).toEqual({
        registration: all ? "ingediend" : "concept",
        checklist: Object.fromEntries(GATES.map((name) => [name, opened.has(name)])),
        ere_eligible: all,
      });
    }
  },
);

test("contract §2 only MID counts: a charger without the meter, or of which it is not known, opens no gate", async () => {
  const account = await closedAccount();
  for (const gate of GATES) if (gate !== "mid_charger_registered") await OPENINGS[gate](account);
  const models = await world.database.admin.query(
    "select distinct on (mid_meter) id, mid_meter from core.charger_models where mid_meter is not true and (mid_meter is not null or listed)",
  );
  expect(models.rows.map(({ mid_meter }) => mid_meter)).toEqual([false, null]);
  for (const [at, { id, mid_meter }] of models.rows.entries()) {
    const body = { account_id: account.account_id, catalog_charger_id: id, serial_number: `SN${at}` };
    const answer = await world.post("/v1/chargers", body, token);
    expect(answer.body).toMatchObject({ mid_eligible: mid_meter, account_ere_eligible: false });
  }
  expect(await registrationOf(account)).toMatchObject({ registration: "concept", ere_eligible: false });
});

test("contract §2 a registration that was decided stays decided when a gate is opened again", async () => {
  const account = await closedAccount();
  for (const gate of GATES) await OPENINGS[gate](account);
  for (const status of ["goedgekeurd", "afgekeurd"]) {
    await world.row(
      "update core.connections set registration_status = $2 where id = $1",
      account.connection_id,
      status,
    );
    await OPENINGS.iban_present(account);
    expect((await registrationOf(account)).registration).toBe(status);
  }
});

test("contract §2 afgekeurd, corrected and signed again: ingediend", async () => {
  const account = await closedAccount();
  for (const gate of GATES) await OPENINGS[gate](account);
  const { connection_id } = account;
  await world.row("update core.connections set registration_status = 'afgekeurd' where id = $1", connection_id);
  const correction = { connection_id, connection: { ean_code: newEan() }, acknowledge_mandate_lapses: true };
  expect((await world.post("/v1/connections:update", correction, token)).body).toMatchObject({ mandate_revoked: true });
  expect((await registrationOf(account)).registration).toBe("concept");
  await OPENINGS.mandate_signed(account);
  expect(await registrationOf(account)).toMatchObject({ registration: "ingediend", ere_eligible: true });
});

test("contract §2 afgekeurd, answered with another charger: ingediend", async () => {
  const account = await closedAccount();
  for (const gate of GATES) await OPENINGS[gate](account);
  const { account_id, connection_id } = account;
  await world.row("update core.connections set registration_status = 'afgekeurd' where id = $1", connection_id);
  await world.post("/v1/chargers", { account_id, ...MID_CHARGER, serial_number: "SN-ANOTHER" }, token);
  expect((await registrationOf(account)).registration).toBe("ingediend");
});
