// POST /sandbox/v1/customers/{id}/chargers and /sync: virtual chargers, whose sessions go in where real ones do (specification section 4.3).

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { serve } from "#shared/http/serve.ts";
import { surface as worker } from "../../supabase/functions/worker/app.ts";
import { addCharger } from "../harness/chargers.ts";
import { createAccount } from "../harness/people.ts";
import { asProduction, createWorld } from "../harness/world.ts";
import { addCustomer } from "../partner/partner_world.ts";
import { createSandboxWorld, everyCount, later, type SandboxWorld, START } from "./sandbox_world.ts";

let world: SandboxWorld;
beforeAll(async () => {
  world = await createSandboxWorld();
});
afterEach(() => world.travel(START));
afterAll(() => world.close());

/** A customer who signed and has no charger yet. */
const customer = () => world.customer({}, {});
const sessionsOf = (charger_id: string) =>
  world.rows("select * from core.charging_sessions where charger_id = $1 order by started_at", charger_id);
const seconds = (from: Date, to: Date) => (to.getTime() - from.getTime()) / 1000;
/** A personal token of the customer: what they see of their own. */
async function tokenOf(account_id: string): Promise<string> {
  const { id } = await world.row("select user_id as id from core.accounts where id = $1", account_id);
  const scopes = ["sessions:read", "energy:read", "chargers:read"];
  const token = `${world.environment.config.KEY_PREFIX}_pat_${newSecret()}`;
  await world.row(
    "insert into core.personal_tokens (user_id, name, token_hash, last4, scopes) values ($1, 'Test', decode($2, 'hex'), $3, $4)",
    ...[id, hashSecret(token), token.slice(-4), scopes],
  );
  return token;
}

describe("§4.3 a virtual charger", () => {
  test("§4.3 without a body: 11 kW with a MID meter, 4 sessions of 12 kWh a week since 2026-01-01, collected at once", async () => {
    const { account_id, customer_ref } = await customer();
    const { status, body } = await world.play(customer_ref, "chargers");
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body).toMatchObject({ ok: true, mid: true, sync: { ok: true, error: null } });
    const charger = await world.row("select * from core.chargers where id = $1", body.charger_id);
    expect(charger).toMatchObject({
      account_id,
      catalog_charger_id: body.catalog_charger_id,
      brand: body.brand,
      mid_eligible: true,
    });
    const virtual = await world.row(
      "select wh_per_session as wh, sessions_per_week::float as n, power_kw::float as kw, since::text from core.virtual_chargers where id = $1",
      body.integration_id,
    );
    expect(virtual).toEqual({ wh: 12000, n: 4, kw: 11, since: "2026-01-01" });
    const sessions = await sessionsOf(body.charger_id);
    expect(sessions).toHaveLength(body.sync.sessions_created);
    const lasts = Math.ceil((12 / 11) * 3600);
    for (const { started_at, ended_at, wh, flags, source, status } of sessions) {
      expect([Number(wh), flags, source, status, seconds(started_at, ended_at)]).toEqual([
        12000,
        [],
        "sandbox",
        "completed",
        lasts,
      ]);
      expect(ended_at <= new Date(START)).toBe(true);
    }
    // what is delivered is what was charged
    const [delivered] = await world.rows(
      `select sum(d.total_kwh)::float as kwh, sum(d.session_count)::int as n, array_agg(distinct d.status) as status from core.delivered_months d
         join core.connections c on c.id = d.connection_id where c.account_id = $1`,
      account_id,
    );
    expect(delivered).toEqual({ kwh: sessions.length * 12, n: sessions.length, status: ["staged"] });
    // the registration goes in by itself
    expect(
      (await world.row("select registration_status as s from core.connections where account_id = $1", account_id)).s,
    ).toBe("ingediend");
  });

  test("§4.3 mid false never counts toward ERE: no gate, no delivered month; the person sees the sessions all the same", async () => {
    const { account_id } = await customer();
    const { body } = await world.play(account_id, "chargers", { mid: false });
    expect(body.mid).toBe(false);
    expect(body.sync.sessions_created).toBeGreaterThan(100);
    const gates =
      "select (checklist ->> 'mid_charger_registered')::boolean as mid, ere_eligible from core.account_gates where account_id = $1";
    expect(await world.row(gates, account_id)).toEqual({ mid: false, ere_eligible: false });
    const months =
      "select count(*)::int as n from core.delivered_months d join core.connections c on c.id = d.connection_id where c.account_id = $1";
    expect(await world.row(months, account_id)).toEqual({ n: 0 });
    const token = await tokenOf(account_id);
    expect((await world.get("/sessions?limit=100", token)).body.sessions).toHaveLength(100);
    const energy = (await world.get("/energy", token)).body;
    expect([energy.total_sessions, energy.total_kwh]).toEqual([
      body.sync.sessions_created,
      body.sync.sessions_created * 12,
    ]);
    expect(energy.total_ere_credits).toBe(0);
    expect((await world.get("/ere-position", token)).body).toMatchObject({ kwh: 0, reserved_ere: 0 });
    // a MID charger beside it counts, and it alone
    const mid = (await world.play(account_id, "chargers", { mid: true, sessions_per_week: 1 })).body;
    expect(await world.row(gates, account_id)).toMatchObject({ mid: true });
    expect((await world.get("/ere-position", token)).body.kwh).toBe(mid.sync.sessions_created * 12);
  });

  test("§4.3 the same profile is the same charger, another is another, the eleventh is refused", async () => {
    const { account_id } = await customer();
    const first = (await world.play(account_id, "chargers", { sessions_per_week: 1 })).body;
    expect((await world.play(account_id, "chargers", { sessions_per_week: 1.001 })).body).toEqual({
      ...first,
      sync: { ok: true, sessions_created: 0, error: null },
    });
    for (let n = 2; n <= 10; n += 1)
      expect(
        (await world.play(account_id, "chargers", { sessions_per_week: 1, kwh_per_session: n, since: "2026-11-01" }))
          .status,
      ).toBe(200);
    const before = await everyCount(world);
    const refused = await world.play(account_id, "chargers", { sessions_per_week: 0.5 });
    expect([refused.status, refused.body.error]).toEqual([409, "charger_limit_reached"]);
    expect((await world.play(account_id, "chargers", { sessions_per_week: 1 })).body.charger_id).toBe(first.charger_id);
    expect(await everyCount(world)).toEqual(before);
  });

  test("ten at once with one profile: one charger; with twelve: ten, whatever door they came through", async () => {
    const { account_id } = await customer();
    const same = await Promise.all(
      Array.from({ length: 10 }, () => world.play(account_id, "chargers", { sessions_per_week: 2 })),
    );
    expect(new Set(same.map(({ body }) => body.charger_id)).size).toBe(1);
    expect(same.reduce((sum, { body }) => sum + body.sync.sessions_created, 0)).toBe(
      (await sessionsOf(same[0]?.body.charger_id)).length,
    );
    const token = await tokenOf(account_id);
    await world.row("update core.personal_tokens set scopes = scopes || '{chargers:write}'");
    const others = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        n % 2
          ? world.play(account_id, "chargers", { sessions_per_week: 0, kwh_per_session: n + 1 })
          : world.post("/chargers", { nickname: `Paal ${n}`, connection_type: "ocpp" }, token),
      ),
    );
    expect(others.filter(({ status }) => status >= 500)).toEqual([]);
    const { user_id } = await world.row("select user_id from core.accounts where id = $1", account_id);
    expect(
      (
        await world.row(
          "select count(*)::int as n from core.chargers where user_id = $1 and status = 'active'",
          user_id,
        )
      ).n,
    ).toBe(10);
  });

  test("a model of the catalogue goes before mid; one that is unknown is catalog_unresolved", async () => {
    const { account_id } = await customer();
    const models = await world.rows(
      "select id, brand, model, mid_meter from core.charger_models where mid_meter is not null or listed order by id",
    );
    for (const wanted of [true, false, null]) {
      const { id, ...model } = models.find(({ mid_meter }) => mid_meter === wanted);
      const { body } = await world.play(account_id, "chargers", {
        catalog_charger_id: id,
        mid: wanted !== true,
        sessions_per_week: 0,
      });
      expect(body).toMatchObject({
        catalog_charger_id: id,
        brand: model.brand,
        model: model.model,
        mid: wanted === true,
      });
    }
    const unknown = await world.play(account_id, "chargers", { catalog_charger_id: crypto.randomUUID() });
    expect([unknown.status, unknown.body.error]).toEqual([422, "catalog_unresolved"]);
  });
});

describe("§4.3 whose customer", () => {
  test("another partner's, one that came through an application, a CPO account, nothing: customer_not_found", async () => {
    const theirs = await world.customer({}, {}, world.keyB);
    const accountOf = async (user: string) =>
      (await world.row("select id from core.accounts where user_id = $1", user)).id;
    const ids = [
      theirs.account_id,
      theirs.customer_ref,
      crypto.randomUUID(),
      "cus_",
      "cus_%",
      "x".repeat(5000),
      "\u0000",
      "KL-1",
      "%",
    ];
    for (const source of ["oauth_consent", "referral_link", "referral_code", "manual"])
      ids.push(await accountOf(await addCustomer(world, world.partnerA, source)));
    ids.push((await createAccount(world)).account_id);
    ids.push((await createAccount(world, world.partnerB)).account_id);
    for (const id of ids)
      for (const helper of ["chargers", "sync"] as const) {
        const { status, body } = await world.play(id, helper);
        expect([status, body.error], id).toEqual([404, "customer_not_found"]);
      }
  });

  test("one without a connection: no_connection", async () => {
    const { account_id } = await customer();
    await world.row("update core.connections set status = 'archived' where account_id = $1", account_id);
    expect((await world.play(account_id, "chargers")).body.error).toBe("no_connection");
    expect((await world.play(account_id, "sync")).body).toEqual({ ok: true, sessions_created: 0, error: null });
  });

  test("sync of a customer without virtual chargers does nothing; a real charger is left alone", async () => {
    const { account_id } = await customer();
    const { user_id, connection_id } = await world.row(
      "select a.user_id, c.id as connection_id from core.accounts a join core.connections c on c.account_id = a.id where a.id = $1",
      account_id,
    );
    await addCharger(world, {
      id: user_id,
      account_id,
      connection_id,
      email: "",
      token: async () => "",
      appToken: async () => "",
    });
    expect((await world.play(account_id, "sync")).body).toEqual({ ok: true, sessions_created: 0, error: null });
  });
});

describe("§4.3 sessions", () => {
  /** Every profile somebody may think of, with how many sessions it has had by START. */
  const PROFILES = [
    { kwh_per_session: 0.1, sessions_per_week: 50, power_kw: 50 },
    { kwh_per_session: 0.1, sessions_per_week: 50, power_kw: 1, since: "2026-03-01" },
    { kwh_per_session: 100, sessions_per_week: 50, power_kw: 50, since: "2026-03-20" },
    { kwh_per_session: 100, sessions_per_week: 1.68, power_kw: 1 },
    { kwh_per_session: 100, sessions_per_week: 10.08, power_kw: 6 },
    { kwh_per_session: 11, sessions_per_week: 42, power_kw: 2.75 },
    { kwh_per_session: 12.345, sessions_per_week: 7, power_kw: 7.4 },
    { kwh_per_session: 33, sessions_per_week: 0.5, power_kw: 22 },
    { kwh_per_session: 33, sessions_per_week: 0.01, power_kw: 22 },
    { kwh_per_session: 5, sessions_per_week: 0 },
    { kwh_per_session: 5, sessions_per_week: 50, since: "2026-11-20" },
    { kwh_per_session: 5, sessions_per_week: 4, since: "2026-11-19" },
  ];
  test.each(PROFILES.map((profile) => [JSON.stringify(profile), profile] as const))(
    "a profile of %s gives as many sessions as that is: whole, none in the future, none overlapping, none flagged",
    async (_title, profile) => {
      const { account_id } = await customer();
      const { status, body } = await world.play(account_id, "chargers", profile);
      expect(status, JSON.stringify([body, world.log.at(-1)])).toBe(200);
      const sessions = await sessionsOf(body.charger_id);
      const {
        sessions_per_week: perWeek,
        kwh_per_session: kwh,
        power_kw: kw = 11,
        since = "2026-01-01",
      } = { ...profile };
      const began = new Date(
        `${since}T00:00:00${since === "2026-11-20" || since < "2026-03-29" || since > "2026-10-25" ? "+01:00" : "+02:00"}`,
      );
      // one each slot: those of whole slots are all there, of the last one maybe
      const slots = perWeek === 0 ? 0 : seconds(began, new Date(START)) / Math.floor(604800 / perWeek);
      expect(sessions.length).toBeGreaterThanOrEqual(Math.floor(slots));
      expect(sessions.length).toBeLessThanOrEqual(Math.ceil(slots));
      expect(body.sync.sessions_created).toBe(sessions.length);
      let last = began;
      for (const { started_at, ended_at, wh, flags } of sessions) {
        expect(started_at >= last).toBe(true);
        expect(seconds(started_at, ended_at)).toBe(Math.ceil((Math.round(kwh * 1000) * 360) / Math.round(kw * 100)));
        expect([Number(wh), flags]).toEqual([Math.round(kwh * 1000), []]);
        last = ended_at;
      }
      expect(last <= new Date(START)).toBe(true);
      const [delivered] = await world.rows(
        `select coalesce(sum(d.session_count), 0)::int as n, coalesce(sum(d.total_kwh), 0)::float as kwh from core.delivered_months d
           join core.connections c on c.id = d.connection_id where c.account_id = $1`,
        account_id,
      );
      expect(delivered.n).toBe(sessions.length);
      expect(delivered.kwh).toBeCloseTo(sessions.length * kwh, 6);
    },
  );

  test.each([
    { kwh_per_session: 100, sessions_per_week: 10.09, power_kw: 6 },
    { kwh_per_session: 100, sessions_per_week: 1.69, power_kw: 1 },
    { kwh_per_session: 100.001 },
    { kwh_per_session: -1 },
    { power_kw: 0 },
    { power_kw: 50.01 },
    { sessions_per_week: -1 },
    { sessions_per_week: "4" },
    { mid: "no" },
    { since: "2027-01-01" },
    { since: "20261101" },
    { catalog_charger_id: "x" },
  ])("a profile of %j is invalid_request, and nothing is stored", async (profile) => {
    const { account_id } = await customer();
    const before = await everyCount(world);
    const { status, body } = await world.play(account_id, "chargers", profile);
    expect([status, body.error, body.issues[0].path]).toEqual([400, "invalid_request", expect.any(String)]);
    // what the run keeps of itself, aside
    const own = { rate_limit_state: 0, audit_chains: 0, audit_links: 0, audit_seals: 0, job_runs: 0, ledger_checks: 0 };
    expect({ ...(await everyCount(world)), ...own }).toEqual({ ...before, ...own });
  });

  test("the same for good: deleted and collected again, and in another database under the same id", async () => {
    const { account_id } = await customer();
    const { charger_id } = (await world.play(account_id, "chargers", { sessions_per_week: 12 })).body;
    const told = (rows: { external_id: string; started_at: Date; ended_at: Date; wh: string }[]) =>
      rows.map(({ external_id, started_at, ended_at, wh }) => ({ external_id, started_at, ended_at, wh }));
    const before = told(await sessionsOf(charger_id));
    await world.row("delete from core.charging_sessions where charger_id = $1", charger_id);
    await world.row("update core.virtual_chargers set synced_at = null where charger_id = $1", charger_id);
    expect((await world.play(account_id, "sync")).body.sessions_created).toBe(before.length);
    expect(told(await sessionsOf(charger_id))).toEqual(before);
    const { rows } = await world.database.admin.query(
      "select private.virtual_charging_sessions(v, $2) as sessions from core.virtual_chargers v where charger_id = $1",
      [charger_id, START],
    );
    const virtual = await world.row(
      "select to_jsonb(v) as v from core.virtual_chargers v where charger_id = $1",
      charger_id,
    );
    expect(rows[0].sessions).toEqual([]);
    const other = await createWorld();
    const again = await other.row(
      "select private.virtual_charging_sessions(jsonb_populate_record(null::core.virtual_chargers, $1::jsonb || '{\"synced_at\": null}'), $2) as sessions",
      JSON.stringify(virtual.v),
      START,
    );
    await other.close();
    const moments = (each: { external_id: string; started_at: string; ended_at: string; wh: number }) => ({
      external_id: each.external_id,
      started_at: new Date(each.started_at),
      ended_at: new Date(each.ended_at),
      wh: String(each.wh),
    });
    expect(again.sessions.map(moments)).toEqual(before);
  });

  test("collected in many steps or in one: the same sessions, each once; sync twice and at once creates nothing", async () => {
    const { account_id } = await customer();
    await world.travel("2026-10-24T00:00:00Z");
    const { charger_id } = (await world.play(account_id, "chargers", { sessions_per_week: 30, since: "2026-10-20" }))
      .body;
    let created = (await sessionsOf(charger_id)).length;
    // over the night in which the clock goes back
    for (let step = 1; step <= 60; step += 1) {
      await world.travel(new Date(Date.parse("2026-10-24T00:00:00Z") + step * 2_717_000).toISOString());
      created += (await world.play(account_id, "sync")).body.sessions_created;
    }
    const stepped = await sessionsOf(charger_id);
    expect(stepped).toHaveLength(created);
    const all = await world.row(
      "select private.virtual_charging_sessions(jsonb_populate_record(v, '{\"synced_at\": null}'), private.now()) as s from core.virtual_chargers v where charger_id = $1",
      charger_id,
    );
    expect(stepped.map(({ external_id }) => external_id)).toEqual(
      all.s.map(({ external_id }: { external_id: string }) => external_id),
    );
    await world.travel(START);
    const raced = await Promise.all(Array.from({ length: 10 }, () => world.play(account_id, "sync")));
    expect(raced.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(raced.filter(({ body }) => body.sessions_created > 0)).toHaveLength(1);
    expect((await world.play(account_id, "sync")).body.sessions_created).toBe(0);
    expect((await sessionsOf(charger_id)).every(({ flags }) => flags.length === 0)).toBe(true);
  });
});

describe("§8 the scheduled job", () => {
  test("§8 collects within 15 minutes, and not more often than each ten", async () => {
    const { account_id } = await customer();
    const { charger_id } = (
      await world.play(account_id, "chargers", { sessions_per_week: 50, kwh_per_session: 0.1, power_kw: 50 })
    ).body;
    const synced = async () =>
      (
        await world.row("select synced_at from core.virtual_chargers where charger_id = $1", charger_id)
      ).synced_at.toISOString();
    const moments = new Set<string>();
    let late = 0;
    for (let minute = 1; minute <= 240; minute += 1) {
      await world.travel(later(minute * 60));
      if (minute % 20 === 0 || minute % 10 === 0 || minute < 12) await world.work();
      moments.add(await synced());
      // a session that ended a quarter of an hour ago is in
      const missing = await world.row(
        `select jsonb_array_length(private.virtual_charging_sessions(v, private.now() - interval '15 minutes')) as n from core.virtual_chargers v where charger_id = $1`,
        charger_id,
      );
      late += missing.n;
    }
    expect(late).toBe(0);
    expect(moments.size).toBe(25);
  });

  test("counts what it created; two workers at once create each once; a removed charger charges no more", async () => {
    const { account_id } = await customer();
    const { charger_id } = (await world.play(account_id, "chargers", { sessions_per_week: 20, since: "2026-11-01" }))
      .body;
    await world.row(
      "update core.virtual_chargers set synced_at = $2 where charger_id <> $1",
      charger_id,
      later(86_400),
    );
    await world.travel(later(86_400));
    const had = (await sessionsOf(charger_id)).length;
    const ran = await Promise.all([world.work(), world.work(), world.work()]);
    const created = ran.reduce((sum, { sessions_synced = 0 }) => sum + sessions_synced, 0);
    expect((await sessionsOf(charger_id)).length).toBe(had + created);
    expect(created).toBeGreaterThan(0);
    await world.row(
      "update core.chargers set status = 'removed', removed_at = private.now() where id = $1",
      charger_id,
    );
    await world.travel(later(2 * 86_400));
    await world.work();
    expect((await sessionsOf(charger_id)).length).toBe(had + created);
  });

  test("nothing of it on production", async () => {
    await world.row("update core.virtual_chargers set synced_at = null");
    const before = await everyCount(world);
    const answer = await asProduction(world, (environment) =>
      serve(worker, environment).fetch(
        new Request("http://api.test/worker/run", {
          method: "POST",
          headers: { authorization: `Bearer ${environment.config.WORKER_SECRET}` },
        }),
      ),
    );
    expect(await answer.json()).toMatchObject({ jobs: { sessions_synced: 0, registrations_reviewed: 0 } });
    // what the run keeps of itself, aside
    const own = { rate_limit_state: 0, audit_chains: 0, audit_links: 0, audit_seals: 0, job_runs: 0, ledger_checks: 0 };
    expect({ ...(await everyCount(world)), ...own }).toEqual({ ...before, ...own });
    expect(
      (await world.row("select count(*)::int as n from core.virtual_chargers where synced_at is not null")).n,
    ).toBe(0);
  });
});
