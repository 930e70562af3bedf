// Pages with much on them: a customer of a year, a debt, a withdrawn mandate, long names, a partner with 200 customers.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lookAt, noBrowser, onPage } from "../harness/browser.ts";
import { addCustomer } from "../partner/partner_world.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Browser, lend } from "./claimant.ts";
import { browserOf, type Customer, createCustomerWorld, mijn, newCustomer, paidCustomer } from "./customer.ts";
import { earningPartner, type Manager, newManager, portal, portalBrowser } from "./manager.ts";

const NAMES = [
  "Sanne de Vries",
  "Jan-Willem van der Meulen",
  "Bakkerij De Korenaar B.V.",
  "Q".repeat(120),
  "Ömer Yıldız",
];

describe.skipIf(noBrowser)("contract §6 pages with much on them", () => {
  let world: SandboxWorld;
  const scenes = {
    customer: ["", "/charging?year=2026&month=2026-05", "/earnings?year=2026", "/chargers"],
    debtor: ["", "/earnings?year=2026"],
    withdrawn: ["", "/mandate"],
    unheard: ["", "/chargers"],
    many: ["", "/customers", "/drafts", "/settings"],
    few: ["", "/customers", "/payouts"],
  };
  const people = {} as Record<keyof typeof scenes, Customer & Manager>;
  const browsers: Record<string, Promise<Browser>> = {};
  beforeAll(async () => {
    world = await createCustomerWorld();
    await earningPartner(world, world.partnerA);
    const customer = await paidCustomer(world);
    const debtor = await paidCustomer(world);
    const unheard = await newCustomer(world);
    const settle = (quarter: string) =>
      world.send("/sandbox/v1/settle", { method: "POST", token: world.keyA, body: { quarter } });
    for (const quarter of ["2026-Q1", "2026-Q3"]) expect((await settle(quarter)).status).toBe(200);
    const withdrawn = await paidCustomer(world);
    await world.row(
      `update core.mandates m set status = 'revoked', ended_at = private.now(), ended_reason = 'customer'
         from core.connections c where c.id = m.connection_id and c.account_id = $1 returning 1`,
      withdrawn.account_id,
    );
    await world.travel("2027-02-15T12:00:00Z");
    await world.play(customer.account_id, "sync");
    expect((await settle("2026-Q4")).status).toBe(200);
    await world.send("/documents/run", { method: "POST", token: world.environment.config.WORKER_SECRET });
    const { reference } = await world.row(
      `select s.reference from core.allocations a
         join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
         join core.bookings b on b.partner_id = s.partner_id and b.id = s.booking_id
        where a.account_id = $1 and b.quarter = '2026-04-01' limit 1`,
      debtor.account_id,
    );
    await world.row(
      "select ops.sale_reverse(jsonb_build_object('sale', $1::text, 'reason', 'the buyer withdrew', 'recover', true))",
      reference,
    );
    await world.row(
      `insert into core.chargers (partner_id, account_id, connection_id, owner_id, user_id, catalog_charger_id,
                                  brand, mid_eligible, connection_type)
       select c.partner_id, c.account_id, c.id, a.user_id, a.user_id, m.id, m.brand, true, 'ocpp'
         from core.connections c join core.accounts a on a.id = c.account_id,
              (select * from core.charger_models where brand = 'Alfen' and mid_meter limit 1) m
        where c.account_id = $1 returning 1`,
      unheard.account_id,
    );
    await world.row(
      "update core.signatories set full_name = $2 where account_id = $1 returning 1",
      unheard.account_id,
      "Q".repeat(120),
    );
    for (let n = 0; n < 200; n++)
      await addCustomer(world, world.partnerB, n % 7 ? "partner_upload" : "oauth_consent", {
        full_name: NAMES[n % NAMES.length] ?? "",
        external_ref: `KLANT-${1000 + n}`,
        kwh: 100 + n * 37,
        house_number: n + 1,
      });
    for (let n = 0; n < 60; n++) {
      const { draft_id } = await world.draft({ naam: NAMES[n % NAMES.length], external_ref: `K-${n}` }, world.keyB);
      const status = ["invited", "conflict", "expired"][n % 3];
      await world.row("update core.drafts set status = $2 where id = $1 returning 1", draft_id, status);
    }
    const [many, few] = [await newManager(world, world.partnerB), await newManager(world, world.partnerA)];
    Object.assign(people, { customer, debtor, withdrawn, unheard, many, few });
  }, 300_000);
  afterAll(() => world?.close());

  const of = (Object.keys(scenes) as (keyof typeof scenes)[]).flatMap((who) =>
    scenes[who].map((path) => ({ name: `rich-${who}${path.replace(/\W+/g, "-")}`, who, path })),
  );
  test.each(of)("axe finds nothing on $name", ({ name, who, path }) =>
    lookAt({
      name,
      go: async (page, lang) => {
        const area = who === "many" || who === "few" ? portal : mijn;
        browsers[who] ??=
          area === portal ? portalBrowser(world, people[who] as Manager) : browserOf(world, people[who]);
        await lend(page, await (browsers[who] as Promise<Browser>));
        const url = new URL(area(world, path));
        url.searchParams.set("lang", lang);
        await page.goto(url.href);
      },
    }),
  );

  test("the bar at the bottom covers nothing that has the focus, on a phone", () =>
    onPage({ viewport: { width: 390, height: 844 } }, async (page) => {
      await lend(page, await portalBrowser(world, people.many));
      await page.goto(portal(world, "/drafts"));
      await page.locator("[name=draft]").first().check();
      const covered: string[] = [];
      for (let presses = 0; presses < 60; presses++) {
        await page.keyboard.press("Tab");
        covered.push(
          ...(await page.evaluate(() => {
            const focused = document.activeElement as HTMLElement;
            const bar = document.querySelector(".confirm") as HTMLElement;
            // after the last link the page itself has it
            if (focused === document.body || bar.contains(focused)) return [];
            const [at, lies] = [focused.getBoundingClientRect(), bar.getBoundingClientRect()];
            // what stands after the list stands below the bar
            const over = at.bottom > lies.top && at.top < lies.bottom;
            return over ? [focused.outerHTML.slice(0, 80)] : [];
          })),
        );
      }
      expect(covered).toEqual([]);
    }));
});
