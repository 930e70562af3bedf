import type pg from "pg";
import type { Caller, Ticket } from "./caller.ts";
import { ApiError, isErrorCode, Refusal } from "./errors.ts";
import type { Limits } from "./pool.ts";
import type { Rate } from "./rate.ts";

/**
 * The database as an edge function sees it: one SQL function of schema `api`, called in one autocommitted statement.
 * That is one round trip and one transaction, and safe behind a transaction pooler: nothing outlives the statement.
 */
export type Db = {
  /**
   * Runs `api.<name>(…)`. Arguments travel as JSON, bound, never spliced; the answer is JSON text.
   * @throws {Refusal} of the rules: an ApiError where the code is one of the error table.
   * @throws {ApiError} `service_unavailable` when the database cannot be reached.
   * @throws {UnmetNeed} when the function needs something first; callFor() fetches it.
   */
  call(name: string, ...args: (object | null)[]): Promise<string>;
  /**
   * Runs `api.<name>(…)` for who holds a ticket: the same statement admits them (api.enter), does the work, and debits their limit.
   * `admission` is the JSON of what the database says of the ticket. `answer` is for read(), which throws what an envelope in its
   * place says; the admission and all that was written stand nevertheless.
   * @throws {NotAdmitted} when they are not admitted.
   * @throws as call() does for what is raised: then nothing was written, the debit included.
   */
  open(name: string, ticket: Ticket, ...args: (object | null)[]): Promise<{ answer: string; admission: string }>;
  /** The same, but its patience began at that moment of performance.now(): for a request that waited for somebody else meanwhile. */
  withDeadlineFrom(begun: number): Db;
  end(): Promise<void>;
};

/**
 * What an api function answers: its JSON, or one of two envelopes in its place. They are known by a key of the outermost object, and
 * are read here and nowhere else.
 *
 * - `{"refused": code, "with": {…}}`, made by `private.refusal`: what `private.refuse` raises, but what the statement wrote stays.
 *   Read as an ApiError, or a Refusal where the error table has no such code. `with` holds its fields, and
 *   `rate` where a limit was debited. With `admission` it is of a ticket, and thrown as NotAdmitted: then nothing was done.
 * - `{"need": kind, "about": …}`, made by `private.need`: something from outside the database is needed first. Whoever runs
 *   the function declares who fetches that: see callFor().
 */
type Envelope =
  | { refused: string; with?: Record<string, unknown>; admission?: true }
  | { need: string; about: unknown };

/** An api function needs something that only the outside can give. A failure of ours where nobody declared who fetches it. */
export class UnmetNeed extends Error {
  readonly need: string;
  readonly about: unknown;

  constructor(name: string, { need, about }: { need: string; about: unknown }) {
    super(`api.${name} needs ${need}`);
    this.need = need;
    this.about = about;
  }
}

/** The database admits nobody on this ticket. Nothing was done, and nothing debited. */
export class NotAdmitted extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.code);
    this.refusal = refusal;
  }
}

/** Raised by the rules in SQL: message is an error code, detail its extra fields as JSON. */
const RULES = "RULES";
/** Raised by admission, in the same way, once the work is done and the limit turns out to be spent. */
const ADMIT = "ADMIT";
/**
 * Safe to repeat at once: Postgres rolled the transaction back. 23503: a row that the statement had read was deleted before it could
 * refer to it. 42883, 42P01, 42703 and 0A000: a migration replaced something while the statement ran.
 */
const TRANSIENT = new Set(["23503", "40001", "40P01", "42883", "42P01", "42703", "0A000"]);
/** 08 connection, 28 a login that is refused, 53 out of resources, 57 shut down or cancelled, 55P03 waited too long for a lock, 25P04 had to end. */
const UNAVAILABLE = /^(08|28|53|57|55P03|25P04)/;
/** A time limit of the role ended the statement; the connection is as good as before. */
const OUT_OF_TIME = new Set(["57014", "55P03"]);

/** Of the roles `edge` and `edge_slow`. A busy machine needs more than half a second for the rest of an answer within 10 s, or 65 s. */
export const QUICK: Limits = { max: 4, patience_ms: 9_000 };
export const SLOW: Limits = { max: 3, patience_ms: 63_000, turn_ms: 20_000 };

/**
 * Functions that only read, by their name: they lock no row that others write. tests/sql/schema_rules.test.ts compares
 * the names with the database, and has the reason for each exception, such as admission.
 */
export const READS = /^(get|list|read|export)_|^admit$/;
/** Longer than the lock_timeout of `edge`: a write that waits gets the place of one that waited for a lock. */
const PLACE_MS = 4_000;

/** Lets so many in at once, of each key; the others wait in their order. */
function placesFor(most: number, wait_ms: number) {
  const places = new Map<string, { free: number; waiting: (() => void)[] }>();
  return {
    /** Answers how to leave. @throws once it waited too long. */
    async enter(key = ""): Promise<() => void> {
      const place = places.get(key) ?? { free: most, waiting: [] };
      places.set(key, place);
      const { waiting } = place;
      const leave = () => {
        const next = waiting.shift();
        if (next) next();
        else place.free += 1;
        if (place.free === most) places.delete(key);
      };
      if (place.free > 0) {
        place.free -= 1;
        return leave;
      }
      return new Promise((resolve, reject) => {
        const go = () => {
          clearTimeout(timer);
          resolve(leave);
        };
        const timer = setTimeout(() => {
          waiting.splice(waiting.indexOf(go), 1);
          reject(new Error("other statements took too long"));
        }, wait_ms);
        waiting.push(go);
      });
    },
  };
}

/** Whose write it is, of a caller or a ticket; none for the gateway and the worker. */
function writerOf(who: object | null | undefined): string | undefined {
  const { credential, ...caller } = { ...who } as Partial<Ticket>;
  const { user_id, client_id, key_hash, token_hash, token_hashes } = (credential ?? caller) as Record<string, string>;
  const own = user_id ?? client_id ?? key_hash ?? token_hash ?? token_hashes;
  return own && String(own);
}

/**
 * The turns of slow statements: one at a time of a client, or else of a person or partner, and of all clients of a partner together one
 * less than there are connections. The worker takes none.
 */
function turnsOf({ max, turn_ms }: Limits) {
  if (!turn_ms) return async () => [];
  const clients = placesFor(1, turn_ms);
  const partners = placesFor(max - 1, turn_ms);
  return async (who: object | null | undefined): Promise<(() => void)[]> => {
    const { client_id, user_id, partner_id } = (who ?? {}) as Partial<Caller>;
    const own = client_id ?? user_id ?? partner_id;
    if (!own) return [];
    const leave = await clients.enter(own);
    if (!partner_id) return [leave];
    try {
      return [leave, await partners.enter(partner_id)];
    } catch (error) {
      leave();
      throw error;
    }
  };
}

/** Tries three times: after a deadlock with a migration, the second try can meet what the migration replaced. */
async function repeated<T>(send: () => Promise<T>, tries = 3): Promise<T> {
  try {
    return await send();
  } catch (error) {
    if (tries === 1 || !TRANSIENT.has((error as { code?: string } | null)?.code ?? "")) throw error;
    return repeated(send, tries - 1);
  }
}

/** For Postgres to say that it ended a transaction. */
const ENDED_MS = 300;

/** What private.kick() says while a statement runs: mail or events wait to be sent, as soon as it has committed. */
const OUTBOX = "outbox";

export function connect(connectionString: string, limits: Limits = QUICK, onOutbox: () => void = () => {}): Db {
  let pool: Promise<pg.Pool> | undefined;
  const load = async () => (await import("./pool.ts")).openPool(connectionString, limits);
  const open = () => {
    pool ??= load().catch((error) => {
      // the next request tries again
      pool = undefined;
      throw error;
    });
    return pool;
  };

  // writes that wait for a lock leave a connection to what only reads; slow ones wait a second at most
  const most = limits.max > 2 && !limits.turn_ms ? limits.max - 1 : limits.max;
  const writes = placesFor(most, PLACE_MS);
  // those of one client or person leave one of these to others
  const ownWrites = placesFor(Math.max(1, most - 1), PLACE_MS);
  const takeTurns = turnsOf(limits);

  /** As `pool.query`, which however closes the connection after any error: a refusal would cost the next request a new one. */
  const query = async <Row extends pg.QueryResultRow>(
    text: string,
    values: string[],
    until: number,
  ): Promise<pg.QueryResult<Row>> => {
    const client = await (await open()).connect();
    let broken: Error | undefined;
    let outbox = false;
    const onNotice = ({ message }: { message?: string | undefined }) => {
      outbox ||= message === OUTBOX;
    };
    client.on("notice", onNotice);
    try {
      // whatever was waited for before is no longer waited for now
      const query_timeout = Math.max(until - performance.now(), ENDED_MS + 1);
      const result = await client.query<Row>({
        text,
        values: [...values, query_timeout - ENDED_MS],
        query_timeout,
      } as pg.QueryConfig);
      if (outbox) onOutbox();
      return result;
    } catch (error) {
      if (isUnavailable(error) && !ranOutOfTime(error)) broken = error as Error;
      throw error;
    } finally {
      client.off("notice", onNotice);
      client.release(broken);
    }
  };

  const run = async <Row extends pg.QueryResultRow>(
    name: string,
    text: string,
    args: (object | null)[],
    begun = performance.now(),
  ): Promise<Row> => {
    const until = begun + limits.patience_ms;
    const values = args.map((arg) => JSON.stringify(arg));
    const leave: (() => void)[] = [];
    try {
      leave.push(...(await takeTurns(args[0])));
      if (!READS.test(name)) {
        const own = writerOf(args[0]);
        if (own) leave.push(await ownWrites.enter(own));
        leave.push(await writes.enter());
      }
      const { rows } = await repeated(() => query<Row>(text, values, until));
      return rows[0] as Row; // a select without from has one
    } catch (error) {
      throw translate(error);
    } finally {
      for (const each of leave) each();
    }
  };

  const withDeadlineFrom = (begun?: number): Db => ({
    async call(name, ...args) {
      const text = `select ${timed(args)}, ${calling(name, "$1::jsonb", args)} as answer`;
      const { answer } = await run<{ answer: string | null }>(name, text, args, begun);
      return read(name, answer ?? "null");
    },
    async open(name, ...args) {
      // offset 0 keeps each in a step of its own: the ticket is admitted, the function runs, the limit is debited
      const { answer, admission } = await run<{ answer: string | null; admission: string | null }>(
        name,
        `select o.answer, case when not o.caller ? 'refused' then api.charge() end as admission from (` +
          `select a.caller, case when a.caller ? 'refused' then a.caller::json ` +
          `else ${calling(name, "a.caller", args)} end as answer from (` +
          `select ${timed(args)}, api.enter($1::jsonb) as caller offset 0) a offset 0) o`,
        args,
        begun,
      );
      // if the ticket is not admitted, the answer says why
      return { answer: answer ?? "null", admission: admission ?? read(name, answer ?? "null") };
    },
    withDeadlineFrom,
    async end() {
      await (await pool)?.end();
      pool = undefined;
    },
  });
  return withDeadlineFrom();
}

/** Postgres ends the transaction before we give up, so that nothing is stored that we answer 503: when a lock is freed just then, for example. */
const timed = (args: unknown[]) => `set_config('transaction_timeout', $${args.length + 1}, true)`;

const calling = (name: string, who: string, args: unknown[]) =>
  `api.${name}(${args.map((_, index) => (index === 0 ? who : `$${index + 1}::jsonb`)).join(", ")})`;

/**
 * What an api function answered.
 * @throws {Refusal}, {NotAdmitted} and {UnmetNeed}, where it is one of the envelopes.
 */
export function read(name: string, answer: string): string {
  const envelope = readEnvelope(answer);
  if (!envelope) return answer;
  if (!("refused" in envelope)) throw new UnmetNeed(name, envelope);
  const refused = refusal(envelope.refused, envelope.with);
  throw envelope.admission ? new NotAdmitted(refused) : refused;
}

/**
 * The envelope if the answer is one; null if it is the result itself. A text that has neither key anywhere is not
 * parsed, which spares a list of ten megabytes some 50 ms of CPU.
 */
function readEnvelope(answer: string): Envelope | null {
  if (!answer.includes('"refused"') && !answer.includes('"need"')) return null;
  const parsed = JSON.parse(answer);
  const isEnvelope = typeof parsed?.refused === "string" || typeof parsed?.need === "string";
  return isEnvelope ? parsed : null;
}

/** The fields of a refusal come from SQL as they are: tests check each body against the error table. */
function refusal(
  code: string,
  { rate = null, ...fields }: Record<string, unknown> & { rate?: Rate | null } = {},
): Refusal {
  return isErrorCode(code) ? new ApiError(code, fields, undefined, rate) : new Refusal(code, fields, undefined, rate);
}

function translate(error: unknown): Error {
  if (!(error instanceof Error)) return new Error("the driver threw no error");
  const { code, detail } = error as pg.DatabaseError;
  if (code === RULES || code === ADMIT) {
    const refused = refusal(error.message, detail ? JSON.parse(detail) : undefined);
    return code === RULES ? refused : new NotAdmitted(refused);
  }
  return isUnavailable(error) ? new ApiError("service_unavailable", {}, error) : error;
}

/** Whether a time limit of the role ended the statement, which had reached the database then. */
export function ranOutOfTime(error: unknown): boolean {
  return OUT_OF_TIME.has((error as Partial<pg.DatabaseError> | undefined)?.code ?? "");
}

/** What the database answers has a severity; without one the driver never got an answer. A code does not tell: EBADF and EPIPE look like an SQLSTATE. */
function isUnavailable(error: unknown): boolean {
  const { severity, code = "" } = error as Partial<pg.DatabaseError>;
  return severity === undefined || UNAVAILABLE.test(code);
}
