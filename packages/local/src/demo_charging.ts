// What the demo's person has: an account with a signed mandate, two chargers, a year of sessions, and a personal token. The demo's
// partner brought them, so its own pages show the year too.

import type pg from "pg";
import { hashSecret } from "#shared/auth/tokens.ts";
import { PERSONAL_SCOPES } from "#shared/values/scopes.ts";

const CONNECTION = { ean_code: "871687110000000070", postal_code: "3818LH", house_number: 12 };
/** One whose kWh earn ERE, and one without a MID meter, whose kWh are energy only. */
const CHARGERS = [
  {
    nickname: "Oprit",
    brand: "Alfen",
    model: "Eve Single Pro-line 3-phase",
    power_kw: 11,
    hour: 19,
    every: 2,
    wh: 14_000,
  },
  { nickname: "Schuur", brand: "Easee", model: "Home", power_kw: 7.4, hour: 9, every: 5, wh: 9_000 },
];
const DAY = 86_400_000;

/** Makes what is missing. Sessions come in as they do from the gateway, up to yesterday; in one transaction, so never by half. */
export async function ensureCharging(
  client: pg.Client,
  email: string,
  token: string,
  partner_id: string,
): Promise<void> {
  const { rows } = await client.query<{ user_id: string; missing: boolean }>(
    `select u.id as user_id, not exists (select from core.accounts a where a.user_id = u.id) as missing from auth.users u where u.email = $1`,
    [email],
  );
  const [person] = rows;
  if (!person?.missing) return;
  await client.query("begin");
  try {
    const connection_id = await makeAccount(client, person.user_id);
    for (const charger of CHARGERS) await makeCharger(client, person.user_id, connection_id, charger);
    await client.query(
      `insert into core.personal_tokens (user_id, name, token_hash, last4, scopes) values ($1, 'Demo', decode($2, 'hex'), $3, $4)
       on conflict do nothing`,
      [person.user_id, hashSecret(token), token.slice(-4), PERSONAL_SCOPES],
    );
    await client.query(
      `insert into core.attributions (partner_id, user_id, source, external_ref, attached_month)
       values ($1, $2, 'partner_upload', 'K-0001', date_trunc('month', private.today()) - interval '12 months') on conflict do nothing`,
      [partner_id, person.user_id],
    );
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}

async function makeAccount(client: pg.Client, user_id: string): Promise<string> {
  const { rows } = await client.query<{ id: string; link_id: string }>(
    `with account as (
       insert into core.accounts (partner_id, user_id, access_channel, type, payout_handler)
       values (private.house(), $1, 'user', 'particulier', 'service_pays_customer') returning partner_id, id),
     signatory as (
       insert into core.signatories (partner_id, account_id, full_name, email)
       select a.partner_id, a.id, p.name, p.email from account a, private.user_profile($1) p),
     location as (
       insert into core.locations (partner_id, postal_code, house_number, street, city)
       values (private.house(), $3, $4, 'Stationsplein', 'Amersfoort')
       on conflict on constraint locations_address_key do update set street = excluded.street returning id),
     connection as (
       insert into core.connections (partner_id, account_id, location_id, ean_code, ean_validation_status, ean_checked_at)
       select a.partner_id, a.id, l.id, $2, 'matched', private.now() from account a, location l returning partner_id, id),
     link as (
       insert into core.mandate_links (partner_id, connection_id, token_hash, locale, validity_years, expires_at, used_at)
       select partner_id, id, sha256(gen_random_uuid()::text::bytea), 'nl', 3, private.now(), private.now() from connection
       returning partner_id, connection_id, id)
     insert into core.mandates
       (partner_id, connection_id, link_id, status, valid_from, valid_until, fee_pct, partner_share_pct, signed_name, signed_at, document, document_sha256)
     select k.partner_id, k.connection_id, k.id, 'signed', date_trunc('year', private.today()) - interval '1 year',
            date_trunc('year', private.today()) + interval '2 years - 1 day', 20, 25, p.name, private.now(), d.text, encode(sha256(d.text::bytea), 'hex')
       from link k, private.user_profile($1) p, (values ('Machtiging van de demo')) d (text)
     returning connection_id as id, link_id`,
    [user_id, CONNECTION.ean_code, CONNECTION.postal_code, CONNECTION.house_number],
  );
  // as signing does, so that it can be kept as a document
  await client.query("select private.request_mandate_document(k) from core.mandate_links k where k.id = $1", [
    rows[0]?.link_id,
  ]);
  return rows[0]?.id ?? "";
}

async function makeCharger(
  client: pg.Client,
  user_id: string,
  connection_id: string,
  charger: (typeof CHARGERS)[number],
) {
  const { nickname, brand, model, power_kw, hour, every, wh } = charger;
  const { rows } = await client.query<{ id: string }>(
    `insert into core.chargers
       (partner_id, account_id, connection_id, user_id, catalog_charger_id, brand, mid_eligible, nickname, connection_type, power_kw)
     select c.partner_id, c.account_id, c.id, $1, m.id, m.brand, m.mid_meter, $3, 'ocpp', $6
       from core.connections c, core.charger_models m where c.id = $2 and m.brand = $4 and m.model = $5 returning id`,
    [user_id, connection_id, nickname, brand, model, power_kw],
  );
  const today = Math.floor(Date.now() / DAY) * DAY;
  const iso = (moment: number) => new Date(moment).toISOString();
  const sessions = Array.from({ length: Math.floor(365 / every) }, (_, n) => {
    const started_at = today - (n + 1) * every * DAY + hour * 3_600_000 + ((n * 17) % 60) * 60_000;
    const charged = wh + ((n * 631) % 5000); // no two alike, and the same on every machine
    const ended_at = started_at + (charged / power_kw) * 3600;
    return {
      charger_id: rows[0]?.id,
      source: "demo",
      external_id: iso(started_at).slice(0, 10),
      started_at: iso(started_at),
      ended_at: iso(ended_at),
      wh: charged,
    };
  });
  await client.query("select api.ingest_charging_sessions($1, $2)", [{ kind: "worker" }, { sessions }]);
}
