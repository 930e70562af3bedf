// What a CPO client is told: every event there is of its accounts, nothing that it asked for itself, and nothing of a person.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type EventType, typesOf } from "#shared/domain/events.ts";
import { createPayoutWorld, type PayoutWorld } from "../ere/payout_world.ts";
import { runDueJobs } from "../harness/due_jobs.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount } from "../harness/people.ts";
import { withoutIds } from "../harness/without_ids.ts";
import { linkFor, pageClient } from "../pages/signatory.ts";
import { type LogEvent, readLog, typesIn } from "./log.ts";

let world: PayoutWorld;
beforeAll(async () => {
  world = await createPayoutWorld();
});
afterAll(() => world.close());

/** What no event may have in it, in whatever form. */
const PLANTED = {
  full_name: "Geertruida Plantinga",
  email: "plantinga@geheim.example",
  phone: "+31687654321",
  iban: "NL02ABNA0123456789",
  ean_code: "871687655555555551",
  postal_code: "9999ZZ",
  street: "Verborgenlaan",
  city: "Nergenshuizen",
  kvk: "87654321",
};
const account = (fields: Record<string, unknown> = {}) => ({
  cpo_external_ref: "KL-777",
  type: "zakelijk",
  iban: PLANTED.iban,
  person: { full_name: PLANTED.full_name, email: PLANTED.email, phone: "0687654321" },
  company: { name: "Plantinga Geheim B.V.", kvk: PLANTED.kvk },
  connection: {
    ean_code: PLANTED.ean_code,
    postal_code: PLANTED.postal_code,
    house_number: "4321",
    street: PLANTED.street,
    city: PLANTED.city,
  },
  ...fields,
});
const token = (client = world.partnerA.client) => client.token();
let cursor = "";
/** All that was ever read of the log. */
const told: LogEvent[] = [];
/** The types of what has come since this was asked last, in their order. */
const news = async (): Promise<LogEvent[]> => {
  const log = await readLog(world, "client", await token(), { after: cursor });
  cursor = log.cursor;
  told.push(...log.events);
  return log.events;
};
const typesOfNews = async () => typesIn(await news());
const runJobs = () => runDueJobs(world);

describe("§6 the log of a client", () => {
  let account_id: string;
  let connection_id: string;

  test("tells what became of an account: signed, eligible, submitted, reviewed; not what the client itself asked for", async () => {
    await news();
    ({ account_id, connection_id } = await createAccount(world, world.partnerA, account()));
    expect(await typesOfNews()).toEqual(["account.created"]);
    const { token: link } = await linkFor(world, account_id);
    await pageClient(world)(`/pages/mandate/${link}/decline`, { form: {} });
    expect(await news()).toMatchObject([
      {
        type: "mandate.declined",
        account_id,
        data: { connection_id, mandate_status: "declined", cpo_external_ref: "KL-777" },
      },
    ]);
    const charger = { account_id, ocpp_vendor: "Alfen BV", ocpp_model: "NG910-60023", serial_number: "GEHEIM-1" };
    expect((await world.post("/v1/chargers", charger, await token())).status).toBe(200);
    expect(await typesOfNews()).toEqual([]);
    await signMandate(world, account_id);
    const signed = await news();
    expect(typesIn(signed)).toEqual(["mandate.signed", "account.eligibility_changed", "registration.submitted"]);
    expect(signed[1]?.data).toEqual({
      account_id,
      cpo_external_ref: "KL-777",
      ere_eligible: true,
      checklist: { mandate_signed: true, ean_validated: true, mid_charger_registered: true, iban_present: true },
    });
    await world.done(`registration review ${connection_id} afgekeurd`);
    expect(await typesOfNews()).toEqual(["registration.rejected"]);
  });

  test("tells of the EAN and of a charger's meter once somebody judged them, and of a gate that closes", async () => {
    const unverified = await createAccount(world, world.partnerA, {
      connection: { ean_code: "871687000000000023", postal_code: "3818LH", house_number: "8" },
    });
    const { id: model } = await world.row(
      "select id from core.charger_models where mid_meter is null and listed limit 1",
    );
    const charger = { account_id: unverified.account_id, catalog_charger_id: model };
    const registered = await world.post("/v1/chargers", charger, await token());
    expect(registered.body.mid_eligible).toBe(null);
    await signMandate(world, unverified.account_id);
    expect(await typesOfNews()).toEqual(["account.created", "mandate.signed"]);
    await world.done(`charger confirm-mid ${registered.body.charger_id}`);
    await world.done(`connection set-ean-status ${unverified.connection_id} manual`);
    await world.done(`connection set-ean-status ${unverified.connection_id} manual`);
    const judged = await news();
    expect(typesIn(judged)).toEqual([
      "charger.mid_confirmed",
      "ean.status_changed",
      "account.eligibility_changed",
      "registration.submitted",
    ]);
    const nobody = { session_id: "1", external_ref: "PAAL-99", kwh: 5, started_at: "2026-08-01T10:00:00Z" };
    for (const session_id of ["1", "2"])
      await world.post("/v1/charging-sessions", { sessions: [{ ...nobody, session_id }] }, await token());
    const parked = await news();
    expect(parked.map(({ type, data }) => [type, data])).toEqual([
      ["charging.parked", { names: [{ kind: "external_ref", value: "PAAL-99" }], name_count: 1 }],
    ]);
    await world.done("evidence-limit set charger 5");
    await world.row("update core.evidence_limits set bytes_a_day = 1 where kind = 'client'");
    const told = {
      session_id: "3",
      charger_id: registered.body.charger_id,
      kwh: 5,
      started_at: "2026-08-01T10:00:00Z",
    };
    await world.post("/v1/charging-sessions", { sessions: [told] }, await token());
    await world.done("evidence-limit set client 64");
    expect((await news()).map(({ type, data }) => [type, data])).toEqual([
      ["charging.evidence_over_quota", { charger_id: null, bytes_a_day: 1 }],
    ]);
    await world.done(`connection set-ean-status ${unverified.connection_id} unverified`);
    const closed = await news();
    expect(typesIn(closed)).toEqual(["ean.status_changed", "account.eligibility_changed"]);
    expect(closed[1]?.data).toMatchObject({
      ere_eligible: false,
      checklist: { ean_validated: false, mandate_signed: true },
    });
    // who corrects a connection reads in the answer that its mandate was revoked; that the gates have closed is told
    const update = { connection_id, acknowledge_mandate_lapses: true, connection: { house_number: "4322" } };
    const corrected = await world.post("/v1/connections:update", update, await token());
    expect(corrected.body).toMatchObject({ changed: true, mandate_revoked: true });
    expect(await typesOfNews()).toEqual(["account.eligibility_changed"]);
    await world.travel("2026-08-15T12:01:00Z");
    await signMandate(world, account_id);
    await world.done(`registration review ${connection_id} goedgekeurd`);
    expect(await typesOfNews()).toEqual([
      "mandate.signed",
      "account.eligibility_changed",
      "registration.submitted",
      "registration.approved",
    ]);
  });

  test("tells of months, sales and payouts, once for each account and booking", async () => {
    const other = await world.customer({ "2026-02": 50 });
    await world.deliver(
      { account_id, connection_id, ean_code: "" },
      { "2026-01": 100, "2026-02": 200, "2026-03": 300 },
    );
    await news();
    const [{ booking_id }] = (await world.done(`booking open 2026-Q1 --partner partner-a`)).bookings;
    await world.done(`booking submit ${booking_id}`);
    const locked = await news();
    expect(typesIn(locked)).toEqual(["account.months_locked", "account.months_locked"]);
    expect(locked.find((event) => event.account_id === account_id)?.data).toEqual({
      account_id,
      cpo_external_ref: "KL-777",
      periods: ["2026-01-01", "2026-02-01", "2026-03-01"],
      status: "submitted",
    });
    await world.done(`booking withdraw ${booking_id} --yes`);
    expect(await typesOfNews()).toEqual(["account.months_reopened", "account.months_reopened"]);
    const [{ booking_id: again }] = (await world.done(`booking open 2026-Q1 --partner partner-a`)).bookings;
    await world.done(`booking submit ${again}`);
    const { rows } = await world.database.admin.query(
      "select id, account_id, kwh::float from core.booking_rows where booking_id = $1 order by account_id = $2 desc, period",
      [again, account_id],
    );
    await world.row("select ops.booking_credit($1)", {
      booking: again,
      rows: rows.map(({ id, kwh }, index) => ({ row_id: id, accepted_kwh: index === 0 ? 0 : kwh, reason: "test" })),
    });
    await world.row("select ops.booking_reverse_credit($1)", { row: rows[0]?.id, reason: "a mistake" });
    expect(await news()).toMatchObject([
      { type: "account.months_locked" },
      { type: "account.months_locked" },
      { type: "account.months_registered" },
      { type: "account.months_registered" },
      { type: "account.months_rejected", account_id, data: { periods: ["2026-01-01"], status: "rejected" } },
      { type: "account.months_locked", account_id, data: { periods: ["2026-01-01"], status: "submitted" } },
    ]);
    // the CPO settles with this one itself; as long as no figures are published its position says nothing of a sale
    await world.row("update core.accounts set payout_handler = 'via_cpo_invoicing' where id = $1", account_id);
    await world.done(`sale record ${again} --ere 10 --price 0.5 --buyer B --reference E-1`);
    expect(await typesOfNews()).toEqual([]);
    await world.done("figures publish 2026 --partner partner-a");
    await world.done(`sale record ${again} --ere 10 --price 0.5 --buyer B --reference E-2`);
    await world.done(["sale", "reverse", "E-2", "--reason", "test", "--yes"]);
    expect(await news()).toMatchObject([
      { type: "ere.sold", account_id, data: { delivery_year: 2026 } },
      { type: "ere.sold", account_id },
      { type: "ere.sale_reversed", account_id },
    ]);
    expect(other.account_id).not.toBe(account_id);
  });

  test("tells of payouts of accounts that the CPO settles with itself", async () => {
    await world.row("update core.accounts set iban_changed_at = '2026-01-01'");
    const { ciphertext, key_id } = await world.row(
      "select iban_ciphertext as ciphertext, iban_key_id as key_id from core.accounts where id = $1",
      account_id,
    );
    await world.row(
      "update core.partners set iban_ciphertext = $2, iban_key_id = $3, iban_last4 = '6789', iban_holder = 'Partner A' where id = $1",
      world.partnerA.id,
      ciphertext,
      key_id,
    );
    await world.row("update core.partners set iban_changed_at = '2026-01-01' where id = $1", world.partnerA.id);
    const cancelled = await world.anna("payout prepare --minimum 0");
    expect([cancelled.code, cancelled.err]).toEqual([0, ""]);
    await world.bram(["payout", "approve", cancelled.json.batch.batch_id, "--yes"]);
    await world.anna(["payout", "cancel", cancelled.json.batch.batch_id, "--reason", "test", "--yes"]);
    expect(await news()).toMatchObject([
      { type: "payout.approved", account_id, data: { status: "approved" } },
      { type: "payout.reversed", data: { status: "pending" } },
    ]);
    const { batch_id } = await world.exported("--minimum 0");
    const lines = await world.linesOf(batch_id);
    const line = lines.find(({ name }) => name === "Partner A")?.line_id;
    await world.anna(["payout", "settle", batch_id]);
    await world.anna(["payout", "settle", "--failed", line ?? "", "--reason", "closed"]);
    expect(await news()).toMatchObject([
      { type: "payout.approved", account_id },
      { type: "payout.paid", account_id },
      { type: "payout.failed", account_id },
    ]);
  });

  test("tells of renewals, of what runs out, and of a mandate that is ended", async () => {
    const renewing = await createAccount(
      world,
      world.partnerA,
      account({ cpo_external_ref: "KL-778", connection: { ...account().connection, ean_code: "871687655555555568" } }),
    );
    await signMandate(world, renewing.account_id);
    expect(await typesOfNews()).toEqual(["account.created", "mandate.signed"]);
    await world.travel("2026-11-15T12:00:00Z");
    await signMandate(world, renewing.account_id);
    const { token: declined } = await linkFor(world, account_id);
    await pageClient(world)(`/pages/mandate/${declined}/decline`, { form: {} });
    // declining the years after changes nothing
    expect(await typesOfNews()).toEqual(["mandate.renewed"]);
    await world.travel("2027-01-01T12:00:00Z");
    await runJobs();
    await runJobs();
    const expired = (await news()).filter(
      (event) => event.account_id === account_id || event.account_id === renewing.account_id,
    );
    expect(typesIn(expired)).toEqual(["mandate.expired", "account.eligibility_changed"]);
    await world.done(["mandate", "revoke", renewing.connection_id, "--yes"]);
    expect(await typesOfNews()).toEqual(["mandate.revoked"]);
  });

  test("tells that mail to a customer does not arrive, without the address", async () => {
    // the sandbox sends nothing that could come back
    const mail = await world.row(
      `update core.mail_outbox set status = 'sent' where id = (
         select id from core.mail_outbox where cause like 'mandate_signed:%' and status = 'captured' limit 1)
       returning id, recipient`,
    );
    const report = { mail: mail.id, recipients: [mail.recipient], action: "failed", status: "5.1.1" };
    await world.row("select ops.mail_bounced($1)", JSON.stringify({ reports: [report] }));
    expect(await news()).toMatchObject([{ type: "mandate.mail_failed", data: { reason: "unknown_address" } }]);
  });

  test("has had every type by now, and none of them shows who, where or which account of a bank", async () => {
    // a CPO's chargers connect to its own back office, and tests/ocpi pulls
    const untold: EventType[] = ["webhook_endpoint.disabled", "charger.connected", "ocpi.pull_failed"];
    expect(new Set(typesIn(told))).toEqual(new Set(typesOf("client").filter((type) => !untold.includes(type))));
    const { rows } = await world.database.admin.query("select * from core.events");
    const text = JSON.stringify([rows, told]).toLowerCase();
    for (const secret of [...Object.values(PLANTED), "geheim", "0687654321", "123456789", "plantinga", "555555551"])
      expect(text, secret).not.toContain(secret.toLowerCase());
    expect(withoutIds(text)).not.toContain("4321");
  });

  test("is nobody else's: not a colleague's, not another partner's, not the partner's own", async () => {
    const colleague = await world.addClient(world.partnerA.id);
    const mine = (await readLog(world, "client", await token())).events;
    expect(mine.length).toBeGreaterThan(3);
    for (const client of [colleague, world.partnerB.client]) {
      expect((await readLog(world, "client", await token(client))).events).toEqual([]);
      expect((await world.get(`/v1/events/${mine[0]?.id}`, await token(client))).status).toBe(404);
    }
  });
});
