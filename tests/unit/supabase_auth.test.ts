// What we send to Supabase Auth by its own client, and what each answer means.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { makeUser, signInByMail, signInByPassword, signOut } from "#shared/auth/supabase_auth.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { describeCause } from "#shared/foundation/log.ts";

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
let instead: {
  status: number;
  headers?: Record<string, string>;
  body: string;
  /** The one path that it is answered to. */
  only?: string;
  /** Whether the answer begins, and never ends; with false it does not begin. */
  begun?: boolean;
} | null = null;
const server = createServer(async (request, response) => {
  const body = await text(request);
  const { apikey, authorization, "x-supabase-api-version": version } = request.headers;
  sent.push({
    method: request.method,
    path: request.url,
    headers: { apikey, authorization, version },
    body: body === "" ? null : JSON.parse(body),
  });
  const isMeant = instead !== null && (instead.only ?? request.url) === request.url;
  const {
    status,
    headers,
    body: answer,
    begun,
  } = isMeant && instead ? instead : { status: 200, body: JSON.stringify(ANSWER) };
  if (begun === false) return;
  response.writeHead(status, { "content-type": "application/json", ...headers });
  if (begun) response.write(answer);
  else response.end(answer);
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
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function recorded(run: () => Promise<unknown>): Promise<Sent[]> {
  sent.length = 0;
  await run();
  return [...sent];
}

const PASSWORD = { email: EMAIL, password: "secret" };
/** The client sends these with features that we do not use: captcha. */
const CAPTCHA = { gotrue_meta_security: {} };

test.each<[string, () => Promise<unknown>, Sent[]]>([
  [
    "signs in by password",
    () => signInByPassword(environment, EMAIL, "secret"),
    [request("/token?grant_type=password", PUBLISHABLE, { ...PASSWORD, ...CAPTCHA })],
  ],
  [
    "signs in by a link that the secret key asked for",
    () => signInByMail(environment, EMAIL),
    [
      request("/admin/generate_link", SECRET, { type: "magiclink", email: EMAIL }),
      request("/verify", SECRET, { type: "magiclink", token_hash: "h", ...CAPTCHA }),
    ],
  ],
  [
    "signs one session out",
    () => signOut(environment, "a.b.c"),
    [request("/logout?scope=local", PUBLISHABLE, null, "a.b.c")],
  ],
  [
    "makes a login",
    () => makeUser(environment, USER),
    [request("/admin/users", SECRET, { ...USER, email_confirm: true })],
  ],
])("%s by these calls: method, path, keys, version and body", async (_what, call, expected) => {
  expect(await recorded(call)).toEqual(expected);
});

function request(path: string, key: string, body: unknown, jwt = key): Sent {
  const headers = { apikey: key, authorization: `Bearer ${jwt}`, version: "2024-01-01" };
  return { method: "POST", path: `/auth/v1${path}`, headers, body };
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

describe("an answer that does not come", () => {
  const never = async (call: () => Promise<unknown>) => {
    const printed = vi.spyOn(console, "error");
    try {
      await expect(call()).rejects.toMatchObject({ code: "service_unavailable" });
      expect(printed, "the client prints nothing into our log of JSON lines").not.toHaveBeenCalled();
    } finally {
      vi.restoreAllMocks();
    }
  };

  test.each(CALLS)("%s: is waited for 8 seconds, and so is its body", async (what, call) => {
    const timeout = AbortSignal.timeout;
    // signing out reads the status only
    for (const begun of what === "signing out" ? [false] : [false, true]) {
      instead = { status: 200, body: "{", begun };
      const limits = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => timeout.call(AbortSignal, 100));
      await never(call);
      expect(limits.mock.calls).toEqual([[8_000]]);
    }
  });

  test.each(CALLS)("%s: nobody listens", async (_what, call) => {
    const { config } = environment;
    environment = { config: { ...config, SUPABASE_URL: "http://127.0.0.1:1" } } as unknown as Environment;
    try {
      await never(call);
      const cause = await call().catch(describeCause);
      expect(cause, "the log says what is wrong with the connection").toMatchObject({ message: "fetch failed" });
    } finally {
      environment = { config } as unknown as Environment;
    }
  });
});

/** An error as Supabase Auth answers it; its text quotes the address, as some of them do. */
const refusal = (status: number, code?: string) => ({
  status,
  headers: { "x-supabase-api-version": "2024-01-01" },
  body: JSON.stringify({ code: code ?? status, message: `Email address "${EMAIL}" of ${EMAIL}` }),
});

const UNAVAILABLE = { code: "service_unavailable" };
const TOO_MANY = { code: "too_many_requests", fields: { retry_after_seconds: 60 } };
const unknown = (key: string) => ({ name: "ConfigurationError", message: `${key}: Supabase Auth does not know it` });

describe("each error code of Supabase Auth means what it says", () => {
  /** Codes that say nothing about the person, whatever was asked. */
  const OTHERS: [number, string | undefined, object][] = [
    [400, "captcha_failed", UNAVAILABLE],
    [400, "validation_failed", UNAVAILABLE],
    [400, "email_address_invalid", UNAVAILABLE],
    [400, "bad_json", UNAVAILABLE],
    [403, "insufficient_aal", UNAVAILABLE],
    [404, undefined, UNAVAILABLE],
    [409, "conflict", UNAVAILABLE],
    [422, "email_provider_disabled", UNAVAILABLE],
    [422, "hook_timeout", UNAVAILABLE],
    [422, "a code of next year", UNAVAILABLE],
    [422, "constructor", UNAVAILABLE],
    [500, "unexpected_failure", UNAVAILABLE],
    [504, "request_timeout", UNAVAILABLE],
    [429, "over_request_rate_limit", TOO_MANY],
    [429, undefined, TOO_MANY],
  ];
  const KEYS: Record<string, string> = { "by password": "PUBLISHABLE_KEY", "signing out": "PUBLISHABLE_KEY" };

  test.each(CALLS)("%s: a code that says nothing about the person is not the person's fault", async (what, call) => {
    const key = unknown(KEYS[what] ?? "SUPABASE_SECRET_KEY");
    for (const [status, code, error] of [
      ...OTHERS,
      [401, "no_authorization", key] as const,
      [401, undefined, key] as const,
      [403, "not_admin", key] as const,
    ]) {
      instead = refusal(status, code);
      const thrown = await call().then(
        () => "nothing",
        (each) => each,
      );
      expect(thrown, `${status} ${code}`).toMatchObject(error);
      expect(JSON.stringify(describeCause(thrown)), "no address in the log").not.toContain(EMAIL);
      if (error === UNAVAILABLE && status < 500) expect(describeCause(thrown).message).toContain(`code ${code}`);
    }
  });

  test.each([
    [400, "invalid_credentials", "wrong"],
    [400, "user_banned", "wrong"],
    [400, "email_not_confirmed", "unconfirmed"],
  ])("by password: %i %s is %s", async (status, code, outcome) => {
    instead = refusal(status, code);
    expect(await signInByPassword(environment, EMAIL, "secret")).toBe(outcome);
  });

  test("by mail: a login that ended is null at once, a link that another one replaced is asked for three times", async () => {
    const links: [number, string, number][] = [
      [403, "otp_expired", 6],
      [403, "user_banned", 2],
      [404, "user_not_found", 1],
    ];
    for (const [status, code, calls] of links) {
      instead = { ...refusal(status, code), only: calls === 1 ? "/auth/v1/admin/generate_link" : "/auth/v1/verify" };
      sent.length = 0;
      expect(await signInByMail(environment, EMAIL)).toBeNull();
      expect(sent).toHaveLength(calls);
    }
  });

  test.each([
    [403, "session_not_found"],
    [403, "bad_jwt"],
    [403, "user_not_found"],
  ])("signing out: %i %s, the session has ended", async (status, code) => {
    instead = refusal(status, code);
    await expect(signOut(environment, "a.b.c")).resolves.toBeUndefined();
  });

  test.each([
    [422, "email_exists"],
    [422, "user_already_exists"],
  ])("a new login: %i %s, it is there", async (status, code) => {
    instead = refusal(status, code);
    await expect(makeUser(environment, USER)).resolves.toBeUndefined();
  });
});

test("no session is kept or refreshed: even one that has expired starts no timer, and the next call is the same", async () => {
  const timers = vi.spyOn(globalThis, "setInterval");
  instead = { status: 200, body: JSON.stringify({ ...ANSWER, expires_in: 1, expires_at: 1 }) };
  const calls = await recorded(async () => {
    for (let i = 0; i < 2; i++) expect(await signInByPassword(environment, EMAIL, "secret")).toBe("a.b.c");
  });
  expect(calls).toEqual(Array(2).fill(request("/token?grant_type=password", PUBLISHABLE, { ...PASSWORD, ...CAPTCHA })));
  expect(timers).not.toHaveBeenCalled();
  vi.restoreAllMocks();
});
