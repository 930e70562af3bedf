// From balances to the bank: payouts.

import { Argument, Option } from "commander";
import { about, type Command, changed, count, limit, list, type Row, titled, whole } from "./command.ts";
import type { OpsAnswer } from "./database.ts";
import { adopt, exportBatch, prepare, readAnswer, storeIban } from "./payouts.ts";
import { PAYOUT_STEPS } from "./quarter.ts";
import { details, euro, fields, table } from "./text.ts";

const batch = () => new Argument("<batch>", "id of the batch");
const reason = () => new Option("--reason <text>", "the reason, for the audit log; no personal data");

const BATCH_COLUMNS = "batch_id status lines amount_eur paid failed exported_at";

/** What to type next of a batch, and who. */
function nextStep({ batch_id, status, reject_asked_by }: Row): string[] {
  const { approve, send, reject, settle } = PAYOUT_STEPS;
  if (status === "prepared") return [`Next, another operator: ${approve(batch_id)}`];
  if (status === "approved") return [`Next: ${send(batch_id, "<file>.xml")}, and send that file to the bank`];
  if (status === "exported" && reject_asked_by !== null)
    return [`${reject_asked_by} said that the bank refused it. Next, another operator: ${reject(batch_id)}`];
  return status === "exported" ? [`Next, when the bank answers: ${settle()}`] : [];
}

/** A batch in one sentence, and what to type next. All fields by --verbose. */
function batchText(batch: Row): string {
  const { batch_id, status, lines: payments, amount_eur, paid, failed } = batch;
  const counts = Number(paid) + Number(failed) > 0 ? `, ${paid} paid and ${failed} failed` : "";
  return (
    [
      `Batch ${batch_id} is ${status}: ${count(payments, "payment")}, ${euro(amount_eur)} in all${counts}.`,
      ...nextStep(batch),
    ].join("\n") + details(batch)
  );
}
const LINE_COLUMNS = "line_id reference payee partner_slug name iban amount_eur status failed_reason parts";

const batchChanged = ({ changed, batch }: OpsAnswer) =>
  `${changed ? "" : "Nothing to change: it was so already.\n"}${batchText(batch as Row)}`;

/** Why a payee is left out, and what helps. */
const REASONS: Record<string, string> = {
  owes: "the balance is negative, because a paid sale was reversed; later sales settle it",
  below_minimum: "the balance is below --minimum; it is carried over",
  iban_missing: "there is no IBAN; the payee has to give one",
  iban_changed:
    "the IBAN was given or changed less than 48 hours ago, and we wait in case somebody else did it; run payout prepare again after that",
  name_unreadable: "the name has no letter or digit that banks accept; give one with payout name",
  holder_died:
    "the bank says that the holder died; ask the heirs for their account, store it by payout iban, then run payout release",
  iban_invalid: "the checksum of the IBAN is wrong; the payee has to give another one",
  iban_outside_sepa: "the country of the IBAN is outside SEPA; the payee has to give another one",
  iban_failed: "a payment to this IBAN failed; the payee has to give another one, or run payout release",
  iban_unreadable: "these IBAN_KEYS cannot decrypt the IBAN; set the keys that the functions have",
  not_judged: "something changed meanwhile; run payout prepare again",
};

/** How many lines of a long list are shown. */
const MOST_NAMED = 50;

const DUTCH = new Intl.DateTimeFormat("en-GB", {
  timeZone: "Europe/Amsterdam",
  ...({ weekday: "long", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" } as const),
});

function prepared({ batch, left_out, payees }: OpsAnswer): string {
  const named = (payees as Row[]).filter(({ reason }) => reason !== "below_minimum");
  const held = named.flatMap(({ until }) => (until ? [String(until)] : [])).sort();
  return [
    batch ? batchText(batch as Row) : "Nobody can be paid now.",
    ...((left_out as Row[]).length > 0
      ? [
          `Left out\n${table(left_out as Row[], ["reason", "payees", "amount_eur"], ["payees", "amount_eur"])}`,
          (left_out as Row[]).map(({ reason }) => `${reason}: ${REASONS[String(reason)]}.`).join("\n"),
        ]
      : []),
    ...(named.length > 0
      ? [table(named.slice(0, MOST_NAMED), ["payee", "partner_slug", "amount_eur", "reason", "iban", "until"])]
      : []),
    ...(named.length > MOST_NAMED ? [`and ${named.length - MOST_NAMED} more; --json names all`] : []),
    ...(held.length > 0
      ? [`For whose IBAN is new: payout prepare, after ${DUTCH.format(new Date(held.at(-1) ?? ""))} (Amsterdam)`]
      : []),
  ].join("\n\n");
}

function settled({ changed, paid, failed, waits, batch, lines }: OpsAnswer): string {
  return [
    ...(Number(waits) > 0
      ? [
          `${count(waits, "line")} waits until another operator runs the same command${batch ? ", and the batch with it" : ""}.`,
        ]
      : []),
    changed ? `${count(paid, "line")} paid, ${failed} failed.` : "Nothing to change: it was so already.",
    ...(batch ? [batchText(batch as Row)] : []),
    ...((lines as Row[]).length > 0 ? [table(lines as Row[], LINE_COLUMNS.split(" "))] : []),
  ].join("\n");
}

/** What came of each thing that the bank's file says; the lines that need no word are only counted. */
const OUTCOMES: Record<string, string> = {
  paid: "paid: booked, and settled here",
  failed: "failed: did not arrive, and the money is in the balance again; effect says who is paid it",
  rejected: "rejected: the bank refused the whole file; its money is payable again, and nobody is mailed",
  waits:
    "waits: nothing changed yet; the money comes back into the balance once another operator runs the same command",
  already: "already: it was so before",
  unknown: "unknown: nothing here has that id; it is of another host or older than seven years, so read the file there",
  not_exported: "not_exported: its batch is not at the bank, so this file is not about it; nothing changed",
  amount_differs:
    "amount_differs: amount_eur is the bank's and wanted_eur is ours; nothing changed. Ask the bank about what it booked",
  sum_differs:
    "sum_differs: the bank booked amount_eur, and the lines that did not fail are wanted_eur; nothing changed. Read what it refused or sent back of the batch first, then this file again. If it booked the batch in parts that come to wanted_eur, run payout settle <batch>; if they come to more, ask it for the surplus back",
  no_day: "no_day: booked, but the bank says no day of it; nothing changed. Ask the bank for a file with the day",
  had_before: "had_before: the bank had the same order before, and pays that one; nothing changed",
  booked_twice: "booked_twice: booked before; the bank may have paid twice, so ask it for the surplus back",
  failed_before:
    "failed_before: booked, but it failed here before; if the bank paid it and nothing came back, run payout settle --booked",
  booked_before:
    "booked_before: refused by the bank, but it is paid here; nothing changed. Ask the bank; if somebody settled it by hand, run payout settle --failed with the bank's code as --reason",
  surplus:
    "surplus: the bank paid it twice, and one of both came back; nothing else changes. If the bank says that it paid once, run payout settle --failed with its code as --reason",
  surplus_before:
    "surplus_before: of what the bank paid twice one return was read before, of the same day; if both came back that day, say so by payout settle --failed --reason MS03",
  names_no_lines:
    "names_no_lines: money came back without saying which lines; nothing changed. Ask the bank, then run payout settle --failed",
};

/** What to do with a return of these outcomes. */
const CAME_BACK =
  "What came back less a charge, or without a day: run payout settle --failed with the bank's code as --reason";
const BY_HAND = ["amount_differs", "no_day"];

/** What holds back money that is in the balance again. */
const EFFECTS: Record<string, string> = {
  account: "effect account: the IBAN is barred and the customer is asked for another one by mail",
  holder: "effect holder: nobody is paid or mailed until payout iban and payout release",
  none: "effect none: the next batch pays the same account again, and nobody is mailed",
};

function answered({ message, changed, said, left }: OpsAnswer): string {
  const rows = said as Row[];
  const kinds = Object.keys(OUTCOMES).flatMap((outcome) => {
    const of = rows.filter((row) => row.outcome === outcome);
    const eur = of.reduce((sum, { amount_eur }) => sum + Number(amount_eur ?? 0), 0);
    return of.length > 0 ? [{ outcome, number: of.length, amount_eur: eur }] : [];
  });
  const named = rows.filter(({ outcome, what }) => !(outcome === "already" || (outcome === "paid" && what === "paid")));
  const effects = Object.keys(EFFECTS).filter((effect) =>
    rows.some((row) => row.effect === effect && ["failed", "waits"].includes(String(row.outcome))),
  );
  const cameBack = rows.some(({ what, outcome }) => what === "back" && BY_HAND.includes(String(outcome)));
  const beside = Object.entries(left as Record<string, number>);
  const holders = named.filter(({ effect }) => effect === "holder");
  return [
    `${message}: ${changed ? "read." : "nothing to change."}`,
    ...(kinds.length > 0
      ? [
          table(kinds, ["outcome", "number", "amount_eur"], ["number", "amount_eur"]),
          [
            ...kinds.map(({ outcome }) => OUTCOMES[outcome]),
            ...(cameBack ? [CAME_BACK] : []),
            ...effects.map((effect) => EFFECTS[effect]),
          ].join("\n"),
        ]
      : ["It says nothing of a payment of ours."]),
    ...(named.length > 0
      ? [
          table(
            named.slice(0, MOST_NAMED),
            "outcome amount_eur wanted_eur reason means effect line_id batch_id".split(" "),
          ),
        ]
      : []),
    ...(named.length > MOST_NAMED ? [`and ${named.length - MOST_NAMED} more; --json names all`] : []),
    ...(holders.length > 0
      ? [
          titled(
            "The holder died. Nothing more is paid, and nobody was mailed. Ask the heirs for their account, then run payout release",
            holders,
            "payee amount_eur",
          ),
        ]
      : []),
    ...beside.slice(0, MOST_NAMED).map(([what, times]) => `Left out: ${times} × ${what}.`),
    ...(beside.length > MOST_NAMED ? [`and ${beside.length - MOST_NAMED} more kinds; --json names all`] : []),
  ].join("\n\n");
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
    verbose: true,
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
    verbose: true,
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
      const shown = lines as Row[];
      return [batchText(batch as Row), list("lines", LINE_COLUMNS, { sums: "amount_eur" })({ lines: shown })].join(
        "\n\n",
      );
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
        "rejected",
      ]),
      limit(50),
    ],
    ops: "payout_list",
    view: list("batches", BATCH_COLUMNS),
  },
  {
    name: "payout approve",
    verbose: true,
    summary: "Approve a batch for the bank; not by the operator who prepared it",
    details:
      "Needs a login of your own. Names whom the batch pays before it asks, which leaves an audit row; payout show " +
      "lists every line.",
    example: "payout approve 0b0d1e00-0000-4000-8000-000000000000",
    takes: [batch()],
    looks: { ops: "payout_approve", view: toApprove },
    ends: about("batch", "will be paid as it is, once it is exported and sent to the bank"),
    ops: "payout_approve",
    view: batchChanged,
  },
  {
    name: "payout cancel",
    verbose: true,
    summary: "Return the money of a batch to the balances, before it is exported",
    example: 'payout cancel 0b0d1e00-0000-4000-8000-000000000000 --reason "prepared too early"',
    takes: [batch(), reason().makeOptionMandatory()],
    ends: about("batch", "will be cancelled, and its money will be in the balances again"),
    ops: "payout_cancel",
    view: batchChanged,
  },
  {
    name: "payout export",
    verbose: true,
    summary: "Write the file for the bank (SEPA, pain.001.001.09)",
    details:
      "Needs IBAN_KEYS, and the account it is paid from: PAYOUT_ACCOUNT_NAME, PAYOUT_ACCOUNT_IBAN, and " +
      "PAYOUT_ACCOUNT_BIC if the bank asks for it. Runs once; if the file was lost, --again with a reason writes " +
      "the same bytes. Only you can read the file.",
    example: "payout export 0b0d1e00-0000-4000-8000-000000000000 --out 2026-Q2.xml",
    takes: [
      batch(),
      new Option(
        "--out <file>",
        "the file to write; a bare name is one in ./out, which git ignores",
      ).makeOptionMandatory(),
      new Option("--date <date>", "the day on which the bank pays; today or the next TARGET day if omitted"),
      new Option("--again", "write the same bytes again"),
      reason(),
    ],
    ops: "payout_export",
    perform: { also: ["payout_keep_file"], run: exportBatch },
    writes: { field: "xml", option: "out" },
    view: ({ batch, file }) => `Written to ${file}. Send it to the bank.\n${batchText(batch as Row)}`,
  },
  {
    name: "payout answer",
    summary: "Read what the bank answered: pain.002, camt.053 or camt.054",
    details:
      "Needs PAYOUT_ACCOUNT_IBAN, and a login of your own. What was booked is settled. What the bank refused or sent " +
      "back is payable again once another operator runs the same command. Only a reason that says that the account " +
      "is wrong bars the IBAN and mails the customer (docs/ere.md has the reasons). The same file again, and files " +
      "that overlap, change nothing.",
    example: "payout answer --file camt053.xml",
    takes: [new Option("--file <file>", "the file of the bank").makeOptionMandatory()],
    ops: "payout_answer",
    perform: { also: [], run: readAnswer },
    view: answered,
  },
  {
    name: "payout reject",
    verbose: true,
    summary: "Record that the bank refused the whole file of a batch",
    details:
      "Needs a login of your own; another operator repeats the command. Then its money is payable again: no IBAN is " +
      "barred, and nobody is mailed. The next batch has a new date and a new message id. Refused once the bank booked " +
      "a line of it. --undo takes back what waits for the second operator: this, or lines that payout answer and payout " +
      "settle said came back.",
    example: 'payout reject 0b0d1e00-0000-4000-8000-000000000000 --reason "DT01, the day was a holiday"',
    takes: [
      batch(),
      reason().makeOptionMandatory(),
      new Option("--undo", "take back what waits for a second operator; nothing else changes"),
    ],
    ends: (input) =>
      input.undo
        ? "What waits for a second operator in this batch will be taken back."
        : about("batch", "will be rejected, and its money will be in the balances again")(input),
    ops: "payout_reject",
    view: ({ changed: isNew, outcome, batch }) => {
      if (outcome === "undone")
        return `${isNew ? "Taken back: nothing of it waits now." : "Nothing of it waited."}\n${batchText(batch as Row)}`;
      const waits =
        outcome === "waits" ? "Another operator runs the same command; then its money is payable again." : "";
      const done = isNew ? "Rejected: its money is payable again." : "Nothing to change: it was so already.";
      return `${waits || done}\n${batchText(batch as Row)}`;
    },
  },
  {
    name: "payout name",
    summary: "Give the name that the bank is told, where none can be made of the customer's own",
    details:
      "Names are written in Latin letters: accents go, and Greek and Cyrillic are transliterated. This name counts " +
      "only if nothing remains of the customer's own. Write it as the bank of the customer has it.",
    example: 'payout name 0b0d1e00-0000-4000-8000-000000000000 "Wang Xiaoming"',
    takes: [
      new Argument("<account>", "account id, or its cpo_external_ref if only one account has it"),
      new Argument("<name>", "the name, at most 70 letters that banks accept"),
    ],
    ops: "payout_name",
    view: changed("account", "Stored: the next batch uses it if the customer's own name cannot be written."),
  },
  {
    name: "payout iban",
    summary: "Store the account of a customer who cannot: who closed theirs here, or died",
    details:
      "Needs IBAN_KEYS, and a login of your own. Asks for the IBAN, or reads it from standard input. It is stored once " +
      "another operator runs the command with the same IBAN and holder; then we wait 48 hours, as for any new IBAN. " +
      "The bank is told the holder's name. If the bank said that the holder died, run payout release as well.",
    example:
      'payout iban 0b0d1e00-0000-4000-8000-000000000000 --holder "Erven de Vries" --reason "letter of the heirs"',
    takes: [
      new Argument("<account>", "account id, or its cpo_external_ref if only one account has it"),
      new Option(
        "--holder <name>",
        "in whose name the account is, at most 70 letters that banks accept",
      ).makeOptionMandatory(),
      reason().makeOptionMandatory(),
    ],
    ops: "payout_iban",
    perform: { also: [], run: storeIban },
    view: ({ stored, changed: isNew }) =>
      stored
        ? "Stored: it is paid from 48 hours on."
        : isNew
          ? "Noted. Another operator runs the same command with the same IBAN and holder; then it is stored."
          : "Nothing to change: it waits for another operator.",
  },
  {
    name: "payout settle",
    verbose: true,
    summary: "Record by hand what the bank did: paid a batch, or failed to pay lines",
    details:
      "payout answer reads this from the bank's files. For a batch, every line is paid unless it was reported failed; " +
      "one person is enough, by any login. " +
      "--failed needs a login of your own, and takes lines of any exported batch, also of a settled one: the money returns to the balance. That IBAN " +
      "is blocked and the customer is asked for another one, unless --reason begins with a code of the bank that says " +
      "otherwise, such as AM04. Then the money is payable again as it was, once another operator says the same. " +
      "--booked takes back what failed here by mistake, as long as no other payment has the money.",
    example: "payout settle --failed 0b0d1e00-0000-4000-8000-000000000000",
    takes: [
      new Argument("[batch]", "id of the batch that was paid"),
      new Option(
        "--failed <line...>",
        "lines that were not paid or came back: their line_id, or the EndToEndId in the bank's report",
      ),
      new Option("--booked <line...>", "lines that failed here and that the bank booked all the same"),
      reason(),
    ],
    ops: "payout_settle",
    view: settled,
  },
  {
    name: "payout adopt",
    verbose: true,
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
      return `${next}${details(batch as Row)}`;
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
        list("sales", "sold_on quarter price_per_ere_eur ere gross_eur fee_eur net_eur", {
          sums: "ere gross_eur fee_eur net_eur",
        })({
          sales,
        }),
        list("payments", "paid_on amount_eur to iban", { sums: "amount_eur" })({ payments }),
      ].join("\n\n");
    },
  },
];
