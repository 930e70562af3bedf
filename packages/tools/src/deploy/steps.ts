// A first deployment, step by step. Each step looks at what exists and does what is missing. So after a failure a
// second run continues where the first stopped, and after a success it changes nothing.

import { join } from "node:path";
import pg from "pg";
import { newKeys } from "#local/keys.ts";
import { MigrationError, missingMigrations, runSupabase } from "#local/migrate.ts";
import { newSecret } from "#shared/auth/tokens.ts";
import { ConfigurationError, readConfiguration, secretsIn } from "#shared/foundation/configuration.ts";
import { callOps, OperatorError } from "../../../operator/src/database.ts";
import { run as operate } from "../../../operator/src/run.ts";
import { scramVerifier } from "../../../operator/src/scram.ts";
import { deployedFunctions } from "../functions.ts";
import type { checkoutForUpload } from "./checkout_for_upload.ts";
import { databaseUrl, isLoopback } from "./database_url.ts";
import { addToEnv, EnvFileError, readEnv, type Variables } from "./env_file.ts";
import { DeployError, type ManagementApi, type Pooler } from "./management_api.ts";
import { ABOUT, type Host } from "./questions.ts";
import { ENABLE, jobsOf, SCHEDULED, VAULT_NAME } from "./schedule.ts";

/** Where the platform is: Supabase's own, or what stands in for it in a test. */
export type Platform = {
  api_url: string;
  /** The address of a project, `https://<ref>.supabase.co`. */
  project_url(ref: string): string;
  /** What the Supabase CLI reads from its environment, the access token among it. */
  cli: Variables;
  /** What is uploaded of this checkout. */
  checkout: typeof checkoutForUpload;
  /** Between two looks at something that takes a while. */
  pause(ms: number): Promise<void>;
};

/** One walk for one host. */
export type Walk = {
  host: Host;
  /** The files of this host, which hold its secrets; nothing secret is written elsewhere. */
  files: { answers: string; functions: string; operator: string; partner: string };
  answers: Variables;
  platform: Platform;
  api: ManagementApi;
  /** Asks whether to go on; answers yes where nobody is there, who then said so beforehand. */
  confirm(question: string): Promise<boolean>;
  /** Found by the second step. */
  pooler?: Pooler;
};

/** What a step did, and how that is taken back; `undo` is absent where nothing was changed. */
type Done = { did: string; undo?: string };

type Step = { title: string; run(walk: Walk): Promise<Done> };

export const filesIn = (folder: string): Walk["files"] => ({
  answers: join(folder, "answers.env"),
  functions: join(folder, "functions.env"),
  operator: join(folder, "operator.env"),
  partner: join(folder, "first_partner.env"),
});

export const STEPS: readonly Step[] = [
  { title: "The project", run: findProject },
  { title: "The database's address and password", run: findDatabase },
  { title: "What was bought", run: lookAtAddons },
  { title: "Sign-ups at Supabase Auth", run: closeSignUps },
  { title: "Keys and settings of the functions", run: makeSettings },
  { title: "Migrations", run: migrate },
  { title: "Passwords of edge, edge_slow and operator", run: setPasswords },
  { title: "Which host the database is of", run: setHost },
  { title: "Secrets of the functions", run: setSecrets },
  { title: "Functions", run: deployFunctions },
  { title: "Schedule of the worker and the documents", run: schedule },
  { title: "Health of every function", run: checkHealth },
  { title: "The client's address", run: checkClientAddress },
  { title: "Address of your own", run: checkPublicUrl },
  { title: "First partner and first request", run: makePartner },
];

// The project ---------------------------------------------------------------------------------------------------------

const READY = "ACTIVE_HEALTHY";
/** A project that is one of these becomes nothing else by itself. */
const AT_REST = ["INACTIVE", "REMOVED", "GOING_DOWN", "INIT_FAILED", "PAUSE_FAILED", "PAUSING", "RESTORE_FAILED"];
/** Making a project takes some minutes. */
const PROJECT_LOOKS = { times: 120, every_ms: 5_000 };

async function findProject(walk: Walk): Promise<Done> {
  const { answers, files, api, host } = walk;
  let undo: string | undefined;
  if (!answers.PROJECT_REF) {
    const { PROJECT_NAME: name = "", ORGANIZATION: organization_slug = "", REGION: region = "" } = answers;
    // a walk that was cut off in between has made it already
    const known = (await api.projects()).find(
      (each) => each.name === name && each.organization_slug === organization_slug && each.status !== "REMOVED",
    );
    if (
      !known &&
      !(await walk.confirm(`Make the project ${name} in ${organization_slug}, ${region}? It may cost money.`))
    )
      throw new DeployError("No project was made. Give PROJECT_REF of one that there is, or run this again.");
    // kept before it is set: a password that nobody knows locks the database away
    if (!answers.DATABASE_PASSWORD && !known) keep(walk, { DATABASE_PASSWORD: newSecret() });
    const { ref } =
      known ?? (await api.createProject({ name, organization_slug, region, db_pass: answers.DATABASE_PASSWORD ?? "" }));
    keep(walk, { PROJECT_REF: ref });
    if (!known) undo = `delete the project ${ref} in the dashboard; nobody's data is in it yet`;
  }
  const ref = refOf(walk);
  if (!answers.DATABASE_PASSWORD)
    throw new DeployError(
      `Write DATABASE_PASSWORD=… of the project ${ref} into ${files.answers}, and run this again. The dashboard sets a new one, in the settings of the database.`,
    );
  for (let looks = PROJECT_LOOKS.times; ; looks -= 1) {
    const { name, status } = await api.project(ref);
    if (status === READY) return { did: `${name} (${ref}), the ${host} host`, ...(undo && { undo }) };
    if (looks === 0 || AT_REST.includes(status))
      throw new DeployError(`The project ${ref} is ${status}. Run this again once it is ${READY}.`);
    await walk.platform.pause(PROJECT_LOOKS.every_ms);
  }
}

function keep(walk: Walk, values: Variables): void {
  addToEnv(walk.files.answers, values, ABOUT);
  Object.assign(walk.answers, values);
}

function refOf({ answers }: Walk): string {
  return answers.PROJECT_REF ?? "";
}

// The database --------------------------------------------------------------------------------------------------------

async function findDatabase(walk: Walk): Promise<Done> {
  walk.pooler = await walk.api.pooler(refOf(walk));
  const { version, host } = await asOwner(walk, async (client) => {
    const { rows } = await client.query(
      "select version() as version, to_regclass('core.deployment') is not null as known",
    );
    const known = rows[0].known ? await client.query("select host from core.deployment") : { rows: [] };
    return { version: String(rows[0].version).split(" ").slice(0, 2).join(" "), host: known.rows[0]?.host as unknown };
  });
  // before anything in it is changed: customers of the two hosts never share a database
  if (host !== undefined && host !== walk.host) {
    throw new DeployError(
      `The database of ${refOf(walk)} is the ${host} host's. The ${walk.host} host has a project of its own: PROJECT_REF of ${walk.files.answers}.`,
    );
  }
  return { did: `${walk.pooler.db_host}, ${version}, as its owner` };
}

/** How a role reaches the database of this walk. */
function urlOf({ pooler, answers }: Walk, role: string, password: string, by: "transactions" | "session"): string {
  if (!pooler) throw new Error("the database was not looked for yet");
  return databaseUrl(pooler, role, password, by, answers.DATABASE_CA);
}

const ownerUrl = (walk: Walk) => urlOf(walk, "postgres", walk.answers.DATABASE_PASSWORD ?? "", "session");

async function asOwner<T>(walk: Walk, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = open(ownerUrl(walk));
  await client.connect().catch((error: pg.DatabaseError) => {
    const why =
      error.code === "28P01"
        ? `refuses DATABASE_PASSWORD of ${walk.files.answers}`
        : `does not answer (${error.code ?? error.message})`;
    throw new DeployError(`The database at ${client.host}:${client.port} ${why}.`);
  });
  try {
    return await use(client);
  } catch (error) {
    const { code, message } = error as Partial<pg.DatabaseError>;
    if (error instanceof DeployError || !code) throw error;
    throw new DeployError(`The database at ${client.host}:${client.port} refused something (${code}: ${message}).`);
  } finally {
    await client.end();
  }
}

function open(connectionString: string): pg.Client {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 10_000, application_name: "deploy" });
  client.on("error", () => {}); // a connection that breaks is reported by the statement that waits for it
  return client;
}

/** docs/deploy.md says of each what is lost without it. */
const ADDONS: Readonly<Record<string, string>> = {
  pitr: "point-in-time recovery",
  custom_domain: "custom domain",
  log_drain: "log drain",
  read_replica: "read replica",
};

/** Only tells: a host runs without any of them, and a token may not be allowed to look. */
async function lookAtAddons(walk: Walk): Promise<Done> {
  const bought = await walk.api.bought(refOf(walk)).catch((error: unknown) => {
    if (error instanceof DeployError) return error;
    throw error;
  });
  if (bought instanceof DeployError)
    return { did: `could not be read; look in the dashboard, Add-ons. ${bought.message}` };
  const told = Object.entries(ADDONS).map(([type, name]) => `${name}: ${bought.includes(type) ? "yes" : "no"}`);
  return { did: `${told.join(", ")} (docs/deploy.md, "What to buy")` };
}

// Settings ------------------------------------------------------------------------------------------------------------

const SERVICE = [
  "SERVICE_NAME",
  "SUPPORT_EMAIL",
  "MAIL_FROM",
  "SERVICE_ADDRESS",
  "SERVICE_KVK",
  "SERVICE_PHONE",
  "CONDITIONS_URL",
  "PRIVACY_URL",
  "SMTP_URL",
  "EAN_REGISTER",
  "EAN_REGISTER_KEY",
];

/** Whoever could sign up at Supabase Auth with somebody's address would have a login before its owner does. */
async function closeSignUps(walk: Walk): Promise<Done> {
  const ref = refOf(walk);
  const closed = { disable_signup: true, mailer_autoconfirm: false };
  const before = await walk.api.authSettings(ref);
  if (!before.external_email_enabled)
    throw new DeployError(
      "Supabase Auth has e-mail switched off, by which people sign in. Switch it on (dashboard, Authentication, Sign In / Providers, Email), and run this again.",
    );
  const isClosed = ({ disable_signup, mailer_autoconfirm }: typeof before) => disable_signup && !mailer_autoconfirm;
  if (!isClosed(before)) {
    await walk.api.changeAuth(ref, closed);
    if (!isClosed(await walk.api.authSettings(ref)))
      throw new DeployError(
        "Supabase Auth still lets people sign up by themselves, or without a confirmed address. Close both in the dashboard (Authentication, Sign In / Providers), and run this again.",
      );
  }
  const { missing } = await asOwner(walk, async (client) => {
    const { rows } = await client.query(
      `select string_agg(c.relname, ', ' order by c.relname) as missing
         from pg_class c
        where c.relnamespace = 'auth'::regnamespace and c.relkind in ('r', 'p') and (
              c.relname = 'users' and not (has_table_privilege(c.oid, 'update') and has_table_privilege(c.oid, 'delete'))
              or exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'user_id' and not a.attisdropped)
                 and not has_table_privilege(c.oid, 'delete'))`,
    );
    return rows[0] as { missing: string | null };
  });
  if (missing)
    throw new DeployError(
      `postgres may not change rows of ${missing} in the schema auth, so that no login that a stranger made could be secured. Ask Supabase for these rights, and run this again.`,
    );
  return {
    did: "closed; addresses are confirmed; logins can be secured",
    ...(!isClosed(before) && {
      undo: "allow new users to sign up in the dashboard (Authentication, Sign In / Providers)",
    }),
  };
}

async function makeSettings(walk: Walk): Promise<Done> {
  const { answers, files, host } = walk;
  const base_url = baseUrlOf(walk);
  const key = await walk.api.publishableKey(refOf(walk));
  const kept = readEnv(files.functions);
  const wanted: Variables = {
    API_HOST: host,
    BASE_URL: base_url,
    AUTH_URL: base_url,
    PAGES_URL: `${base_url}/pages`,
    EDGE_DATABASE_URL: urlOf(walk, "edge", newSecret(), "transactions"),
    EDGE_SLOW_DATABASE_URL: urlOf(walk, "edge_slow", newSecret(), "transactions"),
    ...newKeys(),
    CLIENT_ADDRESS: "x-forwarded-for:1",
    KEY_PREFIX: answers.KEY_PREFIX ?? "",
    ...(key && { PUBLISHABLE_KEY: key }),
    ...Object.fromEntries(SERVICE.flatMap((name) => (answers[name] ? [[name, answers[name]]] : []))),
  };
  for (const name of ["API_HOST", "BASE_URL", "AUTH_URL"] as const) {
    if (!kept[name] || kept[name] === wanted[name]) continue;
    throw new DeployError(
      `${files.functions} says ${name}=${kept[name]}, and the answers say ${wanted[name]}. Tokens and links are of the former: ` +
        "change it there by hand, if that is what you want, and run this again.",
    );
  }
  const added = addToEnv(files.functions, wanted, `What the functions of the ${host} host read, as .env.example says.`);
  const functions = readEnv(files.functions);
  try {
    readConfiguration({ ...functions, SUPABASE_URL: walk.platform.project_url(refOf(walk)) });
  } catch (error) {
    if (error instanceof ConfigurationError) throw new DeployError(`${files.functions}: ${error.message}`);
    throw error;
  }
  const operator = {
    OPERATOR_DATABASE_URL: urlOf(walk, "operator", newSecret(), "session"),
    OWNER_DATABASE_URL: ownerUrl(walk),
    IBAN_KEYS: functions.IBAN_KEYS ?? "",
  };
  added.push(...addToEnv(files.operator, operator, `The database of the ${host} host, for npm run operator.`));
  const closed = functions.PUBLISHABLE_KEY ? "" : ". Without PUBLISHABLE_KEY nobody can sign in on the pages";
  if (added.length === 0) return { did: `complete${closed}` };
  return { did: `made ${added.join(", ")}${closed}`, undo: `remove ${files.functions} and ${files.operator}` };
}

/** Root of the specification's paths, as customers and integrators reach it. */
function baseUrlOf({ answers, platform }: Walk): string {
  return answers.PUBLIC_URL || `${platform.project_url(answers.PROJECT_REF ?? "")}/functions/v1`;
}

// The database's content ----------------------------------------------------------------------------------------------

async function migrate(walk: Walk): Promise<Done> {
  await asOwner(walk, (client) => missingMigrations(client));
  const applied = () =>
    asOwner(walk, async (client) => {
      const { rows } = await client.query("select to_regclass('supabase_migrations.schema_migrations') as history");
      if (!rows[0].history) return 0;
      const { rows: counted } = await client.query(
        "select count(*)::int as n from supabase_migrations.schema_migrations",
      );
      return counted[0].n as number;
    });
  const before = await applied();
  const url = new URL(ownerUrl(walk));
  url.password = "";
  url.search = "";
  await supabase(walk, ["db", "push", `--remote=${url}`, "--yes"]);
  const after = await applied();
  if (after === before) return { did: `all ${after} are applied` };
  return {
    did: `applied ${after - before}`,
    undo: before === 0 ? "with nobody in it: delete the project, or empty its database" : "restore a backup of before",
  };
}

/** A command of the Supabase CLI, which is told of no other project than this one. */
async function supabase({ platform, answers, pooler }: Walk, args: string[], root?: string): Promise<void> {
  const far = pooler && !isLoopback(pooler);
  await runSupabase(args, root, {
    ...platform.cli,
    // what is typed is seen by everybody on the machine
    PGPASSWORD: answers.DATABASE_PASSWORD ?? "",
    ...(far && { PGSSLMODE: "require" }),
  });
}

const LOGINS = ["edge", "edge_slow", "operator"] as const;
/**
 * The pooler caches a password for a moment, and blocks an address that tries wrong passwords for two minutes. So we
 * try only passwords that were set, and only a few times.
 */
const LOGIN_LOOKS = { times: 3, every_ms: 60_000 };

async function setPasswords(walk: Walk): Promise<Done> {
  const { EDGE_DATABASE_URL, EDGE_SLOW_DATABASE_URL } = readEnv(walk.files.functions);
  const { OPERATOR_DATABASE_URL } = readEnv(walk.files.operator);
  const urls = { edge: EDGE_DATABASE_URL, edge_slow: EDGE_SLOW_DATABASE_URL, operator: OPERATOR_DATABASE_URL };
  const refused = async () => {
    for (const role of LOGINS) if (!(await letsIn(urls[role] ?? ""))) return role;
    return null;
  };
  // who may not read passwords can read until when they hold: nothing says that of a role whose password was never set
  const set = await asOwner(walk, (client) =>
    client.query("select from pg_catalog.pg_roles where rolname = any ($1) and rolvaliduntil is not null", [LOGINS]),
  );
  if (set.rowCount === LOGINS.length && (await refused()) === null) return { did: "each lets its login in" };
  await asOwner(walk, async (client) => {
    for (const role of LOGINS) {
      const verifier = scramVerifier(decodeURIComponent(URL.parse(urls[role] ?? "")?.password ?? ""));
      await client.query(`alter role ${role} password ${client.escapeLiteral(verifier)} valid until 'infinity'`);
    }
  });
  for (let looks = LOGIN_LOOKS.times; ; looks -= 1) {
    const role = await refused();
    if (role === null) break;
    if (looks === 0) {
      throw new DeployError(
        `The password of ${role} is set, and the pooler does not let it in yet. Wait some minutes, so that it does not shut you out, and run this again.`,
      );
    }
    await walk.platform.pause(LOGIN_LOOKS.every_ms);
  }
  return {
    did: `set for ${LOGINS.join(", ")}`,
    undo: `alter role ${LOGINS[0]} password null; and so on, as the owner`,
  };
}

async function letsIn(url: string): Promise<boolean> {
  const client = open(url);
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

async function setHost(walk: Walk): Promise<Done> {
  const { host, answers, files } = walk;
  const { changed } = await callOps(readEnv(files.operator).OPERATOR_DATABASE_URL ?? "", "host_set", {
    operator: "deploy:new",
    host,
    key_prefix: answers.KEY_PREFIX,
  });
  if (!changed) return { did: host };
  return { did: `${host}, from now on`, undo: "host set with the other one, as long as nobody is in it" };
}

// Functions -----------------------------------------------------------------------------------------------------------

async function setSecrets(walk: Walk): Promise<Done> {
  const { files } = walk;
  await supabase(walk, ["secrets", "set", "--env-file", files.functions, `--remote=${refOf(walk)}`, "--yes"]);
  const names = Object.keys(readEnv(files.functions));
  return {
    did: `${names.length} of ${files.functions}`,
    undo: "npx supabase secrets unset <name>, or set the file of before",
  };
}

async function deployFunctions(walk: Walk): Promise<Done> {
  const copy = await walk.platform.checkout();
  try {
    await supabase(
      walk,
      ["functions", "deploy", "--use-api", "--jobs", "4", `--remote=${refOf(walk)}`, "--yes"],
      copy.folder,
    );
  } finally {
    copy.remove();
  }
  const slugs = deployedFunctions().map(({ slug }) => slug);
  return {
    did: `${slugs.length}, from this checkout`,
    undo: "check out the commit that ran before, and run this again; a first one: npx supabase functions delete <name>",
  };
}

/** The one that the schedule shows: the functions may take an older one too, while it is rotated. */
const workerSecret = (walk: Walk): string => secretsIn(readEnv(walk.files.functions).WORKER_SECRET ?? "")[0];

async function schedule(walk: Walk): Promise<Done> {
  const worker_secret = workerSecret(walk);
  const root = `${walk.platform.project_url(refOf(walk))}/functions/v1`;
  const jobs = jobsOf(root);
  const changed = await asOwner(walk, async (client) => {
    await client.query(`do $$ begin${ENABLE}\nend $$`).catch((error: Error) => {
      throw new DeployError(
        `pg_cron, pg_net or the vault cannot be enabled (${error.message}). Enable them in the dashboard, under Integrations, and run this again.`,
      );
    });
    const { rows: secrets } = await client.query(
      "select id, decrypted_secret = $2 as same from vault.decrypted_secrets where name = $1",
      [VAULT_NAME, worker_secret],
    );
    if (!secrets[0]) await client.query("select vault.create_secret($1, $2)", [worker_secret, VAULT_NAME]);
    else if (!secrets[0].same) await client.query("select vault.update_secret($1, $2)", [secrets[0].id, worker_secret]);
    const done: string[] = secrets[0]?.same ? [] : [VAULT_NAME];
    for (const { name, often, command } of jobs) {
      const { rowCount } = await client.query(
        "select from cron.job where jobname = $1 and schedule = $2 and command = $3 and active",
        [name, often, command],
      );
      if (rowCount) continue;
      // of a name that there is it changes the job
      await client.query("select cron.schedule($1, $2, $3)", [name, often, command]);
      done.push(name);
    }
    return done;
  });
  if (changed.length === 0) return { did: "as it should be" };
  return {
    did: `set ${changed.join(", ")}`,
    undo: `select ${jobs.map(({ name }) => `cron.unschedule('${name}')`).join(", ")}`,
  };
}

// Checks --------------------------------------------------------------------------------------------------------------

/** A function that was just deployed may not be everywhere at once. */
const HEALTH_LOOKS = { times: 12, every_ms: 5_000 };

async function checkHealth(walk: Walk): Promise<Done> {
  const root = `${walk.platform.project_url(refOf(walk))}/functions/v1`;
  const functions = deployedFunctions();
  const isAlias = ({ slug, folder }: (typeof functions)[number]) => slug !== folder;
  const slugs = functions.filter((each) => !isAlias(each)).map(({ slug }) => slug);
  await Promise.all(slugs.map((slug) => answering(walk, `${root}/${slug}/health`)));
  // the specification's own paths: an answer shows that they lead to our functions
  await Promise.all(functions.filter(isAlias).map(({ slug }) => answering(walk, `${root}/${slug}`)));
  const unwell: string[] = [];
  for (const slug of Object.keys(SCHEDULED)) {
    const headers = { Authorization: `Bearer ${workerSecret(walk)}` };
    const { status, body } = await ask(`${root}/${slug}/run`, { method: "POST", headers });
    if (status !== 200)
      throw new DeployError(`${root}/${slug}/run answers ${status}. Its log in the dashboard says why.`);
    if (body.ok !== true) unwell.push(slug);
  }
  await Promise.all(slugs.map((slug) => answering(walk, `${root}/${slug}/health/ready`)));
  const { body: keys } = await ask(`${walk.platform.project_url(refOf(walk))}/auth/v1/.well-known/jwks.json`);
  const remarks = [
    ...(unwell.length > 0 ? [`${unwell.join(" and ")} says ok: false, and its log what needs you`] : []),
    ...(Array.isArray(keys.keys) && keys.keys.length > 0
      ? []
      : ["Auth has no asymmetric key, so nobody can sign in: make one in the dashboard, under JWT Keys"]),
  ];
  return {
    did: `${slugs.length} functions answer and are ready; the worker and the documents ran${remarks.map((remark) => `. But ${remark}`).join("")}`,
  };
}

/** Waits for a function of ours, for its 200 or its refusal. The platform's own refusals have another form. */
async function answering(walk: Walk, url: string): Promise<void> {
  for (let looks = HEALTH_LOOKS.times; ; looks -= 1) {
    const { status, body } = await ask(url);
    if (status === 200 || (status < 500 && !/\/health(\/ready)?$/.test(url) && typeof body.error === "string")) return;
    const failing = Array.isArray(body.failing) ? `, failing: ${body.failing.join(", ")}` : "";
    if (looks === 0)
      throw new DeployError(`${url} answers ${status || "nothing"}${failing}. Its log in the dashboard says why.`);
    await walk.platform.pause(HEALTH_LOOKS.every_ms);
  }
}

type HttpAnswer = { status: number; body: Record<string, unknown> };

/** Status 0 where nobody answers. */
async function ask(url: string, init: RequestInit = {}): Promise<HttpAnswer> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(60_000) });
    const body: unknown = await response.json().catch(() => null);
    return { status: response.status, body: typeof body === "object" && body !== null ? { ...body } : {} };
  } catch {
    return { status: 0, body: {} };
  }
}

/** An address for examples (RFC 5737): nobody has it. */
const FORGED = "192.0.2.1";

async function checkClientAddress(walk: Walk): Promise<Done> {
  const { CLIENT_ADDRESS } = readEnv(walk.files.functions);
  const seen = new Set<string>();
  for (const root of new Set([`${walk.platform.project_url(refOf(walk))}/functions/v1`, baseUrlOf(walk)])) {
    const { status, body } = await ask(`${root}/worker/client-address`, {
      headers: { Authorization: `Bearer ${workerSecret(walk)}`, "X-Forwarded-For": FORGED, "X-Real-IP": FORGED },
    });
    if (status !== 200) throw new DeployError(`${root}/worker/client-address answers ${status || "nothing"}.`);
    const { client_address, headers } = body;
    if (typeof client_address !== "string" || client_address === FORGED) {
      throw new DeployError(
        `By CLIENT_ADDRESS=${CLIENT_ADDRESS} of ${walk.files.functions} the functions take ${client_address ?? "no address"} for this machine's, at ${root}. ` +
          `Addresses arrived in ${JSON.stringify(headers)}. Name a header in which yours arrived and ${FORGED} did not, as docs/deploy.md says, and run this again.`,
      );
    }
    seen.add(client_address);
  }
  const found = [...seen].join(" and ");
  if (!(await walk.confirm(`The functions take ${found} for the public address of this machine. Is it?`)))
    throw new DeployError(
      `Then CLIENT_ADDRESS of ${walk.files.functions} names a proxy: docs/deploy.md, "Check the client's address".`,
    );
  return { did: `${found}, whatever a client writes into its headers` };
}

async function checkPublicUrl(walk: Walk): Promise<Done> {
  const root = baseUrlOf(walk);
  if (!walk.answers.PUBLIC_URL)
    return {
      did: `none: ${root} answers the specification's paths. Pages arrive there as plain text, until there is one (docs/deploy.md, "Addresses")`,
    };
  await answering(walk, `${root}/health`);
  for (const path of ["/openapi.json", "/.well-known/oauth-authorization-server"]) {
    // a custom domain of the platform has slugs only; a front leads these two as well
    const { status } = await ask(root + path);
    if (status !== 200 && !root.endsWith("/functions/v1"))
      throw new DeployError(
        `${root}${path} answers ${status || "nothing"}. The fronts of docs/front lead it where it is.`,
      );
  }
  return { did: `${root} leads to the functions` };
}

async function makePartner(walk: Walk): Promise<Done> {
  const { answers, files, host } = walk;
  if (!answers.PARTNER) return { did: "none, as you said: npm run -s operator -- partner create …" };
  const env = readEnv(files.operator);
  const must = async (...argv: string[]): Promise<unknown> => {
    const said = { out: "", err: "" };
    const code = await operate([...argv, "--json"], {
      env,
      operator: "deploy:new",
      local: () => undefined,
      out: (text) => {
        said.out += text;
      },
      err: (text) => {
        said.err += text;
      },
    });
    if (code !== 0) throw new DeployError(`operator ${argv[0]} ${argv[1]}: ${said.err.trim()}`);
    return JSON.parse(said.out);
  };
  const made: string[] = [];
  const { partners } = (await must("partner", "list")) as { partners: { name: string; slug: string }[] };
  let slug = partners.find(({ name }) => name === answers.PARTNER)?.slug;
  if (!slug) {
    ({ slug } = ((await must("partner", "create", answers.PARTNER)) as { partner: { slug: string } }).partner);
    made.push(`the partner ${slug}`);
  }
  const about = `The first partner of the ${host} host, ${slug}: hand these over by a way that nobody else reads.`;
  if (!readEnv(files.partner).CLIENT_SECRET) {
    const { client, client_secret } = (await must("client", "create", "backoffice", "--partner", slug)) as {
      client: { client_id: string };
      client_secret: string;
    };
    addToEnv(files.partner, { CLIENT_ID: client.client_id, CLIENT_SECRET: client_secret }, about);
    made.push("a client");
  }
  if (!readEnv(files.partner).PARTNER_KEY) {
    const { api_key } = (await must("partner", "mint-key", slug, "--rotate", "--yes")) as { api_key: string };
    addToEnv(files.partner, { PARTNER_KEY: api_key }, about);
    made.push("a key");
  }
  await firstRequest(walk);
  const did = `GET /v1/accounts answers ${slug} with a token of its client`;
  if (made.length === 0) return { did };
  return {
    did: `made ${made.join(", ")}, in ${files.partner}; ${did}`,
    undo: `npm run -s operator -- partner deactivate ${slug}`,
  };
}

async function firstRequest(walk: Walk): Promise<void> {
  const root = baseUrlOf(walk);
  const { CLIENT_ID = "", CLIENT_SECRET = "" } = readEnv(walk.files.partner);
  const form = { grant_type: "client_credentials", client_id: CLIENT_ID, client_secret: CLIENT_SECRET };
  const token = await ask(`${root}/oauth-token`, { method: "POST", body: new URLSearchParams(form) });
  if (token.status !== 200)
    throw new DeployError(
      `${root}/oauth-token answers ${token.status || "nothing"} to the client of ${walk.files.partner}.`,
    );
  const headers = { Authorization: `Bearer ${token.body.access_token}` };
  const { status } = await ask(`${root}/v1/accounts`, { headers });
  if (status !== 200) throw new DeployError(`${root}/v1/accounts answers ${status || "nothing"} to a new token.`);
}

/** What a step ends with that a person puts right: its sentence; null for what is a fault of this program. */
export function knownFault(error: unknown): string | null {
  const known = [DeployError, EnvFileError, OperatorError, MigrationError].some((kind) => error instanceof kind);
  return known ? (error as Error).message : null;
}
