import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { chainAudit } from "./audit.ts";
import { recountDashboards } from "./dashboards.ts";
import { tendDrafts } from "./drafts.ts";
import { checkEans } from "./ean_checks.ts";
import { runJobs } from "./jobs.ts";
import { checkLedger } from "./ledger.ts";
import { deliverMail } from "./mail.ts";
import { mailNotices } from "./notices.ts";
import { pullOcpi } from "./ocpi_pulls.ts";
import { rereadCdrs } from "./ocpi_reread.ts";
import { deliverWebhooks } from "./webhooks.ts";

/** A run ends by itself: what is left is for the next one. Hosted, a request may take 150 seconds. */
const BUDGET_MS = 20_000;

export const run = endpoint(
  {
    id: "runWorker",
    summary: "Run every job that is due",
    description:
      "Runs the database jobs, tends drafts, sends notices, mail and webhooks, reads CDRs of OCPI platforms, and checks EANs again each week. It " +
      "chains the hashes of the audit log and the ledger, checks the books daily, and counts dashboards nightly. " +
      "The scheduler calls this with WORKER_SECRET as bearer. It is safe to call at any time, and several times at " +
      "once.",
    caller: { kind: "worker", secret: "WORKER_SECRET" },
    limit: null,
    sql: [
      "due_jobs",
      "run_due_job",
      "record_failed_job",
      "lease_mail",
      "settle_mail",
      "read_waiting_mail",
      "due_ean_checks",
      "record_ean_recheck",
      "run_draft_jobs",
      "due_draft_lookups",
      "record_draft_lookup",
      "due_notices",
      "mail_notices",
      "chain_audit",
      "lease_webhooks",
      "settle_webhook",
      "begin_ledger_check",
      "finish_ledger_check",
      "recount_dashboard",
      "lease_ocpi_pulls",
      "take_pulled_cdrs",
      "settle_ocpi_pull",
      "lease_unread_cdrs",
      "take_reread_cdrs",
      "record_job_run",
    ] as const,
    slow: true,
    response: z
      .object({
        ok: z.boolean().meta({ description: "False if something needs an operator; the fields below say what" }),
        jobs: z.record(z.string(), z.int()).meta({ description: "Rows by job that ran" }),
        jobs_failed: z.int().meta({
          description: "Jobs that failed, with the cause in the log; tried again later, one client's alone",
        }),
        drafts: z.object({
          expired: z.int(),
          purged: z.int(),
          reminded: z.int(),
          looked_up: z.int().meta({ description: "Drafts whose address we asked the EAN register about" }),
          failed: z
            .int()
            .meta({ description: "Drafts where we failed, with the cause in the log; retried within the hour" }),
        }),
        notices: z.object({
          mailed: z
            .int()
            .meta({ description: "Mails written to customers about their registration, mandate or money" }),
        }),
        mail: z.object({
          sent: z.int(),
          failed: z.int().meta({ description: "Mails that failed; a temporary failure is retried later" }),
          problem: z.string().optional(),
        }),
        webhooks: z.object({
          delivered: z.int(),
          failed: z.int().meta({ description: "Webhooks that failed; retried later" }),
        }),
        ocpi: z.object({
          pages: z.int().meta({ description: "Pages of CDRs that were read from OCPI platforms" }),
          refused: z.int().meta({ description: "CDRs in them that break the specification; `operator ocpi list`" }),
          failed: z.int().meta({ description: "Platforms that did not answer well; tried again in 15 minutes" }),
        }),
        ean_checks: z.object({
          checked: z.int().meta({ description: "Connections judged again by the EAN register's answer" }),
          failed: z
            .int()
            .meta({ description: "EAN checks where we failed, with the cause in the log; retried within the hour" }),
        }),
        audit: z.object({
          chained: z.int().meta({ description: "Rows of the audit log and of the ledger that got their hash" }),
          more: z.boolean().meta({ description: "Whether rows are left for the next run" }),
          sealed: z
            .object({ day: z.iso.date(), hash: z.string().regex(/^[0-9a-f]{64}$/) })
            .nullable()
            .meta({ description: "The last sealed day and its hash; store it elsewhere" }),
        }),
        ledger: z.object({
          checked: z.int().meta({ description: "Tenants whose books were checked: one per run, each once a day" }),
          wrong: z.int().meta({ description: "Differences in those books; `operator ledger check` lists them" }),
          failed: z
            .int()
            .meta({ description: "Checks where we failed, with the cause in the log; retried after a day" }),
        }),
        dashboards: z.object({
          recounted: z.int().meta({ description: "Dashboards of partners with more than 1,000 customers or accounts" }),
          failed: z
            .int()
            .meta({ description: "Dashboards where we failed, with the cause in the log; retried after ten minutes" }),
        }),
      })
      .meta({ id: "WorkerRun" }),
    errors: [],
    failure: "internal_error",
  },
  async ({ call, environment, admitted }) => {
    const { request_id } = await admitted();
    const begun = performance.now();
    const jobs = await runJobs(environment, call, request_id);
    // however long the jobs took
    const deadline = Date.now() + BUDGET_MS;
    const others = async () => {
      const audit = await chainAudit(call, deadline);
      const drafts = await tendDrafts(environment, call, deadline, request_id);
      const notices = await mailNotices(environment, call, deadline);
      const mail = await deliverMail(environment, call, deadline, request_id);
      const ean_checks = await checkEans(environment, call, deadline, request_id);
      const ledger = await checkLedger(environment, call, request_id);
      const dashboards = await recountDashboards(environment, call, deadline, request_id);
      return { drafts, notices, mail, ean_checks, audit, ledger, dashboards };
    };
    const platforms = async () => {
      await rereadCdrs(environment, call, request_id);
      return pullOcpi(environment, call, deadline, request_id);
    };
    // beside each other: a receiver of webhooks, or a platform, may take its ten seconds
    const [webhooks, ocpi, rest] = await Promise.all([
      deliverWebhooks(environment, call, deadline, request_id),
      platforms(),
      others(),
    ]);
    const { mail, ean_checks, drafts, ledger, dashboards } = rest;
    const failed =
      jobs.jobs_failed + ean_checks.failed + drafts.failed + ledger.failed + ledger.wrong + dashboards.failed;
    const ok = mail.problem === undefined && failed === 0;
    await call("record_job_run", { job: "worker", ok, ms: Math.round(performance.now() - begun) });
    return { ok, ...jobs, webhooks, ocpi, ...rest };
  },
);
