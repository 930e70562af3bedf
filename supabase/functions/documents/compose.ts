import { composeInvoice, type Invoice } from "./invoice.ts";
import { composeMandate, type SignedMandate } from "./mandate.ts";
import { composeOverview, type YearOverview } from "./overview.ts";
import { type Content, writePdf } from "./pdf.ts";
import type { Service } from "./sender.ts";
import { composeStatement, type Statement } from "./statement.ts";

/** A document as api.lease_documents gives it. */
export type Due = { partner_id: string; id: string; created_at: string } & (
  | { kind: "mandate"; content: SignedMandate }
  | { kind: "statement"; content: Statement }
  | { kind: "overview"; content: YearOverview }
  | { kind: "invoice"; content: Invoice }
);

/** @param service The service that pays, as people know it. */
export function render(document: Due, service: Service): Promise<Uint8Array> {
  return writePdf(compose(document, service), new Date(document.created_at));
}

function compose(document: Due, service: Service): Content {
  switch (document.kind) {
    case "mandate":
      return composeMandate(document.content);
    case "statement":
      return composeStatement(document.content, service);
    case "overview":
      return composeOverview(document.content, service);
    case "invoice":
      return composeInvoice(document.content, service);
  }
}
