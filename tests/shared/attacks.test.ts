// What docs/attacks.md promises of a request on its way in: each test is named after the attack it withstands.

import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { hashAddress } from "#shared/auth/tokens.ts";
import { readCsv } from "#shared/domain/import/table.ts";
import { attempt } from "#shared/foundation/attempt.ts";
import { BODY_MS, MAX_BODY } from "#shared/http/body.ts";
import { clientHash } from "#shared/http/client_address.ts";
import { isFile } from "#shared/http/endpoint.ts";
import { readParameters } from "#shared/http/oauth_client.ts";
import { type Surface, serve } from "#shared/http/serve.ts";
import { surface as cpo } from "../../supabase/functions/cpo-v1/app.ts";
import { surface as oauthRevoke } from "../../supabase/functions/oauth-revoke/app.ts";
import { surface as oauthToken } from "../../supabase/functions/oauth-token/app.ts";
import { surface as pages } from "../../supabase/functions/pages/app.ts";
import { deviceHash } from "../../supabase/functions/pages/kit/device.ts";
import { surface as partner } from "../../supabase/functions/partner/app.ts";
import { surface as worker } from "../../supabase/functions/worker/app.ts";
import { ENDPOINTS, named, type Sample, samplesFor, sent } from "../contract/samples.ts";
import { BASE_URL } from "../harness/environment.ts";
import { consentVisit } from "../oauth/consent_visit.ts";
import { type App, createOAuthWorld, type OAuth, type Person } from "../oauth/oauth_world.ts";

let world: OAuth;
let sample: (endpoint: (typeof ENDPOINTS)[number]) => Sample;
beforeAll(async () => {
  world = await createOAuthWorld({ limits: "lifted" });
  sample = await samplesFor(world);
});
afterAll(() => world.close());

/** CPU time of this process, which other programs on the machine do not lengthen, in milliseconds. */
async function cpuOf(run: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Eight times the input takes some eight times as long: quadratic work takes 64 times. What takes next to nothing is not judged. */
async function expectLinear(run: (size: number) => unknown, size: number, nothing = 500) {
  // a collection of garbage falls into one run, and the processor slows down between two; quadratic work falls into each
  for (let again = 0; ; again++) {
    const large = await cpuOf(() => run(size));
    const most = large < nothing ? nothing : Math.max(24 * (await cpuOf(() => run(size / 8))), nothing);
    if (large < most || again === 3) return expect(large).toBeLessThan(most);
  }
}

describe("input that is small to send and long to read", () => {
  const distinct = (count: number) => Array.from({ length: count }, (_, i) => `k${i.toString(36)}=`).join("&");

  test.each([["oauth-token"], ["oauth-revoke"]])("a form of distinct keys does not block /%s", async (slug) => {
    const { fetch } = serve(slug === "oauth-token" ? oauthToken : oauthRevoke, world.environment);
    const post = async (body: string) => {
      const headers = { "content-type": "application/x-www-form-urlencoded", "x-forwarded-for": "192.0.2.1" };
      const response = await fetch(new Request(`${BASE_URL}/${slug}`, { method: "POST", body, headers }));
      return [response.status, (await response.json()).error];
    };
    expect(await post(distinct(100_000))).toEqual([413, "payload_too_large"]);
    expect(await post(distinct(21))).toEqual([400, "invalid_request"]);
    expect(await post(distinct(20))).toEqual(
      slug === "oauth-token" ? [400, "unsupported_grant_type"] : [400, "invalid_request"],
    );
    expect(await post("client_id=a&client_id=b")).toEqual([400, "invalid_request"]);
  });

  test("a form of distinct keys is refused without a look at each", async () => {
    await expectLinear((size) => expect(() => readParameters(distinct(size))).toThrow(), 100_000);
  });

  const csv: [string, string][] = [
    ["columns", "a,"],
    ["columns that count", "email;"],
    ["quotes", '"'],
    ["quotes that are not closed", '"a"b'],
    ["quotes that are not closed, a line each", '"a"b\n'],
    ["blank lines", ", \n"],
    ["line ends of old", "\r"],
  ];
  test.each(csv)("a CSV of many %s is read in linear time, as its head and as its rows", async (_, unit) => {
    for (const before of ["", "email\n", "email;naam\n"])
      await expectLinear(async (size) => {
        try {
          await readCsv(before + unit.repeat(size / unit.length));
        } catch {} // that it is no CSV may be said
      }, 400_000);
  });

  const shapes: [string, (size: number) => unknown][] = [
    [
      "an object of distinct keys",
      (size) => Object.fromEntries(Array.from({ length: size / 10 }, (_, i) => [`k${i}`, 1])),
    ],
    ["an array of nulls", (size) => Array(Math.floor(size / 5)).fill(null)],
    ["an array of empty objects", (size) => Array(Math.floor(size / 3)).fill({})],
    ["a text of spaces between two letters", (size) => `a${" ".repeat(size - 4)}a`],
    ["a text of labels and dots", (size) => `a@${"a.".repeat(size / 2 - 4)}`],
    ["a text of dashes", (size) => `1${"- ".repeat(size / 2 - 4)}!`],
  ];
  const written = new Map<string, string>();
  /** A shape as JSON, written once for all the fields that hold it. */
  const textOf = ([name, shape]: (typeof shapes)[number], size: number): string => {
    const text = written.get(`${name} ${size}`) ?? JSON.stringify(shape(size));
    written.set(`${name} ${size}`, text);
    return text;
  };
  // a file is read by what the tests of CSV above, and of sheets, try
  const withBody = ENDPOINTS.filter((endpoint) => endpoint.body && !isFile(endpoint));
  test.each(named(withBody))(
    "%s judges a large body in linear time, whatever stands in a field",
    async (_, endpoint) => {
      const { path, ...good } = sample(endpoint);
      const fields = Object.entries((good.body as object | undefined) ?? {});
      // the other fields, in whole kilobytes, so that endpoints share their shapes
      const rest = Math.ceil((JSON.stringify(good.body ?? {}).length + 100) / 1024) * 1024;
      // a quarter of the most that is read: quadratic work takes seconds of it
      const size = Math.min(endpoint.maxBody ?? MAX_BODY, 256 * 1024) - rest;
      for (const shape of shapes)
        for (const [key] of fields) {
          const others = JSON.stringify(Object.fromEntries(fields.filter(([name]) => name !== key))).slice(1, -1);
          await expectLinear(
            (size) =>
              world.send(path, {
                ...sent({ path, ...good }),
                raw: `{${others}${others && ","}${JSON.stringify(key)}:${textOf(shape, size)}}`,
              }),
            size,
            200,
          );
        }
    },
  );
});

describe("a client that writes its own X-Forwarded-For", () => {
  /** As the gateway passes it on: what the client sent, and the address it saw. */
  const forged = (address: string, i: number) => ({ "x-forwarded-for": `203.0.113.${i}, ${address}` });

  test("ten rotations of a forged first entry: the tenth guess of a client's secret is still the tenth", async () => {
    const limited = await createOAuthWorld();
    try {
      const { client_id } = await limited.app();
      const guess = (i: number, address = "198.51.100.7") =>
        limited.send("/oauth-token", {
          body: { grant_type: "client_credentials", client_id, client_secret: `guess ${i}` },
          headers: forged(address, i),
        });
      for (let i = 0; i < 10; i++) expect((await guess(i)).status).toBe(401);
      expect((await guess(11)).status).toBe(429);
      expect((await guess(12, "198.51.100.8")).status, "another client goes on").toBe(401);
    } finally {
      await limited.close();
    }
  });

  test("addresses of one IPv6 subscriber are one client", async () => {
    const limited = await createOAuthWorld();
    try {
      const { client_id } = await limited.app();
      const guess = (address: string) =>
        limited.send("/oauth-token", {
          body: { grant_type: "client_credentials", client_id, client_secret: "guess" },
          headers: { "x-forwarded-for": address },
        });
      for (let i = 0; i < 10; i++) expect((await guess(`2001:db8:1:2::${i}`)).status).toBe(401);
      expect((await guess("2001:db8:1:2:ffff::1")).status).toBe(429);
      expect((await guess("2001:db8:1:3::1")).status).toBe(401);
    } finally {
      await limited.close();
    }
  });

  test("the evidence of a signature and the page's limits are of the same address", async () => {
    const { fetch } = serve(pages, world.environment);
    const counted = `${BASE_URL}/pages/mandate/${"x".repeat(43)}`;
    expect((await fetch(new Request(counted, { headers: { "x-forwarded-for": "192.0.2.1, forged" } }))).status).toBe(
      503,
    );
    expect((await fetch(new Request(counted, { headers: { "x-forwarded-for": "forged, 192.0.2.1" } }))).status).toBe(
      404,
    );
  });

  test("no header at all: what counts by it answers 503 and the log names the variable; the rest answers", async () => {
    const post = (surface: Surface, path: string) =>
      serve(surface, world.environment).fetch(
        new Request(BASE_URL + path, { method: "POST", body: '{"grant_type":"client_credentials"}' }),
      );
    expect((await post(oauthToken, "/oauth-token")).status).toBe(503);
    expect(world.log.at(-1)).toMatchObject({
      cause: { type: "ConfigurationError", message: expect.stringContaining("CLIENT_ADDRESS") },
    });
    expect((await post(cpo, "/v1/accounts")).status).toBe(401);
  });

  test("the operator sees which header is whose: GET /worker/client-address", async () => {
    const { fetch } = serve(worker, world.environment);
    const ask = async (headers: Record<string, string>, bearer = world.environment.config.WORKER_SECRET) => {
      const authorization = `Bearer ${bearer}`;
      const response = await fetch(
        new Request(`${BASE_URL}/worker/client-address`, { headers: { ...headers, authorization, "user-agent": "x" } }),
      );
      return [response.status, await response.json()];
    };
    expect(await ask({ "x-forwarded-for": "192.0.2.1, 2001:db8::1", "x-real-ip": "192.0.2.1" })).toEqual([
      200,
      {
        client_address: "2001:db8::1",
        counted_as: "2001:db8:0:0::/64",
        headers: { "x-forwarded-for": "192.0.2.1, 2001:db8::1", "x-real-ip": "192.0.2.1" },
      },
    ]);
    expect(await ask({ "x-real-ip": "192.0.2.1" })).toEqual([
      200,
      { client_address: null, counted_as: null, headers: { "x-real-ip": "192.0.2.1" } },
    ]);
    expect((await ask({}, "guess"))[0]).toBe(401);
  });
});

test("guessing one account's password from many addresses: a hundred a day, and fifty from one", async () => {
  const limited = await createOAuthWorld({
    now: "2026-11-20T09:00:00Z",
    limits: { lifted: ["sign_in", "sign_in_address"] },
  });
  try {
    const its = await limited.app();
    const { email, password } = await limited.person();
    const guess = async (address: string) =>
      (await consentVisit(limited, its, {}, address).signIn({ email, password: "a guess" })).status;
    const times = async (count: number, address: string) => {
      const counted: Record<number, number> = {};
      for (let i = 0; i < count; i++) {
        const status = await guess(address);
        counted[status] = (counted[status] ?? 0) + 1;
      }
      return counted;
    };
    expect(await times(55, "192.0.2.81"), "one stranger").toEqual({ 422: 50, 429: 5 });
    const owner = consentVisit(limited, its, {}, "192.0.2.80");
    expect((await owner.signIn({ email, password })).status, "leaves the owner in").toBe(303);
    expect(await times(55, "192.0.2.82")).toEqual({ 422: 49, 429: 6 });
    expect(await guess("192.0.2.83"), "from anywhere").toBe(429);
    const locked = consentVisit(limited, its, {}, "192.0.2.80");
    const refused = await locked.signIn({ email, password });
    expect([refused.status, Number(refused.headers.get("retry-after"))]).toEqual([429, 864]);
    expect((await locked.mailCode(email)).status, "a mailed code is not counted with them").toBe(303);
    await limited.freeze("2026-11-20T09:15:00Z");
    expect((await locked.signIn({ email, password })).status).toBe(303);
  } finally {
    await limited.close();
  }
});

describe("locking an account's owner out from two networks", () => {
  let limited: OAuth;
  let its: App;
  let owner: Person;
  beforeAll(async () => {
    limited = await createOAuthWorld({
      now: "2026-11-20T09:00:00Z",
      limits: { lifted: ["sign_in", "sign_in_address", "page"] },
    });
    its = await limited.app();
    owner = await limited.person();
  });
  afterAll(() => limited.close());
  const networks = ["2001:db8:1::1", "2001:db8:2::1"];
  const visitFrom = (address: string) => consentVisit(limited, its, {}, address);
  /** Everything that strangers can use up of an account; their passwords are counted, and not judged, which takes long. */
  async function exhaust({ email }: Person) {
    const { environment } = limited;
    const caller = { kind: "anyone", host: "sandbox", request_id: "x" };
    for (const network of networks) {
      const request = new Request(BASE_URL, { headers: { "x-forwarded-for": network } });
      const address_hash = clientHash(request, environment);
      const guess = { address_hash, email_hash: hashAddress(environment, email), device_hash: null };
      for (let i = 0; i < 50; i++)
        await attempt(environment.db.call("count_sign_in", caller, guess), ["too_many_requests"]);
      for (let i = 0; i < 10; i++) await visitFrom(network).mailCode(email);
    }
    await limited.limit("sign_in_address", 1);
  }

  test("leaves in a browser that signed in before, by password and by code, wherever it is", async () => {
    const known = visitFrom("192.0.2.80");
    expect((await known.signIn(owner)).status).toBe(303);
    const device = known.cookie(undefined, "consent-device");
    await exhaust(owner);
    expect((await visitFrom(networks[1] ?? "").signIn(owner)).status).toBe(429);
    const signIns = async (cookie: string, from = "192.0.2.90") => {
      const [byPassword, byCode] = [visitFrom(from), visitFrom(from)];
      for (const visit of [byPassword, byCode]) visit.cookie(cookie, "consent-device");
      return [(await byPassword.signIn(owner)).status, (await byCode.mailCode(owner.email)).status];
    };
    expect(await signIns(""), "a new browser waits").toEqual([429, 429]);
    expect(await signIns(device)).toEqual([303, 303]);
    expect(await signIns(device, networks[0]), "also in the stranger's network").toEqual([303, 303]);

    const other = await limited.person();
    const theirs = visitFrom("192.0.2.81");
    await theirs.signIn(other);
    const [nonce, proof] = device.split(".");
    for (const forged of [theirs.cookie(undefined, "consent-device"), `${nonce}x.${proof}`, `${nonce}.`, ".", "x"])
      expect(await signIns(forged), forged).toEqual([429, 429]);
    await limited.limit("sign_in_address");
  });

  test("the cookie of such a browser: for this page, out of reach of scripts, the same as long as it holds; no credential", async () => {
    const person = await limited.person();
    const visit = visitFrom("192.0.2.82");
    const set = (await visit.signIn(person)).headers.getSetCookie().find((each) => each.startsWith("consent-device="));
    expect(set).toMatch(
      /^consent-device=\w{43}\.[\w-]{43}; Max-Age=34560000; Path=\/pages\/consent; HttpOnly; SameSite=Lax$/,
    );
    const device = visit.cookie(undefined, "consent-device");
    await visit.signIn(person);
    expect(visit.cookie(undefined, "consent-device")).toBe(device);
    const stolen = visitFrom("192.0.2.83");
    stolen.cookie(device, "consent-device");
    expect((await stolen.show()).heading).toBe("Sign in");
  });

  test("such a browser guesses no more than one address: ten codes and fifty passwords a day", async () => {
    const person = await limited.person();
    const visit = visitFrom("192.0.2.84");
    await visit.signIn(person);
    const device = visit.cookie(undefined, "consent-device");
    const answered = async (
      times: number,
      send: (own: ReturnType<typeof visitFrom>) => Promise<{ status: number }>,
    ) => {
      const counted: Record<number, number> = {};
      for (let i = 0; i < times; i++) {
        const own = visitFrom(`192.0.2.${100 + i}`);
        own.cookie(device, "consent-device");
        const { status } = await send(own);
        counted[status] = (counted[status] ?? 0) + 1;
      }
      return counted;
    };
    expect(await answered(12, (own) => own.mailCode(person.email))).toEqual({ 303: 10, 429: 2 });
    const guess = { email: person.email, password: "a guess" };
    // the sign-in that made it known came from an address still
    expect(await answered(52, (own) => own.signIn(guess))).toEqual({ 422: 50, 429: 2 });
    expect((await visitFrom("192.0.2.85").signIn(person)).status, "and takes nothing from other browsers").toBe(303);
  });

  test("somebody who once signed in from many browsers guesses no more with all of them than strangers do: a hundred passwords, twenty codes", async () => {
    const person = await limited.person();
    const devices: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      const visit = visitFrom(`192.0.2.${150 + n}`);
      await visit.signIn(person);
      devices.push(visit.cookie(undefined, "consent-device"));
    }
    const { environment } = limited;
    const caller = { kind: "anyone", host: "sandbox", request_id: "x" };
    const email_hash = hashAddress(environment, person.email);
    const guesses = { passwords: 0, codes: 0 };
    for (const device of devices) {
      const guess = { address_hash: "", email_hash, device_hash: deviceHash(environment, person.email, device) };
      for (let n = 0; n < 50; n += 1) {
        const { refused } = await attempt(environment.db.call("count_sign_in", caller, guess), ["too_many_requests"]);
        if (!refused) guesses.passwords += 1;
      }
      for (let n = 0; n < 10; n += 1) {
        const visit = visitFrom("192.0.2.160");
        visit.cookie(device, "consent-device");
        if ((await visit.mailCode(person.email)).status === 303) guesses.codes += 1;
      }
    }
    expect(guesses).toEqual({ passwords: 100, codes: 20 });
    const stranger = visitFrom("192.0.2.161");
    expect((await stranger.signIn(person)).status, "and takes nothing from a new one").toBe(303);
  });
});

describe("a client that does not send what it began", () => {
  afterEach(() => vi.useRealTimers());

  /** A body of which one byte comes, and then nothing. */
  const stalled = (path: string, headers: Record<string, string> = {}) =>
    new Request(BASE_URL + path, {
      method: "POST",
      headers: { "x-forwarded-for": "192.0.2.1", ...headers },
      body: new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([0x7b])) }),
      duplex: "half",
    } as RequestInit);

  const slow: [string, Surface, Request, number][] = [
    ["an endpoint that reads it", oauthToken, stalled("/oauth-token"), 408],
    ["a refusal that drops it", cpo, stalled("/v1/accounts"), 401],
    ["a route that is none", cpo, stalled("/v1/nothing"), 404],
    [
      "a page",
      pages,
      stalled("/pages/consent", {
        "content-type": "application/x-www-form-urlencoded",
        "sec-fetch-site": "same-origin",
      }),
      408,
    ],
    ["a form of another site", pages, stalled("/pages/consent", { "sec-fetch-site": "cross-site" }), 403],
  ];
  test.each(slow)("is answered after thirty seconds: %s", async (_, surface, request, status) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let answered: Response | undefined;
    const answer = serve(surface, world.environment)
      .fetch(request)
      .then((response) => {
        answered = response;
      });
    while (vi.getTimerCount() === 0) await new Promise(setImmediate);
    await vi.advanceTimersByTimeAsync(BODY_MS - 1);
    expect(answered).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await answer;
    expect(answered?.status).toBe(status);
    if (status === 408 && surface !== pages)
      expect(await answered?.json()).toMatchObject({ error: "request_timeout", request_id: expect.any(String) });
  });

  test("keeps nothing of a body that it sends byte by byte", async () => {
    const heap = () => process.memoryUsage().heapUsed;
    let [sent, peak] = [0, 0];
    const before = heap();
    const body = new ReadableStream({
      pull(controller) {
        sent += 1;
        if (sent % 65_536 === 0) peak = Math.max(peak, heap() - before);
        if (sent > MAX_BODY) controller.close();
        else controller.enqueue(new Uint8Array(1));
      },
    });
    const request = new Request(`${BASE_URL}/v1/accounts`, { method: "POST", body, duplex: "half" } as RequestInit);
    expect((await serve(cpo, world.environment).fetch(request)).status).toBe(401);
    expect(sent).toBeGreaterThan(MAX_BODY);
    expect(peak, "it was 400 MB").toBeLessThan(150e6);
  });

  const CHUNK = 64 * 1024;
  /** A body that is sent in pieces; `read` says how many were taken. */
  function pieces(count: number) {
    const taken = { read: 0 };
    const body = new ReadableStream({
      pull(controller) {
        taken.read += 1;
        if (taken.read > count) controller.close();
        else controller.enqueue(new Uint8Array(CHUNK));
      },
    });
    return { taken, body };
  }

  test.each([
    ["401", cpo, "/v1/accounts", {}],
    ["401 of an import, which may be 2 MiB", partner, "/partner/drafts/import", {}],
    ["404", cpo, "/v1/nothing", {}],
    ["403", pages, "/pages/consent", { "sec-fetch-site": "cross-site" }],
    ["413 of a token, which says how long it is", oauthToken, "/oauth-token", { "content-length": String(12 * CHUNK) }],
    [
      "303 of who is signed out, and sends a file, which may be 2 MiB",
      pages,
      "/pages/portal/import",
      { "sec-fetch-site": "same-origin", "content-type": "multipart/form-data; boundary=x" },
    ],
  ] as [string, Surface, string, Record<string, string>][])(
    "a refusal reaches a client that is still sending: %s after the whole body",
    async (what, surface, path, headers) => {
      const count = what.includes("2 MiB") ? 30 : 12;
      const { taken, body } = pieces(count);
      const init = { method: "POST", body, duplex: "half", headers: { "x-forwarded-for": "192.0.2.1", ...headers } };
      const response = await serve(surface, world.environment).fetch(new Request(BASE_URL + path, init as RequestInit));
      expect(response.status).toBe(Number(what.slice(0, 3)));
      expect(taken.read).toBe(count + 1);
    },
  );

  test("a refusal reads no more than the largest body", async () => {
    const { taken, body } = pieces(1000);
    const init = { method: "POST", body, duplex: "half" } as RequestInit;
    const response = await serve(cpo, world.environment).fetch(new Request(`${BASE_URL}/v1/accounts`, init));
    expect(response.status).toBe(401);
    expect(taken.read).toBeLessThan((1024 * 1024) / CHUNK + 4);
  });
});

test("a connection stripped of TLS: every answer over https asks for https from then on, and no other does", async () => {
  const { environment } = world;
  const config = { ...environment.config, BASE_URL: "https://api.example", PAGES_URL: "https://api.example/pages" };
  for (const [surface, path] of [
    [cpo, "/v1/accounts"],
    [cpo, "/v1/nothing"],
    [cpo, "/cpo-v1/health"],
    [oauthToken, "/oauth-token"],
    [pages, "/pages"],
    [pages, "/pages/style.css"],
    [pages, "/pages/nothing"],
  ] as [Surface, string][]) {
    for (const [given, hsts] of [
      [environment, null],
      [{ ...environment, config }, "max-age=31536000"],
    ] as const) {
      const { headers } = await serve(surface, given).fetch(new Request(BASE_URL + path));
      expect([path, headers.get("strict-transport-security")]).toEqual([path, hsts]);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
  }
});

describe("a form of another site that signs a visitor in", () => {
  const bare = { "sec-fetch-site": "", origin: "null" };

  test("Origin: null and no fetch metadata: neither signs in nor mails, and the page is shown again", async () => {
    const app = await world.app();
    const { email, password } = await world.person();
    const mine = consentVisit(world, app);
    const mails = "select count(*)::int as n from core.mail_outbox";
    const before = await world.row(mails);
    for (const [step, form] of [
      ["/sign-in", { email, password }],
      ["/mail-code", { email }],
      ["/code", { code: "123456" }],
    ] as const)
      for (const form_token of ["", "x", consentVisit(world, app).form_token]) {
        const page = await mine.send(step, { ...form, form_token }, bare);
        expect([page.status, page.heading, mine.cookie()]).toEqual([403, "Sign in", ""]);
      }
    expect(await world.row(mails)).toEqual(before);
  });

  test("the page itself, in a browser that sends no fetch metadata either: shown, then signed in", async () => {
    const { email, password } = await world.person();
    const visit = consentVisit(world, await world.app());
    visit.cookie("", "consent-form");
    const page = await visit.send("/sign-in", { email, password }, bare);
    expect([page.status, page.heading]).toEqual([403, "Sign in"]);
    const form_token = /name="form_token" value="([^"]*)"/.exec(page.html)?.[1] ?? "";
    expect(page.headers.get("set-cookie")).toMatch(
      /^consent-form=\w{43}; Path=\/pages\/consent; HttpOnly; SameSite=Lax$/,
    );
    expect((await visit.send("/sign-in", { email, password, form_token }, bare)).status).toBe(303);
  });
});

test("telling who has a login by how long mailing a code takes: the same rows are written for both", async () => {
  const { email } = await world.person();
  const app = await world.app();
  const tables = await world.database.admin.query(
    "select relname as name from pg_class where relnamespace = 'core'::regnamespace and relkind = 'r'",
  );
  /** How many rows of each table a request for a code wrote. */
  const writtenBy = async (address: string) => {
    const { at } = await world.row("select pg_current_xact_id()::text::bigint as at");
    expect((await consentVisit(world, app).mailCode(address)).status).toBe(303);
    const counts: Record<string, number> = {};
    for (const { name } of tables.rows)
      counts[name] = (
        await world.row(`select count(*)::int as n from core.${name} where xmin::text::bigint > $1`, at)
      ).n;
    return counts;
  };
  const written = await writtenBy(email);
  expect(written).toMatchObject({ one_time_codes: 1, mail_outbox: 1 });
  expect(await writtenBy("nobody@example.nl"), "a login is made once the code is typed").toEqual(written);
  const { email: banned } = await world.person();
  await world.row("update auth.users set banned_until = now() + interval '1 day' where email = $1 returning 1", banned);
  expect(await writtenBy(banned)).toEqual(written);
  const { rows } = await world.database.admin.query(
    "select status, length(content::text) as length from core.mail_outbox where recipient in ($1, $2, 'nobody@example.nl') order by status",
    [email, banned],
  );
  expect(rows).toEqual([
    { status: "captured", length: rows[0].length },
    { status: "captured", length: rows[0].length },
    { status: "nobody", length: rows[0].length },
  ]);
  await world.row("select private.sweep('mail')");
  expect(await world.row("select 1 from core.mail_outbox where status = 'nobody'"), "for a moment").toBeUndefined();
});
