import type { KeptDocument } from "#shared/domain/answers.ts";
import { answerDocument } from "#shared/domain/documents.ts";
import type { PageRequest } from "./page_request.ts";
import { kindPage, onward } from "./views.ts";

/** A document as it was kept. In the first seconds there is none yet: a page that leads back to `here`. */
export async function asPdf(request: PageRequest, reading: Promise<KeptDocument>, here: string): Promise<Response> {
  const { answer, refused } = await request.attempt(reading, ["document_not_ready"]);
  if (answer) return answerDocument(answer);
  const { document_not_ready } = request.frame.words;
  request.c.header("Retry-After", String(refused.retryAfter));
  return request.page(kindPage(request.frame, document_not_ready, onward(here, document_not_ready.action)), 503);
}
