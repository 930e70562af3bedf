// POST /sandbox/v1/reset: everything the partner's customers left, and nothing else (specification section 4.3).

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { ingest } from "../harness/chargers.ts";
import { signMandate } from "../harness/mandate.ts";
import { accountBody } from "../harness/people.ts";
import { newBrowser, prove } from "../pages/claimant.ts";
import { addCustomer, draftRow, newEmail } from "../partner/partner_world.ts";
import { createSandboxWorld, everyCount, later, type SandboxWorld, START, testEan } from "./sandbox_world.ts";

let world: SandboxWorld;
beforeAll(async () => {
  world = await createSandboxWorld({ variables: { OCPP_GATEWAY_URL: "wss://gateway.example/ocpp/" } });
});
afterEach(() => world.travel(START));
afterAll(() => world.close());

/** What a reset leaves: its own audit row, the log of events, which is read on, and how much of a limit is used. */
const counts = async (): Promise<Record<string, number>> => ({
  ...(await everyCount(world)),
  audit_log: 0,
  events: 0,
  event_heads: 0,
  rate_limit_state: 0,
});
const deleted = ({ status, body }: { status: number; body: Record<string, unknown> }) => [
  status,
  body.customers_deleted,
  body.drafts_deleted,
];

/** What the consent page mails, in the house. */
const signInCode = (to: string) =>
  world.row(
    `insert into core.mail_outbox (partner_id, cause, template, locale, recipient, content, status)
     values (private.people_tenant(), 'sign_in_code:' || gen_random_uuid(), 'sign_in', 'nl', $1, '{"code": "123456", "app": null}', 'captured')`,
    to,
  );

/** A customer in every way there is, and with everything one can have. */
async function everything(key: string): Promise<void> {
  const fields = { external_ref: "RESET" };
  const submitted = await world.customer(
    fields,
    { submit: true, charger: { sessions_per_week: 10, since: "2026-10-01" } },
    key,
  );
  await world.play(submitted.account_id, "chargers", { mid: false, since: "2026-11-01" }, key);
  await world.play(submitted.account_id, "review", { outcome: "goedgekeurd" }, key);
  // a correction of a session, a token, an application, a charger of their own
  const { charger_id } = submitted.charger;
  const at = (hours: number) => new Date(Date.parse(START) - hours * 3_600_000).toISOString();
  for (const wh of [5000, 6000])
    await ingest(world, { charger_id, external_id: "x", started_at: at(9), ended_at: at(8), wh });
  const { user_id } = await world.row("select user_id from core.accounts where id = $1", submitted.account_id);
  const { id: client_id } = await world.addClient(null, {
    scopes: ["sessions:read"],
    grant_types: ["authorization_code"],
  });
  await world.row(
    `with grants as (insert into core.oauth_grants (user_id, client_id, scopes) values ($1, $2, '{sessions:read}') returning id),
          tokens as (insert into core.personal_tokens (user_id, name, token_hash, last4, scopes) values ($1, 'Mijn', sha256($1::text::bytea), 'abcd', '{sessions:read}'))
     insert into core.chargers (partner_id, user_id, owner_id, nickname, connection_type) values (private.people_tenant(), $1, $1, 'Los', 'ocpp')`,
    user_id,
    client_id,
  );
  await signInCode(submitted.email);
  await world.customer({ type: "zakelijk", kvk: "12345678", bedrijfsnaam: "Bakkerij" }, {}, key);
  await world.customer({}, { submit: true, iban: null, charger: { sessions_per_week: 1 } }, key);
  // drafts in each status, with mail, links, half a claim, and a login that was left behind
  await world.post("/partner/drafts/import", { consent: true, rows: [draftRow(), draftRow()], source: "api" }, key);
  const half = await world.draft({}, key);
  await prove(world, newBrowser(world), { id: half.draft_id, email: half.email, link: half.claim_url });
  await world.post("/partner/drafts/auth-link", { draft_id: half.draft_id }, key);
  await world.claim((await world.draft({ ean: testEan(54) }, key)).draft_id, {}, key);
  await world.claim((await world.draft({}, key)).draft_id, { ean: testEan(30) }, key);
  const expired = await world.draft({}, key);
  await world.row("update core.drafts set expires_at = created_at, status = 'expired' where id = $1", expired.draft_id);
  const withdrawn = await world.draft({}, key);
  await world.claim(withdrawn.draft_id, { ean: testEan(30) }, key);
  await world.post("/partner/drafts/withdraw", { draft_id: withdrawn.draft_id }, key);
  const { created } = (await world.post("/partner/drafts/import", { consent: true, rows: [draftRow()] }, key)).body;
  await world.post("/partner/drafts/withdraw", { draft_id: created[0].draft_id }, key);
}

describe("§4.3 reset", () => {
  test("§4.3 with nothing to delete, twice: zeros", async () => {
    for (let time = 0; time < 2; time += 1) expect(deleted(await world.reset())).toEqual([200, 0, 0]);
  });

  test("§4.3 leaves no row of any customer in any table, and of everybody else every row", async () => {
    await everything(world.keyB);
    // the partner's own: a CPO account whose customer is drafted too, with mandate mail; a manager; settings
    const person = { full_name: "Sanne de Vries", email: newEmail(), phone: null };
    const cpo = (await world.post("/v1/accounts", accountBody({ person }), await world.partnerA.client.token())).body;
    await world.post(
      "/v1/mandate-links",
      { account_id: cpo.account_id, send_email: true },
      await world.partnerA.client.token(),
    );
    await signMandate(world, cpo.account_id);
    await world.customer({}, {}, world.keyB);
    await signInCode(newEmail());
    const before = await counts();
    const kept = async () => ({
      partner: await world.rows("select * from core.partners order by id"),
      keys: await world.rows("select key_hash, revoked_at from core.partner_keys order by id"),
      theirs: await world.rows(
        "select d.id, d.status, d.account_id from core.drafts d where partner_id = $1 order by id",
        world.partnerB.id,
      ),
      mandate: await world.rows("select status from core.mandates where partner_id = $1", world.partnerA.id),
      mail: await world.rows("select cause from core.mail_outbox where recipient = $1 order by 1", person.email),
    });
    const keptBefore = await kept();

    await everything(world.keyA);
    const same = await world.draft({ email: person.email });
    expect((await world.claim(same.draft_id)).status).toBe(200);
    const people = (
      await world.row("select count(*)::int as n from core.attributions where partner_id = $1", world.partnerA.id)
    ).n;
    const drafts = (
      await world.row("select count(*)::int as n from core.drafts where partner_id = $1", world.partnerA.id)
    ).n;
    const clients = (await world.row("select count(*)::int as n from core.oauth_clients")).n;
    expect(deleted(await world.reset())).toEqual([200, people, drafts]);
    // the one client is the test's own application
    expect(await counts()).toEqual({ ...before, oauth_clients: clients });
    expect(await kept()).toEqual(keptBefore);
    expect((await world.get("/partner/drafts", world.keyA)).body.drafts).toEqual([]);
    expect((await world.get("/partner/customers", world.keyA)).body.customers).toEqual([]);
    expect(deleted(await world.reset())).toEqual([200, 0, 0]);
  });

  test("§4.3 addresses, EANs and the cap are free at once; the key goes on", async () => {
    const email = newEmail();
    const row = { email, ean: "871687123456789012", external_ref: "AGAIN" };
    const cap = async () => (await world.get("/partner/me", world.keyA)).body.partner.cap;
    const whole = await cap();
    for (let time = 0; time < 3; time += 1) {
      await world.customer(row, { submit: true, charger: { sessions_per_week: 1 } });
      expect((await cap()).remaining).toBe(whole.remaining - 1);
      expect(deleted(await world.reset())).toEqual([200, 1, 1]);
      expect(await cap()).toEqual(whole);
    }
    const theirs = await world.customer(row, {}, world.keyB);
    expect(theirs.steps.claim).toBe("done");
    await world.reset(world.keyB);
  });

  test("§4.3 an opt-out of its customers ends, of withdrawn drafts too; of another partner's it stays", async () => {
    const invited = async (key: string, fields = {}) => {
      const { body } = await world.post("/partner/drafts/import", { consent: true, rows: [draftRow(fields)] }, key);
      return { ...body, ...body.created[0] };
    };
    const optOut = async (email: string, key: string) => {
      const { mail } = (await world.get(`/sandbox/v1/mail?to=${email}`, key)).body;
      const link = mail.flatMap((m: { links: string[] }) => m.links).find((l: string) => l.includes("/unsubscribe/"));
      expect((await newBrowser(world)(link, { form: {} })).status).toBe(200);
    };
    const again = async (email: string, key: string) => (await invited(key, { email })).skipped.suppressed;
    const theirs = await invited(world.keyB);
    const withdrawn = await invited(world.keyA);
    const claimed = await invited(world.keyA);
    expect((await world.claim(claimed.draft_id)).status).toBe(200);
    for (const { email } of [withdrawn, claimed]) await optOut(email, world.keyA);
    await optOut(theirs.email, world.keyB);
    await world.post("/partner/drafts/withdraw", { draft_id: withdrawn.draft_id }, world.keyA);
    await world.post("/partner/drafts/withdraw", { draft_id: theirs.draft_id }, world.keyB);
    expect(await again(withdrawn.email, world.keyA)).toBe(1);
    await world.reset();
    for (const { email } of [withdrawn, claimed]) expect(await again(email, world.keyA)).toBe(0);
    expect(await again(theirs.email, world.keyB)).toBe(1);
    await Promise.all([world.reset(), world.reset(world.keyB)]);
  });

  test("a person with a login of their own keeps it, and what hangs on it; only their draft and the tie to the partner go", async () => {
    const own = await addCustomer(world, world.partnerA, "oauth_consent");
    const login = await world.row(
      "insert into auth.users (id, email, email_confirmed_at, raw_app_meta_data) values (gen_random_uuid(), $1::text, now(), jsonb_build_object('proved_email', $1::text)) returning id, email",
      newEmail(),
    );
    const drafted = await world.draft({ email: login.email });
    await prove(world, newBrowser(world), { id: drafted.draft_id, email: drafted.email, link: drafted.claim_url });
    const manager = await world.customer({}, {});
    const { user_id } = await world.row("select user_id from core.accounts where id = $1", manager.account_id);
    await world.row(
      "insert into core.partner_managers (partner_id, user_id) values ($1, $2)",
      world.partnerB.id,
      user_id,
    );
    const before = await counts();
    expect(deleted(await world.reset())).toEqual([200, 2, 2]);
    const logins = "select count(*)::int as n from auth.users where id = any ($1)";
    expect(await world.row(logins, [own, login.id, user_id])).toEqual({ n: 3 });
    const after = await counts();
    expect([before.accounts, after.accounts]).toEqual([(after.accounts ?? 0) + 1, after.accounts]);
    expect(await world.row("select count(*)::int as n from core.chargers where user_id = $1", own)).toEqual({ n: 1 });
  });

  test("ten at once: the sum is what there was", async () => {
    await Promise.all(Array.from({ length: 6 }, () => world.customer({}, {})));
    const answers = await Promise.all(Array.from({ length: 10 }, () => world.reset()));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(answers.reduce((sum, { body }) => sum + body.customers_deleted, 0)).toBe(6);
    expect(answers.reduce((sum, { body }) => sum + body.drafts_deleted, 0)).toBe(6);
  });
});

describe("§4.3 reset, while something runs", () => {
  /** Nothing hangs on what is gone. */
  async function noOrphans(): Promise<void> {
    const [found] = await world.rows(
      `select (select count(*)::int from core.accounts a where a.partner_id = private.people_tenant() and a.user_id is not null
                  and not exists (select from core.attributions t where t.user_id = a.user_id)
                  and exists (select from auth.users u where u.id = a.user_id and u.raw_app_meta_data ->> 'claimed_for' = $1::text)) as accounts,
              (select count(*)::int from core.drafts d where d.status = 'active' and not exists (select from core.accounts a where a.id = d.account_id)) as drafts,
              (select count(*)::int from core.charging_sessions s where s.source = 'sandbox' and not exists (select from core.virtual_chargers v where v.charger_id = s.charger_id)) as sessions,
              (select count(*)::int from core.charger_months m where m.sessions <> (select count(*) from core.charging_sessions s where s.charger_id = m.charger_id and s.month = m.month and s.counted)) as months,
              (select count(*)::int from core.mail_outbox m where m.cause like 'claim\\_code:%' and not exists (select from core.drafts d where m.cause like 'claim\\_code:' || d.id || '%')
                  and m.partner_id = $1::uuid) as mail`,
      world.partnerA.id,
    );
    expect(found).toEqual({ accounts: 0, drafts: 0, sessions: 0, months: 0, mail: 0 });
  }
  const failures = () => world.log.filter(({ level }) => level === "error");

  /** Runs a statement in a transaction, and commits it once what `begin` started waits for it. */
  async function during<T>(statement: string, values: unknown[], begin: () => Promise<T>): Promise<T> {
    const other = await world.database.admin.connect();
    try {
      await other.query("begin");
      await other.query(statement, values);
      const begun = begin();
      const waiting = "select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock'";
      await expect.poll(async () => (await world.row(waiting)).n).toBeGreaterThan(0);
      await other.query("commit");
      return await begun;
    } finally {
      await other.query("rollback");
      other.release();
    }
  }
  const ERASE = "select private.erase_customers($1, null, '00')";

  test("an import: all of its drafts are there, or none", async () => {
    const rows = Array.from({ length: 200 }, () => draftRow());
    for (let round = 0; round < 3; round += 1) {
      await world.reset();
      const [imported] = await Promise.all([
        world.post("/partner/drafts/import", { consent: true, send_invite: true, rows }, world.keyA),
        world.reset(),
        world.reset(),
      ]);
      expect([imported.status, imported.body.added]).toEqual([200, 200]);
      const { n } = await world.row(
        "select count(*)::int as n from core.drafts where partner_id = $1",
        world.partnerA.id,
      );
      expect([0, 200]).toContain(n);
    }
    await world.reset();
  });

  test("a claim that looks at its draft meanwhile waits, and does not find it", async () => {
    const { draft_id } = await world.customer({}, { submit: true });
    const claim = await during(ERASE, [world.partnerA.id], () => world.claim(draft_id, {}));
    expect(claim.body).toMatchObject({ error: "draft_not_found" });
  });

  /** A customer with a login and a token of their own. */
  async function person() {
    const { account_id } = await world.customer();
    const { user_id } = await world.row("select user_id from core.accounts where id = $1", account_id);
    const token = `${world.environment.config.KEY_PREFIX}_pat_${newSecret()}`;
    await world.row(
      `insert into core.personal_tokens (user_id, name, token_hash, last4, scopes)
       values ($1, 'Test', decode($2, 'hex'), $3, '{chargers:write}')`,
      user_id,
      hashSecret(token),
      token.slice(-4),
    );
    return { user_id, token };
  }
  const register = (token: string) => world.post("/chargers", { nickname: "Oprit", connection_type: "ocpp" }, token);

  test("a charger of somebody whose account goes, and login stays: it is bound to no account", async () => {
    const { user_id, token } = await person();
    await world.row(
      "insert into core.partner_managers (partner_id, user_id) values ($1, $2)",
      world.partnerA.id,
      user_id,
    );
    const { status, body } = await during(ERASE, [world.partnerA.id], () => register(token));
    expect(status, JSON.stringify(failures())).toBe(201);
    expect(
      await world.row("select account_id, connection_id, user_id from core.chargers where id = $1", body.id),
    ).toEqual({ account_id: null, connection_id: null, user_id });
    await world.row("delete from core.chargers where id = $1", body.id);
    await world.row("delete from core.partner_managers where user_id = $1", user_id);
    await world.row("delete from auth.users where id = $1", user_id);
  });

  test("a charger of somebody whose login goes: their token is gone too", async () => {
    const { token } = await person();
    const { status } = await during(ERASE, [world.partnerA.id], () => register(token));
    expect(status, JSON.stringify(failures())).toBe(401);
  });

  test("a charger that somebody without an account registers before their login goes: it goes too", async () => {
    const { user_id } = await world.row(
      `insert into auth.users (id, email, raw_app_meta_data)
       values (gen_random_uuid(), $1, jsonb_build_object('claimed_for', $2::text)) returning id as user_id`,
      newEmail(),
      world.partnerA.id,
    );
    const added = `insert into core.chargers (partner_id, owner_id, user_id) values (private.people_tenant(), $1, $1)`;
    const { status } = await during(added, [user_id], () => world.reset());
    expect(status, JSON.stringify(failures())).toBe(200);
    expect(await world.row("select count(*)::int as n from core.chargers where user_id = $1", user_id)).toEqual({
      n: 0,
    });
  });

  test("claims: each is whole, or its draft is not found; no failure", async () => {
    for (let round = 0; round < 6; round += 1) {
      const drafts = await Promise.all(Array.from({ length: 4 }, () => world.draft()));
      const claims = drafts.map(({ draft_id }) =>
        world.claim(draft_id, { submit: true, charger: { sessions_per_week: 3 } }),
      );
      const resets = Array.from({ length: 3 }, async (_, n) => {
        await Promise.race([claims[n], world.row("select pg_sleep($1)", (round * 3 + n) * 0.008)]);
        return world.reset();
      });
      const answers = await Promise.all([...claims, ...resets]);
      expect(
        answers.filter(({ status }) => status >= 500),
        JSON.stringify(failures()),
      ).toEqual([]);
      for (const { status, body } of answers)
        if (status !== 200) expect(["draft_not_found", "customer_not_found"]).toContain(body.error);
      await noOrphans();
    }
    await world.reset();
    expect(
      await world.row("select count(*)::int as n from core.drafts where partner_id = $1", world.partnerA.id),
    ).toEqual({ n: 0 });
  });

  test("sessions coming in, by helper, by job and from a gateway: no failure, nothing left", async () => {
    for (let round = 0; round < 4; round += 1) {
      await world.travel(START);
      const customers = await Promise.all(
        Array.from({ length: 4 }, () =>
          world.customer({}, { submit: true, charger: { sessions_per_week: 20, since: "2026-08-01" } }),
        ),
      );
      await world.travel(later(7 * 86_400));
      const at = later(7 * 86_400 - 3600);
      const answers = await Promise.all([
        ...customers.map(({ account_id }) => world.play(account_id, "sync")),
        world.work().then(() => ({ status: 200 })),
        ...customers.map(({ account_id }) => world.play(account_id, "chargers", { sessions_per_week: 2 })),
        ingest(
          world,
          ...customers.map(({ charger }) => ({
            charger_id: charger.charger_id,
            external_id: "g",
            started_at: at,
            ended_at: later(7 * 86_400),
            wh: 900,
          })),
        ).then(() => ({ status: 200 })),
        world.reset(),
        ...customers.map(({ account_id }) => world.play(account_id, "review", { outcome: "goedgekeurd" })),
        world.reset(),
      ]);
      expect(
        answers.filter(({ status }) => status >= 500),
        JSON.stringify(failures()),
      ).toEqual([]);
      await noOrphans();
      await world.reset();
      const left = await world.row("select count(*)::int as n from core.charging_sessions");
      expect(left).toEqual({ n: 0 });
    }
  });

  test("mail about a notice waits for no reset, and is written later if there was none", async () => {
    const { account_id } = await world.customer({}, { submit: true });
    await world.play(account_id, "review", { outcome: "goedgekeurd" });
    const due = async () =>
      (await world.row("select count(due_at)::int as n from core.notices where account_id = $1", account_id)).n;
    const mailed = async () => {
      const { status, body } = await world.post("/worker/run", {}, world.environment.config.WORKER_SECRET);
      return [status, body.notices];
    };
    expect(await due()).toBe(1);
    const other = await world.database.admin.connect();
    try {
      // a reset has accounts first, and then waits for whoever has their chargers
      await other.query("begin");
      await other.query("select from core.accounts where id = $1 for update", [account_id]);
      expect(await mailed()).toEqual([200, { mailed: 0 }]);
    } finally {
      await other.query("rollback");
      other.release();
    }
    expect(await due()).toBe(1);
    await world.travel(later(301));
    expect(await mailed()).toEqual([200, { mailed: 1 }]);
    expect(await due()).toBe(0);
    await world.reset();
  });

  test("fixtures: no failure, and afterwards all six can be made", async () => {
    const fixtures = () => world.send("/sandbox/v1/fixtures", { method: "POST", token: world.keyA });
    const answers = await Promise.all([
      fixtures(),
      world.row("select pg_sleep(0.1)").then(() => world.reset()),
      world.row("select pg_sleep(0.3)").then(() => world.reset()),
    ]);
    expect(
      answers.map(({ status }) => status),
      JSON.stringify(failures()),
    ).toEqual([200, 200, 200]);
    await noOrphans();
    await world.reset();
    expect((await fixtures()).body.fixtures.every(({ ok }: { ok: boolean }) => ok)).toBe(true);
    await world.reset();
  });
});
