// The partner and the client that a newcomer's first curl uses.

import { createHash } from "node:crypto";
import pg from "pg";

export type Demo = { cpo: { client_id: string; client_secret: string } };

const PARTNER = { name: "Demo Laadpunten", slug: "demo" };
const CLIENT = { name: "Demo CPO", client_id: "demo-cpo" };

/** Makes them as an operator would, where they are missing; what an operator changed since stays. */
export async function ensureDemo(admin_url: string, client_secret: string): Promise<Demo> {
  const client = new pg.Client({ connectionString: admin_url });
  await client.connect();
  const secret_hash = createHash("sha256").update(client_secret).digest("hex");
  const make = (name: string, input: object) =>
    client.query(`select ops.${name}($1)`, [{ operator: "npm start", ...input }]);
  try {
    const { rows } = await client.query(
      `select exists (select from core.partners where slug = $1) as partner,
              exists (select from core.oauth_clients where client_id = $2) as client`,
      [PARTNER.slug, CLIENT.client_id],
    );
    if (!rows[0].partner) await make("partner_create", PARTNER);
    if (!rows[0].client) await make("client_create", { ...CLIENT, partner: PARTNER.slug, secret_hash });
  } finally {
    await client.end();
  }
  return { cpo: { client_id: CLIENT.client_id, client_secret } };
}
