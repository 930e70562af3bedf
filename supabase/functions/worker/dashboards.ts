import type { Call } from "#shared/foundation/answers.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { describeCause } from "#shared/foundation/log.ts";

type DashboardResult = { recounted: number; failed: number };

/** Counts the dashboards that readers asked for, one after another, and once a night those of all large partners. */
export async function recountDashboards(
  { log }: Environment,
  call: Call<"recount_dashboard">,
  deadline: number,
  request_id: string,
): Promise<DashboardResult> {
  const result = { recounted: 0, failed: 0 };
  try {
    while (Date.now() < deadline) {
      const { partner_id, error } = JSON.parse(await call("recount_dashboard"));
      if (!partner_id) break;
      if (error) {
        result.failed += 1;
        log({ level: "error", event: "dashboard_recount_failed", request_id, partner_id, sqlstate: error });
      } else {
        result.recounted += 1;
      }
    }
  } catch (error) {
    result.failed += 1;
    log({ level: "error", event: "dashboard_recount_failed", request_id, ...describeCause(error) });
  }
  return result;
}
