// Somebody who manages a partner, and their browser on /portal.

import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Browser, formToken, newBrowser, type PageAnswer } from "./claimant.ts";
import { signInCode } from "./customer.ts";

export type Manager = { email: string; user_id: string };

export const portal = (world: SandboxWorld, page = "") => `${world.environment.config.PAGES_URL}/portal${page}`;

/** A login with a confirmed address, which manages `partner` where there is one. */
export async function newManager(world: SandboxWorld, partner: { id: string } | null): Promise<Manager> {
  const email = `beheer-${randomUUID().slice(0, 8)}@example.nl`;
  const { id: user_id } = await world.row(
    "insert into auth.users (id, email, email_confirmed_at) values (gen_random_uuid(), $1, now()) returning id",
    email,
  );
  if (partner)
    await world.row("insert into core.partner_managers (partner_id, user_id) values ($1, $2)", partner.id, user_id);
  return { email, user_id };
}

/** Signs in by a mailed code, and gives the answer to the code: a redirect to the pages. */
export async function signInToPortal(
  world: SandboxWorld,
  ask: Browser,
  email: string,
  query = "",
): Promise<PageAnswer> {
  const form = { form_token: formToken((await ask(portal(world, `/sign-in${query}`))).text) };
  expect((await ask(portal(world, `/mail-code${query}`), { form: { ...form, email } })).status).toBe(303);
  return ask(portal(world, `/code${query}`), { form: { ...form, code: await signInCode(world, email) } });
}

/** A browser in which they are signed in. */
export async function portalBrowser(world: SandboxWorld, { email }: Manager): Promise<Browser> {
  const ask = newBrowser(world);
  expect((await signInToPortal(world, ask, email)).status).toBe(303);
  return ask;
}
