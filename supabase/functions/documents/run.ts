import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { renderDue } from "./render.ts";

export const run = endpoint(
  {
    id: "renderDocuments",
    summary: "Render the documents that are due: signed mandates, statements and invoices, as PDF",
    description:
      "Called by the scheduler with WORKER_SECRET as bearer; safe to call at any time, from several callers at once. Renders for about a " +
      "second; what is left is for the next run.",
    caller: { kind: "worker", secret: "WORKER_SECRET" },
    limit: null,
    sql: ["claim_documents", "store_document", "record_job_run"] as const,
    slow: true,
    response: z
      .object({
        ok: z.boolean().meta({ description: "False when a document could not be rendered" }),
        rendered: z.int(),
        failed: z.int().meta({ description: "Our failures, the cause in the log; due again in five minutes" }),
      })
      .meta({ id: "DocumentsRun" }),
    errors: [],
    failure: "internal_error",
  },
  async ({ call, environment, admitted }) => {
    const { request_id } = await admitted();
    const begun = performance.now();
    const result = await renderDue(environment, call, request_id);
    const ok = result.failed === 0;
    await call("record_job_run", { job: "documents", ok, ms: Math.round(performance.now() - begun) });
    return { ok, ...result };
  },
);
