// The requests of which more than one bench speaks: one of each route, in as many versions as there are accounts.

import type pg from "pg";
import { progress } from "./bench.ts";
import type { Outgoing } from "./load.ts";
import { addCustomers, addDrafts, addPartner, addPerson, type Partner } from "./people.ts";
import {
  type Account,
  bearer,
  eanOf,
  hasCharger,
  houseNumberOf,
  isOpen,
  isSigned,
  MONTHS,
  type Seeded,
  serialOf,
} from "./seed.ts";

type World = {
  seeded: Seeded;
  /** Of each client of `seeded`, in its order. */
  tokens: string[];
  partner: Partner;
  drafts: number;
  /** Of a person who charged for a year. */
  personal_token: string;
};

/** Beside the accounts: a partner with a key, its drafts and so many customers, as many drafts of another one, and a person. */
export async function furnish(db: pg.Pool, seeded: Seeded, tokens: string[], others = 0): Promise<World> {
  const partner = await addPartner(db, "bench-importer");
  const drafts = 1000;
  await addDrafts(db, partner.id, drafts);
  await addDrafts(db, (await addPartner(db, "bench-other")).id, others);
  if (others > 0) await addCustomers(db, partner.id, others, 2);
  const { token } = await addPerson(db, 365);
  await db.query("vacuum (analyze)");
  progress(`a partner with ${drafts} drafts and ${others} customers, and a person who charged for a year`);
  return { seeded, tokens, partner, drafts, personal_token: token };
}

/** A request of a function; a new one each time, in turn over what there is. */
export type Route = { slug: string; what: string; request: (n: number) => Outgoing };

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
export const batchOf = (account: Account, periods: readonly string[]): object => ({
  account_id: account.id,
  months: periods.map((period) => ({ period, total_kwh: kwh(), session_count: 20 })),
});

export function routesOf({ seeded, tokens, partner, drafts, personal_token }: World): Route[] {
  type Request = Route["request"];
  const post = (path: string, body: object) => ({ method: "POST" as const, path, body });
  const as =
    (token: string, request: (n: number) => Omit<Outgoing, "headers">): Request =>
    (n) => ({ ...request(n), headers: bearer(token) });
  /** Of each account in turn, by its client. */
  const cpo =
    (request: (account: Account) => Omit<Outgoing, "headers">, accounts = seeded.accounts): Request =>
    (n) => {
      const account = accounts[n % accounts.length];
      if (!account) throw new Error("the bench has no such account");
      return { ...request(account), headers: bearer(tokens[account.client]) };
    };
  const person = { full_name: "Sanne de Vries", email: "sanne@example.nl" };
  const at = (house_number: number, ean_code: string) => ({ ean_code, postal_code: "3818LH", house_number });
  const connectionOf = (account: Account) => at(houseNumberOf(account), eanOf(account));
  let made = 0;
  const newEan = () => String(860_000_000_000_000_000n + BigInt(Date.now()) * 1000n + BigInt(made++ % 1000));
  const charger = { ocpp_vendor: "Alfen BV", ocpp_model: "NG910-60023" };

  const routes: Record<string, [what: string, request: Request][]> = {
    "cpo-v1": [
      ["GET /v1/ere-positions?cpo_external_ref=…", cpo(({ reference }) => ({ path: positionPath(reference) }))],
      ["GET /v1/ere-positions?limit=50", cpo(() => ({ path: "/v1/ere-positions?limit=50" }))],
      ["GET /v1/accounts?limit=50", cpo(() => ({ path: "/v1/accounts?limit=50" }))],
      [
        "GET /v1/accounts?cpo_external_ref=…",
        cpo(({ reference }) => ({ path: `/v1/accounts?cpo_external_ref=${reference}` })),
      ],
      [
        "POST /v1/accounts, a known reference",
        cpo((account) =>
          post("/v1/accounts", { cpo_external_ref: account.reference, person, connection: connectionOf(account) }),
        ),
      ],
      [
        "POST /v1/accounts, a new one",
        cpo(() => post("/v1/accounts", { iban: "NL91ABNA0417164300", person, connection: at(8, newEan()) })),
      ],
      [
        "POST /v1/connections:update, nothing new",
        cpo((account) => post("/v1/connections:update", { account_id: account.id, connection: connectionOf(account) })),
      ],
      [
        `POST /v1/sessions:batch, ${MONTHS} months`,
        cpo((account) => post("/v1/sessions:batch", batchOf(account, PERIODS)), seeded.accounts.filter(isOpen)),
      ],
      [
        "POST /v1/mandate-links",
        cpo(
          ({ id }) => post("/v1/mandate-links", { account_id: id }),
          seeded.accounts.filter((account) => !isSigned(account)),
        ),
      ],
      [
        "POST /v1/chargers, a known serial number",
        cpo(
          (account) => post("/v1/chargers", { account_id: account.id, serial_number: serialOf(account), ...charger }),
          seeded.accounts.filter(hasCharger),
        ),
      ],
      ["GET /v1/catalog/chargers?search=alfen", cpo(() => ({ path: "/v1/catalog/chargers?search=alfen" }))],
      [
        "GET /v1/catalog/chargers/resolve",
        cpo(() => ({ path: "/v1/catalog/chargers/resolve?vendor=Alfen+BV&model=NG910-60023" })),
      ],
    ],
    partner: [
      ...["/partner/me", "/partner/dashboard", "/partner/drafts?limit=50", "/partner/payouts"].map(
        (path): [string, Request] => [`GET ${path}`, as(partner.key, () => ({ path }))],
      ),
      [
        "GET /partner/drafts?external_ref=…",
        as(partner.key, (n) => ({ path: `/partner/drafts?external_ref=draft-${1 + (n % drafts)}` })),
      ],
      [
        "POST /partner/drafts/import, one row",
        as(partner.key, () =>
          post("/partner/drafts/import", { consent: true, send_invite: false, rows: [draftRow()] }),
        ),
      ],
    ],
    personal: ["/profile", "/chargers", "/sessions?limit=50", "/energy", "/ere-position"].map((path) => [
      `GET ${path}`,
      as(personal_token, () => ({ path })),
    ]),
    "oauth-token": [["POST /oauth-token", (n) => tokenRequest(seeded, n)]],
  };
  return Object.entries(routes).flatMap(([slug, list]) => list.map(([what, request]) => ({ slug, what, request })));
}

export const positionPath = (reference: string): string => `/v1/ere-positions?cpo_external_ref=${reference}`;

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
