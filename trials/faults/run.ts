// Breaks one thing after another under load.

import { setTimeout as sleep } from "node:timers/promises";
import { type Random, randomOf } from "../kit/random.ts";
import { type Load, type LoadOptions, toSeconds, underLoad } from "../load/load.ts";
import { FAULTS, type Fault, type Part } from "./faults.ts";

const HEALED_MS = 30_000;
/** Between two faults, and before the first. */
const CALM_MS = 1_500;
/** npm start gives up on a part that ends five times in a minute. */
const MOST_ENDS = 3;
/** For so long after failures nobody asks the EAN register. */
const CIRCUIT_MS = 32_000;
const DISK_MB = 1_500;
const MINUTE = 60_000;

type Options = Pick<LoadOptions, "host" | "seed" | "writing" | "prepare"> & {
  /** How long faults are begun; each happens once at least. */
  seconds: number;
  /** Of FAULTS, by their names; all if omitted. */
  only?: readonly string[];
  say?: (line: string) => void;
};
type Result = {
  fault: string;
  at_s: number;
  requests: number;
  failures: Record<string, number>;
  healed_s: number | null;
  /** What healed last. */
  last: string;
  /** Connections that met the broken neighbor. */
  met?: number;
};

/** What happened, and since when it is over. */
type Happened = { fault: Fault; healed_at: number };

export async function faults({ seconds, only, say = () => {}, ...options }: Options) {
  const chosen = FAULTS.filter(({ name }) => !only || only.includes(name));
  // a disk of its own can be filled; it takes root to make one
  const has_disk =
    process.getuid?.() === 0 && process.platform === "linux" && chosen.some(({ needs }) => needs === "disk");
  return underLoad({ ...options, disk_mb: has_disk ? DISK_MB : undefined }, async (load) => {
    const random = randomOf(options.seed);
    const possible = chosen.filter(({ needs }) => !needs || (needs === "disk" ? has_disk : needs in load.neighbors));
    const results: Result[] = [];
    const happened: Happened[] = [];
    const begun = performance.now();
    await sleep(CALM_MS);
    let left: Fault[] = [];
    while (results.length < possible.length || performance.now() - begun < seconds * 1_000) {
      if (left.length === 0) left = [...possible];
      const fault = await takeOne(left, happened, random);
      const result = await breakOnce(fault, load, random, begun);
      happened.push({ fault, healed_at: performance.now() });
      results.push(result);
      say(lineOf(result));
      await sleep(CALM_MS);
    }
    return { faults: results };
  });
}

/** One of the faults that can happen now, taken out of the list; waits for one. */
async function takeOne(left: Fault[], happened: readonly Happened[], random: Random): Promise<Fault> {
  const since = (ms: number) =>
    happened.filter(({ healed_at }) => healed_at > performance.now() - ms).map(({ fault }) => fault);
  const mayEnd = (part: Part) => since(MINUTE).filter(({ ends }) => ends?.includes(part)).length < MOST_ENDS;
  const isReady = ({ ends = [], needs }: Fault) =>
    ends.every(mayEnd) && (needs !== "ean_register" || !since(CIRCUIT_MS).some((each) => each.needs === needs));
  for (;;) {
    const ready = left.filter(isReady);
    if (ready.length > 0) return left.splice(left.indexOf(random.pick(ready)), 1)[0] as Fault;
    await sleep(500);
  }
}

async function breakOnce(fault: Fault, load: Load, random: Random, begun: number): Promise<Result> {
  const { journal, kinds, windows, neighbors } = load;
  const from = performance.now();
  const neighbor = fault.needs && fault.needs !== "disk" ? neighbors[fault.needs] : undefined;
  neighbor?.met();
  await fault.happen({ ...load, random });
  const met = neighbor?.met();
  if (met === 0) journal.complain(`${fault.name}: nobody met it`);
  const mended = performance.now();
  /** When each kind was acknowledged again. */
  const again = () =>
    kinds.map(
      (kind) =>
        journal.attempts.find(
          (each) => each.kind === kind && each.at > mended && each.status >= 200 && each.status < 400,
        )?.ended,
    );
  let healed = again();
  while (healed.includes(undefined) && performance.now() - mended < HEALED_MS) {
    await sleep(50);
    healed = again();
  }
  const ends = healed.includes(undefined) ? null : Math.max(...healed.map((at) => at ?? 0));
  if (ends === null)
    journal.complain(
      `${fault.name}: not healed after ${HEALED_MS / 1000} s`,
      kinds.filter((_, n) => !healed[n]).join(),
    );
  const to = ends ?? performance.now();
  windows.push({
    fault: fault.name,
    from,
    to,
    silent: fault.ends?.includes("functions") ?? false,
    frozen_ms: fault.frozen_ms ?? 0,
  });
  const meanwhile = journal.attempts.filter(({ ended }) => ended >= from && ended <= to);
  const failures: Record<string, number> = {};
  for (const { status } of meanwhile)
    if (status === 0 || status >= 400) failures[status || "none"] = (failures[status || "none"] ?? 0) + 1;
  return {
    fault: fault.name,
    at_s: toSeconds(from - begun),
    requests: meanwhile.length,
    failures,
    healed_s: ends === null ? null : toSeconds(ends - mended),
    last: kinds[healed.findIndex((at) => at === (ends ?? undefined))] ?? "",
    ...(met === undefined ? {} : { met }),
  };
}

const lineOf = ({ fault, at_s, requests, failures, healed_s, last }: Result): string =>
  [
    `${at_s.toFixed(1).padStart(7)} s`,
    fault.padEnd(52),
    `${requests} requests`.padStart(14),
    Object.entries(failures)
      .map(([status, count]) => `${count} × ${status}`)
      .join(", ")
      .padEnd(24),
    healed_s === null ? `${last} did not heal` : `healed after ${healed_s} s, ${last} last`,
  ].join("  ");
