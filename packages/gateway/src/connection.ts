/** The connection of one charger: one message at a time, in order. */

import { createHash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { WebSocket } from "ws";
import { type Answer, readFrame, writeAnswer, writeCall, writeInvalid } from "./frames.ts";
import { type EdgeFunction, type Message, Superseded } from "./function.ts";
import type { Protocol } from "./handshake.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import type { Settings } from "./settings.ts";

/** Messages that a charger may send at once, and a second. */
const BURST = 60;
const PER_SECOND = 3;
const MOST_INVALID = 20;
/** Answers that are kept for a repeated message. */
const KEPT_ANSWERS = 32;
/** Messages that wait for the one before. With more, reading pauses. */
const MOST_QUEUED = 16;
const CALL_MS = 30_000;

/** RFC 6455 section 7.4.1, and the registry of codes it began. */
export const CLOSE = { policy: 1008, restart: 1012, tryAgain: 1013 } as const;

const ENERGY = "Energy.Active.Import.Register";
/** What a charger is asked for once it has booted: the energy register, every quarter of an hour. */
const CONFIGURE: Readonly<Record<Protocol, [action: string, payload: object][]>> = {
  "ocpp1.6": Object.entries({
    MeterValueSampleInterval: "900",
    MeterValuesSampledData: ENERGY,
    StopTxnSampledData: ENERGY,
  }).map(([key, value]) => ["ChangeConfiguration", { key, value }]),
  "ocpp2.0.1": [
    [
      "SetVariables",
      {
        setVariableData: Object.entries({
          TxUpdatedInterval: "900",
          TxStartedMeasurands: ENERGY,
          TxUpdatedMeasurands: ENERGY,
          TxEndedMeasurands: ENERGY,
        }).map(([name, attributeValue]) => ({
          attributeValue,
          component: { name: "SampledDataCtrlr" },
          variable: { name },
        })),
      },
    ],
  ],
};

/** Actions with their own series in the metrics. Others are counted together. */
const COUNTED = new Set([
  "Authorize",
  "BootNotification",
  "DataTransfer",
  "FirmwareStatusNotification",
  "Heartbeat",
  "MeterValues",
  "SecurityEventNotification",
  "StartTransaction",
  "StatusNotification",
  "StopTransaction",
  "TransactionEvent",
]);

/** What begins or ends a charge, or is signed, is never held back. */
const EVIDENCE = /Transaction\.(?:Begin|End)|SignedData|signedMeterValue|OCMF\|/;

type Fields = Record<string, unknown>;
const objectOf = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});

/** By what values of one kind replace each other, or null for a message that is passed on at once. */
function holdKey(action: string, payload: unknown, text: string): string | null {
  if (EVIDENCE.test(text)) return null;
  const fields = objectOf(payload);
  if (action === "MeterValues") return `values ${fields.connectorId ?? fields.evseId}`;
  if (action !== "TransactionEvent" || fields.eventType !== "Updated" || "idToken" in fields) return null;
  return Array.isArray(fields.meterValue) ? `event ${objectOf(fields.transactionInfo).transactionId}` : null;
}

/** The main meter of the station is no car's. */
const isMainMeter = (payload: unknown) => objectOf(payload).connectorId === 0 || objectOf(payload).evseId === 0;

type Queued = { text: string; received: number } | "flush";

export type Owner = {
  settings: Settings;
  edge: EdgeFunction;
  metrics: Metrics;
  log: Log;
  /** The connection ended. `last` is what it still tells. */
  ended(connection: Connection, last: Promise<void>): void;
};

export class Connection {
  readonly charger_id: string;
  readonly generation: number;
  readonly protocol: Protocol;
  readonly #socket: WebSocket;
  readonly #owner: Owner;
  readonly #opened = Date.now();
  readonly #queue: Queued[] = [];
  readonly #answers = new Map<string, string>();
  readonly #held = new Map<string, Message>();
  readonly #calls: [string, object][] = [];
  #asked: { id: string; action: string; late: NodeJS.Timeout } | null = null;
  #valuesAt = 0;
  #bootedAt = 0;
  #hasBooted = false;
  #tokens = BURST;
  #tokensAt = Date.now();
  #invalid = 0;
  #unanswered = 0;
  #work: Promise<void> | null = null;
  readonly #ping: NodeJS.Timeout;
  #isDraining = false;
  #isClosing = false;
  /** Whether it was heard of since the last report. */
  heard = true;

  constructor(
    socket: WebSocket,
    { charger_id, generation, protocol }: { charger_id: string; generation: number; protocol: Protocol },
    owner: Owner,
  ) {
    this.#socket = socket;
    this.charger_id = charger_id;
    this.generation = generation;
    this.protocol = protocol;
    this.#owner = owner;
    this.#ping = setInterval(() => this.#onPing(), owner.settings.pingMs);
    socket.on("message", (data) => this.#onMessage(data.toString()));
    for (const event of ["ping", "pong"]) socket.on(event, () => this.#onSign());
    // a frame that is too large, or no WebSocket frame: ws closes it
    socket.on("error", () => {});
    socket.on("close", (code) => this.#onClose(code));
  }

  #onSign(): void {
    this.heard = true;
    this.#unanswered = 0;
  }

  #onPing(): void {
    // what it sends is not read now, its pong neither
    if (this.#socket.isPaused) return;
    if (this.#unanswered >= 2) {
      this.#socket.terminate();
      return;
    }
    this.#unanswered += 1;
    this.#socket.ping();
  }

  #onMessage(text: string): void {
    this.#onSign();
    if (this.#isClosing) return;
    this.#queue.push({ text, received: Date.now() });
    if (this.#queue.length >= MOST_QUEUED) this.#socket.pause();
    this.#run();
  }

  /** Waits until the charger may have sent one more. */
  async #takeToken(): Promise<void> {
    const now = Date.now();
    this.#tokens = Math.min(BURST, this.#tokens + ((now - this.#tokensAt) / 1_000) * PER_SECOND) - 1;
    this.#tokensAt = now;
    if (this.#tokens < 0) await sleep((-this.#tokens / PER_SECOND) * 1_000);
  }

  #run(): void {
    this.#work ??= this.#workThrough().finally(() => {
      this.#work = null;
      if (this.#queue.length > 0 && !this.#isClosing) this.#run();
    });
  }

  async #workThrough(): Promise<void> {
    for (;;) {
      if (this.#queue.length < MOST_QUEUED && this.#socket.isPaused && !this.#isDraining) this.#socket.resume();
      const next = this.#queue.shift();
      if (next === undefined || this.#isClosing) return;
      try {
        if (next === "flush") await this.#pass();
        else {
          await this.#takeToken();
          await this.#handle(next.text, next.received);
        }
      } catch (error) {
        // what is not stored is not answered: the charger keeps it, and sends it on its next connection
        if (error instanceof Superseded) this.close(CLOSE.policy, "connected elsewhere");
        else this.close(CLOSE.tryAgain, "try again later");
        return;
      }
    }
  }

  async #handle(text: string, received: number): Promise<void> {
    const frame = readFrame(text);
    if (frame.type === "invalid") {
      this.#count("invalid", "invalid");
      this.#invalid += 1;
      this.#socket.send(writeInvalid(this.protocol));
      if (this.#invalid >= MOST_INVALID) this.close(CLOSE.policy, "too many invalid frames");
      return;
    }
    if (frame.type !== "call") {
      this.#onAnswer(frame.id, frame.type, frame.payload);
      return;
    }
    const { id, action, payload } = frame;
    const before = this.#answers.get(id);
    if (before !== undefined) {
      this.#count(action, "repeated");
      this.#socket.send(before);
      return;
    }
    const received_at = new Date(received).toISOString();
    if (action === "Heartbeat") {
      this.#answer(id, action, { payload: { currentTime: received_at } });
      return;
    }
    if (action === "MeterValues" && isMainMeter(payload)) {
      this.#answer(id, action, { payload: {} });
      return;
    }
    const message: Message = {
      action,
      payload,
      received_at,
      sent_sha256: createHash("sha256").update(text).digest("hex"),
    };
    const key = holdKey(action, payload, text);
    if (key !== null && received - this.#valuesAt < this.#owner.settings.valuesMs && this.#held.size < 20) {
      // the last wins: taken out first, so that the order is that of arrival
      this.#held.delete(key);
      this.#held.set(key, message);
      this.#answer(id, action, { payload: {} }, "held");
      return;
    }
    if (key !== null) this.#valuesAt = received;
    const isBoot = action === "BootNotification";
    if (isBoot) this.#bootedAt = received;
    const answer = await this.#pass(message);
    if (answer) this.#answer(id, action, answer);
    if (isBoot && !this.#hasBooted) {
      this.#hasBooted = true;
      this.#calls.push(...CONFIGURE[this.protocol]);
      this.#callNext();
    }
  }

  /** Passes on what was held back, and then a message. @returns the answer to the message. */
  async #pass(message?: Message): Promise<Answer | undefined> {
    const held = [...this.#held];
    const messages = [...held.map(([, each]) => each), ...(message ? [message] : [])];
    if (messages.length === 0) return undefined;
    const { liveMs } = this.#owner.settings;
    const now = Date.now();
    const { charger_id, generation, protocol } = this;
    const live = now - this.#opened >= liveMs && now - this.#bootedAt >= liveMs;
    const answers = await this.#owner.edge.tell({ charger_id, generation, protocol, live, messages });
    for (const [key, each] of held) if (this.#held.get(key) === each) this.#held.delete(key);
    return message && answers.at(-1);
  }

  #answer(id: string, action: string, answer: Answer, outcome = "payload" in answer ? "answered" : "refused"): void {
    const text = writeAnswer(id, answer);
    this.#answers.set(id, text);
    if (this.#answers.size > KEPT_ANSWERS) {
      for (const oldest of this.#answers.keys()) {
        this.#answers.delete(oldest);
        break;
      }
    }
    this.#count(action, outcome);
    this.#socket.send(text);
  }

  #count(action: string, outcome: string): void {
    this.#owner.metrics.add("ocpp_messages_total", { action: COUNTED.has(action) ? action : "other", outcome });
  }

  /** Passes on values that were held back long enough. */
  flush(): void {
    if (this.#held.size === 0 || Date.now() - this.#valuesAt < this.#owner.settings.valuesMs) return;
    this.#valuesAt = Date.now();
    this.#queue.push("flush");
    this.#run();
  }

  #callNext(): void {
    const next = this.#asked ? undefined : this.#calls.shift();
    if (!next || this.#isClosing) return;
    const [action, payload] = next;
    const id = randomUUID();
    this.#asked = { id, action, late: setTimeout(() => this.#onAnswer(id, "error", { code: "no answer" }), CALL_MS) };
    this.#socket.send(writeCall(id, action, payload));
  }

  #onAnswer(id: string, type: "result" | "error", payload: unknown): void {
    if (this.#asked?.id !== id) return;
    const { action, late } = this.#asked;
    clearTimeout(late);
    this.#asked = null;
    const { status, code, setVariableResult } = objectOf(payload);
    const results = Array.isArray(setVariableResult)
      ? setVariableResult.map((each) => objectOf(each).attributeStatus)
      : [];
    const said = String(type === "error" ? code : (status ?? results.join(" "))).slice(0, 100);
    this.#owner.log("configured", { charger_id: this.charger_id, action, said });
    this.#callNext();
  }

  /** Closes after the message in work has been answered, 10 s at most. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#queue.length = 0;
    this.#socket.pause();
    let late: NodeJS.Timeout | undefined;
    await Promise.race([this.#work, new Promise((resolve) => (late = setTimeout(resolve, 10_000)))]);
    clearTimeout(late);
    this.close(CLOSE.restart, "restarting");
  }

  close(code: number, reason: string): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#queue.length = 0;
    this.#socket.resume();
    this.#socket.close(code, reason);
    // one that does not answer the close is ended
    setTimeout(() => this.#socket.terminate(), 2_000).unref();
  }

  #onClose(code: number): void {
    this.#isClosing = true;
    clearInterval(this.#ping);
    clearTimeout(this.#asked?.late);
    this.#owner.metrics.add("ocpp_closed_total", { code: String(code) });
    // a charger that is connected again by now has told more than this
    const last = this.#pass().then(
      () => {},
      () => {},
    );
    this.#owner.ended(this, last);
  }
}
