// Tenancy by generation: every identifier of one holder is tried by every credential of the others. docs/results/tenancy.md shows what each gets;
// `npm run trial -- tenancy` tries every identifier in every place, and then writes the table again.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import type { Routed } from "#shared/http/serve.ts";
import { ENDPOINTS, holderOf } from "../contract/samples.ts";
import { createOAuthWorld, type OAuth } from "../oauth/oauth_world.ts";
import { newManager } from "../pages/manager.ts";
import { attackPages, visitorOf } from "./crawl.ts";
import { attackFunctions, type Recorded, record } from "./functions.ts";
import { type Holders, makeHolders } from "./holders.ts";
import type { Kind } from "./identifiers.ts";
import { attackLinks } from "./links.ts";
import { Matrix, withMatrix } from "./matrix.ts";
import { meantBy } from "./means.ts";
import { attackOAuth, presentAgain } from "./oauth.ts";
import { doOwn } from "./own.ts";
import { type Place, placesOf } from "./places.ts";
import { attackApi, attackOcpi, type Bearer, bearersOf, type Told } from "./requests.ts";
import { columnsOf, type Rows, rowsOf, tableOf, tracesOf, without } from "./rows.ts";
import { forgeTickets, presentTickets, recordTickets, type Tickets } from "./tickets.ts";

/** Whether every identifier is tried in every place, which takes minutes. */
const EVERY = process.env.TENANCY === "every";
const PATIENCE_MS = EVERY ? 3_600_000 : 300_000;

const PAGE = join(ROOT, "docs/results/tenancy.md");

let world: OAuth;
let holders: Holders;
let bearers: Bearer[];
let before: Rows;
let matrix: Matrix;
let recorded: Recorded;
let tickets: Tickets;
beforeAll(async () => {
  // nothing changes by itself meanwhile
  world = await createOAuthWorld({ limits: "lifted", now: new Date().toISOString() });
  holders = await makeHolders(world);
  bearers = await bearersOf(world, holders.other, holders.elsewhere);
  before = await rowsOf(world.database.admin);
  recorded = record(
    world,
    holders.kinds.flatMap(({ values }) => values),
  );
  tickets = recordTickets(world);
  const links = ["claim of another", "mailed code of another", "another application"];
  matrix = new Matrix([...[...bearers, ...holders.visitors].map(({ name }) => name), ...links]);
});
afterAll(() => world?.close());

/** Credentials, and what they are shown for. */
const KINDS = [
  "cpo for cpo",
  "ocpi_token for ocpi",
  "page_session for partner",
  "page_session for session",
  "partner_key for partner",
  "partner_key for sandbox",
  "personal_token for user",
  "session for session",
  "user for partner",
  "user for user",
];

const OF_A_PERSON: readonly Bearer["kind"][] = ["manager", "user", "personal_token", "session"];

/** Whoever has a link may ask for its code, and guess: that is counted. */
const COUNTED = /^core\.(one_time_codes|rate_limit_state) /;

/** The victim's rows are what they were, and no row that somebody made since has an id of theirs. */
async function expectUnchanged(but?: RegExp) {
  const { kinds, mine } = holders;
  const after = await rowsOf(world.database.admin);
  const ids = kinds.flatMap(({ isId, values }) => (isId ? values : []));
  const added = [...without(after, before)].filter((row) => ids.some((id) => row.includes(id)));
  expect([...without(mine, after), ...added].filter((row) => !but?.test(row))).toEqual([]);
}

test("contract §1 every text that a request can have is an identifier of a known kind, or says why it is nobody's", () => {
  const unknown = ENDPOINTS.flatMap((endpoint) =>
    placesOf(endpoint)
      .filter((place) => meantBy(endpoint, place) === undefined)
      .map(({ path }) => `${endpoint.id}: ${path.join(".")}`),
  );
  expect(unknown).toEqual([]);
});

test("contract §1 every table of a tenant or a person has a row of the one whose identifiers are tried", async () => {
  const { rows } = await world.database.admin.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
      where c.relnamespace = 'core'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname in ('partner_id', 'user_id')) order by 1`,
  );
  const filled = new Set([...holders.mine].map(tableOf));
  expect(rows.map(({ name }) => name).filter((name) => !filled.has(name))).toEqual([]);
});

test("contract §1 somebody else's identifier gets what an identifier of nobody gets, shows nothing and changes nothing", async () => {
  const { kinds, traces, victim } = holders;
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
  await expectUnchanged();
});

test("contract §1 a CDR of another platform is not found by an OCPI token, and no other credential is admitted", async () => {
  const { kinds, victim } = holders;
  const told: Told = (...told) => matrix.tell(...told);
  expect(await attackOcpi({ world, bearers, kinds, told })).toEqual([]);
  const [{ values } = { values: [] }] = kinds.filter(({ name }) => name === "ocpi_cdrs.cdr_id");
  expect(values).toHaveLength(1);
  const own = { name: "its own", kind: "ocpi_token", token: victim.client.client_id, sample: victim.sample } as const;
  expect(await attackOcpi({ world, bearers: [own], kinds, told: () => {} })).toEqual([expect.stringMatching(/200$/)]);
});

test("contract §1 a code or token that a person gave an application opens nothing for another", async () => {
  const { victim, other, elsewhere } = holders.applications;
  const told: Told = (...told) => matrix.tell(...told);
  expect(await attackOAuth({ world, victim, others: [other, elsewhere], told })).toEqual([]);
  await expectUnchanged();
});

test("contract §1 somebody else's identifier on the pages of a person, a signatory or a partner gets what nobody's gets", async () => {
  const { kinds, traces, visitors: others, found } = holders;
  const { faults, requests } = await attackPages({
    world,
    found,
    others,
    kinds,
    traces,
    every: EVERY,
    told: (...told) => matrix.tell(...told),
  });
  expect(faults).toEqual([]);
  expect(requests).toBeGreaterThan(100);
  await expectUnchanged();
});

test("contract §1 nothing that somebody is answered about what is theirs changed when others came", () => {
  const { before, after } = holders.answers;
  const changed = [...before].filter(([what, outcome]) => after.get(what) !== outcome);
  expect(changed.map(([what, outcome]) => `${what}: ${after.get(what)}, not ${outcome}`)).toEqual([]);
  expect(before.size).toBeGreaterThan(200);
});

test(
  "contract §1 every api function, run for those who were admitted, knows nothing of somebody else's identifiers",
  async () => {
    const { answers, callers, kinds, mine, traces } = holders;
    const { faults, admits } = await attackFunctions({
      admin: world.database.admin,
      callers,
      answers: answers.before,
      kinds,
      mine,
      traces,
      recorded,
      every: EVERY,
    });
    expect(faults).toEqual([]);
    expect(admits.size).toBeGreaterThan(100);
  },
  PATIENCE_MS,
);

test("contract §1 a ticket is admitted by the role, for the function, the tenant and the person that it is for, and nowhere else", async () => {
  const { admin } = world.database;
  expect([...tickets.keys()].toSorted()).toEqual(KINDS);
  expect(await forgeTickets(admin, tickets, holders.victim)).toEqual([]);
  const { faults, admitted } = await presentTickets(admin, tickets);
  expect(faults).toEqual([]);
  expect(admitted).toBeGreaterThan(200);
});

test("contract §1 the claim or code of one customer opens nothing at the link of another", async () => {
  const told: Told = (...told) => matrix.tell(...told);
  const { links, traces } = holders;
  expect(await attackLinks({ world, ...links, traces, told })).toEqual([]);
  // the codes that were mailed
  before = await rowsOf(world.database.admin);
  await expectUnchanged(COUNTED);
});

test("contract §1 what others do with what is theirs shows nothing of somebody else's and changes nothing of it", async () => {
  const { links, visitors, kinds, applications } = holders;
  // a name of somebody's may be a name of one's own: the requests before gave it to something
  const named = kinds.flatMap(({ isId, values }) => (isId ? [] : values));
  const traces = new Map([...holders.traces].filter(([trace]) => !named.some((name) => name.includes(trace))));
  const { faults, done } = await doOwn({ world, bearers, visitors, links: links.other, traces });
  expect(faults).toEqual([]);
  expect(done.length).toBeGreaterThan(200);
  expect(await presentAgain(world, applications.other, applications.elsewhere)).toEqual([]);
  await expectUnchanged(COUNTED);
});

test("contract §1 a colleague who manages the same partner finds nothing of what is a person's own, and changes nothing of it", async () => {
  const { victim, mine, kinds, found } = holders;
  const { admin } = world.database;
  const colleague = await holderOf(world);
  await world.row(
    "update core.partner_managers set partner_id = $1 where user_id = $2",
    victim.managed,
    colleague.user.id,
  );
  const { email } = await newManager(world, { id: victim.managed });
  const others = [await visitorOf(world, "a colleague", "portal", email)];
  before = await rowsOf(admin);
  const own = new Set(
    [...mine].filter((row) => {
      const { user_id, owner_id } = columnsOf(row);
      // whoever manages a partner is named to their colleagues
      const isOwn = [user_id, owner_id].includes(victim.user.id) && tableOf(row) !== "core.partner_managers";
      return isOwn && before.has(row);
    }),
  );
  // of the partner that both manage
  expect([...own].map(tableOf)).toContain("core.imports");
  const traces = tracesOf(own, [without(before, own)]);
  const its = kinds
    .map((kind) => ({ ...kind, values: kind.values.filter((value) => traces.has(value)) }))
    .filter(({ values }) => values.length > 0);
  const told: Told = () => {};
  const ids = its.filter(({ isId }) => isId);
  const fits = (_: Routed, place: Place) => (place.isId && (EVERY || place.in === "path") ? ids : []);
  const bearers = (await bearersOf(world, colleague, colleague)).filter(({ kind }) => OF_A_PERSON.includes(kind));
  const api = await attackApi({ world, victim, bearers, traces, fits, told });
  const pages = await attackPages({ world, found, others, kinds: its, traces, every: true, told });
  expect([...api.faults, ...pages.faults.filter((fault) => !/was not tried$/.test(fault))]).toEqual([]);
  expect([api.requests > 100, pages.requests > 20]).toEqual([true, true]);
  expect([...without(own, await rowsOf(admin))]).toEqual([]);
});

// of every place the table would say what no request means
test.skipIf(EVERY)(
  "contract §1 docs/results/tenancy.md shows what each credential gets: npm run trial -- tenancy",
  () => {
    const page = readFileSync(PAGE, "utf8");
    const written = withMatrix(page, matrix.toString());
    if (process.env.TENANCY === "write") writeFileSync(PAGE, written);
    expect(readFileSync(PAGE, "utf8")).toBe(written);
  },
);

test("contract §1 these tests find a hole: where one table has no row-level security", async () => {
  const { kinds, traces, victim } = holders;
  await world.database.admin.query("alter table core.accounts disable row level security");
  const endpoints = ENDPOINTS.filter(({ id }) => id === "issueMandateLink");
  const fits = (_: Routed, { name }: Place) =>
    kinds.filter((kind) => name === "account_id" && kind.name === "accounts.id");
  const { faults } = await attackApi({ world, endpoints, victim, bearers, traces, fits, told: () => {} });
  expect(faults).toContainEqual(
    expect.stringMatching(/^issueMandateLink by a client of another partner, accounts.id .* not .*404/),
  );
});

/** Plants a fault: takes one condition out of a function. */
async function plant(name: string, condition: string) {
  const { admin } = world.database;
  const { rows } = await admin.query<{ made: string }>("select pg_get_functiondef($1::regproc) as made", [name]);
  const made = rows[0]?.made ?? "";
  expect(made).toContain(condition);
  await admin.query(made.replace(condition, "true"));
}

test("contract §1 these tests find a hole: where a refresh token is rotated for any application", async () => {
  const { victim, other } = holders.applications;
  await plant("private.rotate_refresh_token", "g.client_id = client.id");
  const faults = await attackOAuth({ world, victim, others: [other], told: () => {} });
  expect(faults).toContainEqual(expect.stringMatching(/^the refresh token as refresh token: 200/));
});

test("contract §1 these tests find a hole: where a grant admits any person", async () => {
  await plant("private.user_scopes", "g.user_id = (credential ->> 'user_id')::uuid");
  const faults = await forgeTickets(world.database.admin, tickets, holders.victim);
  expect(faults).toContain("user for user, with the user_id of somebody else, is admitted");
});
