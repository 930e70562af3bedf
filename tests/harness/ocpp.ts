// A charger's side of OCPP-J with bare frames, and a gateway to connect it to.

import { once } from "node:events";
import WebSocket from "ws";
import { type Gateway, startGateway } from "../../packages/gateway/src/gateway.ts";
import type { Log } from "../../packages/gateway/src/log.ts";
import { DEFAULTS, type Settings } from "../../packages/gateway/src/settings.ts";

export const PASSWORD = "00112233445566778899aabbccddeeff00112233";

export function startTestGateway(
  given: Partial<Settings> & Pick<Settings, "functionUrl">,
  log: Log = () => {},
): Promise<Gateway> {
  const settings: Settings = {
    ...DEFAULTS,
    secret: "g".repeat(32),
    host: "127.0.0.1",
    port: 0,
    adminPort: 0,
    admissionsPerSecond: 10_000,
    ...given,
  };
  return startGateway(settings, log);
}

export const basic = (identity: string, password: string | Buffer) =>
  `Basic ${Buffer.concat([Buffer.from(`${identity}:`), Buffer.from(password)]).toString("base64")}`;

type Options = {
  password?: string | Buffer;
  protocols?: string[];
  path?: string;
  headers?: Record<string, string>;
  autoPong?: boolean;
};

/** A connected charger. Frames that are no answer to `call` wait in `frames`. */
export class Charger {
  readonly socket: WebSocket;
  readonly frames: unknown[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #answers = new Map<string, (frame: unknown[]) => void>();
  #id = 0;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    this.closed = new Promise((resolve) =>
      socket.on("close", (code, reason) => resolve({ code, reason: reason.toString() })),
    );
    socket.on("message", (data) => {
      const frame = JSON.parse(data.toString());
      const answered = this.#answers.get(frame[1]);
      if (frame[0] === 2 || !answered) this.frames.push(frame);
      else answered(frame);
      if (frame[0] === 2) socket.send(JSON.stringify([3, frame[1], { status: "Accepted" }]));
    });
    socket.on("error", () => {});
  }

  /** @throws {Error} "Unexpected server response: 401" */
  static async connect(url: string, identity: string, options: Options = {}): Promise<Charger> {
    const {
      password = PASSWORD,
      protocols = ["ocpp1.6"],
      path = `/${identity}`,
      headers = {},
      autoPong = true,
    } = options;
    const socket = new WebSocket(`${url}${path}`, protocols, {
      autoPong,
      headers: { Authorization: basic(identity, password), ...headers },
    });
    const charger = new Charger(socket);
    await once(socket, "open");
    return charger;
  }

  /** The answering frame; null if the connection ends first. */
  async call(action: string, payload: unknown, id = `m${++this.#id}`): Promise<unknown[] | null> {
    const answer = new Promise<unknown[]>((resolve) => this.#answers.set(id, resolve));
    this.socket.send(JSON.stringify([2, id, action, payload]));
    return Promise.race([answer, this.closed.then(() => null)]);
  }

  close(): Promise<unknown> {
    this.socket.close();
    return this.closed;
  }
}

/** What a charger is told that may not connect: the status of the refusal. */
export async function refusedWith(url: string, identity: string, options: Options = {}): Promise<number> {
  try {
    const charger = await Charger.connect(url, identity, options);
    await charger.close();
    return 101;
  } catch (error) {
    return Number(/response: (\d+)/.exec((error as Error).message)?.[1] ?? 0);
  }
}
