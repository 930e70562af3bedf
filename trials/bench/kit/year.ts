// The year 2026 as it is in January 2027, of accounts that lack nothing, set-based like the rest; and two operators, who book and pay it.

import { randomBytes } from "node:crypto";
import pg from "pg";
import { sealIban } from "#shared/values/iban.ts";
import type { Machine } from "../../../packages/operator/src/command.ts";
import type { OpsAnswer } from "../../../packages/operator/src/database.ts";
import { liftLimits, seed } from "./seed.ts";
import type { Stack } from "./stack.ts";

export const QUARTERS = ["2026-Q1", "2026-Q2", "2026-Q3", "2026-Q4"];

const KEY = randomBytes(32).toString("base64");
const env = {
  IBAN_KEYS: JSON.stringify({ current: "bench", keys: { bench: KEY } }),
  PAYOUT_ACCOUNT_NAME: "ERE Service B.V.",
  PAYOUT_ACCOUNT_IBAN: "NL91ABNA0417164300",
};

export type Year = {
  admin: pg.Pool;
  /** Two operators, each with a connection and a login of their own, for as long as `use` takes. */
  operators: <T>(use: (anna: Machine, bram: Machine) => Promise<T>) => Promise<T>;
};

/**
 * A database with so many accounts of one client and twelve months of each. Every twentieth has sessions of its own instead of
 * delivered totals; of every fortieth those of the first quarter were delivered as totals too, for a connection that was archived
 * since: 3 months more, and 6 that nobody can book.
 */
export async function addYear(stack: Stack, name: string, accounts: number): Promise<Year> {
  const { admin } = await stack.another(name);
  const { clients } = await seed(admin, 1, accounts, { booked: false });
  await liftLimits(admin);
  await admin.query(
    "create or replace function private.now() returns timestamptz language sql stable parallel safe return timestamptz '2027-01-10 12:00Z'",
  );
  const keys = { config: { IBAN_KEYS: { current: "bench", keys: { bench: KEY } } } };
  const { ciphertext } = sealIban(keys, clients[0]?.partner_id ?? "", "NL91ABNA0417164300");
  await completeAccounts(admin, ciphertext);
  await admin.query("vacuum (analyze)");
  await admin.query("checkpoint");
  for (const role of ["anna", "bram"])
    await admin.query(
      "select private.login_create(jsonb_build_object('name', $1::text, 'verifier', '')) where to_regrole('operator_' || $1) is null",
      [role],
    );
  return {
    admin,
    async operators(use) {
      const url = stack.url("supabase_admin", name);
      const [anna, bram] = await Promise.all([operator(url, "anna"), operator(url, "bram")]);
      try {
        return await use(anna, bram);
      } finally {
        await Promise.all([anna.end(), bram.end()]);
      }
    },
  };
}

/** Gives every account what it lacks, and the months of 2026. */
export async function completeAccounts(admin: pg.Pool, ciphertext: string): Promise<void> {
  const connection = await admin.connect();
  try {
    await connection.query("set session_replication_role = replica");
    await connection.query(COMPLETE_ACCOUNTS, [ciphertext]);
    for (const statement of COMPLETE) await connection.query(statement);
  } finally {
    connection.release(true);
  }
}

/** An operator who has the keys of IBANs. The superuser acts as the login, which has a password that nobody knows. */
async function operator(url: string, name: string): Promise<Machine & { end: () => Promise<void> }> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`set session authorization operator_${name}`);
  const call = async (ops: string, input: object): Promise<OpsAnswer> => {
    const { rows } = await client.query(`select ops.${ops}($1::jsonb) as answer`, [JSON.stringify(input)]);
    return rows[0].answer;
  };
  return {
    env,
    say: () => {},
    readLine: async () => "",
    call,
    connect: (work) => work({ call, query: async (text) => void (await client.query(text)) }),
    end: () => client.end(),
  };
}

const COMPLETE_ACCOUNTS =
  "update core.accounts set iban_ciphertext = $1, iban_key_id = 'bench', iban_last4 = '4300', iban_changed_at = '2026-01-01'";

const COMPLETE = [
  "update core.connections set registration_status = 'goedgekeurd'",
  `insert into core.mandate_links (partner_id, connection_id, owner_id, token_hash, locale, validity_years, expires_at, used_at)
   select c.partner_id, c.id, c.owner_id, sha256(c.id::text::bytea), 'nl', 3, now(), now()
     from core.connections c where not exists (select from core.mandates m where m.partner_id = c.partner_id and m.connection_id = c.id)`,
  `insert into core.mandates (partner_id, connection_id, owner_id, link_id, status, valid_from, valid_until, fee_pct, partner_share_pct, signed_name, signed_at, document, document_sha256)
   select l.partner_id, l.connection_id, l.owner_id, l.id, 'signed', '2026-01-01', '2028-12-31', 20, 25, 'Sanne de Vries', now(), 'bench', 'bench'
     from core.mandate_links l where not exists (select from core.mandates m where m.partner_id = l.partner_id and m.link_id = l.id)`,
  "update core.mandates set valid_from = '2026-01-01', valid_until = '2028-12-31' where valid_from <> '2026-01-01' or valid_until <> '2028-12-31'",
  `insert into core.chargers (partner_id, account_id, connection_id, owner_id, catalog_charger_id, brand, serial_number, mid_eligible)
   select c.partner_id, c.account_id, c.id, c.owner_id, m.id, m.brand, 'YEAR' || right(c.ean_code, 12), true
     from core.connections c, (select * from core.charger_models where mid_meter order by id limit 1) m
    where not exists (select from core.chargers h where h.partner_id = c.partner_id and h.connection_id = c.id)`,
  "truncate core.delivered_months",
  `insert into core.delivered_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, delivery_id, received_at)
   select c.partner_id, c.id, c.owner_id, p.period::date, 100 + c.n % 400 + extract(month from p.period) / 8, 20, 'bench', 'staged',
          case when c.n % 20 > 0 then d.id end, now()
     from (select c.*, right(c.ean_code, 9)::int as n from core.connections c) c
     join core.deliveries d on d.partner_id = c.partner_id and d.connection_id = c.id
    cross join generate_series(timestamp '2026-01-01', '2026-12-01', '1 month') p (period)
    order by p.period`,
  `insert into core.connections (partner_id, account_id, owner_id, location_id, ean_code, ean_validation_status, status)
   select partner_id, account_id, owner_id, location_id, ean_code, 'matched', 'archived'
     from core.connections where right(ean_code, 9)::int % 40 = 0`,
  `insert into core.delivered_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, delivery_id, received_at)
   select c.partner_id, c.id, c.owner_id, p.period::date, 90, 20, 'bench', 'staged', d.id, now()
     from core.connections c
     join core.connections o on o.ean_code = c.ean_code and o.status = 'active'
     join core.deliveries d on d.partner_id = o.partner_id and d.connection_id = o.id
    cross join generate_series(timestamp '2026-01-01', '2026-03-01', '1 month') p (period)
    where c.status = 'archived'`,
];
