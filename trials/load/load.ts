// The whole product under every kind of write, and afterwards the comparison of what was acknowledged with what is stored.

import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "#local/postgres.ts";
import { startEanCodeboek } from "../../tests/harness/ean_codeboek.ts";
import { startSmtp } from "../../tests/harness/smtp.ts";
import { credentialsOf } from "../kit/credentials.ts";
import { randomOf } from "../kit/random.ts";
import { type Trial, withStack } from "../kit/stack.ts";
import { bookings, operatorCommand } from "./books.ts";
import { charging } from "./charging.ts";
import { type Receiver, readMailbox, receiveWebhooks } from "./heard.ts";
import { type Journal, openJournal } from "./journal.ts";
import { type Neighbor, startNeighbor } from "./neighbor.ts";
import { accounts, type Bookable, claims, imports, signatures } from "./people.ts";
import { months, POINTS, sessions, type Writer, type Writing } from "./writers.ts";

const MINUTE = 60_000;

export type Host = "sandbox" | "production";
/** A neighbor that can be broken. */
export type Name = "auth" | "ean_register" | "smtp";
export type LoadOptions = {
  host: Host;
  seed: number;
  /** Kinds of writers; all if omitted. */
  writing?: readonly string[] | undefined;
  /** How long each writer rests after a write, in ms. */
  rest?: () => number;
  prepare?: ((data_dir: string) => Promise<void>) | undefined;
  disk_mb?: number | undefined;
};
/** When something was broken, until all was healed. `silent`: requests may have had no answer. `frozen_ms`: the functions stood still. */
export type Window = { fault: string; from: number; to: number; silent: boolean; frozen_ms: number };
export type Load = {
  trial: Trial;
  journal: Journal;
  /** Kinds of writers that write. */
  kinds: string[];
  neighbors: Partial<Record<Name, Neighbor>>;
  receiver: Receiver | undefined;
  /** Outside of them nothing may fail. */
  windows: Window[];
};

/**
 * Runs `use` while everything is written to. On the sandbox mail is captured, and the EAN register is ours; on production
 * nothing is sent to this machine but mail.
 */
export async function underLoad<T extends object>(options: LoadOptions, use: (load: Load) => Promise<T>) {
  const { host, seed, writing, rest, prepare, disk_mb } = options;
  const port = await freePort();
  const isSandbox = host === "sandbox";
  const smtp = isSandbox ? undefined : await startSmtp();
  const register = isSandbox ? undefined : await startEanCodeboek(POINTS);
  const neighbors: Load["neighbors"] = { auth: await startNeighbor("http", () => port) };
  if (smtp) neighbors.smtp = await startNeighbor("smtp", () => Number(new URL(smtp.url).port));
  if (register) neighbors.ean_register = await startNeighbor("http", () => Number(new URL(register.url).port));
  const variables = {
    SUPABASE_URL: `http://127.0.0.1:${neighbors.auth?.port}`,
    ...(neighbors.smtp ? { SMTP_URL: `smtp://127.0.0.1:${neighbors.smtp.port}` } : {}),
    ...(neighbors.ean_register
      ? { EAN_REGISTER: "http", EAN_REGISTER_URL: `http://127.0.0.1:${neighbors.ean_register.port}/eancodeboek` }
      : {}),
  };
  const stack = { host, port, variables, ...(prepare ? { prepare } : {}), ...(disk_mb ? { disk_mb } : {}) };
  try {
    return await withStack(async (trial) => {
      const journal = await openJournal(trial.stack.base_url);
      await liftLimits(trial);
      const credentials = await credentialsOf(trial.stack);
      const receiver = isSandbox ? await receiveWebhooks(trial.stack, journal, randomOf(seed + 1_000)) : undefined;
      const mailbox = smtp && readMailbox(smtp.received, journal);
      const since = new Date();
      const bookable: Bookable[] = [];
      const makers: Record<string, ((writing: Writing) => Promise<Writer>)[]> = {
        months: [months, months],
        sessions: [sessions],
        accounts: [accounts],
        imports: [imports],
        signatures: [(writing) => signatures(writing, mailbox, bookable)],
        bookings: [(writing) => bookings(writing, bookable)],
        charging: [charging, charging],
        claims: isSandbox ? [claims] : [],
      };
      const making = Object.entries(makers).flatMap(([kind, make]) => (writing && !writing.includes(kind) ? [] : make));
      let isOver = false;
      const writers: Writer[] = [];
      const writings = making.map(
        (_, id): Writing => ({
          ...{ trial, journal, credentials, id },
          random: randomOf(seed + id + 1),
          over: () => isOver,
        }),
      );
      for (const [n, make] of making.entries()) writers.push(await make(writings[n] as Writing));
      const kinds = [...new Set(writers.map(({ kind }) => kind))];

      const written = writers.map((writer, n) => keepWriting(writer, writings[n] as Writing, rest));
      trial.broken.then(({ message }) => journal.complain("the stack gave up", message));
      // tokens last an hour
      const renewal = setInterval(
        () =>
          credentialsOf(trial.stack).then(
            (fresh) => Object.assign(credentials, fresh),
            () => {},
          ),
        10 * MINUTE,
      );
      const begun = performance.now();
      const windows: Window[] = [];
      const result = await use({ trial, journal, kinds, neighbors, receiver, windows });
      isOver = true;
      clearInterval(renewal);
      await Promise.all(written);
      judgeAttempts(journal, windows);
      await receiver?.check(trial.db, since);
      await mailbox?.check(trial.db);
      for (const writer of writers) await writer.check(trial.db);
      for (const command of ["ledger check", "audit verify"]) {
        const { code, out, err } = await operatorCommand(trial.stack, command.split(" "));
        if (code !== 0) journal.complain(`${command} finds something wrong`, out + err);
      }
      const errors = trial.logged('"level":"error"');
      receiver?.close();
      return {
        host,
        seed,
        seconds: toSeconds(performance.now() - begun),
        requests: journal.attempts.length,
        ...result,
        writes: Object.fromEntries(
          kinds.map((kind) => {
            const told = writers.filter((writer) => writer.kind === kind).map((writer) => writer.told());
            const sum = (outcome: "done" | "open") => told.reduce((total, each) => total + each[outcome], 0);
            return [kind, { acknowledged: sum("done"), left_open: sum("open") }];
          }),
        ),
        heard: { ...receiver?.received(), ...mailbox?.received() },
        slowest_ms: journal.slowest(),
        errors: countErrors(errors),
        broken: journal.broken(),
      };
    }, stack);
  } finally {
    for (const neighbor of Object.values(neighbors)) neighbor.close();
    await smtp?.close();
    await register?.[Symbol.asyncDispose]();
  }
}

/** Nobody meets a limit of requests, of mail or of drafts. */
export async function liftLimits({ db }: Trial): Promise<void> {
  await db.query("update core.rate_limits set quota = 1000000000");
  await db.query(
    "create or replace function private.draft_cap() returns int language plpgsql immutable set search_path = '' as $$ begin return 1000000000; end $$",
  );
}

/** Nothing fails while nothing is broken, only what ends the functions leaves a request without an answer, and no answer is late. */
function judgeAttempts(journal: Journal, windows: readonly Window[]): void {
  for (const { kind, what, at, ended, status, limit } of journal.attempts) {
    const met = windows.filter(({ from, to }) => at <= to && ended >= from);
    const frozen = Math.max(0, ...met.map(({ frozen_ms }) => frozen_ms));
    if (ended - at > limit + frozen)
      journal.complain(
        `${what}: an answer came later than ${limit / 1000} s`,
        `${status} after ${(ended - at).toFixed(0)} ms, ${met.map(({ fault }) => fault).join()}`,
      );
    if (status >= 500 && met.length === 0) journal.complain(`${kind}: ${status} while nothing was broken`);
    if (status === 0 && !met.some(({ silent }) => silent))
      journal.complain(`${kind}: no answer although the functions ran`);
  }
}

/** Writes until it is over. */
export async function keepWriting({ once }: Writer, { random, over }: Writing, rest = () => 20 + random.below(80)) {
  while (!over()) {
    await once();
    await sleep(rest());
  }
}

export const toSeconds = (ms: number) => Math.round(ms / 100) / 10;

/** How often the functions logged each error. */
function countErrors(lines: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const line of lines) {
    const { event = "", error = "", cause = {} } = JSON.parse(line) as Record<string, unknown>;
    const name = [event, error, typeof cause === "string" ? cause : JSON.stringify(cause)].join(" ").slice(0, 160);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
