/** What one charger sent, over all its connections: told in order, also after a connection closed or while the functions are away. */

import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { CLOSE } from "./frames.ts";
import { Superseded } from "./function.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";

/** What a frame takes besides its text, about. */
const FRAME_BYTES = 200;
/** What waits of a charger, of the process, and for how long. */
const MOST_FRAMES = 64;
const MOST_BYTES = MOST_FRAMES * (1_024 + FRAME_BYTES);
/** Reading pauses at those; what was read in one piece before still waits: the longest frame, and 64 KiB of others. */
const MOST_FRAMES_READ = 512;
const MOST_BYTES_READ = 512 * 1_024;
const MOST_OF_ALL = 512 * 1_024 * 1_024;
const LONGEST_MS = 600_000;
/** Pauses between tries while the functions are away. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** Frames that need no function are told at once: after so many the other chargers have their turn. */
const TURN = 64;
/** Losses of so long are one line of the log. */
const LOSSES_MS = 1_000;

/** One connection of the charger. */
export interface Line {
  readonly charger_id: string;
  readonly generation: number;
  /** When it was last heard of, by the clock that is never set. */
  readonly heardAt: number;
  readonly isSilent: boolean;
  /** Whether it was heard of since the last report. */
  heard: boolean;
  /** @throws {Error} if it is not stored */
  handle(received: Received): Promise<void>;
  read(isWanted: boolean): void;
  flush(now?: boolean): void;
  /** Drops the values that it holds back. @returns how many there were. */
  drop(): number;
  drain(): Promise<void>;
  close(code: number, reason: string): void;
}

/** `at` is of the clock that is never set. Without a text it passes on the values that the connection held back. */
export type Received = { line: Line; text: string | null; at: number; received_at: string };

const bytesOf = ({ text }: Received) => (text?.length ?? 0) + FRAME_BYTES;
const heldOf = (line: Line): Received => ({ line, text: null, at: performance.now(), received_at: "" });

type Reason = "full" | "late" | "superseded" | "restart";

/** The bytes that wait in all inboxes. */
export type Waiting = { bytes: number };

export class Inbox {
  readonly #queue = new Set<Received>();
  readonly #lines = new Set<Line>();
  #bytes = 0;
  #work: Promise<void> | null = null;
  #isAway = false;
  #nap: AbortController | null = null;
  /** Not logged yet. */
  readonly #losses = new Map<Reason, number>();
  #report: NodeJS.Timeout | undefined;
  readonly #charger_id: string;
  readonly #waiting: Waiting;
  readonly #end: AbortSignal;
  readonly #log: Log;
  readonly #metrics: Metrics;

  constructor(
    charger_id: string,
    { waiting, end, log, metrics }: { waiting: Waiting; end: AbortSignal; log: Log; metrics: Metrics },
  ) {
    this.#charger_id = charger_id;
    this.#waiting = waiting;
    this.#end = end;
    this.#log = log;
    this.#metrics = metrics;
  }

  get isEmpty(): boolean {
    return this.#queue.size === 0 && this.#lines.size === 0;
  }

  get isWorking(): boolean {
    return this.#work !== null;
  }

  /** The connections that are open. */
  get lines(): ReadonlySet<Line> {
    return this.#lines;
  }

  enter(line: Line): void {
    this.#lines.add(line);
    this.#pace();
  }

  leave(line: Line): void {
    this.#lines.delete(line);
  }

  add(received: Received): void {
    if (this.#end.aborted) this.#lose("restart", [received]);
    // values that were held back are bounded, and answered
    else if (received.text !== null && !this.#hasRoom(bytesOf(received))) this.#lose("full", [received]);
    else {
      this.#queue.add(received);
      this.#count(bytesOf(received));
      this.#pace();
      this.#run();
    }
  }

  /** Resolves once everything is told, or lost. */
  async idle(): Promise<void> {
    while (this.#work) await this.#work;
  }

  /** Does not wait for the next try. */
  hurry(): void {
    this.#nap?.abort();
  }

  /** Nothing more is tried; what was not told is lost. */
  giveUp(): void {
    this.#lose("restart", [...this.#remove(() => true), ...[...this.#lines].map(heldOf)]);
    this.#reportLosses();
  }

  #isFull(more: number): boolean {
    return this.#queue.size > 0 && (this.#queue.size >= MOST_FRAMES || this.#bytes + more > MOST_BYTES);
  }

  #hasRoom(more: number): boolean {
    if (this.#waiting.bytes + more > MOST_OF_ALL) return false;
    if (this.#isAway) return !this.#isFull(more);
    return this.#queue.size < MOST_FRAMES_READ && this.#bytes + more <= MOST_BYTES_READ;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#waiting.bytes += bytes;
  }

  /** A charger that sends faster than we tell is read more slowly; not while the functions are away: then it must know. */
  #pace(): void {
    const isFull = this.#isFull(0) && !this.#isAway;
    for (const line of this.#lines) line.read(!isFull);
  }

  #remove(which: (received: Received) => boolean): Received[] {
    const removed = [...this.#queue].filter(which);
    for (const each of removed) this.#take(each);
    return removed;
  }

  #take(received: Received): void {
    if (this.#queue.delete(received)) this.#count(-bytesOf(received));
  }

  /** What was read in one piece may be more than waits. */
  #trim(): void {
    const lost: Received[] = [];
    let [place, bytes] = [0, 0];
    for (const each of this.#queue) {
      bytes += bytesOf(each);
      if (place > 0 && each.text !== null && (place >= MOST_FRAMES || bytes > MOST_BYTES)) lost.push(each);
      place += 1;
    }
    for (const each of lost) this.#take(each);
    this.#lose("full", lost);
  }

  /** Counts what is never told, and closes the connections it came from. With a text of null go the values held back. */
  #lose(reason: Reason, lost: readonly Received[]): void {
    let frames = 0;
    for (const { line, text } of lost) {
      frames += text === null ? line.drop() : 1;
      if (reason === "superseded") line.close(CLOSE.policy, "no longer admitted");
      else line.close(CLOSE.tryAgain, "try again later");
    }
    if (frames === 0) return;
    this.#metrics.add("ocpp_frames_lost_total", { reason }, frames);
    this.#losses.set(reason, (this.#losses.get(reason) ?? 0) + frames);
    if (this.#end.aborted) this.#reportLosses();
    else this.#report ??= setTimeout(() => this.#reportLosses(), LOSSES_MS);
  }

  #reportLosses(): void {
    clearTimeout(this.#report);
    this.#report = undefined;
    for (const [reason, frames] of this.#losses)
      this.#log("frames_lost", { charger_id: this.#charger_id, frames, reason });
    this.#losses.clear();
  }

  #first(): Received | undefined {
    for (const first of this.#queue) return first;
    return undefined;
  }

  #run(): void {
    this.#work ??= this.#workThrough().finally(() => {
      this.#work = null;
      if (this.#queue.size > 0 && !this.#end.aborted) this.#run();
    });
  }

  async #workThrough(): Promise<void> {
    let pause = FIRST_PAUSE_MS;
    let told = 0;
    for (let next = this.#first(); next && !this.#end.aborted; next = this.#first()) {
      try {
        await next.line.handle(next);
        this.#isAway = false;
        pause = FIRST_PAUSE_MS;
        this.#take(next);
        told += 1;
        if (told % TURN === 0) await nextTurn();
      } catch (error) {
        const { line, at } = next;
        if (error instanceof Superseded)
          this.#lose("superseded", [...this.#remove((each) => each.line === line), heldOf(line)]);
        else if (performance.now() - at > LONGEST_MS)
          this.#lose(
            "late",
            this.#remove((each) => each === next),
          );
        else {
          this.#isAway = true;
          this.#trim();
          this.#pace();
          this.#nap = new AbortController();
          const signal = AbortSignal.any([this.#nap.signal, this.#end]);
          await sleep(pause * (0.5 + Math.random()), undefined, { signal }).catch(() => {});
          pause = Math.min(LONGEST_PAUSE_MS, pause * 2);
        }
      }
      this.#pace();
    }
  }
}
