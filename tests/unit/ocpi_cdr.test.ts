// CDRs of OCPI 2.2.1: the specification's own example, what platforms send instead, and what is kept.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readCdr } from "#shared/domain/charging_in/ocpi/cdr.ts";
import { EXAMPLE } from "../ocpi/example.ts";

// biome-ignore lint/suspicious/noExplicitAny: a test changes the fields it names
type Cdr = any;
const example = (): Cdr => JSON.parse(EXAMPLE);
/** The example at a Dutch charger, with these changes. */
const dutch = (fields: object = {}, location: object = {}): Cdr => {
  const cdr = example();
  return { ...cdr, ...fields, cdr_location: { ...cdr.cdr_location, country: "NLD", ...location } };
};
// biome-ignore lint/suspicious/noExplicitAny: each test knows which kind it reads
const read = (cdr: unknown): any => readCdr(cdr);

describe("a number that nobody measures", () => {
  const withVolume = (volume: number) =>
    dutch({ charging_periods: [{ start_date_time: "2015-06-29T21:39:09Z", dimensions: [{ type: "TIME", volume }] }] });

  test.each([1e308, -1e308, 1e-300])("attack: %s is kept nowhere, and costs no session", (number) => {
    for (const cdr of [withVolume(number), dutch({ total_cost: { excl_vat: number } })]) {
      expect(read(cdr).kind).toBe("session");
      expect(JSON.stringify(read(cdr))).not.toContain("e+308");
      expect(JSON.stringify(read(cdr))).not.toContain("e-300");
    }
  });

  test.each([0, 1e15, 5.551115123125783e-17])("%s is kept as it came", (number) => {
    expect(read(withVolume(number)).kind).toBe("session");
  });
});

describe("the specification's example", () => {
  test("is a session abroad, of the names of its EVSE", () => {
    const { document, kept_sha256, session, ...rest } = read(example());
    expect(rest).toEqual({ kind: "session", party: "BE-BEC", id: "12345" });
    expect(kept_sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(session).toEqual({
      source: "ocpi",
      external_id: "BE-BEC:12345",
      party: "BE-BEC",
      started_at: "2015-06-29T21:39:09.000Z",
      ended_at: "2015-06-29T23:37:32.000Z",
      wh: 15_342,
      evse_uid: "3256",
      evse_id: "BE*BEC*E041503003",
      power_type: "AC",
      flags: ["abroad"],
      document,
      signed: [],
    });
  });

  test("is kept without its card and its tariff", () => {
    const { cdr_token, tariffs, ...kept } = example();
    expect(read(example()).document).toEqual(kept);
    const planted = dutch(
      {
        remark: "card 012345678",
        authorization_reference: "012345678",
        invoice_reference_id: "012345678",
        x: "012345678",
      },
      { parking: "012345678" },
    );
    expect(JSON.stringify(read(planted))).not.toContain("012345678");
    expect(JSON.stringify(planted)).toContain(cdr_token.uid);
    expect(tariffs).toHaveLength(1);
  });
});

describe("times", () => {
  test.each([
    ["2026-03-31T21:39:09Z", "2026-03-31T21:39:09.000Z"],
    ["2026-03-31T21:39:09", "2026-03-31T21:39:09.000Z"],
    ["2026-03-31T21:39:09.123456Z", "2026-03-31T21:39:09.123Z"],
    ["2026-03-31T23:39:09+02:00", "2026-03-31T21:39:09.000Z"],
    ["2026-03-31T23:39:09+0200", "2026-03-31T21:39:09.000Z"],
    ["2026-03-31t21:39:09z", "2026-03-31T21:39:09.000Z"],
    ["2026-03-31 21:39", "2026-03-31T21:39:00.000Z"],
    // a platform that does not know it
    ["1970-1-1", null],
    ["1970-01-01T00:00:00Z", null],
    ["1970-01-01T00:00:00", null],
    ["0001-01-01T00:00:00+01:00", null],
    ["0000-01-01T00:00:00Z", null],
    ["9999-12-31T23:59:59-14:00", null],
  ])("%s", (told, moment) => {
    expect(read(dutch({ start_date_time: told })).session.started_at).toBe(moment);
    expect(read(dutch({ end_date_time: told })).session.ended_at).toBe(moment);
  });

  test.each([
    "",
    "2026-02-30T10:00:00Z",
    "2026-13-01T10:00:00Z",
    "2026-03-31T25:00:00Z",
    "2026-03-31",
    "31-03-2026 10:00",
    1774991949,
    null,
  ])("%s is none", (told) => {
    expect(read(dutch({ end_date_time: told })).refused).toMatch(/^end_date_time: /);
  });

  test("an end before the start is left for the database to flag", () => {
    const { session } = read(dutch({ end_date_time: "2015-06-28T00:00:00Z" }));
    expect(session.ended_at < session.started_at).toBe(true);
  });
});

describe("energy", () => {
  test.each([
    [15.342, 15_342],
    [0.5005, 501],
    [1.0005, 1001],
    [0.0004, 0],
    [0.0005, 1],
    [1e-7, 0],
    [0, 0],
    [1_000_000, 1e9],
  ])("%d kWh", (total_energy, wh) => {
    const answer = read(dutch({ total_energy }));
    expect(answer.session?.wh ?? 0).toBe(wh);
    if (wh === 0) expect(answer).toMatchObject({ kind: "nothing", reason: "no_energy" });
  });

  test.each([-1, 1_000_001, "15.342", null, undefined])("%s is refused", (total_energy) => {
    expect(read(dutch({ total_energy })).refused).toMatch(/^total_energy: /);
  });

  const periods = (...volumes: (number | null)[]) => ({
    charging_periods: volumes.map((volume) => ({
      dimensions: [{ type: "TIME", volume: 1 }, ...(volume === null ? [] : [{ type: "ENERGY", volume }])],
    })),
  });
  test.each([
    [periods(10, 5.342), []],
    // 1 % of 15.342 is 0.153
    [periods(10, 5.19), []],
    [periods(10, 5.18), ["meter_disagrees"]],
    [periods(10, 6), ["meter_disagrees"]],
    // two in one period
    [
      {
        charging_periods: [
          {
            dimensions: [
              { type: "ENERGY", volume: 10 },
              { type: "ENERGY", volume: 5.342 },
            ],
          },
        ],
      },
      [],
    ],
    // in Wh
    [periods(10_000, 5342), []],
    // one period says nothing of its energy
    [periods(10, null), []],
    [{ charging_periods: [] }, []],
    [{ charging_periods: null }, []],
  ])("%j", (fields, flags) => {
    expect(read(dutch(fields)).session.flags).toEqual(flags);
  });
});

describe("ids and names", () => {
  test("are compared without case", () => {
    const { party, id, kept_sha256 } = read(dutch({ country_code: "nl", party_id: "tnm", id: "a-1" }));
    expect([party, id]).toEqual(["NL-TNM", "A-1"]);
    expect(read(dutch({ country_code: "NL", party_id: "TNM", id: "A-1" })).kept_sha256).toBe(kept_sha256);
  });

  test.each([
    [{ country_code: "NLD" }, {}, /^country_code: /],
    [{ country_code: null }, {}, /^country_code: /],
    [{ party_id: "TNMX" }, {}, /^party_id: /],
    [{ id: "" }, {}, /^id: must have 1 to 39/],
    [{ id: "x".repeat(40) }, {}, /^id: must have 1 to 39/],
    [{ id: "a\u0000b" }, {}, /^id: must not contain/],
    [{ id: 12345 }, {}, /^id: /],
    [{}, { country: null }, /^cdr_location\.country: /],
    [{}, { evse_uid: null, evse_id: null }, /^cdr_location\.evse_uid: is missing/],
    [{}, { country: "" }, /^cdr_location\.country: /],
    [{}, { evse_uid: "null", evse_id: "n/a" }, /^cdr_location\.evse_uid: is missing/],
    [
      { total_energy: 0, charging_periods: [{ dimensions: [{ type: "ENERGY", volume: 10 }] }] },
      {},
      /^total_energy: is 0, but/,
    ],
    [{}, { evse_uid: "", evse_id: " " }, /^cdr_location\.evse_uid: is missing/],
  ])("%j %j is refused by its field", (fields, location, refused) => {
    expect(read(dutch(fields, location)).refused).toMatch(refused);
  });

  test("any of three names is enough, and #NA is none", () => {
    const { evse_uid, evse_id, meter_id } = read(
      dutch({ meter_id: "m-1" }, { evse_uid: null, evse_id: "#NA" }),
    ).session;
    expect([evse_uid, evse_id, meter_id]).toEqual([undefined, undefined, "M-1"]);
  });

  test("#NA for the EVSE is a reservation that nobody charged on", () => {
    expect(read(dutch({}, { evse_uid: "#NA" }))).toMatchObject({ kind: "nothing", reason: "reservation" });
  });

  test.each([
    ["NLD", []],
    ["nld", []],
    ["NL", []],
    ["Nederland", []],
    ["BEL", ["abroad"]],
    ["Belgium", ["abroad"]],
  ])("the country %s", (country, flags) => {
    expect(read(dutch({}, { country })).session.flags).toEqual(flags);
  });

  test.each([
    ["DC", "DC"],
    ["AC_3_PHASE", "AC"],
    ["AC_2_PHASE_SPLIT", "AC"],
    [null, undefined],
  ])("the power type %s", (connector_power_type, power_type) => {
    expect(read(dutch({}, { connector_power_type })).session.power_type).toBe(power_type);
  });
});

describe("a credit", () => {
  test.each([15.342, -15.342])("takes another CDR back, whatever its energy: %d", (total_energy) => {
    const credit = dutch({ id: "12345-c", credit: true, credit_reference_id: "12345", total_energy });
    expect(read(credit)).toMatchObject({ kind: "credit", id: "12345-C", credit_of: "12345" });
  });

  test.each([
    [{ credit: true }, /^credit_reference_id: .*together/],
    [{ credit: true, credit_reference_id: null }, /^credit_reference_id: .*together/],
    [{ credit_reference_id: "1" }, /^credit_reference_id: .*together/],
    [{ credit: false, credit_reference_id: "1" }, /^credit_reference_id: .*together/],
    [{ credit: true, credit_reference_id: "12345" }, /^credit_reference_id: .*another CDR/],
  ])("%j is refused", (fields, refused) => {
    expect(read(dutch(fields)).refused).toMatch(refused);
  });

  test("credit: false is no credit", () => {
    expect(read(dutch({ credit: false, credit_reference_id: null })).kind).toBe("session");
  });
});

describe("the same CDR again", () => {
  const { kept_sha256 } = read(dutch());
  test.each([
    [{ last_updated: "2026-01-01T00:00:00Z" }],
    [{ total_cost: { excl_vat: 5 }, total_time_cost: null, currency: "SEK" }],
    [{ start_date_time: "2015-06-29T21:39:09" }],
    [{ cdr_token: null, tariffs: [], remark: "x" }],
    [{ total_time: 2.0001, total_parking_time: 1, session_id: "s", a_new_field: 1, auth_method: "COMMAND" }],
    [{ total_energy: 15.34200001, end_date_time: "2015-06-29T23:37:32.500Z" }],
    [{ charging_periods: [{ start_date_time: "2015-06-29T21:39:09.000Z", dimensions: [] }] }],
    [{ charging_periods: [] }],
    [{ signed_data: { signed_values: [] }, meter_id: "" }],
  ])("is the same with %j", (fields) => {
    expect(read(dutch(fields)).kept_sha256).toBe(kept_sha256);
  });

  test("is the same in another order of its fields", () => {
    const turned = Object.fromEntries(Object.entries(dutch()).reverse());
    expect(read(turned).kept_sha256).toBe(kept_sha256);
  });

  test.each([
    [{ total_energy: 15.343 }],
    [{ end_date_time: "2015-06-29T23:37:33Z" }],
    [{ meter_id: "1" }],
    [{ credit: true, credit_reference_id: "other" }],
  ])("is another with %j", (fields) => {
    expect(read(dutch(fields)).kept_sha256).not.toBe(kept_sha256);
  });

  test.each([
    [{ address: "Dorpsstraat 1", city: "Elst", connector_id: "2" }, true],
    [{ country: "nl", evse_id: "be-bec-e041503003" }, true],
    [{ evse_uid: "3257" }, false],
    [{ evse_id: "BE*BEC*E041503004" }, false],
    // whether it counts
    [{ country: "BEL" }, false],
  ])("at %j: %s", (location, same) => {
    expect(read(dutch({}, location)).kept_sha256 === kept_sha256).toBe(same);
  });
});

test("of nested fields too only those of the specification are kept", () => {
  const { start_date_time } = example();
  const period = { start_date_time, dimensions: [{ type: "ENERGY", volume: 15.342 }], tariff_id: "12" };
  const card = { driver: "012345678" };
  const { document } = read(
    dutch(
      {
        charging_periods: [{ ...period, ...card, dimensions: [{ ...period.dimensions[0], ...card }] }],
        total_cost: { excl_vat: 4, ...card },
        session_id: card,
      },
      { coordinates: { latitude: "3.7", longitude: "51.0", ...card }, city: ["Gent"] },
    ),
  );
  expect(JSON.stringify(document)).not.toContain(card.driver);
  expect(document).toMatchObject({ charging_periods: [period], total_cost: { excl_vat: 4 } });
  expect(document.cdr_location).toMatchObject({ coordinates: { latitude: "3.7", longitude: "51.0" } });
  expect(document).not.toHaveProperty("session_id");
});

test("signed values are kept as they came", () => {
  const signed_values = [
    { nature: "Start", plain_data: "a", signed_data: 'OCMF|{"RD":[]}|{"SD":"30"}' },
    { nature: "End", plain_data: "b", signed_data: " x\n" },
  ];
  const { session, document } = read(dutch({ signed_data: { encoding_method: "OCMF", signed_values } }));
  expect(session.signed).toEqual(signed_values.map(({ signed_data }) => signed_data));
  expect(document).not.toHaveProperty("signed_data");
});

test.each([[[example()]], [null], ["x"], [1], [undefined]])("no object: %#", (sent) => {
  expect(read(sent).refused).toBe("must be one CDR object");
});

const deep = JSON.parse("[".repeat(50_000) + "]".repeat(50_000));

describe("what is not used may be anything", () => {
  test.each<[object, object?]>([
    [{ meter_id: "" }],
    [{ meter_id: {} }],
    [{ meter_id: "x".repeat(256) }],
    [{ credit: "", credit_reference_id: "" }],
    [{ credit: false, credit_reference_id: " " }],
    [{ signed_data: {} }],
    [{ signed_data: "" }],
    [{ signed_data: { signed_values: "x" } }],
    [
      {
        signed_data: { signed_values: [null, {}, { signed_data: 1 }, { signed_data: "\u0000" }, { signed_data: "" }] },
      },
    ],
    [{ charging_periods: {} }],
    [{ charging_periods: "none" }],
    [{ charging_periods: [null, 1, {}] }],
    [{ charging_periods: [{ start_date_time: "2015-06-29T21:39:09Z" }] }],
    [{ charging_periods: [{ dimensions: null }] }],
    [{ charging_periods: [{ dimensions: [null, { type: 1, volume: 2 }] }] }],
    [{ charging_periods: [{ dimensions: [{ type: "ENERGY", volume: "1" }] }] }],
    [{ tariffs: "x" }],
    [{ auth_method: "\ud800", currency: 1, total_cost: "4", total_time: null }],
    [{ total_fixed_cost: deep, charging_periods: deep, x: deep }],
    [{}, { evse_id: "" }],
    [{}, { evse_id: "x".repeat(49) }],
    [{}, { evse_uid: "" }],
    [{}, { evse_uid: {} }],
    [{}, { connector_standard: "", connector_power_type: 3, connector_id: 1, coordinates: "x", address: null }],
  ])("%#", (fields, location) => {
    const { kind, session } = read(dutch(fields, location));
    expect(kind).toBe("session");
    expect(session).toMatchObject({ wh: 15_342, flags: [], signed: [] });
    expect(session.evse_uid ?? session.evse_id).toMatch(/^(3256|BE\*BEC\*E041503003)$/);
  });

  test("a name may be a number", () => {
    expect(read(dutch({ meter_id: 77 }, { evse_uid: 3256 })).session).toMatchObject({
      evse_uid: "3256",
      meter_id: "77",
    });
  });
});

describe("one that cannot be read", () => {
  test("keeps its words, without what names the card", () => {
    const signed_data = { encoding_method: "OCMF", signed_values: [{ nature: "End", signed_data: "OCMF|{}" }] };
    const sent = dutch({ total_energy: "x", signed_data, remark: "012345678" });
    const { cdr_token, tariffs, remark, ...words } = sent;
    expect(read(sent)).toEqual({
      kind: "unread",
      refused: "total_energy: Invalid input: expected number, received string",
      party: "BE-BEC",
      id: "12345",
      words: { ...words, signed_data: { signed_values: [{ signed_data: "OCMF|{}" }] } },
    });
    expect([cdr_token, tariffs, remark]).not.toContain(undefined);
  });

  test.each([7, "x", null, undefined])("%s has none", (sent) => {
    expect(read(sent)).toEqual({
      kind: "unread",
      refused: "must be one CDR object",
      words: null,
      party: null,
      id: null,
    });
  });

  test("keeps words that can be stored", () => {
    const { words, id } = read({
      ...dutch({ id: "a\u0000b", party_id: 1e308 }),
      country_code: "\ud800",
      cdr_location: deep,
    });
    expect(id).toBeNull();
    expect(words).toMatchObject({ total_energy: 15.342 });
    expect(words).not.toHaveProperty("id");
  });
});

test("whatever is sent is read or refused by a field, and no value is repeated", () => {
  const fields = Object.keys(example());
  fc.assert(
    fc.property(fc.constantFrom(...fields), fc.jsonValue(), (name, value) => {
      const answer = read(
        dutch(name === "cdr_location" ? {} : { [name]: value }, name === "cdr_location" ? { country: value } : {}),
      );
      if (answer.kind === "unread") expect(answer.refused).toMatch(/^[a-z_.\d]+: .{1,100}$/);
      else expect(["session", "nothing", "credit"]).toContain(answer.kind);
    }),
    { numRuns: 2000 },
  );
  expect(read(dutch({ id: "secret-card-number".repeat(5) })).refused).not.toContain("secret");
});
