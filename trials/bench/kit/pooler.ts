// PgBouncer in transaction mode, as a hosted project has one between functions and Postgres. From Debian's package, when it is there.

import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort, obstacleAt } from "#local/postgres.ts";
import { BenchError } from "./bench.ts";

/** Debian keeps it where only root's PATH looks. */
const PATH = `${process.env.PATH}:/usr/sbin`;

type Pooler = { url(url: string): string; stop(): Promise<void> };

/** Pools what `urls` reach. @throws {BenchError} where the program is missing. */
export async function startPooler(urls: string[], folder: string): Promise<Pooler> {
  if (spawnSync("pgbouncer", ["--version"], { env: { PATH } }).status !== 0)
    throw new BenchError("This bench needs PgBouncer, which npm does not have: apt-get install pgbouncer");
  const port = await freePort();
  const targets = urls.map((url) => new URL(url));
  const users = join(folder, "pgbouncer.users");
  const lines = targets.map(({ username, password }) => `"${username}" "${decodeURIComponent(password)}"\n`);
  writeFileSync(users, lines.join(""), { mode: 0o644 });
  const configuration = join(folder, "pgbouncer.ini");
  writeFileSync(
    configuration,
    `[databases]
* = host=127.0.0.1 port=${targets[0]?.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
default_pool_size = 4
max_client_conn = 100
${process.getuid?.() === 0 ? "user = nobody" : ""}
`,
  );
  const child = spawn("pgbouncer", ["--quiet", configuration], { env: { PATH }, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk) => (said += chunk));
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  while ((await obstacleAt(port)) === null) {
    if (child.exitCode !== null) throw new BenchError(`PgBouncer did not start:\n${said}`);
    await sleep(20);
  }
  return {
    url: (url) => url.replace(/:\d+\//, `:${port}/`),
    stop() {
      child.kill("SIGTERM");
      return exited;
    },
  };
}
