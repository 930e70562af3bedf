// What one gateway process carries: memory and processor of 5,000 connected chargers, the time until all are back after a restart, and the
// processor time of messages beside that of a bare `ws` echo. Run by hand: node tests/ocpp/load.ts [chargers] [seconds]
//
// The edge function is a stand-in that answers at once, in a process of its own: this measures the gateway alone.

import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import WebSocket, { WebSocketServer } from "ws";
import { freePort } from "#local/postgres.ts";
import { Charger } from "../harness/ocpp.ts";

const ROLE = process.env.ROLE;
const self = fileURLToPath(import.meta.url);
const main = fileURLToPath(new URL("../../packages/gateway/src/main.ts", import.meta.url));

if (ROLE === "function") {
  const answers = { payload: { transactionId: 1 } };
  let generation = 0;
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const body = JSON.parse(text);
    if (request.url?.endsWith("admit")) {
      generation += 1;
      response.end(JSON.stringify({ ok: true, charger_id: body.identity, generation }));
    } else if (request.url?.endsWith("seen")) response.end('{"gone":[]}');
    else response.end(JSON.stringify({ answers: body.messages.map(() => answers) }));
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
} else if (ROLE === "echo") {
  const server: WebSocketServer = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false }, () =>
    console.log((server.address() as AddressInfo).port),
  );
  server.on("connection", (socket) => {
    // the answer of a charger's call: its id, and an empty payload
    socket.on("message", (data) => socket.send(JSON.stringify([3, JSON.parse(data.toString())[1], {}])));
  });
} else await measure();

async function started(role: string, program: string, env: Record<string, string>): Promise<[ChildProcess, number]> {
  const child = spawn(process.execPath, [program], {
    env: { ...env, ROLE: role },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const first: string = await new Promise((resolve) => child.stdout?.once("data", (data) => resolve(data.toString())));
  child.stdout?.resume();
  return [child, first.startsWith("{") ? JSON.parse(first.split("\n")[0] ?? "").port : Number(first)];
}

/** Resident memory in MB and processor seconds of a process, from proc(5): pages of 4 kB, ticks of 10 ms. */
function usageOf({ pid }: ChildProcess) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  const pages = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]);
  return { mb: (pages * 4) / 1024, cpu: (Number(fields[11]) + Number(fields[12])) / 100 };
}

async function measure(): Promise<void> {
  const count = Number(process.argv[2] ?? 5_000);
  const seconds = Number(process.argv[3] ?? 10);
  const [edge, edgePort] = await started("function", self, {});
  const env = {
    GATEWAY_FUNCTION_URL: `http://127.0.0.1:${edgePort}/gateway`,
    GATEWAY_SECRET: "s".repeat(40),
    HOST: "127.0.0.1",
    PORT: String(await freePort()),
    ADMIN_PORT: String(await freePort()),
    ADMISSIONS_PER_SECOND: "500",
  };
  const startGateway = async () => (await started("gateway", main, env))[0];
  let gateway = await startGateway();
  const url = `ws://127.0.0.1:${env.PORT}`;

  const empty = usageOf(gateway);
  const links: Charger[] = new Array(count);
  let back = 0;
  const connect = async (n: number): Promise<void> => {
    for (;;) {
      const link = await Charger.connect(url, `load-${n}`).catch(() => null);
      if (link) {
        links[n] = link;
        back += 1;
        return;
      }
      await sleep(500 + Math.random() * 2_000);
    }
  };
  let began = performance.now();
  await Promise.all(Array.from({ length: count }, (_, n) => connect(n)));
  const full = usageOf(gateway);
  console.log({
    chargers: count,
    connected_in_s: round((performance.now() - began) / 1_000),
    kb_a_charger: round(((full.mb - empty.mb) * 1_024) / count),
    mb: round(full.mb),
    cpu_s: round(full.cpu - empty.cpu),
  });
  await sleep(seconds * 1_000);
  console.log({ idle_cpu_percent: round(((usageOf(gateway).cpu - full.cpu) / seconds) * 100) });

  // a restart: closed one by one, and all come back
  back = 0;
  began = performance.now();
  const returning = links.map((link, n) => link.closed.then(() => connect(n)));
  const ended = new Promise((resolve) => gateway.once("exit", resolve));
  gateway.kill("SIGTERM");
  await ended;
  const closed = performance.now();
  gateway = await startGateway();
  await Promise.all(returning);
  console.log({
    closed_in_s: round((closed - began) / 1_000),
    all_back_in_s: round((performance.now() - closed) / 1_000),
    back,
  });

  // 2,000 MeterValues and 200 transaction messages a second over a thousand chargers
  const talking = Math.min(count, 1_000);
  const [echo, echoPort] = await started("echo", self, {});
  const plain = await Promise.all(Array.from({ length: talking }, () => opened(`ws://127.0.0.1:${echoPort}`)));
  const talk = async (child: ChildProcess, sockets: WebSocket[]) => {
    let answered = 0;
    const onAnswer = () => {
      answered += 1;
    };
    for (const socket of sockets) socket.on("message", onAnswer);
    const before = usageOf(child).cpu;
    const start = performance.now();
    for (let n = 0; performance.now() - start < seconds * 1_000; n += 1) {
      // 50 parts a second: 40 values and 4 transaction messages
      for (let m = 0; m < 44; m += 1) {
        const socket = sockets[(n * 44 + m) % sockets.length];
        const isValue = m < 40;
        const payload = isValue
          ? { connectorId: 1, meterValue: [{ timestamp: "2026-01-01T00:00:00Z", sampledValue: [{ value: "1" }] }] }
          : { transactionId: 1, meterStop: 5, timestamp: "2026-01-01T00:00:00Z" };
        socket?.send(JSON.stringify([2, `${n}-${m}`, isValue ? "MeterValues" : "StopTransaction", payload]));
      }
      const next = start + (n + 1) * 20 - performance.now();
      if (next > 0) await sleep(next);
    }
    await sleep(1_000);
    for (const socket of sockets) socket.off("message", onAnswer);
    const spent = usageOf(child).cpu - before;
    return { answered, a_second: round(answered / seconds), cpu_us_a_message: round((spent / answered) * 1e6) };
  };
  const ofGateway = await talk(
    gateway,
    links.slice(0, talking).map(({ socket }) => socket),
  );
  const ofEcho = await talk(echo, plain);
  console.log({ gateway: ofGateway, echo: ofEcho, times: round(ofGateway.cpu_us_a_message / ofEcho.cpu_us_a_message) });
  for (const child of [edge, echo, gateway]) child.kill("SIGKILL");
  process.exit(0);
}

async function opened(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  await new Promise((resolve) => socket.once("open", resolve));
  return socket;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
