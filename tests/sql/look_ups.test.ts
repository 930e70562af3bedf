// What is looked up by its key is read by an index, under row-level security too: the plans that real functions run, of tables with
// enough rows in them for the planner to prefer an index, and of two partners.

import type { PoolClient } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Partner } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
let client: PoolClient;
/** What auto_explain says of each statement, nested ones too. */
let plans: string[] = [];

beforeAll(async () => {
  world = await createWorld({ now: "2026-11-20T09:00:00Z" });
  for (const partner of [world.partnerA, world.partnerB]) await fill(partner);
  await world.database.admin.query("analyze");
  client = await world.database.admin.connect();
  client.on("notice", ({ message }) => message && plans.push(message));
  await client.query(`load 'auto_explain';
    set auto_explain.log_min_duration = 0;
    set auto_explain.log_nested_statements = on;
    set auto_explain.log_analyze = on;
    set auto_explain.log_timing = off;
    set auto_explain.log_level = notice;`);
});
afterAll(async () => {
  client.release(true);
  await world.close();
});

const ROWS = 3000;

/** Three thousand accounts of a partner, each with a connection, a charger, a session, a month that was replaced, a check, a mail and a payment. */
async function fill(partner: Partner): Promise<void> {
  await world.database.admin.query(
    "insert into core.payout_batches (id, minimum, prepared_by) values ($1, 0, 'test')",
    [partner.id],
  );
  const id = (kind: string) => `md5('${kind} ' || $1::uuid || ' ' || n)::uuid`;
  for (const [table, columns, values] of [
    [
      "accounts",
      "client_id, id, type, payout_handler, cpo_external_ref",
      `$2, ${id("account")}, 'particulier', 'via_cpo_invoicing', 'KL-' || n`,
    ],
    [
      "signatories",
      "owner_id, account_id, full_name, email, phone",
      `$2, ${id("account")}, 'Sanne Van' || md5(n::text), n || '@example.nl', '+316' || lpad(n::text, 8, '0')`,
    ],
    ["locations", "id, postal_code, house_number", `${id("location")}, '3818LH', n`],
    [
      "connections",
      "owner_id, id, account_id, location_id, ean_code, ean_validation_status",
      `$2, ${id("connection")}, ${id("account")}, ${id("location")}, $3 || lpad(n::text, 10, '0'), 'matched'`,
    ],
    [
      "ean_checks",
      "owner_id, connection_id, ean_code, postal_code, house_number, source, outcome",
      `$2, ${id("connection")}, $3 || lpad(n::text, 10, '0'), '3818LH', n, 'test', 'matched'`,
    ],
    [
      "chargers",
      "owner_id, id, account_id, connection_id, catalog_charger_id, brand, serial_number, mid_eligible",
      `$2, ${id("charger")}, ${id("account")}, ${id("connection")}, m.id, m.brand, $3 || n, true`,
    ],
    [
      "charging_sessions",
      "owner_id, id, charger_id, connection_id, source, external_id, started_at, busy_from, ended_at, wh, status, received_at",
      `$2, ${id("session")}, ${id("charger")}, ${id("connection")}, 'ocpp', 'x' || n, '2026-02-01T10:00:00Z', '2026-02-01T10:00:00Z', '2026-02-01T11:00:00Z', 5000, 'completed', now()`,
    ],
    [
      "charging_evidence",
      "owner_id, charger_id, session_id, source, external_id, document_sha256",
      `$2, ${id("charger")}, ${id("session")}, 'ocpp', 'x', ''`,
    ],
    [
      "delivered_months",
      "owner_id, connection_id, period, total_kwh, session_count, source, status, received_at",
      `$2, ${id("connection")}, '2026-01-01', 100, 1, 'test', 'staged', now()`,
    ],
    [
      "deliveries",
      "owner_id, connection_id, client_id, request_id, body, body_sha256, replaced",
      `$2, ${id("connection")}, $2, 'x', '', '', array[('2026-01-01', 90, 1, null, now())::core.replaced_total]`,
    ],
    [
      "mail_outbox",
      "owner_id, id, cause, template, locale, recipient, content, status",
      `$2, ${id("mail")}, 'cause:' || n, 'test', 'nl', n || '@example.nl', '{}'::jsonb, case when n = 7 then 'queued' else 'sent' end`,
    ],
    [
      "drafts",
      "id, batch_id, source, status, type, email, ean_status, send_invite, expires_at",
      `${id("draft")}, ${id("batch")}, 'api', 'invited', 'particulier', n || '-' || $3 || '@example.nl', 'no_address', false, '2026-12-31'`,
    ],
    [
      "payout_lines",
      "owner_id, id, batch_id, account_id, amount, name, iban_ciphertext, iban_key_id, iban_last4, status, paid_at",
      `$2, ${id("line")}, $1::uuid, ${id("account")}, 1, 'Sanne', 'x', 'x', '4300', 'paid', '2026-02-01'`,
    ],
    [
      "payout_parts",
      "owner_id, line_id, ledger_partner_id, kind, account_id, amount",
      `$2, ${id("line")}, $1::uuid, 'customer', ${id("account")}, 1`,
    ],
    [
      "audit_log",
      "at, actor, action, subject_id",
      `'2026-01-01'::timestamptz + n * interval '1 hour', 'test', 'test', ${id("account")}`,
    ],
  ])
    await world.database.admin.query(
      `insert into core.${table} (partner_id, ${columns})
       select $1::uuid, ${values?.replaceAll("$2", "$2::uuid").replaceAll("$3", "$3::text")}
         from generate_series(1, ${ROWS}) n, (select * from core.charger_models where mid_meter order by id limit 1) m
        where $2::uuid is not null and $3::text is not null`,
      [partner.id, partner.client.id, partner === world.partnerA ? "87168701" : "87168702"],
    );
}

/** Runs it, undoes it, and says which of those tables it read whole, and each index with the columns it was asked by. */
async function planOf(statement: string, ...values: unknown[]): Promise<{ whole: string[]; asked: string[] }> {
  plans = [];
  await client.query("begin");
  await client.query(statement, values).finally(() => client.query("rollback"));
  const lines = plans.flatMap((plan) => plan.split("\n")).filter((line) => !line.includes("(never executed)"));
  const asked = lines.flatMap((line, at) => {
    const index = /Index (?:Only )?Scan using (\w+) on|Bitmap Index Scan on (\w+)/.exec(line);
    const [, condition = ""] = /^ *Index Cond: (.*)/.exec(lines[at + 1] ?? "") ?? [];
    const columns = [...condition.matchAll(/\(\(?(\w+)\)?(?:::\w+)? (?:=|<|>|<=|>=) /g)].map(([, column]) => column);
    return index ? [`${index[1] ?? index[2]} by ${columns.join(", ")}`] : [];
  });
  const whole = lines.flatMap((line) => /Seq Scan on (\w+)/.exec(line)?.[1] ?? []);
  return { whole: whole.filter((table) => FILLED.includes(table)), asked: [...new Set(asked)] };
}
const FILLED = [
  ...[
    "accounts",
    "signatories",
    "locations",
    "connections",
    "ean_checks",
    "chargers",
    "charging_sessions",
    "charging_evidence",
    "delivered_months",
  ],
  ...["deliveries", "mail_outbox", "drafts", "audit_log_2026", "payout_lines"],
];

const cpo = () => ({
  kind: "cpo",
  partner_id: world.partnerA.id,
  client_id: world.partnerA.client.id,
  host: "sandbox",
});
const worker = { kind: "worker", host: "sandbox" };
const idOf = async (kind: string) =>
  (await world.row("select md5($1 || ' ' || $2::uuid || ' 7')::uuid as id", kind, world.partnerA.id)).id as string;

test("an account by the reference of its client", async () => {
  const { whole, asked } = await planOf("select api.repeat_account($1, $2)", cpo(), { cpo_external_ref: "KL-7" });
  expect(whole).toEqual([]);
  expect(asked).toContain("accounts_cpo_external_ref_key by partner_id, client_id, cpo_external_ref");
});

test("what no two tenants may have", async () => {
  const charger = JSON.stringify({ brand: "Alfen", serial_number: "X", account_id: await idOf("account") });
  const registrations = `private.registrations_of(jsonb_populate_record(null::core.chargers, '${charger}'))`;
  for (const [call, index] of [
    ["private.reserve_ean('871687010000000008')", "connections_active_ean by ean_code"],
    ["private.reserve_serial_number('Alfen', 'X')", "chargers_active_serial by brand, serial_number"],
    ["private.charger_taken('Alfen', 'X')", "chargers_booted by brand, booted_as"],
    ["private.charger_taken('Alfen', 'X')", "chargers_booted_before by "],
    [registrations, "chargers_registrations by brand, serial_number"],
    [registrations, "chargers_booted by brand, booted_as"],
    [registrations, "chargers_booted_before by "],
    [registrations, "chargers_account by account_id"],
    [
      "private.charger_by_credentials('X', sha256('x'))",
      "chargers_active_ocpp_identity by ocpp_identity, ocpp_password_hash",
    ],
    ["private.charger_by_credentials(null, sha256('x'))", "chargers_active_ocpp_mirror by ocpp_mirror_hash"],
    ["private.note_refused_password('X')", "chargers_active_ocpp_identity by ocpp_identity"],
    ["private.draft_by_id(gen_random_uuid())", "drafts_id by id"],
  ] as const) {
    const { whole, asked } = await planOf(`select ${call}`);
    expect({ call, whole, asked }).toEqual({ call, whole: [], asked: expect.arrayContaining([index]) });
  }
});

test("the months of a connection that a client delivers again", async () => {
  const input = {
    account_id: await idOf("account"),
    source: "test",
    body: "",
    body_sha256: "",
    ...{ periods: "{2026-01-01}", total_kwh: "{95}", session_count: "{0}" },
  };
  const caller = { ...cpo(), request_id: "1" };
  const { whole, asked } = await planOf("select api.ingest_months($1, $2)", caller, input);
  expect(whole).toEqual([]);
  expect(asked).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^delivered_months_pkey by partner_id, connection_id/),
      expect.stringMatching(/^deliveries_(pkey|connection_key) by partner_id, (connection_id, )?id$/),
    ]),
  );
});

test("a charging session that is new, and one that is corrected", async () => {
  const session = {
    charger_id: await idOf("charger"),
    source: "ocpp",
    started_at: "2026-02-01T10:00:00Z",
    ended_at: "2026-02-01T11:00:00Z",
  };
  const sessions = [
    { ...session, external_id: "x7", wh: 4000 },
    { ...session, external_id: "y", wh: 4000, started_at: "2026-02-01T12:00:00Z", ended_at: "2026-02-01T13:00:00Z" },
  ];
  const { whole, asked } = await planOf(
    `with acting as materialized (select private.set_tenant($1))
     select r.status from acting cross join lateral private.store_sessions($2) r`,
    world.partnerA.id,
    JSON.stringify(sessions),
  );
  expect(whole).toEqual([]);
  expect(asked).toEqual(
    expect.arrayContaining([expect.stringMatching(/^charging_sessions_charger by charger_id, started_at/)]),
  );
});

test("mail that waits, and what became of it", async () => {
  const { whole, asked } = await planOf("select api.lease_mail($1, $2)", worker, { size: 20 });
  expect(whole).toEqual([]);
  expect(asked).toContain("mail_outbox_queued by next_attempt_at");
  const settled = [{ partner_id: world.partnerA.id, id: await idOf("mail"), failure: null }];
  const settling = await planOf("select api.settle_mail($1, $2)", worker, JSON.stringify(settled));
  expect(settling.whole).toEqual([]);
  expect(settling.asked).toContain("mail_outbox_pkey by partner_id, id");
});

test("an import of one customer, judged across tenants", async () => {
  const input = {
    ...{ source: "api", send_invite: false, counters: [], links: { key: "00", pages_url: "https://x" } },
    rows: [{ place: 1, email: "new@example.nl", type: "particulier", name: "Sanne" }],
  };
  const caller = { kind: "partner", partner_id: world.partnerA.id, host: "sandbox" };
  const { whole, asked } = await planOf("select api.import_drafts($1, $2)", caller, input);
  expect(whole).toEqual([]);
  expect(asked).toEqual(expect.arrayContaining(["drafts_email by email"]));
});

test("what the operator names by an id or a reference, across tenants", async () => {
  const mail = await planOf("select ops.mail_show($1)", { id: await idOf("mail") });
  expect(mail.whole).toEqual([]);
  for (const connection of [await idOf("connection"), await idOf("account"), "KL-7"]) {
    const { whole } = await planOf("select ops.connection_list($1)", { connection });
    expect([connection, whole]).toEqual([connection, []]);
  }
});

test("attack: whom a partner finds is read from its own rows, whatever other tenants call theirs", async () => {
  for (const text of ["sanne van7", "KL-7", "nobody"]) {
    const { whole, asked } = await planOf("select private.customer_candidates($1, $2, null, 2000)", world.partnerA.id, {
      text,
    });
    expect([text, whole]).toEqual([text, []]);
    expect(asked).toEqual(expect.arrayContaining(["signatories_words by partner_id", "accounts_words by partner_id"]));
  }
});

test("whom the operator finds, by whatever was typed, and what waits or failed", async () => {
  for (const text of ["sanne van7", "7@example.nl", "KL-7", "0600000007", "871687010000000007", "3818LH 7", "nobody"]) {
    const { whole, asked } = await planOf("select ops.customer_find($1)", { text });
    expect([text, whole]).toEqual([text, []]);
    expect(asked.map((index) => index.split(" ")[0])).toEqual(
      expect.arrayContaining(["signatories_words", "accounts_words", "drafts_words"]),
    );
  }
  for (const [call, input] of [
    ["ops.account_show", { account: await idOf("account") }],
    ["ops.draft_list", {}],
    ["ops.draft_list", { status: "expired" }],
    ["ops.draft_list", { status: "conflict", partner: world.partnerA.id }],
    ["ops.ean_list", {}],
    ["ops.ean_list", { failed: true }],
    ["ops.mail_list", { failed: true }],
    ["ops.mail_resend", { id: await idOf("mail") }],
  ] as const) {
    const { whole } = await planOf(`select ${call}($1)`, input);
    expect([call, input, whole]).toEqual([call, input, []]);
  }
});

test("whether what came of a file, or of a CDR, is kept", async () => {
  const { id, client: owner } = world.partnerA;
  await world.row(
    "insert into core.uploads (partner_id, owner_id, sha256, said, kind, rows, columns, read, counts, results, created_at) values ($1, $2, '', '{}', 'months', 1, '[]', '{}', '{}', '[]', '2020-01-01')",
    ...[id, owner.id],
  );
  await world.row(
    "insert into core.ocpi_connections (partner_id, owner_id, status) values ($1, $2, 'disabled')",
    ...[id, owner.id],
  );
  await world.row(
    "insert into core.ocpi_cdrs (partner_id, owner_id, party, cdr_id, kept_sha256, status, document_sha256, received_at) values ($1, $2, 'NL-TNM', 'X', '', 'nothing', '', '2020-01-01')",
    ...[id, owner.id],
  );
  for (const [kind, index] of [
    ["uploads", "deliveries_upload by partner_id, upload_id"],
    ["uploads", "charging_evidence_upload by partner_id, upload_id"],
    ["ocpi_cdrs", "charging_sessions_external_id by external_id"],
  ]) {
    const { whole, asked } = await planOf("select private.delete_due($1, '2027-01-01', 10)", kind);
    expect({ kind, whole, asked }).toEqual({ kind, whole: [], asked: expect.arrayContaining([index]) });
  }
});

test("the payments that a file of the bank names, across tenants", async () => {
  const { whole, asked } = await planOf("select private.lines_by_id(array[$1::uuid])", await idOf("line"));
  expect(whole).toEqual([]);
  expect(asked).toContain("payout_lines_pkey by partner_id, id");
});

test("the history of one thing in the audit log, over its years", async () => {
  const { whole, asked } = await planOf(
    "select * from core.audit_log where subject_id = $1 order by id",
    await idOf("account"),
  );
  expect(whole).toEqual([]);
  expect(asked).toContain("audit_log_2026_subject_id_id_idx by subject_id");
});

test("what a customer was paid, among the payments of a tenant", async () => {
  const { id } = await world.addUser();
  for (const call of ["private.own_paid(2026)", "private.own_progress()"]) {
    const { asked } = await planOf(`select set_config('app.user_id', $1, true), ${call}`, id);
    expect({ call, asked }).toEqual({
      call,
      asked: expect.arrayContaining([
        expect.stringMatching(
          /^payout_parts_payee by ledger_partner_id, payee_id|^payout_parts_account by partner_id, account_id/,
        ),
      ]),
    });
  }
});
