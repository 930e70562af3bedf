// A page without anything on it, of every list that is read page by page: the lists are those whose answer has `has_more`.

import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import type { Routed } from "#shared/http/serve.ts";
import { createOAuthWorld, type OAuth } from "../oauth/oauth_world.ts";
import { giveKey } from "../partner/partner_world.ts";
import { ENDPOINTS, named } from "./samples.ts";

const fieldsOf = (schema: unknown) => (schema instanceof z.ZodObject ? schema.shape : {});
const LISTS = ENDPOINTS.filter(({ response }) => "has_more" in fieldsOf(response));

let world: OAuth;
/** By kind of caller, a credential of somebody who has nothing yet. */
let tokens: Record<string, string>;
beforeAll(async () => {
  world = await createOAuthWorld({ limits: "lifted" });
  const { id } = await world.addPartner();
  tokens = {
    cpo: await (await world.addClient(id)).token(),
    partner: await giveKey(world, id),
    user: await (await world.addUser()).appToken(),
  };
});
afterAll(() => world.close());

/** Each way in which a page comes to be empty: by every filter that names something, and by an offset behind the end. */
function waysTo({ id, query }: Routed): string[] {
  const values: Record<string, string> = {
    offset: "5000",
    type: "webhook_endpoint.disabled",
    account_id: crypto.randomUUID(),
    charger_id: crypto.randomUUID(),
    delivery_year: "2026",
    from: "2026-01-01",
    to: "2026-02-01",
    counted: "true",
  };
  const filters = Object.keys(fieldsOf(query)).filter((name) => !["limit", "after"].includes(name));
  const ways = filters.map((name) => `?${name}=${values[name] ?? "nobody-has-this"}`);
  // everybody reads the catalogue: it is never empty by itself
  return id === "listCatalogChargers" ? ways : ["", ...ways];
}

test("§8 there are lists to look at, each in every way that its filters allow", () => {
  expect(LISTS.map(({ id }) => id)).toEqual(
    expect.arrayContaining(["listAccounts", "listErePositions", "listSessions"]),
  );
  expect(LISTS.flatMap(waysTo).length).toBeGreaterThan(20);
});

test.each(named(LISTS))(
  "§8 %s: a page without anything on it counts 0 and has no more behind it",
  async (_, endpoint) => {
    const [list = ""] =
      Object.entries(fieldsOf(endpoint.response)).find(([, field]) => field instanceof z.ZodArray) ?? [];
    const counted = "count" in fieldsOf(endpoint.response);
    for (const query of waysTo(endpoint)) {
      const { status, body } = await world.get(`${endpoint.path}${query}`, tokens[endpoint.caller.kind]);
      expect([status, body], query).toEqual([
        200,
        expect.objectContaining({ [list]: [], has_more: false, ...(counted ? { count: 0 } : {}) }),
      ]);
    }
  },
);
