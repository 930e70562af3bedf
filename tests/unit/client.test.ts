// The typed client by itself: what it sends, when it waits, and what it takes for its own. tests/client runs it packed.

import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { Headers as UndiciHeaders } from "undici";
import { afterEach, beforeEach, describe, expect, expectTypeOf, test, vi } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { IDEMPOTENT } from "../../packages/client/src/idempotent.ts";
import {
  ApiError,
  type components,
  createApplication,
  createClient,
  events,
  orThrow,
  paginate,
  type paths,
  pkce,
  type SendOptions,
  verifyWebhook,
  type Webhook,
} from "../../packages/client/src/index.ts";

test("§9.5 the types ask for what is required, leave out what has a default, and promise what is always there", () => {
  type Schemas = components["schemas"];
  const connection = { ean_code: "871687110000000018", postal_code: "3818 LH", house_number: "8" };
  expectTypeOf<{ person: { full_name: string }; connection: typeof connection }>().toExtend<Schemas["CreateAccount"]>();
  expectTypeOf<{ consent: true; email: string; naam: string }>().toExtend<Schemas["AddCustomers"]>();
  expectTypeOf<{ consent: true; rows: { email: string }[] }>().toExtend<Schemas["AddCustomers"]>();
  expectTypeOf<{ consent: true; rows: { naam: string }[] }>().not.toExtend<Schemas["AddCustomers"]>();
  expectTypeOf<{ rows: { email: string }[] }>().not.toExtend<Schemas["AddCustomers"]>();
  expectTypeOf<{ email: string }>().not.toExtend<Schemas["AddCustomers"]>();
  expectTypeOf<{ dry_run: true; email: string }>().not.toExtend<Schemas["AddCustomers"]>();
  expectTypeOf<{ dry_run: true; consent: false; csv: string }>().toExtend<Schemas["ImportDrafts"]>();
  expectTypeOf<{ dry_run: boolean; csv: string }>().not.toExtend<Schemas["ImportDrafts"]>();
  type File = paths["/v1/uploads"]["post"]["requestBody"]["content"]["text/csv"];
  expectTypeOf<File>().toEqualTypeOf<string | Uint8Array | Blob | ReadableStream<Uint8Array>>();
  expectTypeOf<{ consent: true; file: Blob }>().toExtend<Schemas["UploadDrafts"]>();
  expectTypeOf<Schemas["CreatedAccount"]["account_id"]>().toEqualTypeOf<string>();
  expectTypeOf<Schemas["ErePosition"]["ere"]>().toEqualTypeOf<Schemas["Ere"] | null>();
  expectTypeOf<paths["/v1/accounts"]["get"]["parameters"]["query"]>().toEqualTypeOf<
    { limit?: number; offset?: number; cpo_external_ref?: string } | undefined
  >();
  expectTypeOf<Extract<Webhook, { type: "registration.approved" }>["data"]>().toExtend<{
    registration_status: "goedgekeurd";
  }>();
});

const BASE = "https://api.example.com";
type Sent = { method: string; url: string; authorization: string | null; body: string };
type Reply = { status?: number; body?: unknown; headers?: Record<string, string> };

/** A service that answers as told, by path; the last answer of a list stays. */
function service(replies: Record<string, Reply | Reply[] | ((sent: Sent) => Reply)>) {
  const sent: Sent[] = [];
  const fetch = async (input: string | URL | Request, init?: RequestInit) => {
    const request = new Request(input, init);
    const { pathname, search } = new URL(request.url);
    const one = {
      method: request.method,
      url: pathname + search,
      authorization: request.headers.get("authorization"),
      body: await request.text(),
    };
    sent.push(one);
    const found = replies[pathname] ?? {};
    const reply =
      typeof found === "function"
        ? found(one)
        : Array.isArray(found)
          ? found.length > 1
            ? found.shift()
            : found[0]
          : found;
    return Response.json(reply?.body ?? {}, { status: reply?.status ?? 200, headers: reply?.headers ?? {} });
  };
  return { fetch, sent, paths: () => sent.map(({ method, url }) => `${method} ${url}`) };
}

let tokens = 0;
const TOKEN = () => {
  tokens += 1;
  return { body: { access_token: `token-${tokens}`, token_type: "Bearer", expires_in: 3600, scope: "" } };
};
const CREDENTIALS = { baseUrl: BASE, clientId: "cpo_1", clientSecret: "secret" };
const PAGE = { accounts: [], limit: 50, offset: 0, count: 0, has_more: false };

beforeEach(() => {
  tokens = 0;
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

describe("§4.5 tokens of a CPO client", () => {
  test("§4.5 one is asked for, however many calls wait for it, and kept", async () => {
    const { fetch, sent } = service({ "/oauth-token": TOKEN, "/v1/accounts": { body: PAGE } });
    const client = createClient({ ...CREDENTIALS, fetch });
    await Promise.all(Array.from({ length: 5 }, () => client.GET("/v1/accounts")));
    await client.GET("/v1/accounts");
    expect(sent.map(({ authorization }) => authorization)).toEqual([null, ...Array(6).fill("Bearer token-1")]);
    expect(sent[0]?.body).toBe("grant_type=client_credentials&client_id=cpo_1&client_secret=secret");
  });

  test("§4.5 authUrl is where tokens come from, scope narrows them, and a slash at the end does no harm", async () => {
    const { fetch, sent } = service({ "/functions/v1/oauth-token": TOKEN, "/v1/accounts": { body: PAGE } });
    const options = { baseUrl: `${BASE}/`, authUrl: `${BASE}/functions/v1/`, scope: "cpo:accounts:read" };
    await createClient({ ...CREDENTIALS, ...options, fetch }).GET("/v1/accounts");
    expect(sent[0]).toMatchObject({
      url: "/functions/v1/oauth-token",
      body: expect.stringContaining("scope=cpo%3Aaccounts%3Aread"),
    });
    expect(sent[1]?.url).toBe("/v1/accounts");
  });

  test("§4.5 it is replaced a minute before it expires", async () => {
    const { fetch, paths } = service({ "/oauth-token": TOKEN, "/v1/accounts": { body: PAGE } });
    const client = createClient({ ...CREDENTIALS, fetch });
    await client.GET("/v1/accounts");
    await vi.advanceTimersByTimeAsync(3539_000);
    await client.GET("/v1/accounts");
    expect(paths()).toHaveLength(3);
    await vi.advanceTimersByTimeAsync(1_000);
    await client.GET("/v1/accounts");
    expect(paths().slice(3)).toEqual(["POST /oauth-token", "GET /v1/accounts"]);
  });

  test("§4.5 one that is refused is replaced once, and the call sent again with its body", async () => {
    const accounts = (one: Sent) => (one.authorization === "Bearer token-2" ? { body: { ok: true } } : { status: 401 });
    const { fetch, sent } = service({ "/oauth-token": TOKEN, "/v1/chargers": accounts });
    const client = createClient({ ...CREDENTIALS, fetch });
    const call = () => client.POST("/v1/chargers", { body: { account_id: "x", catalog_charger_id: "y" } });
    const both = await Promise.all([call(), call()]);
    expect(both.map(({ response }) => response.status)).toEqual([200, 200]);
    expect(sent.filter(({ url }) => url === "/oauth-token")).toHaveLength(2);
    expect(new Set(sent.filter(({ url }) => url === "/v1/chargers").map(({ body }) => body)).size).toBe(1);
  });

  test("§4.5 refused again it is the answer; a given token is never replaced", async () => {
    const refusing = () => service({ "/oauth-token": TOKEN, "/v1/accounts": { status: 401, body: { error: "no" } } });
    const [own, given] = [refusing(), refusing()];
    const answer = await createClient({ ...CREDENTIALS, fetch: own.fetch }).GET("/v1/accounts");
    expect([answer.response.status, answer.error?.error, own.sent.length]).toEqual([401, "no", 4]);
    await createClient({ baseUrl: BASE, token: async () => "mine", fetch: given.fetch }).GET("/v1/accounts");
    expect(given.sent).toMatchObject([{ authorization: "Bearer mine" }]);
  });

  test("§4.5 no token is an error that says why; the next call asks again", async () => {
    const refusal = { error: "invalid_client", error_description: "Unknown client", request_id: "r-1" };
    const { fetch } = service({
      "/oauth-token": [{ status: 401, body: refusal }, TOKEN()],
      "/v1/accounts": { body: PAGE },
    });
    const client = createClient({ ...CREDENTIALS, fetch });
    await expect(client.GET("/v1/accounts")).rejects.toMatchObject({
      name: "ApiError",
      status: 401,
      code: "invalid_client",
      message: "invalid_client: Unknown client (r-1)",
    });
    expect((await client.GET("/v1/accounts")).response.status).toBe(200);
  });
});

describe("§8 patience", () => {
  const busy = (status: number, after = "2"): Reply => ({
    status,
    headers: { "retry-after": after },
    body: { error: "busy" },
  });
  /** What became of a call, and how long that took in seconds. */
  const timed = async (call: Promise<{ response: Response }>) => {
    const begun = Date.now();
    const [{ response }] = await Promise.all([call, vi.runAllTimersAsync()]);
    return [response.status, Math.round((Date.now() - begun) / 100) / 10];
  };
  const client = (replies: Parameters<typeof service>[0], options: SendOptions = {}) => {
    const made = service(replies);
    return { ...made, client: createClient({ baseUrl: BASE, token: "t", fetch: made.fetch, ...options }) };
  };
  // without jitter, so that times can be told: the shortest backoff, and no tenth more
  beforeEach(() => vi.spyOn(Math, "random").mockReturnValue(0));
  afterEach(() => vi.restoreAllMocks());

  test("§8 429 is waited for as Retry-After says, by any call, until a minute is over", async () => {
    const { client: one, sent } = client({
      "/v1/mandate-links": [busy(429), busy(429), busy(429, "1"), busy(429), busy(429), { body: { ok: true } }],
    });
    expect(await timed(one.POST("/v1/mandate-links", { body: { account_id: "x" } }))).toEqual([200, 9]);
    expect(new Set(sent.map(({ body }) => body))).toEqual(new Set(['{"account_id":"x"}']));
    const { client: other, sent: all } = client({ "/v1/accounts": busy(429) });
    expect(await timed(other.GET("/v1/accounts"))).toEqual([429, 60]);
    expect(all).toHaveLength(31);
  });

  test("§8 maxWaitMs is how long: what would take longer is answered as it is", async () => {
    expect(await timed(client({ "/v1/accounts": busy(429, "61") }).client.GET("/v1/accounts"))).toEqual([429, 0]);
    const five = client({ "/v1/accounts": busy(429) }, { maxWaitMs: 5000 });
    expect(await timed(five.client.GET("/v1/accounts"))).toEqual([429, 4]);
    const none = client({ "/v1/accounts": busy(503, "1") }, { maxWaitMs: 0 });
    expect(await timed(none.client.GET("/v1/accounts"))).toEqual([503, 0]);
    const endless = client({ "/v1/accounts": [busy(429, "120"), { body: PAGE }] }, { maxWaitMs: Infinity });
    expect(await timed(endless.client.GET("/v1/accounts"))).toEqual([200, 120]);
  });

  test("§8 Retry-After may be a date; without it the pauses grow", async () => {
    const inThree = new Date(Math.ceil(Date.now() / 1000) * 1000 + 3000).toUTCString();
    const [status, seconds] = await timed(
      client({ "/v1/accounts": [busy(429, inThree), { body: PAGE }] }).client.GET("/v1/accounts"),
    );
    expect(status).toBe(200);
    expect(seconds).toBeGreaterThanOrEqual(3);
    const { client: api, sent } = client({ "/v1/accounts": { status: 503 } });
    expect(await timed(api.GET("/v1/accounts"))).toEqual([503, 3.8]); // 0.25 + 0.5 + 1 + 2
    expect(sent).toHaveLength(5);
  });

  test.each(["0", "-5", "0.5", "soon", "Wed, 21 Oct 2015 07:28:00 GMT"])(
    "§8 429 for ever with Retry-After %s is no reason to hurry",
    async (after) => {
      const { client: api, sent } = client({
        "/v1/accounts": (): Reply => (sent.length > 100 ? { body: PAGE } : busy(429, after)),
      });
      expect((await timed(api.GET("/v1/accounts")))[0]).toBe(429);
      expect(sent.length).toBeLessThan(20);
    },
  );

  /** A bucket as the API counts one: so many at once, refilled continuously, and a request that is refused is not counted. */
  function bucket(quota: number, window: number) {
    const step = (window * 1000) / quota;
    let fullAt = 0;
    return (): Reply => {
      const fullIn = Math.max(fullAt - Date.now(), 0);
      const allowed = fullIn + step <= window * 1000;
      if (allowed) fullAt = Date.now() + fullIn + step;
      const left = Math.max(Math.floor((window * 1000 - fullIn - (allowed ? step : 0)) / step), 0);
      const wait = Math.max(Math.ceil((step + fullIn - window * 1000) / 1000), 1);
      return {
        status: allowed ? 200 : 429,
        headers: {
          "ratelimit-policy": `"months";q=${quota};w=${window}`,
          ratelimit: `"months";r=${left};t=${Math.ceil(fullIn / 1000)}`,
          ...(allowed ? {} : { "retry-after": String(wait) }),
        },
      };
    };
  }
  const months = { account_id: "x", months: [] };

  test("§8 a year for 50 customers from 16 workers: no call ends in 429, and hardly one is refused on the way", async () => {
    vi.mocked(Math.random).mockRestore();
    const answer = bucket(60, 60);
    const statuses: number[] = [];
    const { client: api } = client({
      "/v1/sessions:batch": () => {
        const reply = answer();
        statuses.push(reply.status ?? 0);
        return reply;
      },
    });
    let left = 600;
    let failed = 0;
    const worker = async () => {
      for (; left > 0; ) {
        left -= 1;
        const { response } = await api.POST("/v1/sessions:batch", { body: months });
        if (response.status !== 200) failed += 1;
      }
    };
    const begun = Date.now();
    await Promise.all([...Array.from({ length: 16 }, worker), vi.runAllTimersAsync()]);
    expect(failed).toBe(0);
    expect(statuses.filter((status) => status === 429).length).toBeLessThan(20);
    // a minute's quota at once, then one a second, and a tenth for jitter
    expect((Date.now() - begun) / 1000).toBeLessThan(540 * 1.1);
  });

  test("§8 a burst waits in one row: what was asked for first is answered first", async () => {
    const { client: api } = client({ "/v1/sessions:batch": bucket(2, 4) }, { maxWaitMs: Infinity });
    const done: number[] = [];
    const calls = Array.from({ length: 12 }, async (_, n) => {
      const { response } = await api.POST("/v1/sessions:batch", { body: months });
      expect(response.status).toBe(200);
      done.push(n);
    });
    await Promise.all([...calls, vi.runAllTimersAsync()]);
    expect(done).toEqual([...done].sort((one, other) => one - other));
  });

  test("§8 a pause is for the calls that the limit counts; others go on", async () => {
    const { client: api, sent } = client({ "/v1/sessions:batch": bucket(1, 30), "/v1/accounts": { body: PAGE } });
    await api.POST("/v1/sessions:batch", { body: months });
    const late = api.POST("/v1/sessions:batch", { body: months });
    expect((await api.GET("/v1/accounts")).response.status).toBe(200);
    expect(sent).toHaveLength(2);
    expect(await timed(late)).toEqual([200, 30]);
    expect(sent).toHaveLength(3);
  });

  test("§8 429 for another reason than the limit that counts the call is that call's alone", async () => {
    const limits = { "ratelimit-policy": '"w";q=60;w=60', ratelimit: '"w";r=50;t=1' };
    const first = { status: 429, headers: { ...limits, "retry-after": "20" } };
    const { client: api, sent } = client({ "/v1/mandate-links": [first, { headers: limits }] });
    const link = () => api.POST("/v1/mandate-links", { body: { account_id: "x" } });
    const waiting = link();
    await vi.advanceTimersByTimeAsync(0);
    await link();
    expect(sent).toHaveLength(2);
    expect(await timed(waiting)).toEqual([200, 20]);
  });

  const person = { full_name: "Sanne de Vries" };
  const connection = { ean_code: "871687110000000018", postal_code: "3818 LH", house_number: "8" };
  type Api = ReturnType<typeof createClient>;
  type Call = (api: Api) => Promise<{ response: Response }>;
  const account: Call = (api) => api.POST("/v1/accounts", { body: { cpo_external_ref: "K", person, connection } });
  const link: Call = (api) => api.POST("/v1/mandate-links", { body: { account_id: "x" } });
  test.each<[string, string, number, Call]>([
    ["GET", "/v1/accounts", 2, (api) => api.GET("/v1/accounts")],
    ["DELETE", "/tokens/x", 2, (api) => api.DELETE("/tokens/{id}", { params: { path: { id: "x" } } })],
    ["an account with a reference", "/v1/accounts", 2, account],
    ["an account without", "/v1/accounts", 1, (api) => api.POST("/v1/accounts", { body: { person, connection } })],
    [
      "a charger with a serial number",
      "/v1/chargers",
      2,
      (api) => api.POST("/v1/chargers", { body: { account_id: "x", serial_number: "S" } }),
    ],
    [
      "a charger without",
      "/v1/chargers",
      1,
      (api) => api.POST("/v1/chargers", { body: { account_id: "x", serial_number: "" } }),
    ],
    ["months", "/v1/sessions:batch", 2, (api) => api.POST("/v1/sessions:batch", { body: months })],
    [
      "a claim of the sandbox",
      "/sandbox/v1/drafts/R-1/claim",
      2,
      (api) => api.POST("/sandbox/v1/drafts/{id}/claim", { params: { path: { id: "R-1" } }, body: {} }),
    ],
    ["a link", "/v1/mandate-links", 1, link],
    ["a key", "/partner/api-keys", 1, (api) => api.POST("/partner/api-keys", { body: { rotate: true } })],
  ])("§8 503: %s is sent again only where that is safe", async (_, path, times, call) => {
    const { client: api, sent } = client({ [path]: [busy(503), { body: {} }] });
    expect(await timed(call(api))).toEqual(times === 2 ? [200, 2.3] : [503, 0]);
    expect(sent).toHaveLength(times);
  });

  test.each([408, 500, 502, 503, 504])(
    "§8 %i is sent again as often as `retries` says, where that is safe",
    async (status) => {
      const { client: api, sent } = client({ "/v1/accounts": [{ status }, { status }, { body: {} }] });
      expect(await timed(account(api))).toEqual([200, 0.8]);
      expect(new Set(sent.map(({ body }) => body)).size).toBe(1);
      const { client: one } = client({ "/v1/accounts": [{ status }, { status }, { body: {} }] }, { retries: 1 });
      expect(await timed(account(one))).toEqual([status, 0.3]);
      const { client: other, sent: once } = client({ "/v1/mandate-links": [{ status }, { body: {} }] });
      expect([await timed(link(other)), once.length]).toEqual([[status, 0], 1]);
    },
  );

  /** A connection that breaks so many times, before the answer or in the middle of it. */
  const breaking = (times: number, halfway = false) => {
    let calls = 0;
    const fetch = async (input: string | URL | Request, init?: RequestInit) => {
      const request = new Request(input, init);
      await request.text();
      calls += 1;
      if (calls > times) return Response.json(PAGE);
      const lost = new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });
      if (!halfway) throw lost;
      const parts = ['{"acc', '"ounts"'];
      const body = new ReadableStream({
        pull(controller) {
          const part = parts.shift();
          if (part) controller.enqueue(new TextEncoder().encode(part));
          else controller.error(lost);
        },
      });
      return new Response(body);
    };
    return { fetch, calls: () => calls };
  };

  test.each([false, true])("§8 a lost connection (halfway: %s) is tried again where that is safe", async (halfway) => {
    const { fetch, calls } = breaking(2, halfway);
    expect(await timed(account(createClient({ baseUrl: BASE, token: "t", fetch })))).toEqual([200, 0.8]);
    expect(calls()).toBe(3);
  });

  test("§8 a connection that stays lost is an error that says how often, why, and what to do", async () => {
    const api = createClient({ baseUrl: BASE, token: "t", fetch: breaking(9).fetch, retries: 2 });
    const [read] = await Promise.all([api.GET("/v1/accounts").catch((error) => error), vi.runAllTimersAsync()]);
    expect(read).toMatchObject({ name: "ConnectionError", attempts: 3, safeToRepeat: true });
    expect(read.message).toBe(
      "GET /v1/accounts: no answer after 3 attempts (ECONNRESET). Check baseUrl and your network; the call is safe to repeat.",
    );
    const made = await link(api).catch((error) => error);
    expect(made).toMatchObject({ attempts: 1, safeToRepeat: false, cause: { message: "fetch failed" } });
    expect(made.message).toContain("It may have been done: look before you send it again.");
  });

  test("§8 an attempt that takes longer than timeoutMs is a lost one, at its headers or at its body", async () => {
    let calls = 0;
    const fetch = async () => {
      calls += 1;
      if (calls === 1) return new Promise<Response>(() => {});
      if (calls === 2) return new Response(new ReadableStream());
      return Response.json(PAGE);
    };
    const api = createClient({ baseUrl: BASE, token: "t", fetch, timeoutMs: 2000 });
    expect(await timed(api.GET("/v1/accounts"))).toEqual([200, 4.8]);
    calls = 0;
    const once = createClient({ baseUrl: BASE, token: "t", fetch, timeoutMs: 2000, retries: 0 });
    const [error] = await Promise.all([once.GET("/v1/accounts").catch((e) => e), vi.runAllTimersAsync()]);
    expect(error.message).toContain("(more than timeoutMs, 2000 ms)");
  });

  const CSV = "maand;kWh\n2026-03;312,5\n";
  const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
  /** A client whose first request to a path fails, and the type of each request that it sends. */
  const notingTypes = (path: string) => {
    const types: (string | null)[] = [];
    const { fetch, sent } = service({ [path]: [{ status: 503 }, { body: {} }] });
    const noting: typeof fetch = (input, init) => {
      types.push((input as Request).headers.get("content-type"));
      return fetch(input, init);
    };
    return { api: createClient({ baseUrl: BASE, token: "t", fetch: noting }), types, sent };
  };

  test.each<[string, () => string | Uint8Array | Blob | ReadableStream<Uint8Array>, string | null]>([
    ["text", () => CSV, "text/csv"],
    ["bytes", () => new TextEncoder().encode(CSV), "text/csv"],
    ["bytes of a workbook", () => new TextEncoder().encode(`PK${CSV}`), XLSX],
    ["a Blob", () => new Blob([CSV], { type: "application/csv" }), "application/csv"],
    ["a stream", () => new Blob([CSV]).stream(), null],
    ["nothing", () => "", "text/csv"],
  ])("§8 a file is sent as it is, with its type, and again whole: %s", async (kind, file, type) => {
    vi.useRealTimers();
    const { api, types, sent } = notingTypes("/v1/uploads");
    expect((await api.POST("/v1/uploads", { body: file() })).response.status).toBe(200);
    const text = kind === "nothing" ? "" : kind.includes("workbook") ? `PK${CSV}` : CSV;
    expect(sent.map(({ body }) => body)).toEqual([text, text]);
    expect(types).toEqual([type, type]);
  });

  test("§8 a header of the call says another type, and a form is sent again whole", async () => {
    vi.useRealTimers();
    const { api, types, sent } = notingTypes("/partner/uploads");
    await api.POST("/v1/uploads", { body: CSV, headers: { "Content-Type": "text/plain" } });
    const fields = { grant_type: "client_credentials" as const, client_id: "c", client_secret: "s e" };
    const headers = { "Content-Type": "application/x-www-form-urlencoded" };
    await api.POST("/oauth-token", { body: fields, headers });
    await api.POST("/v1/accounts", { body: {} as never });
    expect(types).toEqual(["text/plain", headers["Content-Type"], "application/json"]);
    expect(sent.map(({ body }) => body)).toEqual([
      CSV,
      "grant_type=client_credentials&client_id=c&client_secret=s+e",
      "{}",
    ]);
    await api.POST("/partner/uploads", { body: { file: new Blob([CSV]), consent: true, send_invite: false } });
    expect(types.slice(3)).toEqual(Array(2).fill(expect.stringMatching(/^multipart\/form-data; boundary=/)));
    expect(sent[4]?.body).toBe(sent[3]?.body);
    for (const part of [CSV, 'name="consent"\r\n\r\ntrue', 'name="send_invite"\r\n\r\nfalse'])
      expect(sent[4]?.body).toContain(part);
  });

  test("§8 a call that is given up ends at once: in a pause, in the row, on its way, and before it is sent", async () => {
    const stop = () => {
      const controller = new AbortController();
      return { signal: controller.signal, stop: () => controller.abort(new Error("enough")) };
    };
    const ends = async (call: Promise<unknown>, how: () => void) => {
      const ended = expect(call).rejects.toThrow("enough");
      await vi.advanceTimersByTimeAsync(5);
      how();
      await ended;
    };
    const pausing = client({ "/v1/accounts": busy(503, "30"), "/v1/events": busy(429, "30") });
    const [one, two, three, four, five] = [stop(), stop(), stop(), stop(), stop()];
    await ends(pausing.client.GET("/v1/accounts", { signal: one.signal }), one.stop);
    await ends(pausing.client.GET("/v1/events", { signal: two.signal }), two.stop);
    await ends(pausing.client.GET("/v1/events", { signal: three.signal }), three.stop);
    expect(pausing.sent).toHaveLength(2);
    await expect(pausing.client.GET("/v1/settlements", { signal: one.signal })).rejects.toThrow("enough");
    const silent = createClient({ baseUrl: BASE, token: "t", fetch: () => new Promise(() => {}) });
    await ends(silent.GET("/v1/accounts", { signal: four.signal }), four.stop);
    // a token that others wait for too goes on
    const { fetch } = service({ "/oauth-token": [busy(429, "9"), TOKEN()], "/v1/accounts": { body: PAGE } });
    const waiting = createClient({ ...CREDENTIALS, fetch });
    const other = waiting.GET("/v1/accounts");
    await ends(waiting.GET("/v1/accounts", { signal: five.signal }), five.stop);
    expect((await timed(other))[0]).toBe(200);
  });

  test("§8 what the client sends again is what openapi.json marks, and what the guide says", () => {
    const { paths } = JSON.parse(readFileSync(`${ROOT}openapi.json`, "utf8"));
    const posts = Object.entries<Record<string, { [key: string]: unknown }>>(paths).flatMap(([path, { post }]) =>
      post ? [[path, post["x-idempotent"]] as const] : [],
    );
    const marked = posts.filter(([, rule]) => rule);
    expect(IDEMPOTENT).toEqual(Object.fromEntries(marked));
    const guide = readFileSync(`${ROOT}docs/guides/idempotency.md`, "utf8");
    const rows = guide.split("\n").filter((line) => line.startsWith("| `POST"));
    const named = rows.flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/\/[\w/:…-]+/g)].map(String));
    // a repeat of these makes another link, key, token or endpoint
    expect(named.filter((path) => !path.endsWith("…") && !(path in IDEMPOTENT))).toEqual(["/v1/mandate-links"]);
    for (const [path] of marked)
      expect(
        named.some((said) => path === said || (said.endsWith("…") && path.startsWith(said.slice(0, -1)))),
        path,
      ).toBe(true);
  });
});

describe("pages and events", () => {
  const one = (replies: Parameters<typeof service>[0]) => {
    const made = service(replies);
    return { ...made, client: createClient({ baseUrl: BASE, token: "t", fetch: made.fetch }) };
  };

  test("§8 every item of a list, page by page, and no page more than is asked for", async () => {
    const pages = ({ url }: Sent) => {
      const offset = Number(new URL(url, BASE).searchParams.get("offset"));
      const items = [offset, offset + 1].filter((n) => n < 5).map((n) => ({ account_id: `a-${n}` }));
      return { body: { ...PAGE, accounts: items, offset, count: items.length, has_more: offset + 2 < 5 } };
    };
    const { client, paths } = one({ "/v1/accounts": pages });
    const ids: string[] = [];
    for await (const { account_id } of paginate(client, "/v1/accounts", { limit: 2 })) ids.push(account_id);
    expect(ids).toEqual(["a-0", "a-1", "a-2", "a-3", "a-4"]);
    expect(paths()).toEqual([0, 2, 4].map((offset) => `GET /v1/accounts?limit=2&offset=${offset}`));
    for await (const { account_id } of paginate(client, "/v1/accounts", { limit: 2, offset: 1 })) {
      expect(account_id).toBe("a-1");
      break;
    }
    expect(paths()).toHaveLength(4);
  });

  test("§8 a page that is lost is read again; one that stays lost is thrown with where it was, and read on from there", async () => {
    let lost = 1;
    const pages = ({ url }: Sent): Reply => {
      const offset = Number(new URL(url, BASE).searchParams.get("offset"));
      if (offset === 2 && lost > 0) {
        lost -= 1;
        return { status: 500, body: { error: "list_failed" } };
      }
      return { body: { ...PAGE, accounts: [{ account_id: `a-${offset}` }], offset, has_more: offset < 3 } };
    };
    const { client } = one({ "/v1/accounts": pages });
    const ids: string[] = [];
    const read = async (offset: number) => {
      for await (const { account_id } of paginate(client, "/v1/accounts", { limit: 1, offset })) ids.push(account_id);
    };
    await Promise.all([read(0), vi.runAllTimersAsync()]);
    expect(ids).toEqual(["a-0", "a-1", "a-2", "a-3"]);
    ids.length = 0;
    lost = 5;
    const [error] = await Promise.all([read(0).catch((thrown) => thrown), vi.runAllTimersAsync()]);
    expect(error).toMatchObject({ name: "ApiError", status: 500, code: "list_failed", offset: 2 });
    await read(error.offset);
    expect(ids).toEqual(["a-0", "a-1", "a-2", "a-3"]);
  });

  test("§8 pages and events end with the signal, in a pause too", async () => {
    const { client } = one({ "/v1/accounts": { status: 503 }, "/v1/events": { status: 503 } });
    const controller = new AbortController();
    const { signal } = controller;
    const ended = Promise.all([
      expect(paginate(client, "/v1/accounts", {}, { signal }).next()).rejects.toThrow("enough"),
      expect(events(client, { signal }).next()).rejects.toThrow("enough"),
    ]);
    await vi.advanceTimersByTimeAsync(10);
    controller.abort(new Error("enough"));
    await ended;
  });

  test("§6 events are read to the end of the log, from the cursor that was kept", async () => {
    const log = ({ url }: Sent) => {
      const after = new URL(url, BASE).searchParams.get("after");
      const page = { first: ["e-1", "second", true], second: ["e-2", "end", false] }[after ?? "first"] ?? [
        null,
        after,
        false,
      ];
      const [id, next_cursor, has_more] = page;
      return { body: { events: id ? [{ id }] : [], next_cursor, has_more } };
    };
    const { client, paths } = one({ "/v1/events": log, "/partner/events": log });
    const seen: unknown[] = [];
    for await (const page of events(client, { types: ["mandate.signed", "mandate.revoked"], limit: 1 }))
      seen.push(page.events[0]?.id, page.next_cursor);
    expect(seen).toEqual(["e-1", "second", "e-2", "end"]);
    expect(paths()[1]).toBe("GET /v1/events?after=second&type=mandate.signed%2Cmandate.revoked&limit=1");
  });

  test("§6 the cursor of a page without events comes too, so that a rare filter moves on; an error says where it was", async () => {
    const log = ({ url }: Sent): Reply => {
      const after = Number(new URL(url, BASE).searchParams.get("after") ?? 0);
      if (after === 3) return { status: 410, body: { error: "cursor_expired" } };
      return { body: { events: [], next_cursor: String(after + 1), has_more: after < 1 } };
    };
    const { client } = one({ "/v1/events": log, "/partner/events": log });
    const cursors: string[] = [];
    for await (const page of events(client, { types: ["mandate.revoked"] })) cursors.push(page.next_cursor);
    expect(cursors).toEqual(["1", "2"]);
    const end = await events(client, { after: "2", log: "/partner/events" }).next();
    expect(end).toMatchObject({ done: false, value: { next_cursor: "3" } });
    await expect(events(client, { after: "3" }).next()).rejects.toMatchObject({ code: "cursor_expired", cursor: "3" });
  });
});

describe("§6 webhooks", () => {
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const body = '{"test": 2432232314}';
  const [id, timestamp] = ["msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330"];
  const signature = createHmac("sha256", Buffer.from(secret.slice("whsec_".length), "base64"))
    .update(`${id}.${timestamp}.${body}`)
    .digest("base64");
  const signed = (fields: Record<string, string> = {}) => ({
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
    ...fields,
  });
  beforeEach(() => vi.setSystemTime(1614265330_000));

  test("§6 one that is ours is read, whichever form its headers come in, and whichever of two signatures fits", async () => {
    const read = { id, test: 2432232314 };
    expect(await verifyWebhook(signed(), body, secret)).toEqual(read);
    expect(await verifyWebhook(new Headers(signed()), body, secret)).toEqual(read);
    // of another package, which is no instance of the runtime's own
    expect(await verifyWebhook(new UndiciHeaders(signed()), body, secret)).toEqual(read);
    const other = createHmac("sha256", "another").update("x").digest("base64");
    const two = `v1,${other} v2,x ${signed()["webhook-signature"]}`;
    expect(await verifyWebhook(signed({ "webhook-signature": two }), body, secret)).toEqual(read);
  });

  test.each<[string, Record<string, string>, string, string]>([
    ["another body", {}, '{"test":2432232314}', secret],
    ["another id", { "webhook-id": "msg_2" }, body, secret],
    ["another time", { "webhook-timestamp": "1614265331" }, body, secret],
    ["another secret", {}, body, "whsec_AAAA9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    ["no signature", { "webhook-signature": "" }, body, secret],
    ["garbage for one", { "webhook-signature": "v1,%%% garbage v1" }, body, secret],
    ["a time that is none", { "webhook-timestamp": "now" }, body, secret],
  ])("§6 %s is refused", async (_, fields, text, key) => {
    await expect(verifyWebhook(signed(fields), text, key)).rejects.toMatchObject({ name: "WebhookError" });
  });

  test("§6 headers are read in any case, and as Node and frameworks give them: lists, and a body in bytes", async () => {
    const read = { id, test: 2432232314 };
    const shouted = Object.fromEntries(Object.entries(signed()).map(([name, value]) => [name.toUpperCase(), value]));
    const listed = Object.fromEntries(Object.entries(signed()).map(([name, value]) => [name, [value]]));
    const given = { "Webhook-Id": undefined, ...signed() };
    for (const headers of [shouted, listed, given, { host: "x", cookie: undefined, ...shouted }])
      expect(await verifyWebhook(headers, body, secret)).toEqual(read);
    expect(await verifyWebhook(signed(), Buffer.from(body), secret)).toEqual(read);
  });

  test.each<[string, string | undefined, unknown, string]>([
    ["an empty secret", "", body, "The secret is empty: set it to the whsec_…"],
    ["a missing secret", undefined, body, "The secret is empty"],
    ["a secret that is only its prefix", "whsec_", body, "The secret is empty"],
    ["a secret of something else", "not a secret!", body, "The secret is not one of an endpoint"],
    ["a secret cut short", "whsec_AAAAA", body, "The secret is not one of an endpoint"],
    ["a body that was parsed", secret, { test: 1 }, "The body was parsed already"],
  ])("§6 %s is the receiver's own fault, and it is told so", async (_, key, sent, words) => {
    const verified = verifyWebhook(signed(), sent as string, key);
    await expect(verified).rejects.toBeInstanceOf(TypeError);
    await expect(verified).rejects.toThrow(words);
  });

  test("§6 one from more than five minutes ago, or ahead, is refused", async () => {
    for (const minutes of [-6, 6]) {
      vi.setSystemTime(1614265330_000 + minutes * 60_000);
      await expect(verifyWebhook(signed(), body, secret)).rejects.toThrow("five minutes");
    }
  });
});

describe("§4.5 whom a client calls as", () => {
  test("§4.5 nobody: token calls need no token, and none is sent", async () => {
    const { fetch, sent } = service({ "/oauth-token": TOKEN });
    const client = createClient({ baseUrl: BASE, fetch });
    const body = { grant_type: "client_credentials", client_id: "cpo_1", client_secret: "secret" };
    expect(orThrow(await client.POST("/oauth-token", { body })).access_token).toBe("token-1");
    expect(sent[0]?.authorization).toBeNull();
  });

  test.each<[string, () => unknown, string]>([
    ["baseUrl", () => createClient({ baseUrl: undefined }), "baseUrl is missing: give the host"],
    ["token", () => createClient({ baseUrl: BASE, token: "" }), "token is empty: give a partner key"],
    ["clientId", () => createClient({ ...CREDENTIALS, clientId: undefined }), "clientId is missing"],
    ["clientSecret", () => createClient({ ...CREDENTIALS, clientSecret: "" }), "clientSecret is empty"],
    ["authUrl", () => createApplication({ ...CREDENTIALS, authUrl: "", redirectUri: "" }), "authUrl is empty"],
    [
      "redirectUri",
      () => createApplication({ ...CREDENTIALS, authUrl: BASE, redirectUri: "" }),
      "redirectUri is empty",
    ],
  ])("§4.5 without %s it says so at once", (_, make, words) => {
    expect(make).toThrow(TypeError);
    expect(make).toThrow(words);
  });

  test("§4.5 a function that gives an empty token is told so", async () => {
    const client = createClient({ baseUrl: BASE, token: async () => "", fetch: service({}).fetch });
    await expect(client.GET("/v1/accounts")).rejects.toThrow("token is empty");
  });
});

describe("§5.6 an application that acts for a person", () => {
  const METADATA = { body: { issuer: BASE, authorization_endpoint: "https://pages.example/consent" } };
  const USER_TOKEN = () => ({ body: { ...TOKEN().body, refresh_token: `refresh-${tokens}` } });
  const options = { authUrl: BASE, clientId: "app_1", clientSecret: "s", redirectUri: "https://app.example/back?x=1" };
  const application = (replies: Parameters<typeof service>[0] = {}) => {
    const made = service({
      "/oauth-token/.well-known/oauth-authorization-server": METADATA,
      "/oauth-token": USER_TOKEN,
      ...replies,
    });
    return { ...made, app: createApplication({ ...options, fetch: made.fetch }) };
  };
  const back = (query: Record<string, string>) => `${options.redirectUri}&${new URLSearchParams(query)}`;

  test("§5.6 RFC 7636 appendix B: the challenge of a verifier", async () => {
    expect(await pkce("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")).toEqual({
      codeVerifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
      codeChallenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    });
    expect((await pkce()).codeVerifier).toMatch(/^[\w-]{43}$/);
  });

  test("§5.6 the address that a person is sent to, and the exchange of what they come back with", async () => {
    const { app, sent } = application();
    const { url, state, codeVerifier } = await app.authorize(["energy:read", "sessions:read"]);
    expect(Object.fromEntries(new URL(url).searchParams)).toEqual({
      response_type: "code",
      client_id: "app_1",
      redirect_uri: options.redirectUri,
      scope: "energy:read sessions:read",
      state,
      code_challenge: (await pkce(codeVerifier)).codeChallenge,
      code_challenge_method: "S256",
    });
    const tokens = await app.exchange(back({ code: "c", state, iss: BASE }), { state, codeVerifier });
    const refreshAt = Date.now() + 3540_000;
    expect(tokens).toEqual({ accessToken: "token-1", refreshToken: "refresh-1", refreshAt, scope: "" });
    expect(Object.fromEntries(new URLSearchParams(sent.at(-1)?.body))).toEqual({
      grant_type: "authorization_code",
      client_id: "app_1",
      client_secret: "s",
      code: "c",
      redirect_uri: options.redirectUri,
      code_verifier: codeVerifier,
    });
  });

  test.each<[string, Record<string, string>, string]>([
    ["another state", { code: "c", state: "other", iss: BASE }, "invalid_state"],
    ["no state", { code: "c", iss: BASE }, "invalid_state"],
    ["another server", { code: "c", state: "kept", iss: "https://evil.example" }, "invalid_issuer"],
    ["a person who declined", { error: "access_denied", state: "kept", iss: BASE }, "access_denied"],
    ["neither a code nor an error", { state: "kept", iss: BASE }, "invalid_request"],
  ])("§5.6 %s: nothing is exchanged", async (_, query, code) => {
    const { app, sent } = application();
    const exchange = app.exchange(back(query), { state: "kept", codeVerifier: "v" });
    await expect(exchange).rejects.toMatchObject({ name: "AuthorizationError", code });
    expect(sent.filter(({ url }) => url === "/oauth-token")).toEqual([]);
  });

  test("§5.6 a session without a state takes no answer without one", async () => {
    const exchange = application().app.exchange(back({ code: "c", iss: BASE }), { state: "", codeVerifier: "v" });
    await expect(exchange).rejects.toMatchObject({ code: "invalid_state" });
  });

  test("§5.6 tokens are refreshed when it is time, once for all calls, and kept before the first use", async () => {
    const { app, fetch, sent } = application({ "/energy": { body: {} } });
    const done: string[] = [];
    const current = { accessToken: "old", refreshToken: "refresh-0", refreshAt: Date.now() + 1000, scope: "" };
    const token = app.tokenOf(current, async (next) => void done.push(`kept ${next.refreshToken}`));
    const client = createClient({ baseUrl: BASE, token, fetch });
    await client.GET("/energy");
    await vi.advanceTimersByTimeAsync(1000);
    await Promise.all([client.GET("/energy"), client.GET("/energy")]);
    await vi.advanceTimersByTimeAsync(3540_000);
    await client.GET("/energy");
    expect(done).toEqual(["kept refresh-1", "kept refresh-2"]);
    const uses = sent.filter(({ url }) => url === "/energy").map(({ authorization }) => authorization);
    expect(uses).toEqual(["Bearer old", "Bearer token-1", "Bearer token-1", "Bearer token-2"]);
    const shown = sent.filter(({ url }) => url === "/oauth-token");
    expect(shown.map(({ body }) => new URLSearchParams(body).get("refresh_token"))).toEqual(["refresh-0", "refresh-1"]);
  });

  describe("§5.6 attack: clients that share stored tokens never use a refresh token twice", () => {
    const FIRST = { accessToken: "old", refreshToken: "refresh-0", refreshAt: 0, scope: "" };
    /** A service that ends a refresh token with its use, and two clients of one store. */
    const shared = (keepAfter = 0) => {
      let good = "refresh-0";
      let refused = 0;
      const made = application({
        "/energy": { body: {} },
        "/oauth-token": ({ body }) => {
          const shown = new URLSearchParams(body).get("refresh_token");
          if (shown !== good) {
            refused += 1;
            return { status: 400, body: { error: "invalid_grant" } };
          }
          const next = USER_TOKEN();
          good = next.body.refresh_token;
          return next;
        },
      });
      let stored = { ...FIRST, refreshAt: Date.now() };
      const keep = async (next: typeof stored) => {
        await new Promise((resolve) => setTimeout(resolve, keepAfter));
        stored = next;
      };
      const client = (load: (() => typeof stored) | undefined = () => stored) =>
        made.app.tokenOf({ ...FIRST, refreshAt: Date.now() }, keep, load);
      return { ...made, client, store: () => stored, refused: () => refused };
    };

    test("§5.6 one that comes later takes the stored tokens, and refreshes them when it is time", async () => {
      const { client, sent, refused } = shared();
      const [one, other] = [client(), client()];
      const first = one();
      await vi.advanceTimersByTimeAsync(10);
      expect([await first, await other()]).toEqual(["token-1", "token-1"]);
      await vi.advanceTimersByTimeAsync(3540_000);
      const second = other();
      await vi.advanceTimersByTimeAsync(10);
      expect([await second, await one()]).toEqual(["token-2", "token-2"]);
      expect([sent.length, refused()]).toEqual([2, 0]);
    });

    test("§5.6 of two at the same moment one is refused, and takes what the other stores a little later", async () => {
      const { client, refused } = shared(600);
      const both = Promise.all([client()(), client()()]);
      await vi.advanceTimersByTimeAsync(2000);
      expect([await both, refused()]).toEqual([["token-1", "token-1"], 1]);
    });

    test("§5.6 where nobody stored newer tokens, invalid_grant is told; without load at once", async () => {
      const { client, store } = shared();
      await Promise.all([client()(), vi.advanceTimersByTimeAsync(10)]);
      const older = { ...store(), refreshAt: 0 };
      for (const [load, ms] of [
        [() => older, 4000],
        [undefined, 0],
      ] as const) {
        const tokenOf = load
          ? client(load)
          : application({ "/oauth-token": { status: 400, body: { error: "invalid_grant" } } }).app.tokenOf(
              FIRST,
              () => {},
            );
        const refusal = expect(tokenOf()).rejects.toMatchObject({ code: "invalid_grant" });
        await vi.advanceTimersByTimeAsync(ms);
        await refusal;
      }
    });
  });

  test("§5.6 after a 401 the tokens are refreshed once, and the call is sent again once", async () => {
    const current = { accessToken: "old", refreshToken: "refresh-0", refreshAt: Date.now() + 3540_000, scope: "" };
    const energy = [{ status: 401, body: { error: "x" } }, { body: {} }, { status: 401, body: { error: "x" } }];
    const { app, fetch, paths } = application({ "/energy": energy });
    const kept: string[] = [];
    const token = app.tokenOf(current, (next) => kept.push(next.refreshToken));
    const client = createClient({ baseUrl: BASE, token, fetch });
    expect((await client.GET("/energy")).response.status).toBe(200);
    expect(paths()).toEqual(["GET /energy", "POST /oauth-token", "GET /energy"]);
    expect((await client.GET("/energy")).response.status, "refused again with new tokens").toBe(401);
    expect([kept, paths().length]).toEqual([["refresh-1", "refresh-2"], 6]);
    const fixed = createClient({ baseUrl: BASE, token: () => "mine", fetch });
    expect((await fixed.GET("/energy")).response.status, "a function that cannot renew").toBe(401);
  });

  test.each([
    ["breaks", () => Promise.reject(new TypeError("fetch failed"))],
    ["hangs", () => new Promise<Response>(() => {})],
  ])(
    "§5.6 attack: a connection that %s: a refresh token is sent for 20 seconds, far from the 30 that end its grant",
    async (_, fetch) => {
      const begun = Date.now();
      const sentAt: number[] = [];
      const app = createApplication({
        ...options,
        retries: 50,
        maxWaitMs: 600_000,
        fetch: () => {
          sentAt.push(Date.now() - begun);
          return fetch();
        },
      });
      const refusal = expect(app.refresh("x")).rejects.toMatchObject({
        name: "ConnectionError",
        safeToRepeat: false,
        attempts: expect.any(Number),
      });
      await vi.advanceTimersByTimeAsync(120_000);
      await refusal;
      expect(sentAt.length).toBeGreaterThan(2);
      expect(sentAt.at(-1)).toBeLessThan(20_000);
    },
  );

  test("§5.6 a refusal is an error with its code; what is revoked is sent with the application's own secret", async () => {
    const refusal = {
      status: 400,
      body: { error: "invalid_grant", error_description: "Ask again", request_id: "r-1" },
    };
    const { app, sent } = application({ "/oauth-token": refusal, "/oauth-revoke": {} });
    await expect(app.refresh("x")).rejects.toMatchObject({ code: "invalid_grant", status: 400, requestId: "r-1" });
    await app.revoke("x");
    expect(sent.at(-1)?.body).toBe("client_id=app_1&client_secret=s&token=x");
  });
});

test("§7 orThrow gives the data, and throws an error otherwise, whatever a proxy answered", () => {
  expect(orThrow({ data: 1, response: new Response() })).toBe(1);
  const bad = new Response(null, { status: 502 });
  expect(() => orThrow({ error: "<html>", response: bad })).toThrow(new ApiError(502, "<html>"));
  expect(new ApiError(502, "<html>").message).toBe("HTTP 502");
});

describe("§7 a success that is not JSON, such as the page of a proxy, is an ApiError that names the content type", () => {
  const page = async () => new Response("<html>", { headers: { "content-type": "text/html; charset=utf-8" } });
  const refusal = (call: string) => ({
    status: 200,
    code: "not_json",
    message: expect.stringContaining(`${call} was answered with text/html; charset=utf-8. Check that baseUrl`),
  });

  test("§7 of a call, of a page of a list, and of the event log", async () => {
    const client = createClient({ baseUrl: BASE, token: "t", fetch: page });
    const accounts = client.GET("/v1/accounts");
    await expect(accounts).rejects.toBeInstanceOf(ApiError);
    await expect(accounts).rejects.toMatchObject(refusal("GET /v1/accounts"));
    const first = paginate(client, "/v1/accounts")[Symbol.asyncIterator]().next();
    await expect(first).rejects.toMatchObject({ ...refusal("GET /v1/accounts"), offset: 0 });
    const next = events(client, { log: "/v1/events" })[Symbol.asyncIterator]().next();
    await expect(next).rejects.toMatchObject(refusal("GET /v1/events"));
  });

  test("§4.5 of the token that a call needs, and of an application's", async () => {
    const client = createClient({ ...CREDENTIALS, fetch: page });
    await expect(client.GET("/v1/accounts")).rejects.toMatchObject(refusal("POST /oauth-token"));
    const app = createApplication({
      authUrl: BASE,
      clientId: "app_1",
      clientSecret: "s",
      redirectUri: `${BASE}/callback`,
      fetch: page,
    });
    await expect(app.refresh("x")).rejects.toMatchObject(refusal("POST /oauth-token"));
    await expect(app.authorize(["account:read"])).rejects.toMatchObject(
      refusal("GET /oauth-token/.well-known/oauth-authorization-server"),
    );
  });

  test("§7 what was asked for as text or as a file is given as it is", async () => {
    const client = createClient({ baseUrl: BASE, token: "t", fetch: page });
    expect((await client.GET("/v1/accounts", { parseAs: "text" })).data).toBe("<html>");
  });
});

test("§7 an error has the request's id, from the body or from X-Request-Id; a front's has none", () => {
  const thrown = (error: unknown, headers = {}) => {
    try {
      return orThrow({ error, response: new Response(null, { status: 400, headers }) });
    } catch (caught) {
      return caught;
    }
  };
  expect(thrown({ error: "x", request_id: "r-1" })).toMatchObject({ requestId: "r-1", message: "x (r-1)" });
  expect(thrown("<html>", { "x-request-id": "r-2" })).toMatchObject({ requestId: "r-2", message: "HTTP 400 (r-2)" });
  expect(thrown("<html>")).toMatchObject({ requestId: null });
});
