// Measuring side by side: what is held against each other takes turns, round by round, so that a drift of the machine hits both, and
// the ratio is of the medians.

import type pg from "pg";
import { type Load, load } from "./load.ts";
import { processorTime } from "./processor.ts";
import type { Stack } from "./stack.ts";

export type Options = {
  /** Rows the bench is run over; each bench has its own number. */
  accounts: number;
  /** Turns each contender gets, and how long one lasts. */
  rounds: number;
  seconds: number;
};

export type Figures = {
  per_second: number;
  p50_ms: number;
  p99_ms: number;
  /** How many were measured. */
  count: number;
  /** Processor time of one, in microseconds: of the process that serves, and of Postgres. Null where it cannot be told. */
  served_us: number | null;
  postgres_us: number | null;
};

/** What takes a turn of so many seconds. */
export type Contender = (seconds: number) => Promise<Figures>;

/** Requests to a served process. */
export function requests(stack: Stack, server: { pid: number }, requested: Load): Contender {
  return (seconds) =>
    withProcessor(stack, server, async () => {
      const { took, seconds: lasted } = await load(requested, seconds);
      return figures(took, lasted);
    });
}

/**
 * The same thing again and again, one at a time: something that a server does, or a statement without a function around it. What comes
 * before each is not timed.
 */
export function repeated(
  stack: Stack,
  server: { pid: number } | null,
  run: () => Promise<unknown>,
  before: () => Promise<unknown> = async () => {},
): Contender {
  return (seconds) =>
    withProcessor(stack, server, async () => {
      const took: number[] = [];
      const deadline = performance.now() + seconds * 1000;
      while (performance.now() < deadline) {
        await before();
        const begun = performance.now();
        await run();
        took.push(performance.now() - begun);
      }
      return figures(took, took.reduce((sum, ms) => sum + ms, 0) / 1000);
    });
}

/** Adds what the server, if there is one, and Postgres spent meanwhile. */
async function withProcessor(
  stack: Stack,
  server: { pid: number } | null,
  measure: () => Promise<Figures>,
): Promise<Figures> {
  const spent = () => ({
    served: server ? processorTime(server.pid) : 0,
    postgres: processorTime(stack.postgres_pid, { children: true }),
  });
  const before = spent();
  const measured = await measure();
  const after = spent();
  return {
    ...measured,
    served_us: each(before.served, after.served, measured.count),
    postgres_us: each(before.postgres, after.postgres, measured.count),
  };
}

/** Milliseconds of many as microseconds of one. */
function each(before: number | null, after: number | null, count: number): number | null {
  return before === null || after === null ? null : Math.round(((after - before) * 1000) / count);
}

function figures(took: number[], seconds: number): Figures {
  const sorted = took.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  return {
    per_second: sorted.length / seconds,
    p50_ms: at(0.5),
    p99_ms: at(0.99),
    count: sorted.length,
    served_us: null,
    postgres_us: null,
  };
}

/** Each contender once to warm up, then all in turn; of each the median of every figure. */
export async function takeTurns<Name extends string>(
  contenders: Record<Name, Contender>,
  { rounds, seconds }: Pick<Options, "rounds" | "seconds">,
): Promise<Record<Name, Figures>> {
  const names = Object.keys(contenders) as Name[];
  const turns = Object.fromEntries(names.map((name) => [name, [] as Figures[]])) as Record<Name, Figures[]>;
  for (const name of names) await contenders[name](seconds);
  for (let round = 0; round < rounds; round++)
    for (const name of names) turns[name].push(await contenders[name](seconds));
  return Object.fromEntries(names.map((name) => [name, medians(turns[name])])) as Record<Name, Figures>;
}

function medians(rounds: readonly Figures[]): Figures {
  const of = <T extends number | null>(figure: (each: Figures) => T): T =>
    figure(median(rounds, (each) => figure(each) ?? 0));
  return {
    per_second: of((each) => each.per_second),
    p50_ms: of((each) => each.p50_ms),
    p99_ms: of((each) => each.p99_ms),
    count: of((each) => each.count),
    served_us: of((each) => each.served_us),
    postgres_us: of((each) => each.postgres_us),
  };
}

export function median<T>(list: readonly T[], value: (each: T) => number): T {
  const middle = list.toSorted((a, b) => value(a) - value(b))[Math.floor(list.length / 2)];
  if (middle === undefined) throw new Error("nothing was measured");
  return middle;
}

/** The text of a statement's one answer, from Postgres without a function around it. */
export async function answerOf(db: pg.Pool | pg.Client, text: string, values: unknown[]): Promise<string> {
  const { rows } = await db.query<{ answer: string }>({ text, values });
  const [row] = rows;
  if (!row) throw new Error("a bare statement found nothing");
  return row.answer;
}
