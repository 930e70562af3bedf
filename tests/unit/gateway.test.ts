// The process that keeps chargers' connections, against an HTTP server that answers as the edge function does.

import { createServer } from "node:http";
import net, { type AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Failures, Spread } from "../../packages/gateway/src/admissions.ts";
import type { Told } from "../../packages/gateway/src/function.ts";
import type { Gateway } from "../../packages/gateway/src/gateway.ts";
import { credentialsOf, identityOf, protocolOf } from "../../packages/gateway/src/handshake.ts";
import { readProxyHeader } from "../../packages/gateway/src/proxy_protocol.ts";
import { readSettings, type Settings } from "../../packages/gateway/src/settings.ts";
import { basic, Charger, PASSWORD, refusedWith, startTestGateway } from "../harness/ocpp.ts";

/** The contract of the edge function, kept in memory. */
class Contract {
  told: Told[] = [];
  admitted: unknown[] = [];
  seen: string[] = [];
  gone: string[] = [];
  /** What the next calls are answered instead: a status, or "silence". */
  faults: (number | "silence")[] = [];
  delayMs = 0;
  generation = 0;
  newest = new Map<string, number>();
  readonly server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const body = JSON.parse(text);
    const fault = this.faults.shift();
    await sleep(this.delayMs);
    if (fault === "silence") return void response.destroy();
    if (fault !== undefined) return void response.writeHead(fault).end("{}");
    const answer = (value: object) => response.end(JSON.stringify(value));
    if (request.url?.endsWith("/chargers:admit")) {
      this.admitted.push(body);
      if (body.password !== PASSWORD) return void answer({ ok: false });
      this.generation += 1;
      this.newest.set(body.identity, this.generation);
      return void answer({ ok: true, charger_id: body.identity, generation: this.generation });
    }
    if (request.url?.endsWith("/seen")) {
      this.seen.push(...body.chargers.map((each: { charger_id: string }) => each.charger_id));
      return void answer({ gone: this.gone });
    }
    if (this.newest.get(body.charger_id) !== body.generation) return void response.writeHead(409).end("{}");
    this.told.push(body);
    answer({ answers: body.messages.map(({ action }: { action: string }) => ({ payload: { to: action } })) });
  });
}

const ANSWERED = [3, expect.any(String), expect.any(Object)];

let contract: Contract;
let gateway: Gateway;
const start = async (settings: Partial<Settings> = {}) => {
  const { port } = contract.server.address() as AddressInfo;
  gateway = await startTestGateway({
    functionUrl: `http://127.0.0.1:${port}/gateway`,
    callMs: 3_000,
    drainMs: 0,
    ...settings,
  });
};
const messages = () =>
  contract.told.flatMap((each) => each.messages.map(({ action, payload }) => ({ action, payload })));
const actions = () => messages().map(({ action }) => action);

beforeEach(async () => {
  contract = new Contract();
  await new Promise<void>((resolve) => contract.server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  await gateway?.stop();
  contract.server.closeAllConnections();
  contract.server.close();
});

describe("who may connect", () => {
  test("contract §6 the last segment of the path is the identity", () => {
    expect(["/a", "/ocpp/A-b_1", "/a/", "/a//?x=/y", "/%61"].map(identityOf)).toEqual(["a", "A-b_1", "a", "a", "a"]);
    expect(["/", "", "/%ZZ", "/a%2fb", "/a%00", `/${"x".repeat(65)}`, "/é"].map(identityOf)).toEqual(
      Array(7).fill(null),
    );
  });

  test("contract §6 the first protocol of the list that we speak is taken, and written as it was offered", () => {
    expect(protocolOf(undefined)).toEqual({ protocol: "ocpp1.6", offered: null });
    expect(protocolOf("OCPP1.6")).toEqual({ protocol: "ocpp1.6", offered: "OCPP1.6" });
    expect(protocolOf("ocpp2.1, ocpp2.0.1,ocpp1.6,")).toEqual({ protocol: "ocpp2.0.1", offered: "ocpp2.0.1" });
    expect(protocolOf("ocpp2.1, ocpp1.5")).toBeNull();
  });

  test("contract §6 the password is 40 hexadecimal digits, or the 20 bytes they stand for", () => {
    const read = (password: string | Buffer) => credentialsOf(basic("a", password))?.password;
    expect(read(PASSWORD)).toBe(PASSWORD);
    expect(read(PASSWORD.toUpperCase())).toBe(PASSWORD);
    expect(read(Buffer.from(PASSWORD, "hex"))).toBe(PASSWORD);
    // a byte of it is a colon
    expect(read(Buffer.from("3a".repeat(20), "hex"))).toBe("3a".repeat(20));
    expect(read("short")).toBeUndefined();
    for (const header of [undefined, "", "Bearer x", "Basic", "Basic !!", "Basic Og=="])
      expect(credentialsOf(header)).toBeNull();
  });

  test("contract §6 odd paths and protocols are refused, and the gateway goes on", async () => {
    await start();
    for (const path of ["/%ZZ", "/", "//", "/a%00"]) expect(await refusedWith(gateway.url, "a", { path })).toBe(400);
    expect(await refusedWith(gateway.url, "a", { protocols: ["ocpp2.1"] })).toBe(400);
    expect(await refusedWith(gateway.url, "a", { path: "/b" })).toBe(401);
    expect(await refusedWith(gateway.url, "a", { headers: { Authorization: "" } })).toBe(401);
    expect(contract.admitted).toEqual([]);
    const charger = await Charger.connect(gateway.url, "a", { path: "/ocpp/a/", protocols: ["OCPP1.6"] });
    expect(charger.socket.protocol).toBe("OCPP1.6");
    const none = await Charger.connect(gateway.url, "b", { protocols: [] });
    expect(none.socket.protocol).toBe("");
    await Promise.all([charger.close(), none.close()]);
    expect((await fetch(gateway.url.replace("ws", "http"))).status).toBe(426);
  });

  test("contract §6 the eleventh wrong password in a minute is not asked about, and only for that address", async () => {
    await start({ clientAddress: { header: "x-forwarded-for", entry: 1 } });
    const attempt = (password: string, address: string) =>
      refusedWith(gateway.url, "a", { password, headers: { "x-forwarded-for": `6.6.6.6, ${address}` } });
    for (let n = 0; n < 10; n += 1) expect(await attempt("f".repeat(40), "192.0.2.1")).toBe(401);
    expect(await attempt("f".repeat(40), "192.0.2.1")).toBe(429);
    expect(contract.admitted).toHaveLength(10);
    expect(await attempt(PASSWORD, "192.0.2.2")).toBe(101);
  });

  test("contract §6 an address with a hundred failures is limited for every identity", () => {
    const failures = new Failures();
    for (let n = 0; n < 100; n += 1) failures.note(`id${n}`, "192.0.2.1");
    expect(failures.isOver("fresh", "192.0.2.1")).toBe(true);
    expect(failures.isOver("fresh", "192.0.2.2")).toBe(false);
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
    const leave = Array.from({ length: 10 }, (_, n) => spread.enter(() => order.push(n)));
    expect(order).toEqual([0, 1, 2, 3, 4]);
    leave[5]?.();
    await expect.poll(() => order).toEqual([0, 1, 2, 3, 4, 6, 7, 8, 9]);
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

  test("contract §6 the gateway says which variables are wrong, and no value", () => {
    expect(() =>
      readSettings({ GATEWAY_FUNCTION_URL: "http://example.com", GATEWAY_SECRET: "hush", PORT: "x" }),
    ).toThrow(/GATEWAY_FUNCTION_URL: .*GATEWAY_SECRET: .*PORT: /);
    expect(() => readSettings({ GATEWAY_SECRET: "hush" })).not.toThrow(/hush/);
    const good = { GATEWAY_FUNCTION_URL: "https://x.example/functions/v1/gateway/", GATEWAY_SECRET: "s".repeat(32) };
    expect(readSettings({ ...good, CLIENT_ADDRESS: "x-real-ip:2" })).toMatchObject({
      functionUrl: "https://x.example/functions/v1/gateway",
      clientAddress: { header: "x-real-ip", entry: 2 },
      port: 8080,
    });
  });
});

describe("messages", () => {
  test("contract §6 messages are passed on one at a time, in order, and answered", async () => {
    contract.delayMs = 5;
    await start();
    const charger = await Charger.connect(gateway.url, "a");
    const sent = Array.from({ length: 30 }, (_, n) => `Action${n}`);
    const answers = await Promise.all(sent.map((action) => charger.call(action, { n: 1 })));
    expect(answers.map((answer) => answer?.[2])).toEqual(sent.map((to) => ({ to })));
    expect(actions()).toEqual(sent);
    expect(contract.told[0]).toMatchObject({ charger_id: "a", generation: 1, protocol: "ocpp1.6", live: false });
    expect(contract.told[0]?.messages[0]?.sent_sha256).toMatch(/^[0-9a-f]{64}$/);
    await charger.close();
  });

  test("contract §6 the same message id again gets the same answer, and is not passed on", async () => {
    await start();
    const charger = await Charger.connect(gateway.url, "a");
    const first = await charger.call("StartTransaction", { n: 1 }, "x");
    expect(await charger.call("StartTransaction", { n: 1 }, "x")).toEqual(first);
    expect(actions()).toEqual(["StartTransaction"]);
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

  test("contract §6 of values that come fast the last is passed on, before the message that needs it", async () => {
    await start();
    const charger = await Charger.connect(gateway.url, "a");
    const values = (n: number, context = "Sample.Periodic") => ({ connectorId: 1, n, meterValue: [{ context }] });
    for (const n of [1, 2, 3]) await charger.call("MeterValues", values(n));
    await charger.call("MeterValues", { ...values(9), connectorId: 2 });
    expect(messages().map(({ payload }) => (payload as { n: number }).n)).toEqual([1]);
    await charger.call("StopTransaction", { n: 4 });
    expect(messages().map(({ payload }) => (payload as { n: number }).n)).toEqual([1, 3, 9, 4]);
    expect(contract.told).toHaveLength(2);
    await charger.call("MeterValues", values(5, "Transaction.End"));
    expect(actions().at(-1)).toBe("MeterValues");
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
    expect(await charger.call("TransactionEvent", updated(2))).toMatchObject([3, "m2", {}]);
    await expect.poll(() => messages().map(({ payload }) => (payload as { n: number }).n)).toEqual([1, 2]);
    await charger.call("TransactionEvent", updated(3));
    await charger.close();
    await expect.poll(() => messages().map(({ payload }) => (payload as { n: number }).n)).toEqual([1, 2, 3]);
  });

  test("contract §6 frames that are none are refused in the words of the protocol, and end a connection in the end", async () => {
    await start();
    for (const [protocol, code] of [
      ["ocpp1.6", "FormationViolation"],
      ["ocpp2.0.1", "RpcFrameworkError"],
    ] as const) {
      const charger = await Charger.connect(gateway.url, "a", { protocols: [protocol] });
      const deep = `[2,"d","X",${"[".repeat(1_000)}${"]".repeat(1_000)}]`;
      for (const text of [
        "",
        "{",
        "{}",
        "[]",
        "null",
        '[2,5,"Heartbeat",{}]',
        '[2,"","Heartbeat",{}]',
        deep,
        '[9,"x",{}]',
      ])
        charger.socket.send(text);
      await expect.poll(() => charger.frames).toEqual(Array(9).fill([4, "-1", code, "", {}]));
      expect(await charger.call("Heartbeat", {})).toMatchObject(ANSWERED);
      for (let n = 0; n < 11; n += 1) charger.socket.send("[");
      expect(await charger.closed).toMatchObject({ code: 1008 });
    }
  });

  test("contract §6 a frame of 257 KiB ends the connection, one of 255 KiB is passed on", async () => {
    await start();
    const charger = await Charger.connect(gateway.url, "a");
    expect(await charger.call("DataTransfer", { data: "x".repeat(255 * 1024) })).toMatchObject(ANSWERED);
    charger.socket.send(JSON.stringify([2, "y", "DataTransfer", { data: "x".repeat(257 * 1024) }]));
    expect(await charger.closed).toMatchObject({ code: 1009 });
    expect(contract.told).toHaveLength(1);
  });

  test("contract §6 who sends too much is read more slowly, and loses nothing", async () => {
    await start();
    const charger = await Charger.connect(gateway.url, "a");
    const answers: unknown[] = [];
    for (let n = 0; n < 66; n += 1) void charger.call("Heartbeat", {}).then((answer) => answers.push(answer));
    await expect.poll(() => answers.length).toBeGreaterThanOrEqual(60);
    expect(answers.length).toBeLessThan(66);
    await expect.poll(() => answers.length).toBe(66);
    await charger.close();
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

  test("contract §6 messages are live once the socket is open for a while, and not after a boot", async () => {
    await start({ liveMs: 1_500 });
    const charger = await Charger.connect(gateway.url, "a");
    await sleep(1_600);
    await charger.call("StartTransaction", {});
    await charger.call("BootNotification", {});
    await charger.call("StopTransaction", {});
    expect(contract.told.map(({ live }) => live)).toEqual([true, false, false]);
    await charger.close();
  });
});

describe("when something is away", () => {
  test("contract §6 a message is tried three times, then the connection ends without an answer", async () => {
    await start();
    const charger = await Charger.connect(gateway.url, "a");
    contract.faults = [503, "silence"];
    expect(await charger.call("StopTransaction", {})).toMatchObject(ANSWERED);
    contract.faults = [500, 503, 502];
    expect(await charger.call("StopTransaction", {})).toBeNull();
    expect(await charger.closed).toMatchObject({ code: 1013 });
    // it is sent again on the next connection
    const again = await Charger.connect(gateway.url, "a");
    expect(await again.call("StopTransaction", {})).toMatchObject(ANSWERED);
    await again.close();
  });

  test("contract §6 the time limit of a call begins when it has a connection of ours", async () => {
    await start({ callMs: 1500 });
    const all = await Promise.all(Array.from({ length: 70 }, (_, n) => Charger.connect(gateway.url, `c${n}`)));
    contract.delayMs = 875;
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

  test("contract §6 the newer of two connections stays, on one gateway and on two", async () => {
    await start();
    const first = await Charger.connect(gateway.url, "a");
    const second = await Charger.connect(gateway.url, "a");
    expect(await first.closed).toMatchObject({ code: 1008 });
    const { port } = contract.server.address() as AddressInfo;
    const other = await startTestGateway({ functionUrl: `http://127.0.0.1:${port}/gateway`, drainMs: 0 });
    const third = await Charger.connect(other.url, "a");
    expect(await third.call("StopTransaction", {})).toMatchObject(ANSWERED);
    expect(await second.call("StopTransaction", {})).toBeNull();
    expect(await second.closed).toMatchObject({ code: 1008 });
    expect(actions()).toEqual(["StopTransaction"]);
    await third.close();
    await other.stop();
  });

  test("contract §6 a charger that may stay no longer is closed with the next report", async () => {
    await start({ seenMs: 50 });
    const charger = await Charger.connect(gateway.url, "a");
    contract.gone = ["a"];
    expect(await charger.closed).toMatchObject({ code: 1008 });
  });

  test("contract §6 a charger that no longer answers pings is let go", async () => {
    await start({ pingMs: 30 });
    const charger = await Charger.connect(gateway.url, "a");
    charger.socket.pause();
    await expect.poll(async () => (await (await fetch(`${gateway.adminUrl}/health`)).json()).connections).toBe(0);
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
