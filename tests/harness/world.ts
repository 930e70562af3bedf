// A small, named world for tests: two partners with a CPO client each, an environment on a database of its own, and a client that
// fails the test when an answer does not fit what its endpoint declares.

import { generateKeyPairSync, randomBytes } from "node:crypto";
import { expect } from "vitest";
import type * as z from "zod";
import { hashSecret, issueClientToken, issueUserToken, newSecret } from "#shared/auth/tokens.ts";
import { connect } from "#shared/foundation/db.ts";
import { type Environment, readConfiguration } from "#shared/foundation/environment.ts";
import { ERRORS, type ErrorCode, wireText } from "#shared/foundation/errors.ts";
import type { LogLine } from "#shared/foundation/log.ts";
import { type Endpoint, errorsOf } from "#shared/http/endpoint.ts";
import { functionFor } from "#shared/http/routes.ts";
import { pathsOf, type Surface, serve } from "#shared/http/surface.ts";
import { CPO_SCOPES, USER_SCOPES } from "#shared/values/scopes.ts";
import { surface as cpo } from "../../supabase/functions/cpo-v1/app.ts";
import { surface as oauthAuthorize } from "../../supabase/functions/oauth-authorize/app.ts";
import { surface as oauthRevoke } from "../../supabase/functions/oauth-revoke/app.ts";
import { surface as oauthToken } from "../../supabase/functions/oauth-token/app.ts";
import { surface as partner } from "../../supabase/functions/partner/app.ts";
import { surface as personal } from "../../supabase/functions/personal/app.ts";
import { surface as sandbox } from "../../supabase/functions/sandbox/app.ts";
import { surface as worker } from "../../supabase/functions/worker/app.ts";
import { cloneDatabase, type Database, freezeClock } from "./database.ts";

export const SURFACES: readonly Surface[] = [oauthToken, oauthAuthorize, oauthRevoke, cpo, partner, sandbox, personal];
/** With what integrators never see. */
export const SERVED: readonly Surface[] = [...SURFACES, worker];
export const BASE_URL = "http://api.test";

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

export type Sent = {
  method?: "GET" | "POST" | "DELETE";
  token?: string;
  body?: unknown;
  headers?: Record<string, string>;
  raw?: BodyInit;
};
// biome-ignore lint/suspicious/noExplicitAny: a test reads an answer it has just checked against its schema
export type Answer = { status: number; headers: Headers; body: any };

export type World = {
  database: Database;
  environment: Environment;
  log: LogLine[];
  partnerA: Partner;
  partnerB: Partner;
  /** Sends a request to whichever function answers the path, and checks the answer against its declaration. */
  send: (path: string, sent?: Sent) => Promise<Answer>;
  post: (path: string, body: unknown, token?: string) => Promise<Answer>;
  get: (path: string, token?: string) => Promise<Answer>;
  addClient: (
    partner: string | null,
    fields?: { scopes?: string[]; grant_types?: string[]; return_url?: string },
  ) => Promise<Client>;
  addPartner: (slug?: string) => Promise<Partner>;
  addUser: (name?: string) => Promise<User>;
  /** Stops both clocks, TypeScript's and SQL's. */
  freeze: (moment: string) => Promise<void>;
  /** One row, or undefined. */
  // biome-ignore lint/suspicious/noExplicitAny: a test names the columns it selects
  row: (statement: string, ...values: unknown[]) => Promise<any>;
  close: () => Promise<void>;
};

/** What a personal token may carry: everything but partners:*. */
export const PERSONAL_SCOPES = Object.keys(USER_SCOPES).filter((scope) => !scope.startsWith("partners:"));

export function newTokenKey(kid: string): Record<string, unknown> {
  return { ...generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }), kid };
}

export function variables(overrides: Record<string, string> = {}): Record<string, string> {
  return {
    API_HOST: "sandbox",
    BASE_URL,
    AUTH_URL: BASE_URL,
    PAGES_URL: `${BASE_URL}/pages`,
    EDGE_DATABASE_URL: "postgresql://unused",
    SUPABASE_URL: BASE_URL,
    TOKEN_KEYS: JSON.stringify({ keys: [newTokenKey("test")] }),
    IBAN_KEYS: JSON.stringify({ current: "test", keys: { test: randomBytes(32).toString("base64") } }),
    WORKER_SECRET: randomBytes(32).toString("hex"),
    ...overrides,
  };
}

export async function createWorld(overrides: Record<string, string> = {}): Promise<World> {
  const database = await cloneDatabase();
  const log: LogLine[] = [];
  let frozen: Date | undefined;
  const environment: Environment = {
    config: readConfiguration(variables({ EDGE_DATABASE_URL: database.url("edge"), ...overrides })),
    db: connect(database.url("edge"), 12),
    now: () => frozen ?? new Date(),
    log: (line) => log.push(line),
  };
  const functions = new Map(SERVED.map((surface) => [surface.slug, serve(surface, environment)]));

  const row: World["row"] = async (statement, ...values) => (await database.admin.query(statement, values)).rows[0];

  const addClient: World["addClient"] = async (partner, fields = {}) => {
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
      token: (scope = scopes.join(" ")) => issueClientToken(environment, client_id, scope),
    };
  };
  const addPartner: World["addPartner"] = async (slug = `partner-${randomBytes(6).toString("hex")}`) => {
    const { id } = await row("insert into core.partners (name, slug) values ($1, $1) returning id", slug);
    return { id, client: await addClient(id, { return_url: `https://${slug}.example/klaar` }) };
  };

  const addUser: World["addUser"] = async (name = "Sanne de Vries") => {
    const email = `${randomBytes(6).toString("hex")}@example.nl`;
    const { id } = await row(
      `insert into auth.users (id, email, raw_user_meta_data) values (gen_random_uuid(), $1, jsonb_build_object('full_name', $2::text)) returning id`,
      email,
      name,
    );
    const owned = await row(
      `with account as (
         insert into core.accounts (partner_id, user_id, access_channel, type, payout_handler)
         values (private.house(), $1, 'user', 'particulier', 'service_pays_customer') returning partner_id, id),
       location as (
         insert into core.locations (partner_id, postal_code, house_number) select partner_id, '3818LH', 8 from account
         on conflict on constraint locations_address_key do update set house_number = excluded.house_number returning partner_id, id)
       insert into core.connections (partner_id, account_id, location_id, ean_code, ean_validation_status)
       select a.partner_id, a.id, l.id, $2, 'matched' from account a, location l returning account_id, id as connection_id`,
      id,
      newEan(),
    );
    const granted = (scopes: string[]) => (scopes.length > 0 ? scopes : PERSONAL_SCOPES);
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
        return issueUserToken(environment, { userId: id, clientId: app.client_id, scope, grantId: grant.id });
      },
    };
  };

  const send: World["send"] = async (path, { method, token, body, headers = {}, raw } = {}) => {
    const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const verb = method ?? (payload === undefined ? "GET" : "POST");
    const url = new URL(path, BASE_URL);
    const slug = functionFor(url.pathname) ?? "cpo-v1";
    const request = new Request(url, {
      method: verb,
      ...(payload === undefined ? {} : { body: payload }),
      headers: {
        ...(payload === undefined ? {} : { "content-type": "application/json" }),
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        "x-forwarded-for": "192.0.2.1",
        ...headers,
      },
    });
    const served = functions.get(slug);
    if (!served) throw new Error(`no function ${slug} in the test world`);
    const response = await served.fetch(request);
    const answer: Answer = {
      status: response.status,
      headers: response.headers,
      body: await response.json().catch(() => undefined),
    };
    checkAnswer(verb, url.pathname, answer);
    return answer;
  };

  return {
    database,
    environment,
    log,
    partnerA: await addPartner("partner-a"),
    partnerB: await addPartner("partner-b"),
    send,
    post: (path, body, token) => send(path, { body, ...(token ? { token } : {}) }),
    get: (path, token) => send(path, token ? { token } : {}),
    addClient,
    addPartner,
    addUser,
    async freeze(moment) {
      frozen = new Date(moment);
      await freezeClock(database.admin, moment);
    },
    row,
    async close() {
      await environment.db.end();
      await database.drop();
    },
  };
}

function checkAnswer(method: string, path: string, answer: Answer): void {
  expect(answer.headers.get("x-request-id"), "every answer carries X-Request-Id").toMatch(/^[0-9a-f-]{36}$/);
  expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  const endpoint = endpointAt(method, path);
  if (answer.status < 400) {
    expect(endpoint, `${method} ${path} succeeded without being declared`).toBeDefined();
    if (endpoint)
      expect(answer.body, `${endpoint.id} answers what it declares, and no more`).toEqual(
        strictly(endpoint.response, answer.body),
      );
    return;
  }
  const codes: ErrorCode[] = endpoint ? [...errorsOf(endpoint)] : ["not_found"];
  const matching = codes.filter(
    (code) => wireText(code, answer.body) === answer.body?.error && ERRORS[code].status === answer.status,
  );
  expect(
    matching,
    `${method} ${path} answered ${answer.status} ${answer.body?.error}, which it does not declare`,
  ).not.toEqual([]);
  expect(answer.body.request_id).toBe(answer.headers.get("x-request-id"));
  expect(answer.body.detail ?? answer.body.error_description, "every error says what to do").toBeTypeOf("string");
}

function endpointAt(method: string, path: string): Endpoint | undefined {
  const sent = path.replace(/%3A/gi, ":");
  for (const surface of SERVED) {
    for (const endpoint of surface.endpoints) {
      const fits = (declared: string) =>
        new RegExp(`^${declared.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`).test(sent);
      if (endpoint.method === method && pathsOf(surface, endpoint).some(fits)) return endpoint;
    }
  }
  return undefined;
}

/** The answer as its schema sees it: unknown keys are dropped, so a difference is something undeclared. */
function strictly(schema: z.ZodType, body: unknown): unknown {
  const result = schema.safeParse(body);
  return result.success ? result.data : { "does not fit": result.error.issues };
}

// What the main job needs, step by step ------------------------------------------------------------------------------

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

/** Signs the mandate of a connection the way the page does: link, code from the captured mail, signature. */
export async function signMandate(
  world: World,
  account_id: string,
  partner = world.partnerA,
  validity_years = 1,
): Promise<void> {
  const link = await world.post("/v1/mandate-links", { account_id, validity_years }, await partner.client.token());
  expect(link.status, JSON.stringify(link.body)).toBe(200);
  const token_hash = hashSecret(link.body.mandate_link.split("/").pop());
  const code_hash = hashSecret(token_hash);
  const caller = { kind: "anyone", host: world.environment.config.API_HOST, request_id: "test" };
  const db = world.environment.db;
  const { facts } = JSON.parse(
    await db.call("open_mandate_link", caller, { token_hash, address_hash: randomBytes(8).toString("hex") }),
  );
  const mail = { template: "test", locale: "nl", subject: "test", html: "test", text: "test", links: [] };
  await db.call("send_mandate_code", caller, { token_hash, code_hash, mail });
  const signed = await db.call("sign_mandate", caller, {
    token_hash,
    facts,
    signed_name: facts.full_name,
    code_hash,
    document: "test",
    document_sha256: hashSecret("test"),
    address: "192.0.2.1",
    user_agent: "test",
    mail,
  });
  expect(JSON.parse(signed)).toEqual({ outcome: "signed" });
}

/** A charger model with a MID meter that the resolver knows. */
export const MID_CHARGER = { ocpp_vendor: "Alfen BV", ocpp_model: "NG910-60023" };

/** For tests about something else: no client of this world meets its rate limit. */
export async function liftRateLimits(world: World): Promise<void> {
  await world.row("update core.rate_limits set quota = 1000000");
}

/** The api functions that were run meanwhile, in order: one statement, one round trip each. */
export async function statementsOf(world: World, run: () => Promise<unknown>): Promise<string[]> {
  const { db } = world.environment;
  const names: string[] = [];
  world.environment.db = {
    ...db,
    call(name, ...args) {
      names.push(name);
      return db.call(name, ...args);
    },
  };
  await run().finally(() => {
    world.environment.db = db;
  });
  return names;
}

/** How many rows of each table there are: equal before and after says that nothing was stored. */
export async function rowCounts(world: World, ...tables: string[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of tables) {
    counts[table] = (await world.row(`select count(*)::int as n from core.${table}`)).n;
  }
  return counts;
}

// What a person has, beside their account -----------------------------------------------------------------------------

/** A charger of a person on their connection, 11 kW and MID unless told. */
export async function addCharger(
  world: World,
  user: User,
  fields: { nickname?: string; mid_eligible?: boolean | null; power_kw?: number; connection_id?: string | null } = {},
): Promise<string> {
  const { nickname = "Oprit", mid_eligible = true, power_kw = 11, connection_id = user.connection_id } = fields;
  const { id } = await world.row(
    `insert into core.chargers (partner_id, account_id, connection_id, user_id, nickname, connection_type, power_kw, mid_eligible)
     values (private.house(), $1, $2, $3, $4, 'ocpp', $5, $6) returning id`,
    user.account_id,
    connection_id,
    user.id,
    nickname,
    power_kw,
    mid_eligible,
  );
  return id;
}

/** A signed mandate on a person's connection, by its row: the signing page has tests of its own. */
export async function giveMandate(world: World, user: User, from = "2026-01-01", until = "2026-12-31"): Promise<void> {
  await world.row(
    `with link as (
       insert into core.mandate_links (partner_id, connection_id, token_hash, locale, validity_years, expires_at, used_at)
       values (private.house(), $1, sha256(gen_random_uuid()::text::bytea), 'nl', 1, private.now(), private.now()) returning partner_id, id)
     insert into core.mandates (partner_id, connection_id, link_id, status, valid_from, valid_until, signed_name, signed_at, document, document_sha256)
     select partner_id, $1, id, 'signed', $2, $3, 'Sanne de Vries', private.now(), 'test', 'test' from link`,
    user.connection_id,
    from,
    until,
  );
}

export type SessionItem = {
  charger_id: string;
  external_id: string;
  started_at: string;
  ended_at?: string | null;
  wh: number;
  source?: string;
  connector?: number;
  status?: string;
  meter_wh?: number;
};
export type Ingested = { status: string; reason?: string; session_id?: string; flags?: string[] };

/** Brings sessions in as the gateway does, and gives the result of each. */
export async function ingest(world: World, ...sessions: SessionItem[]): Promise<Ingested[]> {
  const items = sessions.map((session) => ({ source: "ocpp", ...session }));
  const answer = await world.post("/worker/sessions", { sessions: items }, world.environment.config.WORKER_SECRET);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.results;
}
