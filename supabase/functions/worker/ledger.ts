import type { Call } from "#shared/foundation/answers.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { describeCause } from "#shared/foundation/log.ts";

type LedgerResult = { checked: number; wrong: number; failed: number };

/**
 * Checks the books of one tenant that was not checked for a day. The turn is stored first. So if a check exceeds the
 * time limit, the next run does not begin it again, and it shows as overdue (docs/operations.md).
 */
export async function checkLedger(
  { log }: Environment,
  call: Call<"begin_ledger_check" | "finish_ledger_check">,
  request_id: string,
): Promise<LedgerResult> {
  const result = { checked: 0, wrong: 0, failed: 0 };
  const { partner_id } = JSON.parse(await call("begin_ledger_check"));
  if (!partner_id) return result;
  try {
    const { wrong } = JSON.parse(await call("finish_ledger_check", { partner_id }));
    result.checked = 1;
    result.wrong = wrong;
    if (wrong > 0) log({ level: "error", event: "ledger_wrong", request_id, partner_id, wrong });
  } catch (error) {
    result.failed = 1;
    log({ level: "error", event: "ledger_check_failed", request_id, partner_id, ...describeCause(error) });
  }
  return result;
}
