// One throwaway server for the whole run, migrated once by the real Supabase CLI into a template that each test file clones.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { bootstrap, MigrationError, migrate, setPasswords } from "../../packages/local/src/migrate.ts";
import { freePort, startPostgres } from "../../packages/local/src/postgres.ts";

export type TestServer = {
  port: number;
  template: string;
  passwords: { supabase_admin: string; postgres: string; edge: string; operator: string };
  /** What the CLI said when the migrations do not apply: tests that need no database still run. */
  broken?: string;
};

declare module "vitest" {
  interface ProvidedContext {
    test_server: TestServer;
  }
}

export default async function setup(project: TestProject) {
  const folder = mkdtempSync(join(tmpdir(), "ere-test-"));
  const port = await freePort();
  // not secret: the server is reachable from this machine only and lives as long as the run
  const passwords = { supabase_admin: "supabase_admin", postgres: "postgres", edge: "edge", operator: "operator" };
  const server = await startPostgres({
    folder,
    port,
    password: passwords.supabase_admin,
    durable: false,
    log_file: join(folder, "postgres.log"),
  });
  const test_server: TestServer = { port, template: "template_ere", passwords };
  try {
    await server.query(`create database ${test_server.template}`);
    const admin_url = server.url(test_server.template);
    await bootstrap(admin_url, passwords.postgres);
    await migrate(server.url(test_server.template, "postgres", passwords.postgres), { seed: false });
    await setPasswords(admin_url, { edge: passwords.edge, operator: passwords.operator });
  } catch (error) {
    if (!(error instanceof MigrationError)) {
      await server.stop();
      throw error;
    }
    test_server.broken = error.message;
  }
  project.provide("test_server", test_server);
  return () => server.stop();
}
