// A person's own pages by plain HTTP: who gets in, what ends it, and what of others nobody sees.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashSecret } from "#shared/auth/tokens.ts";
import { mac } from "#shared/domain/claim/links.ts";
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

const PAGES = ["", "/charging", "/earnings", "/mandate"];

describe("contract §7 signing in to one's own pages", () => {
  test("by a mailed code, in twelve hours' cookie of these pages alone, and on to the page that was asked for", async () => {
    const ask = newBrowser(world);
    const first = await ask(mijn(world, "/earnings"));
    expect(first.location).toMatch(/\/mijn\/sign-in\?lang=nl&to=%2Fearnings$/);
    const answer = await signIn(world, ask, paid.email, "?to=/earnings");
    expect([answer.status, answer.location]).toEqual([303, "/pages/mijn/earnings?lang=nl"]);
    const [cookie = ""] = answer.headers.getSetCookie().filter((set) => set.startsWith("mijn="));
    expect(cookie).toMatch(/^mijn=[0-9A-Za-z]{43}; Max-Age=43200; Path=\/pages\/mijn; HttpOnly; SameSite=Lax$/);
    expect(heading((await ask(answer.location ?? "")).text)).toBe("ERE en geld in 2026");
    const stored = await world.row("select * from core.page_sessions where user_id = $1", paid.user_id);
    const secret = /^mijn=([^;]*)/.exec(cookie)?.[1] ?? "";
    expect(stored.token_hash.toString("hex")).toBe(hashSecret(secret));
  });

  test("an address without a login has the same answers, and nothing is mailed to it", async () => {
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
    expect(await signInCode(world, stranger), "it waits for the clean-up").toMatch(/^\d{6}$/);
    const mail = await world.row("select status from core.mail_outbox where recipient = $1", stranger);
    expect(mail.status).not.toBe("sent");
    const ask = newBrowser(world);
    expect((await signIn(world, ask, stranger)).text, "even with its code").toContain("Fout: ");
  });

  test.each([
    ["signing out", (ask: ReturnType<typeof newBrowser>) => leave(ask)],
    ["signing out everywhere", () => world.row("delete from auth.sessions where user_id = $1", paid.user_id)],
    [
      "a ban",
      () =>
        world.row("update auth.users set banned_until = private.now() + interval '1 day' where id = $1", paid.user_id),
    ],
    ["twelve hours", () => world.freeze("2026-11-21T00:00:01Z")],
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
    await world.freeze("2026-11-20T12:00:00Z");
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
    await world.freeze("2026-11-21T12:00:00Z");
    await world.row("select private.purge_oauth()");
    expect(await rowCounts(world, "page_sessions")).toEqual({ page_sessions: 0 });
    await world.freeze("2026-11-20T12:00:00Z");
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
    expect(pages[0]).toContain(`${kwh} kWh in ${energy.sessions} laadbeurten`);
    expect(pages[1]).toContain(`<td>${kwh}</td><td>${energy.sessions}</td>`);
    expect(pages[2]).toContain("uitbetaald");
    expect(pages[3]).toContain("geldt tot en met 31 december");
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
    expect(head).toBe("Begonnen;Geëindigd;Laadpaal;kWh;ERE");
    expect(first).toMatch(/^2026-05-31 \d\d:\d\d:\d\d;2026-05-31 \d\d:\d\d:\d\d;"'=HYPERLINK\(""x"";""y""\)";12;3,99$/);
    const months = await ask(mijn(world, "/charging.csv?year=2026&lang=en"));
    expect(months.text).toMatch(/^\ufeff?Month,kWh,Sessions,ERE\r\n2026-01,/);
  });

  test("/me is the same in English, and what begins with it no more than that", async () => {
    const root = world.environment.config.PAGES_URL;
    const ask = newBrowser(world);
    expect((await ask(`${root}/me`)).location).toBe("/pages/mijn?lang=en");
    expect((await ask(`${root}/me/charging?year=2026`)).location).toBe("/pages/mijn/charging?year=2026&lang=en");
    expect((await ask(`${root}/mexico`)).status).toBe(404);
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
