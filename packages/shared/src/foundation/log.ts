import { ApiError } from "./errors.ts";

/**
 * One JSON line: what happened, to which client, how long it took. Never a secret, a body, a query string or a
 * path with a token in it; a person appears nowhere.
 */
export type LogLine = {
  level: "info" | "warn" | "error";
  event: string;
  request_id?: string;
  [field: string]: unknown;
};

export type Log = (line: LogLine) => void;

/** Of requests that were answered as asked, one in so many has a line where not all are kept. */
const ONE_IN = 20;
/** The longest line, in bytes of UTF-8. */
const MAX_LINE = 2_000;

/**
 * Writes lines to standard output. The platform keeps a hundred lines of ten seconds, so a busy function would lose the
 * lines about failures. Without `all`, one in twenty successful requests is logged, chosen by its id, with `one_in`.
 * Refusals, failures and lines that are not about a request are always logged. A line has at most 2 kB.
 */
export function logTo(write: (line: string) => void, keep: "all" | "sampled"): Log {
  return (line) => {
    const isOrdinary = line.event === "request" && line.level === "info" && Number(line.status) < 400;
    if (keep === "sampled" && isOrdinary) {
      if (!isChosen(line.request_id)) return;
      line = { ...line, one_in: ONE_IN };
    }
    write(oneLine({ time: new Date().toISOString(), ...line }));
  };
}

export const consoleLog = (keep: "all" | "sampled"): Log => logTo((line) => console.log(line), keep);

/**
 * The one line of a request, of the API or of pages. `failure` is what was thrown: its cause is logged where it has one, and our own
 * failures always log what they are.
 */
export function logRequest(
  log: Log,
  started: number,
  fields: { request_id: string; status: number; [field: string]: unknown },
  failure?: Error,
): void {
  log({
    level: fields.status >= 500 ? "error" : "info",
    event: "request",
    ...fields,
    ms: Math.round((performance.now() - started) * 10) / 10,
    ...(failure && (failure.cause || fields.status === 500) ? { cause: describeCause(failure) } : {}),
  });
}

/** The first digits of a random id are random, and every process reads the same. */
const isChosen = (request_id = "") => Number.parseInt(request_id.slice(0, 8), 16) % ONE_IN === 0;

function oneLine(line: Record<string, unknown>): string {
  const { time, level, event, request_id } = line;
  const whole = JSON.stringify(line);
  if (fits(whole)) return whole;
  return [400, 100].map((most) => cut(line, most)).find(fits) ?? cut({ time, level, event, request_id }, 50);
}

const fits = (text: string) => new TextEncoder().encode(text).length <= MAX_LINE;

/** With texts and lists cut down, however deep they are. */
const cut = (fields: object, most: number) =>
  JSON.stringify({ ...fields, cut: true }, (_key, each) => {
    if (typeof each === "string" && each.length > most) return `${each.slice(0, most)}…`;
    return Array.isArray(each) ? each.slice(0, 3) : each;
  });

/**
 * What may be logged of a thrown value. The message and detail of a database error can quote a row. So we keep only its
 * SQLSTATE, the names of the objects it hit, and the place in our own SQL. Quoted parts of other messages are removed.
 */
export function describeCause(cause: unknown): Record<string, unknown> {
  if (!(cause instanceof Error)) return { type: typeof cause };
  // says which variables, never their values
  if (cause.name === "ConfigurationError") return { type: cause.name, message: cause.message };
  // the wrapper says no more than the error code does
  if (cause instanceof ApiError && cause.cause) return describeCause(cause.cause);
  const { severity, code, constraint, table, routine, where } = cause as unknown as Record<string, string | undefined>;
  // EPIPE and EBADF look like an SQLSTATE too; only an answer of the database has a severity
  if (severity !== undefined) {
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
