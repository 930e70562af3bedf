// What calls the worker and the documents: pg_cron, every ten seconds, with the worker's secret from the vault.

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
export function callOf(functionsUrl: string, slug: keyof typeof SCHEDULED): string {
  return `select net.http_post('${functionsUrl.replaceAll("'", "''")}/${slug}/run', timeout_milliseconds := ${PATIENCE_MS},
  headers := jsonb_build_object('Authorization', 'Bearer ' || (select decrypted_secret from vault.decrypted_secrets where name = '${VAULT_NAME}')))`;
}
