import { ApiError } from "./errors.ts";

/**
 * One JSON line per request: what happened, to which client, how long it took. Never a secret, a body, a query string or a
 * path with a token in it; a person appears nowhere.
 */
export type LogLine = {
  level: "info" | "warn" | "error";
  event: string;
  request_id?: string;
  [field: string]: unknown;
};

export type Log = (line: LogLine) => void;

export const logToConsole: Log = (line) => console.log(JSON.stringify({ time: new Date().toISOString(), ...line }));

/**
 * What may be logged of a thrown value. A database error's message and detail can quote a row, so only its SQLSTATE, the
 * names of what it hit and the place in our own SQL are kept; whatever another message quotes is left out.
 */
export function describeCause(cause: unknown): Record<string, unknown> {
  if (!(cause instanceof Error)) return { type: typeof cause };
  // says which variables, never their values
  if (cause.name === "ConfigurationError") return { type: cause.name, message: cause.message };
  // the wrapper says no more than the error code does
  if (cause instanceof ApiError && cause.cause) return describeCause(cause.cause);
  const { code, constraint, table, routine, where } = cause as unknown as Record<string, string | undefined>;
  if (typeof code === "string" && /^[0-9A-Z]{5}$/.test(code)) {
    const place = where
      ?.split("\n")
      .filter((line) => /^(PL\/pgSQL|SQL) function /.test(line))
      .join("; ");
    return { sqlstate: code, constraint, table, routine, place: place || undefined };
  }
  return {
    type: cause.name,
    code,
    message: cause.message.replace(/".*"|'.*'|`.*`/gs, "…"),
    stack: cause.stack
      ?.split("\n")
      .filter((line) => /^\s+at /.test(line))
      .slice(0, 3)
      .map((line) => line.trim()),
  };
}
