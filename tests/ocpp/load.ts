// What one gateway process carries with the real function and PostgreSQL behind it: memory and processor of 5,000 connected chargers, the time
// until all are back after a restart, and the processor time of messages beside that of a bare `ws` echo.
// Run by hand: node tests/ocpp/load.ts [chargers] [seconds]

import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import WebSocket, { WebSocketServer } from "ws";
import { freePort } from "#local/postgres.ts";
import { startStack } from "#local/runner.ts";
import { readJson } from "#local/stack.ts";
import { memoryOf } from "../../trials/kit/stack.ts";
import { Charger, PASSWORD } from "../harness/ocpp.ts";

const ROLE = process.env.ROLE;
const self = fileURLToPath(import.meta.url);
const main = fileURLToPath(new URL("../../packages/gateway/src/main.ts", import.meta.url));

if (ROLE === "echo") {
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

/** Fields of proc(5) after the name: the second is the parent, the twelfth and thirteenth the processor time in ticks of 10 ms. */
function statOf(pid: number): number[] {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /s, "");
  return fields.split(" ").map(Number);
}

function cpuOf(pid: number): number {
  return ((statOf(pid)[11] ?? 0) + (statOf(pid)[12] ?? 0)) / 100;
}

/** Resident memory in MB, and processor seconds of a process. */
const usageOf = ({ pid = 0 }: ChildProcess) => ({ mb: memoryOf(pid), cpu: cpuOf(pid) });

/** Processor seconds of the children of a process that run now. */
function cpuOfChildren(parent: number): number {
  let sum = 0;
  for (const name of readdirSync("/proc").filter((each) => /^\d+$/.test(each)))
    try {
      if (statOf(Number(name))[1] === parent) sum += cpuOf(Number(name));
    } catch {
      // it has just ended
    }
  return sum;
}

async function measure(): Promise<void> {
  const count = Number(process.argv[2] ?? 5_000);
  const seconds = Number(process.argv[3] ?? 10);
  const data_dir = mkdtempSync(join(tmpdir(), "ere-load-"));
  const running = await startStack({ host: "sandbox", port: await freePort(), data_dir, fresh: false }, () => {});
  const { base_url, database_url, demo } = running.stack;
  const database = new pg.Client(database_url);
  await database.connect();
  await database.query(
    `insert into core.chargers (partner_id, owner_id, user_id, nickname, connection_type, ocpp_identity, ocpp_password_hash, power_kw)
     select private.people_tenant(), u.id, u.id, 'Load ' || n, 'ocpp', 'load-' || n, $3, 22
       from auth.users u, generate_series(0, $2::int - 1) n where u.email = $1`,
    [demo.user.email, count, createHash("sha256").update(PASSWORD).digest()],
  );
  const functions = readJson<{ functions: { pid: number } }>(join(data_dir, "running.json"))?.functions.pid ?? 0;
  const postmaster = Number(readFileSync(join(data_dir, "postgres/postmaster.pid"), "utf8").split("\n")[0]);
  const secrets = readJson<{ functions: { GATEWAY_SECRET: string } }>(join(data_dir, "secrets.json"));
  const port = await freePort();
  const env = {
    GATEWAY_FUNCTION_URL: `${base_url}/ocpp`,
    GATEWAY_SECRET: secrets?.functions.GATEWAY_SECRET ?? "",
    HOST: "127.0.0.1",
    PORT: String(port),
    ADMIN_PORT: String(await freePort(undefined, [port])),
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
    connected_in_s: round1((performance.now() - began) / 1_000),
    kb_a_charger: round1(((full.mb - empty.mb) * 1_024) / count),
    mb: round1(full.mb),
    cpu_s: round1(full.cpu - empty.cpu),
  });
  await sleep(seconds * 1_000);
  console.log({ idle_cpu_percent: round1(((usageOf(gateway).cpu - full.cpu) / seconds) * 100) });

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
    closed_in_s: round1((closed - began) / 1_000),
    all_back_in_s: round1((performance.now() - closed) / 1_000),
    back,
  });

  // 2,000 MeterValues and 200 transaction messages a second over a thousand chargers
  const talking = Math.min(count, 1_000);
  const [echo, echoPort] = await started("echo", self, {});
  const plain = await Promise.all(Array.from({ length: talking }, () => opened(`ws://127.0.0.1:${echoPort}`)));
  const day = Date.now() - 86_400_000;
  const talk = async (child: ChildProcess, sockets: WebSocket[]) => {
    let answered = 0;
    let transactions = 0;
    const onAnswer = (data: WebSocket.RawData) => {
      answered += 1;
      if (data.toString().startsWith('[3,"t')) transactions += 1;
    };
    for (const socket of sockets) socket.on("message", onAnswer);
    const before = { own: usageOf(child).cpu, functions: cpuOf(functions), postgres: cpuOfChildren(postmaster) };
    const start = performance.now();
    let told = 0;
    for (let n = 0; performance.now() - start < seconds * 1_000; n += 1) {
      // 50 parts a second: 40 values and 4 transaction messages
      for (let m = 0; m < 40; m += 1) {
        const payload = { connectorId: 1, meterValue: [{ timestamp: new Date(), sampledValue: [{ value: "1" }] }] };
        sockets[(n * 40 + m) % sockets.length]?.send(JSON.stringify([2, `v${n}-${m}`, "MeterValues", payload]));
      }
      for (let m = 0; m < 4; m += 1, told += 1) {
        // a charger starts a charge in one round, and ends the one that is open in the next
        const round = Math.floor(told / sockets.length);
        const timestamp = new Date(day + round * 3_600_000);
        const [action, payload] =
          round % 2 === 0
            ? ["StartTransaction", { connectorId: 1, idTag: "X", meterStart: round * 5_000, timestamp }]
            : ["StopTransaction", { transactionId: 0, meterStop: round * 5_000, timestamp }];
        sockets[told % sockets.length]?.send(JSON.stringify([2, `t${n}-${m}`, action, payload]));
      }
      const next = start + (n + 1) * 20 - performance.now();
      if (next > 0) await sleep(next);
    }
    while (transactions < told && performance.now() - start < seconds * 10_000) await sleep(50);
    const took = (performance.now() - start) / 1_000;
    for (const socket of sockets) socket.off("message", onAnswer);
    const cpu = {
      own: usageOf(child).cpu - before.own,
      functions: cpuOf(functions) - before.functions,
      postgres: cpuOfChildren(postmaster) - before.postgres,
    };
    return { told, transactions, answered, took_s: round1(took), cpu };
  };
  const ofGateway = await talk(
    gateway,
    links.slice(0, talking).map(({ socket }) => socket),
  );
  const ofEcho = await talk(echo, plain);
  const { rows } = await database.query(
    "select count(*)::int as sessions from core.charging_sessions where external_id like '1.6:%'",
  );
  const each = ({ cpu, answered }: typeof ofEcho) => Math.round((cpu.own / answered) * 1e6);
  console.log({
    sent: { transactions: ofGateway.told, answered: ofGateway.transactions, in_s: ofGateway.took_s },
    sessions: rows[0]?.sessions,
    cpu_us_a_message: { gateway: each(ofGateway), echo: each(ofEcho), times: round1(each(ofGateway) / each(ofEcho)) },
    cpu_ms_a_transaction: {
      functions: round1((ofGateway.cpu.functions / ofGateway.transactions) * 1e3),
      postgres: round1((ofGateway.cpu.postgres / ofGateway.transactions) * 1e3),
    },
  });
  for (const child of [echo, gateway]) child.kill("SIGKILL");
  await database.end();
  await running.stop();
  rmSync(data_dir, { recursive: true, force: true });
  process.exit(0);
}

async function opened(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  await new Promise((resolve) => socket.once("open", resolve));
  return socket;
}

function round1(value: number): number {
  return Math.round(value * 10) / 10;
}
