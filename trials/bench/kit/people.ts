// Partners with keys, the customers they brought, and persons with a charger, set-based like the rest of what benches run over.

import { createHash, randomBytes } from "node:crypto";
import type pg from "pg";
import { newPartnerKey } from "#shared/auth/tokens.ts";

export type Partner = { id: string; key: string };

/** A partner with an API key. */
export async function addPartner(db: pg.Pool, slug: string): Promise<Partner> {
  const { rows } = await db.query<{ id: string }>(
    "insert into core.partners (name, slug) values ($1, $1) returning id",
    [slug],
  );
  const id = rows[0]?.id ?? "";
  return { id, key: await giveKey(db, id) };
}

/** Somebody who manages a partner. Gives the secret of a browser in which they are signed in to its pages. */
export async function addManager(db: pg.Pool, partner: string): Promise<string> {
  const secret = randomBytes(24).toString("hex");
  await db.query(
    `with person as (insert into auth.users (id, email) values (gen_random_uuid(), $1) returning id),
     manager as (insert into core.partner_managers (partner_id, user_id) select $2, id from person),
     sign_in as (insert into auth.sessions (id, user_id) select gen_random_uuid(), id from person returning id, user_id)
     insert into core.page_sessions (token_hash, user_id, sign_in_session_id) select decode($3, 'hex'), user_id, id from sign_in`,
    [`${secret.slice(-12)}@example.nl`, partner, createHash("sha256").update(secret).digest("hex")],
  );
  return secret;
}

/** An API key for a partner that has none. */
export async function giveKey(db: pg.Pool, partner: string): Promise<string> {
  const { api_key, stored } = newPartnerKey({ KEY_PREFIX: "ere", API_HOST: "sandbox" });
  await db.query(
    "insert into core.partner_keys (partner_id, key_hash, prefix, last4) values ($1, decode($2, 'hex'), $3, $4)",
    [partner, stored.key_hash, stored.prefix, stored.last4],
  );
  return api_key;
}

/** So many drafts of a partner that nobody has claimed yet, with the reference `draft-<n>`. */
export async function addDrafts(db: pg.Pool, partner: string, count: number): Promise<void> {
  await db.query(
    `insert into core.drafts (partner_id, batch_id, source, type, name, email, external_ref, postal_code, house_number, city, ean_status, send_invite, created_at, expires_at)
     select $1::uuid, gen_random_uuid(), 'csv', 'particulier', 'Sanne de Vries', 'd' || n || '@' || left($1::text, 8) || '.nl', 'draft-' || n,
            '3818LH', 1 + n % 1000, 'Amersfoort', 'resolved', false, now() - make_interval(secs => n), now() + interval '60 days'
       from generate_series(1, $2::int) n`,
    [partner, count],
  );
}

/** People with everything a customer can have, and so many months of charging, brought by this partner a year ago; half of them disclosed. */
export async function addCustomers(db: pg.Pool, partner: string, count: number, months = 0): Promise<void> {
  const connection = await db.connect();
  try {
    await connection.query("set session_replication_role = replica");
    await connection.query(
      `with person as (
         insert into auth.users (id, email) select gen_random_uuid(), 'p' || n || '@' || left($1::text, 8) || '.nl' from generate_series(1, $2::int) n returning id),
       account as (
         insert into core.accounts (partner_id, user_id, access_channel, type, payout_handler)
         select private.people_tenant(), id, 'user', 'particulier', 'service_pays_customer' from person returning partner_id, id, owner_id, user_id),
       signatory as (
         insert into core.signatories (partner_id, account_id, owner_id, full_name, email, phone)
         select partner_id, id, user_id, 'Sanne de Vries', left(id::text, 8) || '@voorbeeld.nl', '+31612345678' from account),
       location as (
         insert into core.locations (partner_id, postal_code, house_number, street, city)
         select private.people_tenant(), '3818LH', n, 'Laadlaan', 'Amersfoort' from generate_series(1, 1000) n
         on conflict on constraint locations_address_key do update set house_number = excluded.house_number returning id, house_number),
       connection as (
         insert into core.connections (partner_id, account_id, owner_id, location_id, ean_code, ean_validation_status)
         select a.partner_id, a.id, a.user_id, l.id, lpad((abs(hashtextextended(a.id::text, 0)) % 1000000000000000000)::text, 18, '0'), 'matched'
           from account a join location l on l.house_number = 1 + abs(hashtext(a.id::text)) % 1000 returning partner_id, id, account_id, owner_id),
       link as (
         insert into core.mandate_links (partner_id, connection_id, owner_id, token_hash, locale, validity_years, expires_at)
         select partner_id, id, owner_id, sha256(id::text::bytea), 'nl', 1, now() from connection returning partner_id, id, connection_id, owner_id),
       mandate as (
         insert into core.mandates (partner_id, connection_id, owner_id, link_id, status, valid_from, valid_until, fee_pct, partner_share_pct, signed_name, signed_at, document, document_sha256)
         select partner_id, connection_id, owner_id, id, 'signed', date_trunc('year', now()), date_trunc('year', now()) + interval '1 year - 1 day', 20, 25, 'x', now(), 'x', 'x' from link),
       charger as (
         insert into core.chargers (partner_id, account_id, connection_id, owner_id, user_id, catalog_charger_id, brand, mid_eligible)
         select c.partner_id, c.account_id, c.id, c.owner_id, c.owner_id, m.id, m.brand, true
           from connection c, (select * from core.charger_models where mid_meter order by id limit 1) m),
       month as (
         insert into core.delivered_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, received_at)
         select c.partner_id, c.id, c.owner_id, date_trunc('month', now()) - make_interval(months => m), 200, 20, 'sessions', 'staged', now()
           from connection c, generate_series(0, $3::int - 1) m)
       insert into core.attributions (partner_id, user_id, source, attached_month, created_at)
       select $1::uuid, id, case when random() < 0.5 then 'partner_upload' else 'referral_link' end, date_trunc('month', now()) - interval '11 months', now() - make_interval(secs => random() * 1000000)
         from person`,
      [partner, count, months],
    );
  } finally {
    connection.release(true);
  }
  await db.query("vacuum (analyze)");
}

const DAY = 86_400_000;

/**
 * A person with a MID charger, a mandate and four sessions a day for the last `days` days, taken in as the gateway does. Gives their
 * personal token, the secret of a browser in which they are signed in to their pages, and how long taking the sessions in took.
 */
export async function addPerson(
  db: pg.Pool,
  days: number,
): Promise<{ token: string; page_secret: string; sessions: number; seconds: number }> {
  const page_secret = randomBytes(24).toString("hex");
  const token = `ere_pat_${randomBytes(24).toString("hex")}`;
  const { rows } = await db.query<{ charger_id: string }>(
    `with person as (insert into auth.users (id, email) values (gen_random_uuid(), $1) returning id),
     account as (insert into core.accounts (partner_id, user_id, access_channel, type, payout_handler)
       select private.people_tenant(), id, 'user', 'particulier', 'service_pays_customer' from person returning partner_id, id, owner_id, user_id),
     location as (insert into core.locations (partner_id, postal_code, house_number, street) values (private.people_tenant(), '3818LH', $2, $1) returning partner_id, id),
     connection as (insert into core.connections (partner_id, account_id, owner_id, location_id, ean_code, ean_validation_status)
       select a.partner_id, a.id, a.owner_id, l.id, lpad((abs(hashtextextended(a.id::text, 0)) % 1000000000000000000)::text, 18, '0'), 'matched'
         from account a, location l returning partner_id, id, account_id, owner_id),
     link as (insert into core.mandate_links (partner_id, connection_id, owner_id, token_hash, locale, validity_years, expires_at, used_at)
       select partner_id, id, owner_id, sha256(id::text::bytea), 'nl', 1, now(), now() from connection returning partner_id, connection_id, owner_id, id),
     mandate as (insert into core.mandates (partner_id, connection_id, owner_id, link_id, status, valid_from, valid_until, fee_pct, partner_share_pct, signed_name, signed_at, document, document_sha256)
       select partner_id, connection_id, owner_id, id, 'signed', '2026-01-01', '2030-12-31', 20, 25, 'Bench', now(), 'bench', 'bench' from link),
     token as (insert into core.personal_tokens (user_id, name, token_hash, last4, scopes)
       select id, 'Bench', decode($3, 'hex'), 'abcd', private.scopes_of('personal_token') from person),
     sign_in as (insert into auth.sessions (id, user_id) select gen_random_uuid(), id from person returning id, user_id),
     page as (insert into core.page_sessions (token_hash, user_id, sign_in_session_id)
       select decode($4, 'hex'), user_id, id from sign_in)
     insert into core.chargers (partner_id, account_id, connection_id, owner_id, user_id, connection_type, power_kw, mid_eligible)
     select c.partner_id, a.id, c.id, a.owner_id, a.user_id, 'ocpp', 11, true from connection c, account a returning id as charger_id`,
    [
      `${token.slice(-12)}@example.nl`,
      days,
      ...[token, page_secret].map((secret) => createHash("sha256").update(secret).digest("hex")),
    ],
  );
  const start = Math.floor(Date.now() / DAY) * DAY - days * DAY;
  const iso = (ms: number) => new Date(ms).toISOString();
  const sessions = Array.from({ length: days * 4 }, (_, n) => ({
    charger_id: rows[0]?.charger_id,
    source: "bench",
    external_id: String(n),
    started_at: iso(start + (n * DAY) / 4),
    ended_at: iso(start + (n * DAY) / 4 + DAY / 12),
    wh: 12_000,
  }));
  const begun = performance.now();
  for (let n = 0; n < sessions.length; n += 5000) {
    await db.query(
      `with acting as materialized (select private.set_tenant(private.people_tenant()))
       select r.status from acting cross join lateral private.store_sessions($1) r`,
      [JSON.stringify(sessions.slice(n, n + 5000))],
    );
  }
  return { token, page_secret, sessions: sessions.length, seconds: (performance.now() - begun) / 1000 };
}
