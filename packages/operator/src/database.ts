// A command calls one ops function, in one autocommitted statement.

import pg from "pg";
import { sentence } from "./refusals.ts";

/** Ends a command with a sentence for the person who typed it, without secrets. */
export class OperatorError extends Error {}

/** The answer of an ops function. */
export type OpsAnswer = Record<string, unknown>;

/** A refusal raised by private.refuse. */
const RULES = "RULES";

/** A client for one call: not connected yet, and closed after it. */
export type Open = (
  url: string,
) => Pick<pg.Client, "host" | "port" | "database" | "user" | "connect" | "query" | "end">;

/** Calls functions on one connection. */
export type Session = {
  call: (name: string, input: object) => Promise<OpsAnswer>;
  /** Runs statements of ours, such as `begin`. */
  query: (text: string) => Promise<void>;
};

type Options = { schema?: string; open?: Open | undefined };

/** @throws {OperatorError} a refusal, or the reason why the database could not be reached. */
export function callOps(url: string, name: string, input: object, options: Options = {}): Promise<OpsAnswer> {
  return connectOps(url, ({ call }) => call(name, input), options);
}

/** Connects for as long as `work` takes. @throws {OperatorError} as callOps does. */
export async function connectOps<T>(
  url: string,
  work: (session: Session) => Promise<T>,
  { schema = "ops", open = openClient }: Options = {},
): Promise<T> {
  const client = open(url);
  const place = `${client.host}:${client.port}/${client.database}`;
  const refuse = (error: pg.DatabaseError) => {
    throw new OperatorError(failed(error, place, client.user, schema), { cause: error });
  };
  try {
    await client.connect().catch((error) => {
      throw new OperatorError(unreachable(error, place, client.user));
    });
    return await work({
      async call(name, input) {
        const { rows } = await client
          .query<{ answer: OpsAnswer }>(`select ${schema}.${name}($1::jsonb) as answer`, [JSON.stringify(input)])
          .catch(refuse);
        return rows[0]?.answer ?? {};
      },
      async query(text) {
        await client.query(text).catch(refuse);
      },
    });
  } finally {
    await client.end().catch(() => {});
  }
}

export function openClient(url: string): pg.Client {
  if (!/^postgres(ql)?:$/.test(URL.parse(url)?.protocol ?? "")) {
    throw new OperatorError(
      "The database address is no URL such as postgresql://operator:<password>@<host>:5432/postgres.",
    );
  }
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, application_name: "operator" });
  client.on("error", () => {}); // the statement that waits for a broken connection reports it
  return client;
}

function unreachable({ code, message }: pg.DatabaseError, place: string, user: string | undefined): string {
  if (code === "28P01" || code === "28000") return `The database at ${place} refuses the password of ${user}.`;
  if (code === "3D000") return `There is no such database: ${place}.`;
  return `No database answers at ${place} (${code ?? message}). Start it (npm start), or name another with --database-url.`;
}

function failed(
  { code, message, detail, severity }: pg.DatabaseError,
  place: string,
  user: string | undefined,
  schema: string,
): string {
  if (code === RULES) return sentence(message, detail ? JSON.parse(detail) : {});
  if (code === "42501" && schema !== "ops") {
    return (
      `${user} may not do this at ${place}: connect as the owner of the database, such as postgres, with ` +
      "--database-url or OWNER_DATABASE_URL."
    );
  }
  if (code === "42501") return `${user} may not run operator functions at ${place}. Connect as the role operator.`;
  if (code === "3F000" || code === "42883") {
    return `The database at ${place} lacks this command. Apply the migrations of this version (supabase db push).`;
  }
  if (code === "55P03" || code === "57014") {
    return `The database at ${place} was locked by another command for too long. Nothing was changed; try again.`;
  }
  // only an answer of the database has a severity; the code EPIPE of a broken write looks like an SQLSTATE
  if (severity) return `The database refused (${code}: ${message}). Nothing was changed.`;
  return (
    `The connection to the database at ${place} broke before it answered (${code ?? message}). Check with a list ` +
    "command whether the change was made."
  );
}
