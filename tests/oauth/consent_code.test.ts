import { createClient } from "@supabase/supabase-js";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { secretKey } from "#shared/auth/supabase_auth.ts";
import { makeLogin } from "#shared/domain/claim/login.ts";
import { rowCounts, statementsOf } from "../harness/world.ts";
import { type ConsentVisit, consentVisit, onward, type Seen } from "./consent_visit.ts";
import { type App, createOAuthWorld, exchange, type OAuth } from "./oauth_world.ts";

const NINE = "2026-11-20T09:00:00Z";

let world: OAuth;
let app: App;
let email: string;
beforeAll(async () => {
  world = await createOAuthWorld({ limits: "lifted" });
});
afterAll(() => world.close());
beforeEach(async () => {
  app = await world.app();
  email = await customer();
});

let customers = 0;
/** A login as a claim makes it: its password is nobody's. */
async function customer(): Promise<string> {
  customers += 1;
  const address = `klant-${customers}@example.nl`;
  const partner_id = world.partnerA.id;
  await makeLogin(world.environment, { email: address, partner_id });
  return address;
}

const mailTo = async (address: string, from = world) =>
  from.mail(
    "where recipient = $1 and status <> 'nobody' order by created_at desc, age(xmin), ctid desc limit 1",
    address.trim().toLowerCase(),
  );
async function codeFor(address: string, from = world): Promise<string> {
  const mail = await mailTo(address, from);
  return /^ {4}(\d{6})$/m.exec(mail?.text)?.[1] ?? "none";
}
const other = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, "0");
const logins = async () => Number((await world.row("select count(*) from auth.users")).count);

/** Where a person who asked for a code is: on the page that asks for it, with the code that came. */
async function asked(address = email, visit = consentVisit(world, app)) {
  const sent = await visit.mailCode(address);
  expect([sent.status, new URL(sent.headers.get("location") ?? "", world.url).pathname]).toEqual([
    303,
    "/pages/consent/code",
  ]);
  return { visit, code: await codeFor(address), page: await visit.send("/code") };
}

describe("§4.5 signing in by a mailed code", () => {
  test("whose login a claim made gives an app access: from the mail to the tokens", async () => {
    const visit = consentVisit(world, app, { scope: "sessions:read", state: "x&y=z" });
    expect((await visit.show()).html).toContain(`action="/pages/consent/mail-code?`);
    const { code, page } = await asked(email, visit);
    expect([page.status, page.heading]).toEqual([200, "Enter the code"]);
    expect(page.html).toContain(email);
    expect(page.html).toMatch(/<input type="text" id="code"[^>]* autocomplete="one-time-code" inputmode="numeric"/);
    const signedIn = await visit.enterCode(code);
    expect(signedIn.status).toBe(303);
    expect(visit.cookie(undefined, "consent-code"), "the code's cookie ends with it").toBe("");

    const question = await visit.show(signedIn.headers.get("location")?.split("?")[1]);
    expect(question.heading).toBe("Do you want to give Laadapp access?");
    expect(question.html).toContain(email);
    const answer = onward(await visit.allow(question)).searchParams;
    expect(answer.get("state")).toBe("x&y=z");
    const tokens = await exchange(world, app, answer.get("code") ?? "", visit.verifier);
    expect(tokens).toMatchObject({ status: 200, body: { scope: "sessions:read" } });
  });

  test("the mail: the code first, who asks, in the language of the page; the service's own, in nobody's tenant", async () => {
    const visit = consentVisit(world, app);
    for (const [lang, subject, line, warning] of [
      ["nl", "is uw code om in te loggen", "omdat de app Laadapp om toegang vraagt", "Geef hem aan niemand"],
      ["en", "is your code to sign in", "because the app Laadapp asks for access", "Give it to nobody"],
    ] as const) {
      await visit.send("/mail-code", { email, form_token: visit.form_token }, {}, `${visit.query}&lang=${lang}`);
      const mail = await mailTo(email);
      expect(mail).toMatchObject({
        template: "sign_in",
        locale: lang,
        links: [],
        reply_to: undefined,
        status: "captured",
      });
      expect(mail.partner_id).toBe((await world.row("select private.people_tenant() as id")).id);
      expect(mail.subject).toBe(`${await codeFor(email)} ${subject}`);
      for (const text of [line, warning]) expect(mail.text).toContain(text);
    }
  });

  test("speaks both languages, and the other one keeps the page and the request", async () => {
    const { visit, page } = await asked();
    const link = /href="([^"]*)" lang="nl"/.exec(page.html)?.[1]?.replaceAll("&amp;", "&") ?? "";
    expect(link).toMatch(/^\/pages\/consent\/code\?.*client_id=/);
    const dutch = await visit.send("/code", undefined, {}, link.split("?")[1]);
    expect([dutch.heading, dutch.status]).toEqual(["Vul de code in", 200]);
    expect(dutch.html).toContain('action="/pages/consent/mail-code?');
  });

  test("the address in capitals and with spaces is the same address, and spaces in the code are none", async () => {
    const { visit, code } = await asked(` ${email.toUpperCase()} `);
    expect((await visit.enterCode(` ${code.slice(0, 3)} ${code.slice(3)}`)).status).toBe(303);
  });

  test("who has a password may do either; back at the password the address is kept", async () => {
    const person = await world.person();
    const { visit } = await asked(person.email);
    const back = await visit.show();
    expect(back.heading).toBe("Sign in");
    expect(back.html).toContain(`value="${person.email}"`);
    expect((await visit.signIn(person)).status).toBe(303);
    const again = await asked(person.email);
    expect((await again.visit.enterCode(again.code)).status).toBe(303);
  });

  test.each(["", "Sanne", `${"x".repeat(300)}@example.nl`])(
    "no address (%j) is answered with 422 and what to do",
    async (typed) => {
      const visit = consentVisit(world, app);
      const page = await visit.mailCode(typed);
      expect([page.status, page.heading]).toEqual([422, "Sign in"]);
      expect(page.html).toContain("Enter your e-⁠mail address");
      expect(page.html, "no password was asked for").not.toContain("Enter your password");
      expect(visit.cookie(undefined, "consent-code")).toBe("");
    },
  );

  test.each(["", "12345", "' or 1=1", "9".repeat(10_000)])(
    "no code (case %#) is answered with 422, and no guess is spent",
    async (typed) => {
      const { visit, code } = await asked();
      for (let i = 0; i < 6; i++) {
        const page = await visit.enterCode(typed);
        expect([page.status, page.heading]).toEqual([422, "Enter the code"]);
        expect(page.html).toContain("Enter the code of 6 digits");
      }
      expect((await visit.enterCode(code)).status).toBe(303);
    },
  );

  test("without having asked for a code there is nothing to enter: back to signing in", async () => {
    const visit = consentVisit(world, app);
    const page = await visit.send("/code");
    expect([page.status, page.headers.get("location")]).toEqual([
      303,
      expect.stringMatching(/^\/pages\/consent\?client_id=/),
    ]);
    const entered = await visit.enterCode("123456");
    expect([entered.status, entered.heading]).toEqual([422, "Sign in"]);
    expect(entered.html).toContain('<a href="#email">This code no longer works. Ask for a new code</a>');
    for (const cookie of ["x", "%20", "x%20", "%20a%40example.nl"]) {
      visit.cookie(cookie, "consent-code");
      expect((await visit.enterCode("123456")).status, cookie).not.toBe(200);
      expect(visit.cookie()).toBe("");
    }
  });

  test("the cookie of a code: for this page only, out of reach of scripts, not sent with forms of other sites", async () => {
    const sent = await consentVisit(world, app).mailCode(email);
    expect(sent.headers.get("set-cookie")).toMatch(
      /^consent-code=[\w]{43}%20klant-\d+%40example\.nl; Max-Age=3600; Path=\/pages\/consent; HttpOnly; SameSite=Lax$/,
    );
  });

  test("a form of another site neither mails nor signs in, and is answered with 403", async () => {
    const { visit, code } = await asked();
    const before = await rowCounts(world, "mail_outbox", "one_time_codes");
    for (const [step, form] of [
      ["/mail-code", { email }],
      ["/code", { code }],
    ] as const)
      expect((await visit.send(step, form, { "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect(await rowCounts(world, "mail_outbox", "one_time_codes")).toEqual(before);
  });

  test("at most two statements a request", async () => {
    const visit = consentVisit(world, app);
    expect(await statementsOf(world, () => visit.mailCode(email))).toEqual([
      "describe_authorization",
      "send_sign_in_code",
    ]);
    const code = await codeFor(email);
    expect(await statementsOf(world, () => visit.send("/code"))).toEqual(["describe_authorization"]);
    expect(await statementsOf(world, () => visit.enterCode(code))).toEqual([
      "describe_authorization",
      "redeem_sign_in_code",
    ]);
  });

  test("no code, secret, session or address of a person is in the log, and no code in the database in clear", async () => {
    const { visit, code } = await asked();
    const [secret = ""] = decodeURIComponent(visit.cookie(undefined, "consent-code")).split(" ");
    const row = JSON.stringify(await world.row("select * from core.one_time_codes where email = $1", email));
    for (const kept of [code, secret, Buffer.from(secret).toString("hex")]) expect(row).not.toContain(kept);
    await visit.enterCode(code);
    const log = JSON.stringify(world.log);
    for (const hidden of [code, secret, email, visit.cookie()]) expect(log).not.toContain(hidden);
  });
});

describe("§4.5 a code that is not right", () => {
  const refusedWith = async (visit: ConsentVisit, code: string, message: string) => {
    const page = await visit.enterCode(code);
    expect([page.status, page.heading, visit.cookie()]).toEqual([422, "Enter the code", ""]);
    expect(page.html).toContain(message);
    expect(page.html).toContain("<title>Error: Enter the code");
  };
  const WRONG = "This code is not right";
  const EXPIRED = "This code no longer works";
  const TOO_OFTEN = "You entered a wrong code too often";

  test("five wrong ones, and the right one is too late; a new one works", async () => {
    const { visit, code } = await asked();
    for (let i = 0; i < 5; i++) await refusedWith(visit, other(code), WRONG);
    await refusedWith(visit, code, TOO_OFTEN);
    const again = await asked(email, visit);
    expect((await visit.enterCode(again.code)).status).toBe(303);
  });

  test("ten wrong ones at once: five are judged", async () => {
    const { visit, code } = await asked();
    const pages = await Promise.all(Array.from({ length: 10 }, () => visit.enterCode(other(code))));
    const judged = (message: string) => pages.filter(({ html }) => html.includes(message)).length;
    expect([judged(WRONG), judged(TOO_OFTEN)]).toEqual([5, 5]);
  });

  test("works once and for a second click, also for ten at once: two sessions of the browser that asked", async () => {
    const { visit, code } = await asked();
    const token = visit.cookie(undefined, "consent-code");
    const copies = Array.from({ length: 10 }, () => {
      const copy = consentVisit(world, app);
      copy.cookie(token, "consent-code");
      return copy;
    });
    const answers = await Promise.all(copies.map((copy) => copy.enterCode(code)));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 303, ...Array(8).fill(422)]);
    expect(copies.filter((copy) => copy.cookie() !== "")).toHaveLength(2);
    const sessions = await world.row(
      "select count(*)::int as n from auth.refresh_tokens t join auth.users u on u.id = t.user_id where u.email = $1",
      email,
    );
    expect(sessions.n).toBe(2);
    await refusedWith(visit, code, EXPIRED);
  });

  test("of two clicks at once, the one whose link of Supabase Auth the other replaced leads on too", async () => {
    const { visit, code } = await asked();
    const { SUPABASE_URL } = world.environment.config;
    const { auth } = createClient(SUPABASE_URL, secretKey(world.environment));
    const fetched = globalThis.fetch;
    let verified = 0;
    const spy = vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
      if (String(input).endsWith("/auth/v1/verify")) {
        verified += 1;
        if (verified === 1) await auth.admin.generateLink({ type: "magiclink", email });
      }
      return fetched(input, init);
    });
    const { status } = await visit.enterCode(code).finally(() => spy.mockRestore());
    expect([status, verified, visit.cookie() !== ""]).toEqual([303, 2, true]);
  });

  test("a double click leads on, where the answer to the first never arrived", async () => {
    const { visit, code } = await asked();
    const token = visit.cookie(undefined, "consent-code");
    const first = consentVisit(world, app);
    first.cookie(token, "consent-code");
    expect((await first.enterCode(code)).status).toBe(303);
    const second = await visit.enterCode(code);
    expect([second.status, visit.cookie() !== ""]).toEqual([303, true]);
    expect((await visit.enterCode(code)).status, "whoever is signed in is led on").toBe(303);
    const third = consentVisit(world, app);
    third.cookie(token, "consent-code");
    await refusedWith(third, code, EXPIRED);
  });

  test("ten seconds later the code is used", async () => {
    const { visit, code } = await asked();
    const later = consentVisit(world, app);
    later.cookie(visit.cookie(undefined, "consent-code"), "consent-code");
    expect((await visit.enterCode(code)).status).toBe(303);
    await world.row(
      "update core.one_time_codes set expires_at = expires_at - interval '10 seconds' where used_hash is not null returning 1",
    );
    await refusedWith(later, code, EXPIRED);
  });

  test("is of one browser: neither another's code nor the right code elsewhere signs in", async () => {
    const mine = await asked();
    const theirs = await asked(await customer());
    await refusedWith(theirs.visit, mine.code === theirs.code ? other(mine.code) : mine.code, WRONG);
    // a second browser that asks does not end the first one's code
    const second = await asked();
    await refusedWith(second.visit, mine.code === second.code ? other(mine.code) : mine.code, WRONG);
    expect((await mine.visit.enterCode(mine.code)).status).toBe(303);
    expect((await second.visit.enterCode(second.code)).status).toBe(303);
  });

  test("the address in the cookie decides nothing: whose code it is, signs in", async () => {
    const victim = await customer();
    const { visit, code } = await asked();
    const [secret] = decodeURIComponent(visit.cookie(undefined, "consent-code")).split(" ");
    visit.cookie(encodeURIComponent(`${secret} ${victim}`), "consent-code");
    expect((await visit.enterCode(code)).status).toBe(303);
    const { html } = await visit.show();
    expect(html).toContain(email);
    expect(html).not.toContain(victim);
  });

  test("ten minutes: then it is told to ask for a new one, and the clean-up forgets it", async () => {
    const timed = await createOAuthWorld();
    try {
      await timed.freeze(NINE);
      const its = await timed.app();
      const { email: address } = await timed.person();
      const visits = [consentVisit(timed, its), consentVisit(timed, its)];
      const codes: string[] = [];
      for (const visit of visits) {
        await visit.mailCode(address);
        codes.push(await codeFor(address, timed));
      }
      await timed.freeze("2026-11-20T09:09:59Z");
      expect((await visits[0]?.enterCode(codes[0] ?? ""))?.status).toBe(303);
      await timed.freeze("2026-11-20T09:10:00Z");
      const late = await visits[1]?.enterCode(codes[1] ?? "");
      expect([late?.status, late?.html.includes(EXPIRED)]).toEqual([422, true]);
      await timed.freeze("2026-11-20T09:10:01Z");
      expect((await timed.row("select private.sweep('oauth')::int as n")).n, "the used one too").toBe(2);
      expect(await rowCounts(timed, "one_time_codes")).toEqual({ one_time_codes: 0 });
    } finally {
      await timed.close();
    }
  });

  test.each([
    ["deleted by a mark", "update auth.users set deleted_at = now() where email = $1"],
    ["banned", "update auth.users set banned_until = now() + interval '1 day' where email = $1"],
  ])("a login %s meanwhile gives nothing, and none is made", async (_what, statement) => {
    const { visit, code } = await asked();
    await world.row(statement, email);
    const before = await logins();
    await refusedWith(visit, code, WRONG);
    expect(await logins()).toBe(before);
  });

  test("a login deleted meanwhile is made again: the code proves the address", async () => {
    const { visit, code } = await asked();
    await world.row("delete from auth.users where email = $1", email);
    expect((await visit.enterCode(code)).status).toBe(303);
    expect(
      (await world.row("select raw_app_meta_data as marks from auth.users where email = $1", email)).marks,
    ).toMatchObject({ proved_email: email });
  });

  test("a login that ends while Auth is asked: told to ask for a new code", async () => {
    const { visit, code } = await asked();
    const { db } = world.environment;
    world.environment.db = {
      ...db,
      async call(name, ...args) {
        const answer = await db.call(name, ...args);
        if (name === "redeem_sign_in_code") await world.row("delete from auth.users where email = $1", email);
        return answer;
      },
    };
    try {
      await refusedWith(visit, code, EXPIRED);
    } finally {
      world.environment.db = db;
    }
  });

  test("where Auth is down it answers 503, and nobody is signed in", async () => {
    const { visit, code } = await asked();
    const { SUPABASE_URL } = world.environment.config;
    world.environment.config.SUPABASE_URL = "http://127.0.0.1:1";
    try {
      const page = await visit.enterCode(code);
      expect([page.status, page.headers.get("retry-after"), visit.cookie()]).toEqual([503, "5", ""]);
    } finally {
      world.environment.config.SUPABASE_URL = SUPABASE_URL;
    }
  });

  test("without a secret key it answers 503 before anything is mailed, with a wrong one 500; the log names the variable", async () => {
    const { SUPABASE_SECRET_KEY } = world.environment.config;
    const { visit, code } = await asked();
    const before = await rowCounts(world, "mail_outbox", "one_time_codes");
    try {
      world.environment.config.SUPABASE_SECRET_KEY = undefined;
      expect((await visit.mailCode(email)).status).toBe(503);
      expect(world.log.at(-1)).toMatchObject({ cause: { message: "SUPABASE_SECRET_KEY is not set" } });
      expect(await rowCounts(world, "mail_outbox", "one_time_codes")).toEqual(before);
      world.environment.config.SUPABASE_SECRET_KEY = "sb_secret_other";
      expect((await visit.enterCode(code)).status).toBe(500);
      expect(world.log.at(-1)).toMatchObject({
        cause: { message: "SUPABASE_SECRET_KEY: Supabase Auth does not know it" },
      });
    } finally {
      world.environment.config.SUPABASE_SECRET_KEY = SUPABASE_SECRET_KEY;
    }
  });
});

describe("§4.5 nobody learns whether an address has a login", () => {
  const seen = ({ status, html, headers }: Seen, address: string) => ({
    status,
    html: html
      .replaceAll(address, "somebody")
      .replace(/code_challenge=[\w-]+/g, "")
      .replace(/(name="form_token" value=)"[0-9a-f]{64}"/g, "$1"),
    headers: [...headers].filter(([name]) => !["date", "x-request-id", "set-cookie", "location"].includes(name)),
  });

  const none: [what: string, make: () => Promise<string>, mailed?: true][] = [
    ["an unknown address", async () => "nobody@example.nl", true],
    [
      "a login that was never confirmed, which may be a stranger's",
      async () => {
        await world.row("update auth.users set email_confirmed_at = null where email = $1", email);
        return email;
      },
      true,
    ],
    [
      "a banned login",
      async () => {
        await world.row("update auth.users set banned_until = now() + interval '1 day' where email = $1", email);
        return email;
      },
    ],
    [
      "a deleted login",
      async () => {
        await world.row("update auth.users set deleted_at = now() where email = $1", email);
        return email;
      },
    ],
    [
      "a login of single sign-on",
      async () => {
        await world.row("update auth.users set is_sso_user = true where email = $1", email);
        return email;
      },
      true,
    ],
  ];
  test.each(none)("%s gets the same answers, and no login by a wrong code", async (_what, make, mailed) => {
    const known = await customer();
    const address = await make();
    const before = await logins();
    const visits = [consentVisit(world, app), consentVisit(world, app)] as const;
    const both = async (step: (visit: (typeof visits)[number], to: string) => Promise<Seen>) => {
      const [a, b] = [await step(visits[0], known), await step(visits[1], address)];
      expect(seen(b, address)).toEqual(seen(a, known));
      return b;
    };
    await both((visit, to) => visit.mailCode(to));
    expect(await mailTo(known)).toBeDefined();
    expect((await mailTo(address)) !== undefined, "a code that opens something, or makes it").toBe(mailed === true);
    await both((visit) => visit.send("/code"));
    const wrong = other(await codeFor(known));
    for (let i = 0; i < 5; i++) expect((await both((visit) => visit.enterCode(wrong))).html).toContain("not right");
    expect((await both((visit) => visit.enterCode(wrong))).html).toContain("too often");
    expect(await logins()).toBe(before);
  });

  test("of a banned login even the code that was made, and not mailed, is wrong", async () => {
    await world.row("update auth.users set banned_until = now() + interval '1 day' where email = $1", email);
    const visit = consentVisit(world, app);
    await visit.mailCode(email);
    const [secret] = decodeURIComponent(visit.cookie(undefined, "consent-code")).split(" ");
    await world.row(
      "update core.one_time_codes set code_hash = sha256(convert_to($1, 'UTF8')) where subject = 'browser:' || encode(sha256(convert_to($2, 'UTF8')), 'hex')",
      `${secret}:123456`,
      secret,
    );
    const before = await logins();
    const page = await visit.enterCode("123456");
    expect([page.status, visit.cookie(), await logins()]).toEqual([422, "", before]);
    expect(page.html).toContain("This code is not right");
  });

  test("a ban that is over is none", async () => {
    await world.row("update auth.users set banned_until = now() - interval '1 day' where email = $1", email);
    const { visit, code } = await asked();
    expect((await visit.enterCode(code)).status).toBe(303);
  });
});

describe("§8 limits of mailed codes", () => {
  let limited: OAuth;
  beforeAll(async () => {
    limited = await createOAuthWorld({ now: NINE });
  });
  afterAll(() => limited.close());

  const askTimes = async (times: number, address: string, from: string) => {
    const its = await limited.app();
    const pages = await Promise.all(
      Array.from({ length: times }, () => consentVisit(limited, its, {}, from).mailCode(address)),
    );
    return pages.map(({ status }) => status).sort();
  };
  const mails = async (address: string) =>
    (await limited.row("select count(*)::int as n from core.mail_outbox where recipient = $1", address)).n;

  test("ten a day per account and address, whether there is a login or not; its owner elsewhere goes on", async () => {
    const { email: address } = await limited.person();
    for (const to of [address, "nobody@example.nl"])
      expect(await askTimes(12, to, "192.0.2.40")).toEqual([...Array(10).fill(303), 429, 429]);
    expect(await mails(address)).toBe(10);
    expect(await askTimes(1, address, "192.0.2.41")).toEqual([303]);
  });

  test("twenty a day per account, wherever they are asked for: then a page that says when", async () => {
    const { email: address } = await limited.person();
    for (const from of ["192.0.2.50", "192.0.2.51"]) await askTimes(10, address, from);
    const visit = consentVisit(limited, await limited.app(), {}, "192.0.2.52");
    const page = await visit.mailCode(address);
    expect([page.status, page.headers.get("retry-after")]).toEqual([429, "4320"]);
    expect(page.heading).toBe("Too many codes were asked for today");
    expect(page.html).toContain("Try again in 72 minutes");
    expect(page.html).toContain('href="/pages/consent/code?client_id=');
    expect(await mails(address)).toBe(20);
  });

  test("what is counted before a code is refused stays counted: a refused one uses up its address too", async () => {
    const { email: address } = await limited.person();
    expect(await askTimes(30, address, "192.0.2.61")).toEqual([...Array(10).fill(303), ...Array(20).fill(429)]);
    expect(await askTimes(1, "another@example.nl", "192.0.2.61"), "thirty were counted").toEqual([429]);
    expect(await askTimes(1, "another@example.nl", "192.0.2.62")).toEqual([303]);
  });

  test("thirty sign-ins per address in five minutes, codes and passwords together, whatever the account", async () => {
    const its = await limited.app();
    const visit = consentVisit(limited, its, {}, "192.0.2.60");
    const statuses: number[] = [];
    for (let i = 0; i < 31; i++) {
      const form = { email: `${i}@example.nl`, password: "a guess" };
      statuses.push((await (i % 2 ? visit.mailCode(form.email) : visit.signIn(form))).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 30 }, (_, i) => (i % 2 ? 303 : 422)), 429]);
  });
});
