// POST /sandbox/v1/customers/{id}/review, and the reviewer that decides after two minutes (specification sections 3 and 4.3).

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { serve } from "#shared/http/serve.ts";
import { surface as worker } from "../../supabase/functions/worker/app.ts";
import { MID_CHARGER } from "../harness/chargers.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount, type Partner } from "../harness/people.ts";
import { asProduction } from "../harness/world.ts";
import { createSandboxWorld, everyCount, later, type SandboxWorld, START, testEan } from "./sandbox_world.ts";

let world: SandboxWorld;
beforeAll(async () => {
  world = await createSandboxWorld();
});
afterEach(() => world.travel(START));
afterAll(() => world.close());

const QUICK = { sessions_per_week: 0 };
const submitted = (body: Record<string, unknown> = {}, key = world.keyA) =>
  world.customer({}, { submit: true, charger: QUICK, ...body }, key);
const statusOf = async (account: string): Promise<string> =>
  (
    await world.row(
      "select registration_status as s from core.connections where account_id = $1 and status = 'active'",
      account,
    )
  ).s;
const reviewsOf = async (account: string): Promise<string[]> =>
  (
    await world.rows(
      `select a.details ->> 'verdict' as verdict from core.audit_log a join core.connections c on c.id = a.subject_id
        where c.account_id = $1 and a.action = 'registration.reviewed' order by a.id`,
      account,
    )
  ).map(({ verdict }) => verdict);
/** An account of the CPO API with all four gates open, so that it was submitted by itself. */
async function cpoAccount(partner: Partner = world.partnerA): Promise<string> {
  const { account_id } = await createAccount(world, partner);
  await signMandate(world, account_id, partner);
  await world.post("/v1/chargers", { account_id, ...MID_CHARGER }, await partner.client.token());
  expect(await statusOf(account_id)).toBe("ingediend");
  return account_id;
}

describe("§4.3 review", () => {
  test.each(["goedgekeurd", "afgekeurd"])(
    "§4.3 the outcome %s is given from ingediend; then there is nothing to review then, whatever the outcome",
    async (outcome) => {
      const { account_id, customer_ref } = await submitted();
      const first = await world.play(customer_ref, "review", { outcome });
      expect([first.status, first.body]).toEqual([200, { ok: true, from: "ingediend", to: outcome, closed_gates: [] }]);
      for (const again of ["goedgekeurd", "afgekeurd"]) {
        const refused = await world.play(account_id, "review", { outcome: again });
        expect([refused.status, refused.body.error, refused.body.registration_status]).toEqual([
          409,
          "nothing_to_review",
          outcome,
        ]);
      }
      expect([await statusOf(account_id), await reviewsOf(account_id)]).toEqual([outcome, [outcome]]);
      const { customers } = (await world.get("/partner/customers", world.keyA)).body;
      expect(
        customers.find((each: { customer_ref: string }) => each.customer_ref === customer_ref).registration_status,
      ).toBe(outcome);
    },
  );

  test("where nothing was submitted it is nothing_to_review, whatever the outcome", async () => {
    const { account_id } = await world.customer({}, {});
    for (const outcome of ["goedgekeurd", "afgekeurd"])
      expect((await world.play(account_id, "review", { outcome })).body).toMatchObject({
        ...{ error: "nothing_to_review", registration_status: "concept" },
        closed_gates: expect.arrayContaining(["mid_charger_registered"]),
      });
  });

  test.each([
    ["ean_validated", { ean: testEan(23) }],
    ["mid_charger_registered", { charger: { ...QUICK, mid: false } }],
    ["iban_present", { iban: null }],
  ])("§3 the given outcome while %s is closed, which closed_gates names", async (gate, body) => {
    for (const outcome of ["goedgekeurd", "afgekeurd"]) {
      const { account_id } = await submitted(body);
      const { status, body: answer } = await world.play(account_id, "review", { outcome });
      expect([status, answer]).toEqual([200, { ok: true, from: "ingediend", to: outcome, closed_gates: [gate] }]);
      expect([await statusOf(account_id), await reviewsOf(account_id)]).toEqual([outcome, [outcome]]);
    }
  });

  test("§3 the given outcome after the mandate ended", async () => {
    const ended = await submitted();
    await world.row(
      "update core.mandates m set status = 'revoked', ended_at = private.now(), ended_reason = 'customer' from core.connections c where c.id = m.connection_id and c.account_id = $1",
      ended.account_id,
    );
    expect((await world.play(ended.account_id, "review", { outcome: "goedgekeurd" })).body.closed_gates).toEqual([
      "mandate_signed",
    ]);
  });

  test("of a CPO account of the partner, by its id; of another partner's not", async () => {
    const own = await cpoAccount();
    expect((await world.play(own, "review", { outcome: "goedgekeurd" })).body).toEqual({
      ok: true,
      from: "ingediend",
      to: "goedgekeurd",
      closed_gates: [],
    });
    const position = await world.get("/v1/ere-positions?limit=200", await world.partnerA.client.token());
    expect(position.body.positions.some(({ account_id }: { account_id: string }) => account_id === own)).toBe(true);
    const theirs = await cpoAccount(world.partnerB);
    const person = await submitted({}, world.keyB);
    const before = await everyCount(world);
    for (const id of [
      theirs,
      person.account_id,
      person.customer_ref,
      crypto.randomUUID(),
      "",
      "cus_x",
      "\u0000",
    ].filter(Boolean))
      expect((await world.play(id, "review", { outcome: "goedgekeurd" })).body.error).toBe("customer_not_found");
    expect(await everyCount(world)).toEqual(before);
  });

  test.each([[undefined], [{}], [{ outcome: "approved" }], [{ outcome: null }], [{ outcome: ["goedgekeurd"] }]])(
    "the body %j has no outcome",
    async (body) => {
      const { account_id } = await world.customer({}, {});
      const { status } = await world.play(account_id, "review", body);
      expect(status).toBe(400);
    },
  );

  test("afgekeurd, then a MID charger: submitted again, and reviewed again", async () => {
    const { account_id } = await submitted({ charger: { ...QUICK, mid: false } });
    await world.play(account_id, "review", { outcome: "afgekeurd" });
    expect((await world.play(account_id, "chargers", QUICK)).status).toBe(200);
    expect(await statusOf(account_id)).toBe("ingediend");
    // its two minutes begin again
    const { submitted_at } = await world.row(
      "select submitted_at from core.connections where account_id = $1",
      account_id,
    );
    expect(submitted_at.toISOString()).toBe(new Date(START).toISOString());
    expect((await world.play(account_id, "review", { outcome: "goedgekeurd" })).body.from).toBe("ingediend");
    expect(await reviewsOf(account_id)).toEqual(["afgekeurd", "goedgekeurd"]);
  });

  test("ten at once, with both outcomes: one decides", async () => {
    const { account_id } = await submitted();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        world.play(account_id, "review", { outcome: n % 2 ? "goedgekeurd" : "afgekeurd" }),
      ),
    );
    expect(answers.filter(({ body }) => body.from === "ingediend")).toHaveLength(1);
    expect(answers.filter(({ body }) => body.error === "nothing_to_review")).toHaveLength(9);
    expect(await reviewsOf(account_id)).toEqual([await statusOf(account_id)]);
  });
});

describe("§3 the automatic review", () => {
  test("§3 two minutes after submission, not before: goedgekeurd where mandate, EAN and MID charger or MID variant hold, else afgekeurd", async () => {
    const expected: [string, string][] = [];
    const add = async (outcome: string, account: string) => expected.push([account, outcome]);
    await add("goedgekeurd", (await submitted()).account_id);
    await add("goedgekeurd", (await submitted({ iban: null })).account_id);
    await add("afgekeurd", (await submitted({ ean: testEan(23) })).account_id);
    await add("afgekeurd", (await submitted({ charger: { ...QUICK, mid: false } })).account_id);
    await add("goedgekeurd", await cpoAccount());
    const { id: catalog_charger_id } = await world.row(
      "select id from core.charger_models where mid_meter is null limit 1",
    );
    await add("goedgekeurd", (await submitted({ charger: { ...QUICK, catalog_charger_id } })).account_id);
    const ended = (await submitted()).account_id;
    await add("afgekeurd", ended);
    await world.row(
      "update core.mandates m set status = 'revoked', ended_at = private.now(), ended_reason = 'customer' from core.connections c where c.id = m.connection_id and c.account_id = $1",
      ended,
    );
    const statuses = () => Promise.all(expected.map(async ([account]) => [account, await statusOf(account)]));
    await world.travel(later(119));
    await world.work();
    expect(new Set((await statuses()).map(([, status]) => status))).toEqual(new Set(["ingediend"]));
    await world.travel(later(120));
    const ran = await Promise.all([world.work(), world.work(), world.work()]);
    expect(ran.reduce((sum, { registrations_reviewed = 0 }) => sum + registrations_reviewed, 0)).toBeGreaterThanOrEqual(
      expected.length,
    );
    expect(await statuses()).toEqual(expected);
    for (const [account, outcome] of expected) expect(await reviewsOf(account)).toEqual([outcome]);
    expect((await world.work()).registrations_reviewed).toBe(0);
  });

  test("the helper and the reviewer at once: one decides", async () => {
    for (let round = 0; round < 5; round += 1) {
      await world.travel(START);
      const { account_id } = await submitted();
      await world.travel(later(180));
      const [played] = await Promise.all([world.play(account_id, "review", { outcome: "afgekeurd" }), world.work()]);
      const status = await statusOf(account_id);
      expect(await reviewsOf(account_id)).toEqual([status]);
      expect(played.body).toMatchObject(status === "afgekeurd" ? { to: "afgekeurd" } : { error: "nothing_to_review" });
    }
  });

  test("on production nobody is reviewed by a job", async () => {
    const { account_id } = await submitted();
    await world.travel(later(3600));
    const answer = await asProduction(world, (environment) => {
      const headers = { authorization: `Bearer ${environment.config.WORKER_SECRET}` };
      return serve(worker, environment).fetch(new Request("http://api.test/worker/run", { method: "POST", headers }));
    });
    expect((await answer.json()).jobs.registrations_reviewed).toBe(0);
    expect([await statusOf(account_id), await reviewsOf(account_id)]).toEqual(["ingediend", []]);
  });
});
