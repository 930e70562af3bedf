// From balances to the bank: payouts.

import { Argument, Option } from "commander";
import { about, type Command, changed, limit, list, type Row, whole } from "./command.ts";
import type { Answer } from "./database.ts";
import { exportBatch, prepare } from "./payouts.ts";
import { fields, table } from "./text.ts";

const batch = () => new Argument("<batch>", "id of the batch");
const reason = () => new Option("--reason <text>", "why, for the audit; no personal data");

const BATCH_COLUMNS = "batch_id status lines amount_eur paid failed prepared_by prepared_at approved_by exported_at";
const LINE_COLUMNS = "line_id payee partner_slug name iban amount_eur status failed_reason parts";

function prepared({ batch, left_out, payees }: Answer): string {
  const named = (payees as Row[]).filter(({ reason }) => reason !== "below_minimum");
  return [
    batch ? `Prepared. Another person approves it.\n${fields(batch as Row)}` : "Nobody can be paid now.",
    ...((left_out as Row[]).length > 0
      ? [`Left out\n${table(left_out as Row[], ["reason", "payees", "amount_eur"])}`]
      : []),
    ...(named.length > 0
      ? [table(named.slice(0, 50), ["payee", "partner_slug", "amount_eur", "reason", "iban", "iban_changed_at"])]
      : []),
    ...(named.length > 50 ? [`and ${named.length - 50} more; --json names all`] : []),
  ].join("\n\n");
}

function settled({ changed, paid, failed, batch, lines }: Answer): string {
  return [
    changed ? `${paid} lines paid, ${failed} failed.` : "Nothing to change: it was so already.",
    ...(batch ? [fields(batch as Row)] : []),
    ...((lines as Row[]).length > 0 ? [table(lines as Row[], LINE_COLUMNS.split(" "))] : []),
  ].join("\n");
}

export const PAYOUT_COMMANDS: Command[] = [
  {
    name: "payout prepare",
    summary: "Make a batch of all who can be paid now, and name who cannot",
    details:
      "Takes IBAN_KEYS, and a login of your own. Paid is every balance from the minimum on, to an IBAN that has been there for 48 hours; less is carried over while more can come. Somebody else approves the batch.",
    example: "payout prepare --minimum 5",
    takes: [new Option("--minimum <euro>", "from how many euro on; 5 where absent")],
    ops: "payout_prepare",
    perform: { also: ["payout_due"], run: prepare },
    view: prepared,
  },
  {
    name: "payout show",
    summary: "Show a batch and its lines, in the order of the file",
    details: "Names people, so it leaves an audit row.",
    example: "payout show 0b0d1e00-0000-4000-8000-000000000000",
    takes: [
      batch(),
      new Option("--status <status>", "only these lines").choices(["pending", "paid", "failed", "cancelled"]),
      limit(50),
    ],
    ops: "payout_show",
    view: (answer) => `${fields(answer.batch as Row)}\n\n${list("lines", LINE_COLUMNS)(answer)}`,
  },
  {
    name: "payout list",
    summary: "List batches, newest first",
    example: "payout list --status exported",
    takes: [
      new Option("--status <status>", "only these").choices([
        "prepared",
        "approved",
        "exported",
        "settled",
        "cancelled",
      ]),
      limit(50),
    ],
    ops: "payout_list",
    view: list("batches", BATCH_COLUMNS),
  },
  {
    name: "payout approve",
    summary: "Let a batch go to the bank; not by who prepared it",
    details: "Takes a login of your own. payout show says what you approve.",
    example: "payout approve 0b0d1e00-0000-4000-8000-000000000000",
    takes: [batch()],
    ends: about("batch", "will be paid as it stands, once it is exported and at the bank"),
    ops: "payout_approve",
    view: changed("batch", "Batch approved."),
  },
  {
    name: "payout cancel",
    summary: "Give back what a batch took, before it was exported",
    example: 'payout cancel 0b0d1e00-0000-4000-8000-000000000000 --reason "prepared too early"',
    takes: [batch(), reason().makeOptionMandatory()],
    ends: about("batch", "will be cancelled, and its money will be in the balances again"),
    ops: "payout_cancel",
    view: changed("batch", "Batch cancelled."),
  },
  {
    name: "payout export",
    summary: "Write the file for the bank (SEPA, pain.001.001.09)",
    details:
      "Takes IBAN_KEYS, and the account it is paid from: PAYOUT_ACCOUNT_NAME, PAYOUT_ACCOUNT_IBAN, and PAYOUT_ACCOUNT_BIC where the bank asks for it. Written once; where it went astray, --again with a reason writes the same bytes. Nobody but you can read the file.",
    example: "payout export 0b0d1e00-0000-4000-8000-000000000000 --out 2026-Q2.xml",
    takes: [
      batch(),
      new Option("--out <file>", "the file to write").makeOptionMandatory(),
      new Option("--again", "once more, the same bytes"),
      reason(),
    ],
    ops: "payout_export",
    perform: { also: ["payout_keep_file"], run: exportBatch },
    writes: { field: "xml", option: "out" },
    view: ({ batch, file }) => `Written to ${file}.\n${fields(batch as Row)}`,
  },
  {
    name: "payout settle",
    summary: "Note what the bank did: paid a batch, or failed to pay lines",
    details:
      "Of a batch every line is paid that was not said to have failed. --failed takes lines of any batch that was exported, also of one that is settled: the money is in the balance again, and that IBAN is held back.",
    example: "payout settle --failed 0b0d1e00-0000-4000-8000-000000000000",
    takes: [
      new Argument("[batch]", "id of the batch that was paid"),
      new Option(
        "--failed <line...>",
        "lines that were not paid, or came back: their line_id, or the EndToEndId that the bank names",
      ),
      reason(),
    ],
    ops: "payout_settle",
    view: settled,
  },
  {
    name: "payout release",
    summary: "Let the IBAN of a payment that failed be paid again",
    details: "Else only another IBAN is paid.",
    example: 'payout release 0b0d1e00-0000-4000-8000-000000000000 --reason "the bank was in error"',
    takes: [
      new Argument("<payee>", "account id of the customer, or slug or id of the partner"),
      reason().makeOptionMandatory(),
    ],
    ops: "payout_release",
    view: changed("line", "Released: the next batch pays that IBAN."),
  },
  {
    name: "payout overview",
    summary: "Show what was sold of a customer in a calendar year, and what they were paid in it",
    details: "Of a person, so it leaves an audit row. --json has every sale and payment.",
    example: "payout overview KLANT-1001 2026",
    takes: [
      new Argument("<account>", "account id, or its cpo_external_ref where that means one"),
      new Argument("<year>", "a calendar year").argParser(whole(2100)),
    ],
    ops: "payout_overview",
    view: ({ overview }) => {
      const { sales, payments, ...sums } = overview as Row;
      return [
        fields(sums),
        list("sales", "sold_on quarter price_per_ere_eur ere gross_eur fee_eur net_eur")({ sales }),
        list("payments", "paid_on amount_eur to iban")({ payments }),
      ].join("\n\n");
    },
  },
];
