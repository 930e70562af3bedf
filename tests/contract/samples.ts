// One good request for each endpoint, so that a test derived from the endpoint list can get past the door.

import type { Endpoint } from "../../packages/shared/src/endpoint.ts";
import { surface as cpo } from "../../supabase/functions/cpo-v1/app.ts";
import { surface as oauthToken } from "../../supabase/functions/oauth-token/app.ts";
import { accountBody, BASE_URL, createAccount, MID_CHARGER, newEan, type Sent, type World } from "../harness/world.ts";

/** The CPO API with its token endpoint (specification section 4.1). What people use is called with other credentials. */
export const ENDPOINTS: readonly Endpoint[] = [
  ...oauthToken.endpoints.filter(({ id }) => id === "token"),
  ...cpo.endpoints,
];
export const CPO_ENDPOINTS = ENDPOINTS.filter(({ caller }) => caller.kind === "cpo");

/** Ready for `test.each`: the title shows method and path. */
export const named = (endpoints: readonly Endpoint[]) =>
  endpoints.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const);

export function scopeOf(endpoint: Endpoint): string | null {
  return "scope" in endpoint.caller ? endpoint.caller.scope : null;
}

export type Sample = { path: string; body?: Record<string, unknown> };

/** By endpoint id; an endpoint without one fails the test that says that every endpoint has one. */
export async function samplesFor(world: World): Promise<Map<string, Sample>> {
  const { account_id } = await createAccount(world);
  const { client } = world.partnerA;
  const credentials = { client_id: client.client_id, client_secret: client.secret };
  const queries: Record<string, string> = {
    listAccounts: "limit=1",
    listErePositions: "limit=1",
    listCatalogChargers: "search=alfen",
    resolveCatalogCharger: "vendor=Alfen+BV&model=NG910-60023",
  };
  const bodies: Record<string, Record<string, unknown>> = {
    token: { grant_type: "client_credentials", ...credentials },
    createAccount: accountBody(),
    updateConnection: { account_id, connection: { ean_code: newEan() } },
    issueMandateLink: { account_id },
    registerCharger: { account_id, ...MID_CHARGER },
    deliverMonths: { account_id, months: [{ period: "2026-01", total_kwh: 1 }] },
  };
  return new Map(
    ENDPOINTS.map((endpoint) => {
      const query = queries[endpoint.id];
      const body = bodies[endpoint.id];
      return [endpoint.id, { path: query ? `${endpoint.path}?${query}` : endpoint.path, ...(body ? { body } : {}) }];
    }),
  );
}

/** A request to an endpoint with nothing right about it but method and path. */
export const bare = (endpoint: Endpoint): Sent => ({
  method: endpoint.method,
  ...(endpoint.method === "POST" ? { raw: "" } : {}),
});

/** The same, as the platform hands it over: for a function that a test serves itself. */
export function requestTo({ method }: Endpoint, { path, body }: Sample, token?: string): Request {
  return new Request(new URL(path, BASE_URL), {
    method,
    headers: { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
}
