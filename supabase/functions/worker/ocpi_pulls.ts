import { createHash } from "node:crypto";
import { openTheirToken } from "#shared/domain/charging_in/ocpi/credentials.ts";
import type { LookUp } from "#shared/domain/outbound/line.ts";
import type { Call } from "#shared/foundation/answers.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { describeCause } from "#shared/foundation/log.ts";
import { workThrough } from "#shared/foundation/work_through.ts";
import type { Pull } from "./answers.ts";

const AT_ONCE = 4;
/** What one page may take, and time to store it. */
const RESERVE_MS = 12_000;
const LIMIT = 100;
/** The pages in a row that bring nothing new: a platform that sends more of them may never end. It is asked on a quarter of an hour later. */
const MOST_STALE_PAGES = 1_000;

const NOT_FOUND =
  "on the first page: it may have moved its CDRs, hide them from our token, or answer so where it has none. Ask the CPO " +
  "which, or have it register again.";

/** How some refuse an offset at the end of the list. */
const AT_THE_END = /^(http_(400|416|422)|status_2...)$/;
/** How a platform says that it has nothing of a party, or does not know it. */
const OF_ONE_PARTY = /^(http_40[34]|status_4001)$/;
/** What is read of a PlatformFault, whose class is loaded late. */
type Refusal = { reason?: string | undefined; saw?: string | undefined };

/** What a test changes of our requests. */
type Outgoing = { lookUp?: LookUp; patienceMs?: number };
type PullResult = { pages: number; refused: number; failed: number };
type CallPulls = Call<"lease_ocpi_pulls" | "take_pulled_cdrs" | "settle_ocpi_pull">;

/**
 * Reads the CDRs of OCPI platforms that are due, page by page. Each page is stored with the place to go on, so a worker
 * that dies loses at most the page it was reading, and reads it again. A CDR that we have changes nothing.
 */
export async function pullOcpi(
  environment: Environment,
  call: CallPulls,
  deadline: number,
  request_id: string,
  outgoing?: Outgoing,
): Promise<PullResult> {
  const result: PullResult = { pages: 0, refused: 0, failed: 0 };
  const inTime = () => Date.now() < deadline - RESERVE_MS;
  while (inTime()) {
    const due = JSON.parse(await call("lease_ocpi_pulls", { size: AT_ONCE }));
    if (due.length === 0) break;
    await workThrough(due, AT_ONCE, (pull) => readOn(pull, environment, call, inTime, request_id, result, outgoing));
  }
  return result;
}

async function readOn(
  pull: Pull,
  environment: Environment,
  call: CallPulls,
  inTime: () => boolean,
  request_id: string,
  result: PullResult,
  outgoing?: Outgoing,
): Promise<void> {
  const { partner_id, owner_id, lease_id } = pull;
  const lease = { partner_id, owner_id, lease_id };
  const settle = (outcome: { whole?: boolean; error?: string | undefined; saw?: string | undefined }) =>
    call("settle_ocpi_pull", { ...lease, ...outcome, operator: environment.config.SUPPORT_EMAIL });
  try {
    const read = await readPages(pull, environment, call, inTime, result, outgoing);
    if (read?.refused) result.failed += 1;
    if (read) await settle({ whole: read.whole, error: read.refused?.reason, saw: read.refused?.saw });
  } catch (error) {
    result.failed += 1;
    const { reason, saw } = error as { reason?: string; saw?: string };
    const cause = reason === undefined ? describeCause(error) : {};
    environment.log({ level: "error", event: "ocpi_pull_failed", request_id, client_id: owner_id, reason, ...cause });
    await settle({ error: reason ?? "our_failure", saw });
  }
}

/**
 * Reads the CDRs of each party. A platform that shows those of several at once is asked for one only. If it refuses one party, the
 * others are read all the same.
 * @returns whether the pass is whole, and the first refusal; null if another worker has the lease.
 */
async function readPages(
  pull: Pull,
  environment: Environment,
  call: CallPulls,
  inTime: () => boolean,
  result: PullResult,
  outgoing?: Outgoing,
): Promise<{ whole: boolean; refused: Pull["refused"] } | null> {
  const { partner_id, owner_id, lease_id, parties, plain_token: plain } = pull;
  const { isDeeper, kindOf, Platform, PlatformFault, readCdr } = await import("./ocpi_page.ts");
  const token = openTheirToken(environment, owner_id, pull.their_token);
  const platform = new Platform(pull.versions_url, pull.origins, token, environment.config, { ...outgoing, plain });

  /** null where it has no more. */
  async function ask(to: string | undefined, offset: number, link: Map<string, string>, total: number | null) {
    // their own `Link: next` is not followed: behind a proxy it names a private host, and would carry the token there
    const url = new URL(pull.cdrs_url);
    const { date_from, date_to } = pull;
    const query = {
      limit: LIMIT,
      ...(link.size > 0 ? {} : { offset }),
      ...Object.fromEntries(link),
      date_from,
      date_to,
    };
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
    try {
      const answer = await platform.send("GET", url.href, { route: { from: environment.config.OCPI_PARTY, to } });
      if (answer.data !== null && !Array.isArray(answer.data)) throw new PlatformFault("no_list", kindOf(answer.data));
      return { ...answer, data: answer.data ?? [] };
    } catch (error) {
      if (!(error instanceof PlatformFault)) throw error;
      const { reason, saw } = error;
      if (reason === "http_404" && offset > 0) return null;
      if (total !== null && offset >= total && AT_THE_END.test(reason)) return null;
      if (reason === "http_404") throw new PlatformFault(reason, `${saw} ${NOT_FOUND}`);
      throw error;
    }
  }

  /** @returns whether all is read, and whether CDRs of other parties were among it; null if another worker has the lease. */
  async function readList(
    party: string | undefined,
    begin: number,
  ): Promise<{ whole: boolean; mixed: boolean; refusal?: Refusal } | null> {
    let offset = begin;
    let goesOn = begin > 0;
    let link = new Map<string, string>();
    let total: number | null = null;
    let saysMore = false;
    let mixed = false;
    // where it was refused when it went on; then all before is read again
    let refusedAt = Number.POSITIVE_INFINITY;
    let [fullest, latest] = [0, 0];
    const pages = new Set<string>();
    for (;;) {
      if (!inTime()) return { whole: false, mixed };
      const isFirst = offset === 0 && link.size === 0;
      let refusal: Refusal | undefined;
      const answer: Awaited<ReturnType<typeof ask>> | undefined = await ask(party, offset, link, total).catch(
        (error: Refusal) => {
          // in the middle of a list it is no answer about the party
          if (isFirst && OF_ONE_PARTY.test(error.reason ?? "")) {
            refusal = error;
            return null;
          }
          const { reason = "" } = error;
          // a full page before a refusal may have others behind it, unless the offset is out of range
          if (offset >= refusedAt && AT_THE_END.test(reason) && (reason === "http_416" || latest < fullest))
            return null;
          if (!goesOn || !AT_THE_END.test(reason)) throw error;
          // X-Total-Count is not known here: it may be the end. Nothing is doubled if it begins again.
          refusedAt = offset;
          offset = 0;
          return undefined;
        },
      );
      goesOn = false;
      if (answer === undefined) continue;
      if (refusal) return { whole: true, mixed, refusal };
      if (answer === null) return { whole: true, mixed };
      const { data, next, text } = answer;
      total = answer.total;
      // the timestamp of an envelope differs each time
      const page = createHash("sha256")
        .update(JSON.stringify(data.map((cdr) => (isDeeper(cdr) ? "deep" : cdr))))
        .digest("hex");
      if (data.length > 0) {
        result.pages += 1;
        latest = data.length;
        fullest = Math.max(fullest, latest);
        if (pages.has(page)) {
          // one that ignores the offset has more than it shows
          if (saysMore || (total !== null && offset < total)) throw new PlatformFault("same_page");
          return { whole: true, mixed };
        }
        pages.add(page);
      }
      const byCursor = link.size > 0 && !link.has("offset");
      saysMore = next !== null;
      link = linkedFrom(next, offset);
      if (data.length === 0 && link.size === 0) return { whole: true, mixed };
      const sent_sha256 = createHash("sha256").update(text).digest("hex");
      // some send all they have, whatever the limit: the database takes a hundred at a time
      for (let from = 0; from === 0 || from < data.length; from += LIMIT) {
        if (!inTime()) return { whole: false, mixed };
        const part = data.slice(from, from + LIMIT);
        offset += part.length;
        if (from + LIMIT >= data.length) offset = Number(link.get("offset") ?? offset);
        const cdrs = part.map((cdr, place) => ({ place, ...readCdr(cdr), sent_sha256 }));
        mixed ||= cdrs.some((cdr) => cdr.party !== null && cdr.party !== party);
        const taken = await take({ cdrs, party, offset });
        if (!taken.leased) return null;
        result.refused += taken.faulty;
        if (taken.stale >= MOST_STALE_PAGES) throw new PlatformFault("too_many_pages");
      }
      // a cursor has no number to go on by
      if (byCursor && !saysMore) return { whole: true, mixed };
    }
  }
  const take = async (page: { cdrs: object[]; party: string | undefined; offset: number }) =>
    JSON.parse(await call("take_pulled_cdrs", { partner_id, owner_id, lease_id, refused, ...page }));

  let at = parties.indexOf(pull.party ?? "");
  // the party that it was at may be gone: then it begins again
  const goesOn = pull.party === null || at >= 0;
  let offset = goesOn ? pull.offset : 0;
  let refused: Pull["refused"] = goesOn ? pull.refused : null;
  for (at = Math.max(at, 0); ; at += 1) {
    const isLast = at + 1 >= parties.length;
    const read = await readList(parties[at], offset);
    if (read === null) return null;
    if (!read.whole) return { whole: false, refused: null };
    offset = 0;
    if (read.refusal) {
      const { reason = "", saw }: Refusal = read.refusal;
      const count: number = (refused?.parties ?? 0) + 1;
      if (isLast && count > at) {
        // none was read: the next turn begins with the first
        refused = null;
        if (at > 0) await take({ cdrs: [], party: parties[0], offset });
        throw read.refusal;
      }
      refused = {
        ...(refused ?? { reason, saw: `${parties[at]}: ${saw} Other parties are read.` }),
        parties: count,
      };
    }
    if (read.mixed || isLast) return { whole: true, refused };
    if (!(await take({ cdrs: [], party: parties[at + 1], offset })).leased) return null;
  }
}

/** What `Link` asks for beyond our own query; empty if it leads no further than the page that was read at this offset. */
function linkedFrom(next: URLSearchParams | null, offset: number): Map<string, string> {
  const link = new Map(next ?? []);
  for (const own of ["date_from", "date_to", "limit"]) link.delete(own);
  // without an offset it has a cursor of its own
  const to = Number(link.get("offset") ?? offset + 1);
  return Number.isInteger(to) && to > offset && to < 1e9 ? link : new Map();
}
