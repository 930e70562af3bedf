import type { Call, SqlAnswer } from "#shared/foundation/answers.ts";

/** So many take a few seconds; a year of bookings is submitted in one transaction. */
const BATCH = 50_000;
/** Time kept for a batch and for the rest of the run. */
const RESERVE_MS = 14_000;

type AuditResult = SqlAnswer<"chain_audit">;

/** Follows what was committed to the audit log and the ledger: a batch at least, and what else there is time for. */
export async function chainAudit(call: Call<"chain_audit">, deadline: number): Promise<AuditResult> {
  const result: AuditResult = { chained: 0, more: true, sealed: null };
  do {
    const { chained, more, sealed } = JSON.parse(await call("chain_audit", { size: BATCH }));
    Object.assign(result, { chained: result.chained + chained, more, sealed });
  } while (result.more && Date.now() < deadline - RESERVE_MS);
  return result;
}
