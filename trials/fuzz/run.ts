// The fuzzer: sends requests to a stack, and says what was wrong with the answers.

import type pg from "pg";
import type { Stack } from "#local/stack.ts";
import { credentialsOf } from "../kit/credentials.ts";
import { type Operation, readDocument } from "../kit/document.ts";
import { randomOf } from "../kit/random.ts";
import { sendMalformed } from "./raw.ts";
import { Known, type Maker, makeRequest, type Sent } from "./requests.ts";

const LATE_MS = 10_000;
/** A rehearsal of the sandbox takes many steps. */
const SLOW_MS = 65_000;
const MOST_FAULTS = 50;

type Fault = { operation: string; what: string; request: string; count: number };

/** A request as somebody types it again. Credentials are named, not shown. */
const describe = ({ method, path, headers, body }: Sent) =>
  `${method} ${path} ${JSON.stringify({ ...headers, authorization: headers.authorization?.slice(0, 12) })} ${(body ?? "").slice(0, 1_000)}`;

export type Options = {
  requests: number;
  /** Repeats the choices of an earlier run. */
  seed: number;
  at_once: number;
  /** Called fifty times in a run. */
  progress?: (begun: number, faults: number) => void;
};

/** Lifts the rate limits of the stack, and uses up what the demo's partner and person have. */
export async function fuzz(stack: Stack, db: pg.Pool, { requests: wanted, seed, at_once, progress }: Options) {
  const { operations, schemaOf } = readDocument();
  await db.query("update core.rate_limits set quota = 1000000000");
  const random = randomOf(seed);
  const maker: Maker = { random, known: new Known(), schemaOf, credentials: await credentialsOf(stack) };
  const { cpo, oauth_app, partner } = stack.demo;
  for (const held of [cpo, oauth_app, { partner_id: partner.id }])
    for (const [name, value] of Object.entries(held)) maker.known.teach(name, value, random);
  const faults = new Map<string, Fault>();
  const statuses = new Map<string, number>();
  const seen = new Map<string, Set<number>>();
  const note = (sent: Sent, what: string) => {
    const key = `${sent.operation.id} ${what.replace(/\d+/g, "0").slice(0, 200)}`;
    const known = faults.get(key);
    if (known) known.count += 1;
    else if (faults.size < MOST_FAULTS)
      faults.set(key, { operation: sent.operation.id, what, request: describe(sent), count: 1 });
  };
  let begun = 0;
  const started = performance.now();

  const one = async (operation: Operation) => {
    const sent = makeRequest(maker, operation);
    const at = performance.now();
    let answer: Response;
    let text: string;
    try {
      const { method, headers, body } = sent;
      answer = await fetch(stack.base_url + sent.path, {
        method,
        headers,
        redirect: "manual",
        ...(body === undefined || method === "GET" ? {} : { body }),
        signal: AbortSignal.timeout(SLOW_MS),
      });
      text = await answer.text();
    } catch (error) {
      return note(sent, `no answer: ${(error as Error).cause ?? error}`);
    }
    const took = performance.now() - at;
    const { status } = answer;
    statuses.set(String(status), (statuses.get(String(status)) ?? 0) + 1);
    const all = seen.get(operation.id) ?? new Set();
    seen.set(operation.id, all.add(status));
    // a document that the worker has not written yet is no fault
    const awaited = status === 503 && text.startsWith('{"error":"document_not_ready"');
    if (status >= 500 && !awaited) return note(sent, `${status} ${text.slice(0, 300)}`);
    if (took > LATE_MS && !operation.path.startsWith("/sandbox/")) note(sent, "came later than 10 s");
    if (sent.meant) {
      const fault = operation.fault(status, answer.headers.get("content-type") ?? "", text);
      if (fault) note(sent, `${status}: ${fault} in ${text.slice(0, 300)}`);
    }
    if (status >= 300 || !text.startsWith("{")) return;
    const said = JSON.parse(text);
    maker.known.learn(said, random);
    // the one before was revoked, or will be
    if (typeof said.api_key === "string") maker.credentials.partner_key = said.api_key;
  };
  // a webhook's test waits for the worker, and one that empties the sandbox leaves little to mean
  const rarely = (operation: Operation) => /^(resetSandbox|test\w*Webhook)$/.test(operation.id);
  const worker = async () => {
    while (begun < wanted) {
      const operation = random.pick(operations);
      if (rarely(operation) && !random.happens(0.02)) continue;
      begun += 1;
      await one(operation);
      if (begun % Math.ceil(wanted / 50) === 0) progress?.(begun, faults.size);
    }
  };
  // tokens last an hour, webhooks and revocations end some sooner
  const renewal = setInterval(() => {
    credentialsOf(stack).then(
      // the partner's key of the demo may be revoked by now
      ({ partner_key: _, ...fresh }) => Object.assign(maker.credentials, fresh),
      () => {},
    );
  }, 20_000);
  await Promise.all(Array.from({ length: at_once }, worker));
  clearInterval(renewal);
  const seconds = (performance.now() - started) / 1_000;
  const malformed = await sendMalformed(stack.base_url);
  const never = operations.filter(({ id }) => ![...(seen.get(id) ?? [])].some((status) => status < 300));
  return {
    seed,
    requests: begun,
    seconds: Math.round(seconds),
    statuses: Object.fromEntries([...statuses].sort()),
    succeeded: operations.length - never.length,
    operations: operations.length,
    never: never.map(({ id }) => id),
    malformed,
    faults: [...faults.values()],
  };
}
