import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newTokenKey } from "../harness/environment.ts";
import { rowCounts } from "../harness/world.ts";
import { type ConsentVisit, consentVisit, onward, proofIn, type Seen } from "./consent_visit.ts";
import {
  type App,
  authorizationOf,
  createOAuthWorld,
  exchange,
  newVerifier,
  type OAuth,
  type Person,
  REDIRECT_URI,
} from "./oauth_world.ts";

let world: OAuth;
let person: Person;
let app: App;
beforeAll(async () => {
  world = await createOAuthWorld({ limits: "lifted" });
});
afterAll(() => world.close());
beforeEach(async () => {
  person = await world.person();
  app = await world.app();
});

/** Signed in, and looking at what is asked. */
async function asked(fields: Record<string, unknown> = {}) {
  const visit = consentVisit(world, app, fields);
  await visit.signIn(person);
  return { visit, page: await visit.show() };
}
const grants = async () => (await rowCounts(world, "oauth_grants")).oauth_grants;

describe("§4.5 the consent page", () => {
  test("signs in, says who asks for what, and leads back with a code that works", async () => {
    const visit = consentVisit(world, app, { scope: "sessions:read energy:read", state: "x&y=z" });
    const first = await visit.show();
    expect([first.status, first.heading]).toEqual([200, "Sign in"]);
    const signedIn = await visit.signIn(person);
    expect(signedIn.status).toBe(303);
    const page = await visit.show();
    expect(page.heading).toBe("Do you want to give Laadapp access?");
    expect(page.html).toContain("The app Laadapp, by Laadapp B.V., asks");
    expect(page.html).toContain("see your charging sessions");
    expect(page.html).not.toContain("see which chargers you have");
    expect(page.html).toContain(person.email);
    expect(page.html).toContain("you go back to app.example");

    const done = await visit.allow(page);
    expect(done.status).toBe(200);
    const answer = onward(done);
    expect(answer.searchParams.get("state")).toBe("x&y=z");
    expect(done.html, "and a link, for who is not taken there").toContain(
      `href="${answer.href.replaceAll("&", "&amp;")}"`,
    );
    const tokens = await exchange(world, app, answer.searchParams.get("code") ?? "", visit.verifier);
    expect(tokens).toMatchObject({ status: 200, body: { scope: "sessions:read energy:read" } });
  });

  test("without an operator of its own, an application is its partner's", async () => {
    app = await world.app({ partner: world.partnerA.id });
    await world.row("update core.oauth_clients set operated_by = null where id = $1", app.id);
    expect((await asked()).page.html).toContain("The app Laadapp, by partner-a, asks");
  });

  test("speaks the language of ui_locales, and every scope in both", async () => {
    app = await world.app({
      scopes: "chargers:read chargers:write sessions:read energy:read profile:read partners:read partners:write".split(
        " ",
      ),
    });
    const scope = "chargers:read chargers:write sessions:read energy:read profile:read partners:read partners:write";
    const { visit, page } = await asked({ scope });
    expect(page.html.match(/<span>(see|add|change) /g)).toHaveLength(7);
    const dutch = await visit.show(`${visit.query}&ui_locales=fr%20nl`);
    expect(dutch.html).toContain('<html lang="nl">');
    expect(dutch.html).toContain("uw laadbeurten zien");
  });

  test("refusing is a link back with access_denied and the state, and changes nothing", async () => {
    const before = await grants();
    const { page } = await asked({ state: "s" });
    const links = [...page.html.matchAll(/href="(https:[^"]*)"/g)].map(([, href = ""]) =>
      href.replaceAll("&amp;", "&"),
    );
    const error_description = "The person did not allow it.";
    expect(links).toEqual([
      `${REDIRECT_URI}&${new URLSearchParams({ error: "access_denied", error_description, state: "s", iss: world.url })}`,
    ]);
    expect(await grants()).toBe(before);
  });

  test("the session ends with the decision; whoever sends it again after Back is told that it was taken", async () => {
    const { visit, page } = await asked();
    await visit.allow(page);
    expect(visit.cookie()).toBe("");
    expect((await visit.show()).heading).toBe("Sign in");
    const again = await visit.allow(page);
    expect([again.status, again.heading, again.headers.get("refresh")]).toEqual([
      200,
      "You gave Laadapp access already",
      null,
    ]);
    visit.cookie("another", "consent-decided");
    expect((await visit.allow(page)).html).toContain("What you just did was not sent");
    visit.cookie("", "consent-decided");
    expect((await visit.allow({ ...page, html: "" })).html, "decided nothing").toContain("was not sent");
  });

  test("signing in as somebody else: the session ends, the request stays", async () => {
    const { visit } = await asked();
    const answer = await visit.send("/sign-out", {});
    expect(answer.status).toBe(303);
    expect(answer.headers.get("location")).toContain(new URLSearchParams({ client_id: app.client_id }).toString());
    expect((await visit.show()).heading).toBe("Sign in");
  });

  const sessions = async () =>
    (await world.row("select count(*)::int as n from auth.sessions where user_id = $1", person.id)).n;

  test("signing out, and the decision, end the session at Supabase Auth too: its JWT is worth nothing from then on", async () => {
    const ends: ((visit: ConsentVisit, page: Seen) => Promise<Seen>)[] = [
      (visit) => visit.send("/sign-out", {}),
      (visit, page) => visit.allow(page),
    ];
    await world.row("delete from auth.sessions where user_id = $1", person.id);
    for (const end of ends) {
      const { visit, page } = await asked();
      const session = visit.cookie();
      expect(await sessions()).toBe(1);
      await end(visit, page);
      expect(await sessions()).toBe(0);
      expect((await world.post("/oauth-authorize", authorizationOf(app, visit.verifier), session)).status).toBe(401);
    }
  });

  test("where Auth is away signing out still forgets the session here, and the log says that it was not ended there", async () => {
    const { visit } = await asked();
    const { SUPABASE_URL } = world.environment.config;
    world.environment.config.SUPABASE_URL = "http://127.0.0.1:1";
    const { status } = await visit.send("/sign-out", {}).finally(() => {
      world.environment.config.SUPABASE_URL = SUPABASE_URL;
    });
    expect([status, visit.cookie()]).toEqual([303, ""]);
    expect(world.log).toContainEqual(expect.objectContaining({ event: "session_not_ended", level: "warn" }));
  });

  test("the cookie: for this page only, out of reach of scripts, not sent with forms of other sites, ten minutes", async () => {
    const answer = await consentVisit(world, app).signIn(person);
    expect(answer.headers.getSetCookie()[0]).toMatch(
      /^consent=[\w.-]+; Max-Age=600; Path=\/pages\/consent; HttpOnly; SameSite=Lax$/,
    );
  });

  test("a session that has expired, or is of another key, is asked for again", async () => {
    const { visit, page } = await asked();
    const now = Math.floor(Date.now() / 1000);
    for (const session of [
      await person.session({ exp: now - 1 }),
      await world.signSession({ sub: person.id, email: person.email }, {}, newTokenKey("auth-1")),
      "garbage",
    ]) {
      visit.cookie(session);
      expect((await visit.show()).heading).toBe("Sign in");
      const answer = await visit.allow(page);
      expect([answer.heading, answer.html.includes("What you just did was not sent")]).toEqual(["Sign in", true]);
    }
  });

  test("a login deleted meanwhile gives nothing", async () => {
    const { visit, page } = await asked();
    await world.row("delete from auth.users where id = $1", person.id);
    const answer = await visit.allow(page);
    expect([answer.status, answer.headers.get("refresh")]).toEqual([200, null]);
    expect(answer.heading).toBe("Sign in");
    expect(world.log.at(-1)).toMatchObject({ function: "pages", outcome: "missing_or_invalid_token" });
  });

  test("allowing is one request, which asks nobody else: one line in the log says what became of it", async () => {
    const { visit, page } = await asked();
    const lines = world.log.length;
    expect((await visit.allow(page)).status).toBe(200);
    expect(world.log.slice(lines)).toMatchObject([
      { function: "pages", route: "/pages/consent", status: 200, outcome: "allowed" },
    ]);
  });
});

describe("§4.5 signing in", () => {
  const wrong: [what: string, form: () => { email: string; password: string }, message: string][] = [
    ["a wrong password", () => ({ ...person, password: "a guess" }), "do not belong together"],
    [
      "an unknown address, which answers alike",
      () => ({ email: "nobody@example.nl", password: "a guess" }),
      "do not belong together",
    ],
    ["no password", () => ({ ...person, password: "" }), "Enter your password"],
    ["no address", () => ({ ...person, email: "" }), "Enter your e-⁠mail address"],
    ["an address that is none", () => ({ ...person, email: "Sanne" }), "Enter your e-⁠mail address"],
  ];
  test.each(wrong)(
    "signing in with %s is answered with 422 and what to do; the address is kept, the password not",
    async (_what, form, message) => {
      const visit = consentVisit(world, app);
      const { email, password } = form();
      const page = await visit.signIn({ email, password });
      expect(page.status).toBe(422);
      expect(page.html).toContain(message);
      expect(page.html).toContain("<title>Error: Sign in");
      expect(page.html).toContain(`value="${email}"`);
      if (password) expect(page.html).not.toContain(`"${password}"`);
      expect(visit.cookie()).toBe("");
    },
  );

  test("the address in capitals and with spaces is the same address", async () => {
    expect(
      (await consentVisit(world, app).signIn({ ...person, email: ` ${person.email.toUpperCase()} ` })).status,
    ).toBe(303);
  });

  test("where Auth is down it answers 503, without a word about the password", async () => {
    const { SUPABASE_URL } = world.environment.config;
    world.environment.config.SUPABASE_URL = "http://127.0.0.1:1";
    try {
      const page = await consentVisit(world, app).signIn(person);
      expect(page.status).toBe(503);
      expect(page.headers.get("retry-after")).toBe("5");
    } finally {
      world.environment.config.SUPABASE_URL = SUPABASE_URL;
    }
  });

  test("contract §9 attack: an Auth that takes the request and says nothing is 503 within its limit", async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { SUPABASE_URL } = world.environment.config;
    world.environment.config.SUPABASE_URL = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const begun = performance.now();
    try {
      const page = await consentVisit(world, app).signIn(person);
      expect([page.status, page.headers.get("retry-after")]).toEqual([503, "5"]);
      expect(performance.now() - begun).toBeLessThan(12_000);
    } finally {
      world.environment.config.SUPABASE_URL = SUPABASE_URL;
      silent.closeAllConnections();
      silent.close();
    }
  });

  test("without a publishable key the page is closed, and the log says which variable to set", async () => {
    const { PUBLISHABLE_KEY } = world.environment.config;
    for (const [key, message] of [
      [undefined, "PUBLISHABLE_KEY: is needed to sign people in"],
      ["sb_publishable_other", "PUBLISHABLE_KEY: Supabase Auth does not know it"],
    ] as const) {
      world.environment.config.PUBLISHABLE_KEY = key;
      try {
        expect((await consentVisit(world, app).signIn(person)).status).toBe(500);
        expect(world.log.at(-1)).toMatchObject({ level: "error", cause: { message } });
      } finally {
        world.environment.config.PUBLISHABLE_KEY = PUBLISHABLE_KEY;
      }
    }
  });

  test("no password, code, session or address of a person is in the log", async () => {
    const { visit, page } = await asked();
    const code = onward(await visit.allow(page)).searchParams.get("code") ?? "none";
    const log = JSON.stringify(world.log);
    for (const secret of [person.password, person.email, code, proofIn(page)]) expect(log).not.toContain(secret);
  });
});

describe("§8 limits of the consent page", () => {
  let limited: OAuth;
  beforeAll(async () => {
    limited = await createOAuthWorld({ now: "2026-11-20T09:00:00Z" });
  });
  afterAll(() => limited.close());

  test("ten sign-ins per account and address in five minutes, the right password included; another address goes on", async () => {
    const its = await limited.app();
    const someone = await limited.person();
    const visit = consentVisit(limited, its, {}, "192.0.2.10");
    const guesses = await Promise.all(
      Array.from({ length: 12 }, () => visit.signIn({ ...someone, password: "a guess" })),
    );
    expect(guesses.map(({ status }) => status).sort()).toEqual([...Array(10).fill(422), 429, 429]);
    const right = await visit.signIn(someone);
    expect(right.status).toBe(429);
    expect(Number(right.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(right.heading).toBe("One moment please");
    expect((await consentVisit(limited, its, {}, "192.0.2.11").signIn(someone)).status).toBe(303);
  });

  test("thirty sign-ins per address in five minutes, whatever the account", async () => {
    const its = await limited.app();
    const visit = consentVisit(limited, its, {}, "192.0.2.20");
    const statuses: number[] = [];
    for (let i = 0; i < 31; i++)
      statuses.push((await visit.signIn({ email: `${i}@example.nl`, password: "a guess" })).status);
    expect(statuses).toEqual([...Array(30).fill(422), 429]);
  });

  test("sixty pages per address a minute", async () => {
    const its = await limited.app();
    const visit = consentVisit(limited, its, {}, "192.0.2.30");
    const statuses: number[] = [];
    for (let i = 0; i < 61; i++) statuses.push((await visit.show()).status);
    expect(statuses).toEqual([...Array(60).fill(200), 429]);
  });

  test("a page for an application that does not exist counts too, so that nobody tries names without end", async () => {
    const visit = consentVisit(limited, { client_id: "app_unknown" }, {}, "192.0.2.31");
    const statuses: number[] = [];
    for (let i = 0; i < 61; i++) statuses.push((await visit.show()).status);
    expect(statuses).toEqual([...Array(60).fill(400), 429]);
  });

  test("allowing counts against the same limit of a person as oauth-authorize: a page says when to try again", async () => {
    const its = await limited.app();
    const someone = await limited.person();
    const session = await someone.session();
    const ask = () => limited.post("/oauth-authorize", authorizationOf(its, newVerifier()), session);
    const visit = consentVisit(limited, its, {}, "192.0.2.40");
    await visit.signIn(someone);
    const page = await visit.show();
    await Promise.all(Array.from({ length: 60 }, ask));
    const refused = await visit.allow(page);
    expect([refused.status, refused.heading]).toEqual([429, "One moment please"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(refused.headers.get("refresh")).toBeNull();
    expect((await visit.show()).heading, "the session is kept").toBe("Do you want to give Laadapp access?");
  });
});

// Attacks ------------------------------------------------------------------------------------------------------------

describe("contract §7 RFC 9700 §4.11.2 the authorization server is no open redirector", () => {
  test.each([
    ["an unknown client", { client_id: "app_unknown" }],
    ["no client", { client_id: undefined }],
    ["another redirect URI", { redirect_uri: "https://evil.example/callback" }],
    ["a redirect URI with more at its end", { redirect_uri: `${REDIRECT_URI}&x=1` }],
    ["no redirect URI", { redirect_uri: undefined }],
    ["an empty redirect URI", { redirect_uri: "" }],
    ["a redirect URI with a line break", { redirect_uri: `${REDIRECT_URI}\r\nLocation: https://evil.example` }],
    ["javascript", { redirect_uri: "javascript:alert(1)" }],
  ])("a request with %s is answered by a page, never by a redirect or a link there", async (_what, fields) => {
    const page = await consentVisit(world, app, fields).show();
    expect([page.status, page.heading]).toEqual([400, "This link from the app is not right"]);
    expect(page.headers.get("location") ?? page.headers.get("refresh")).toBeNull();
    expect(page.html).not.toMatch(/href="(https:\/\/evil|javascript)|url=/);
    // field E1: a line for its maker
    expect(page.html).toMatch(/<p class="quiet">For the maker of the app: .* Request [0-9a-f-]{36}\.<\/p>/);
    expect(world.log.at(-1)?.request_id).toBe(/Request (\S+)\./.exec(page.html)?.[1]);
  });

  test.each(["client_id", "redirect_uri"])("a %s that is sent twice is answered by a page", async (name) => {
    const visit = consentVisit(world, app);
    const page = await visit.show(`${visit.query}&${new URLSearchParams({ [name]: "https://evil.example" })}`);
    expect(page.status).toBe(400);
  });
});

describe("§4.5 RFC 6749 §4.1.2.1 what else is wrong goes to the application", () => {
  test.each([
    ["response_type token", { response_type: "token" }, "unsupported_response_type", "response_type must be code."],
    ["no response_type", { response_type: undefined }, "invalid_request", "response_type: is missing"],
    [
      "an unknown scope",
      { scope: "admin" },
      "invalid_scope",
      "Ask only for scopes that this client was granted, separated by spaces.",
    ],
    [
      "no scope",
      { scope: undefined },
      "invalid_scope",
      "Ask only for scopes that this client was granted, separated by spaces.",
    ],
    ["a state with é", { state: "é" }, "invalid_request", "state: must be printable ASCII"],
    [
      "RFC 9700 §4.8.2 no code_challenge",
      { code_challenge: undefined },
      "invalid_request",
      "code_challenge: is missing",
    ],
    [
      "RFC 9700 §4.8.2 plain",
      { code_challenge_method: "plain" },
      "invalid_request",
      "code_challenge_method: must be S256",
    ],
    [
      "RFC 9700 §4.8.2 no method",
      { code_challenge_method: undefined },
      "invalid_request",
      "code_challenge_method: must be S256",
    ],
  ])("%s is told to the application (case %#)", async (_what, fields, error, error_description) => {
    const page = await consentVisit(world, app, fields).show();
    expect(page.status, "See Other").toBe(303);
    const answer = new URL(page.headers.get("location") ?? "");
    expect(`${answer.origin}${answer.pathname}`).toBe("https://app.example/callback");
    const state = "state" in fields ? {} : { state: "a state" };
    expect(Object.fromEntries(answer.searchParams)).toEqual({
      ...{ from: "ere", error, error_description, iss: world.url },
      ...state,
    });
  });

  test("no state, or one sent twice, is invalid_request without a state", async () => {
    const without = await consentVisit(world, app, { state: undefined }).show();
    const visit = consentVisit(world, app);
    for (const page of [without, await visit.show(`${visit.query}&state=other`)]) {
      const answer = new URL(page.headers.get("location") ?? "").searchParams;
      expect([answer.get("error"), answer.get("state")]).toEqual(["invalid_request", null]);
    }
  });
});

describe("§4.5 RFC 9700 §4.7 CSRF: nobody else's page can say yes", () => {
  const refused = async (headers: Record<string, string>) => {
    const { visit, page } = await asked();
    const before = await grants();
    const answer = await visit.send("", { proof: proofIn(page) }, headers);
    expect([answer.status, answer.headers.get("refresh")]).toEqual([403, null]);
    expect(await grants()).toBe(before);
  };
  test.each(["cross-site", "same-site", "none"])("a form from a page that is %s is refused", (site) =>
    refused({ "sec-fetch-site": site }),
  );
  test("a JSON body is refused", () => refused({ "content-type": "application/json" }));

  test("a form without the proof, with a proof of another session, or of another request: asked again", async () => {
    const { visit, page } = await asked();
    const other = await asked({ scope: "energy:read" });
    const person1 = person;
    person = await world.person();
    const stranger = await asked();
    person = person1;
    const before = await grants();
    for (const proof of ["", "x", proofIn(other.page), proofIn(stranger.page)]) {
      const answer = await visit.send("", { proof });
      expect([answer.status, answer.heading, answer.headers.get("refresh")]).toEqual([
        409,
        "Do you want to give Laadapp access?",
        null,
      ]);
    }
    expect(await grants()).toBe(before);
    expect((await visit.allow(page)).status).toBe(200);
  });

  test("RFC 9700 §2.3 more scopes than were shown: the proof does not fit", async () => {
    const { visit, page } = await asked({ scope: "energy:read" });
    const wider = new URLSearchParams(visit.query);
    wider.set("scope", "energy:read sessions:read");
    const answer = await visit.send("", { proof: proofIn(page) }, {}, wider.toString());
    expect([answer.status, answer.headers.get("refresh")]).toEqual([409, null]);
  });

  test("a cross-site sign-in (somebody else's account slipped in): 403, no cookie", async () => {
    const visit = consentVisit(world, app);
    const { email, password } = person;
    const answer = await visit.send("/sign-in", { email, password }, { "sec-fetch-site": "cross-site" });
    expect([answer.status, visit.cookie()]).toEqual([403, ""]);
  });
});

test("§4.5 RFC 9700 §4.2 and §4.3 nothing leaks by referrer, cache or history", async () => {
  const { visit, page } = await asked();
  const done = await visit.allow(page);
  for (const { headers } of [page, done]) {
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("cache-control")).toBe("no-store");
  }
});

test("§4.5 RFC 9700 §4.12 no answer to a form is a redirect that repeats it (307, 308)", async () => {
  const visit = consentVisit(world, app);
  const signedIn = await visit.signIn(person);
  const out = await visit.send("/sign-out", {});
  expect([signedIn.status, out.status]).toEqual([303, 303]);
  for (const { headers } of [signedIn, out])
    expect(new URL(headers.get("location") ?? "", world.url).origin, "to ourselves").toBe(world.url);
});

test("§4.5 RFC 9700 §4.16 clickjacking: in nobody's frame", async () => {
  const { page } = await asked();
  expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  expect(page.headers.get("x-frame-options")).toBe("DENY");
});

test("§4.5 an application's name and a state that are HTML are text", async () => {
  const name = `<script>alert(1)</script>"'`;
  await world.row("update core.oauth_clients set name = $2, operated_by = $2 where id = $1", app.id, name);
  const { visit, page } = await asked({ state: `"><img src=x onerror=alert(1)>` });
  const done = await visit.allow(page);
  for (const { html } of [page, done]) {
    expect(html).not.toMatch(/<script(?! defer src="[^"]*\/page\.js)|<img/);
    expect(html).toContain("&lt;script&gt;");
  }
});
