import { z } from "#shared/foundation/zod.ts";
import type { KeptDocument } from "./answers.ts";

/**
 * The parts of the declaration of an endpoint that returns a document; the other part is `produces:
 * "application/pdf"`.
 */
export const PdfDocument = z.instanceof(Uint8Array).meta({ override: { type: "string", format: "binary" } });

const bytesOf = (binary: string) => Uint8Array.from(binary, (letter) => letter.charCodeAt(0));

/** A stored document as a response, byte for byte. Browsers show it, and save it under its name. */
export function answerDocument({ pdf, sha256, name }: KeptDocument): Response {
  const digest = btoa(sha256.replace(/../g, (byte) => String.fromCharCode(Number.parseInt(byte, 16))));
  return new Response(bytesOf(atob(pdf)), {
    headers: {
      "Content-Type": "application/pdf",
      "Content-Disposition": `inline; filename="${name}.pdf"`,
      // RFC 9530
      "Repr-Digest": `sha-256=:${digest}:`,
      "Cache-Control": "private, no-store",
    },
  });
}
