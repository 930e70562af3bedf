import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { Call } from "#shared/foundation/answers.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { describeCause } from "#shared/foundation/log.ts";

/** Rendering takes processor time, and the platform gives a request two seconds of it. */
const BUDGET_MS = 1_000;
const BATCH = 4;

/**
 * Renders due documents, for about a second. A run leases a document for five minutes first, so two runs at once share
 * the work. If a document is still rendered twice, the first result is kept.
 */
export async function renderDue(
  environment: Environment,
  call: Call<"lease_documents" | "store_document">,
  request_id: string,
): Promise<{ rendered: number; failed: number }> {
  const result = { rendered: 0, failed: 0 };
  let spent = 0;
  while (spent < BUDGET_MS) {
    const due = JSON.parse(await call("lease_documents", { size: BATCH }));
    if (due.length === 0) break;
    // a megabyte, which most runs do not need
    const { render } = await import("./compose.ts");
    for (const document of due) {
      const { partner_id, id } = document;
      const begun = performance.now();
      try {
        const pdf = await render(document, environment.config);
        const sha256 = createHash("sha256").update(pdf).digest("hex");
        const rendered = { partner_id, id, sha256, pdf: Buffer.from(pdf).toString("base64") };
        await call("store_document", rendered);
        result.rendered += 1;
      } catch (error) {
        result.failed += 1;
        const document_id = id;
        environment.log({ level: "error", event: "document_failed", request_id, document_id, ...describeCause(error) });
      }
      spent += performance.now() - begun;
    }
  }
  return result;
}
