// The typed client by itself: what it sends, when it waits, and what it takes for its own. tests/client runs it packed.

import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { afterEach, beforeEach, describe, expect, expectTypeOf, test, vi } from "vitest";
import {
  ApiError,
  type components,
  createClient,
  events,
  orThrow,
  paginate,
  type paths,
  verifyWebhook,
  type Webhook,
} from "../../packages/client/src/index.ts";
import { ROOT } from "../../packages/local/src/checkout.ts";

test("§9.5 the client's types are those of openapi.json: npm run openapi", () => {
  const program = `${ROOT}packages/client/node_modules/openapi-typescript/bin/cli.js`;
  const check = [program, "../../openapi.json", "-o", "src/schema.ts", "--check"];
  execFileSync(process.execPath, check, { cwd: `${ROOT}packages/client`, stdio: "pipe" });
});

test("§9.5 the types ask for what is required, leave out what has a default, and promise what is always there", () => {
  type Schemas = components["schemas"];
  const connection = { ean_code: "871687110000000018", postal_code: "3818 LH", house_number: 8 };
  expectTypeOf<{ person: { full_name: string }; connection: typeof connection }>().toExtend<Schemas["CreateAccount"]>();
  expectTypeOf<{ consent: true; email: string; naam: string }>().toExtend<Schemas["AddCustomers"]>();
  expectTypeOf<{ consent: true; rows: { email: string }[] }>().toExtend<Schemas["AddCustomers"]>();
  expectTypeOf<{ rows: { email: string }[] }>().not.toExtend<Schemas["AddCustomers"]>();
  expectTypeOf<{ email: string }>().not.toExtend<Schemas["AddCustomers"]>();
  expectTypeOf<{ dry_run: true; email: string }>().toExtend<Schemas["AddCustomers"]>();
  expectTypeOf<{ dry_run: true; csv: string }>().toExtend<Schemas["ImportDrafts"]>();
  expectTypeOf<{ dry_run: boolean; csv: string }>().not.toExtend<Schemas["ImportDrafts"]>();
  expectTypeOf<{ consent: boolean; csv: string }>().not.toExtend<Schemas["ImportDrafts"]>();
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
      message: "invalid_client Unknown client (r-1)",
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
    return [response.status, (Date.now() - begun) / 1000];
  };
  const client = (replies: Parameters<typeof service>[0]) => {
    const made = service(replies);
    return { ...made, client: createClient({ baseUrl: BASE, token: "t", fetch: made.fetch }) };
  };

  test("§8 429 is waited for as Retry-After says, by any call, three times", async () => {
    const { client: one, sent } = client({
      "/v1/mandate-links": [busy(429), busy(429), busy(429, "1"), { body: { ok: true } }],
    });
    expect(await timed(one.POST("/v1/mandate-links", { body: { account_id: "x" } }))).toEqual([200, 5]);
    expect(new Set(sent.map(({ body }) => body))).toEqual(new Set(['{"account_id":"x"}']));
    const { client: other, sent: four } = client({ "/v1/accounts": busy(429) });
    expect(await timed(other.GET("/v1/accounts"))).toEqual([429, 6]);
    expect(four).toHaveLength(4);
  });

  test("§8 a minute in all: what would take longer is answered as it is", async () => {
    expect(await timed(client({ "/v1/accounts": busy(429, "61") }).client.GET("/v1/accounts"))).toEqual([429, 0]);
    expect(await timed(client({ "/v1/accounts": busy(503, "25") }).client.GET("/v1/accounts"))).toEqual([503, 50]);
  });

  test("§8 Retry-After may be a date; without it nothing is waited for", async () => {
    const inThree = new Date(Math.ceil(Date.now() / 1000) * 1000 + 3000).toUTCString();
    const [status, seconds] = await timed(
      client({ "/v1/accounts": [busy(429, inThree), { body: PAGE }] }).client.GET("/v1/accounts"),
    );
    expect(status).toBe(200);
    expect(seconds).toBeGreaterThanOrEqual(3);
    expect(await timed(client({ "/v1/accounts": { status: 503 } }).client.GET("/v1/accounts"))).toEqual([503, 0]);
  });

  const person = { full_name: "Sanne de Vries" };
  const connection = { ean_code: "871687110000000018", postal_code: "3818 LH", house_number: "8" };
  type Api = ReturnType<typeof createClient>;
  test.each<[string, string, number, (api: Api) => Promise<{ response: Response }>]>([
    ["GET", "/v1/accounts", 2, (api) => api.GET("/v1/accounts")],
    ["DELETE", "/tokens/x", 2, (api) => api.DELETE("/tokens/{id}", { params: { path: { id: "x" } } })],
    [
      "an account with a reference",
      "/v1/accounts",
      2,
      (api) => api.POST("/v1/accounts", { body: { cpo_external_ref: "K", person, connection } }),
    ],
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
    [
      "months",
      "/v1/sessions:batch",
      2,
      (api) => api.POST("/v1/sessions:batch", { body: { account_id: "x", months: [] } }),
    ],
    ["a link", "/v1/mandate-links", 1, (api) => api.POST("/v1/mandate-links", { body: { account_id: "x" } })],
    ["a key", "/partner/api-keys", 1, (api) => api.POST("/partner/api-keys", { body: { rotate: true } })],
  ])("§8 503: %s is sent again only where that is safe", async (_, path, times, call) => {
    const { client: api, sent } = client({ [path]: [busy(503), { body: {} }] });
    expect(await timed(call(api))).toEqual(times === 2 ? [200, 2] : [503, 0]);
    expect(sent).toHaveLength(times);
  });

  test("§8 a call that is given up waits no longer", async () => {
    const { client: api, sent } = client({ "/v1/accounts": busy(429, "30") });
    const call = api.GET("/v1/accounts", { signal: AbortSignal.timeout(5) });
    vi.useRealTimers();
    await expect(call).rejects.toThrow();
    expect(sent).toHaveLength(1);
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

  test("§8 a page that is an error is thrown", async () => {
    const { client } = one({ "/v1/accounts": { status: 500, body: { error: "list_failed" } } });
    await expect(paginate(client, "/v1/accounts").next()).rejects.toMatchObject({ status: 500, code: "list_failed" });
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
    expect(await events(client, { after: "end", log: "/partner/events" }).next()).toEqual({
      done: true,
      value: undefined,
    });
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

  test("§6 one from more than five minutes ago, or ahead, is refused", async () => {
    for (const minutes of [-6, 6]) {
      vi.setSystemTime(1614265330_000 + minutes * 60_000);
      await expect(verifyWebhook(signed(), body, secret)).rejects.toThrow("five minutes");
    }
  });
});

test("§7 orThrow gives the data, and throws what is none, whatever a front answered", () => {
  expect(orThrow({ data: 1, response: new Response() })).toBe(1);
  const bad = new Response(null, { status: 502 });
  expect(() => orThrow({ error: "<html>", response: bad })).toThrow(new ApiError(502, "<html>"));
  expect(new ApiError(502, "<html>").message).toBe("HTTP 502");
});
