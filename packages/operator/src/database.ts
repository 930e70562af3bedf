// One command is one ops function, called in one autocommitted statement.

import pg from "pg";
import { sentence } from "./refusals.ts";

/** What ends a command: a sentence for the person who typed it, with nothing secret in it. */
export class OperatorError extends Error {}

/** What an ops function answers. */
export type Answer = Record<string, unknown>;

/** A refusal of the rules, as private.refuse raises it. */
const RULE = "RULE1";

/** A client that is not connected yet, and that is ended after one call. */
export type Open = (
  url: string,
) => Pick<pg.Client, "host" | "port" | "database" | "user" | "connect" | "query" | "end">;

/** @throws {OperatorError} a refusal, or why the database could not be asked. */
export async function callOps(
  url: string,
  name: string,
  input: object,
  { schema = "ops", open = openClient }: { schema?: string; open?: Open | undefined } = {},
): Promise<Answer> {
  const client = open(url);
  const place = `${client.host}:${client.port}/${client.database}`;
  try {
    await client.connect().catch((error) => {
      throw new OperatorError(unreachable(error, place, client.user));
    });
    const { rows } = await client
      .query<{ answer: Answer }>(`select ${schema}.${name}($1::jsonb) as answer`, [JSON.stringify(input)])
      .catch((error) => {
        throw new OperatorError(failed(error, place, client.user, schema));
      });
    return rows[0]?.answer ?? {};
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
  client.on("error", () => {}); // a connection that breaks is reported by the statement that waits for it
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
  if (code === RULE) return sentence(message, detail ? JSON.parse(detail) : {});
  if (code === "42501" && schema !== "ops") {
    return `${user} may not do this at ${place}: it takes the owner of the database, such as postgres, by --database-url or OWNER_DATABASE_URL.`;
  }
  if (code === "42501") return `${user} may not run operator functions at ${place}. Connect as the role operator.`;
  if (code === "3F000" || code === "42883") {
    return `The database at ${place} lacks this command. Apply the migrations of this version (supabase db push).`;
  }
  if (code === "55P03" || code === "57014") {
    return `The database at ${place} was busy with the same thing for too long. Nothing was changed; try again.`;
  }
  // only what the database answers has one: the code of a broken write, EPIPE, looks like an SQLSTATE
  if (severity) return `The database refused (${code}: ${message}). Nothing was changed.`;
  return `The database at ${place} went away before it answered (${code ?? message}). List, to see whether the change was made.`;
}
