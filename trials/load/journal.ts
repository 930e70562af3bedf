// What was sent and what came back, kept outside of the system.

import { setTimeout as sleep } from "node:timers/promises";
import { endpointsOf } from "#shared/http/serve.ts";
import { surface as cpo } from "../../supabase/functions/cpo-v1/app.ts";
import { surface as sandbox } from "../../supabase/functions/sandbox/app.ts";
import { readDocument } from "../kit/document.ts";
import type { Random } from "../kit/random.ts";

const LATE_MS = 10_000;
/** Endpoints that declare themselves slow, and the rehearsals of the sandbox, which take many steps. */
const SLOW_LATE_MS = 65_000;
const MOST_SHOWN = 300;

/** Of one attempt. A status of 0: no answer came. `limit`: later than that, in ms, no answer may come. */
export type Attempt = { kind: string; what: string; at: number; ended: number; status: number; limit: number };
// biome-ignore lint/suspicious/noExplicitAny: a writer reads an answer that was checked against its schema
export type Answer = { status: number; body: any };
export type Request = {
  token?: string | undefined;
  body?: unknown /** What stands for {id} in the path. */;
  id?: string;
};
/** `done`: acknowledged. `open`: nobody knows, as no answer came, or one that says to try again. */
export type Outcome = "done" | "open";

export async function openJournal(base_url: string) {
  const { operations } = readDocument();
  const declared = new Map(operations.map((operation) => [operation.id, operation]));
  const endpoints = (await Promise.all([cpo, sandbox].map(endpointsOf))).flat();
  const slow = new Set(endpoints.filter((endpoint) => endpoint.slow).map(({ id }) => id));
  const attempts: Attempt[] = [];
  const slowest = new Map<string, number>();
  const broken = new Map<string, { promise: string; first: string; count: number }>();

  /** A promise that was broken, counted by its words without numbers. */
  const complain = (promise: string, about = "") => {
    const key = promise.replace(/[0-9a-f-]{36}|\d+/g, "0");
    const known = broken.get(key);
    if (known) known.count += 1;
    else broken.set(key, { promise, first: about.slice(0, MOST_SHOWN), count: 1 });
  };

  /** Notes how an attempt ended. */
  const note = (kind: string, at: number, status: number, what = kind, limit = Number.POSITIVE_INFINITY) => {
    const ended = performance.now();
    attempts.push({ kind, what, at, ended, status, limit });
    slowest.set(what, Math.max(slowest.get(what) ?? 0, Math.round(ended - at)));
  };

  /** One request of an operation of openapi.json; null where no answer came. */
  const send = async (kind: string, id: string, { token, body, id: named = "" }: Request = {}) => {
    const operation = declared.get(id);
    if (!operation) throw new Error(`openapi.json has no ${id}`);
    const limit = slow.has(id) || operation.path.startsWith("/sandbox/") ? SLOW_LATE_MS : LATE_MS;
    const at = performance.now();
    const path = operation.path.replace("{id}", encodeURIComponent(named));
    let answer: Answer | null = null;
    let type = "";
    let said = "";
    try {
      const response = await fetch(base_url + path, {
        method: operation.method,
        headers: { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) },
        ...(operation.method === "GET" ? {} : { body: JSON.stringify(body ?? {}) }),
        signal: AbortSignal.timeout(limit + 20_000),
      });
      said = await response.text();
      type = response.headers.get("content-type") ?? "";
      answer = { status: response.status, body: null };
      answer.body = JSON.parse(said);
    } catch {
      // a body that is no JSON is complained about below
    }
    note(kind, at, answer?.status ?? 0, id, limit);
    if (!answer) return null;
    const fault = operation.fault(answer.status, type, said);
    if (fault) complain(`${id} ${answer.status}: an answer that is not declared`, `${fault} in ${said}`);
    if (answer.status !== 503 && answer.status >= 500) complain(`${id} answered ${answer.status}`, said);
    return answer;
  };

  /** One request of a page, as a browser sends it; null where no answer came. Follows where it is led. */
  const visit = async (kind: string, url: string, form?: Record<string, string>) => {
    const at = performance.now();
    let page: { status: number; text: string } | null = null;
    try {
      const sent = form
        ? { method: "POST", body: new URLSearchParams(form), headers: { origin: new URL(url).origin } }
        : {};
      const response = await fetch(url, { ...sent, signal: AbortSignal.timeout(LATE_MS + 20_000) });
      page = { status: response.status, text: await response.text() };
    } catch {
      // no answer
    }
    note(kind, at, page?.status ?? 0, "a page", LATE_MS);
    if (page && page.status >= 500 && page.status !== 503) complain(`a page answered ${page.status}`, page.text);
    return page;
  };

  return {
    attempts,
    send,
    visit,
    note,
    complain,
    broken: () => [...broken.values()],
    /** Of each operation, the longest that an answer took, in ms. */
    slowest: () => Object.fromEntries(slowest),
    /**
     * Sends a write until it is acknowledged, or leaves it open as a client would that gives up. A refusal is none of its
     * outcomes, but for these statuses.
     */
    async write(
      random: Random,
      over: () => boolean,
      attempt: () => Promise<Answer | null>,
      refusals: readonly number[] = [],
    ): Promise<{ outcome: Outcome; sent: number; answer: Answer | null }> {
      for (let sent = 1; ; sent += 1) {
        const answer = await attempt();
        if (answer && (answer.status < 300 || refusals.includes(answer.status)))
          return { outcome: "done", sent, answer };
        if (answer && answer.status < 500) {
          complain(`a write was refused with ${answer.status}`, JSON.stringify(answer.body));
          return { outcome: "open", sent, answer };
        }
        if (over() || random.happens(0.3)) return { outcome: "open", sent, answer };
        await sleep(100 + random.below(300));
      }
    },
  };
}
export type Journal = Awaited<ReturnType<typeof openJournal>>;
