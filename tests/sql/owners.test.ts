// Within one tenant: acting as CPO client or person B, the rows of A are neither seen nor touched. Asked as the role that runs the
// api functions, with the settings that private.act_as makes.

import { randomUUID } from "node:crypto";
import type pg from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { thisYear } from "#shared/values/dutch_clock.ts";
import { giveBooking } from "../harness/booked.ts";
import { addCharger, giveChargingIn, ingest, MID_CHARGER } from "../harness/chargers.ts";
import { giveMandate, giveNotice, signMandate } from "../harness/mandate.ts";
import { createAccount, type Partner } from "../harness/people.ts";
import { createWorld } from "../harness/world.ts";

const world = await createWorld();
afterAll(() => world.close());
const { admin } = world.database;
const partner = world.partnerA;

/** What act_as is given; the tenant is added. */
type Owner = { id: string; caller: Record<string, string> };

/** A row of everything of a client, made the way it is made for real. */
async function client(one: Partner): Promise<Owner> {
  const { id, client_id } = one.client;
  const token = await one.client.token();
  const { account_id, connection_id } = await createAccount(world, one);
  await signMandate(world, account_id, one);
  await giveBooking(admin, connection_id);
  await giveNotice(admin, account_id);
  const month = { period: `${thisYear()}-01`, total_kwh: 100 };
  const charger = { account_id, ...MID_CHARGER, serial_number: client_id };
  const registered = await world.post("/v1/chargers", charger, token);
  const unsigned = await createAccount(world, one);
  for (const answer of [
    registered,
    await world.post("/v1/mandate-links", { account_id: unsigned.account_id, validity_years: 1 }, token),
    await world.post("/v1/sessions:batch", { account_id, months: [month] }, token),
    await world.post("/v1/sessions:batch", { account_id, months: [{ ...month, total_kwh: 200 }] }, token),
    await world.get("/v1/events", token),
  ])
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  await charge(registered.body.charger_id);
  await giveChargingIn(admin, registered.body.charger_id);
  await admin.query(
    `insert into core.webhook_endpoints (partner_id, id, owner_id, url, secret_ciphertext, secret_key_id, delivered_to)
     values ($1, gen_random_uuid(), $2, 'https://receiver.example.com/', 'x', 'x', 0)`,
    [one.id, id],
  );
  return { id, caller: { kind: "cpo", client_id: id } };
}

/** A row of everything that a person can have, in the house and at a partner. */
async function person(): Promise<Owner> {
  const user = await world.addUser();
  const { id, email, account_id, connection_id } = user;
  await giveMandate(world, user);
  await giveNotice(admin, account_id);
  await charge(await addCharger(world, user));
  const inHouse = (statement: string, ...values: unknown[]) => admin.query(statement, values);
  await inHouse(
    "insert into core.signatories (partner_id, account_id, owner_id, full_name) select partner_id, id, owner_id, 'Sanne de Vries' from core.accounts where id = $1",
    account_id,
  );
  await inHouse(
    `insert into core.ean_checks (partner_id, connection_id, owner_id, ean_code, postal_code, house_number, source, outcome)
     select partner_id, id, owner_id, '871687100000000001', '3818LH', 8, 'test', 'matched' from core.connections where id = $1`,
    connection_id,
  );
  await inHouse(
    `insert into core.mail_outbox (partner_id, owner_id, cause, template, locale, recipient, content, status)
     values (private.people_tenant(), $1, $2, 'test', 'nl', $3, '{}', 'captured')`,
    id,
    `test:${id}`,
    email,
  );
  await admin.query("select private.reserve_customer($1, $2, 'manual')", [id, partner.id]);
  await admin.query("insert into core.partner_managers (partner_id, user_id) values ($1, $2)", [partner.id, id]);
  await admin.query(
    "insert into core.ended_attributions (partner_id, user_id, attached_month, last_month) values ($1, $2, '2026-01-01', '2026-02-01')",
    [partner.id, id],
  );
  await admin.query(
    `with draft as (
       insert into core.drafts (partner_id, batch_id, source, type, email, ean_status, send_invite, status, user_id, expires_at)
       values ($1, gen_random_uuid(), 'api', 'particulier', $2, 'no_address', false, 'claimed', $3, private.now() + interval '60 days') returning partner_id, id)
     insert into core.draft_links (partner_id, draft_id, token_hash, expires_at)
     select partner_id, id, sha256(uuid_send(id)), private.now() from draft`,
    [partner.id, email, id],
  );
  return { id, caller: { kind: "user", user_id: id } };
}

/** A session of a charger, corrected once, and the cloud it would come from. */
async function charge(charger_id: string) {
  const session = { charger_id, external_id: "1", started_at: "2026-02-01T10:00:00Z" };
  await ingest(world, { ...session, ended_at: "2026-02-01T11:00:00Z", wh: 5000 });
  await ingest(world, { ...session, ended_at: "2026-02-01T11:00:00Z", wh: 4000 });
  await admin.query(
    `insert into core.virtual_chargers (partner_id, charger_id, owner_id, wh_per_session, sessions_per_week, power_kw, since)
     select partner_id, id, owner_id, 12000, 4, 11, '2026-01-01' from core.chargers where id = $1`,
    [charger_id],
  );
}

const colleague = { id: partner.id, client: await world.addClient(partner.id) };
const PAIRS: [string, Owner, Owner][] = [
  ["CPO client", await client(partner), await client(colleague)],
  ["person", await person(), await person()],
];

/** Tables whose rows a tenant's clients and people share, and why. */
const SHARED: Record<string, string> = {
  "core.announced_payouts": "is what the partner was told of its own payouts",
  "core.audit_chains": "is the end of the tenant's chain of hashes",
  "core.audit_links": "is hashes of rows, by their numbers",
  "core.audit_log": "is written by everybody and read by nobody",
  "core.bookings": "is a quarter of everybody's; who was booked stands in its rows",
  "core.dashboards": "is sums over all customers, and names none",
  "core.draft_uploads": "counts a partner's drafts and names nobody",
  "core.figures": "is a year that was published to all",
  "core.imports": "is of who manages the partner: a policy of its own keeps each to what they brought",
  "core.invoice_entries": "is about an invoice in a partner's name",
  "core.invoices": "is a partner's, and names no customer",
  "core.ledger_accounts": "is the tenant's books, which name accounts by their ids",
  "core.ledger_checks": "is whether the tenant's books agree",
  "core.ledger_entries":
    "is the tenant's books; an owner's part of them stands in booking rows, credits and allocations",
  "core.locations": "is an address, of whoever has a connection there",
  "core.manager_invitations": "is the partner's, about people who manage it together",
  "core.oauth_clients": "shows a client itself alone, and nobody else anything",
  "core.partner_keys": "belongs to the partner itself",
  "core.partner_logos": "belongs to the partner itself",
  "core.sale_reversals": "is about a sale of everybody's",
  "core.sales": "is a sale for everybody; whose ERE were sold stands in its allocations",
  "core.webhook_attempts":
    "is of an endpoint, which its partner or the operator manages; no client or person is let near it",
  "core.webhook_retries": "is of an endpoint, as its attempts are",
};
const POLICY = "an owner reaches only their own rows";

const { rows: TABLES } = await admin.query<{ name: string; columns: string; kept: boolean; owner: string }>(
  `select c.oid::regclass::text as name,
          string_agg(quote_ident(a.attname), ', ') filter (where a.attgenerated = '') as columns,
          exists (select from pg_policy p where p.polrelid = c.oid and p.polname = $1 and not p.polpermissive and p.polcmd = '*') as kept,
          case when bool_or(a.attname = 'owner_id') then 'owner_id' when bool_or(a.attname = 'user_id') then 'user_id'
               else '(select user_id from core.drafts d where d.id = draft_id)' end as owner
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where n.nspname = 'core' and c.relkind in ('r', 'p') and not c.relispartition
    group by c.oid having bool_or(a.attname = 'partner_id') order by 1`,
  [POLICY],
);

test("contract §9 every tenant table keeps to its owner, or is shared for a reason that stands here", () => {
  expect(TABLES.filter(({ kept }) => !kept).map(({ name }) => name)).toEqual(Object.keys(SHARED));
});

/** What a statement comes to for the owner of the api functions, acting for somebody: rows, or the code of the refusal. */
async function acting(owner: Owner, tenant: string, table: string, statement: string, ...values: unknown[]) {
  const session = await admin.connect();
  try {
    await session.query("begin");
    // policies are to hold by themselves, whatever was granted
    await session.query(`grant all on ${table} to api_owner`);
    await session.query("set local role api_owner");
    await session.query("select private.act_as($1, 'cpo', 'user', 'partner')", [
      { ...owner.caller, partner_id: tenant },
    ]);
    return (await session.query(statement, values)).rowCount;
  } catch (error) {
    return (error as { code: string }).code;
  } finally {
    await session.query("rollback");
    session.release();
  }
}

const REFUSED = "42501";

describe.each(TABLES.filter(({ kept }) => kept))("contract §9 attack: reaching past the owner in $name", (table) => {
  const { name, columns, owner } = table;
  const rowsOf = async ({ id }: Owner): Promise<{ partner_id: string }[]> =>
    (await admin.query(`select to_jsonb(t) as row from ${name} t where ${owner} = $1`, [id])).rows.map(
      ({ row }) => row,
    );

  test("has rows of two owners, else this file proves nothing about it", async () => {
    const both = await Promise.all(
      PAIRS.map(async ([, a, b]) => (await rowsOf(a)).length > 0 && (await rowsOf(b)).length > 0),
    );
    expect(both).toContain(true);
  });

  test.each(PAIRS)("a %s sees and touches their own rows only", async (_kind, a, b) => {
    const [theirs] = await rowsOf(a);
    if (!theirs) return; // there is none for this kind
    const tenant = theirs.partner_id;
    expect(await acting(b, tenant, name, `select from ${name}`)).toBe((await rowsOf(b)).length);
    const foreign = `${owner} = '${a.id}'`;
    expect(await acting(b, tenant, name, `select from ${name} where ${foreign}`)).toBe(0);
    expect(await acting(b, tenant, name, `update ${name} set partner_id = partner_id where ${foreign}`)).toBe(0);
    expect(await acting(b, tenant, name, `delete from ${name} where ${foreign}`)).toBe(0);
    const insert = `insert into ${name} (${columns}) overriding system value
                    select ${columns} from jsonb_populate_record(null::${name}, $1)`;
    expect(await acting(b, tenant, name, insert, theirs)).toBe(REFUSED);
  });
});

test("contract §9 an owner that is left out, or is not the account's, is refused by constraints: nobody looks it up", async () => {
  const { rows } = await admin.query<{ name: string; required: boolean; held: boolean }>(
    `select a.attrelid::regclass::text as name, a.attnotnull as required,
            exists (select from pg_constraint k where k.conrelid = a.attrelid and k.contype = 'f' and a.attnum = any (k.conkey)) as held
       from pg_attribute a join pg_class c on c.oid = a.attrelid
      where a.attname = 'owner_id' and a.attgenerated = '' and c.relnamespace = 'core'::regnamespace and c.relkind in ('r', 'p')
        and not c.relispartition
      order by 1`,
  );
  const named = (is: (row: (typeof rows)[0]) => boolean) => rows.filter(is).map(({ name }) => name);
  // invoices, mail and payments may be a partner's; a check of an EAN comes before the connection
  expect(named(({ required }) => !required)).toEqual([
    "core.documents",
    "core.ean_checks",
    "core.mail_outbox",
    "core.payout_entries",
    "core.payout_lines",
    "core.payout_parts",
  ]);
  // sums, logs and endpoints: they hang on no account, or outlive it
  expect(named(({ held }) => !held)).toEqual([
    "core.account_bookings",
    "core.account_counts",
    "core.account_years",
    "core.charging_changes",
    "core.charging_heads",
    "core.ean_checks",
    "core.event_heads",
    "core.events",
    "core.kept_evidence",
    "core.mail_outbox",
    "core.payout_entries",
    "core.webhook_endpoints",
  ]);
  const orphan = `insert into core.ean_checks (partner_id, connection_id, ean_code, postal_code, house_number, source, outcome)
                  select partner_id, id, ean_code, '3818LH', 8, 'test', 'matched' from core.connections limit 1`;
  await expect(admin.query(orphan)).rejects.toMatchObject({ constraint: "ean_checks_of_somebody" });
});

test("contract §9 attack: a row of one's own that hangs on another's connection is refused by its foreign key", async () => {
  const [, [, a, b]] = PAIRS as [(typeof PAIRS)[0], (typeof PAIRS)[1]];
  const { rows } = await admin.query("select partner_id, id from core.connections where owner_id = $1", [a.id]);
  const insert = `insert into core.delivered_months (partner_id, connection_id, period, total_kwh, session_count, source, status, received_at)
                  values ($1, $2, '2026-05-01', 1, 1, 'test', 'staged', private.now())`;
  const { partner_id, id } = rows[0];
  expect(await acting(b, partner_id, "core.delivered_months", insert, partner_id, id)).toBe("23503");
});

test("contract §9 attack: a partner's application that a person uses owns nothing of a CPO client", async () => {
  const [[, a]] = PAIRS as [(typeof PAIRS)[0]];
  const application: Owner = { id: randomUUID(), caller: { kind: "user", user_id: randomUUID(), client_id: a.id } };
  expect(await acting(application, partner.id, "core.accounts", "select from core.accounts")).toBe(0);
});

test("contract §9 attack: a partner sees its tenant, and as the house nobody's rows", async () => {
  const owner: Owner = { id: partner.id, caller: { kind: "partner" } };
  const { id: house } = await world.row("select private.people_tenant() as id");
  const seen = (tenant: string) => acting(owner, tenant, "core.accounts", "select from core.accounts");
  const [{ n }] = (await admin.query("select count(*)::int as n from core.accounts where partner_id = $1", [house]))
    .rows;
  expect(n).toBeGreaterThan(0);
  expect(await seen(partner.id)).toBeGreaterThan(0);
  expect(await seen(house)).toBe(0);
});

/**
 * Kinds of callers that reach what has an owner as that owner, or as the bearer of a link. A partner sees its tenant, unless that is the
 * house. The others say that they see the tenant.
 */
const OWNING = ["cpo", "user", "session", "signatory", "anyone", "sandbox"];

type Api = { name: string; login: string; takes: string[] };
const { rows: FUNCTIONS } = await admin.query<Api>(
  `select p.oid::regproc::text as name, case when has_function_privilege('edge', p.oid, 'execute') then 'edge' else 'edge_slow' end as login,
          array(select t::regtype::text from unnest(p.proargtypes) t) as takes
     from pg_proc p where p.pronamespace = 'api'::regnamespace order by 1`,
);

/** What tells of a row that has an owner: ids, addresses, EANs, serial numbers. */
async function tracesOf(tenant: string): Promise<Map<string, string>> {
  const traces = new Map<string, string>();
  for (const { name } of TABLES.filter(({ kept }) => kept)) {
    const { rows } = await admin.query(`select to_jsonb(t) as row from ${name} t where partner_id = $1`, [tenant]);
    for (const { row } of rows)
      for (const [column, value] of Object.entries(row))
        if (
          !/catalog/.test(column) &&
          /^(id|email|recipient|full_name|ean_code|serial_number)$|_id$/.test(column) &&
          String(value).length > 8
        )
          traces.set(String(value), `${name}.${column}`);
  }
  for (const id of [tenant, partner.id]) traces.delete(id);
  return traces;
}

/** What a function answers, or its refusal. What it wrote is undone. */
async function ask(session: pg.PoolClient, { name, login, takes }: Api, caller: object, request: object) {
  await session.query(`begin; set local role ${login}`);
  try {
    const given = [caller, request].slice(0, takes.length);
    const { rows } = await session.query(
      `select ${name}(${given.map((_, at) => `$${at + 1}`)})::text as answer`,
      given,
    );
    return String(rows[0].answer);
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return `${code} ${message}`;
  } finally {
    await session.query("rollback");
  }
}

const IDS = ["account", "connection", "charger", "mandate"] as const;
type Ids = Record<(typeof IDS)[number], string>;
const NO_IDS = Object.fromEntries(IDS.map((row) => [row, randomUUID()])) as Ids;
const FIELDS = { limit: 100, offset: 0, search: "", address_hash: "00", months: [], validity_years: 1 };

/** A request by these ids, and one for each of them as the id of what is asked for. */
const requests = (ids: Ids) => {
  const named = { ...FIELDS, ...Object.fromEntries(IDS.map((row) => [`${row}_id`, ids[row]])) };
  return [named, ...IDS.map((row) => ({ ...named, id: ids[row] }))];
};
/** An outcome without these ids, and without one that is made anew each time. */
const blank = (outcome: string, ids: Ids) =>
  Object.values(ids).reduce((text, id) => text.replaceAll(id, "…"), outcome.replace(/("batch_id" : )"[^"]+"/, "$1…"));

test.each(["the house", "a CPO's tenant"])(
  "contract §9 attack: every api function, called in %s by a caller without an owner, refuses, or answers as if nobody had a row",
  async (where) => {
    await world.freeze("2026-11-02T10:00:00Z"); // no two answers differ by their moment
    const tenant: string =
      where === "the house" ? (await world.row("select private.people_tenant() as id")).id : partner.id;
    const traces = [...(await tracesOf(tenant))];
    const ids = { ...NO_IDS };
    for (const row of IDS)
      ids[row] = (await world.row(`select id from core.${row}s where partner_id = $1 limit 1`, tenant)).id;
    const session = await admin.connect();
    const told: string[] = [];
    const kinds = where === "the house" ? [...OWNING, "partner"] : OWNING;
    for (const each of FUNCTIONS)
      for (const kind of kinds) {
        const caller = { kind, partner_id: tenant, host: "sandbox", request_id: "owners" };
        for (const [at, request] of requests(ids).entries()) {
          const outcome = blank(await ask(session, each, caller, request), ids);
          if (outcome.startsWith(REFUSED)) break; // takes no such caller, whatever they ask
          const ofNobody = blank(await ask(session, each, caller, requests(NO_IDS)[at] as object), NO_IDS);
          if (outcome !== ofNobody) told.push(`${each.name} tells a ${kind}: ${outcome}`);
          for (const [trace, column] of traces)
            if (outcome.includes(trace)) told.push(`${each.name} tells a ${kind} ${column}`);
        }
      }
    session.release();
    expect([...new Set(told)]).toEqual([]);
  },
);
