// What the tests of the signing page need: an account, a link to its page, and the code from the captured mail.

import { expect } from "vitest";
import { serve } from "#shared/http/serve.ts";
import { surface } from "../../supabase/functions/pages/app.ts";
import { createAccount } from "../harness/people.ts";
import type { World } from "../harness/world.ts";

export type Link = { link: string; token: string; account_id: string; connection_id: string };

/** A fresh account with a link for its signatory. */
export async function issueLink(
  world: World,
  account: Record<string, unknown> = {},
  options: Record<string, unknown> = {},
): Promise<Link> {
  const { account_id } = await createAccount(world, world.partnerA, account);
  return linkFor(world, account_id, options);
}

export async function linkFor(world: World, account_id: string, options: Record<string, unknown> = {}): Promise<Link> {
  const { status, body } = await world.post(
    "/v1/mandate-links",
    { account_id, ...options },
    await world.partnerA.client.token(),
  );
  expect(status, JSON.stringify(body)).toBe(200);
  const link: string = body.mandate_link;
  return { link, token: link.slice(link.lastIndexOf("/") + 1), account_id, connection_id: body.connection_id };
}

export type PageAnswer = { status: number; headers: Headers; text: string; location: string | null };

/** Asks for pages as a browser without script does; a form is sent as our own page would, unless headers say otherwise (empty: not sent). */
export function pageClient(world: World) {
  const pages = serve(surface, world.environment);
  return async (
    address: string,
    {
      form,
      headers = {},
      method,
    }: { form?: Record<string, string>; headers?: Record<string, string>; method?: string } = {},
  ): Promise<PageAnswer> => {
    const sent = { "x-forwarded-for": "192.0.2.9", ...(form ? { "sec-fetch-site": "same-origin" } : {}), ...headers };
    const request = new Request(new URL(address, world.environment.config.PAGES_URL), {
      method: method ?? (form ? "POST" : "GET"),
      ...(form ? { body: new URLSearchParams(form) } : {}),
      headers: Object.entries(sent).filter(([, value]) => value !== ""),
    });
    const response = await pages.fetch(request);
    return {
      status: response.status,
      headers: response.headers,
      text: await response.text(),
      location: response.headers.get("location"),
    };
  };
}

export type Ask = ReturnType<typeof pageClient>;

/** What the page of step 1 says was read: sent along with every form of step 2. */
export async function readMandate(ask: Ask, link: string): Promise<string> {
  const { status, text } = await ask(link);
  expect(status).toBe(200);
  const seen = /seen=([0-9a-f]{16})/.exec(text)?.[1];
  if (!seen) throw new Error("the page has no link to step 2");
  return seen;
}

/** The newest code mailed for a link. */
export async function mailedCode(world: World, connection_id: string): Promise<string> {
  const { text } = await world.mail(
    `join core.mandate_links l on m.cause like 'mandate_code:' || l.id || ':%' where l.connection_id = $1 order by m.created_at desc limit 1`,
    connection_id,
  );
  const code = /^ {4}(\d{6})$/m.exec(text)?.[1];
  if (!code) throw new Error("the mail holds no code");
  return code;
}

/** Everything up to the last click. */
export async function readyToSign(
  world: World,
  ask: Ask,
  { link, connection_id }: Link,
): Promise<Record<string, string>> {
  const seen = await readMandate(ask, link);
  const sent = await ask(`${link}/code`, { form: { seen } });
  expect(sent.status).toBe(303);
  return { seen, code: await mailedCode(world, connection_id), name: "Sanne de Vries", agree: "yes" };
}
