// What a customer changes or ends from their own pages: where it leads, what it says, and what the mail says.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type SandboxWorld, START } from "../sandbox/sandbox_world.ts";
import { type Browser, formToken, heading, mailedCode } from "./claimant.ts";
import { browserOf, type Customer, createCustomerWorld, mijn, newCustomer, paidCustomer } from "./customer.ts";

let world: SandboxWorld;
beforeAll(async () => {
  world = await createCustomerWorld();
});
afterAll(() => world.close());

const IBAN = "NL20 INGB 0001 2345 67";
const main = (page: string) => (/<main[^>]*>([\s\S]*)<\/main>/.exec(page)?.[1] ?? "").replace(/<[^>]+>/g, " ");

/** Presses the button of an own page that leads to a claim page of theirs. */
async function open(ask: Browser, { account_id }: Customer, from: string, page: string, lang = "nl") {
  const form_token = formToken((await ask(mijn(world, `${from}?lang=${lang}`))).text);
  const form = { form_token, account: account_id, page };
  const { location } = await ask(mijn(world, `/open?lang=${lang}`), { form });
  return location ?? "";
}
const sent = (page: string, path: string) => page.replace(/\/(payout|revoke)\?/, `/${path}?`);
const codeFor = ({ draft_id, email }: Customer) => mailedCode(world, { id: draft_id, email, link: "" });

describe("contract §6 what is changed from the own pages ends there", () => {
  test.each([
    ["nl", "Uw rekeningnummer is gewijzigd.", "48 uur", "22 november 2026 om 13:00", "U bent aangemeld"],
    ["en", "Your account number was changed.", "48 hours", "22 November 2026 at 13:00", "You are registered"],
  ])(
    "another account number, with the hours that money waits and until when: %s",
    async (lang, said, hours, until, away) => {
      const customer = await paidCustomer(world);
      const ask = await browserOf(world, customer);
      const page = await open(ask, customer, "/earnings", "/payout", lang);
      const form_token = formToken((await ask(page)).text);
      const asked = await ask(sent(page, "iban-code"), { form: { form_token } });
      expect(asked.location).toBe(page);
      const wrong = await ask(page, { form: { form_token, iban: "NL00", code: await codeFor(customer) } });
      expect(wrong.text).toContain('value="NL00"');
      const both = await ask(page, { form: { form_token, iban: "NL00", code: "12" } });
      expect(both.text.match(/<li><a href="#(iban|code)">/g), "at once").toHaveLength(2);
      const saved = await ask(page, { form: { form_token, iban: IBAN, code: await codeFor(customer) } });
      const told = main(saved.text);
      expect(heading(saved.text)).toMatch(/^(Geld|Money) in 2026$/);
      expect(told).not.toContain(away);
      const mail = await world.mail("where recipient = $1 and template = 'customer_iban_changed'", customer.email);
      for (const text of [told, mail.text]) for (const part of [hours, until]) expect(text).toContain(part);
      expect(told).toContain(said);
      expect(told.match(/48 (uur|hours)/g), "the wait stands there once").toHaveLength(1);
      expect(told.split(until), "until when, too").toHaveLength(2);
      expect(main((await ask(mijn(world, `/earnings?lang=${lang}`))).text), "once").not.toContain(said);
    },
  );

  test("the first account number too, without a code", async () => {
    const customer = await newCustomer(world);
    const ask = await browserOf(world, customer);
    const page = await open(ask, customer, "/earnings", "/payout");
    const saved = await ask(page, { form: { form_token: formToken((await ask(page)).text), iban: IBAN } });
    expect(heading(saved.text)).toBe("Geld in 2026");
    expect(main(saved.text)).toContain("48 uur niets naar over");
  });

  test("a withdrawal; and whoever turns back is on their own pages", async () => {
    const customer = await newCustomer(world);
    const ask = await browserOf(world, customer);
    const page = await open(ask, customer, "/mandate", "/revoke");
    const { text } = await ask(page);
    expect(text).toContain('<a class="link" href="/pages/mijn/mandate?lang=nl">Terug</a>');
    expect(text, "within the menu").toContain(
      '<a href="/pages/mijn/mandate?lang=nl" aria-current="page">Machtiging</a>',
    );
    expect(text, "in the colors of the own pages").not.toContain("brand.css");
    expect(text, "and the name").toContain(`<span>${customer.email}</span>`);
    const form_token = formToken(text);
    await ask(sent(page, "revoke-code"), { form: { form_token } });
    const after = await ask(page, { form: { form_token, code: await codeFor(customer) } });
    expect(heading(after.text)).toMatch(/^Dag /);
    expect(main(after.text)).toContain(
      "Uw machtiging is ingetrokken. Dat geldt meteen. Er komt daarna geen geld meer.",
    );
  });

  test("a withdrawal before the factor of the year is known does not say that no money comes", async () => {
    const customer = await newCustomer(world);
    await world.row(
      `insert into core.delivered_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, status, source, received_at)
       select c.partner_id, c.id, c.owner_id, '2027-01-01', 12, 1, 'staged', 'test', now() from core.connections c where c.account_id = $1 returning 1`,
      customer.account_id,
    );
    const factors = await world.database.admin.query(
      "delete from core.ere_factors where delivery_year = 2027 returning *",
    );
    const now = world.environment.now().toISOString();
    await world.travel("2027-02-10T12:00:00Z");
    const ask = await browserOf(world, customer);
    const page = await open(ask, customer, "/mandate", "/revoke");
    const form_token = formToken((await ask(page)).text);
    await ask(sent(page, "revoke-code"), { form: { form_token } });
    const after = await ask(page, { form: { form_token, code: await codeFor(customer) } });
    await world.travel(now);
    for (const { delivery_year, renewable_share, bookable_until } of factors.rows)
      await world.row(
        "insert into core.ere_factors (delivery_year, renewable_share, bookable_until) values ($1, $2, $3) returning 1",
        delivery_year,
        renewable_share,
        bookable_until,
      );
    expect(main(after.text)).toContain(
      "Dat geldt meteen. Wat al is ingeboekt of nog meetelt, wordt gewoon verkocht en betaald.",
    );
  });

  test("who withdrew the mandate of their own account signs again, by the same steps; nobody else may", async () => {
    const customer = await newCustomer(world);
    const ask = await browserOf(world, customer);
    const page = await open(ask, customer, "/mandate", "/revoke");
    const form_token = formToken((await ask(page)).text);
    await ask(sent(page, "revoke-code"), { form: { form_token } });
    await ask(page, { form: { form_token, code: await codeFor(customer) } });
    expect(main((await ask(mijn(world))).text)).toContain("Wilt u weer meedoen? Tekent u opnieuw");
    const again = await open(ask, customer, "", "/mandate");
    const read = (await ask(again)).text;
    const seen = /seen=([0-9a-f]+)/.exec(read)?.[1] ?? "";
    const sign = again.replace("/mandate?", "/sign?");
    const form = { form_token: formToken((await ask(`${sign}&seen=${seen}`)).text), seen };
    await ask(sign.replace("/sign?", "/sign-code?"), { form });
    const done = await ask(sign, {
      form: { ...form, code: await codeFor(customer), name: "Sanne de Vries", agree: "yes" },
    });
    expect([heading(done.text), main(done.text).includes("U heeft getekend.")]).toEqual(["Uw machtiging", true]);
    const held = async () =>
      (
        await world.rows(
          `select m.status || ' from ' || m.valid_from as held
             from core.mandates m join core.connections c on c.id = m.connection_id
            where c.account_id = $1 order by m.created_at`,
          customer.account_id,
        )
      ).map(({ held }) => held);
    // what the withdrawal left covered keeps its terms
    expect(await held()).toEqual(["revoked from 2026-01-01", "signed from 2026-11-01"]);
    // one that the operator ended, or of a login that is gone, is not signed again by oneself
    const may = async () =>
      (
        await world.row(
          "select private.may_sign_again(c.id, c.partner_id) as may from core.connections c where c.account_id = $1",
          customer.account_id,
        )
      ).may;
    const end = `update core.mandates set status = 'revoked', ended_at = now(), ended_reason = $2
                  where connection_id in (select id from core.connections where account_id = $1) returning 1`;
    await world.rows(end, customer.account_id, "operator");
    expect(await may()).toBe(false);
    await world.rows(end, customer.account_id, "customer");
    expect(await may()).toBe(true);
    await world.row(
      "update auth.users set banned_until = now() + interval '1 day' where id = $1 returning 1",
      customer.user_id,
    );
    expect(await may()).toBe(false);
  });

  test("a withdrawal names what is lost and why, and nothing is forecast any more", async () => {
    const customer = await paidCustomer(world);
    await world.row(
      `insert into core.delivered_months as d (partner_id, connection_id, owner_id, period, total_kwh, session_count, status, source, received_at)
       select c.partner_id, c.id, c.owner_id, '2026-11-01', 12, 1, 'staged', 'test', now() from core.connections c where c.account_id = $1
       on conflict on constraint delivered_months_pkey do update set total_kwh = 12 returning 1`,
      customer.account_id,
    );
    await world.row(
      `insert into core.figures (partner_id, delivery_year, price) values (private.people_tenant(), 2026, 0.42)
       on conflict on constraint figures_pkey do update set price = 0.42 returning 1`,
    );
    const ask = await browserOf(world, customer);
    const money = async () => main((await ask(mijn(world, "/earnings?lang=nl"))).text);
    expect(await money()).toContain("Gaat u zo door");
    expect(main((await ask(mijn(world, "/data/end"))).text)).toContain("Uw machtiging eindigt.");
    const page = await open(ask, customer, "/mandate", "/revoke");
    const form_token = formToken((await ask(page)).text);
    await ask(sent(page, "revoke-code"), { form: { form_token } });
    const told = await ask(page, { form: { form_token, code: await codeFor(customer) } });
    expect(main(told.text).replaceAll("\u00a0", " "), "the sum and the kWh").toMatch(
      /Dat geldt meteen\. Voor de [\d.]+ kWh die nog meetellen, komt nog ± € [\d.]+,\d\d\./,
    );
    expect(main((await ask(mijn(world, "/data/end"))).text), "no mandate is left to end").not.toContain("eindigt");
    await world.work();
    const mail = await world.mail("where recipient = $1 and template = 'mandate_withdrawn'", customer.email);
    expect(mail.text).toContain("U verliest 12 kWh die u al had geladen");
    const after = await money();
    expect(after).not.toContain("Gaat u zo door");
    expect(after).toContain("Van november 2026 telt 12 kWh niet mee. Uw machtiging eindigde voordat wij die maand");
    expect(after).toContain("De maand waarin een machtiging eindigt, telt niet mee.");
    expect(after).not.toContain("Uw machtiging gold toen niet.");
  });

  test("who stopped sharing reads the partner's name on no page or mail of the withdrawal", async () => {
    await world.row(
      `update core.partners set branding = branding || '{"display_name": "Groene Zon"}' where id = $1 returning 1`,
      world.partnerA.id,
    );
    const customer = await newCustomer(world);
    const ask = await browserOf(world, customer);
    const before = await open(ask, customer, "/mandate", "/revoke");
    // the same page as the claim's link leads to it, in its partner's name
    const apart = (page: string) => page.replace("&from=mijn", "");
    expect((await ask(apart(before))).text).toContain("Groene Zon");
    const asked = (await ask(mijn(world, "/sharing/stop"))).text;
    const partner = /name="partner" value="([^"]+)"/.exec(asked)?.[1] ?? "";
    await ask(mijn(world, "/sharing/stop"), { form: { form_token: formToken(asked), partner } });
    const page = await open(ask, customer, "/mandate", "/revoke");
    const { text } = await ask(apart(page));
    const form_token = formToken(text);
    await ask(sent(page, "revoke-code"), { form: { form_token } });
    await ask(page, { form: { form_token, code: await codeFor(customer) } });
    await world.work();
    const mails = await world.mails(
      "where recipient = $1 and template in ('claim_code', 'mandate_withdrawn')",
      customer.email,
    );
    const [code, told] = [
      mails.find(({ text }) => text.includes("intrekken")),
      mails.find(({ text }) => text.includes("ingetrokken")),
    ];
    for (const said of [text, code?.text, told?.text]) {
      expect(said).toBeTruthy();
      expect(said).not.toContain("Groene Zon");
    }
  });

  test("who stopped sharing signs again without the partner's name", async () => {
    const { name } = await world.row("select name from core.partners where id = $1", world.partnerA.id);
    const texts: string[] = [];
    for (const stops of [false, true]) {
      const customer = await newCustomer(world);
      const sharing = await browserOf(world, customer);
      const asked = (await sharing(mijn(world, "/sharing/stop"))).text;
      const partner = /name="partner" value="([^"]+)"/.exec(asked)?.[1] ?? "";
      if (stops) await sharing(mijn(world, "/sharing/stop"), { form: { form_token: formToken(asked), partner } });
      // signed in November 2026, so until 31 December 2027
      await world.travel("2027-11-20T12:00:00Z");
      const ask = await browserOf(world, customer);
      const page = (await open(ask, customer, "/mandate", "/revoke")).replace("/revoke?", "/mandate?");
      texts.push(main((await ask(page)).text));
      await world.travel(START);
    }
    for (const text of texts) expect(text).toContain("2028");
    const [with_partner, without] = texts;
    expect(with_partner).toContain(name);
    expect(without).not.toContain(name);
    expect(without, "as on the name's line of a mandate without a partner").not.toContain("undefined");
  });

  test("without a button of the own pages it ends on the page of the claim, whatever the address says", async () => {
    const customer = await newCustomer(world);
    const ask = await browserOf(world, customer);
    const page = (await open(ask, customer, "/earnings", "/payout")).replace("from=mijn", "from=elsewhere");
    const saved = await ask(page, { form: { form_token: formToken((await ask(page)).text), iban: IBAN } });
    expect(saved.location).toMatch(/^\/pages\/claim\/[^/]+\?lang=nl$/);
  });
});

describe("contract §6 the end of an account", () => {
  const end = async (ask: Browser, lang = "nl") => {
    const page = await ask(mijn(world, `/data/end?lang=${lang}`));
    const ended = await ask(mijn(world, `/data/end?lang=${lang}`), { form: { form_token: formToken(page.text) } });
    return { before: main(page.text), ended };
  };
  const mailTo = ({ email }: Customer) => world.mail("where recipient = $1 and template = 'account_closed'", email);

  test.each([
    ["nl", "Uw account is beëindigd", "1 januari 2033", "12 kWh van november 2026", "30 kWh van eerdere maanden"],
    ["en", "Your account has ended", "1 January 2033", "12 kWh of November 2026", "30 kWh of earlier months"],
  ])(
    "a farewell page and a mail say what is kept, until when, and which kWh are lost: %s",
    async (lang, title, kept, month, earlier) => {
      const customer = await newCustomer(world);
      await world.row(
        `insert into core.delivered_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, status, source, received_at)
       select c.partner_id, c.id, c.owner_id, p.period, p.kwh, 1, 'staged', 'test', now() from core.connections c,
              (values (date '2026-11-01', 12), (date '2026-10-01', 30)) as p (period, kwh) where c.account_id = $1 returning 1`,
        customer.account_id,
      );
      const ask = await browserOf(world, customer);
      const { before, ended } = await end(ask, lang);
      expect(before).toContain(month);
      expect(heading(ended.text)).toBe(title);
      for (const text of [main(ended.text), (await mailTo(customer)).text])
        for (const part of [kept, month, earlier]) expect(text).toContain(part);
      const later = await ask(mijn(world, `/closed?lang=${lang}`));
      expect([later.status, heading(later.text)]).toEqual([200, title]);
      expect(main(later.text), "told once, and to nobody else").not.toContain(kept);
      const back = await ask(mijn(world, `/data/end?lang=${lang}`));
      expect(main((await ask(back.location ?? "")).text), "where Back leads").toContain(`${title}. `);
    },
  );

  test("one mail says it: nothing that waits to be told is mailed beside it", async () => {
    const customer = await newCustomer(world);
    await end(await browserOf(world, customer));
    await world.work();
    const mails = await world.mails("where recipient = $1", customer.email);
    const told = mails.map(({ template }) => template).filter((template) => /_(closed|withdrawn)$/.test(template));
    expect(told).toEqual(["account_closed"]);
  });

  test("the partner that brought them cannot invite that address again, another one can, and only a hash is kept", async () => {
    const customer = await newCustomer(world);
    const row = { email: customer.email.toUpperCase(), type: "particulier", name: "Sanne de Vries" };
    const imported = async (key: string, fields: object) =>
      (await world.post("/partner/drafts/import", { consent: true, send_invite: false, rows: [row], ...fields }, key))
        .body;
    await end(await browserOf(world, customer));
    for (const fields of [{ dry_run: true }, {}]) {
      const { added, rejected, skipped } = await imported(world.keyA, fields);
      expect([added, skipped.suppressed, rejected.map(({ reason }: { reason: string }) => reason)]).toEqual([
        0,
        1,
        ["suppressed"],
      ]);
    }
    expect((await imported(world.keyB, {})).added).toBe(1);
    const kept = await world.rows("select * from core.suppressions");
    expect(Object.keys(kept[0] ?? {})).toEqual(["email_hash", "created_at"]);
  });

  test("a reset of the sandbox forgets it", async () => {
    const customer = await newCustomer(world);
    await end(await browserOf(world, customer));
    expect((await world.post("/sandbox/v1/reset", {}, world.keyA)).status).toBe(200);
    const rows = [{ email: customer.email, type: "particulier", name: "Sanne de Vries" }];
    const { body } = await world.post(
      "/partner/drafts/import",
      { consent: true, send_invite: false, rows },
      world.keyA,
    );
    expect(body.added).toBe(1);
  });
});

describe("contract §6 a person's data as a table", () => {
  test("opens in a spreadsheet, with a line for each mandate, month, payout, charger and session", async () => {
    const customer = await paidCustomer(world);
    const { charger } = await world.row(
      `update core.charging_sessions set started_at = '2026-05-01T22:30:00Z', ended_at = '2026-05-02T02:00:00Z', wh = 7500, meter_start_wh = 4012100,
              meter_end_wh = 4019600, source = 'ocpp'
        where id = (select id from core.charging_sessions where owner_id = $1 order by id limit 1)
        returning (select private.charger_name(h) from core.chargers h where h.id = charger_id) as charger`,
      customer.user_id,
    );
    const ask = await browserOf(world, customer);
    const { text, headers } = await ask(mijn(world, "/data.csv?lang=nl"));
    expect(headers.get("content-disposition")).toBe('attachment; filename="mijn-gegevens.csv"');
    const [head, ...lines] = text.trim().split("\r\n");
    expect(head).toBe(
      '"Wat";"Datum";"Omschrijving";"Getal";"Eenheid";"Einde";"Meterstand begin (kWh)";"Meterstand eind (kWh)";"Bron"',
    );
    const all = JSON.parse((await ask(mijn(world, "/data.json"))).text);
    const [account] = all.accounts;
    const count = (what: string) => lines.filter((line) => line.startsWith(`"${what}";`)).length;
    expect(count("Laadbeurt")).toBe(all.charging_sessions.length);
    expect(count("Maand")).toBe(account.connections[0].months.length);
    expect(count("Machtiging")).toBe(1);
    expect(count("Laadpaal")).toBe(all.chargers.length);
    expect(lines).toContain(
      `"Laadbeurt";"2026-05-02 00:30:00";"${charger}";7,5;"kWh";"2026-05-02 04:00:00";4012,1;4019,6;"ocpp"`,
    );
    const [payout] = account.payouts;
    expect(lines).toContain(
      `"Uitbetaling";"${payout.paid_at.slice(0, 10)}";"naar de rekening die eindigt op 4300";${String(payout.amount_eur).replace(".", ",")};"EUR";;;;`,
    );
    expect(lines.some((line) => line.startsWith('"E-mailadres";') && line.includes(customer.email))).toBe(true);
    const english = await ask(mijn(world, "/data.csv?lang=en"));
    expect(english.text.split("\r\n")[0]).toBe(
      '"What","Date","Description","Number","Unit","End","Meter at start (kWh)","Meter at end (kWh)","Source"',
    );
  });
});
