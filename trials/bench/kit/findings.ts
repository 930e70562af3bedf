// What a bench found, and whether it reaches what is asked of it.

import type { Figures } from "./measure.ts";

export type Target = { at_least: number } | { at_most: number } | { exactly: number };

export type Finding = {
  /** What was measured: "a position, 16 at once". */
  what: string;
  /** Of `ours`, and of the floor's `value`: "requests/s", "ms". */
  unit: string;
  ours: number;
  /** What it is held against, measured in the same run. Null where the target is for `ours` itself. */
  floor: { what: string; value: number } | null;
  /** Ours divided by the floor's, a rate by a rate or a duration by a duration; without a floor null. */
  ratio: number | null;
  /** For the ratio, or without a floor for `ours`. Null: told beside the rest, and held to nothing. */
  target: Target | null;
  met: boolean | null;
  /** What else was measured of ours; null where this machine cannot tell. */
  details: Record<string, number | null>;
};

type Floor = { what: string; value: number };

/** Ours against a floor. */
export function against(
  what: string,
  unit: string,
  ours: number,
  floor: Floor,
  target: Target | null,
  details: Finding["details"] = {},
): Finding {
  const ratio = ours / floor.value;
  return { what, unit, ours, floor, ratio, target, met: target && holds(ratio, target), details };
}

/** A figure by itself. */
export function alone(
  what: string,
  unit: string,
  ours: number,
  target: Target | null,
  details: Finding["details"] = {},
): Finding {
  return { what, unit, ours, floor: null, ratio: null, target, met: target && holds(ours, target), details };
}

function holds(value: number, target: Target): boolean {
  if ("at_least" in target) return value >= target.at_least;
  return "at_most" in target ? value <= target.at_most : value === target.exactly;
}

/**
 * A rate against that of a floor, each of so many things a request. Beside it the same by processor time, which says more than the
 * clock where the machine is shared.
 */
export function rateAgainst(
  what: string,
  unit: string,
  ours: Figures,
  floor: { what: string; figures: Figures },
  target: Target | null,
  things = 1,
): Finding {
  const [spent, needed] = [processorOf(ours), processorOf(floor.figures)];
  return against(
    what,
    unit,
    ours.per_second * things,
    { what: floor.what, value: floor.figures.per_second * things },
    target,
    { ...detailsOf(ours), processor_ratio: spent && needed ? needed / spent : null },
  );
}

/** A duration, such as the p50, against that of a floor; the same by processor time beside it. */
export function durationAgainst(
  what: string,
  ours: Figures,
  floor: { what: string; figures: Figures },
  figure: "p50_ms" | "p99_ms",
  target: Target,
): Finding {
  const [spent, needed] = [processorOf(ours), processorOf(floor.figures)];
  return against(what, "ms", ours[figure], { what: floor.what, value: floor.figures[figure] }, target, {
    ...detailsOf(ours),
    processor_ratio: spent && needed ? spent / needed : null,
  });
}

const processorOf = ({ served_us, postgres_us }: Figures) =>
  served_us === null || postgres_us === null ? null : served_us + postgres_us;

/** What else there is to say of a rate or a duration. */
function detailsOf({ p50_ms, p99_ms, served_us, postgres_us }: Figures): Finding["details"] {
  return { p50_ms, p99_ms, served_us, postgres_us };
}
