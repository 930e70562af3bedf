import { composeMandate, type SignedMandate } from "./mandate.ts";
import { writePdf } from "./pdf.ts";
import { composeStatement, type Statement } from "./statement.ts";

/** A document as api.claim_documents gives it. */
export type Due = { partner_id: string; id: string; created_at: string } & (
  | { kind: "mandate"; content: SignedMandate }
  | { kind: "statement"; content: Statement }
);

/** @param service The service that pays, as people know it. */
export function render(document: Due, service: string): Promise<Uint8Array> {
  const content =
    document.kind === "mandate" ? composeMandate(document.content) : composeStatement(document.content, service);
  return writePdf(content, new Date(document.created_at));
}
