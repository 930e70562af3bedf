// Random values that a seed repeats.

export type Random = {
  /** A whole number from 0 to `below` - 1. */
  below(below: number): number;
  /** Whether something of this probability happens. */
  happens(probability: number): boolean;
  /** @throws where the list is empty. */
  pick<T>(list: readonly T[]): T;
};

/** SplitMix32 (Steele, Lea and Flood, 2014): one whole number as state, and a long enough period for a trial. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
  const below = (count: number) => Math.floor((next() / 2 ** 32) * count);
  return {
    below,
    happens: (probability) => next() / 2 ** 32 < probability,
    pick(list) {
      if (list.length === 0) throw new Error("nothing to pick from");
      return list[below(list.length)] as (typeof list)[number];
    },
  };
}
