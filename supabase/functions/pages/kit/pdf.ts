import type { KeptDocument } from "#shared/domain/answers.ts";
import { answerDocument } from "#shared/domain/documents.ts";
import type { PageRequest } from "./page_request.ts";
import { kindPage, onward } from "./views.ts";

/** The text of a mandate that nobody signed yet, to read and to keep; it says so. */
export async function unsignedPdf({ c, environment, frame }: PageRequest, text: string): Promise<Response> {
  // most of a megabyte, which other pages do not need
  const [{ mandateBlocks }, { writePdf }] = await Promise.all([
    import("#shared/domain/pdf/mandate_blocks.ts"),
    import("#shared/domain/pdf/pdf.ts"),
  ]);
  const { read, document } = frame.words;
  const { blocks, ...content } = mandateBlocks(text);
  const said = { kind: "paragraph", text: read.unsigned } as const;
  const pdf = await writePdf({ ...content, blocks: [said, ...blocks] }, environment.now());
  return c.body(Uint8Array.from(pdf), 200, {
    "Content-Type": "application/pdf",
    "Content-Disposition": `inline; filename="${document.filename.replace(/txt$/, "pdf")}"`,
  });
}

/** A document as it was kept. In the first seconds there is none yet: a page that leads back to `here`. */
export async function asPdf(request: PageRequest, reading: Promise<KeptDocument>, here: string): Promise<Response> {
  const { answer, refused } = await request.attempt(reading, ["document_not_ready"]);
  if (answer) return answerDocument(answer);
  const { document_not_ready } = request.frame.words;
  request.c.header("Retry-After", String(refused.retryAfter));
  return request.page(kindPage(request.frame, document_not_ready, onward(here, document_not_ready.action)), 503);
}
