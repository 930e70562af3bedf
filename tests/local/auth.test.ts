import { generateKeyPairSync } from "node:crypto";
import { createLocalJWKSet, decodeJwt, jwtVerify } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { auth } from "../../packages/local/src/auth.ts";
import { cloneDatabase, type Database } from "../harness/database.ts";

const URL_ = "http://127.0.0.1:54321";
const PUBLISHABLE = "sb_publishable_test";
const SECRET = "sb_secret_test";

let database: Database;
let issuer: ReturnType<typeof auth>;

beforeAll(async () => {
  database = await cloneDatabase();
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  issuer = auth({
    url: URL_,
    database_url: database.admin.options.connectionString ?? "",
    key: { ...privateKey.export({ format: "jwk" }), kid: "k1", alg: "ES256", use: "sig" },
    publishable_key: PUBLISHABLE,
    secret_key: SECRET,
  });
});
afterAll(async () => {
  await issuer.close();
  await database.drop();
});

type Json = Record<string, unknown> & { user: { id: string }; access_token: string; refresh_token: string };

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await issuer.app.request(`/auth/v1${path}`, {
    method,
    headers: { apikey: PUBLISHABLE, ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, json: (text ? JSON.parse(text) : {}) as Json };
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
const signUp = (email: string) => call("POST", "/signup", { email, password: "secret1" });

test("a session verifies against the key set, with pinned issuer, audience and algorithm", async () => {
  const { status, json } = await signUp("Anna@Example.com ");
  expect(status).toBe(200);
  const keys = await issuer.app.request("/auth/v1/.well-known/jwks.json");
  const key_set = (await keys.json()) as { keys: Record<string, string>[] };
  expect(Object.keys(key_set.keys[0] ?? {})).not.toContain("d");
  const { payload } = await jwtVerify(json.access_token, createLocalJWKSet(key_set as never), {
    issuer: `${URL_}/auth/v1`,
    audience: "authenticated",
    algorithms: ["ES256"],
  });
  expect(payload).toMatchObject({ sub: json.user.id, email: "anna@example.com", role: "authenticated" });
  expect(Number(payload.exp) - Number(payload.iat)).toBe(3600);
  const { rows } = await database.admin.query("select encrypted_password from auth.users where id = $1", [
    json.user.id,
  ]);
  expect(rows[0].encrypted_password).not.toContain("secret1");
});

test("an address signs up once, and ten at once as well", async () => {
  const answers = await Promise.all(Array.from({ length: 10 }, () => signUp("race@example.com")));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(answers.find(({ status }) => status !== 200)?.json.error_code).toBe("user_already_exists");
});

test("a wrong password and an unknown address answer the same", async () => {
  await signUp("bob@example.com");
  const wrong = await call("POST", "/token?grant_type=password", { email: "bob@example.com", password: "secret2" });
  const unknown = await call("POST", "/token?grant_type=password", {
    email: "nobody@example.com",
    password: "secret1",
  });
  expect(wrong).toEqual(unknown);
  expect(wrong).toMatchObject({ status: 400, json: { error_code: "invalid_credentials" } });
  const right = await call("POST", "/token?grant_type=password", { email: "bob@example.com", password: "secret1" });
  expect(right.status).toBe(200);
});

test("a refresh token works once, also for ten at once, and a second use ends the session", async () => {
  const { json } = await signUp("carol@example.com");
  const refresh = () => call("POST", "/token?grant_type=refresh_token", { refresh_token: json.refresh_token });
  const answers = await Promise.all(Array.from({ length: 10 }, refresh));
  const winners = answers.filter(({ status }) => status === 200);
  expect(winners).toHaveLength(1);
  expect(decodeJwt(winners[0]?.json.access_token ?? "").session_id).toBe(decodeJwt(json.access_token).session_id);
  await refresh();
  expect((await call("GET", "/user", undefined, bearer(winners[0]?.json.access_token ?? ""))).status).toBe(403);
});

test("signing out ends the session at once", async () => {
  const { json } = await signUp("dora@example.com");
  expect((await call("GET", "/user", undefined, bearer(json.access_token))).json.email).toBe("dora@example.com");
  expect((await call("POST", "/logout", undefined, bearer(json.access_token))).status).toBe(204);
  expect((await call("GET", "/user", undefined, bearer(json.access_token))).json.error_code).toBe("session_not_found");
  expect((await call("GET", "/user", undefined, bearer("no.jwt.here"))).json.error_code).toBe("bad_jwt");
});

test("the admin calls need the secret key", async () => {
  const input = { email: "eve@example.com", password: "secret1", user_metadata: { name: "Eve" } };
  expect((await call("POST", "/admin/users", input)).status).toBe(401);
  expect((await call("POST", "/admin/users", input, { apikey: "" })).status).toBe(401);
  const made = await call("POST", "/admin/users", input, { apikey: SECRET, ...bearer(SECRET) });
  expect(made).toMatchObject({ status: 200, json: { email: "eve@example.com", user_metadata: { name: "Eve" } } });
  const id = String(made.json.id);
  const list = await call("GET", "/admin/users?per_page=1000", undefined, bearer(SECRET));
  expect((list.json.users as { id: string }[]).map((user) => user.id)).toContain(id);
  expect((await call("GET", `/admin/users/${id}`, undefined, bearer(SECRET))).status).toBe(200);
  expect((await call("DELETE", `/admin/users/${id}`, undefined, bearer(SECRET))).status).toBe(200);
  expect((await call("GET", `/admin/users/${id}`, undefined, bearer(SECRET))).status).toBe(404);
});

test.each([
  ["no JSON", "/signup", "{", 400, "bad_json"],
  ["a list", "/signup", [], 400, "validation_failed"],
  ["no address", "/signup", { email: "x", password: "secret1" }, 400, "validation_failed"],
  ["NUL in the address", "/signup", { email: "a\0@example.com", password: "secret1" }, 400, "validation_failed"],
  [
    "NUL in the data",
    "/signup",
    { email: "nul@example.com", password: "secret1", data: { a: "\0" } },
    400,
    "validation_failed",
  ],
  ["a short password", "/signup", { email: "f@example.com", password: "12345" }, 422, "weak_password"],
  [
    "SQL in the address",
    "/token?grant_type=password",
    { email: "'or''='@x", password: "secret1" },
    400,
    "invalid_credentials",
  ],
  ["another grant", "/token?grant_type=pkce", {}, 400, "unsupported_grant_type"],
])("%s is refused by name", async (_name, path, body, status, error_code) => {
  expect(await call("POST", path, body)).toMatchObject({ status, json: { error_code } });
});
