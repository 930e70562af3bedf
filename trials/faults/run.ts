// Breaks one thing after another under load, and compares what was acknowledged with what is stored.

import { setTimeout as sleep } from "node:timers/promises";
import { operate } from "#local/customer.ts";
import { credentialsOf } from "../kit/credentials.ts";
import { randomOf } from "../kit/random.ts";
import { type Trial, withStack } from "../kit/stack.ts";
import { FAULTS, type Fault } from "./faults.ts";
import { type Journal, openJournal } from "./journal.ts";
import { keepWriting, months, sessions, type Writer, type Writing } from "./writers.ts";

const HEALED_MS = 30_000;
/** Between two faults, and before the first. */
const CALM_MS = 1_500;

export type Options = {
  seed: number;
  /** How long faults are begun; each happens once at least. */
  seconds: number;
  /** Of FAULTS, by their names; all if omitted. */
  only?: readonly string[];
  prepare?: (data_dir: string) => Promise<void>;
  say?: (line: string) => void;
};
export type Result = {
  fault: string;
  at_s: number;
  requests: number;
  failures: Record<string, number>;
  healed_s: number | null;
};

export function faults({ seed, seconds, only, prepare, say = () => {} }: Options) {
  return withStack(
    async (trial) => {
      await trial.db.query("update core.rate_limits set quota = 1000000000");
      const journal = await openJournal(trial.stack.base_url);
      const random = randomOf(seed);
      const credentials = await credentialsOf(trial.stack);
      let isOver = false;
      const writings: Writing[] = Array.from({ length: 4 }, (_, id) => ({
        ...{ trial, journal, credentials, id },
        random: randomOf(seed + id + 1),
        over: () => isOver,
      }));
      const makers = [months, sessions];
      const writers: Writer[] = [];
      for (const [n, writing] of writings.entries()) writers.push(await (makers[n % makers.length] ?? months)(writing));
      const kinds = [...new Set(writers.map(({ kind }) => kind))];

      const writing = writers.map((writer, n) => keepWriting(writer, writings[n] as Writing));
      const begun = performance.now();
      await sleep(CALM_MS);
      const happened: Result[] = [];
      const windows: Window[] = [];
      const possible = FAULTS.filter(({ name }) => !only || only.includes(name));
      let left: Fault[] = [...possible];
      while (happened.length < possible.length || performance.now() - begun < seconds * 1_000) {
        if (left.length === 0) left = [...possible];
        const [fault] = left.splice(random.below(left.length), 1);
        if (!fault) break;
        const result = await breakOnce(fault, { trial, random, journal, kinds, begun, windows });
        happened.push(result);
        say(lineOf(result));
        await sleep(CALM_MS);
      }
      isOver = true;
      await Promise.all(writing);
      judgeAttempts(journal, windows);
      for (const writer of writers) await writer.check(trial.db);
      const books = (await operate(trial.stack.operator_database_url, "ledger_check", {})) as { ok: boolean };
      if (!books.ok) journal.complain("ledger check: the books do not agree", JSON.stringify(books));
      return {
        seed,
        seconds: Math.round((performance.now() - begun) / 1000),
        faults: happened,
        writes: Object.fromEntries(
          kinds.map((kind) => {
            const told = writers.filter((writer) => writer.kind === kind).map((writer) => writer.told());
            const sum = (outcome: "done" | "open") => told.reduce((total, each) => total + each[outcome], 0);
            return [kind, { acknowledged: sum("done"), left_open: sum("open") }];
          }),
        ),
        broken: journal.broken(),
      };
    },
    { ...(prepare ? { prepare } : {}) },
  );
}

/** When something was broken, until all was healed. */
type Window = { from: number; to: number; ends: Fault["ends"] };
type Breaking = {
  trial: Trial;
  random: ReturnType<typeof randomOf>;
  journal: Journal;
  kinds: string[];
  begun: number;
  windows: Window[];
};

async function breakOnce(fault: Fault, { trial, random, journal, kinds, begun, windows }: Breaking): Promise<Result> {
  const from = performance.now();
  await fault.happen({ trial, random });
  const mended = performance.now();
  /** Since when each kind is acknowledged again. */
  const again = () =>
    kinds.map(
      (kind) =>
        journal.attempts.find((each) => each.kind === kind && each.at > mended && each.status < 400 && each.status > 0)
          ?.ended,
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
  windows.push({ from, to, ends: fault.ends });
  const meanwhile = journal.attempts.filter(({ ended }) => ended >= from && ended <= to);
  const failures: Record<string, number> = {};
  for (const { status } of meanwhile)
    if (status === 0 || status >= 400) failures[status || "none"] = (failures[status || "none"] ?? 0) + 1;
  return {
    fault: fault.name,
    at_s: seconds(from - begun),
    requests: meanwhile.length,
    failures,
    healed_s: ends === null ? null : seconds(ends - mended),
  };
}

const seconds = (ms: number) => Math.round(ms / 100) / 10;

/** Nothing fails while nothing is broken, and only what ends the functions leaves a request without an answer. */
function judgeAttempts(journal: Journal, windows: readonly Window[]): void {
  for (const { kind, at, ended, status } of journal.attempts) {
    const met = windows.filter(({ from, to }) => at <= to && ended >= from);
    if (status >= 500 && met.length === 0) journal.complain(`${kind}: ${status} while nothing was broken`);
    if (status === 0 && !met.some(({ ends }) => ends === "functions"))
      journal.complain(`${kind}: no answer although the functions ran`);
  }
}

export const lineOf = ({ fault, at_s, requests, failures, healed_s }: Result): string =>
  [
    `${at_s.toFixed(1).padStart(7)} s`,
    fault.padEnd(34),
    `${requests} requests`.padStart(14),
    Object.entries(failures)
      .map(([status, count]) => `${count} × ${status}`)
      .join(", ")
      .padEnd(24),
    healed_s === null ? "not healed" : `healed after ${healed_s} s`,
  ].join("  ");
