import { createServer } from "node:net";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { EanRegisterAddress } from "#shared/domain/answers.ts";
import { createEanRegister } from "#shared/domain/ean_register/ean_register.ts";
import type { EanRegisterAnswer, EanRegisterConfig } from "#shared/domain/ean_register/types.ts";
import { type CodeboekPoint, type Fault, faults, startEanCodeboek } from "../harness/ean_codeboek.ts";

const home: EanRegisterAddress = { postal_code: "3818LH", house_number: 8, house_number_addition: null };
const minute = 60_000;

function point(ean: string, addition?: string, more: Partial<CodeboekPoint> = {}): CodeboekPoint {
  return {
    ean,
    address: {
      postalCode: "3818LH",
      streetNumber: 8,
      ...(addition === undefined ? {} : { streetNumberAddition: addition }),
      street: "Barchman Wuytierslaan",
      city: "Amersfoort",
    },
    product: "ELK",
    gridOperatorEan: "8716948000000",
    specialMeteringPoint: false,
    ...more,
  };
}
const ean = (nth: number) => `8716948${String(nth).padStart(11, "0")}`;

/** A register in front of a loopback codeboek, on a clock that moves only when somebody sleeps or the test says so. */
async function stand(
  points: CodeboekPoint[] = [point(ean(1))],
  more: Partial<EanRegisterConfig> = {},
  requiredKey?: string,
) {
  const codeboek = await startEanCodeboek(points, requiredKey);
  const clock = { at: Date.parse("2026-11-20T12:00:00Z"), slept: [] as number[] };
  const register = createEanRegister({
    host: "production",
    driver: "http",
    url: codeboek.url,
    now: () => clock.at,
    random: () => 0.5,
    sleep: async (ms) => {
      clock.slept.push(ms);
      clock.at += ms;
    },
    ...more,
  });
  return { codeboek, clock, register, [Symbol.asyncDispose]: () => codeboek[Symbol.asyncDispose]() };
}

const eansOf = (answer: EanRegisterAnswer | null) =>
  answer && "points" in answer ? answer.points.map((point) => point.ean_code) : answer;
const unavailable = (reason: string) => ({ source: "codeboek", outcome: "unavailable", reason });
const unknownAddress = { source: "codeboek", outcome: "unknown_address" };

describe("§2 EAN register: the codeboek over HTTP", () => {
  test("§2 EAN register: an address answers its electricity points, ordinary and special, with street and city", async () => {
    await using it = await stand([
      point(ean(1)),
      point(ean(2), undefined, { specialMeteringPoint: true }),
      point(ean(3), undefined, { product: "GAS" }),
    ]);
    const place = { street: "Barchman Wuytierslaan", city: "Amersfoort", house_number_addition: null };
    expect(await it.register.lookup(home)).toEqual({
      source: "codeboek",
      outcome: "points",
      points: [
        { ean_code: ean(1), ...place },
        { ean_code: ean(2), ...place },
      ],
    });
    expect(Object.fromEntries(it.codeboek.requests[0]?.searchParams ?? [])).toEqual({
      product: "ELK",
      postalCode: "3818LH",
      streetNumber: "8",
      limit: "100",
      offset: "0",
    });
  });

  test("§2 EAN register: an address without points is unknown", async () => {
    await using it = await stand();
    expect(await it.register.lookup({ ...home, house_number: 9 })).toEqual(unknownAddress);
  });

  test.each([
    ["A", 2],
    ["a", 2],
    ["-A", 2],
    [" a ", 2],
    ["2", 3],
    ["BIS", 4],
    ["a-2", 5],
    [null, 1],
    ["", 1],
  ])("§2 EAN register: addition %j means the same however it is written", async (addition, nth) => {
    await using it = await stand([
      point(ean(1)),
      point(ean(2), "A"),
      point(ean(3), "2"),
      point(ean(4), "bis"),
      point(ean(5), "A 2"),
    ]);
    expect(eansOf(await it.register.lookup({ ...home, house_number_addition: addition }))).toEqual([ean(nth)]);
  });

  test("§2 EAN register: an addition that the register lacks is an unknown address, not the neighbor's points", async () => {
    await using it = await stand([point(ean(1)), point(ean(2), "A")]);
    expect(await it.register.lookup({ ...home, house_number_addition: "B" })).toEqual(unknownAddress);
  });

  test("§2 EAN register: a point listed without address counts beside points of the address, never alone", async () => {
    await using it = await stand([point(ean(1)), point(ean(2), undefined, { address: null })]);
    expect(eansOf(await it.register.lookup(home))).toEqual([ean(1), ean(2)]);
    expect(await it.register.lookup({ ...home, house_number: 9 })).toEqual(unknownAddress);
  });

  test("§2 EAN register: what the register answers beyond the question is not taken over", async () => {
    await using it = await stand();
    it.codeboek.always = faults.json({ meteringPoints: [point(ean(1)), point(ean(2), undefined, { product: "GAS" })] });
    expect(eansOf(await it.register.lookup(home))).toEqual([ean(1)]);
    expect(await it.register.lookup({ ...home, postal_code: "3818LJ" })).toEqual(unknownAddress);
    expect(await it.register.lookup({ ...home, house_number: 80 })).toEqual(unknownAddress);
  });

  test("§2 EAN register: a house number with 250 points is read page by page", async () => {
    const flats = Array.from({ length: 250 }, (_, nth) => point(ean(nth), String(nth)));
    await using it = await stand(flats);
    expect(eansOf(await it.register.lookup({ ...home, house_number_addition: "249" }))).toEqual([ean(249)]);
    expect(it.codeboek.requests.map((url) => url.searchParams.get("offset"))).toEqual(["0", "100", "200"]);
  });

  test("§2 EAN register: a register that pages without end is given up", async () => {
    await using it = await stand();
    it.codeboek.always = faults.json({ meteringPoints: Array.from({ length: 100 }, (_, nth) => point(ean(nth))) });
    expect(await it.register.lookup(home)).toEqual(unavailable("oversized"));
    expect(it.codeboek.requests).toHaveLength(10);
  });

  test("§2 EAN register: the key is sent; without it the refusal is no answer and is not repeated", async () => {
    await using withKey = await stand(undefined, { api_key: "k-1" }, "k-1");
    expect(eansOf(await withKey.register.lookup(home))).toEqual([ean(1)]);
    await using without = await stand(undefined, {}, "k-1");
    expect(await without.register.lookup(home)).toEqual(unavailable("status_403"));
    expect(without.codeboek.requests).toHaveLength(1);
  });
});

describe("§2 EAN register: faults", () => {
  test("§2 EAN register: a register that hangs is a timeout after three attempts, and is hung up on", async () => {
    // long enough for a request to reach the register on a busy machine
    await using it = await stand(undefined, { limits: { attempt_ms: 300 } });
    it.codeboek.always = faults.hang;
    expect(await it.register.lookup(home)).toEqual(unavailable("timeout"));
    expect(it.codeboek.requests).toHaveLength(3);
    await expect.poll(() => it.codeboek.aborted).toBe(3);
  });

  test("§2 EAN register: a body that stalls is a timeout too", async () => {
    await using it = await stand(undefined, { limits: { attempt_ms: 30 } });
    it.codeboek.always = (response) => void response.writeHead(200).write('{"meteringPoints": [');
    expect(await it.register.lookup(home)).toEqual(unavailable("timeout"));
  });

  test("§2 EAN register: slow within the limit is an answer", async () => {
    await using it = await stand(undefined, { limits: { attempt_ms: 2_000 } });
    it.codeboek.queue.push(faults.slow(50));
    expect(eansOf(await it.register.lookup(home))).toEqual([ean(1)]);
    expect(it.codeboek.requests).toHaveLength(1);
  });

  test.each<[string, Fault]>([
    ["a connection reset", faults.reset],
    ["an answer cut short", faults.cut],
    ["500", faults.status(500)],
    ["503", faults.status(503)],
    ["429", faults.status(429)],
  ])("§2 EAN register: %s, then an answer: the retry brings it", async (_name, fault) => {
    await using it = await stand();
    it.codeboek.queue.push(fault);
    expect(eansOf(await it.register.lookup(home))).toEqual([ean(1)]);
    expect(it.codeboek.requests).toHaveLength(2);
  });

  test.each<[string, Fault, string]>([
    ["connection resets", faults.reset, "network"],
    ["answers cut short", faults.cut, "network"],
    ["500", faults.status(500), "status_500"],
    ["429", faults.status(429), "status_429"],
  ])(
    "§2 EAN register: nothing but %s: two retries with growing, jittered pauses, then no answer",
    async (_name, fault, reason) => {
      await using it = await stand();
      it.codeboek.always = fault;
      expect(await it.register.lookup(home)).toEqual(unavailable(reason));
      expect(it.codeboek.requests).toHaveLength(3);
      expect(it.clock.slept).toEqual([100, 200]);
    },
  );

  test.each<[string, Fault, string]>([
    ["HTML", faults.html, "malformed"],
    ["truncated JSON", faults.truncated, "malformed"],
    ["an endless body", faults.endless, "oversized"],
    ["400", faults.status(400), "status_400"],
    ["404", faults.status(404), "status_404"],
    ["a redirect", faults.status(302, { location: "https://elsewhere.invalid/" }), "status_302"],
  ])("§2 EAN register: %s is no answer and is not retried", async (_name, fault, reason) => {
    await using it = await stand();
    it.codeboek.always = fault;
    expect(await it.register.lookup(home)).toEqual(unavailable(reason));
    expect(it.codeboek.requests).toHaveLength(1);
    expect(it.clock.slept).toEqual([]);
  });

  test.each<[string, unknown]>([
    ["null", null],
    ["an empty object", {}],
    ["a list", []],
    ["points that are no list", { meteringPoints: {} }],
    ["a numeric EAN", { meteringPoints: [{ ...point(ean(1)), ean: Number(ean(1)) }] }],
    ["a 17-digit EAN", { meteringPoints: [{ ...point(ean(1)), ean: "87169480000000001" }] }],
    ["a house number in words", { meteringPoints: [{ ...point(ean(1)), address: { streetNumber: "acht" } }] }],
    ["a street with NUL", { meteringPoints: [{ ...point(ean(1)), address: { street: "a\u0000b" } }] }],
    ["a street with half a surrogate pair", { meteringPoints: [{ ...point(ean(1)), address: { city: "\ud800" } }] }],
    ["a street of 10,000 characters", { meteringPoints: [{ ...point(ean(1)), address: { street: "x".repeat(1e4) } }] }],
    ["more points than were asked for", { meteringPoints: Array.from({ length: 101 }, () => point(ean(1))) }],
  ])("§2 EAN register: %s is malformed, thus no answer", async (_name, body) => {
    await using it = await stand();
    it.codeboek.always = faults.json(body);
    expect(await it.register.lookup(home)).toEqual(unavailable("malformed"));
  });

  test("§2 EAN register: no body at all is malformed", async () => {
    await using it = await stand();
    it.codeboek.always = (response) => void response.writeHead(200).end();
    expect(await it.register.lookup(home)).toEqual(unavailable("malformed"));
  });

  test.each([
    ["2", [2_000]],
    ["0", [0]],
    ["Fri, 20 Nov 2026 12:00:03 GMT", [3_000]],
    ["Fri, 20 Nov 2026 11:00:00 GMT", [0]],
    ["soon", [100]],
  ])("§2 EAN register: Retry-After: %s is honoured", async (retry_after, slept) => {
    await using it = await stand();
    it.codeboek.queue.push(faults.status(429, { "retry-after": retry_after }));
    expect(eansOf(await it.register.lookup(home))).toEqual([ean(1)]);
    expect(it.clock.slept).toEqual(slept);
  });

  test("§2 EAN register: a Retry-After beyond the budget ends the lookup at once", async () => {
    await using it = await stand();
    it.codeboek.always = faults.status(429, { "retry-after": "60" });
    expect(await it.register.lookup(home)).toEqual(unavailable("status_429"));
    expect(it.clock.slept).toEqual([]);
    expect(it.codeboek.requests).toHaveLength(1);
  });

  test("§2 EAN register: the budget ends the retries", async () => {
    await using it = await stand(undefined, { limits: { budget_ms: 250 } });
    it.codeboek.always = faults.status(500);
    expect(await it.register.lookup(home)).toEqual(unavailable("status_500"));
    expect(it.clock.slept).toEqual([100]);
    expect(it.codeboek.requests).toHaveLength(2);
  });

  test("§2 EAN register: nobody listening is a network failure", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    await using it = await stand(undefined, { url: `http://127.0.0.1:${port}` });
    expect(await it.register.lookup(home)).toEqual(unavailable("network"));
  });
});

describe("§2 EAN register: the circuit", () => {
  test("§2 EAN register: opens after six failed attempts, answers without asking, closes on a good probe", async () => {
    await using it = await stand();
    it.codeboek.always = faults.status(500);
    await it.register.lookup(home);
    expect(it.register.known(home)).toBeNull();
    await it.register.lookup(home);
    expect(it.codeboek.requests).toHaveLength(6);

    expect(it.register.known(home)).toEqual(unavailable("circuit_open"));
    expect(await it.register.lookup(home)).toEqual(unavailable("circuit_open"));
    expect(it.codeboek.requests).toHaveLength(6);

    it.clock.at += 30_000;
    it.codeboek.always = null;
    expect(eansOf(await it.register.lookup(home))).toEqual([ean(1)]);
    expect(await it.register.lookup({ ...home, house_number: 9 })).toEqual(unknownAddress);
  });

  test("§2 EAN register: half open lets one attempt through; failing, it opens the circuit again", async () => {
    await using it = await stand();
    it.codeboek.always = faults.status(500);
    await it.register.lookup(home);
    await it.register.lookup(home);
    it.clock.at += 30_000;
    const answers = await Promise.all(
      [1, 2, 3, 4].map((house_number) => it.register.lookup({ ...home, house_number })),
    );
    expect(it.codeboek.requests).toHaveLength(7);
    expect(answers).toEqual([unavailable("status_500"), ...Array(3).fill(unavailable("circuit_open"))]);
    expect(it.register.known(home)).toEqual(unavailable("circuit_open"));
  });

  test("§2 EAN register: garbage opens it, refused questions and failures between good answers do not", async () => {
    await using it = await stand();
    const far = (nth: number) => it.register.lookup({ ...home, house_number: 100 + nth });
    it.codeboek.always = faults.status(400);
    for (let nth = 0; nth < 10; nth++) expect(await far(nth)).toEqual(unavailable("status_400"));
    it.codeboek.always = null;
    for (let nth = 0; nth < 10; nth++) {
      it.codeboek.queue.push(faults.html);
      expect(await far(nth)).toEqual(unavailable("malformed"));
      expect(await far(nth)).toEqual(unknownAddress);
    }
    it.codeboek.always = faults.html;
    for (let nth = 20; nth < 26; nth++) expect(await far(nth)).toEqual(unavailable("malformed"));
    expect(await far(30)).toEqual(unavailable("circuit_open"));
  });
});

describe("§2 EAN register: the cache", () => {
  test("§2 EAN register: a confirming answer is kept a day, one that would refuse only ten minutes", async () => {
    await using it = await stand();
    expect(it.register.known(home)).toBeNull();
    await it.register.lookup(home, ean(1));
    expect(eansOf(it.register.known(home, ean(1)))).toEqual([ean(1)]);
    expect(eansOf(it.register.known(home, ean(9)))).toEqual([ean(1)]);
    it.clock.at += 10 * minute;
    expect(it.register.known(home, ean(9))).toBeNull();
    it.clock.at += 24 * 60 * minute - 10 * minute - 1;
    expect(eansOf(it.register.known(home, ean(1)))).toEqual([ean(1)]);
    expect(eansOf(it.register.known(home))).toEqual([ean(1)]);
    it.clock.at += 1;
    expect(it.register.known(home, ean(1))).toBeNull();
    expect(it.codeboek.requests).toHaveLength(1);
  });

  test("§2 EAN register: an unknown address is kept ten minutes, no answer never", async () => {
    await using it = await stand([]);
    await it.register.lookup(home);
    expect(it.register.known(home)).toEqual(unknownAddress);
    it.clock.at += 10 * minute;
    expect(it.register.known(home)).toBeNull();
    it.codeboek.queue.push(faults.html);
    await it.register.lookup(home);
    expect(it.register.known(home)).toBeNull();
  });

  test("§2 EAN register: one address in other writing is one entry, another addition is another", async () => {
    await using it = await stand([point(ean(1)), point(ean(2), "A")]);
    await it.register.lookup({ ...home, house_number_addition: "a" });
    expect(eansOf(it.register.known({ ...home, postal_code: "3818 lh", house_number_addition: "-A" }))).toEqual([
      ean(2),
    ]);
    expect(it.register.known(home)).toBeNull();
  });

  test("§2 EAN register: full, it forgets the address that was used longest ago", async () => {
    await using it = await stand([], { limits: { cache_entries: 2 } });
    const at = (house_number: number) => ({ ...home, house_number });
    await it.register.lookup(at(1));
    await it.register.lookup(at(2));
    it.register.known(at(1));
    await it.register.lookup(at(3));
    expect([1, 2, 3].map((nth) => it.register.known(at(nth)) !== null)).toEqual([true, false, true]);
  });

  test("§2 EAN register: twenty at once for one address make one request, and after a failure the next asks again", async () => {
    await using it = await stand();
    it.codeboek.queue.push(faults.html);
    const failed = await Promise.all(Array.from({ length: 20 }, () => it.register.lookup(home)));
    expect(failed).toEqual(Array(20).fill(unavailable("malformed")));
    expect(it.codeboek.requests).toHaveLength(1);
    const found = await Promise.all(Array.from({ length: 20 }, () => it.register.lookup(home)));
    expect(found.map(eansOf)).toEqual(Array(20).fill([ean(1)]));
    expect(it.codeboek.requests).toHaveLength(2);
  });
});

test("§2 EAN register: the table driver points to the table, without input or output", async () => {
  const register = createEanRegister({ host: "production", driver: "table", url: null, fetch: refuse });
  expect(register.known(home)).toEqual({ source: "table" });
  expect(await register.lookup(home, ean(1))).toEqual({ source: "table" });
});

describe("§2 EAN register: the sandbox's test values", () => {
  const register = createEanRegister({ host: "sandbox", driver: "http", url: null, fetch: refuse });
  const known = (address: EanRegisterAddress, ean_code?: string) => {
    const answer = register.known(address, ean_code);
    if (!answer || !("outcome" in answer)) throw new Error("the sandbox always knows");
    return answer;
  };

  test.each(["871687000000000016", "871687000000000054", "871694800000000001", "871687000000000017"])(
    "§2 EAN register: sandbox EAN %s is at every address",
    async (ean_code) => {
      expect(known(home, ean_code)).toEqual({
        source: "sandbox",
        outcome: "points",
        points: [{ ean_code, street: "Teststraat", city: "Utrecht", house_number_addition: null }],
      });
      expect(await register.lookup(home, ean_code)).toEqual(known(home, ean_code));
    },
  );

  test.each([
    ["23", { source: "sandbox", outcome: "unavailable", reason: "silent" }],
    ["47", { source: "sandbox", outcome: "unknown_address" }],
    ["61", { source: "sandbox", outcome: "unavailable", reason: "timeout" }],
  ])("§2 EAN register: the sandbox EAN that ends in %s answers what it stands for", (digits, answer) => {
    expect(known(home, `8716870000000000${digits}`)).toEqual(answer);
  });

  test("§2 EAN register: sandbox EAN …30 is at an address that the register knows with another EAN", () => {
    const eans = eansOf(known(home, "871687000000000030"));
    expect(eans).toHaveLength(1);
    expect(eans).not.toContain("871687000000000030");
  });

  test("§2 EAN register: without an EAN the house number decides", () => {
    const at = (house_number: number) => known({ ...home, house_number });
    expect(at(47)).toEqual({ source: "sandbox", outcome: "unknown_address" });
    expect(at(61)).toEqual({ source: "sandbox", outcome: "unavailable", reason: "timeout" });
    expect(new Set(eansOf(at(78)) as string[]).size).toBe(2);
    expect(known({ ...home, house_number: 47 }, ean(1)).outcome).toBe("points");
  });

  test("§2 EAN register: the EAN of an address never changes, is a real GS1 code and no test value", () => {
    expect(eansOf(known(home))).toEqual(["871687132055338766"]);
    const address = fc.record({
      postal_code: fc.stringMatching(/^[1-9]\d{3}[A-Z]{2}$/),
      house_number: fc.integer({ min: 1, max: 99_999 }),
      house_number_addition: fc.option(fc.string({ maxLength: 10 })),
    });
    fc.assert(
      fc.property(address, (at) => {
        for (const ean_code of eansOf(known(at, "871687000000000030")) as string[]) {
          const sum = [...ean_code].reduce((total, digit, nth) => total + Number(digit) * (nth % 2 === 0 ? 3 : 1), 0);
          expect(ean_code).toMatch(/^\d{18}$/);
          expect(ean_code).not.toMatch(/^8716870000000000/);
          expect(sum % 10).toBe(0);
        }
      }),
    );
    const eans = Array.from({ length: 2_000 }, (_, nth) =>
      eansOf(known({ ...home, house_number: 100 + nth }))?.toString(),
    );
    expect(new Set(eans).size).toBe(2_000);
  });
});

function refuse(): Promise<Response> {
  throw new Error("this driver makes no request");
}
