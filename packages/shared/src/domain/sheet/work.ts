import { setImmediate as othersTurn } from "node:timers/promises";
import { SheetError } from "./model.ts";

/** Milliseconds of work on a file, before others have their turn and in all. */
const SLICE_MS = 10;
const MOST_MS = 5_000;

/** The work on one file. Whoever reads it calls `pause` often, so that the process also answers others. */
export class Work {
  #done = 0;
  #since = performance.now();

  /**
   * Null while the slice of 10 ms lasts. Then a promise that others had their turn, which does not count as work.
   * @throws {SheetError} `too_slow`: the file has taken 5 s
   */
  pause(): Promise<void> | null {
    const slice = performance.now() - this.#since;
    if (slice < SLICE_MS) return null;
    this.#done += slice;
    if (this.#done > MOST_MS) throw new SheetError("too_slow");
    return othersTurn().then(() => {
      this.#since = performance.now();
    });
  }
}
