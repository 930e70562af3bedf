import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MID_CHARGER } from "../harness/chargers.ts";
import { connectionState } from "../harness/connections.ts";
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

const TEST_EAN = "8716870000000000";
const update = (body: unknown) => world.post("/v1/connections:update", body, token);

/** What an update could change, as it stands. */
describe("§3 a change of a connection with a signed mandate revokes it", () => {
  test.each([undefined, null, false, 1, "true", "yes", [true], { value: true }])(
    "contract §2 acknowledge_mandate_lapses %j is not exactly true: 409, nothing stored",
    async (acknowledge_mandate_lapses) => {
      const { account_id, connection_id } = await createAccount(world);
      await signMandate(world, account_id);
      const before = await connectionState(world, connection_id);
      const { status, body } = await update({
        account_id,
        connection: { ean_code: newEan() },
        acknowledge_mandate_lapses,
      });
      expect([status, body.error]).toEqual([409, "mandate_acknowledgement_required"]);
      expect(await connectionState(world, connection_id)).toEqual(before);
    },
  );

  test("§3 acknowledged: mandate revoked, back to concept, open months outside, locked months stay, no longer eligible", async () => {
    const account = await createAccount(world);
    const { account_id, connection_id } = account;
    await signMandate(world, account_id);
    await world.post("/v1/chargers", { account_id, ...MID_CHARGER }, token);
    const months = ["2026-01", "2026-02", "2026-03", "2026-04"].map((period) => ({ period, total_kwh: 10 }));
    await world.post("/v1/sessions:batch", { account_id, months }, token);
    await world.row(
      "update core.delivered_months set status = 'submitted' where connection_id = $1 and period = '2026-01-01'",
      connection_id,
    );
    await world.row(
      "update core.delivered_months set status = 'registered' where connection_id = $1 and period = '2026-02-01'",
      connection_id,
    );
    const position = async () =>
      (await world.get(`/v1/ere-positions?cpo_external_ref=${account.account.cpo_external_ref}`, token)).body
        .positions[0];
    const statuses = async () => (await position()).delivered_months.map(({ status }: { status: string }) => status);
    expect(await position()).toMatchObject({ ere_eligible: true, total_kwh_delivered: 40 });
    expect((await connectionState(world, connection_id)).registration_status).toBe("ingediend");

    const { body } = await update({ account_id, connection: { house_number: 9 }, acknowledge_mandate_lapses: true });
    expect(body).toMatchObject({
      changed: true,
      mandate_revoked: true,
      mandate_status: "revoked",
      registration_status: "concept",
      ean_validation_status: "matched",
    });
    expect(await statuses()).toEqual(["submitted", "registered", "outside_mandate", "outside_mandate"]);
    expect(await position()).toMatchObject({
      ere_eligible: false,
      mandate_valid_from: null,
      total_kwh_delivered: 20,
      checklist: { mandate_signed: false, ean_validated: true, mid_charger_registered: true, iban_present: true },
    });
    const ended = await world.row(
      "select status, ended_reason, ended_at from core.mandates where connection_id = $1",
      connection_id,
    );
    expect(ended).toMatchObject({ status: "revoked", ended_reason: "connection_updated", ended_at: expect.any(Date) });

    const again = await update({ account_id, connection: { house_number: 10 } });
    expect(again.body, "a revoked mandate needs no acknowledgement").toMatchObject({
      changed: true,
      mandate_revoked: false,
    });

    await signMandate(world, account_id);
    expect(await statuses(), "until signed again").toEqual(["submitted", "registered", "staged", "staged"]);
    expect(await position()).toMatchObject({ ere_eligible: true, total_kwh_delivered: 40 });
    expect((await connectionState(world, connection_id)).registration_status).toBe("ingediend");
  });

  test.each(["goedgekeurd", "afgekeurd"])(
    "contract §2 a registration that was %s is a concept again",
    async (status) => {
      const { connection_id } = await createAccount(world);
      await world.row(
        "update core.connections set registration_status = $2, submitted_at = now() where id = $1",
        connection_id,
        status,
      );
      expect((await update({ connection_id, connection: { city: "Elders" } })).body.registration_status).toBe(
        "concept",
      );
      expect(await world.row("select submitted_at from core.connections where id = $1", connection_id)).toEqual({
        submitted_at: null,
      });
    },
  );

  test("contract §2 an operator's manual gives way to the register's answer on what changed", async () => {
    const { connection_id } = await createAccount(world);
    await world.row("update core.connections set ean_validation_status = 'manual' where id = $1", connection_id);
    expect((await update({ connection_id, connection: {} })).body.ean_validation_status).toBe("manual");
    const { body } = await update({ connection_id, connection: { ean_code: `${TEST_EAN}23` } });
    expect(body.ean_validation_status).toBe("unverified");
  });

  test("contract §2 open links are voided: they show what is no longer true", async () => {
    const { account_id, connection_id } = await createAccount(world);
    await world.post("/v1/mandate-links", { account_id }, token);
    await update({ account_id, connection: {} });
    const open = () =>
      world.row(
        "select count(*)::int as n from core.mandate_links where connection_id = $1 and voided_at is null",
        connection_id,
      );
    expect(await open(), "a no-op leaves them").toEqual({ n: 1 });
    await update({ account_id, connection: { ean_code: newEan() } });
    expect(await open()).toEqual({ n: 0 });
  });

  test("contract §2 months delivered before anybody signed stay as they are", async () => {
    const account = await createAccount(world);
    const { account_id } = account;
    await world.post("/v1/sessions:batch", { account_id, months: [{ period: "2026-01", total_kwh: 5 }] }, token);
    await update({ account_id, connection: { ean_code: newEan() } });
    const { body } = await world.get(`/v1/ere-positions?cpo_external_ref=${account.account.cpo_external_ref}`, token);
    expect(body.positions[0].delivered_months[0].status).toBe("staged");
  });
});
