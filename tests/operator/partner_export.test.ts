// A partner leaves with all rows of its tenant: what is written, what is not, and whether another database takes it.

import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Open, openClient } from "../../packages/operator/src/database.ts";
import { cloneDatabase, type Database } from "../harness/database.ts";
import { giveEverything } from "../harness/everything.ts";
import { createWorld, type World } from "../harness/world.ts";
import { type Audit, auditOf, operate, operatorOf, type Ran } from "./operator.ts";

type Row = Record<string, unknown>;
type File = { table: string; file: string; rows: number; sha256: string; withheld: string[] };
type Part = { name: string; columns: string[]; key: string[]; secrets: string[]; condition: string };

/** Writes a row of the partner after the first page was read. */
const openAndWrite: Open = (url) => {
  const client = openClient(url);
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
  let pages = 0;
  client.query = (async (...args: unknown[]) => {
    const answer = await query(...args);
    pages += Number(String(args[0]).includes("partner_export_rows"));
    if (pages === 1)
      await world.database.admin.query("insert into core.draft_uploads (partner_id) values ($1)", [world.partnerA.id]);
    return answer;
  }) as typeof client.query;
  return client;
};

let world: World;
let empty: Database;
let folder: string;
let ran: Ran;
let parts: Part[];
let audit: Audit[];
const whole = () => join(folder, "whole");
const manifest = () => JSON.parse(readFileSync(join(whole(), "manifest.json"), "utf8"));
const read = (table: string) =>
  readFileSync(join(whole(), `${table}.ndjson`), "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Row);

beforeAll(async () => {
  world = await createWorld();
  folder = mkdtempSync(join(tmpdir(), "ere-export-"));
  empty = await cloneDatabase();
  await giveEverything(world, world.partnerA);
  await giveEverything(world, world.partnerB);
  await world.database.admin.query("select private.chain_audit(1000)");
  // more than a page of one table; and documents of which a page has few
  await world.database.admin.query(
    "insert into core.draft_uploads (partner_id) select $1 from generate_series(1, 450)",
    [world.partnerA.id],
  );
  const { rows } = await world.database.admin.query<Part>(
    "select name::text, columns::text[], key::text[], secrets::text[], condition from private.partner_tables() order by place",
  );
  parts = rows;
  audit = await auditOf(world.database.admin, async () => {
    ran = await operate(
      ["partner", "export", "partner-a", "--to", whole(), "--json"],
      { OPERATOR_DATABASE_URL: world.database.url("operator") },
      { open: openAndWrite },
    );
  });
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await empty.drop();
  await world.close();
});

describe("contract §8 partner export", () => {
  test("contract §8 partner export writes a file for each table, whose rows and SHA-256 the manifest says", async () => {
    expect([ran.code, ran.err]).toEqual([0, ""]);
    const { tables, ...about } = manifest() as { tables: File[] };
    expect(about).toMatchObject({ format: "ere-partner-export/1", host: "sandbox", partner: { slug: "partner-a" } });
    expect(readdirSync(whole()).sort()).toEqual([...tables.map(({ file }) => file), "manifest.json"].sort());
    for (const { table, rows, sha256 } of tables) {
      const bytes = readFileSync(join(whole(), `${table}.ndjson`));
      expect([table, createHash("sha256").update(bytes).digest("hex")]).toEqual([table, sha256]);
      expect([table, read(table).length]).toEqual([table, rows]);
    }
    expect(ran.json).toMatchObject({
      rows: tables.reduce((sum, { rows }) => sum + rows, 0),
      manifest_sha256: createHash("sha256")
        .update(readFileSync(join(whole(), "manifest.json")))
        .digest("hex"),
    });
    expect(readdirSync(whole()).filter((file) => statSync(join(whole(), file)).mode & 0o077)).toEqual([]);
  });

  test("contract §8 partner export has every row of the partner in every table, and none of another", async () => {
    for (const { name, condition } of parts) {
      const { rows } = await world.database.admin.query(
        `select count(*)::int as own, (select count(*)::int from core.${name}) as all from core.${name} t where ${condition}`,
        [world.partnerA.id],
      );
      // one came meanwhile
      const own = rows[0].own - Number(name === "draft_uploads");
      expect([name, read(name).length]).toEqual([name, own]);
      if (name !== "rate_limit_overrides") expect([name, rows[0].own < rows[0].all]).toEqual([name, true]);
      expect(new Set(read(name).map((row) => row.partner_id ?? world.partnerA.id))).toEqual(
        new Set(own ? [world.partnerA.id] : []),
      );
    }
    const everything = parts.map(({ name }) => readFileSync(join(whole(), `${name}.ndjson`), "utf8")).join("");
    const { rows: others } = await world.database.admin.query(
      "select id::text from core.accounts where partner_id = $1 union select id::text from core.drafts where partner_id = $1 union select $1::text",
      [world.partnerB.id],
    );
    expect(others.length).toBeGreaterThan(2);
    expect(others.filter(({ id }) => everything.includes(id))).toEqual([]);
  });

  test("contract §8 partner export withholds secrets, and says so", async () => {
    const everything = parts.map(({ name }) => readFileSync(join(whole(), `${name}.ndjson`), "utf8")).join("");
    let values = 0;
    for (const { name, secrets, condition } of parts.filter((part) => part.secrets.length > 0)) {
      const { withheld } = (manifest().tables as File[]).find(({ table }) => table === name) as File;
      expect([name, withheld]).toEqual([name, secrets]);
      const { rows } = await world.database.admin.query<Row>(
        `select ${secrets.map((column) => `to_jsonb(t.${column}) #>> '{}' as ${column}`)} from core.${name} t where ${condition}`,
        [world.partnerA.id],
      );
      const shown = rows.flatMap((row) => Object.values(row)).filter((value) => String(value ?? "x").length > 8);
      expect(shown.filter((value) => everything.includes(String(value)))).toEqual([]);
      values += shown.length;
      for (const row of read(name)) for (const column of secrets) expect([null, "withheld"]).toContain(row[column]);
    }
    expect(values).toBeGreaterThan(8);
  });

  test("contract §8 partner export shows one moment: a row that comes meanwhile is in no file", async () => {
    const { rows } = await world.database.admin.query(
      "select count(*)::int as there from core.draft_uploads where partner_id = $1",
      [world.partnerA.id],
    );
    expect(read("draft_uploads").length).toBe(rows[0].there - 1);
  });

  test("contract §8 another database of the same migrations takes every row as it is, the withheld values apart", async () => {
    const { admin } = empty;
    const client = await admin.connect();
    try {
      // counts are rows too, so no trigger counts again; keys are checked below
      await client.query("set session_replication_role = replica");
      for (const { name, columns, secrets } of parts) {
        const rows = read(name).map((row, index) =>
          // a value nobody has, of the column's shape; a login is not there
          Object.fromEntries(
            Object.entries(row).map(([column, value]) => [
              column,
              !secrets.includes(column) || value === null
                ? value
                : column.endsWith("_hash") || column === "used_by"
                  ? `\\x${createHash("sha256").update(`${name} ${column} ${index}`).digest("hex")}`
                  : column === "content"
                    ? {}
                    : /user_id|invited_by/.test(column)
                      ? null
                      : value,
            ]),
          ),
        );
        const names = columns.map((column) => `"${column}"`).join(", ");
        await client.query(
          `insert into core.${name} (${names}) overriding system value select ${names} from jsonb_populate_recordset(null::core.${name}, $1)`,
          [JSON.stringify(rows)],
        );
      }
    } finally {
      client.release(true);
    }
    const came =
      "delete from core.draft_uploads where partner_id = $1 and id = (select max(id) from core.draft_uploads)";
    expect((await world.database.admin.query(came, [world.partnerA.id])).rowCount).toBe(1);
    for (const { name, key, secrets, condition } of parts) {
      const query = `select (to_jsonb(t) - $2::text[])::text as row from core.${name} t where ${condition} order by ${key.map((column) => `t."${column}"`)}`;
      const [there, here] = await Promise.all(
        [admin, world.database.admin].map((pool) => pool.query(query, [world.partnerA.id, secrets])),
      );
      expect([name, there?.rows]).toEqual([name, here?.rows]);
    }
    // rows refer to what came with them, to the reference data of every database, and to the file of a payment, which is ours
    const { rows: keys } = await admin.query<{ name: string; loose: string }>(
      `select c.conname as name, format('select from %s a where %s and not exists (select from %s b where %s)', c.conrelid::regclass,
              string_agg(format('a.%I is not null', x.attname), ' and '), c.confrelid::regclass, string_agg(format('a.%I = b.%I', x.attname, y.attname), ' and ')) as loose
         from pg_constraint c cross join unnest(c.conkey, c.confkey) as k (own, other)
         join pg_attribute x on x.attrelid = c.conrelid and x.attnum = k.own
         join pg_attribute y on y.attrelid = c.confrelid and y.attnum = k.other
        where c.contype = 'f' and c.connamespace = 'core'::regnamespace group by c.oid, c.conname, c.conrelid, c.confrelid`,
    );
    const loose: string[] = [];
    for (const { name, loose: query } of keys) if ((await admin.query(query)).rowCount) loose.push(name);
    expect(loose).toEqual(["payout_lines_batch_fkey"]);
  });

  test("contract §8 partner export leaves an audit row of the partner, and pages are read of an export only", async () => {
    const { id } = world.partnerA;
    const row = { actor: "operator:tester", action: "partner.exported", partner_id: id, subject_id: id, details: {} };
    expect(audit).toEqual([row]);
    const page = { partner: "partner-b", table: "drafts", size: 1 };
    const asked = (input: object) => world.database.admin.query("select ops.partner_export_rows($1)", [input]);
    await expect(asked(page)).rejects.toMatchObject({ message: "export_not_begun" });
    const { rows } = await world.database.admin.query(
      "select max(id) as id from core.audit_log where action = 'partner.exported'",
    );
    // of another partner
    await expect(asked({ ...page, export: rows[0].id })).rejects.toMatchObject({ message: "export_not_begun" });
    for (const table of ["payout_batches", "attributions", "deployment", "nothing"])
      await expect(asked({ partner: "partner-a", export: rows[0].id, table, size: 1 })).rejects.toMatchObject({
        message: "no_table_of_partner",
      });
  });

  test("contract §8 partner export refuses the house, a folder with files, and one it cannot write", async () => {
    const operator = operatorOf(world.database);
    for (const [partner, to, sentence] of [
      ["service", join(folder, "house"), /^error: The service's own partner has no/],
      ["nobody", join(folder, "nobody"), /^error: No partner has/],
      ["partner-a", whole(), /cannot be written \(ENOTEMPTY\)\.\n$/],
      ["partner-a", join(folder, "no", "folder"), /cannot be written \(ENOENT\)\.\n$/],
      ["partner-a", join(whole(), "manifest.json"), /cannot be written \(ENOTDIR\)\.\n$/],
    ] as const) {
      const { code, err } = await operator(["partner", "export", partner, "--to", to]);
      expect([code, err]).toEqual([1, expect.stringMatching(sentence)]);
    }
    expect(readdirSync(folder)).toEqual(["whole"]);
  });
});
