// What a person reads of their own: GET /chargers, /sessions, /energy, /ere-position, /profile, with a token of theirs or an application's.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { addCharger, ingest, type SessionItem } from "../harness/chargers.ts";
import { giveMandate } from "../harness/mandate.ts";
import type { User } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
let user: User;
let token: string;
let charger: string;
beforeAll(async () => {
  world = await createWorld({ limits: "lifted" });
});
afterAll(() => world.close());
beforeEach(async () => {
  await world.freeze("2026-08-15T12:00:00Z");
  user = await world.addUser();
  token = await user.token();
  charger = await addCharger(world, user);
});

const iso = (moment: Date | number) => `${new Date(moment).toISOString().slice(0, 19)}Z`;
/** One hour at noon UTC, 10 kWh unless told. */
const session = (day: string, fields: Partial<SessionItem> = {}): SessionItem => ({
  charger_id: charger,
  external_id: day,
  started_at: `${day}T12:00:00Z`,
  ended_at: `${day}T13:00:00Z`,
  wh: 10_000,
  ...fields,
});
const get = async (path: string, bearer = token) => {
  const answer = await world.get(path, bearer);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
};

describe("§4.4 GET /profile", () => {
  test("it gives e-mail and name", async () => {
    expect(await get("/profile")).toEqual({ email: user.email, name: "Sanne de Vries" });
  });
  test("a login without a name has none", async () => {
    await world.row("update auth.users set raw_user_meta_data = null where id = $1", user.id);
    expect(await get("/profile")).toEqual({ email: user.email, name: null });
  });
});

describe("§4.4 GET /chargers", () => {
  test("one that was never heard of says no more than is known", async () => {
    expect(await get("/chargers")).toEqual({
      chargers: [
        {
          id: charger,
          nickname: "Oprit",
          connection_type: "ocpp",
          status: "offline",
          mid_certified: true,
          mid_eligible: true,
          is_charging: false,
        },
      ],
    });
  });

  test("one that is charging shows the session so far, its meter, and that it is online", async () => {
    const going = session("2026-08-15", {
      started_at: "2026-08-15T11:30:00Z",
      ended_at: null,
      wh: 3456,
      meter_wh: 987_654,
    });
    const [{ session_id } = {}] = await ingest(world, going);
    expect((await get("/chargers")).chargers).toMatchObject([
      {
        status: "online",
        is_charging: true,
        current_session: { id: session_id, started_at: "2026-08-15T11:30:00Z", kwh_so_far: 3.46 },
        latest_meter_wh: 987_654,
        meter_updated_at: "2026-08-15T12:00:00Z",
      },
    ]);
    await ingest(world, { ...going, status: "active" });
    expect((await get("/chargers")).chargers).toMatchObject([
      { is_charging: false, current_session: { id: session_id } },
    ]);
    await ingest(world, { ...going, ended_at: "2026-08-15T12:00:00Z" });
    const [after] = (await get("/chargers")).chargers;
    expect(after).toMatchObject({ is_charging: false });
    expect(after).not.toHaveProperty("current_session");
  });

  test.each([
    ["2026-08-15T12:02:59Z", "online"],
    ["2026-08-15T12:03:01Z", "offline"],
  ])("heard of at 12:00, at %s it is %s", async (now, status) => {
    await ingest(
      world,
      session("2026-08-15", { started_at: "2026-08-15T11:00:00Z", ended_at: "2026-08-15T12:00:00Z" }),
    );
    await world.freeze(now);
    expect((await get("/chargers")).chargers).toMatchObject([{ status }]);
  });

  test("oldest first, and null while nobody knows its model; a removed one is not listed", async () => {
    await world.freeze("2026-08-15T13:00:00Z");
    const second = await addCharger(world, user, { nickname: "Tuin", mid_eligible: null });
    expect((await get("/chargers")).chargers).toMatchObject([
      { id: charger, mid_certified: true, mid_eligible: true },
      { id: second, mid_certified: false, mid_eligible: null },
    ]);
    await world.row("update core.chargers set status = 'removed', removed_at = private.now() where id = $1", second);
    expect((await get("/chargers")).chargers).toHaveLength(1);
  });
});

describe("§4.4 GET /sessions", () => {
  test("newest first, with two decimals, and credits only for what counts", async () => {
    await giveMandate(world, user);
    const unmetered = await addCharger(world, user, { nickname: "Tuin", mid_eligible: false });
    await ingest(
      world,
      session("2026-03-01", { wh: 10_006 }),
      session("2025-12-31"),
      session("2026-03-02", { charger_id: unmetered }),
      session("2026-03-03", { wh: -4 }),
      session("2026-08-15", { started_at: "2026-08-15T11:00:00Z", ended_at: null, wh: 5 }),
    );
    const { sessions, ...page } = await get("/sessions");
    expect(page).toEqual({ limit: 20, offset: 0, count: 5, has_more: false });
    const shown = sessions.map((s: Record<string, unknown>) => [
      s.started_at,
      s.ended_at,
      s.kwh,
      s.status,
      s.ere_credits,
      s.flags,
      s.counts_for_ere,
    ]);
    expect(shown).toEqual([
      ["2026-08-15T11:00:00Z", null, 0.01, "charging", null, [], false],
      ["2026-03-03T12:00:00Z", "2026-03-03T13:00:00Z", 0, "completed", null, ["negative"], false],
      ["2026-03-02T12:00:00Z", "2026-03-02T13:00:00Z", 10, "completed", null, [], false],
      // 10.006 kWh x 0.332694
      ["2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z", 10.01, "completed", 3.33, [], true],
      ["2025-12-31T12:00:00Z", "2025-12-31T13:00:00Z", 10, "completed", null, [], false],
    ]);
    expect(sessions[2]).toMatchObject({ charger_id: unmetered, charger_nickname: "Tuin" });
  });

  test("without a mandate no session has credits; one that came after its month was booked has none", async () => {
    await ingest(world, session("2026-03-01"));
    expect((await get("/sessions")).sessions).toMatchObject([{ ere_credits: null, counts_for_ere: false }]);
    await giveMandate(world, user);
    expect((await get("/sessions")).sessions).toMatchObject([{ ere_credits: 3.33, counts_for_ere: true }]);
    await world.row(
      "update core.delivered_months set status = 'registered' where connection_id = $1",
      user.connection_id,
    );
    await ingest(world, session("2026-03-02"));
    expect((await get("/sessions")).sessions).toMatchObject([
      { ere_credits: null, counts_for_ere: false, flags: ["after_lock"] },
      { ere_credits: 3.33, counts_for_ere: true, flags: [] },
    ]);
  });

  describe("paging and filters", () => {
    const days = Array.from({ length: 25 }, (_, n) => iso(Date.UTC(2026, 4, 20 + n)).slice(0, 10));
    const idsAt = async (query: string) =>
      (await get(`/sessions?${query}`)).sessions.map((s: { started_at: string }) => s.started_at.slice(0, 10));
    beforeEach(() => ingest(world, ...days.map((day) => session(day))));
    const newest = days.toReversed();

    test.each([
      ["", 20, 0],
      ["limit=7&offset=7", 7, 7],
      ["limit=100", 100, 0],
      ["limit=1000", 100, 0],
      ["limit=-3", 1, 0],
      ["limit=0", 20, 0],
      ["limit=x&offset=-1", 20, 0],
      ["offset=24", 20, 24],
      ["offset=99", 20, 99],
    ])("the query ?%s is read as a page of %i from %i", async (query, limit, offset) => {
      const body = await get(`/sessions?${query}`);
      const expected = newest.slice(offset, offset + limit);
      expect(body).toMatchObject({ limit, offset, count: expected.length, has_more: offset + limit < 25 });
      expect(body.sessions.map((s: { started_at: string }) => s.started_at.slice(0, 10))).toEqual(expected);
    });

    test("from is inclusive, to is exclusive, on started_at", async () => {
      expect(await idsAt("from=2026-05-22T12:00:00Z&to=2026-05-24T12:00:00Z")).toEqual(["2026-05-23", "2026-05-22"]);
      expect(await idsAt("from=2026-05-22T12:00:01Z&to=2026-05-24T12:00:01Z")).toEqual(["2026-05-24", "2026-05-23"]);
      expect(await idsAt(`from=${encodeURIComponent("2026-05-22T14:00:00+02:00")}&to=2026-05-23`)).toEqual([
        "2026-05-22",
      ]);
      expect(await idsAt("from=2026-06-10&to=2026-06-01")).toEqual([]);
    });

    test("a date alone is midnight in the Netherlands: a month of sessions is the month of /energy", async () => {
      await ingest(
        world,
        session("2026-06-30", { started_at: "2026-06-30T21:59:59Z", ended_at: "2026-06-30T22:30:00Z", wh: 1 }),
        session("2026-07-01", { started_at: "2026-06-30T22:30:00Z", ended_at: "2026-06-30T23:30:00Z", wh: 2 }),
      );
      const { sessions } = await get("/sessions?limit=100&from=2026-06-01&to=2026-07-01");
      const june = (await get("/energy")).months.find(({ month }: { month: string }) => month === "2026-06");
      expect(sessions).toHaveLength(june.sessions);
    });

    test("charger_id keeps one charger; one that is not yours has none", async () => {
      const second = await addCharger(world, user, { nickname: "Tuin" });
      const stranger = await world.addUser();
      const theirs = await addCharger(world, stranger);
      await ingest(world, session("2026-07-01", { charger_id: second }), session("2026-07-02", { charger_id: theirs }));
      expect(await idsAt(`charger_id=${second}`)).toEqual(["2026-07-01"]);
      expect(await idsAt(`charger_id=${charger.toUpperCase()}&limit=1`)).toEqual(["2026-06-13"]);
      expect(await idsAt(`charger_id=${theirs}`)).toEqual([]);
    });

    test.each([
      "from=yesterday",
      "from=2026-02-30",
      "to=2026-13-01",
      "to=2026-05-22T12:00:00",
      "from=0000-01-01",
      "from=0000-01-01T00:00:00Z",
      "from=2026-03-01T00:00:00%2B16:00",
      "to=2026-03-01T00:00:00-23:59",
      "from=",
      "from=infinity",
      "to=%00",
      "charger_id=x",
      "from=2026-05-22T14:00:00+02:00",
    ])("the query ?%s is refused with 400", async (query) => {
      const { status, body } = await world.get(`/sessions?${query}`, token);
      expect([status, body.error]).toEqual([400, "invalid_request"]);
      expect(body.issues).toHaveLength(1);
      expect(body.detail.includes("%2B"), "says what a plus is").toBe(query.includes("+"));
    });
  });
});

describe("§4.4 GET /energy", () => {
  test("it answers an empty list while there is nothing", async () => {
    expect(await get("/energy")).toEqual({
      ...{ total_kwh: 0, total_ere_credits: 0, total_sessions: 0 },
      ...{ total_kwh_all: 0, total_sessions_all: 0, months: [] },
    });
  });

  test("adds up all chargers by Dutch month, newest first; credits where MID and mandate hold", async () => {
    await giveMandate(world, user);
    const unmetered = await addCharger(world, user, { mid_eligible: null });
    await ingest(
      world,
      session("2025-12-31", { started_at: "2025-12-31T22:59:00Z", ended_at: "2026-01-01T02:00:00Z", wh: 20_000 }),
      session("2026-01-31", { started_at: "2026-01-31T23:00:00Z", ended_at: "2026-01-31T23:59:00Z", wh: 10_004 }),
      session("2026-02-05"),
      session("2026-02-05", { charger_id: unmetered, wh: 1000 }),
      session("2026-02-06", { wh: -1 }),
      session("2026-08-15", { started_at: "2026-08-15T11:00:00Z", ended_at: null, wh: 5000 }),
    );
    expect(await get("/energy")).toEqual({
      total_kwh: 41,
      total_ere_credits: 6.66,
      total_sessions: 4,
      total_kwh_all: 41,
      total_sessions_all: 4,
      months: [
        { month: "2026-02", kwh: 21, ere_credits: 6.66, sessions: 3, kwh_all: 21, sessions_all: 3 },
        { month: "2025-12", kwh: 20, ere_credits: 0, sessions: 1, kwh_all: 20, sessions_all: 1 },
      ],
    });
  });

  test("rounds what it shows, not what it adds", async () => {
    await giveMandate(world, user);
    await ingest(world, ...["2026-01-10", "2026-02-10", "2026-03-10"].map((day) => session(day, { wh: 1004 })));
    // 3 x 1.004 = 3.012 and 3 x 0.334025 = 1.002074
    expect(await get("/energy")).toMatchObject({
      total_kwh: 3.01,
      total_ere_credits: 1,
      months: Array(3).fill({ kwh: 1, ere_credits: 0.33 }),
    });
  });

  test("a booked month keeps its credits, and the energy follows a correction", async () => {
    await giveMandate(world, user);
    await ingest(world, session("2026-03-01"));
    await world.row(
      "update core.delivered_months set status = 'registered' where connection_id = $1",
      user.connection_id,
    );
    await ingest(world, session("2026-03-01", { wh: 4000 }));
    expect((await get("/energy")).months).toMatchObject([{ month: "2026-03", kwh: 4, ere_credits: 3.33, sessions: 1 }]);
    // and after the mandate ended
    await world.row("update core.mandates set status = 'revoked' where connection_id = $1", user.connection_id);
    expect((await get("/energy")).months).toMatchObject([{ ere_credits: 3.33 }]);
  });
});

describe("§4.4 GET /ere-position", () => {
  const kwh = (month: string, amount: number) =>
    // a few hours a day, so that no charger gives more than it can
    Array.from({ length: 10 }, (_, n) => session(`${month}-${String(n + 1).padStart(2, "0")}`, { wh: amount * 100 }));

  test("nothing yet: this year's quarters so far, all zero", async () => {
    const quarter = {
      ...{ kwh: 0, ere_credits: 0, ere: 0, sold_ere: 0, unsold_ere: 0, price_per_ere: null, revenue_eur: null },
      ...{ realized_net_eur: 0, net_eur_by_status: { paid: 0, payable: 0, reserved: 0 }, sold_at: null },
    };
    const none = { ere: 0, net_eur: 0, price_per_ere: null };
    const nothing = {
      compliance_year: 2026,
      effective_fee_pct: null,
      paid: none,
      payable: none,
      reserved: none,
      unsold: {
        ...{ ere: 0, ytd_ere: 0, future_ere: 0 },
        ...{ forecast_net_eur: 0, ytd_forecast_net_eur: 0, future_forecast_net_eur: 0 },
      },
      ytd_expected_eur: 0,
      total_expected_eur: 0,
      realized_avg_price: null,
      indicative_price_per_ere: null,
      allocatable_ere: 0,
      pending_ere: 0,
      pending_forecast_net_eur: 0,
      forecast_is_projected: false,
      forecast_history_days: 0,
      forecast_confidence: null,
    };
    const expected = {
      year: 2026,
      kwh: 0,
      renewable_share: 0.505,
      reserved_ere: 0,
      sold_ere: 0,
      forecast_ere: 0,
      ...nothing,
      quarters: [
        { quarter: "2026-Q1", status: "closed", final: true, ...quarter },
        { quarter: "2026-Q2", status: "closed", final: true, ...quarter },
        { quarter: "2026-Q3", status: "open", final: false, ...quarter },
      ],
    };
    expect(await get("/ere-position")).toEqual(expected);
    await giveMandate(world, user);
    expect(await get("/ere-position"), "who signed and has not charged yet knows the fee").toEqual({
      ...expected,
      effective_fee_pct: 20,
    });
  });

  test("counted by quarter; the forecast adds the trailing average for what is left of the year", async () => {
    await giveMandate(world, user);
    // counted from May on: 60, 0 (June), 30 in three complete months, and 10 so far in August
    await ingest(world, ...kwh("2026-05", 60), ...kwh("2026-07", 30), session("2026-08-02"));
    // (60 + 0 + 30) / 3 = 30 a month: 20 more this month, 4 x 30 after it
    const unpriced = { forecast_net_eur: null, ytd_forecast_net_eur: null, future_forecast_net_eur: null };
    expect(await get("/ere-position")).toMatchObject({
      kwh: 100,
      // 100 kWh so far, 140 to come
      unsold: { ere: 79.85, ytd_ere: 33.27, future_ere: 46.58, ...unpriced },
      ...{ allocatable_ere: 33.27, pending_ere: 33.27, pending_forecast_net_eur: null },
      ...{ ytd_expected_eur: null, total_expected_eur: null, indicative_price_per_ere: null },
      // May, June and July
      ...{ forecast_is_projected: true, forecast_history_days: 92, effective_fee_pct: 20 },
      reserved_ere: 0, // the register has credited nothing yet
      forecast_ere: Math.round((100 + 20 + 120) * 33.2694) / 100,
      quarters: [
        { quarter: "2026-Q1", kwh: 0 },
        { quarter: "2026-Q2", kwh: 60, ere_credits: 19.96 },
        { quarter: "2026-Q3", kwh: 40, ere_credits: 13.31, status: "open" },
      ],
    });
    await world.row(
      `update core.mandates m set status = 'revoked', ended_at = private.now(), ended_reason = 'customer'
         from core.connections c join core.accounts a on a.id = c.account_id where c.id = m.connection_id and a.user_id = $1 returning 1`,
      user.id,
    );
    // the whole months before it stay, and nothing is added to them
    expect(await get("/ere-position")).toMatchObject({
      ...{ kwh: 90, forecast_ere: Math.round(90 * 33.2694) / 100, forecast_is_projected: false },
      ...{ forecast_history_days: 0, unsold: { ere: 29.94, future_ere: 0, future_forecast_net_eur: 0 } },
    });
  });

  test("a first month has no average yet: the forecast is what counts so far; a good month is not cut down", async () => {
    await giveMandate(world, user);
    await ingest(world, session("2026-08-02"));
    const unprojected = { forecast_is_projected: false, forecast_history_days: 0 };
    expect(await get("/ere-position")).toMatchObject({ kwh: 10, forecast_ere: 3.33, ...unprojected });
    await ingest(world, session("2026-07-02", { wh: 5000 }));
    // average 5, this month has 10 already: 15 + 4 x 5
    const projected = { forecast_ere: Math.round(35 * 33.2694) / 100, forecast_is_projected: true };
    expect(await get("/ere-position")).toMatchObject({ ...projected, forecast_history_days: 31 });
    // what it charged counts, and what the connection may charge is still expected
    await world.row("update core.chargers set status = 'removed', removed_at = private.now() where id = $1", charger);
    expect(await get("/ere-position")).toMatchObject(projected);
  });

  test("without a mandate nothing counts, however much was charged", async () => {
    await ingest(world, ...kwh("2026-05", 60));
    expect(await get("/ere-position")).toMatchObject({ kwh: 0, reserved_ere: 0, forecast_ere: 0 });
    expect(await get("/energy")).toMatchObject({ total_kwh: 60, total_ere_credits: 0 });
  });

  test.each([
    ["2026-12-31T22:59:59Z", 2026, 4, 100],
    ["2026-12-31T23:00:00Z", 2027, 1, 0],
    ["2026-06-30T21:59:59Z", 2026, 2, 100],
    ["2026-06-30T22:00:00Z", 2026, 3, 100],
  ])("at %s it is %i, quarter %i, by the Dutch clock", async (now, year, quarters, counted) => {
    await giveMandate(world, user);
    await ingest(world, ...kwh("2026-05", 100));
    await world.freeze(now);
    const body = await get("/ere-position");
    expect([body.year, body.compliance_year, body.quarters.length, body.kwh]).toEqual([year, year, quarters, counted]);
    const [current] = body.quarters.filter(({ final }: { final: boolean }) => !final);
    expect(current.quarter).toBe(`${year}-Q${quarters}`);
    expect(body.renewable_share).toBe(year === 2026 ? 0.505 : null);
  });

  test("last year's months still speak for the new year's forecast, at most twelve of them", async () => {
    await giveMandate(world, user, "2026-01-01", "2027-12-31");
    await world.freeze("2027-02-10T12:00:00Z");
    await world.row("insert into core.ere_factors values (2027, 0.6) on conflict do nothing");
    await ingest(world, ...kwh("2026-02", 120), ...kwh("2026-01", 500));
    // 120 over the twelve months before February 2027; January 2026 is too long ago
    const perKwh = 0.6 * 183 * 3.6 * 0.001;
    expect(await get("/ere-position")).toMatchObject({
      year: 2027,
      kwh: 0,
      forecast_ere: Math.round(11 * 10 * perKwh * 100) / 100,
      // of the mandate, because nothing of this year counts yet
      ...{ effective_fee_pct: 20, forecast_history_days: 365, unsold: { ytd_ere: 0, ytd_forecast_net_eur: 0 } },
      ...{ ytd_expected_eur: 0, total_expected_eur: null },
    });
  });
});

describe("§5 a person sees nothing of another", () => {
  const PATHS = ["/chargers", "/sessions", "/energy", "/ere-position", "/profile"];

  test("on every route, whatever they ask; an application they allowed sees what they see", async () => {
    await giveMandate(world, user);
    await ingest(
      world,
      session("2026-03-01"),
      session("2026-08-15", { started_at: "2026-08-15T11:00:00Z", ended_at: null }),
    );
    const stranger = await world.addUser("Piet Jansen");
    const before = await Promise.all(PATHS.map(async (path) => get(path, await stranger.token())));
    expect(before).toMatchObject([
      { chargers: [] },
      { sessions: [] },
      { total_sessions: 0 },
      { kwh: 0 },
      { email: stranger.email },
    ]);
    expect(JSON.stringify(before)).not.toContain(charger);

    const app = await user.appToken();
    for (const path of PATHS) expect(await get(path, app)).toEqual(await get(path));
    expect((await get("/energy", app)).total_ere_credits).toBe(3.33);
  });
});
