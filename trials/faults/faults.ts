// What is broken, one after the other.

import { appendFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { childrenOf } from "../../bench/kit/processor.ts";
import type { Random } from "../kit/random.ts";
import type { Trial } from "../kit/stack.ts";
import type { Load, Name } from "../load/load.ts";
import { MODES } from "../load/neighbor.ts";

type Scene = Load & { random: Random };
export type Fault = {
  name: string;
  /** The part of the stack that ends by it, if one does. */
  ends?: Part;
  /** What the scene has to have. */
  needs?: Name | "disk";
  /** Breaks something, and resolves when it is no longer broken. */
  happen: (scene: Scene) => Promise<void>;
};

const kill =
  (part: Part): Fault["happen"] =>
  ({ trial }) =>
    killed(trial, part);

type Part = "functions" | "gateway" | "postgres";

/** Kills a part, which may be just starting. */
async function killed({ processes }: Trial, part: Part): Promise<void> {
  for (;;)
    try {
      process.kill(processes()[part], "SIGKILL");
      return;
    } catch {
      await sleep(100);
    }
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, name);
    } catch {
      // it has just ended
    }
}

const FROZEN_MS = 10_000;
const HELD_MS = 8_000;
const FULL_MS = 8_000;
/** Longer than anybody waits for a neighbor. */
const BROKEN_MS = 12_000;

/** Ends the connections of the functions, and then takes every connection that is left. */
async function takeConnections({ trial }: Scene): Promise<void> {
  const { rows } = await trial.db.query<{ most: number }>(
    "select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as most",
  );
  const taken = Array.from({ length: rows[0]?.most ?? 0 }, () => {
    const client = new pg.Client({ connectionString: trial.stack.operator_database_url });
    client.on("error", () => {});
    return client;
  });
  await trial.db.query("select pg_terminate_backend(pid) from pg_stat_activity where usename like 'edge%'");
  await Promise.allSettled(taken.map((client) => client.connect()));
  await sleep(HELD_MS);
  await Promise.allSettled(taken.map((client) => client.end()));
}

/** Holds a lock that every write of a customer, and most of what is read, waits for. */
async function holdLock({ trial }: Scene): Promise<void> {
  const client = await trial.db.connect();
  try {
    await client.query("begin");
    await client.query("lock table core.accounts in access exclusive mode");
    await sleep(HELD_MS);
  } finally {
    await client.query("rollback");
    client.release();
  }
}

/** Leaves not a byte on the disk of the database. */
async function fillDisk({ trial }: Scene): Promise<void> {
  const file = join(trial.data_dir, "postgres/full");
  const chunk = Buffer.alloc(2 ** 20);
  const fill = () => {
    try {
      for (;;) appendFileSync(file, chunk);
    } catch {
      // full
    }
  };
  fill();
  for (let waited = 0; waited < FULL_MS; waited += 100) {
    await sleep(100);
    fill();
  }
  rmSync(file);
}

/** Kills the functions in the middle of sending a webhook: it was received, and its result is not stored. */
async function killWhileSending({ trial, receiver }: Scene): Promise<void> {
  if (receiver) await Promise.race([receiver.next(), sleep(HELD_MS)]);
  await killed(trial, "functions");
}

const neighborFaults = (name: Name, title: string): Fault[] =>
  MODES.map((mode) => ({
    name: `${title} ${DOES[mode]}`,
    needs: name,
    async happen({ neighbors }) {
      neighbors[name]?.become(mode);
      await sleep(BROKEN_MS);
      neighbors[name]?.become("pass");
    },
  }));

const DOES: Record<(typeof MODES)[number], string> = {
  refuse: "refuses connections",
  hang: "hangs",
  error: "answers with errors",
  garbage: "answers with garbage",
  drip: "answers byte by byte",
};

export const FAULTS: readonly Fault[] = [
  { name: "Postgres is killed", ends: "postgres", happen: kill("postgres") },
  {
    name: "a backend of Postgres is killed",
    async happen({ trial, random }) {
      const { rows } = await trial.db.query<{ pid: number }>(
        "select pid from pg_stat_activity where usename like 'edge%' order by state = 'active' desc, pid",
      );
      if (rows.length > 0) process.kill(random.pick(rows).pid, "SIGKILL");
    },
  },
  { name: "the functions are killed", ends: "functions", happen: kill("functions") },
  { name: "the worker is killed while it sends", ends: "functions", happen: killWhileSending },
  { name: "the OCPP gateway is killed", ends: "gateway", happen: kill("gateway") },
  {
    name: "Postgres is frozen for 10 s",
    async happen({ trial }) {
      const pids = [trial.processes().postgres, ...childrenOf(trial.processes().postgres)];
      signal(pids, "SIGSTOP");
      await sleep(FROZEN_MS);
      signal(pids, "SIGCONT");
    },
  },
  { name: "all connections are taken", happen: takeConnections },
  { name: "a lock is held for 8 s", happen: holdLock },
  { name: "the disk is full", needs: "disk", ends: "postgres", happen: fillDisk },
  ...neighborFaults("auth", "Supabase Auth"),
  ...neighborFaults("ean_register", "the EAN register"),
  ...neighborFaults("smtp", "the mail server"),
];
