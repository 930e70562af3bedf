// Whatever a client sends, an answer of ours comes back, and what it sent is nobody's to read in the log.

import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Endpoint } from "../../packages/shared/src/endpoint.ts";
import { createWorld, newEan, type World } from "../harness/world.ts";
import { CPO_ENDPOINTS, ENDPOINTS, named, type Sample, samplesFor } from "./samples.ts";

let world: World;
let token: string;
let samples: Map<string, Sample>;
beforeAll(async () => {
  world = await createWorld();
  await world.row("update core.rate_limits set quota = 1000000");
  samples = await samplesFor(world);
  token = await world.partnerA.client.token();
});
afterAll(() => world.close());

const sampleOf = (endpoint: Endpoint): Sample => samples.get(endpoint.id) ?? { path: endpoint.path };
const withBody = ENDPOINTS.filter(({ body }) => body);

/** Values that trouble parsers and databases, beside any other. */
const anything = fc.oneof(
  fc.jsonValue(),
  fc.string({ unit: "binary" }),
  fc.constantFrom(
    "\u0000",
    "\ud800",
    "'; drop table core.accounts; --",
    "⚡".repeat(300),
    "𝒳", // one character, two code units
    "x".repeat(5000),
    1e308,
    -0,
    2 ** 53,
    {},
    [],
    null,
    true,
  ),
);

/** A good body with one place in it, however deep, holding something else. */
function mutated(body: unknown): fc.Arbitrary<unknown> {
  if (typeof body !== "object" || body === null) return anything;
  const keys = Object.keys(body);
  return fc.oneof(
    { weight: 1, arbitrary: anything },
    ...keys.map((key) => ({
      weight: 2,
      arbitrary: mutated((body as Record<string, unknown>)[key]).map((value) =>
        Array.isArray(body) ? body.with(Number(key), value) : { ...body, [key]: value },
      ),
    })),
  );
}

describe("contract §1 any JSON as a body", () => {
  test.each(named(withBody))("%s: never our failure, always in the form it declares", async (_, endpoint) => {
    await fc.assert(
      fc.asyncProperty(mutated(sampleOf(endpoint).body), async (body) => {
        const { status } = await world.send(endpoint.path, {
          token,
          body: body ?? null,
          headers: { "x-forwarded-for": crypto.randomUUID() },
        });
        expect(status).toBeLessThan(500);
      }),
      { numRuns: 120 },
    );
  });
});

describe("§8 any query string", () => {
  const queries = CPO_ENDPOINTS.filter(({ query, method }) => query && method === "GET");
  const word = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("limit", "offset", "search", "cpo_external_ref", "vendor", "model"),
  );
  const query = fc.array(fc.tuple(word, word), { maxLength: 5 }).map((pairs) => new URLSearchParams(pairs).toString());
  const raw = fc.string().map((text) => text.replaceAll("#", ""));
  test.each(named(queries))("%s: never our failure; a list never refuses it", async (_, endpoint) => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(query, raw), async (search) => {
        const { status, body } = await world.send(`${endpoint.path}?${search}`, { token });
        if (endpoint.id === "resolveCatalogCharger" && status === 400)
          expect(body.error).toBe("vendor_and_model_required");
        else expect(status).toBe(200);
      }),
      { numRuns: 60 },
    );
  });
});

// The log ------------------------------------------------------------------------------------------------------------

/** Stands in every text that a client sends; whatever becomes of it, no line of the log may hold it. */
const SENTINEL = "Zz9Sentinel";
const IBAN = "NL91ZZZZ0417164399";

/** The same body with the mark in each of its texts, as far as the field rules let it pass. */
function marked(body: unknown, key = ""): unknown {
  if (Array.isArray(body)) return body.map((item) => marked(item));
  if (typeof body === "object" && body !== null)
    return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, marked(value, name)]));
  const fitting: Record<string, unknown> = {
    email: `${SENTINEL}@example.nl`,
    iban: IBAN,
    full_name: SENTINEL,
    cpo_external_ref: SENTINEL,
    serial_number: SENTINEL,
    source: SENTINEL,
    ean_code: newEan(),
  };
  return fitting[key] ?? body;
}

describe("contract §1 the log holds nothing of what was sent", () => {
  const sends: [string, (endpoint: Endpoint) => Promise<unknown>][] = [
    ["a good request", async (endpoint) => request(endpoint, marked(sampleOf(endpoint).body))],
    [
      "a bad body",
      async (endpoint) =>
        request(endpoint, { [SENTINEL]: IBAN, person: { full_name: [SENTINEL] }, account_id: SENTINEL }),
    ],
    [
      "no JSON",
      async (endpoint) =>
        world.send(endpoint.path, {
          ...wrapped(endpoint),
          raw: `{"full_name": "${SENTINEL}" "${IBAN}`,
          method: "POST",
        }),
    ],
    [
      "a bad token",
      async (endpoint) => request(endpoint, marked(sampleOf(endpoint).body), `${SENTINEL}.${SENTINEL}.${SENTINEL}`),
    ],
    [
      "an unknown path",
      async (endpoint) =>
        world.send(`${endpoint.path}/${SENTINEL}?x=${SENTINEL}`, { ...wrapped(endpoint), method: "GET" }),
    ],
  ];
  const wrapped = (endpoint: Endpoint, bearer = token) => ({
    method: endpoint.method,
    headers: {
      authorization: `Bearer ${bearer}`,
      "user-agent": SENTINEL,
      cookie: SENTINEL,
      "x-forwarded-for": `${SENTINEL}, 203.0.113.9`,
      "x-request-id": SENTINEL,
      [`x-${SENTINEL}`]: SENTINEL,
    },
  });
  const request = (endpoint: Endpoint, body: unknown, bearer?: string) => {
    const separator = sampleOf(endpoint).path.includes("?") ? "&" : "?";
    const path = `${sampleOf(endpoint).path}${separator}cpo_external_ref=${SENTINEL}&search=${SENTINEL}&x=${IBAN}`;
    return world.send(path, { ...wrapped(endpoint, bearer), ...(endpoint.method === "POST" ? { body } : {}) });
  };

  let before: number;
  beforeEach(() => {
    before = world.log.length;
  });
  const secrets = () => [SENTINEL, IBAN, "203.0.113", token, token.split(".")[2] ?? "", world.partnerA.client.secret];

  test.each(sends)("contract §1 %s: one line each, without any of it", async (_what, send) => {
    for (const endpoint of ENDPOINTS) await send(endpoint);
    const lines = world.log.slice(before);
    expect(lines).toHaveLength(ENDPOINTS.length);
    for (const secret of secrets()) expect(JSON.stringify(lines).toLowerCase()).not.toContain(secret.toLowerCase());
  });

  test("contract §1 a failure of our own that quotes the row: one line each, without any of it", async () => {
    // every write fails on a constraint whose message and detail quote the row; every read on a cast that quotes its value
    await world.database.admin.query(`
      create function core.quoting() returns trigger language plpgsql as $$ begin
        raise exception 'bad row: %', new using errcode = '23514', detail = new::text, hint = new::text; end $$`);
    const { rows } = await world.database.admin.query(
      "select c.oid::regclass::text as name from pg_class c where c.relnamespace = 'core'::regnamespace and c.relkind = 'r' and c.relname !~ '^rate_limit'",
    );
    for (const { name } of rows) {
      await world.database.admin.query(
        `create trigger quoting before insert or update on ${name} for each row execute function core.quoting()`,
      );
    }
    const statuses = [];
    for (const endpoint of ENDPOINTS) {
      const { status } = (await request(endpoint, marked(sampleOf(endpoint).body))) as { status: number };
      statuses.push([endpoint.id, status]);
    }
    expect(statuses.filter(([, status]) => status === 500).map(([id]) => id)).toEqual(
      expect.arrayContaining(["createAccount", "deliverMonths"]),
    );
    const lines = world.log.slice(before);
    expect(lines).toHaveLength(ENDPOINTS.length);
    for (const secret of secrets()) expect(JSON.stringify(lines).toLowerCase()).not.toContain(secret.toLowerCase());
  });
});
