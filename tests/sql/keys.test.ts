// Keys and tenants. What a key has the tenant in may one day be in another partition, project or node than what it has not; docs/scale.md
// says why. A key without it is asked of all tenants at once: it stands here with its reason, or it gets the tenant.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

/** Rows of no tenant: every project has the same ones, and a distributed engine copies them to every node. */
const REFERENCE: Record<string, string> = {
  charger_brands_pkey: "the catalogue",
  charger_models_pkey: "the catalogue",
  charger_models_name_key: "the catalogue",
  charger_model_patterns_pkey: "the catalogue",
  charger_vendor_aliases_pkey: "the catalogue",
  charger_vendor_aliases_one_brand: "the catalogue",
  audit_seals_pkey: "the service's own: one row a day, of all tenants",
  deployment_pkey: "one row a database",
  failing_jobs_pkey: "the service's own: one row a job and client that fails",
  job_runs_pkey: "the service's own: one row a run, of all tenants",
  payout_batches_pkey: "the service's own: one file for the bank, of all tenants",
  ean_register_points_pkey: "the EAN register of our own, which knows metering points and no customers",
  ere_factors_pkey: "one row a delivery year",
  evidence_limits_pkey: "the limits, the same for all",
  rate_limits_pkey: "the limits, the same for all",
  vat_rates_pkey: "one row a rate",
};

/** Tenants themselves, and people, who are in no tenant: rows of the directory, wherever the tenants are. */
const DIRECTORY: Record<string, string> = {
  partners_pkey: "the tenant",
  partners_slug_key: "the operator names a tenant by it",
  partners_referral_code_key: "a customer names a tenant by it",
  oauth_clients_pkey: "a client is looked up before its tenant is known",
  oauth_clients_client_id_key: "a client is looked up by it before its tenant is known",
  oauth_consents_pkey: "a person's",
  oauth_grants_pkey: "a person's",
  oauth_codes_pkey: "a person's, by the hash of the code",
  oauth_refresh_tokens_pkey: "a person's, by the hash of the token",
  oauth_refresh_tokens_generation_key: "a person's, within their grant",
  revoked_access_tokens_pkey: "of any token, before its tenant is known",
  chargers_own_ocpp_identity: "a person's",
  personal_tokens_pkey: "a person's",
  page_sessions_pkey: "a person's, by the hash of what their browser holds",
  one_time_codes_pkey: "of whoever reads the mail, by what the code opens",
  suppressions_pkey: "an address that opted out of mail, of whichever partner",
  rate_limit_state_pkey: "of a client, person or address, before the tenant is known",
  mail_counts_pkey: "of an address or a connection, whoever writes to it",
  rate_limit_overrides_pkey: "of a client, before its tenant is known",
};

/** What no two tenants may have at once. Each is taken by one function, which alone would have to ask a directory. */
const CLAIMED: Record<string, { by: string; why: string }> = {
  attributions_user_id_key: { by: "reserve_customer", why: "a person is the customer of one partner" },
  booking_rows_live_ean: { by: "reserve_months", why: "a month of a metering point is booked once" },
  chargers_active_serial: { by: "reserve_serial_number", why: "a charger stands in one place" },
  connections_active_ean: { by: "reserve_ean", why: "a metering point has one active connection" },
  draft_links_token_hash_key: { by: "reserve_token_hash", why: "a link is opened by its token alone" },
  drafts_id: { by: "reserve_draft_id", why: "a claim link knows the draft alone" },
  mandate_links_token_hash_key: { by: "reserve_token_hash", why: "a link is opened by its token alone" },
  partner_keys_key_hash_key: { by: "reserve_token_hash", why: "a key says by itself whose it is" },
  manager_invitations_token_hash_key: { by: "reserve_token_hash", why: "an invitation says by itself whose it is" },
  partner_managers_user_id_key: { by: "reserve_manager", why: "a person manages one partner" },
  personal_tokens_token_hash_key: { by: "reserve_token_hash", why: "a token says by itself whose it is" },
};

/** Foreign keys without the tenant: to people, to tenants themselves, to reference rows, and among what belongs to people. */
const TO_NO_TENANT = [
  "auth.users",
  "core.partners",
  "core.charger_models",
  "core.charger_brands",
  "core.ere_factors",
  "core.payout_batches",
  "core.rate_limits",
];
const AMONG_PEOPLE: Record<string, string> = {
  oauth_codes_grant_id_fkey: "a person's",
  oauth_consents_client_id_fkey: "a person's consent to an application, of whichever partner",
  oauth_grants_client_id_fkey: "a person's grant to an application, of whichever partner",
  oauth_refresh_tokens_grant_id_fkey: "a person's",
  partner_keys_grant_id_fkey: "a person's grant, through which their application minted the key",
};

/** Foreign keys without an index of their own: what they lead to is small, or deleted one at a time. */
const FEW_ARE_DELETED: Record<string, string> = {
  charger_vendor_aliases_brand_fkey: "the catalogue",
  chargers_catalog_charger_id_fkey: "the catalogue",
  figures_factor_fkey: "a row a year",
  oauth_grants_client_id_fkey: "applications",
  rate_limit_overrides_bucket_fkey: "a row a limit",
};

/** Of the table `relation` in the array of column numbers `keys`. */
const has = (column: string, relation: string, keys: string) =>
  `exists (select from pg_attribute a where a.attrelid = ${relation} and a.attnum = any (${keys}) and a.attname = '${column}')`;

async function names(query: string, ...values: unknown[]): Promise<string[]> {
  const { rows } = await world.database.admin.query<{ name: string }>(query, values);
  return rows.map(({ name }) => name).sort();
}

describe("the keys of tables", () => {
  test("a unique key has the tenant in it, or a reason that stands here", async () => {
    const without = await names(
      `select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
        where i.indisunique and c.relnamespace = 'core'::regnamespace and not ${has("partner_id", "i.indrelid", "i.indkey")}`,
    );
    expect(without).toEqual(Object.keys({ ...REFERENCE, ...DIRECTORY, ...CLAIMED }).sort());
  });

  test("a foreign key has the tenant in it, or leads to what is in none", async () => {
    const without = await names(
      `select c.conname as name from pg_constraint c
        where c.contype = 'f' and c.connamespace = 'core'::regnamespace and not c.confrelid::regclass::text = any ($1)
          and not (${has("partner_id", "c.conrelid", "c.conkey")} and ${has("partner_id", "c.confrelid", "c.confkey")})`,
      TO_NO_TENANT,
    );
    expect(without).toEqual(Object.keys(AMONG_PEOPLE).sort());
  });

  test("deleting a row reads no whole table for its foreign keys, but where few rows are deleted", async () => {
    // an index serves the check where its first column after the tenant is in the key, and where it leaves out nulls only
    const without = await names(
      `select c.conname as name from pg_constraint c
        where c.contype = 'f' and c.connamespace = 'core'::regnamespace and c.confrelid <> 'core.partners'::regclass
          and not exists (
            select from pg_index i
             cross join lateral (
               select k.column as first from unnest(i.indkey::int2[]) with ordinality k ("column", place)
                 join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.column and a.attname <> 'partner_id' order by k.place limit 1) k
             where i.indrelid = c.conrelid and (i.indkey::int2[])[0] = any (c.conkey) and k.first = any (c.conkey)
               and coalesce(pg_get_expr(i.indpred, i.indrelid) ~ '^\\(\\w+ IS NOT NULL\\)$', true))`,
    );
    expect(without).toEqual(Object.keys(FEW_ARE_DELETED).sort());
  });

  test("charging sessions can be partitioned by the hash of their charger: every key has it, and a copy of the table is", async () => {
    const without = await names(
      `select i.indexrelid::regclass::text as name from pg_index i
        where i.indisunique and i.indrelid = 'core.charging_sessions'::regclass
          and not (${has("charger_id", "i.indrelid", "i.indkey")} and ${has("partner_id", "i.indrelid", "i.indkey")})`,
    );
    expect(without).toEqual([]);
    // Postgres refuses a unique key without the column that a table is partitioned by
    await world.database.admin.query(`
      create table core.sessions_by_charger (like core.charging_sessions including all) partition by hash (charger_id);
      create table core.sessions_0 partition of core.sessions_by_charger for values with (modulus 2, remainder 0);
      create table core.sessions_1 partition of core.sessions_by_charger for values with (modulus 2, remainder 1);
      drop table core.sessions_by_charger;`);
  });

  test("each function that takes what no two tenants may have is there, and says what it does", async () => {
    const wanted = [...new Set(Object.values(CLAIMED).map(({ by }) => by)), "reserve_addresses"].sort();
    expect(
      await names(
        "select p.proname as name from pg_proc p where p.pronamespace = 'private'::regnamespace and p.proname = any ($1) and obj_description(p.oid) is not null",
        wanted,
      ),
    ).toEqual(wanted);
  });
});
