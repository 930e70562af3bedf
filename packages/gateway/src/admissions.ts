/** Spreads admissions after a restart, and counts failed ones. */

/** Lets so many through a second. The others wait in order, at most as many as can be let through in 5 minutes. */
export class Spread {
  readonly #perSecond: number;
  readonly #waiting = new Set<() => void>();
  #budget: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#budget = perSecond;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Calls `go` when it is their turn. @returns how to leave the queue, or null if it is too long. */
  enter(go: () => void): (() => void) | null {
    if (this.#waiting.size >= this.#perSecond * 300) return null;
    this.#waiting.add(go);
    this.#timer ??= setInterval(() => this.#tick(), 20);
    if (this.#budget >= 1) this.#serve();
    return () => this.#waiting.delete(go);
  }

  #tick(): void {
    this.#budget = Math.min(this.#perSecond, this.#budget + this.#perSecond / 50);
    this.#serve();
    if (this.#waiting.size === 0 && this.#budget >= this.#perSecond) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  #serve(): void {
    for (const go of this.#waiting) {
      if (this.#budget < 1) return;
      this.#budget -= 1;
      this.#waiting.delete(go);
      go();
    }
  }
}

const WINDOW_MS = 60_000;
const MOST_PER_PAIR = 10;
const MOST_PER_ADDRESS = 100;
const MOST_COUNTED = 100_000;

/** Failed passwords of a minute. They are counted by address, so a stranger's failures do not lock a charger out. */
export class Failures {
  #counts = new Map<string, number>();
  #began = 0;

  #current(): Map<string, number> {
    if (Date.now() - this.#began > WINDOW_MS) {
      this.#counts = new Map();
      this.#began = Date.now();
    }
    return this.#counts;
  }

  isOver(identity: string, address: string): boolean {
    const counts = this.#current();
    return (
      (counts.get(address) ?? 0) >= MOST_PER_ADDRESS || (counts.get(`${address} ${identity}`) ?? 0) >= MOST_PER_PAIR
    );
  }

  note(identity: string, address: string): void {
    const counts = this.#current();
    for (const key of [address, `${address} ${identity}`])
      if (counts.has(key) || counts.size < MOST_COUNTED) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
}
