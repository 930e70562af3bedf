/// <reference path="../../../../node_modules/@supabase/functions-js/src/edge-runtime.d.ts" />
import process from "node:process";
import { type Configuration, readConfiguration, secretsIn } from "./configuration.ts";
import { connect, type Db, QUICK, SLOW } from "./db.ts";
import { consoleLog, type Log } from "./log.ts";
import { connectReplica, type Replica } from "./replica.ts";
import { singleflight } from "./singleflight.ts";

/** Everything a function reaches outside itself. Tests hand in their own; hosted it is read once, at the first request. */
export type Environment = {
  config: Configuration;
  db: Db;
  /** The same as another role, for what takes long: its statements and their locks may wait longer. */
  slowDb: Db;
  /** Where long lists are read, if there is one. */
  replica?: Replica;
  now: () => Date;
  log: Log;
  /** Has the worker send what was just put in the outbox. Nobody waits for it. */
  kick: () => void;
  /** Work that continues after the answer. */
  waitUntil: (work: Promise<unknown>) => void;
};

export function readEnvironment(variables: Record<string, string | undefined> = process.env): Environment {
  const config = readConfiguration(variables);
  const kick = kicker(config);
  const log = consoleLog(config.LOG_REQUESTS);
  const { EDGE_REPLICA_DATABASE_URL: replica } = config;
  return {
    config,
    db: connect(config.EDGE_DATABASE_URL, QUICK, kick),
    slowDb: connect(config.EDGE_SLOW_DATABASE_URL, SLOW, kick),
    ...(replica ? { replica: connectReplica(replica, log) } : {}),
    now: () => new Date(),
    log,
    kick,
    waitUntil,
  };
}

/** The platform keeps a function that has answered for what it still does. Elsewhere the process lives on by itself. */
function waitUntil(work: Promise<unknown>): void {
  globalThis.EdgeRuntime?.waitUntil(work);
}

/** Long enough for a cold worker. What a kick did not reach, the schedule does. */
const KICK_MS = 5_000;

/** Asks the worker to send what waits; of several kicks at once one is sent. */
export function kicker({ SUPABASE_URL, WORKER_SECRET }: Pick<Configuration, "SUPABASE_URL" | "WORKER_SECRET">) {
  const send = singleflight(() =>
    fetch(`${SUPABASE_URL}/functions/v1/worker/kick`, {
      method: "POST",
      headers: { Authorization: `Bearer ${secretsIn(WORKER_SECRET)[0]}` },
      signal: AbortSignal.timeout(KICK_MS),
    }).then(
      (response) => response.body?.cancel(),
      () => {},
    ),
  );
  return () => waitUntil(send());
}

/**
 * Makes something from an environment once and keeps it as long as the environment lives (key sets, registers). A
 * promise that fails is not kept: the next caller makes it again.
 */
export function oncePerEnvironment<T>(make: (environment: Environment) => T): (environment: Environment) => T {
  const made = new WeakMap<Environment, T>();
  return (environment) => {
    let value = made.get(environment);
    if (value === undefined) {
      value = make(environment);
      made.set(environment, value);
      if (value instanceof Promise) value.catch(() => made.delete(environment));
    }
    return value;
  };
}
