// Every request and answer, and every error, as a world gives them: the examples of openapi.json.

import { vi } from "vitest";
import { connect } from "#shared/foundation/db.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { ERRORS, type ErrorCode, wireText } from "#shared/foundation/errors.ts";
import { BODY_MS } from "#shared/http/body.ts";
import { isFile } from "#shared/http/endpoint.ts";
import { functionFor } from "#shared/http/routes.ts";
import { type Routed, serve } from "#shared/http/serve.ts";
import { type Examples, exampleName } from "../../packages/tools/src/openapi.ts";
import { type Answer, ENDPOINTS_OF, SURFACES } from "../harness/answers.ts";
import { MID_CHARGER } from "../harness/chargers.ts";
import { addConnection } from "../harness/connections.ts";
import { BASE_URL } from "../harness/environment.ts";
import { signMandate } from "../harness/mandate.ts";
import { accountBody, createAccount, newEan } from "../harness/people.ts";
import type { Sent } from "../harness/world.ts";
import { authorizationOf, newVerifier, type OAuth } from "../oauth/oauth_world.ts";
import { draftRow, giveKey } from "../partner/partner_world.ts";
import { placeholders } from "./placeholders.ts";
import { type Sample, samplesFor, sent } from "./samples.ts";

const DESCRIBED: readonly Routed[] = SURFACES.flatMap(({ slug }) => ENDPOINTS_OF.get(slug) ?? []);
const endpointOf = (id: string): Routed => {
  const found = DESCRIBED.find((endpoint) => endpoint.id === id);
  if (!found) throw new Error(`no endpoint ${id}`);
  return found;
};
const surfaceAt = (path: string) => {
  const surface = SURFACES.find(({ slug }) => slug === functionFor(path.split("?")[0] ?? path));
  if (!surface) throw new Error(`no function answers ${path}`);
  return surface;
};

/** When they are recorded: a moment at which no virtual charger of the sandbox is about to end a session, so that the sums are always the same. */
const MOMENT = "2026-11-20T17:00:00Z";

/** The world with a clock that goes on a second a request: what is listed newest first has one order. */
function ticking(world: OAuth): OAuth {
  let seconds = 0;
  const send: OAuth["send"] = async (...request) => {
    seconds += 1;
    await world.freeze(new Date(Date.parse(MOMENT) + seconds * 1000).toISOString());
    return world.send(...request);
  };
  return {
    ...world,
    send,
    post: (path, body, token) => send(path, { body, ...(token ? { token } : {}) }),
    get: (path, token) => send(path, token ? { token } : {}),
  };
}

/** Records them all; a world is of no further use after it. */
export async function recordExamples(given: OAuth): Promise<Examples> {
  const world = ticking(given);
  await world.freeze(MOMENT);
  const sample = await samplesFor(world);
  const errors: Record<string, unknown> = {};

  const note = (code: ErrorCode, path: string, { status, body }: Pick<Answer, "status" | "body">) => {
    if (status !== ERRORS[code].status || body.error !== wireText(code, body))
      throw new Error(`${path}: ${code} was to be answered, not ${status} ${JSON.stringify(body)}`);
    errors[exampleName(surfaceAt(path), code)] = body;
  };
  const refuse = async (code: ErrorCode, path: string, request: Sent = {}) =>
    note(code, path, await world.send(path, request));
  /** The sample of an endpoint, with what is told changed. */
  const refuseSample = (code: ErrorCode, id: string, changes: Sent & { path?: string } = {}) => {
    const good = sample(endpointOf(id));
    const { path = good.path, ...rest } = changes;
    return refuse(code, path, { ...sent(good), ...rest });
  };

  const operations: Examples["operations"] = {};
  for (const endpoint of DESCRIBED) operations[endpoint.id] = await operationOf(endpoint, sample(endpoint), world);

  await refuseRequests(world, sample, refuse, refuseSample);
  // after what its clock would change, and before the world is broken
  for (const endpoint of DESCRIBED)
    if (endpoint.accepts && !isFile(endpoint))
      Object.assign(operations[endpoint.id] ?? {}, { form: await formOf(endpoint, sample(endpoint), world) });
  await refuseLate(world, sample, note);
  await failInside(world, sample, note);
  const named = Object.entries(errors).sort(([one], [other]) => (one < other ? -1 : 1));
  const fixed = <T>(examples: [string, T][]): Record<string, T> =>
    Object.fromEntries(examples.map(([name, value]) => [name, placeholders(world.url, name)(value) as T]));
  return { operations: fixed(Object.entries(operations)), errors: fixed(named) };
}

async function operationOf(endpoint: Routed, good: Sample, world: OAuth): Promise<Examples["operations"][string]> {
  const { status, body } = await world.send(good.path, sent(good));
  if (status !== (endpoint.status ?? 200)) throw new Error(`${endpoint.id}: ${status} ${JSON.stringify(body)}`);
  const { pathname, searchParams } = new URL(good.path, BASE_URL);
  const shape = new RegExp(`^${endpoint.path.replaceAll(".", "\\.").replace(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`);
  const path = { ...shape.exec(pathname)?.groups };
  const query = Object.fromEntries(searchParams);
  return {
    ...(Object.keys(path).length > 0 ? { path } : {}),
    ...(Object.keys(query).length > 0 ? { query } : {}),
    ...(good.body ? { body: good.body } : {}),
    // what is no text has no example
    ...(endpoint.produces === "application/pdf" ? {} : { answer: body }),
  };
}

/** The fields of the same request as a form, which the endpoint takes as well; of a multipart one the CSV is a file. */
async function formOf(endpoint: Routed, { body: json, ...good }: Sample, world: OAuth): Promise<object> {
  const body = typeof json === "object" ? json : {};
  const multipart = endpoint.accepts?.includes("multipart");
  const { csv, ...others } = body;
  const fields = multipart ? { file: csv, ...others } : body;
  const form = multipart ? new FormData() : new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) form.append(name, String(value));
  if (form instanceof FormData) form.set("file", new File([String(csv)], "customers.csv", { type: "text/csv" }));
  const encoded = new Response(form);
  const headers = { "content-type": encoded.headers.get("content-type") ?? "" };
  const answer = await world.send(good.path, { ...sent(good), headers, raw: await encoded.text() });
  if (answer.status !== 200) throw new Error(`${endpoint.id} as a form: ${JSON.stringify(answer.body)}`);
  return fields;
}

type Refuse = (code: ErrorCode, path: string, request?: Sent) => Promise<void>;
type RefuseSample = (code: ErrorCode, id: string, changes?: Sent & { path?: string }) => Promise<void>;

/** What a client does wrong, one mistake at a time. */
async function refuseRequests(
  world: OAuth,
  sample: (endpoint: Routed) => Sample,
  refuse: Refuse,
  refuseSample: RefuseSample,
) {
  const tooLarge = { raw: `{"x":"${"x".repeat(1024 * 1024)}"}` };
  const client = await world.addClient(world.partnerA.id);
  const token = await client.token();
  const person = await world.addUser();
  const [appToken, session] = [await person.appToken(), await world.signSession({ sub: person.id })];
  const nobody = "5f0b7c1e-3d2a-4c58-9a41-0d6c2f7e8b90";

  // credentials
  await refuse("missing_or_invalid_token", "/v1/accounts");
  await refuse("cpo_token_required", "/v1/accounts", { token: appToken });
  await refuse("client_not_linked", "/v1/accounts", { token: await (await world.addClient(null)).token() });
  await refuse("insufficient_scope", "/v1/accounts", { token: await client.token("cpo:sessions:write") });
  await refuse("no_partner_linked", "/partner/me", { token: await person.appToken("partners:read") });
  const key = { token: await giveKey(world, (await world.addPartner()).id) };
  await refuseSample("partner_api_key_scope", "createToken", key);

  // bodies
  await refuseSample("invalid_json", "createAccount", { raw: '{"person": ' });
  await refuseSample("invalid_request", "createAccount", {
    body: accountBody({ person: { full_name: "S", email: "sanne" } }),
  });
  await refuseSample("payload_too_large", "createAccount", tooLarge);

  // the CPO API
  await refuseSample("invalid_iban", "createAccount", { body: accountBody({ iban: "NL91" }) });
  const at = (ean_code: string) => ({ ean_code, postal_code: "3818 LH", house_number: "8" });
  await refuseSample("ean_in_use", "createAccount", { body: accountBody({ connection: at("871687000000000054") }) });
  await refuseSample("ean_address_mismatch", "createAccount", {
    body: accountBody({ connection: at("871687000000000030") }),
  });
  const { account_id, connection_id } = await createAccount(world, { ...world.partnerA, client });
  const as = { token };
  await refuse("account_not_found", "/v1/mandate-links", { ...as, body: { account_id: nobody } });
  await refuse("connection_not_found", "/v1/connections:update", {
    ...as,
    body: { connection_id: nobody, connection: { ean_code: newEan() } },
  });
  await refuse("mandate_not_found", `/v1/connections/${connection_id}/mandate`, as);
  await refuse("return_url_not_allowed", "/v1/mandate-links", {
    ...as,
    body: { account_id, return_url: "https://elsewhere.example/" },
  });
  await refuse("vendor_and_model_required", "/v1/catalog/chargers/resolve?vendor=Alfen+BV", as);
  await refuse("catalog_unresolved", "/v1/chargers", {
    ...as,
    body: { account_id, ocpp_vendor: "Alfen BV", ocpp_model: "unknown" },
  });
  const add = (serial_number?: string, account = account_id) =>
    world.post(
      "/v1/chargers",
      { account_id: account, ...MID_CHARGER, ...(serial_number ? { serial_number } : {}) },
      token,
    );
  await add("SN-1");
  await refuse("serial_number_required", "/v1/chargers", { ...as, body: { account_id, ...MID_CHARGER } });
  const { account_id: other } = await createAccount(world, { ...world.partnerA, client });
  await refuse("charger_claimed", "/v1/chargers", {
    ...as,
    body: { account_id: other, ...MID_CHARGER, serial_number: "SN-1" },
  });
  for (let number = 2; number <= 10; number += 1) await add(`SN-${number}`);
  await refuse("charger_limit_reached", "/v1/chargers", {
    ...as,
    body: { account_id, ...MID_CHARGER, serial_number: "SN-11" },
  });
  const { account_id: silent } = await createAccount(
    world,
    { ...world.partnerA, client },
    { person: { full_name: "Sanne de Vries" } },
  );
  await refuse("signatory_email_missing", "/v1/mandate-links", {
    ...as,
    body: { account_id: silent, send_email: true },
  });
  const nameless = await createAccount(world, { ...world.partnerA, client }, { type: "vve" });
  await refuse("company_required", "/v1/mandate-links", { ...as, body: { account_id: nameless.account_id } });
  const second = await addConnection(world, other);
  await refuse("ambiguous_connection", "/v1/mandate-links", { ...as, body: { account_id: other } });
  await signMandate(world, account_id, { ...world.partnerA, client });
  await refuse("mandate_already_signed", "/v1/mandate-links", { ...as, body: { account_id } });
  await refuse("account_signed", "/v1/accounts:update", {
    ...as,
    body: { account_id, person: { full_name: "Sanne Jansen" } },
  });
  await refuse("document_not_ready", `/v1/connections/${connection_id}/mandate`, as);
  await refuse("mandate_acknowledgement_required", "/v1/connections:update", {
    ...as,
    body: { account_id, connection: { ean_code: newEan() } },
  });
  await world.row("update core.connections set status = 'archived' where account_id = $1 and id <> $2", other, second);
  await world.row("update core.connections set status = 'archived' where id = $1", second);
  await refuse("no_connection", "/v1/sessions:batch", {
    ...as,
    body: { account_id: other, months: [{ period: "2026-01", total_kwh: 312.5 }] },
  });
  await refuse("charger_not_found", "/v1/chargers:update", { ...as, body: { charger_id: nobody } });
  const idOf = async (serial: string): Promise<string> =>
    (await world.row("select id from core.chargers where account_id = $1 and serial_number = $2", account_id, serial))
      .id;
  await world.post("/v1/chargers:update", { charger_id: await idOf("SN-1"), external_ref: "PAAL-1" }, token);
  await refuse("name_taken", "/v1/chargers:update", {
    ...as,
    body: { charger_id: await idOf("SN-2"), external_ref: "PAAL-1" },
  });
  const once = { session_id: "A-1", kwh: 5, started_at: "2026-03-01T10:00:00Z", ended_at: "2026-03-01T11:00:00Z" };
  await world.post("/v1/charging-sessions", { sessions: [{ ...once, external_ref: "PAAL-1" }] }, token);
  await refuse("name_in_use", "/v1/chargers:update", {
    ...as,
    body: { charger_id: await idOf("SN-1"), external_ref: null, from: "2026-02-01T00:00:00Z" },
  });
  const sessions = [
    { ...once, serial_number: "SN-1" },
    { ...once, serial_number: "SN-2" },
  ];
  await world.post("/v1/charging-sessions", { sessions }, token);
  await refuse("ambiguous_session", "/v1/charging-sessions:withdraw", { ...as, body: { session_ids: ["A-1"] } });
  await refuse("charging_session_not_found", `/v1/charging-sessions/${nobody}`, as);
  await refuse("upload_not_found", `/v1/uploads/${nobody}`, as);
  const upload = (raw: BodyInit) => ({ ...as, method: "POST" as const, raw });
  await refuse("file_type", "/v1/uploads", upload("<html></html>"));
  await refuse("unreadable_file", "/v1/uploads", upload("klantnummer;maand;kWh\n"));
  await refuse("unknown_columns", "/v1/uploads", upload("naam;bedrag\nSanne;5\n"));
  const headings = "laadpaal;start;eind;";
  const day = "P;10-03-2026 18:00;10-03-2026 20:00;";
  await refuse("ambiguous_columns", "/v1/uploads", upload(`${headings}energie (kWh);volume (kWh)\n${day}7,5;8\n`));
  await refuse("ambiguous_units", "/v1/uploads", upload(`${headings}energie (kWh)\n${day}7500 Wh\n`));
  await refuse(
    "ambiguous_dates",
    "/v1/uploads",
    upload("charger,start,end,kWh\nP,3/4/2026 18:00,3/4/2026 20:00,7.5\n"),
  );
  await refuse("unknown_zone", "/v1/uploads", upload(`${headings}tijdzone;kWh\n${day}PST;7,5\n`));
  await refuse("ambiguous_decimals", "/v1/uploads", upload("klantnummer;maand;kWh\nKL-1;2026-03;1.234\n"));
  await world.row(
    `insert into core.parked_charging (partner_id, owner_id, source, known_as, names, item, reason)
     select $1, $2, 'api', n::text, '{evse_uid:X}', '{}', 'unknown_charger' from generate_series(1, 200000) n`,
    world.partnerA.id,
    client.id,
  );
  await refuse("parked_limit", "/v1/charging-sessions", {
    ...as,
    body: { sessions: [{ ...once, external_ref: "PAAL-99" }] },
  });
  await refuse("event_not_found", `/v1/events/${nobody}`, as);
  await refuse("settlement_not_found", `/v1/settlements/${nobody}`, as);
  await refuse("invalid_cursor", "/v1/events?after=5", as);
  const { cursor } = await world.row("select private.cursor_at($1, 0) as cursor", client.id);
  await world.row("update core.events set created_at = created_at - interval '91 days' where owner_id = $1", client.id);
  await refuse("cursor_expired", `/v1/events?after=${cursor}`, as);
  await world.limit("cpo_sessions", 1);
  await world.send("/v1/sessions:batch", { ...as, body: { account_id } });
  await refuse("too_many_requests", "/v1/sessions:batch", { ...as, body: { account_id } });
  await world.limit("cpo_sessions");

  // partners and their rehearsal
  await refuse("consent_required", "/partner/customers", { ...key, body: draftRow() });
  await refuse("draft_id_required", "/partner/drafts/withdraw", { ...key, body: {} });
  await refuse("invoice_not_found", "/partner/invoices/2026-0009", key);
  await refuse("draft_not_found", "/partner/drafts/withdraw", { ...key, body: { draft_id: nobody } });
  const rows = [draftRow(), draftRow({ type: "zakelijk", kvk: "12345678" })];
  const { body: imported } = await world.post(
    "/partner/drafts/import",
    { consent: true, send_invite: false, rows },
    key.token,
  );
  const [claimed, business] = imported.created.map(({ draft_id }: { draft_id: string }) => draft_id);
  await refuse("invalid_ean", `/sandbox/v1/drafts/${claimed}/claim`, { ...key, body: { ean: "123" } });
  await refuse("unsupported_type", `/sandbox/v1/drafts/${business}/claim`, { ...key, body: { submit: true } });
  const { body: customer } = await world.post(`/sandbox/v1/drafts/${claimed}/claim`, { submit: true }, key.token);
  await refuse("draft_active", "/partner/drafts/withdraw", { ...key, body: { draft_id: claimed } });
  await refuse("draft_not_claimable", "/partner/drafts/auth-link", { ...key, body: { draft_id: claimed } });
  await refuse("customer_not_found", `/sandbox/v1/customers/${nobody}/sync`, { ...key, method: "POST" });
  const review = `/sandbox/v1/customers/${customer.account_id}/review`;
  await world.post(review, { outcome: "afgekeurd" }, key.token);
  await refuse("nothing_to_review", review, { ...key, body: { outcome: "goedgekeurd" } });
  await refuseSample("mandate_not_signed", "expireSandboxMandate");
  await refuse("nothing_to_settle", "/sandbox/v1/settle", { ...key, body: { quarter: "2026-Q1" } });
  const { quarter } = sample(endpointOf("settleSandboxQuarter")).body as { quarter: string };
  await refuseSample("already_settled", "settleSandboxQuarter", {
    body: { quarter, reject: [`${quarter.slice(0, 4)}-01`] },
  });
  await refuse("unknown_state", "/sandbox/v1/fixtures", { ...key, body: { states: ["sleepy"] } });
  const mint = sample(endpointOf("mintPartnerApiKey"));
  await world.send(mint.path, sent(mint));
  await refuseSample("api_key_exists", "mintPartnerApiKey", { body: {} });

  const webhook = sample(endpointOf("createWebhook"));
  await refuseSample("url_not_allowed", "createWebhook", { body: { url: "https://127.0.0.1/events" } });
  await refuse("webhook_not_found", `/partner/webhooks/${nobody}/revoke`, { ...sent(webhook), method: "POST" });
  const { body: disabled } = await world.send(webhook.path, sent(webhook));
  await world.send(`/partner/webhooks/${disabled.id}/disable`, { ...sent(webhook), body: undefined });
  await refuse("endpoint_disabled", `/partner/webhooks/${disabled.id}/test`, { ...sent(webhook), body: undefined });
  for (let n = 0; n < 10; n++) await world.send(webhook.path, sent(webhook));
  await refuseSample("endpoint_limit", "createWebhook", {});

  // a person's own data
  await refuse("connection_type_required", "/chargers", { token: appToken, body: { nickname: "Oprit" } });
  const named = { nickname: "Oprit", connection_type: "ocpp", ocpp_identity: "oprit-1" };
  const writing = await person.appToken("chargers:write");
  await world.post("/chargers", named, writing);
  await refuse("ocpp_identity_taken", "/chargers", { token: writing, body: named });
  const { config } = world.environment;
  const { OCPP_GATEWAY_URL, ...without } = config;
  world.environment.config = without;
  await refuse("gateway_not_configured", "/chargers", { token: writing, body: named });
  world.environment.config = config;
  await refuse("charger_not_found", `/chargers/${nobody}/ocpp-credentials`, { token: writing, method: "POST" });
  await refuse("token_not_found", `/tokens/${nobody}`, { token: session, method: "DELETE" });
  const wish = { name: "Home Assistant", scopes: ["energy:read"], expires_at: null };
  await world.row(
    "update auth.sessions set created_at = private.now() - interval '1 hour' where user_id = $1",
    person.id,
  );
  await refuse("recent_sign_in_required", "/tokens", { token: session, body: wish });
  await world.row(
    `insert into core.personal_tokens (user_id, name, token_hash, last4, scopes)
     select $1, 'Token ' || n, sha256(gen_random_uuid()::text::bytea), 'last', '{energy:read}' from generate_series(1, 50) n`,
    person.id,
  );
  await refuse("token_limit_reached", "/tokens", {
    token: session,
    body: { ...wish, expires_at: "2027-01-01T00:00:00Z" },
  });

  // OAuth
  const asking = { grant_type: "client_credentials", client_id: client.client_id, client_secret: client.secret };
  const oauth = (code: ErrorCode, body: Record<string, unknown>) => refuse(code, "/oauth-token", { body });
  await oauth("invalid_request", { ...asking, grant_type: "refresh_token" });
  await oauth("unsupported_grant_type", { ...asking, grant_type: "password" });
  await oauth("invalid_client", { ...asking, client_secret: "wrong" });
  await oauth("invalid_scope", { ...asking, scope: "everything" });
  const app = await world.app();
  const ofApp = { client_id: app.client_id, client_secret: app.client_secret };
  await oauth("unauthorized_client", { ...asking, ...ofApp });
  await oauth("invalid_grant", { ...ofApp, grant_type: "refresh_token", refresh_token: "used-before" });
  await refuse("payload_too_large", "/oauth-token", tooLarge);
  const authorization = authorizationOf(app, newVerifier());
  const fresh = { token: await world.signSession({ sub: person.id }) };
  const authorize = (code: ErrorCode, fields: Record<string, unknown>) =>
    refuse(code, "/oauth-authorize", { ...fresh, body: { ...authorization, ...fields } });
  await authorize("unsupported_response_type", { response_type: "token" });
  await authorize("invalid_redirect_uri", { redirect_uri: "https://elsewhere.example/" });
  const managing = await world.app({ scopes: ["partners:write"] });
  await refuse("recent_sign_in_required", "/oauth-authorize", {
    token: session,
    body: authorizationOf(managing, newVerifier(), { scope: "partners:write" }),
  });
  await refuse("missing_or_invalid_token", "/oauth-authorize", { body: authorization });
  await refuse("invalid_json", "/oauth-authorize", { ...fresh, raw: "{" });
  await refuse("partner_api_key_scope", "/oauth-authorize", { ...key, body: authorization });
  await world.limit("token", 1);
  await world.post("/oauth-token", asking);
  await oauth("too_many_requests", asking);
  await world.limit("token");
}

type Note = (code: ErrorCode, path: string, answer: { status: number; body: unknown }) => void;

const request = ({ method, path, body, token }: Sample, raw?: BodyInit) =>
  new Request(new URL(path, BASE_URL), {
    method,
    headers: {
      "content-type": "application/json",
      "x-forwarded-for": "192.0.2.1",
      ...(token ? { authorization: `Bearer ${token}` } : {}),
    },
    ...(raw || body ? { body: raw ?? JSON.stringify(body) } : {}),
    ...(raw ? { duplex: "half" } : {}),
  } as RequestInit);

const read = async (response: Response) => ({ status: response.status, body: await response.json() });

/** The environment where a variable is not set. */
function unsetIn({ environment }: OAuth, variable: "BASE_URL" | "AUTH_URL"): Environment {
  const config = Object.defineProperty({ ...environment.config }, variable, {
    get: () => {
      throw new Error(`${variable} is not set`);
    },
  });
  return { ...environment, config };
}

/** Bodies that never end, and a service that cannot reach its database or was not set up. */
async function refuseLate(world: OAuth, sample: (endpoint: Routed) => Sample, note: Note) {
  const closed = connect("postgresql://edge:edge@127.0.0.1:1/none");
  const down: Environment = { ...world.environment, db: closed, slowDb: closed };
  for (const id of ["createAccount", "token"]) {
    const good = sample(endpointOf(id));
    const surface = surfaceAt(good.path);
    // nobody waits for the 30 seconds, and the database's own timers stay as they are
    const { setTimeout } = globalThis;
    const timers = vi
      .spyOn(globalThis, "setTimeout")
      .mockImplementation(((run: () => void, ms?: number) =>
        setTimeout(run, ms === BODY_MS ? 0 : ms)) as typeof setTimeout);
    const endless = new ReadableStream({ pull: () => new Promise(() => {}) });
    try {
      note(
        "request_timeout",
        good.path,
        await read(await serve(surface, world.environment).fetch(request(good, endless))),
      );
    } finally {
      timers.mockRestore();
    }
    note(
      "service_unavailable",
      good.path,
      await read(await serve(surface, unsetIn(world, "BASE_URL")).fetch(request(good))),
    );
  }
  for (const id of ["listAccounts", "authorize"]) {
    const good = sample(endpointOf(id));
    note(
      "authentication_unavailable",
      good.path,
      await read(await serve(surfaceAt(good.path), down).fetch(request(good))),
    );
  }
  await closed.end();
}

/** The failure of each kind, where SQL breaks a constraint; and of the endpoint that runs none, without its configuration. */
async function failInside(world: OAuth, sample: (endpoint: Routed) => Sample, note: Note) {
  await world.database.admin.query(
    "alter table core.partners disable row level security; grant insert on core.partners to api_owner",
  );
  const metadata = endpointOf("authorizationServerMetadata");
  const unset = unsetIn(world, "AUTH_URL");
  for (const endpoint of DESCRIBED.filter(({ sql }) => sql.length > 0)) {
    for (const name of endpoint.sql) {
      const { args } = await world.row("select pg_get_function_arguments(('api.' || $1)::regproc) as args", name);
      await world.database.admin.query(
        `create or replace function api.${name}(${args}) returns json language plpgsql security definer as $$
         begin insert into core.partners (name, slug) values ('x', 'not a slug'); return null; end $$`,
      );
    }
    const good = sample(endpoint);
    note(endpoint.failure, good.path, await world.send(good.path, sent(good)));
  }
  const failed = await serve(surfaceAt(metadata.path), unset).fetch(request(sample(metadata)));
  note(metadata.failure, metadata.path, await read(failed));
}
