import type { Call } from "#shared/foundation/answers.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { describeCause } from "#shared/foundation/log.ts";
import type { DueJob } from "./answers.ts";

/** Time for the clients of all jobs, and for the whole: what is left is for the next run, in which what failed waits. */
const CLIENTS_MS = 6_000;
const JOBS_MS = 30_000;

type JobsResult = { jobs: Record<string, number>; jobs_failed: number };

/**
 * The jobs of the database, each as a statement of its own. One that fails is logged and noted, and stops no other:
 * neither the next job, nor the same job for another client, nor mail and webhooks.
 */
export async function runJobs(
  { log }: Environment,
  call: Call<"due_jobs" | "run_due_job" | "record_failed_job">,
  request_id: string,
): Promise<JobsResult> {
  const begun = Date.now();
  const result: JobsResult = { jobs: {}, jobs_failed: 0 };
  const failed = (error: unknown, due?: DueJob) => {
    result.jobs_failed += 1;
    const what = due ? { job: due.job, client_id: due.owner_id } : {};
    log({ level: "error", event: "job_failed", request_id, ...what, ...describeCause(error) });
  };
  const attempt = async <T>(run: () => Promise<T>, due?: DueJob): Promise<T | undefined> => {
    try {
      return await run();
    } catch (error) {
      failed(error, due);
      return undefined;
    }
  };
  const due_jobs = await attempt(async () => JSON.parse(await call("due_jobs")));
  for (const due of due_jobs ?? []) {
    if (Date.now() > begun + (due.owner_id ? CLIENTS_MS : JOBS_MS)) break;
    try {
      const { rows } = JSON.parse(await call("run_due_job", due));
      result.jobs[due.job] = (result.jobs[due.job] ?? 0) + rows;
    } catch (error) {
      failed(error, due);
      const { sqlstate = "unknown" } = describeCause(error);
      await attempt(() => call("record_failed_job", { ...due, sqlstate }), due);
    }
  }
  return result;
}
