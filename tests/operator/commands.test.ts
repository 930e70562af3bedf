import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashSecret, newPartnerKey } from "#shared/auth/tokens.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import { wireText } from "#shared/foundation/errors.ts";
import { MID_CHARGER } from "../harness/chargers.ts";
import { cloneDatabase } from "../harness/database.ts";
import { signMandate } from "../harness/mandate.ts";
import { accountBody, createAccount, newEan } from "../harness/people.ts";
import { createWorld, rowCounts, type World } from "../harness/world.ts";
import { auditOf, operate, operatorOf, type Ran } from "./operator.ts";

const NOBODY = "0b0d1e00-0000-4000-8000-000000000000";

let world: World;
let operator: ReturnType<typeof operatorOf>;

beforeAll(async () => {
  world = await createWorld({ now: "2026-11-20T12:00:00Z" });
  operator = operatorOf(world.database, "operator", {
    PAGES_URL: "https://pages.example",
    SERVICE_NAME: "Laad & Co",
    SUPPORT_EMAIL: "hulp@example.nl",
  });
});
afterAll(() => world.close());

/** The command succeeded, and left exactly these audit rows. */
async function done(command: string | string[], ...actions: string[]): Promise<Ran> {
  let ran: Ran | undefined;
  const audit = await auditOf(world.database.admin, async () => {
    ran = await operator(command);
  });
  if (!ran) throw new Error("it did not run");
  expect(ran.err).toBe("");
  expect(ran.code).toBe(0);
  expect(audit.map(({ action }) => action)).toEqual(actions);
  expect(new Set(audit.map(({ actor }) => actor)).size).toBe(actions.length === 0 ? 0 : 1);
  for (const row of audit) expect(row.actor).toBe("operator:tester");
  return ran;
}

/** The command was refused with this sentence, and changed nothing that the audit log knows of. */
async function refused(command: string | string[], text: string | RegExp): Promise<void> {
  let ran: Ran | undefined;
  const audit = await auditOf(world.database.admin, async () => {
    ran = await operator(command);
  });
  expect(ran?.err).toMatch(text);
  expect(ran?.err).toMatch(/^error: [^\n]+\.\n$/);
  expect([ran?.code, ran?.out]).toEqual([1, ""]);
  expect(audit).toEqual([]);
}

const position = async (account_id: string) => {
  const { body } = await world.get("/v1/ere-positions?limit=200", await world.partnerA.client.token());
  return body.positions.find((row: { account_id: string }) => row.account_id === account_id);
};

const deliver = async (account_id: string, ...months: [period: string, total_kwh: number][]) => {
  const { body } = await world.post(
    "/v1/sessions:batch",
    { account_id, months: months.map(([period, total_kwh]) => ({ period, total_kwh })) },
    await world.partnerA.client.token(),
  );
  return body.results.map(({ status }: { status: string }) => status);
};

const lockMonth = (connection_id: string, period: string) =>
  world.row(
    "update core.delivered_months set status = 'registered' where connection_id = $1 and period = $2",
    connection_id,
    period,
  );

async function addCharger(account_id: string, charger: object = MID_CHARGER) {
  const { status, body } = await world.post(
    "/v1/chargers",
    { account_id, ...charger },
    await world.partnerA.client.token(),
  );
  expect(status, JSON.stringify(body)).toBe(200);
  return body.charger_id as string;
}

/** An account whose four gates hold, so that its registration is ingediend. */
async function submittedAccount() {
  const account = await createAccount(world);
  await addCharger(account.account_id);
  await signMandate(world, account.account_id);
  expect((await position(account.account_id)).ere_eligible).toBe(true);
  return account;
}

/** An account all of whose gates hold but ean_validated. */
async function unverifiedAccount() {
  const ean_code = newEan();
  const account = await createAccount(world, world.partnerA, {
    connection: { ean_code, postal_code: "3818 LH", house_number: "8" },
  });
  await world.database.admin.query("update core.connections set ean_validation_status = 'unverified' where id = $1", [
    account.connection_id,
  ]);
  await addCharger(account.account_id);
  await signMandate(world, account.account_id);
  return { ...account, ean_code };
}

describe("contract §8 partner", () => {
  test("contract §8 partner create makes an active partner, its slug from the name", async () => {
    const { json } = await done(["partner", "create", "  Énergie & Søn B.V. "], "partner.created");
    expect(json).toEqual({
      partner: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        name: "Énergie & Søn B.V.",
        slug: "energie-s-n-b-v",
        is_active: true,
        created_at: "2026-11-20T12:00:00Z",
      },
    });
    const { json: listed } = await done("partner list");
    expect(listed.partners).toContainEqual(json.partner);
    const slugs = listed.partners.map(({ slug }: { slug: string }) => slug);
    expect(slugs).toEqual(expect.arrayContaining(["partner-a", "partner-b"]));
    expect(slugs).toEqual(slugs.toSorted());
  });

  test("contract §8 partner create refuses a slug twice, and names that cannot be one", async () => {
    await done(["partner", "create", "Twice", "--slug", "twice"], "partner.created");
    await refused(["partner", "create", "Other", "--slug", "twice"], "slug twice exists already");
    await refused(["partner", "create", "Twice"], "slug twice exists already");
    await refused(["partner", "create", "!!!"], "give one with --slug");
    await refused(["partner", "create", "x", "--slug", NOBODY], "A slug is");
    await refused(["partner", "create", "x", "--slug", "Ünder_score"], "A slug is");
    await refused(["partner", "create", " "], "A name is");
    await refused(["partner", "create", "x".repeat(121)], "A name is");
    await refused(["partner", "create", "a\nb"], "A name is");
  });

  test("contract §8 partner create: of ten at once with one slug, one is made", async () => {
    const ran = await Promise.all(
      Array.from({ length: 10 }, () => operator(["partner", "create", "Race", "--slug", "race"])),
    );
    expect(ran.map(({ code }) => code).sort()).toEqual([0, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
  });

  test("contract §9 partner deactivate ends the requests of its clients at once, activate lets them in again", async () => {
    const token = await world.partnerB.client.token();
    expect((await world.get("/v1/accounts", token)).status).toBe(200);
    const { json } = await done("partner deactivate partner-b", "partner.deactivated");
    expect(json).toMatchObject({ changed: true, partner: { slug: "partner-b", is_active: false } });
    expect((await world.get("/v1/accounts", token)).body.error).toBe("client_not_linked");
    expect((await done("partner deactivate partner-b")).json).toMatchObject({ changed: false });
    await done(["partner", "activate", world.partnerB.id], "partner.activated");
    expect((await world.get("/v1/accounts", token)).status).toBe(200);
    expect((await done("partner activate partner-b")).json).toMatchObject({ changed: false });
    await refused("partner deactivate service", "The service's own partner cannot be deactivated");
    await refused("partner deactivate nobody", 'No partner has the id or slug "nobody"; see partner list');
    await refused(`partner activate ${NOBODY}`, "No partner");
  });
});

describe("contract §8 client", () => {
  const getToken = (client_id: string, client_secret: string, scope?: string) =>
    world.post("/oauth-token", {
      grant_type: "client_credentials",
      client_id,
      client_secret,
      ...(scope ? { scope } : {}),
    });

  test("contract §8 client create: a client and its secret, shown once, stored as SHA-256 only", async () => {
    const command = [
      "client",
      "create",
      "Backoffice",
      "--partner",
      "partner-a",
      "--return-url",
      "https://a.example/klaar/",
    ];
    const { json } = await done(command, "client.created");
    expect(json).toEqual({
      client: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        client_id: expect.stringMatching(/^cpo_[0-9A-Za-z]{13}$/),
        name: "Backoffice",
        partner_id: world.partnerA.id,
        partner_slug: "partner-a",
        scopes: [
          "cpo:accounts:read",
          "cpo:accounts:write",
          "cpo:mandates:write",
          "cpo:chargers:write",
          "cpo:sessions:write",
        ],
        return_url: "https://a.example/klaar",
        secret_rotated_at: "2026-11-20T12:00:00Z",
        secret_number: 1,
        tokens_from_secret: 1,
        last_used_at: null,
        disabled_at: null,
        created_at: "2026-11-20T12:00:00Z",
      },
      client_secret: expect.stringMatching(/^cs_[0-9A-Za-z]{43}$/),
    });
    const { client_id } = json.client;
    const { body } = await getToken(client_id, json.client_secret);
    expect((await world.get("/v1/accounts", body.access_token)).status).toBe(200);

    const stored = await world.row(
      `select encode(secret_hash, 'hex') as secret_hash, c::text || (select string_agg(l::text, '') from core.audit_log l) as everything
         from core.oauth_clients c where c.client_id = $1`,
      client_id,
    );
    expect(stored.secret_hash).toBe(hashSecret(json.client_secret));
    expect(stored.everything).not.toContain(json.client_secret);

    const listed = await done("client list --partner partner-a");
    const used = { ...json.client, last_used_at: "2026-11-20T12:00:00Z" };
    expect(listed.json.clients).toContainEqual(used);
    expect(listed.out).not.toMatch(/secret_hash|client_secret/);
    expect(listed.out).not.toContain(stored.secret_hash);
    expect((await done("client list --partner partner-b")).json.clients).not.toContainEqual(used);
    expect((await done("client list")).json.clients).toContainEqual(used); // of every partner
    await refused("client list --partner nobody", "No partner");
  });

  test("contract §8 client create without partner: tokens, and client_not_linked until client link", async () => {
    const { json } = await done("client create Loose --scopes cpo:accounts:read cpo:sessions:write", "client.created");
    expect(json.client).toMatchObject({
      partner_id: null,
      partner_slug: null,
      scopes: ["cpo:accounts:read", "cpo:sessions:write"],
    });
    const { client_id } = json.client;
    const { body } = await getToken(client_id, json.client_secret);
    expect((await world.get("/v1/accounts", body.access_token)).body.error).toBe("client_not_linked");

    const linked = await done(`client link ${client_id} partner-a`, "client.linked");
    expect(linked.json).toMatchObject({ changed: true, client: { client_id, partner_slug: "partner-a" } });
    expect((await world.get("/v1/accounts", body.access_token)).status).toBe(200);
    expect((await done(`client link ${client_id} ${world.partnerA.id}`)).json.changed).toBe(false);
    await done(`client link ${client_id} partner-b`, "client.linked");
    await refused(`client link ${client_id} nobody`, "No partner");
    await refused("client link nobody partner-a", "No client");
  });

  test("contract §8 client link refuses to part a client from the accounts it created", async () => {
    await createAccount(world);
    const { client_id } = world.partnerA.client;
    await refused(`client link ${client_id} partner-b`, `${client_id} has created accounts under its partner`);
    expect((await done(`client link ${client_id} partner-a`)).json.changed).toBe(false);
  });

  test.each([
    "http://a.example",
    "https://a.example?x=1",
    "https://a.example/#x",
    "https://me:pw@a.example",
    "a.example",
    "javascript:alert(1)",
    "https://",
    "https://laad\ufffd.example",
    "https://a..example",
    `https://a.example/${"x".repeat(500)}`,
  ])("contract §2 client create refuses the return URL %s", (url) =>
    refused(["client", "create", "x", "--return-url", url], "A return URL is https"),
  );

  test("contract §8 client create takes a return URL on this machine, for trying out", async () => {
    const { json } = await done("client create Local --return-url http://localhost:3000/klaar", "client.created");
    expect(json.client.return_url).toBe("http://localhost:3000/klaar");
  });

  test("contract §8 client rotate-secret kills the old secret at once; tokens live on unless --revoke-tokens", async () => {
    const client = await world.addClient(world.partnerA.id);
    const before = (await getToken(client.client_id, client.secret)).body.access_token;
    const first = await done(`client rotate-secret ${client.client_id}`, "client.secret_rotated");
    expect(first.json).toMatchObject({ client: { client_id: client.client_id, tokens_from_secret: 1 } });
    expect((await getToken(client.client_id, client.secret)).body.error).toBe("invalid_client");
    expect((await getToken(client.client_id, first.json.client_secret)).status).toBe(200);
    expect((await world.get("/v1/accounts", before)).status).toBe(200);

    await world.freeze("2026-11-20T12:00:10Z");
    const second = await done(`client rotate-secret ${client.id} --revoke-tokens`, "client.secret_rotated");
    const { secret_number, tokens_from_secret } = second.json.client;
    expect(tokens_from_secret).toBe(secret_number);
    expect(secret_number, "also after a restore").toBeGreaterThanOrEqual(Date.parse("2026-11-20T12:00:10Z") / 1000);
    expect(second.json.client_secret).not.toBe(first.json.client_secret);
    expect((await world.get("/v1/accounts", before)).status).toBe(401);
    expect((await getToken(client.client_id, first.json.client_secret)).body.error).toBe("invalid_client");
    const after = (await getToken(client.client_id, second.json.client_secret)).body.access_token;
    expect((await world.get("/v1/accounts", after)).status).toBe(200);
    await refused("client rotate-secret nobody", 'No client has the id or client_id "nobody"; see client list');
  });

  test("contract §8 client disable stops secret and tokens at once, and for good", async () => {
    const client = await world.addClient(world.partnerA.id);
    const token = await client.token();
    expect((await world.get("/v1/accounts", token)).status).toBe(200);
    const { json } = await done(`client disable ${client.client_id}`, "client.disabled");
    expect(json).toMatchObject({ changed: true, client: { disabled_at: expect.stringMatching(/Z$/) } });
    expect((await world.get("/v1/accounts", token)).status).toBe(401);
    expect((await getToken(client.client_id, client.secret)).body.error).toBe("invalid_client");
    expect((await done(`client disable ${client.client_id}`)).json).toEqual({ ...json, changed: false });
    await refused(`client rotate-secret ${client.client_id}`, "disabled for good");
    await refused("client disable nobody", "No client");
  });

  test("§5 client set-scopes replaces the scopes; one taken away stops in issued tokens", async () => {
    const client = await world.addClient(world.partnerA.id);
    const token = await client.token();
    const { json } = await done(
      `client set-scopes ${client.client_id} cpo:sessions:write cpo:accounts:write cpo:sessions:write`,
      "client.scopes_set",
    );
    expect(json).toMatchObject({ changed: true, client: { scopes: ["cpo:accounts:write", "cpo:sessions:write"] } });
    expect((await world.get("/v1/accounts", token)).body).toMatchObject({ required_scope: "cpo:accounts:read" });
    expect(
      (await done(`client set-scopes ${client.client_id} cpo:sessions:write cpo:accounts:write`)).json.changed,
    ).toBe(false);
    await refused("client set-scopes nobody cpo:accounts:read", "No client");
  });

  test("§5 client set-scopes with + adds to what there is", async () => {
    const { client_id } = await world.addClient(world.partnerA.id, { scopes: ["cpo:accounts:read"] });
    const added = { changed: true, client: { scopes: ["cpo:accounts:read", "cpo:webhooks"] } };
    expect((await done(`client set-scopes ${client_id} +cpo:webhooks`, "client.scopes_set")).json).toMatchObject(added);
    expect((await done(`client set-scopes ${client_id} +cpo:webhooks`)).json).toMatchObject({
      ...added,
      changed: false,
    });
    for (const mixed of ["+cpo:webhooks cpo:accounts:read", "cpo:accounts:read +cpo:webhooks"])
      await refused(`client set-scopes ${client_id} ${mixed}`, "before every scope");
  });
});

describe("contract §8 connection", () => {
  test("contract §2 connection list finds by id, account, EAN and reference, and shows the gates", async () => {
    const ean_code = newEan();
    const account = await createAccount(world, world.partnerA, {
      connection: { ean_code, postal_code: "3818 LH", house_number: "8a" },
    });
    const { json } = await done(`connection list ${account.connection_id}`);
    expect(json).toEqual({
      connections: [
        {
          connection_id: account.connection_id,
          account_id: account.account_id,
          cpo_external_ref: account.account.cpo_external_ref,
          partner_slug: "partner-a",
          ean_code,
          address: "3818LH 8 A",
          status: "active",
          registration_status: "concept",
          submitted_at: null,
          ean_validation_status: "matched",
          mandate_status: "pending",
          mandate_valid_from: null,
          mandate_valid_until: null,
          mandate_renewed_until: null,
          checklist: { mandate_signed: false, ean_validated: true, mid_charger_registered: false, iban_present: true },
        },
      ],
    });
    for (const name of [
      account.account_id,
      account.account_id.toUpperCase(),
      ean_code,
      account.account.cpo_external_ref,
    ]) {
      expect((await done(["connection", "list", name])).json).toEqual(json);
    }
    for (const name of ["nobody", NOBODY, "", "' or true --", "%"]) {
      expect((await done(["connection", "list", name])).json).toEqual({ connections: [] });
    }
  });

  test("contract §2 connection set-ean-status manual opens ean_validated and submits when it was the last gate; unverified takes it back", async () => {
    const account = await unverifiedAccount();
    expect((await position(account.account_id)).checklist.ean_validated).toBe(false);
    const { json } = await done(`connection set-ean-status ${account.ean_code} manual`, "connection.ean_status_set");
    expect(json).toMatchObject({
      changed: true,
      connection: {
        ean_validation_status: "manual",
        registration_status: "ingediend",
        submitted_at: expect.any(String),
      },
    });
    expect((await position(account.account_id)).ere_eligible).toBe(true);
    expect((await done(`connection set-ean-status ${account.ean_code} manual`)).json).toEqual({
      ...json,
      changed: false,
    });

    await done(`connection set-ean-status ${account.account_id} unverified`, "connection.ean_status_set");
    expect((await position(account.account_id)).checklist.ean_validated).toBe(false);
    expect((await done(`connection set-ean-status ${account.account_id} unverified`)).json.changed).toBe(false);
    await refused("connection set-ean-status nobody manual", '"nobody" matches no active connection');
  });

  test("contract §2 connection set-ean-status does not take back what the register said", async () => {
    const account = await createAccount(world);
    await refused(`connection set-ean-status ${account.connection_id} unverified`, "this EAN is matched");
  });

  test("contract §2 connection archive frees EAN and chargers, revokes the mandate, voids links, and stays listed", async () => {
    const ean_code = newEan();
    const connection = { ean_code, postal_code: "3818 LH", house_number: "8" };
    const charger = { ...MID_CHARGER, serial_number: "ARCHIVE-1" };
    const account = await createAccount(world, world.partnerA, { connection });
    await addCharger(account.account_id, charger);
    await signMandate(world, account.account_id);
    expect(await deliver(account.account_id, ["2026-02", 100], ["2026-03", 50])).toEqual(["ingested", "ingested"]);
    await lockMonth(account.connection_id, "2026-02-01");

    const { json } = await done(`connection archive ${ean_code}`, "mandate.revoked", "connection.archived");
    expect(json).toMatchObject({
      changed: true,
      connection: {
        connection_id: account.connection_id,
        status: "archived",
        mandate_status: "revoked",
        checklist: null,
      },
    });
    expect((await done(`connection archive ${account.connection_id}`)).json).toEqual({ ...json, changed: false });
    await refused(`connection archive ${ean_code}`, "matches no active connection");
    await refused(`connection set-ean-status ${account.connection_id} manual`, "is archived");
    await refused(`registration review ${account.connection_id} afgekeurd`, "is archived");

    const shown = await position(account.account_id);
    expect(shown.checklist).toMatchObject({ mandate_signed: false, mid_charger_registered: false });
    expect(shown.delivered_months.map(({ status }: { status: string }) => status)).toEqual([
      "registered",
      "outside_mandate",
    ]);
    const { body } = await world.get(
      `/v1/accounts?cpo_external_ref=${account.account.cpo_external_ref}`,
      await world.partnerA.client.token(),
    );
    expect(body.accounts[0].connections).toMatchObject([{ ean_code, status: "archived" }]);

    const next = await createAccount(world, world.partnerB, { connection });
    const moved = await world.post(
      "/v1/chargers",
      { account_id: next.account_id, ...charger },
      await world.partnerB.client.token(),
    );
    expect(moved.body).toMatchObject({ ok: true, idempotent: false });
  });

  test("contract §2 connection archive voids the open mandate link", async () => {
    const account = await createAccount(world);
    const link = await world.post(
      "/v1/mandate-links",
      { account_id: account.account_id },
      await world.partnerA.client.token(),
    );
    await done(`connection archive ${account.account_id}`, "connection.archived");
    const opened = JSON.parse(
      await world.environment.db.call(
        "open_mandate_link",
        { kind: "anyone", host: "sandbox", request_id: "test" },
        { token_hash: hashSecret(link.body.mandate_link.split("/").pop()), address_hash: "test" },
      ),
    );
    expect(opened.state).toBe("voided");
  });

  test("contract §9 connection add gives an account another connection, which makes it ambiguous", async () => {
    const account = await createAccount(world);
    const reference = account.account.cpo_external_ref;
    const ean_code = newEan();
    const command = `connection add ${reference} ${ean_code} --postal-code 3818lh --house-number 10-2 --city Amersfoort`;
    const { json } = await done(command, "connection.added");
    expect(json).toMatchObject({
      changed: true,
      connection: {
        account_id: account.account_id,
        ean_code,
        address: "3818LH 10 2",
        status: "active",
        registration_status: "concept",
        ean_validation_status: "unverified",
        mandate_status: "pending",
      },
    });
    expect((await done(command)).json).toEqual({ ...json, changed: false });
    const elsewhere = await done(`connection add ${reference} ${ean_code} --postal-code 9999ZZ --house-number 4321`);
    expect(elsewhere.json).toEqual({ ...json, changed: false });
    expect(await world.row("select from core.locations where house_number = 4321"), "no address of nobody").toBe(
      undefined,
    );
    const link = await world.post(
      "/v1/mandate-links",
      { account_id: account.account_id },
      await world.partnerA.client.token(),
    );
    expect(link.body.error).toBe("ambiguous_connection");
    await refused(
      `connection archive ${reference}`,
      "matches several active connections; name one by its connection id",
    );

    const other = await createAccount(world, world.partnerB);
    await refused(
      `connection add ${other.account_id} ${ean_code} --postal-code 3818LH --house-number 10`,
      `Another active connection holds EAN ${ean_code}`,
    );
    await refused(`connection add nobody ${newEan()} --postal-code 3818LH --house-number 10`, "No account");
  });

  test("contract §2 an added connection is asked of the register in the re-check once its mandate is signed", async () => {
    const account = await createAccount(world);
    const ean_code = newEan();
    const add = `connection add ${account.account_id} ${ean_code} --postal-code 3818LH --house-number 12`;
    const { connection_id } = (await done(add, "connection.added")).json.connection;
    await done(`connection archive ${account.connection_id}`, "connection.archived");
    await signMandate(world, account.account_id);
    const due = await world.environment.slowDb.call("due_ean_checks", { kind: "worker" }, { size: 1000 });
    expect(JSON.parse(due)).toContainEqual(expect.objectContaining({ connection_id, ean_code }));
  });

  test("contract §9 one reference of two clients denotes neither; the id does", async () => {
    const fields = { cpo_external_ref: "SAME-1" };
    const account = await createAccount(world, world.partnerA, fields);
    await createAccount(world, world.partnerB, fields);
    await refused("connection archive SAME-1", '"SAME-1" matches several active connections');
    await refused(
      `connection add SAME-1 ${newEan()} --postal-code 3818LH --house-number 1`,
      'have an account "SAME-1"',
    );
    await done(`connection archive ${account.account_id}`, "connection.archived");
    expect((await done("connection list SAME-1")).json.connections).toHaveLength(2);
  });

  test("contract §8 the audit row names the tenant and the connection", async () => {
    const account = await createAccount(world, world.partnerB);
    const audit = await auditOf(world.database.admin, () => operator(`connection archive ${account.connection_id}`));
    expect(audit).toEqual([
      {
        actor: "operator:tester",
        action: "connection.archived",
        partner_id: world.partnerB.id,
        subject_id: account.connection_id,
        details: {},
      },
    ]);
  });
});

describe("contract §8 mandate and registration", () => {
  test("contract §2 mandate revoke closes the gate, judges open months again, leaves locked ones and the registration", async () => {
    const account = await submittedAccount();
    await deliver(account.account_id, ["2026-02", 100], ["2026-03", 50]);
    await lockMonth(account.connection_id, "2026-02-01");
    const { json } = await done(`mandate revoke ${account.account_id}`, "mandate.revoked");
    expect(json).toMatchObject({
      changed: true,
      connection: { mandate_status: "revoked", registration_status: "ingediend", checklist: { mandate_signed: false } },
    });
    const shown = await position(account.account_id);
    expect(shown.ere_eligible).toBe(false);
    expect(shown.delivered_months.map(({ status }: { status: string }) => status)).toEqual([
      "registered",
      "outside_mandate",
    ]);
    expect((await done(`mandate revoke ${account.account_id}`)).json).toEqual({ ...json, changed: false });

    // signed again: what was outside counts again
    await signMandate(world, account.account_id);
    expect((await position(account.account_id)).delivered_months[1].status).toBe("staged");
  });

  test("contract §2 mandate revoke refuses where nothing is signed", async () => {
    const account = await createAccount(world);
    await refused(`mandate revoke ${account.account_id}`, "no signed mandate to revoke; its status is pending");
    await refused(`mandate revoke ${NOBODY}`, "matches no active connection");
  });

  test.each(["goedgekeurd", "afgekeurd"])(
    "contract §2 registration review makes of ingediend %s, once",
    async (verdict) => {
      const account = await submittedAccount();
      const waiting = (await done("registration list --limit 1000")).json.connections;
      expect(waiting.map((row: { account_id: string }) => row.account_id)).toContain(account.account_id);

      const command = `registration review ${account.account_id} ${verdict}`;
      const { json } = await done(command, "registration.reviewed");
      expect(json).toMatchObject({ changed: true, connection: { registration_status: verdict } });
      expect((await done(command)).json).toEqual({ ...json, changed: false });
      const other = verdict === "afgekeurd" ? "goedgekeurd" : "afgekeurd";
      await refused(`registration review ${account.account_id} ${other}`, `this registration is ${verdict}`);
      const after = (await done("registration list --limit 1000")).json.connections;
      expect(after.map((row: { account_id: string }) => row.account_id)).not.toContain(account.account_id);
    },
  );

  test("contract §2 registration review judges only what is ingediend", async () => {
    const account = await createAccount(world);
    await refused(`registration review ${account.account_id} goedgekeurd`, "this registration is concept");
    await refused("registration review nobody goedgekeurd", "matches no active connection");
  });

  test("contract §2 registration review says no goedgekeurd while a gate has closed since; afgekeurd is possible", async () => {
    const account = await submittedAccount();
    await done(`mandate revoke ${account.account_id}`, "mandate.revoked");
    await refused(`registration review ${account.account_id} goedgekeurd`, "a gate is closed (mandate_signed)");
    await done(`registration review ${account.account_id} afgekeurd`, "registration.reviewed");
  });

  test("contract §2 registration review: of ten at once, one changes it and the audit log has one row", async () => {
    const account = await submittedAccount();
    const audit = await auditOf(world.database.admin, async () => {
      const ran = await Promise.all(
        Array.from({ length: 10 }, () => operator(`registration review ${account.account_id} goedgekeurd`)),
      );
      expect(ran.filter(({ json }) => json.changed)).toHaveLength(1);
    });
    expect(audit).toHaveLength(1);
  });

  test("contract §8 registration list is oldest first and ends at --limit", async () => {
    await submittedAccount();
    await world.freeze("2026-11-21T12:00:00Z");
    const last = await submittedAccount();
    const all = (await done("registration list --limit 1000")).json.connections;
    expect(all.at(-1).account_id).toBe(last.account_id);
    expect((await done("registration list --limit 1")).json.connections).toEqual(all.slice(0, 1));
  });
});

describe("contract §8 charger", () => {
  async function variantCharger() {
    const account = await createAccount(world);
    await signMandate(world, account.account_id);
    const model = await world.row("select id from core.charger_models where mid_evidence = 'variant' limit 1");
    return { ...account, charger_id: await addCharger(account.account_id, { catalog_charger_id: model.id }) };
  }
  const unconfirmed = async () =>
    (await done("charger list --limit 1000")).json.chargers.map((row: { charger_id: string }) => row.charger_id);

  test("contract §9 charger confirm-mid opens the gate of a MID variant, and submits when it was the last", async () => {
    const { charger_id, account_id } = await variantCharger();
    expect((await position(account_id)).checklist.mid_charger_registered).toBe(false);
    expect(await unconfirmed()).toContain(charger_id);
    const { json } = await done(
      ["charger", "confirm-mid", charger_id, "--evidence", "ticket 4711"],
      "charger.mid_confirmed",
    );
    const audit = await world.row("select details from core.audit_log order by id desc limit 1");
    expect(audit).toEqual({ details: { mid_eligible: true, evidence: "ticket 4711" } });
    expect(json).toMatchObject({
      changed: true,
      charger: { charger_id, account_id, mid_eligible: true, status: "active" },
    });
    expect((await position(account_id)).ere_eligible).toBe(true);
    expect((await done(`connection list ${account_id}`)).json.connections[0].registration_status).toBe("ingediend");
    expect((await done(`charger confirm-mid ${charger_id}`)).json).toEqual({ ...json, changed: false });
    expect(await unconfirmed()).not.toContain(charger_id);
  });

  test("contract §9 charger confirm-mid --no-mid keeps the gate closed, and can be judged again", async () => {
    const { charger_id, account_id } = await variantCharger();
    const { json } = await done(`charger confirm-mid ${charger_id} --no-mid`, "charger.mid_confirmed");
    expect(json).toMatchObject({ changed: true, charger: { mid_eligible: false } });
    expect(await unconfirmed()).not.toContain(charger_id);
    expect((await position(account_id)).checklist.mid_charger_registered).toBe(false);
    await done(`charger confirm-mid ${charger_id}`, "charger.mid_confirmed");
    expect((await position(account_id)).checklist.mid_charger_registered).toBe(true);
  });

  test("contract §9 charger confirm-mid does not overrule a catalogue that is certain", async () => {
    const account = await createAccount(world);
    const certain = await addCharger(account.account_id);
    await refused(`charger confirm-mid ${certain} --no-mid`, "knows that this model has a MID meter");
    const none = await addCharger(account.account_id, {
      ocpp_vendor: "Zaptec",
      ocpp_model: "Go",
      serial_number: "GO-1",
    });
    await refused(`charger confirm-mid ${none}`, "knows that this model has no MID meter");
    await refused(`charger confirm-mid ${NOBODY}`, "No charger");
    await refused("charger confirm-mid nobody", "No charger");
  });
});

test("contract §8 evidence-limit set changes what is kept of each source a day", async () => {
  const { json } = await done("evidence-limit set client 128", "evidence_limit.set");
  expect(json).toEqual({ changed: true, evidence_limit: { kind: "client", mebibytes_a_day: 128 } });
  expect((await done("evidence-limit set client 128")).json).toEqual({ ...json, changed: false });
  expect((await done("evidence-limit list")).json.evidence_limits).toEqual([
    { kind: "charger", mebibytes_a_day: 4, exceeded_today: 0 },
    { kind: "client", mebibytes_a_day: 128, exceeded_today: 0 },
  ]);
  await done("evidence-limit set client 64", "evidence_limit.set");
});

describe("contract §8 rate-limit", () => {
  const remaining = async () => {
    const { headers } = await world.get("/v1/accounts", await world.partnerB.client.token());
    return headers.get("ratelimit-policy") ?? "";
  };

  test("contract §1 rate-limit set changes a client's quota at once, reset puts it back", async () => {
    const { client_id } = world.partnerB.client;
    expect(await remaining()).toContain("300");
    const { json } = await done(`rate-limit set cpo_read 17 --client ${client_id}`, "rate_limit.set");
    expect(json).toEqual({
      changed: true,
      rate_limit: { bucket: "cpo_read", client_id, quota: 17, window_seconds: 60, is_default: false },
    });
    expect(await remaining()).toContain("17");
    expect((await done(`rate-limit set cpo_read 17 --client ${client_id}`)).json).toEqual({ ...json, changed: false });
    const listed = (await done("rate-limit list")).json.rate_limits;
    expect(listed).toContainEqual(json.rate_limit);

    const reset = await done(`rate-limit reset cpo_read ${client_id}`, "rate_limit.reset");
    expect(reset.json).toMatchObject({ changed: true, rate_limit: { quota: 300, is_default: true } });
    expect(await remaining()).toContain("300");
    expect((await done(`rate-limit reset cpo_read ${client_id}`)).json.changed).toBe(false);
  });

  test("contract §1 rate-limit set without client is for everybody", async () => {
    const { json } = await done("rate-limit set cpo_write 121", "rate_limit.set");
    expect(json.rate_limit).toEqual({
      bucket: "cpo_write",
      client_id: null,
      quota: 121,
      window_seconds: 60,
      is_default: true,
    });
    expect((await done("rate-limit set cpo_write 121")).json.changed).toBe(false);
    await done("rate-limit set cpo_write 120", "rate_limit.set");
  });

  test("contract §1 rate-limit refuses buckets and clients that are not there", async () => {
    await refused(
      "rate-limit set nothing 10",
      /"nothing" is not a bucket for this command; choose from .*cpo_read, cpo_sessions/,
    );
    await refused(
      `rate-limit set page 10 --client ${world.partnerA.client.client_id}`,
      '"page" is not a bucket for this',
    );
    await refused(
      `rate-limit set user 10 --client ${world.partnerA.client.client_id}`,
      "choose from cpo_read, cpo_sessions, cpo_write, token",
    );
    await refused("rate-limit set cpo_read 10 --client nobody", "No client");
    await refused("rate-limit reset cpo_read nobody", "No client");
    await refused(`rate-limit reset nothing ${world.partnerA.client.client_id}`, "is not a bucket");
  });
});

describe("contract §8 mail", () => {
  async function mail(account_id: string, code: string) {
    const link = await world.post("/v1/mandate-links", { account_id }, await world.partnerA.client.token());
    const token_hash = hashSecret(link.body.mandate_link.split("/").pop());
    const caller = { kind: "anyone", host: "sandbox", request_id: "test" };
    const code_hash = hashSecret(token_hash);
    const names = { full_name: "Kees Bos", partner_name: "partner-a" };
    const about = aboutMail(world.environment.config, "mandate_code", "nl", { ...names, code });
    await world.environment.db.call("send_mandate_code", caller, { token_hash, code_hash, mail: about });
  }

  test("contract §5 mail list shows captured mail newest first; --show prints one with its links and is audited", async () => {
    const email = "kees@example.nl";
    const account = await createAccount(world, world.partnerA, { person: { full_name: "Kees Bos", email } });
    await world.freeze("2026-11-22T12:00:00Z");
    await mail(account.account_id, "111111");
    await world.freeze("2026-11-22T12:01:00Z");
    await mail(account.account_id, "222222");

    const { json, out } = await done(["mail", "list", "--to", "Kees@Example.nl"]);
    expect(json.mails).toHaveLength(2);
    expect(json.mails[0]).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      partner_slug: "partner-a",
      created_at: "2026-11-22T12:01:00Z",
      status: "captured",
      recipient: email,
      template: "mandate_code",
      attempts: 0,
      last_error: null,
      done_at: "2026-11-22T12:01:00Z",
    });
    expect(out).not.toContain("222222");
    expect((await done(`mail list --to ${email} --limit 1`)).json.mails).toEqual(json.mails.slice(0, 1));
    expect((await done(`mail list --partner partner-a --to ${email}`)).json).toEqual(json);
    expect((await done(`mail list --partner partner-b --to ${email}`)).json).toEqual({ mails: [] });

    const newest = await done(`mail list --to ${email} --show`, "mail.shown");
    const { subject } = newest.json.mail;
    expect(newest.json).toEqual({ mail: { ...json.mails[0], subject }, text: expect.any(String), links: [] });
    expect(subject).toMatch(/^222222 /);
    expect(newest.json.text).toContain("\n    222222\n");
    const older = await done(`mail list --show ${json.mails[1].id}`, "mail.shown");
    expect(older.json.text).toContain("\n    111111\n");

    await refused("mail list --to nobody@example.nl --show", "no such mail");
    await refused(`mail list --show ${NOBODY}`, "no such mail");
    await refused("mail list --show nonsense", "no such mail");
    await refused("mail list --partner nobody", "No partner");
  });
});

describe("contract §8 who may run it", () => {
  const privileges = async (schema: string) =>
    (
      await world.database.admin.query(
        `select p.oid::regprocedure::text as name, r.rolname as role,
                has_function_privilege(r.oid, p.oid, 'execute') as may, p.prosecdef as definer, p.proconfig as config
           from pg_proc p join pg_namespace n on n.oid = p.pronamespace, pg_roles r
          where n.nspname = $1 and r.rolname in ('edge', 'operator', 'api_owner', 'anon', 'authenticated', 'service_role')`,
        [schema],
      )
    ).rows as { name: string; role: string; may: boolean; definer: boolean; config: string[] }[];

  test("contract §8 every ops function runs for the role operator only, as a definer without search_path", async () => {
    const rows = await privileges("ops");
    expect(rows.length).toBeGreaterThan(20);
    for (const { name, role, may, definer, config } of rows) {
      expect([name, role, may]).toEqual([name, role, role === "operator"]);
      expect([name, definer, config]).toEqual([name, true, ['search_path=""']]);
    }
  });

  test("contract §8 the role operator runs no api function and no helper, and reads no table", async () => {
    for (const schema of ["api", "private"]) {
      const rows = (await privileges(schema)).filter(({ role }) => role === "operator");
      expect(rows.length).toBeGreaterThan(5);
      expect(rows.filter(({ may }) => may)).toEqual([]);
    }
    const client = new pg.Client({ connectionString: world.database.url("operator") });
    await client.connect();
    try {
      for (const statement of [
        "select * from core.accounts",
        "select private.audit('x')",
        "select api.due_jobs('{}')",
      ]) {
        await expect(client.query(statement)).rejects.toMatchObject({ code: "42501" });
      }
    } finally {
      await client.end();
    }
  });

  test("contract §8 the role edge is turned away from ops", async () => {
    const client = new pg.Client({ connectionString: world.database.url("edge") });
    await client.connect();
    try {
      await expect(client.query("select ops.partner_list('{}')")).rejects.toMatchObject({ code: "42501" });
    } finally {
      await client.end();
    }
  });
});

describe("contract §8 partner settings, managers and keys", () => {
  test("contract §9 partner set changes what is given, and shows it", async () => {
    const slug = "partner-b";
    const ran = await done(
      `partner set ${slug} --return-url https://b.example/klaar/ --referral-code zon2026 --fee-pct 15 --share-pct 30 --charger-brands easee Alfen`,
      "partner.settings_changed",
    );
    const settings = {
      return_url: "https://b.example/klaar",
      referral_code: "ZON2026",
      default_fee_pct: 15,
      partner_share_pct: 30,
      charger_brands: ["Alfen", "Easee"],
    };
    expect(ran.json).toMatchObject({ changed: true, partner: { slug, ...settings } });
    expect((await done(`partner set ${slug} --fee-pct 15`)).json).toMatchObject({ changed: false, partner: settings });
    await refused(`partner set ${slug} --return-url http://b.example`, "A return URL is https");
    await refused(`partner set ${slug} --fee-pct 101`, "0 to 100");
    await refused(`partner set ${slug} --fee-pct veel`, "0 to 100");
    await refused(`partner set ${slug} --referral-code a!`, "4 to 20 letters");
    await refused(`partner set partner-a --referral-code ZON2026`, "Another partner has");
    await refused(`partner set ${slug} --charger-brands Nonsens`, "Not every brand");
    await refused("partner set nobody --fee-pct 1", "No partner has");
  });

  test("contract §9 partner add-manager lets a person with a login manage one partner", async () => {
    await world.row("insert into auth.users (id, email) values (gen_random_uuid(), 'eva@beheer.nl')");
    await refused("partner add-manager partner-a --user eva@beheer.nl", "anybody may have made that login");
    await world.row(
      "update auth.users set raw_app_meta_data = jsonb_build_object('proved_email', email) where email = 'eva@beheer.nl'",
    );
    const added = await done("partner add-manager partner-a --user EVA@beheer.nl", "partner.manager_added");
    expect(added.json).toMatchObject({ changed: true, manager: { partner_slug: "partner-a" } });
    expect((await done("partner add-manager partner-a --user eva@beheer.nl")).json.changed).toBe(false);
    await world.row(
      `insert into auth.users (id, email, raw_app_meta_data) values (gen_random_uuid(), 'fem@beheer.nl', '{"proved_email": "fem@beheer.nl"}')`,
    );
    await done("partner add-manager partner-a --user fem@beheer.nl", "partner.manager_added");
    const told =
      "select recipient from core.mail_outbox where template = 'managers_changed' and content ->> 'person' = $1";
    expect(await world.row(told, "fem@beheer.nl")).toEqual({ recipient: "eva@beheer.nl" });
    expect(await world.row(told, "eva@beheer.nl"), "nobody was there to tell").toBeUndefined();
    await refused("partner add-manager partner-b --user eva@beheer.nl", "manages another partner");
    await refused("partner add-manager partner-a --user niemand@beheer.nl", "Nobody has a login");
  });

  test("contract §9 partner invite mails a link, whoever has a login, and says nothing of it here", async () => {
    const { json } = await done("partner invite partner-a Bram@beheer.nl", "partner.manager_invited");
    expect(json).toMatchObject({ changed: true, invitation: { email: "bram@beheer.nl", partner_slug: "partner-a" } });
    expect(JSON.stringify(json)).not.toContain("/invitation/");
    const mail = await world.mail("where recipient = 'bram@beheer.nl'");
    expect(mail).toMatchObject({ template: "manager_invitation", locale: "nl" });
    expect(mail.text, "the service invites").toContain("ERE Service nodigt u uit");
    expect(mail.links[0]).toMatch(/^https:\/\/pages\.example\/portal\/invitation\/[0-9A-Za-z]{43}$/);
    expect((await done("partner invite partner-a eva@beheer.nl")).json.changed, "manages it already").toBe(false);
    await refused("partner invite service bram@beheer.nl", "has no clients");
  });

  test("contract §9 partner mint-key shows the key once, works at once, and a second needs --rotate", async () => {
    const { json } = await done("partner mint-key partner-a", "partner.key_minted");
    expect(json).toMatchObject({
      api_key: expect.stringMatching(/^ere_test_[0-9A-Za-z]{43}$/),
      key: { partner_slug: "partner-a" },
    });
    expect((await world.get("/partner/me", json.api_key)).body.partner.slug).toBe("partner-a");
    await refused("partner mint-key partner-a", "has an active key");
    const rotated = (await done("partner mint-key partner-a --rotate", "partner.key_minted")).json.api_key;
    expect([
      (await world.get("/partner/me", json.api_key)).status,
      (await world.get("/partner/me", rotated)).status,
    ]).toEqual([401, 200]);
  });

  test("contract §9 partner mint-key on production makes a production key, and replaces no key by one that would not work", async () => {
    const production = await createWorld({ host: "production" });
    try {
      const operator = operatorOf(production.database);
      const first = (await operator("partner mint-key partner-a")).json.api_key;
      const second = (await operator("partner mint-key partner-a --rotate")).json.api_key;
      expect([first, second]).toEqual([expect.stringMatching(/^ere_live_/), expect.stringMatching(/^ere_live_/)]);
      expect((await production.get("/partner/me", second)).status).toBe(200);
      // past the command line, the database refuses the prefix of the other host
      const { stored } = newPartnerKey({ KEY_PREFIX: "ere", API_HOST: "sandbox" });
      await expect(
        production.row("select ops.partner_mint_key($1)", { partner: "partner-a", rotate: true, ...stored }),
      ).rejects.toThrow("key_of_another_host");
      expect((await production.get("/partner/me", second)).status).toBe(200);
    } finally {
      await production.close();
    }
  });
});

describe("contract §9 the host of the database", () => {
  test("contract §9 host set says it once; it can be corrected until there is a partner", async () => {
    const database = await cloneDatabase(null);
    try {
      const operator = operatorOf(database);
      expect((await operator("host show")).err).toMatch(/^error: The database does not know which host/);
      await database.admin.query("insert into core.partners (name, slug) values ('Zuid', 'zuid')");
      expect((await operator("partner mint-key zuid")).err).toMatch(/set it once with host set\.\n$/);
      await database.admin.query("delete from core.partners where slug = 'zuid'");
      const changes = [];
      for (const host of ["sandbox", "sandbox", "production"]) changes.push((await operator(`host set ${host}`)).json);
      expect(changes.map(({ changed, host }) => [changed, host.host])).toEqual([
        [true, "sandbox"],
        [false, "sandbox"],
        [true, "production"],
      ]);
      expect((await operator("host show")).json.host).toMatchObject({ host: "production" });
      await operator("partner create Zuid");
      expect(await operator("host set sandbox")).toMatchObject({
        code: 1,
        err: expect.stringMatching(
          /^error: This database belongs to the production host and has partners, clients or customers; /,
        ),
      });
      expect((await operator("host set production")).json.changed).toBe(false);
      await database.admin.query("delete from core.partners where slug = 'zuid'");
      await operator("client create Los");
      expect((await operator("host set sandbox")).code, "a client's secret would work on the other host").toBe(1);
      const { rows } = await database.admin.query("select details from core.audit_log where action = 'host.set'");
      expect(rows.map(({ details }) => details.host)).toEqual(["sandbox", "production"]);
    } finally {
      await database.drop();
    }
  });

  test("contract §9 keys that the operator makes begin as the database says, whatever the operator's own environment says", async () => {
    const database = await cloneDatabase(null);
    const env = { OPERATOR_DATABASE_URL: database.url("operator"), KEY_PREFIX: "mine" };
    const operator = (command: string) => operate([...command.split(" "), "--json"], env);
    try {
      expect((await operator("host set sandbox --key-prefix Laad")).code).toBe(2);
      expect((await operator("host set sandbox --key-prefix laad")).json).toMatchObject({
        changed: true,
        host: { host: "sandbox", key_prefix: "laad" },
      });
      expect((await operator("host set sandbox")).json).toMatchObject({ changed: false, host: { key_prefix: "laad" } });
      await operator("partner create Zuid");
      expect((await operator("partner mint-key zuid")).json.api_key).toMatch(/^laad_test_\w{43}$/);
      expect((await operator("host set sandbox --key-prefix ere")).json.changed).toBe(true);
      expect((await operator("partner mint-key zuid --rotate --yes")).json.api_key).toMatch(/^ere_test_\w{43}$/);
    } finally {
      await database.drop();
    }
  });

  test.each([
    ["of the other host", "update core.deployment set host = 'production'"],
    ["that knows none", "delete from core.deployment"],
  ])("contract §9 functions do nothing on a database %s: 503, and the log says why", async (_, change) => {
    const other = await createWorld();
    try {
      const token = await other.partnerA.client.token();
      const draft = { consent: true, naam: "Eva", email: "eva@example.nl" };
      const key = await operatorOf(other.database)("partner mint-key partner-a");
      await other.row(change);
      const before = await rowCounts(other, "accounts", "drafts", "mail_outbox");
      for (const [answer, unavailable] of [
        [await other.get("/v1/accounts", token), "authentication_unavailable"],
        [await other.post("/v1/accounts", accountBody(), token), "authentication_unavailable"],
        [await other.post("/partner/customers", draft, key.json.api_key), "authentication_unavailable"],
        [await other.get("/sandbox/v1/mail", key.json.api_key), "authentication_unavailable"],
        [
          await other.send("/worker/run", { method: "POST", token: other.environment.config.WORKER_SECRET }),
          "service_unavailable",
        ],
      ] as const)
        expect([answer.status, answer.body.error]).toEqual([503, wireText(unavailable)]);
      expect(await rowCounts(other, "accounts", "drafts", "mail_outbox")).toEqual(before);
      expect(other.log.filter(({ status }) => status === 503).map(({ cause }) => cause)).toEqual(
        Array(5).fill(expect.objectContaining({ place: expect.stringMatching(/private\.require_host/) })),
      );
    } finally {
      await other.close();
    }
  });
});

describe("contract §9 the service's own tenant", () => {
  test("contract §9 has no clients, applications, keys, managers or settings: refused with a sentence", async () => {
    const app = "--operated-by Dienst --redirect-uris https://dienst.example/cb --scopes energy:read";
    const client = (await operator("client create los")).json.client.client_id;
    for (const command of [
      "client create huis --partner service",
      `client link ${client} service`,
      `app create huis ${app} --partner service`,
      `app link ${(await operator(`app create los ${app}`)).json.app.client_id} service`,
      "partner mint-key service",
      "partner mint-key service --rotate",
      "partner add-manager service --user eva@beheer.nl",
      "partner set service --return-url https://dienst.example/klaar",
      "partner set service --referral-code DIENST",
      "partner set service --fee-pct 10",
    ])
      await refused(command, "The service's own partner has no clients, applications, keys, managers or settings");
    // looking is no matter
    for (const command of [
      "client list --partner service",
      "app list --partner service",
      "mail list --partner service",
    ])
      expect((await operator(command)).code).toBe(0);
  });

  test.each([
    [
      "a client",
      "insert into core.oauth_clients (client_id, partner_id, name, secret_hash) values ('x', private.people_tenant(), 'x', sha256('x'))",
    ],
    [
      "a key",
      "insert into core.partner_keys (partner_id, key_hash, prefix, last4) values (private.people_tenant(), sha256('x'), 'ere_test_', 'xxxx')",
    ],
    [
      "a manager",
      "insert into core.partner_managers (partner_id, user_id) select private.people_tenant(), id from auth.users limit 1",
    ],
    ["a return URL", "update core.partners set return_url = 'https://x.example' where id = private.people_tenant()"],
    ["a referral code", "update core.partners set referral_code = 'HUIS' where id = private.people_tenant()"],
    ["a percentage", "update core.partners set default_fee_pct = 0 where id = private.people_tenant()"],
    ["a brand", "update core.partners set charger_brands = '{Alfen}' where id = private.people_tenant()"],
    ["an appearance", `update core.partners set branding = '{"display_name": "x"}' where id = private.people_tenant()`],
    ["company data", `update core.partners set company = '{"name": "x"}' where id = private.people_tenant()`],
  ])("contract §9 the database itself refuses %s", async (_, statement) => {
    await world.addUser();
    await expect(world.row(statement)).rejects.toThrow(/partners_house_has_no_settings|_not_of_the_house/);
  });
});
