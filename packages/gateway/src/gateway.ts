/** The servers of the gateway: chargers on one port, `/health` and `/metrics` on another. */

import http, { type IncomingMessage } from "node:http";
import net, { type AddressInfo, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocketServer } from "ws";
import { networkOf } from "../../shared/src/values/network.ts";
import { Failures, Spread, Strangers } from "./admissions.ts";
import { CLOSE, Connection, type Owner } from "./connection.ts";
import { EdgeFunction } from "./function.ts";
import { addressOf, type Handshake, judge } from "./handshake.ts";
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

export async function startGateway(settings: Settings, log: Log = consoleLog): Promise<Gateway> {
  const metrics = new Metrics();
  const edge = new EdgeFunction(settings, metrics, log);
  const connections = new Map<string, Connection>();
  const spread = new Spread(settings.admissionsPerSecond);
  const failures = new Failures();
  const strangers = new Strangers();
  const peers = new WeakMap<object, string>();
  const lastWords = new Set<Promise<void>>();
  let open = 0;
  let isDraining = false;

  const owner: Owner = {
    settings,
    edge,
    metrics,
    log,
    ended(connection, last) {
      open -= 1;
      if (connections.get(connection.charger_id) === connection) connections.delete(connection.charger_id);
      lastWords.add(last);
      last.then(() => lastWords.delete(last));
    },
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
    // others of the address may have failed while it waited
    if (failures.isOver(identity, address)) {
      outcome("limited");
      refuse(socket, 429, 60);
      return;
    }
    const judged = failures.begin(identity, address);
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
      if (failures.isFirst(identity)) log("password_refused", { identity });
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
      const { charger_id, generation } = answer;
      const connection = new Connection(webSocket, { charger_id, generation, protocol }, owner);
      const former = connections.get(charger_id);
      if (former && former.generation > generation) {
        connection.close(CLOSE.policy, "connected elsewhere");
        return;
      }
      connections.set(charger_id, connection);
      former?.close(CLOSE.policy, "connected elsewhere");
    });
  };

  const peerOf = (socket: Socket) => peers.get(socket) ?? socket.remoteAddress ?? "";
  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
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
    if (failures.isOver(asked.identity, address)) {
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
    const letGo = () => void socket.off("data", early).off("end", gone);
    const leave = spread.enter(address, () => admit({ request, socket, head, letGo }, asked, address));
    if (!leave) {
      outcome("full");
      refuse(socket, 503, 300);
      return;
    }
    strangers.leave(socket);
    socket.on("data", early).on("end", gone).on("close", leave);
    (socket as Socket).setTimeout(MOST_WAITING_MS, () => refuse(socket, 503, 60));
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
    const named = [...connections.values()]
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
      for (const connection of part)
        if (gone?.includes(connection.charger_id)) connection.close(CLOSE.policy, "no longer admitted");
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
        for (const connection of connections.values()) connection.flush();
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
      const all = [...connections.values()];
      const pause = Math.min(CLOSE_EVERY_MS, settings.drainMs / Math.max(1, all.length));
      const drained: Promise<void>[] = [];
      const began = performance.now();
      for (const [place, connection] of all.entries()) {
        const early = began + place * pause - performance.now();
        if (early > 1) await sleep(early);
        drained.push(connection.drain());
      }
      await Promise.all(drained);
      // their closing handshakes, and values they were still to tell
      for (let patience = 0; open > 0 && patience < 100; patience += 1) await sleep(25);
      await Promise.race([Promise.all(lastWords), sleep(10_000)]);
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
