// Whether a function works, for whoever watches it: without a credential, and with nothing in the answer that is anybody's.

import { type Environment, oncePerEnvironment } from "#shared/foundation/environment.ts";

/** The worker is scheduled every ten seconds. */
const LATE_SECONDS = 300;
/** However often it is asked, the database hears of it once in this time. */
const MEMORY_MS = 1_000;

type Seen = { schema_version: string | null; worker_age_seconds: number | null };

export type Readiness = Seen & {
  /** What is not as it should be. */
  failing: ("database" | "worker")[];
  /** Why the database did not answer, for the log. */
  cause?: unknown;
};

async function ask({ db, config }: Environment): Promise<Readiness> {
  try {
    const caller = { kind: "anyone", host: config.API_HOST, request_id: crypto.randomUUID() };
    const seen = JSON.parse(await db.call("ready", caller)) as Seen;
    const late = seen.worker_age_seconds === null || seen.worker_age_seconds > LATE_SECONDS;
    return { failing: late ? ["worker"] : [], ...seen };
  } catch (cause) {
    return { failing: ["database"], schema_version: null, worker_age_seconds: null, cause };
  }
}

/**
 * Whether the database answers, of which version it is, and when the worker last came to its end. One statement, whose answer holds
 * for a second and for all who ask meanwhile.
 */
export const readinessOf = oncePerEnvironment((environment) => {
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
