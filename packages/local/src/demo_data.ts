// The partner, the client, the person and the application that a newcomer's first curl uses.

import pg from "pg";
import { USER_SCOPES } from "../../shared/src/scopes.ts";
import { hashSecret } from "../../shared/src/tokens.ts";
import { hashPassword } from "./auth.ts";
import { ensureCharging } from "./demo_charging.ts";
import type { Secrets } from "./secrets.ts";

export type Demo = {
  cpo: { client_id: string; client_secret: string };
  /** Signs in at Supabase Auth, on the consent page for one. */
  user: { email: string; password: string };
  oauth_app: { client_id: string; client_secret: string; redirect_uri: string };
  /** Of that person, for the personal routes. */
  personal_token: string;
};

const PARTNER = { name: "Demo Laadpunten", slug: "demo" };
const CLIENT = { name: "Demo CPO", client_id: "demo-cpo" };
const APP = { name: "Demo Laadapp", operated_by: "Demo Laadpunten", client_id: "demo-app" };
const REDIRECT_URI = "http://localhost:3000/callback";
const USER = { email: "demo@example.nl", name: "Sanne de Vries" };

/** Makes them as an operator would, where they are missing; what an operator changed since stays. */
export async function ensureDemo(admin_url: string, secrets: Secrets["demo"]): Promise<Demo> {
  const { client_secret, app_secret, password } = secrets;
  const personal_token = `${process.env.KEY_PREFIX || "ere"}_pat_${secrets.personal_token}`;
  const client = new pg.Client({ connectionString: admin_url });
  await client.connect();
  const make = (name: string, input: object) =>
    client.query(`select ops.${name}($1)`, [{ operator: "npm start", ...input }]);
  try {
    const { rows } = await client.query(
      `select exists (select from core.partners where slug = $1) as partner,
              exists (select from core.oauth_clients where client_id = $2) as client,
              exists (select from core.oauth_clients where client_id = $3) as app,
              exists (select from auth.users where email = $4) as person`,
      [PARTNER.slug, CLIENT.client_id, APP.client_id, USER.email],
    );
    const partner = PARTNER.slug;
    if (!rows[0].partner) await make("partner_create", PARTNER);
    if (!rows[0].client) await make("client_create", { ...CLIENT, partner, secret_hash: hashSecret(client_secret) });
    if (!rows[0].app) {
      const scopes = Object.keys(USER_SCOPES).filter((scope) => !scope.startsWith("partners:"));
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
    await ensureCharging(client, USER.email, personal_token);
  } finally {
    await client.end();
  }
  return {
    cpo: { client_id: CLIENT.client_id, client_secret },
    user: { email: USER.email, password },
    oauth_app: { client_id: APP.client_id, client_secret: app_secret, redirect_uri: REDIRECT_URI },
    personal_token,
  };
}
