import { createHash, randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { anyText } from "../harness/any_text.ts";
import { MID_CHARGER } from "../harness/chargers.ts";
import { addConnection } from "../harness/connections.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount, type Partner } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
let account: { account_id: string; connection_id: string };
beforeAll(async () => {
  world = await createWorld({ limits: "lifted" });
});
afterAll(() => world.close());
beforeEach(async () => {
  await travel("2026-11-20T09:00:00Z");
  account = await createAccount(world);
});

/** To a moment in the past too: rate limits remember the future they were spent in. */
const travel = async (moment: string) => {
  await world.freeze(moment);
  await world.row("truncate core.rate_limit_state");
};
type Month = Record<string, unknown>;
const deliver = async (months: unknown, fields: Record<string, unknown> = {}, partner: Partner = world.partnerA) =>
  world.post("/v1/sessions:batch", { account_id: account.account_id, months, ...fields }, await partner.client.token());
/** Sends the text itself, for numbers that JavaScript would not write. */
const deliverRaw = async (months: string) =>
  world.send("/v1/sessions:batch", {
    token: await world.partnerA.client.token(),
    raw: `{"account_id": "${account.account_id}", "months": ${months}}`,
  });
const stored = async (connection_id = account.connection_id): Promise<Record<string, unknown>[]> => {
  const { rows } = await world.database.admin.query(
    `select to_char(period, 'YYYY-MM') as period, total_kwh::text, session_count, status, source
       from core.delivered_months where connection_id = $1 order by period`,
    [connection_id],
  );
  return rows;
};
const setStatus = (period: string, status: string) =>
  world.row(
    "update core.delivered_months set status = $3 where connection_id = $1 and period = $2",
    account.connection_id,
    `${period}-01`,
    status,
  );
const month = (period: unknown, total_kwh: unknown = 100): Month => ({ period, total_kwh });
/** One word for each item: its status, or why it is invalid. */
const verdicts = (body: { results: { status: string; reason?: string }[] }) =>
  body.results.map(({ status, reason }) => reason ?? status);

describe("§4.1 what a batch answers", () => {
  test("§4.1 a month of more kWh than the chargers can give is stored, and named; without a charger nobody knows", async () => {
    const flags = async (total_kwh: number) =>
      (await deliver([month("2026-02", total_kwh), month("2026-03", 37_150)])).body.results.map(
        (result: { status: string; flags?: string[] }) => [result.status, ...(result.flags ?? [])],
      );
    expect(await flags(312_500)).toEqual([["ingested"], ["ingested"]]);
    const { account_id } = account;
    await world.post("/v1/chargers", { account_id, ...MID_CHARGER }, await world.partnerA.client.token());
    // 50 kW for 672 and 743 hours: in March a clock skips one
    expect(await flags(33_600.001)).toEqual([["ingested", "beyond_power"], ["ingested"]]);
    expect(await flags(33_600)).toEqual([["ingested"], ["ingested"]]);
    expect((await deliver([month("2026-03", 37_150.001)])).body.results[0].flags).toEqual(["beyond_power"]);
  });

  test("§4.1 every outcome at once, counted, in the order of months", async () => {
    await deliver([month("2026-02", 1), month("2026-03", 2)]);
    await setStatus("2026-02", "registered");
    await setStatus("2026-03", "submitted");
    await signMandate(world, account.account_id);
    const { status, body } = await deliver([
      month("2026-05"),
      month("2026-02"),
      month("2025-12"),
      month("nonsense"),
      { ...month("2026-04"), session_count: 24 },
      month("2026-03"),
    ]);
    expect([status, body]).toEqual([
      200,
      {
        ok: true,
        ...{ account_id: account.account_id, connection_id: account.connection_id },
        accepted: 2,
        outside_mandate: 1,
        locked: 2,
        invalid: 1,
        results: [
          { period: "2026-05", status: "ingested", change: "created" },
          { period: "2026-02", status: "locked" },
          { period: "2025-12", status: "outside_mandate", change: "created" },
          { period: "nonsense", status: "invalid", reason: "bad_period" },
          { period: "2026-04", status: "ingested", change: "created" },
          { period: "2026-03", status: "locked" },
        ],
      },
    ]);
    expect(await stored()).toMatchObject([
      { period: "2025-12", status: "outside_mandate" },
      { period: "2026-02", total_kwh: "1.000", status: "registered" },
      { period: "2026-03", total_kwh: "2.000", status: "submitted" },
      { period: "2026-04", session_count: 24, status: "staged", source: "cpo_api" },
      { period: "2026-05", session_count: 0, status: "staged" },
    ]);
  });

  test("§4.1 source is trimmed to 40, and cpo_api where none is sent", async () => {
    const sources: [unknown, string][] = [
      [undefined, "cpo_api"],
      [null, "cpo_api"],
      ["  ", "cpo_api"],
      [` backoffice${"x".repeat(40)}`, `backoffice${"x".repeat(30)}`],
    ];
    for (const [source, kept] of sources) {
      await deliver([month("2026-01")], { source });
      expect((await stored())[0]?.source).toBe(kept);
    }
  });
});

describe("contract §2 an item", () => {
  const items: [what: string, item: unknown, verdict: string, kept?: string][] = [
    ["a month", month("2026-03", 312.5), "ingested", "312.500"],
    ["its first day", month("2026-03-01"), "ingested", "100.000"],
    ["another day", month("2026-03-02"), "bad_period"],
    ["month 13", month("2026-13"), "bad_period"],
    ["month 0", month("2026-00"), "bad_period"],
    ["a month of one digit", month("2026-3"), "bad_period"],
    ["a line end after it", month("2026-03\n"), "bad_period"],
    ["a space before it", month(" 2026-03"), "bad_period"],
    ["the year 0000", month("0000-01"), "bad_period"],
    ["the year 10000", month("10000-01"), "bad_period"],
    ["a time", month("2026-03-01T00:00:00Z"), "bad_period"],
    ["digits of another script", month("٢٠٢٦-٠٣"), "bad_period"],
    ["NUL in the period", month("2026-03\u0000"), "bad_period"],
    ["half a character in the period", month("\ud8002026-03"), "bad_period"],
    ["10,000 characters in the period", month("2026-03".repeat(2000)), "bad_period"],
    ["SQL in the period", month("2026-01'; drop table core.deliveries; --"), "bad_period"],
    ["a number for a period", month(202603), "bad_period"],
    ["no period", { total_kwh: 1 }, "bad_period"],
    ["the current month", month("2026-11"), "ingested", "100.000"],
    ["next month", month("2026-12"), "future_period"],
    ["a distant year", month("2999-01"), "future_period"],
    ["before any mandate could count", month("1999-12"), "ingested", "100.000"],
    ["no kWh", { period: "2026-03" }, "bad_kwh"],
    ["null for kWh", month("2026-03", null), "bad_kwh"],
    ["a string for kWh", month("2026-03", "100"), "bad_kwh"],
    ["true for kWh", month("2026-03", true), "bad_kwh"],
    ["an array for kWh", month("2026-03", [100]), "bad_kwh"],
    ["an object for kWh", month("2026-03", { value: 1 }), "bad_kwh"],
    ["zero", month("2026-03", 0), "ingested", "0.000"],
    ["minus one", month("2026-03", -1), "bad_kwh"],
    ["a little below zero", month("2026-03", -0.0001), "bad_kwh"],
    ["a million", month("2026-03", 1_000_000), "ingested", "1000000.000"],
    ["a little over a million", month("2026-03", 1_000_000.001), "bad_kwh"],
    ["1e308", month("2026-03", 1e308), "bad_kwh"],
    ["5e-324", month("2026-03", 5e-324), "ingested", "0.000"],
    ["half a Wh, rounded up", month("2026-03", 0.0005), "ingested", "0.001"],
    ["less than half a Wh", month("2026-03", 0.00049), "ingested", "0.000"],
    ["what binary fractions make of 0.1 + 0.2", month("2026-03", 0.1 + 0.2), "ingested", "0.300"],
    ["a fraction of a session", { ...month("2026-03"), session_count: 1.5 }, "bad_session_count"],
    ["minus one session", { ...month("2026-03"), session_count: -1 }, "bad_session_count"],
    ["a string for sessions", { ...month("2026-03"), session_count: "24" }, "bad_session_count"],
    ["1e308 sessions", { ...month("2026-03"), session_count: 1e308 }, "bad_session_count"],
    ["2^31 sessions", { ...month("2026-03"), session_count: 2 ** 31 }, "bad_session_count"],
    ["null for sessions", { ...month("2026-03"), session_count: null }, "ingested", "100.000"],
    ["null", null, "bad_period"],
    ["a string", "2026-03", "bad_period"],
    ["an array", ["2026-03", 100], "bad_period"],
    ["a nested batch", { months: [month("2026-03")] }, "bad_period"],
    ["a field it does not know", { ...month("2026-03"), status: "registered" }, "ingested", "100.000"],
  ];
  test.each(items)("contract §2 an item with %s, as %j, is %s", async (_what, item, verdict, kept) => {
    const { status, body } = await deliver([item, month("1998-01", 7)]);
    expect([status, verdicts(body)]).toEqual([200, [verdict, "ingested"]]);
    expect((await stored()).map(({ total_kwh }) => total_kwh)).toEqual([
      "7.000",
      ...(kept === undefined ? [] : [kept]),
    ]);
  });

  test("contract §2 numbers are read as JSON may write them", async () => {
    const raw = ["1e400", "-0", "-1e400", "1E2", "100.00000000000000000000000001", "0.1e-400"];
    const { body } = await deliverRaw(
      `[${raw.map((kwh, index) => `{"period": "2026-0${index + 1}", "total_kwh": ${kwh}}`).join()}]`,
    );
    expect(verdicts(body)).toEqual(["bad_kwh", "ingested", "bad_kwh", "ingested", "ingested", "ingested"]);
    expect((await stored()).map(({ total_kwh }) => total_kwh)).toEqual(["0.000", "100.000", "100.000", "0.000"]);
  });

  test("contract §2 a month that occurs twice, in whatever spelling and whatever else is wrong: each is invalid", async () => {
    const { body } = await deliver([
      month("2026-03"),
      month("2026-04"),
      month("2026-03-01", 2),
      month("2026-05", "x"),
      month("2026-05"),
    ]);
    expect(verdicts(body)).toEqual([
      "duplicate_in_batch",
      "ingested",
      "duplicate_in_batch",
      "duplicate_in_batch",
      "duplicate_in_batch",
    ]);
    expect((await stored()).map(({ period }) => period)).toEqual(["2026-04"]);
  });

  test("contract §2 invalid is judged before locked, and locked before outside_mandate", async () => {
    await deliver([month("2025-11", 1), month("2026-02", 1)]);
    await setStatus("2025-11", "registered");
    await setStatus("2026-02", "registered");
    await signMandate(world, account.account_id);
    const { body } = await deliver([month("2026-02", -1), month("2025-11"), month("2025-12")]);
    expect(verdicts(body)).toEqual(["bad_kwh", "locked", "outside_mandate"]);
  });

  test.each([
    ["2026-03-31T21:59:59Z", "2026-04", "future_period"],
    ["2026-03-31T22:00:00Z", "2026-04", "ingested"],
    ["2026-12-31T22:59:59Z", "2027-01", "future_period"],
    ["2026-12-31T23:00:00Z", "2027-01", "ingested"],
  ])("contract §1 at %s the month %s is %s: borders are those of Amsterdam", async (moment, period, verdict) => {
    await travel(moment);
    expect(verdicts((await deliver([month(period)])).body)).toEqual([verdict]);
  });

  test("contract §2 whatever months holds, the answer is 200, as long as the list, and each item's own", async () => {
    const item = fc.oneof(
      fc.jsonValue(),
      fc.record({
        period: fc.oneof(fc.constantFrom("2026-01", "2026-02-01", "2026-13"), anyText(), fc.jsonValue()),
        total_kwh: fc.oneof(fc.double(), fc.jsonValue()),
        session_count: fc.oneof(fc.integer(), fc.double(), fc.jsonValue()),
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(item, { minLength: 1, maxLength: 20 }), async (months) => {
        const { status, body } = await deliver(months);
        expect([status, body.results?.length]).toEqual([200, months.length]);
        const { accepted, outside_mandate, locked, invalid } = body;
        expect(accepted + outside_mandate + locked + invalid).toBe(months.length);
      }),
      { numRuns: 60 },
    );
  });
});

describe("§8 months", () => {
  const year = (start: number, count: number) =>
    Array.from({ length: count }, (_, index) =>
      month(`${start + Math.floor(index / 12)}-${String((index % 12) + 1).padStart(2, "0")}`),
    );

  test("§8 240 of them are taken, 241 are not", async () => {
    expect((await deliver(year(2006, 240))).body).toMatchObject({ accepted: 240 });
    expect(await stored()).toHaveLength(240);
    const { status, body } = await deliver(year(2006, 241));
    expect([status, body.error]).toEqual([400, "invalid_request"]);
  });

  test.each([
    ["absent", undefined],
    ["null", null],
    ["empty", []],
    ["an object", {}],
    ["a string", "2026-03"],
    ["a number", 1],
  ])("contract §2 months that are %s are invalid_request, and nothing is kept", async (_what, months) => {
    const { status, body } = await deliver(months);
    expect([status, body.error, body.issues[0].path]).toEqual([400, "invalid_request", "months"]);
    expect(
      (await world.row("select count(*)::int from core.deliveries where connection_id = $1", account.connection_id))
        .count,
    ).toBe(0);
  });
});

describe("contract §2 against the mandate", () => {
  test("contract §2 nobody has signed: stored and ingested; a signature judges every month again", async () => {
    const periods = ["2024-05", "2025-12", "2026-01", "2026-11"];
    expect(verdicts((await deliver(periods.map((period) => month(period)))).body)).toEqual(Array(4).fill("ingested"));
    expect((await stored()).map(({ status }) => status)).toEqual(Array(4).fill("staged"));
    await signMandate(world, account.account_id);
    expect((await stored()).map(({ status }) => status)).toEqual([
      "outside_mandate",
      "outside_mandate",
      "staged",
      "staged",
    ]);
  });

  test("contract §2 after a mandate's last year months are outside it, those within stay", async () => {
    await travel("2026-10-20T09:00:00Z");
    await signMandate(world, account.account_id);
    await travel("2027-02-10T09:00:00Z");
    const { body } = await deliver([month("2026-12"), month("2027-01")]);
    expect(verdicts(body)).toEqual(["ingested", "outside_mandate"]);
  });

  test("contract §2 a mandate of three years covers its third December", async () => {
    await signMandate(world, account.account_id, world.partnerA, 3);
    await travel("2029-02-10T09:00:00Z");
    const { body } = await deliver([month("2028-12"), month("2029-01")]);
    expect(verdicts(body)).toEqual(["ingested", "outside_mandate"]);
  });

  test("contract §2 2026-01 is the first month that counts, even under a mandate of an earlier year", async () => {
    await travel("2025-06-01T09:00:00Z");
    await signMandate(world, account.account_id, world.partnerA, 3);
    await travel("2026-11-20T09:00:00Z");
    expect(verdicts((await deliver([month("2025-12"), month("2026-01")])).body)).toEqual([
      "outside_mandate",
      "ingested",
    ]);
  });

  test("contract §3 a rejected month delivered again is staged again", async () => {
    await signMandate(world, account.account_id);
    await deliver([month("2026-03", 1)]);
    await setStatus("2026-03", "rejected");
    await deliver([month("2026-03", 1)]);
    expect(await stored()).toMatchObject([{ status: "staged", total_kwh: "1.000" }]);
  });
});

describe("contract §2 history", () => {
  const replaced = async () =>
    (
      await world.database.admin.query(
        "select total_kwh::float, session_count from core.replaced_months where connection_id = $1 order by total_kwh",
        [account.connection_id],
      )
    ).rows;
  const deliveries = async () =>
    (
      await world.database.admin.query("select * from core.deliveries where connection_id = $1 order by received_at", [
        account.connection_id,
      ])
    ).rows;

  test("§3 a repeat replaces the total; what it replaced is kept, a repeat of the same value is not", async () => {
    await deliver([{ ...month("2026-03", 1), session_count: 1 }]);
    await deliver([{ ...month("2026-03", 2), session_count: 1 }]);
    await deliver([{ ...month("2026-03", 2), session_count: 1 }]);
    await deliver([{ ...month("2026-03", 2), session_count: 5 }]);
    expect(await stored()).toMatchObject([{ total_kwh: "2.000", session_count: 5 }]);
    expect(await replaced()).toEqual([
      { total_kwh: 1, session_count: 1 },
      { total_kwh: 2, session_count: 1 },
    ]);
  });

  test("contract §2 each total leads to the delivery that brought it, and each replaced one to that which replaced it too", async () => {
    await deliver([month("2026-03", 1), month("2026-04", 5)]);
    await deliver([month("2026-03", 2), month("2026-04", 5)]);
    await deliver([month("2026-03", 3)]);
    const chain = await world.database.admin.query(
      `select r.total_kwh::int as kwh, (b.body::json #>> '{months,0,total_kwh}')::int as brought, (a.body::json #>> '{months,0,total_kwh}')::int as replaced_by
         from core.replaced_months r
         join core.deliveries b on b.partner_id = r.partner_id and b.id = r.delivery_id
         join core.deliveries a on a.partner_id = r.partner_id and a.id = r.replaced_by
        where r.connection_id = $1 order by 1`,
      [account.connection_id],
    );
    expect(chain.rows).toEqual([
      { kwh: 1, brought: 1, replaced_by: 2 },
      { kwh: 2, brought: 2, replaced_by: 3 },
    ]);
  });

  test("contract §2 no month refers to a delivery that is not there, whoever writes it, and none is deleted that a month refers to", async () => {
    await deliver([month("2026-03", 1)]);
    const [{ partner_id, id }] = await deliveries();
    const theirs = async () => {
      const { account_id } = await createAccount(world, world.partnerB);
      await deliver([month("2026-03", 1)], { account_id }, world.partnerB);
      return world.row("select id from core.deliveries where partner_id = $1 limit 1", world.partnerB.id);
    };
    for (const [statement, ...values] of [
      [
        "update core.delivered_months set delivery_id = gen_random_uuid() where connection_id = $1",
        account.connection_id,
      ],
      [
        `insert into core.delivered_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, delivery_id, received_at)
         select partner_id, connection_id, owner_id, '2026-04-01', 1, 1, source, status, gen_random_uuid(), received_at from core.delivered_months where connection_id = $1`,
        account.connection_id,
      ],
      // of another tenant, which a foreign key by tenant would refuse too
      [
        "update core.delivered_months set delivery_id = $2 where connection_id = $1",
        account.connection_id,
        (await theirs()).id,
      ],
      [
        `merge into core.delivered_months m using (select gen_random_uuid() as id) d on m.connection_id = $1
           when matched then update set delivery_id = d.id`,
        account.connection_id,
      ],
      ["delete from core.deliveries where partner_id = $1 and id = $2", partner_id, id],
    ] as const)
      await expect(world.row(statement, ...values)).rejects.toMatchObject({ code: "23503" });
    expect(await stored()).toHaveLength(1);
    await world.row("delete from core.delivered_months where connection_id = $1", account.connection_id);
    await world.row("delete from core.deliveries where partner_id = $1 and id = $2", partner_id, id);
    expect(await deliveries()).toEqual([]);
  });

  test("§3 a locked month is untouched: value, source and history", async () => {
    await deliver([month("2026-03", 1)], { source: "first" });
    await setStatus("2026-03", "registered");
    const { body } = await deliver([month("2026-03", 2)], { source: "second" });
    expect(verdicts(body)).toEqual(["locked"]);
    expect([await stored(), await replaced()]).toMatchObject([
      [{ total_kwh: "1.000", status: "registered", source: "first" }],
      [],
    ]);
  });

  test("contract §2 each delivery is kept as it came: body, hash, client, time; also one that is invalid throughout", async () => {
    const raw = `{ "months":[{"period":"nonsense","total_kwh":1e400}], "account_id":"${account.account_id}", "note":"é⚡\\u0000" }`;
    const token = await world.partnerA.client.token();
    const answer = await world.send("/v1/sessions:batch", { token, raw });
    expect(answer.body.invalid).toBe(1);
    const [delivery] = await deliveries();
    expect(delivery).toMatchObject({
      body: raw,
      body_sha256: createHash("sha256").update(raw).digest("hex"),
      client_id: world.partnerA.client.id,
      request_id: answer.headers.get("x-request-id"),
      received_at: new Date("2026-11-20T09:00:00Z"),
    });
  });

  test("contract §2 attack: a key that occurs twice, half a surrogate pair, and an item of a hundred thousand arrays: read as JSON is, and kept as sent", async () => {
    const nested = "[".repeat(100_000) + "]".repeat(100_000);
    const raw = `{"months":[{"period":"2026-01","total_kwh":1}],"account_id":"${account.account_id}","source":"\\ud800","source":"twice","months":[{"period":"2026-02","period":"2026-03","total_kwh":1,"total_kwh":2.50},{"period":"\\ud800"},${nested}]}`;
    const { status, body } = await world.send("/v1/sessions:batch", {
      token: await world.partnerA.client.token(),
      raw,
    });
    expect([status, verdicts(body)]).toEqual([200, ["ingested", "bad_period", "bad_period"]]);
    expect(await stored()).toMatchObject([{ period: "2026-03", total_kwh: "2.500", source: "twice" }]);
    expect((await deliveries())[0].body === raw).toBe(true);
  });

  test("contract §2 the hash is that of the bytes that were sent, byte order mark included", async () => {
    const raw = `\ufeff{"account_id":"${account.account_id}","months":[{}]}`;
    await world.send("/v1/sessions:batch", { token: await world.partnerA.client.token(), raw });
    const [delivery] = await deliveries();
    expect(delivery.body_sha256).toBe(createHash("sha256").update(raw).digest("hex"));
  });

  test("contract §2 ten batches of one month at once: one row, the last one's, and nine in the history", async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => deliver([month("2026-03", index + 1)])));
    expect(answers.map(({ body }) => body.accepted)).toEqual(Array(10).fill(1));
    const [row, ...others] = await stored();
    expect(others).toEqual([]);
    const seen = [...(await replaced()).map(({ total_kwh }) => total_kwh), Number(row?.total_kwh)];
    expect(seen.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    const { body }: { body: string } = await world.row(
      "select d.body from core.delivered_months m join core.deliveries d on d.id = m.delivery_id where m.connection_id = $1",
      account.connection_id,
    );
    expect(JSON.parse(body).months[0].total_kwh).toBe(Number(row?.total_kwh));
  });
});

describe("§4.1 which connection", () => {
  const archive = (id: string) => world.row("update core.connections set status = 'archived' where id = $1", id);

  test("§4.1 the first active one, or the one that is named", async () => {
    const second = await addConnection(world, account.account_id, { created_at: "2026-11-20T10:00:00Z" });
    expect((await deliver([month("2026-03")])).body.connection_id).toBe(account.connection_id);
    expect((await deliver([month("2026-03")], { connection_id: second.toUpperCase() })).body.connection_id).toBe(
      second,
    );
    await archive(account.connection_id);
    expect((await deliver([month("2026-03")])).body.connection_id).toBe(second);
  });

  test("contract §2 one that is archived, of another account, another partner's, or nobody's: 409 no_connection, which says which it is", async () => {
    const archived = await addConnection(world, account.account_id, { created_at: "2026-11-20T10:00:00Z" });
    await archive(archived);
    const { connection_id: another } = await createAccount(world);
    const { connection_id: foreign } = await createAccount(world, world.partnerB);
    for (const connection_id of [another, foreign, randomUUID()]) {
      const { status, body } = await deliver([month("2026-03")], { connection_id });
      expect([status, body.error]).toEqual([409, "no_connection"]);
      expect(body.detail).toContain("no connection with this connection_id");
    }
    expect(await deliver([month("2026-03")], { connection_id: archived })).toMatchObject({
      status: 409,
      body: { error: "no_connection", detail: expect.stringContaining("archived") },
    });
    await archive(account.connection_id);
    expect((await deliver([month("2026-03")])).body.error).toBe("no_connection");
  });

  test("contract §1 an account of another partner or another client is missing, and gets nothing", async () => {
    const sibling: Partner = { id: world.partnerA.id, client: await world.addClient(world.partnerA.id) };
    for (const partner of [world.partnerB, sibling]) {
      const { status, body } = await deliver([month("2026-03")], {}, partner);
      expect([status, body.error]).toEqual([404, "account_not_found"]);
    }
    expect(await stored()).toEqual([]);
  });

  test.each([
    ["account_id", "KL-1"],
    ["account_id", undefined],
    ["connection_id", "x"],
    ["source", 5],
  ])("contract §2 the field %s is invalid_request as %j", async (name, value) => {
    const { status, body } = await deliver([month("2026-03")], { [name]: value });
    expect([status, body.issues[0].path]).toEqual([400, name]);
  });
});
