// Requests of ours to an OCPI platform. Loaded when there is something to ask.

import { Line, type LookUp } from "#shared/domain/outbound/line.ts";
import { type Host, MAX_URL } from "#shared/domain/outbound/url.ts";
import { z } from "#shared/foundation/zod.ts";
import { authorizationOf } from "./credentials.ts";

const MOST_BYTES = 4 * 1024 * 1024;
/** A page's query needs the rest. */
const MOST_URL = MAX_URL - 100;

/** Why a platform cannot be used. `code` is for the answer to its registration, `reason` a word for the operator. */
export class PlatformFault extends Error {
  override name = "PlatformFault";
  readonly code: 3001 | 3002 | 3003;
  readonly reason: string;

  constructor(reason: string, code: 3001 | 3002 | 3003 = 3001) {
    super(reason);
    this.reason = reason;
    this.code = code;
  }
}

const Envelope = z.object({ data: z.unknown(), status_code: z.int() });
const Versions = z.array(z.object({ version: z.string(), url: z.string() }));
const Endpoint = z.object({ identifier: z.string(), role: z.string().nullish(), url: z.string() });
const Details = z.object({ endpoints: z.array(Endpoint) });

/** What an answer says. `total` and `more` are of pages: X-Total-Count, and whether `Link` names a next one. */
type PlatformAnswer = { data: unknown; total: number | null; more: boolean; text: string };

/** Where a platform takes credentials, and gives CDRs; `cdrs_url` is null if it only pushes. */
export type Endpoints = { credentials_url: string; cdrs_url: string | null };

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

  /** @throws {PlatformFault} where the versions URL is no URL. */
  constructor(
    versionsUrl: string,
    origins: readonly string[],
    token: string,
    host: Host,
    { lookUp, patienceMs }: { lookUp?: LookUp | undefined; patienceMs?: number | undefined } = {},
  ) {
    if (!URL.canParse(versionsUrl)) throw new PlatformFault("url_not_allowed");
    this.#versionsUrl = versionsUrl;
    this.#origins = new Set([new URL(versionsUrl).origin, ...origins]);
    this.#token = token;
    this.#host = host;
    this.#lookUp = lookUp;
    this.#patienceMs = patienceMs;
  }

  /** @throws {PlatformFault} where it does not answer, or not as OCPI does. */
  async send(method: "GET" | "POST", url: string, body?: object): Promise<PlatformAnswer> {
    if (!URL.canParse(url) || !this.#origins.has(new URL(url).origin)) throw new PlatformFault("another_origin");
    const line = new Line(url, this.#host, this.#lookUp);
    try {
      const { status, error, headers, text } = await line.send({
        method,
        headers: {
          authorization: authorizationOf(this.#token),
          accept: "application/json",
          "accept-encoding": "identity",
          "user-agent": "ERE-OCPI/1",
          "x-request-id": crypto.randomUUID(),
          "x-correlation-id": crypto.randomUUID(),
          ...(body ? { "content-type": "application/json" } : {}),
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
        mostBytes: MOST_BYTES,
        ...(this.#patienceMs === undefined ? {} : { patienceMs: this.#patienceMs }),
      });
      if (error) throw new PlatformFault(error);
      if (status === null || status < 200 || status > 299) throw new PlatformFault(`http_${status}`);
      if (!/^(identity)?$/i.test(String(headers["content-encoding"] ?? ""))) throw new PlatformFault("encoded");
      if (text.length >= MOST_BYTES) throw new PlatformFault("too_large");
      // an empty one, or 0 above a page with CDRs, tells nothing
      const total = /^[1-9]\d{0,14}$/.exec(String(headers["x-total-count"] ?? ""))?.[0];
      const more = /\brel="?next\b/i.test(String(headers.link ?? ""));
      return { data: dataIn(text), total: total === undefined ? null : Number(total), more, text };
    } finally {
      await line.close();
    }
  }

  /** @throws {PlatformFault} 3001 unreachable or at another origin, 3002 without 2.2.1, 3003 without credentials. */
  async discover(): Promise<Endpoints> {
    const versions = Versions.safeParse((await this.send("GET", this.#versionsUrl)).data).data;
    if (!versions) throw new PlatformFault("no_versions");
    const version = versions.find(({ version }) => version === "2.2.1");
    if (!version) throw new PlatformFault("no_2.2.1", 3002);
    const details = Details.safeParse((await this.send("GET", version.url)).data).data;
    if (!details) throw new PlatformFault("no_details");
    const urlOf = (identifier: string, role?: string) =>
      details.endpoints.find((each) => each.identifier === identifier && (!role || each.role === role))?.url;
    const credentials_url = urlOf("credentials");
    if (!credentials_url) throw new PlatformFault("no_credentials", 3003);
    const cdrs_url = urlOf("cdrs", "SENDER") ?? null;
    for (const url of [credentials_url, cdrs_url]) {
      if (url === null) continue;
      if (!URL.canParse(url) || !this.#origins.has(new URL(url).origin)) throw new PlatformFault("another_origin");
      if (new URL(url).href.length > MOST_URL) throw new PlatformFault("url_too_long");
    }
    return { credentials_url, cdrs_url };
  }
}

/** @throws {PlatformFault} where it is no envelope, or one of a failure. */
function dataIn(text: string): unknown {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    throw new PlatformFault("not_json");
  }
  const envelope = Envelope.safeParse(parsed).data;
  if (!envelope) throw new PlatformFault("no_envelope");
  if (envelope.status_code < 1000 || envelope.status_code > 1999)
    throw new PlatformFault(`status_${envelope.status_code}`);
  return envelope.data;
}
