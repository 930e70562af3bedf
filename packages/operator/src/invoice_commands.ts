// Invoices in the partners' names, and VAT.

import { Argument, Option } from "commander";
import { type Command, changed, limit, list, type Row } from "./command.ts";
import type { OpsAnswer } from "./database.ts";
import { euro, fields, table } from "./text.ts";

const ofPartner = () => new Option("--partner <partner>", "only of this partner (id or slug)");
const INVOICE_COLUMNS = "number partner_slug quarter issued_on vat_regime vat_rate net_eur vat_eur total_eur corrects";

const INVOICE_SUMS = "net_eur vat_eur total_eur";

/** What is typed, or waited for, so that a partner can be invoiced. */
const MISSING: Record<string, string> = {
  vat_regime_missing: "say how it is invoiced: partner set <partner> --vat-regime",
  address_missing: "who manages the partner gives it at /portal/settings",
  vat_number_missing: "who manages the partner gives it at /portal/settings",
  vat_number_not_dutch: "the regime regular needs a Dutch VAT number, and the partner's is foreign",
  vat_number_dutch: "the regime reverse_charge needs a foreign VAT number, and the partner's is Dutch",
};

/** `next` is what is typed once they are issued. */
const issued =
  (next?: string) =>
  ({ invoices, left_out }: OpsAnswer): string => {
    const sorted = (invoices as Row[]).toSorted((a, b) => String(a.partner_slug).localeCompare(String(b.partner_slug)));
    return [
      list("invoices", INVOICE_COLUMNS, { sums: INVOICE_SUMS, ...(next ? { next } : {}) })({ invoices: sorted }),
      ...((left_out as Row[]).length > 0
        ? [
            `Left out\n${table(
              (left_out as Row[]).map((row) => ({ ...row, help: MISSING[String(row.reason)] })),
              ["partner_slug", "net_eur", "reason", "help"],
            )}`,
          ]
        : []),
    ].join("\n\n");
  };

export const INVOICE_COMMANDS: Command[] = [
  {
    name: "invoice issue",
    summary: "Write the partners' invoices for their share in the fees of a quarter",
    details:
      "Self-billing: one invoice for each partner, for the share that is on no invoice yet. If a sale was reversed, " +
      "its invoice gets a credit note. Numbers have no gaps by partner and year of issue. VAT is added, and the " +
      "next payout pays it. A partner is left out, and named, if it has no VAT regime (partner set --vat-regime), " +
      "VAT number or address that it needs.",
    example: "invoice issue 2026-Q2",
    takes: [
      new Argument("<quarter>", "a quarter, such as 2026-Q2"),
      ofPartner(),
      new Option("--all", "of every partner; shows the invoices before it asks"),
    ],
    looks: { ops: ({ all }) => (all ? "invoice_issue" : undefined), view: issued() },
    ends: ({ all }) => (all ? "These invoices will be issued; their numbers stay." : undefined),
    ops: "invoice_issue",
    view: issued("payout prepare"),
  },
  {
    name: "invoice list",
    summary: "List invoices, newest first",
    example: "invoice list 2026-Q2",
    takes: [new Argument("[quarter]", "only of this quarter"), ofPartner(), limit(50)],
    ops: "invoice_list",
    view: list("invoices", INVOICE_COLUMNS, { sums: INVOICE_SUMS }),
  },
  {
    name: "invoice show",
    summary: "Show an invoice and its lines, by month of delivery",
    example: "invoice show laadpunt-zuid 2026-0001",
    takes: [new Argument("<partner>", "id or slug of the partner"), new Argument("<number>", "such as 2026-0001")],
    ops: "invoice_show",
    view: (answer) => {
      const { number, corrects, partner_slug, quarter, total_eur, ...rest } = answer.invoice as Row;
      const kind = corrects ? "Credit note" : "Invoice";
      return [
        `${kind} ${number} of ${partner_slug} is ${euro(total_eur)} with VAT, for ${quarter}.`,
        fields({ number, corrects, partner_slug, quarter, total_eur, ...rest }),
        list("months", "period customers ere fee_eur share_eur", { sums: "ere fee_eur share_eur" })(answer),
      ].join("\n\n");
    },
  },
  {
    name: "vat list",
    summary: "List the standard rates of VAT",
    example: "vat list",
    ops: "vat_list",
    view: list("rates", "valid_from rate"),
  },
  {
    name: "vat set",
    summary: "Set the standard rate of VAT from a day on",
    details: "A rate that was used on an invoice cannot be changed.",
    example: "vat set 2027-01-01 22",
    takes: [
      new Argument("<valid_from>", "the first day, such as 2027-01-01"),
      new Argument("<rate>", "percent, at most two decimals"),
    ],
    ops: "vat_set",
    view: changed("rate", "Rate set."),
  },
];
