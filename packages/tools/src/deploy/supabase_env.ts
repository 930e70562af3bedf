// npm run supabase:env: what `supabase start` needs on this machine. Three files; git ignores them:
//
//   supabase/functions/.env   what the functions read in their container
//   supabase/seed_local.sql   passwords, host and schedule, which [db.seed] of supabase/config.toml runs after the migrations
//   .env.supabase             how the operator's command line reaches the database from this machine

import { randomBytes } from "node:crypto";
import pg from "pg";
import { ROOT } from "#local/checkout.ts";
import { newKeys } from "#local/keys.ts";
import { writeSecret } from "#local/secret_file.ts";
import { ConfigurationError, readConfiguration, secretsIn } from "#shared/foundation/configuration.ts";
import { scramVerifier } from "../../../operator/src/scram.ts";
import { BUNDLES, writeBundles } from "../bundle.ts";
import { addToEnv, EnvFileError, readEnv, type Variables } from "./env_file.ts";
import { ENABLE, jobsOf, VAULT_NAME } from "./schedule.ts";

/** As this machine reaches the stack: the ports of the CLI where supabase/config.toml names none. */
const API = "http://127.0.0.1:54321";
const DATABASE_PORT = 54322;
/** As the containers reach each other: names of the CLI's network. SUPABASE_URL is this one there, whatever .env says. */
export const INSIDE = { api: "http://kong:8000", database: "db:5432" } as const;
/** What the CLI gives every stack of every machine. They open nothing but that. */
const LOCAL_PUBLISHABLE_KEY = "sb_publishable_ACJWlzQHlZjBrEguHvfOxg_3BJgxAaH";
const LOCAL_JWT_SECRET = "super-secret-jwt-token-with-at-least-32-characters-long";

const FILES = {
  functions: "supabase/functions/.env",
  seed: "supabase/seed_local.sql",
  operator: ".env.supabase",
} as const;

const HELP = `Writes what npx supabase start needs on this machine, with passwords and keys of its own. It takes no arguments.

  npm run supabase:env

  ${FILES.functions}   what the functions read in their container
  ${FILES.seed}  passwords, host and schedule, run after the migrations
  ${FILES.operator}             how npm run operator reaches the database from this machine

What stands in the files of variables stays; the seed is written again. docs/deploy.md says what comes next.`;

/**
 * Writes the files under `root`. Variables that a file has stay. The seed is written again, from the passwords in those
 * files.
 * @returns what was done, a line each
 * @throws {EnvFileError} before anything is written, where a file of variables is not one, or is another database's
 */
export function writeSupabaseEnv(root = ROOT): string[] {
  const paths = { functions: root + FILES.functions, seed: root + FILES.seed, operator: root + FILES.operator };
  // both are read before one is written
  const kept = { ...readEnv(paths.operator), ...readEnv(paths.functions) };
  const functions: Variables = {
    API_HOST: "sandbox",
    BASE_URL: `${API}/functions/v1`,
    AUTH_URL: `${API}/functions/v1`,
    PAGES_URL: `${API}/functions/v1/pages`,
    SIGN_IN_ISSUER: `${API}/auth/v1`,
    EDGE_DATABASE_URL: inside("edge"),
    EDGE_SLOW_DATABASE_URL: inside("edge_slow"),
    ...newKeys(),
    // the gateway of the stack adds who connected to it
    CLIENT_ADDRESS: "x-forwarded-for:1",
    PUBLISHABLE_KEY: LOCAL_PUBLISHABLE_KEY,
    LOG_REQUESTS: "all",
  };
  const operator: Variables = {
    OPERATOR_DATABASE_URL: outside("operator", newPassword()),
    OWNER_DATABASE_URL: outside("postgres", "postgres"),
  };
  const wanted = { ...functions, ...operator, ...nonEmpty(kept) };
  for (const name of ["EDGE_DATABASE_URL", "EDGE_SLOW_DATABASE_URL"] as const) {
    if (URL.parse(wanted[name] ?? "")?.host === INSIDE.database) continue;
    throw new EnvFileError(
      `${FILES.functions} has an ${name} that is not at ${INSIDE.database}, where this stack has its database. ` +
        `Nothing was changed. Is it a copy of .env.example, or of another host? Take the line out, or move the file away, and run this again.`,
    );
  }
  check(wanted);
  return [
    describe(
      FILES.functions,
      addToEnv(
        paths.functions,
        functions,
        `What the functions of \`supabase start\` read (npm run supabase:env). It holds secrets of this machine.`,
      ),
    ),
    describe(
      FILES.operator,
      addToEnv(
        paths.operator,
        operator,
        `The database of \`supabase start\`, from this machine (npm run supabase:env): set -a; . ./${FILES.operator}; set +a`,
      ),
    ),
    describeSeed(paths.seed, seed({ ...wanted, ...readEnv(paths.operator), ...readEnv(paths.functions) })),
  ];
}

/** @throws {EnvFileError} naming what the functions could not read. */
function check(variables: Variables): void {
  try {
    readConfiguration({ ...variables, SUPABASE_URL: INSIDE.api });
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new EnvFileError(`${FILES.functions}: ${error.message}. Nothing was changed.`);
  }
}

const newPassword = () => randomBytes(24).toString("base64url");
const inside = (role: string) => `postgresql://${role}:${newPassword()}@${INSIDE.database}/postgres`;
const outside = (role: string, password: string) =>
  `postgresql://${role}:${password}@127.0.0.1:${DATABASE_PORT}/postgres`;
const nonEmpty = (values: Variables) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));

function describe(file: string, added: string[]): string {
  return added.length === 0 ? `${file}  is complete; nothing was changed` : `${file}  added ${added.join(", ")}`;
}

function describeSeed(path: string, content: string): string {
  writeSecret(path, content);
  return `${FILES.seed}  written again, for the passwords of those files`;
}

/**
 * What a local stack is given after its migrations. The passwords of the files stand in it as verifiers, and nobody
 * else has them. It works on a stack of the CLI only: those all have the same public JWT secret. A hosted project has
 * its own.
 */
export function seed(variables: Variables): string {
  const passwordOf = (name: string) => decodeURIComponent(URL.parse(variables[name] ?? "")?.password ?? "");
  const logins = {
    edge: passwordOf("EDGE_DATABASE_URL"),
    edge_slow: passwordOf("EDGE_SLOW_DATABASE_URL"),
    operator: passwordOf("OPERATOR_DATABASE_URL"),
  };
  const text = pg.escapeLiteral;
  const passwords = Object.entries(logins).map(
    ([role, password]) => `  alter role ${role} password ${text(scramVerifier(password))};`,
  );
  const host = JSON.stringify({ operator: "supabase start", host: variables.API_HOST });
  const jobs = jobsOf(`${INSIDE.api}/functions/v1`).map(
    ({ name, often, command }) => `    perform cron.schedule(${text(name)}, ${text(often)}, ${text(command)});`,
  );
  return `-- Written by npm run supabase:env, for \`supabase start\` on this machine. It is not committed.
do $seed$
begin
  if current_setting('app.settings.jwt_secret', true) is distinct from ${text(LOCAL_JWT_SECRET)} then
    raise warning 'supabase/seed_local.sql: this is no local stack of the Supabase CLI, so nothing was set';
    return;
  end if;
${passwords.join("\n")}
  perform ops.host_set(${text(host)}::jsonb);
  begin
${ENABLE.slice(1).replaceAll(/^/gm, "  ")}
    if exists (select from vault.secrets where name = ${text(VAULT_NAME)}) then
      perform vault.update_secret((select id from vault.secrets where name = ${text(VAULT_NAME)}), ${text(secretsIn(variables.WORKER_SECRET ?? "")[0])});
    else
      perform vault.create_secret(${text(secretsIn(variables.WORKER_SECRET ?? "")[0])}, ${text(VAULT_NAME)});
    end if;
${jobs.join("\n")}
  exception when others then
    raise warning 'supabase/seed_local.sql: the worker is not scheduled (%)', sqlerrm;
  end;
end $seed$;
`;
}

if (import.meta.main) {
  const asked = process.argv.slice(2);
  const help = asked[0] === "--help" || asked[0] === "-h";
  if (asked.length > 0) {
    (help ? console.log : console.error)(`${help ? "" : `Unknown: ${asked.join(" ")}\n\n`}${HELP}`);
    process.exit(help ? 0 : 2);
  }
  try {
    for (const line of writeSupabaseEnv()) console.log(line);
    await writeBundles();
    console.log(
      `${BUNDLES}  the functions, as \`supabase start\` serves them; after a change, npm run generate -- bundle`,
    );
    console.log(
      "\nNext: npx supabase start. Where it runs already: npx supabase db reset, and npx supabase functions serve.",
    );
  } catch (error) {
    if (!(error instanceof EnvFileError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
