import { generateKeyPairSync } from "node:crypto";
import { createClient } from "@supabase/supabase-js";
import { createLocalJWKSet, decodeJwt, jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auth } from "#local/auth.ts";
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

test("sign-up is open and confirmed, and closed where it is told so, while the secret key still makes logins", async () => {
  const { json } = await signUp("open@example.com");
  expect(json.user).toMatchObject({ email_confirmed_at: expect.any(String) });
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const open = issuer;
  issuer = auth({
    url: URL_,
    database_url: database.admin.options.connectionString ?? "",
    key: { ...privateKey.export({ format: "jwk" }), kid: "k2", alg: "ES256", use: "sig" },
    publishable_key: PUBLISHABLE,
    secret_key: SECRET,
    signup: false,
  });
  try {
    expect(await signUp("closed@example.com")).toMatchObject({ status: 422, json: { error_code: "signup_disabled" } });
    expect((await call("GET", "/settings")).json).toMatchObject({ disable_signup: true, external: { email: true } });
    const made = await call(
      "POST",
      "/admin/users",
      { email: "closed@example.com", password: "secret1" },
      bearer(SECRET),
    );
    expect(made.status).toBe(200);
    const form = { email: "closed@example.com", password: "secret1" };
    expect((await call("POST", "/token?grant_type=password", form)).status, "who has a login signs in").toBe(200);
  } finally {
    await issuer.close();
    issuer = open;
  }
});

test("a session verifies against the key set, with pinned issuer, audience and algorithm", async () => {
  const { status, json } = await signUp("Anna@Example.com ");
  expect(status).toBe(200);
  const keys = await issuer.app.request("/auth/v1/.well-known/jwks.json");
  const keySet = (await keys.json()) as { keys: Record<string, string>[] };
  expect(Object.keys(keySet.keys[0] ?? {})).not.toContain("d");
  const { payload } = await jwtVerify(json.access_token, createLocalJWKSet(keySet as never), {
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

describe("a token that the admin asked for, by the real supabase-js", () => {
  /** Supabase Auth as a server of ours reaches it. */
  const clientOf = (key: string) =>
    createClient(URL_, key, {
      auth: { persistSession: false, autoRefreshToken: false },
      global: { fetch: async (input, init) => issuer.app.fetch(new Request(input, init)) },
    }).auth;
  async function linkTo(email: string): Promise<string> {
    const { data, error } = await clientOf(SECRET).admin.generateLink({ type: "magiclink", email });
    expect(error).toBeNull();
    expect(data).toMatchObject({ user: { email }, properties: { verification_type: "magiclink" } });
    return data.properties?.hashed_token ?? "";
  }
  const verify = (token_hash: string, type: "magiclink" | "email" | "recovery" = "magiclink") =>
    clientOf(PUBLISHABLE).verifyOtp({ token_hash, type });
  const EXPIRED = { status: 403, code: "otp_expired", message: "Email link is invalid or has expired" };

  test.each(["magiclink", "email"] as const)(
    "signs in as type %s, and the session says how, also refreshed",
    async (type) => {
      const email = `${type}@example.com`;
      const { json } = await signUp(email);
      const { data, error } = await verify(await linkTo(email), type);
      expect(error).toBeNull();
      expect(data.user?.id).toBe(json.user.id);
      const methods = (token: string) => (decodeJwt(token).amr as { method: string }[]).map(({ method }) => method);
      expect(methods(data.session?.access_token ?? "")).toEqual(["otp"]);
      const client = clientOf(PUBLISHABLE);
      const refreshed = await client.refreshSession({ refresh_token: data.session?.refresh_token ?? "" });
      expect(methods(refreshed.data.session?.access_token ?? "")).toEqual(["otp"]);
      expect(methods(json.access_token)).toEqual(["password"]);
    },
  );

  test("works once, also for ten at once; a newer one replaces it", async () => {
    await signUp("fred@example.com");
    const older = await linkTo("fred@example.com");
    const newer = await linkTo("fred@example.com");
    expect((await verify(older)).error).toMatchObject(EXPIRED);
    const answers = await Promise.all(Array.from({ length: 10 }, () => verify(newer)));
    expect(answers.filter(({ data }) => data.session)).toHaveLength(1);
    for (const { error } of answers.filter(({ data }) => !data.session)) expect(error).toMatchObject(EXPIRED);
    const kept = await database.admin.query("select * from auth.one_time_tokens");
    expect(JSON.stringify(kept.rows)).not.toContain(newer);
  });

  test("works for an hour and no longer", async () => {
    await signUp("gina@example.com");
    const sign = async (age: string) => {
      const token = await linkTo("gina@example.com");
      await database.admin.query("update auth.one_time_tokens set created_at = now() - $1::interval", [age]);
      return verify(token);
    };
    expect((await sign("59 minutes 55 seconds")).error).toBeNull();
    expect((await sign("60 minutes")).error).toMatchObject(EXPIRED);
  });

  test("confirms the address of its login", async () => {
    await signUp("hans@example.com");
    await database.admin.query("update auth.users set email_confirmed_at = null where email = 'hans@example.com'");
    const { data } = await verify(await linkTo("hans@example.com"));
    expect(data.user?.email_confirmed_at).toBeTruthy();
  });

  test("a ban holds for every way in", async () => {
    const { json } = await signUp("iris@example.com");
    const token = await linkTo("iris@example.com");
    await database.admin.query("update auth.users set banned_until = now() + interval '1 day' where id = $1", [
      json.user.id,
    ]);
    expect((await verify(token)).error).toMatchObject({ status: 403, code: "user_banned" });
    const login = { email: "iris@example.com", password: "secret1" };
    expect((await clientOf(PUBLISHABLE).signInWithPassword(login)).error).toMatchObject({
      status: 400,
      code: "user_banned",
    });
    const { error } = await clientOf(PUBLISHABLE).refreshSession({ refresh_token: json.refresh_token });
    expect(error).toMatchObject({ status: 400, code: "user_banned" });
    await database.admin.query("update auth.users set banned_until = now() where id = $1", [json.user.id]);
    expect((await clientOf(PUBLISHABLE).signInWithPassword(login)).error).toBeNull();
  });

  test("is the admin's to ask for, for a login that is there", async () => {
    await signUp("joan@example.com");
    const ask = (key: string, email: string) => clientOf(key).admin.generateLink({ type: "magiclink", email });
    expect((await ask(PUBLISHABLE, "joan@example.com")).error).toMatchObject({ status: 401 });
    expect((await ask(SECRET, "nobody@example.com")).error).toMatchObject({ status: 404, code: "user_not_found" });
    const recovery = await clientOf(SECRET).admin.generateLink({ type: "recovery", email: "joan@example.com" });
    expect(recovery.error).toMatchObject({ status: 400, code: "validation_failed" });
  });

  test("what is no token is refused by name", async () => {
    for (const token of ["nonsense", "\0", "x".repeat(100_000)])
      expect((await verify(token)).error).toMatchObject(EXPIRED);
    for (const refused of [await verify(""), await verify("x", "recovery")])
      expect(refused.error).toMatchObject({ status: 400, code: "validation_failed" });
    expect(await call("POST", "/verify", { token_hash: ["x"], type: "magiclink" })).toMatchObject({ status: 403 });
    expect(await call("POST", "/verify", { token_hash: "x" })).toMatchObject({ status: 400 });
  });
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
