// The settings in a partner's pages by plain HTTP: what a form does, once, for this partner alone.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Browser, formToken, heading } from "./claimant.ts";
import { createCustomerWorld } from "./customer.ts";
import { type Manager, newManager, portal, portalBrowser } from "./manager.ts";

let world: SandboxWorld;
let manager: Manager;
let ask: Browser;
let stranger: Browser;
beforeAll(async () => {
  world = await createCustomerWorld();
  manager = await newManager(world, world.partnerA);
  ask = await portalBrowser(world, manager);
  stranger = await portalBrowser(world, await newManager(world, world.partnerB));
});
afterAll(() => world.close());

/** Sends a form of a settings page as it is shown there, to `to`, and gives the page that the answer leads to. */
async function send(page: string, fields: Record<string, string>, { browser = ask, to = page } = {}) {
  const form = { form_token: formToken((await browser(portal(world, page))).text), ...fields };
  return browser(portal(world, to), { form });
}

describe("contract §4 the settings in a partner's pages", () => {
  test("name their pages, and what is still to be done there", async () => {
    const { status, text } = await ask(portal(world, "/settings"));
    expect([status, heading(text)]).toEqual([200, "Instellingen"]);
    expect(text).toContain("<strong>Nog te doen:</strong> gegevens die op uw facturen moeten");
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

  test("a form of elsewhere changes nothing", async () => {
    for (const form of [{}, { form_token: "0".repeat(64) }])
      expect((await ask(portal(world, "/settings/company"), { form: { ...form, name: "Niet ik" } })).status).toBe(403);
    expect((await ask(portal(world, "/settings/company"))).text).not.toContain("Niet ik");
  });
});
