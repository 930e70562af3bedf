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
  const settle = (outcome: { whole?: boolean; error?: string }) =>
    call("settle_ocpi_pull", { ...lease, ...outcome, operator: environment.config.SUPPORT_EMAIL });
  try {
    const whole = await readPages(pull, environment, call, inTime, result, outgoing);
    if (whole !== null) await settle({ whole });
  } catch (error) {
    result.failed += 1;
    const { reason, code } = error as { reason?: string; code?: string };
    const cause = reason === undefined ? describeCause(error) : {};
    environment.log({ level: "error", event: "ocpi_pull_failed", request_id, client_id: owner_id, reason, ...cause });
    await settle({ error: reason ?? (code === "parked_limit" ? code : "our_failure") });
  }
}

/** @returns whether the pass is whole; null if another worker has the lease. */
async function readPages(
  pull: Pull,
  environment: Environment,
  call: CallPulls,
  inTime: () => boolean,
  result: PullResult,
  outgoing?: Outgoing,
): Promise<boolean | null> {
  const { isDeeper, Platform, PlatformFault, readCdr } = await import("./ocpi_page.ts");
  const token = openTheirToken(environment, pull.owner_id, pull.their_token);
  const platform = new Platform(pull.versions_url, pull.origins, token, environment.config, outgoing);
  let { offset } = pull;
  let before = "";
  for (;;) {
    if (!inTime()) return false;
    // their own `Link: next` is not followed: behind a proxy it names a private host, and would carry the token there
    const url = new URL(pull.cdrs_url);
    const { date_from, date_to } = pull;
    for (const [name, value] of Object.entries({ date_from, date_to, offset, limit: LIMIT }))
      url.searchParams.set(name, String(value));
    const { data, total, more, text } = await platform.send("GET", url.href);
    if (!Array.isArray(data)) throw new PlatformFault("no_list");
    result.pages += 1;
    // the timestamp of an envelope differs each time
    const page = createHash("sha256")
      .update(JSON.stringify(data.map((cdr) => (isDeeper(cdr) ? "deep" : cdr))))
      .digest("hex");
    // one that ignores the offset has more than it shows
    if (page === before && total !== null && offset < total) throw new PlatformFault("same_page");
    if (data.length === 0 || page === before) return true;
    before = page;
    const sent_sha256 = createHash("sha256").update(text).digest("hex");
    // some send all they have, whatever the limit: the database takes a hundred at a time
    for (let from = 0; from < data.length; from += LIMIT) {
      if (!inTime()) return false;
      const part: unknown[] = data.slice(from, from + LIMIT);
      offset += part.length;
      const cdrs = part.map((cdr, place) => ({ place, ...readCdr(cdr), sent_sha256 }));
      const { leased, faulty, stale } = JSON.parse(
        await call("take_pulled_cdrs", {
          partner_id: pull.partner_id,
          owner_id: pull.owner_id,
          lease_id: pull.lease_id,
          cdrs,
          offset,
        }),
      );
      if (!leased) return null;
      result.refused += faulty;
      if (stale >= MOST_STALE_PAGES) throw new PlatformFault("too_many_pages");
    }
    // some count the CDRs of the page only
    if (total !== null && offset >= total && !more) return true;
  }
}
