// Somebody who manages a partner, and their browser on /portal.

import { createHash, randomUUID } from "node:crypto";
import { expect } from "vitest";
import { readLogo } from "#shared/domain/logo/logo.ts";
import type { World } from "../harness/world.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Browser, newBrowser, type PageAnswer } from "./claimant.ts";
import { signIn } from "./customer.ts";

export type Manager = { email: string; user_id: string };

export const portal = (world: SandboxWorld, page = "") => `${world.environment.config.PAGES_URL}/portal${page}`;

/** A login with a confirmed address, which manages `partner` where there is one. */
export async function newManager(world: World, partner: { id: string } | null): Promise<Manager> {
  const email = `beheer-${randomUUID().slice(0, 8)}@example.nl`;
  const { id: user_id } = await world.row(
    "insert into auth.users (id, email, email_confirmed_at, raw_app_meta_data) values (gen_random_uuid(), $1::text, now(), jsonb_build_object('proved_email', $1::text)) returning id",
    email,
  );
  if (partner)
    await world.row("insert into core.partner_managers (partner_id, user_id) values ($1, $2)", partner.id, user_id);
  return { email, user_id };
}

/** Signs in by a mailed code, and gives the answer to the code: a redirect to the pages. */
export const signInToPortal = (world: SandboxWorld, ask: Browser, email: string, query = ""): Promise<PageAnswer> =>
  signIn(world, ask, email, query, portal);

/** A browser in which they are signed in. */
export async function portalBrowser(world: SandboxWorld, { email }: Manager): Promise<Browser> {
  const ask = newBrowser(world);
  expect((await signInToPortal(world, ask, email)).status).toBe(303);
  return ask;
}

/** A quarter of a customer of the partner is sold and paid, and its share invoiced; documents are rendered. */
export async function earningPartner(world: SandboxWorld, partner: { id: string }): Promise<void> {
  const { draft_id } = await world.draft();
  const { body } = await world.claim(draft_id, { submit: true });
  // sums count from the month in which a partner brought somebody, and the clock stands in November
  await world.row(
    "update core.attributions set attached_month = '2026-01-01' where user_id = (select user_id from core.drafts where id = $1) returning 1",
    draft_id,
  );
  await world.play(body.account_id, "review", { outcome: "goedgekeurd" });
  await world.send("/sandbox/v1/settle", { method: "POST", token: world.keyA, body: { quarter: "2026-Q2" } });
  const { number } = await world.row(
    `with told as (
       update core.partners set vat_regime = 'regular', company = '{"name": "Laadpunt B.V.", "vat": "NL001234567B01", "street": "Kade", "house_number": "1", "city": "Breda"}'
        where id = $1 returning *)
     select (private.issue_invoices(t, '2026-04-01', 'test')).number from told t`,
    partner.id,
  );
  expect(number).toBe(1);
  await world.send("/documents/run", { method: "POST", token: world.environment.config.WORKER_SECRET });
}

/** Gives a partner a logo, as its pages do, and answers its hash. */
export async function keepLogo(world: World, partner_id: string, file: Uint8Array): Promise<string> {
  const read = await readLogo(file);
  if ("refused" in read) throw new Error(read.refused);
  const { png, width, height } = read.logo;
  const { user_id: manager_id } = await newManager(world, { id: partner_id });
  await world.environment.db.call(
    "set_partner_logo",
    { kind: "partner", host: world.environment.config.API_HOST, partner_id, manager_id, request_id: "test" },
    { png: Buffer.from(png).toString("base64"), width, height },
  );
  return createHash("sha256").update(png).digest("hex");
}
