// Starts the parts of a local stack in order, watches them, and stops them in the reverse order.

import { type ChildProcess, spawn } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { secretsIn, TEST_SERVICE } from "#shared/foundation/configuration.ts";
import { writeSite } from "../../docs/src/write_site.ts";
import { denoProgram, ROOT } from "./checkout.ts";
import { ensureCustomer } from "./demo_customer.ts";
import { ensureDemo } from "./demo_data.ts";
import {
  bootstrap,
  MigrationError,
  makeOperatorLogins,
  migrate,
  missingMigrations,
  OtherMigrationsError,
  setPasswords,
} from "./migrate.ts";
import {
  connected,
  freePort,
  obstacleAt,
  type Postgres,
  PostgresError,
  startPostgres,
  stopLeftover,
} from "./postgres.ts";
import { end, type Identity, identify, isRunning } from "./processes.ts";
import { loadSecrets, OPERATORS, type Secrets } from "./secrets.ts";
import { DEFAULT_PORT, readJson, removeStack, type Stack, writeJson, writeStack } from "./stack.ts";

export type Options = {
  host: "sandbox" | "production";
  port: number;
  /** Where chargers connect; else a free port, the same at every start. */
  ocpp_port?: number;
  data_dir: string;
  fresh: boolean;
  auth_signup?: "on" | "off";
  /** Whether a replica follows the database. */
  replica?: boolean;
  /** Of the functions, over the usual ones: a trial stands between them and their neighbors. */
  variables?: Record<string, string>;
};
type Say = (topic: string, text: string) => void;

export type RunningStack = {
  stack: Stack;
  /** Resolves when a part ended so often that it is not started again. */
  broken: Promise<StackError>;
  stop(): Promise<void>;
};

/** Something a person has to repair; `message` says what is wrong and what to do next. */
export class StackError extends Error {}

/** Who works in a data folder; outlives a runner that was killed. */
type Record_ = {
  runner: Identity;
  functions: Identity | null;
  gateway?: Identity | null;
  url: string;
  database_port: number;
};

const NEEDED_MB = 300;
const TICK_MS = 2_000;
/** Who this machine is to OCPI platforms. */
const OCPI_PARTY = "NL-ERE";
/** A person's own settings reach the functions; everything else is this stack's. */
const PASSED_ON = ["EAN_REGISTER", "EAN_REGISTER_URL", "SMTP_URL", "KEY_PREFIX", ...Object.keys(TEST_SERVICE)];

/** @param asked ends a start that waits for Postgres. */
export async function startStack(options: Options, say: Say = () => {}, asked?: AbortSignal): Promise<RunningStack> {
  const { host, port, data_dir, fresh } = options;
  const base_url = `http://127.0.0.1:${port}`;
  const runner = identify(process.pid);
  if (!runner) throw new Error("this process does not find itself");
  // others may pass through, as Postgres has to that does not run as root; every file in it is closed to them
  mkdirSync(data_dir, { recursive: true, mode: 0o711 });

  const file = join(data_dir, "running.json");
  const previous = readJson<Record_>(file);
  if (previous && (await staysRunning(previous.runner))) {
    throw new StackError(
      `The data folder ${data_dir} is in use by the stack at ${previous.url} (process ${previous.runner.pid}).\n` +
        "Stop that one, or choose another folder with --data-dir (and another --port).",
    );
  }
  await clearUp(data_dir, previous, say);
  const obstacle = await obstacleAt(port);
  if (obstacle) throw new StackError(sayObstacle(obstacle, port));
  const ocppObstacle = options.ocpp_port === undefined ? null : await obstacleAt(options.ocpp_port);
  if (ocppObstacle) throw new StackError(sayObstacle(ocppObstacle, options.ocpp_port ?? 0, "ocpp-port"));
  if (fresh) {
    for (const name of OURS) rmSync(join(data_dir, name), { recursive: true, force: true });
    say("fresh", `emptied ${data_dir}`);
  }
  const freeMb = Math.floor((statfsSync(data_dir).bavail * statfsSync(data_dir).bsize) / 2 ** 20);
  if (freeMb < NEEDED_MB) {
    throw new StackError(
      `Only ${freeMb} MB are free on the disk of ${data_dir}; ${NEEDED_MB} MB are needed.\n` +
        "Make room, or choose another folder with --data-dir.",
    );
  }

  // a charger under development keeps its address
  const ports = readJson<{ ocpp: number; ocpp_admin: number }>(join(data_dir, "ports.json"));
  // nobody listens on these yet
  const ours = [port, options.ocpp_port, previous?.database_port, ports?.ocpp, ports?.ocpp_admin];
  const take = async (preferred?: number) => {
    const taken = await freePort(preferred, ours);
    ours.push(taken);
    return taken;
  };
  const database_port = await take(previous?.database_port);
  const ocpp_port = options.ocpp_port ?? (await take(ports?.ocpp));
  const ocpp_admin_port = await take(ports?.ocpp_admin);
  writeJson(join(data_dir, "ports.json"), { ocpp: ocpp_port, ocpp_admin: ocpp_admin_port });
  const ocpp_url = `ws://127.0.0.1:${ocpp_port}`;
  const record: Record_ = { runner, functions: null, url: base_url, database_port };
  writeJson(file, record);

  // undone in reverse, also when a later step fails
  const undo: (() => Promise<void> | void)[] = [() => rmSync(file, { force: true })];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const secrets = loadSecrets(data_dir);
    const startDatabase = (signal?: AbortSignal) => database(data_dir, database_port, secrets, signal);
    const server = await startDatabase(asked);
    const keptServer = keepRunning(
      "database",
      "PostgreSQL",
      server,
      startDatabase,
      join(data_dir, "postgres.log"),
      say,
    );
    undo.push(keptServer.stop);
    say("database", `PostgreSQL ${server.version} on 127.0.0.1:${database_port}`);

    const adminUrl = server.url();
    const { passwords } = secrets;
    const database_url = server.url("postgres", "postgres", passwords.postgres);
    const client = await connected(adminUrl);
    await missingMigrations(client).finally(() => client.end());
    await bootstrap(adminUrl, passwords.postgres);
    const migrated = await migrate(database_url, { seed: true });
    await makeOperatorLogins(database_url, OPERATORS);
    await setPasswords(adminUrl, passwords);
    say("schema", migrated === "changed" ? "migrated by the Supabase CLI" : "up to date");
    await becomeHost(adminUrl, host, data_dir);
    let replica_url: string | undefined;
    const broken = [keptServer.broken];
    if (options.replica) {
      const replica_port = await take();
      const startReplica = () => replica(data_dir, replica_port, server, secrets);
      const follower = await startReplica();
      replica_url = follower.url("postgres", "edge", passwords.edge);
      const kept = keepRunning("replica", "The replica", follower, startReplica, join(data_dir, "replica.log"), say);
      undo.push(kept.stop);
      broken.push(kept.broken);
      say("replica", `on 127.0.0.1:${replica_port}, asked where functions.log says "read_on":"replica"`);
    }

    const stack: Stack = {
      host,
      base_url,
      functions_url: `${base_url}/functions/v1`,
      auth_url: base_url,
      database_url,
      operator_database_url: server.url("postgres", "operator", passwords.operator),
      operator_logins: Object.fromEntries(
        OPERATORS.map((name) => [name, server.url("postgres", `operator_${name}`, passwords[`operator_${name}`])]),
      ),
      operator_environment: {
        IBAN_KEYS: secrets.functions.IBAN_KEYS,
        SERVICE_NAME: TEST_SERVICE.SERVICE_NAME,
        SUPPORT_EMAIL: TEST_SERVICE.SUPPORT_EMAIL,
        PAGES_URL: `${base_url}/pages`,
        BASE_URL: base_url,
        OCPI_PARTY,
        PAYOUT_ACCOUNT_NAME: "ERE Service",
        PAYOUT_ACCOUNT_IBAN: "NL91ABNA0417164300",
        ...(host === "sandbox" ? { WEBHOOK_ALLOW_LOOPBACK: "true" } : {}),
      },
      auth: { url: base_url, publishable_key: secrets.publishable_key, secret_key: secrets.secret_key },
      ocpp_url,
      ocpp_admin_url: `http://127.0.0.1:${ocpp_admin_port}`,
      demo: await ensureDemo(adminUrl, host, secrets),
      process: runner,
    };

    writeSite(join(data_dir, "docs"), { shown: base_url, demo: host === "sandbox" ? stack.demo.cpo : undefined });
    const variables = {
      PORT: String(port),
      API_HOST: host,
      BASE_URL: base_url,
      AUTH_URL: base_url,
      PAGES_URL: `${base_url}/pages`,
      DOCS_URL: `${base_url}/docs`,
      DOCS_FOLDER: join(data_dir, "docs"),
      SUPABASE_URL: base_url,
      CLIENT_ADDRESS: "x-forwarded-for:1", // serve.ts writes it
      // a receiver under development is on this machine
      ...(host === "sandbox" ? { WEBHOOK_ALLOW_LOOPBACK: "true" } : {}),
      LOG_REQUESTS: "all",
      OCPI_PARTY,
      OCPP_GATEWAY_URL: process.env.OCPP_GATEWAY_URL || ocpp_url,
      EDGE_DATABASE_URL: server.url("postgres", "edge", passwords.edge),
      EDGE_SLOW_DATABASE_URL: server.url("postgres", "edge_slow", passwords.edge_slow),
      ...(replica_url ? { EDGE_REPLICA_DATABASE_URL: replica_url } : {}),
      AUTH_DATABASE_URL: server.url("postgres", "supabase_auth_admin", passwords.supabase_auth_admin),
      ...secrets.functions,
      // open unless told: integrators rehearse with logins of their own
      AUTH_SIGNUP: options.auth_signup ?? "on",
      AUTH_KEY: JSON.stringify(secrets.auth_key),
      PUBLISHABLE_KEY: secrets.publishable_key,
      SECRET_KEY: secrets.secret_key,
      SUPABASE_SECRET_KEY: secrets.secret_key,
      ...options.variables,
    };
    const startFunctions = async () => {
      const functions = await serveFunctions(data_dir, variables);
      record.functions = functions.identity;
      writeJson(file, record);
      return functions;
    };
    const keptFunctions = keepRunning(
      "functions",
      "The functions process",
      await startFunctions(),
      startFunctions,
      join(data_dir, "functions.log"),
      say,
    );
    undo.push(keptFunctions.stop);
    say("functions", `Deno on ${base_url}`);

    const startGateway = async () => {
      const gateway = await serveGateway(data_dir, {
        HOST: "127.0.0.1",
        PORT: String(ocpp_port),
        ADMIN_PORT: String(ocpp_admin_port),
        GATEWAY_FUNCTION_URL: `${base_url}/ocpp`,
        GATEWAY_SECRET: secrets.functions.GATEWAY_SECRET,
      });
      record.gateway = gateway.identity;
      writeJson(file, record);
      return gateway;
    };
    const keptGateway = keepRunning(
      "gateway",
      "The OCPP gateway",
      await startGateway(),
      startGateway,
      join(data_dir, "gateway.log"),
      say,
    );
    undo.push(keptGateway.stop);
    say("gateway", `OCPP on ${ocpp_url}`);

    // customers of production are nobody's rehearsal
    if (host === "sandbox") {
      await ensureCustomer(stack, adminUrl).catch((error: Error) =>
        say("demo", `without its customer's year: ${error.message}`),
      );
    }

    for (const slug of ["worker", "documents"])
      undo.push(tick(base_url, slug, secretsIn(secrets.functions.WORKER_SECRET)[0], say));

    writeStack(data_dir, stack);
    undo.push(() => removeStack(data_dir, runner));
    say("ready", "");
    return { stack, broken: Promise.race([...broken, keptFunctions.broken, keptGateway.broken]), stop };
  } catch (error) {
    await stop();
    if (error instanceof PostgresError) throw new StackError(error.message);
    if (error instanceof OtherMigrationsError) {
      throw new StackError(
        `${error.message}\nGo back to the commit that made ${data_dir}, or throw its data away: npm start -- --fresh`,
      );
    }
    if (error instanceof MigrationError) {
      throw new StackError(
        `${error.message}\n\nRepair the migration, or begin again with an empty database: npm start -- --fresh`,
      );
    }
    throw error;
  }
}

type Part = { exited: Promise<void>; stop(): Promise<void> };

/** A part that ends this often within a minute ends for a reason that starting it again does not mend. */
const MOST_ENDS = 5;

/** Starts a part again whenever it ends without being asked to. */
function keepRunning(
  topic: string,
  name: string,
  first: Part,
  start: (signal: AbortSignal) => Promise<Part>,
  log_file: string,
  say: Say,
): { broken: Promise<StackError>; stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  let part: Part | undefined = first;
  const watch = async (): Promise<StackError | undefined> => {
    const ends: number[] = [];
    for (let why = "ended unexpectedly"; ; ) {
      await part?.exited;
      if (signal.aborted) return undefined;
      ends.push(Date.now());
      if (ends.filter((at) => at > Date.now() - 60_000).length >= MOST_ENDS)
        return new StackError(`${name} ${why}, ${MOST_ENDS} times in a minute. The log is ${log_file}`);
      say(topic, `${name} ${why}; starting again (the log is ${log_file})`);
      try {
        part = await start(signal);
        why = "ended unexpectedly";
        say(topic, `${name} runs again`);
      } catch (error) {
        part = undefined;
        why = `did not start: ${(error as Error).message}`;
        await sleep(1_000, undefined, { signal }).catch(() => {});
      }
    }
  };
  const watched = watch();
  return {
    broken: new Promise((resolve) => watched.then((error) => error && resolve(error))),
    async stop() {
      stopping.abort();
      const ended = part?.stop();
      await watched;
      await ended;
      await part?.stop(); // it was still starting
    },
  };
}

/** What a person does about a port that nobody can listen on. */
export function sayObstacle(obstacle: string, port: number, option = "port"): string {
  if (obstacle === "EACCES") {
    return `No permission to listen on port ${port}: the system keeps it for the administrator.\nChoose another port: npm start -- --${option} ${DEFAULT_PORT}`;
  }
  if (obstacle === "EADDRINUSE") {
    return `Port ${port} is taken by another program.\nStop it, or choose another port: the same command with --${option} ${port < 65_436 ? port + 100 : DEFAULT_PORT}`;
  }
  return `Nobody can listen on port ${port} (${obstacle}).\nChoose another port: npm start -- --${option} ${DEFAULT_PORT}`;
}

/** Customers of the sandbox and of production never share a database, so a data folder is one host's. */
async function becomeHost(adminUrl: string, host: Options["host"], data_dir: string): Promise<void> {
  const client = await connected(adminUrl);
  try {
    await client.query("select ops.host_set($1)", [
      { operator: "npm start", host, key_prefix: process.env.KEY_PREFIX || undefined },
    ]);
  } catch (error) {
    if ((error as Error).message !== "host_is_set") throw error;
    const other = host === "sandbox" ? "production" : "sandbox";
    throw new StackError(
      `The data folder ${data_dir} is of the ${other} host, and its customers are not this one's.\n` +
        `Start that host (--host ${other}), choose another folder with --data-dir, or throw that data away with --fresh.`,
    );
  } finally {
    await client.end();
  }
}

/** A runner that is just being stopped gets a moment to finish. */
async function staysRunning(runner: Identity): Promise<boolean> {
  for (let patience = 30; patience > 0 && isRunning(runner); patience -= 1) await sleep(50);
  return isRunning(runner);
}

/** What a stack keeps in its data folder. */
const OURS = [
  "postgres",
  "postgres.new",
  "replica",
  "replica.new",
  "secrets.json",
  "docs",
  "stack.json",
  "running.json",
  "postgres.log",
  "replica.log",
  "functions.log",
  "gateway.log",
  "ports.json",
];

/** A runner that was killed may leave processes behind. Ending them loses nothing that was committed. */
async function clearUp(data_dir: string, previous: Record_ | null, say: Say) {
  const parts = [previous?.functions, previous?.gateway].filter((part) => part != null);
  const leftover = parts.some(isRunning);
  for (const part of parts) await end(part, ["SIGTERM", "SIGKILL"], 1_500);
  await stopLeftover(join(data_dir, "replica"));
  if ((await stopLeftover(join(data_dir, "postgres"))) || leftover || previous) {
    say("recover", "the last run did not end cleanly; ended what it left behind");
  }
}

async function database(data_dir: string, port: number, secrets: Secrets, signal?: AbortSignal): Promise<Postgres> {
  // of a guard that was killed, the server is left
  await stopLeftover(join(data_dir, "postgres"));
  return startPostgres({
    ...(signal ? { signal } : {}),
    folder: join(data_dir, "postgres"),
    port,
    password: secrets.passwords.supabase_admin,
    durable: true,
    log_file: logFile(data_dir, "postgres.log"),
  });
}

/** A new copy at each start: nothing is only there. */
async function replica(data_dir: string, port: number, primary: Postgres, secrets: Secrets): Promise<Postgres> {
  const folder = join(data_dir, "replica");
  await stopLeftover(folder);
  rmSync(folder, { recursive: true, force: true });
  return startPostgres({
    folder,
    port,
    password: secrets.passwords.supabase_admin,
    durable: true,
    log_file: logFile(data_dir, "replica.log"),
    replica_of: primary,
  });
}

// Functions and gateway -----------------------------------------------------------------------------------------------

type Served = Part & { identity: Identity | null };

/** What Deno compiled of this checkout: it keeps it by path and content, so all data folders share it. It goes with `npm ci`. */
const COMPILED = join(ROOT, "node_modules/.cache/deno-stack");

function serveFunctions(data_dir: string, variables: Record<string, string>): Promise<Served> {
  const passed = Object.fromEntries(
    PASSED_ON.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
  );
  return serve("functions", {
    data_dir,
    program: denoProgram(),
    args: [
      "run",
      "--quiet",
      "--no-prompt",
      "--allow-net",
      "--allow-env",
      "--allow-sys",
      `--allow-read=${ROOT},${join(data_dir, "docs")}`,
      SERVE,
    ],
    variables: {
      ...TEST_SERVICE, // on a production host too: it is nobody's
      ...passed,
      ...variables,
      DENO_DIR: COMPILED,
      DENO_NO_UPDATE_CHECK: "1",
    },
    listens: "listening\n",
  });
}

const serveGateway = (data_dir: string, variables: Record<string, string>) =>
  serve("gateway", {
    data_dir,
    program: process.execPath,
    args: [SERVE_GATEWAY],
    variables,
    listens: '"event":"listening"',
  });

/** Starts a process that ends when its standard input does, and waits until it says that it listens. */
async function serve(
  name: "functions" | "gateway",
  {
    data_dir,
    program,
    args,
    variables,
    listens,
  }: { data_dir: string; program: string; args: string[]; variables: Record<string, string>; listens: string },
): Promise<Served> {
  const log_file = logFile(data_dir, `${name}.log`);
  const log = openSync(log_file, "a", 0o600);
  const begin = statSync(log_file).size;
  const child: ChildProcess = spawn(program, args, {
    cwd: ROOT,
    detached: true, // Ctrl-C reaches the runner only, which then stops things in order
    stdio: ["pipe", log, log],
    env: { PATH: process.env.PATH, ...variables, NO_COLOR: "1" },
  });
  closeSync(log);
  child.stdin?.on("error", () => {}); // EPIPE when it is already gone
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const identity = child.pid === undefined ? null : identify(child.pid);
  const stop = async () => {
    child.stdin?.end();
    const patience = setTimeout(() => child.kill("SIGKILL"), 5_000);
    await exited;
    clearTimeout(patience);
  };

  const said = () => readFileSync(log_file, "utf8").slice(begin);
  let gone = false;
  exited.then(() => {
    gone = true;
  });
  const deadline = Date.now() + 60_000;
  while (!said().includes(listens)) {
    if (gone || Date.now() > deadline) {
      await stop();
      throw new StackError(`The ${name} did not start:\n${said().trim().split("\n").slice(-12).join("\n")}`);
    }
    await sleep(15);
  }
  return { identity, exited, stop };
}

const SERVE = fileURLToPath(new URL("serve.ts", import.meta.url));
const SERVE_GATEWAY = fileURLToPath(new URL("serve_gateway.ts", import.meta.url));

// Jobs ----------------------------------------------------------------------------------------------------------------

/** Calls a function that runs what is due, every few seconds, one at a time; says what is wrong once, not every time. Answers how to stop. */
function tick(base_url: string, slug: string, secret: string, say: Say): () => Promise<void> {
  const url = `${base_url}/functions/v1/${slug}/run`;
  const stopped = new AbortController();
  const once = async (): Promise<string> => {
    const signal = AbortSignal.any([stopped.signal, AbortSignal.timeout(60_000)]);
    try {
      const response = await fetch(url, { method: "POST", headers: { Authorization: `Bearer ${secret}` }, signal });
      const answer = (await response.json().catch(() => ({}))) as { ok?: boolean; mail?: { problem?: string } };
      if (answer.ok) return "";
      return answer.mail?.problem ?? `${slug} answers ${response.status}; functions.log says why`;
    } catch (error) {
      return `${slug} does not answer: ${(error as Error).message}`;
    }
  };
  const run = async () => {
    let fault = "";
    while (!stopped.signal.aborted) {
      const now = await once();
      if (now !== fault && !stopped.signal.aborted) say("jobs", now || `${slug} works again`);
      fault = now;
      await sleep(TICK_MS, undefined, { signal: stopped.signal }).catch(() => {});
    }
  };
  const done = run();
  return () => {
    stopped.abort();
    return done;
  };
}

// Logs ----------------------------------------------------------------------------------------------------------------

const MAX_LOG = 10 * 2 ** 20;

/** Appended to; moved aside at a start when it has grown large. */
function logFile(data_dir: string, name: string): string {
  const path = join(data_dir, name);
  if (existsSync(path) && statSync(path).size > MAX_LOG) renameSync(path, `${path}.old`);
  return path;
}
