/** What one charger sent, over all its connections: told in order, also after a connection closed or while the functions are away. */

import { setTimeout as sleep } from "node:timers/promises";
import { CLOSE } from "./frames.ts";
import { Superseded } from "./function.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";

/** What waits of a charger, of the process, and for how long. */
const MOST_FRAMES = 64;
const MOST_BYTES = 64 * 1_024;
const MOST_OF_ALL = 512 * 1_024 * 1_024;
const LONGEST_MS = 600_000;
/** Pauses between tries while the functions are away. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

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
  drain(): Promise<void>;
  close(code: number, reason: string): void;
}

/** `at` is of the clock that is never set. "flush" passes on the values that the connection held back. */
export type Received = { line: Line; text: string | "flush"; at: number; received_at: string };

/** The bytes that wait in all inboxes. */
export type Waiting = { bytes: number };

export class Inbox {
  readonly #queue: Received[] = [];
  readonly #lines = new Set<Line>();
  #bytes = 0;
  #work: Promise<void> | null = null;
  #isAway = false;
  #nap: AbortController | null = null;
  readonly #waiting: Waiting;
  readonly #end: AbortSignal;
  readonly #log: Log;
  readonly #metrics: Metrics;

  constructor({ waiting, end, log, metrics }: { waiting: Waiting; end: AbortSignal; log: Log; metrics: Metrics }) {
    this.#waiting = waiting;
    this.#end = end;
    this.#log = log;
    this.#metrics = metrics;
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0 && this.#lines.size === 0;
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
  }

  leave(line: Line): void {
    this.#lines.delete(line);
  }

  add(received: Received): void {
    const isFull = this.#isFull(received.text.length);
    if (isFull && this.#isAway && received.text !== "flush") {
      this.#lose("full", [received]);
      return;
    }
    this.#queue.push(received);
    this.#count(received.text.length);
    this.#pace();
    this.#run();
  }

  /** Resolves once everything is told, or lost. */
  async idle(): Promise<void> {
    while (this.#work) await this.#work;
  }

  /** Does not wait for the next try. */
  hurry(): void {
    this.#nap?.abort();
  }

  /** Nothing more is tried. @returns how many frames were not told. */
  giveUp(): number {
    return this.#remove(() => true).length;
  }

  #isFull(more: number): boolean {
    return (
      this.#queue.length > 0 &&
      (this.#queue.length >= MOST_FRAMES || this.#bytes + more > MOST_BYTES || this.#waiting.bytes + more > MOST_OF_ALL)
    );
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
    const removed = this.#queue.filter(which);
    for (const each of removed) {
      this.#queue.splice(this.#queue.indexOf(each), 1);
      this.#count(-each.text.length);
    }
    return removed;
  }

  /** What was read in one piece may be more than waits. */
  #trim(): void {
    const lost = new Set<Received>();
    let bytes = 0;
    for (const [place, each] of this.#queue.entries()) {
      bytes += each.text.length;
      if (place > 0 && each.text !== "flush" && (place >= MOST_FRAMES || bytes > MOST_BYTES)) lost.add(each);
    }
    if (lost.size > 0)
      this.#lose(
        "full",
        this.#remove((each) => lost.has(each)),
      );
  }

  #lose(reason: "full" | "late", lost: readonly Received[]): void {
    const frames = lost.filter(({ text }) => text !== "flush");
    for (const { line } of lost) line.close(CLOSE.tryAgain, "try again later");
    for (const _ of frames) this.#metrics.add("ocpp_frames_lost_total", { reason });
    const [first] = lost;
    if (first) this.#log("frames_lost", { charger_id: first.line.charger_id, frames: frames.length, reason });
  }

  #run(): void {
    this.#work ??= this.#workThrough().finally(() => {
      this.#work = null;
      if (this.#queue.length > 0 && !this.#end.aborted) this.#run();
    });
  }

  async #workThrough(): Promise<void> {
    let pause = FIRST_PAUSE_MS;
    for (let next = this.#queue[0]; next && !this.#end.aborted; next = this.#queue[0]) {
      try {
        await next.line.handle(next);
        this.#isAway = false;
        pause = FIRST_PAUSE_MS;
        this.#remove((each) => each === next);
      } catch (error) {
        if (error instanceof Superseded) {
          const { line } = next;
          this.#remove((each) => each.line === line);
          line.close(CLOSE.policy, "no longer admitted");
        } else if (performance.now() - next.at > LONGEST_MS) {
          this.#remove((each) => each === next);
          this.#lose("late", [next]);
        } else {
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
