// The jobs of the database, as the worker runs them, without its mail, webhooks and platforms.

import { expect } from "vitest";
import type { Call } from "#shared/foundation/answers.ts";
import { runJobs } from "../../supabase/functions/worker/jobs.ts";
import type { World } from "./world.ts";

/** Rows by job. */
export async function runDueJobs({ environment }: World): Promise<Record<string, number>> {
  const caller = { kind: "worker", host: environment.config.API_HOST, request_id: "test" };
  const call = ((name: string, ...given: object[]) => environment.slowDb.call(name, caller, ...given)) as Call<
    "due_jobs" | "run_due_job" | "record_failed_job"
  >;
  const { jobs, jobs_failed } = await runJobs(environment, call, "test");
  expect(jobs_failed).toBe(0);
  return jobs;
}
