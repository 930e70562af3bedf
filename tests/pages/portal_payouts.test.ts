// What a partner earned, on its own pages: the same as the API says, its invoices as PDF, and nobody else's.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Browser, heading, newBrowser } from "./claimant.ts";
import { createCustomerWorld } from "./customer.ts";
import { earningPartner, newManager, portal, portalBrowser } from "./manager.ts";

let world: SandboxWorld;
let ask: Browser;
let other: Browser;
beforeAll(async () => {
  world = await createCustomerWorld();
  ask = await portalBrowser(world, await newManager(world, world.partnerA));
  other = await portalBrowser(world, await newManager(world, world.partnerB));
});
afterAll(() => world.close());

const page = (path = "") => portal(world, `/payouts${path}`);

describe("§4.2 what a partner earned, on its pages", () => {
  test("before anything is sold they say when something will be, and what a payment waits for", async () => {
    const { status, text } = await other(page());
    expect([status, heading(text)]).toEqual([200, "Uitbetalingen"]);
    for (const said of [
      "Er is nog niets verkocht",
      "Er zijn nog geen facturen",
      "Er is nog geen rekening",
      "hoe u btw rekent",
    ])
      expect(text).toContain(said);
    expect(text).not.toContain("<table");
    expect(text.match(/class="empty"/g)).toHaveLength(2);
    expect((await other(page("?lang=en"))).text).toContain("Nothing has been sold yet");
  });

  test("quarters and invoices are those of the API, with their status in words", async () => {
    await earningPartner(world, world.partnerA);
    const [payout] = (await world.get("/partner/payouts", world.keyA)).body.payouts;
    const [invoice] = (await world.get("/partner/invoices", world.keyA)).body.invoices;
    expect([payout.period, invoice.period, payout.partner_share_eur > 0]).toEqual(["2026-Q2", "2026-Q2", true]);
    const { text } = await ask(page());
    const euro = (amount: number) =>
      new Intl.NumberFormat("nl-NL", { style: "currency", currency: "EUR" }).format(amount);
    for (const said of ["2e kwartaal 2026", euro(payout.partner_share_eur), euro(invoice.total_eur), invoice.number])
      expect(text).toContain(said);
    expect((await ask(portal(world))).text).toContain(
      `<p class="amount"><strong>${euro(payout.partner_share_eur)}</strong> verdiend in 1 kwartaal`,
    );
    expect(text).toMatch(/class="chip (done|way)">.*(betaald|wordt nog betaald|onderweg)</);
    expect(text).toContain(
      "Van wat de ERE van een klant opbrengen houden wij 20% in voor onze dienst. Van die kosten is 25% voor u.",
    );
    expect(text).toMatch(/Dat is 5% van de opbrengst: brengen de ERE van een klant € 100 op, dan is €\s5,00 voor u/);
    expect((await other(page())).text).not.toContain(invoice.number);
    expect([text.includes("1 kwartaal<"), text.includes("1 factuur<")]).toEqual([true, true]);
    const { text: csv, headers } = await ask(page(".csv"));
    expect(headers.get("content-disposition")).toContain("uitbetalingen.csv");
    const share = payout.partner_share_eur.toFixed(2).replace(".", ",");
    expect(csv).toMatch(
      new RegExp(`^"Kwartaal";"Stand";"Betaald op";.*\r\n"2026-Q2";[^;]+;[^;]*;.*;${share};[^;]*\r\n$`),
    );
    expect((await other(page(".csv"))).text.split("\r\n")).toHaveLength(2);
  });

  test("an invoice is a PDF for the partner, and unknown to everybody else", async () => {
    const [{ number }] = (await world.get("/partner/invoices", world.keyA)).body.invoices;
    const { status, headers } = await ask(page(`/${number}`));
    expect([status, headers.get("content-type")]).toEqual([200, "application/pdf"]);
    expect(headers.get("content-disposition")).toContain(`invoice-${number}.pdf`);
    expect((await other(page(`/${number}`))).status).toBe(404);
    for (const none of ["/2026-9999", "/2026-1", "/x"]) expect((await ask(page(none))).status).toBe(404);
    expect((await newBrowser(world)(page(`/${number}`))).location).toContain("/portal/sign-in");
    expect((await newBrowser(world)(page())).location).toContain("/portal/sign-in");
  });

  test("an invoice that is still being written leads back to itself", async () => {
    const [{ number }] = (await world.get("/partner/invoices", world.keyA)).body.invoices;
    await world.row(
      "update core.documents set pdf = null, sha256 = null, rendered_at = null where invoice_id is not null returning 1",
    );
    const { status, headers, text } = await ask(page(`/${number}`));
    expect([status, headers.get("retry-after")]).toEqual([503, expect.stringMatching(/^\d+$/)]);
    expect(text).toContain(`/portal/payouts/${number}`);
  });
});
