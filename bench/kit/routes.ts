// The requests of which more than one bench speaks: one of each route, in as many versions as there are accounts.

import type pg from "pg";
import { progress } from "./bench.ts";
import type { Outgoing } from "./load.ts";
import { addDrafts, addPartner, addPerson, type Partner } from "./people.ts";
import {
  type Account,
  bearer,
  eanOf,
  hasCharger,
  houseNumberOf,
  isSigned,
  MONTHS,
  type Seeded,
  serialOf,
} from "./seed.ts";

export type World = {
  seeded: Seeded;
  /** Of each client of `seeded`, in its order. */
  tokens: string[];
  partner: Partner;
  drafts: number;
  /** Of a person who charged for a year. */
  personal_token: string;
};

/** Beside the accounts: a partner with a key and its drafts, so many drafts of another one, and a person. */
export async function furnish(db: pg.Pool, seeded: Seeded, tokens: string[], others = 0): Promise<World> {
  const partner = await addPartner(db, "bench-importer");
  const drafts = 1000;
  await addDrafts(db, partner.id, drafts);
  await addDrafts(db, (await addPartner(db, "bench-other")).id, others);
  const { token } = await addPerson(db, 365);
  await db.query("vacuum (analyze)");
  progress("a partner with drafts, and a person who charged for a year");
  return { seeded, tokens, partner, drafts, personal_token: token };
}

/** What a request does to the size of things: nothing (read), the same rows again (again), or it adds some (new). */
export type Route = { what: string; slug: string; kind: "read" | "again" | "new"; request: (n: number) => Outgoing };

/** Months of a batch: the newest first one is the current month. */
export function monthsBack(count: number): string[] {
  const now = new Date();
  return Array.from({ length: count }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7),
  );
}

const PERIODS = monthsBack(MONTHS);
const kwh = () => Math.round(Math.random() * 500_000) / 1000;

/** The same months with new totals: what corrections of a client look like, and the dearest that a batch can be. */
export const batchOf = (account: Account, periods: readonly string[] = PERIODS): object => ({
  account_id: account.id,
  months: periods.map((period) => ({ period, total_kwh: kwh(), session_count: 20 })),
});

export function routesOf({ seeded, tokens, partner, drafts, personal_token }: World): Route[] {
  const signed = seeded.accounts.filter(isSigned);
  const unsigned = seeded.accounts.filter((each) => !isSigned(each));
  const charging = seeded.accounts.filter(hasCharger);
  let made = 0;

  const cpo =
    (request: (account: Account) => Omit<Outgoing, "headers">, accounts = seeded.accounts): Route["request"] =>
    (n) => {
      const account = accounts[n % accounts.length];
      if (!account) throw new Error("the bench has no such account");
      return { ...request(account), headers: bearer(tokens[account.client]) };
    };
  const post = (path: string, body: object) => ({ method: "POST" as const, path, body });
  const at =
    (path: string, token: string): Route["request"] =>
    () => ({ path, headers: bearer(token) });
  const route = (kind: Route["kind"], slug: string, what: string, request: Route["request"]): Route => ({
    what,
    slug,
    kind,
    request,
  });

  const person = { full_name: "Sanne de Vries", email: "sanne@example.nl" };
  const connectionOf = (account: Account) => ({
    ean_code: eanOf(account),
    postal_code: "3818LH",
    house_number: houseNumberOf(account),
  });
  return [
    route(
      "read",
      "cpo-v1",
      "GET /v1/ere-positions?cpo_external_ref=…",
      cpo(({ reference }) => ({ path: `/v1/ere-positions?cpo_external_ref=${reference}` })),
    ),
    route(
      "read",
      "cpo-v1",
      "GET /v1/ere-positions?limit=50",
      cpo(() => ({ path: "/v1/ere-positions?limit=50" })),
    ),
    route(
      "read",
      "cpo-v1",
      "GET /v1/accounts?limit=50",
      cpo(() => ({ path: "/v1/accounts?limit=50" })),
    ),
    route(
      "read",
      "cpo-v1",
      "GET /v1/accounts?cpo_external_ref=…",
      cpo(({ reference }) => ({ path: `/v1/accounts?cpo_external_ref=${reference}` })),
    ),
    route(
      "again",
      "cpo-v1",
      "POST /v1/accounts, a known reference",
      cpo((each) => post("/v1/accounts", { cpo_external_ref: each.reference, person, connection: connectionOf(each) })),
    ),
    route(
      "new",
      "cpo-v1",
      "POST /v1/accounts, a new one",
      cpo(() => {
        const ean_code = String(860_000_000_000_000_000n + BigInt(Date.now()) * 1000n + BigInt(made++ % 1000));
        return post("/v1/accounts", {
          iban: "NL91ABNA0417164300",
          person,
          connection: { ean_code, postal_code: "3818LH", house_number: 8 },
        });
      }),
    ),
    route(
      "again",
      "cpo-v1",
      "POST /v1/connections:update, nothing new",
      cpo((each) => post("/v1/connections:update", { account_id: each.id, connection: connectionOf(each) }), signed),
    ),
    route(
      "again",
      "cpo-v1",
      `POST /v1/sessions:batch, ${MONTHS} months`,
      cpo((each) => post("/v1/sessions:batch", batchOf(each))),
    ),
    route(
      "again",
      "cpo-v1",
      "POST /v1/mandate-links",
      cpo(({ id }) => post("/v1/mandate-links", { account_id: id }), unsigned),
    ),
    route(
      "again",
      "cpo-v1",
      "POST /v1/chargers, a known serial number",
      cpo(
        (each) =>
          post("/v1/chargers", {
            account_id: each.id,
            serial_number: serialOf(each),
            ocpp_vendor: "Alfen BV",
            ocpp_model: "NG910-60023",
          }),
        charging,
      ),
    ),
    route(
      "read",
      "cpo-v1",
      "GET /v1/catalog/chargers?search=alfen",
      cpo(() => ({ path: "/v1/catalog/chargers?search=alfen" })),
    ),
    route(
      "read",
      "cpo-v1",
      "GET /v1/catalog/chargers/resolve",
      cpo(() => ({ path: "/v1/catalog/chargers/resolve?vendor=Alfen+BV&model=NG910-60023" })),
    ),
    route("read", "partner", "GET /partner/me", at("/partner/me", partner.key)),
    route("read", "partner", "GET /partner/dashboard", at("/partner/dashboard", partner.key)),
    route("read", "partner", "GET /partner/drafts?limit=50", at("/partner/drafts?limit=50", partner.key)),
    route("read", "partner", "GET /partner/drafts?external_ref=…", (n) => ({
      path: `/partner/drafts?external_ref=draft-${1 + (n % drafts)}`,
      headers: bearer(partner.key),
    })),
    route("read", "partner", "GET /partner/payouts", at("/partner/payouts", partner.key)),
    route("new", "partner", "POST /partner/drafts/import, one row", () => ({
      ...post("/partner/drafts/import", { consent: true, send_invite: false, rows: [draftRow()] }),
      headers: bearer(partner.key),
    })),
    route("read", "personal", "GET /profile", at("/profile", personal_token)),
    route("read", "personal", "GET /chargers", at("/chargers", personal_token)),
    route("read", "personal", "GET /sessions?limit=50", at("/sessions?limit=50", personal_token)),
    route("read", "personal", "GET /energy", at("/energy", personal_token)),
    route("read", "personal", "GET /ere-position", at("/ere-position", personal_token)),
    route("new", "oauth-token", "POST /oauth-token", (n) => tokenRequest(seeded, n)),
  ];
}

/** Client credentials, as a form. */
export function tokenRequest({ clients }: Seeded, n: number): Outgoing {
  const client = clients[n % clients.length];
  const body = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: client?.client_id ?? "",
    client_secret: client?.client_secret ?? "",
  }).toString();
  return {
    method: "POST",
    path: "/oauth-token",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body,
  };
}

let drafted = 0;

/** A row of an import whose address nobody has used. */
export function draftRow(): Record<string, string> {
  drafted += 1;
  return {
    naam: "Sanne de Vries",
    email: `bench-${process.pid}-${drafted}@voorbeeld.nl`,
    postcode: "3818LH",
    huisnummer: "8",
    plaats: "Amersfoort",
  };
}
