// Requests of the API with somebody else's identifiers, by every credential, and what is wrong with their answers.

import { randomInt, randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { CallerRule } from "#shared/http/endpoint.ts";
import type { Routed } from "#shared/http/serve.ts";
import { serve } from "#shared/http/serve.ts";
import { surface } from "../../supabase/functions/ocpi/app.ts";
import { ENDPOINTS, type Holder, type Sample, sent } from "../contract/samples.ts";
import type { Answer } from "../harness/answers.ts";
import { BASE_URL } from "../harness/environment.ts";
import type { OAuth } from "../oauth/oauth_world.ts";
import type { Kind } from "./identifiers.ts";
import { type Place, placesOf, withValue } from "./places.ts";

/** Which credentials an endpoint admits, by the kind of caller it asks for. */
const ADMITS: Record<CallerRule["kind"], readonly Bearer["kind"][]> = {
  cpo: ["cpo"],
  user: ["user", "personal_token"],
  partner: ["partner_key", "manager"],
  sandbox: ["partner_key"],
  session: ["session"],
  worker: ["WORKER_SECRET", "METRICS_SECRET", "GATEWAY_SECRET"],
  anyone: [],
};

/** A credential that is sent as a bearer, and the requests that are good with it. */
export type Bearer = {
  name: string;
  kind:
    | "cpo"
    | "user"
    | "personal_token"
    | "partner_key"
    | "manager"
    | "session"
    | "ocpi_token"
    | "WORKER_SECRET"
    | "METRICS_SECRET"
    | "GATEWAY_SECRET";
  token: string;
  sample: Holder["sample"];
};

export const admits = ({ caller }: Routed, { kind }: Bearer): boolean => {
  if (caller.kind === "worker") return kind === caller.secret;
  if (caller.kind === "partner" && kind === "partner_key") return caller.key;
  return ADMITS[caller.kind].includes(kind);
};

/** Every credential that `holder` has, with all scopes it may carry. */
export async function bearersOf(world: OAuth, other: Holder, elsewhere: Holder): Promise<Bearer[]> {
  const { config } = world.environment;
  const { sample, user } = other;
  const bearer = (name: string, kind: Bearer["kind"], token: string, of = sample): Bearer => ({
    name,
    kind,
    token,
    sample: of,
  });
  return [
    bearer("another client of the partner", "cpo", await other.client.token()),
    bearer("a client of another partner", "cpo", await elsewhere.client.token(), elsewhere.sample),
    bearer("partner key", "partner_key", other.key),
    bearer("manager", "manager", await user.appToken("partners:read", "partners:write")),
    bearer("application of a person", "user", await user.appToken()),
    bearer("personal token", "personal_token", await user.token()),
    bearer("session", "session", await world.signSession({ sub: user.id, email: user.email })),
    // as makeHolders gives it
    bearer("OCPI token", "ocpi_token", other.client.client_id),
    ...(["WORKER_SECRET", "METRICS_SECRET", "GATEWAY_SECRET"] as const).map((secret) =>
      bearer(secret, secret, config[secret]),
    ),
  ];
}

/** What is taken by one may be taken by no other: these answers say so, and not by whom (docs/model.md). */
const TAKEN = /^(ean_in_use|charger_claimed|A charger with ocpp_identity .* already exists)$/;

/** Sends a sample with a credential. */
export const sendSample = (world: OAuth, sample: Sample, token: string): Promise<Answer> =>
  world.send(sample.path, { ...sent(sample), token });

export type Told = (kind: string, bearer: string, outcome: string) => void;
type Attack = {
  world: OAuth;
  endpoints?: readonly Routed[];
  victim: Holder;
  bearers: readonly Bearer[];
  traces: ReadonlyMap<string, string>;
  fits: (endpoint: Routed, place: Place) => readonly Kind[];
  told: Told;
};

/** Sends them all. @returns what was wrong, one line each. */
export async function attackApi({ world, endpoints = ENDPOINTS, victim, bearers, traces, fits, told }: Attack) {
  const faults = new Set<string>();
  let requests = 0;
  const send = async (sample: Sample, token: string): Promise<Answer> => {
    requests += 1;
    return sendSample(world, sample, token);
  };
  const look = (what: string, answer: Answer, said: string) => {
    const text = typeof answer.body === "string" ? answer.body : (JSON.stringify(answer.body) ?? "");
    if (answer.status >= 500) faults.add(`${what}: ${answer.status} ${text.slice(0, 200)}`);
    for (const [trace, table] of traces)
      if (text.includes(trace) && !said.toLowerCase().includes(trace.toLowerCase()))
        faults.add(`${what}: ${answer.status} shows ${trace} of ${table}`);
  };
  for (const endpoint of endpoints) {
    const theirs = victim.sample(endpoint);
    for (const bearer of bearers) {
      const what = `${endpoint.id} by ${bearer.name}`;
      if (endpoint.caller.kind === "anyone") continue;
      // the whole request of the other
      if (!admits(endpoint, bearer)) {
        const answer = await send(theirs, bearer.token);
        look(what, answer, "");
        if (answer.status !== 401 && answer.status !== 403) faults.add(`${what}: ${answer.status}, not refused`);
        for (const place of placesOf(endpoint))
          for (const { name } of fits(endpoint, place)) told(name, bearer.name, String(answer.status));
        continue;
      }
      if (endpoint.caller.kind === "worker") continue; // our own machines act for all
      const own = bearer.sample(endpoint);
      const places = typeof own.body === "string" ? [IN_FILE] : placesOf(endpoint);
      if (places.length === 0 && endpoint.method === "GET") look(what, await send(own, bearer.token), "");
      for (const place of places) {
        const kinds = fits(endpoint, place);
        if (kinds.length === 0) continue;
        // without what else says whose object is meant, and with the rest of an own request
        const isField = ({ in: where, path }: Place) => where === "body" && path.length === 1;
        const rest = places.filter((other) => other !== place && isField(other) && fits(endpoint, other).length > 0);
        const bases = isField(place) && rest.length > 0 ? [withoutFields(own, rest), own] : [own];
        // the other's first: what an own request uses up is there for it
        const answers: { kind: Kind; value: string; base: Sample; answer: Answer }[] = [];
        for (const base of bases)
          for (const kind of kinds)
            for (const value of kind.values)
              answers.push({
                kind,
                value,
                base,
                answer: await send(withPlace(endpoint, base, place, value), bearer.token),
              });
        const absent = new Map<string, unknown>();
        for (const { kind, value, base, answer } of answers) {
          const where = `${what}, ${kind.name} as ${place.in} ${place.path.join(".")}`;
          look(where, answer, value);
          const taken = answer.status === 409 && TAKEN.test(answer.body.error);
          const outcome = taken ? "taken" : answer.status < 300 ? "as nobody's" : String(answer.status);
          told(kind.name, bearer.name, outcome);
          // a cursor of nobody is none at all
          if (taken || kind.name === "cursors") continue;
          const form = `${bases.indexOf(base)} ${kind.isId ? "id" : kind.name}`;
          if (!absent.has(form)) {
            const nobody = nobodys(kind);
            absent.set(form, shapeOf(nobody, await send(withPlace(endpoint, base, place, nobody), bearer.token)));
          }
          const [shape, missing] = [shapeOf(value, answer), absent.get(form)];
          if (!isDeepStrictEqual(shape, missing))
            faults.add(`${where}: ${JSON.stringify(shape)}, not ${JSON.stringify(missing)}`);
        }
      }
    }
  }
  return { faults: [...faults], requests };
}

/** A value of the same form that nobody has. */
function nobodys({ isId, values: [value = ""] }: Kind): string {
  return isId ? randomUUID() : value.replace(/\d/g, () => String(randomInt(10)));
}

const ID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/;
/** A file has its identifiers in its rows. */
const IN_FILE: Place = { in: "body", name: "file", path: ["file"], isId: true };

/** A sample without these fields of its body. */
function withoutFields(sample: Sample, places: readonly Place[]): Sample {
  const names = places.map(({ name }) => name);
  const fields = Object.entries(sample.body ?? {}).filter(([name]) => !names.includes(name));
  return { ...sample, body: Object.fromEntries(fields) };
}

function withPlace({ path: declared }: Routed, sample: Sample, place: Place, value: string): Sample {
  if (place.in === "body") {
    if (typeof sample.body === "string") return { ...sample, body: sample.body.replace(ID, value) };
    return { ...sample, body: withValue(sample.body, place.path, value) as Record<string, unknown> };
  }
  const [path = "", query = ""] = sample.path.split("?");
  if (place.in === "path")
    return { ...sample, path: declared.replace(/\{\w+\}/, encodeURIComponent(value)) + (query && `?${query}`) };
  const parameters = new URLSearchParams(query);
  parameters.set(place.name, value);
  return { ...sample, path: `${path}?${parameters}` };
}

/** An answer without the value that was sent, and without what each answer has of its own. */
function shapeOf(value: string, { status, body }: Answer): unknown {
  if (status < 400) return { status };
  const { request_id: _, ...rest } = body ?? {};
  return { status, body: JSON.parse(JSON.stringify(rest).replaceAll(value, "…")) };
}

/** Asks for the CDRs of the victim's platform by the token of each, as OCPI sends it. */
export async function attackOcpi({
  world,
  bearers,
  kinds,
  told,
}: Pick<Attack, "world" | "bearers" | "told"> & { kinds: readonly Kind[] }) {
  const faults: string[] = [];
  const ocpi = serve(surface, world.environment);
  const read = async (id: string, token: string) => {
    const authorization = `Token ${Buffer.from(token).toString("base64")}`;
    const url = new URL(`/ocpi/2.2.1/receiver/cdrs/NL-TNM/${id}`, BASE_URL);
    return (await ocpi.fetch(new Request(url, { headers: { authorization } }))).status;
  };
  for (const { name, values } of kinds.filter(({ name }) => name === "ocpi_cdrs.cdr_id"))
    for (const bearer of bearers)
      for (const value of values) {
        const status = await read(value, bearer.token);
        told(name, bearer.name, String(status));
        if (status !== (bearer.kind === "ocpi_token" ? 404 : 401))
          faults.push(`the CDR ${value} by ${bearer.name}: ${status}`);
      }
  return faults;
}
