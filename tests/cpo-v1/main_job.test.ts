import { afterAll, beforeAll, expect, test } from "vitest";
import { thisYear } from "#shared/values/dutch_clock.ts";
import { MID_CHARGER } from "../harness/chargers.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

test("§1 the main job: account, mandate, MID charger, months, and a position whose four gates are true", async () => {
  const { client } = world.partnerA;
  const granted = await world.post("/oauth-token", {
    grant_type: "client_credentials",
    client_id: client.client_id,
    client_secret: client.secret,
  });
  expect(granted.status).toBe(200);
  const token = granted.body.access_token;

  const account = await createAccount(world);
  const reference = account.account.cpo_external_ref;
  await signMandate(world, account.account_id);
  const charger = await world.post("/v1/chargers", { account_id: account.account_id, ...MID_CHARGER }, token);
  expect(charger.body).toMatchObject({ ok: true, idempotent: false, mid_eligible: true, account_ere_eligible: true });

  const year = thisYear();
  const delivered = await world.post(
    "/v1/sessions:batch",
    { account_id: account.account_id, months: [{ period: `${year}-01`, total_kwh: 312.5, session_count: 24 }] },
    token,
  );
  expect(delivered.body).toMatchObject({ accepted: 1, results: [{ period: `${year}-01`, status: "ingested" }] });

  const { body } = await world.get(`/v1/ere-positions?cpo_external_ref=${reference}`, token);
  expect(body).toMatchObject({
    count: 1,
    has_more: false,
    positions: [
      {
        account_id: account.account_id,
        ere_eligible: true,
        mandate_valid_from: `${year}-01-01`,
        checklist: { mandate_signed: true, ean_validated: true, mid_charger_registered: true, iban_present: true },
        delivered_months: [{ period: `${year}-01-01`, total_kwh: 312.5, session_count: 24, status: "staged" }],
        total_kwh_delivered: 312.5,
        ere: null,
      },
    ],
  });
  const listed = await world.get(`/v1/accounts?cpo_external_ref=${reference}`, token);
  expect(listed.body.accounts[0].connections[0]).toMatchObject({
    registration_status: "ingediend",
    mandate_status: "signed",
  });
});
