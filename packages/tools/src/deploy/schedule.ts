// What pg_cron runs: the worker and the documents, every ten seconds, with the worker's secret from the vault; and once a
// day it empties its own record of runs.

/** The functions that have work by themselves, and how often each is called. */
export const SCHEDULED = { worker: "10 seconds", documents: "10 seconds" } as const;

/** Name of the worker's secret in the vault. */
export const VAULT_NAME = "worker_secret";

/** A run ends by itself after some 20 seconds; a shorter time limit would cut it off. */
const PATIENCE_MS = 30_000;

/** What makes the extensions, where they are not there yet: statements of PL/pgSQL, for the owner of the database, `postgres`. */
export const ENABLE = `
  if to_regclass('cron.job') is null then
    create extension pg_cron with schema pg_catalog;
  end if;
  if to_regnamespace('net') is null then
    create extension pg_net;
  end if;
  if to_regclass('vault.decrypted_secrets') is null then
    create extension supabase_vault;
  end if;`;

/**
 * The SQL that pg_cron runs for one function. It does not contain the secret: a role that reads cron.job may not read
 * the vault.
 * @param functionsUrl root of the functions, as the database reaches them
 */
function callOf(functionsUrl: string, slug: keyof typeof SCHEDULED): string {
  return `select net.http_post('${functionsUrl.replaceAll("'", "''")}/${slug}/run', timeout_milliseconds := ${PATIENCE_MS},
  headers := jsonb_build_object('Authorization', 'Bearer ' || (select decrypted_secret from vault.decrypted_secrets where name = '${VAULT_NAME}')))`;
}

type Job = { name: string; often: string; command: string };

/** The jobs of pg_cron, which keeps a row for each run: of two jobs, 17,280 a day, that nobody else deletes. */
export const jobsOf = (functionsUrl: string): Job[] => [
  ...Object.entries(SCHEDULED).map(([slug, often]) => ({
    name: slug,
    often,
    command: callOf(functionsUrl, slug as keyof typeof SCHEDULED),
  })),
  {
    name: "cron_record",
    often: "23 3 * * *",
    command: `delete from cron.job_run_details where coalesce(end_time, start_time) < now() - interval '3 days'`,
  },
];
