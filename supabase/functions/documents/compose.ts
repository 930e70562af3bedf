import type { Due } from "./answers.ts";
import { composeInvoice } from "./invoice.ts";
import { composeMandate } from "./mandate.ts";
import { composeOverview } from "./overview.ts";
import { type Content, writePdf } from "./pdf.ts";
import type { Service } from "./sender.ts";
import { composeStatement } from "./statement.ts";

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
