// What a partner is told: of its drafts, of the customers it brought no more than it reads of them anyway, and of its own payouts.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issueUserToken } from "#shared/auth/tokens.ts";
import { claimKey } from "#shared/domain/claim/links.ts";
import type { EventType } from "#shared/domain/events.ts";
import { sealIban } from "#shared/values/iban.ts";
import { addCharger } from "../harness/chargers.ts";
import { withoutIds } from "../harness/without_ids.ts";
import { addLogin } from "../partner/partner_world.ts";
import { createSandboxWorld, type SandboxWorld, START } from "../sandbox/sandbox_world.ts";
import { type LogEvent, readLog, typesIn } from "./log.ts";

let world: SandboxWorld;
let manager: string;
beforeAll(async () => {
  world = await createSandboxWorld({ limits: "lifted" });
  await world.row(
    "update core.partners set default_fee_pct = 20, partner_share_pct = 50 where id = $1",
    world.partnerA.id,
  );
  const { id: userId } = await addLogin(world);
  await world.row("insert into core.partner_managers (partner_id, user_id) values ($1, $2)", world.partnerA.id, userId);
  const scopes = ["partners:read", "partners:write"];
  const app = await world.addClient(null, { scopes, grant_types: ["authorization_code"] });
  const { id: grantId } = await world.row(
    "insert into core.oauth_grants (user_id, client_id, scopes) values ($1, $2, $3) returning id",
    userId,
    app.id,
    scopes,
  );
  manager = await issueUserToken(world.environment, {
    userId,
    clientId: app.client_id,
    scope: scopes.join(" "),
    grantId,
    secretNumber: 1,
  });
});
afterAll(() => world.close());

const PLANTED = {
  naam: "Geertruida Plantinga",
  email: "plantinga@geheim.example",
  phone: "0687654321",
  postcode: "9999ZZ",
  huisnummer: "4321",
  straat: "Verborgenlaan",
  plaats: "Nergenshuizen",
  ean: "871687655555555551",
  iban: "NL02ABNA0123456789",
};
let cursor = "";
const news = async (): Promise<LogEvent[]> => {
  const log = await readLog(world, "partner", world.keyA, { after: cursor });
  cursor = log.cursor;
  return log.events;
};
const daysLater = (days: number) => new Date(Date.parse(START) + days * 86_400_000).toISOString();

describe("§6 the log of a partner", () => {
  let customer: { account_id: string; customer_ref: string; draft_id: string };

  test("tells what becomes of a draft and of the customer it made, with the references of GET /partner/customers", async () => {
    await news();
    const { email: _email, ...fields } = PLANTED;
    customer = await world.customer({ ...fields, email: PLANTED.email, external_ref: "K-1" });
    const events = await news();
    expect(typesIn(events)).toEqual(
      ["draft.claimed", "charger.registered", "mandate.signed", "registration.submitted", "draft.active"].sort(
        (a, b) => typesIn(events).indexOf(a as EventType) - typesIn(events).indexOf(b as EventType),
      ),
    );
    const { body } = await world.get("/partner/customers", world.keyA);
    const [{ customer_ref }] = body.customers;
    for (const { type, account_id, data } of events) {
      expect(account_id).toBe(null);
      expect(data).toMatchObject(
        type.startsWith("draft.")
          ? { draft_id: customer.draft_id, external_ref: "K-1" }
          : { customer_ref, external_ref: "K-1" },
      );
    }
    await world.play(customer.account_id, "review", { outcome: "afgekeurd" });
    const { connection_id } = await world.row(
      "select id as connection_id from core.connections where account_id = $1",
      customer.account_id,
    );
    await world.row(
      "update core.connections set registration_status = 'ingediend', submitted_at = private.now() where id = $1",
      connection_id,
    );
    await world.row("select ops.registration_review($1)", { connection: connection_id, verdict: "goedgekeurd" });
    expect(await news()).toMatchObject([
      { type: "registration.rejected", data: { customer_ref, registration_status: "afgekeurd" } },
      { type: "registration.approved", data: { customer_ref, registration_status: "goedgekeurd" } },
    ]);
  });

  test("tells of drafts that nobody claims, or nobody can", async () => {
    const taken = await addLogin(world);
    const conflicting = await world.draft({ email: taken.email });
    await world.row("select private.reserve_customer($1, $2, 'manual')", taken.id, world.partnerB.id);
    expect((await world.claim(conflicting.draft_id)).status).not.toBe(200);
    const expiring = await world.draft();
    await world.travel(daysLater(61));
    await world.environment.slowDb.call(
      "run_draft_jobs",
      { kind: "worker", host: "sandbox", request_id: "test" },
      { links: { key: "00", pages_url: "x" }, size: 0 },
    );
    expect(await news()).toMatchObject([
      { type: "draft.conflict", data: { draft_id: conflicting.draft_id, status: "conflict" } },
      { type: "draft.expired", data: { draft_id: expiring.draft_id, status: "expired" } },
    ]);
    await world.travel(START);
  });

  test("tells of mandates that are renewed, run out or are ended, and of meters that were judged", async () => {
    const { connection_id } = await world.row(
      "select id as connection_id from core.connections where account_id = $1",
      customer.account_id,
    );
    const { charger } = await world.row(
      "select h as charger from core.chargers h where account_id = $1 limit 1",
      customer.account_id,
    );
    await world.row(
      "select private.emit_charger('charger.mid_confirmed', h) from core.chargers h where account_id = $1 limit 1",
      customer.account_id,
    );
    expect(charger).toBeTruthy();
    await world.row(
      "select private.set_tenant(private.people_tenant()), private.end_mandate($1, 'revoked', 'customer')",
      connection_id,
    );
    const events = await news();
    expect(typesIn(events)).toEqual(["charger.mid_confirmed", "mandate.revoked"]);
    expect(Object.keys(events[1]?.data)).toEqual(["customer_ref", "external_ref"]);
  });

  test("tells of its own money: what was sold, what is on its way, paid, failed and taken back", async () => {
    const paid = await world.customer({ external_ref: "K-2" }, { submit: true });
    await world.play(paid.account_id, "review", { outcome: "goedgekeurd" });
    // whoever was brought in spring earned in the second quarter
    await world.row(
      "update core.attributions set attached_month = '2026-01-01' where partner_id = $1",
      world.partnerA.id,
    );
    const { ciphertext, key_id, last4 } = sealIban(world.environment, world.partnerA.id, PLANTED.iban);
    await world.row(
      "update core.partners set iban_ciphertext = $2, iban_key_id = $3, iban_last4 = $4, iban_holder = 'Partner A' where id = $1",
      world.partnerA.id,
      ciphertext,
      key_id,
      last4,
    );
    await news();
    const settled = await world.post("/sandbox/v1/settle", { quarter: "2026-Q2" }, world.keyA);
    expect(settled.status, JSON.stringify(settled.body)).toBe(200);
    const listed = async () => (await world.get("/partner/payouts", world.keyA)).body.payouts[0];
    const { payout_id, period, status } = await listed();
    expect(status).toBe("paid");
    expect(await news()).toMatchObject([
      { type: "ere.sold", data: { payout_id, period } },
      { type: "payout.paid", data: { payout_id, period, status } },
    ]);
    // the bank sends it back; it is paid again, and not for a second time told of the same status
    const line = "select l from core.payout_lines l where l.payee_id = $1";
    await world.row(`select private.fail_lines(array[l], 'closed') from (${line}) x (l)`, world.partnerA.id);
    expect(await news()).toMatchObject([
      { type: "payout.failed", data: { payout_id, status: (await listed()).status } },
    ]);
    await world.row("select private.announce_payouts(array[$1::uuid])", world.partnerA.id);
    await world.row(
      "update core.payout_lines set released_at = private.now(), released_reason = 'x', status = 'failed' where payee_id = $1",
      world.partnerA.id,
    );
    expect(await news()).toEqual([]);
    const { sale } = await world.row("select s.id as sale from core.sales s limit 1");
    await world.row(
      "select private.set_tenant(s.partner_id), private.reverse_sale(s, 'a mistake', true) from core.sales s where s.id = $1",
      sale,
    );
    expect(await news()).toMatchObject([
      { type: "ere.sale_reversed", data: { payout_id } },
      { type: "payout.reversed", data: { payout_id, status: "pending" } },
    ]);
  });

  test("says nothing of who, where, or which account; and nobody else reads it", async () => {
    const { rows } = await world.database.admin.query("select * from core.events");
    const log = await readLog(world, "partner", world.keyA);
    const told = JSON.stringify([rows.map(({ user_id: _, ...row }) => row), log.events]).toLowerCase();
    const { huisnummer, ...planted } = PLANTED; // four digits also stand in an id, by chance
    for (const secret of [...Object.values(planted), "plantinga", "geheim", "687654321", "123456789"])
      expect(told, secret).not.toContain(secret.toLowerCase());
    expect(withoutIds(told)).not.toContain(huisnummer);
    expect(JSON.stringify(log.events)).not.toContain(customer.account_id);
    expect((await readLog(world, "partner", world.keyB)).events).toEqual([]);
    expect((await readLog(world, "client", await world.partnerA.client.token())).events).toEqual([]);
    expect(await world.get(`/partner/events/${log.events[0]?.id}`, world.keyB)).toMatchObject({ status: 404 });
  });

  test("shows a person who manages the partner no reference of a customer, and no registration", async () => {
    const { events } = await readLog(world, "partner", manager);
    const whole = (await readLog(world, "partner", world.keyA)).events;
    expect(events.map(({ id }) => id)).toEqual(
      whole.filter(({ type }) => !type.startsWith("registration.")).map(({ id }) => id),
    );
    expect(JSON.stringify(events)).not.toMatch(/K-1|K-2/);
    const registration = whole.find(({ type }) => type.startsWith("registration."));
    expect((await world.get(`/partner/events/${registration?.id}`, manager)).status).toBe(404);
    expect((await world.get(`/partner/events/${registration?.id}`, world.keyA)).status).toBe(200);
  });

  test("sends to an endpoint that a person made what that person reads, replays included, and to one of the operator's all of it", async () => {
    const url = "https://receiver.example.com/";
    const made = await world.post("/partner/webhooks", { url, from: START.slice(0, 10) }, manager);
    expect([made.status, made.body.pseudonymous]).toEqual([200, true]);
    await world.row("select ops.webhook_add($1)", {
      operator: "test",
      partner: world.partnerA.id,
      id: crypto.randomUUID(),
      url,
      from: START.slice(0, 10),
      secret: { ciphertext: "x", key_id: "x" },
    });
    const { webhooks } = (await world.get("/partner/webhooks", manager)).body;
    expect(webhooks.map(({ pseudonymous }: { pseudonymous: boolean }) => pseudonymous).sort()).toEqual([false, true]);
    const logs = [manager, world.keyA].map((reader) => readLog(world, "partner", reader));
    const sent = async () => {
      const worker = { kind: "worker", host: "sandbox", request_id: "test" };
      const claimed = JSON.parse(
        await world.environment.slowDb.call("lease_webhooks", worker, { size: 5, key: claimKey(world.environment) }),
      );
      // biome-ignore lint/suspicious/noExplicitAny: what the worker is given
      const posts = claimed.find(({ webhook_id }: any) => webhook_id === made.body.id)?.posts;
      // biome-ignore lint/suspicious/noExplicitAny: what the worker is given
      const whole = claimed.find(({ webhook_id }: any) => webhook_id !== made.body.id)?.posts;
      await world.row("update core.webhook_endpoints set lease_until = null");
      return [posts, whole];
    };
    const asSent = ({ id, type, created_at, sequence, data }: LogEvent) => ({
      event_id: id,
      body: { type, timestamp: created_at, sequence, data },
    });
    // biome-ignore lint/suspicious/noExplicitAny: what the worker is given
    const asRead = (posts: any[]) => posts.map(({ event_id, body }) => ({ event_id, body }));
    for (const [index, posts] of (await sent()).entries())
      expect(asRead(posts)).toEqual((await logs[index])?.events.map(asSent));
    const [posts] = await sent();
    expect(JSON.stringify(posts)).not.toMatch(/K-1|K-2|registration/);
    expect(JSON.stringify(posts)).toContain("customer_ref");

    // sent again, and not more than that
    await world.row("update core.webhook_endpoints set delivered_to = 10000");
    const replayed = await world.post(
      `/partner/webhooks/${made.body.id}/replay`,
      { from: START.slice(0, 10) },
      manager,
    );
    await world.travel(new Date(Date.parse(START) + 1000).toISOString());
    expect(replayed.body.events).toBe(posts.length);
    const [again] = await sent();
    expect(asRead(again)).toEqual(asRead(posts));
    // more than fifty would go in two turns
    expect(posts.length).toBeLessThan(50);
    await world.row("delete from core.webhook_endpoints");
    await world.travel(START);
  });

  test("of who shares by an application it tells no registration, and when the sharing ends", async () => {
    const user = await world.addUser();
    await world.row("select private.reserve_customer($1, $2, 'oauth_consent')", user.id, world.partnerA.id);
    await news();
    await addCharger(world, user);
    const { partner_id } = await world.row("select partner_id from core.accounts where id = $1", user.account_id);
    for (const type of [
      "registration.submitted",
      "mandate.signed",
      "account.eligibility_changed",
      "ean.status_changed",
      "account.months_locked",
    ])
      await world.row(
        "select private.emit_all($1, $2, array[row($3::uuid, $3::uuid, '{}')::private.occurrence])",
        partner_id,
        type,
        user.account_id,
      );
    expect(typesIn(await news())).toEqual(["mandate.signed"]);
    const { id } = await addLogin(world);
    await world.row("select private.reserve_customer($1, $2, 'oauth_consent')", id, world.partnerA.id);
    const { customer_ref } = await world.row(
      "select private.customer_ref($1, private.customer_key($2, $3)) as customer_ref",
      id,
      world.partnerA.id,
      claimKey(world.environment),
    );
    await world.row("delete from auth.users where id = $1", id);
    expect(await news()).toMatchObject([
      { type: "customer.sharing_ended", data: { customer_ref, external_ref: null } },
    ]);
  });

  test("of who left it keeps the reference that the partner knows them by, in what it told before too; a person reads none", async () => {
    const { id } = await addLogin(world);
    await world.row("select private.reserve_customer($1, $2, 'oauth_consent')", id, world.partnerA.id);
    await world.row("update core.attributions set external_ref = 'KL-left' where user_id = $1", id);
    await news();
    await world.row(
      "select private.append_event($1, $1, 'mandate.signed', gen_random_uuid(), '{}', $2)",
      world.partnerA.id,
      id,
    );
    const { events } = await readLog(world, "partner", world.keyA);
    const customer_ref = events.at(-1)?.data.customer_ref;
    expect(events.at(-1)?.data.external_ref).toBe("KL-left");
    await world.row("delete from auth.users where id = $1", id);
    const theirs = async (token: string) =>
      (await readLog(world, "partner", token)).events
        .filter(({ data }) => data.customer_ref === customer_ref)
        .map(({ type, data }) => [type, data.external_ref]);
    expect(await theirs(world.keyA)).toEqual([
      ["mandate.signed", "KL-left"],
      ["customer.sharing_ended", "KL-left"],
    ]);
    expect(await theirs(manager)).toEqual([
      ["mandate.signed", null],
      ["customer.sharing_ended", null],
    ]);
    await news();
  });

  test("a reset is no news to who asked for it, and leaves the log as it is", async () => {
    const before = await readLog(world, "partner", world.keyA);
    expect((await world.reset()).status).toBe(200);
    expect(await news()).toEqual([]);
    expect((await readLog(world, "partner", world.keyA)).events.map(({ id }) => id)).toEqual(
      before.events.map(({ id }) => id),
    );
  });
});
