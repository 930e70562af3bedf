// A small, named world for tests: two partners with a CPO client each, an environment on a database of its own, and a client that
// fails the test when an answer does not fit what its endpoint declares.

import { expect } from "vitest";
import { writeMail } from "#shared/domain/mail/mail.ts";
import { readConfiguration } from "#shared/foundation/configuration.ts";
import { connect, type Db, SLOW } from "#shared/foundation/db.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import type { LogLine } from "#shared/foundation/log.ts";
import { functionFor } from "#shared/http/routes.ts";
import { serve } from "#shared/http/serve.ts";
import { type Answer, checkAnswer, listening, SERVED } from "./answers.ts";
import { cloneDatabase, type Database, freezeClock } from "./database.ts";
import { BASE_URL, variables } from "./environment.ts";
import { type Partner, type People, people } from "./people.ts";

export type Sent = {
  method?: "GET" | "POST" | "DELETE";
  token?: string;
  body?: unknown;
  headers?: Record<string, string>;
  raw?: BodyInit;
};

export type World = People & {
  database: Database;
  environment: Environment;
  log: LogLine[];
  partnerA: Partner;
  partnerB: Partner;
  /** Sends a request to whichever function answers the path, and checks the answer against its declaration. */
  send: (path: string, sent?: Sent) => Promise<Answer>;
  post: (path: string, body: unknown, token?: string) => Promise<Answer>;
  get: (path: string, token?: string) => Promise<Answer>;
  /** Gives a rate limit another quota, one that nobody meets unless told. */
  limit: (bucket: string, quota?: number) => Promise<void>;
  /** Stops both clocks, TypeScript's and SQL's. */
  freeze: (moment: string) => Promise<void>;
  /** The same, to and fro: a bucket that will be full in what is now the future would refuse everybody. */
  travel: (moment: string) => Promise<void>;
  /** One row, or undefined. */
  // biome-ignore lint/suspicious/noExplicitAny: a test names the columns it selects
  row: (statement: string, ...values: unknown[]) => Promise<any>;
  /** Mails with their text, as they would be sent; what was sent or dropped has none. `tail` follows `from core.mail_outbox m`. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  mails: (tail?: string, ...values: unknown[]) => Promise<any[]>;
  /** The first of them, or undefined. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  mail: (tail?: string, ...values: unknown[]) => Promise<any>;
  /** Waits for what goes on after answers. */
  idle: () => Promise<void>;
  close: () => Promise<void>;
};

export type WorldOptions = {
  /** sandbox unless told. */
  host?: "sandbox" | "production";
  /** For tests about something else: no client meets its rate limit, or none of these buckets. */
  limits?: "lifted" | { lifted: readonly string[] };
  /** Where both clocks stand still from the beginning. */
  now?: string;
  /** Variables of the environment, beside the usual ones. */
  variables?: Record<string, string>;
  /** Elsewhere than on the test server, where its database is a copy of its own. */
  database?: Database;
};

const LIFTED = 1_000_000;

function edgesOf(database: Database): NonNullable<Database["edges"]> {
  const kick = () => edges.kick();
  const edges = {
    db: connect(database.url("edge"), { max: 12, patience_ms: 10_000 }, kick),
    slowDb: connect(database.url("edge_slow"), SLOW, kick),
    kick: () => {},
  };
  return edges;
}

function readBody(response: Response): Promise<Answer["body"]> {
  const type = response.headers.get("content-type") ?? "";
  if (type === "application/pdf") return response.arrayBuffer().then((bytes) => new Uint8Array(bytes));
  if (/^text\/(csv|plain)/.test(type)) return response.text();
  return response.json().catch(() => undefined);
}

export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const { host = "sandbox", limits, now } = options;
  const database = options.database ?? (await cloneDatabase(host, now));
  database.edges ??= edgesOf(database);
  const { edges } = database;
  edges.kick = () => environment.kick();
  const log: LogLine[] = [];
  const heard: string[] = [];
  let frozen: Date | undefined;
  const background = new Set<Promise<unknown>>();
  const environment: Environment = {
    config: readConfiguration(
      variables({ API_HOST: host, EDGE_DATABASE_URL: database.url("edge"), ...options.variables }),
    ),
    db: listening(edges.db, heard),
    slowDb: listening(edges.slowDb, heard),
    now: () => frozen ?? new Date(),
    log: (line) => log.push(line),
    // nobody sends anything unless a test says so
    kick: () => {},
    waitUntil: (work) => {
      background.add(work);
      void work.finally(() => background.delete(work));
    },
  };
  const functions = new Map(SERVED.map((surface) => [surface.slug, serve(surface, environment)]));

  const row: World["row"] = async (statement, ...values) => (await database.admin.query(statement, values)).rows[0];

  const gone = { subject: "", html: "", text: "", links: [] };
  const mails: World["mails"] = async (tail = "", ...values) => {
    const { rows } = await database.admin.query(`select m.* from core.mail_outbox m ${tail}`, values);
    return rows.map((mail) => ({
      ...mail,
      ...(Object.keys(mail.content).length > 0 ? writeMail(environment.config, mail) : gone),
    }));
  };

  const limit: World["limit"] = (bucket, quota = LIFTED) =>
    row("update core.rate_limits set quota = $1 where bucket = $2", quota, bucket);
  const freeze: World["freeze"] = async (moment) => {
    frozen = new Date(moment);
    await freezeClock(database.admin, moment);
  };
  const travel: World["travel"] = async (moment) => {
    await freeze(moment);
    await row("delete from core.rate_limit_state");
  };
  const { addClient, addPartner, addUser } = people(environment, row);

  const send: World["send"] = async (path, { method, token, body, headers = {}, raw } = {}) => {
    const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const verb = method ?? (payload === undefined ? "GET" : "POST");
    const url = new URL(path, BASE_URL);
    const slug = functionFor(url.pathname) ?? "cpo-v1";
    const request = new Request(url, {
      method: verb,
      ...(payload === undefined ? {} : { body: payload }),
      headers: {
        ...(payload === undefined ? {} : { "content-type": "application/json" }),
        // as every HTTP client says for a body that it has whole
        ...(typeof payload === "string" ? { "content-length": String(Buffer.byteLength(payload)) } : {}),
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        "x-forwarded-for": "192.0.2.1",
        ...headers,
      },
    });
    const served = functions.get(slug);
    if (!served) throw new Error(`no function ${slug} in the test world`);
    const response = await served.fetch(request);
    const answer: Answer = { status: response.status, headers: response.headers, body: await readBody(response) };
    checkAnswer(verb, url.pathname, answer);
    return answer;
  };

  if (limits === "lifted") await row("update core.rate_limits set quota = $1", LIFTED);
  // tests of a production host write to one address all day; those of the limits of mail set them
  for (const bucket of ["mail", "mail_kind", "mail_place"]) await limit(bucket);
  for (const bucket of typeof limits === "object" ? limits.lifted : []) await limit(bucket);
  if (now) await freeze(now);
  return {
    database,
    environment,
    log,
    partnerA: await addPartner("partner-a"),
    partnerB: await addPartner("partner-b"),
    send,
    post: (path, body, token) => send(path, { body, ...(token ? { token } : {}) }),
    get: (path, token) => send(path, token ? { token } : {}),
    addClient,
    addPartner,
    addUser,
    limit,
    freeze,
    travel,
    row,
    mails,
    mail: async (tail, ...values) => (await mails(tail, ...values))[0],
    async idle() {
      while (background.size > 0) await Promise.all(background);
    },
    async close() {
      await Promise.all(background);
      if (options.database) await Promise.all([edges.db.end(), edges.slowDb.end()]);
      await database.drop();
      expect([...new Set(heard)], "SQL answers what TypeScript reads").toEqual([]);
    },
  };
}

/** Runs something with this world as the production host, its database included. */
export async function asProduction<T>(world: World, run: (environment: Environment) => Promise<T>): Promise<T> {
  const { environment, row } = world;
  const become = (host: string) => row("update core.deployment set host = $1", host);
  await become("production");
  return run({ ...environment, config: { ...environment.config, API_HOST: "production" } }).finally(() =>
    become(environment.config.API_HOST),
  );
}

/** The api functions that were run meanwhile, in order: one statement, one round trip each. */
export async function statementsOf(world: World, run: () => Promise<unknown>): Promise<string[]> {
  const { db, slowDb } = world.environment;
  const names: string[] = [];
  const noting = (one: Db): Db => ({
    ...one,
    withDeadlineFrom: (begun) => noting(one.withDeadlineFrom(begun)),
    call(name, ...args) {
      names.push(name);
      return one.call(name, ...args);
    },
    open(name, ...args) {
      names.push(name);
      return one.open(name, ...args);
    },
  });
  Object.assign(world.environment, { db: noting(db), slowDb: noting(slowDb) });
  await run().finally(() => Object.assign(world.environment, { db, slowDb }));
  return names;
}

/** How many rows of each table there are: equal before and after says that nothing was stored. */
export async function rowCounts(world: World, ...tables: string[]): Promise<Record<string, number>> {
  const counted = tables.map((table) => `select '${table}' as name, count(*)::int as n from core.${table}`);
  const { rows } = await world.database.admin.query(counted.join(" union all "));
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
}
