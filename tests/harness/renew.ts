// Gives a database back the rows of its template, so that the next test gets it with its connections. These have loaded and planned
// what new connections would load and plan again, which is most of the work of a short test.

import type pg from "pg";

/** What a copy of the template is at first. */
export type Origin = {
  look: string;
  shape: string;
  clock: string;
  sequences: Record<string, string | null>;
  /** The rows of each table that has any. */
  rows: Record<string, { hash: string; insert: string }>;
};

type Seen = {
  shape: string;
  clock: string;
  busy: boolean;
  sequences: Record<string, string | null>;
  pages: Record<string, number>;
  hashes: Record<string, string>;
};

/** A row of these changes with whatever is made, altered or dropped. */
const CATALOGS = [
  ...["namespace", "class", "attribute", "attrdef", "type", "enum", "constraint", "index", "trigger", "policy"],
  ...["proc", "event_trigger", "default_acl", "init_privs", "extension", "db_role_setting"],
];
const HERE = "(select oid from pg_catalog.pg_database where datname = current_database())";
/** The clock and locks are functions that tests replace. */
const BUT: Record<string, string> = {
  proc: "where oid not in ('private.now()'::regprocedure, 'private.lock'::regproc)",
  db_role_setting: `where setdatabase = ${HERE}`,
};
const SHAPE = [
  ...CATALOGS.map((name) => `pg_catalog.pg_${name} ${BUT[name] ?? ""}`),
  "supabase_migrations.schema_migrations",
]
  .map((from) => `select count(*) || ':' || coalesce(sum(xmin::text::int8), 0) as part from ${from}`)
  .join(" union all ");
const OURS = `c.relkind = 'r' and c.relnamespace::regnamespace::text !~ '^(pg_|information_schema|supabase_migrations)'`;
const LOOK = `
  (select string_agg(part, ' ') from (${SHAPE}) s) as shape,
  pg_get_functiondef('private.now()'::regprocedure) as clock,
  exists (select from pg_catalog.pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle')
    or exists (select from pg_catalog.pg_locks where database = ${HERE} and pid <> pg_backend_pid()) as busy,
  (select json_object_agg(format('%I.%I', schemaname, sequencename), last_value::text) from pg_catalog.pg_sequences) as sequences,
  (select json_object_agg(c.oid::regclass, pg_relation_size(c.oid) / 8192) from pg_catalog.pg_class c
    where ${OURS} and pg_relation_size(c.oid) > 0) as pages`;

/** A large world is not made small again: indexes stay large, and plans are those of many rows. */
const MOST_PAGES = 40;

/** Of a copy that nobody has used. */
export async function originOf(admin: pg.Pool): Promise<Origin> {
  const { pages } = await seen(admin, `select ${LOOK}`);
  const rows: Origin["rows"] = {};
  for (const table of Object.keys(pages)) {
    const {
      rows: [found],
    } = await admin.query(
      `select json_agg(t)::text as rows, ${hash("t")} as hash,
              (select string_agg(quote_ident(attname), ', ') from pg_catalog.pg_attribute
                where attrelid = $1::regclass and attnum > 0 and attgenerated = '' and not attisdropped) as columns
         from ${table} t`,
      [table],
    );
    const { hash: is, columns } = found;
    const from = `select ${columns} from json_populate_recordset(null::${table}, ${quoted(found.rows ?? "[]")})`;
    if (found.rows)
      rows[table] = { hash: is, insert: `insert into ${table} (${columns}) overriding system value ${from}` };
  }
  const hashes = Object.keys(rows).map((table) => `'${table}', (select ${hash("t")} from ${table} t)`);
  const look = `select ${LOOK}, json_build_object(${hashes.join(", ")}) as hashes`;
  return { look, rows, ...(await seen(admin, look)) };
}

/** Whether that could be done: not where something other than rows was changed, or where somebody is still at work. */
export async function renew(admin: pg.Pool, origin: Origin, keepClock: boolean): Promise<boolean> {
  const now = await seen(admin, origin.look);
  if (now.busy || now.shape !== origin.shape) return false;
  const large = Object.keys(now.pages).filter((table) => (now.pages[table] ?? 0) > 1);
  if (large.some((table) => (now.pages[table] ?? 0) > MOST_PAGES)) return false;
  const stale = Object.keys(now.pages).filter(
    (table) => origin.rows[table]?.hash !== now.hashes[table] || !(table in origin.rows),
  );
  await admin.query(
    [
      "begin",
      "set local session_replication_role = replica",
      ...stale.map((table) => `delete from ${table}`),
      ...stale.flatMap((table) => origin.rows[table]?.insert ?? []),
      ...Object.entries(origin.sequences)
        .filter(([name, value]) => now.sequences[name] !== value)
        .map(([name, value]) => `select setval('${name}', ${value ?? 1}, ${value !== null})`),
      ...(keepClock || now.clock === origin.clock ? [] : [origin.clock]),
      "commit",
    ].join(";\n"),
  );
  // rows stand in the order in which they come only where pages of former rows are gone
  if (large.length > 0) await admin.query(`vacuum ${large.join(", ")}`);
  return true;
}

const seen = async (admin: pg.Pool, text: string): Promise<Seen> =>
  (await admin.query({ name: text.slice(-40), text })).rows[0];
const hash = (row: string) => `md5(string_agg(${row}::text, '' order by ${row}::text))`;
const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
