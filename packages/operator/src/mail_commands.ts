// Mail: list, read, send again, and the reports that come back.

import { Argument, Option } from "commander";
import { readBounces } from "./bounces.ts";
import { type Command, changed, count, type Input, limit, list, type Row, titled } from "./command.ts";
import { OperatorError, type OpsAnswer } from "./database.ts";
import { listMail } from "./mail.ts";
import { fields, plain, table } from "./text.ts";

const MAIL_COLUMNS = "id created_at status partner_slug recipient template";

function checkResend(input: Input): Input {
  const { id, failed, partner, since } = input;
  if ((id === undefined) === !failed) throw new OperatorError("Name one mail; or give --failed for all that failed.");
  if (!failed && (partner !== undefined || since !== undefined))
    throw new OperatorError("--partner and --since go with --failed.");
  return input;
}

const RESENT: Readonly<Record<string, string>> = {
  resent: "sent again by the next run of the worker",
  waits: "it goes by itself within five minutes",
  mail_outdated: "it is about something already done, or its code or link ended: left as it is",
  mail_unwanted: "the reader has opted out: left as it is",
  mail_of_inactive_partner: "its partner is deactivated: left as it is",
};

/** How many mails are sent again, and how many are not and why. */
function toResend({ outcomes }: OpsAnswer): string | undefined {
  const rows = (outcomes as Row[]).map(({ outcome, mails }) => ({
    mails,
    outcome: RESENT[String(outcome)] ?? outcome,
  }));
  return rows.length > 0 ? table(rows, ["mails", "outcome"]) : undefined;
}

const BOUNCED: Readonly<Record<string, string>> = {
  known: "it was noted before",
  temporary: "not final: it is tried again, or it arrived",
  not_ours: "we sent no such mail to this recipient",
  not_a_report: "this is no delivery report",
  without_id: "the report does not say which mail of ours came back",
};

function showBounces({ reports }: OpsAnswer): string {
  const rows = reports as Row[];
  const failed = rows.filter(({ outcome }) => outcome === "failed");
  const others = rows.filter(({ outcome }) => outcome !== "failed");
  return [
    failed.length > 0
      ? `${count(failed.length, "mail")} did not arrive. Nothing else was changed.`
      : "Nothing was changed.",
    ...(failed.length > 0 ? [titled("Did not arrive", failed, "mail status place")] : []),
    ...(others.length > 0
      ? [
          titled(
            "Changed nothing",
            others.map((row) => ({ ...row, outcome: BOUNCED[String(row.outcome)] })),
            "place outcome mail status",
          ),
        ]
      : []),
  ].join("\n\n");
}

export const MAIL_COMMANDS: Command[] = [
  {
    name: "mail list",
    summary: "List mail that was captured, was sent or waits, newest first; or read one",
    details:
      "--show prints the text with its links and leaves an audit row. Mail that was sent, or dropped because its " +
      "address reached its daily limit, has no text. On the sandbox, find a code here.",
    example: "mail list --to jan@example.nl --show",
    takes: [
      new Option("--to <email>", "only mail to this address"),
      new Option("--partner <partner>", "only mail of this partner (id or slug)"),
      new Option("--failed", "only mail that failed, or waits for another attempt"),
      limit(20),
      new Option("--show [id]", "print this mail, or the newest in the list"),
    ],
    ops: "mail_list",
    perform: { also: ["mail_show"], run: listMail },
    view: (answer) =>
      "text" in answer
        ? `${fields(answer.mail as Row)}\n\n${plain(String(answer.text))}`
        : list("mails", `${MAIL_COLUMNS} attempts last_error`)(answer),
  },
  {
    name: "mail resend",
    summary: "Have the next run of the worker send a failed mail, or all that failed",
    details:
      "Also takes mail that waits over five minutes for its next attempt. Refused if the mail was sent (its " +
      "content is deleted), if its code or link has expired or was replaced, or if the reader has opted out. --failed " +
      "leaves such mail as it is, and counts it.",
    example: "mail resend --failed --partner laadpunt-zuid --since 2026-11-20",
    takes: [
      new Argument("[id]", "the mail, from mail list --failed"),
      new Option("--failed", "every mail that failed, or waits for a retry"),
      new Option("--partner <partner>", "with --failed: only mail of this partner (id or slug)"),
      new Option("--since <moment>", "with --failed: only mail of this day or moment and later"),
    ],
    prepare: checkResend,
    ops: "mail_resend",
    perform: {
      also: ["mail_resend_failed"],
      run: (input, { call }) => call(input.failed ? "mail_resend_failed" : "mail_resend", input),
    },
    ends: (input) => (input.failed ? "The next run of the worker sends these again." : undefined),
    looks: { ops: (input) => (input.failed ? "mail_resend_failed" : undefined), view: toResend },
    view: (answer) =>
      "mail" in answer
        ? changed("mail", "The next run of the worker sends it.")(answer)
        : (toResend(answer) ?? "No mail failed."),
  },
  {
    name: "mail bounced",
    summary: "Read the delivery reports that came back for our mail, and note whom mail does not reach",
    details:
      "Takes RFC 3464 reports: a message in a file, an mbox, or a folder such as a Maildir. A report counts if the id " +
      "in X-ERE-Mail or the Message-ID and the recipient are both of a mail that we sent. Only Action: failed changes " +
      "something. " +
      "Every other message is listed, and changes nothing. May be repeated.",
    example: "mail bounced --file bounces.mbox",
    takes: [new Option("--file <path>", "file or folder with the reports").makeOptionMandatory()],
    ops: "mail_bounced",
    perform: { also: [], run: readBounces },
    view: showBounces,
  },
];
