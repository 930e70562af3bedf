import { answerDocument, PdfDocument } from "#shared/domain/documents.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";

export const listInvoices = endpoint(
  {
    id: "listInvoices",
    summary: "List the invoices that were written in the partner's name",
    description:
      "For your share in the fees, by the quarter of delivery, newest first: the service writes them for you (self-billing). Below zero a credit note, of the invoice in `corrects`.",
    caller: { kind: "partner", scope: "partners:read", key: true },
    limit: "partner_read",
    sql: ["list_invoices"],
    response: z
      .object({
        invoices: z
          .array(
            z.object({
              number: z
                .string()
                .meta({ example: "2026-0001", description: "By year of issue, without gaps among your invoices" }),
              period: z.string().meta({ example: "2026-Q1", description: "The quarter of delivery" }),
              issued_on: z.iso.date().meta({ description: "The day it was issued" }),
              corrects: z.string().nullable().meta({ description: "Of a credit note: the number of its invoice" }),
              vat_regime: z.enum(["none", "small_business", "regular", "reverse_charge"]).meta({
                description:
                  "none: no business for VAT; small_business: exempt (KOR); regular: the standard rate; reverse_charge: the service declares it",
              }),
              vat_rate: z.number().meta({ description: "Percent", example: 21 }),
              net_eur: z.number().meta({ description: "Your share, without VAT" }),
              vat_eur: z.number().meta({ description: "VAT on top of it, rounded half up once" }),
              total_eur: z.number().meta({ description: "Both together" }),
            }),
          )
          .meta({ description: "Newest first" }),
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
      "A tagged PDF (PDF/UA-1), always the same bytes (`Repr-Digest`, RFC 9530). In the first minutes it is still being written: 503 with `Retry-After`.",
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
