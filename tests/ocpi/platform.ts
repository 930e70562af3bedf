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
  | "no_limit";

/** Stands in a CDR for JSON that the fake platform itself could not write. */
export const DEEP = "nested 50,000 levels deep";

export type Received = { method: string; path: string; query: URLSearchParams; token: string; body: unknown };
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
    const token = Buffer.from(sent, "base64").toString();
    asked.push({
      method: request.method ?? "",
      path: pathname,
      query: searchParams,
      token,
      body: text ? JSON.parse(text) : undefined,
    });
    const has = (fault: Fault) => state.faults.has(fault) && (state.only?.test(pathname) ?? true);
    const send = (data: unknown, headers: Record<string, string> = {}) => {
      const status_code = has("status_2001") ? 2001 : 1000;
      const body = has("no_envelope") ? data : { data, status_code, timestamp: new Date().toISOString() };
      response
        .writeHead(200, { "content-type": "application/json", ...headers })
        .end(JSON.stringify(body).replace(`"${DEEP}"`, "[".repeat(50_000) + "]".repeat(50_000)));
    };
    if (has("hangs")) return;
    if (has("trickles")) return void response.writeHead(200).write("{");
    if (has("http_500")) return void response.writeHead(500).end("oops");
    if (has("http_401") || token !== state.token) return void response.writeHead(401).end();
    if (has("not_json")) return void response.end("<html>Welcome</html>");
    if (has("redirect"))
      return void response.writeHead(302, { location: "http://169.254.169.254/latest/meta-data/" }).end();
    if (has("gzip")) return void response.writeHead(200, { "content-encoding": "gzip" }).end("x");
    if (has("too_large")) return void response.end(`{"data":"${"x".repeat(5 * 1024 * 1024)}`);
    const other = has("another_origin") ? state.elsewhere : origin;
    if (pathname === "/ocpi/versions")
      return send([
        { version: "2.1.1", url: `${origin}/ocpi/2.1.1` },
        ...(has("no_2.2.1") ? [] : [{ version: "2.2.1", url: `${origin}/ocpi/2.2.1` }]),
      ]);
    if (pathname === "/ocpi/2.2.1")
      return send({
        version: "2.2.1",
        endpoints: [
          ...(has("no_credentials")
            ? []
            : [{ identifier: "credentials", role: "SENDER", url: `${origin}/ocpi/2.2.1/credentials` }]),
          { identifier: "cdrs", role: "RECEIVER", url: `${origin}/ocpi/receiver` },
          ...(state.sends ? [{ identifier: "cdrs", role: "SENDER", url: `${other}/ocpi/sender/cdrs` }] : []),
        ],
      });
    if (pathname === "/ocpi/2.2.1/credentials") {
      await state.onCredentials?.(JSON.parse(text));
      return send(credentials());
    }
    if (pathname === "/ocpi/sender/cdrs") {
      const offset = has("same_page") ? 0 : Number(searchParams.get("offset"));
      const limit = has("no_limit") ? 1_000 : Math.min(Number(searchParams.get("limit")), 2);
      await state.beforePage?.(offset);
      const [from, to] = ["date_from", "date_to"].map((name) => Date.parse(searchParams.get(name) ?? "") || 0);
      const chosen = state.cdrs.filter(({ last_updated }) => {
        const at = Date.parse(last_updated);
        return Number.isNaN(at) || (at >= (from ?? 0) && (at < (to ?? 0) || (has("inclusive_date_to") && at === to)));
      });
      if (has("no_list")) return send({ cdrs: chosen });
      const next = has("link_to_private")
        ? `http://10.0.0.5${pathname}?offset=${offset + limit}`
        : `${origin}${pathname}`;
      const page = chosen.slice(offset, offset + limit);
      const total = has("blank_total")
        ? ""
        : has("zero_total")
          ? 0
          : has("total_of_page")
            ? page.length
            : chosen.length;
      return send(page, {
        ...(offset + limit < chosen.length ? { link: `<${next}>; rel="next"` } : {}),
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
      Object.assign(state, { token: "platform-token-A", sends: true, cdrs: [], faults: new Set() });
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
