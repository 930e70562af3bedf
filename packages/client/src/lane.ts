import { after } from "./wait.ts";

/** How a rate limit stands, as `RateLimit` and `RateLimit-Policy` say it. */
type LimitState = {
  /** The limit's name: other calls may count in it too. */
  bucket: string;
  /** Requests that fit now. */
  room: number;
  /** Milliseconds until one more fits. */
  step: number;
};

/** Reads `"cpo_write";r=117;t=2` and `"cpo_write";q=120;w=60`; null where an answer says neither. */
export function limitStateOf(headers: Headers): LimitState | null {
  const [, bucket, room] = /^"([^"]+)";r=(\d+)/.exec(headers.get("ratelimit") ?? "") ?? [];
  const [, quota, window] = /;q=(\d+);w=(\d+)/.exec(headers.get("ratelimit-policy") ?? "") ?? [];
  if (!bucket || !Number(quota)) return null;
  return { bucket, room: Number(room), step: (Number(window) * 1000) / Number(quota) };
}

type Turn = { ticket: number; go: () => void };

/** A tenth more at most, so that several processes of one client do not come at the same moment. */
const jittered = (ms: number) => ms * (1 + Math.random() / 10);

/**
 * The calls that one rate limit counts. As many are under way as it has room for; the others wait in a row, the oldest first. So all of
 * them wait for one pause, and none stampedes when it is over.
 */
export class Lane {
  #row: Turn[] = [];
  #underWay = 0;
  /** How many fitted at `#since`; one more does with each `#step` after it. */
  #room = Number.POSITIVE_INFINITY;
  #since = 0;
  #step = 1000;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * Waits for a turn, but no longer than `limit` milliseconds: then it is the call's turn whatever the limit says.
   * @throws the signal's reason.
   */
  async enter(ticket: number, limit: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#row.length === 0 && this.#fitsIn() === 0) {
      this.#underWay += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
        this.#row = this.#row.filter((other) => other !== turn);
      };
      const go = () => {
        end();
        this.#underWay += 1;
        resolve();
      };
      const abort = () => {
        end();
        reject(signal.reason);
      };
      const turn = { ticket, go };
      const timer = after(limit, go);
      signal.addEventListener("abort", abort, { once: true });
      this.#row.push(turn);
      this.#row.sort((one, other) => one.ticket - other.ticket);
      this.#next();
    });
  }

  /** A call is over; every call that entered leaves. */
  leave(): void {
    this.#underWay -= 1;
    this.#next();
  }

  /** An answer said how the limit stands. */
  learn({ room, step }: LimitState): void {
    const now = performance.now();
    // an answer to what was sent before the pause
    if (this.#since > now) return;
    this.#step = jittered(step);
    this.#room = room;
    this.#since = now;
    this.#next();
  }

  /** A call was refused: the next fits in so many milliseconds. */
  pause(ms: number): void {
    this.#room = 0;
    this.#since = Math.max(this.#since, performance.now() + jittered(ms) - this.#step);
    this.#next();
  }

  /** Milliseconds until one more call may be under way. */
  #fitsIn(): number {
    if (this.#room > this.#underWay) return 0;
    return Math.max(this.#since + (this.#underWay + 1 - this.#room) * this.#step - performance.now(), 0);
  }

  #next(): void {
    clearTimeout(this.#timer);
    for (;;) {
      const [first] = this.#row;
      if (!first) return;
      const ms = this.#fitsIn();
      if (ms > 0) {
        this.#timer = after(Math.ceil(ms), () => this.#next());
        return;
      }
      first.go();
    }
  }
}
