// What is broken, one after the other.

import { appendFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { childrenOf } from "../bench/kit/processor.ts";
import type { Random } from "../kit/random.ts";
import type { Trial } from "../kit/stack.ts";
import type { Load, Name } from "../load/load.ts";
import { MODES } from "../load/neighbor.ts";

type Scene = Load & { random: Random };
export type Fault = {
  name: string;
  /** The parts of the stack that end by it, if any do. */
  ends?: readonly Part[];
  /** For how long the functions stand still. */
  frozen_ms?: number;
  /** Two faults at once. */
  isPair?: true;
  /** What the scene has to have. */
  needs?: Name | "disk";
  /** Breaks something, and resolves when it is no longer broken. */
  happen: (scene: Scene) => Promise<void>;
};

const kill =
  (part: Part): Fault["happen"] =>
  ({ trial }) =>
    killed(trial, part);

export type Part = "functions" | "gateway" | "postgres";

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

/** Stops a part with its children for 10 s. */
async function freeze({ processes }: Trial, part: Part): Promise<void> {
  const pid = processes()[part];
  const pids = [pid, ...childrenOf(pid)];
  signal(pids, "SIGSTOP");
  await sleep(FROZEN_MS);
  signal(pids, "SIGCONT");
}

const frozen = (part: Part, title: string): Fault => ({
  name: `${title} frozen for 10 s`,
  happen: ({ trial }) => freeze(trial, part),
});

/** The second begins while the first lasts. */
const both = (name: string, first: Fault, second: Fault): Fault => ({
  ...first,
  name,
  isPair: true,
  ends: [...(first.ends ?? []), ...(second.ends ?? [])],
  happen: async (scene) => {
    await Promise.all([first.happen(scene), sleep(BETWEEN_MS).then(() => second.happen(scene))]);
  },
});

const FROZEN_MS = 10_000;
/** From the first of two faults to the second. */
const BETWEEN_MS = 3_000;
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

/** Leaves not a byte on the disk of the database. The writers' clocks run meanwhile, so nothing here may hold up this process. */
async function fillDisk({ trial }: Scene): Promise<void> {
  const file = join(trial.data_dir, "postgres/full");
  const chunk = Buffer.alloc(2 ** 20);
  const fill = async () => {
    try {
      for (;;) await appendFile(file, chunk);
    } catch {
      // full
    }
  };
  await fill();
  const until = performance.now() + FULL_MS;
  while (performance.now() < until) {
    await sleep(100);
    await fill();
  }
  await rm(file);
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

const POSTGRES_KILLED: Fault = { name: "Postgres is killed", ends: ["postgres"], happen: kill("postgres") };
const FUNCTIONS_KILLED: Fault = { name: "the functions are killed", ends: ["functions"], happen: kill("functions") };
const GATEWAY_KILLED: Fault = { name: "the OCPP gateway is killed", ends: ["gateway"], happen: kill("gateway") };
const POSTGRES_FROZEN = frozen("postgres", "Postgres is");
const FUNCTIONS_FROZEN: Fault = { ...frozen("functions", "the functions are"), frozen_ms: FROZEN_MS };
const [AUTH, EAN_REGISTER, SMTP] = [
  neighborFaults("auth", "Supabase Auth"),
  neighborFaults("ean_register", "the EAN register"),
  neighborFaults("smtp", "the mail server"),
];
const hanging = (faults: readonly Fault[]): Fault => faults[MODES.indexOf("hang")] as Fault;

export const FAULTS: readonly Fault[] = [
  POSTGRES_KILLED,
  {
    name: "a backend of Postgres is killed",
    async happen({ trial, random }) {
      const { rows } = await trial.db.query<{ pid: number }>(
        "select pid from pg_stat_activity where usename like 'edge%' order by state = 'active' desc, pid",
      );
      if (rows.length > 0) process.kill(random.pick(rows).pid, "SIGKILL");
    },
  },
  FUNCTIONS_KILLED,
  { name: "the worker is killed while it sends", ends: ["functions"], happen: killWhileSending },
  GATEWAY_KILLED,
  POSTGRES_FROZEN,
  FUNCTIONS_FROZEN,
  frozen("gateway", "the OCPP gateway is"),
  { name: "all connections are taken", happen: takeConnections },
  { name: "a lock is held for 8 s", happen: holdLock },
  { name: "the disk is full", needs: "disk", ends: ["postgres"], happen: fillDisk },
  ...AUTH,
  ...EAN_REGISTER,
  ...SMTP,
  both("the functions are killed while Postgres is frozen", POSTGRES_FROZEN, FUNCTIONS_KILLED),
  both("Postgres is killed while the functions are frozen", FUNCTIONS_FROZEN, POSTGRES_KILLED),
  both("the OCPP gateway is killed while Postgres is frozen", POSTGRES_FROZEN, GATEWAY_KILLED),
  both("the functions are killed while Supabase Auth hangs", hanging(AUTH), FUNCTIONS_KILLED),
  both("Postgres is killed while the EAN register hangs", hanging(EAN_REGISTER), POSTGRES_KILLED),
  both("the functions are killed while the mail server hangs", hanging(SMTP), FUNCTIONS_KILLED),
];
