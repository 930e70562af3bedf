import { answerDocument, PdfDocument } from "#shared/domain/documents.ts";
import { Settlement } from "#shared/endpoints/responses/settlement.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { filter, limit, offset, uuid } from "#shared/values/fields.ts";
import { pageFields } from "#shared/values/models.ts";

const filters = {
  payment_reference: filter(36).meta({
    description:
      "Return only settlements of this payment, by its payment_reference or the reference on a customer's statement",
  }),
  cpo_external_ref: filter(120).meta({ description: "Return only settlements of the account with this reference" }),
};
const DESCRIPTION =
  "For accounts with `payout_handler: via_cpo_invoicing`: one settlement per account and payment to you, newest " +
  "payment first.";

export const listSettlements = endpoint(
  {
    id: "listSettlements",
    summary: "List what you were paid for each customer that you settle with yourself",
    description: DESCRIPTION,
    caller: { kind: "cpo", scope: "cpo:accounts:read" },
    limit: "cpo_read",
    sql: ["list_settlements"],
    query: z.object({ limit: limit(50), offset: offset(), ...filters }),
    response: z
      .object({ settlements: z.array(Settlement).meta({ description: "This page of settlements" }), ...pageFields })
      .meta({ id: "SettlementPage" }),
    errors: [],
    failure: "list_failed",
  },
  ({ query, call }) => call("list_settlements", query),
);

export const writeSettlements = endpoint(
  {
    id: "writeSettlements",
    summary: "The same as CSV, for a spreadsheet",
    description: `${DESCRIPTION} The column names are the field names. Has at most the 10,000 newest settlements.`,
    caller: { kind: "cpo", scope: "cpo:accounts:read" },
    limit: "cpo_read",
    sql: ["export_settlements"],
    query: z.object({ limit: limit(10_000, 10_000), offset: offset(), ...filters }),
    produces: "text/csv",
    response: z.string(),
    errors: [],
    failure: "list_failed",
  },
  async ({ query, call }) => {
    const { csv } = JSON.parse(await call("export_settlements", query));
    return new Response(csv, {
      headers: {
        "Content-Type": "text/csv; charset=utf-8",
        "Content-Disposition": 'attachment; filename="settlements.csv"',
      },
    });
  },
);

export const readSettlement = endpoint(
  {
    id: "readSettlement",
    summary: "Download a settlement, to give to the customer",
    description:
      "A tagged PDF (PDF/UA-1) in the customer's language. It says that we paid you, for which months, how many kWh " +
      "and ERE, the yield and the fee. Once the payment is made, the bytes never change (`Repr-Digest`, RFC 9530). " +
      "In the first minutes the PDF is not ready: the call returns 503 with `Retry-After`.",
    params: { settlement_id: "The settlement: one account's part of one payment" },
    caller: { kind: "cpo", scope: "cpo:accounts:read" },
    limit: "cpo_read",
    sql: ["read_settlement"],
    produces: "application/pdf",
    response: PdfDocument,
    errors: ["settlement_not_found", "document_not_ready"],
    failure: "internal_error",
  },
  async ({ param, call, fail }) => {
    const settlement_id = uuid().safeParse(param("settlement_id")).data ?? fail("settlement_not_found");
    return answerDocument(JSON.parse(await call("read_settlement", { settlement_id })));
  },
);
