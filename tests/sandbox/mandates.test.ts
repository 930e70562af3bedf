// POST /sandbox/v1/customers/{id}/sign and …/expire-mandate: what a CPO's customer does, and what a year brings.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { hashSecret } from "#shared/auth/tokens.ts";
import { MID_CHARGER } from "../harness/chargers.ts";
import { addConnection } from "../harness/connections.ts";
import { createAccount, type Partner } from "../harness/people.ts";
import { operatorOf } from "../operator/operator.ts";
import { createSandboxWorld, type SandboxWorld, START } from "./sandbox_world.ts";

let world: SandboxWorld;
beforeAll(async () => {
  world = await createSandboxWorld({ limits: "lifted" });
});
afterEach(() => world.travel(START));
afterAll(() => world.close());

const account = async (fields: Record<string, unknown> = {}, partner: Partner = world.partnerA) =>
  createAccount(world, partner, fields);
const sign = (id: string, body: object = { outcome: "signed" }, key = world.keyA) => world.play(id, "sign", body, key);
const expire = (id: string, body: object = {}, key = world.keyA) => world.play(id, "expire-mandate", body, key);
const eventsOf = async (account_id: string) =>
  (await world.rows("select type from core.events where account_id = $1 order by arrival", account_id)).map(
    ({ type }) => type,
  );
const mandatesOf = (account_id: string) =>
  world.rows(
    `select m.* from core.mandates m join core.connections c on c.id = m.connection_id where c.account_id = $1
      order by m.created_at, m.id`,
    account_id,
  );

describe("§4.3 contract §5 POST /sandbox/v1/customers/{id}/sign", () => {
  test("§4.3 signs as the page does: with its evidence, events and copy", async () => {
    const { account_id, connection_id } = await account();
    const { status, body } = await sign(account_id);
    expect([status, body], JSON.stringify(world.log.at(-1))).toEqual([
      200,
      {
        ok: true,
        account_id,
        connection_id,
        mandate_status: "signed",
        mandate_valid_from: "2026-01-01",
        mandate_valid_until: "2027-12-31",
      },
    ]);
    const [mandate] = await mandatesOf(account_id);
    expect(mandate).toMatchObject({ status: "signed", code_confirmed: true, user_agent: "sandbox", locale: "nl" });
    expect(mandate.document).toContain("1. ");
    expect(mandate.document_sha256).toBe(hashSecret(mandate.document));
    expect(mandate.code_sent_to).toMatch(/@/);
    expect(await eventsOf(account_id)).toEqual(["account.created", "mandate.signed"]);
    const mails = await world.rows(
      "select template from core.mail_outbox where recipient = $1 order by template",
      mandate.code_sent_to,
    );
    expect(mails.map(({ template }) => template)).toEqual(["mandate_code", "mandate_signed"]);
  });

  test.each([
    [1, "2027-12-31"],
    [3, "2028-12-31"],
    [5, "2030-12-31"],
  ])("§4.3 years %i sign until %s", async (years, until) => {
    const { account_id } = await account();
    expect((await sign(account_id, { outcome: "signed", years })).body).toMatchObject({ mandate_valid_until: until });
  });

  test("§4.3 declines, and signs after that", async () => {
    const { account_id } = await account();
    expect((await sign(account_id, { outcome: "declined" })).body).toMatchObject({
      mandate_status: "declined",
      mandate_valid_from: null,
    });
    expect((await sign(account_id)).body.mandate_status).toBe("signed");
    expect(await eventsOf(account_id)).toEqual(["account.created", "mandate.declined", "mandate.signed"]);
  });

  test("§4.3 withdraws as on the own pages, and signs again after a withdrawal", async () => {
    const { account_id } = await account();
    await sign(account_id);
    expect((await sign(account_id, { outcome: "revoked" })).body).toMatchObject({ mandate_status: "revoked" });
    const [mandate] = await mandatesOf(account_id);
    expect(mandate, "the whole months before it still count").toMatchObject({
      status: "revoked",
      ended_reason: "customer",
      covered_until: expect.anything(),
    });
    expect((await sign(account_id, { outcome: "revoked" })).body.error).toBe("mandate_not_signed");
    expect((await sign(account_id)).body.mandate_status).toBe("signed");
    expect(await eventsOf(account_id)).toEqual([
      "account.created",
      "mandate.signed",
      "mandate.revoked",
      "mandate.signed",
    ]);
  });

  test("§4.3 renews from 1 November of the last year on", async () => {
    const { account_id } = await account();
    await world.travel("2026-06-01T12:00:00Z");
    await sign(account_id);
    expect((await sign(account_id)).body.error).toBe("mandate_already_signed");
    await world.travel(START);
    expect((await sign(account_id)).body).toMatchObject({
      mandate_status: "signed",
      mandate_valid_until: "2026-12-31",
    });
    expect(await eventsOf(account_id)).toContain("mandate.renewed");
  });

  test("§4.3 an open link of the CPO keeps working until somebody signs", async () => {
    const { account_id } = await account();
    const token = await world.partnerA.client.token();
    const { body } = await world.post("/v1/mandate-links", { account_id }, token);
    const state = async () => {
      const caller = { kind: "anyone", host: "sandbox", request_id: "test" };
      const token_hash = hashSecret(body.mandate_link.split("/").pop());
      return JSON.parse(
        await world.environment.db.call("open_mandate_link", caller, { token_hash, address_hash: "test" }),
      ).state;
    };
    await sign(account_id, { outcome: "declined" });
    expect(await state()).toBe("open");
    await sign(account_id);
    expect(await state()).toBe("voided");
  });

  test("§4.3 an account without an address signs without a code, and withdraws only with one", async () => {
    const { account_id } = await account({ person: { full_name: "Willem Bakker" } });
    expect((await sign(account_id)).body.mandate_status).toBe("signed");
    expect(await mandatesOf(account_id)).toMatchObject([{ code_confirmed: false }]);
    expect((await sign(account_id, { outcome: "revoked" })).body.error).toBe("signatory_email_missing");
  });

  test("§4.3 of several connections the named one", async () => {
    const { account_id } = await account();
    const second = await addConnection(world, account_id);
    expect((await sign(account_id)).body.error).toBe("ambiguous_connection");
    expect((await sign(account_id, { outcome: "signed", connection_id: second })).body.connection_id).toBe(second);
  });

  test("attack: ten at once sign once", async () => {
    const { account_id } = await account();
    const answers = await Promise.all(Array.from({ length: 10 }, () => sign(account_id)));
    expect(answers.map(({ status, body }) => body.error ?? status).sort()).toEqual([
      200,
      ...Array(9).fill("mandate_already_signed"),
    ]);
    expect(await mandatesOf(account_id)).toHaveLength(1);
    const revoked = await Promise.all(Array.from({ length: 10 }, () => sign(account_id, { outcome: "revoked" })));
    expect(revoked.map(({ status, body }) => body.error ?? status).sort()).toEqual([
      200,
      ...Array(9).fill("mandate_not_signed"),
    ]);
  });

  test("attack: nobody signs for another partner's customer", async () => {
    const { account_id } = await account({}, world.partnerB);
    for (const outcome of ["signed", "declined", "revoked"])
      expect(await sign(account_id, { outcome })).toMatchObject({ status: 404, body: { error: "customer_not_found" } });
    expect(await expire(account_id)).toMatchObject({ status: 404, body: { error: "customer_not_found" } });
    expect(await mandatesOf(account_id)).toEqual([]);
  });

  test("§4.3 a person's own account signs on the claim pages, which the refusal says", async () => {
    const { account_id, customer_ref } = await world.customer({}, {});
    for (const id of [account_id, customer_ref]) {
      const { status, body } = await sign(id, { outcome: "revoked" });
      expect([status, body.error]).toEqual([404, "customer_not_found"]);
      expect(body.detail).toContain("/sandbox/v1/drafts/{id}/claim");
    }
  });

  test.each([{}, { outcome: "expired" }, { outcome: "signed", years: 2 }, { outcome: "signed", connection_id: "x" }])(
    "§4.3 %j is invalid",
    async (body) => {
      const { account_id } = await account();
      expect((await sign(account_id, body)).body.error).toBe("invalid_request");
    },
  );
});

describe("§4.3 contract §5 POST /sandbox/v1/customers/{id}/expire-mandate", () => {
  const delivered = async (account_id: string, ...periods: string[]) => {
    const months = periods.map((period) => ({ period, total_kwh: 10 }));
    await world.post("/v1/sessions:batch", { account_id, months }, await world.partnerA.client.token());
  };

  test.each([1, 5])("§3 after %i years the mandate is expired, as by the job on 1 January", async (years) => {
    const { account_id, connection_id, account: made } = await account();
    const token = await world.partnerA.client.token();
    await world.post("/v1/chargers", { account_id, ...MID_CHARGER }, token);
    await sign(account_id, { outcome: "signed", years });
    await delivered(account_id, "2026-03");
    const { status, body } = await expire(account_id);
    expect([status, body], JSON.stringify(world.log.at(-1))).toEqual([
      200,
      expect.objectContaining({ connection_id, mandate_status: "expired", mandate_valid_until: "2025-12-31" }),
    ]);
    const { positions } = (await world.get(`/v1/ere-positions?cpo_external_ref=${made.cpo_external_ref}`, token)).body;
    expect(positions[0]).toMatchObject({ ere_eligible: false, delivered_months: [{ status: "outside_mandate" }] });
    expect((await eventsOf(account_id)).slice(-2)).toEqual(["mandate.expired", "account.eligibility_changed"]);
    const [{ kind }] = await world.rows(
      "select kind from core.notices where account_id = $1 and kind = 'mandate_ended'",
      account_id,
    );
    expect(kind).toBe("mandate_ended");
    expect((await expire(account_id)).body.error).toBe("mandate_not_signed");
    expect((await sign(account_id)).body).toMatchObject({ mandate_status: "signed", mandate_valid_from: "2026-01-01" });
    const again = (await world.get(`/v1/ere-positions?cpo_external_ref=${made.cpo_external_ref}`, token)).body
      .positions;
    expect(again[0].delivered_months).toMatchObject([{ status: "staged" }]);
  });

  test("§3 years signed ahead end too, with one mail and one event", async () => {
    const { account_id } = await account();
    await world.travel("2026-06-01T12:00:00Z");
    await sign(account_id);
    await world.travel(START);
    await sign(account_id);
    expect((await expire(account_id)).body).toMatchObject({
      mandate_status: "expired",
      mandate_valid_until: "2025-12-31",
    });
    const ended = await world.rows(
      "select 1 from core.notices where account_id = $1 and kind = 'mandate_ended'",
      account_id,
    );
    expect(ended).toHaveLength(1);
    expect((await eventsOf(account_id)).filter((type) => type === "mandate.expired")).toHaveLength(1);
  });

  test("§3 booked months keep what they were booked by, and the books agree", async () => {
    const { account_id, connection_id } = await account();
    await world.post("/v1/chargers", { account_id, ...MID_CHARGER }, await world.partnerA.client.token());
    await sign(account_id);
    await world.row("update core.connections set registration_status = 'goedgekeurd' where id = $1", connection_id);
    await delivered(account_id, "2026-04", "2026-07");
    const settled = await world.send("/sandbox/v1/settle", {
      method: "POST",
      token: world.keyA,
      body: { quarter: "2026-Q2" },
    });
    expect(settled.status, JSON.stringify(settled.body)).toBe(200);
    await expire(account_id);
    const months = await world.rows(
      "select period::text, status from core.delivered_months where connection_id = $1 order by 1",
      connection_id,
    );
    expect(months.map(({ status }) => status)).toEqual(["registered", "outside_mandate"]);
    const { json } = await operatorOf(world.database)("ledger check");
    expect(json).toMatchObject({ ok: true, wrong: [] });
    await world.reset();
  });

  test("§3 of a person that the partner brought too, by customer_ref", async () => {
    const { account_id, customer_ref } = await world.customer({}, { submit: true });
    expect((await expire(customer_ref)).body).toMatchObject({ account_id, mandate_status: "expired" });
    const [event] = await world.rows(
      "select owner_id from core.events where type = 'mandate.expired' and user_id is not null",
    );
    expect(event).toEqual({ owner_id: world.partnerA.id });
  });

  test("attack: ten at once end it once", async () => {
    const { account_id } = await account();
    await sign(account_id);
    const answers = await Promise.all(Array.from({ length: 10 }, () => expire(account_id)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await eventsOf(account_id)).filter((type) => type === "mandate.expired")).toHaveLength(1);
  });
});
