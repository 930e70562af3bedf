// Requests of ours to an OCPI platform. Loaded when there is something to ask.

import type { IncomingHttpHeaders as Headers } from "node:http";
import { Line, type LookUp } from "#shared/domain/outbound/line.ts";
import { type Host, MAX_URL } from "#shared/domain/outbound/url.ts";
import { z } from "#shared/foundation/zod.ts";
import { authorizationOf } from "./credentials.ts";
import { type Route, routingOf } from "./routing.ts";

const MOST_BYTES = 4 * 1024 * 1024;
/** A page's query needs the rest. */
const MOST_URL = MAX_URL - 100;

/**
 * Why a platform cannot be used. `code` is for the answer to its registration, `reason` a word for the operator, and
 * `saw` what we saw of its answer.
 */
export class PlatformFault extends Error {
  override name = "PlatformFault";
  readonly code: 3001 | 3002 | 3003;
  readonly reason: string;
  readonly saw: string | undefined;

  constructor(reason: string, saw?: string, code: 3001 | 3002 | 3003 = 3001) {
    super(reason);
    this.reason = reason;
    this.saw = saw;
    this.code = code;
  }
}

const Envelope = z.object({
  data: z.unknown().optional(),
  status_code: z.int(),
  status_message: z.string().nullish().catch(null),
});
const Version = z.object({ version: z.string(), url: z.string() });
const word = () => z.string().trim().toUpperCase();
const Endpoint = z.object({ identifier: word(), role: word().nullish(), url: z.string() });
const Details = z.object({ endpoints: z.array(z.unknown()) });

/** Those of a list that can be read; one that came without its list is a list of one. */
const readAll = <T>(schema: z.ZodType<T>, sent: unknown): T[] =>
  [sent].flat().flatMap((each) => schema.safeParse(each).data ?? []);

/** The first words of what somebody sent, for a sentence; no other signs of it. */
const wordsOf = (sent: readonly string[]) =>
  sent
    .slice(0, 8)
    .map((each) => each.replace(/[^\w -]/g, "").slice(0, 30))
    .join(", ");

/** What kind of JSON a value is. */
export function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value !== "object" || value === null) return value === undefined ? "nothing" : `a ${typeof value}`;
  return `an object of ${wordsOf(Object.keys(value)) || "nothing"}`;
}

/**
 * What an answer says. `data` is null if it has none. `total` and `next` are of pages: X-Total-Count, and what `Link`
 * asks for to get the next one.
 */
type PlatformAnswer = { data: unknown; total: number | null; next: URLSearchParams | null; text: string };

/**
 * Where a platform takes credentials, and gives CDRs; `cdrs_url` is null if it only pushes. `hint` says to the operator
 * why we read no CDRs.
 */
export type Endpoints = { credentials_url: string; cdrs_url: string | null; hint: string | null };

/**
 * A platform, and the token that it gave us. We send the token to the origin of its versions URL, and to origins that
 * the operator added. We send it nowhere else, whatever its answers name.
 */
export class Platform {
  readonly #versionsUrl: string;
  readonly #origins: ReadonlySet<string>;
  readonly #token: string;
  readonly #host: Host;
  readonly #lookUp: LookUp | undefined;
  readonly #patienceMs: number | undefined;

  /** Whether our token goes as it is, instead of in base64. */
  #plain: boolean;
  /** At registration we try both. */
  #mayTryPlain: boolean;

  /** @throws {PlatformFault} where the versions URL is no URL. */
  constructor(
    versionsUrl: string,
    origins: readonly string[],
    token: string,
    host: Host,
    {
      lookUp,
      patienceMs,
      plain,
    }: { lookUp?: LookUp | undefined; patienceMs?: number | undefined; plain?: boolean | undefined } = {},
  ) {
    if (!URL.canParse(versionsUrl)) throw new PlatformFault("url_not_allowed");
    this.#versionsUrl = versionsUrl;
    this.#origins = new Set([new URL(versionsUrl).origin, ...origins]);
    this.#token = token;
    this.#host = host;
    this.#lookUp = lookUp;
    this.#patienceMs = patienceMs;
    this.#plain = plain ?? false;
    this.#mayTryPlain = plain === undefined;
  }

  /** Whether it took our token only as it is. */
  get plain(): boolean {
    return this.#plain;
  }

  /** @throws {PlatformFault} where it does not answer, or not as OCPI does. */
  async send(
    method: "GET" | "POST",
    url: string,
    { body, route }: { body?: object; route?: Route } = {},
  ): Promise<PlatformAnswer> {
    if (!this.#mayAsk(url)) throw new PlatformFault("another_origin");
    let answer = await this.#ask(method, url, body, route);
    if (answer.status === 401 && this.#mayTryPlain) {
      this.#plain = true;
      answer = await this.#ask(method, url, body, route);
    }
    this.#mayTryPlain = false;
    const slashed = slashedUrl(url, answer);
    if (slashed) answer = await this.#ask(method, slashed, body, route);
    const { status, error, headers, text } = answer;
    if (error) throw new PlatformFault(error, status === null ? undefined : `HTTP ${status}`);
    if (status === null || status < 200 || status > 299)
      throw new PlatformFault(`http_${status}`, this.#seen(status, headers, text));
    if (!/^(identity)?$/i.test(String(headers["content-encoding"] ?? ""))) throw new PlatformFault("encoded");
    if (text.length >= MOST_BYTES) throw new PlatformFault("too_large");
    // an empty one, or 0 above a page with CDRs, tells nothing
    const total = /^[1-9]\d{0,14}$/.exec(String(headers["x-total-count"] ?? ""))?.[0];
    return {
      data: status === 204 ? null : this.#dataIn(status, headers, text),
      total: total === undefined ? null : Number(total),
      next: nextIn(String(headers.link ?? ""), url),
      text,
    };
  }

  /** @throws {PlatformFault} 3001 unreachable or at another origin, 3002 without 2.2.1, 3003 without credentials. */
  async discover(): Promise<Endpoints> {
    const { data: sent } = await this.send("GET", this.#versionsUrl);
    const versions = readAll(Version, sent);
    if (versions.length === 0) throw new PlatformFault("no_versions", kindOf(sent));
    const version = versions.find((each) => /^v?2\.2\.1(-d2)?$/i.test(each.version.trim()));
    if (!version) throw new PlatformFault("no_2.2.1", wordsOf(versions.map((each) => each.version)), 3002);
    const { data } = await this.send("GET", version.url);
    const [details] = readAll(Details, data);
    if (!details) throw new PlatformFault("no_details", kindOf(data));
    const endpoints = readAll(Endpoint, details.endpoints);
    const urlOf = (identifier: string, role?: string) =>
      endpoints.find((each) => each.identifier === identifier && (!role || each.role === role))?.url;
    const named = wordsOf(endpoints.map(({ identifier, role }) => `${identifier} ${role ?? "without a role"}`));
    const credentials_url = urlOf("CREDENTIALS");
    if (!credentials_url) throw new PlatformFault("no_credentials", named, 3003);
    const cdrs_url = urlOf("CDRS", "SENDER") ?? null;
    for (const url of [credentials_url, cdrs_url]) {
      if (url === null) continue;
      if (!this.#mayAsk(url)) throw new PlatformFault("another_origin");
      if (new URL(url).href.length > MOST_URL) throw new PlatformFault("url_too_long");
    }
    return { credentials_url, cdrs_url, hint: cdrs_url ? null : `no CDRS SENDER in their details: ${named}` };
  }

  #mayAsk(url: string): boolean {
    return URL.canParse(url) && this.#origins.has(new URL(url).origin);
  }

  async #ask(method: "GET" | "POST", url: string, body?: object, route?: Route) {
    const line = new Line(url, this.#host, this.#lookUp);
    try {
      return await line.send({
        method,
        headers: {
          authorization: authorizationOf(this.#token, this.#plain),
          accept: "application/json",
          "accept-encoding": "identity",
          "user-agent": "ERE-OCPI/1",
          "x-request-id": crypto.randomUUID(),
          "x-correlation-id": crypto.randomUUID(),
          ...(route ? routingOf(route) : {}),
          ...(body ? { "content-type": "application/json" } : {}),
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
        mostBytes: MOST_BYTES,
        ...(this.#patienceMs === undefined ? {} : { patienceMs: this.#patienceMs }),
      });
    } finally {
      await line.close();
    }
  }

  /** @throws {PlatformFault} where it is no envelope, or one of a failure. */
  #dataIn(status: number, headers: Headers, text: string): unknown {
    const sent = parsed(text);
    if (sent === undefined) throw new PlatformFault("not_json", this.#seen(status, headers, text));
    const envelope = Envelope.safeParse(sent).data;
    if (!envelope) throw new PlatformFault("no_envelope", kindOf(sent));
    if (envelope.status_code < 1000 || envelope.status_code > 1999)
      throw new PlatformFault(`status_${envelope.status_code}`, this.#seen(status, headers, text));
    return envelope.data ?? null;
  }

  /** Status, type and OCPI's own words of an answer; the words not if they repeat our token. */
  #seen(status: number | null, headers: Headers, text: string): string {
    const type = /^[\w.+-]+\/[\w.+-]+/.exec(String(headers["content-type"] ?? ""))?.[0].slice(0, 60);
    const { data: envelope } = Envelope.safeParse(parsed(text));
    const message = envelope?.status_message?.includes(this.#token) ? undefined : envelope?.status_message;
    return [
      `HTTP ${status}`,
      type,
      envelope && `status_code ${envelope.status_code}`,
      message?.replace(/[^ -~]/g, "").slice(0, 80),
    ]
      .filter(Boolean)
      .join(", ");
  }
}

/** The same URL with a slash at the end of its path, where a platform redirects there and nowhere else. */
function slashedUrl(url: string, { status, headers }: { status: number | null; headers: Headers }): string | null {
  const to = String(headers.location ?? "");
  if (![301, 302, 307, 308].includes(status ?? 0) || !URL.canParse(to, url)) return null;
  const slashed = new URL(url);
  slashed.pathname += "/";
  const { origin, pathname } = new URL(to, url);
  return origin === slashed.origin && pathname === slashed.pathname ? slashed.href : null;
}

/** What `Link` asks for to get the next page; null if it names none. */
function nextIn(link: string, url: string): URLSearchParams | null {
  const next = /<([^>]*)>[^<]*?;\s*rel="?next\b/i.exec(link)?.[1];
  if (next === undefined) return null;
  return URL.canParse(next, url) ? new URL(next, url).searchParams : new URLSearchParams();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    return undefined;
  }
}
