// The settings in a partner's pages by plain HTTP: what a form does, once, for this partner alone.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withoutIds } from "../harness/without_ids.ts";
import { later, type SandboxWorld, START } from "../sandbox/sandbox_world.ts";
import { type Browser, formToken, heading } from "./claimant.ts";
import { createCustomerWorld, signInCode } from "./customer.ts";
import { type Manager, newManager, portal, portalBrowser, signInToPortal } from "./manager.ts";

let world: SandboxWorld;
let manager: Manager;
let ask: Browser;
let stranger: Browser;
beforeAll(async () => {
  world = await createCustomerWorld();
  manager = await newManager(world, world.partnerA);
  await world.row(
    "update core.partner_keys set revoked_at = now() where partner_id = $1 and revoked_at is null returning 1",
    world.partnerA.id,
  );
  ask = await portalBrowser(world, manager);
  stranger = await portalBrowser(world, await newManager(world, world.partnerB));
});
afterAll(() => world.close());

/** Sends a form of a settings page as it is shown there, to `to`, and gives the page that the answer leads to. */
async function send(page: string, fields: Record<string, string>, { browser = ask, to = page } = {}) {
  const form = { form_token: formToken((await browser(portal(world, page))).text), ...fields };
  return browser(portal(world, to), { form });
}

/** Every sign-in of the manager so far was so many minutes ago. */
const signedIn = (minutes: number) =>
  world.rows(
    "update auth.sessions set created_at = private.now() - make_interval(mins => $2) where user_id = $1",
    manager.user_id,
    minutes,
  );

/** What the page of a form that makes a secret puts in it. */
const once = (text: string) => /name="once" value="([^"]+)"/.exec(text)?.[1] ?? "";

describe("contract §4 the settings in a partner's pages", () => {
  test("name their pages, and what is still to be done there", async () => {
    const { status, text } = await ask(portal(world, "/settings"));
    expect([status, heading(text)]).toEqual([200, "Instellingen"]);
    expect(text).toMatch(/gegevens die op uw facturen moeten<\/small>.*class="chip yours">.*<span>Nog te doen</);
    expect((await ask(portal(world, "/settings?lang=en"))).text).toContain("details that your invoices need");
  });

  const COMPANY = {
    name: "Laadpunt Zuid B.V.",
    kvk: "12345678",
    vat: "NL123456789B01",
    street: "Dorpsstraat",
    house_number: "8 A",
    postal_code: "3818lh",
    city: "Amersfoort",
  };

  test("company: what is sent is stored, empty clears, and another partner's stays", async () => {
    const { status, text } = await send("/settings/company", COMPANY);
    expect(status).toBe(200);
    expect(text).toContain("De gegevens zijn bewaard.");
    expect(text).toContain('value="3818LH"');
    const { status: again, text: cleared } = await send("/settings/company", { ...COMPANY, kvk: "" });
    expect(again).toBe(200);
    expect(cleared).toContain('id="kvk" name="kvk" value=""');
    const other = await stranger(portal(world, "/settings/company"));
    expect(other.text).not.toContain("Laadpunt Zuid");
  });

  test("company: it says what invoices still need", async () => {
    const needs = async (vat_regime: string | null, fields: object) => {
      await world.row(
        "update core.partners set vat_regime = $2 where id = $1 returning 1",
        world.partnerA.id,
        vat_regime,
      );
      return (await send("/settings/company", { ...COMPANY, ...fields })).text;
    };
    expect(await needs(null, {})).toContain("hoe u btw rekent");
    expect(await needs("regular", { vat: "" })).toContain("nog uw btw-nummer nodig");
    expect(await needs("regular", { vat: "BE0123456789" })).toContain("geen Nederlands btw-nummer");
    expect(await needs("reverse_charge", {})).toContain("is een Nederlands btw-nummer");
    expect(await needs("regular", { street: "" })).toContain("nog uw straat en plaats nodig");
    expect(await needs("regular", {})).toContain("Wij hebben alles");
  });

  test("company: what is wrong is said at the field and above, what was typed stays, and nothing is stored", async () => {
    const { status, text } = await send("/settings/company", {
      ...COMPANY,
      name: "x".repeat(121),
      kvk: "1",
      vat: "\u0000",
    });
    expect(status).toBe(422);
    for (const field of ["name", "kvk", "vat"]) {
      expect(text).toContain(`<a href="#${field}">`);
      expect(text).toContain(`id="${field}-error"`);
    }
    expect(text).toContain('value="Dorpsstraat"');
    expect((await ask(portal(world, "/settings/company"))).text).toContain('value="12345678"');
    const huge = await ask(portal(world, "/settings/company"), { form: { name: "x".repeat(20_000) } });
    expect(huge.status).toBe(413);
  });

  const ACCOUNT = { iban: "nl02 abna 0123 4567 89", account_holder: "Laadpunt Zuid B.V." };

  test("account: kept masked, mailed to everybody who manages the partner, held for 48 hours; the same again changes nothing", async () => {
    const colleague = await newManager(world, world.partnerA);
    const mails = () =>
      world.rows(
        "select recipient from core.mail_outbox where template = 'iban_changed' and recipient in ($1, $2)",
        manager.email,
        colleague.email,
      );
    expect((await ask(portal(world, "/settings"))).text).toContain("waar wij uw aandeel naartoe overmaken");
    const { status, text } = await send("/settings/account", ACCOUNT);
    expect(status).toBe(200);
    expect(text).toContain("**** 6789");
    expect(text).toContain("maken wij er niets naar over tot 22 november 2026 om 13:00.");
    expect(withoutIds(text)).not.toMatch(/0123/);
    expect(await mails()).toHaveLength(2);
    await world.travel(later(60));
    const again = await send("/settings/account", ACCOUNT);
    expect(again.text).toContain("tot 22 november 2026 om 13:00.");
    expect(await mails()).toHaveLength(2);
    const named = await send("/settings/account", { ...ACCOUNT, account_holder: "Zuid" });
    expect(named.text).toContain("tot 22 november 2026 om 13:00.");
    expect(await mails()).toHaveLength(4);
    const other = await send("/settings/account", { ...ACCOUNT, iban: "NL91ABNA0417164300" });
    expect(other.text).toContain("**** 4300");
    expect(other.text).toContain("tot 22 november 2026 om 13:01.");
    expect((await stranger(portal(world, "/settings/account"))).text).not.toContain("****");
    expect((await ask(portal(world, "/settings"))).text).toContain("**** 4300, op naam van Laadpunt Zuid B.V.");
    await world.travel(START);
  });

  test.each([
    ["NL91ABNA0417164301", "Laadpunt Zuid", "iban"],
    ["", "Laadpunt Zuid", "iban"],
    ["x".repeat(5000), "Laadpunt Zuid", "iban"],
    ["NL02ABNA0123456789", "L", "account_holder"],
  ])("account: %s of %s is refused, and nothing changes", async (iban, account_holder, field) => {
    const { status, text } = await send("/settings/account", { iban, account_holder });
    expect(status).toBe(422);
    expect(text).toContain(`id="${field}-error"`);
    expect(text).toContain("**** 4300");
  });

  test("account, return address and key need a sign-in of the last 15 minutes; else a code is mailed, which leads back", async () => {
    const late = await portalBrowser(world, manager);
    const pages = ["/settings/account", "/settings/return", "/settings/keys"];
    const forms = await Promise.all(pages.map(async (page) => [page, (await late(portal(world, page))).text] as const));
    await signedIn(16);
    for (const [page, shown] of forms) {
      const { status, text } = await late(portal(world, page));
      expect(status).toBe(200);
      expect(text).toContain("Daarom mailen wij u eerst een code");
      const form = { form_token: formToken(shown), once: once(shown), ...ACCOUNT, return_url: "https://dief.example" };
      const sent = await late(portal(world, page), { form });
      expect(heading(sent.text)).toBe("Vul de code in");
    }
    expect(
      await world.row("select return_url, iban_last4 from core.partners where id = $1", world.partnerA.id),
    ).toMatchObject({ iban_last4: "4300", return_url: "https://zonneveld.example/klaar" });
    const asked = await late(portal(world, "/code?to=%2Fsettings%2Freturn"));
    expect(asked.text).toContain("Daarna gaat u verder waar u was.");
    const code = await signInCode(world, manager.email);
    const { location } = await late(portal(world, "/code?to=%2Fsettings%2Freturn"), {
      form: { form_token: formToken(asked.text), code },
    });
    expect(location).toBe("/pages/portal/settings/return?lang=nl");
    const waiting = (await late(location ?? "")).text;
    expect(waiting, "what was typed waits there, once").toContain('value="https://dief.example"');
    expect((await late(location ?? "")).text).not.toContain("dief.example");
    const again = await signInToPortal(world, late, manager.email, "?to=%2Fsettings%2Fcolleagues");
    expect(again.location).toBe("/pages/portal/settings/colleagues?lang=nl");
    await signedIn(0);
  });

  test("return address: kept without the slash at its end, empty clears, and what may be none is refused", async () => {
    const stored = async () =>
      (await world.row("select return_url from core.partners where id = $1", world.partnerA.id)).return_url;
    expect((await send("/settings/return", { return_url: " https://laadpunt.example/klaar/ " })).text).toContain(
      "Het adres is bewaard.",
    );
    expect(await stored()).toBe("https://laadpunt.example/klaar");
    for (const return_url of [
      "javascript:alert(1)",
      "http://laadpunt.example",
      "https://u:p@laadpunt.example",
      "https://laadpunt.example/?a",
      "https://laadpunt.example/#a",
      `https://x/${"x".repeat(500)}`,
      "\u0000",
      "https://a b",
      "https://laad\ufffdpunt.example/klaar",
      "https://laadpunt..example",
      "https://-laadpunt.example",
      "https://laad_punt.example",
      "https://1.2.3.999",
      "https://laadpunt.example:x",
      `https://${"x".repeat(64)}.example`,
      "https://\u2024\u2024/klaar",
    ]) {
      const { status, text } = await send("/settings/return", { return_url });
      expect([return_url, status]).toEqual([return_url, 422]);
      expect(text).toContain('id="return_url-error"');
    }
    expect(await stored()).toBe("https://laadpunt.example/klaar");
    await send("/settings/return", { return_url: "https://Bücher.example:8443/Klaar" });
    expect(await stored(), "as browsers send it").toBe("https://xn--bcher-kva.example:8443/Klaar");
    expect((await send("/settings/return", {})).text).toContain("Het adres is weg.");
    expect(await stored()).toBeNull();
  });

  test("key: shown once, the same however often the form is sent; replaced and revoked after a second question", async () => {
    const works = async (key: string) => (await world.send("/partner/me", { token: key })).status;
    const keyOf = (text: string) => /<code[^>]*>(ere_test_\w{43,})<\/code>/.exec(text)?.[1] ?? "";
    const page = (await ask(portal(world, "/settings/keys"))).text;
    const form = { form_token: formToken(page), once: once(page) };
    const sent = await Promise.all(Array.from({ length: 10 }, () => ask(portal(world, "/settings/keys"), { form })));
    const keys = new Set(sent.map(({ text }) => keyOf(text)));
    expect(keys.size).toBe(1);
    const [key = ""] = keys;
    expect(await works(key)).toBe(200);
    const shown = (await ask(portal(world, "/settings/keys"))).text;
    expect(shown).not.toContain(key);
    expect(shown).toContain(`ere_test_…${key.slice(-4)}`);
    expect(shown).toContain("20 november 2026 om 13:00");

    const asked = (await ask(portal(world, "/settings/keys/rotate"))).text;
    expect(asked).toContain("werkt op dat moment niet meer");
    const rotated = await ask(portal(world, "/settings/keys/rotate"), {
      form: { form_token: formToken(asked), once: once(asked) },
    });
    const successor = keyOf(rotated.text);
    expect([await works(key), await works(successor)]).toEqual([401, 200]);
    // the form that made the first one, from a tab that was left open
    const old = await ask(portal(world, "/settings/keys"), { form });
    expect(old.text).toContain("Er is niets gewijzigd");
    expect(old.text).not.toContain(key);
    expect(await works(successor)).toBe(200);

    const revoked = await send("/settings/keys/revoke", {});
    expect(revoked.text).toContain("De sleutel is ingetrokken");
    expect(await works(successor)).toBe(401);
    expect((await ask(portal(world, "/settings/keys/revoke"))).location).toContain("/portal/settings/keys?");
    expect((await ask(portal(world, "/settings/keys/rotate"))).location).toContain("/portal/settings/keys?");
    const revived = await ask(portal(world, "/settings/keys"), { form });
    expect(revived.text).toContain("Er is niets gewijzigd");
    expect(await works(key)).toBe(401);
  });

  test.each(["/settings/keys", "/settings/keys/rotate"])(
    "key: a form of %s without the secret that our page put in is none of ours",
    async (to) => {
      for (const bad of ["", "x", "x".repeat(23)])
        expect((await send("/settings/keys", { once: bad }, { to })).status).toBe(403);
    },
  );

  test("log: who changed what and when, in words; a row of an unknown kind by its name; no number, no secret, nothing of another partner", async () => {
    const { text } = await ask(portal(world, "/settings/log"));
    const rows = [...text.matchAll(/<li>([^<]*)<small>([^<]*)<\/small>/g)].map(([, what, who]) => [what, who]);
    expect(rows.slice(0, 3)).toEqual([
      ["API-sleutel ingetrokken", `20 november 2026 om 13:00, ${manager.email}`],
      ["API-sleutel gemaakt", `20 november 2026 om 13:00, ${manager.email}`],
      ["API-sleutel gemaakt", `20 november 2026 om 13:00, ${manager.email}`],
    ]);
    expect(rows.map(([what]) => what)).toEqual(
      expect.arrayContaining([
        "Bedrijfsgegevens gewijzigd: KvK-nummer",
        "Rekeningnummer gewijzigd: nummer, naam van de houder",
        "Adres voor inloglinks gewijzigd",
      ]),
    );
    expect(withoutIds(text)).not.toMatch(/4300|6789|ere_test_|NL91/);
    expect((await ask(portal(world, "/settings/log?lang=en"))).text).toContain("Company details changed: KvK number");
    expect((await stranger(portal(world, "/settings/log"))).text).not.toContain(manager.email);
  });

  test("log: fifty a page, each row once; by the key, by the operator, by who is gone; not what clients and customers do", async () => {
    const { partnerB } = world;
    const gone = randomUUID();
    const row = (actor: string, action: string, details = {}) =>
      world.row(
        "insert into core.audit_log (partner_id, actor, action, details) values ($1, $2, $3, $4) returning 1",
        partnerB.id,
        actor,
        action,
        details,
      );
    await row("cpo:x", "account.created");
    await row("anyone", "draft.claimed");
    for (let nth = 0; nth < 120; nth++) await row("partner", `thing.done_${nth}`);
    await row("partner", "drafts.imported");
    await row("operator_anna:anna", "partner.settings_changed");
    await row("operator_anna:anna", "mail.shown");
    await row("partner", "partner.logo_changed", { manager_id: gone, secret: "geheim" });
    const seen: string[] = [];
    const counted: string[] = [];
    let page = "/settings/log";
    for (let nth = 0; page && nth < 9; nth++) {
      const { status, text } = await stranger(portal(world, page));
      expect(status).toBe(200);
      expect(text).not.toContain("geheim");
      const rows = [...text.matchAll(/<li>([^<]*)<small>[^<]*, ([^<,]*)<\/small>/g)];
      expect(rows.length).toBeLessThanOrEqual(25);
      seen.push(...rows.map(([, what, who]) => `${what} / ${who}`));
      counted.push(/role="status">([^<]*)/.exec(text)?.[1] ?? "");
      page = text.includes(`page=${nth + 2}"`) ? `/settings/log?page=${nth + 2}` : "";
    }
    expect(counted).toEqual(
      [1, 26, 51, 76, 101].map((from) => `${from} tot en met ${Math.min(from + 24, seen.length)} van ${seen.length}`),
    );
    const { text } = await stranger(portal(world, "/settings/log.csv"));
    const { user_id: manager_id } = await newManager(world, partnerB);
    const caller = { host: "sandbox", kind: "partner", partner_id: partnerB.id, manager_id };
    const part = JSON.parse(await world.environment.db.call("read_portal_log", caller, { before: null, limit: 1000 }));
    expect(part.counts, "a file is written without counting for each of its parts").toBe(null);
    const lines = text.trim().split("\r\n");
    expect(lines.slice(1).map((line) => line.replaceAll('"', "").split(";").slice(1).join(" / "))).toEqual(seen);
    expect(seen.slice(0, 5)).toEqual([
      "Logo gewijzigd / iemand die hier niet meer werkt",
      "Een mail van u of aan uw klant bekeken / wij",
      "Afspraken of instellingen gewijzigd / wij",
      "Klanten aangemeld / uw software (API-sleutel)",
      "Iets anders (thing.done_119) / uw software (API-sleutel)",
    ]);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((line) => line.includes("thing.done_"))).toHaveLength(120);
    expect(seen.join()).not.toMatch(/account\.created|draft\.claimed/);
    expect(lines[0]).toBe('"Moment (Nederlandse tijd)";"Wat";"Door"');
    expect(lines[1], "by the clock that the page reads").toMatch(/^"2026-11-20 13:00:00";/);
    const found = async (query: string) => {
      const page = await stranger(portal(world, `/settings/log?${query}`));
      expect(page.status).toBe(200);
      return [...page.text.matchAll(/<li>([^<]*)<small>/g)].map(([, what]) => what);
    };
    expect(await found("by=operator"), "by who did it").toEqual(
      seen.flatMap((line) => (line.endsWith("/ wij") ? [line.split(" / ")[0]] : [])),
    );
    expect(await found("q=KLANTEN+aan"), "by its words in the language of the page").toContain("Klanten aangemeld");
    expect(await found("q=customers+signed")).toEqual([]);
    expect(await found("q=customers+signed&lang=en")).toContain("Customers signed up");
    expect(await found("by=key&q=klanten+aan"), "by both").toEqual(["Klanten aangemeld"]);
    expect(await found("q=%25"), "a sign is a sign").toEqual([]);
    expect(await found("q=%00%0a%27--")).toEqual([]);
    expect((await stranger(portal(world, "/settings/log?q=niets"))).text).toContain("Geen wijziging past hierbij");
    for (const at of ["x", "-1", "9".repeat(30), "0", "1 or 1=1"])
      expect((await stranger(portal(world, `/settings/log?page=${encodeURIComponent(at)}`))).status).toBe(200);
    expect((await stranger(portal(world, "/settings/log?page=99"))).location).toContain("/settings/log?");
  });

  test("log: each part of a file reads its own changes alone, however many are newer", async () => {
    const { id } = await world.row("insert into core.partners (name, slug) values ('Log', 'log') returning id");
    const { oldest } = await world.row(
      `with made as (insert into core.audit_log (partner_id, actor, action, details)
                     select $1, 'partner', 'thing.done', '{}' from generate_series(1, 20000) returning id)
       select min(id)::text as oldest from made`,
      id,
    );
    const client = await world.database.admin.connect();
    try {
      await client.query("analyze core.audit_log");
      await client.query("select set_config('app.partner_id', $1, false)", [id]);
      const part = `select from private.partner_log(${Number(oldest) + 100}, 1001)`;
      await client.query(part); // reads the catalog too
      const { rows } = await client.query(`explain (analyze, buffers, format json) ${part}`);
      const { Plan } = rows[0]["QUERY PLAN"][0];
      expect([Plan["Actual Rows"], Plan["Shared Hit Blocks"] + Plan["Shared Read Blocks"] < 100]).toEqual([100, true]);
    } finally {
      client.release(true);
    }
  });

  test("log: each sign-up that was withdrawn by its reference and by whom; a draft, a webhook and an invitation by name; how many", async () => {
    const { partnerB } = world;
    const someone = await newManager(world, partnerB);
    const browser = await portalBrowser(world, someone);
    const drafts = await Promise.all(["Anna", "Bert"].map((naam) => world.draft({ naam }, world.keyB)));
    const form = new URLSearchParams([["form_token", formToken((await browser(portal(world, "/drafts"))).text)]]);
    for (const { draft_id } of drafts) {
      const number = `<dd><code data-copy>${draft_id.slice(0, 8)}</code></dd>`;
      expect((await browser(portal(world, `/drafts/${draft_id}`))).text).toContain(number);
    }
    const [anna, bert] = drafts.map(({ draft_id }) => draft_id);
    await browser(portal(world, `/drafts/${anna}/invite`), { form });
    await browser(portal(world, `/drafts/withdraw?draft=${bert}`), { form });
    const done = async () =>
      [...(await browser(portal(world, "/settings/log"))).text.matchAll(/<li>([^<]*)<small>[^<]*, ([^<,]*)<\/small>/g)]
        .slice(0, 2)
        .map(([, what, who]) => [what, who]);
    expect(await done()).toEqual([
      [`Aanmelding ingetrokken: ons kenmerk ${bert?.slice(0, 8)}`, someone.email],
      ["Uitnodiging opnieuw gestuurd: Anna", someone.email],
    ]);
    await world.row(
      `insert into core.audit_log (partner_id, actor, action, subject_id, details)
       values ($1, 'partner', 'drafts.imported', gen_random_uuid(), '{"added": 12, "rows": 14}'),
              ($1, 'partner', 'partner.manager_invited', (select i.id from core.manager_invitations i where i.partner_id = $1), '{}') returning 1`,
      partnerB.id,
    );
    expect((await done()).map(([what]) => what)).toEqual(["Collega uitgenodigd", "Klanten aangemeld: 12"]);
  });

  test("a form of elsewhere changes nothing", async () => {
    const forms = ["company", "account", "return", "keys", "keys/rotate", "keys/revoke"];
    for (const page of forms)
      for (const form of [{}, { form_token: "0".repeat(64) }])
        expect((await ask(portal(world, `/settings/${page}`), { form: { ...form, name: "Niet ik" } })).status).toBe(
          403,
        );
    expect((await ask(portal(world, "/settings/company"))).text).not.toContain("Niet ik");
  });
});
