import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { migrate } from "#local/migrate.ts";
import { drift, writeMigration } from "../../packages/tools/src/migration.ts";
import { buildFromSchemas } from "../../packages/tools/src/schema_files.ts";
import { createDatabase, emptyDatabase, urlOf } from "../harness/database.ts";
import { TEMPLATE } from "../harness/template.ts";
import { keptDatabases } from "./kept_databases.ts";

const url = (database: string) => urlOf(database, "postgres");
const keep = keptDatabases();
const folders: string[] = [];

afterAll(async () => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** A checkout whose schema files somebody edits. */
function checkout() {
  const root = mkdtempSync(join(tmpdir(), "ere-schemas-"));
  folders.push(root);
  for (const path of ["config.toml", "migrations", "schemas"])
    cpSync(`${ROOT}supabase/${path}`, join(root, "supabase", path), { recursive: true });
  const read = (path: string) => readFileSync(join(root, path), "utf8");
  const edit = (path: string, change: (text: string) => string) => {
    const changed = change(read(path));
    if (changed === read(path)) throw new Error(`${path} is as it was`);
    writeFileSync(join(root, path), changed);
  };
  /** The database that is deployed, and the one that the edited files make. */
  const build = async () => {
    const [migrations, schemas] = [await keep(createDatabase(TEMPLATE)), await keep(emptyDatabase())];
    await buildFromSchemas(url(schemas), root);
    return { migrations: url(migrations), schemas: url(schemas) };
  };
  return { root, read, edit, build };
}

/** The statements of a migration that the CLI wrote: one a paragraph. */
const statements = (text: string) => text.split(/;\n+/).filter(Boolean);

describe("npm run migration -- <name>", () => {
  describe("of what was edited in the schema files", () => {
    const { root, read, edit, build } = checkout();
    let pair: Awaited<ReturnType<typeof build>>;
    let written: Awaited<ReturnType<typeof writeMigration>>;
    let wrote: string[];
    const BY_HAND = [
      'only in the migrations: row of core.rate_limits: {"quota": 300, "bucket": "cpo_read", "window_seconds": 60}',
      'only in the schema files: row of core.rate_limits: {"quota": 301, "bucket": "cpo_read", "window_seconds": 60}',
    ];
    /** What a partitioned table and an index on one are made by. */
    const PARTITIONED = /draft_events|audit_log_request/;

    beforeAll(async () => {
      edit("supabase/schemas/foundation/clock.sql", (text) =>
        text
          .replace("Europe/Amsterdam')::date", "Europe/Brussels')::date")
          .concat("create function api.day(caller jsonb) returns date language sql as $$ select private.today() $$;\n"),
      );
      edit("supabase/schemas/customers/drafts/tables.sql", (text) =>
        text.replace("create table core.drafts (\n", "create table core.drafts (\n  note text,\n").concat(`
          comment on column core.drafts.note is 'What the partner remembers.';
          create table core.draft_events (
            partner_id uuid        not null,
            id         bigint      generated always as identity,
            at         timestamptz not null default private.now(),
            draft_id   uuid        not null,
            constraint draft_events_pkey primary key (partner_id, id, at),
            constraint draft_events_draft_fkey foreign key (partner_id, draft_id) references core.drafts (partner_id, id)
          ) partition by range (at);
          comment on table core.draft_events is 'What happened to a draft.';
          create index draft_events_draft on core.draft_events (partner_id, draft_id);
          select private.enable_tenant_policy('core.draft_events', 'select, insert');
          select private.partition_by_year('core.draft_events');\n`),
      );
      edit("supabase/schemas/operations/audit/tables.sql", (text) =>
        text.concat("create index audit_log_request on core.audit_log (request_id);\n"),
      );
      edit("supabase/schemas/access/admission/tables.sql", (text) =>
        text.replace(/'cpo_read', +300/, "'cpo_read', 301"),
      );
      pair = await build();
      written = await writeMigration("add_note_to_drafts", pair, root);
      // after the list of what is to be written by hand
      wrote = statements(read(written?.file ?? "").replace(/^(--.*\n)*\n/, ""));
    });

    test("writes a changed and a new function, a new column, and nothing else", () => {
      expect(written?.file).toMatch(/^supabase\/migrations\/\d{14}_add_note_to_drafts\.sql$/);
      expect(wrote.filter((statement) => !PARTITIONED.test(statement))).toEqual([
        "begin",
        "set local lock_timeout = '2s'",
        "lock table core.deployment in access exclusive mode",
        "SET local check_function_bodies = off",
        expect.stringMatching(/^ALTER TABLE "core"\."drafts"\s+ADD COLUMN "note" text$/),
        expect.stringContaining("CREATE OR REPLACE FUNCTION api.day"),
        'ALTER FUNCTION "api"."day"(jsonb) OWNER TO "api_owner"',
        expect.stringMatching(/^CREATE OR REPLACE FUNCTION private\.today\(\).*Brussels/s),
        `COMMENT ON COLUMN "core"."drafts"."note" IS 'What the partner remembers.'`,
        'REVOKE ALL ON FUNCTION "api"."day"(jsonb) FROM PUBLIC',
        'REVOKE ALL ON FUNCTION "api"."day"(jsonb) FROM "api_owner"',
        'GRANT EXECUTE ON FUNCTION "api"."day"(jsonb) TO "api_owner"',
        'GRANT EXECUTE ON FUNCTION "api"."day"(jsonb) TO "edge"',
        "commit",
      ]);
    });

    test("writes a table that has a partition for each year, and an index on such a table, whichever the years of a deployed database are", async () => {
      const year = new Date().getUTCFullYear();
      for (const part of [year, year + 1, "default"]) expect(wrote.join("\n")).toContain(`"draft_events_${part}"`);
      expect(wrote).toContain("CREATE INDEX audit_log_request ON core.audit_log USING btree (request_id)");
      const deployed = await keep(createDatabase(TEMPLATE));
      const owner = new pg.Client({ connectionString: url(deployed) });
      await owner.connect();
      await owner.query("select private.make_year_partition('core.audit_log', 2031)");
      expect(await migrate(url(deployed), { seed: false, root })).toBe("changed");
      expect(await migrate(url(deployed), { seed: false, root })).toBe("up to date");
      const { rows } = await owner.query(
        `select i.indisvalid as valid, array(select h.inhrelid::regclass::text from pg_inherits h where h.inhparent = i.indexrelid) as partitions
           from pg_index i where i.indexrelid = 'core.audit_log_request'::regclass`,
      );
      await owner.end();
      expect(rows[0]).toEqual({
        valid: true,
        partitions: expect.arrayContaining([expect.stringContaining("audit_log_2031")]),
      });
    });

    test("leaves a changed row to be written by hand; when it is, a second migration is not written", async () => {
      expect(written?.by_hand).toEqual(BY_HAND);
      expect(await drift(pair)).toEqual(BY_HAND);
      const file = written?.file ?? "";
      expect(read(file).split("\n\n")[0]?.split("\n")).toEqual([
        "-- To be written by hand, in place of this list:",
        ...BY_HAND.map((line) => `--   ${line}`),
      ]);
      const owner = new pg.Client({ connectionString: pair.migrations });
      await owner.connect();
      await owner.query("update core.rate_limits set quota = 301 where bucket = 'cpo_read'").finally(() => owner.end());
      expect(await drift(pair)).toEqual([]);
      expect(await writeMigration("once_more", pair, root)).toBeUndefined();
      expect(readdirSync(join(root, "supabase/migrations"))).not.toContainEqual(expect.stringContaining("once_more"));
    });
  });

  test("takes a new file without a line in config.toml, and refuses a body that names what does not exist", async () => {
    const { root, build } = checkout();
    const file = join(root, "supabase/schemas/customers/accounts/a_first.sql");
    const body = (name: string) =>
      `create function private.first() returns bigint language sql set search_path = '' as $$ ${name} $$;`;
    // the function of a file that comes later
    writeFileSync(file, body("select private.today() - private.first_delivery_month()"));
    expect(await drift(await build())).toContain("only in the schema files: function private.first()");
    writeFileSync(file, body("select private.nowhere()"));
    await expect(build()).rejects.toThrow("private.first(): function private.nowhere() does not exist");
  });

  test.each(["Add note", "add-note", "../add_note", "1st", "a".repeat(61)])("refuses the name %j", async (name) => {
    const pair = { migrations: "postgresql://unused", schemas: "postgresql://unused" };
    await expect(writeMigration(name, pair, ROOT)).rejects.toThrow(`"${name}" is no name for a migration`);
  });

  test("says what to do when it gets no name, or two", () => {
    for (const args of [[], ["add_note", "to_drafts"]]) {
      const { status, stderr } = spawnSync(process.execPath, [`${ROOT}packages/tools/src/migration.ts`, ...args], {
        encoding: "utf8",
      });
      expect([status, stderr]).toEqual([1, expect.stringContaining("npm run migration -- <name>")]);
    }
  });
});
