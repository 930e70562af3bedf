// A person's own pages by plain HTTP: who gets in, what ends it, and what of others nobody sees.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashPassword } from "#local/auth.ts";
import { hashSecret } from "#shared/auth/tokens.ts";
import { mac } from "#shared/domain/claim/links.ts";
import { addCharger, ingest, MID_CHARGER } from "../harness/chargers.ts";
import { giveMandate } from "../harness/mandate.ts";
import { rowCounts } from "../harness/world.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { formToken, heading, newBrowser } from "./claimant.ts";
import {
  browserOf,
  type Customer,
  createCustomerWorld,
  mijn,
  newCustomer,
  paidCustomer,
  signIn,
  signInCode,
} from "./customer.ts";

let world: SandboxWorld;
let paid: Customer;
let other: Customer;
beforeAll(async () => {
  world = await createCustomerWorld();
  paid = await paidCustomer(world);
  other = await newCustomer(world);
});
afterAll(() => world.close());

/** The mails with a code to sign in that there are. */
const codesTo = async ({ email }: Customer): Promise<string[]> =>
  (await world.rows("select id from core.mail_outbox where recipient = $1 and template = 'sign_in'", email)).map(
    ({ id }) => id,
  );

const PAGES = ["", "/charging", "/earnings", "/mandate", "/chargers", "/sharing", "/tokens", "/data", "/data/end"];

describe("contract §7 signing in to one's own pages", () => {
  test("by a mailed code, in a cookie of these pages alone, and on to the page that was asked for", async () => {
    const ask = newBrowser(world);
    const first = await ask(mijn(world, "/earnings"));
    expect(first.location).toMatch(/\/mijn\/sign-in\?lang=nl&to=%2Fearnings$/);
    const answer = await signIn(world, ask, paid.email, "?to=/earnings");
    expect([answer.status, answer.location]).toEqual([303, "/pages/mijn/earnings?lang=nl"]);
    const [cookie = ""] = answer.headers.getSetCookie().filter((set) => set.startsWith("mijn="));
    expect(cookie).toMatch(
      /^mijn=[0-9A-Za-z]{43}\.[\w-]{22}; Max-Age=86400; Path=\/pages\/mijn; HttpOnly; SameSite=Lax$/,
    );
    expect(heading((await ask(answer.location ?? "")).text)).toBe("Geld in 2026");
    const stored = await world.row("select * from core.page_sessions where user_id = $1", paid.user_id);
    const secret = /^mijn=([^;]*)/.exec(cookie)?.[1] ?? "";
    expect(stored.token_hash.toString("hex")).toBe(hashSecret(secret));
  });

  test("by a password, where there is one; a wrong one says no more than that", async () => {
    const email = "wachtwoord@example.nl";
    await world.row(
      "insert into auth.users (id, email, email_confirmed_at, encrypted_password) values (gen_random_uuid(), $1, now(), $2)",
      email,
      await hashPassword("een lang wachtwoord"),
    );
    const ask = newBrowser(world);
    const form = { form_token: formToken((await ask(mijn(world, "/sign-in"))).text), email };
    const wrong = await ask(mijn(world, "/sign-in"), { form: { ...form, password: "verkeerd" } });
    const unknown = await ask(mijn(world, "/sign-in"), {
      form: { ...form, email: "niemand@example.nl", password: "verkeerd" },
    });
    expect([wrong.status, unknown.status]).toEqual([422, 422]);
    expect(wrong.text.replaceAll(email, "")).toBe(unknown.text.replaceAll("niemand@example.nl", ""));
    const right = await ask(mijn(world, "/sign-in"), { form: { ...form, password: "een lang wachtwoord" } });
    expect([right.status, right.location]).toEqual([303, "/pages/mijn?lang=nl"]);
    expect((await ask(mijn(world))).text).toContain("U heeft nog geen aansluiting bij ons aangemeld.");
  });

  test("an address without a login has the same answers, and gets one by the code that is mailed to it", async () => {
    const stranger = "niemand@example.nl";
    const seen = await Promise.all(
      [paid.email, stranger].map(async (email) => {
        const ask = newBrowser(world);
        const form = { form_token: formToken((await ask(mijn(world, "/sign-in"))).text), email };
        const { status, location } = await ask(mijn(world, "/mail-code"), { form });
        const { text } = await ask(location ?? "");
        return [status, location, text.replaceAll(email, "").replace(/value="[0-9a-f]{64}"/g, "")];
      }),
    );
    expect(seen[0]).toEqual(seen[1]);
    expect(await signInCode(world, stranger)).toMatch(/^\d{6}$/);
    expect(await world.rows("select 1 from auth.users where email = $1", stranger), "not by asking").toEqual([]);
    const ask = newBrowser(world);
    expect((await signIn(world, ask, stranger)).status).toBe(303);
    expect((await ask(mijn(world))).status).toBe(200);
  });

  test.each([
    ["signing out", (ask: ReturnType<typeof newBrowser>) => leave(ask)],
    ["signing out everywhere", () => world.row("delete from auth.sessions where user_id = $1", paid.user_id)],
    [
      "a ban",
      () =>
        world.row("update auth.users set banned_until = private.now() + interval '1 day' where id = $1", paid.user_id),
    ],
    ["twelve hours", () => world.travel("2026-11-21T00:00:01Z")],
  ])("%s ends it at once, on every page and form", async (_name, end) => {
    const ask = await browserOf(world, paid);
    const page = await ask(mijn(world));
    const form = { form_token: formToken(page.text), account: paid.account_id, page: "/payout" };
    const kept = ask.jar("mijn");
    await end(ask);
    for (const path of PAGES) {
      const answer = await newBrowser(world)(mijn(world, path), { headers: { cookie: kept } });
      expect([answer.status, answer.location], path).toEqual([303, expect.stringContaining("/mijn/sign-in")]);
      expect(answer.headers.getSetCookie().join()).toMatch(/^mijn=; Max-Age=0/);
    }
    const posted = await newBrowser(world)(mijn(world, "/open"), { form, headers: { cookie: kept } });
    expect(posted.location).toContain("/mijn/sign-in");
    await world.row("update auth.users set banned_until = null where id = $1", paid.user_id);
    await world.travel("2026-11-20T12:00:00Z");
  });

  const leave = async (ask: ReturnType<typeof newBrowser>) =>
    ask(mijn(world, "/sign-out"), { form: { form_token: formToken((await ask(mijn(world))).text) } });

  test("signing out takes the claim's session along that the browser was led to", async () => {
    const ask = await browserOf(world, paid);
    const form = { form_token: formToken((await ask(mijn(world))).text), account: paid.account_id, page: "/payout" };
    const led = await ask(mijn(world, "/open"), { form });
    expect(heading((await ask(led.location ?? "")).text)).toBe("Waar mag de vergoeding heen?");
    await leave(ask);
    expect((await ask(led.location ?? "")).status, "asked for a code again").toBe(303);
  });

  test("ten tabs at once are ten pages; a form that is sent twice leads to the same", async () => {
    const ask = await browserOf(world, paid);
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(mijn(world))));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    const form = { form_token: formToken(answers[0]?.text ?? ""), account: paid.account_id, page: "/revoke" };
    const twice = await Promise.all([1, 2].map(() => ask(mijn(world, "/open"), { form })));
    expect(twice[0]?.location).toBe(twice[1]?.location);
  });

  test.each([
    ["from another site", { "sec-fetch-site": "cross-site" }, 403],
    ["from another origin", { "sec-fetch-site": "", origin: "https://evil.example" }, 403],
  ])("a form %s is refused", async (_name, headers, status) => {
    const ask = await browserOf(world, paid);
    const form = { form_token: formToken((await ask(mijn(world))).text) };
    for (const page of ["/sign-out", "/open", "/sign-in", "/mail-code", "/code"])
      expect((await ask(mijn(world, page), { form, headers })).status, page).toBe(status);
    expect((await ask(mijn(world))).status, "still signed in").toBe(200);
  });

  test("a form without this browser's token is refused, signed in or not", async () => {
    const ask = await browserOf(world, paid);
    const theirs = formToken((await (await browserOf(world, other))(mijn(world))).text);
    for (const form_token of ["", "x", theirs, mac(world.environment, "form")]) {
      const form = { form_token, account: paid.account_id, page: "" };
      expect((await ask(mijn(world, "/open"), { form })).status).toBe(403);
      expect((await ask(mijn(world, "/sign-out"), { form })).status).toBe(403);
      expect((await ask(mijn(world, "/mail-code"), { form: { form_token, email: paid.email } })).status).toBe(403);
    }
  });

  test("the clean-up takes what has ended", async () => {
    await browserOf(world, paid);
    await world.travel("2026-11-21T12:00:00Z");
    await world.row("select private.sweep('oauth')");
    expect(await rowCounts(world, "page_sessions")).toEqual({ page_sessions: 0 });
    await world.travel("2026-11-20T12:00:00Z");
  });
});

describe("contract §6 a person's own pages", () => {
  test("show this year, the quarters, what was paid, and the mandate", async () => {
    const ask = await browserOf(world, paid);
    const pages = await Promise.all(PAGES.map(async (path) => (await ask(mijn(world, path))).text));
    const energy = await world.row(
      "select sum(wh) / 1000 as kwh, sum(sessions) as sessions from core.charger_months where owner_id = $1 and month >= '2026-01-01'",
      paid.user_id,
    );
    const kwh = new Intl.NumberFormat("nl-NL", { maximumFractionDigits: 0 }).format(energy.kwh);
    expect(pages[0]).toContain(`<dt>Geladen in 2026</dt><dd>${kwh} kWh`);
    expect(pages[1]).toContain(`<td>${kwh}</td><td>${energy.sessions}</td>`);
    // the ERE of the year are one number, wherever they stand
    const total = /<tfoot>.*<td>([\d.,]+)<\/td><\/tr><\/tfoot>/.exec(pages[1] ?? "")?.[1];
    expect(pages[0]).toContain(`telt mee: ${total} ERE`);
    // what counts toward ERE is not all that was charged
    expect(pages[2]).toContain('<th scope="col">kWh die meetelt</th>');
    expect(pages[2]).toContain("uitbetaald");
    expect(pages[3]).toContain("geldt tot en met 31 december");
  });

  test("whoever is asked once more finds the last click first, and beside it the way back", async () => {
    const ask = await browserOf(world, paid);
    const { id } = await world.row("select id from core.chargers where account_id = $1 limit 1", paid.account_id);
    for (const path of ["/sharing/stop", "/data/end", `/chargers/${id}`]) {
      const { text } = await ask(mijn(world, path));
      expect(text, path).toMatch(
        /<button class="button">Ja, [^<]+<\/button><a class="link" [^>]+>Nee, terug<\/a>\s*<\/form>/,
      );
    }
  });

  test("a table stands folded below its chart, whose months lead to their sessions", async () => {
    const { text } = await (await browserOf(world, paid))(mijn(world, "/charging"));
    const [chart = "", table = ""] = text.split('<details class="folded"><summary>');
    const leads = (part: string) =>
      [...part.matchAll(/href="([^"]*month=2026-\d\d[^"]*#sessions)"/g)].map(([, to]) => to);
    expect(leads(chart).length).toBeGreaterThan(1);
    expect(leads(table)).toEqual(leads(chart));
  });

  test("an address typed with a slash at the end is the page without it", async () => {
    const ask = await browserOf(world, paid);
    for (const path of ["/", "/charging/"]) {
      const answer = await ask(mijn(world, `${path}?lang=en`));
      expect([answer.status, answer.location], path).toEqual([303, mijn(world, `${path.slice(0, -1)}?lang=en`)]);
    }
    for (const path of ["/nothing", "//"]) expect((await ask(mijn(world, `${path}x`))).status, path).toBe(404);
  });

  test("what was charged before there were ERE is said to be too early, not outside the mandate", async () => {
    await world.row(
      `insert into core.delivered_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, status, source, received_at)
       select partner_id, id, owner_id, '2025-12-01', 40, 3, 'outside_mandate', 'test', now() from core.connections where account_id = $1 limit 1 returning period`,
      paid.account_id,
    );
    const { text } = await (await browserOf(world, paid))(mijn(world, "/charging?year=2025"));
    expect((await (await browserOf(world, paid))(mijn(world, "/earnings?year=2025"))).text).toContain(
      "Er telt voor 2025 niets mee",
    );
    expect(text).toContain("Van december 2025 telt 40 kWh niet mee. ERE zijn er vanaf januari 2026.");
  });

  test("a month of one session says so", async () => {
    const person = await world.addUser();
    const times = { started_at: "2026-05-10T10:00:00Z", ended_at: "2026-05-10T11:00:00Z" };
    await ingest(world, { charger_id: await addCharger(world, person), external_id: "1", ...times, wh: 8_000 });
    const { text } = await (await browserOf(world, person))(mijn(world, "/charging"));
    expect(text).toContain('<p class="value">mei 2026: 8 kWh, 1 laadbeurt, ');
    expect(text, "one column is no chart").not.toContain('class="chart');
  });

  test("documents are the person's own: another's are not found, whatever the path says", async () => {
    const [mine, theirs] = await Promise.all([browserOf(world, paid), browserOf(world, other)]);
    const documents = await world.rows(
      "select mandate_id, line_id from core.documents where account_id = $1",
      paid.account_id,
    );
    expect(documents).toHaveLength(2);
    for (const { mandate_id, line_id } of documents) {
      const path = mandate_id ? `/mandate/${mandate_id}` : `/statement/${line_id}`;
      const read = await mine(mijn(world, path));
      expect([read.status, read.headers.get("content-type")]).toEqual([200, "application/pdf"]);
      // so that the mandates of two connections for the same years are two files
      if (mandate_id) expect(read.headers.get("content-disposition")).toContain(`-${mandate_id.slice(0, 8)}.pdf"`);
      const refused = await theirs(mijn(world, path));
      const absent = await theirs(mijn(world, `${path.slice(0, -36)}${randomUUID()}`));
      expect([refused.status, refused.text]).toEqual([404, absent.text]);
    }
    for (const path of ["/mandate/x", "/statement/..%2f", `/mandate/${randomUUID().toUpperCase()}`])
      expect((await mine(mijn(world, path))).status, path).toBe(404);
  });

  test("nobody is led to the claim of another, or to a page that it does not have", async () => {
    const ask = await browserOf(world, paid);
    const form_token = formToken((await ask(mijn(world))).text);
    for (const [account, page] of [
      [other.account_id, "/payout"],
      [randomUUID(), "/payout"],
      ["x", "/payout"],
      [paid.account_id, "/../../me"],
      [paid.account_id, "//evil.example"],
    ]) {
      const answer = await ask(mijn(world, "/open"), { form: { form_token, account, page } as Record<string, string> });
      expect([answer.status, answer.location], `${account} ${page}`).toEqual([404, null]);
    }
  });

  test.each([
    "year=1999",
    "year=2027",
    "year=x",
    "year=99999",
    "month=2026-13",
    "month=2026-00",
    "month=2026-02-31",
    "month=2026-05&page=0",
    "month=2026-05&page=9999",
    "month=%00",
    "year=2026&year=2025",
  ])("an address that asks for ?%s is answered with what there is", async (query) => {
    const ask = await browserOf(world, paid);
    for (const path of ["/charging", "/charging.csv", "/earnings"])
      expect((await ask(mijn(world, `${path}?${query}`))).status, path).toBe(200);
  });

  test("a file of sessions opens as a table, and nothing in it is a formula", async () => {
    await world.row(
      "update core.chargers set nickname = $2 where account_id = $1",
      paid.account_id,
      '=HYPERLINK("x";"y")',
    );
    const ask = await browserOf(world, paid);
    const { text, headers } = await ask(mijn(world, "/charging.csv?month=2026-05"));
    expect(headers.get("content-disposition")).toBe('attachment; filename="laden-2026-05.csv"');
    const [head, first] = text.split("\r\n");
    expect(head).toBe('"Begonnen";"Geëindigd";"Laadpaal";"kWh";"ERE"');
    expect(first).toMatch(
      /^"2026-05-\d\d \d\d:\d\d:\d\d";"2026-0[56]-\d\d \d\d:\d\d:\d\d";"'=HYPERLINK\(""x"";""y""\)";12;3,99$/,
    );
    const months = await ask(mijn(world, "/charging.csv?year=2026&lang=en"));
    expect(months.text).toMatch(/^\ufeff?"Month","kWh","Sessions","ERE"\r\n"2026-01",/);
  });

  test("/me is the same in English, and what begins with it no more than that", async () => {
    const root = world.environment.config.PAGES_URL;
    const ask = newBrowser(world);
    expect((await ask(`${root}/me`)).location).toBe("/pages/mijn?lang=en");
    expect((await ask(`${root}/me/charging?year=2026`)).location).toBe("/pages/mijn/charging?year=2026&lang=en");
    expect((await ask(`${root}/mexico`)).status).toBe(404);
  });

  test("who has no claim of ours has every page too, and a mail address where a claim's pages would be", async () => {
    const user = await world.addUser();
    await world.row("update auth.users set email_confirmed_at = private.now() where id = $1", user.id);
    await giveMandate(world, user);
    const ask = newBrowser(world);
    await signIn(world, ask, user.email);
    for (const path of PAGES) expect((await ask(mijn(world, path))).status, path).toBe(200);
    expect((await ask(mijn(world))).text).toContain("Mail ons");
    expect((await ask(mijn(world, "/mandate"))).text).not.toContain("/mijn/open");
  });

  test("a page is one statement", async () => {
    const ask = await browserOf(world, paid);
    for (const path of PAGES) {
      const run: string[] = [];
      const { db } = world.environment;
      const { open, call } = db;
      db.open = (name, ...input) => {
        run.push(name);
        return open(name, ...input);
      };
      db.call = (name, ...input) => {
        run.push(name);
        return call(name, ...input);
      };
      await ask(mijn(world, path)).finally(() => Object.assign(db, { open, call }));
      expect(run, path).toHaveLength(1);
    }
  });
});

/** The fields of the form on a page, and what is hidden in it. */
const formOn = async (ask: ReturnType<typeof newBrowser>, page: string) => {
  const { text } = await ask(mijn(world, page));
  return { form_token: formToken(text), once: /name="once" value="([^"]+)"/.exec(text)?.[1] ?? "" };
};

describe("§5 tokens of a person's own", () => {
  const create = async (ask: ReturnType<typeof newBrowser>, fields: Record<string, string> = {}) => {
    const form = {
      name: "Home Assistant",
      scope: "profile:read",
      expires: "30",
      ...(await formOn(ask, "/tokens")),
      ...fields,
    };
    return { form, answer: await ask(mijn(world, "/tokens"), { form }) };
  };
  const shown = (text: string) => /<code[^>]*>([^<]*_pat_[^<]*)<\/code>/.exec(text)?.[1] ?? "";

  test("is shown once, works until it is revoked, and is the same when the form is sent again", async () => {
    const ask = await browserOf(world, paid);
    const { form, answer } = await create(ask);
    const secret = shown(answer.text);
    expect((await world.get("/profile", secret)).body).toMatchObject({ email: paid.email });
    const page = (await ask(mijn(world, "/tokens"))).text;
    expect(page, "not again").not.toContain(secret);
    expect(page).toContain(`eindigt op ${secret.slice(-4)}`);
    expect(shown((await ask(mijn(world, "/tokens"), { form })).text)).toBe(secret);
    const count = () => world.row("select count(*)::int from core.personal_tokens where user_id = $1", paid.user_id);
    expect(await count()).toEqual({ count: 1 });

    const { id } = await world.row("select id from core.personal_tokens where user_id = $1", paid.user_id);
    const theirs = await browserOf(world, other);
    const stolen = await theirs(mijn(world, "/tokens/revoke"), {
      form: { ...(await formOn(theirs, "/tokens")), token: id },
    });
    expect(stolen.status).toBe(404);
    expect((await world.get("/profile", secret)).status).toBe(200);
    const revoked = await ask(mijn(world, "/tokens/revoke"), { form: { ...form, token: id } });
    expect(revoked.text).toContain("Het token is ingetrokken");
    expect((await world.get("/profile", secret)).status).toBe(401);
    expect((await ask(mijn(world, "/tokens/revoke"), { form: { ...form, token: "x" } })).status).toBe(404);
  });

  test.each([
    ["no name", { name: " " }, "Vul een naam in"],
    ["no scope", { scope: "partners:write" }, "Kies wat het programma mag"],
    ["no end that is offered", { expires: "9999" }, "Kies hoe lang het token werkt"],
  ])("%s is said at the field", async (_name, fields, message) => {
    const { answer } = await create(await browserOf(world, paid), fields);
    expect([answer.status, answer.text]).toEqual([422, expect.stringContaining(message)]);
  });

  test("one without an end needs a fresh sign-in; a form of no page of ours makes none", async () => {
    const ask = await browserOf(world, paid);
    await world.row(
      "update auth.sessions set created_at = private.now() - interval '16 minutes' where user_id = $1",
      paid.user_id,
    );
    const before = await codesTo(paid);
    const asked = (await create(ask, { name: "Voor altijd", expires: "never" })).answer;
    expect(heading(asked.text), "a code is asked in place").toBe("Vul de code in");
    expect(asked.text).toContain(`gemaild naar ${paid.email}`);
    const code = await signInCode(world, paid.email, before);
    const back = await ask(mijn(world, "/code?to=/tokens"), { form: { form_token: formToken(asked.text), code } });
    expect(back.location).toBe("/pages/mijn/tokens?lang=nl");
    expect((await ask(back.location ?? "")).text, "what was filled in is there").toContain('value="Voor altijd"');
    expect((await create(ask, { expires: "never" })).answer.status).toBe(200);
    expect((await create(ask, { once: "" })).answer.status).toBe(403);
  });
});

describe("§4.4 chargers of a person's own", () => {
  test("one that connects by OCPP is added by name; its password is shown once; removing it ends that", async () => {
    const ask = await browserOf(world, other);
    const asked = (await ask(mijn(world, "/chargers"))).text;
    expect(asked).toContain("Heeft uw laadpaal al een backoffice?");
    expect(asked.match(/<input type="radio"[^>]*name="way"[^>]*>/g), "of the two, it chooses none").toHaveLength(2);
    expect(asked).not.toMatch(/name="way"[^>]* checked/);
    const unanswered = await ask(mijn(world, "/chargers"), {
      form: { name: "Oprit", ...(await formOn(ask, "/chargers")) },
    });
    expect([unanswered.status, unanswered.text]).toEqual([422, expect.stringContaining("Kies of uw laadpaal al")]);
    expect(unanswered.text, "what was typed stays").toMatch(/id="name"[^>]* value="Oprit"/);
    const form = { name: "Oprit", way: "own", ...(await formOn(ask, "/chargers")) };
    const added = await ask(mijn(world, "/chargers"), { form });
    const [address = "", identity = "", password = ""] = [...added.text.matchAll(/<code[^>]*>([^<]*)<\/code>/g)].map(
      ([, text]) => text,
    );
    expect(address.endsWith(`/${identity}`)).toBe(true);
    const row = await world.row(
      "select id, encode(ocpp_password_hash, 'hex') as hash from core.chargers where ocpp_identity = $1",
      identity,
    );
    expect(row.hash).toBe(hashSecret(password));
    expect(added.text, "for a charger with nothing but an address").toContain(`${address}?auth=${password}<`);
    expect(added.text, "it has no other back office").not.toContain("/m/");
    const wrong = await ask(mijn(world, "/chargers"), { form: { ...form, name: "", way: "copy" } });
    expect(wrong.text, "the answer stays").toMatch(/value="copy" checked/);
    expect((await ask(mijn(world, "/chargers"))).text).not.toContain(password);
    const again = await ask(mijn(world, "/chargers"), { form });
    expect(again.text, "a second click").toContain(password);
    const copied = await ask(mijn(world, `/chargers/${row.id}/password`), {
      form: { ...(await formOn(ask, "/chargers")), way: "copy" },
    });
    const mirror = /\/m\/([0-9a-f]{40})</.exec(copied.text)?.[1] ?? "";
    expect([
      copied.text.includes("?auth="),
      (await world.row("select encode(ocpp_mirror_hash, 'hex') as hash from core.chargers where id = $1", row.id)).hash,
    ]).toEqual([false, hashSecret(mirror)]);

    const theirs = await browserOf(world, paid);
    expect((await theirs(mijn(world, `/chargers/${row.id}`))).status).toBe(404);
    await theirs(mijn(world, `/chargers/${row.id}`), { form: await formOn(theirs, "/chargers") });
    const status = () => world.row("select status from core.chargers where id = $1", row.id);
    expect(await status()).toEqual({ status: "active" });

    expect(heading((await ask(mijn(world, `/chargers/${row.id}`))).text)).toBe("Haalt u Oprit weg?");
    const removed = await ask(mijn(world, `/chargers/${row.id}`), { form: await formOn(ask, "/chargers") });
    expect(removed.text).toContain("De laadpaal is weggehaald.");
    expect(await status()).toEqual({ status: "removed" });
    expect((await ask(mijn(world, `/chargers/${row.id}`), { form })).status, "and once more").toBe(303);
  });

  test("one keeps the identity that it has; another person may have the same one, but nobody has it twice", async () => {
    const identity = "NL*ABC*E 00001:a";
    const add = async (person: Parameters<typeof browserOf>[1], typed: string, more: object = {}) => {
      const ask = await browserOf(world, person);
      const form = {
        name: "Oprit",
        way: "own",
        ocpp_identity: typed,
        ...(await formOn(ask, "/chargers")),
        ...more,
      };
      const send = () => ask(mijn(world, "/chargers?lang=nl"), { form });
      return { send, added: await send() };
    };
    const [mine, theirs] = [await add(other, ` ${identity} `), await add(paid, identity)];
    for (const { added, send } of [mine, theirs]) {
      expect(added.text).toContain(`/${encodeURIComponent(identity)}<`);
      expect(added.text).toContain(`<code data-copy>${identity}</code>`);
      const address = /\?auth=[0-9a-f]{40}</.exec(added.text)?.[0] ?? "";
      expect((await send()).text, "a second click").toContain(address || "?");
    }
    const count = "select count(*)::int as n from core.chargers where ocpp_identity = $1 and status = 'active'";
    expect(await world.row(count, identity)).toEqual({ n: 2 });
    const { added: twice } = await add(other, identity);
    expect(twice.text).toContain("U heeft al een laadpaal met deze identiteit");
    expect(twice.text, "what was typed stays").toContain(`value="${identity}"`);
    for (const wrong of ["a/b", "..", "5d1c0a9e4f7b2836d1c0a9e4f7b2836d5e4f7b28", "x".repeat(65), "é"]) {
      const { added } = await add(other, wrong);
      expect([wrong, added.text.includes("Vul hoogstens 64 letters")]).toEqual([wrong, true]);
    }
    expect(await world.row(count, identity)).toEqual({ n: 2 });
    await world.row(
      "update core.chargers set status = 'removed', removed_at = now() where ocpp_identity = $1",
      identity,
    );
  });

  test("attack: one form with two identities makes two chargers with nothing in common", async () => {
    const ask = await browserOf(world, other);
    const form = await formOn(ask, "/chargers");
    for (const ocpp_identity of ["TAB-A", "TAB-B"])
      await ask(mijn(world, "/chargers?lang=nl"), { form: { ...form, name: "Oprit", way: "own", ocpp_identity } });
    const both = "from core.chargers where ocpp_identity in ('TAB-A', 'TAB-B')";
    expect(
      await world.row(
        `select count(distinct ocpp_mirror_hash)::int as mirrors, count(distinct ocpp_password_hash)::int as passwords ${both}`,
      ),
    ).toEqual({ mirrors: 2, passwords: 2 });
    await world.row(
      `with gone as (update core.chargers set status = 'removed', removed_at = now() where id in (select id ${both}) returning 1) select 1`,
    );
  });

  test("a charger that does not connect by itself says when its last kWh came, and from where", async () => {
    const { text } = await (await browserOf(world, paid))(mijn(world, "/chargers?lang=nl"));
    expect(text).not.toContain("niet verbonden");
    expect(text).toMatch(/<dt>Gegevens<\/dt><dd>uit de proefomgeving<\/dd>/);
    expect(text).toMatch(/<dt>Laatste kWh<\/dt><dd>\d+ [a-z]+ 20\d\d om \d\d:\d\d</);
  });

  test("a charger that was never heard of says what to enter; a new password ends the old one", async () => {
    const ask = await browserOf(world, other);
    const added = await ask(mijn(world, "/chargers"), {
      form: { name: "Garage", way: "own", ...(await formOn(ask, "/chargers")) },
    });
    const [address = "", identity = "", password = ""] = [...added.text.matchAll(/<code[^>]*>([^<]*)<\/code>/g)].map(
      ([, text]) => text,
    );
    const { id } = await world.row("select id from core.chargers where ocpp_identity = $1", identity);
    const before = await ask(mijn(world, "/chargers"));
    expect(before.text).toContain(
      `het adres van de server is <span class="secret"><code data-copy>${address}</code></span>`,
    );
    expect(before.text).toContain("nog niet bekend: wij zoeken dat uit");

    const admit = async (tried: string) =>
      (await world.post("/ocpp/chargers:admit", { identity, password: tried }, world.environment.config.GATEWAY_SECRET))
        .body.ok;
    expect(before.text).not.toContain("verkeerd wachtwoord");
    expect(await admit("wrong")).toBe(false);
    expect((await ask(mijn(world, "/chargers"))).text).toContain(
      " kwam met deze identiteit een verkeerd wachtwoord binnen. ",
    );
    await world.row("update core.chargers set last_seen_at = private.now() - interval '1 minute' where id = $1", id);
    await admit("wrong");
    expect((await ask(mijn(world, "/chargers"))).text, "it is heard of").not.toContain("verkeerd wachtwoord");
    await world.row("update core.chargers set last_seen_at = null where id = $1", id);

    const theirs = await browserOf(world, paid);
    const form = await formOn(theirs, "/chargers");
    expect((await theirs(mijn(world, `/chargers/${id}/password`), { form })).status).toBe(404);
    const renewed = await ask(mijn(world, `/chargers/${id}/password`), {
      form: await formOn(ask, "/chargers"),
    });
    const [, same, fresh = ""] = [...renewed.text.matchAll(/<code[^>]*>([^<]*)<\/code>/g)].map(([, text]) => text);
    expect([same, fresh === password]).toEqual([identity, false]);
    expect((await ask(mijn(world, "/chargers"))).text).not.toContain("verkeerd wachtwoord");
    expect([await admit(password), await admit(fresh)]).toEqual([false, true]);
    expect(renewed.text).toContain("Mijn laadpaal neemt zo&#39;n lang wachtwoord niet");
    const shortened = await ask(mijn(world, `/chargers/${id}/password`), {
      form: { ...(await formOn(ask, "/chargers")), way: "short" },
    });
    const short = /<code data-copy>([0-9a-f]{16})<\/code>/.exec(shortened.text)?.[1] ?? "";
    expect([await admit(fresh), await admit(short)]).toEqual([false, true]);
    // it connected, and did not say what it is
    const page = (await ask(mijn(world, "/chargers"))).text;
    expect(page).toContain("Deze laadpaal heeft ons merk en model niet gemeld.");
    const models = [...page.matchAll(/<option value="([0-9a-f-]{36})">/g)].map(([, model]) => model ?? "");
    expect(models.length).toBeGreaterThan(1);
    const choose = async (model: string, serial: string) =>
      (
        await ask(mijn(world, `/chargers/model/${id}`), {
          form: { ...(await formOn(ask, "/chargers")), [`model-${id}`]: model, [`serial-${id}`]: serial },
        })
      ).text;
    expect(await choose("", "")).toContain("Vul het serienummer in");
    expect(
      (
        await theirs(mijn(world, `/chargers/model/${id}`), {
          form: { ...form, [`model-${id}`]: models[0] ?? "", [`serial-${id}`]: "X1" },
        })
      ).status,
    ).toBe(404);
    await world.row("update core.chargers set booted_as = 'BOOTED1' where id = $1", id);
    expect(await choose(models[0] ?? "", " mirror 1")).toContain("Merk en model zijn bewaard.");
    expect(
      await world.row(
        `select catalog_charger_id, serial_number, private.charger_taken(brand, 'MIRROR1') as chosen,
                private.charger_taken(brand, 'BOOTED1') as told from core.chargers where id = $1`,
        id,
      ),
    ).toEqual({ catalog_charger_id: models[0], serial_number: "MIRROR1", chosen: true, told: true });
    expect((await ask(mijn(world, "/chargers"))).text).not.toContain("heeft ons merk en model niet gemeld");
    await world.row("update core.chargers set latest_meter_wh = 12345, mid_eligible = false where id = $1", id);
    const heard = (await ask(mijn(world, "/chargers"))).text;
    expect(heard).toContain("<dt>Laatst gehoord</dt>");
    expect(heard).toContain("12,3 kWh");
    expect(heard).toContain("nee, levert geen ERE op");
    expect(heard, "the right password came since").not.toContain("verkeerd wachtwoord");
  });

  test("attack: a second charger that told no serial number counts once its owner tells it, and says so", async () => {
    const person = await world.addUser();
    const ask = await browserOf(world, person);
    const secret = world.environment.config.GATEWAY_SECRET;
    const add = async (name: string, chargePointSerialNumber?: string, owner = person) => {
      const { body } = await world.post("/chargers", { nickname: name, connection_type: "ocpp" }, await owner.token());
      const { identity, password } = body.ocpp;
      const { charger_id, generation } = (await world.post("/ocpp/chargers:admit", { identity, password }, secret))
        .body;
      const payload = {
        chargePointVendor: MID_CHARGER.ocpp_vendor,
        chargePointModel: MID_CHARGER.ocpp_model,
        chargePointSerialNumber,
      };
      const [received_at, sent_sha256] = [new Date().toISOString(), "0".repeat(64)];
      const messages = [{ action: "BootNotification", payload, received_at, live: true, sent_sha256 }];
      const told = { charger_id, generation, protocol: "ocpp1.6", messages };
      expect((await world.post("/ocpp/messages", told, secret)).status).toBe(200);
      return charger_id as string;
    };
    await add("Een");
    const NEEDED = "De kWh tellen mee zodra wij het serienummer weten";
    expect((await ask(mijn(world, "/chargers"))).text).not.toContain(NEEDED);
    const id = await add("Twee");
    expect((await ask(mijn(world, "/chargers"))).text).toContain(NEEDED);
    const stands = () => world.row("select serial_number, counts_from::text from core.chargers where id = $1", id);
    expect(await stands()).toEqual({ serial_number: null, counts_from: "infinity" });
    const tell = async (serial: string) =>
      (
        await ask(mijn(world, `/chargers/model/${id}`), {
          form: { ...(await formOn(ask, "/chargers")), [`serial-${id}`]: serial },
        })
      ).text;
    expect(await tell("")).toContain("Vul het serienummer in");
    await add("Drie", "SECOND-3");
    expect(await tell("second-3")).toContain("Deze laadpaal is al door iemand aangemeld");
    const saved = await tell(" second-2 ");
    expect([saved.includes("Het serienummer is bewaard."), saved.includes(NEEDED)]).toEqual([true, false]);
    expect(await stands()).toEqual({ serial_number: "SECOND-2", counts_from: null });
    const ELSEWHERE = "Iemand anders heeft een laadpaal met dit serienummer aangemeld.";
    expect(saved).not.toContain(ELSEWHERE);
    await add("Vier", "SECOND-3");
    expect((await ask(mijn(world, "/chargers"))).text).toContain("U heeft dit serienummer ook bij Drie. ");
    await add("Zes", "THEIRS-6", await world.addUser());
    await add("Vijf", "THEIRS-6");
    expect((await ask(mijn(world, "/chargers"))).text).toContain(ELSEWHERE);
    await world.row("update core.chargers set counts_from = '2026-01-02T11:00Z' where id = $1", id);
    expect((await ask(mijn(world, "/chargers"))).text).toContain("Iemand anders had deze laadpaal aangemeld.");
    await world.row("update core.chargers set counts_before = '2026-01-01T11:00Z' where id = $1", id);
    expect((await ask(mijn(world, "/chargers"))).text).toMatch(/Wat hij laadde van 1 januari .* tot 2 januari /);
  });

  test("behind a mirror it says what does not count, and a stranger's wrong password says nothing", async () => {
    const person = await world.addUser();
    const ask = await browserOf(world, person);
    const secret = world.environment.config.GATEWAY_SECRET;
    const { body } = await world.post(
      "/chargers",
      { nickname: "Oprit", connection_type: "ocpp" },
      await person.token(),
    );
    const { identity, mirror_endpoint } = body.ocpp;
    const connect = async () =>
      (await world.post("/ocpp/chargers:admit", { identity: null, password: mirror_endpoint.slice(-40) }, secret)).body;
    const tell = async ({ charger_id, generation }: Record<string, unknown>, ...said: [string, object][]) => {
      for (const [action, payload] of said) {
        const [received_at, sent_sha256] = [new Date().toISOString(), hashSecret(JSON.stringify(payload))];
        const messages = [{ action, payload, received_at, live: true, sent_sha256 }];
        const told = { charger_id, generation, protocol: "ocpp1.6", mirror: true, messages };
        expect((await world.post("/ocpp/messages", told, secret)).status).toBe(200);
      }
    };
    const boot = (chargePointSerialNumber: string): [string, object] => [
      "BootNotification",
      {
        chargePointVendor: MID_CHARGER.ocpp_vendor,
        chargePointModel: MID_CHARGER.ocpp_model,
        chargePointSerialNumber,
      },
    ];
    const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
    const shown = async () => (await ask(mijn(world, "/chargers"))).text;
    await tell(await connect(), boot("MIRROR-10"), [
      "StartTransaction",
      { connectorId: 1, meterStart: 100_000, timestamp: ago(90) },
    ]);
    expect(await shown()).not.toContain("eindigde een laadbeurt");
    const sampledValue = [{ value: "101000" }];
    await tell(
      await connect(),
      ["MeterValues", { connectorId: 1, transactionId: "a", meterValue: [{ timestamp: ago(60), sampledValue }] }],
      ["StopTransaction", { transactionId: "b", meterStop: 101_900, timestamp: ago(30) }],
    );
    const text = await shown();
    expect(text).toContain("eindigde een laadbeurt, met meterstand 101,9 kWh, maar wij weten niet welke");
    expect(text).toContain("ja; levert ERE op zodra u een machtiging heeft getekend");
    expect(text.indexOf("Maak een nieuw adres voor een kopie")).toBeLessThan(text.indexOf("Maak een nieuw wachtwoord"));
    expect(text).not.toContain("ook een andere laadpaal");
    await tell(await connect(), boot("MIRROR-11"));
    expect(await shown()).toContain("ook een andere laadpaal, met serienummer MIRROR-11, laatst op ");
    await world.row("update core.chargers set last_seen_at = null where id = $1", body.id);
    await world.post("/ocpp/chargers:admit", { identity, password: "wrong" }, secret);
    expect(await shown()).not.toContain("verkeerd wachtwoord");
  });

  test("a host without a gateway offers no address, and makes none", async () => {
    const ask = await browserOf(world, other);
    const form = { name: "Oprit", way: "own", ...(await formOn(ask, "/chargers")) };
    const { config } = world.environment;
    const { OCPP_GATEWAY_URL, ...without } = config;
    world.environment.config = without;
    try {
      const { status, text } = await ask(mijn(world, "/chargers"));
      expect([status, text.includes("OCPP")]).toEqual([200, false]);
      expect((await ask(mijn(world, "/chargers"), { form })).status).toBe(404);
    } finally {
      world.environment.config = config;
    }
    expect((await ask(mijn(world, "/chargers"))).text).toContain("OCPP");
  });

  test("a name that is none is said at the field", async () => {
    const ask = await browserOf(world, other);
    const answer = await ask(mijn(world, "/chargers"), {
      form: { name: "", way: "own", ...(await formOn(ask, "/chargers")) },
    });
    expect([answer.status, answer.text]).toEqual([422, expect.stringContaining("Vul een naam in")]);
  });
});

describe("§3 a person stops sharing", () => {
  test("the draft stays active, the partner sees them no more, and only the months before count for it", async () => {
    const customer = await newCustomer(world);
    const ask = await browserOf(world, customer);
    const page = await ask(mijn(world, "/sharing/stop"));
    const partner = /name="partner" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
    await world.row("update core.attributions set attached_month = '2026-04-01' where user_id = $1", customer.user_id);
    const customers = async () =>
      (await world.get("/partner/customers", world.keyA)).body.customers.map((each: { email: string }) => each.email);
    expect(await customers()).toContain(customer.email);
    const form = { form_token: formToken(page.text), partner };
    const stopped = await ask(mijn(world, "/sharing/stop"), { form: { ...form, partner: randomUUID() } });
    expect(stopped.location).toContain("/mijn/sharing");
    expect(await customers(), "not by another's id").toContain(customer.email);
    const twice = await Promise.all([1, 2].map(() => ask(mijn(world, "/sharing/stop"), { form })));
    expect(twice.map(({ status }) => status).sort(), "the one that did it is told so").toEqual([200, 303]);
    expect((await ask(mijn(world, "/sharing"))).text).toContain("U deelt niets met een bedrijf.");
    expect(await customers()).not.toContain(customer.email);
    expect(await world.row("select status from core.drafts where id = $1", customer.draft_id)).toEqual({
      status: "active",
    });
    const counts = await world.rows(
      "select m.month, private.brought_by_then($1, m.month::date) as partner from (values ('2026-03-01'), ('2026-04-01'), ('2026-10-01'), ('2026-11-01')) m (month)",
      customer.user_id,
    );
    expect(counts.map((each) => each.partner)).toEqual([null, partner, partner, null]);
  });

  test("an application loses what it holds, at once, and nobody else's", async () => {
    const ask = await browserOf(world, paid);
    const { id } = await world.addClient(null, { scopes: ["profile:read"], grant_types: ["authorization_code"] });
    for (const { user_id } of [paid, other]) {
      await world.row(
        "insert into core.oauth_consents (user_id, client_id, scopes) values ($1, $2, '{profile:read}')",
        user_id,
        id,
      );
      await world.row(
        "insert into core.oauth_grants (user_id, client_id, scopes) values ($1, $2, '{profile:read}')",
        user_id,
        id,
      );
    }
    const page = await ask(mijn(world, "/sharing"));
    expect(page.text).toContain("uw naam en e-⁠mailadres zien");
    const form = { form_token: formToken(page.text), client: id };
    expect((await ask(mijn(world, "/sharing/application"), { form: { ...form, client: "x" } })).status).toBe(404);
    expect((await ask(mijn(world, "/sharing/application"), { form: { ...form, client: randomUUID() } })).status).toBe(
      303,
    );
    const ended = await ask(mijn(world, "/sharing/application"), { form });
    expect(ended.text).toContain("U heeft geen app toegang gegeven.");
    const live = await world.rows(
      "select user_id from core.oauth_grants where client_id = $1 and revoked_at is null",
      id,
    );
    expect(live).toEqual([{ user_id: other.user_id }]);
  });
});

describe("contract §6 a person's own data", () => {
  test("all of it is one document, and nothing of others is in it", async () => {
    const ask = await browserOf(world, paid);
    const { text, headers } = await ask(mijn(world, "/data.json"));
    expect(headers.get("content-disposition")).toBe('attachment; filename="mijn-gegevens.json"');
    const data = JSON.parse(text);
    expect(data.login.email).toBe(paid.email);
    expect(data.accounts).toHaveLength(1);
    expect(data.accounts[0]).toMatchObject({ account_id: paid.account_id, payouts: [{ iban_last4: "4300" }] });
    expect(data.accounts[0].connections[0].mandates[0].document).toContain("Machtiging");
    const { count } = await world.row(
      "select count(*)::int from core.charging_sessions where owner_id = $1",
      paid.user_id,
    );
    expect(data.charging_sessions).toHaveLength(count);
    for (const secret of ["ciphertext", "token_hash", "password", other.email, other.account_id])
      expect(text).not.toContain(secret);
  });

  test("the account ends only shortly after signing in, and everything with it but what must be kept", async () => {
    const customer = await paidCustomer(world);
    const ask = await browserOf(world, customer);
    const page = await ask(mijn(world, "/data/end"));
    expect(page.text).toContain("1 januari 2033");
    const form = { form_token: formToken(page.text) };
    await world.row(
      "update auth.sessions set created_at = private.now() - interval '16 minutes' where user_id = $1",
      customer.user_id,
    );
    const before = await codesTo(customer);
    const asked = await ask(mijn(world, "/data/end"), { form });
    expect(heading(asked.text), "a code is asked in place").toBe("Vul de code in");
    const wrong = await ask(mijn(world, "/code?to=/data/end"), {
      form: { form_token: formToken(asked.text), code: "000000" },
    });
    expect([wrong.status, heading(wrong.text)]).toEqual([422, "Vul de code in"]);
    const code = await signInCode(world, customer.email, before);
    const back = await ask(mijn(world, "/code?to=/data/end"), { form: { form_token: formToken(asked.text), code } });
    expect(back.location).toBe("/pages/mijn/data/end?lang=nl");

    const asksAgain = await ask(back.location ?? "");
    expect(asksAgain.text).toContain("Uw account bestaat nog: druk nog eens op de knop om het te beëindigen.");
    const sure = { form_token: formToken(asksAgain.text) };
    const closed = await ask(mijn(world, "/data/end"), { form: sure });
    expect(heading(closed.text)).toBe("Uw account is beëindigd");
    expect(closed.text).toContain("Wij verwijderen dat vanaf 1 januari 2033");
    expect((await ask(mijn(world))).location).toContain("/mijn/sign-in");
    const login = await world.row(
      "select email, deleted_at, raw_user_meta_data from auth.users where id = $1",
      customer.user_id,
    );
    expect(login).toMatchObject({ email: `closed-${customer.user_id}@deleted.invalid`, raw_user_meta_data: {} });
    const anew = newBrowser(world);
    expect((await signIn(world, anew, customer.email)).status, "a login of its own").toBe(303);
    const again = await world.row("select id from auth.users where email = $1", customer.email);
    expect(again.id, "with nothing of the one that was closed").not.toBe(customer.user_id);
    const left = await world.row(
      `select (select m.status from core.mandates m join core.connections c on c.id = m.connection_id where c.account_id = $1 order by m.created_at desc limit 1) as mandate,
              (select count(*)::int from core.chargers where account_id = $1 and status = 'active') as chargers,
              (select count(*)::int from core.attributions where user_id = $2) as attributions,
              (select count(*)::int from core.page_sessions where user_id = $2) as browsers,
              (select count(*)::int from core.payout_lines where account_id = $1) as payouts`,
      customer.account_id,
      customer.user_id,
    );
    expect(left).toEqual({ mandate: "revoked", chargers: 0, attributions: 0, browsers: 0, payouts: 1 });
  });

  test("a login that nothing hangs on is deleted whole", async () => {
    const email = "alleen@example.nl";
    const { id } = await world.row(
      "insert into auth.users (id, email, email_confirmed_at, raw_app_meta_data) values (gen_random_uuid(), $1::text, now(), jsonb_build_object('proved_email', $1::text)) returning id",
      email,
    );
    const ask = newBrowser(world);
    await signIn(world, ask, email);
    const page = await ask(mijn(world, "/data/end"));
    expect(page.text).toContain("Wij bewaren daarna niets meer van u.");
    const closed = await ask(mijn(world, "/data/end"), { form: { form_token: formToken(page.text) } });
    expect(closed.text).toContain("Wij bewaren niets meer van u.");
    expect(await world.rows("select id from auth.users where id = $1", id)).toEqual([]);
  });

  test("who is owed money, and has no account number, is told to give one first", async () => {
    const customer = await newCustomer(world);
    await world.row(
      `select private.post(private.people_tenant(), array[row('test:' || $1, 'EUR', 12.34, 'buyer', private.people_tenant(), 'customer', $1::uuid)::private.posting])`,
      customer.account_id,
    );
    const ask = await browserOf(world, customer);
    const page = await ask(mijn(world, "/data/end"));
    expect(page.text).toContain("€\u00a012,34");
    const refused = await ask(mijn(world, "/data/end"), { form: { form_token: formToken(page.text) } });
    expect(refused.text).toContain("Vul eerst uw rekeningnummer in");
    expect((await ask(mijn(world))).status, "nothing ended").toBe(200);
    const status =
      "select m.status from core.mandates m join core.connections c on c.id = m.connection_id where c.account_id = $1";
    expect(await world.row(status, customer.account_id)).toEqual({ status: "signed" });
  });
});
