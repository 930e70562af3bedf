import { answerDocument, type KeptDocument } from "#shared/domain/documents.ts";
import { kindPage, onward } from "./views.ts";
import type { Visit } from "./visit.ts";

/** A document as it was kept. In the first seconds there is none yet: a page that leads back to `here`. */
export async function asPdf(visit: Visit, reading: Promise<KeptDocument>, here: string): Promise<Response> {
  const { answer, refused } = await visit.attempt(reading, ["document_not_ready"]);
  if (answer) return answerDocument(answer);
  const { document_not_ready } = visit.frame.words;
  visit.c.header("Retry-After", String(refused.retryAfter));
  return visit.page(kindPage(visit.frame, document_not_ready, onward(here, document_not_ready.action)), 503);
}
