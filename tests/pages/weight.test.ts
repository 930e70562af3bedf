// What the pages weigh as they are sent: with gzip, and without the line of their script. A limit is 5% above what the page weighed
// when its states became chips and its lists rows; with letters, styles and script no page may have more than 48 kB.

import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { giveBooking } from "../harness/booked.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Browser, newBrowser, newDraft, prove } from "./claimant.ts";
import { browserOf, type Customer, createCustomerWorld, mijn, paidCustomer } from "./customer.ts";
import { earningPartner, newManager, portal, portalBrowser } from "./manager.ts";

let world: SandboxWorld;
let customer: Customer;
beforeAll(async () => {
  world = await createCustomerWorld();
  customer = await paidCustomer(world);
});
afterAll(() => world.close());

async function weightOf(ask: Browser, page: string): Promise<number> {
  const { status, text } = await ask(page);
  expect(status).toBe(200);
  // random ids weigh up to 20 bytes more or less from run to run: here the n-th id of a page is the same in every run
  const ids = new Map<string, string>();
  const fixed = (id: string) => {
    if (!ids.has(id)) ids.set(id, createHash("sha256").update(`${ids.size}`).digest("hex").slice(0, id.length));
    return ids.get(id) as string;
  };
  return gzipSync(text.replace(/<script .*\n/, "").replace(/\b[0-9a-f]{4,64}\b/g, fixed)).length;
}

describe("contract §6 a page is light, in Dutch, which has more words", () => {
  test("of a claim: the first, with what it yields, and a step", async () => {
    const connection = await world.row("select id from core.connections where account_id = $1", customer.account_id);
    await giveBooking(world.database.admin, connection.id);
    const draft = await newDraft(world);
    const ask = newBrowser(world);
    const first = await ask(draft.link);
    expect(first.text).toContain('data-yield="about"');
    expect(await weightOf(ask, `${draft.link}?lang=nl`)).toBeLessThan(1_880);
    await prove(world, ask, draft);
    expect(await weightOf(ask, `${draft.link}/details?lang=nl`)).toBeLessThan(1_623);
  });

  test("of a customer who was paid: the first, and the chargers", async () => {
    const ask = await browserOf(world, customer);
    expect(await weightOf(ask, mijn(world, "?lang=nl"))).toBeLessThan(2_860); // with the next payment
    expect(await weightOf(ask, mijn(world, "/chargers?lang=nl"))).toBeLessThan(2_400); // with the form of a new charger, which was a page of its own
  });

  test("of a partner: the first, and a page of sign-ups", async () => {
    await earningPartner(world, world.partnerA);
    await world.freeze("2026-11-20T18:30:00Z"); // newer than everybody else
    for (let n = 0; n < 60; n++) await world.draft({ naam: "Jan-Willem van der Meulen" });
    const ask = await portalBrowser(world, await newManager(world, world.partnerA));
    expect(await weightOf(ask, portal(world, "?lang=nl"))).toBeLessThan(2_836);
    const longest = await weightOf(ask, portal(world, "/drafts?lang=nl"));
    expect(longest).toBeLessThan(5_100);
    const { text } = await ask(portal(world, "/drafts?lang=nl"));
    const files = [...text.matchAll(/<(?:link rel="(?:preload|stylesheet)"[^>]*href|script defer src)="([^"]+)"/g)];
    expect(files).toHaveLength(3);
    const { origin } = new URL(world.environment.config.PAGES_URL);
    const weights = files.map(async ([, path = ""]) => {
      const { bytes = new Uint8Array() } = await ask(origin + path.replaceAll("&amp;", "&"));
      return path.includes("woff2") ? bytes.length : gzipSync(bytes).length;
    });
    const all = (await Promise.all(weights)).reduce((sum, each) => sum + each, longest);
    expect(all).toBeLessThanOrEqual(48_000);
  });
});
