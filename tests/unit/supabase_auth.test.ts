// Supabase Auth is asked by its HTTP API: what we send has to be what its own client sends, of the version that is pinned.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createClient, type SupabaseClient } from "@supabase/supabase-js";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { makeUser, signInByMail, signInByPassword, signOut } from "#shared/auth/supabase_auth.ts";
import type { Environment } from "#shared/foundation/environment.ts";

const [PUBLISHABLE, SECRET] = ["sb_publishable_test", "sb_secret_test"];
const ID = "7f0c2f3e-3a52-4a52-9d5b-0f0d8f1f6f11";
const EMAIL = "sanne@example.nl";
const USER = { email: EMAIL, password: "long and random", app_metadata: { claimed_for: ID } };
/** What GoTrue answers to any of them, as far as anybody reads it. */
const ANSWER = {
  access_token: "a.b.c",
  refresh_token: "r",
  expires_in: 3600,
  token_type: "bearer",
  hashed_token: "h",
  id: ID,
  user: { id: ID },
};

type Sent = { method: string | undefined; path: string | undefined; headers: Record<string, unknown>; body: unknown };
const sent: Sent[] = [];
/** What is answered instead, where a test says so. */
let instead: { status: number; headers?: Record<string, string>; body: string } | null = null;
const server = createServer(async (request, response) => {
  const body = await text(request);
  const { apikey, authorization, "x-supabase-api-version": version } = request.headers;
  sent.push({
    method: request.method,
    path: request.url,
    headers: { apikey, authorization, version },
    body: body === "" ? null : JSON.parse(body),
  });
  const { status, headers, body: answer } = instead ?? { status: 200, body: JSON.stringify(ANSWER) };
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(answer);
});
let environment: Environment;
let url: string;
beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const config = { SUPABASE_URL: url, PUBLISHABLE_KEY: PUBLISHABLE, SUPABASE_SECRET_KEY: SECRET };
  environment = { config } as unknown as Environment;
});
afterEach(() => {
  instead = null;
});
afterAll(() => void server.close());

async function recorded(run: () => Promise<unknown>): Promise<Sent[]> {
  sent.length = 0;
  await run();
  return [...sent];
}

test.each<[string, string, () => Promise<unknown>, (auth: SupabaseClient["auth"]) => Promise<unknown>]>([
  [
    "signs in by password",
    PUBLISHABLE,
    () => signInByPassword(environment, EMAIL, "secret"),
    (auth) => auth.signInWithPassword({ email: EMAIL, password: "secret" }),
  ],
  [
    "signs in by a link that the secret key asked for",
    SECRET,
    () => signInByMail(environment, EMAIL),
    async (auth) => {
      const { data } = await auth.admin.generateLink({ type: "magiclink", email: EMAIL });
      await auth.verifyOtp({ type: "magiclink", token_hash: data.properties?.hashed_token ?? "" });
    },
  ],
  [
    "signs one session out",
    PUBLISHABLE,
    () => signOut(environment, "a.b.c"),
    (auth) => auth.admin.signOut("a.b.c", "local"),
  ],
  [
    "makes a login",
    SECRET,
    () => makeUser(environment, USER),
    (auth) => auth.admin.createUser({ ...USER, email_confirm: true }),
  ],
])("%s as supabase-js does: method, path, keys, version and body", async (_what, key, ours, theirs) => {
  const auth = createClient(url, key, { auth: { persistSession: false, autoRefreshToken: false } }).auth;
  const [ask, expected] = [await recorded(ours), await recorded(() => theirs(auth))];
  expect(expected.length).toBeGreaterThan(0);
  expect(ask.map(bare)).toEqual(expected.map(bare));
});

/** Without what its client sends of features that are not used: of a captcha, and of PKCE. */
function bare({ body, ...rest }: Sent) {
  const { gotrue_meta_security: _captcha, ...fields } = (body ?? {}) as Record<string, unknown>;
  return { ...rest, body: fields };
}

const CALLS: [string, () => Promise<unknown>][] = [
  ["by password", () => signInByPassword(environment, EMAIL, "secret")],
  ["by mail", () => signInByMail(environment, EMAIL)],
  ["a new login", () => makeUser(environment, USER)],
  ["signing out", () => signOut(environment, "a.b.c")],
];

describe("what is no answer of Supabase Auth", () => {
  test.each(CALLS)("%s: leads the keys nowhere else", async (_what, ask) => {
    for (const status of [301, 302, 307, 308]) {
      instead = { status, headers: { location: "/elsewhere" }, body: "" };
      sent.length = 0;
      await expect(ask()).rejects.toMatchObject({ code: "service_unavailable" });
      expect(sent.map(({ path }) => path)).not.toContain("/elsewhere");
    }
  });

  test.each([
    ["null", 200, "null"],
    ["nothing", 200, ""],
    ["a list", 200, "[]"],
    ["a page", 200, "<!doctype html>"],
    ["a page of a gateway", 502, "<!doctype html>"],
    ["null of a gateway", 502, "null"],
    ["a session without its token", 200, '{"access_token":null,"hashed_token":7}'],
  ])("%s: nobody is signed in, and nobody is told that the password was wrong", async (_what, status, body) => {
    instead = { status, body };
    for (const [, ask] of CALLS.slice(0, 2)) await expect(ask()).rejects.toMatchObject({ code: "service_unavailable" });
  });
});
