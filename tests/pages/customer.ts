// A customer who comes back: a signed claim with a year of charging, a quarter that was sold and paid, and their browser on /mijn.

import type { Page } from "playwright-core";
import { expect } from "vitest";
import { createSandboxWorld, type SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Browser, formToken, newBrowser, type PageAnswer } from "./claimant.ts";

export type Customer = { email: string; user_id: string; account_id: string; draft_id: string };

export const createCustomerWorld = (): Promise<SandboxWorld> => createSandboxWorld({ limits: "lifted" });

/** A customer who was paid for a quarter; documents are rendered. */
export async function paidCustomer(world: SandboxWorld): Promise<Customer> {
  const { draft_id, email } = await world.draft();
  const { status, body } = await world.claim(draft_id, { submit: true });
  expect(status, JSON.stringify(body)).toBe(200);
  expect((await world.play(body.account_id, "review", { outcome: "goedgekeurd" })).status).toBe(200);
  const settled = await world.send("/sandbox/v1/settle", {
    method: "POST",
    token: world.keyA,
    body: { quarter: "2026-Q2" },
  });
  expect(settled.status, JSON.stringify(settled.body)).toBe(200);
  await world.send("/documents/run", { method: "POST", token: world.environment.config.WORKER_SECRET });
  return { email, draft_id, ...(await idsOf(world, draft_id)) };
}

/** A customer who signed and no more. */
export async function newCustomer(world: SandboxWorld): Promise<Customer> {
  const { draft_id, email } = await world.draft();
  const { status, body } = await world.claim(draft_id, { iban: null, charger: null });
  expect(status, JSON.stringify(body)).toBe(200);
  return { email, draft_id, ...(await idsOf(world, draft_id)) };
}

const idsOf = (world: SandboxWorld, draft_id: string) =>
  world.row("select user_id, account_id from core.drafts where id = $1", draft_id);

/** The code with which somebody at an address signs in, of a mail that is none of those of before: the clock of a world may stand still. */
export async function signInCode(world: SandboxWorld, email: string, before: readonly string[] = []): Promise<string> {
  const row = await world.mail(
    `where recipient = $1 and template = 'sign_in' and id <> all ($2) order by created_at desc, age(xmin), ctid desc limit 1`,
    email,
    before,
  );
  return row?.subject.slice(0, 6) ?? "none";
}

export const mijn = (world: SandboxWorld, page = "") => `${world.environment.config.PAGES_URL}/mijn${page}`;

/** Signs in by a mailed code, and gives the answer to the code: a redirect to the pages. `area` are those of a customer, or of a partner. */
export async function signIn(
  world: SandboxWorld,
  ask: Browser,
  email: string,
  query = "",
  area: typeof mijn = mijn,
): Promise<PageAnswer> {
  const form = { form_token: formToken((await ask(area(world, `/sign-in${query}`))).text) };
  const { before } = await world.row(
    "select coalesce(array_agg(id), '{}') as before from core.mail_outbox where recipient = $1",
    email,
  );
  expect((await ask(area(world, `/mail-code${query}`), { form: { ...form, email } })).status).toBe(303);
  return ask(area(world, `/code${query}`), { form: { ...form, code: await signInCode(world, email, before) } });
}

/** Signs in by a mailed code in a real browser, beginning at a page that asks for it. */
export async function signInOn(page: Page, world: SandboxWorld, url: string, email: string): Promise<void> {
  await page.goto(url);
  await page.locator("#email").fill(email);
  await page.locator("form[action*='/mail-code'] .button").click();
  await page.locator("#code").fill(await signInCode(world, email));
  await page.locator(".actions .button").click();
  await page.locator(".signed-in").waitFor();
}

/** In how many rows the menu stands. */
export const rowsOfMenu = (page: Page): Promise<number> =>
  page
    .locator(".menu > a:visible, .menu summary:visible")
    .evaluateAll((links) => new Set(links.map((link) => Math.round(link.getBoundingClientRect().top))).size);

/** A browser in which they are signed in. */
export async function browserOf(world: SandboxWorld, { email }: Pick<Customer, "email">): Promise<Browser> {
  const ask = newBrowser(world);
  expect((await signIn(world, ask, email)).status).toBe(303);
  return ask;
}
