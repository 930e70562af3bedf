import { answerDocument, PdfDocument } from "#shared/domain/documents.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { filter, instant, limit, offset, uuid } from "#shared/values/fields.ts";
import { pageFields } from "#shared/values/models.ts";

const Settlement = z
  .object({
    settlement_id: z.guid().meta({ description: "The settlement: what of one payment is for one account" }),
    account_id: z.guid().meta({ description: "The account" }),
    cpo_external_ref: z.string().nullable().meta({ description: "Your own customer number" }),
    amount_eur: z.number().meta({
      description: "What of the payment is for this customer, after the fee; below zero what was taken back",
    }),
    status: z.enum(["pending", "approved", "paid", "failed"]).meta({
      description:
        "Of the payment to you: prepared; let go to the bank; paid; or not, in which case the amount comes with a later one",
    }),
    payment_reference: z.string().meta({
      description: "The EndToEndId of the payment, as your bank shows it",
      example: "0b0d1e0000004000800000000000000b",
    }),
    created_at: instant().meta({ description: "When it was made" }),
    paid_at: instant().nullable().meta({ description: "When it was paid; null until then" }),
  })
  .meta({ id: "Settlement" });

const filters = {
  payment_reference: filter(36).meta({ description: "Only of this payment" }),
  cpo_external_ref: filter(120).meta({ description: "Only of the account with this reference" }),
};
const DESCRIPTION =
  "Of accounts with `payout_handler: via_cpo_invoicing`: one for each account and payment to you, newest payment first.";

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
    description: `${DESCRIPTION} The columns have the names of the fields. At most the 10,000 newest.`,
    caller: { kind: "cpo", scope: "cpo:accounts:read" },
    limit: "cpo_read",
    sql: ["write_settlements"],
    query: z.object({ limit: limit(10_000, 10_000), offset: offset(), ...filters }),
    produces: "text/csv",
    response: z.string(),
    errors: [],
    failure: "list_failed",
  },
  async ({ query, call }) => {
    const { csv }: { csv: string } = JSON.parse(await call("write_settlements", query));
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
    summary: "Download a settlement, for the customer whose it is",
    description:
      "A tagged PDF (PDF/UA-1) in the customer's language: that it was paid to you, for which months how many kWh and ERE, what they yielded, and the fee. " +
      "Of payments that were made, always the same bytes (`Repr-Digest`, RFC 9530). In the first minutes it is still being written: 503 with `Retry-After`.",
    params: { settlement_id: "The settlement: what of one payment is for one account" },
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
