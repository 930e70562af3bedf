// What a bench prints: a few lines a finding for a person, or one JSON document for a program.

import type { Finding, Target } from "./findings.ts";
import type { Machine } from "./machine.ts";
import type { Options } from "./measure.ts";

export type Report = {
  bench: string;
  about: string;
  at: string;
  machine: Machine;
  options: Options;
  findings: Finding[];
};

export function describeReport({ bench, about, machine, options, findings }: Report): string {
  const { cores, processor, memory_gib, os, load, node, deno } = machine;
  return [
    `${bench}: ${about}`,
    `  ${cores} cores of ${processor}, ${memory_gib} GiB, ${os}, load ${load}; Node ${node}, Deno ${deno}`,
    `  ${options.accounts} accounts; median of ${options.rounds} rounds of ${options.seconds} s each`,
    "",
    ...findings.flatMap(describeFinding),
  ].join("\n");
}

function describeFinding({ what, unit, ours, floor, ratio, target, met, details }: Finding): string[] {
  const beside = Object.entries(details).flatMap(([name, value]) =>
    value === null ? [] : [`${name.replaceAll("_", " ")} ${number(value)}`],
  );
  const verdict = target ? `${asked(target)}: ${met ? "met" : "missed"}` : "";
  const first = `  ${what}: ${number(ours)} ${unit}${beside.length > 0 ? ` (${beside.join(", ")})` : ""}`;
  if (!floor) return [verdict ? `${first}; ${verdict}` : first];
  return [
    first,
    `    ${number(ratio ?? 0)} of ${floor.what} (${number(floor.value)} ${unit})${verdict ? `; ${verdict}` : ""}`,
  ];
}

function asked(target: Target): string {
  const [words = "", value] = Object.entries(target)[0] ?? [];
  return `${words.replace("_", " ")} ${value}`;
}

/** Three digits that count, and no more. */
function number(value: number): string {
  return value >= 100 || Number.isInteger(value)
    ? Math.round(value).toLocaleString("en")
    : String(Number(value.toPrecision(3)));
}
