// Whose identifiers are tried, and who tries them.

import { expect } from "vitest";
import type { Routed } from "#shared/http/serve.ts";
import { ENDPOINTS, type Holder, holderOf, sent } from "../contract/samples.ts";
import { giveBooking } from "../harness/booked.ts";
import { MID_CHARGER } from "../harness/chargers.ts";
import { accountBody, newEan } from "../harness/people.ts";
import type { OAuth } from "../oauth/oauth_world.ts";
import { newManager } from "../pages/manager.ts";
import { signedCustomer } from "../pages/signatory_customer.ts";
import { type Asked, crawl, type Visitor, visitorOf } from "./crawl.ts";
import { type Admitted, ownAnswers } from "./functions.ts";
import { type Kind, kindsOf } from "./identifiers.ts";
import { type Links, linksOf } from "./links.ts";
import { type Allowed, allowed } from "./oauth.ts";
import { type Rows, rowsOf, tracesOf, without } from "./rows.ts";

export type Holders = {
  /** Whose identifiers are tried. */
  victim: Holder;
  /** Another client of the victim's partner, with a person and partners of its own. */
  other: Holder;
  /** A client of another partner. */
  elsewhere: Holder;
  links: Record<"victim" | "other", Links>;
  applications: Record<"victim" | "other" | "elsewhere", Allowed>;
  /** The others as SQL is told of them, and what it answers them before and after the victim came. */
  callers: readonly Admitted[];
  answers: Record<"before" | "after", ReadonlyMap<string, string>>;
  /** Browsers of others, and what the victim's own browsers find. */
  visitors: Visitor[];
  found: Asked[];
  /** Rows of the victim, what they are recognized by, and what identifies them. */
  mine: Rows;
  traces: ReadonlyMap<string, string>;
  kinds: readonly Kind[];
};

export async function makeHolders(world: OAuth): Promise<Holders> {
  const { admin } = world.database;
  const empty = await rowsOf(admin);
  const [other, elsewhere] = await Promise.all([holderOf(world), holderOf(world, world.partnerB)]);
  for (const holder of [other, elsewhere]) await fill(world, holder, 2);
  const visitors = await visitorsOf(world, other);
  const others = await linksOf(world, other);
  const theirs = { other: await allowed(world, other.user), elsewhere: await allowed(world, elsewhere.user) };
  const callers = await callersOf(world, other, elsewhere, visitors);
  const answered = await ownAnswers(admin, callers);
  const before = await rowsOf(admin);
  const victim = await holderOf(world);
  await fill(world, victim, 7);
  const links = { victim: await linksOf(world, victim), other: others };
  const applications = { ...theirs, victim: await allowed(world, victim.user) };
  const found = (await Promise.all((await visitorsOf(world, victim)).map((visitor) => crawl(world, visitor)))).flat();
  const cursors = await Promise.all(
    ["listEvents", "listPartnerEvents", "listChargingSessions"].map(async (id) => {
      const { path, token = "" } = victim.sample(ENDPOINTS.find((endpoint) => endpoint.id === id) as Routed);
      return String((await world.get(path, token)).body.next_cursor);
    }),
  );
  // jobs of the worker change rows of everybody
  await world.idle();
  world.environment.kick = () => {};
  const answers = { before: answered, after: await ownAnswers(admin, callers, answered) };
  const mine = without(await rowsOf(admin), before);
  const traces = tracesOf(mine, [empty, before]);
  // a login is a kind of its own, in a schema of its own
  const users = { name: "users.id", isId: true, values: [victim.user.id] };
  const kinds = [users, ...(await kindsOf(admin, mine, traces))];
  const lost = { name: "parked_charging.names", isId: false, values: [`WEG-${victim.client.client_id}`] };
  kinds.push(
    lost,
    { name: "cursors", isId: false, values: cursors },
    { name: "invoices.number", isId: false, values: ["2026-0007"] },
  );
  return { victim, other, elsewhere, links, applications, callers, answers, visitors, found, mine, traces, kinds };
}

/** What makes something, by any caller; a client that makes an account of its own does so below. */
const MAKES = /^(create|deliver|settle|issue|add|import|upload|invite|set|claim|register|authorize|read|list|get)/;

/** Sends what makes something, and gives rows to tables that no request fills. */
async function fill(world: OAuth, { sample, client, user, keyed, managed }: Holder, invoice: number): Promise<void> {
  const makes = ({ id, caller }: Routed) => MAKES.test(id) && caller.kind !== "worker";
  for (const endpoint of ENDPOINTS.filter(makes)) {
    const good = sample(endpoint);
    const { status, body } = await world.send(good.path, sent(good));
    expect(status, `${endpoint.id} ${JSON.stringify(body)}`).toBe(endpoint.status ?? 200);
  }
  // each run renders for about a second
  const run = { method: "POST", token: world.environment.config.WORKER_SECRET } as const;
  while ((await world.send("/documents/run", run)).body.rendered > 0);
  const token = await client.token();
  const ref = client.client_id;
  const made = await world.post(
    "/v1/accounts",
    accountBody({
      cpo_external_ref: `KL-${ref}`,
      connection: { ean_code: newEan(), postal_code: "1012 AB", house_number: String(invoice) },
    }),
    token,
  );
  const charger = {
    account_id: made.body.account_id,
    ...MID_CHARGER,
    serial_number: `SN-${ref}`,
    external_ref: `PAAL-${ref}`,
  };
  await world.post("/v1/chargers", charger, token);
  const session = { session_id: `S-${ref}`, external_ref: `PAAL-${ref}`, kwh: 12.1 };
  const at = { started_at: "2026-03-10T17:00:00Z", ended_at: "2026-03-10T18:30:00Z" };
  const lost = { session_id: `L-${ref}`, external_ref: `WEG-${ref}`, kwh: 12.1 };
  await world.post(
    "/v1/charging-sessions",
    {
      sessions: [
        { ...session, ...at },
        { ...lost, ...at },
      ],
    },
    token,
  );
  const corrected = await world.post("/v1/charging-sessions", { sessions: [{ ...session, ...at, kwh: 11.9 }] }, token);
  expect(corrected.status, JSON.stringify(corrected.body)).toBe(200);
  await world.row(
    "update core.partners set referral_code = upper('R' || left(md5(id::text), 9)) where id = $1",
    managed,
  );
  await world.row(
    `with ended as (
       insert into core.ended_attributions (partner_id, user_id, attached_month, last_month) values ($1, $2, '2026-01-01', '2026-02-01')),
     payout as (
       insert into core.announced_payouts (partner_id, payout_id, period, status) values ($1, gen_random_uuid(), '2026-Q1', 'paid')),
     invited as (
       insert into core.manager_invitations (partner_id, email, token_hash)
       values ($1, 'collega-' || left($1::text, 8) || '@example.nl', sha256($1::text::bytea))),
     imported as (
       insert into core.imports (partner_id, id, user_id, ciphertext, key_id, row_count) values ($3, gen_random_uuid(), $2, 'x', 'x', 1)),
     logo as (
       insert into core.partner_logos (partner_id, hash, png, width, height) values ($1, sha256($1::text::bytea), $1::text::bytea, 1, 1)),
     counted as (
       insert into core.dashboards (partner_id, as_of, figures) values ($1, private.now(), '{}')),
     checked as (
       insert into core.ledger_checks (partner_id) values ($1)),
     retried as (
       insert into core.webhook_retries (partner_id, endpoint_id, event_id, attempts)
       select partner_id, id, gen_random_uuid(), 10 from core.webhook_endpoints where partner_id = $3 limit 1),
     transaction as (
       insert into core.ocpp_transactions (partner_id, charger_id, owner_id, first_at, clock, source_id)
       select partner_id, id, owner_id, private.now(), 'charger', 'T-' || id from core.chargers where owner_id = $2 limit 1),
     platform as (
       insert into core.ocpi_connections (partner_id, owner_id, status, token_hash, parties)
       select partner_id, id, 'registered', sha256(client_id::bytea), '{NL-TNM}' from core.oauth_clients where id = $4 returning *),
     cdr as (
       insert into core.ocpi_cdrs (partner_id, owner_id, party, cdr_id, kept_sha256, status, document, document_sha256)
       select partner_id, owner_id, 'NL-TNM', upper('CDR-' || left(owner_id::text, 8)), sha256('x'), 'taken', '{"cdr_location": {}}', sha256('x') from platform)
     insert into core.invoices (partner_id, year, number, quarter, issued_on, issued_by, vat_regime, vat_rate, net, vat, name, company)
     values ($1, 2026, $5, '2026-04-01', '2026-08-15', 'test', 'none', 0, 1, 0, 'Laadpunt', '{}')`,
    keyed,
    user.id,
    managed,
    client.id,
    invoice,
  );
  await world.row("select private.chain_audit(1000)");
}

/** Browsers of a customer of the partner, of the signatory of a CPO's account, and of somebody who manages the partner. */
async function visitorsOf(world: OAuth, { client, keyed }: Holder): Promise<Visitor[]> {
  const partner_id = (await world.row("select partner_id from core.oauth_clients where id = $1", client.id)).partner_id;
  const { email: customer } = await world.row(
    `select d.email from core.drafts d join core.connections c on c.account_id = d.account_id
      where d.partner_id = $1 and c.registration_status = 'goedgekeurd'`,
    keyed,
  );
  const { email: signatory, connection_id } = await signedCustomer(world, { partner: { id: partner_id, client } });
  await giveBooking(world.database.admin, connection_id);
  const { email: manager } = await newManager(world, { id: keyed });
  return Promise.all([
    visitorOf(world, "own pages", "mijn", customer),
    visitorOf(world, "signatory", "mijn", signatory),
    visitorOf(world, "portal", "portal", manager),
  ]);
}

async function callersOf(
  world: OAuth,
  other: Holder,
  elsewhere: Holder,
  visitors: readonly Visitor[],
): Promise<Admitted[]> {
  const { id: house } = await world.row("select private.people_tenant() as id");
  const now = world.environment.now().toISOString();
  const caller = (name: string, fields: Record<string, string>) => ({ name, caller: fields });
  return [
    caller("another client of the partner", { kind: "cpo", client_id: other.client.id, partner_id: world.partnerA.id }),
    caller("a client of another partner", {
      kind: "cpo",
      client_id: elsewhere.client.id,
      partner_id: world.partnerB.id,
    }),
    caller("OCPI token", { kind: "ocpi", client_id: other.client.id, partner_id: world.partnerA.id }),
    caller("partner key", { kind: "partner", partner_id: other.keyed }),
    caller("manager", { kind: "partner", partner_id: other.managed, manager_id: other.user.id }),
    caller("application of a person", {
      kind: "user",
      user_id: other.user.id,
      client_id: other.client.id,
      partner_id: house,
    }),
    caller("personal token", { kind: "user", user_id: other.user.id, partner_id: house }),
    caller("session", { kind: "session", user_id: other.user.id, partner_id: house, signed_in_at: now }),
    caller("signatory", {
      kind: "signatory",
      signatory: visitors.find(({ name }) => name === "signatory")?.email ?? "",
      signed_in_at: now,
    }),
  ];
}
