import type { Call } from "#shared/foundation/answers.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { describeCause } from "#shared/foundation/log.ts";
import type { DueJob } from "./answers.ts";

type JobsResult = { jobs: Record<string, number>; jobs_failed: number };

/**
 * The jobs of the database, each as a statement of its own. One that fails is logged and noted, and stops no other:
 * neither the next job, nor the same job for another client, nor mail and webhooks.
 */
export async function runJobs(
  { log }: Environment,
  call: Call<"list_due_jobs" | "run_due_job" | "record_failed_job">,
  deadline: number,
  request_id: string,
): Promise<JobsResult> {
  const result: JobsResult = { jobs: {}, jobs_failed: 0 };
  const failed = (error: unknown, due?: DueJob) => {
    result.jobs_failed += 1;
    const what = due ? { job: due.job, client_id: due.owner_id } : {};
    log({ level: "error", event: "job_failed", request_id, ...what, ...describeCause(error) });
  };
  try {
    for (const due of JSON.parse(await call("list_due_jobs"))) {
      // every job has its turn; clients wait for the next run
      if (due.owner_id && Date.now() > deadline) break;
      try {
        const { rows } = JSON.parse(await call("run_due_job", due));
        result.jobs[due.job] = (result.jobs[due.job] ?? 0) + rows;
      } catch (error) {
        failed(error, due);
        await call("record_failed_job", { ...due, sqlstate: describeCause(error).sqlstate ?? "unknown" });
      }
    }
  } catch (error) {
    failed(error);
  }
  return result;
}
