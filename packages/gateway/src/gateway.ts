/** The servers of the gateway: chargers on one port, `/health` and `/metrics` on another. */

import { createHash } from "node:crypto";
import http, { type IncomingMessage } from "node:http";
import net, { type AddressInfo, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocketServer } from "ws";
import { networkOf } from "../../shared/src/values/network.ts";
import { Failures, Spread, Strangers } from "./admissions.ts";
import { Connection, type Owner } from "./connection.ts";
import { CLOSE } from "./frames.ts";
import { EdgeFunction } from "./function.ts";
import { addressOf, type Handshake, judge } from "./handshake.ts";
import { Inbox, type Waiting } from "./inbox.ts";
import { consoleLog, type Log } from "./log.ts";
import { Metrics } from "./metrics.ts";
import { takeProxyHeader } from "./proxy_protocol.ts";
import type { Settings } from "./settings.ts";

/** Bytes of a frame, pieces in which it arrives, and fragments of a message. The types of ws do not know the last two. */
// a frame of 256 KiB may come in packets of 1.4 kB each: 64 chunks would cut a slow charger off at 90 kB, again and again
const MOST_READ = { maxPayload: 256 * 1024, maxBufferedChunks: 256, maxFragments: 64 };
/** How many chargers one report of `seen` names. */
const SEEN_AT_ONCE = 1_000;
/** The longest wait for a turn. */
const MOST_WAITING_MS = 300_000;
/** Connections are closed no faster than a gateway admits them again. */
const CLOSE_EVERY_MS = 20;
/** A charger has at most this many connections, its own and mirrors. A further one closes the longest silent of them. */
const MOST_LINES = 4;

export type Gateway = {
  /** `ws://…`, to which a charger adds its identity. */
  url: string;
  adminUrl: string;
  /** Ends it in order: no new connections, messages in work are answered, connections are closed one by one. */
  stop(): Promise<void>;
};

const REASONS: Readonly<Record<number, string>> = http.STATUS_CODES as Record<number, string>;

function refuse(socket: Duplex, status: number, retryAfter?: number): void {
  const headers = [
    `HTTP/1.1 ${status} ${REASONS[status]}`,
    "Connection: close",
    "Content-Length: 0",
    ...(status === 401 ? ['WWW-Authenticate: Basic realm="ocpp"'] : []),
    ...(retryAfter === undefined ? [] : [`Retry-After: ${retryAfter}`]),
  ];
  socket.end(`${headers.join("\r\n")}\r\n\r\n`, () => socket.destroy());
}

function destroy(this: Duplex): void {
  this.destroy();
}

/** By what failed attempts are counted: never by a mirror's secret itself. */
const countedAs = ({ identity, password }: Handshake) =>
  identity ?? `mirror ${createHash("sha256").update(password).digest("hex").slice(0, 16)}`;

export async function startGateway(settings: Settings, log: Log = consoleLog): Promise<Gateway> {
  const metrics = new Metrics();
  const edge = new EdgeFunction(settings, metrics, log);
  /** By charger, while it is connected or something waits to be told. */
  const inboxes = new Map<string, Inbox>();
  const waiting: Waiting = { bytes: 0 };
  const end = new AbortController();
  const askedForBoot = new Set<string>();
  const everyLine = () => [...inboxes.values()].flatMap(({ lines }) => [...lines]);
  const spread = new Spread(settings.admissionsPerSecond);
  const failures = new Failures();
  const strangers = new Strangers();
  const peers = new WeakMap<object, string>();
  let open = 0;
  let isDraining = false;

  const owner: Owner = {
    settings,
    edge,
    metrics,
    log,
    ended({ charger_id }) {
      open -= 1;
      forget(charger_id);
    },
    mayAskForBoot(charger_id) {
      const may = !askedForBoot.has(charger_id);
      askedForBoot.add(charger_id);
      return may;
    },
  };

  const inboxOf = (charger_id: string): Inbox => {
    const inbox = inboxes.get(charger_id) ?? new Inbox(charger_id, { waiting, end: end.signal, log, metrics });
    inboxes.set(charger_id, inbox);
    return inbox;
  };
  const forget = (charger_id: string) => {
    const inbox = inboxes.get(charger_id);
    void inbox?.idle().then(() => {
      if (inbox.isEmpty && inboxes.get(charger_id) === inbox) inboxes.delete(charger_id);
    });
  };

  const sockets = new WebSocketServer({
    noServer: true,
    ...MOST_READ,
    perMessageDeflate: false,
    clientTracking: false,
    // a connection answers pings itself, because it limits them
    autoPong: false,
  });

  const admit = async (
    { request, socket, head, letGo }: { request: IncomingMessage; socket: Duplex; head: Buffer; letGo: () => void },
    asked: Handshake,
    address: string,
  ) => {
    const { identity, password, protocol, offered } = asked;
    const outcome = (name: string) => metrics.add("ocpp_admissions_total", { outcome: name });
    const counted = countedAs(asked);
    // others of the address may have failed while it waited
    const isMirror = identity === null;
    if (failures.isOver(counted, address, isMirror)) {
      outcome("limited");
      refuse(socket, 429, 60);
      return;
    }
    const judged = failures.begin(counted, address, isMirror);
    const answer = isDraining ? null : await edge.admit({ identity, password }).catch(() => null);
    judged(answer?.ok === false);
    if (socket.destroyed || socket.writableEnded) return;
    if (!answer || isDraining) {
      outcome("unavailable");
      refuse(socket, 503, 30 + Math.floor(Math.random() * 60));
      return;
    }
    if (!answer.ok) {
      outcome("unauthorized");
      if (failures.isFirst(counted)) log("password_refused", { identity: identity ?? "of a mirror" });
      refuse(socket, 401);
      return;
    }
    // ws judges the list again, and refuses one with a comma too many
    if (offered === null) delete request.headers["sec-websocket-protocol"];
    else request.headers["sec-websocket-protocol"] = offered;
    letGo();
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      outcome("admitted");
      open += 1;
      socket.resume();
      const { charger_id, generation, identified } = answer;
      const inbox = inboxOf(charger_id);
      // what others held back is told first
      for (const line of inbox.lines) line.flush(true);
      const isGuess = offered === null;
      const admitted = { charger_id, generation, protocol, isGuess, mirror: isMirror, identified };
      new Connection(webSocket, admitted, inbox, owner);
      if (inbox.lines.size > MOST_LINES) {
        const [silent] = [...inbox.lines].sort((one, other) => one.heardAt - other.heardAt);
        silent?.close(CLOSE.policy, "too many connections");
      }
    });
  };

  const peerOf = (socket: Socket) => peers.get(socket) ?? socket.remoteAddress ?? "";
  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", destroy);
    const outcome = (name: string) => metrics.add("ocpp_admissions_total", { outcome: name });
    const asked = judge(request);
    const address = addressOf(request, peerOf(socket as Socket), settings.clientAddress);
    if (isDraining || open + spread.size >= settings.mostConnections) {
      outcome("full");
      refuse(socket, 503, 60);
      return;
    }
    if ("status" in asked) {
      outcome(asked.reason);
      refuse(socket, asked.status);
      return;
    }
    if (failures.isOver(countedAs(asked), address, asked.identity === null)) {
      outcome("limited");
      refuse(socket, 429, 60);
      return;
    }
    // only a socket that is read tells that its peer has gone
    const early = (bytes: Buffer) => {
      socket.pause();
      socket.unshift(bytes);
    };
    const gone = () => socket.destroy();
    const late = () => refuse(socket, 503, 60);
    // these hold the whole request, and the connection lasts for weeks
    const letGo = () => {
      socket.off("data", early).off("end", gone);
      if (leave) socket.off("close", leave);
      (socket as Socket).setTimeout(0, late);
    };
    const leave = spread.enter(address, () => admit({ request, socket, head, letGo }, asked, address));
    if (!leave) {
      outcome("full");
      refuse(socket, 503, 300);
      return;
    }
    strangers.leave(socket);
    socket.on("data", early).on("end", gone).on("close", leave);
    (socket as Socket).setTimeout(MOST_WAITING_MS, late);
  };

  const server = http.createServer((_, response) =>
    response.writeHead(426, { Connection: "Upgrade, close", Upgrade: "websocket" }).end(),
  );
  const isPeerKnown = typeof settings.clientAddress === "string";
  server.on("connection", (socket) => strangers.enter(socket, isPeerKnown ? networkOf(peerOf(socket)) : null));
  server.on("upgrade", upgrade);
  server.on("clientError", (_, socket) => socket.destroy());
  const front =
    settings.clientAddress === "proxy"
      ? net.createServer((socket) =>
          takeProxyHeader(socket, (address) => {
            if (address) peers.set(socket, address);
            server.emit("connection", socket);
            socket.resume();
          }),
        )
      : server;
  front.maxConnections = settings.mostConnections + 1_000;

  const admin = http.createServer((request, response) => {
    const path = request.url?.split("?", 1)[0];
    if (path === "/health") {
      const ok = !isDraining && !edge.isRefused;
      response.writeHead(ok ? 200 : 503, { "Content-Type": "application/json" });
      response.end(
        JSON.stringify({ ok, connections: open, ...(edge.isRefused ? { fault: "GATEWAY_SECRET is refused" } : {}) }),
      );
    } else if (path === "/metrics") {
      const { user, system } = process.cpuUsage();
      response.writeHead(200, { "Content-Type": "text/plain; version=0.0.4" }).end(
        metrics.text({
          ocpp_connections: open,
          ocpp_waiting: spread.size,
          process_resident_memory_bytes: process.memoryUsage.rss(),
          process_cpu_seconds_total: (user + system) / 1e6,
        }),
      );
    } else response.writeHead(404).end();
  });

  const reportSeen = async () => {
    const named = everyLine()
      .filter(({ heard, isSilent }) => heard || isSilent)
      .map((connection) => ({ connection, silent: !connection.heard }));
    for (const { connection } of named) connection.heard = false;
    for (let from = 0; from < named.length; from += SEEN_AT_ONCE) {
      const some = named.slice(from, from + SEEN_AT_ONCE);
      const part = some.map(({ connection }) => connection);
      const gone = await edge
        .seen(some.map(({ connection: { charger_id, generation }, silent }) => ({ charger_id, generation, silent })))
        .catch(() => null);
      if (!gone) for (const { connection, silent } of some) connection.heard ||= !silent;
      for (const { charger_id, generation } of gone ?? [])
        part
          .find((line) => line.charger_id === charger_id && line.generation === generation)
          ?.close(CLOSE.policy, "no longer admitted");
    }
  };
  let isReporting = false;
  const timers = [
    setInterval(async () => {
      if (isReporting) return;
      isReporting = true;
      await reportSeen();
      isReporting = false;
    }, settings.seenMs),
    setInterval(
      () => {
        for (const line of everyLine()) line.flush();
      },
      Math.min(10_000, settings.valuesMs),
    ),
  ];

  await Promise.all([listen(front, settings.port, settings.host), listen(admin, settings.adminPort, settings.host)]);
  const { port } = front.address() as AddressInfo;
  const { port: adminPort } = admin.address() as AddressInfo;
  const shown = settings.host === "0.0.0.0" ? "127.0.0.1" : settings.host;
  log("listening", { port, admin_port: adminPort });

  return {
    url: `ws://${shown}:${port}`,
    adminUrl: `http://${shown}:${adminPort}`,
    async stop() {
      isDraining = true;
      front.close();
      const all = everyLine();
      const pause = Math.min(CLOSE_EVERY_MS, settings.drainMs / Math.max(1, all.length));
      const drained: Promise<void>[] = [];
      const began = performance.now();
      for (const [place, connection] of all.entries()) {
        const early = began + place * pause - performance.now();
        if (early > 1) await sleep(early);
        drained.push(connection.drain());
      }
      await Promise.all(drained);
      // their closing handshakes, and what is still to be told
      for (let patience = 0; open > 0 && patience < 100; patience += 1) await sleep(25);
      await Promise.race([Promise.all([...inboxes.values()].map((inbox) => inbox.idle())), sleep(10_000)]);
      end.abort();
      for (const inbox of inboxes.values()) inbox.giveUp();
      for (const timer of timers) clearInterval(timer);
      server.closeAllConnections();
      admin.close();
      admin.closeAllConnections();
      edge.close();
      log("stopped", {});
    },
  };
}

function listen(server: net.Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host, backlog: 2_048 }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
