// Signatories of CPOs' customers on the pages of a person: they have no login. Who gets in, what ends it, and what of others nobody sees.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { giveBooking } from "../harness/booked.ts";
import { createAccount } from "../harness/people.ts";
import { rowCounts } from "../harness/world.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Browser, formToken, heading, newBrowser } from "./claimant.ts";
import { createCustomerWorld, mijn, signIn, signInCode } from "./customer.ts";
import { newManager, portal } from "./manager.ts";
import { newAddress, type SignedCustomer, signedCustomer } from "./signatory_customer.ts";

let world: SandboxWorld;
let one: SignedCustomer;
let neighbor: SignedCustomer;
beforeAll(async () => {
  world = await createCustomerWorld();
  one = await signedCustomer(world, { months: { "2026-04": 250, "2026-05": 2500 } });
  neighbor = await signedCustomer(world, {
    months: { "2026-05": 777 },
    fields: { person: { full_name: "Nora Buurman", email: newAddress(), phone: null } },
  });
});
afterAll(() => world.close());

const PAGES = ["", "/charging", "/charging.csv", "/earnings", "/mandate", "/sharing"];
const NOT_THEIRS = ["/chargers", "/tokens", "/data", "/data.json", "/data/end", "/sharing/stop"];

/** A browser in which the signatory at an address is signed in. */
async function browserAt(email: string): Promise<Browser> {
  const ask = newBrowser(world);
  const answer = await signIn(world, ask, email);
  expect([answer.status, answer.location], answer.text).toEqual([303, "/pages/mijn?lang=nl"]);
  return ask;
}

const isOut = async (ask: Browser) => {
  const answer = await ask(mijn(world));
  return answer.status === 303 && (answer.location ?? "").includes("/mijn/sign-in");
};

describe("contract §7 a signatory of a CPO's customer signs in", () => {
  test("by a mailed code, without a login; the browser keeps a secret of twelve hours", async () => {
    const ask = newBrowser(world);
    const answer = await signIn(world, ask, one.email, "?to=/earnings");
    expect([answer.status, answer.location]).toEqual([303, "/pages/mijn/earnings?lang=nl"]);
    const [cookie = ""] = answer.headers.getSetCookie().filter((set) => set.startsWith("mijn="));
    expect(cookie).toMatch(
      /^mijn=signatory\.[0-9A-Za-z]{43}\.[\w-]{22}; Max-Age=86400; Path=\/pages\/mijn; HttpOnly; SameSite=Lax$/,
    );
    const page = await ask(mijn(world));
    expect([page.status, heading(page.text)]).toEqual([200, "Dag Willem"]);
    for (const said of ["2.750 kWh", one.email]) expect(page.text).toContain(said);
    expect(await world.rows("select id from auth.users where email = $1", one.email), "no login is made").toEqual([]);
  });

  test("the form answers alike whether an address has a login, is a signatory's, both or neither", async () => {
    const [both, login, nobody, unsigned] = [await signedCustomer(world), newAddress(), newAddress(), newAddress()];
    for (const email of [both.email, login])
      await world.row(
        "insert into auth.users (id, email, email_confirmed_at, raw_app_meta_data) values (gen_random_uuid(), $1::text, now(), jsonb_build_object('proved_email', $1::text))",
        email,
      );
    await world.post(
      "/v1/accounts",
      {
        person: { full_name: "Nog niet", email: unsigned },
        connection: { ean_code: "871687000000000016", postal_code: "3818LH", house_number: "8" },
      },
      await world.partnerA.client.token(),
    );
    const answers = await Promise.all(
      [one.email, both.email, login, nobody, unsigned].map(async (email) => {
        const ask = newBrowser(world);
        const form = { form_token: formToken((await ask(mijn(world, "/sign-in"))).text), email };
        const { status, location, headers } = await ask(mijn(world, "/mail-code"), { form });
        const { text } = await ask(location ?? "");
        return [
          status,
          location,
          headers.getSetCookie().length,
          text.replaceAll(email, "").replace(/value="[0-9a-f]{64}"/g, ""),
        ];
      }),
    );
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    const mailed = await world.rows(
      "select recipient, status from core.mail_outbox where template = 'sign_in' and recipient = any ($1)",
      [login, nobody, unsigned, both.email],
    );
    const status = (email: string) => mailed.find(({ recipient }) => recipient === email)?.status;
    expect([login, both.email, nobody, unsigned].map(status)).toEqual(Array(4).fill("captured"));
    for (const email of [nobody, unsigned]) {
      expect((await signIn(world, newBrowser(world), email)).status, "its code makes a login").toBe(303);
      const made = await world.row("select raw_app_meta_data as marks from auth.users where email = $1", email);
      expect(made.marks).toMatchObject({ proved_email: email });
    }
  });

  test("a code opens the address it was mailed to and no other, in the browser that asked", async () => {
    const [ask, thief] = [newBrowser(world), newBrowser(world)];
    const token = async (browser: Browser) => formToken((await browser(mijn(world, "/sign-in"))).text);
    const asked = { form_token: await token(ask), email: one.email };
    await ask(mijn(world, "/mail-code"), { form: asked });
    await thief(mijn(world, "/mail-code"), { form: { form_token: await token(thief), email: neighbor.email } });
    const code = await signInCode(world, one.email);
    const stolen = await thief(mijn(world, "/code"), { form: { form_token: await token(thief), code } });
    expect(stolen.text).toContain("Fout: ");
    const begun = await ask(mijn(world, "/code"), { form: { form_token: asked.form_token, code } });
    expect(begun.location).toBe("/pages/mijn?lang=nl");
  });

  test.each([
    ["capitals", (email: string) => email.toUpperCase()],
    ["letters that only look alike in capitals", (email: string) => email.replace("k", "\u212a")],
  ])("an address in %s is the one that mail goes to", async (_name, write) => {
    const ask = newBrowser(world);
    const form = { form_token: formToken((await ask(mijn(world, "/sign-in"))).text) };
    await ask(mijn(world, "/mail-code"), { form: { ...form, email: write(one.email) } });
    const answer = await ask(mijn(world, "/code"), { form: { ...form, code: await signInCode(world, one.email) } });
    expect(answer.location).toBe("/pages/mijn?lang=nl");
    expect((await ask(mijn(world))).text).toContain(one.email);
  });

  test("an address that is written otherwise is another one", async () => {
    const [name, domain] = one.email.split("@");
    const ask = newBrowser(world);
    expect((await signIn(world, ask, `${name}+1@${domain}`)).status).toBe(303);
    const { status, text } = await ask(mijn(world));
    expect([status, text.includes("2.750 kWh")], "a login of its own, without what the signatory has").toEqual([
      200,
      false,
    ]);
    const lookalike = one.email.replace("tekenaar", "t\u0435kenaar");
    const form = { form_token: formToken((await newBrowser(world)(mijn(world, "/sign-in"))).text), email: lookalike };
    await newBrowser(world)(mijn(world, "/mail-code"), { form });
    expect(await world.rows("select 1 from core.mail_outbox where recipient = $1", lookalike)).toEqual([]);
  });

  test("on the page where an application asks for access a signatory's address is nobody's", async () => {
    const caller = { kind: "anyone", host: world.environment.config.API_HOST, request_id: "test" } as const;
    const [token_hash, code_hash] = ["a1", "b2"].map((part) => part.repeat(32)) as [string, string];
    const mail = { template: "sign_in", locale: "nl", content: { code: "123456", app: "an application" } };
    await world.environment.db.call("send_sign_in_code", caller as never, {
      address_hash: "x",
      email_hash: "x",
      device_hash: null,
      email: one.email,
      token_hash,
      code_hash,
      mail,
    });
    const sent = await world.row(
      "select status from core.mail_outbox where recipient = $1 and content ->> 'app' = 'an application'",
      one.email,
    );
    expect(sent.status).toBe("nobody");
  });

  const signed = (customer: SignedCustomer) => customer.account_id;
  test.each<[string, (customer: SignedCustomer) => Promise<unknown>]>([
    [
      "another address of the signatory",
      (customer) =>
        world.row(
          "update core.signatories set email = 'ander@example.nl' where account_id = $1 returning 1",
          signed(customer),
        ),
    ],
    [
      "a mandate that goes",
      async (customer) => {
        await world.row("delete from core.documents where account_id = $1", signed(customer));
        await world.row("delete from core.mandates where connection_id = $1", customer.connection_id);
      },
    ],
    [
      "a client that is switched off",
      ({ partner }) =>
        world.row(
          "update core.oauth_clients set disabled_at = private.now() where id = $1 returning 1",
          partner.client.id,
        ),
    ],
    [
      "a partner that is deactivated",
      ({ partner }) => world.row("update core.partners set is_active = false where id = $1 returning 1", partner.id),
    ],
    ["twelve hours", () => world.travel("2026-11-21T00:00:01Z")],
  ])("%s ends it at once, on every page and form", async (_name, end) => {
    const customer = await signedCustomer(world, { partner: world.partnerB });
    const ask = await browserAt(customer.email);
    const form = { form_token: formToken((await ask(mijn(world, "/mandate"))).text) };
    const kept = ask.jar("mijn");
    await end(customer);
    for (const path of PAGES) {
      const answer = await newBrowser(world)(mijn(world, path), { headers: { cookie: kept } });
      expect([answer.status, answer.location], path).toEqual([303, expect.stringContaining("/mijn/sign-in")]);
    }
    const renewed = { ...form, account: customer.account_id, connection: customer.connection_id };
    const posted = await newBrowser(world)(mijn(world, "/renew"), { form: renewed, headers: { cookie: kept } });
    expect(posted.location).toContain("/mijn/sign-in");
    await world.row("update core.partners set is_active = true where id = $1", world.partnerB.id);
    await world.row("update core.oauth_clients set disabled_at = null where id = $1", world.partnerB.client.id);
    await world.travel("2026-11-20T12:00:00Z");
  });

  test("its secret is none for the partner's pages, and without its mark none at all", async () => {
    const ask = await browserAt(one.email);
    const secret = ask.jar("mijn").replace("mijn=", "");
    for (const [url, cookie] of [
      [portal(world), `portal=${secret}`],
      [mijn(world), `mijn=${secret.replace("signatory.", "")}`],
      [mijn(world, "/tokens"), `mijn=${secret.replace("signatory.", "")}`],
    ] as const) {
      const answer = await newBrowser(world)(url, { headers: { cookie } });
      expect([answer.status, answer.location], url).toEqual([303, expect.stringContaining("/sign-in")]);
    }
  });

  test("signing out ends it, here and wherever the cookie went", async () => {
    const ask = await browserAt(one.email);
    const kept = ask.jar("mijn");
    const form = { form_token: formToken((await ask(mijn(world))).text) };
    expect((await ask(mijn(world, "/sign-out"), { form })).location).toContain("out=");
    expect(await isOut(ask)).toBe(true);
    const elsewhere = await newBrowser(world)(mijn(world), { headers: { cookie: kept } });
    expect(elsewhere.location).toContain("/mijn/sign-in");
  });
});

test("contract §5 on the sandbox the CPO's partner reads the code, where it opens nothing but its own accounts", async () => {
  const codes = async (email: string, key: string) => {
    const { body } = await world.get(`/sandbox/v1/mail?to=${email}`, key);
    return body.mail.filter(({ template }: { template: string }) => template === "sign_in").length;
  };
  const [own, shared, login] = [await signedCustomer(world), await signedCustomer(world), await signedCustomer(world)];
  await signedCustomer(world, { email: shared.email, partner: world.partnerB });
  await world.row(
    "insert into auth.users (id, email, email_confirmed_at, raw_app_meta_data) values (gen_random_uuid(), $1::text, now(), jsonb_build_object('proved_email', $1::text))",
    login.email,
  );
  for (const { email } of [own, shared, login]) await browserAt(email);
  expect([await codes(own.email, world.keyA), await codes(own.email, world.keyB)]).toEqual([1, 0]);
  for (const { email } of [shared, login])
    expect([await codes(email, world.keyA), await codes(email, world.keyB)], email).toEqual([0, 0]);
});

describe("contract §7 what a signatory has there", () => {
  test("months, quarters, the mandate as text and PDF, and what the CPO sees", async () => {
    await world.send("/documents/run", { method: "POST", token: world.environment.config.WORKER_SECRET });
    const ask = await browserAt(one.email);
    const charging = (await ask(mijn(world, "/charging"))).text;
    for (const said of ["april", "250", "mei", "2.500"]) expect(charging).toContain(said);
    expect(charging, "a CPO delivers totals").not.toContain("#sessions");
    const csv = await ask(mijn(world, "/charging.csv?year=2026"));
    expect(csv.text).toContain('"2026-05";2500');
    const earnings = (await ask(mijn(world, "/earnings"))).text;
    expect(earnings).toContain("2e kwartaal");
    const mandate = (await ask(mijn(world, "/mandate"))).text;
    expect(mandate).toContain("geldt tot en met 31 december 2027");
    const [, pdf = ""] = /href="[^"]*(\/mandate\/[0-9a-f-]{36})/.exec(mandate) ?? [];
    expect((await ask(mijn(world, pdf))).headers.get("content-type")).toBe("application/pdf");
    const sharing = (await ask(mijn(world, "/sharing"))).text;
    for (const said of ["U bent klant van", "uw naam, e-⁠mailadres", "Mail "]) expect(sharing).toContain(said);
  });

  test("what only a login has leads back to what they have, and its forms do nothing", async () => {
    const ask = await browserAt(one.email);
    const overview = await ask(mijn(world));
    for (const path of NOT_THEIRS) {
      expect(overview.text, path).not.toContain(`/mijn${path}?`);
      const answer = await ask(mijn(world, path));
      expect([answer.status, answer.location], path).toEqual([303, "/pages/mijn?lang=nl"]);
    }
    const form = { form_token: formToken(overview.text), name: "x", scope: "energy:read", expires: "30" };
    const counts = () => rowCounts(world, "personal_tokens", "chargers", "audit_log", "page_sessions", "attributions");
    const before = await counts();
    for (const path of ["/tokens", "/chargers", "/data/end", "/sharing/stop", "/open"])
      expect((await ask(mijn(world, path), { form })).location, path).toBe("/pages/mijn?lang=nl");
    expect(await counts()).toEqual(before);
  });

  test("nothing of a neighbor of the same CPO is reached, whatever the path or the form says", async () => {
    await world.send("/documents/run", { method: "POST", token: world.environment.config.WORKER_SECRET });
    const ask = await browserAt(one.email);
    const theirs = await world.row(
      "select m.id from core.mandates m where m.connection_id = $1",
      neighbor.connection_id,
    );
    const form_token = formToken((await ask(mijn(world))).text);
    for (const id of [theirs.id, neighbor.account_id, randomUUID()])
      for (const path of [`/mandate/${id}`, `/statement/${id}`, `/settlement/${id}`, `/account/${id}`])
        expect((await ask(mijn(world, path))).status, path).toBe(404);
    for (const path of [`/account/${neighbor.account_id}`, `/account/${neighbor.account_id}/code`]) {
      const form = { form_token, iban: "NL91ABNA0417164300", code: "123456" };
      expect((await ask(mijn(world, path), { form })).status, path).toBe(404);
    }
    for (const connection of [neighbor.connection_id, one.connection_id]) {
      const form = { form_token, account: neighbor.account_id, connection };
      expect((await ask(mijn(world, "/renew"), { form })).status).toBe(404);
    }
    const renew = { form_token, account: one.account_id, connection: neighbor.connection_id };
    expect((await ask(mijn(world, "/renew"), { form: renew })).location).toContain("/mijn/mandate");
    for (const path of PAGES)
      for (const mark of [neighbor.email, neighbor.account_id, neighbor.connection_id, "Buurman", /\b777\b/])
        expect((await ask(mijn(world, path))).text, path).not.toMatch(mark);
  });

  test("one who signed at two CPOs sees both, each with its name", async () => {
    const email = newAddress();
    await world.row("update core.partners set name = 'Voltwerk' where id = $1", world.partnerB.id);
    await signedCustomer(world, { email, months: { "2026-03": 100 } });
    await signedCustomer(world, { email, partner: world.partnerB, months: { "2026-03": 11 } });
    const ask = await browserAt(email);
    expect((await ask(mijn(world))).text).toContain("111 kWh");
    const mandate = (await ask(mijn(world, "/mandate"))).text;
    const sharing = (await ask(mijn(world, "/sharing"))).text;
    for (const name of ["Zonneveld", "Voltwerk"]) {
      expect(mandate).toContain(name);
      expect(sharing).toContain(`U bent klant van ${name}`);
    }
  });

  test("a CPO that gives their address for a thousand accounts of its own keeps them out of nothing of another's", async () => {
    const email = newAddress();
    await createAccount(world, world.partnerB, { person: { full_name: "Niet van hier", email } });
    // as a thousand calls leave them: never signed, and looked through before what was
    await world.row(
      `with copied as (
         insert into core.accounts (partner_id, client_id, type, payout_handler)
         select a.partner_id, a.client_id, a.type, a.payout_handler
           from core.signatories s join core.accounts a on a.id = s.account_id, generate_series(1, 1500) where s.email = $1
         returning partner_id, id, owner_id)
       insert into core.signatories (partner_id, account_id, owner_id, full_name, email) select partner_id, id, owner_id, 'Niet van hier', $1 from copied`,
      email,
    );
    await signedCustomer(world, { email, months: { "2026-03": 321 } });
    const ask = await browserAt(email);
    expect((await ask(mijn(world))).text).toContain("321 kWh");
  });

  test("who has a login too sees both at once by a code, and the login alone by its password's session", async () => {
    const { draft_id, email } = await world.draft();
    await world.claim(draft_id, { submit: true });
    const cpo = await signedCustomer(world, { email, months: { "2026-02": 4321 } });
    const ask = newBrowser(world);
    expect((await signIn(world, ask, email)).location).toBe("/pages/mijn?lang=nl");
    expect(ask.jar("mijn")).not.toContain("signatory.");
    const total = async () => {
      const [, kwh = ""] = /<tfoot>.*?<td>([\d.]+)<\/td>/.exec((await ask(mijn(world, "/charging"))).text) ?? [];
      return Number(kwh.replace(".", ""));
    };
    const both = await total();
    expect((await ask(mijn(world, "/sharing"))).text).toContain("U bent klant van");
    expect((await ask(mijn(world, "/tokens"))).status, "the login's own").toBe(200);
    const browsers = await world.rows("select user_id from core.page_sessions where signatory = $1", email);
    expect(browsers.map(({ user_id }) => user_id !== null)).toEqual([true]);
    await world.row(
      "insert into core.partner_managers (partner_id, user_id) select $1, user_id from core.page_sessions where signatory = $2 returning 1",
      world.partnerA.id,
      email,
    );
    for (const [from, to] of [
      [mijn(world), mijn(world, "/portal")],
      [portal(world), portal(world, "/mijn")],
    ] as const)
      expect((await ask(to, { form: { form_token: formToken((await ask(from)).text) } })).status).toBe(303);
    expect(await total(), "there and back").toBe(both);
    await world.row("update core.page_sessions set signatory = null where signatory = $1", email);
    expect(both - (await total())).toBe(4321);
    expect((await ask(mijn(world, `/account/${cpo.account_id}`))).status).toBe(404);
  });
});

describe("contract §6 a signatory changes the account number", () => {
  const code = async (email: string) => {
    const row = await world.mail(
      "where recipient = $1 and template = 'claim_code' order by created_at desc, age(xmin), ctid desc limit 1",
      email,
    );
    return row.subject.slice(0, 6);
  };

  test("by a code that was mailed for it, in this browser; told by mail, and held for 48 hours", async () => {
    const customer = await signedCustomer(world, { fields: { payout_handler: "service_pays_customer" } });
    const ask = await browserAt(customer.email);
    const path = mijn(world, `/account/${customer.account_id}`);
    const asked = await ask(path);
    expect(asked.text).toContain("4300");
    const form_token = formToken(asked.text);
    const iban = "NL02 ABNA 0123 4567 89";
    expect((await ask(path, { form: { form_token, iban, code: "123456" } })).text, "before any code").toContain(
      "Fout: ",
    );
    await ask(`${path}/code`, { form: { form_token } });
    const right = await code(customer.email);
    const wrong = right === "000000" ? "000001" : "000000";
    expect((await ask(path, { form: { form_token, iban, code: wrong } })).text).toContain("Deze code klopt niet");
    expect((await ask(path, { form: { form_token, iban: "NL00", code: right } })).text).toContain("geen geldig IBAN");
    const other = await browserAt(customer.email);
    const elsewhere = { form_token: formToken((await other(path)).text), iban, code: right };
    expect((await other(path, { form: elsewhere })).text, "in another browser").toContain("Fout: ");
    const saved = await ask(path, { form: { form_token, iban, code: right } });
    for (const said of ["Uw rekeningnummer is gewijzigd", "eindigt op 6789", "48 uur niets naar over"])
      expect(saved.text).toContain(said);
    await world.work();
    const mail = await world.mail("where recipient = $1 and template = 'payout_iban_changed'", customer.email);
    const until = /tot (\d+ \w+ \d{4} om \d\d:\d\d)/.exec(saved.text)?.[1];
    for (const said of ["6789", "48 uur", `tot ${until}`, "/mijn/earnings"]) expect(mail.text).toContain(said);
    expect((await ask(path, { form: { form_token, iban, code: right } })).text, "a second click").toContain("6789");
    expect((await ask(path, { form: { form_token, iban, code: right } })).text, "and then no more").toContain("Fout: ");
  });

  test("of ten tabs that send the code at once the number is stored and told once", async () => {
    const customer = await signedCustomer(world, { fields: { payout_handler: "service_pays_customer" } });
    const ask = await browserAt(customer.email);
    const path = mijn(world, `/account/${customer.account_id}`);
    const form_token = formToken((await ask(path)).text);
    await ask(`${path}/code`, { form: { form_token } });
    const form = { form_token, iban: "NL02ABNA0123456789", code: await code(customer.email) };
    const cookie = ask.jar("mijn");
    const tabs = Array.from({ length: 10 }, () => newBrowser(world)(path, { form, headers: { cookie } }));
    expect((await Promise.all(tabs)).every(({ status }) => status < 500)).toBe(true);
    const told = await world.row(
      `select (select count(*)::int from core.notices where account_id = $1 and kind = 'payout_iban_changed') as told,
              (select count(*)::int from core.audit_log where subject_id = $1 and action = 'account.iban_stored' and actor = 'signatory') as stored,
              (select iban_last4 from core.accounts where id = $1) as last4`,
      customer.account_id,
    );
    expect(told).toEqual({ told: 1, stored: 1, last4: "6789" });
  });

  test("not where the CPO settles with them: there the page says why a number is needed all the same", async () => {
    const customer = await signedCustomer(world, { fields: { payout_handler: "via_cpo_invoicing", iban: null } });
    const ask = await browserAt(customer.email);
    expect((await ask(mijn(world, `/account/${customer.account_id}`))).status).toBe(404);
    const page = (await ask(mijn(world, "/earnings"))).text;
    expect(page).toContain("rekent met u af");
    expect(page).toContain("Er is nog geen rekeningnummer van u");
  });
});

describe("contract §2 a signatory withdraws the mandate they gave", () => {
  const codeTo = async (email: string) => {
    const row = await world.mail(
      "where recipient = $1 and template = 'claim_code' order by created_at desc, age(xmin), ctid desc limit 1",
      email,
    );
    return row.subject.slice(0, 6);
  };
  const mandateOf = async ({ connection_id }: SignedCustomer) =>
    (await world.row("select mandate_status from core.connection_mandates where connection_id = $1", connection_id))
      .mandate_status;
  const statusOf = async ({ connection_id }: SignedCustomer) =>
    Object.fromEntries(
      (
        await world.rows(
          "select to_char(period, 'YYYY-MM') as month, status from core.delivered_months where connection_id = $1",
          connection_id,
        )
      ).map(({ month, status }) => [month, status]),
    );

  test("by a code that was mailed for it, in this browser, after the page said what it means; signatory, CPO and log are told", async () => {
    const customer = await signedCustomer(world, {
      months: { "2026-05": 100, "2026-11": 40 },
      fields: { cpo_external_ref: "KLANT-STOP" },
    });
    const manager = await newManager(world, customer.partner);
    const ask = await browserAt(customer.email);
    const mandates = await ask(mijn(world, "/mandate"));
    expect(mandates.text).toContain(`/mijn/withdraw/${customer.connection_id}`);
    const path = mijn(world, `/withdraw/${customer.connection_id}`);
    const { connection_id } = customer;
    const become = (status: string) =>
      world.row(
        "update core.connections set registration_status = $2 where id = $1 returning 1",
        connection_id,
        status,
      );
    await become("afgekeurd");
    expect((await ask(`${path}?lang=nl`)).text).toContain("dan telt ook niet mee wat u eerder laadde");
    await become("ingediend");
    expect((await ask(`${path}?lang=nl`)).text).toContain("dit geldt als die wordt goedgekeurd");
    await become("goedgekeurd");
    const asked = await ask(`${path}?lang=nl`);
    for (const said of [
      "Wat u tot en met 31 oktober 2026 laadde, telt nog mee",
      "U verliest de 40 kWh van november 2026",
    ])
      expect(asked.text).toContain(said);
    expect((await ask(`${path}?lang=en`)).text).toContain("You lose the 40 kWh of November 2026");
    const form_token = formToken(asked.text);
    expect((await ask(path, { form: { form_token, code: "123456" } })).text, "before any code").toContain("Fout: ");
    await ask(`${path}/code`, { form: { form_token } });
    const right = await codeTo(customer.email);
    const wrong = right === "000000" ? "000001" : "000000";
    expect((await ask(path, { form: { form_token, code: wrong } })).text).toContain("Deze code klopt niet");
    expect((await ask(path, { form: { form_token: "x", code: right } })).status, "a form of elsewhere").toBe(403);
    const other = await browserAt(customer.email);
    const elsewhere = { form_token: formToken((await other(path)).text), code: right };
    expect((await other(path, { form: elsewhere })).text, "in another browser").toContain("Fout: ");
    expect(await mandateOf(customer)).toBe("signed");

    const done = await ask(path, { form: { form_token, code: right } });
    expect(done.text).toContain("Uw machtiging is ingetrokken");
    expect(await mandateOf(customer)).toBe("revoked");
    expect(await statusOf(customer)).toEqual({ "2026-05": "staged", "2026-11": "outside_mandate" });
    const told = await world.mail("where recipient = $1", manager.email);
    expect(told.subject).toBe("Klant KLANT-STOP heeft de machtiging ingetrokken");
    expect(told.text).not.toContain("{{");
    await world.work();
    const own = await world.mail("where recipient = $1 and template = 'mandate_withdrawn'", customer.email);
    expect(own.text).toContain("31 oktober 2026");
    const event = await world.row(
      "select partner_id from core.events where type = 'mandate.revoked' and data ->> 'connection_id' = $1",
      customer.connection_id,
    );
    expect(event).toEqual({ partner_id: customer.partner.id });
    const audited = await world.row(
      "select actor from core.audit_log where action = 'mandate.revoked' and subject_id = $1",
      customer.connection_id,
    );
    expect(audited).toEqual({ actor: "signatory" });

    // what a second click, and the page afterwards, find
    expect((await ask(path, { form: { form_token, code: right } })).location).toContain("/mijn/mandate");
    expect((await ask(path)).location).toContain("/mijn/mandate");
    expect((await ask(mijn(world, "/mandate"))).text).not.toContain("/mijn/withdraw/");
    await world.row("delete from core.partner_managers where user_id = $1 returning 1", manager.user_id);
  });

  test("once, of ten tabs that send the code at once", async () => {
    const customer = await signedCustomer(world, { months: { "2026-05": 100 } });
    const ask = await browserAt(customer.email);
    const path = mijn(world, `/withdraw/${customer.connection_id}`);
    const form_token = formToken((await ask(path)).text);
    await ask(`${path}/code`, { form: { form_token } });
    const form = { form_token, code: await codeTo(customer.email) };
    const cookie = ask.jar("mijn");
    const tabs = Array.from({ length: 10 }, () => newBrowser(world)(path, { form, headers: { cookie } }));
    expect((await Promise.all(tabs)).every(({ status }) => status < 500)).toBe(true);
    const { ended } = await world.row(
      "select count(*)::int as ended from core.audit_log where action = 'mandate.revoked' and subject_id = $1",
      customer.connection_id,
    );
    expect(ended).toBe(1);
  });

  test("nobody else's: a neighbor's, a person's own claim, what is no connection, and none without signing in", async () => {
    const customer = await signedCustomer(world);
    const ask = await browserAt(customer.email);
    const form_token = formToken((await ask(mijn(world, "/mandate"))).text);
    for (const id of [neighbor.connection_id, customer.account_id, randomUUID()]) {
      const path = mijn(world, `/withdraw/${id}`);
      expect((await ask(path)).status).toBe(404);
      expect((await ask(`${path}/code`, { form: { form_token } })).status).toBe(404);
      expect((await ask(path, { form: { form_token, code: "123456" } })).status).toBe(404);
    }
    expect(await mandateOf(neighbor)).toBe("signed");
    const path = mijn(world, `/withdraw/${customer.connection_id}`);
    expect((await newBrowser(world)(path)).location).toContain("/mijn/sign-in");
    // five guesses, ten codes a day
    const own = formToken((await ask(path)).text);
    await ask(`${path}/code`, { form: { form_token: own } });
    const right = await codeTo(customer.email);
    const wrong = right === "000000" ? "000001" : "000000";
    for (let guess = 0; guess < 5; guess += 1) await ask(path, { form: { form_token: own, code: wrong } });
    expect((await ask(path, { form: { form_token: own, code: right } })).text).toContain("Fout: ");
    expect(await mandateOf(customer)).toBe("signed");
  });
});

test("contract §2 a signatory signs again by a link of their own, from 1 November of the last year on", async () => {
  const customer = await signedCustomer(world);
  await world.row(
    "update core.mandates set valid_until = '2026-12-31' where connection_id = $1 returning 1",
    customer.connection_id,
  );
  const ask = await browserAt(customer.email);
  const page = await ask(mijn(world, "/mandate"));
  const form = { form_token: formToken(page.text), account: customer.account_id, connection: customer.connection_id };
  const renewed = await ask(mijn(world, "/renew"), { form });
  expect(renewed.location).toMatch(/^\/pages\/mandate\/[0-9A-Za-z]{43}\?lang=nl$/);
  expect((await ask(renewed.location ?? "")).text).toContain("1 januari 2027");
});

test("contract §6 what does not count is said with its reason, as the register gave it", async () => {
  const customer = await signedCustomer(world, { months: { "2026-01": 60, "2025-12": 33 } });
  await world.row(
    `with booking as (
       insert into core.bookings (partner_id, run_id, quarter, number, status, submitted_at)
       select partner_id, gen_random_uuid(), '2026-01-01', 99, 'submitted', private.now() from core.connections where id = $1 returning partner_id, id),
     booked as (
       insert into core.booking_rows
         (partner_id, booking_id, account_id, connection_id, owner_id, period, status, kwh, session_count, source, ere_per_kwh, ean_code,
          ean_exclusive, signatory, postal_code, house_number, mandate_id, mandate_signed_at, mandate_valid_from, mandate_valid_until,
          fee_pct, partner_share_pct)
       select c.partner_id, b.id, c.account_id, c.id, c.owner_id, '2026-01-01', 'rejected', 60, 8, 'own_sessions', 0.332694, c.ean_code,
              c.ean_exclusive, 'Willem Bakker', '3818LH', 8, m.id, m.signed_at, m.valid_from, m.valid_until, m.fee_pct, m.partner_share_pct
         from core.connections c join core.mandates m on m.connection_id = c.id, booking b where c.id = $1 returning *),
     credited as (
       insert into core.credits (partner_id, row_id, owner_id, accepted_kwh, ere, reason)
       select partner_id, id, owner_id, 0, 0, 'EAN stond op een <andere> naam' from booked)
     update core.delivered_months set status = 'rejected' where connection_id = $1 and period = '2026-01-01'`,
    customer.connection_id,
  );
  const ask = await browserAt(customer.email);
  for (const path of ["/charging?year=2026", "/earnings?year=2026"]) {
    const { text } = await ask(mijn(world, path));
    expect(text).toContain("Van januari 2026 telt 60 kWh niet mee. De overheid heeft dit niet ingeschreven.");
    expect(text).toContain("EAN stond op een &lt;andere&gt; naam");
  }
});

describe("contract §2 the mail about a payout", () => {
  const mailOf = async (email: string) =>
    (await world.mail("where recipient = $1 and template = 'payout_sent' order by created_at desc limit 1", email))
      .text as string;
  const pay = async (account_id: string) => {
    await world.row(
      `insert into core.notices (partner_id, account_id, owner_id, kind, cause, details)
       select partner_id, id, owner_id, 'payout_sent', 'test:' || gen_random_uuid(), '{"amount_eur": 2500, "iban_last4": "4300", "from": "2026-08-17", "until": "2026-08-19"}'
         from core.accounts where id = $1`,
      account_id,
    );
    await world.work();
  };

  test("leads to the page that shows it, of a signatory too; of a login that ended to the claim", async () => {
    const customer = await signedCustomer(world, { fields: { payout_handler: "service_pays_customer" } });
    await pay(customer.account_id);
    const mail = await mailOf(customer.email);
    expect(mail).toContain("€ 2.500,00".replace(" ", "\u00a0"));
    expect(mail).toContain(`${world.environment.config.PAGES_URL}/mijn/earnings?lang=nl`);

    const { draft_id, email } = await world.draft();
    await world.claim(draft_id, { submit: true });
    const { account_id, user_id } = await world.row(
      "select account_id, user_id from core.drafts where id = $1",
      draft_id,
    );
    await pay(account_id);
    expect(await mailOf(email)).toContain("/mijn/earnings?lang=nl");
    await world.row("update auth.users set deleted_at = private.now() where id = $1", user_id);
    await world.row("delete from core.mail_outbox where recipient = $1 and template = 'payout_sent'", email);
    await pay(account_id);
    expect(await mailOf(email)).not.toContain("/mijn/");
  });
});

test("contract §2 before signing the estimate says who gets the money, and numbers stand in one way", async () => {
  await giveBooking(world.database.admin, one.connection_id);
  const read = async (payout_handler: string) => {
    const person = { full_name: "Willem Bakker", email: newAddress() };
    const { account_id } = await createAccount(world, world.partnerA, { person, payout_handler });
    const link = await world.post("/v1/mandate-links", { account_id }, await world.partnerA.client.token());
    return (await newBrowser(world)(link.body.mandate_link)).text;
  };
  const [via, paid] = [await read("via_cpo_invoicing"), await read("service_pays_customer")];
  for (const page of [via, paid]) {
    expect(page.replace(/<[^>]+>/g, "")).toContain("bij 2.500 kWh");
    expect(page).not.toContain("2500 kWh");
  }
  expect(paid).toContain("Voor u");
  expect(via).not.toMatch(/U krijgt|Voor u|voor u,/);
  expect(via).toContain("aan Zonneveld Laadpalen, dat met u afrekent");
});
