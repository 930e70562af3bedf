/** Limits connections without credentials, spreads admissions after a restart, and counts failed ones. */

import type { Duplex } from "node:stream";

const MOST_STRANGERS = 64;
const STRANGER_MS = 10_000;

/** Connections that have not sent credentials. Each has 10 s. Of more than 64 of an address the oldest is ended. */
export class Strangers {
  readonly #sockets = new Map<string, Set<Duplex>>();
  readonly #leave = new WeakMap<Duplex, () => void>();

  /** Without an address, which a proxy's header tells later, only the time is limited. */
  enter(socket: Duplex, address: string | null): void {
    const late = setTimeout(() => socket.destroy(), STRANGER_MS);
    const own = (address !== null && this.#sockets.get(address)) || new Set<Duplex>();
    if (address !== null) this.#sockets.set(address, own.add(socket));
    const leave = () => {
      clearTimeout(late);
      if (address === null || !own.delete(socket)) return;
      if (own.size === 0) this.#sockets.delete(address);
    };
    this.#leave.set(socket, leave);
    socket.once("close", leave);
    if (own.size <= MOST_STRANGERS) return;
    // a charger sends its credentials at once, so the oldest is the least likely to be one
    const [oldest] = own;
    if (oldest) this.leave(oldest);
    oldest?.destroy();
  }

  /** It has sent credentials. */
  leave(socket: Duplex): void {
    const leave = this.#leave.get(socket);
    if (!leave) return;
    leave();
    socket.off("close", leave);
    this.#leave.delete(socket);
  }
}

/** Calls in work at once. The function's other connections stay free for messages. */
const MOST_ASKING = 24;

type Go = () => Promise<void>;

/**
 * Lets so many through a second. The others wait, at most as many as can be let through in 5 minutes. Addresses take
 * turns, and one address may take half of the places, so one that sends many handshakes does not keep others out.
 */
export class Spread {
  readonly #perSecond: number;
  readonly #waiting = new Map<string, Set<Go>>();
  #size = 0;
  #asking = 0;
  #budget: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#budget = perSecond;
  }

  get size(): number {
    return this.#size;
  }

  /** Calls `go` when it is their turn. @returns how to leave the queue, or null if it is too long. */
  enter(address: string, go: Go): (() => void) | null {
    const most = this.#perSecond * 300;
    const own = this.#waiting.get(address) ?? new Set<Go>();
    if (this.#size >= most || own.size >= most / 2) return null;
    this.#waiting.set(address, own.add(go));
    this.#size += 1;
    this.#timer ??= setInterval(() => this.#tick(), 20);
    this.#serve();
    return () => this.#take(address, go);
  }

  #take(address: string, go: Go): void {
    const own = this.#waiting.get(address);
    if (!own?.delete(go)) return;
    this.#size -= 1;
    if (own.size === 0) this.#waiting.delete(address);
  }

  #tick(): void {
    this.#budget = Math.min(this.#perSecond, this.#budget + this.#perSecond / 50);
    this.#serve();
    if (this.#size === 0 && this.#budget >= this.#perSecond) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  #serve(): void {
    for (const [address, own] of this.#waiting) {
      if (this.#budget < 1 || this.#asking >= MOST_ASKING) return;
      // to the end of the map: the next address has its turn first
      this.#waiting.delete(address);
      this.#waiting.set(address, own);
      for (const go of own) {
        this.#take(address, go);
        this.#budget -= 1;
        this.#asking += 1;
        void go().finally(() => {
          this.#asking -= 1;
        });
        break;
      }
    }
  }
}

const WINDOW_MS = 60_000;
const MOST_PER_PAIR = 10;
const MOST_PER_ADDRESS = 100;
/** Of an address over its limit: two, so that a charger may connect twice at once. */
const MOST_PER_PAIR_OF_BUSY = 2;
const MOST_COUNTED = 100_000;

/**
 * Failed passwords of a minute. They are counted by address, so a stranger's failures do not lock a charger out. Nor do
 * those of others behind its address, such as a vendor's cloud: the identity must have failed there itself.
 */
export class Failures {
  #counts = new Map<string, number>();
  #began = performance.now();

  #current(): Map<string, number> {
    if (performance.now() - this.#began > WINDOW_MS) {
      this.#counts = new Map();
      this.#began = performance.now();
    }
    return this.#counts;
  }

  /** A mirror's secret cannot be guessed, and its platform sends for many: there only the pair is limited. */
  isOver(identity: string, address: string, isMirror = false): boolean {
    const counts = this.#current();
    const isAddressOver = !isMirror && (counts.get(address) ?? 0) >= MOST_PER_ADDRESS;
    return (counts.get(`${address} ${identity}`) ?? 0) >= (isAddressOver ? MOST_PER_PAIR_OF_BUSY : MOST_PER_PAIR);
  }

  /** Whether an identity's refusal is the first of this minute, and so worth a line of the log. */
  isFirst(identity: string): boolean {
    const isFirst = !this.#current().has(` ${identity}`);
    this.#add(` ${identity}`, 1);
    return isFirst;
  }

  /** Counts an attempt as failed until its outcome is known, so that attempts at the same time are counted too. */
  begin(identity: string, address: string, isMirror = false): (isFailed: boolean) => void {
    const pair = `${address} ${identity}`;
    this.#add(pair, 1);
    return (isFailed) => {
      if (!isFailed) this.#add(pair, -1);
      else if (!isMirror) this.#add(address, 1);
    };
  }

  #add(key: string, change: number): void {
    const counts = this.#current();
    const before = counts.get(key);
    if (before !== undefined) counts.set(key, before + change);
    else if (change > 0 && counts.size < MOST_COUNTED) counts.set(key, change);
  }
}
