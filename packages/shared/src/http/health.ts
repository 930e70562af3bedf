// Whether a function works, for monitoring. Needs no credential, and the response has no one's data.

import { opens } from "#shared/auth/tokens.ts";
import type {} from "#shared/foundation/admission.ts";
import type { Json, SqlAnswer } from "#shared/foundation/answers.ts";
import { type Environment, oncePerEnvironment } from "#shared/foundation/environment.ts";
import { ApiError } from "#shared/foundation/errors.ts";

/** The worker is scheduled every ten seconds. */
const LATE_SECONDS = 300;
/** The database is asked at most once in this time. */
const MEMORY_MS = 1_000;

type Readiness = Omit<SqlAnswer<"read_health">, "jobs_failing"> & {
  /** The failing checks. */
  failing: ("database" | "worker" | "jobs")[];
  /** Why the database did not answer, for the log. */
  cause?: unknown;
};

async function ask({ db, config }: Environment): Promise<Readiness> {
  try {
    const caller = { kind: "anyone", host: config.API_HOST, request_id: crypto.randomUUID() };
    const seen = JSON.parse((await db.call("read_health", caller)) as Json<SqlAnswer<"read_health">>);
    const late = seen.worker_age_seconds === null || seen.worker_age_seconds > LATE_SECONDS;
    const { jobs_failing, ...shown } = seen;
    return {
      failing: [...(late ? ["worker" as const] : []), ...(jobs_failing > 0 ? ["jobs" as const] : [])],
      ...shown,
    };
  } catch (cause) {
    return { failing: ["database"], schema_version: null, worker_age_seconds: null, cause };
  }
}

/**
 * Whether the database responds, its version, and when the worker last completed. One statement, whose result is
 * shared for a second.
 */
const readinessOf = oncePerEnvironment((environment) => {
  let known: { until: number; answer: Promise<Readiness> } | undefined;
  return (): Promise<Readiness> => {
    if (known && environment.now().getTime() < known.until) return known.answer;
    const current = { until: Infinity, answer: ask(environment) };
    known = current;
    current.answer.then(() => {
      current.until = environment.now().getTime() + MEMORY_MS;
    });
    return current.answer;
  };
});

/**
 * The response of `/<slug>/health/ready`: 200, or 503 if something fails. Only who sends METRICS_SECRET reads what.
 * @param note the log line, which gets the reason
 */
export async function answerReady(
  slug: string,
  { headers }: Request,
  environment: Environment,
  note: { refusal?: ApiError },
): Promise<Response> {
  const bearer = (headers.get("authorization") ?? "").replace(/^Bearer /, "");
  const known = opens(bearer, environment.config.METRICS_SECRET);
  const { cause, ...readiness } = await readinessOf(environment)();
  const ok = readiness.failing.length === 0;
  if (!ok) note.refusal = new ApiError("service_unavailable", {}, cause);
  return Response.json(
    { ok, function: slug, ...(known ? readiness : {}) },
    { status: ok ? 200 : 503, headers: { "Cache-Control": "no-store" } },
  );
}
