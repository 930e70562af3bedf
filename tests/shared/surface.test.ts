// What every answer has in common, whichever endpoint gives it, and what one request leaves in the log.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { ApiError } from "#shared/foundation/errors.ts";
import type { Endpoint } from "#shared/http/endpoint.ts";
import { type Surface, serve } from "#shared/http/serve.ts";
import { surface as cpo } from "../../supabase/functions/cpo-v1/app.ts";
import { surface as docs } from "../../supabase/functions/docs/app.ts";
import { surface as oauthToken } from "../../supabase/functions/oauth-token/app.ts";
import { surface as pages } from "../../supabase/functions/pages/app.ts";
import { SERVED } from "../harness/answers.ts";
import { BASE_URL } from "../harness/environment.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
let functions: Record<"cpo" | "token", { fetch: (request: Request) => Promise<Response> }>;
beforeAll(async () => {
  world = await createWorld();
  functions = { cpo: serve(cpo, world.environment), token: serve(oauthToken, world.environment) };
});
afterAll(() => world.close());

type Init = { method?: string; headers?: Record<string, string>; body?: string };
const toCpo = (path: string, init: Init = {}) => functions.cpo.fetch(new Request(BASE_URL + path, init));
const toToken = (init: Init = {}) => functions.token.fetch(new Request(`${BASE_URL}/oauth-token`, init));
const authorized = async () => ({ headers: { authorization: `Bearer ${await world.partnerA.client.token()}` } });

describe("§4 paths", () => {
  const found: [string, string][] = [
    ["the specification's own", "/v1/accounts"],
    ["hosted, behind the function's slug", "/cpo-v1/v1/accounts"],
    ["hosted, without the prefix", "/cpo-v1/accounts"],
    ["with a query", "/v1/accounts?limit=1#x"],
  ];
  test.each(found)("§4 an endpoint answers at the path that is %s: %s", async (_what, path) => {
    expect((await toCpo(path, await authorized())).status).toBe(200);
  });

  test.each(["/v1/connections:update", "/v1/connections%3Aupdate", "/cpo-v1/connections%3aupdate"])(
    "RFC 3986 section 2.2: %s is the same path, its colon encoded or not",
    async (path) => {
      const answer = await toCpo(path, { ...(await authorized()), method: "POST", body: "{" });
      expect(await answer.json()).toMatchObject({ error: "invalid_json" });
    },
  );

  const unknown: [string, string, string][] = [
    ["GET", "/", "the root"],
    ["GET", "/v1", "the prefix alone"],
    ["GET", "/v1/nothing", "an unknown one"],
    ["GET", "/v1/accounts/", "a slash too many at its end"],
    ["GET", "/V1/accounts", "in upper case"],
    ["GET", "//v1/accounts", "a slash too many at its beginning"],
    ["GET", "/v1/connections%2Faccounts", "an encoded slash"],
    ["GET", "/v1/../v2/accounts", "out of the prefix"],
    ["GET", "/v1/connections:update", "another method's"],
    ["PUT", "/v1/accounts", "a method nobody declares"],
    ["DELETE", "/v1/accounts", "a method nobody declares"],
    ["PATCH", "/v1/accounts", "a method nobody declares"],
    ["HEAD", "/v1/sessions:batch", "HEAD of a POST"],
  ];
  test.each(unknown)("§5.1 %s %s (%s) is 404, with or without a credential", async (method, path) => {
    for (const init of [{}, await authorized()]) {
      const answer = await toCpo(path, { ...init, method });
      expect(answer.status).toBe(404);
      if (method !== "HEAD")
        expect(await answer.json()).toMatchObject({
          error: "Not found",
          request_id: answer.headers.get("x-request-id"),
        });
    }
  });

  test("RFC 9110 section 9.3.2: HEAD is GET without the body", async () => {
    const head = await toCpo("/v1/accounts", { ...(await authorized()), method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect(head.headers.get("ratelimit-policy")).toBe('"cpo_read";q=300;w=60');
    expect((await toCpo("/v1/accounts", { method: "HEAD" })).status).toBe(401);
  });
});

describe("contract §1 every answer", () => {
  const answers: [string, () => Promise<Response>, number][] = [
    ["a success", async () => toCpo("/v1/accounts", await authorized()), 200],
    ["a refusal", () => toCpo("/v1/accounts"), 401],
    ["an unknown route", () => toCpo("/v1/nothing"), 404],
    ["the health check", () => toCpo("/cpo-v1/health"), 200],
    ["a token refused", () => toToken({ method: "POST", body: "{}" }), 400],
    ["a preflight", () => toToken({ method: "OPTIONS", headers: { origin: "https://x.example" } }), 204],
  ];
  test.each(answers)(
    "contract §1 %s has X-Request-Id, nosniff, and one line in the log",
    async (_what, send, status) => {
      const before = world.log.length;
      const answer = await send();
      expect(answer.status).toBe(status);
      expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f]{8}-/);
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
      expect(world.log.slice(before)).toEqual([
        expect.objectContaining({
          event: "request",
          status,
          request_id: answer.headers.get("x-request-id"),
          ms: expect.any(Number),
        }),
      ]);
    },
  );

  test("contract §1 the line of an admitted request says who, by id", async () => {
    await toCpo("/v1/accounts?cpo_external_ref=KL-1", await authorized());
    const { id: partner_id, client } = world.partnerA;
    expect(world.log.at(-1)).toMatchObject({
      level: "info",
      function: "cpo-v1",
      endpoint: "listAccounts",
      method: "GET",
      caller: "cpo",
      client_id: client.id,
      partner_id,
    });
  });

  test("contract §1 ids are our own: one that a client sends is not taken over", async () => {
    const sent = crypto.randomUUID();
    const answer = await toCpo("/v1/nothing", { headers: { "x-request-id": sent } });
    expect(answer.headers.get("x-request-id")).not.toBe(sent);
  });
});

describe("contract §1 CORS", () => {
  const surfaces = [...SERVED, docs, pages];
  const origin = { origin: "https://app.example" };
  const preflight = {
    ...origin,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type",
  };
  const corsOf = (answer: Response) => [...answer.headers.keys()].filter((name) => name.startsWith("access-control"));
  const anywhere = surfaces.filter(({ cors }) => cors);
  const send = (surface: Surface, path: string, init: Init, environment = world.environment) =>
    serve(surface, environment).fetch(new Request(BASE_URL + path, init));

  test("contract §1 whatever takes its credential in a header or a body answers every origin; pages and the worker none", () => {
    expect(anywhere.map(({ slug }) => slug).sort()).toEqual(
      ["cpo-v1", "docs", "oauth-authorize", "oauth-revoke", "oauth-token", "partner", "personal", "sandbox"].sort(),
    );
  });

  test.each(anywhere)(
    "contract §1 $slug answers a preflight without the database, and for as long as browsers keep one",
    async (surface) => {
      const away = { ...world.environment };
      for (const name of ["db", "slowDb"] as const)
        Object.defineProperty(away, name, {
          get: () => {
            throw new Error("the database was asked");
          },
        });
      const answer = await send(surface, "/any", { method: "OPTIONS", headers: preflight }, away);
      expect([answer.status, Object.fromEntries(answer.headers)]).toEqual([
        204,
        expect.objectContaining({
          "access-control-allow-origin": "*",
          "access-control-allow-methods": "GET,POST,DELETE",
          "access-control-allow-headers": "authorization,content-type",
          "access-control-max-age": "86400",
          vary: "Access-Control-Request-Headers",
        }),
      ]);
      expect(corsOf(answer)).not.toContain("access-control-allow-credentials");
    },
  );

  test("contract §1 a page of another origin reads answers, refusals and what is missing, with the headers that say what to do", async () => {
    for (const answer of [
      await toCpo("/v1/accounts", { headers: { ...origin, ...(await authorized()).headers } }),
      await toCpo("/v1/accounts", { headers: origin }),
      await toCpo("/v1/nothing", { headers: origin }),
      await toToken({ method: "POST", headers: origin, body: "{}" }),
    ]) {
      expect(answer.headers.get("access-control-allow-origin")).toBe("*");
      expect(answer.headers.get("access-control-expose-headers")).toBe("*");
      expect(corsOf(answer)).not.toContain("access-control-allow-credentials");
    }
  });

  test("contract §1 a page of another origin cannot read what people see, nor call the worker", async () => {
    for (const surface of surfaces.filter(({ cors }) => !cors)) {
      const asked = await send(surface, `${surface.prefix}/any`, { method: "OPTIONS", headers: preflight });
      expect([surface.slug, asked.status, corsOf(asked)]).toEqual([surface.slug, 404, []]);
      expect(corsOf(await send(surface, `${surface.prefix}/any`, { headers: origin }))).toEqual([]);
    }
  });

  test("contract §1 no function that answers every origin reads or sets a cookie, so that nothing of a visitor goes along", () => {
    const folders = [...anywhere.map(({ slug }) => `supabase/functions/${slug}`), "packages/shared/src"];
    const files = folders.flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".ts"))
        .map((name) => join(folder, name)),
    );
    expect(files.length).toBeGreaterThan(100);
    const reading = files.filter((file) =>
      /cookie["'`)]|headers\.cookie|hono\/cookie/i.test(readFileSync(join(ROOT, file), "utf8")),
    );
    expect(reading).toEqual([]);
  });
});

test("contract §1 a deployment that is not configured: 503, and the log names the variables, never their values", async () => {
  const lines: string[] = [];
  const consoleLog = vi.spyOn(console, "log").mockImplementation((line) => void lines.push(line));
  vi.stubEnv("BASE_URL", "not a url, but a secret");
  try {
    const { fetch } = serve(cpo);
    const answer = await fetch(new Request(`${BASE_URL}/v1/accounts`));
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await answer.json()).toMatchObject({ error: "Service is temporarily unavailable, try again shortly" });
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      status: 503,
      cause: { message: expect.stringMatching(/BASE_URL.*TOKEN_KEYS/s) },
    });
    expect(lines[0]).not.toContain("a secret");
  } finally {
    consoleLog.mockRestore();
    vi.unstubAllEnvs();
  }
});

test("contract §1 an exception that nobody caught: 500 in the API's own form; what it quotes is in no answer and no log", async () => {
  const boom = async () => JSON.parse('{"name": Sanne');
  const { fetch } = serve({ ...cpo, endpoints: { "GET /boom": boom } }, world.environment);
  const answer = await fetch(new Request(`${BASE_URL}/boom`));
  const body = await answer.json();
  expect([answer.status, body.error]).toEqual([500, "internal_error"]);
  expect(world.log.at(-1)).toMatchObject({ level: "error", error: "internal_error", cause: { type: "SyntaxError" } });
  expect(JSON.stringify([body, world.log.at(-1)])).not.toContain("Sanne");
});

test("contract §1 a 500 that somebody answers without a cause says in the log where it was answered", async () => {
  const accounts = await (cpo.endpoints["GET /v1/accounts"] as () => Promise<Endpoint>)();
  const run = () => {
    throw new ApiError("list_failed");
  };
  const load = async () => ({ ...accounts, run });
  const { fetch } = serve({ ...cpo, endpoints: { "GET /v1/accounts": load } }, world.environment);
  expect((await fetch(new Request(`${BASE_URL}/v1/accounts`, await authorized()))).status).toBe(500);
  expect(world.log.at(-1)).toMatchObject({
    error: "list_failed",
    cause: {
      code: "list_failed",
      stack: [expect.stringContaining("surface.test.ts"), expect.anything(), expect.anything()],
    },
  });
});

describe("contract §1 an endpoint that is loaded by the first request for it", () => {
  const accounts = cpo.endpoints["GET /v1/accounts"] as () => Promise<Endpoint>;
  const list = async (fetch: (request: Request) => Promise<Response>) =>
    (await fetch(new Request(`${BASE_URL}/v1/accounts`, await authorized()))).status;

  test("contract §1 several at once, and no others: each is answered", async () => {
    let loads = 0;
    const load = () => {
      loads += 1;
      return accounts();
    };
    const endpoints = {
      "GET /v1/accounts": load,
      "POST /v1/accounts": () => Promise.reject(new Error("not asked for")),
    };
    const { fetch } = serve({ ...cpo, endpoints }, world.environment);
    expect(await Promise.all([list(fetch), list(fetch), list(fetch)])).toEqual([200, 200, 200]);
    const before = loads;
    expect([await list(fetch), loads]).toEqual([200, before]);
    const preflight = await fetch(new Request(`${BASE_URL}/v1/accounts`, { method: "OPTIONS" }));
    expect(preflight.status).toBe(204);
  });

  test("contract §1 did not load: 500 in the API's own form, once; the next request loads it again", async () => {
    let loads = 0;
    const load = () => {
      loads += 1;
      return loads === 1 ? Promise.reject(new TypeError("Module not found 'file:///secret'")) : accounts();
    };
    const { fetch } = serve({ ...cpo, endpoints: { "GET /v1/accounts": load } }, world.environment);
    expect([await list(fetch), await list(fetch)]).toEqual([500, 200]);
    const line = world.log.find(({ cause }) => (cause as { type?: string } | undefined)?.type === "TypeError");
    expect(line).toMatchObject({ level: "error", error: "internal_error", function: "cpo-v1", status: 500 });
    expect(JSON.stringify(line)).not.toContain("secret");
  });
});

test("contract §1 a short answer is written one way, without spaces, whether SQL wrote it or we did", async () => {
  const [bySql, byUs] = [await toCpo("/v1/accounts", await authorized()), await toCpo("/v1/nothing")];
  for (const text of [await bySql.text(), await byUs.text()]) expect(text).toBe(JSON.stringify(JSON.parse(text)));
  expect([bySql.status, byUs.status]).toEqual([200, 404]);
});
