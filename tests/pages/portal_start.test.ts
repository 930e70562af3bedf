// The first page of a partner: what needs attention, each with where it is dealt with, and nothing of another partner's.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAccount } from "../harness/people.ts";
import { addCustomer } from "../partner/partner_world.ts";
import { later, type SandboxWorld } from "../sandbox/sandbox_world.ts";
import type { Browser } from "./claimant.ts";
import { createCustomerWorld } from "./customer.ts";
import { newManager, portal, portalBrowser } from "./manager.ts";

let world: SandboxWorld;
let ask: Browser;
let other: Browser;
beforeAll(async () => {
  world = await createCustomerWorld();
  ask = await portalBrowser(world, await newManager(world, world.partnerA));
  other = await portalBrowser(world, await newManager(world, world.partnerB));
});
afterAll(() => world.close());

/** What needs attention, and where each leads. */
async function attention(browser: Browser, lang = "nl") {
  const { status, text } = await browser(portal(world, `?lang=${lang}`));
  expect(status).toBe(200);
  const [list = ""] = /<section aria-labelledby="attention">.*?<\/section>/s.exec(text) ?? [];
  return [...list.matchAll(/href="([^"]*)"><span class="what"><strong>([^<]*)</g)].map(([, href = "", words]) => [
    words,
    href
      .replace("/pages/portal", "")
      .replaceAll("&amp;", "&")
      .replace(/[?&]lang=../, "")
      .replace(/^([^?&]*)&/, "$1?"),
  ]);
}
const ready = (id: string) =>
  world.row(
    `update core.partners set iban_ciphertext = 'x', iban_key_id = 'x', iban_last4 = '4300', iban_holder = 'x', vat_regime = 'none',
       company = '{"street": "Kade", "city": "Breda"}' where id = $1 returning 1`,
    id,
  );

test("§4.2 the funnel counts everybody who was signed up, and how far they came; each step leads to them", async () => {
  const { id } = await world.row("insert into core.partners (name, slug) values ('Trechter', 'trechter') returning id");
  await world.row(
    `insert into core.drafts (partner_id, batch_id, source, type, name, email, ean_status, send_invite, status, expires_at)
     select $1, gen_random_uuid(), 'csv', 'particulier', 'Nr ' || n, 'trechter' || n || '@voorbeeld.nl', 'resolved', false,
            case when n <= 2 then 'claimed' else 'invited' end, now() + interval '60 days'
       from generate_series(1, 8) n`,
    id,
  );
  const browser = await portalBrowser(world, await newManager(world, { id }));
  const { text } = await browser(portal(world));
  const steps = [...text.matchAll(/<strong>(\d+)<\/strong> <a href="([^"]*)">([a-z]+)</g)].map(([, ...step]) => step);
  expect(steps.map(([count, , name]) => [count, name])).toEqual([
    ["8", "uitgenodigd"],
    ["2", "begonnen"],
    ["0", "getekend"],
  ]);
  for (const share of ["100%", "25%", "0%"]) expect(text).toContain(`<small>${share} van wie is uitgenodigd</small>`);
  for (const [count, href = ""] of steps) {
    const { text: list } = await browser(new URL(href.replaceAll("&amp;", "&"), world.url).href);
    expect([href, list.match(/<th scope="row"/g)?.length ?? 0]).toEqual([href, Number(count)]);
  }
  expect(text).toContain("Er is nog niets verkocht.");
});

describe("§4.2 what needs a partner's attention", () => {
  test("a new partner is asked for an account and what invoices need; with both there is nothing", async () => {
    expect(await attention(other)).toEqual([
      ["Er is nog geen rekening waarop wij u kunnen betalen", "/settings/account"],
      ["Voor uw facturen hebben wij nog gegevens van u nodig", "/settings/company"],
    ]);
    await ready(world.partnerB.id);
    expect(await attention(other)).toEqual([]);
    expect((await other(portal(world))).text).toContain("Niets op dit moment.");
    expect((await other(portal(world, "?lang=en"))).text).toContain("Nothing at the moment.");
  });

  test("everything else is counted, and leads to exactly those", async () => {
    const { partnerA } = world;
    await ready(partnerA.id);
    const change = async (set: string, fields = {}) => {
      const { draft_id } = await world.draft(fields);
      await world.row(`update core.drafts set ${set} where id = $1 returning 1`, draft_id);
    };
    await change("status = 'conflict'");
    await change("status = 'conflict'");
    await change("ean_status = 'not_found'");
    const failed = "mail_failed_at = private.now(), mail_failed_reason = 'unknown_address'";
    await change(failed);
    await change(failed);
    await change(`expires_at = '${later(86_400)}'`);
    const signer = (id: string) =>
      world.row(
        `update core.signatories s set ${failed} from core.accounts a where a.id = s.account_id and a.user_id = $1 returning 1`,
        id,
      );
    await signer(await addCustomer(world, partnerA, "partner_upload"));
    const { account_id } = await createAccount(world, partnerA);
    await world.row(`update core.signatories set ${failed} where account_id = $1 returning 1`, account_id);
    const charger = (id: string, set: string) =>
      world.row(`update core.chargers set ${set} where user_id = $1 returning 1`, id);
    const person = { postal_code: "1111AA" };
    await charger(
      await addCustomer(world, partnerA, "oauth_consent", person),
      "status = 'removed', removed_at = private.now()",
    );
    const manual = await addCustomer(world, partnerA, "manual", person);
    await charger(manual, "mid_eligible = false");
    await signer(manual);
    for (const [status, failing] of [
      ["disabled", null],
      ["enabled", later(-60)],
    ])
      await world.row(
        `insert into core.webhook_endpoints (partner_id, id, owner_id, url, status, disabled_reason, secret_ciphertext, secret_key_id, delivered_to, failing_since)
         values ($1, $2, $1, 'https://hook.example', $3, case when $3 = 'disabled' then 'gone' end, 'x', 'x', 0, $4) returning 1`,
        partnerA.id,
        randomUUID(),
        status,
        failing,
      );
    await world.row(
      "with made as (insert into core.draft_uploads (partner_id, at) select $1, private.now() from generate_series(1, 950) returning 1) select count(*) from made",
      partnerA.id,
    );
    const shown = await attention(ask);
    expect(shown).toEqual([
      ["2 aanmeldingen zijn al bij ons bekend", "/drafts?needs=conflict"],
      ["Bij 2 aanmeldingen kwam onze mail niet aan", "/drafts?needs=mail"],
      ["Bij 1 aanmelding is de aansluiting niet gevonden, of meer dan één", "/drafts?needs=ean"],
      ["1 aanmelding verloopt binnen 14 dagen", "/drafts?needs=expiring"],
      // those of the two who are hidden are not told
      ["Van 1 klant is de registratie afgekeurd", "/customers?registration=afgekeurd"],
      ["Bij 1 klant kwam onze mail niet aan", "/customers?mail=failed&by=brought"],
      // an account of its client among them
      ["2 klanten hebben nog geen laadpaal", "/customers?charger=without"],
      ["Bij 1 klant heeft de nieuwste laadpaal geen MID-meter", "/customers?charger=without_mid"],
      ["1 webhook staat uit", expect.stringContaining("/settings")],
      ["1 webhook geeft fouten", expect.stringContaining("/settings")],
      ["Bij 1 klant uit uw software wacht de machtiging op een handtekening", "/customers?needs=signature"],
      ["Bij 1 klant uit uw software kwam onze mail niet aan", "/customers?by=api&mail=failed"],
      [expect.stringMatching(/^U kunt in deze 30 dagen nog 4\d van 1\.000 klanten aanmelden$/), "/import"],
    ]);
    const settings = (await ask(portal(world, "/settings"))).text;
    expect(settings, "the same as the first page says").toMatch(/1 aan, 1 uit[\s\S]{0,300}geeft fouten/);
    for (const [words, href = ""] of [...shown.slice(0, 8), ...shown.slice(10, 12)]) {
      const { status, text } = await ask(portal(world, href));
      const rows = [...text.matchAll(/<th scope="row"/g)].length;
      expect([href, status, rows]).toEqual([href, 200, Number(/\d+/.exec(words ?? "")?.[0])]);
    }
    expect(await attention(ask, "en")).toHaveLength(shown.length);
    expect(await attention(other)).toEqual([]);
  });

  test("of many customers the first page sums all, and looks among the newest for what needs attention", async () => {
    const { id } = await world.row("insert into core.partners (name, slug) values ('Groot', 'groot') returning id");
    await world.row(
      `with people as (insert into auth.users (id, email) select gen_random_uuid(), 'g' || n || '@veel.nl' from generate_series(1, 2500) n returning id)
       insert into core.attributions (partner_id, user_id, source, attached_month) select $1, id, 'partner_upload', '2026-11-01' from people`,
      id,
    );
    // as a first reader leaves it who ran out of time
    await world.row("insert into core.dashboards (partner_id, as_of) values ($1, '-infinity')", id);
    const browser = await portalBrowser(world, await newManager(world, { id }));
    const { status, text: first } = await browser(portal(world));
    expect([status, first.includes("Wij tellen uw cijfers voor het eerst.")]).toEqual([200, true]);
    expect((await browser(portal(world, "?lang=en"))).text).toContain(
      "We are counting your figures for the first time.",
    );
    await world.work();
    const { text } = await browser(portal(world));
    expect(text).not.toContain("Wij tellen");
    expect(text).toContain("Geteld onder uw nieuwste 2.000 klanten.");
    expect(text).toContain("2.500 klanten in totaal, 0 met een machtiging die geldt");
    // its payouts are of that count too: no reader sums up every sale
    const payout = { payout_id: id, period: "2026-Q2", status: "paid", customers: 1, kwh: 10, ere_units: 3 };
    await world.row(
      "update core.dashboards set payouts = $2 where partner_id = $1 returning 1",
      id,
      JSON.stringify([{ ...payout, partner_share_eur: 4321.5, vat_eur: 0, paid_at: null, invoice_number: null }]),
    );
    expect((await browser(portal(world))).text).toContain("4.321,50");
  });
});

test("§4.2 in a new year its page says that nothing was charged yet, and no euro before the year has a factor", async () => {
  const { id } = await world.row(
    "insert into core.partners (name, slug) values ('Nieuwjaar', 'nieuwjaar') returning id",
  );
  const owner = await addCustomer(world, { ...world.partnerA, id }, "partner_upload");
  await world.row(
    `insert into core.figures (partner_id, delivery_year, price) select private.people_tenant(), 2026, 0.42
     on conflict on constraint figures_pkey do update set price = excluded.price returning 1`,
  );
  const now = world.environment.now().toISOString();
  await world.travel("2027-01-15T12:00:00Z");
  const browser = await portalBrowser(world, await newManager(world, { id }));
  const read = async (query: string) =>
    (await browser(portal(world, query))).text.replace(/<[^>]+>/g, " ").replace(/\s+/g, " ");
  try {
    expect(await read("?year=2027")).toContain("In 2027 is nog niets geladen.");
    expect(await read("?year=2027&lang=en")).toContain("Nothing has been charged in 2027 yet.");
    await world.row(
      `insert into core.delivered_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, received_at)
       select d.partner_id, d.connection_id, d.owner_id, '2027-01-01', 100, 1, 'test', 'staged', now()
         from core.delivered_months d where d.owner_id = (select a.owner_id from core.accounts a where a.user_id = $1)
        limit 1 returning 1`,
      owner,
    );
    for (const query of ["?lang=nl", "?year=2027"]) {
      const page = await read(query);
      expect(page).toContain("nog niet bekend Hoeveel ERE een kWh in dat jaar oplevert, staat nog niet vast.");
      expect(page).not.toContain("± € 0,00");
    }
    expect(await read("?year=2026")).not.toContain("staat nog niet vast");
  } finally {
    await world.travel(now);
  }
});
