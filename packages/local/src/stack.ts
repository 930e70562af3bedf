// What a running stack tells the programs beside it: the demo, the operator's command line, tests, benchmarks.

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./checkout.ts";
import { type Identity, isRunning } from "./processes.ts";
import { writeSecret } from "./secret_file.ts";

/** What a newcomer's first requests need; made by demo_data.ts. */
export type Demo = {
  cpo: { client_id: string; client_secret: string };
  /** Whom that client delivers for. */
  partner: { id: string; api_key: string };
  /** Signs in at Supabase Auth, on the consent page for one; manages the partner. */
  user: { email: string; password: string };
  oauth_app: { client_id: string; client_secret: string; redirect_uri: string };
  /** Of that person, for the personal routes. */
  personal_token: string;
};

export type Stack = {
  host: "sandbox" | "production";
  /** Root of the specification's own paths: `<base_url>/v1/accounts`. */
  base_url: string;
  /** Root of the hosted form: `<functions_url>/<slug>/…`. */
  functions_url: string;
  /** Root of `/oauth-token`, `/oauth-authorize` and `/oauth-revoke`. */
  auth_url: string;
  /** The role `postgres`, which owns the tables. */
  database_url: string;
  /** The role `operator`, as the operator's command line connects. */
  operator_database_url: string;
  /** Operators with a login of their own, by name: some things take two people. */
  operator_logins: Record<string, string>;
  /** What the operator's commands read from their environment. */
  operator_environment: Record<string, string>;
  /** For supabase-js: sign up and sign in at `<url>/auth/v1`. */
  auth: { url: string; publishable_key: string; secret_key: string };
  /** Where chargers connect: `<ocpp_url>/<identity>`. */
  ocpp_url: string;
  /** `/health` and `/metrics` of the OCPP gateway. */
  ocpp_admin_url: string;
  demo: Demo;
  /** The runner. A file whose runner is gone is stale. */
  process: Identity;
};

export const DEFAULT_PORT = 54321;
/** One for each host: their customers never share a database. */
export const DATA_DIRS = { sandbox: join(ROOT, ".local/data"), production: join(ROOT, ".local/production") } as const;
/** Where programs look that are not told which stack: the sandbox of the default data folder, else the one that came first. */
export const DEFAULT_STACK_FILE = join(ROOT, ".local/stack.json");

/** The running stack, or null. */
export function readStack(file = DEFAULT_STACK_FILE): Stack | null {
  const stack = readJson<Stack>(file);
  return stack && isRunning(stack.process) ? stack : null;
}

/** Each stack describes itself in its data folder, so that stacks side by side do not overwrite each other. */
export function writeStack(data_dir: string, stack: Stack): void {
  writeJson(join(data_dir, "stack.json"), stack);
  if (data_dir !== DATA_DIRS.sandbox && readStack()) return;
  try {
    writeJson(DEFAULT_STACK_FILE, stack);
  } catch (error) {
    // a checkout that is not ours to write in: the data folder's own file says the same
    if (data_dir === DATA_DIRS.sandbox) throw error;
  }
}

export function removeStack(data_dir: string, owner: Identity): void {
  rmSync(join(data_dir, "stack.json"), { force: true });
  if (readJson<Stack>(DEFAULT_STACK_FILE)?.process.pid === owner.pid) rmSync(DEFAULT_STACK_FILE, { force: true });
}

/** Null when the file is missing or is not JSON. */
export function readJson<T>(file: string): T | null {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** As writeSecret(). */
export function writeJson(file: string, value: unknown): void {
  writeSecret(file, `${JSON.stringify(value, null, 2)}\n`);
}
