// The partner, the client, the person and the application that a newcomer's first curl uses.

import pg from "pg";
import { hashSecret, newPartnerKey } from "#shared/auth/tokens.ts";
import { sealIban } from "#shared/values/iban.ts";
import { USER_SCOPES } from "#shared/values/scopes.ts";
import { hashPassword } from "./auth.ts";
import { ensureCharging } from "./demo_charging.ts";
import type { Secrets } from "./secrets.ts";
import type { Demo, Stack } from "./stack.ts";

const PARTNER = { name: "Demo Laadpunten", slug: "demo" };
/** Where the partner is paid, for its share and for the customers it settles with itself. */
const IBAN = "NL20INGB0001234567";
const CLIENT = { name: "Demo CPO", client_id: "demo-cpo" };
const APP = { name: "Demo Laadapp", operated_by: "Demo Laadpunten", client_id: "demo-app" };
const REDIRECT_URI = "http://localhost:3000/callback";
const USER = { email: "demo@example.nl", name: "Sanne de Vries" };

/** Makes them as an operator would, where they are missing; what an operator changed since stays. */
export async function ensureDemo(admin_url: string, host: Stack["host"], secrets: Secrets): Promise<Demo> {
  const { client_secret, app_secret, password } = secrets.demo;
  const keys = { config: { IBAN_KEYS: JSON.parse(secrets.functions.IBAN_KEYS) } };
  const KEY_PREFIX = process.env.KEY_PREFIX || "ere";
  const personal_token = `${KEY_PREFIX}_pat_${secrets.demo.personal_token}`;
  const { api_key, stored } = newPartnerKey({ KEY_PREFIX, API_HOST: host }, secrets.demo.partner_key);
  const client = new pg.Client({ connectionString: admin_url });
  await client.connect();
  const make = (name: string, input: object) =>
    client.query(`select ops.${name}($1)`, [{ operator: "npm start", ...input }]);
  let partner_id: string;
  try {
    const { rows } = await client.query(
      `select exists (select from core.partners where slug = $1) as partner,
              exists (select from core.oauth_clients where client_id = $2) as client,
              exists (select from core.oauth_clients where client_id = $3) as app,
              exists (select from auth.users where email = $4) as person,
              exists (select from auth.users u join core.partner_managers m on m.user_id = u.id where u.email = $4) as manager,
              exists (select from core.partner_keys k join core.partners p on p.id = k.partner_id where p.slug = $1) as key`,
      [PARTNER.slug, CLIENT.client_id, APP.client_id, USER.email],
    );
    const partner = PARTNER.slug;
    if (!rows[0].partner) await make("partner_create", PARTNER);
    if (!rows[0].client) await make("client_create", { ...CLIENT, partner, secret_hash: hashSecret(client_secret) });
    if (!rows[0].app) {
      const scopes = Object.keys(USER_SCOPES);
      const secret_hash = hashSecret(app_secret);
      await make("app_create", { ...APP, partner, redirect_uris: [REDIRECT_URI], scopes, secret_hash });
    }
    if (!rows[0].person) {
      await client.query(
        `insert into auth.users (id, aud, role, email, encrypted_password, email_confirmed_at, raw_app_meta_data, raw_user_meta_data)
         values (gen_random_uuid(), 'authenticated', 'authenticated', $1, $2, now(), '{"provider": "email", "providers": ["email"]}', $3)`,
        [USER.email, await hashPassword(password), { full_name: USER.name }],
      );
    }
    if (!rows[0].manager) await make("partner_add_manager", { partner, user: USER.email });
    if (!rows[0].key) await make("partner_mint_key", { partner, ...stored });
    partner_id = (await client.query("select id from core.partners where slug = $1", [partner])).rows[0].id;
    const { ciphertext, key_id, last4 } = sealIban(keys, partner_id, IBAN);
    await client.query(
      `update core.partners set iban_ciphertext = $2, iban_key_id = $3, iban_last4 = $4, iban_holder = name
        where id = $1 and iban_ciphertext is null`,
      [partner_id, ciphertext, key_id, last4],
    );
    await ensureCharging(client, USER.email, personal_token, partner_id);
  } finally {
    await client.end();
  }
  return {
    cpo: { client_id: CLIENT.client_id, client_secret },
    partner: { id: partner_id, api_key },
    user: { email: USER.email, password },
    oauth_app: { client_id: APP.client_id, client_secret: app_secret, redirect_uri: REDIRECT_URI },
    personal_token,
  };
}
