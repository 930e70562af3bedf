// The driver, in a file of its own: it is loaded with the first statement, and what asks the database nothing does without.

import pg from "pg";

export type Limits = {
  /** Connections of this process. */
  max: number;
  /**
   * How long to wait for an answer, connecting included. It is a little longer than the role's statement_timeout, which
   * ends what the database can still end.
   */
  patience_ms: number;
  /** One statement of a client at a time, and how long another one of it waits for that, before it takes a connection. */
  turn_ms?: number;
};

const asText = (value: string) => value;
/** JSON stays text: a page built in SQL is passed through, never parsed and written again. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text") =>
    oid === pg.types.builtins.JSON || oid === pg.types.builtins.JSONB
      ? asText
      : pg.types.getTypeParser(oid, format)) as pg.CustomTypesConfig["getTypeParser"],
};

/**
 * pg-pool takes its listener off a client that it hands out, and an error that nobody listens to ends the process. Whoever waits for the
 * connection is told by the statement; the pool throws away what is broken.
 */
class Listened extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    this.on("error", () => {});
  }
}

/** Connects when it is asked for a connection. */
export function openPool(connectionString: string, { max, patience_ms }: Limits): pg.Pool {
  const pool = new pg.Pool({
    Client: Listened,
    connectionString,
    max,
    types,
    // longer than the lock_timeout of `edge`: a waiting request gets the connection of a request whose lock wait has
    // ended
    connectionTimeoutMillis: Math.min(5_000, patience_ms),
    idleTimeoutMillis: 30_000,
  });
  // it passes on the error of an idle connection, which the next call replaces
  pool.on("error", () => {});
  return pool;
}
