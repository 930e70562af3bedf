// What belongs to a partner, as the catalogue says it: an export writes these tables.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cloneDatabase, type Database } from "../harness/database.ts";

/** Tables that hold no row of a partner. A new table gets partner_id, or stands here with its reason. */
const NOBODYS: Record<string, string> = {
  attributions: "a person's",
  audit_seals: "the service's own: one row a day, of all tenants",
  charger_brands: "the catalogue",
  charger_model_patterns: "the catalogue",
  charger_models: "the catalogue",
  charger_vendor_aliases: "the catalogue",
  deployment: "one row a database",
  ean_register_points: "the EAN register of our own, which knows metering points and no customers",
  ended_attributions: "a person's",
  ere_factors: "one row a delivery year",
  imports: "of the manager who uploads the file",
  evidence_limits: "the limits, the same for all",
  failing_jobs: "the service's own: jobs that fail, of all tenants",
  job_runs: "the service's own: one row a run, of all tenants",
  mail_counts: "of a day and an address, whoever writes to it",
  oauth_codes: "a person's",
  oauth_consents: "a person's",
  oauth_grants: "a person's",
  oauth_refresh_tokens: "a person's",
  one_time_codes: "of whoever reads the mail",
  page_sessions: "a person's",
  partner_managers: "a person's",
  payout_batches: "the service's own: one file for the bank, of all tenants",
  personal_tokens: "a person's",
  rate_limit_state: "minutes old at most",
  rate_limits: "the limits, the same for all",
  revoked_access_tokens: "an hour old at most",
  suppressions: "an address that opted out of mail, of whichever partner",
  vat_rates: "one row a rate",
};

/** Columns of a partner's own tables that look like a secret, and leave with it. */
const NO_SECRETS = [
  "audit_chains.checkpoint_hash",
  "audit_chains.hash",
  "audit_links.content",
  "audit_links.hash",
  "bookings.export_sha256",
  "charging_evidence.document_sha256",
  "charging_evidence.sent_sha256",
  "deliveries.body_sha256",
  // whether and where a code was confirmed, as evidence
  "mandates.code_confirmed",
  "mandates.code_sent_to",
  "documents.pdf",
  "documents.sha256",
  "documents.year_sha256",
  "drafts.referral_code",
  "mandates.document_sha256",
  // when, not what
  "oauth_clients.secret_rotated_at",
  "oauth_clients.secret_number",
  "oauth_clients.tokens_from_secret",
  "ocpi_cdrs.document_sha256",
  "ocpi_cdrs.kept_sha256",
  "ocpi_connections.plain_token",
  "partner_keys.secret_number",
  "partner_logos.hash",
  "partner_logos.png",
  "partners.referral_code",
  "uploads.sha256",
  // the id of a form
  "webhook_endpoints.secret_id",
];

type Part = { place: number; name: string; key: string[]; columns: string[]; secrets: string[] };

let database: Database;
let parts: Part[];
beforeAll(async () => {
  database = await cloneDatabase();
  const { rows } = await database.admin.query<Part>(
    "select place, name::text, key::text[], columns::text[], secrets::text[] from private.partner_tables() order by place",
  );
  parts = rows;
});
afterAll(() => database.drop());

describe("contract §8 what belongs to a partner", () => {
  test("contract §8 every table is a partner's, or stands in the list of those that are nobody's", async () => {
    const { rows } = await database.admin.query(
      "select relname::text as name from pg_class where relnamespace = 'core'::regnamespace and relkind in ('r', 'p') and not relispartition",
    );
    expect(
      parts
        .map(({ name }) => name)
        .concat(Object.keys(NOBODYS))
        .sort(),
    ).toEqual(rows.map(({ name }) => name).sort());
  });

  test("contract §8 a new table with a tenant belongs to the partner; without one it is missed by the test above", async () => {
    await database.admin.query(`
      create table core.new_of_tenant (partner_id uuid primary key, booking_id uuid not null);
      alter table core.new_of_tenant add constraint x foreign key (partner_id, booking_id) references core.bookings (partner_id, id);
      create table core.new_of_nobody (id uuid primary key)`);
    const { rows } = await database.admin.query(
      "select t.name, t.place > (select b.place from private.partner_tables() b where b.name = 'bookings') as after from private.partner_tables() t where t.name like 'new_%'",
    );
    await database.admin.query("drop table core.new_of_tenant, core.new_of_nobody");
    expect(rows).toEqual([{ name: "new_of_tenant", after: true }]);
  });

  test("contract §8 a table stands after every other one that it refers to, and has a key", async () => {
    const { rows } = await database.admin.query<{ referring: string; referred: string }>(
      `select distinct a.relname::text as referring, b.relname::text as referred
         from pg_constraint c join pg_class a on a.oid = c.conrelid join pg_class b on b.oid = c.confrelid
        where c.contype = 'f' and a.relnamespace = 'core'::regnamespace and b.relnamespace = a.relnamespace and a.oid <> b.oid`,
    );
    const place = new Map(parts.map((part) => [part.name, part.place]));
    const both = rows.filter(({ referring, referred }) => place.has(referring) && place.has(referred));
    expect(both.length).toBeGreaterThan(70);
    expect(
      both.filter(({ referring, referred }) => Number(place.get(referring)) < Number(place.get(referred))),
    ).toEqual([]);
    expect(parts.filter(({ key }) => (key ?? []).length === 0)).toEqual([]);
  });

  test("contract §8 whatever looks like a secret is withheld, or stands in the list of what is none", async () => {
    const { rows } = await database.admin.query<{ name: string; bytes: boolean }>(
      "select c.relname || '.' || a.attname as name, a.atttypid = 'bytea'::regtype as bytes from pg_attribute a join pg_class c on c.oid = a.attrelid where c.relnamespace = 'core'::regnamespace",
    );
    const bytes = new Set(rows.filter((row) => row.bytes).map(({ name }) => name));
    const withheld = parts.flatMap(({ name, secrets }) => secrets.map((column) => `${name}.${column}`));
    const suspect = parts
      .flatMap(({ name, columns }) => columns.map((column) => `${name}.${column}`))
      .filter(
        (name) => bytes.has(name) || /hash|cipher|secret|token|key_id|password|_code|code_|sha256|user_id/.test(name),
      )
      .filter((name) => !withheld.includes(name) && !/postal_code|ean_code/.test(name));
    expect(suspect.sort()).toEqual(NO_SECRETS.toSorted());
    expect(withheld.length).toBeGreaterThan(25);
    expect(
      parts.filter(({ columns }) => columns.includes("id_tag")),
      "a card is in no export",
    ).toEqual([]);
  });
});
