// Whom a world has in it: partners with a CPO client, people with a login, and the accounts that partners create.

import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { hashSecret, issueClientToken, issueUserToken, newSecret } from "#shared/auth/tokens.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { CPO_SCOPES, PERSONAL_SCOPES } from "#shared/values/scopes.ts";
import type { World } from "./world.ts";

export type Client = {
  id: string;
  client_id: string;
  secret: string;
  /** An access token with these scopes, all of the client's unless told. */
  token: (scope?: string) => Promise<string>;
};
export type Partner = { id: string; client: Client };
/** A person with a login, an account and a connection; nothing is signed yet. */
export type User = {
  id: string;
  email: string;
  account_id: string;
  connection_id: string;
  /** A personal token with these scopes, all that one may carry unless told. */
  token: (...scopes: string[]) => Promise<string>;
  /** An access token of an application the person allowed these scopes. */
  appToken: (...scopes: string[]) => Promise<string>;
};

export type People = {
  addClient: (
    partner: string | null,
    fields?: { scopes?: string[]; grant_types?: string[]; return_url?: string },
  ) => Promise<Client>;
  addPartner: (slug?: string) => Promise<Partner>;
  addUser: (name?: string) => Promise<User>;
};

export function people(environment: Environment, row: World["row"]): People {
  const addClient: People["addClient"] = async (partner, fields = {}) => {
    const { scopes = Object.keys(CPO_SCOPES), grant_types = ["client_credentials"], return_url = null } = fields;
    const secret = newSecret();
    const { id, client_id } = await row(
      `insert into core.oauth_clients (client_id, partner_id, name, secret_hash, scopes, grant_types, return_url)
       values ($1, $2, 'Test client', decode($3, 'hex'), $4, $5, $6) returning id, client_id`,
      `cpo_${randomBytes(6).toString("hex")}`,
      partner,
      hashSecret(secret),
      scopes,
      grant_types,
      return_url,
    );
    return {
      id,
      client_id,
      secret,
      token: (scope = scopes.join(" ")) =>
        issueClientToken(environment, { clientId: client_id, scope, secretNumber: 1 }),
    };
  };
  const addPartner: People["addPartner"] = async (slug = `partner-${randomBytes(6).toString("hex")}`) => {
    const { id } = await row("insert into core.partners (name, slug) values ($1, $1) returning id", slug);
    return { id, client: await addClient(id, { return_url: `https://${slug}.example/klaar` }) };
  };

  const addUser: People["addUser"] = async (name = "Sanne de Vries") => {
    const email = `${randomBytes(6).toString("hex")}@example.nl`;
    const { id } = await row(
      `insert into auth.users (id, email, raw_user_meta_data) values (gen_random_uuid(), $1, jsonb_build_object('full_name', $2::text)) returning id`,
      email,
      name,
    );
    const owned = await row(
      `with account as (
         insert into core.accounts (partner_id, user_id, access_channel, type, payout_handler)
         values (private.people_tenant(), $1, 'user', 'particulier', 'service_pays_customer') returning partner_id, id, owner_id),
       location as (
         insert into core.locations (partner_id, postal_code, house_number) select partner_id, '3818LH', 8 from account
         on conflict on constraint locations_address_key do update set house_number = excluded.house_number returning partner_id, id)
       insert into core.connections (partner_id, account_id, owner_id, location_id, ean_code, ean_validation_status)
       select a.partner_id, a.id, a.owner_id, l.id, $2, 'matched' from account a, location l returning account_id, id as connection_id`,
      id,
      newEan(),
    );
    const granted = (scopes: string[]): string[] => (scopes.length > 0 ? scopes : [...PERSONAL_SCOPES]);
    return {
      id,
      email,
      ...owned,
      async token(...scopes) {
        const token = `${environment.config.KEY_PREFIX}_pat_${newSecret()}`;
        await row(
          `insert into core.personal_tokens (user_id, name, token_hash, last4, scopes) values ($1, 'Test', decode($2, 'hex'), $3, $4)`,
          id,
          hashSecret(token),
          token.slice(-4),
          granted(scopes),
        );
        return token;
      },
      async appToken(...scopes) {
        const app = await addClient(null, { scopes: granted(scopes), grant_types: ["authorization_code"] });
        const grant = await row(
          "insert into core.oauth_grants (user_id, client_id, scopes) values ($1, $2, $3) returning id",
          id,
          app.id,
          granted(scopes),
        );
        const scope = granted(scopes).join(" ");
        return issueUserToken(environment, {
          userId: id,
          clientId: app.client_id,
          scope,
          grantId: grant.id,
          secretNumber: 1,
        });
      },
    };
  };

  return { addClient, addPartner, addUser };
}

let counter = 0;
/** An EAN that no other test uses; on the sandbox any but the six test values is matched. */
export function newEan(): string {
  counter += 1;
  return `8716871${String(process.pid % 100_000).padStart(5, "0")}${String(counter).padStart(6, "0")}`;
}

export function accountBody(fields: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    cpo_external_ref: `KL-${randomBytes(5).toString("hex")}`,
    iban: "NL91ABNA0417164300",
    person: { full_name: "Sanne de Vries", email: "sanne@example.nl", phone: "0612345678" },
    connection: { ean_code: newEan(), postal_code: "3818 LH", house_number: "8" },
    ...fields,
  };
}

/** Creates an account and says what came back. */
export async function createAccount(world: World, partner = world.partnerA, fields: Record<string, unknown> = {}) {
  const answer = await world.post("/v1/accounts", accountBody(fields), await partner.client.token());
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body as {
    account_id: string;
    connection_id: string;
    location_id: string;
    account: { cpo_external_ref: string };
  };
}
