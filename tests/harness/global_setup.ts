// One throwaway server for the whole run of the tests that need a database.

import type { TestProject } from "vitest/node";
import { MigrationError } from "#local/migrate.ts";
import { answeredFolder } from "./answered.ts";
import { startTestServer } from "./template.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** `broken` is what the CLI said when the migrations do not apply: tests that copy no database still run. */
    test_server?: { port: number } | { broken: string };
    /** A folder with a file for each api function whose answer was held against its schema. */
    answered?: string;
  }
}

export default async function setup(project: TestProject) {
  project.provide("answered", answeredFolder());
  try {
    const server = await startTestServer();
    project.provide("test_server", { port: server.port });
    return () => server.stop();
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    project.provide("test_server", { broken: error.message });
  }
}
