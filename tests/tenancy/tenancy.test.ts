// Tenancy by generation: every identifier of one holder is tried by every credential of the others. docs/security.md shows what each gets;
// `npm run tenancy` writes it again, and tries every identifier in every place.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import type { Routed } from "#shared/http/surface.ts";
import { ENDPOINTS } from "../contract/samples.ts";
import { createOAuthWorld, type OAuth } from "../oauth/oauth_world.ts";
import { type Holders, makeHolders } from "./holders.ts";
import type { Kind } from "./identifiers.ts";
import { Matrix, withMatrix } from "./matrix.ts";
import { meantBy } from "./means.ts";
import { type Place, placesOf } from "./places.ts";
import { attackApi, type Bearer, bearersOf } from "./requests.ts";
import { type Rows, rowsOf, tableOf, without } from "./rows.ts";

/** Whether every identifier is tried in every place, which takes a minute or more. */
const EVERY = process.env.TENANCY === "every";

const PAGE = join(ROOT, "docs/security.md");

let world: OAuth;
let holders: Holders;
let bearers: Bearer[];
let before: Rows;
let matrix: Matrix;
beforeAll(async () => {
  world = await createOAuthWorld({ limits: "lifted" });
  holders = await makeHolders(world);
  bearers = await bearersOf(world, holders.other, holders.elsewhere);
  before = await rowsOf(world.database.admin);
  matrix = new Matrix(bearers.map(({ name }) => name));
});
afterAll(() => world?.close());

test("contract §1 every text that a request can have is an identifier of a known kind, or says why it is nobody's", () => {
  const unknown = ENDPOINTS.flatMap((endpoint) =>
    placesOf(endpoint)
      .filter((place) => meantBy(endpoint, place) === undefined)
      .map(({ path }) => `${endpoint.id}: ${path.join(".")}`),
  );
  expect(unknown).toEqual([]);
});

test("contract §1 every table of a tenant has a row of the one whose identifiers are tried", async () => {
  const { rows } = await world.database.admin.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
      where c.relnamespace = 'core'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'partner_id') order by 1`,
  );
  const filled = new Set([...holders.mine].map(tableOf));
  expect(rows.map(({ name }) => name).filter((name) => !filled.has(name))).toEqual([]);
});

test("contract §1 somebody else's identifier gets what an identifier of nobody gets, shows nothing and changes nothing", async () => {
  const { kinds, mine, traces, victim } = holders;
  const named = new Map(kinds.map((kind) => [kind.name, kind]));
  const meant = new Set(
    ENDPOINTS.flatMap((endpoint) => placesOf(endpoint).flatMap((place) => meantBy(endpoint, place) ?? [])),
  );
  // what no request means is tried where something is read by its path
  const inside = kinds.filter(({ name, isId, values }) => isId && values.length > 0 && !meant.has(name));
  const fits = (endpoint: Routed, place: Place): Kind[] => {
    const means = meantBy(endpoint, place);
    if (typeof means !== "object") return [];
    if (EVERY && place.isId) return [...kinds];
    const reads = place.in === "path" && endpoint.method === "GET";
    return [...means.flatMap((name) => named.get(name) ?? []), ...(reads ? inside : [])];
  };
  const { faults, requests } = await attackApi({
    world,
    victim,
    bearers,
    traces,
    fits,
    told: (kind, ...told) => matrix.tell(inside.some(({ name }) => name === kind) ? "any other id" : kind, ...told),
  });
  expect(faults).toEqual([]);
  expect(requests).toBeGreaterThan(1_000);
  const after = await rowsOf(world.database.admin);
  expect([...without(mine, after)]).toEqual([]);
  const ids = kinds.flatMap(({ isId, values }) => (isId ? values : []));
  expect([...without(after, before)].filter((row) => ids.some((id) => row.includes(id)))).toEqual([]);
});

test("contract §1 docs/security.md shows what each credential gets: npm run tenancy", () => {
  const page = readFileSync(PAGE, "utf8");
  const written = withMatrix(page, matrix.toString());
  if (process.env.TENANCY) writeFileSync(PAGE, written);
  expect(readFileSync(PAGE, "utf8")).toBe(written);
});
