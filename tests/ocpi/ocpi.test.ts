// A platform of a CPO registers by OCPI 2.2.1, and sends CDRs or lets us read them.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { serve } from "#shared/http/serve.ts";
import { writeBundle } from "../../packages/tools/src/bundle.ts";
import { surface } from "../../supabase/functions/ocpi/app.ts";
import { pullOcpi } from "../../supabase/functions/worker/ocpi_pulls.ts";
import { rereadCdrs } from "../../supabase/functions/worker/ocpi_reread.ts";
import { MID_CHARGER } from "../harness/chargers.ts";
import { bootFunction, forgetCompiled } from "../harness/deno.ts";
import { BASE_URL, variables } from "../harness/environment.ts";
import { signMandate } from "../harness/mandate.ts";
import { type Client, createAccount } from "../harness/people.ts";
import { tablesWith } from "../harness/tables.ts";
import { createWorld, type World } from "../harness/world.ts";
import { operatorOf } from "../operator/operator.ts";
import { EXAMPLE } from "./example.ts";
import { DEEP, type Fault, type Platform, startPlatform } from "./platform.ts";

const NOW = "2026-04-01T12:00:00Z";
/** A card: it must be found nowhere. */
const CARD = "04D1F0CARD77";

let world: World;
let platform: Platform;
let operator: ReturnType<typeof operatorOf>;
let ocpi: ReturnType<typeof serve>;
beforeAll(async () => {
  world = await createWorld({ now: NOW, limits: "lifted", variables: { WEBHOOK_ALLOW_LOOPBACK: "true" } });
  platform = await startPlatform();
  ocpi = serve(surface, world.environment);
  const { IBAN_KEYS, SERVICE_NAME } = world.environment.config;
  operator = operatorOf(world.database, "operator", {
    BASE_URL,
    OCPI_PARTY: "NL-ERE",
    SERVICE_NAME,
    IBAN_KEYS: JSON.stringify(IBAN_KEYS),
    WEBHOOK_ALLOW_LOOPBACK: "true",
  });
});
afterAll(async () => {
  await platform?.close();
  await world?.close();
});
beforeEach(async () => {
  await world.freeze(NOW);
  platform.reset();
});

const base64 = (text: string) => Buffer.from(text).toString("base64");
type Sent = { method?: string; token?: string; plain?: boolean; body?: unknown; headers?: Record<string, string> };
async function ask(path: string, { method, token, plain, body, headers = {} }: Sent = {}) {
  const text = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
  const answer = await ocpi.fetch(
    new Request(`${BASE_URL}/ocpi${path}`, {
      method: method ?? (text === undefined ? "GET" : "POST"),
      ...(text === undefined ? {} : { body: text }),
      headers: {
        ...(token ? { authorization: `Token ${plain ? token : base64(token)}` } : {}),
        ...(text === undefined ? {} : { "content-length": String(Buffer.byteLength(text)) }),
        ...headers,
      },
    }),
  );
  const said = await answer.json();
  expect(said, "every answer is in the envelope").toMatchObject({
    status_code: expect.any(Number),
    timestamp: expect.stringMatching(/Z$/),
  });
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(JSON.stringify([said, ...answer.headers])).not.toContain(CARD);
  return {
    status: answer.status,
    code: said.status_code,
    message: said.status_message,
    data: said.data,
    headers: answer.headers,
  };
}
const cred = (token: string, more: Sent = {}) => ask("/2.2.1/credentials", { token, ...more });

/** A client with a named charger whose months count, and an invited platform. */
async function newClient() {
  const client = await world.addClient(world.partnerA.id);
  const account = await createAccount(world, { ...world.partnerA, client });
  await signMandate(world, account.account_id, { ...world.partnerA, client });
  const evse_uid = `EVSE-${client.id.slice(0, 8)}`;
  const charger = await world.post(
    "/v1/chargers",
    { account_id: account.account_id, ...MID_CHARGER, evses: [{ evse_uid }] },
    await client.token(),
  );
  expect(charger.status).toBe(200);
  return { client, ...account, evse_uid };
}
const invite = async (client: Client): Promise<string> => {
  const { json, err } = await operator(`ocpi add --client ${client.client_id}`);
  expect(err).toBe("");
  expect(json.versions_url).toBe(`${BASE_URL}/ocpi/versions`);
  return json.token;
};
/** The platform registers: its token of ours. */
async function registered() {
  const made = await newClient();
  const { data, code } = await cred(await invite(made.client), { body: platform.credentials() });
  expect(code).toBe(1000);
  return { ...made, token: data.token as string };
}
type Registered = Awaited<ReturnType<typeof registered>>;

const cdr = (id: string, { evse_uid }: { evse_uid: string }, fields: object = {}, location: object = {}) => ({
  ...JSON.parse(EXAMPLE),
  country_code: "NL",
  party_id: "TNM",
  id,
  start_date_time: "2026-03-10T18:00:00Z",
  end_date_time: "2026-03-10T20:00:00Z",
  cdr_token: { country_code: "DE", party_id: "TNM", uid: CARD, type: "RFID", contract_id: `DE8${CARD}` },
  authorization_reference: CARD,
  remark: `card ${CARD}`,
  total_energy: 10,
  last_updated: "2026-03-10T20:01:00Z",
  ...fields,
  cdr_location: { ...JSON.parse(EXAMPLE).cdr_location, country: "NLD", evse_uid, evse_id: "#NA", ...location },
});
const push = (token: string, body: unknown, headers: Record<string, string> = {}) =>
  ask("/2.2.1/receiver/cdrs", { token, body, headers });
const month = async (made: { connection_id: string }) =>
  (await world.row(
    "select total_kwh::float8 as kwh, session_count::int as sessions from core.delivered_months where connection_id = $1 and period = '2026-03-01'",
    made.connection_id,
  )) ?? { kwh: 0, sessions: 0 };
const parked = async ({ client }: { client: Client }) =>
  (
    await world.row(
      "select coalesce(array_agg(reason), '{}') as reasons from core.parked_charging where owner_id = $1",
      client.id,
    )
  ).reasons;
const linkOf = ({ client }: { client: Client }) =>
  world.row("select * from core.ocpi_connections where owner_id = $1", client.id);
/** What the worker does, as it does it. */
const workerCall =
  (heard?: (name: string, input: unknown) => unknown) =>
  (name: Parameters<typeof world.environment.slowDb.call>[0], ...input: (object | null)[]) => {
    heard?.(name, input[0]);
    const caller = { kind: "worker", host: "sandbox" as const, request_id: crypto.randomUUID() };
    return world.environment.slowDb.call(name, caller, ...input) as never;
  };
const pull = (outgoing?: { patienceMs: number }, heard?: (name: string, input: unknown) => unknown) =>
  pullOcpi(world.environment, workerCall(heard), Date.now() + 60_000, "r1", outgoing);
const pages = () =>
  platform.asked.filter(({ path }) => path === "/ocpi/sender/cdrs").map(({ query }) => query.get("offset"));

describe("§1 a platform registers", () => {
  test("with versions, details and credentials in both directions, and a token of ours once", async () => {
    const made = await newClient();
    const first = await invite(made.client);
    expect((await ask("/versions", { token: first })).data).toEqual([
      { version: "2.2.1", url: `${BASE_URL}/ocpi/2.2.1` },
    ]);
    expect((await ask("/2.2.1/", { token: first, plain: true })).data.endpoints).toEqual([
      { identifier: "credentials", role: "RECEIVER", url: `${BASE_URL}/ocpi/2.2.1/credentials` },
      { identifier: "cdrs", role: "RECEIVER", url: `${BASE_URL}/ocpi/2.2.1/receiver/cdrs` },
    ]);
    const ours = {
      url: `${BASE_URL}/ocpi/versions`,
      roles: [{ role: "EMSP", country_code: "NL", party_id: "ERE", business_details: { name: "ERE Service" } }],
    };
    expect((await cred(first)).data).toEqual({ token: first, ...ours });
    // a registration token opens no CDRs
    expect(await push(first, cdr("x", made))).toMatchObject({
      status: 401,
      message: expect.stringContaining("Authorization: Token"),
    });
    for (const method of ["PUT", "DELETE"])
      expect(
        await cred(first, { method, ...(method === "PUT" ? { body: platform.credentials() } : {}) }),
      ).toMatchObject({ status: 405, code: 2000 });

    const { data } = await cred(first, { body: platform.credentials() });
    expect(data).toEqual({ token: expect.stringMatching(/^[\w-]{43}$/), ...ours });
    expect(platform.asked.map(({ method, path, token }) => [method, path, token])).toEqual([
      ["GET", "/ocpi/versions", "platform-token-A"],
      ["GET", "/ocpi/2.2.1", "platform-token-A"],
    ]);
    expect((await cred(first, { body: platform.credentials() })).status, "once").toBe(401);
    expect((await cred(data.token, { body: platform.credentials() })).status, "registered already").toBe(405);
    const link = await linkOf(made);
    expect(link).toMatchObject({
      status: "registered",
      parties: ["NL-TNM"],
      cdrs_url: `${platform.origin}/ocpi/sender/cdrs`,
    });
    // no token is stored in clear
    for (const token of [first, data.token, "platform-token-A"]) expect(JSON.stringify(link)).not.toContain(token);
    const seen = await world.get("/v1/ocpi", await made.client.token());
    expect(seen.body).toMatchObject({ status: "registered", parties: ["NL-TNM"], pulls: true, pulled_to: null });
    expect((await operator("ocpi list --partner partner-a")).out).not.toMatch(/platform-token|token_hash/);
  });

  test("of two at once with one token, one succeeds", async () => {
    const { client } = await newClient();
    const first = await invite(client);
    const answers = await Promise.all(Array.from({ length: 5 }, () => cred(first, { body: platform.credentials() })));
    expect(answers.filter(({ code }) => code === 1000)).toHaveLength(1);
    for (const { status } of answers.filter(({ code }) => code !== 1000)) expect([401, 405]).toContain(status);
  });

  test("a registration token ends after 30 days, and with the operator's next", async () => {
    const { client } = await newClient();
    const old = await invite(client);
    const next = await invite(client);
    expect((await ask("/versions", { token: old })).status).toBe(401);
    await world.freeze("2026-05-01T11:59:00Z");
    expect((await ask("/versions", { token: next })).status).toBe(200);
    await world.freeze("2026-05-01T12:01:00Z");
    expect((await ask("/versions", { token: next })).status).toBe(401);
  });

  test("PUT gives a new token: the old one holds until the new is used, an hour at most", async () => {
    const made = await registered();
    const renewed = await cred(made.token, { method: "PUT", body: platform.credentials() });
    expect(renewed.code).toBe(1000);
    // the answer was lost: the old one asks again
    const again = await cred(made.token, { method: "PUT", body: platform.credentials() });
    expect((await cred(renewed.data.token)).status, "a lost one never holds").toBe(401);
    await world.freeze("2026-04-01T12:59:00Z");
    expect((await cred(made.token)).status).toBe(200);
    expect((await cred(again.data.token, { plain: true })).status).toBe(200);
    expect((await cred(made.token)).status, "the new one was used").toBe(401);

    const third = await cred(again.data.token, { method: "PUT", body: platform.credentials() });
    expect(third.code).toBe(1000);
    await world.freeze("2026-04-01T14:00:01Z");
    expect((await cred(again.data.token)).status, "an hour later").toBe(401);
    expect((await cred(third.data.token)).status).toBe(200);
  });

  test("the hour of the old token begins with the first PUT", async () => {
    const made = await registered();
    for (const at of ["2026-04-01T12:00:00Z", "2026-04-01T12:50:00Z"]) {
      await world.freeze(at);
      expect((await cred(made.token, { method: "PUT", body: platform.credentials() })).code).toBe(1000);
    }
    await world.freeze("2026-04-01T13:00:01Z");
    expect((await cred(made.token)).status).toBe(401);
  });

  test("DELETE ends both tokens and keeps the data; the operator opens it again, or disables it", async () => {
    const made = await registered();
    expect((await push(made.token, cdr("kept", made))).code).toBe(1000);
    expect((await cred(made.token, { method: "DELETE" })).code).toBe(1000);
    expect((await cred(made.token)).status).toBe(401);
    expect(await linkOf(made)).toMatchObject({
      status: "unregistered",
      their_token_ciphertext: null,
      token_hash: null,
    });
    expect(await month(made)).toEqual({ kwh: 10, sessions: 1 });
    const { data } = await cred(await invite(made.client), { body: platform.credentials() });
    expect((await push(data.token, cdr("kept", made))).code).toBe(1000);
    expect((await operator(`ocpi add --client ${made.client.client_id}`)).err).toContain(
      "end that first with ocpi disable",
    );
    expect((await operator(`ocpi disable --client ${made.client.client_id}`)).code).toBe(0);
    expect((await push(data.token, cdr("late", made))).status).toBe(401);
  });

  test.each<[Fault, number, string]>([
    ["http_500", 3001, "http_500"],
    ["http_401", 3001, "http_401"],
    ["not_json", 3001, "not_json"],
    ["no_envelope", 3001, "no_envelope"],
    ["status_2001", 3001, "status_2001"],
    ["redirect", 3001, "redirect"],
    ["another_origin", 3001, "another_origin"],
    ["no_2.2.1", 3002, "no_2.2.1"],
    ["no_credentials", 3003, "no_credentials"],
    ["gzip", 3001, "encoded"],
    ["too_large", 3001, "too_large"],
  ])("a platform with the fault %s is not registered, and may try again", async (fault, code, reason) => {
    const first = await invite(tried.client);
    platform.state.faults.add(fault);
    expect(await cred(first, { body: platform.credentials() })).toMatchObject({
      status: 200,
      code,
      message: `Your versions and endpoints cannot be used: ${reason}.`,
    });
    expect(await linkOf(tried)).toMatchObject({ status: "invited" });
    // the token goes nowhere else
    expect(new Set(platform.asked.map(({ path }) => path.split("/")[1]))).toEqual(new Set(["ocpi"]));
    platform.state.faults.clear();
    platform.state.sends = false;
    expect((await cred(first)).code).toBe(1000);
  });
  let tried: Awaited<ReturnType<typeof newClient>>;
  beforeAll(async () => {
    tried = await newClient();
  });

  test("an URL that is nobody's to ask is refused, and nothing is asked", async () => {
    const first = await invite(tried.client);
    for (const url of [
      "http://169.254.169.254/",
      "https://10.0.0.5/ocpi",
      "https://platform.internal/",
      "nonsense",
      "",
    ])
      expect(await cred(first, { body: { ...platform.credentials(), url } })).toMatchObject({
        status: 200,
        code: 3001,
      });
    expect(platform.asked).toEqual([]);
    for (const body of [
      {},
      [],
      null,
      { ...platform.credentials(), token: "" },
      { ...platform.credentials(), roles: [] },
    ])
      expect(await cred(first, { body })).toMatchObject({ status: 200, code: 2001, message: expect.any(String) });
    expect(await cred(first, { body: "{" })).toMatchObject({ status: 400, code: 2001 });
  });

  test("an origin that the operator added gets the token, and no other", async () => {
    const other = await startPlatform();
    try {
      other.state.token = platform.state.token;
      const made = await newClient();
      const first = await invite(made.client);
      platform.state.faults.add("another_origin");
      platform.state.elsewhere = other.origin;
      expect((await cred(first, { body: platform.credentials() })).code).toBe(3001);
      expect(other.asked).toEqual([]);
      expect((await operator(`ocpi origin add ${other.origin} --client ${made.client.client_id}`)).json.changed).toBe(
        true,
      );
      expect((await cred(first, { body: platform.credentials() })).code).toBe(1000);
      other.state.cdrs = [cdr("elsewhere", made)];
      expect(await pull()).toMatchObject({ failed: 0 });
      expect(await month(made)).toEqual({ kwh: 10, sessions: 1 });
      expect((await operator(`ocpi origin remove ${other.origin} --client ${made.client.client_id}`)).code).toBe(0);
      await operator(`ocpi pull --client ${made.client.client_id}`);
      other.asked.length = 0;
      expect(await pull()).toMatchObject({ failed: 1 });
      expect(await linkOf(made)).toMatchObject({ last_error: "another_origin" });
      expect(other.asked).toEqual([]);
      // a page's query still has its place
      for (const [length, code] of [
        [400, 1000],
        [401, 3001],
      ] as const) {
        platform.state.elsewhere = `${platform.origin}/`.padEnd(length - "/ocpi/sender/cdrs".length, "s");
        const again = await newClient();
        expect((await cred(await invite(again.client), { body: platform.credentials() })).code).toBe(code);
      }
    } finally {
      platform.state.elsewhere = "https://elsewhere.example";
      await other.close();
    }
  });

  test.each<[Fault]>([["plain_only"], ["own_words"], ["slash"]])(
    "field C5 a platform with %s registers and is read, from both sides",
    async (fault) => {
      platform.state.faults = new Set([fault]);
      if (fault === "own_words")
        platform.state.roles = platform.state.roles.map((role) => ({ ...role, role: " cpo" })) as never;
      const theirs = await registered();
      const ours = await newClient();
      const { err } = await operator(
        `ocpi register --client ${ours.client.client_id} --url ${platform.origin}/ocpi/versions`,
        "platform-token-A",
      );
      expect(err).toBe("");
      for (const each of [theirs, ours]) {
        platform.state.cdrs = [cdr(`${fault}-${each.evse_uid}`, each)];
        await operator(`ocpi pull --client ${each.client.client_id} --from 2026-03-05`);
        await pull();
        const link = await linkOf(each);
        expect(await month(each)).toEqual({ kwh: 10, sessions: 1 });
        expect(link).toMatchObject({ plain_token: fault === "plain_only", parties: ["NL-TNM"], hint: null });
      }
    },
  );

  test("field C5 the operator is told why no CDRs can come", async () => {
    platform.state.sends = false;
    platform.state.roles = platform.state.roles.map((role) => ({ ...role, role: "EMSP" })) as never;
    const made = await registered();
    const listed = (await operator("ocpi list")).json.connections;
    expect(listed.find(({ client_id }: { client_id: string }) => client_id === made.client.client_id).hint).toBe(
      "no role CPO or HUB in their credentials: EMSP; no CDRS SENDER in their details: CREDENTIALS SENDER, CDRS RECEIVER",
    );
  });

  test("from our side the operator registers with the CPO's token", async () => {
    const made = await newClient();
    const sees: unknown[] = [];
    platform.state.onCredentials = async (ours) => {
      // it reads our endpoints before it answers, with the token that we sent
      sees.push((await ask("/versions", { token: ours.token })).code, (await push(ours.token, cdr("x", made))).status);
      sees.push(ours.token);
      platform.state.token = "platform-token-C";
    };
    // what it gives is another token than the one we were called with
    const { code, err, json } = await operator(
      `ocpi register --client ${made.client.client_id} --url ${platform.origin}/ocpi/versions`,
      " platform-token-A \n",
    );
    expect([code, err]).toEqual([0, ""]);
    expect(json.connection).toMatchObject({ status: "registered", parties: "NL-TNM" });
    expect(sees.slice(0, 2)).toEqual([1000, 401]);
    expect((await push(sees[2] as string, cdr("ours", made))).code).toBe(1000);
    platform.state.cdrs = [
      cdr("theirs", made, { start_date_time: "2026-03-12T18:00:00Z", end_date_time: "2026-03-12T19:00:00Z" }),
    ];
    await pull();
    expect(await month(made)).toEqual({ kwh: 20, sessions: 2 });
    const failing = await newClient();
    platform.state.faults.add("no_2.2.1");
    const refused = await operator(
      `ocpi register --client ${failing.client.client_id} --url ${platform.origin}/ocpi/versions`,
      "platform-token-C",
    );
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("no_2.2.1")]);
  });
});

describe("§1 a platform sends CDRs", () => {
  let made: Registered;
  beforeEach(async () => {
    made = await registered();
  });

  test("the specification's own example, word for word: abroad, kept, and counted nowhere", async () => {
    await operator(`ocpi party add BE-BEC --client ${made.client.client_id}`);
    const { status, code, headers, data } = await push(made.token, EXAMPLE);
    expect([status, code, data]).toEqual([200, 1000, undefined]);
    const location = headers.get("location") ?? "";
    expect(location).toBe(`${BASE_URL}/ocpi/2.2.1/receiver/cdrs/BE-BEC/12345`);
    expect(await parked(made)).toEqual(["unknown_charger"]);
    const { data: kept } = await ask(location.slice(`${BASE_URL}/ocpi`.length), { token: made.token });
    const { cdr_token, tariffs, ...rest } = JSON.parse(EXAMPLE);
    expect(kept).toEqual({
      ...rest,
      cdr_token: { ...cdr_token, country_code: "BE", party_id: "BEC", uid: "#NA", type: "OTHER", contract_id: "#NA" },
    });
    expect([cdr_token.uid, tariffs.length]).toEqual(["012345678", 1]);
    // a name for its EVSE, and it is a session; the example is of 2015
    await world.row("update core.chargers set created_at = '2015-01-01Z' where owner_id = $1", made.client.id);
    const [{ charger_id }] = (await world.get("/v1/chargers", await made.client.token())).body.chargers;
    await world.post(
      "/v1/chargers:update",
      { charger_id, evses: [{ evse_id: "BE*BEC*E041503003" }] },
      await made.client.token(),
    );
    expect(
      await world.row(
        "select flags, wh::int as wh from core.charging_sessions where external_id = 'BE-BEC:12345' and owner_id = $1",
        made.client.id,
      ),
    ).toEqual({ flags: ["abroad"], wh: 15_342 });
  });

  test("ten equal ones at once are one session; the same again changes nothing, in whatever case its ids come", async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => push(made.token, cdr("ten", made))));
    expect(answers.map(({ code }) => code)).toEqual(Array(10).fill(1000));
    expect(new Set(answers.map(({ headers }) => headers.get("location"))).size).toBe(1);
    expect(await month(made)).toEqual({ kwh: 10, sessions: 1 });
    const mended = {
      ...{ country_code: "nl", party_id: "tnm", total_cost: { excl_vat: 9 }, total_time: 2.0001, a_new_field: 1 },
      ...{ charging_periods: [{ start_date_time: "2026-03-10T18:00:00.000Z", dimensions: [] }] },
    };
    expect((await push(made.token, cdr("TEN", made, mended, { address: "Dorpsstraat 1" }))).code).toBe(1000);
    expect(await push(made.token, cdr("ten", made, { total_energy: 11 }))).toMatchObject({
      status: 200,
      code: 2001,
      message: "id: CDR exists; send a credit CDR",
    });
    expect(await month(made)).toEqual({ kwh: 10, sessions: 1 });
    expect(await linkOf(made)).toMatchObject({
      taken: "1",
      refused: "1",
      last_refusal: "NL-TNM:TEN id: CDR exists; send a credit CDR",
    });
    const { rows } = await world.database.admin.query("select from core.charging_evidence where owner_id = $1", [
      made.client.id,
    ]);
    expect(rows).toHaveLength(1);
  });

  const credit = (of: string, id = `${of}-c`) =>
    cdr(id, made, { credit: true, credit_reference_id: of, total_cost: { excl_vat: -4 } });
  /** What the operator sees that the platform said of a session. */
  const tellings = async (external_id: string) => {
    const { told } = await world.row(
      "select ops.charging_show(jsonb_build_object('session', s.id)) #> '{session,tellings}' as told from core.charging_sessions s where s.external_id = $1 and s.owner_id = $2",
      external_id,
      made.client.id,
    );
    return (told as { document: { id: string } | null; evidence_over_quota: boolean }[]).map(
      ({ document, evidence_over_quota }) => [document?.id, evidence_over_quota],
    );
  };
  test("a document stands once, beside the CDRs, and is shown with its session, the credit's too", async () => {
    await push(made.token, cdr("once", made));
    await push(made.token, credit("once"));
    const { documents } = await world.row(
      "select array_agg(e.document order by e.id) as documents from core.charging_evidence e where e.owner_id = $1",
      made.client.id,
    );
    expect(documents).toEqual([null, null]);
    expect(await tellings("NL-TNM:ONCE")).toEqual([
      ["once", false],
      ["once-c", false],
    ]);
  });

  test("over what is kept of a platform in a day a CDR is stored with its hash only, and an unknown charger's refused", async () => {
    await push(made.token, cdr("kept", made));
    await world.row(
      "update core.evidence_limits set bytes_a_day = (select bytes + 100 from core.kept_evidence where source_id = $1) where kind = 'client'",
      made.client.id,
    );
    const later = { start_date_time: "2026-03-11T18:00:00Z", end_date_time: "2026-03-11T20:00:00Z" };
    const { code, headers } = await push(
      made.token,
      cdr("full", made, { ...later, signed_data: { signed_values: [{ nature: "End", signed_data: "OCMF|x" }] } }),
    );
    const nowhere = await push(made.token, cdr("nowhere", { evse_uid: "nowhere" }));
    await world.row("update core.evidence_limits set bytes_a_day = 67108864 where kind = 'client'");
    expect([code, nowhere.status]).toEqual([1000, 503]);
    expect(await month(made)).toEqual({ kwh: 20, sessions: 2 });
    expect(await tellings("NL-TNM:KEPT")).toEqual([["kept", false]]);
    expect(await tellings("NL-TNM:FULL")).toEqual([[undefined, true]]);
    expect(
      await world.row(
        "select signed, signature from core.charging_evidence where external_id = 'NL-TNM:FULL' and owner_id = $1",
        made.client.id,
      ),
    ).toEqual({ signed: [], signature: null });
    const location = headers.get("location") ?? "";
    expect((await ask(location.slice(`${BASE_URL}/ocpi`.length), { token: made.token })).status).toBe(404);
    expect((await push(made.token, cdr("full", made, later))).code).toBe(1000);
  });

  test("a credit takes one back, whole; the CDR that corrects it counts", async () => {
    await push(made.token, cdr("one", made));
    expect((await push(made.token, credit("one"))).code).toBe(1000);
    expect(await month(made)).toEqual({ kwh: 0, sessions: 0 });
    expect((await push(made.token, cdr("two", made, { total_energy: 8 }))).code).toBe(1000);
    expect(await month(made)).toEqual({ kwh: 8, sessions: 1 });
    // again, and it stays as it is
    for (const again of [cdr("one", made), credit("one"), cdr("two", made, { total_energy: 8 })])
      expect((await push(made.token, again)).code).toBe(1000);
    expect(await month(made)).toEqual({ kwh: 8, sessions: 1 });
    expect((await push(made.token, credit("one", "other"))).message).toBe(
      "credit_reference_id: another credit CDR took it back",
    );
    expect((await push(made.token, credit("one-c", "of-a-credit"))).message).toBe(
      "credit_reference_id: is a credit CDR itself",
    );
    expect((await push(made.token, cdr("half", made, { credit: true }))).code).toBe(2001);
    const { rows } = await world.database.admin.query(
      "select external_id, flags from core.charging_sessions where owner_id = $1 order by external_id",
      [made.client.id],
    );
    expect(rows).toEqual([
      { external_id: "NL-TNM:ONE", flags: ["withdrawn"] },
      { external_id: "NL-TNM:TWO", flags: [] },
    ]);
  });

  test("a credit before its original takes it back as it comes, parked ones too, and at the same moment", async () => {
    await push(made.token, credit("early"));
    expect((await push(made.token, cdr("early", made))).code).toBe(1000);
    expect(await month(made)).toEqual({ kwh: 0, sessions: 0 });
    const unknown = cdr("lost", { evse_uid: "NOBODYS" });
    await push(made.token, unknown);
    expect(await parked(made)).toEqual(["unknown_charger"]);
    await push(made.token, credit("lost"));
    expect(await parked(made)).toEqual([]);
    await push(made.token, credit("lost2"));
    await push(made.token, { ...unknown, id: "lost2" });
    expect(await parked(made)).toEqual([]);
    await Promise.all(["a", "b", "c"].flatMap((id) => [push(made.token, credit(id)), push(made.token, cdr(id, made))]));
    expect(await month(made)).toEqual({ kwh: 0, sessions: 0 });
  });

  test("times, countries and energies are read as the table says", async () => {
    const at = (day: number) => ({
      start_date_time: `2026-03-${day}T18:00:00`,
      end_date_time: `2026-03-${day}T20:00:00`,
    });
    expect((await push(made.token, cdr("no-z", made, at(11)))).code).toBe(1000);
    expect(await month(made)).toEqual({ kwh: 10, sessions: 1 });
    for (const [id, fields, location] of [
      ["1970", { start_date_time: "1970-1-1" }, {}],
      ["bel", at(12), { country: "BEL" }],
      ["nothing", { ...at(13), total_energy: 0 }, {}],
      ["reserved", at(14), { evse_uid: "#NA", evse_id: "#NA" }],
      ["backwards", { start_date_time: "2026-03-15T20:00:00Z", end_date_time: "2026-03-15T18:00:00Z" }, {}],
    ] as const)
      expect((await push(made.token, cdr(id, made, fields, location))).code, id).toBe(1000);
    expect(await month(made)).toEqual({ kwh: 10, sessions: 1 });
    expect(await parked(made)).toEqual(["no_times"]);
    const { rows } = await world.database.admin.query(
      "select external_id, flags from core.charging_sessions where owner_id = $1 and flags <> '{}' order by external_id",
      [made.client.id],
    );
    expect(rows).toEqual([
      { external_id: "NL-TNM:BACKWARDS", flags: expect.arrayContaining(["ends_before_start"]) },
      { external_id: "NL-TNM:BEL", flags: ["abroad"] },
    ]);
    // two chargers by two names: neither is chosen
    const account = await createAccount(world, { ...world.partnerA, client: made.client });
    await world.post(
      "/v1/chargers",
      { account_id: account.account_id, ...MID_CHARGER, evses: [{ meter_id: "METER-2" }] },
      await made.client.token(),
    );
    expect((await push(made.token, cdr("both", made, { ...at(16), meter_id: "METER-2" }))).code).toBe(1000);
    // a name brings no time
    expect((await push(made.token, cdr("no-end", made, { ...at(17), end_date_time: "1970-1-1" }))).code).toBe(1000);
    const { charger_id } = await world.row(
      "select charger_id from core.charger_names where value = $1",
      made.evse_uid.toUpperCase(),
    );
    const evses = [{ evse_uid: made.evse_uid }];
    const named = await world.post("/v1/chargers:update", { charger_id, evses }, await made.client.token());
    expect(named.body.sessions_stored).toBe(0);
    expect((await parked(made)).sort()).toEqual(["ambiguous_charger", "no_times", "no_times"]);
  });

  test("what is wrong is named by its field, and nothing is stored", async () => {
    for (const [body, status, code, message] of [
      [[cdr("x", made)], 200, 2001, "must be one CDR object"],
      [cdr("x", made, { id: undefined }), 200, 2001, /^id: /],
      [cdr("x", made, { total_energy: "10" }), 200, 2001, /^total_energy: /],
      [cdr("x", made, { total_energy: undefined }), 200, 2001, "total_energy: is missing"],
      [cdr("x", made, { party_id: "OTH" }), 200, 2001, "party_id: NL-OTH is not a party of this connection"],
      [cdr("x\u0000", made), 200, 2001, /^id: /],
      [cdr("x", made, { start_date_time: "\ud800" }), 200, 2001, /^start_date_time: /],
      ["{", 400, 2001, /JSON/],
      ["", 400, 2001, /JSON/],
      [" ".repeat(257 * 1024), 413, 2000, /256 KiB at most/],
      [`${'{"a":'.repeat(40_000)}1${"}".repeat(40_000)}`, 400, 2001, /50 levels/],
    ] as const) {
      const answer = await push(made.token, body);
      expect([answer.status, answer.code, answer.message], JSON.stringify(body).slice(0, 60)).toEqual([
        status,
        code,
        typeof message === "string" ? message : expect.stringMatching(message),
      ]);
    }
    const deep = `[`.repeat(50_000) + `]`.repeat(50_000);
    const nested = JSON.stringify(cdr("deep", made)).replace(
      '"total_time_cost":',
      `"total_fixed_cost":${deep},"total_time_cost":`,
    );
    expect(await push(made.token, nested)).toMatchObject({ status: 400, code: 2001 });
    expect(
      await push(made.token, cdr("to", made), { "OCPI-to-country-code": "NL", "OCPI-to-party-id": "OTH" }),
    ).toMatchObject({ code: 2001 });
    expect(
      await push(made.token, cdr("from", made), { "OCPI-from-country-code": "NL", "OCPI-from-party-id": "OTH" }),
    ).toMatchObject({ code: 2001 });
    expect(await push(made.token, cdr("zip", made), { "content-encoding": "gzip" })).toMatchObject({
      status: 415,
      code: 2000,
    });
    expect(
      (await world.row("select count(*)::int as n from core.ocpi_cdrs where owner_id = $1", made.client.id)).n,
    ).toBe(0);
    const good = {
      "OCPI-to-country-code": "nl",
      "OCPI-to-party-id": "ere",
      "OCPI-from-country-code": "NL",
      "OCPI-from-party-id": "TNM",
    };
    expect((await push(made.token, cdr("to", made), good)).code).toBe(1000);
  });

  test("field C3 what cannot be read waits with its words, until its id can be read", async () => {
    const waiting = async () =>
      (await world.get("/v1/charging-sessions/parked", await made.client.token())).body.parked.map(
        ({ session_id, reason, detail }: Record<string, string>) => [session_id, reason, detail],
      );
    const broken = cdr("wait", made, { total_energy: "x" });
    const detail = "total_energy: Invalid input: expected number, received string";
    for (let n = 0; n < 2; n++) expect((await push(made.token, broken)).code).toBe(2001);
    expect(await waiting()).toEqual([["NL-TNM:WAIT", "unreadable", detail]]);
    const { unread } = (await operator("ocpi unread")).json;
    const { words, ...seen } = unread.find(
      ({ client_id }: { client_id: string }) => client_id === made.client.client_id,
    );
    expect(seen).toMatchObject({ cdr: "NL-TNM:WAIT", refused: detail });
    expect(words).toMatchObject({ total_energy: "x", cdr_location: { evse_uid: made.evse_uid } });
    expect((await operator("charging parked --limit 1000")).json.parked).toContainEqual(
      expect.objectContaining({ client_id: made.client.client_id, reason: "unreadable", name: detail, sessions: 1 }),
    );
    // ten of the right one at once are one session
    const right = await Promise.all(Array.from({ length: 10 }, () => push(made.token, cdr("wait", made))));
    expect(right.map(({ code }) => code)).toEqual(Array(10).fill(1000));
    expect(await month(made)).toEqual({ kwh: 10, sessions: 1 });
    expect(await waiting()).toEqual([]);
    // what was read once is not replaced by what cannot be
    expect((await push(made.token, broken)).code).toBe(2001);
    expect(await waiting()).toEqual([]);
    // whatever it becomes, it waits no longer
    for (const [id, becomes, still] of [
      ["none", cdr("none", made, { total_energy: 0 }), []],
      ["named", cdr("named", { evse_uid: "nobody's" }), [["NL-TNM:NAMED", "unknown_charger", null]]],
      ["taken", credit("taken"), []],
    ] as const) {
      await push(made.token, cdr(id, made, { end_date_time: "later" }));
      expect(await waiting()).toEqual([
        [`NL-TNM:${id.toUpperCase()}`, "unreadable", expect.stringMatching(/^end_date/)],
      ]);
      expect((await push(made.token, becomes)).code).toBe(1000);
      expect(await waiting(), id).toEqual(still);
      await world.row("delete from core.parked_charging where owner_id = $1", made.client.id);
    }
    // nobody else's, and nothing that was sent to somebody else
    const other = { "OCPI-from-country-code": "NL", "OCPI-from-party-id": "OTH" };
    const wrongly = { "OCPI-to-country-code": "NL", "OCPI-to-party-id": "OTH" };
    await push(made.token, cdr("theirs", made, { party_id: "OTH", total_energy: "x" }));
    for (const headers of [other, wrongly]) await push(made.token, broken, headers);
    expect(await waiting()).toEqual([]);
    // without an id it is known by its words
    for (const body of [cdr("x", made, { id: null }), cdr("x", made, { id: null }), [cdr("x", made)], 7, 8])
      expect((await push(made.token, body)).code).toBe(2001);
    expect((await waiting()).map(([id]: [string]) => id)).toEqual([null, null, null]);
    expect(await parked(made)).toEqual(["unreadable", "unreadable", "unreadable"]);
  });

  test("field C3 what waits is read again each day, as a later version may read it", async () => {
    const reread = () => rereadCdrs(world.environment, workerCall(), "r1");
    const due = () =>
      world.row("update core.parked_charging set retry_at = $2 where owner_id = $1", made.client.id, NOW);
    await push(made.token, cdr("again", made, { total_energy: "x" }));
    await push(made.token, cdr("never", made, { total_energy: "x" }));
    await due();
    await reread();
    expect(await parked(made)).toEqual(["unreadable", "unreadable"]);
    const { at } = await world.row(
      "select min(retry_at) as at from core.parked_charging where owner_id = $1",
      made.client.id,
    );
    expect(at).toEqual(new Date("2026-04-02T12:00:00Z"));
    // as if its text were read now
    await world.row(
      "update core.parked_charging set item = jsonb_set(item, '{words,total_energy}', '10') where owner_id = $1 and external_id = 'NL-TNM:AGAIN'",
      made.client.id,
    );
    await reread();
    expect(await month(made)).toEqual({ kwh: 0, sessions: 0 });
    await due();
    await reread();
    expect(await month(made)).toEqual({ kwh: 10, sessions: 1 });
    expect(await parked(made)).toEqual(["unreadable"]);
    // the job that looks for chargers leaves it alone
    await due();
    expect(
      await world.row(
        "select count(*)::int as n from private.clients_with_due_parked() where owner_id = $1",
        made.client.id,
      ),
    ).toEqual({ n: 0 });
  });

  test("a hub's parties are those that the operator adds", async () => {
    platform.state.roles = [
      { ...platform.state.roles[0], role: "HUB", party_id: "HUB" },
    ] as typeof platform.state.roles;
    const hub = await registered();
    expect((await push(hub.token, cdr("h", hub))).code).toBe(2001);
    await operator(`ocpi party add nl-tnm --client ${hub.client.client_id}`);
    expect((await push(hub.token, cdr("h", hub))).code).toBe(1000);
    // the hub may name itself as the sender; what it sends is of a party all the same
    const from = { "OCPI-from-country-code": "nl", "OCPI-from-party-id": "hub" };
    const passed = await push(hub.token, cdr("of-the-hub", hub), {
      ...from,
      "OCPI-to-country-code": "NL",
      "OCPI-to-party-id": "ERE",
    });
    expect(passed.code).toBe(1000);
    expect(["from", "to"].map((side) => passed.headers.get(`ocpi-${side}-party-id`))).toEqual(["ERE", "HUB"]);
    expect((await push(hub.token, cdr("h2", hub, { party_id: "HUB" }), from)).code).toBe(2001);
    expect((await push(made.token, cdr("h3", made), from)).code).toBe(2001);
    expect((await ask("/versions", { token: hub.token, headers: from })).headers.get("ocpi-from-party-id")).toBeNull();
    // they stay when it renews its credentials
    const { data } = await cred(hub.token, { method: "PUT", body: platform.credentials() });
    expect((await push(data.token, cdr("h", hub))).code).toBe(1000);
    await operator(`ocpi party remove NL-TNM --client ${hub.client.client_id}`);
    expect((await push(data.token, cdr("h2", hub))).code).toBe(2001);
  });

  test("nobody reads or changes another connection's, a second client of the partner included", async () => {
    const other = await registered();
    const { headers } = await push(made.token, cdr("Mine/1 é", made));
    const path = (headers.get("location") ?? "").slice(`${BASE_URL}/ocpi`.length);
    expect(path).toBe("/2.2.1/receiver/cdrs/NL-TNM/MINE%2F1%20%C3%89");
    expect((await ask(path, { token: made.token })).data.id).toBe("Mine/1 é");
    expect((await ask(path.toLowerCase(), { token: made.token })).code).toBe(1000);
    expect(await ask(path, { token: other.token })).toMatchObject({ status: 404, code: 2000 });
    expect((await push(other.token, credit("Mine/1 é"))).code).toBe(1000);
    expect(await month(made)).toEqual({ kwh: 10, sessions: 1 });
    // a name of another client is nobody's to use
    await push(other.token, cdr("theft", made));
    expect(await parked(other)).toEqual(["unknown_charger"]);
    const mine = await world.get("/v1/ocpi", await other.client.token());
    expect(JSON.stringify(mine.body)).not.toContain("MINE");
  });

  test("requests are counted, and named in the log as the platform names them", async () => {
    await world.limit("ocpi", 2);
    const names = { "X-Request-ID": "abc-1", "X-Correlation-ID": "corr-1" };
    const { headers } = await push(made.token, cdr("n", made), names);
    expect([headers.get("x-request-id"), headers.get("x-correlation-id")]).toEqual(["abc-1", "corr-1"]);
    expect(world.log.at(-1)).toMatchObject({
      function: "ocpi",
      their_request_id: "abc-1",
      correlation_id: "corr-1",
      status_code: 1000,
    });
    const odd = await push(made.token, cdr("n", made), { "X-Request-ID": "x".repeat(65) });
    expect(odd.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    await push(made.token, cdr("n", made));
    const full = await push(made.token, cdr("n2", made));
    expect([full.status, full.code, Number(full.headers.get("retry-after")) > 0]).toEqual([429, 2000, true]);
    await world.limit("ocpi");
  });

  test("other paths and methods, and a host that has no OCPI", async () => {
    expect(await ask("/2.2.1/sessions", { token: made.token })).toMatchObject({ status: 404 });
    expect((await ask("/2.2.1/receiver/cdrs", { token: made.token })).status).toBe(405);
    for (const headers of [
      {},
      { authorization: "Token " },
      { authorization: `Bearer ${made.token}` },
      { authorization: "Token nobody" },
    ])
      expect(await ask("/versions", { headers: headers as Record<string, string> })).toMatchObject({
        status: 401,
        code: 2000,
      });
    const { OCPI_PARTY: _, ...config } = world.environment.config;
    const without = serve(surface, { ...world.environment, config });
    for (const path of ["/ocpi/versions", "/ocpi/2.2.1/receiver/cdrs", "/ocpi"])
      expect(
        (await without.fetch(new Request(`${BASE_URL}${path}`, { headers: { authorization: `Token ${made.token}` } })))
          .status,
      ).toBe(404);
  });
});

describe("§1 CDRs are read from a platform", () => {
  let made: Registered;
  const many = (count: number) =>
    Array.from({ length: count }, (_, n) =>
      cdr(`p-${n}`, made, {
        start_date_time: `2026-03-10T${String(n).padStart(2, "0")}:00:00Z`,
        end_date_time: `2026-03-10T${String(n).padStart(2, "0")}:50:00Z`,
        total_energy: 1,
      }),
    );
  /** In the middle of a whole year: a first pull reads months. */
  const readAll = async () => {
    let last = await pull();
    for (let n = 0; n < 9 && (await linkOf(made)).pull_due_at <= new Date(NOW); n++) last = await pull();
    return last;
  };
  beforeEach(async () => {
    await world.row("update core.ocpi_connections set pull_due_at = null");
    made = await registered();
  });

  test("from the beginning of the year, page by page, and every six hours from then on", async () => {
    platform.state.cdrs = many(5);
    await readAll();
    expect(await month(made)).toEqual({ kwh: 5, sessions: 5 });
    const link = await linkOf(made);
    expect([link.pulled_to, link.pull_offset, link.failing_since]).toEqual([new Date(NOW), 0, null]);
    const hours = (link.pull_due_at - Date.parse(NOW)) / 3_600_000;
    expect(hours).toBeGreaterThanOrEqual(6);
    expect(hours).toBeLessThan(7);
    const asked = platform.asked.filter(({ path }) => path === "/ocpi/sender/cdrs");
    expect(asked[0]?.query.get("date_from")).toBe("2025-12-31T23:00:00Z");
    expect(asked.every(({ token, query }) => token === "platform-token-A" && query.get("limit") === "100")).toBe(true);
    // a day later: from 48 hours before, and nothing is doubled
    await world.freeze("2026-04-02T12:00:00Z");
    platform.asked.length = 0;
    await pull();
    expect(platform.asked.map(({ query }) => [query.get("date_from"), query.get("date_to")])).toEqual([
      ["2026-03-30T12:00:00Z", "2026-04-02T12:00:00Z"],
    ]);
    expect((await operator(`ocpi pull --client ${made.client.client_id} --from 2026-03-01`)).code).toBe(0);
    expect(await pull()).toMatchObject({ failed: 0 });
    expect(await month(made)).toEqual({ kwh: 5, sessions: 5 });
  });

  test("a worker whose process is killed reads on where it was: nothing is lost, doubled or skipped", async () => {
    const folder = mkdtempSync(join(tmpdir(), "ere-worker-"));
    await writeBundle(`${ROOT}supabase/functions/worker/index.ts`, folder);
    const { WORKER_SECRET, IBAN_KEYS } = world.environment.config;
    const settings = variables({
      WORKER_SECRET,
      IBAN_KEYS: JSON.stringify(IBAN_KEYS),
      EDGE_DATABASE_URL: world.database.url("edge"),
      EDGE_SLOW_DATABASE_URL: world.database.url("edge_slow"),
      WEBHOOK_ALLOW_LOOPBACK: "true",
    });
    const headers = { authorization: `Bearer ${WORKER_SECRET}` };
    let killed: Promise<void> | undefined;
    const run = async () => {
      const worker = await bootFunction(folder, "index.js", settings);
      kill = () => {
        killed ??= worker.stop("SIGKILL");
        return killed;
      };
      const answer = await fetch(`${worker.url}/worker/run`, { method: "POST", headers }).catch(() => null);
      await (killed ?? worker.stop());
      killed = undefined;
      return answer?.status ?? null;
    };
    let kill: () => Promise<void> = async () => {};
    const holder = await world.database.admin.connect();
    /** What PostgreSQL waits for while it stores a page; undefined if it stores none. */
    const storing = async () =>
      (
        await world.row(
          "select wait_event_type as waits from pg_stat_activity where datname = current_database() and state = 'active' and query like '%api.take_pulled_cdrs%' and pid <> pg_backend_pid()",
        )
      )?.waits;
    try {
      await operator(`ocpi pull --client ${made.client.client_id} --from 2026-03-05`);
      platform.state.cdrs = many(8);
      // while a page is on its way
      platform.state.beforePage = (offset) => (offset === 2 ? kill() : undefined);
      expect(await run()).toBeNull();
      expect(await linkOf(made)).toMatchObject({ pull_offset: 2, pulled_to: null });

      // while PostgreSQL stores one
      await world.freeze("2026-04-01T12:01:01Z");
      platform.state.beforePage = (offset) =>
        offset === 4 &&
        holder.query(`begin; select from core.ocpi_connections where owner_id = '${made.client.id}' for update`);
      const third = run();
      await expect.poll(storing).toBe("Lock");
      await kill();
      expect(await third).toBeNull();
      await holder.query("rollback");
      await expect.poll(storing).toBeUndefined();

      platform.state.beforePage = undefined;
      platform.asked.length = 0;
      expect(await pull(), "the lease of the dead one holds").toMatchObject({ pages: 0 });
      await world.freeze("2026-04-01T12:03:01Z");
      expect(await run()).toBe(200);
      expect(pages()[0]).toMatch(/^[46]$/);
      expect(await month(made)).toEqual({ kwh: 8, sessions: 8 });
      expect(await linkOf(made)).toMatchObject({ taken: "8", refused: "0", pull_offset: 0, failing_since: null });
    } finally {
      holder.release(true);
      rmSync(folder, { recursive: true });
      forgetCompiled();
    }
  });

  test("a bad CDR is noted, and the others go on", async () => {
    const [first, second, third, fourth] = many(4);
    platform.state.cdrs = [
      first,
      { ...second, total_energy: "much" },
      { ...second, id: "no-year", start_date_time: "0001-01-01T00:00:00+01:00" },
      { ...third, auth_method: "\ud800" },
      7,
      { ...third, total_cost: DEEP },
      { ...third, total_cost: JSON.parse("[".repeat(60) + "]".repeat(60)) },
      fourth,
    ];
    await readAll();
    // the third's broken fields are not used
    expect(await month(made)).toEqual({ kwh: 3, sessions: 3 });
    // the number, and the second's
    expect((await parked(made)).sort()).toEqual(["no_times", "unreadable", "unreadable"]);
    expect(await linkOf(made)).toMatchObject({ failing_since: null, last_refusal: expect.any(String) });
  });

  test.each<[string, Fault[]]>([
    ["as the specification says", []],
    ["by Link alone", ["no_total"]],
    ["without Link, counting each page", ["no_link", "total_of_page"]],
    ["with neither", ["no_link", "no_total"]],
    ["by a cursor of its own", ["cursor", "no_total"]],
    ["with pages that are not full, or empty", ["filtered", "no_total"]],
    ["404 after the last", ["no_link", "no_total", "404_at_end"]],
    ["204 after the last", ["no_link", "no_total", "204_at_end"]],
    ["400 after the last", ["400_at_end"]],
    ["data: null after the last", ["no_link", "null_data"]],
    ["no data after the last", ["no_link", "no_data"]],
    ["with a slash", ["slash"]],
    ["asked for a party", ["wants_routing"]],
  ])("field C a platform that pages %s is read whole", async (_, faults) => {
    platform.state.faults = new Set(faults);
    const hidden = Array.from({ length: 6 }, (_, n) => cdr(`hidden-${n}`, made));
    platform.state.cdrs = [...many(6).slice(0, 3), ...(faults.includes("filtered") ? hidden : []), ...many(6).slice(3)];
    await operator(`ocpi pull --client ${made.client.client_id} --from 2026-03-05`);
    await readAll();
    expect(await month(made)).toEqual({ kwh: 6, sessions: 6 });
    expect(await linkOf(made)).toMatchObject({ last_error: null, pulled_to: new Date(NOW), taken: "6", refused: "0" });
  });

  test.each<[Fault]>([["null_data"], ["no_data"]])(
    "field C6 a list that is empty at once is read whole: %s",
    async (fault) => {
      platform.state.faults = new Set([fault]);
      await operator(`ocpi pull --client ${made.client.client_id} --from 2026-03-05`);
      await readAll();
      expect(await linkOf(made)).toMatchObject({ last_error: null, pulled_to: new Date(NOW) });
    },
  );

  test("field C2 each party is asked for in turn, where the platform shows one at a time", async () => {
    platform.state.roles = ["TNM", "OTH", "EMP"].map((party_id) => ({ ...platform.state.roles[0], party_id })) as never;
    const several = await registered();
    const asked = () => platform.asked.filter(({ path }) => path.endsWith("/cdrs")).map(({ route }) => route);
    const [one, other, third] = ["TNM", "OTH", "OTH"].map((party_id, n) =>
      cdr(`several-${n}`, several, {
        party_id,
        start_date_time: `2026-03-1${n}T18:00:00Z`,
        end_date_time: `2026-03-1${n}T20:00:00Z`,
      }),
    );
    platform.state.cdrs = [one, other, third];
    platform.state.faults = new Set<Fault>(["one_party"]);
    const pullFrom = () => operator(`ocpi pull --client ${several.client.client_id} --from 2026-03-05`);
    await pullFrom();
    // a worker that stops between two parties goes on with the second
    await pull(undefined, (name, input) => {
      if (name === "take_pulled_cdrs" && (input as { party: string }).party === "NL-OTH") throw new Error("stop");
    });
    await world.row(
      "update core.ocpi_connections set pull_lease_until = null, pull_due_at = $2 where owner_id = $1",
      several.client.id,
      NOW,
    );
    await pull();
    expect(await month(several)).toEqual({ kwh: 30, sessions: 3 });
    expect(new Set(asked())).toEqual(new Set(["NL-ERE NL-TNM", "NL-ERE NL-OTH", "NL-ERE NL-EMP"]));
    expect(await linkOf(several)).toMatchObject({ pull_party: null, pulled_to: new Date(NOW) });
    // one that shows all is asked once
    platform.state.faults.clear();
    platform.asked.length = 0;
    await pullFrom();
    await pull();
    expect(new Set(asked())).toEqual(new Set(["NL-ERE NL-TNM"]));
    expect(platform.asked.filter(({ path, route }) => !path.endsWith("/cdrs") && route !== "- -")).toEqual([]);
  });

  test("field C6 a party that is refused keeps no other from being read, and is told", async () => {
    const roles = (...parties: string[]) => parties.map((party_id) => ({ ...platform.state.roles[0], party_id }));
    platform.state.roles = roles("OTH", "TNM", "EMP") as never;
    const several = await registered();
    platform.state.cdrs = ["TNM", "EMP"].map((party_id, n) =>
      cdr(`refused-${n}`, several, {
        party_id,
        start_date_time: `2026-03-1${n}T18:00:00Z`,
        end_date_time: `2026-03-1${n}T20:00:00Z`,
      }),
    );
    platform.state.faults = new Set<Fault>(["one_party", "404_of_OTH"]);
    await operator(`ocpi pull --client ${several.client.client_id} --from 2026-03-05`);
    expect(await pull()).toMatchObject({ failed: 1 });
    expect(await month(several)).toEqual({ kwh: 20, sessions: 2 });
    const link = await linkOf(several);
    const told = { failing_since: new Date(NOW), last_error_detail: link.last_error_detail };
    expect(link).toMatchObject({
      last_error: "http_404",
      last_error_detail: expect.stringMatching(/^NL-OTH: HTTP 404 on the first page.+ Other parties are read\.$/),
      failing_since: new Date(NOW),
      pulled_to: new Date(NOW),
    });
    expect(link.pull_due_at.getTime()).toBeGreaterThan(Date.parse(NOW) + 5 * 3_600_000);
    // a turn that ends at the next party remembers the refusal, and so does the pass
    await operator(`ocpi pull --client ${several.client.client_id} --from 2026-03-05`);
    const time = vi.spyOn(Date, "now");
    await pull(undefined, (name) => {
      if (name === "take_pulled_cdrs") time.mockReturnValue(Number.MAX_SAFE_INTEGER);
    });
    time.mockRestore();
    expect(await linkOf(several)).toMatchObject({ pull_party: "NL-TNM", last_error: "http_404", ...told });
    await pull();
    expect(await linkOf(several)).toMatchObject({ pull_party: null, last_error: "http_404", ...told });
    // the next pass begins anew
    platform.state.faults.delete("404_of_OTH");
    await operator(`ocpi pull --client ${several.client.client_id} --from 2026-03-05`);
    await pull();
    expect(await linkOf(several)).toMatchObject({ last_error: null, failing_since: null, pull_refused: null });
  });

  test("field C6 where every party is refused nothing was read, however many turns", async () => {
    platform.state.roles = ["OTH", "TNM"].map((party_id) => ({ ...platform.state.roles[0], party_id })) as never;
    const several = await registered();
    platform.state.faults = new Set<Fault>(["404_of_OTH", "404_of_TNM"]);
    await world.row("update core.ocpi_connections set pull_due_at = null");
    for (const turn of [1, 2, 3]) {
      await operator(`ocpi pull --client ${several.client.client_id}`);
      expect(await pull(), `turn ${turn}`).toMatchObject({ failed: 1 });
      expect(await linkOf(several)).toMatchObject({ last_error: "http_404", pulled_to: null, pull_refused: null });
    }
  });

  test("field C6 a refusal in the middle of a list is none of its party", async () => {
    platform.state.roles = ["TNM", "OTH"].map((party_id) => ({ ...platform.state.roles[0], party_id })) as never;
    const several = await registered();
    platform.state.cdrs = many(5);
    platform.state.faults = new Set<Fault>(["one_party", "403_in_middle"]);
    await world.row("update core.ocpi_connections set pull_due_at = null");
    for (const turn of [1, 2]) {
      await operator(`ocpi pull --client ${several.client.client_id} ${turn === 1 ? "--from 2026-03-05" : ""}`.trim());
      expect(await pull(), `turn ${turn}`).toMatchObject({ failed: 1 });
      expect(await linkOf(several)).toMatchObject({ last_error: "http_403", pulled_to: null, pull_party: "NL-TNM" });
    }
  });

  test("field C2 a hub is asked for all behind it", async () => {
    platform.state.roles = [{ ...platform.state.roles[0], role: "Hub", country_code: "FR", party_id: "007" }] as never;
    const hub = await registered();
    await operator(`ocpi party add NL-TNM --client ${hub.client.client_id}`);
    platform.state.cdrs = [cdr("behind", hub)];
    await operator(`ocpi pull --client ${hub.client.client_id} --from 2026-03-05`);
    platform.asked.length = 0;
    await pull();
    expect(await month(hub)).toEqual({ kwh: 10, sessions: 1 });
    expect(new Set(platform.asked.map(({ route }) => route))).toContain("NL-ERE FR-007");
    // it answered for NL-TNM too, so nobody else is asked
    expect(await linkOf(hub)).toMatchObject({ hubs: ["FR-007"], parties: [], pull_party: null });
  });

  test("field C6 a failed pull says what it saw", async () => {
    platform.state.faults = new Set<Fault>(["no_list"]);
    await pull();
    expect(await linkOf(made)).toMatchObject({ last_error: "no_list", last_error_detail: "an object of cdrs" });
    for (const [fault, last_error, last_error_detail] of [
      ["not_json", "not_json", "HTTP 200, text/html"],
      ["no_envelope", "no_envelope", "a list"],
      ["status_2001", "status_2001", "HTTP 200, application/json, status_code 2001"],
      ["http_500", "http_500", "HTTP 500"],
      ["gone", "http_404", expect.stringMatching(/^HTTP 404 on the first page: it may have moved/)],
    ] as const) {
      platform.state.faults = new Set(fault === "gone" ? [] : [fault]);
      if (fault === "gone")
        await world.row(
          "update core.ocpi_connections set cdrs_url = cdrs_url || 's' where owner_id = $1",
          made.client.id,
        );
      await operator(`ocpi pull --client ${made.client.client_id}`);
      await pull();
      expect(await linkOf(made), fault).toMatchObject({ last_error, last_error_detail });
      const { body } = await world.get("/v1/ocpi", await made.client.token());
      expect(body).toMatchObject({ last_error, last_error_detail });
    }
  });

  test("field C4 a redirect elsewhere is followed by nobody", async () => {
    platform.state.cdrs = many(1);
    platform.state.faults = new Set<Fault>(["slash_elsewhere"]);
    platform.asked.length = 0;
    expect(await pull()).toMatchObject({ failed: 1 });
    expect(await linkOf(made)).toMatchObject({ last_error: "redirect", last_error_detail: "HTTP 307" });
    expect(platform.asked).toHaveLength(1);
  });

  test("a pull that goes on at the end of a list that refuses it begins again, and is whole", async () => {
    platform.state.cdrs = many(5);
    platform.state.faults = new Set(["400_at_end"]);
    await operator(`ocpi pull --client ${made.client.client_id} --from 2026-03-05`);
    await world.row("update core.ocpi_connections set pull_offset = 5 where owner_id = $1", made.client.id);
    expect(await pull()).toMatchObject({ failed: 0 });
    expect(await month(made)).toEqual({ kwh: 5, sessions: 5 });
    expect(await linkOf(made)).toMatchObject({ last_error: null, pulled_to: new Date(NOW) });
    expect(pages().slice(0, 2)).toEqual(["5", "0"]);
  });

  test.each<[count: number, fault: Fault, offset: number, last_error: string | null]>([
    [5, "400_at_end", 5, null],
    // a full page before it: it may refuse for another reason
    [4, "400_at_end", 4, "http_400"],
    [4, "416_at_end", 4, null],
    [5, "416_at_end", 6, "http_416"],
  ])(
    "where it never says how many there are, %i CDRs with %s are read again from offset %i: %s",
    async (count, fault, offset, last_error) => {
      platform.state.cdrs = many(count);
      platform.state.faults = new Set([fault, "no_total", "no_link"]);
      await operator(`ocpi pull --client ${made.client.client_id} --from 2026-03-05`);
      await world.row("update core.ocpi_connections set pull_offset = $2 where owner_id = $1", made.client.id, offset);
      expect(await pull()).toMatchObject({ failed: last_error ? 1 : 0 });
      expect(await linkOf(made)).toMatchObject({ last_error, pulled_to: last_error ? null : new Date(NOW) });
    },
  );

  test("platforms that page wrongly are read whole all the same", async () => {
    platform.state.cdrs = many(5);
    for (const fault of [
      "link_to_private",
      "inclusive_date_to",
      "no_total",
      "blank_total",
      "zero_total",
      "total_of_page",
      "same_page",
    ] as const) {
      platform.asked.length = 0;
      platform.state.faults = new Set([fault]);
      if (fault === "same_page") platform.state.cdrs = many(2);
      await operator(`ocpi pull --client ${made.client.client_id} --from 2026-03-05`);
      await readAll();
      expect(await month(made), fault).toEqual({ kwh: 5, sessions: 5 });
      expect(await linkOf(made)).toMatchObject({ failing_since: null, pulled_to: new Date(NOW) });
      expect(pages().length).toBeLessThan(9);
      if (fault !== "same_page") expect(pages(), fault).toContain("4");
    }
  });

  test("a platform that says it has more and shows one page again is not read whole", async () => {
    platform.state.faults = new Set(["same_page", "keeps_total"]);
    platform.state.cdrs = many(5);
    await operator(`ocpi pull --client ${made.client.client_id} --from 2026-03-05`);
    expect(await pull()).toMatchObject({ failed: 1 });
    expect(await linkOf(made)).toMatchObject({ last_error: "same_page", pulled_to: null, taken: "2" });
  });

  test("a thousand pages in a row with nothing new end a run; the next goes on where it ended", async () => {
    const ask = () => operator(`ocpi pull --client ${made.client.client_id} --from 2026-03-05`);
    platform.state.cdrs = many(6);
    const told = (pull_pages: number) => world.row("update core.ocpi_connections set pull_pages = $1", pull_pages);
    await ask();
    await told(5_000);
    expect(await pull(), "what is new is no reason to stop").toMatchObject({ failed: 0, pages: 3 });
    await ask();
    await told(998);
    expect(await pull()).toMatchObject({ failed: 1, pages: 2 });
    expect(await linkOf(made)).toMatchObject({ last_error: "too_many_pages", pull_offset: 4, pull_pages: 0 });
    await operator(`ocpi pull --client ${made.client.client_id}`);
    await pull();
    expect(await linkOf(made)).toMatchObject({ last_error: null, pull_offset: 0, pulled_to: new Date(NOW) });
    expect((await operator(`ocpi pull --client ${made.client.client_id} --from 2026-02-30`)).code).not.toBe(0);
  });

  test("one that answers wrongly is asked again in a quarter of an hour, and nothing is lost", async () => {
    platform.state.cdrs = many(3);
    for (const [fault, reason] of [
      ["http_500", "http_500"],
      ["http_401", "http_401"],
      ["not_json", "not_json"],
      ["no_envelope", "no_envelope"],
      ["status_2001", "status_2001"],
      ["redirect", "redirect"],
      ["no_list", "no_list"],
      ["gzip", "encoded"],
      ["too_large", "too_large"],
      ["hangs", "timeout"],
      ["trickles", "timeout"],
    ] as const) {
      platform.state.faults = new Set([fault]);
      expect(await pull(reason === "timeout" ? { patienceMs: 50 } : undefined), fault).toMatchObject({ failed: 1 });
      const due = new Date("2026-04-01T12:15:00Z");
      expect(await linkOf(made)).toMatchObject({ last_error: reason, pulled_to: null, pull_due_at: due });
      expect(await pull(), fault).toMatchObject({ failed: 0, pages: 0 });
      await operator(`ocpi pull --client ${made.client.client_id}`);
    }
    platform.state.faults.clear();
    await readAll();
    expect(await month(made)).toEqual({ kwh: 3, sessions: 3 });
    expect(await linkOf(made)).toMatchObject({ last_error: null, failing_since: null });
  });

  test("one that sends all that it has is taken a hundred at a time", async () => {
    platform.state.faults.add("no_limit");
    platform.state.cdrs = Array.from({ length: 250 }, (_, n) => cdr(`all-${n}`, made, { total_energy: 0 }));
    const sizes: number[] = [];
    await operator(`ocpi pull --client ${made.client.client_id} --from 2026-03-05`);
    await pull(undefined, (name, input) => {
      if (name === "take_pulled_cdrs") sizes.push((input as { cdrs: unknown[] }).cdrs.length);
    });
    expect(sizes).toEqual([100, 100, 50]);
    expect(await linkOf(made)).toMatchObject({ taken: "250", pulled_to: new Date(NOW) });
  });

  test("attack: where no more may be parked, what has a charger counts, and the rest is read once it has one", async () => {
    const evse_uid = `later ${made.evse_uid}`;
    platform.state.cdrs = [cdr("p-later", { evse_uid }), ...many(3)];
    await world.row(
      "insert into core.kept_evidence (partner_id, source_id, owner_id, kind, day, bytes) values ($1, $2, $2, 'client', '2026-04-01', 67108864)",
      world.partnerA.id,
      made.client.id,
    );
    await readAll();
    expect(await month(made)).toEqual({ kwh: 3, sessions: 3 });
    expect(await parked(made)).toEqual([]);
    expect(await linkOf(made)).toMatchObject({ pulled_to: new Date(NOW), last_error: "parked_limit", left_names: "2" });
    // a day later there is room, but nobody asks again for chargers that have no name
    const next = async (moment: string) => {
      await world.freeze(moment);
      platform.asked.length = 0;
      await readAll();
      return platform.asked[0]?.query.get("date_from");
    };
    expect(await next("2026-04-02T12:00:00Z")).toBe("2026-03-30T12:00:00Z");
    const { charger_id } = await world.row(
      "select id as charger_id from core.chargers where owner_id = $1",
      made.client.id,
    );
    const evses = [{ evse_uid: made.evse_uid }, { evse_uid }];
    await world.post("/v1/chargers:update", { charger_id, evses }, await made.client.token());
    await next("2026-04-03T12:00:00Z");
    expect(await month(made)).toEqual({ kwh: 13, sessions: 4 });
    expect(await linkOf(made)).toMatchObject({ last_error: null, left_from: null, left_names: null });
  });

  test("nothing is left out by a turn of the year, a later --from, or a platform that registers anew", async () => {
    const begins = () => platform.asked.find(({ path }) => path.endsWith("/cdrs"))?.query.get("date_from");
    await world.freeze("2027-01-05T12:00:00Z");
    await pull();
    expect(begins()).toBe("2025-12-31T23:00:00Z");
    expect((await operator(`ocpi pull --client ${made.client.client_id} --from 2027-01-10`)).code).toBe(0);
    platform.asked.length = 0;
    await pull();
    expect(begins()).toBe("2027-01-03T12:00:00Z");

    await world.freeze(NOW);
    const anew = await registered();
    platform.state.cdrs = many(5).map((each) => ({
      ...each,
      cdr_location: { ...each.cdr_location, evse_uid: anew.evse_uid },
    }));
    // in the middle of a pass
    await world.row("update core.ocpi_connections set pull_offset = 4 where owner_id = $1", anew.client.id);
    expect((await cred(anew.token, { method: "PUT", body: platform.credentials() })).code).toBe(1000);
    await pull();
    expect(await month(anew)).toEqual({ kwh: 5, sessions: 5 });
  });

  test("no more is read for a client that the operator disabled", async () => {
    platform.state.cdrs = many(1);
    await world.row("update core.oauth_clients set disabled_at = $2 where id = $1", made.client.id, NOW);
    expect(await pull()).toEqual({ pages: 0, refused: 0, failed: 0 });
  });

  test("500s for a day: the client's log tells it once, managers and the operator are mailed, and it is tried on", async () => {
    platform.state.faults.add("http_500");
    for (const at of ["2026-04-01T12:00:00Z", "2026-04-02T11:59:00Z", "2026-04-02T12:20:00Z", "2026-04-02T12:40:00Z"]) {
      await world.freeze(at);
      await pull();
    }
    const { rows } = await world.database.admin.query(
      "select data from core.events where type = 'ocpi.pull_failed' and owner_id = $1",
      [made.client.id],
    );
    expect(rows).toEqual([{ data: { since: "2026-04-01T12:00:00Z", reason: "http_500" } }]);
    const [mail, ...others] = await world.mails(
      "where template = 'ocpi_pull_failed' and cause like $1",
      `%${made.client.id}%`,
    );
    expect(others).toEqual([]);
    expect([mail.recipient, mail.subject]).toEqual([
      "support@example.com",
      "Laadsessies van partner-a kunnen niet worden opgehaald",
    ]);
    expect((await linkOf(made)).status).toBe("registered");
    const listed = (await operator("ocpi list")).json.connections;
    expect(listed.find(({ client_id }: { client_id: string }) => client_id === made.client.client_id)).toMatchObject({
      last_error: "http_500",
    });
    const figures = JSON.parse(
      await world.environment.slowDb.call("list_metrics", { kind: "worker", host: "sandbox", request_id: "r" }),
    );
    expect(figures.find(({ name }: { name: string }) => name === "ocpi_pull_lag_seconds").value).toBeGreaterThan(
      86_000,
    );
    platform.state.faults.clear();
    await world.freeze("2026-04-02T13:00:00Z");
    await pull();
    expect(await linkOf(made)).toMatchObject({ failing_since: null, warned: false });
  });
});

test("§1 a card is in no table, no log, no mail and no answer", async () => {
  expect((await world.row("select count(*)::int as n from core.ocpi_cdrs")).n).toBeGreaterThan(20);
  expect(await tablesWith(world, CARD)).toEqual([]);
  expect(await tablesWith(world, "NL-TNM:TEN"), "what is stored is found").toContain("core.charging_sessions");
  expect(JSON.stringify(world.log)).not.toContain(CARD);
  expect(JSON.stringify(world.log)).not.toMatch(/platform-token/);
  expect(JSON.stringify(await world.mails())).not.toContain(CARD);
});

test("§1 the bodies that the guide shows register a platform, and are a session that counts", async () => {
  const guide = readFileSync(join(ROOT, "docs/guides/ocpi.md"), "utf8");
  const [credentials, sent] = [...guide.matchAll(/^```json\n(.*?)^```$/gms)].map(([, body = ""]) => JSON.parse(body));
  const made = await newClient();
  const token = await made.client.token();
  const [{ charger_id }] = (await world.get("/v1/chargers", token)).body.chargers;
  const { evse_uid, evse_id } = sent.cdr_location;
  await world.post("/v1/chargers:update", { charger_id, evses: [{ evse_uid, evse_id }] }, token);
  platform.state.token = credentials.token;
  const { url } = platform.credentials();
  const { code, data } = await cred(await invite(made.client), { body: { ...credentials, url } });
  expect(code).toBe(1000);
  for (let n = 0; n < 2; n += 1) {
    const { headers, ...answer } = await push(data.token, sent);
    expect(answer).toMatchObject({ status: 200, code: 1000 });
    expect(headers.get("location")).toBe(`${BASE_URL}/ocpi/2.2.1/receiver/cdrs/NL-TNM/${sent.id}`);
  }
  expect(await month(made)).toEqual({ kwh: sent.total_energy, sessions: 1 });
});

test("§1 a reset of the sandbox takes the connections of its partner", async () => {
  const { giveKey } = await import("../partner/partner_world.ts");
  const made = await registered();
  await push(made.token, cdr("reset", made));
  expect((await world.post("/sandbox/v1/reset", {}, await giveKey(world, world.partnerA.id))).status).toBe(200);
  expect(await linkOf(made)).toBeUndefined();
  expect((await cred(made.token)).status).toBe(401);
});
