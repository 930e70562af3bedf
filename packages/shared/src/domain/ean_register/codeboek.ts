import type { EanRegisterAddress } from "#shared/domain/answers.ts";
import { z } from "#shared/foundation/zod.ts";
import { isPlain } from "#shared/values/text.ts";
import { addressKey, isWhole, sameForm } from "./address.ts";
import type {
  CodeboekLimits,
  EanRegister,
  EanRegisterAnswer,
  EanRegisterConfig,
  PartialAddress,
  UnavailableReason,
} from "./types.ts";

// The EAN-codeboek of the Dutch grid operators, https://www.eancodeboek.nl. Its OpenAPI document (EDSN, version 1)
// allows product + postalCode + streetNumber and requires X-API-Key. It answers ordinary and special metering points
// alike, in pages of at most 100 without a total. It does not say how it compares an addition, so we compare it here.
const publicUrl = "https://gateway.edsn.nl/eancodeboek";
const pageSize = 100;

export const defaultLimits: CodeboekLimits = {
  attempt_ms: 3_000,
  budget_ms: 8_000, // of the 10 s that a request may take
  retries: 2,
  backoff_ms: 200,
  page_bytes: 256 * 1024, // a full page is about 40 KiB
  pages: 10,
  circuit_failures: 6, // attempts: two failed lookups, up to the last retry
  circuit_pause_ms: 30_000,
  cache_entries: 2_000,
  confirmed_ms: 24 * 60 * 60_000,
  unconfirmed_ms: 10 * 60_000,
};

// control characters would make a database write fail
const text = z.string().max(200).refine(isPlain).nullish();

const Page = z.object({
  meteringPoints: z
    .array(
      z.object({
        ean: z.string().regex(/^\d{18}$/),
        product: text,
        // Null in some real answers.
        address: z
          .object({
            postalCode: text,
            streetNumber: z.int().nullish(),
            streetNumberAddition: text,
            street: text,
            city: text,
          })
          .nullish(),
      }),
    )
    .max(pageSize),
});
type MeteringPoint = z.infer<typeof Page>["meteringPoints"][number];

/** `down` counts toward opening the circuit. A 4xx does not: the EAN register works, and refuses this question. */
type Failure = { reason: UnavailableReason; down: boolean; retry: boolean; retry_after_ms?: number | undefined };

export function createCodeboek(config: EanRegisterConfig): EanRegister {
  const { now = Date.now, random = Math.random, sleep = pause, fetch = globalThis.fetch } = config;
  const limits = { ...defaultLimits, ...config.limits };
  const base = new URL(`${(config.url ?? publicUrl).replace(/\/+$/, "")}/v1/ecbinfoset`);
  const headers = { accept: "application/json", ...(config.api_key ? { "x-api-key": config.api_key } : {}) };
  const circuit = createCircuit(now, limits);
  const cache = createCache(now, limits);
  const underWay = new Map<string, Promise<EanRegisterAnswer>>();

  function known(address: PartialAddress, ean_code?: string): EanRegisterAnswer | null {
    if (!isWhole(address)) return null;
    const answer = cache.get(addressKey(address), ean_code);
    return answer ?? (circuit.open() ? unavailable("circuit_open") : null);
  }

  async function lookup(address: EanRegisterAddress, ean_code?: string): Promise<EanRegisterAnswer> {
    const answer = known(address, ean_code);
    if (answer) return answer;
    const key = addressKey(address);
    let request = underWay.get(key);
    if (!request) {
      request = ask(address)
        .then((answer) => cache.set(key, answer))
        .finally(() => underWay.delete(key));
      underWay.set(key, request);
    }
    return request;
  }

  async function ask(address: EanRegisterAddress): Promise<EanRegisterAnswer> {
    const deadline = now() + limits.budget_ms;
    const found: MeteringPoint[] = [];
    for (let page = 0; page < limits.pages; page++) {
      const answer = await fetchPage(address, page * pageSize, deadline);
      if ("reason" in answer) return unavailable(answer.reason);
      found.push(...answer.meteringPoints);
      if (answer.meteringPoints.length < pageSize) return judge(address, found);
    }
    return unavailable("oversized");
  }

  async function fetchPage(address: EanRegisterAddress, offset: number, deadline: number) {
    const url = new URL(base);
    for (const [name, value] of Object.entries({
      product: "ELK",
      postalCode: sameForm(address.postal_code),
      streetNumber: address.house_number,
      limit: pageSize,
      offset,
    })) {
      url.searchParams.set(name, String(value));
    }
    let failure: Failure = { reason: "circuit_open", down: false, retry: false };
    for (let retry = 0; circuit.admits(); retry++) {
      const answer = await attempt(url, Math.max(1, Math.min(limits.attempt_ms, deadline - now())));
      circuit.record(!("reason" in answer && answer.down));
      if (!("reason" in answer)) return answer;
      failure = answer;
      const wait = failure.retry_after_ms ?? Math.ceil(random() * limits.backoff_ms * 2 ** retry);
      if (!failure.retry || retry >= limits.retries || now() + wait >= deadline) break;
      await sleep(wait);
    }
    return failure;
  }

  async function attempt(url: URL, timeoutMs: number): Promise<z.infer<typeof Page> | Failure> {
    const signal = AbortSignal.timeout(timeoutMs);
    let body: string | null;
    try {
      // Redirects are not followed: the key is for this host only.
      const response = await fetch(url, { signal, headers, redirect: "manual" });
      const { status } = response;
      if (status !== 200) {
        await response.body?.cancel();
        const busy = status === 429 || status >= 500;
        const retry_after_ms = busy ? retryAfter(response.headers.get("retry-after"), now()) : undefined;
        return { reason: `status_${status}`, down: busy, retry: busy, retry_after_ms };
      }
      body = await readAtMost(response, limits.page_bytes);
    } catch {
      return { reason: signal.aborted ? "timeout" : "network", down: true, retry: true };
    }
    if (body === null) return { reason: "oversized", down: true, retry: false };
    return parsePage(body) ?? { reason: "malformed", down: true, retry: false };
  }

  return { known, lookup };
}

function unavailable(reason: UnavailableReason): EanRegisterAnswer {
  return { source: "codeboek", outcome: "unavailable", reason };
}

function parsePage(body: string): z.infer<typeof Page> | null {
  try {
    return Page.parse(JSON.parse(body));
  } catch {
    return null;
  }
}

/**
 * The points of exactly this address. 12 is not 12A: if the EAN register lacks an addition, it does not know the
 * address.
 */
function judge(address: EanRegisterAddress, found: MeteringPoint[]): EanRegisterAnswer {
  const electric = found.filter(({ product }) => !product || product === "ELK");
  const exact = electric.filter(
    ({ address: at }) =>
      at &&
      sameForm(at.postalCode) === sameForm(address.postal_code) &&
      at.streetNumber === address.house_number &&
      sameForm(at.streetNumberAddition) === sameForm(address.house_number_addition),
  );
  if (exact.length === 0) return { source: "codeboek", outcome: "unknown_address" };
  // A point without its address belongs to this house number, maybe to this addition. Counting it can prevent a wrong
  // refusal.
  const here = [...exact, ...electric.filter((point) => !point.address)];
  const points = new Map(
    here.map(({ ean, address: at }) => [
      ean,
      {
        ean_code: ean,
        street: at?.street || null,
        city: at?.city || null,
        house_number_addition: at?.streetNumberAddition || null,
      },
    ]),
  );
  return { source: "codeboek", outcome: "points", points: [...points.values()] };
}

/**
 * A circuit breaker: closed; open after failures in a row; after a pause it lets one attempt through, whose result
 * closes or reopens it.
 */
function createCircuit(now: () => number, { circuit_failures, circuit_pause_ms }: CodeboekLimits) {
  let failures = 0;
  let openUntil = 0;
  const tripped = () => failures >= circuit_failures;
  return {
    open: () => tripped() && now() < openUntil,
    admits(): boolean {
      if (!tripped()) return true;
      if (now() < openUntil) return false;
      openUntil = now() + circuit_pause_ms; // the others wait for the result of this attempt
      return true;
    },
    record(healthy: boolean): void {
      failures = healthy ? 0 : failures + 1;
      if (tripped()) openUntil = now() + circuit_pause_ms;
    },
  };
}

/**
 * The least recently used entry goes first. A confirming answer is kept for a day. An answer that would cost a
 * customer a refusal or the gate (unknown address, other EANs) is asked again much sooner. A missing answer is not
 * kept.
 */
function createCache(now: () => number, { cache_entries, confirmed_ms, unconfirmed_ms }: CodeboekLimits) {
  const entries = new Map<string, { answer: EanRegisterAnswer; at: number }>();
  return {
    get(key: string, ean_code?: string): EanRegisterAnswer | null {
      const entry = entries.get(key);
      if (!entry) return null;
      const age = now() - entry.at;
      if (age >= (confirms(entry.answer, ean_code) ? confirmed_ms : unconfirmed_ms)) return null;
      entries.delete(key);
      entries.set(key, entry);
      return entry.answer;
    },
    set(key: string, answer: EanRegisterAnswer): EanRegisterAnswer {
      if (!("outcome" in answer) || answer.outcome === "unavailable") return answer;
      entries.delete(key);
      entries.set(key, { answer, at: now() });
      for (const oldest of entries.keys()) {
        if (entries.size <= cache_entries) break;
        entries.delete(oldest);
      }
      return answer;
    },
  };
}

function confirms(answer: EanRegisterAnswer, ean_code?: string): boolean {
  return "points" in answer && (ean_code === undefined || answer.points.some((point) => point.ean_code === ean_code));
}

/** Seconds or an HTTP date (RFC 9110, 10.2.3); any other value counts as absent. */
function retryAfter(value: string | null, now: number): number | undefined {
  if (!value) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - now;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

async function readAtMost(response: Response, bytes: number): Promise<string | null> {
  const reader = response.body?.getReader();
  if (!reader) return "";
  const decoder = new TextDecoder();
  let body = "";
  let read = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return body + decoder.decode();
    read += value.byteLength;
    if (read > bytes) {
      await reader.cancel();
      return null;
    }
    body += decoder.decode(value, { stream: true });
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
