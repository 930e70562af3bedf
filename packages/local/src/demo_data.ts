// The partner and the client that a newcomer's first curl uses.

import { createHash } from "node:crypto";
import pg from "pg";

export type Demo = { cpo: { client_id: string; client_secret: string; scope: string } };

const CLIENT_ID = "demo-cpo";
const SCOPES = [
  "cpo:accounts:read",
  "cpo:accounts:write",
  "cpo:mandates:write",
  "cpo:chargers:write",
  "cpo:sessions:write",
];

/** Makes them where they are missing; what an operator changed since (scopes, disabled) stays. */
export async function ensureDemo(admin_url: string, client_secret: string): Promise<Demo> {
  const client = new pg.Client({ connectionString: admin_url });
  await client.connect();
  try {
    await client.query(
      `with partner as (
         insert into core.partners (name, slug) values ('Demo Laadpunten', 'demo')
         on conflict on constraint partners_slug_key do update set slug = excluded.slug
         returning id)
       insert into core.oauth_clients (client_id, partner_id, name, secret_hash, scopes)
       select $1, id, 'Demo CPO', $2, $3 from partner
       on conflict on constraint oauth_clients_client_id_key do nothing`,
      [CLIENT_ID, createHash("sha256").update(client_secret).digest(), SCOPES],
    );
  } finally {
    await client.end();
  }
  return { cpo: { client_id: CLIENT_ID, client_secret, scope: SCOPES.join(" ") } };
}
