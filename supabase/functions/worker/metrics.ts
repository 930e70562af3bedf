import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import type { Figure } from "./answers.ts";

type Metric = {
  /** What it says, as a scraper shows it. */
  help: string;
  /** The one label it has; not job or instance, which Prometheus gives every figure itself. */
  label?: "name" | "status" | "flag" | "log" | "status_code" | "source";
};

/** Every figure of the SQL function `api.list_metrics`. All are gauges; docs/operations.md says what to be alarmed by. */
export const METRICS: Readonly<Record<string, Metric>> = {
  mail_due: { help: "Mails that could be sent now, counted up to 10000" },
  mail_oldest_due_seconds: { help: "How long the oldest of them could have been sent" },
  mail_failed: { help: "Mails of the last day that we gave up, counted up to 10000" },
  notices_oldest_due_seconds: { help: "How long the oldest notice to a customer waits to be written as mail" },
  webhooks_oldest_due_seconds: {
    help: "How long the oldest event could have been sent to an endpoint that wants it",
  },
  webhooks_failing: { help: "Enabled endpoints whose last five attempts failed" },
  webhook_secrets_unreadable: { help: "Of these, endpoints whose secret cannot be decrypted, so that nothing is sent" },
  job_age_seconds: { help: "Time since the job last completed; +Inf if it never did", label: "name" },
  job_ok: { help: "Whether its last run was without a problem: 1 or 0", label: "name" },
  job_duration_seconds: { help: "How long its last run took", label: "name" },
  jobs_failing: {
    help: "Jobs that failed three times in a row: of the service, or for one client alone",
    label: "name",
  },
  register_failures: { help: "Questions of the last hour that the EAN register did not answer, counted up to 10000" },
  register_lookups_failed: { help: "Drafts whose address could not be looked up yet, counted up to 10000" },
  charging_parked: { help: "Charging sessions whose charger is not known yet, counted up to 10000" },
  charging_evidence_over_quota: {
    help: "Sources that told more today than we keep of them, counted up to 10000 in all",
    label: "source",
  },
  charging_flagged: {
    help: "Charging sessions that came or changed in the last day with a flag, counted up to 10000 in all",
    label: "flag",
  },
  months: { help: "Delivered months; above 10000 in all the database's estimate", label: "status" },
  ledger_wrong: { help: "Differences in the books at the last daily check of each tenant" },
  ledger_check_age_seconds: { help: "Age of the oldest check of a tenant's books" },
  ocpi_requests_total: { help: "CDRs of OCPI platforms, sent or pulled, by our answer", label: "status_code" },
  ocpi_pull_lag_seconds: { help: "How far behind the OCPI platform is whose CDRs we read longest ago" },
  documents_due: { help: "Documents to be rendered, counted up to 10000" },
  documents_oldest_due_seconds: { help: "How long the oldest of them has waited" },
  unchained_entries: { help: "Rows without their hash yet, counted up to 10000 of a tenant", label: "log" },
};

const PREFIX = "ere_";

/** Prometheus text exposition format, version 0.0.4. */
function toText(figures: readonly Figure[]): string {
  const lines = Object.entries(METRICS).flatMap(([name, { help, label }]) => {
    const samples = figures
      .filter((figure) => figure.name === name)
      .map(({ label: of, value }) => `${PREFIX}${name}${label ? `{${label}="${of}"}` : ""} ${value ?? "+Inf"}`);
    return [`# HELP ${PREFIX}${name} ${help}`, `# TYPE ${PREFIX}${name} gauge`, ...samples];
  });
  return `${lines.join("\n")}\n`;
}

export const showMetrics = endpoint(
  {
    id: "showMetrics",
    summary: "Show figures of the service for Prometheus",
    description:
      "Send METRICS_SECRET as bearer. The figures cover the whole service, without personal data or partners. " +
      "Reading them takes as long with a million rows as with ten thousand.",
    caller: { kind: "worker", secret: "METRICS_SECRET" },
    limit: null,
    sql: ["list_metrics"],
    slow: true,
    produces: "text/plain",
    response: z.string(),
    errors: [],
    failure: "internal_error",
  },
  async ({ call }) =>
    new Response(toText(JSON.parse(await call("list_metrics"))), {
      headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store" },
    }),
);
