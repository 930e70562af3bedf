// From balances to the bank: payouts.

import { Argument, Option } from "commander";
import { about, type Command, changed, count, limit, list, type Row, whole } from "./command.ts";
import type { OpsAnswer } from "./database.ts";
import { adopt, exportBatch, prepare } from "./payouts.ts";
import { euro, fields, table } from "./text.ts";

const batch = () => new Argument("<batch>", "id of the batch");
const reason = () => new Option("--reason <text>", "the reason, for the audit log; no personal data");

const BATCH_COLUMNS = "batch_id status lines amount_eur paid failed prepared_by prepared_at approved_by exported_at";
const LINE_COLUMNS = "line_id reference payee partner_slug name iban amount_eur status failed_reason parts";

/** Why a payee is left out, and what helps. */
const REASONS: Record<string, string> = {
  owes: "the balance is negative, because a paid sale was reversed; later sales settle it",
  below_minimum: "the balance is below --minimum; it is carried over",
  iban_missing: "there is no IBAN; the payee has to give one",
  iban_changed:
    "the IBAN was given or changed less than 48 hours ago, and we wait in case somebody else did it; run payout prepare again after that",
  name_unreadable: "the name has no letter or digit that banks accept; correct the name",
  iban_invalid: "the checksum of the IBAN is wrong; the payee has to give another one",
  iban_outside_sepa: "the country of the IBAN is outside SEPA; the payee has to give another one",
  iban_failed: "a payment to this IBAN failed; the payee has to give another one, or run payout release",
  iban_unreadable: "these IBAN_KEYS cannot decrypt the IBAN; set the keys that the functions have",
  not_judged: "something changed meanwhile; run payout prepare again",
};

/** How many lines of a long list are shown. */
const MOST_NAMED = 50;

function prepared({ batch, left_out, payees }: OpsAnswer): string {
  const named = (payees as Row[]).filter(({ reason }) => reason !== "below_minimum");
  return [
    batch ? `Prepared. Another person approves it.\n${fields(batch as Row)}` : "Nobody can be paid now.",
    ...((left_out as Row[]).length > 0
      ? [
          `Left out\n${table(left_out as Row[], ["reason", "payees", "amount_eur"])}`,
          (left_out as Row[]).map(({ reason }) => `${reason}: ${REASONS[String(reason)]}.`).join("\n"),
        ]
      : []),
    ...(named.length > 0
      ? [
          table(named.slice(0, MOST_NAMED), [
            "payee",
            "partner_slug",
            "amount_eur",
            "reason",
            "iban",
            "iban_changed_at",
          ]),
        ]
      : []),
    ...(named.length > MOST_NAMED ? [`and ${named.length - MOST_NAMED} more; --json names all`] : []),
  ].join("\n\n");
}

function settled({ changed, paid, failed, batch, lines }: OpsAnswer): string {
  return [
    changed ? `${count(paid, "line")} paid, ${failed} failed.` : "Nothing to change: it was so already.",
    ...(batch ? [fields(batch as Row)] : []),
    ...((lines as Row[]).length > 0 ? [table(lines as Row[], LINE_COLUMNS.split(" "))] : []),
  ].join("\n");
}

/** Whom a batch pays, where it waits for approval. */
function toApprove(answer: OpsAnswer): string | undefined {
  const batch = answer.batch as Row;
  if (batch.status !== "prepared") return undefined;
  const lines = answer.lines as Row[];
  return [
    `${batch.prepared_by} prepared ${count(batch.lines, "payment")}, ${euro(batch.amount_eur)} in all:`,
    table(lines.slice(0, MOST_NAMED), ["name", "iban", "amount_eur", "partner_slug"]),
    ...(Number(batch.lines) > MOST_NAMED
      ? [`and ${Number(batch.lines) - MOST_NAMED} more; payout show ${batch.batch_id} --limit 1000 names them`]
      : []),
  ].join("\n");
}

export const PAYOUT_COMMANDS: Command[] = [
  {
    name: "payout prepare",
    summary: "Prepare a batch of everyone who can be paid now, and name who cannot",
    details:
      "Needs IBAN_KEYS, and a login of your own. Pays every balance from the minimum on, to an IBAN stored for 48 " +
      "hours or more. A smaller balance is carried over while more can come. Another operator approves the batch.",
    example: "payout prepare --minimum 5",
    takes: [new Option("--minimum <euro>", "minimum in euro; 5 if omitted")],
    ops: "payout_prepare",
    perform: { also: ["payout_due"], run: prepare },
    view: prepared,
  },
  {
    name: "payout show",
    summary: "Show a batch and its lines, in the order of the file",
    details: "Shows personal data, so it leaves an audit row.",
    example: "payout show 0b0d1e00-0000-4000-8000-000000000000",
    takes: [
      batch(),
      new Option("--status <status>", "only these lines").choices(["pending", "paid", "failed", "cancelled"]),
      limit(50),
    ],
    ops: "payout_show",
    view: ({ batch, lines }) => {
      const { status, lines: payments, amount_eur, paid, failed } = batch as Row;
      return [
        `This batch is ${status}: ${count(payments, "payment")}, ${euro(amount_eur)} in all, ${paid} paid and ${failed} failed.`,
        fields(batch as Row),
        list("lines", LINE_COLUMNS)({ lines }),
      ].join("\n\n");
    },
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
    summary: "Approve a batch for the bank; not by the operator who prepared it",
    details:
      "Needs a login of your own. Names whom the batch pays before it asks, which leaves an audit row; payout show " +
      "lists every line.",
    example: "payout approve 0b0d1e00-0000-4000-8000-000000000000",
    takes: [batch()],
    looks: { ops: "payout_approve", view: toApprove },
    ends: about("batch", "will be paid as it is, once it is exported and sent to the bank"),
    ops: "payout_approve",
    view: changed("batch", "Batch approved."),
  },
  {
    name: "payout cancel",
    summary: "Return the money of a batch to the balances, before it is exported",
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
      "Needs IBAN_KEYS, and the account it is paid from: PAYOUT_ACCOUNT_NAME, PAYOUT_ACCOUNT_IBAN, and " +
      "PAYOUT_ACCOUNT_BIC if the bank asks for it. Runs once; if the file was lost, --again with a reason writes " +
      "the same bytes. Only you can read the file.",
    example: "payout export 0b0d1e00-0000-4000-8000-000000000000 --out 2026-Q2.xml",
    takes: [
      batch(),
      new Option("--out <file>", "the file to write").makeOptionMandatory(),
      new Option("--again", "write the same bytes again"),
      reason(),
    ],
    ops: "payout_export",
    perform: { also: ["payout_keep_file"], run: exportBatch },
    writes: { field: "xml", option: "out" },
    view: ({ batch, file }) => `Written to ${file}.\n${fields(batch as Row)}`,
  },
  {
    name: "payout settle",
    summary: "Record what the bank did: paid a batch, or failed to pay lines",
    details:
      "For a batch, every line is paid unless it was reported failed. --failed takes lines of any exported batch, " +
      "also of a settled one: the money returns to the balance, and that IBAN is blocked.",
    example: "payout settle --failed 0b0d1e00-0000-4000-8000-000000000000",
    takes: [
      new Argument("[batch]", "id of the batch that was paid"),
      new Option(
        "--failed <line...>",
        "lines that were not paid or came back: their line_id, or the EndToEndId in the bank's report",
      ),
      reason(),
    ],
    ops: "payout_settle",
    view: settled,
  },
  {
    name: "payout adopt",
    summary: "After a restore, take in a batch that the bank has and this database does not",
    details:
      "Needs IBAN_KEYS, and a login of your own. Reads the file that the bank got, prepares that batch under the same " +
      "ids, and after another operator approved it stores that file as exported. Each payment must be exactly what " +
      "its payee is owed here.",
    example: "payout adopt 2026-Q2.xml",
    takes: [new Argument("<file>", "the file that the bank got")],
    ops: "payout_adopt",
    perform: { also: ["payout_export", "payout_keep_file"], run: adopt },
    view: ({ changed: isNew, batch }) => {
      const { status, batch_id } = batch as Row;
      const next =
        status === "prepared"
          ? `Prepared as the bank has it. Another operator runs payout approve ${batch_id}; then repeat this.`
          : isNew
            ? "It is stored as exported, with the file that the bank has. Do not send it again."
            : `Nothing to change: it is ${status} here.`;
      return `${next}\n${fields(batch as Row)}`;
    },
  },
  {
    name: "payout resume",
    summary: "After a restore, let this database pay out again",
    details: "Needs a login of your own. Run payout adopt first for each batch that the bank has.",
    example: 'payout resume --reason "the bank has no batch that is missing here"',
    takes: [reason().makeOptionMandatory()],
    ends: () => "If the bank has a batch that is not exported here, its payments will be made twice.",
    ops: "payout_resume",
    view: ({ changed: isNew }) => (isNew ? "Payouts go on." : "Nothing to change: it was so already."),
  },
  {
    name: "payout release",
    summary: "Allow payments to an IBAN again after a failed payment",
    details: "Without this, only another IBAN is paid.",
    example: 'payout release 0b0d1e00-0000-4000-8000-000000000000 --reason "the bank was in error"',
    takes: [
      new Argument("<payee>", "account id of the customer, or id or slug of the partner"),
      reason().makeOptionMandatory(),
    ],
    ops: "payout_release",
    view: changed("line", "Released: the next batch pays that IBAN."),
  },
  {
    name: "payout overview",
    summary: "Show what was sold for a customer in a calendar year, and what they were paid in it",
    details: "Shows personal data, so it leaves an audit row. --json has every sale and payment.",
    example: "payout overview KLANT-1001 2026",
    takes: [
      new Argument("<account>", "account id, or its cpo_external_ref if only one account has it"),
      new Argument("<year>", "a calendar year").argParser(whole(2100)),
    ],
    ops: "payout_overview",
    view: ({ overview }) => {
      const { sales, payments, ...sums } = overview as Row;
      return [
        `In ${sums.year} ${euro(sums.net_eur)} was sold for this customer after the fee, and ${euro(sums.paid_eur)} was paid.`,
        fields(sums),
        list("sales", "sold_on quarter price_per_ere_eur ere gross_eur fee_eur net_eur")({ sales }),
        list("payments", "paid_on amount_eur to iban")({ payments }),
      ].join("\n\n");
    },
  },
];
