// One secret, one power: what each key opens, and what goes on while keys rotate.

import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newKeys } from "#local/keys.ts";
import { hashAddress, issueClientToken, readAccessToken } from "#shared/auth/tokens.ts";
import { claimKey, claimLinks, claimToken, readClaimToken, readUnsubscribeToken } from "#shared/domain/claim/links.ts";
import { type Configuration, type KeyRing, readConfiguration } from "#shared/foundation/configuration.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { serve } from "#shared/http/serve.ts";
import { open, seal } from "#shared/values/sealed.ts";
import { surface as gateway } from "../../supabase/functions/ocpp/app.ts";
import { deviceHash, newDevice } from "../../supabase/functions/pages/kit/device.ts";
import { putFlash, takeFlash } from "../../supabase/functions/pages/kit/returned.ts";
import { surface as worker } from "../../supabase/functions/worker/app.ts";
import {
  answer,
  type ClaimWorld,
  createClaimWorld,
  mailedCode,
  newBrowser,
  newDraft,
  prove,
  readyToSign,
} from "../pages/claimant.ts";

let world: ClaimWorld;
let person: string;
beforeAll(async () => {
  world = await createClaimWorld();
  person = (await world.addUser()).id;
  await world.row("select private.reserve_customer($1, $2, 'partner_upload')", person, world.partnerA.id);
});
afterAll(() => world?.close());

const with_ = (more: Partial<Configuration>): Environment => ({
  ...world.environment,
  config: { ...world.environment.config, ...more },
});

const asBearer = async (environment: Environment, method: string, path: string, bearer: string, surface = worker) => {
  const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
  const request = new Request(`http://api.test/${surface.slug}/${path}`, {
    method,
    headers: { ...headers, "x-forwarded-for": "192.0.2.1" },
    ...(method === "POST" ? { body: JSON.stringify({ chargers: [] }) } : {}),
  });
  return (await serve(surface, environment).fetch(request)).status === 200;
};

/** The form that was left in a browser, as an environment finds it. */
async function leftForm(environment: Environment): Promise<string> {
  const place = { path: "/form", whose: "x" };
  const left = { typed: new URLSearchParams({ name: "Sanne" }), errors: {} };
  const app = new Hono().get("/form", (c) => c.text(String(putFlash(c, environment, place, left))));
  const set = (await app.request("/form")).headers.getSetCookie();
  return set.map((cookie) => cookie.split(";")[0]).join("; ");
}
async function findsForm(environment: Environment, cookie: string): Promise<boolean> {
  const app = new Hono().get("/form", (c) =>
    c.text(takeFlash(c, environment, { path: "/form", whose: "x" })?.typed.get("name") ?? ""),
  );
  return (await (await app.request("/form", { headers: { cookie } })).text()) === "Sanne";
}

const referenceOf = async (environment: Environment): Promise<string> =>
  (
    await world.row(
      "select private.customer_ref($1, private.customer_key($2, $3)) as ref",
      person,
      world.partnerA.id,
      claimKey(environment),
    )
  ).ref;
const personOf = async (environment: Environment, ref: string): Promise<string> =>
  (await world.row("select private.customer_named($1, $2, $3) as id", ref, world.partnerA.id, claimKey(environment)))
    .id;
const unsubscribeOf = async (environment: Environment, email: string): Promise<string> =>
  (await world.row("select private.unsubscribe_url($1, $2) as url", email, claimLinks(environment))).url
    .split("/")
    .pop();
const isOptedOut = async (environment: Environment, email: string): Promise<boolean> =>
  (await world.row("select private.opted_out($1, $2) as out", email, claimKey(environment))).out;

const NAMES = [
  "WORKER_SECRET",
  "METRICS_SECRET",
  "GATEWAY_SECRET",
  "LINK_KEYS",
  "OPT_OUT_KEYS",
  "CUSTOMER_REF_KEYS",
  "TOKEN_KEYS",
  "IBAN_KEYS",
] as const;
type Name = (typeof NAMES)[number];

/** What was made with the keys there are, and whether other keys open it. */
const DOORS: Record<string, { by: Name; open: () => Promise<(environment: Environment) => unknown> }> = {
  "the worker's run": {
    by: "WORKER_SECRET",
    open: async () => (other) => asBearer(other, "GET", "client-address", world.environment.config.WORKER_SECRET),
  },
  "the figures": {
    by: "METRICS_SECRET",
    open: async () => (other) => asBearer(other, "GET", "metrics", world.environment.config.METRICS_SECRET),
  },
  "what the gateway brings": {
    by: "GATEWAY_SECRET",
    open: async () => (other) => asBearer(other, "POST", "seen", world.environment.config.GATEWAY_SECRET, gateway),
  },
  "a claim link": {
    by: "LINK_KEYS",
    open: async () => {
      const token = claimToken(world.environment, person);
      return (other) => readClaimToken(other, token) === person;
    },
  },
  "a returned form": {
    by: "LINK_KEYS",
    open: async () => {
      const cookie = await leftForm(world.environment);
      return (other) => findsForm(other, cookie);
    },
  },
  "a browser that signed in before": {
    by: "LINK_KEYS",
    open: async () => {
      const cookie = newDevice(world.environment, "eva@example.nl");
      return (other) => deviceHash(other, "eva@example.nl", cookie) !== null;
    },
  },
  "an unsubscribe link": {
    by: "OPT_OUT_KEYS",
    open: async () => {
      const token = await unsubscribeOf(world.environment, "eva@example.nl");
      return (other) => readUnsubscribeToken(other, token) !== null;
    },
  },
  "an opt-out": {
    by: "OPT_OUT_KEYS",
    open: async () => {
      const email = "out@example.nl";
      await world.row("select private.suppress(private.email_hash($1, $2))", email, claimKey(world.environment));
      return (other) => isOptedOut(other, email);
    },
  },
  "a customer_ref": {
    by: "CUSTOMER_REF_KEYS",
    open: async () => {
      const ref = await referenceOf(world.environment);
      return async (other) => (await personOf(other, ref)) === person;
    },
  },
  "an access token": {
    by: "TOKEN_KEYS",
    open: async () => {
      const token = await issueClientToken(world.environment, { clientId: "cpo_x", scope: "", secretNumber: 1 });
      return async (other) => (await readAccessToken(other, token)) !== null;
    },
  },
  "an IBAN": {
    by: "IBAN_KEYS",
    open: async () => {
      const sealed = seal(world.environment, "x", "clear");
      return (other) => {
        try {
          return open(other, "x", sealed) === "clear";
        } catch {
          return false;
        }
      };
    },
  },
};

const fresh = (): Configuration => readConfiguration({ ...process_(), ...newKeys() });
const process_ = () => ({
  API_HOST: "sandbox",
  BASE_URL: "http://x",
  AUTH_URL: "http://x",
  PAGES_URL: "http://x",
  EDGE_DATABASE_URL: "x",
  EDGE_SLOW_DATABASE_URL: "x",
  SUPABASE_URL: "http://x",
  CLIENT_ADDRESS: "x-forwarded-for:1",
});

test.each(Object.entries(DOORS))(
  "contract §6 attack: %s opens by its own secret, and by no other",
  async (_door, { by, open }) => {
    const opens = await open();
    expect(await opens(world.environment)).toBe(true);
    const other = fresh();
    const opened: Record<string, unknown> = {};
    for (const name of NAMES) opened[name] = await opens(with_({ [name]: other[name] }));
    expect(opened).toEqual(Object.fromEntries(NAMES.map((name) => [name, name !== by])));
  },
);

test("contract §6 attack: no bearer of a machine opens the door of another", async () => {
  const { WORKER_SECRET, METRICS_SECRET, GATEWAY_SECRET } = world.environment.config;
  const opened: boolean[][] = [];
  for (const bearer of [WORKER_SECRET, METRICS_SECRET, GATEWAY_SECRET])
    opened.push([
      await asBearer(world.environment, "GET", "client-address", bearer),
      await asBearer(world.environment, "GET", "metrics", bearer),
      await asBearer(world.environment, "POST", "seen", bearer, gateway),
    ]);
  expect(opened).toEqual([
    [true, false, false],
    [false, true, false],
    [false, false, true],
  ]);
});

test.each([
  ["WORKER_SECRET", "GET", "client-address", worker],
  ["METRICS_SECRET", "GET", "metrics", worker],
  ["GATEWAY_SECRET", "POST", "seen", gateway],
] as const)(
  "contract §6 %s takes two values while it rotates, so that no caller is refused",
  async (name, method, path, surface) => {
    const old = world.environment.config[name];
    const made = fresh()[name];
    const answers = async (environment: Environment) => {
      const opened: boolean[] = [];
      for (const bearer of [old, made, `${made},${old}`, "", ","])
        opened.push(await asBearer(environment, method, path, bearer, surface));
      return opened;
    };
    expect(await answers(world.environment)).toEqual([true, false, false, false, false]);
    expect(await answers(with_({ [name]: `${made},${old}` }))).toEqual([true, true, false, false, false]);
    expect(await answers(with_({ [name]: made }))).toEqual([false, true, false, false, false]);
  },
);

/** A ring with a new key in front of what it had. */
function rotated(ring: KeyRing): KeyRing {
  const { current, keys } = fresh().LINK_KEYS;
  return { ...ring, current, keys: { ...ring.keys, ...keys } };
}

describe("contract §6 while keys rotate", () => {
  test.each(["LINK_KEYS", "OPT_OUT_KEYS", "CUSTOMER_REF_KEYS"] as const)(
    "%s: what was made before opens, what is made now is of the new key, and of that alone",
    async (name) => {
      const both = with_({ [name]: rotated(world.environment.config[name]) });
      const { current, keys } = both.config[name];
      const later = with_({ [name]: { current, keys: { [current]: keys[current] as string } } });
      const email = `${name.toLowerCase()}@example.nl`;
      for (const { by, open } of Object.values(DOORS).filter((door) => door.by === name)) {
        const opens = await open();
        expect([by, await opens(both), await opens(later)]).toEqual([name, true, false]);
      }
      expect(await personOf(both, await referenceOf(both))).toBe(person);
      expect(await personOf(later, await referenceOf(both))).toBe(person);
      expect(readClaimToken(later, claimToken(both, person))).toBe(person);
      expect(readUnsubscribeToken(later, await unsubscribeOf(both, email))).not.toBeNull();
      expect(hashAddress(both, email) === hashAddress(world.environment, email)).toBe(name !== "LINK_KEYS");
    },
  );

  test("a claim that began before goes on, with its link, its codes and its cookie", async () => {
    const { config } = world.environment;
    const before = config.LINK_KEYS;
    const begun = await newDraft(world);
    const asked = newBrowser(world);
    expect((await asked(`${begun.link}/code`, { form: {} })).status).toBe(303);
    const proved = await newDraft(world);
    const ask = newBrowser(world);
    await prove(world, ask, proved);
    await answer(ask, proved, { until: "ean" });
    const form = /name="form_token" value="([^"]+)"/.exec((await ask(`${proved.link}/payout`)).text)?.[1] ?? "";
    try {
      config.LINK_KEYS = rotated(before);
      const late = await asked(`${begun.link}/proof`, { form: { code: await mailedCode(world, begun) } });
      expect([late.status, late.location]).toEqual([303, expect.stringContaining(new URL(begun.link).pathname)]);
      expect(asked.cookie()).not.toBe("");
      const { status } = await ask(`${proved.link}/payout`, { form: { form_token: form, later: "yes" } });
      expect(status).toBe(303);
      await answer(ask, proved, { payout: { later: "yes" } });
      const signed = await ask(`${proved.link}/sign`, { form: await readyToSign(world, ask, proved) });
      expect(signed.status, signed.text).toBe(303);
      const { links } = await world.mail("where template = 'mandate_signed' and recipient = $1", proved.email);
      const [newest = ""] = links;
      expect(newest).toContain(claimToken(world.environment, proved.id));
      expect(newest).not.toContain(new URL(proved.link).pathname);
    } finally {
      config.LINK_KEYS = before;
    }
  });
});
