/** One connection of a charger: its own, or a mirror's. */

import { createHash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { WebSocket } from "ws";
import { type CallAnswer, CLOSE, type Id, readFrame, writeAnswer, writeCall, writeInvalid } from "./frames.ts";
import type { EdgeFunction, Message } from "./function.ts";
import type { Protocol } from "./handshake.ts";
import type { Inbox, Line, Received } from "./inbox.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import type { Settings } from "./settings.ts";

/** Messages that a charger may send at once, and a second. */
const BURST = 60;
const PER_SECOND = 20;
/** Frames in a row that are none. */
const MOST_INVALID = 20;
/** Answers that are kept for a repeated message. */
const KEPT_ANSWERS = 32;
/** What is held back of a connection: so many messages, of so many characters each. Others are passed on at once. */
const MOST_HELD = 20;
const LONGEST_HELD = 8_192;
/** Bytes that may wait for a charger to read them. Our answers have about a hundred, so with more the charger is not reading. */
const MOST_UNREAD = 64 * 1_024;
const CALL_MS = 30_000;
/** Calls in a row that a charger does not answer. Then it is asked nothing until it boots: behind a mirror nobody hears us. */
const MOST_UNANSWERED = 3;
/** A charger sends the next of its queued messages at once. So a silence of this part of `liveMs` ends the queue. */
const SILENT_PART = 1 / 12;

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

/** What a charger may answer our calls, by the schemas of OCPP; anything else it wrote is not logged. */
const STATUSES = new Set([
  "Accepted",
  "NotImplemented",
  "NotSupported",
  "NotSupportedAttributeType",
  "RebootRequired",
  "Rejected",
  "UnknownComponent",
  "UnknownKey",
  "UnknownVariable",
  // codes of a CALLERROR
  "FormatViolation",
  "FormationViolation",
  "GenericError",
  "InternalError",
  "MessageTypeNotSupported",
  "OccurenceConstraintViolation",
  "OccurrenceConstraintViolation",
  "PropertyConstraintViolation",
  "ProtocolError",
  "RpcFrameworkError",
  "SecurityError",
  "TypeConstraintViolation",
  // ours
  "no answer",
]);
/** Variables of one SetVariables. */
const MOST_RESULTS = 4;

/** What begins or ends a charge, or is signed, is never held back. */
const EVIDENCE = /Transaction\.(?:Begin|End)|SignedData|signedMeterValue|OCMF\|/i;

type Fields = Record<string, unknown>;
const objectOf = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});

/** Values with the same key are passed on as one message. Null: the message is passed on at once. */
function holdKey(action: string, payload: unknown): string | null {
  const fields = objectOf(payload);
  const isUpdate =
    action === "TransactionEvent" &&
    fields.eventType === "Updated" &&
    !("idToken" in fields) &&
    Array.isArray(fields.meterValue);
  if (!isUpdate && action !== "MeterValues") return null;
  // written again, because JSON may write any letter as an escape
  const text = JSON.stringify(payload);
  if (EVIDENCE.test(text)) return null;
  // a charger names the EVSE once; a later update without it must not take its place
  return isUpdate
    ? `event ${objectOf(fields.transactionInfo).transactionId} ${objectOf(fields.evse).id}`
    : `values ${fields.connectorId ?? fields.evseId} ${fields.transactionId}`;
}

/** The newer message, with the samples of both. A later sample may be lower, late or of no energy, so none is dropped. */
function joined(older: Message | undefined, newer: Message): Message {
  if (!older) return newer;
  const samples = [older, newer].flatMap(({ payload }) => objectOf(payload).meterValue);
  return { ...newer, payload: { ...objectOf(newer.payload), meterValue: samples } };
}

/** What no message of 1.6 has. */
const FIELDS_OF_201 = ["chargingStation", "connectorStatus", "evseId", "idToken"];
const isOf201 = (action: string, payload: unknown) =>
  action === "TransactionEvent" || FIELDS_OF_201.some((name) => name in objectOf(payload));

/** The station's main meter does not measure a car. */
const isMainMeter = (protocol: Protocol, payload: unknown) =>
  objectOf(payload)[protocol === "ocpp1.6" ? "connectorId" : "evseId"] === 0;

/** A rate limit: BURST at once, then so many a second. Setting the machine's clock does not change it. */
class Bucket {
  #tokens = BURST;
  #at = performance.now();

  /** @returns milliseconds to wait; 0 if there is room. */
  take(): number {
    const now = performance.now();
    this.#tokens = Math.min(BURST, this.#tokens + ((now - this.#at) / 1_000) * PER_SECOND) - 1;
    this.#at = now;
    return Math.max(0, (-this.#tokens / PER_SECOND) * 1_000);
  }
}

export type Owner = {
  settings: Settings;
  edge: EdgeFunction;
  metrics: Metrics;
  log: Log;
  ended(connection: Connection): void;
  /** Whether a charger whose model nobody knows may be asked for its BootNotification: once. */
  mayAskForBoot(charger_id: string): boolean;
};

export type Admitted = {
  charger_id: string;
  generation: number;
  protocol: Protocol;
  /** The charger named no protocol: what it says tells. */
  isGuess: boolean;
  /** Its transaction ids are another back office's. */
  mirror: boolean;
  /** What it is, is known. */
  identified: boolean;
};

export class Connection implements Line {
  readonly charger_id: string;
  readonly generation: number;
  readonly #socket: WebSocket;
  readonly #owner: Owner;
  #protocol: Protocol;
  readonly #isGuess: boolean;
  readonly #mirror: boolean;
  readonly #inbox: Inbox;
  #isIdentified: boolean;
  #bootDue: NodeJS.Timeout | undefined;
  #unansweredCalls = 0;
  readonly #answers = new Map<Id, { sent_sha256: string; text: string }>();
  readonly #held = new Map<string, Message>();
  readonly #calls: [string, object][] = [];
  #asked: { id: string; action: string; late: NodeJS.Timeout } | null = null;
  #valuesAt = Number.NEGATIVE_INFINITY;
  /** Its opening, or its last boot. */
  #beganAt = performance.now();
  #isBacklog = true;
  #idleSince = performance.now();
  #hasBooted = false;
  readonly #messages = new Bucket();
  readonly #signs = new Bucket();
  /** The message that was counted by the rate limit: it may be tried again. */
  #paid: Received | null = null;
  #invalid = 0;
  #unanswered = 0;
  #hasPonged = false;
  #heardAt = performance.now();
  readonly #ping: NodeJS.Timeout;
  #isDraining = false;
  #isClosing = false;
  /** Whether it was heard of since the last report. */
  heard = true;

  constructor(
    socket: WebSocket,
    { charger_id, generation, protocol, isGuess, mirror, identified }: Admitted,
    inbox: Inbox,
    owner: Owner,
  ) {
    this.#socket = socket;
    this.charger_id = charger_id;
    this.generation = generation;
    this.#protocol = protocol;
    this.#isGuess = isGuess;
    this.#mirror = mirror;
    this.#isIdentified = identified;
    this.#inbox = inbox;
    this.#owner = owner;
    inbox.enter(this);
    this.#ping = setInterval(() => this.#onPing(), owner.settings.pingMs);
    socket.on("message", (data) => this.#onMessage(data.toString()));
    socket.on("ping", (data) => {
      if (this.#onControl()) this.#send(data, "pong");
    });
    socket.on("pong", () => {
      this.#hasPonged = true;
      this.#onControl();
    });
    // a frame that is too large, or no WebSocket frame: ws closes it
    socket.on("error", () => {});
    socket.on("close", (code) => this.#onClose(code));
  }

  #onSign(): void {
    this.heard = true;
    this.#unanswered = 0;
    this.#heardAt = performance.now();
  }

  /** When it was last heard of, by the clock that is never set. */
  get heardAt(): number {
    return this.#heardAt;
  }

  /** Whether it was not heard of for so long that its charger may be connected elsewhere. */
  get isSilent(): boolean {
    return performance.now() - this.#heardAt >= this.#owner.settings.silentMs;
  }

  #onPing(): void {
    // while reading pauses, its pongs are not read either
    if (this.#socket.isPaused) return;
    // some chargers answer no ping
    if (this.#hasPonged && this.#unanswered >= 2) {
      this.#socket.terminate();
      return;
    }
    this.#unanswered += 1;
    this.#socket.ping();
  }

  /** @returns whether it may be answered. */
  #onControl(): boolean {
    this.#onSign();
    if (this.#isClosing) return false;
    const isTooFast = this.#signs.take() > 0;
    if (isTooFast) this.close(CLOSE.policy, "too many pings");
    return !isTooFast;
  }

  #send(data: string | Buffer, as: "send" | "pong" = "send"): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket[as](data);
    if (this.#socket.bufferedAmount > MOST_UNREAD) this.#socket.terminate();
  }

  #onMessage(text: string): void {
    this.#onSign();
    const at = performance.now();
    const { liveMs } = this.#owner.settings;
    const isSilent = !this.#inbox.isWorking && at - this.#idleSince >= liveMs * SILENT_PART;
    if (isSilent && at - this.#beganAt >= liveMs) this.#isBacklog = false;
    if (!this.#isIdentified && !this.#isClosing) this.#bootDue ??= setTimeout(() => this.#askForBoot(), liveMs);
    this.#inbox.add({ line: this, text, at, received_at: new Date().toISOString() });
  }

  /** Whether frames are read; a connection that ends is not. */
  read(isWanted: boolean): void {
    if (isWanted && this.#socket.isPaused && !this.#isDraining) this.#socket.resume();
    else if (!isWanted && !this.#isClosing) this.#socket.pause();
  }

  /** Tells a frame, and answers it if the connection is still there. @throws {Error} if it is not stored */
  async handle(received: Received): Promise<void> {
    const { text } = received;
    if (text === null) await this.#pass();
    else {
      const wait = this.#isClosing || this.#paid === received ? 0 : this.#messages.take();
      this.#paid = received;
      if (wait > 0) {
        // it lets messages wait, so the next ones come late
        this.#isBacklog = true;
        await sleep(wait);
      }
      await this.#handle(text, received);
    }
    this.#idleSince = performance.now();
  }

  async #handle(text: string, { at, received_at }: Received): Promise<void> {
    const frame = readFrame(text);
    if (frame.type === "nothing") return;
    if (frame.type === "invalid") {
      this.#count("invalid", "invalid");
      this.#invalid += 1;
      this.#send(writeInvalid(this.#protocol));
      if (this.#invalid >= MOST_INVALID) this.close(CLOSE.policy, "too many invalid frames");
      return;
    }
    this.#invalid = 0;
    if (frame.type !== "call") {
      this.#onAnswer(frame.id, frame.type, frame.payload);
      return;
    }
    const { id, action, payload } = frame;
    if (this.#isGuess && isOf201(action, payload)) this.#protocol = "ocpp2.0.1";
    const sent_sha256 = createHash("sha256").update(text).digest("hex");
    const before = this.#answers.get(id);
    // a charger that has just started may begin its ids again
    if (before?.sent_sha256 === sent_sha256) {
      this.#count(action, "repeated");
      this.#send(before.text);
      return;
    }
    const answer = (given: CallAnswer, outcome?: string) => this.#answer(frame, sent_sha256, given, outcome);
    if (action === "Heartbeat") {
      answer({ payload: { currentTime: received_at } });
      return;
    }
    if (action === "MeterValues" && isMainMeter(this.#protocol, payload)) {
      answer({ payload: {} });
      return;
    }
    const isBoot = action === "BootNotification";
    if (isBoot) {
      this.#beganAt = at;
      this.#isBacklog = true;
    }
    const message: Message = { action, payload, received_at, live: !this.#isBacklog, sent_sha256 };
    const key = holdKey(action, payload);
    const isSoon = at - this.#valuesAt < this.#owner.settings.valuesMs;
    // nothing passes on what a connection holds back after it closed
    if (key !== null && isSoon && this.#held.size < MOST_HELD && !this.#isClosing) {
      const older = this.#held.get(key);
      const all = joined(older, message);
      if ((older ? JSON.stringify(all.payload) : text).length <= LONGEST_HELD) {
        // taken out first, so that the order is that of arrival
        this.#held.delete(key);
        this.#held.set(key, all);
        answer({ payload: {} }, "held");
        return;
      }
    }
    const given = await this.#pass(message);
    if (key !== null) this.#valuesAt = at;
    if (given) answer(given);
    if (isBoot) {
      clearTimeout(this.#bootDue);
      this.#isIdentified = true;
      this.#unansweredCalls = 0;
      if (!this.#hasBooted) this.#calls.push(...CONFIGURE[this.#protocol]);
      this.#hasBooted = true;
      this.#callNext();
    }
  }

  /** Passes on what was held back, and then a message. @returns the answer to the message. */
  async #pass(message?: Message): Promise<CallAnswer | undefined> {
    const held = [...this.#held];
    const messages = [...held.map(([, each]) => each), ...(message ? [message] : [])];
    if (messages.length === 0) return undefined;
    const { charger_id, generation } = this;
    const protocol = this.#protocol;
    const answers = await this.#owner.edge.tell({ charger_id, generation, protocol, mirror: this.#mirror, messages });
    for (const [key, each] of held) if (this.#held.get(key) === each) this.#held.delete(key);
    return message && answers.at(-1);
  }

  #answer(
    { id, action }: { id: Id; action: string },
    sent_sha256: string,
    answer: CallAnswer,
    outcome = "payload" in answer ? "answered" : "refused",
  ): void {
    const text = writeAnswer(id, answer);
    this.#answers.set(id, { sent_sha256, text });
    if (this.#answers.size > KEPT_ANSWERS) {
      for (const oldest of this.#answers.keys()) {
        this.#answers.delete(oldest);
        break;
      }
    }
    this.#count(action, outcome);
    this.#send(text);
  }

  #count(action: string, outcome: string): void {
    this.#owner.metrics.add("ocpp_messages_total", { action: COUNTED.has(action) ? action : "other", outcome });
  }

  /** Passes on values that were held back long enough, or `now`. */
  flush(now = false): void {
    if (this.#held.size === 0 || (!now && performance.now() - this.#valuesAt < this.#owner.settings.valuesMs)) return;
    this.#valuesAt = performance.now();
    this.#inbox.add({ line: this, text: null, at: performance.now(), received_at: "" });
  }

  drop(): number {
    const { size } = this.#held;
    this.#held.clear();
    return size;
  }

  #askForBoot(): void {
    if (this.#isIdentified || this.#isClosing || !this.#owner.mayAskForBoot(this.charger_id)) return;
    this.#calls.push(["TriggerMessage", { requestedMessage: "BootNotification" }]);
    this.#callNext();
  }

  #callNext(): void {
    if (this.#unansweredCalls >= MOST_UNANSWERED) this.#calls.length = 0;
    const next = this.#asked ? undefined : this.#calls.shift();
    if (!next || this.#isClosing) return;
    const [action, payload] = next;
    const id = randomUUID();
    const late = setTimeout(() => {
      this.#unansweredCalls += 1;
      this.#onAnswer(id, "error", { code: "no answer" });
    }, CALL_MS);
    this.#asked = { id, action, late };
    this.#send(writeCall(id, action, payload));
  }

  #onAnswer(id: Id, type: "result" | "error", payload: unknown): void {
    // a mirror may pass on answers to calls of the other back office
    if (this.#asked?.id !== id) return;
    const { action, late } = this.#asked;
    clearTimeout(late);
    this.#asked = null;
    const { status, code, setVariableResult } = objectOf(payload);
    if (code !== "no answer") this.#unansweredCalls = 0;
    const results = Array.isArray(setVariableResult)
      ? setVariableResult.slice(0, MOST_RESULTS).map((each) => objectOf(each).attributeStatus)
      : [status];
    const said = (type === "error" ? [code] : results)
      .map((each) => (typeof each === "string" && STATUSES.has(each) ? each : "other"))
      .join(" ");
    this.#owner.log("configured", { charger_id: this.charger_id, action, said });
    this.#callNext();
  }

  /** Reads no more, and closes once what it sent is told: 10 s at most. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#socket.pause();
    this.flush(true);
    this.#inbox.hurry();
    let late: NodeJS.Timeout | undefined;
    await Promise.race([this.#inbox.idle(), new Promise((resolve) => (late = setTimeout(resolve, 10_000)))]);
    clearTimeout(late);
    this.close(CLOSE.restart, "restarting");
  }

  /** What it sent before is told all the same. */
  close(code: number, reason: string): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#socket.resume();
    this.#socket.close(code, reason);
    // one that does not answer the close is ended
    setTimeout(() => this.#socket.terminate(), 2_000).unref();
  }

  #onClose(code: number): void {
    this.#isClosing = true;
    clearInterval(this.#ping);
    clearTimeout(this.#asked?.late);
    clearTimeout(this.#bootDue);
    this.#owner.metrics.add("ocpp_closed_total", { code: String(code) });
    this.#inbox.leave(this);
    this.flush(true);
    this.#owner.ended(this);
  }
}
