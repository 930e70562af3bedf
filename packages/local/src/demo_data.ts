// The partner, the client, the person and the application that a newcomer's first curl uses.

import { hashSecret, newPartnerKey } from "#shared/auth/tokens.ts";
import { sealIban } from "#shared/values/iban.ts";
import { CPO_SCOPES, PERSONAL_SCOPES, USER_SCOPES } from "#shared/values/scopes.ts";
import { hashPassword } from "./auth.ts";
import { connected } from "./postgres.ts";
import type { Secrets } from "./secrets.ts";
import type { Demo, Stack } from "./stack.ts";

export const PARTNER = { name: "Demo Laadpunten", slug: "demo" };
/** What an invoice in its name needs. */
const COMPANY = {
  name: "Demo Laadpunten B.V.",
  kvk: "12345678",
  vat: "NL000099998B57",
  street: "Stationsplein",
  house_number: "1",
  postal_code: "3818LE",
  city: "Amersfoort",
};
/** Where the partner is paid, for its share and for the customers it settles with itself. */
const IBAN = "NL20INGB0001234567";
const CLIENT = { name: "Demo CPO", client_id: "demo-cpo" };
const APP = { name: "Demo Laadapp", operated_by: "Demo Laadpunten", client_id: "demo-app" };
const REDIRECT_URI = "http://localhost:3000/callback";
const USER = { email: "demo@example.nl", name: "Sanne de Vries" };

/** Makes them as an operator would, where they are missing; what an operator changed since stays. */
export async function ensureDemo(adminUrl: string, host: Stack["host"], secrets: Secrets): Promise<Demo> {
  const { client_secret, app_secret, password } = secrets.demo;
  const keys = { config: { IBAN_KEYS: JSON.parse(secrets.functions.IBAN_KEYS) } };
  const KEY_PREFIX = process.env.KEY_PREFIX || "ere";
  const personal_token = `${KEY_PREFIX}_pat_${secrets.demo.personal_token}`;
  const { api_key, stored } = newPartnerKey({ KEY_PREFIX, API_HOST: host }, secrets.demo.partner_key);
  const client = await connected(adminUrl);
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
    if (!rows[0].partner) {
      await make("partner_create", PARTNER);
      await make("partner_set", { partner, vat_regime: "regular" });
      await client.query("update core.partners set company = $2 where slug = $1", [partner, COMPANY]);
    }
    partner_id = (await client.query("select id from core.partners where slug = $1", [partner])).rows[0].id;
    if (!rows[0].client) {
      const scopes = Object.keys(CPO_SCOPES);
      await make("client_create", { ...CLIENT, partner, scopes, secret_hash: hashSecret(client_secret) });
    }
    if (!rows[0].app) {
      const scopes = Object.keys(USER_SCOPES);
      const secret_hash = hashSecret(app_secret);
      await make("app_create", { ...APP, partner, redirect_uris: [REDIRECT_URI], scopes, secret_hash });
    }
    if (!rows[0].person) {
      // as the login of one whom the partner brought, which a rehearsal of the claim may enter
      await client.query(
        `insert into auth.users (id, aud, role, email, encrypted_password, email_confirmed_at, raw_app_meta_data, raw_user_meta_data)
         values (gen_random_uuid(), 'authenticated', 'authenticated', $1, $2, now(), $3, $4)`,
        [
          USER.email,
          await hashPassword(password),
          { provider: "email", providers: ["email"], claimed_for: partner_id, proved_email: USER.email },
          { full_name: USER.name },
        ],
      );
    }
    await client.query(
      `insert into core.personal_tokens (user_id, name, token_hash, last4, scopes)
       select u.id, 'Demo', decode($2, 'hex'), $3, $4 from auth.users u where u.email = $1 on conflict do nothing`,
      [USER.email, hashSecret(personal_token), personal_token.slice(-4), PERSONAL_SCOPES],
    );
    if (!rows[0].manager) await make("partner_add_manager", { partner, user: USER.email });
    if (!rows[0].key) await make("partner_mint_key", { partner, ...stored });
    const { ciphertext, key_id, last4 } = sealIban(keys, partner_id, IBAN);
    await client.query(
      `update core.partners set iban_ciphertext = $2, iban_key_id = $3, iban_last4 = $4, iban_holder = name
        where id = $1 and iban_ciphertext is null`,
      [partner_id, ciphertext, key_id, last4],
    );
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
