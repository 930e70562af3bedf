import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { renderDue } from "./render.ts";

export const run = endpoint(
  {
    id: "renderDocuments",
    summary: "Render the documents that are due: signed mandates, statements and invoices, as PDF",
    description:
      "The scheduler calls this with WORKER_SECRET as bearer. It is safe to call at any time, and several times at " +
      "once. It renders for about a second; the next run does the rest.",
    caller: { kind: "worker", secret: "WORKER_SECRET" },
    limit: null,
    sql: ["lease_documents", "store_document", "record_job_run"] as const,
    slow: true,
    response: z
      .object({
        ok: z.boolean().meta({ description: "False when a document could not be rendered" }),
        rendered: z.int(),
        failed: z.int().meta({
          description: "Documents that we failed to render, with the cause in the log; retried in five minutes",
        }),
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
