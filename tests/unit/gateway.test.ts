// The process that keeps chargers' connections, against an HTTP server that answers as the edge function does.

import { once } from "node:events";
import { createServer } from "node:http";
import net, { type AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Failures, Spread } from "../../packages/gateway/src/admissions.ts";
import { Superseded, type Told } from "../../packages/gateway/src/function.ts";
import type { Gateway } from "../../packages/gateway/src/gateway.ts";
import { identityOf, mirrorOf, passwordFor, protocolOf } from "../../packages/gateway/src/handshake.ts";
import { Inbox, type Line, type Received } from "../../packages/gateway/src/inbox.ts";
import type { Log } from "../../packages/gateway/src/log.ts";
import { Metrics } from "../../packages/gateway/src/metrics.ts";
import { readProxyHeader } from "../../packages/gateway/src/proxy_protocol.ts";
import { readSettings, type Settings } from "../../packages/gateway/src/settings.ts";
import { basic, Charger, PASSWORD, refusedWith, startTestGateway } from "../harness/ocpp.ts";

/** The contract of the edge function, kept in memory. */
class Contract {
  told: Told[] = [];
  admitted: unknown[] = [];
  seen: string[] = [];
  silent: string[] = [];
  gone: { charger_id: string; generation: number }[] = [];
  /** What the next calls are answered instead: a status, or "silence". */
  faults: (number | "silence")[] = [];
  delayMs = 0;
  /** Until then it answers a space now and then. */
  heldUntil = 0;
  generation = 0;
  /** The first generation that may speak. */
  validFrom = new Map<string, number>();
  /** Whether a charger's model is known. */
  identified = true;
  readonly server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const body = JSON.parse(text);
    const fault = this.faults.shift();
    await sleep(this.delayMs);
    if (fault === "silence") return void response.destroy();
    if (fault !== undefined) return void response.writeHead(fault).end("{}");
    while (performance.now() < this.heldUntil) {
      response.write(" ");
      await sleep(50);
    }
    const answer = (value: object) => response.end(JSON.stringify(value));
    if (request.url?.endsWith("/chargers:admit")) {
      this.admitted.push(body);
      if (body.password !== PASSWORD) return void answer({ ok: false });
      this.generation += 1;
      const charger_id = body.identity ?? "of the mirror";
      return void answer({ ok: true, charger_id, generation: this.generation, identified: this.identified });
    }
    if (request.url?.endsWith("/seen")) {
      for (const { charger_id, silent } of body.chargers) (silent ? this.silent : this.seen).push(charger_id);
      return void answer({ gone: this.gone });
    }
    if (body.generation < (this.validFrom.get(body.charger_id) ?? 1)) return void response.writeHead(409).end("{}");
    this.told.push(body);
    answer({ answers: body.messages.map(({ action }: { action: string }) => ({ payload: { to: action } })) });
  });
}

const handshakeOf = (identity: string) =>
  `GET /${identity} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nAuthorization: ${basic(identity, PASSWORD)}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`;

const ANSWERED = [3, expect.any(String), expect.any(Object)];

let contract: Contract;
let gateway: Gateway;
const start = async (settings: Partial<Settings> = {}, log?: Log) => {
  const { port } = contract.server.address() as AddressInfo;
  gateway = await startTestGateway(
    { functionUrl: `http://127.0.0.1:${port}/ocpp`, callMs: 3_000, drainMs: 0, ...settings },
    log,
  );
};
const messages = () =>
  contract.told.flatMap((each) => each.messages.map(({ action, payload }) => ({ action, payload })));
const actions = () => messages().map(({ action }) => action);

beforeEach(async () => {
  contract = new Contract();
  await new Promise<void>((resolve) => contract.server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  vi.useRealTimers();
  await gateway?.stop();
  contract.server.closeAllConnections();
  contract.server.close();
});

describe("who may connect", () => {
  test("contract §6 the last segment of the path is the identity", () => {
    expect(["/a", "/ocpp/A-b_1", "/a/", "/a//?x=/y", "/%61"].map(identityOf)).toEqual(["a", "A-b_1", "a", "a", "a"]);
    expect(["/NL*ABC*E1", "/a:b=c+d|e@f.g", "/my%20box"].map(identityOf)).toEqual([
      "NL*ABC*E1",
      "a:b=c+d|e@f.g",
      "my box",
    ]);
    expect(["/", "", "/%ZZ", "/a%2fb", "/a%00", `/${"x".repeat(65)}`, "/é"].map(identityOf)).toEqual(
      Array(7).fill(null),
    );
  });

  test("contract §6 the address of a mirror has its secret after m, whatever follows", () => {
    for (const path of ["", "/", "/NL*ABC*E00001", "//%ZZ/x?y=1", "NL*ABC*E1", "-NL1", "%20", "E1"])
      expect([`/m/${PASSWORD}${path}`, `/ocpp/m/${PASSWORD.toUpperCase()}${path}`].map(mirrorOf)).toEqual([
        PASSWORD,
        PASSWORD,
      ]);
    expect([`/m/${PASSWORD.slice(1)}`, `/xm/${PASSWORD}`, `/a?p=/m/${PASSWORD}`, `/m/m/x`].map(mirrorOf)).toEqual(
      Array(4).fill(null),
    );
    // a secret elsewhere is no identity: the log would have it
    for (const path of [
      `/${PASSWORD}`,
      `/xm/NL1-${PASSWORD.toUpperCase()}`,
      `/%30${PASSWORD.slice(1)}x`,
      `/m%2F${PASSWORD}`,
      `/m/${PASSWORD.slice(1)}`,
      `/ocpp/m/${PASSWORD.slice(20)}/NL1`,
    ])
      expect(identityOf(path)).toBeNull();
  });

  test("contract §6 the first protocol of the list that we speak is taken, and written as it was offered", () => {
    expect(protocolOf(undefined)).toEqual({ protocol: "ocpp1.6", offered: null });
    expect(protocolOf("OCPP1.6")).toEqual({ protocol: "ocpp1.6", offered: "OCPP1.6" });
    expect(protocolOf("ocpp2.1, ocpp2.0.1,ocpp1.6,")).toEqual({ protocol: "ocpp2.0.1", offered: "ocpp2.0.1" });
    expect(protocolOf("ocpp2.1, ocpp1.5")).toBeNull();
  });

  test("contract §6 the password is 16 to 40 hexadecimal digits, or the bytes they stand for", () => {
    const read = (password: string | Buffer) => passwordFor("a", basic("a", password), "/a");
    expect(read(PASSWORD)).toBe(PASSWORD);
    expect(read(PASSWORD.toUpperCase())).toBe(PASSWORD);
    expect(read(Buffer.from(PASSWORD, "hex"))).toBe(PASSWORD);
    // a byte of it is a colon
    expect(read(Buffer.from("3a".repeat(20), "hex"))).toBe("3a".repeat(20));
    for (const length of [16, 18, 20, 32]) {
      const short = PASSWORD.slice(0, length);
      expect([read(short), read(short.toUpperCase()), read(Buffer.from(short, "hex"))]).toEqual([short, short, short]);
    }
    expect(read("0123456789abcdef0")).toBe("0123456789abcdef0");
    // a wrong one of any form is asked about too, so that its owner is told
    expect(read("short")).toBe("short");
    expect(read("x".repeat(300))).toHaveLength(200);
    // none: its owner is told as well
    for (const header of [undefined, "", "Bearer x", "Basic", "Basic !!", "Basic Og==", basic("b", PASSWORD)])
      expect(passwordFor("a", header, "/a")).toBe("");
    for (const scheme of ["Basic\t", "Basic: ", "basic:", "BASIC  "])
      expect(passwordFor("a", basic("a", PASSWORD).replace("Basic ", scheme), "/a")).toBe(PASSWORD);
    // an identity with a colon
    expect(passwordFor("a:b", basic("a:b", PASSWORD), "/a:b")).toBe(PASSWORD);
    // for a charger with nothing but an address field; a header wins
    expect(passwordFor("a", undefined, `/a?x=1&auth=${PASSWORD.toUpperCase()}#y`)).toBe(PASSWORD);
    expect(passwordFor("a", undefined, `/a?auth=${PASSWORD}/NL*ABC*E1`), "an identity added to the end").toBe(PASSWORD);
    expect(passwordFor("a", basic("a", "other"), `/a?auth=${PASSWORD}`)).toBe("other");
  });

  test("contract §6 odd paths and protocols are refused, and the gateway goes on", async () => {
    await start();
    for (const path of ["/%ZZ", "/", "//", "/a%00"]) expect(await refusedWith(gateway.url, "a", { path })).toBe(400);
    expect(await refusedWith(gateway.url, "a", { protocols: ["ocpp2.1"] })).toBe(400);
    expect(contract.admitted).toEqual([]);
    expect(await refusedWith(gateway.url, "a", { path: "/b" })).toBe(401);
    expect(await refusedWith(gateway.url, "a", { headers: { Authorization: "" } })).toBe(401);
    // asked about, so that the owners are told
    expect(contract.admitted).toEqual(["b", "a"].map((identity) => ({ identity, password: "" })));
    const charger = await Charger.connect(gateway.url, "a", { path: "/ocpp/a/", protocols: ["OCPP1.6"] });
    expect(charger.socket.protocol).toBe("OCPP1.6");
    const none = await Charger.connect(gateway.url, "b", { protocols: [] });
    expect(none.socket.protocol).toBe("");
    await Promise.all([charger.close(), none.close()]);
    expect((await fetch(gateway.url.replace("ws", "http"))).status).toBe(426);
  });

  test("contract §6 of wrong passwords at the same moment ten are asked about, and only that address is limited", async () => {
    const lines: unknown[] = [];
    await start({ clientAddress: { header: "x-forwarded-for", entry: 1 } }, (...line) => void lines.push(line));
    contract.delayMs = 20;
    const attempt = (password: string, address: string) =>
      refusedWith(gateway.url, "a", { password, headers: { "x-forwarded-for": `6.6.6.6, ${address}` } });
    const statuses = await Promise.all(Array.from({ length: 40 }, () => attempt("f".repeat(40), "192.0.2.1")));
    expect(statuses.sort()).toEqual([...Array(10).fill(401), ...Array(30).fill(429)]);
    expect(contract.admitted).toHaveLength(10);
    expect(lines.slice(1), "one line, without the password").toEqual([["password_refused", { identity: "a" }]]);
    expect(await attempt(PASSWORD, "192.0.2.2")).toBe(101);
  });

  test("contract §6 an address with a hundred failures is limited for every identity that failed there", () => {
    const failures = new Failures();
    // one that succeeded, or that nobody judged, is none
    for (let n = 0; n < 200; n += 1) failures.begin("right", "192.0.2.1")(false);
    for (let n = 0; n < 99; n += 1) failures.begin(`id${n}`, "192.0.2.1")(true);
    expect(failures.isOver("right", "192.0.2.1")).toBe(false);
    failures.begin("id1", "192.0.2.1")(true);
    expect(failures.isOver("id1", "192.0.2.1")).toBe(true);
    expect(failures.isOver("id1", "192.0.2.2")).toBe(false);
    // a vendor's cloud has one address for many: who gives the right password is let in
    expect(failures.isOver("right", "192.0.2.1")).toBe(false);
    expect(failures.isOver("fresh", "192.0.2.1")).toBe(false);
    // a mirror's platform has one address for many: only what it repeats is limited
    expect(failures.isOver("mirror x", "192.0.2.1", true)).toBe(false);
    for (let n = 0; n < 100; n += 1) failures.begin(`mirror ${n}`, "192.0.2.3", true)(true);
    expect(failures.isOver("fresh", "192.0.2.3")).toBe(false);
    for (let n = 0; n < 10; n += 1) failures.begin("mirror x", "192.0.2.1", true)(true);
    expect(failures.isOver("mirror x", "192.0.2.1", true)).toBe(true);
    // nor do failures of one identity from many addresses lock out the charger, which has another
    for (let n = 0; n < 500; n += 1) failures.begin("mine", `198.51.100.${n}`)(true);
    expect(failures.isOver("mine", "192.0.2.2")).toBe(false);
  });

  test("contract §6 beyond the most connections a charger is told when to come back", async () => {
    await start({ mostConnections: 1 });
    const first = await Charger.connect(gateway.url, "a");
    expect(await refusedWith(gateway.url, "b")).toBe(503);
    await first.close();
    await expect.poll(() => refusedWith(gateway.url, "b")).toBe(101);
  });

  test("contract §6 admissions wait for their turn, and one that left is passed over", async () => {
    const spread = new Spread(5);
    const order: number[] = [];
    const enter = (n: number, address: string) => spread.enter(address, async () => void order.push(n));
    const leave = Array.from({ length: 10 }, (_, n) => enter(n, "192.0.2.1"));
    expect(order).toEqual([0, 1, 2, 3, 4]);
    leave[5]?.();
    // an address that waits with many does not keep another one out
    enter(10, "192.0.2.2");
    await expect.poll(() => order, { interval: 10 }).toEqual([0, 1, 2, 3, 4, 6, 10, 7, 8, 9]);
    // nor does it take all the places
    const places = Array.from({ length: 800 }, () => enter(0, "192.0.2.1"));
    expect(places.filter((place) => place === null)).toHaveLength(50);
    expect(enter(0, "192.0.2.2")).not.toBeNull();
    for (const place of places) place?.();
  });

  test("contract §6 a charger that has closed its side while it waits has no turn", async () => {
    await start({ admissionsPerSecond: 1 });
    const first = await Charger.connect(gateway.url, "a");
    const { port } = new URL(gateway.url);
    for (const identity of ["b", "c", "d"]) {
      const gone = net.connect({ port: Number(port), host: "127.0.0.1", allowHalfOpen: true });
      gone.end(handshakeOf(identity));
      gone.resume().on("error", () => {});
    }
    await sleep(50);
    const second = await Charger.connect(gateway.url, "e");
    expect(contract.admitted).toMatchObject([{ identity: "a" }, { identity: "e" }]);
    await Promise.all([first.close(), second.close()]);
  });

  test("contract §6 the PROXY protocol names the charger's address, in both versions", async () => {
    const v1 = Buffer.from("PROXY TCP4 192.0.2.7 10.0.0.1 4000 443\r\nGET");
    expect(readProxyHeader(v1)).toEqual({ length: v1.length - 3, address: "192.0.2.7" });
    expect(readProxyHeader(v1.subarray(0, 4))).toBe("more");
    expect(readProxyHeader(Buffer.from("PROXY UNKNOWN\r\n"))).toEqual({ length: 15, address: null });
    const v2 = Buffer.from("0d0a0d0a000d0a515549540a2111000cc00002070a0000010fa001bb", "hex");
    expect(readProxyHeader(v2)).toEqual({ length: 28, address: "192.0.2.7" });
    expect(readProxyHeader(v2.subarray(0, 20))).toBe("more");
    expect(readProxyHeader(Buffer.from("GET / HTTP/1.1\r\n"))).toBeNull();
    expect(readProxyHeader(Buffer.from(`PROXY ${"x".repeat(200)}`))).toBeNull();

    await start({ clientAddress: "proxy" });
    const { port } = new URL(gateway.url);
    const answer = await new Promise<string>((resolve) => {
      const socket = net.connect(Number(port), "127.0.0.1");
      let text = "";
      socket.on("data", (part) => {
        text += part;
      });
      socket.on("close", () => resolve(text));
      socket.write("PROXY TCP4 192.0.2.7 10.0.0.1 4000 443\r\n");
      socket.write("GET /a HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
    });
    expect(answer).toMatch(/^HTTP\/1.1 401 /);
    // straight to it, past the balancer
    expect(await refusedWith(gateway.url, "a")).toBe(0);
  });

  test("contract §6 a thousand silent connections of one IPv6 network stop no charger of another", async () => {
    await start({ clientAddress: "proxy", mostConnections: 1 });
    const { port } = new URL(gateway.url);
    const from = (address: string, text = "") => {
      const socket = net.connect(Number(port), "127.0.0.1").on("error", () => {});
      socket.write(`PROXY TCP6 ${address} 2001:db8::1 4000 443\r\n${text}`);
      return socket.resume();
    };
    // as many as the gateway has places for
    const silent = Array.from({ length: 1_001 }, (_, n) => from(`2001:db8:0:1::${n.toString(16)}`));
    const open = () => silent.filter(({ closed }) => !closed).length;
    await expect.poll(open, { timeout: 10_000 }).toBe(64);
    const charger = from("2001:db8:0:2::1", handshakeOf("a"));
    const [answer] = await once(charger, "data");
    expect(String(answer)).toMatch(/^HTTP\/1.1 101 /);
    for (const socket of [...silent, charger]) socket.destroy();
  });

  test("contract §6 a connection that sends nothing, or half a request, is ended after 10 seconds", async () => {
    await start();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { port } = new URL(gateway.url);
    const sockets = ["", "GET /a HTTP/1.1\r\nHost: x\r\n"].map((text) => {
      const socket = net.connect(Number(port), "127.0.0.1").on("error", () => {});
      socket.write(text);
      return socket.resume();
    });
    const charger = await Charger.connect(gateway.url, "a");
    vi.advanceTimersByTime(9_999);
    await sleep(50);
    expect(sockets.map(({ closed }) => closed)).toEqual([false, false]);
    vi.advanceTimersByTime(1);
    vi.useRealTimers();
    await expect.poll(() => sockets.map(({ closed }) => closed)).toEqual([true, true]);
    expect(await charger.call("Heartbeat", {})).toMatchObject(ANSWERED);
    await charger.close();
  });

  test("contract §6 two hundred chargers of one address that connect at once are all admitted", async () => {
    await start();
    const chargers = await Promise.all(Array.from({ length: 200 }, (_, n) => Charger.connect(gateway.url, `a${n}`)));
    await Promise.all(chargers.map((charger) => charger.close()));
  });

  test("contract §6 the addresses of one IPv6 network are limited as one", async () => {
    await start({ clientAddress: { header: "x-forwarded-for", entry: 1 } });
    const attempt = (address: string) =>
      refusedWith(gateway.url, "a", { password: "f".repeat(40), headers: { "x-forwarded-for": address } });
    for (let n = 0; n < 10; n += 1) expect(await attempt(`2001:DB8:0:1::${n}`)).toBe(401);
    expect(await attempt("2001:db8:0:1:ffff::")).toBe(429);
    expect(await attempt("2001:db8:0:2::1")).toBe(401);
  });

  test("contract §6 the gateway says which variables are wrong, and no value", () => {
    expect(() =>
      readSettings({ GATEWAY_FUNCTION_URL: "http://example.com", GATEWAY_SECRET: "hush", PORT: "x" }),
    ).toThrow(/GATEWAY_FUNCTION_URL: .*GATEWAY_SECRET: .*PORT: /);
    expect(() => readSettings({ GATEWAY_SECRET: "hush" })).not.toThrow(/hush/);
    const good = { GATEWAY_FUNCTION_URL: "https://x.example/functions/v1/ocpp/", GATEWAY_SECRET: "s".repeat(32) };
    expect(readSettings({ ...good, CLIENT_ADDRESS: "x-real-ip:2" })).toMatchObject({
      functionUrl: "https://x.example/functions/v1/ocpp",
      clientAddress: { header: "x-real-ip", entry: 2 },
      port: 8080,
    });
  });
});

describe("messages", () => {
  test("contract §6 a line without a protocol is of 2.0.1 from the first message that only that has", async () => {
    await start({ valuesMs: 0 });
    const boot = { chargingStation: { vendorName: "V", model: "M" }, reason: "PowerUp" };
    const values = { evseId: 1, meterValue: [] };
    for (const [action, payload, protocols] of [
      ["BootNotification", boot, []],
      ["TransactionEvent", {}, []],
      ["MeterValues", values, []],
      ["BootNotification", {}, []],
      ["BootNotification", boot, ["ocpp1.6"]],
    ] as const) {
      const charger = await Charger.connect(gateway.url, "CP1", { protocols: [...protocols] });
      await charger.call("StatusNotification", {});
      await charger.call(action, payload);
      await charger.close();
    }
    const protocols = contract.told.map(({ protocol }) => protocol.slice(4));
    expect(protocols).toEqual(["1.6", "2.0.1", "1.6", "2.0.1", "1.6", "2.0.1", "1.6", "1.6", "1.6", "1.6"]);
  });

  test("contract §6 messages are passed on one at a time, in order, and answered", async () => {
    contract.delayMs = 5;
    await start();
    const charger = await Charger.connect(gateway.url, "a");
    const sent = Array.from({ length: 30 }, (_, n) => `Action${n}`);
    const answers = await Promise.all(sent.map((action) => charger.call(action, { n: 1 })));
    expect(answers.map((answer) => answer?.[2])).toEqual(sent.map((to) => ({ to })));
    expect(actions()).toEqual(sent);
    expect(contract.told[0]).toMatchObject({ charger_id: "a", generation: 1, protocol: "ocpp1.6" });
    expect(contract.told[0]?.messages[0]).toMatchObject({ live: false });
    expect(contract.told[0]?.messages[0]?.sent_sha256).toMatch(/^[0-9a-f]{64}$/);
    await charger.close();
  });

  test("contract §6 the same message id again gets the same answer, and is not passed on", async () => {
    await start();
    const charger = await Charger.connect(gateway.url, "a");
    const first = await charger.call("StartTransaction", { n: 1 }, "x");
    expect(await charger.call("StartTransaction", { n: 1 }, "x")).toEqual(first);
    expect(actions()).toEqual(["StartTransaction"]);
    // a charger that begins its ids again says something else
    expect(await charger.call("StopTransaction", { n: 2 }, "x")).toMatchObject([3, "x", { to: "StopTransaction" }]);
    expect(actions()).toEqual(["StartTransaction", "StopTransaction"]);
    await charger.close();
  });

  test("contract §6 heartbeats and the main meter's values cost no request", async () => {
    await start({ seenMs: 50 });
    const charger = await Charger.connect(gateway.url, "a");
    expect(await charger.call("Heartbeat", {})).toMatchObject([3, "m1", { currentTime: expect.stringMatching(/Z$/) }]);
    expect(await charger.call("MeterValues", { connectorId: 0, meterValue: [] })).toMatchObject([3, "m2", {}]);
    expect(contract.told).toEqual([]);
    await expect.poll(() => contract.seen).toContain("a");
    await charger.close();
  });

  test("contract §6 values that come fast are passed on together, before the message that needs them", async () => {
    await start();
    const charger = await Charger.connect(gateway.url, "a");
    const values = (n: number, context = "Sample.Periodic") => ({ connectorId: 1, n, meterValue: [{ context, n }] });
    for (const n of [1, 2, 3]) await charger.call("MeterValues", values(n));
    await charger.call("MeterValues", { ...values(9), connectorId: 2 });
    expect(messages().map(({ payload }) => (payload as { n: number }).n)).toEqual([1]);
    await charger.call("StopTransaction", { n: 4 });
    expect(messages().map(({ payload }) => (payload as { n: number }).n)).toEqual([1, 3, 9, 4]);
    expect(contract.told).toHaveLength(2);
    // a reading that comes after another may be an older one, or none
    expect(messages()[1]?.payload).toMatchObject({ meterValue: [{ n: 2 }, { n: 3 }] });
    for (const context of ["Transaction.End", "transaction.begin"]) {
      await charger.call("MeterValues", values(5, context));
      expect(messages().at(-1)?.payload).toMatchObject({ meterValue: [{ context }] });
    }
    // written with an escape, and larger than what is held back
    charger.socket.send('[2,"e","MeterValues",{"connectorId":1,"meterValue":[{"context":"Transaction\\u002eEnd"}]}]');
    await expect.poll(() => contract.told).toHaveLength(5);
    await charger.call("MeterValues", values(6, "x".repeat(9_000)));
    expect(contract.told).toHaveLength(6);
    // together larger than that
    for (const n of [7, 8]) await charger.call("MeterValues", values(n, "x".repeat(4_200)));
    expect(contract.told.at(-1)?.messages).toHaveLength(2);
    await charger.close();
  });

  test("contract §6 values that are held back are passed on in time, and when the connection ends", async () => {
    await start({ valuesMs: 100 });
    const charger = await Charger.connect(gateway.url, "a", { protocols: ["ocpp2.0.1"] });
    const updated = (n: number) => ({
      eventType: "Updated",
      n,
      transactionInfo: { transactionId: "t" },
      meterValue: [{}],
    });
    await charger.call("TransactionEvent", updated(1));
    // one that names the EVSE is not replaced by one that does not
    await charger.call("TransactionEvent", { ...updated(2), evse: { id: 2 } });
    expect(await charger.call("TransactionEvent", updated(3))).toMatchObject([3, "m3", {}]);
    await expect.poll(() => messages().map(({ payload }) => (payload as { n: number }).n)).toEqual([1, 2, 3]);
    await charger.call("TransactionEvent", updated(4));
    await charger.close();
    await expect.poll(() => messages().map(({ payload }) => (payload as { n: number }).n)).toEqual([1, 2, 3, 4]);
  });

  test("contract §6 frames that are none are refused in the words of the protocol, and end a connection in the end", async () => {
    await start();
    for (const [protocol, code] of [
      ["ocpp1.6", "FormationViolation"],
      ["ocpp2.0.1", "RpcFrameworkError"],
    ] as const) {
      const charger = await Charger.connect(gateway.url, "a", { protocols: [protocol] });
      const deep = (levels: number) => `${'{"x":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`;
      const id = (length: number) => `[2,"${"i".repeat(length)}","Heartbeat",{}]`;
      // signs of life of other programs, and answers to calls that we never sent
      for (const text of ["", "null", "__pong__", '[3,"x",{}]', "[3,null,{}]", '[4,"","InternalError","",{}]'])
        charger.socket.send(text);
      for (const text of [
        "{",
        "{}",
        "[]",
        '[2,"","Heartbeat",{}]',
        '[2,1e30,"Heartbeat",{}]',
        '[2,true,"Heartbeat",{}]',
        `[2,"d","X",${deep(50)}]`,
        `[2,"d","X",${deep(1_000)}]`,
        '[9,"x",{}]',
        id(257),
      ])
        charger.socket.send(text);
      await expect.poll(() => charger.frames).toEqual(Array(10).fill([4, "-1", code, "", {}]));
      expect(await charger.call("Heartbeat", {}, "i".repeat(256))).toMatchObject(ANSWERED);
      expect(await charger.call("X", JSON.parse(deep(49)))).toMatchObject(ANSWERED);
      // a frame that is one begins the count again
      for (let n = 0; n < 19; n += 1) charger.socket.send("[");
      expect(await charger.call("Heartbeat", {})).toMatchObject(ANSWERED);
      for (let n = 0; n < 20; n += 1) charger.socket.send("[");
      expect(await charger.closed).toMatchObject({ code: 1008 });
    }
  });

  test("contract §6 a frame is read though its texts have signs that JSON forbids, its id is a number, or its kind a text", async () => {
    await start();
    const charger = await Charger.connect(gateway.url, "a");
    const frames = [
      '\u{FEFF}[2,"1","X",{"n":1}]',
      '[2,"2","X",{"n":2}]\0\0',
      '[2,"3\0","X",{"n":3,"info":"a\0b"}]',
      '[2,"4","X",{"n":4,"info":"two\r\nlines\tand \u001b signs"}]',
      '\n[2,5,"X",{"n":5}]\r\n',
      '[2,-6,"X",{"n":6}]',
      '["2","7","X",{"n":7}]',
    ];
    for (const frame of frames) charger.socket.send(frame);
    await expect
      .poll(() => charger.frames.map((frame) => (frame as unknown[]).slice(0, 2)))
      .toEqual([
        [3, "1"],
        [3, "2"],
        [3, "3"],
        [3, "4"],
        [3, 5],
        [3, -6],
        [3, "7"],
      ]);
    expect(messages().map(({ payload }) => payload)).toEqual([
      { n: 1 },
      { n: 2 },
      { n: 3, info: "ab" },
      { n: 4, info: "two  lines and  signs" },
      { n: 5 },
      { n: 6 },
      { n: 7 },
    ]);
  });

  test("contract §6 a frame of 257 KiB ends the connection, one of 255 KiB is passed on", async () => {
    await start();
    const charger = await Charger.connect(gateway.url, "a");
    expect(await charger.call("DataTransfer", { data: "x".repeat(255 * 1024) })).toMatchObject(ANSWERED);
    charger.socket.send(JSON.stringify([2, "y", "DataTransfer", { data: "x".repeat(257 * 1024) }]));
    expect(await charger.closed).toMatchObject({ code: 1009 });
    expect(contract.told).toHaveLength(1);
  });

  test("contract §6 who sends too much is read more slowly, and loses nothing, also if the host's clock is set back", async () => {
    await start();
    const charger = await Charger.connect(gateway.url, "a");
    const answers: unknown[] = [];
    const send = () => void charger.call("Heartbeat", {}).then((answer) => answers.push(answer));
    for (let n = 0; n < 59; n += 1) send();
    await expect.poll(() => answers.length, { interval: 10 }).toBe(59);
    const clock = vi.spyOn(Date, "now").mockReturnValue(Date.now() - 3_600_000);
    // twenty more than a rested charger may send at once
    for (let n = 0; n < 80; n += 1) send();
    await sleep(100);
    clock.mockRestore();
    expect(answers.length).toBeLessThan(59 + 80);
    await expect.poll(() => answers.length, { timeout: 6_000 }).toBe(59 + 80);
    await charger.close();
  });

  test("contract §6 after 60 messages at once a charger is answered 20 a second, and each of them", async () => {
    await start();
    const charger = await Charger.connect(gateway.url, "a");
    const began = performance.now();
    const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => charger.call("Action", { n })));
    const seconds = (performance.now() - began) / 1_000;
    expect(answers).toEqual(Array(100).fill(ANSWERED));
    expect(seconds).toBeGreaterThan(1.8);
    expect(seconds).toBeLessThan(8);
    await charger.close();
  });

  test("contract §6 a message of 65 fragments, or a frame that comes in hundreds of pieces, ends the connection", async () => {
    await start();
    const connect = (name: string) => Charger.connect(gateway.url, name);
    const [fine, many, slow] = [await connect("a"), await connect("b"), await connect("c")];
    const fragments = ({ socket }: Charger, count: number) => {
      const text = JSON.stringify([2, "x", "DataTransfer", {}]).padEnd(count);
      for (let n = 0; n < count; n += 1)
        socket.send(n < count - 1 ? text.charAt(n) : text.slice(n), { fin: n === count - 1 });
    };
    fragments(fine, 64);
    fragments(many, 65);
    expect(await many.closed).toMatchObject({ code: 1008 });
    await expect.poll(() => fine.frames).toMatchObject([[3, "x", {}]]);
    // the head of a frame of 400 bytes, and some of them
    const { _socket: raw } = slow.socket as unknown as { _socket: net.Socket };
    raw.setNoDelay(true).write(Buffer.from([0x81, 0xfe, 0x01, 0x90, 0, 0, 0, 0]));
    for (let n = 0; n < 300 && !raw.destroyed; n += 1) {
      raw.write(" ");
      await sleep(1);
    }
    expect(await slow.closed).toMatchObject({ code: 1008 });
    await fine.close();
  });

  test("contract §6 a charger that does not read its answers, or sends too many pings, is let go", async () => {
    await start();
    const [deaf, pinging, fine] = await Promise.all(["a", "b", "c"].map((name) => Charger.connect(gateway.url, name)));
    deaf?.socket.pause();
    // the answer names the action
    for (let n = 0; n < 59; n += 1) deaf?.socket.send(JSON.stringify([2, `${n}`, `${n}`.repeat(100_000), {}]));
    for (let n = 0; n < 50; n += 1) for (const { socket } of [pinging, fine] as Charger[]) socket.ping();
    await new Promise((resolve) => fine?.socket.once("pong", resolve));
    for (let n = 0; n < 50; n += 1) pinging?.socket.ping();
    expect(await pinging?.closed).toMatchObject({ code: 1008 });
    const connections = async () => (await (await fetch(`${gateway.adminUrl}/health`)).json()).connections;
    await expect.poll(connections).toBe(1);
    expect(await fine?.call("Heartbeat", {})).toMatchObject(ANSWERED);
    deaf?.socket.terminate();
    await fine?.close();
  });

  test("contract §6 a charger is asked for its energy register after its first boot", async () => {
    await start();
    for (const [protocol, action, calls] of [
      ["ocpp1.6", "ChangeConfiguration", 3],
      ["ocpp2.0.1", "SetVariables", 1],
    ] as const) {
      const charger = await Charger.connect(gateway.url, "a", { protocols: [protocol] });
      await charger.call("BootNotification", {});
      await charger.call("BootNotification", {});
      await expect
        .poll(() => charger.frames.map((frame) => (frame as unknown[])[2]))
        .toEqual(Array(calls).fill(action));
      await charger.close();
    }
  });

  test("contract §6 a charger whose model nobody knows is asked for its boot once, if it sends none for a minute", async () => {
    contract.identified = false;
    await start({ liveMs: 60 });
    const asked = (charger: Charger) => charger.frames.filter((frame) => (frame as unknown[])[2] === "TriggerMessage");
    const [charger, booted] = [await Charger.connect(gateway.url, "a"), await Charger.connect(gateway.url, "b")];
    await charger.call("StatusNotification", {});
    await booted.call("BootNotification", {});
    await expect
      .poll(() => asked(charger))
      .toMatchObject([[2, expect.any(String), "TriggerMessage", { requestedMessage: "BootNotification" }]]);
    const again = await Charger.connect(gateway.url, "a");
    await again.call("StatusNotification", {});
    await sleep(200);
    expect([asked(charger).length, asked(again).length, asked(booted).length]).toEqual([1, 0, 0]);
  });

  test("contract §6 of our calls three go unanswered, then none follows until a charger boots", async () => {
    contract.identified = false;
    await start();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const calls: string[] = [];
    const connect = async () => {
      const { socket } = await Charger.connect(gateway.url, "a");
      socket.removeAllListeners("message").on("message", (data) => {
        const [type, , action] = JSON.parse(data.toString());
        if (type === 2) calls.push(action);
      });
      return (action: string) => socket.send(JSON.stringify([2, action, action, {}]));
    };
    /** Longer than we wait for an answer, five times. */
    const wait = async () => {
      for (let n = 0; n < 5; n += 1) {
        await sleep(50);
        vi.advanceTimersByTime(61_000);
      }
      return calls.splice(0);
    };
    const say = await connect();
    say("Heartbeat");
    await sleep(50);
    vi.advanceTimersByTime(60_000);
    await expect.poll(() => calls).toEqual(["TriggerMessage"]);
    say("BootNotification");
    expect(await wait()).toEqual(["TriggerMessage", "ChangeConfiguration", "ChangeConfiguration"]);
    say("Heartbeat");
    expect(await wait()).toEqual([]);
    (await connect())("BootNotification");
    expect(await wait()).toEqual(Array(3).fill("ChangeConfiguration"));
  });

  test("contract §6 of what a charger answers our calls only the words of OCPP are logged", async () => {
    const said: unknown[] = [];
    await start({}, (event, fields) => void (event === "configured" && said.push(fields?.said)));
    const charger = await Charger.connect(gateway.url, "a");
    const answers = [{ status: "04AABBCC" }, null, { status: "RebootRequired" }];
    charger.socket.removeAllListeners("message").on("message", (data) => {
      const [type, id] = JSON.parse(data.toString());
      if (type !== 2) return;
      const payload = answers.shift();
      charger.socket.send(JSON.stringify(payload ? [3, id, payload] : [4, id, "04AABBCC", "", {}]));
    });
    charger.socket.send('[2,"x","BootNotification",{}]');
    await expect.poll(() => said).toEqual(["other", "other", "RebootRequired"]);
    await charger.close();
  });

  test("contract §6 messages are live after a minute and a silence, and not after a boot or while many wait", async () => {
    // a silence is 30 ms then
    await start({ liveMs: 360 });
    const charger = await Charger.connect(gateway.url, "a");
    const values = { connectorId: 1, meterValue: [] };
    await charger.call("MeterValues", values);
    // held back: it is passed on once it is live, but was said before
    await charger.call("MeterValues", values);
    await sleep(400);
    await charger.call("StartTransaction", {});
    // a queue of more than a minute: the next message comes with each answer
    await charger.call("BootNotification", {});
    const end = performance.now() + 450;
    for (contract.delayMs = 10; performance.now() < end; ) await charger.call("StopTransaction", {});
    const live = () => contract.told.flatMap((each) => each.messages.map((message) => message.live));
    expect(live().slice(0, 5)).toEqual([false, false, true, false, false]);
    expect(live().lastIndexOf(true)).toBe(2);
    await sleep(100);
    await charger.call("StartTransaction", {});
    expect(live().at(-1)).toBe(true);
    await charger.close();
  });
});

describe("when something is away", () => {
  test("contract §6 while the functions are away messages wait, also over a new connection, and are told in order", async () => {
    await start();
    const charger = await Charger.connect(gateway.url, "a");
    contract.faults = [503, "silence"];
    expect(await charger.call("StopTransaction", {})).toMatchObject(ANSWERED);
    contract.faults = [500, 503, 502];
    for (const n of [1, 2, 3]) charger.socket.send(JSON.stringify([2, `${n}`, "StopTransaction", { n }]));
    await expect.poll(() => contract.faults.length).toBeLessThan(3);
    charger.socket.terminate();
    await expect.poll(() => contract.faults).toEqual([]);
    const again = await Charger.connect(gateway.url, "a");
    expect(await again.call("StopTransaction", { n: 4 })).toMatchObject(ANSWERED);
    expect(messages().map(({ payload }) => (payload as { n?: number }).n)).toEqual([undefined, 1, 2, 3, 4]);
    await again.close();
  });

  test("contract §6 what arrived is told though the line closes at once, however it closes", async () => {
    await start();
    contract.delayMs = 20;
    for (const end of ["close", "terminate"] as const) {
      const charger = await Charger.connect(gateway.url, end);
      for (let n = 0; n < 24; n += 1) charger.socket.send(JSON.stringify([2, `${n}`, "StopTransaction", { n }]));
      await new Promise<void>((resolve) => charger.socket.send('[2,"last","Heartbeat",{}]', () => resolve()));
      charger.socket[end]();
      const told = () => contract.told.filter(({ charger_id }) => charger_id === end);
      await expect.poll(() => told().length, { timeout: 5_000 }).toBe(24);
      expect(told().flatMap((each) => each.messages.map(({ payload }) => (payload as { n: number }).n))).toEqual(
        Array.from({ length: 24 }, (_, n) => n),
      );
    }
  });

  test("contract §6 beyond 64 messages that wait for the functions a charger is told to come again, and it is counted", async () => {
    const lines: unknown[] = [];
    await start({}, (event, fields) => lines.push({ event, ...fields }));
    const [charger, large] = [await Charger.connect(gateway.url, "a"), await Charger.connect(gateway.url, "b")];
    contract.faults = Array(1_000).fill(503);
    for (let n = 0; n < 20; n += 1)
      large.socket.send(JSON.stringify([2, `${n}`, "DataTransfer", { data: "x".repeat(9_000) }]));
    for (let n = 0; n < 80; n += 1) charger.socket.send(JSON.stringify([2, `${n}`, "StopTransaction", { n }]));
    for (const each of [charger, large]) expect(await each.closed).toMatchObject({ code: 1013 });
    const lost = { event: "frames_lost", charger_id: "a", frames: 16, reason: "full" };
    await expect.poll(() => lines, { timeout: 5_000 }).toContainEqual(lost);
    expect(await (await fetch(`${gateway.adminUrl}/metrics`)).text()).toMatch(
      /ocpp_frames_lost_total\{reason="full"\} \d/,
    );
    // those that wait are told
    contract.faults = [];
    const told = () => contract.told.filter(({ charger_id }) => charger_id === "a").length;
    await expect.poll(told, { timeout: 15_000 }).toBe(64);
  }, 30_000);

  test("contract §6 thousands of frames in one piece end the connection, and it is counted", async () => {
    const lines: unknown[] = [];
    await start({}, (event, fields) => lines.push({ event, ...fields }));
    const charger = await Charger.connect(gateway.url, "a");
    // masked with zeros
    const frame = Buffer.from([0x81, 0x85, 0, 0, 0, 0, ...Buffer.from("flush")]);
    (charger.socket as unknown as { _socket: net.Socket })._socket.write(Buffer.concat(Array(5_000).fill(frame)));
    expect(await charger.closed).toMatchObject({ code: 1013 });
    const lost = { event: "frames_lost", charger_id: "a", frames: expect.any(Number), reason: "full" };
    await expect.poll(() => lines, { timeout: 5_000 }).toContainEqual(lost);
  });

  const inboxWith = () => {
    const lines: unknown[] = [];
    const metrics = new Metrics();
    const [end, waiting] = [new AbortController(), { bytes: 0 }];
    const log: Log = (_, fields) => lines.push(fields);
    const inbox = new Inbox("a", { waiting, end: end.signal, log, metrics });
    const lineOf = (handle: Line["handle"], held = 0) => {
      const seen = { told: 0, isRead: true, code: 0 };
      const line: Line = {
        charger_id: "a",
        generation: 1,
        heardAt: 0,
        isSilent: false,
        heard: true,
        async handle(received) {
          await handle(received);
          seen.told += 1;
        },
        read: (isRead) => void Object.assign(seen, { isRead }),
        flush() {},
        drop: () => held,
        drain: async () => {},
        close: (code) => void Object.assign(seen, { code }),
      };
      inbox.enter(line);
      const add = (count: number, more: Partial<Received> = {}) => {
        const received = { line, text: "x", at: performance.now(), received_at: "", ...more };
        for (let n = 0; n < count; n += 1) inbox.add({ ...received });
      };
      return { seen, add };
    };
    return { inbox, lineOf, lines, metrics, end, waiting };
  };

  test("contract §6 of what was read in one piece 512 frames wait; other chargers have their turn after 64", async () => {
    const { inbox, lineOf, metrics, waiting } = inboxWith();
    const one = lineOf(async () => {});
    one.add(600);
    expect(one.seen).toEqual({ told: 0, isRead: false, code: 1013 });
    const next = lineOf(async () => {});
    expect(next.seen.isRead).toBe(false);
    await new Promise((resolve) => setImmediate(resolve));
    expect(one.seen.told).toBe(64);
    await inbox.idle();
    expect([one.seen.told, next.seen.isRead, waiting.bytes]).toEqual([512, true, 0]);
    expect(metrics.text({})).toContain('ocpp_frames_lost_total{reason="full"} 88\n');
    // the process has no room: also for the first
    waiting.bytes = 512 * 1_024 * 1_024;
    next.add(1);
    expect(next.seen.code).toBe(1013);
  });

  test("contract §6 what is lost is counted and logged for its charger, with the values that were answered", async () => {
    const { inbox, lineOf, lines, metrics, end } = inboxWith();
    const fail = async () => Promise.reject(new Error("away"));
    lineOf(() => Promise.reject(new Superseded())).add(3);
    await inbox.idle();
    // ten minutes ago
    lineOf(fail, 2).add(1, { text: null, at: performance.now() - 600_001 });
    await inbox.idle();
    const last = lineOf(fail, 5);
    last.add(4);
    end.abort();
    inbox.giveUp();
    await inbox.idle();
    last.add(1);
    const counts = Object.entries({ superseded: 3, late: 2, restart: 12 });
    for (const [reason, count] of counts)
      expect(metrics.text({})).toContain(`ocpp_frames_lost_total{reason="${reason}"} ${count}\n`);
    const logged = lines as { charger_id: string; reason: string; frames: number }[];
    expect(logged.every(({ charger_id }) => charger_id === "a")).toBe(true);
    expect(logged.map(({ reason, frames }) => `${reason} ${frames}`)).toEqual([
      "superseded 3",
      "late 2",
      "restart 11",
      "restart 1",
    ]);
  });

  test("contract §6 what arrives after reading stopped, until the connection is closed, is told", async () => {
    await start();
    const charger = await Charger.connect(gateway.url, "a");
    contract.delayMs = 100;
    charger.socket.send('[2,"1","StopTransaction",{}]');
    await sleep(30);
    const stopped = gateway.stop();
    await sleep(30);
    for (let n = 2; n < 5; n += 1)
      charger.socket.send(JSON.stringify([2, `${n}`, "MeterValues", { connectorId: 1, n, meterValue: [{}] }]));
    await stopped;
    expect(actions()).toEqual(["StopTransaction", ...Array(3).fill("MeterValues")]);
  });

  test("contract §6 values that were held back are told before what a new connection says, and before the end", async () => {
    await start();
    const first = await Charger.connect(gateway.url, "a");
    const values = (n: number) => ({ connectorId: 1, n, meterValue: [{}] });
    for (const n of [1, 2, 3]) await first.call("MeterValues", values(n));
    const second = await Charger.connect(gateway.url, "a");
    await second.call("StopTransaction", { n: 4 });
    for (const n of [5, 6]) await first.call("MeterValues", values(n));
    await gateway.stop();
    expect(messages().map(({ payload }) => (payload as { n: number }).n)).toEqual([1, 3, 4, 6]);
  });

  test("contract §6 the time limit of a call begins when it has a connection of ours", async () => {
    await start({ callMs: 3_000 });
    const all = await Promise.all(Array.from({ length: 70 }, (_, n) => Charger.connect(gateway.url, `c${n}`)));
    // those that have one are answered all the time
    contract.heldUntil = performance.now() + 3_300;
    const answers = await Promise.all(all.map((charger) => charger.call("StopTransaction", {})));
    expect(answers).toEqual(Array(70).fill(expect.objectContaining(ANSWERED)));
    expect(await (await fetch(`${gateway.adminUrl}/metrics`)).text()).not.toContain('status="0"');
    await Promise.all(all.map((charger) => charger.close()));
  });

  test("contract §6 a secret that is refused closes nothing by itself, and shows in the health", async () => {
    await start();
    const charger = await Charger.connect(gateway.url, "a");
    const health = async () => (await fetch(`${gateway.adminUrl}/health`)).status;
    expect(await health()).toBe(200);
    contract.faults = [403, 403, 403];
    expect(await refusedWith(gateway.url, "b")).toBe(503);
    expect(await health()).toBe(503);
    expect(await charger.call("Heartbeat", {})).toMatchObject(ANSWERED);
    expect(await refusedWith(gateway.url, "b")).toBe(101);
    expect(await health()).toBe(200);
    await charger.close();
  });

  test("contract §6 connections of one charger stand side by side; of a fifth the most silent is closed", async () => {
    await start();
    const lines: Charger[] = [];
    for (let n = 0; n < 4; n += 1) {
      const line = await Charger.connect(gateway.url, "a", n === 1 ? { path: `/m/${PASSWORD}/NL*X` } : {});
      expect(await line.call("StopTransaction", { n })).toMatchObject(ANSWERED);
      lines.push(line);
    }
    expect(contract.told.map(({ mirror }) => mirror)).toEqual([false, true, false, false]);
    expect(contract.admitted[1]).toEqual({ identity: null, password: PASSWORD });
    const [silent, ...others] = lines;
    for (const line of others) expect(await line.call("Heartbeat", {})).toMatchObject(ANSWERED);
    lines.push(await Charger.connect(gateway.url, "a"), await Charger.connect(gateway.url, "a"));
    expect(await silent?.closed).toMatchObject({ code: 1008 });
    // a new password ends those from before
    contract.validFrom.set("a", 6);
    expect(await lines.at(-1)?.call("StopTransaction", {})).toMatchObject(ANSWERED);
    expect(await lines.at(-2)?.call("StopTransaction", {})).toBeNull();
    expect(await lines.at(-2)?.closed).toMatchObject({ code: 1008 });
  });

  test("contract §6 a charger that may stay no longer is closed with the next report", async () => {
    await start({ seenMs: 50 });
    const charger = await Charger.connect(gateway.url, "a");
    contract.gone = [{ charger_id: "a", generation: 1 }];
    expect(await charger.closed).toMatchObject({ code: 1008 });
  });

  const open = async () => (await (await fetch(`${gateway.adminUrl}/health`)).json()).connections;

  test("contract §6 a charger that never answers a ping stays, and is asked about after a long silence", async () => {
    await start({ pingMs: 20, seenMs: 40, silentMs: 300 });
    const charger = await Charger.connect(gateway.url, "a", { autoPong: false });
    await sleep(200);
    expect(await charger.call("Heartbeat", {})).toMatchObject(ANSWERED);
    const before = contract.silent.length;
    await expect.poll(() => contract.silent.length).toBeGreaterThan(before);
    expect(await open()).toBe(1);
    contract.gone = [{ charger_id: "a", generation: 1 }];
    expect(await charger.closed).toMatchObject({ code: 1008 });
  });

  test("contract §6 a charger that no longer answers pings is let go", async () => {
    await start({ pingMs: 30 });
    const charger = await Charger.connect(gateway.url, "a");
    await new Promise((resolve) => charger.socket.once("ping", resolve));
    await sleep(20);
    charger.socket.pause();
    await expect.poll(open).toBe(0);
    charger.socket.terminate();
  });

  test("contract §6 at the end the message in work is answered, then connections are closed for a restart", async () => {
    await start();
    const charger = await Charger.connect(gateway.url, "a");
    contract.delayMs = 100;
    const answer = charger.call("StopTransaction", {});
    await expect.poll(() => contract.server.listening).toBe(true);
    await sleep(30);
    const stopped = gateway.stop();
    expect(await answer).toMatchObject(ANSWERED);
    expect(await charger.closed).toMatchObject({ code: 1012 });
    await stopped;
    expect(await refusedWith(gateway.url, "a")).toBe(0);
  });

  test("contract §6 metrics name what happened, and nobody", async () => {
    await start();
    const charger = await Charger.connect(gateway.url, "secret-identity");
    await charger.call("Heartbeat", {});
    await charger.call('Odd"Action', {});
    const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
    expect(text).toContain("ocpp_connections 1\n");
    expect(text).toContain('ocpp_messages_total{action="Heartbeat",outcome="answered"} 1\n');
    expect(text).toContain('ocpp_messages_total{action="other",outcome="answered"} 1\n');
    expect(text).not.toContain("secret-identity");
    await charger.close();
  });
});
