// Whatever a client sends, an answer of ours comes back, and what it sent is nobody's to read in the log.

import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { isFile } from "#shared/http/endpoint.ts";
import type { Routed } from "#shared/http/serve.ts";
import { anyText } from "../harness/any_text.ts";
import { newAddress } from "../harness/environment.ts";
import { newEan } from "../harness/people.ts";
import { createOAuthWorld, type OAuth } from "../oauth/oauth_world.ts";
import { ENDPOINTS, named, type Sample, samplesFor, sent } from "./samples.ts";

let world: OAuth;
let sample: (endpoint: Routed) => Sample;
beforeAll(async () => {
  world = await createOAuthWorld({ limits: "lifted" });
  sample = await samplesFor(world);
});
afterAll(() => world.close());

/** Of each endpoint in every run of the tests; `npm run trial -- fuzz` sends thousands. */
const RUNS = 30;

const withBody = ENDPOINTS.filter((endpoint) => endpoint.body && !isFile(endpoint));

/** Values that trouble parsers and databases, beside any other. */
const anything = fc.oneof(
  fc.jsonValue(),
  anyText(),
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
  for (const [name, endpoint] of named(withBody))
    test(`${name} never fails by our fault, and answers in the form it declares`, async () => {
      await fc.assert(
        fc.asyncProperty(mutated(sample(endpoint).body), async (body) => {
          const { status } = await world.send(endpoint.path, {
            ...sent(sample(endpoint)),
            body: body ?? null,
            headers: { "x-forwarded-for": newAddress() },
          });
          expect(status).toBeLessThan(500);
        }),
        { numRuns: RUNS },
      );
    });
});

describe("§8 any query string", () => {
  /** Those that promise to forgive: limit and offset never give 400. */
  const forgives = ({ id }: Routed) => /^list(Accounts|ErePositions|CatalogChargers|Customers)$/.test(id);
  const word = fc.oneof(
    anyText(),
    fc.constantFrom(
      "limit",
      "offset",
      "search",
      "cpo_external_ref",
      "vendor",
      "model",
      "from",
      "charger_id",
      "scope",
      "external_ref",
      "status",
    ),
  );
  const value = fc.oneof(word, fc.constant("\u0000"));
  const query = fc.array(fc.tuple(word, value), { maxLength: 5 }).map((pairs) => new URLSearchParams(pairs).toString());
  const raw = fc.string().map((text) => text.replaceAll("#", ""));
  const ask = async (endpoint: Routed, search: string) => {
    const { path, ...good } = sample(endpoint);
    const { status } = await world.send(`${path.split("?")[0]}?${search}`, sent({ path, ...good }));
    expect(status, endpoint.id).toBeLessThan(forgives(endpoint) ? 300 : 500);
  };
  for (const [name, endpoint] of named(ENDPOINTS.filter(({ query }) => query)))
    test(`${name} never fails by our fault, and a list never refuses it`, async () => {
      const property = fc.asyncProperty(fc.oneof(query, raw), (search) => ask(endpoint, search));
      await fc.assert(property, { numRuns: RUNS });
    });

  test("an endpoint that declares no query reads none", async () => {
    for (const endpoint of ENDPOINTS.filter(({ query }) => !query))
      for (const search of ["limit=x&limit=%00&search=%ff", "%"]) await ask(endpoint, search);
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
    nickname: SENTINEL,
    naam: SENTINEL,
    display_name: SENTINEL,
    account_holder: SENTINEL,
    message: SENTINEL,
    csv: `email,naam\n${SENTINEL}-${crypto.randomUUID()}@voorbeeld.nl,${SENTINEL}`,
    name: SENTINEL,
    state: SENTINEL,
    external_id: SENTINEL,
  };
  return fitting[key] ?? body;
}

describe("contract §1 the log holds nothing of what was sent", () => {
  const sends: [string, (endpoint: Routed) => Promise<unknown>][] = [
    ["a good request", async (endpoint) => request(endpoint, marked(sample(endpoint).body))],
    [
      "a bad body",
      async (endpoint) =>
        request(endpoint, { [SENTINEL]: IBAN, person: { full_name: [SENTINEL] }, account_id: SENTINEL }),
    ],
    [
      "no JSON",
      async (endpoint) =>
        world.send(sample(endpoint).path, {
          ...wrapped(endpoint),
          raw: `{"full_name": "${SENTINEL}" "${IBAN}`,
          method: "POST",
        }),
    ],
    [
      "a bad token",
      async (endpoint) => request(endpoint, marked(sample(endpoint).body), `${SENTINEL}.${SENTINEL}.${SENTINEL}`),
    ],
    [
      "an unknown path",
      async (endpoint) =>
        world.send(`${endpoint.path}/${SENTINEL}?x=${SENTINEL}`, { ...wrapped(endpoint), method: "GET" }),
    ],
  ];
  const wrapped = (endpoint: Routed, bearer = sample(endpoint).token ?? SENTINEL) => ({
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
  const request = (endpoint: Routed, body: unknown, bearer?: string) => {
    const good = sample(endpoint).path;
    const path = `${good}${good.includes("?") ? "&" : "?"}cpo_external_ref=${SENTINEL}&search=${SENTINEL}&x=${IBAN}`;
    return world.send(path, { ...wrapped(endpoint, bearer), ...(endpoint.method === "POST" ? { body } : {}) });
  };

  // a person of the tests above has as many chargers and tokens as they may
  beforeAll(async () => {
    sample = await samplesFor(world);
  });

  let before: number;
  beforeEach(() => {
    before = world.log.length;
  });
  const secrets = () => {
    const texts = (value: unknown): string[] =>
      typeof value === "object" && value !== null ? Object.values(value).flatMap(texts) : [String(value)];
    const samples = ENDPOINTS.map(sample);
    const held = samples.flatMap(({ token = "", body }) => [token, token.split(".")[2] ?? "", ...texts(body)]);
    return [SENTINEL, IBAN, "203.0.113", ...held.filter((text) => text.length >= 40)];
  };
  /** The request lines since `before`; the worker has more to say, which may hold as little. */
  const requests = () =>
    world.log.slice(before).filter(({ event, endpoint }) => event === "request" && endpoint !== "kickWorker");
  // the worker is kicked by what is sent, as often as it has to be
  const ASKED = ENDPOINTS.filter(({ id }) => id !== "kickWorker");
  const expectNoSecret = () => {
    const said = JSON.stringify(world.log.slice(before)).toLowerCase();
    for (const secret of secrets()) expect(said).not.toContain(secret.toLowerCase());
  };

  test.each(sends)(
    "contract §1 %s leaves one line for each request, without any of what was sent",
    async (_what, send) => {
      for (const endpoint of ASKED) await send(endpoint);
      expect(requests()).toHaveLength(ASKED.length);
      expectNoSecret();
    },
  );

  test("contract §1 a failure of our own that quotes the row: one line each, without any of it", async () => {
    // an account that is made again, with the IBAN it has, writes nothing
    await world.row("update core.accounts set cpo_external_ref = null where cpo_external_ref = $1", SENTINEL);
    // and so does company data that is what it was
    await world.row("update core.partners set company = '{}' where company <> '{}' returning 1");
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
    for (const endpoint of ASKED) {
      const { status } = (await request(endpoint, marked(sample(endpoint).body))) as { status: number };
      statuses.push([endpoint.id, status]);
    }
    expect(statuses.filter(([, status]) => status === 500).map(([id]) => id)).toEqual(
      expect.arrayContaining([
        "createAccount",
        "deliverMonths",
        "authorize",
        "registerOwnCharger",
        "createToken",
        "takeMessages",
        "uploadDrafts",
        "setPartnerCompany",
        "mintPartnerApiKey",
      ]),
    );
    expect(requests()).toHaveLength(ASKED.length);
    expectNoSecret();
  });
});
