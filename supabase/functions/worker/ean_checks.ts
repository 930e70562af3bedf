import { eanRegisterOf } from "#shared/domain/ean_register/ean_register.ts";
import type { Call } from "#shared/foundation/answers.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { describeCause } from "#shared/foundation/log.ts";
import { workThrough } from "#shared/foundation/work_through.ts";
import type { DueConnection } from "./answers.ts";

const BATCH = 20;
const AT_ONCE = 4;
/** What one look-up may take, retries included. */
const RESERVE_MS = 10_000;

type EanCheckResult = { checked: number; failed: number };

/**
 * Asks the EAN register again about signed connections it could not confirm a week ago. A due
 * connection is claimed for an hour; one that this run does not get to, or that fails, is due again after that.
 */
export async function checkEans(
  environment: Environment,
  call: Call<"due_ean_checks" | "record_ean_recheck">,
  deadline: number,
  request_id: string,
): Promise<EanCheckResult> {
  const eanRegister = eanRegisterOf(environment);
  const inTime = () => Date.now() < deadline - RESERVE_MS;
  const result: EanCheckResult = { checked: 0, failed: 0 };
  const check = async (connection: DueConnection) => {
    try {
      await call("record_ean_recheck", connection, await eanRegister.lookup(connection, connection.ean_code));
      result.checked += 1;
    } catch (error) {
      result.failed += 1;
      const { connection_id } = connection;
      environment.log({
        level: "error",
        event: "ean_check_failed",
        request_id,
        connection_id,
        ...describeCause(error),
      });
    }
  };
  while (inTime()) {
    const due = JSON.parse(await call("due_ean_checks", { size: BATCH }));
    if (due.length === 0) break;
    await workThrough(due, AT_ONCE, check, inTime);
  }
  return result;
}
