// Random charges of a station with two connectors, copied by programs of the kinds that people run, over real lines to a real gateway.
// Messages, lines and the functions fail at random. What counts is never more than was delivered, nor less than two readings prove.

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Gateway } from "../../packages/gateway/src/gateway.ts";
import { runDueJobs } from "../harness/due_jobs.ts";
import { Charger, startTestGateway } from "../harness/ocpp.ts";
import { type Edge, serveEdge } from "../harness/ocpp_edge.ts";
import { createWorld, type World } from "../harness/world.ts";

/** All at once, each of a seed of its own. */
const STATIONS = Number(process.env.ERE_STATIONS ?? 60);
const SEED = Number(process.env.ERE_SEED ?? 1);

let world: World;
let edge: Edge;
let gateway: Gateway;
/** Chargers of which the gateway says that it lost frames: beyond its bound it counts and tells them. */
const lossy = new Set<string>();
beforeAll(async () => {
  world = await createWorld({ limits: "lifted", variables: { OCPP_GATEWAY_URL: "ws://gateway.test" } });
  edge = await serveEdge(world);
  gateway = await startTestGateway({ ...edge.settings, drainMs: 0 }, (event, fields) => {
    if (event === "frames_lost") lossy.add(String(fields?.charger_id));
  });
});
afterAll(async () => {
  await gateway?.stop();
  edge?.close();
  await world?.close();
});

/** Numbers from 0 to 1, the same for the same seed. */
function numbers(seed: number) {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const within = (from: number, to: number) => from + Math.floor(next() * (to - from + 1));
  return { next, within, oneOf: <T>(list: readonly T[]) => list[within(0, list.length - 1)] as T };
}

/** How other back offices number transactions; n counts from 0. `ours`: the id that our gateway gave to charge n. */
const NUMBERED: ((n: number, ours: (n: number) => unknown) => unknown)[] = [
  (n) => 9_007_199_254_740_000 + n,
  (n) => n + 1,
  (n) => `tx-${n}`,
  () => 0,
  () => -1,
  () => 5,
  (n, ours) => (n === 0 ? 1 : (ours(n - 1) ?? 1)),
];

type Charge = { n: number; connector: number; from: number; to: number; start: number; end: number };
/** What a station says. `id` is of the charge whose transaction it names; `wh` the reading that it tells of the charge. */
type Said = { time: number; action: string; payload: object; charge: Charge | null; names: boolean; wh?: number };

/** What a station says over some hours, what never leaves it, comes twice or late; and what it delivered. */
function station(seed: number) {
  const { next, within, oneOf } = numbers(seed);
  const is201 = next() < 0.3;
  const [hasValues, hasStatus, hasFaults] = [next() < 0.8, next() < 0.5, next() < 0.8];
  const charges: Charge[] = [];
  const day = Math.floor(Date.now() / 86_400_000 - 2) * 86_400_000;
  for (const connector of [1, 2]) {
    let time = day + within(0, 3_600) * 1_000;
    let register = within(0, 3) === 0 ? 100_000 : within(1, 200) * 1_000;
    for (let left = within(1, 4); left > 0; left -= 1) {
      const seconds = within(600, 5_400);
      const end = register + Math.floor((seconds / 3_600) * within(0, 20_000));
      charges.push({ n: 0, connector, from: time, to: time + seconds * 1_000, start: register, end });
      register = end;
      time += seconds * 1_000 + within(60, 3_600) * 1_000;
    }
  }
  charges.sort((one, other) => one.from - other.from);
  const iso = (time: number) => new Date(time).toISOString();
  const said: Said[] = [];
  const boot = is201
    ? { reason: "PowerUp", chargingStation: { vendorName: "Alfen BV", model: "NG910-60023" } }
    : { chargePointVendor: "Alfen BV", chargePointModel: "NG910-60023" };
  const boots = [day - 60_000, ...(next() < 0.3 ? [day + 4 * 3_600_000] : [])];
  for (const time of boots) said.push({ time, action: "BootNotification", payload: boot, charge: null, names: false });
  // a station of 2.0.1 may begin its ids again
  const source = oneOf([(n: number) => `s-${seed}-${n}`, (n: number) => `${n % 3}`]);
  for (const [n, charge] of charges.entries()) {
    charge.n = n;
    const { connector, from, to, start, end } = charge;
    const registerAt = (time: number) => Math.floor(start + ((end - start) * (time - from)) / (to - from));
    const say = (time: number, action: string, payload: object, wh?: number, names = true) =>
      said.push({ time, action, payload, charge, names, ...(wh === undefined ? {} : { wh }) });
    const sample = (time: number, more: object = {}) => [
      { timestamp: iso(time), sampledValue: [{ value: registerAt(time), ...more }] },
    ];
    const event = (eventType: string, time: number, context: string) =>
      say(
        time,
        "TransactionEvent",
        {
          ...{ eventType, timestamp: iso(time), triggerReason: "Trigger", seqNo: 0, evse: { id: connector } },
          transactionInfo: { transactionId: source(n) },
          meterValue: sample(time, { context }),
        },
        registerAt(time),
        false,
      );
    if (is201) event("Started", from, "Transaction.Begin");
    else
      say(
        from,
        "StartTransaction",
        { connectorId: connector, idTag: "A", timestamp: iso(from), meterStart: start },
        start,
        false,
      );
    for (let time = from + 300_000; hasValues && time < to; time += 600_000)
      if (is201) event("Updated", time, "Sample.Periodic");
      else say(time, "MeterValues", { connectorId: connector, meterValue: sample(time) }, registerAt(time));
    if (is201) event("Ended", to, "Transaction.End");
    else say(to, "StopTransaction", { timestamp: iso(to), meterStop: end });
    const free = { connectorId: connector, status: "Finishing", errorCode: "NoError", timestamp: iso(to + 1) };
    if (hasStatus && !is201) say(to + 1, "StatusNotification", free, undefined, false);
  }
  const kept: Said[] = [];
  for (const each of said) {
    if (hasFaults && next() < 0.12) continue;
    kept.push(each);
    if (hasFaults && next() < 0.1) kept.push({ ...each, time: each.time + within(1, 900) * 1_000 });
    if (hasFaults && next() < 0.05) each.time += within(1, 600) * 1_000;
  }
  kept.sort((one, other) => one.time - other.time);
  return { said: kept, charges, protocol: is201 ? "ocpp2.0.1" : "ocpp1.6" };
}

/** What a program does when its line fails, and with the ids of the other back office. */
const KINDS = {
  forgets: { keeps: false, translates: false },
  "keeps on disk": { keeps: true, translates: false },
  "translates ids": { keeps: true, translates: true },
};
type Copy = {
  kind: (typeof KINDS)[keyof typeof KINDS];
  connect: () => Promise<Charger>;
  said: readonly Said[];
  numbered: (typeof NUMBERED)[number];
  /** The ids that we gave, by charge. */
  ours: Map<number, number>;
  random: ReturnType<typeof numbers>;
};

/** Copies what a station says. @returns what arrived for certain */
async function copy({ kind, connect, said, numbered, ours, random }: Copy): Promise<Set<Said>> {
  const arrived = new Set<Said>();
  const underway: Promise<unknown>[] = [];
  let onLine: Said[] = [];
  let line: Charger | null = await connect();
  const tell = async (each: Said, by: Charger) => {
    const { charge, names } = each;
    const foreign = charge ? numbered(charge.n, (n) => ours.get(n)) : null;
    const own = charge && kind.translates ? ours.get(charge.n) : undefined;
    const answer = await by.call(
      each.action,
      names ? { ...each.payload, transactionId: own ?? foreign } : each.payload,
    );
    if (answer?.[0] === 3) arrived.add(each);
    const id = (answer?.[2] as { transactionId?: number } | undefined)?.transactionId;
    if (charge && id !== undefined) ours.set(charge.n, id);
    return answer;
  };
  for (const each of said) {
    const fails = random.next();
    if (kind.keeps) {
      for (let isTold = false; !isTold; ) {
        line ??= await connect();
        const told = tell(each, line);
        if (!isTold && fails < 0.04 && random.next() < 0.5) line.socket.terminate();
        isTold = (await told) !== null;
        if (!isTold) line = null;
      }
      continue;
    }
    if (!line) {
      // what is said meanwhile is forgotten
      if (fails < 0.7) continue;
      line = await connect();
      onLine = [];
    }
    underway.push(tell(each, line));
    onLine.push(each);
    // the other back office is behind
    if (each.action === "StartTransaction") await underway.at(-1);
    if (fails < 0.02) line.socket.terminate();
    else if (fails < 0.04) {
      // what was sent before the close arrives before it, unless the gateway began to close first
      const codes: number[] = [];
      line.socket.once("close", (code) => codes.push(code));
      await line.close();
      if (codes[0] === 1005) for (const sent of onLine) arrived.add(sent);
    }
    if (fails < 0.04) line = null;
  }
  await Promise.all(underway);
  await line?.close();
  return arrived;
}

test("contract §6 what mirrors copy of random charges counts never more than was delivered, nor less than two readings prove that the gateway did not tell as lost", async () => {
  process.stdout.write(`${STATIONS} stations; ERE_STATIONS says how many, and ERE_SEED the first seed, ${SEED}\n`);
  const wrong: object[] = [];
  const one = async (seed: number) => {
    const random = numbers(-seed);
    const { said, charges, protocol } = station(seed);
    const user = await world.addUser();
    const { body } = await world.post("/chargers", { nickname: "Oprit", connection_type: "ocpp" }, await user.token());
    const { identity, password, mirror_endpoint } = body.ocpp;
    const numbered = random.oneOf(NUMBERED);
    const ours = new Map<number, number>();
    const connecting = (isOwn: boolean) => async () => {
      const path = isOwn ? `/${identity}` : `${new URL(mirror_endpoint).pathname}/NL*ABC*E1`;
      for (let patience = 0; patience < 200; patience += 1) {
        const line = await Charger.connect(gateway.url, identity, { password, path, protocols: [protocol] }).catch(
          () => null,
        );
        if (line) return line;
        await sleep(100);
      }
      throw new Error("nobody admits the mirror");
    };
    const kinds = Object.values(KINDS);
    const first = kinds[seed % 3] as (typeof kinds)[number];
    const copies = [first, ...(random.next() < 0.2 ? [random.oneOf(kinds)] : [])];
    const arrived = await Promise.all(
      copies.map((kind, n) =>
        copy({ kind, connect: connecting(seed % 2 === n), said, numbered, ours, random: numbers(seed * 7 + n) }),
      ),
    );
    return { seed, charger: body.id as string, charges, arrived: new Set(arrived.flatMap((each) => [...each])) };
  };
  const running = Promise.all(Array.from({ length: STATIONS }, (_, n) => one(SEED + n)));
  // twice the functions are away
  for (const at of [400, 3_000]) {
    await sleep(at);
    edge.isAway = true;
    await sleep(1_200);
    edge.isAway = false;
  }
  const copied = await running;
  await gateway.stop();
  await world.freeze(new Date(Date.now() + 3 * 86_400_000).toISOString());
  // of a hundred owners at a time
  for (let n = 0; n < STATIONS; n += 50) await runDueJobs(world);
  for (const { seed, charger, charges, arrived } of copied)
    for (const connector of [1, 2]) {
      const { counted } = await world.row(
        "select coalesce(sum(wh) filter (where counted), 0)::int as counted from core.charging_sessions where charger_id = $1 and connector = $2",
        charger,
        connector,
      );
      const here = charges.filter((charge) => charge.connector === connector);
      const delivered = here.reduce((sum, { start, end }) => sum + end - start, 0);
      const proved = here.reduce((sum, charge) => {
        const readings = [...arrived].flatMap((each) =>
          each.charge === charge && each.wh !== undefined ? [each.wh] : [],
        );
        return sum + (readings.length > 1 ? Math.max(...readings) - Math.min(...readings) : 0);
      }, 0);
      if (counted > delivered + 50 || (counted < proved - 50 && !lossy.has(charger)))
        wrong.push({ seed, connector, counted, delivered, proved, lossy: lossy.has(charger) });
    }
  expect(wrong).toEqual([]);
  expect(lossy.size, "what is lost is the exception").toBeLessThan(STATIONS / 10);
}, 60_000);
