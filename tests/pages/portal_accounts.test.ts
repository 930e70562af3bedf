// A partner that only uses the API sees its accounts on its pages: this month, in the list of customers, and each of them.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAccount } from "../harness/people.ts";
import { addCustomer } from "../partner/partner_world.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Browser, heading, type PageAnswer } from "./claimant.ts";
import { createCustomerWorld } from "./customer.ts";
import { newManager, portal, portalBrowser } from "./manager.ts";

type Account = Awaited<ReturnType<typeof createAccount>>;
let world: SandboxWorld;
let ask: Browser;
let stranger: Browser;
let mies: Account;
beforeAll(async () => {
  world = await createCustomerWorld();
  ask = await portalBrowser(world, await newManager(world, world.partnerA));
  stranger = await portalBrowser(world, await newManager(world, world.partnerB));
  mies = await createAccount(world, world.partnerA, { display_name: "Mies Eigen" });
  await createAccount(world, world.partnerB, { display_name: "Bas Elders" });
  const { status } = await world.post(
    "/v1/sessions:batch",
    {
      account_id: mies.account_id,
      months: [
        { period: "2026-10", total_kwh: 200 },
        { period: "2026-11", total_kwh: 312.5 },
      ],
    },
    await world.partnerA.client.token(),
  );
  expect(status).toBe(200);
});
afterAll(() => world.close());

/** The names in the list of customers, and where the list goes on. */
const namesIn = (text: string) =>
  [...text.matchAll(/customers\/[-_0-9a-z]{36}[^>]*>(?:<code>)?([^<]*)/g)].map(([, n]) => n);
const nextOf = (text: string) => /href="([^"]*)">Volgende</.exec(text)?.[1]?.replaceAll("&amp;", "&");
const list = async (query: string) => namesIn((await ask(portal(world, `/customers?${query}`))).text);

describe("§4.2 the accounts of a partner's CPO clients on its pages", () => {
  test("are in this month, the year, and what was charged in all", async () => {
    const { text } = await ask(portal(world));
    const said = text.replace(/<[^>]+>/g, " ").replace(/\s+/g, " ");
    expect(said).toContain("Nieuwe klanten 1 1 meer dan in heel oktober");
    expect(said).toMatch(/Geladen 313 kWh 113 kWh meer dan in heel oktober/);
    expect(said).toMatch(/513 kWh/);
    expect(said).toContain("1 klant in totaal");
    // nobody was invited, so there is no way from invitation to customer to show
    expect(said).not.toContain("uitgenodigd");
    const year = (await ask(portal(world, "?year=2026"))).text.replace(/<[^>]+>/g, " ").replace(/\s+/g, " ");
    expect(year).toContain("Nieuwe klanten 1 1 meer dan in heel 2025");
  });

  test("a price that is not theirs says nothing about their euro", async () => {
    const euro = async () =>
      /Voor u, geschat\s+(nog niet bekend|± € [\d.,]+)/.exec(
        (await ask(portal(world))).text
          .replace(/<[^>]+>/g, " ")
          .replaceAll("\u00a0", " ")
          .replace(/\s+/g, " "),
      )?.[1];
    const account = await createAccount(world, world.partnerA, { display_name: "Eva Euro" });
    await world.row(
      "update core.accounts set created_at = created_at + interval '1 second' where id = $1 returning 1",
      account.account_id,
    );
    const signed = await world.play(account.account_id, "sign", { outcome: "signed", years: 1 });
    expect(signed.status, JSON.stringify(signed.body)).toBe(200);
    await world.post(
      "/v1/sessions:batch",
      { account_id: account.account_id, months: [{ period: "2026-11", total_kwh: 1000 }] },
      await world.partnerA.client.token(),
    );
    const price = (tenant: string, value: number) =>
      world.row(
        `insert into core.figures (partner_id, delivery_year, price) values (${tenant}, 2026, $1)
       on conflict on constraint figures_pkey do update set price = $1 returning 1`,
        value,
      );
    await price("private.people_tenant()", 1);
    expect(await euro()).toBe("nog niet bekend");
    await price(`'${world.partnerA.id}'`, 1);
    // 1,000 kWh x 0.332694 ERE x € 1 x 20% x 25%
    expect(await euro()).toBe("± € 16,63");
  });

  test("stand beside whom the partner brought in one list, by a filter, found by what the API knows them by", async () => {
    await addCustomer(world, world.partnerA, "partner_upload", {
      full_name: "Anna Gebracht",
      email: "anna@gebracht.nl",
      created_at: "2026-11-03T10:00:00Z",
    });
    expect(await list("")).toEqual(["Eva Euro", "Mies Eigen", "Anna Gebracht"]);
    expect(await list("by=api")).toEqual(["Eva Euro", "Mies Eigen"]);
    expect(await list("by=brought")).toEqual(["Anna Gebracht"]);
    const { text } = await ask(portal(world, "/customers"));
    expect(text).toContain("1 tot en met 3 van 3");
    expect(text).toMatch(/by=api[^>]*>Uit uw software/);
    for (const q of [
      "mies eig",
      mies.account_id,
      mies.account.cpo_external_ref,
      mies.account.cpo_external_ref.slice(0, 8),
    ])
      expect([q, await list(`q=${q}`)]).toEqual([q, ["Mies Eigen"]]);
    expect(await list("q=sanne@example.nl")).toEqual(["Eva Euro", "Mies Eigen"]);
    expect(await list("active=yes&by=api")).toEqual(["Eva Euro"]);
    expect(await list("charger=without")).toEqual(["Eva Euro", "Mies Eigen"]);
    expect(await list("source=partner_upload")).toEqual(["Anna Gebracht"]);
    expect(await list("source=partner_upload&by=api")).toEqual([]);
    expect(await list("month=2026-11&by=api")).toEqual(["Eva Euro", "Mies Eigen"]);
    expect(await list("month=2026-10&by=api")).toEqual([]);
    const file = (await ask(portal(world, "/customers.csv"))).text;
    expect(file).toContain(`"${mies.account_id}";"${mies.account.cpo_external_ref}";"Mies Eigen"`);
  });

  test("one of them shows its four gates, its months, and the request that brought each", async () => {
    const { status, text } = await ask(portal(world, `/customers/${mies.account_id}`));
    expect([status, heading(text)]).toEqual([200, "Mies Eigen"]);
    expect(text).toMatch(/machtiging getekend<\/span><span class="hidden"> \(ontbreekt\)/);
    expect(text).toMatch(/rekeningnummer bekend<\/span><span class="hidden"> \(in orde\)/);
    expect(text.match(/chip (?:done|stopped)/g)?.length).toBeGreaterThanOrEqual(4);
    expect(text).toContain("312,5");
    const { request_id } = await world.row(
      "select request_id from core.deliveries where connection_id = $1",
      mies.connection_id,
    );
    expect(text).toContain(request_id);
    expect(text).toContain(`/settings/clients/${world.partnerA.client.id}`);
    expect((await ask(portal(world, `/customers/${mies.account_id}?lang=en`))).text).toContain("Delivered months");
    expect((await ask(portal(world, `/settings/clients/${world.partnerA.client.id}`))).text).toContain(
      `/customers/${mies.account_id}`,
    );
  });

  test("attack: another partner's account, and a brought customer by the id of their login, are unknown", async () => {
    expect((await stranger(portal(world, `/customers/${mies.account_id}`))).status).toBe(404);
    expect(namesIn((await stranger(portal(world, "/customers"))).text)).toEqual(["Bas Elders"]);
    for (const query of [`q=${mies.account_id}`, "q=mies", `after=${mies.account_id}`])
      expect((await stranger(portal(world, `/customers?${query}`))).text).not.toContain("Mies");
    expect((await stranger(portal(world, "/customers.csv"))).text).not.toContain("Mies");
    expect((await stranger(portal(world))).text).not.toContain("513");
    const { user_id } = await world.row(
      "select user_id from core.attributions where partner_id = $1",
      world.partnerA.id,
    );
    expect((await ask(portal(world, `/customers/${user_id}`))).status).toBe(404);
    expect(await list(`q=${user_id}`)).toEqual([]);
  });

  test("pages go on through both kinds and two clients, and neither repeat nor skip one", async () => {
    const partner = await world.addPartner();
    const second = await world.addClient(partner.id);
    await world.row(
      `with people as (insert into auth.users (id, email) select gen_random_uuid(), 'm' || n || '@meng.nl' from generate_series(1, 60) n returning id),
       brought as (insert into core.attributions (partner_id, user_id, source, external_ref, attached_month, created_at)
         select $1, id, 'partner_upload', 'R-' || row_number() over (), '2026-11-01', now() - make_interval(secs => (row_number() over ())::int / 3) from people)
       insert into core.accounts (partner_id, client_id, type, display_name, payout_handler, created_at)
       select $1, case when n % 2 = 0 then $2::uuid else $3 end, 'particulier', 'Klant R-' || n, 'via_cpo_invoicing', now() - make_interval(secs => n / 6)
         from generate_series(101, 160) n returning 1`,
      partner.id,
      partner.client.id,
      second.id,
    );
    const browser = await portalBrowser(world, await newManager(world, partner));
    const seen: string[] = [];
    let [next, pages]: [string | undefined, number] = [portal(world, "/customers"), 0];
    while (next) {
      const { text }: PageAnswer = await browser(next);
      seen.push(...[...text.matchAll(/R-\d+/g)].map(([ref]) => ref));
      next = nextOf(text);
      pages += 1;
    }
    expect([pages, seen.length, new Set(seen).size]).toEqual([5, 120, 120]);
  });

  test("of many the first page takes what the worker counted, and an account made meanwhile is in this month", async () => {
    const partner = await world.addPartner();
    await world.row(
      `insert into core.accounts (partner_id, client_id, type, payout_handler, created_at)
       select $1, $2, 'particulier', 'via_cpo_invoicing', private.now() - interval '2 months' from generate_series(1, 1500) returning 1`,
      partner.id,
      partner.client.id,
    );
    const browser = await portalBrowser(world, await newManager(world, partner));
    const read = async () => (await browser(portal(world))).text.replace(/<[^>]+>/g, " ").replace(/\s+/g, " ");
    expect(await read()).toContain("1.500 klanten in totaal");
    await createAccount(world, partner);
    expect(await read()).toContain("Nieuwe klanten 1 1 meer");
  });

  test("what is to come is not shown as a sum that leaves them out", async () => {
    const said = async () => (await ask(portal(world))).text;
    expect(await said()).toContain("nog niet verkocht");
    await world.row("update core.figures set price = null where partner_id = $1 returning 1", world.partnerA.id);
    expect(await said()).not.toContain("nog niet verkocht");
  });

  test("accounts that the software made are counted exactly, however many", async () => {
    const partner = await world.addPartner();
    await world.row(
      `insert into core.account_counts (partner_id, owner_id, hour, accounts)
       values ($1, $2, date_trunc('hour', private.now()), 12000) returning 1`,
      partner.id,
      partner.client.id,
    );
    const { text } = await (await portalBrowser(world, await newManager(world, partner)))(portal(world));
    expect(text.replace(/<[^>]+>/g, " ").replace(/\s+/g, " ")).toMatch(/Nieuwe klanten 12\.000 12\.000 meer/);
  });

  test("attack: a name that a thousand customers of others have keeps no account of a partner from its search", async () => {
    const partner = await world.addPartner();
    await world.row(
      `with login as (insert into auth.users (id, email)
         select gen_random_uuid(), 'w' || n || '@elders.nl' from generate_series(1, 1001) n returning id),
       account as (insert into core.accounts (partner_id, user_id, access_channel, type, payout_handler)
         select private.people_tenant(), id, 'user', 'particulier', 'service_pays_customer' from login returning *)
       insert into core.signatories (partner_id, account_id, owner_id, full_name)
       select partner_id, id, owner_id, 'Wim Waterman' from account returning 1`,
    );
    await world.row(
      `insert into core.accounts (partner_id, client_id, type, display_name, payout_handler, created_at)
       select $1, $2, 'particulier', case when n = 2001 then 'Wim Waterman' end, 'via_cpo_invoicing',
              private.now() - make_interval(secs => n) from generate_series(1, 2001) n returning 1`,
      partner.id,
      partner.client.id,
    );
    const browser = await portalBrowser(world, await newManager(world, partner));
    expect(namesIn((await browser(portal(world, "/customers?q=waterman"))).text)).toEqual(["Wim Waterman"]);
  });

  test("months of several connections are each shown, with the end of the EAN, 24 of them", async () => {
    const partner = await world.addPartner();
    const account = await createAccount(world, partner);
    await world.row(
      `with second as (
         insert into core.connections (partner_id, owner_id, account_id, location_id, ean_code, ean_validation_status)
         select partner_id, owner_id, account_id, location_id, '871687000000009876', ean_validation_status
           from core.connections where id = $1 returning *),
       both_of as (select * from second union all select * from core.connections where id = $1)
       insert into core.delivered_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, received_at)
       select c.partner_id, c.id, c.owner_id, m, 100, 1, 'test', 'staged', private.now()
         from both_of c, generate_series(timestamp '2026-01-01', '2028-02-01', '1 month') m returning 1`,
      account.connection_id,
    );
    const browser = await portalBrowser(world, await newManager(world, partner));
    const { text } = await browser(portal(world, `/customers/${account.account_id}`));
    expect(text.match(/EAN …9876/g)).toHaveLength(24);
    expect(text.match(/EAN …/g)).toHaveLength(48);
  });

  test("attack: a charger of another partner's account with the same id is not this account's", async () => {
    await world.row(
      `with account as (insert into core.accounts (id, partner_id, client_id, type, payout_handler)
         values ($1, $2, $3, 'particulier', 'via_cpo_invoicing') returning *),
       location as (insert into core.locations (partner_id, postal_code, house_number) values ($2, '1234AB', 99) returning id),
       connection as (
         insert into core.connections (partner_id, owner_id, account_id, location_id, ean_code, ean_validation_status)
         select a.partner_id, a.owner_id, a.id, l.id, '871687000000001234', 'matched' from account a, location l returning *)
       insert into core.chargers (partner_id, owner_id, account_id, connection_id, catalog_charger_id, brand, serial_number, mid_eligible)
       select c.partner_id, c.owner_id, c.account_id, c.id, m.id, m.brand, 'ELDERS-1', true
         from connection c, (select * from core.charger_models where mid_meter order by id limit 1) m returning 1`,
      mies.account_id,
      world.partnerB.id,
      world.partnerB.client.id,
    );
    expect(await list("charger=without")).toContain("Mies Eigen");
  });
});

test("§4.2 in its first week a month or year is not called less than a whole one", async () => {
  const said = async (day: string, query = "") => {
    await world.travel(`${day}T12:00:00Z`);
    // the session of the day before is over
    const browser = await portalBrowser(world, await newManager(world, world.partnerA));
    const { text } = await browser(portal(world, query));
    expect(text).toContain("Nieuwe klanten");
    return text;
  };
  expect(await said("2026-12-07")).not.toContain("minder dan in heel");
  expect(await said("2026-12-08")).toContain("minder dan in heel november");
  expect(await said("2027-01-07", "?year=2027")).not.toContain("minder dan in heel");
  expect(await said("2027-01-08", "?year=2027")).toContain("minder dan in heel 2026");
});
