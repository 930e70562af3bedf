// What integrators get wrong most often, and that each refusal says what to do next.

import { afterAll, beforeAll, expect, test } from "vitest";
import { issueClientToken } from "#shared/auth/tokens.ts";
import { MID_CHARGER } from "../harness/chargers.ts";
import { createAccount } from "../harness/people.ts";
import type { Sent } from "../harness/world.ts";
import { createSandboxWorld, type SandboxWorld } from "../sandbox/sandbox_world.ts";

let world: SandboxWorld;
let token: string;
let account_id: string;
let expired: string;
let foreign: string;
beforeAll(async () => {
  world = await createSandboxWorld({ limits: "lifted" });
  token = await world.partnerA.client.token();
  ({ account_id } = await createAccount(world));
  const claims = { clientId: world.partnerA.client.client_id, scope: "cpo:accounts:read", secretNumber: 1 };
  const { environment } = world;
  expired = await issueClientToken({ ...environment, now: () => new Date("2026-11-20T10:00:00Z") }, claims);
  const config = { ...environment.config, AUTH_URL: "https://auth.elders.example" };
  foreign = await issueClientToken({ ...environment, config }, claims);
});
afterAll(() => world.close());

type Mistake = [what: string, path: string, sent: () => Sent, status: number, says: RegExp];
const grant = (more: object) => () => ({
  body: {
    grant_type: "client_credentials",
    client_id: world.partnerA.client.client_id,
    client_secret: world.partnerA.client.secret,
    ...more,
  },
});
const as = (bearer: () => string) => () => ({ token: bearer() });
const send = (body: unknown) => () => ({ token, body });
const ACCOUNT = { person: { full_name: "Sanne de Vries" }, connection: { postal_code: "3818LH", house_number: "8" } };
const withEan = (ean_code: unknown) => ({ ...ACCOUNT, connection: { ...ACCOUNT.connection, ean_code } });
const file = (raw: BodyInit, type: string) => () => ({
  token,
  method: "POST" as const,
  raw,
  headers: { "content-type": type },
});

const MISTAKES: Mistake[] = [
  ["no header", "/v1/accounts", () => ({}), 401, /Send the header Authorization: Bearer/],
  ["no Bearer", "/v1/accounts", () => ({ headers: { authorization: token } }), 401, /must be Bearer, a space/],
  ["an expired token", "/v1/accounts", as(() => expired), 401, /has expired\. Get another one: POST \/oauth-token/],
  ["a token of another host", "/v1/accounts", as(() => foreign), 401, /of another host\. Get another one/],
  [
    "a key of another host",
    "/partner/customers",
    as(() => world.keyA.replace("_test_", "_live_")),
    401,
    /production key/,
  ],
  ["a partner key on the CPO API", "/v1/accounts", as(() => world.keyA), 403, /cpo: takes a CPO client's token/],
  ["a CPO token on the Partner API", "/partner/customers", as(() => token), 403, /partner a partner's key/],
  ["a wrong secret", "/oauth-token", grant({ client_secret: "x" }), 401, /client_id and client_secret in the body/],
  [
    "scopes with commas",
    "/oauth-token",
    grant({ scope: "cpo:accounts:read,cpo:accounts:write" }),
    400,
    /separated by spaces/,
  ],
  ["another method", "/v1/sessions:batch", () => ({ token }), 404, /This path takes POST, not GET\./],
  ["a slash at the end", "/v1/accounts/", () => ({ token }), 404, /Leave out the slash/],
  ["a trailing comma", "/v1/accounts", file('{"a": 1,}', "application/json"), 400, /one JSON object/],
  ["an EAN of 17 digits", "/v1/accounts", send(withEan("87168700000000001")), 400, /must be 18 digits/],
  ["an EAN as a number", "/v1/accounts", send(withEan(8)), 400, /ean_code: must be text/],
  ["an EAN that is taken", "/v1/accounts", send(withEan("871687000000000054")), 409, /ask the operator/],
  ["no person", "/v1/accounts", send({ full_name: "Sanne" }), 400, /person: is missing/],
  ["a type in English", "/v1/accounts", send({ ...withEan("871687000000000016"), type: "business" }), 400, /zakelijk/],
  ["a short IBAN", "/v1/accounts", send({ ...withEan("871687000000000016"), iban: "NL91" }), 400, /15 to 34/],
  ["a reference for an id", "/v1/sessions:batch", send({ account_id: "KL-1", months: [{}] }), 400, /must be a UUID/],
  ["no months", "/v1/sessions:batch", () => ({ token, body: { account_id, months: [] } }), 400, /must not be empty/],
  [
    "an unknown model",
    "/v1/chargers",
    () => ({ token, body: { account_id, ocpp_vendor: "Foo", ocpp_model: "Bar", serial_number: "1" } }),
    422,
    /Search GET \/v1\/catalog\/chargers, or ask the operator/,
  ],
  [
    "a form",
    "/v1/uploads",
    file("--x\r\nContent-Disposition: form-data\r\n\r\na;b\r\n--x--", "multipart/form-data; boundary=x"),
    415,
    /not in a form/,
  ],
  ["a PDF", "/v1/uploads", file("%PDF-1.4", "application/pdf"), 415, /Excel workbook/],
  ["no file", "/v1/uploads", file("", "text/csv"), 422, /Send the file itself as the body/],
  ["a file too big", "/v1/uploads", file("x".repeat(5_000_000), "text/csv"), 413, /4096 KiB at most/],
  ["a webhook on http", "/v1/webhooks", send({ url: "http://example.com" }), 422, /begin with https/],
  [
    "an event type that is none",
    "/v1/webhooks",
    send({ url: "https://example.com", types: ["x"] }),
    400,
    /openapi\.json/,
  ],
  ["a year of two digits", "/v1/ere-positions?delivery_year=26", () => ({ token }), 400, /a year such as 2026/],
];

test.each(MISTAKES)("§7 %s is told what to do next", async (_, path, sent, status, says) => {
  const answer = await world.send(path, sent());
  expect([answer.status, answer.body.detail ?? answer.body.error_description]).toEqual([
    status,
    expect.stringMatching(says),
  ]);
});

test("§4.1 an hour without an offset, Wh for kWh and an id that is sent twice are told for each session", async () => {
  const { status, body } = await world.post(
    "/v1/chargers",
    {
      account_id,
      ...MID_CHARGER,
      serial_number: "S-1",
      external_ref: "PAAL-1",
    },
    token,
  );
  expect(status, JSON.stringify(body)).toBe(200);
  const session = (fields: object) => ({
    external_ref: "PAAL-1",
    started_at: "2026-11-19T18:00:00Z",
    ended_at: "2026-11-19T19:00:00Z",
    kwh: 9,
    ...fields,
  });
  const sessions = [
    session({ session_id: "local", started_at: "2026-11-18T18:00:00" }),
    session({ session_id: "text", kwh: "9,5" }),
    session({ session_id: "wh", kwh: 9000 }),
    session({ session_id: "twice", started_at: "2026-11-17T18:00:00Z", ended_at: "2026-11-17T19:00:00Z" }),
    session({ session_id: "twice", started_at: "2026-11-17T18:00:00Z", ended_at: "2026-11-17T19:00:00Z" }),
  ];
  const { results } = (await world.post("/v1/charging-sessions", { sessions }, token)).body;
  expect(results).toMatchObject([
    { status: "invalid", reason: "bad_started_at" },
    { status: "invalid", reason: "bad_kwh" },
    { status: "created", flags: ["beyond_power"], counted: false, not_counted: "flagged" },
    { status: "superseded" },
    { status: "created" },
  ]);
});
