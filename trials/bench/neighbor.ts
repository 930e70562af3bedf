// What one partner notices of another that works at its limits.

import { setTimeout as sleep } from "node:timers/promises";
import { sessionFile, type Told } from "./charging_in.ts";
import type { Bench } from "./kit/bench.ts";
import { against, alone as byItself, type Finding } from "./kit/findings.ts";
import { openConnection, wire } from "./kit/load.ts";
import { type Contender, repeated, requests, takeTurns } from "./kit/measure.ts";
import { giveKey } from "./kit/people.ts";
import { batchOf, draftRow, monthsBack, positionPath } from "./kit/routes.ts";
import { bearer, hasCharger, inTurn, isOpen, type Seeded, seed, serialOf, tokensOf } from "./kit/seed.ts";
import type { Served } from "./kit/serve.ts";
import { type Stack, withStack } from "./kit/stack.ts";

const READERS = 4;
/** How many of each the neighbor sends at once. */
const BATCHES = 4;
const IMPORTS = 2;
const FILES = 6;
const ROWS = 5_000;

export const neighbor: Bench = {
  about: "p99 of one partner's reads and sessions while another imports, batches and uploads, beside alone",
  defaults: { accounts: 20_000, rounds: 5, seconds: 8 },
  run: (options) =>
    withStack(async (stack) => {
      const seeded = await seed(stack.admin, 2, options.accounts);
      const tokens = await tokensOf(stack, seeded.clients);
      const [reader] = seeded.clients;
      // the limits of all others stay as they are
      await stack.admin.query(
        "insert into core.rate_limit_overrides (subject, bucket, quota) values ('client:' || $1, 'cpo_read', 1000000000)",
        [reader?.id],
      );
      const cpo = await stack.serve("cpo-v1");
      const partner = await stack.serve("partner");
      const next = inTurn(
        seeded.accounts
          .filter(({ client }) => client === 0)
          .map(({ reference }) => wire({ path: positionPath(reference), headers: bearer(tokens[0]) })),
      );
      const alone: Contender = requests(stack, cpo, { url: cpo.url, next, concurrency: READERS });
      const sent = { batches: 0, imports: 0 };
      const other = await neighborOf(stack, seeded, tokens, { cpo, partner }, sent);
      const beside: Contender = async (seconds) => {
        const quieten = await other();
        return alone(seconds).finally(quieten);
      };
      const turns = await takeTurns({ alone, beside }, options);
      const files = await besideFiles(stack, seeded, tokens, cpo);
      const posts = await takeTurns({ alone: files.alone, beside: files.beside }, options);
      const findings: Finding[] = [
        against(
          `p99 of GET /v1/ere-positions?cpo_external_ref=…, ${READERS} at once, beside a busy partner`,
          "ms",
          turns.beside.p99_ms,
          { what: "the same alone", value: turns.alone.p99_ms },
          { at_most: 2 },
          { p50_ms: turns.beside.p50_ms, p50_alone_ms: turns.alone.p50_ms, ...sent },
        ),
        against(
          `p99 of POST /v1/charging-sessions of one session, while a partner sends ${FILES} files at once`,
          "ms",
          posts.beside.p99_ms,
          { what: "the same alone", value: posts.alone.p99_ms },
          { at_most: 2 },
          { p50_ms: posts.beside.p50_ms, p50_alone_ms: posts.alone.p50_ms, posts: posts.beside.count, ...files.sent },
        ),
        byItself("of these sessions, answered 503", "requests", files.unavailable(), { exactly: 0 }),
      ];
      return findings;
    }),
};

/** One partner posts a session at a time; beside it the other sends files of 5,000 sessions, and goes on. */
async function besideFiles(stack: Stack, seeded: Seeded, tokens: string[], cpo: Served) {
  for (const { id } of seeded.clients)
    await stack.admin.query(
      "insert into core.rate_limit_overrides (subject, bucket, quota) values ('client:' || $1, 'cpo_sessions', 1000000000)",
      [id],
    );
  const sent = { files: 0, running: 0, busy: 0 };
  let unavailable = 0;
  const mine = newSessions(seeded, 0);
  const theirs = newSessions(seeded, 1);
  const connection = await openConnection(cpo.url);
  const alone = repeated(stack, cpo, async () => {
    const body = { sessions: mine(1) };
    const path = "/v1/charging-sessions";
    const { status, body: said } = await connection.send(
      wire({ method: "POST", path, headers: bearer(tokens[0]), body }),
    );
    if (status === 503) unavailable += 1;
    else if (status !== 200) throw new Error(`${path} answered ${status}: ${said}`);
  });
  const uploading = async (ended: AbortSignal) => {
    const other = await openConnection(cpo.url);
    while (!ended.aborted) {
      const body = sessionFile(theirs(ROWS));
      const request = wire({ method: "POST", path: "/v1/uploads", headers: bearer(tokens[1]), body });
      const { status, headers, body: said } = await other.send(request);
      if (status === 200) sent.files += 1;
      else if (status === 429) sent.running += 1;
      else if (status === 503) sent.busy += 1;
      else throw new Error(`/v1/uploads answered ${status}: ${said}`);
      const wait = Number(/^retry-after: (\d+)/im.exec(headers)?.[1] ?? 0);
      await sleep(wait * 1000, undefined, { signal: ended }).catch(() => {});
    }
    other.close();
  };
  const beside: Contender = async (seconds) => {
    const ended = new AbortController();
    const uploads = Array.from({ length: FILES }, () => uploading(ended.signal));
    const measured = await alone(seconds);
    ended.abort();
    await Promise.all(uploads);
    return measured;
  };
  return { alone, beside, sent, unavailable: () => unavailable };
}

/** Sessions that nobody told before, of 500 chargers of a client: each charges an hour, three times a day. */
function newSessions({ accounts }: Seeded, client: number): (count: number) => Told[] {
  const chargers = accounts
    .filter((one) => one.client === client && hasCharger(one))
    .slice(0, 500)
    .map(serialOf);
  let told = 0;
  return (count) =>
    Array.from({ length: count }, () => {
      const slot = Math.floor(told / chargers.length);
      const start = Date.UTC(2011, 0, 1) + slot * 8 * 3_600_000;
      const serial_number = chargers[told++ % chargers.length] ?? "";
      return {
        session_id: `${slot}-${serial_number}`,
        serial_number,
        started_at: new Date(start).toISOString(),
        ended_at: new Date(start + 3_600_000).toISOString(),
        kwh: 7.5,
      };
    });
}

/**
 * The other partner: batches of 240 months and imports of 500 rows, as fast as its limits let it, and where they do not, again when it is
 * told to. Each time it begins with all of its limits, which is the worst that it can do. Gives how to begin, which gives how to end.
 */
async function neighborOf(
  stack: Stack,
  seeded: Seeded,
  tokens: string[],
  { cpo, partner }: { cpo: Served; partner: Served },
  sent: { batches: number; imports: number },
): Promise<() => Promise<() => Promise<void>>> {
  const key = await giveKey(stack.admin, seeded.clients[1]?.partner_id ?? "");
  const account = inTurn(seeded.accounts.filter((one) => one.client === 1 && isOpen(one)));
  const periods = monthsBack(240);
  const batch = () =>
    wire({ method: "POST", path: "/v1/sessions:batch", headers: bearer(tokens[1]), body: batchOf(account(), periods) });
  const rows = () => Array.from({ length: 500 }, draftRow);
  const importing = () =>
    wire({
      method: "POST",
      path: "/partner/drafts/import",
      headers: bearer(key),
      body: { consent: true, send_invite: true, rows: rows() },
    });

  return async () => {
    await stack.admin.query("delete from core.rate_limit_state");
    const ended = new AbortController();
    const again = async (url: string, kind: "batches" | "imports", request: () => Buffer) => {
      const connection = await openConnection(url);
      while (!ended.signal.aborted) {
        // the cap of thirty days is no limit of speed
        if (kind === "imports") await stack.admin.query("delete from core.draft_uploads");
        const { status, headers, body } = await connection.send(request());
        if (status === 200) sent[kind] += 1;
        else if (status !== 429) throw new Error(`${url} answered ${status}: ${body}`);
        const wait = Number(/^retry-after: (\d+)/im.exec(headers)?.[1] ?? 0);
        await sleep(wait * 1000, undefined, { signal: ended.signal }).catch(() => {});
      }
      connection.close();
    };
    const workers = [
      ...Array.from({ length: BATCHES }, () => again(cpo.url, "batches", batch)),
      ...Array.from({ length: IMPORTS }, () => again(partner.url, "imports", importing)),
    ];
    return async () => {
      ended.abort();
      await Promise.all(workers);
    };
  };
}
