import { answerDocument, PdfDocument } from "#shared/domain/documents.ts";
import { Invoice } from "#shared/endpoints/responses/invoice.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";

export const listInvoices = endpoint(
  {
    id: "listInvoices",
    summary: "List the invoices written in the partner's name",
    description:
      "Invoices for your share in the fees, by quarter of delivery, newest first. The service writes them for you " +
      "(self-billing). A negative amount is a credit note for the invoice in `corrects`.",
    caller: { kind: "partner", scope: "partners:read", key: true },
    limit: "partner_read",
    sql: ["list_invoices"],
    response: z
      .object({
        invoices: z.array(Invoice).meta({ description: "Newest first" }),
      })
      .meta({ id: "PartnerInvoices" }),
    errors: [],
    failure: "partner_read_failed",
  },
  ({ call }) => call("list_invoices"),
);

export const readInvoice = endpoint(
  {
    id: "readInvoice",
    summary: "Download an invoice",
    description:
      "A tagged PDF (PDF/UA-1) whose bytes never change (`Repr-Digest`, RFC 9530). In the first minutes the PDF is " +
      "not ready: the call returns 503 with `Retry-After`.",
    params: { invoice_number: "The invoice's number, from GET /partner/payouts" },
    caller: { kind: "partner", scope: "partners:read", key: true },
    limit: "partner_read",
    sql: ["read_invoice"],
    produces: "application/pdf",
    response: PdfDocument,
    errors: ["invoice_not_found", "document_not_ready"],
    failure: "partner_read_failed",
  },
  async ({ param, call, fail }) => {
    const number = /^20\d\d-\d{4,9}$/.exec(param("invoice_number"))?.[0] ?? fail("invoice_not_found");
    return answerDocument(JSON.parse(await call("read_invoice", { number })));
  },
);
