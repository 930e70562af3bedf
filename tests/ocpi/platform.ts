// A platform of a CPO that speaks OCPI 2.2.1 over real HTTP, and answers wrongly where a test says so.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The ways in which platforms answer wrongly. */
export type Fault =
  | "http_500"
  | "http_401"
  | "not_json"
  | "no_envelope"
  | "status_2001"
  | "redirect"
  | "another_origin"
  | "no_2.2.1"
  | "no_credentials"
  | "no_list"
  | "gzip"
  | "too_large"
  | "hangs"
  | "trickles"
  // that a receiver bears
  | "link_to_private"
  | "same_page"
  | "keeps_total"
  | "inclusive_date_to"
  | "no_total"
  | "blank_total"
  | "zero_total"
  | "total_of_page"
  | "no_limit"
  | "no_link"
  | "404_at_end"
  | "204_at_end"
  | "400_at_end"
  | "416_at_end"
  | "null_data"
  | "no_data"
  | "one_party"
  | "404_of_OTH"
  | "404_of_TNM"
  | "403_in_middle"
  | "wants_routing"
  | "slash"
  | "slash_elsewhere"
  | "plain_only"
  | "own_words"
  | "cursor"
  | "filtered";

/** Stands in a CDR for JSON that the fake platform itself could not write. */
export const DEEP = "nested 50,000 levels deep";

export type Received = {
  method: string;
  path: string;
  query: URLSearchParams;
  token: string;
  body: unknown;
  /** OCPI-from and OCPI-to, as `NL-ERE NL-TNM`. */
  route: string;
};
// biome-ignore lint/suspicious/noExplicitAny: a CDR is whatever a test sends
type Cdr = any;

export type Platform = Awaited<ReturnType<typeof startPlatform>>;

export async function startPlatform() {
  /** What it was asked, in order. */
  const asked: Received[] = [];
  const state = {
    /** The token that it takes. */
    token: "platform-token-A",
    faults: new Set<Fault>(),
    /** A fault of one kind of request only. */
    only: undefined as RegExp | undefined,
    sends: true,
    cdrs: [] as Cdr[],
    /** The most CDRs of a page. */
    most: 2,
    /** Called before a page is answered. */
    beforePage: undefined as ((offset: number) => unknown) | undefined,
    /** Called with our credentials, before it answers with its own. */
    onCredentials: undefined as ((ours: { token: string; url: string }) => Promise<unknown>) | undefined,
    roles: [{ role: "CPO", party_id: "TNM", country_code: "NL", business_details: { name: "Laadpunt" } }],
    elsewhere: "https://elsewhere.example",
  };
  let origin = "";
  const credentials = (token = state.token) => ({ token, url: `${origin}/ocpi/versions`, roles: state.roles });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const { pathname, searchParams } = new URL(request.url ?? "/", origin);
    const sent = /^Token (.*)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
    const plain = (state.faults as Set<Fault>).has("plain_only");
    const token = plain ? sent : Buffer.from(sent, "base64").toString();
    const party = (side: string) =>
      ["country-code", "party-id"].map((part) => request.headers[`ocpi-${side}-${part}`] ?? "").join("-");
    asked.push({
      method: request.method ?? "",
      path: pathname,
      query: searchParams,
      token,
      body: text ? JSON.parse(text) : undefined,
      route: `${party("from")} ${party("to")}`,
    });
    const has = (fault: Fault) => state.faults.has(fault) && (state.only?.test(pathname) ?? true);
    const send = (data: unknown, headers: Record<string, string> = {}) => {
      const status_code = has("status_2001") ? 2001 : 1000;
      if (has("null_data") && Array.isArray(data) && data.length === 0) data = null;
      if (has("no_data") && Array.isArray(data) && data.length === 0) data = undefined;
      const body = has("no_envelope") ? data : { data, status_code, timestamp: new Date().toISOString() };
      response
        .writeHead(200, { "content-type": "application/json", ...headers })
        .end(JSON.stringify(body).replace(`"${DEEP}"`, "[".repeat(50_000) + "]".repeat(50_000)));
    };
    if (has("hangs")) return;
    if (has("trickles")) return void response.writeHead(200).write("{");
    if (has("http_500")) return void response.writeHead(500).end("oops");
    if (has("http_401") || token !== state.token) return void response.writeHead(401).end();
    if (has("not_json"))
      return void response.writeHead(200, { "content-type": "text/html" }).end("<html>Welcome</html>");
    if ((has("slash") || has("slash_elsewhere")) && !pathname.endsWith("/")) {
      // without the query, as some do
      const location = has("slash") ? `${pathname}/` : `${state.elsewhere}${pathname}/`;
      return void response.writeHead(307, { location }).end();
    }
    if (has("redirect"))
      return void response.writeHead(302, { location: "http://169.254.169.254/latest/meta-data/" }).end();
    if (has("gzip")) return void response.writeHead(200, { "content-encoding": "gzip" }).end("x");
    if (has("too_large")) return void response.end(`{"data":"${"x".repeat(5 * 1024 * 1024)}`);
    const path = pathname.replace(/\/$/, "");
    const own = has("own_words");
    const other = has("another_origin") ? state.elsewhere : origin;
    if (path === "/ocpi/versions")
      return send([
        { version: "2.1.1", url: `${origin}/ocpi/2.1.1` },
        ...(has("no_2.2.1") ? [] : [{ version: own ? "v2.2.1" : "2.2.1", url: `${origin}/ocpi/2.2.1` }]),
        ...(own ? [7] : []),
      ]);
    if (path === "/ocpi/2.2.1") {
      const at = (identifier: string, role: string, url: string) =>
        own ? { identifier: identifier.toUpperCase(), role: ` ${role.toLowerCase()}`, url } : { identifier, role, url };
      const details = {
        version: "2.2.1",
        endpoints: [
          ...(has("no_credentials") ? [] : [at("credentials", "SENDER", `${origin}/ocpi/2.2.1/credentials`)]),
          at("cdrs", "RECEIVER", `${origin}/ocpi/receiver`),
          ...(state.sends ? [at("cdrs", "SENDER", `${other}/ocpi/sender/cdrs`)] : []),
          ...(own ? [{ identifier: "tokens" }] : []),
        ],
      };
      return send(own ? [details] : details);
    }
    if (path === "/ocpi/2.2.1/credentials") {
      await state.onCredentials?.(JSON.parse(text));
      return send(own ? [credentials()] : credentials());
    }
    if (path === "/ocpi/sender/cdrs") {
      const offset = has("same_page") ? 0 : Number(searchParams.get("offset"));
      const limit = has("no_limit") ? 1_000 : Math.min(Number(searchParams.get("limit")), state.most);
      if (has("wants_routing") && !/^[A-Z]{2}-\w{3} [A-Z]{2}-\w{3}$/.test(asked.at(-1)?.route ?? ""))
        return void response.writeHead(401).end();
      await state.beforePage?.(offset);
      const [from, to] = ["date_from", "date_to"].map((name) => Date.parse(searchParams.get(name) ?? "") || 0);
      const wanted = asked.at(-1)?.route.split(" ")[1];
      if (has(`404_of_${wanted?.slice(3)}` as Fault)) return void response.writeHead(404).end();
      if (has("403_in_middle") && offset > 0) return void response.writeHead(403).end();
      const chosen = state.cdrs.filter(({ last_updated, country_code, party_id }) => {
        if (has("one_party") && wanted !== `${country_code}-${party_id}`) return false;
        const at = Date.parse(last_updated);
        return Number.isNaN(at) || (at >= (from ?? 0) && (at < (to ?? 0) || (has("inclusive_date_to") && at === to)));
      });
      if (has("no_list")) return send({ cdrs: chosen });
      if (offset > 0 && offset >= chosen.length) {
        if (has("404_at_end")) return void response.writeHead(404).end();
        for (const status of [400, 416] as const)
          if (has(`${status}_at_end`)) return void response.writeHead(status).end();
        if (has("204_at_end")) return void response.writeHead(204).end();
      }
      const begin = has("cursor") ? Number(searchParams.get("page") ?? 0) * limit : offset;
      const next = has("link_to_private")
        ? `http://10.0.0.5${pathname}?offset=${offset + limit}`
        : has("cursor")
          ? `${pathname}?page=${begin / limit + 1}&limit=${limit}`
          : has("filtered")
            ? `${pathname}?offset=${offset + limit}&date_from=1999-01-01T00:00:00Z`
            : `${origin}${pathname}`;
      const range = chosen.slice(begin, begin + limit);
      // what is not for us is taken out of a page
      const page = has("filtered") ? range.filter(({ id }) => !id.startsWith("hidden")) : range;
      const total = has("blank_total")
        ? ""
        : has("zero_total")
          ? 0
          : has("total_of_page")
            ? page.length
            : chosen.length;
      return send(page, {
        ...(begin + limit < chosen.length && !has("no_link") ? { link: `<${next}>; rel="next"` } : {}),
        ...(has("no_total") || (has("same_page") && !has("keeps_total")) ? {} : { "x-total-count": String(total) }),
      });
    }
    response.writeHead(404).end();
  }

  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    asked,
    state,
    origin,
    credentials,
    /** A platform that answers well. */
    reset() {
      Object.assign(state, { token: "platform-token-A", sends: true, cdrs: [], most: 2 });
      state.faults = new Set();
      Object.assign(state, { only: undefined, beforePage: undefined, onCredentials: undefined });
      state.roles = [{ role: "CPO", party_id: "TNM", country_code: "NL", business_details: { name: "Laadpunt" } }];
      asked.length = 0;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
