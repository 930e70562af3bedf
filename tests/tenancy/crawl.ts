// The pages: what somebody's browser finds on its own pages, asked for by the browsers of others.

import { randomUUID } from "node:crypto";
import { pages as PAGES } from "../../supabase/functions/pages/flows.ts";
import { newOnce } from "../../supabase/functions/pages/kit/signed_in_views.ts";
import type { OAuth } from "../oauth/oauth_world.ts";
import { type Browser, formToken, newBrowser, type PageAnswer } from "../pages/claimant.ts";
import { signIn } from "../pages/customer.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import type { Kind } from "./identifiers.ts";
import type { Told } from "./requests.ts";

type Area = "mijn" | "portal";
/** A browser that is signed in, and the area of the pages that its session is for. */
export type Visitor = { name: string; email: string; area: Area; ask: Browser; form_token: string };

const areaOf =
  (area: Area) =>
  (world: SandboxWorld, page = "") =>
    `${world.environment.config.PAGES_URL}/${area}${page}`;

export async function visitorOf(world: OAuth, name: string, area: Area, email: string): Promise<Visitor> {
  const ask = newBrowser(world);
  const signed = await signIn(world as unknown as SandboxWorld, ask, email, "", areaOf(area));
  if (signed.status !== 303) throw new Error(`${name} is not signed in: ${signed.status} ${signed.text.slice(0, 200)}`);
  const { text } = await ask(`${world.environment.config.PAGES_URL}/${area}`);
  return { name, email, area, ask, form_token: formToken(text) };
}

/** A link, or a form with what its fields hold. */
export type Asked = { path: string; area: Area; form?: Record<string, string> };

const plain = (text: string) =>
  text.replaceAll("&amp;", "&").replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&lt;", "<");
const attribute = (tag: string, name: string) => {
  const [, value] = new RegExp(`\\s${name}="([^"]*)"`).exec(tag) ?? [];
  return value === undefined ? undefined : plain(value);
};

const MOST_PAGES = 150;

/** Every link and form that the visitor finds in their area; one for each address, whatever its query. */
export async function crawl(world: OAuth, { area, ask }: Visitor): Promise<Asked[]> {
  const root = new URL(`${world.environment.config.PAGES_URL}/${area}`);
  const found = new Map<string, Asked>();
  const waiting: string[] = [root.pathname];
  const inArea = (address: string, at: string) => {
    const url = new URL(address, new URL(at, root));
    return url.origin === root.origin && `${url.pathname}/`.startsWith(`${root.pathname}/`) ? url : null;
  };
  for (const at of waiting) {
    const { text } = await ask(at);
    for (const [tag] of text.matchAll(/<a\s[^>]*>/g)) {
      const url = inArea(attribute(tag, "href") ?? "", at);
      if (!url || found.has(`GET ${url.pathname}`)) continue;
      found.set(`GET ${url.pathname}`, { area, path: url.pathname + url.search });
      if (waiting.length < MOST_PAGES && !/\.(csv|xlsx|json|pdf)$/.test(url.pathname)) waiting.push(url.pathname);
    }
    for (const [whole = "", tag = ""] of text.matchAll(/(<form\s[^>]*>)[\s\S]*?<\/form>/g)) {
      const url = inArea(attribute(tag, "action") ?? at, at);
      if (!url || attribute(tag, "method") !== "post") continue;
      const form: Record<string, string> = {};
      for (const [field] of whole.matchAll(/<(?:input|button|textarea|select)\s[^>]*>/g)) {
        const name = attribute(field, "name");
        if (name && form[name] === undefined) form[name] = attribute(field, "value") ?? "";
      }
      found.set(`POST ${url.pathname} ${JSON.stringify(form)}`, { area, path: url.pathname + url.search, form });
    }
  }
  return [...found.values()];
}

/** What an id in a path means, by the word before it. A customer_ref too is found by a manager's browser only. */
const OF: Readonly<Record<string, readonly string[]>> = {
  account: ["accounts.id"],
  chargers: ["chargers.id"],
  clients: ["oauth_clients.id"],
  colleagues: ["users.id"],
  customers: ["accounts.id"],
  drafts: ["drafts.id"],
  import: ["imports.id"],
  mandate: ["mandates.id", "connections.id"],
  model: ["chargers.id"],
  overview: ["accounts.id"],
  payouts: ["invoices.number"],
  settlement: ["payout_parts.id"],
  settlements: ["payout_parts.id"],
  statement: ["payout_lines.id", "documents.id"],
  uploads: ["uploads.id"],
  webhooks: ["webhook_endpoints.id"],
  withdraw: ["connections.id", "accounts.id"],
};

/** Routes of the two areas that have an id in their path, with patterns of the paths. */
function routesWithIds(world: OAuth) {
  const parameter = /:\w+(?:\{((?:[^{}]|\{[^}]*\})*)\})?/g;
  return PAGES.routes(world.environment).routes.flatMap(({ method, path }) => {
    const [, area, word = ""] = /^\/pages\/(mijn|portal)\/(?:.*\/)?(\w+)\/:(?:id|ref|number)\b/.exec(path) ?? [];
    if (method === "ALL" || !area) return [];
    const pattern = new RegExp(`^${path.replace(parameter, (_, rule = "[^/]+") => `(?:${rule})`)}$`);
    const fill = (id: string) => path.replace(/:year\{[^}]*\}/, "2026").replace(parameter, id);
    return [{ method, path, area: area as Area, of: OF[word] ?? [], pattern, fill }];
  });
}

type Attack = {
  world: OAuth;
  /** What the victim's visitors found. */
  found: readonly Asked[];
  others: readonly Visitor[];
  kinds: readonly Kind[];
  traces: ReadonlyMap<string, string>;
  every: boolean;
  told: Told;
};

/** @returns what was wrong, one line each, and how many were sent. */
export async function attackPages({ world, found, others, kinds, traces, every, told }: Attack) {
  const faults = new Set<string>();
  const values = new Map(kinds.flatMap(({ name, values }) => values.map((value) => [value, name] as const)));
  const asked: (Asked & { ids: string[] })[] = [];
  for (const request of found) {
    const said = `${decodeURIComponent(request.path)} ${JSON.stringify({ ...request.form, form_token: "" })}`;
    const ids = [...traces.keys(), ...(said.match(/cus_[0-9a-f]{32}/g) ?? [])].filter((trace) => said.includes(trace));
    if (ids.length > 0) asked.push({ ...request, ids });
  }
  const reached = (pattern: RegExp, method: string) =>
    asked.some(({ path, form }) => pattern.test(path.split("?")[0] ?? "") && (form ? "POST" : "GET") === method);
  // what no page of the victim's leads to
  for (const { method, pattern, fill, path, area, of } of routesWithIds(world)) {
    if (!every && reached(pattern, method)) continue;
    for (const { name, values } of kinds)
      for (const value of every || of.includes(name) ? values : [])
        if (pattern.test(fill(value)))
          asked.push({
            path: fill(value),
            area,
            ids: [value],
            ...(method === "POST" ? { form: { once: newOnce() } } : {}),
          });
    if (!reached(pattern, method)) faults.add(`${method} ${path} was not tried`);
  }
  let requests = 0;
  for (const { path, form, area, ids } of asked)
    for (const other of others.filter((each) => each.area === area)) {
      const what = `${form ? "POST" : "GET"} ${path} by ${other.name}`;
      const send = (swap: (text: string) => string): Promise<PageAnswer> => {
        requests += 1;
        const fields = form && Object.entries(form).map(([name, value]) => [name, swap(value)]);
        return other.ask(
          swap(path),
          form ? { form: { ...Object.fromEntries(fields ?? []), form_token: other.form_token } } : {},
        );
      };
      const answer = await send((text) => text);
      const nobody = new Map(
        ids.map((id) => [id, id.startsWith("cus_") ? `cus_${randomUUID().replaceAll("-", "")}` : randomUUID()]),
      );
      const swap = (text: string) => ids.reduce((said, id) => said.replaceAll(id, nobody.get(id) ?? id), text);
      const missing = await send(swap);
      if (answer.status >= 500) faults.add(`${what}: ${answer.status}`);
      for (const [trace, table] of traces)
        if (answer.text.includes(trace) && !ids.includes(trace))
          faults.add(`${what}: ${answer.status} shows ${trace} of ${table}`);
      const shape = ({ status, location }: PageAnswer) => `${status} ${location ?? ""}`;
      if (swap(shape(answer)) !== shape(missing)) faults.add(`${what}: ${shape(answer)}, not ${shape(missing)}`);
      for (const id of ids) {
        const kind = id.startsWith("cus_") ? "customer_ref" : values.get(id);
        if (kind) told(kind, other.name, answer.status < 400 ? "as nobody's" : String(answer.status));
      }
    }
  return { faults: [...faults], requests };
}
