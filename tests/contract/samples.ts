// One good request for each endpoint, so that a test derived from the endpoint list can get past the door.

import { decodeJwt } from "jose";
import { newSecret } from "#shared/auth/tokens.ts";
import { newWebhookId, newWebhookSecret, sealWebhookSecret } from "#shared/domain/webhooks/secret.ts";
import type { CallerRule, Endpoint } from "#shared/http/endpoint.ts";
import type { Routed } from "#shared/http/serve.ts";
import { thisYear } from "#shared/values/dutch_clock.ts";
import { ENDPOINTS_OF } from "../harness/answers.ts";
import { giveBooking } from "../harness/booked.ts";
import { addCharger, MID_CHARGER } from "../harness/chargers.ts";
import { BASE_URL } from "../harness/environment.ts";
import { runOnKick } from "../harness/kicked.ts";
import { signMandate } from "../harness/mandate.ts";
import { accountBody, createAccount, newEan, type Partner, type User } from "../harness/people.ts";
import type { Sent } from "../harness/world.ts";
import { authorizationOf, newVerifier, type OAuth } from "../oauth/oauth_world.ts";
import { draftRow, giveKey, newEmail } from "../partner/partner_world.ts";

/** Every endpoint there is, the scheduler's and the gateway's too. */
export const ENDPOINTS: readonly Routed[] = [...ENDPOINTS_OF.values()].flat();

/** Ready for `test.each`: the title shows method and path. */
export const named = (endpoints: readonly Routed[]) =>
  endpoints.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const);

export function scopeOf(endpoint: Endpoint): string | null {
  return "scope" in endpoint.caller ? endpoint.caller.scope : null;
}

export type Sample = {
  method: Routed["method"];
  path: string;
  /** JSON; or the text of a file. */
  body?: Record<string, unknown> | string;
  /** A credential that the endpoint takes; none where it asks for none. */
  token?: string;
  /** Whose requests the rate limiter counts; null where nobody's are. */
  subject: string | null;
};

/** A virtual charger that is always charging: how much does not depend on its id. */
const STEADY = { kwh_per_session: 24, sessions_per_week: 7, power_kw: 1 };

/**
 * The sample of an endpoint, of a client, a person and an application that no earlier call made; an endpoint that is not in it
 * fails the test that says that every sample succeeds.
 */
export async function samplesFor(world: OAuth, partner = world.partnerA): Promise<(endpoint: Routed) => Sample> {
  return (await holderOf(world, partner)).sample;
}

/** Whom the samples are of: a client of the partner, a person, the partner whose key it is, and the partner that the person manages. */
export type Holder = {
  sample: (endpoint: Routed) => Sample;
  client: Partner["client"];
  user: User;
  key: string;
  keyed: string;
  managed: string;
};

export async function holderOf(world: OAuth, partner = world.partnerA): Promise<Holder> {
  const client = await world.addClient(partner.id);
  const spare = await createAccount(world, { ...partner, client });
  const { account_id } = await createAccount(world, { ...partner, client });
  const signed = await createAccount(world, { ...partner, client });
  await signMandate(world, signed.account_id, { ...partner, client });
  await giveBooking(world.database.admin, signed.connection_id);
  const { part_id } = await world.row(
    `with paid as (update core.payout_lines set status = 'paid', paid_at = private.now() where account_id = $1 returning partner_id, id)
     insert into core.documents (partner_id, account_id, owner_id, part_id)
     select p.partner_id, p.account_id, p.owner_id, p.id from paid l
       join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id returning part_id`,
    signed.account_id,
  );
  // a payment to the partner, that settles with the account itself
  await world.row(
    `with line as (
       insert into core.payout_lines (partner_id, batch_id, amount, name, iban_ciphertext, iban_key_id, iban_last4, status, paid_at)
       select partner_id, batch_id, amount, 'Laadpunt', 'x', 'x', '4300', 'paid', private.now() from core.payout_lines where account_id = $1
       returning partner_id, id, amount)
     insert into core.payout_parts (partner_id, line_id, ledger_partner_id, kind, account_id, owner_id, amount)
     select l.partner_id, l.id, l.partner_id, 'customer', a.id, a.owner_id, l.amount from line l join core.accounts a on a.id = $1`,
    signed.account_id,
  );
  // chargers of the client, one to be removed, and a session of the other
  const clientToken = await client.token();
  const chargerOf = async (account: string, external_ref: string): Promise<string> =>
    (await world.post("/v1/chargers", { account_id: account, ...MID_CHARGER, external_ref }, clientToken)).body
      .charger_id;
  const known = await chargerOf(signed.account_id, "PAAL-17");
  const removed = await chargerOf(spare.account_id, "PAAL-18");
  const charged = { external_ref: "PAAL-17", started_at: "2026-03-10T17:00:00Z", ended_at: "2026-03-10T18:30:00Z" };
  const delivered = await world.post(
    "/v1/charging-sessions",
    { sessions: [{ ...charged, session_id: "2026-0311", kwh: 12.1, meter_start_kwh: 4000, meter_end_kwh: 4012.1 }] },
    clientToken,
  );
  const [{ charging_session_id }] = delivered.body.results;
  const {
    body: { upload_id },
  } = await world.send("/v1/uploads", {
    method: "POST",
    token: clientToken,
    raw: "laadpaal;start;eind;kWh;meterstand begin;meterstand eind\nPAAL-17;01-03-2026 18:00;01-03-2026 19:00;7,5;4012,1;4019,6\n",
  });

  const app = await world.app();
  const user = await world.addUser();
  const charger = await addCharger(world, user);
  const appToken = await user.appToken();
  const session = await world.signSession({ sub: user.id, email: user.email });
  const own = await world.post("/chargers", { nickname: "Carport", connection_type: "ocpp" }, appToken);
  const gatewaySecret = world.environment.config.GATEWAY_SECRET;
  const { identity, password } = own.body.ocpp ?? {};
  // the sample of the admission connects again, so what the gateway tells is of a charger of its own
  const told = await world.post("/chargers", { nickname: "Oprit", connection_type: "ocpp" }, appToken);
  const { identity: told_identity, password: told_password } = told.body.ocpp ?? {};
  const admitted = await world.post(
    "/ocpp/chargers:admit",
    { identity: told_identity, password: told_password },
    gatewaySecret,
  );
  const renewed = await world.post("/chargers", { nickname: "Tuin", connection_type: "ocpp" }, appToken);
  const { id: tokenId } = await world.row(
    `insert into core.personal_tokens (user_id, name, token_hash, last4, scopes)
     values ($1, 'To revoke', sha256(gen_random_uuid()::text::bytea), 'last', '{energy:read}') returning id`,
    user.id,
  );
  /** Whose requests count, of an application's token: the application's for that person. */
  const subjectOf = async (token: string) => {
    const { id } = await world.row(
      "select id from core.oauth_clients where client_id = $1",
      decodeJwt(token).client_id,
    );
    return `user:${user.id}:${id}`;
  };

  // the partner whose keys a person mints and revokes is another than the one that calls with its key
  const { id: keyed } = await world.addPartner();
  const { id: managed } = await world.addPartner();
  const key = await giveKey(world, keyed);
  await world.row(
    `with invoice as (
       insert into core.invoices (partner_id, year, number, quarter, issued_on, issued_by, vat_regime, vat_rate, net, vat, name, company)
       values ($1, 2026, 1, '2026-01-01', '2026-08-15', 'test', 'none', 0, 1, 0, 'Laadpunt', '{}') returning partner_id, id)
     insert into core.documents (partner_id, invoice_id) select partner_id, id from invoice`,
    keyed,
  );
  await world.send("/documents/run", { method: "POST", token: world.environment.config.WORKER_SECRET });
  const rows = [draftRow(), draftRow(), draftRow(), draftRow()];
  const imported = await world.post("/partner/drafts/import", { consent: true, send_invite: false, rows }, key);
  const [draft, withdrawn, rehearsed, settled] = (imported.body.created ?? []).map(
    ({ draft_id }: { draft_id: string }) => draft_id,
  );
  await world.row("insert into core.partner_managers (partner_id, user_id) values ($1, $2)", managed, user.id);
  const played = await world.post(`/sandbox/v1/drafts/${rehearsed}/claim`, { submit: true, charger: STEADY }, key);
  const approved = await world.post(`/sandbox/v1/drafts/${settled}/claim`, { submit: true, charger: STEADY }, key);
  await world.post(`/sandbox/v1/customers/${approved.body.account_id}/review`, { outcome: "goedgekeurd" }, key);
  // customers of a CPO client of the partner whose key it is: one signs, the other has signed
  const cpo = { id: keyed, client: await world.addClient(keyed) };
  const signing = await createAccount(world, cpo);
  const ending = await createAccount(world, cpo);
  await signMandate(world, ending.account_id, cpo);
  // what a reset leaves is no sample for anything
  const { id: emptied } = await world.addPartner();
  const resetting = { token: await giveKey(world, emptied), subject: `partner:${emptied}` };
  const managerToken = await user.appToken("partners:read", "partners:write");

  const { event } = await world.row(
    "select id as event from core.events where owner_id = $1 order by arrival limit 1",
    client.id,
  );
  const { partner_event } = await world.row(
    "select id as partner_event from core.events where owner_id = $1 order by arrival limit 1",
    keyed,
  );

  // Endpoints of the partner that the manager manages, and of the client. A lease keeps the worker off all but the one that is tested, to
  // which nothing is sent either: it is no public address.
  const webhooks: Record<string, string> = {};
  const addWebhook = async (tenant: string, owner: string, lease: string | null, ...operations: string[]) => {
    const id = newWebhookId();
    const { ciphertext, key_id } = sealWebhookSecret(world.environment, id, newWebhookSecret());
    await world.row(
      `with made as (
         insert into core.webhook_endpoints (partner_id, id, owner_id, url, secret_ciphertext, secret_key_id, delivered_to, lease_until)
         values ($1, $2, $3, 'https://10.0.0.1/', $4, $5, 0, $6) returning partner_id, id)
       insert into core.webhook_attempts (partner_id, endpoint_id, event_id, type, attempt, at, status, ms)
       select partner_id, id, gen_random_uuid(), 'webhook_endpoint.disabled', 1, private.now(), 204, 84 from made`,
      tenant,
      id,
      owner,
      ciphertext,
      key_id,
      lease,
    );
    for (const operation of operations) webhooks[operation] = id;
  };
  const tester = await world.addClient(partner.id);
  const testing = { token: await tester.token(), subject: `client:${tester.id}` };
  for (const [name, tenant, owner] of [
    ["", managed, managed],
    ["Client", partner.id, client.id],
  ] as const) {
    const kept = ["read", "rotate", "enable", "replay"].map((verb) => `${verb}${name}Webhook`);
    await addWebhook(tenant, owner, "infinity", ...kept, `read${name}WebhookAttempts`);
    // a client of its own, so that the lists of the others do not depend on when the worker comes
    await addWebhook(tenant, name ? tester.id : owner, null, `test${name}Webhook`);
    for (const verb of ["update", "disable", "revoke"])
      await addWebhook(tenant, owner, "infinity", `${verb}${name}Webhook`);
  }
  runOnKick(world);

  const customer = played.body.account_id;
  const mailed = newEmail();
  const ids: Record<string, string> = {
    renewOcppCredentials: renewed.body.id,
    readUpload: upload_id,
    revokeToken: tokenId,
    claimSandboxDraft: rehearsed,
    connectVirtualCharger: customer,
    syncCustomer: customer,
    reviewCustomer: customer,
    signSandboxCustomer: signing.account_id,
    expireSandboxMandate: ending.account_id,
    readSettlement: part_id,
    readInvoice: "2026-0001",
    readMandateDocument: signed.connection_id,
    readChargingSession: charging_session_id,
    getEvent: event,
    ...webhooks,
    getPartnerEvent: partner_event,
  };
  const queries: Record<string, string> = {
    listAccounts: "?limit=1",
    listErePositions: "?limit=1",
    listClientChargers: "?limit=1",
    listChargingSessions: "?limit=1",
    listEvents: "?limit=1",
    listPartnerEvents: "?limit=1",
    listCatalogChargers: "?search=alfen",
    resolveCatalogCharger: "?vendor=Alfen+BV&model=NG910-60023",
    listSessions: "?limit=1",
    listDrafts: "?status=invited",
    listCapturedMail: `?limit=1&to=${mailed}`,
  };
  const bodies: Record<string, Record<string, unknown> | string> = {
    token: { grant_type: "client_credentials", client_id: client.client_id, client_secret: client.secret },
    authorize: authorizationOf(app, newVerifier()),
    revoke: { client_id: app.client_id, client_secret: app.client_secret, token: newSecret() },
    createAccount: accountBody(),
    updateAccount: {
      account_id,
      person: { email: newEmail(), phone: "06 12345678" },
      company: { name: "Laadpunt Zuid" },
    },
    updateConnection: { account_id, connection: { ean_code: newEan() } },
    issueMandateLink: { account_id },
    registerCharger: { account_id, ...MID_CHARGER },
    updateCharger: {
      charger_id: known,
      power_kw: 11,
      evses: [{ evse_uid: "3256", evse_id: "NL*TNM*E77*1", meter_id: "M-4711" }],
    },
    removeCharger: { charger_id: removed },
    deliverChargingSessions: {
      sessions: [
        {
          session_id: "2026-0312",
          evse_id: "NL*TNM*E77*1",
          started_at: "2026-03-11T18:00:00+01:00",
          ended_at: "2026-03-11T20:10:00+01:00",
          kwh: 18.42,
          meter_start_kwh: 4012.1,
          meter_end_kwh: 4030.52,
        },
        { session_id: "2026-0313", external_ref: "PAAL-99", started_at: "2026-03-12T18:00:00+01:00" },
      ],
    },
    deliverUpload: `klantnummer;connection_id;maand;kWh\n;${signed.connection_id};mrt 2026;312,5\nKL-9;;mrt 2026;1,8\n`,
    withdrawChargingSessions: { session_ids: ["2026-0311"] },
    deliverMonths: { account_id, months: [{ period: "2026-01", total_kwh: 1 }] },
    registerOwnCharger: { nickname: "Oprit", connection_type: "ocpp", ocpp_identity: null },
    renewOcppCredentials: { length: 20 },
    createToken: { name: "Test", scopes: ["energy:read"], expires_at: null },
    addCustomers: { consent: true, ...draftRow({ email: mailed }) },
    importDrafts: { consent: true, send_invite: false, rows: [draftRow()] },
    withdrawDraft: { draft_id: withdrawn },
    issueAuthLink: { draft_id: draft },
    setPartnerCompany: { name: "Laadpunt Zuid", kvk: "12345678" },
    setPartnerPayoutIban: { iban: "NL91ABNA0417164300", account_holder: "Laadpunt Zuid" },
    setPartnerBranding: { display_name: "Laadpunt", primary_color: "#0b6b4f" },
    invitePeople: { emails: [newEmail()], message: "Welkom" },
    uploadDrafts: { csv: `email,naam\n${newEmail()},Sanne de Vries`, consent: true },
    mintPartnerApiKey: { rotate: true },
    createWebhook: { url: "https://laadpunt-zuid.example.com/events" },
    createClientWebhook: { url: "https://laadpunt-zuid.example.com/events", types: ["mandate.signed", "payout.paid"] },
    updateWebhook: { url: "https://laadpunt-zuid.example.com/webhooks" },
    updateClientWebhook: { types: ["mandate.signed", "mandate.revoked", "payout.paid"] },
    rotateWebhook: { now: true },
    rotateClientWebhook: { now: true },
    replayWebhook: { failed: true },
    replayClientWebhook: { failed: true },
    createSandboxFixtures: { states: ["no_iban"] },
    claimSandboxDraft: { submit: true },
    connectVirtualCharger: { ...STEADY, since: "2026-11-01" },
    reviewCustomer: { outcome: "goedgekeurd" },
    signSandboxCustomer: { outcome: "signed", years: 3 },
    expireSandboxMandate: { connection_id: ending.connection_id },
    settleSandboxQuarter: { quarter: `${thisYear()}-Q1` },
    seeChargers: { chargers: [{ charger_id: charger, generation: 1 }] },
    takeMessages: {
      charger_id: admitted.body.charger_id,
      generation: admitted.body.generation,
      protocol: "ocpp1.6",
      messages: [
        {
          action: "StartTransaction",
          payload: { connectorId: 1, idTag: "X", meterStart: 0, timestamp: "2026-01-01T00:00:00Z" },
          received_at: "2026-01-01T00:00:00.000Z",
          live: true,
          sent_sha256: "0".repeat(64),
        },
      ],
    },
    admitCharger: { identity, password },
  };
  const manager = { token: managerToken, subject: await subjectOf(managerToken) };
  const callers: Record<CallerRule["kind"], Pick<Sample, "token" | "subject">> = {
    cpo: { token: await client.token(), subject: `client:${client.id}` },
    user: { token: appToken, subject: await subjectOf(appToken) },
    partner: { token: key, subject: `partner:${keyed}` },
    sandbox: { token: key, subject: `partner:${keyed}` },
    session: { token: session, subject: `session:${user.id}` },
    worker: { subject: null },
    anyone: { subject: null },
  };
  const named: Record<string, string> = { token: `client:${client.id}`, revoke: `client:${app.id}` };
  const sample: Holder["sample"] = ({ id, method, path, caller }) => ({
    method,
    path: path.replace(/\{\w+\}/, ids[id] ?? "") + (queries[id] ?? ""),
    ...(bodies[id] ? { body: bodies[id] } : {}),
    ...(caller.kind === "partner" && !caller.key ? manager : callers[caller.kind]),
    ...(caller.kind === "worker" ? { token: world.environment.config[caller.secret] } : {}),
    ...(id === "resetSandbox" ? resetting : {}),
    ...(id === "testClientWebhook" ? testing : {}),
    ...(named[id] ? { subject: named[id] } : {}),
  });
  return { sample, client, user, key, keyed, managed };
}

/** A sample as a test sends it, with what it changes. */
export const sent = ({ method, body, token }: Sample): Sent => ({
  method,
  ...(typeof body === "string" ? { raw: body } : body ? { body } : {}),
  ...(token ? { token } : {}),
});

/** A request to an endpoint with nothing right about it but method and path. */
export const bare = (endpoint: Routed): Sent => ({
  method: endpoint.method,
  ...(endpoint.method === "POST" ? { raw: "" } : {}),
});

/** A sample as the platform hands it over: for a function that a test serves itself. */
export function requestTo({ method, path, body, token }: Sample): Request {
  return new Request(new URL(path, BASE_URL), {
    method,
    headers: {
      "content-type": "application/json",
      "x-forwarded-for": "192.0.2.1",
      ...(token ? { authorization: `Bearer ${token}` } : {}),
    },
    ...(body ? { body: typeof body === "string" ? body : JSON.stringify(body) } : {}),
  });
}
