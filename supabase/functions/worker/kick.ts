import type { Call } from "#shared/foundation/answers.ts";
import { type Environment, oncePerEnvironment } from "#shared/foundation/environment.ts";
import { describeCause } from "#shared/foundation/log.ts";
import { singleflight } from "#shared/foundation/singleflight.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { recountDashboards } from "./dashboards.ts";
import { deliverMail } from "./mail.ts";
import { mailNotices } from "./notices.ts";
import { startDelivering } from "./webhooks.ts";

const BUDGET_MS = 20_000;
const SQL = [
  "lease_mail",
  "settle_mail",
  "read_waiting_mail",
  "due_notices",
  "mail_notices",
  "lease_webhooks",
  "settle_webhook",
  "recount_dashboard",
] as const;
type CallKicked = Call<(typeof SQL)[number]>;

/** Each by itself: a receiver that hangs keeps no code from its reader. */
const workOf = oncePerEnvironment((environment: Environment) => ({
  mail: singleflight(async (call: CallKicked, request_id: string) => {
    const deadline = Date.now() + BUDGET_MS;
    await mailNotices(environment, call, deadline);
    await deliverMail(environment, call, deadline, request_id);
  }),
  webhooks: singleflight(async (call: CallKicked, request_id: string) => {
    const { leased, sent } = startDelivering(environment, call, Date.now() + BUDGET_MS, request_id);
    // webhooks that it is sending continue beside the next run; `leased` reports a failure
    environment.waitUntil(sent.catch(() => {}));
    await leased;
  }),
  dashboards: singleflight((call: CallKicked, request_id: string) =>
    recountDashboards(environment, call, Date.now() + BUDGET_MS, request_id),
  ),
}));

export const kick = endpoint(
  {
    id: "kickWorker",
    summary: "Send waiting mail and webhooks, and recount requested dashboards, soon after this response",
    description:
      "A function calls this with WORKER_SECRET after it wrote to the outbox, or showed a dashboard over a minute " +
      "old. Of many parallel calls one does the work; one more handles what comes in during that run.",
    caller: { kind: "worker", secret: "WORKER_SECRET" },
    limit: null,
    sql: SQL,
    slow: true,
    response: z.object({ ok: z.literal(true) }),
    errors: [],
    failure: "internal_error",
  },
  async ({ call, environment, admitted }) => {
    const { request_id } = await admitted();
    const { mail, webhooks, dashboards } = workOf(environment);
    const work = [mail, webhooks, dashboards].map((run) =>
      run(call, request_id).catch((error) =>
        // the scheduled run does what is left
        environment.log({ level: "error", event: "kick_failed", request_id, ...describeCause(error) }),
      ),
    );
    environment.waitUntil(Promise.all(work));
    // whoever is told that it will be done is told so by the database
    await call("read_waiting_mail");
    return { ok: true };
  },
);
