// A database of release 0.9.0 that holds a booked, sold and paid half year is migrated to head while requests run.
// Its rows are in release_0.9.0.tsv.gz, a table and a row as JSON each line, made by the functions of that release.

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { migrate } from "#local/migrate.ts";
import { writeMail } from "#shared/domain/mail/mail.ts";
import { connect, type Db } from "#shared/foundation/db.ts";
import type { ApiError } from "#shared/foundation/errors.ts";
import { dropDatabase, emptyDatabase, freezeClock, urlOf } from "../harness/database.ts";

let name: string;
const release = mkdtempSync(join(tmpdir(), "ere-release-"));
const lines = gunzipSync(readFileSync(new URL("release_0.9.0.tsv.gz", import.meta.url)))
  .toString()
  .trimEnd()
  .split("\n");
let admin: pg.Pool;
let edge: Db;

beforeAll(async () => {
  name = await emptyDatabase();
  mkdirSync(join(release, "supabase/migrations"), { recursive: true });
  for (const file of ["config.toml", "migrations/20261120000000_baseline.sql"])
    cpSync(join(ROOT, "supabase", file), join(release, "supabase", file));
  await migrate(urlOf(name, "postgres"), { seed: false, root: release });
  admin = new pg.Pool({ connectionString: urlOf(name, "supabase_admin"), max: 4 });
  admin.on("error", () => {}); // idle connections end with the database
  edge = connect(urlOf(name, "edge"));
  await load();
  await freezeClock(admin, "2026-08-15T12:00:00Z");
});
afterAll(async () => {
  await edge.end();
  await admin.end();
  await dropDatabase(name);
  rmSync(release, { recursive: true });
});

/** The rows of the release, in place of what its migration brought. */
async function load(): Promise<void> {
  const rows = Map.groupBy(lines, (line) => line.slice(0, line.indexOf("\t")));
  const client = await admin.connect();
  try {
    await client.query("set session_replication_role = replica");
    await client.query(`truncate ${[...rows.keys()].join(", ")} cascade`);
    for (const [table, of_table] of rows) {
      const { rows: columns } = await client.query(
        "select string_agg(quote_ident(attname), ', ') as names from pg_attribute where attrelid = $1::regclass and attnum > 0 and attgenerated = '' and not attisdropped",
        [table],
      );
      const json = of_table.map((line) => line.slice(line.indexOf("\t") + 1));
      await client.query(
        `insert into ${table} (${columns[0].names}) overriding system value
         select ${columns[0].names} from json_populate_recordset(null::${table}, $1::json)`,
        [`[${json.join(",")}]`],
      );
    }
    await client.query("update core.rate_limits set quota = 1000000");
    await client.query(
      `select setval(pg_get_serial_sequence(c.oid::regclass::text, a.attname), 1000000)
         from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attidentity <> ''
        where c.relnamespace = 'core'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`,
    );
  } finally {
    client.release(true);
  }
}

type Client = { client_id: string; account_id: string };
/** A statement as the functions send it: admission, the work and the debit at once. */
async function ask(name: string, { client_id }: Client, scope: string, input: object) {
  const caller = {
    host: "sandbox" as const,
    request_id: "upgrade",
    credential: { kind: "cpo", client_id, token_id: "upgrade", issued_at: 1_900_000_000, scopes: [scope] },
    demand: { kind: "cpo", scope, key: false, bucket: "cpo_read" },
  };
  // a 503 is sent again, as the typed client does: on a busy machine a migration takes longer than a request waits for it
  for (let tries = 5; ; tries--)
    try {
      return JSON.parse((await edge.open(name, caller, input)).answer);
    } catch (error) {
      if (tries === 1 || (error as ApiError).code !== "service_unavailable") throw error;
    }
}

const read = (client: Client) => ask("list_ere_positions", client, "cpo:accounts:read", { limit: 200, offset: 0 });
/** July again, with kWh that nobody sent before. */
let july = 1000;
const write = (client: Client) =>
  ask("ingest_months", client, "cpo:sessions:write", {
    account_id: client.account_id,
    connection_id: null,
    source: "cpo_api",
    periods: "{2026-07-01}",
    total_kwh: `{${july++}}`,
    session_count: "{10}",
    body: "{}",
    body_sha256: "upgrade",
  });

const booksOf = async () => {
  const { rows } = await admin.query(
    `select k.* from core.partners p cross join lateral private.check_books(p.id) k where k.wrong > 0 or k.expected <> k.found`,
  );
  return rows;
};
/** How many rows each table of the release has now; what has gone since is left out. */
const countsOf = async (tables: string[]) => {
  const { rows } = await admin.query(
    `select t.name, (xpath('/row/n/text()', query_to_xml('select count(*) as n from ' || t.name, false, true, '')))[1]::text::int as n
       from unnest($1::text[]) t (name) where to_regclass(t.name) is not null`,
    [tables],
  );
  return Object.fromEntries(rows.map(({ name: table, n }) => [table, n]));
};
/** Each mail as the release wrote it; the first with where an answer goes. */
const mailsOf = async () => {
  await admin.query(
    "update core.mail_outbox set reply_to = 'a@example.nl' where id = (select min(id::text)::uuid from core.mail_outbox)",
  );
  const { rows } = await admin.query(
    `select id, json_build_object('subject', subject, 'html', html, 'text', text, 'links', links, 'reply_to', reply_to,
                                  'unsubscribe_url', unsubscribe_url) as text from core.mail_outbox where html <> '' order by id`,
  );
  return rows;
};
/** A code in each of the places where the release kept one, with one guess left; and what each opens. */
const mailCodes = async (): Promise<string[]> => {
  const code =
    "code_hash = sha256('123456'), code_expires_at = private.now() + interval '10 minutes', code_attempts = 4";
  const opens = [
    `insert into core.sign_in_codes (token_hash, code_hash, email, attempts, expires_at)
     values (sha256('token'), sha256('123456'), 'x@example.nl', 4, private.now() + interval '10 minutes')
     returning 'browser:' || encode(token_hash, 'hex') as subject`,
    `update core.drafts set ${code} where id = (select min(id::text)::uuid from core.drafts) returning 'claim:' || id as subject`,
    `with i as (insert into core.manager_invitations (partner_id, email, token_hash, code_hash, code_expires_at, code_attempts)
       select id, 'y@example.nl', sha256('invited'), sha256('123456'), private.now() + interval '10 minutes', 4 from core.partners limit 1 returning id)
     select 'invitation:' || id as subject from i`,
    `update core.mandate_links set ${code} where id = (
       select min(l.id::text)::uuid from core.mandate_links l join core.connections c on c.id = l.connection_id
         join core.signatories s on s.account_id = c.account_id where s.email is not null) returning 'mandate:' || id as subject`,
  ];
  const subjects: string[] = [];
  for (const statement of opens)
    subjects.push((await admin.query<{ subject: string }>(statement)).rows[0]?.subject ?? "");
  return subjects.sort();
};

describe("a database of 0.9.0 is migrated to head", () => {
  let clients: Client[];
  let before: { positions: unknown[]; counts: Record<string, number>; mails: { id: string; text: object }[] };
  let codes: string[];
  let claim: string;
  const answered = { read: 0, write: 0 };
  const failed: string[] = [];

  beforeAll(async () => {
    const { rows } = await admin.query<Client>(
      "select distinct on (c.id) c.client_id, a.id as account_id from core.oauth_clients c join core.accounts a on a.client_id = c.id order by c.id, a.id",
    );
    clients = rows;
    const tables = [...new Set(lines.map((line) => line.slice(0, line.indexOf("\t"))))];
    before = {
      positions: await Promise.all(clients.map(read)),
      counts: await countsOf(tables),
      mails: await mailsOf(),
    };
    codes = await mailCodes();
    // as a claim of the release signed: by a link that nobody could open
    const claimed = await admin.query<{ id: string }>(
      `update core.mandate_links l set expires_at = l.created_at
        where l.id = (select max(m.link_id::text)::uuid from core.mandates m) returning l.id`,
    );
    claim = claimed.rows[0]?.id ?? "";
    before.counts["core.mandate_links"] = (before.counts["core.mandate_links"] ?? 0) - 1;

    // eight at once go on until a moment after the migration
    let ended = false;
    const worker = async (place: number) => {
      const [kind, run] = place % 2 ? (["write", write] as const) : (["read", read] as const);
      for (let turn = place; (!ended || answered[kind] < 20) && failed.length < 100; turn++)
        await run(clients[turn % clients.length] as Client).then(
          () => answered[kind]++,
          (error) => failed.push(error.message),
        );
    };
    const working = Array.from({ length: 8 }, (_, place) => worker(place));
    const migrated = await migrate(urlOf(name, "postgres"), { seed: false }).finally(() => {
      ended = true;
    });
    await Promise.all(working);
    expect(migrated).toBe("changed");
  });

  test("while requests read and write, and none of them fails", () => {
    expect(failed).toEqual([]);
    expect(answered.read).toBeGreaterThan(20);
    expect(answered.write).toBeGreaterThan(20);
  });

  test("with the positions and euro of before, but for the month that was delivered meanwhile", async () => {
    const without = (positions: unknown[]) =>
      JSON.parse(JSON.stringify(positions), (key, value) => (JULY.has(key) ? undefined : value));
    // what July changes: its kWh and when they came, and what is made of both
    const JULY = new Set(["delivered_months", "total_kwh_delivered", "kwh_counted", "ere_estimated", "updated_at"]);
    const after = await Promise.all(clients.map(read));
    expect(without(after)).toEqual(without(before.positions));
    expect(JSON.stringify(without(after))).toContain('"gross_eur":');
  });

  test("with its books in agreement, and what is kept beside the rows too", async () => {
    expect(await booksOf()).toEqual([]);
  });

  test("with every row", async () => {
    // what requests make meanwhile, and the limits of new endpoints
    const grown = new Set([
      "core.deliveries",
      "core.delivered_months",
      "core.audit_log",
      "core.events",
      "core.rate_limits",
    ]);
    const after = await countsOf(Object.keys(before.counts));
    for (const [table, count] of Object.entries(after))
      if (grown.has(table)) expect(count, table).toBeGreaterThanOrEqual(before.counts[table] ?? 0);
      else expect([table, count]).toEqual([table, before.counts[table]]);
    expect(Object.keys(after).length).toBeGreaterThan(40);
  });

  test("with the signature of a claim, which needs no link, and the link of each other", async () => {
    const { rows } = await admin.query(
      `select (select count(*)::int from core.mandates where link_id is null) as claims,
              (select count(*)::int from core.mandate_links where id = $1) as links,
              (select count(*)::int from core.mandates where status = 'signed' and document is null) as empty`,
      [claim],
    );
    expect([claim.length, rows]).toEqual([36, [{ claims: 1, links: 0, empty: 0 }]]);
  });

  test("with each code that was on its way: it works, and so do the guesses that are left", async () => {
    const { rows } = await admin.query(
      `select c.subject, c.email, c.attempts, private.code_works(c.subject, encode(sha256('123456'), 'hex')) as works,
              private.code_works(c.subject, encode(sha256('654321'), 'hex')) as another from core.one_time_codes c order by c.subject`,
    );
    const works = { email: expect.stringContaining("@"), attempts: 4, works: true, another: false };
    expect(rows).toEqual(codes.map((subject) => ({ subject, ...works })));
    expect(codes).toHaveLength(4);
  });

  test("with the text of each mail that was captured or waits", async () => {
    const { rows } = await admin.query("select id, template, locale, content from core.mail_outbox order by id");
    const service = { SERVICE_NAME: "ERE", SUPPORT_EMAIL: "a@example.nl", PAGES_URL: "https://pages.example" };
    expect(rows.map(({ id, ...mail }) => ({ id, text: writeMail(service, mail) }))).toEqual(before.mails);
    expect(rows.length).toBeGreaterThan(20);
  });

  test("with a chain of the audit log and of the ledger that verifies", async () => {
    const { rows } = await admin.query(
      "select (private.verify_links(c, 0, c.position::int, null)).first_fault.fault as fault from core.audit_chains c",
    );
    expect(rows.length).toBeGreaterThan(4);
    expect(rows.filter(({ fault }) => fault !== null)).toEqual([]);
  });
});
