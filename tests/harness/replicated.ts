// A server of its own with a replica that streams from it, and a world on them.

import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { startPostgres } from "#local/postgres.ts";
import type { Database } from "./database.ts";
import { folderForServers, PASSWORDS, TEMPLATE, templateFolder } from "./template.ts";

export type Replicated = {
  database: Database;
  replica: {
    url: Database["url"];
    /** The superuser there. */
    admin: pg.Pool;
    /** What the server logged. */
    log(): string;
    stop(): Promise<void>;
  };
};

/** `drop()` of the database ends both servers. */
export async function replicated(): Promise<Replicated> {
  const options = () => {
    const folder = mkdtempSync(join(folderForServers(), "ere-replicated-"));
    return { folder, password: PASSWORDS.supabase_admin, log_file: join(folder, "postgres.log"), durable: false };
  };
  const pool = (url: string) => {
    const made = new pg.Pool({ connectionString: url, max: 12 });
    made.on("error", () => {}); // idle connections end with the server
    return made;
  };
  const primary = await startPostgres({ ...options(), copy_of: await templateFolder() });
  // what was answered is in the log by then, as hosted
  await primary.query(`alter database ${TEMPLATE} set synchronous_commit = on`);
  const admin = pool(primary.url(TEMPLATE));
  await admin.query("insert into core.deployment (host) values ('sandbox')");
  const follower = await startPostgres({ ...options(), replica_of: primary });
  const replica = pool(follower.url(TEMPLATE));
  return {
    database: {
      url: (role) => primary.url(TEMPLATE, role, PASSWORDS[role]),
      admin,
      async drop() {
        await Promise.all([admin.end(), replica.end()]);
        await follower.stop();
        await primary.stop();
      },
    },
    replica: {
      url: (role) => follower.url(TEMPLATE, role, PASSWORDS[role]),
      admin: replica,
      log: () => readFileSync(join(follower.folder, "postgres.log"), "utf8"),
      stop: () => follower.stop(),
    },
  };
}
