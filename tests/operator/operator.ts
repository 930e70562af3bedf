// The operator's command line, run in this process against a database of its own.

import type pg from "pg";
import { type Open, openClient } from "../../packages/operator/src/database.ts";
import { type LocalStack, run } from "../../packages/operator/src/run.ts";
import type { Screen } from "../../packages/operator/src/text.ts";
import type { Database } from "../harness/database.ts";

// biome-ignore lint/suspicious/noExplicitAny: a test names the fields it reads
export type Ran = { code: number; out: string; err: string; json: any };
export type Audit = {
  actor: string;
  action: string;
  partner_id: string | null;
  subject_id: string | null;
  details: object;
};

/** Runs one command; `json` is what it printed, where that is JSON. Somebody sits there and says yes, unless told. */
export async function operate(
  argv: string[],
  env: Record<string, string> = {},
  {
    local,
    confirm,
    open,
    screen,
    line,
  }: {
    local?: LocalStack;
    confirm?: ((question: string) => Promise<boolean>) | null;
    open?: Open;
    screen?: Screen;
    /** What stands on standard input. */
    line?: string;
  } = {},
): Promise<Ran> {
  const printed = { out: "", err: "" };
  const code = await run(argv, {
    out: (text) => {
      printed.out += text;
    },
    err: (text) => {
      printed.err += text;
    },
    env,
    operator: "tester",
    local: () => local,
    open: open ?? keep,
    ...(screen && { screen }),
    ...(line !== undefined && { readLine: async () => line }),
    ...(confirm !== null && { confirm: confirm ?? (async () => true) }),
  });
  return { code, ...printed, json: printed.out.startsWith("{") ? JSON.parse(printed.out) : undefined };
}

const idle = new Map<string, Set<pg.Client>>();
const connected = new WeakSet<pg.Client>();

/** Clients are kept from one command to the next, until their database is dropped: a new connection compiles the ops functions again. */
const keep: Open = (url) => {
  const here = idle.get(url) ?? new Set();
  idle.set(url, here);
  const [client = openClient(url)] = here;
  here.delete(client);
  const { host, port, database, user } = client;
  return {
    ...{ host, port, database, user },
    query: (async (text: string, values: unknown[]) =>
      client.query(text, values).catch((error) => {
        // whatever is no refusal may have taken the connection along
        if (error.severity !== "ERROR") connected.delete(client);
        throw error;
      })) as pg.Client["query"],
    async connect() {
      if (connected.has(client)) return client;
      await client.connect();
      connected.add(client);
      return client.once("end", () => connected.delete(client) && here.delete(client));
    },
    async end() {
      if (connected.has(client)) here.add(client);
      else await client.end();
    },
  };
};

/** Runs commands on a database, as the role operator or as one operator's own login. */
export function operatorOf(
  database: Database,
  login: "operator" | "operator_anna" | "operator_bram" = "operator",
  env: Record<string, string> = {},
) {
  return (command: string | string[], line?: string) =>
    operate(
      [...(typeof command === "string" ? command.split(" ") : command), "--json"],
      { OPERATOR_DATABASE_URL: database.url(login), ...env },
      line === undefined ? {} : { line },
    );
}

/** What the commands left in the audit log while `act` ran. */
export async function auditOf(admin: pg.Pool, act: () => Promise<unknown>): Promise<Audit[]> {
  const { rows } = await admin.query("select coalesce(max(id), 0) as last from core.audit_log");
  await act();
  const rest = await admin.query<Audit>(
    "select actor, action, partner_id, subject_id, details from core.audit_log where id > $1 and actor like 'operator%' order by id",
    [rows[0].last],
  );
  return rest.rows;
}
