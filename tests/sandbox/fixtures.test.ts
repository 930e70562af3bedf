// POST /sandbox/v1/fixtures: a customer in each of six states, made as any customer is (specification section 4.3).

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { claimKey } from "#shared/domain/claim/links.ts";
import type { Answer } from "../harness/answers.ts";
import { createSandboxWorld, everyCount, later, type SandboxWorld, START, testEan } from "./sandbox_world.ts";

let world: SandboxWorld;
beforeAll(async () => {
  world = await createSandboxWorld();
});
afterEach(() => world.travel(START));
afterAll(() => world.close());

const fixtures = (body?: unknown, key = world.keyA): Promise<Answer> =>
  world.send("/sandbox/v1/fixtures", { method: "POST", token: key, body });
type Fixture = {
  state: string;
  ok: boolean;
  account_id: string;
  email: string;
  ean: string;
  sync: { sessions_created: number };
  error: string | null;
};

const ALL = { mandate_signed: true, ean_validated: true, mid_charger_registered: true, iban_present: true };
const EXPECTED = {
  eligible: { ean: 16, gates: ALL, status: "goedgekeurd" },
  rejected: { ean: 16, gates: ALL, status: "afgekeurd" },
  no_mandate: { ean: 16, gates: { ...ALL, mandate_signed: false }, status: "ingediend" },
  ean_unverified: { ean: 23, gates: { ...ALL, ean_validated: false }, status: "ingediend" },
  no_mid_charger: { ean: 16, gates: { ...ALL, mid_charger_registered: false }, status: "ingediend" },
  no_iban: { ean: 16, gates: { ...ALL, iban_present: false }, status: "ingediend" },
};
const STATES = Object.keys(EXPECTED) as (keyof typeof EXPECTED)[];

describe("§4.3 fixtures", () => {
  test("§4.3 all six in one request, each in its state, each a customer the partner uploaded", async () => {
    const { status, body } = await fixtures();
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body.fixtures.map(({ state, ok, error }: Fixture) => [state, ok, error])).toEqual(
      STATES.map((state) => [state, true, null]),
    );
    const { customers } = (await world.get("/partner/customers", world.keyA)).body;
    expect(customers).toHaveLength(6);
    for (const { state, account_id, email, ean, sync } of body.fixtures as Fixture[]) {
      const expected = EXPECTED[state as keyof typeof EXPECTED];
      expect(ean).toBe(testEan(expected.ean));
      expect(sync.sessions_created).toBeGreaterThan(180);
      const gates = await world.row(
        "select g.checklist, g.ere_eligible from core.account_gates g where g.account_id = $1",
        account_id,
      );
      expect([state, gates.checklist]).toEqual([state, expect.objectContaining(expected.gates)]);
      expect(gates.ere_eligible).toBe(state === "eligible" || state === "rejected");
      const customer = customers.find((each: { email: string }) => each.email === email);
      expect(customer).toMatchObject({
        ...{ external_ref: `FIXTURE-${state.toUpperCase()}`, source: "partner_upload", naam: `Fixture ${state}` },
        ...{
          registration_status: expected.status,
          charger_mid_eligible: state !== "no_mid_charger",
          has_charger: true,
        },
      });
    }
    // what is not decided here is reviewed after two minutes
    await world.travel(later(120));
    expect((await world.work()).registrations_reviewed).toBe(4);
    const after = await Promise.all(
      (body.fixtures as Fixture[]).map(
        async ({ account_id }) =>
          (await world.row("select registration_status as s from core.connections where account_id = $1", account_id))
            .s,
      ),
    );
    expect(after).toEqual(["goedgekeurd", "afgekeurd", "afgekeurd", "afgekeurd", "afgekeurd", "goedgekeurd"]);
  });

  test("§4.3 a re-run replaces: new accounts, and nothing of the old in any table", async () => {
    const first = (await fixtures()).body.fixtures as Fixture[];
    const before = await everyCount(world);
    const second = (await fixtures()).body.fixtures as Fixture[];
    // the audit log and the log of events go on: they say what happened, and a cursor stays where it was
    const { audit_log, events, rate_limit_state: _limits, ...counts } = await everyCount(world);
    const { audit_log: audited, events: told, rate_limit_state: _before, ...expected } = before;
    // the last session of a charger may be under way
    const charging_sessions = second.reduce((sum, { sync }) => sum + sync.sessions_created, 0);
    expect(counts).toEqual({ ...expected, charging_sessions });
    expect([Number(audit_log) > Number(audited), Number(events) > Number(told)]).toEqual([true, true]);
    expect(second.map(({ email }) => email)).toEqual(first.map(({ email }) => email));
    const old = first.map(({ account_id }) => account_id);
    expect(second.filter(({ account_id }) => old.includes(account_id))).toEqual([]);
    expect((await world.row("select count(*)::int as n from core.accounts where id = any ($1)", old)).n).toBe(0);
  });

  test("some, twice named, in the order asked for; the others stand; none at all", async () => {
    await fixtures();
    const before = (await world.get("/partner/customers", world.keyA)).body.customers.map(
      (each: { customer_ref: string }) => each.customer_ref,
    );
    const { body } = await fixtures({ states: ["no_iban", "eligible", "no_iban"] });
    expect(body.fixtures.map(({ state }: Fixture) => state)).toEqual(["no_iban", "eligible"]);
    const now = (await world.get("/partner/customers", world.keyA)).body.customers.map(
      (each: { customer_ref: string }) => each.customer_ref,
    );
    expect(now.filter((ref: string) => before.includes(ref))).toHaveLength(4);
    expect((await fixtures({ states: [] })).body).toEqual({ fixtures: [] });
    expect((await fixtures({ states: null })).body.fixtures).toHaveLength(6);
  });

  test.each([
    [["eligible", "ELIGIBLE"]],
    [["none"]],
    [[1]],
    [[null]],
    [["__proto__"]],
    [["x".repeat(5000)]],
    [[{ toString: 0 }]],
    [[["eligible"]]],
  ])("the states %j are refused with unknown_state, and nothing is made", async (states) => {
    const before = await everyCount(world);
    const { status, body } = await fixtures({ states });
    expect([status, body.error, body.unknown.length]).toEqual([400, "unknown_state", 1]);
    expect({ ...(await everyCount(world)), rate_limit_state: 0 }).toEqual({ ...before, rate_limit_state: 0 });
  });

  test.each([
    [{ states: "eligible" }],
    [{ states: { 0: "eligible" } }],
    [{ states: Array(101).fill("eligible") }],
    [[]],
  ])("the body %j is invalid_request", async (body) => {
    expect((await fixtures(body)).body.error).toBe("invalid_request");
  });

  test("two partners at once: each its own six", async () => {
    const [a, b] = await Promise.all([fixtures(), fixtures(undefined, world.keyB)]);
    for (const { body } of [a, b]) expect(body.fixtures.map(({ ok }: Fixture) => ok)).toEqual(Array(6).fill(true));
    const emails = [...a.body.fixtures, ...b.body.fixtures].map(({ email }: Fixture) => email);
    expect(new Set(emails).size).toBe(12);
  });

  test("one partner three times at once: whoever is overtaken says so, and one of each is left", async () => {
    const runs = await Promise.all([fixtures(), fixtures(), fixtures()]);
    expect(
      runs.map(({ status }) => status),
      JSON.stringify(world.log.filter(({ event }) => event === "fixture_failed")),
    ).toEqual([200, 200, 200]);
    for (const { body } of runs)
      for (const { error } of body.fixtures as Fixture[])
        expect([
          null,
          "already_drafted",
          "draft_not_found",
          "customer_not_found",
          "existing_user",
          "draft_not_claimable",
        ]).toContain(error);
    await fixtures();
    const { customers } = (await world.get("/partner/customers", world.keyA)).body;
    expect(
      customers.filter(({ external_ref }: { external_ref: string }) => external_ref.startsWith("FIXTURE-")),
    ).toHaveLength(6);
  });

  test("one that fails says why in its row, and the others are made; it is made once it can be", async () => {
    const first = (await fixtures({ states: ["rejected"] })).body.fixtures[0] as Fixture;
    await world.reset();
    await world.row(
      "insert into auth.users (id, email, email_confirmed_at, raw_app_meta_data) values (gen_random_uuid(), $1::text, now(), jsonb_build_object('proved_email', $1::text))",
      first.email,
    );
    const { body } = await fixtures();
    expect(body.fixtures.map(({ state, ok, error }: Fixture) => [state, ok, error])).toEqual(
      STATES.map((state) => (state === "rejected" ? [state, false, "draft_not_claimable"] : [state, true, null])),
    );
    await world.row("delete from auth.users where email = $1", first.email);
    expect((await fixtures({ states: ["rejected"] })).body.fixtures[0]).toMatchObject({ ok: true, error: null });
    await world.reset();
    const theirs = await world.draft({ email: first.email }, world.keyB);
    expect((await fixtures({ states: ["rejected"] })).body.fixtures[0]).toMatchObject({
      ok: false,
      account_id: null,
      sync: null,
      error: "conflict",
    });
    await world.post("/partner/drafts/withdraw", { draft_id: theirs.draft_id }, world.keyB);
  });

  test("contract §5 one whose customer opted out is replaced like any other", async () => {
    const [first] = (await fixtures({ states: ["no_iban"] })).body.fixtures;
    const key = claimKey(world.environment);
    await world.row("select private.suppress(private.email_hash($1, $2))", first.email, key);
    expect((await fixtures({ states: ["no_iban"] })).body.fixtures[0]).toMatchObject({ ok: true, error: null });
  });

  test("Supabase Auth away: our failure, not six rows that say nothing; then all are made", async () => {
    await world.reset();
    world.auth.broken = true;
    expect((await fixtures()).status).toBe(503);
    world.auth.broken = false;
    expect((await fixtures()).body.fixtures.every(({ ok }: Fixture) => ok)).toBe(true);
  });

  test("often enough for a test suite of an integrator: twelve runs use up no limit and no cap", async () => {
    for (let run = 0; run < 12; run += 1)
      expect((await fixtures({ states: ["no_iban"] })).body.fixtures[0].ok).toBe(true);
    const { cap } = (await world.get("/partner/me", world.keyA)).body.partner;
    expect(cap.remaining).toBe(cap.rolling_cap - 6);
  });
});
