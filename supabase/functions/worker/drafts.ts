import { claimLinks } from "#shared/domain/claim/links.ts";
import { eanRegisterOf } from "#shared/domain/ean_register/ean_register.ts";
import type { Call } from "#shared/foundation/answers.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { describeCause } from "#shared/foundation/log.ts";
import { workThrough } from "#shared/foundation/work_through.ts";
import type { DueDraft } from "./answers.ts";

const REMINDERS = 200;
const BATCH = 40;
const AT_ONCE = 4;
/** What one look-up may take, retries included. */
const RESERVE_MS = 10_000;

type DraftResult = { expired: number; purged: number; reminded: number; looked_up: number; failed: number };

/** What is due of drafts: expiry, purge, reminders, and the addresses that no import looked up. */
export async function tendDrafts(
  environment: Environment,
  call: Call<"run_draft_jobs" | "due_draft_lookups" | "record_draft_lookup">,
  deadline: number,
  request_id: string,
): Promise<DraftResult> {
  const jobs = JSON.parse(await call("run_draft_jobs", { links: claimLinks(environment), size: REMINDERS }));
  const result: DraftResult = { ...jobs, looked_up: 0, failed: 0 };
  const eanRegister = eanRegisterOf(environment);
  const inTime = () => Date.now() < deadline - RESERVE_MS;
  const lookUp = async (draft: DueDraft) => {
    try {
      await call("record_draft_lookup", draft, await eanRegister.lookup(draft));
      result.looked_up += 1;
    } catch (error) {
      result.failed += 1;
      const { draft_id } = draft;
      environment.log({ level: "error", event: "draft_lookup_failed", request_id, draft_id, ...describeCause(error) });
    }
  };
  while (inTime()) {
    const due = JSON.parse(await call("due_draft_lookups", { size: BATCH }));
    if (due.length === 0) break;
    await workThrough(due, AT_ONCE, lookUp, inTime);
  }
  return result;
}
