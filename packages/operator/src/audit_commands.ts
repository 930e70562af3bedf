// For auditors: checks that the stored rows are unchanged.

import { Argument, InvalidArgumentError, Option } from "commander";
import { verify } from "./audit.ts";
import { type Command, list, type Row } from "./command.ts";
import type { OpsAnswer } from "./database.ts";
import { writeEvidence } from "./evidence.ts";
import { fields, table } from "./text.ts";

const hash = (value: string) => {
  if (/^[0-9a-f]{64}$/i.test(value)) return value.toLowerCase();
  throw new InvalidArgumentError("It must be a SHA-256 of 64 hexadecimal digits.");
};

function verified({ ok, rows, expected, wrong, seals, sealed }: OpsAnswer): string {
  const last = sealed as { day: string; hash: string } | null;
  return [
    ...((wrong as Row[]).length > 0
      ? [table(wrong as Row[], ["partner_slug", "log", "fault", "position", "row", "at", "what", "day"])]
      : []),
    ...(expected === false ? ["The expected hash is missing: a chain was truncated or rebuilt."] : []),
    `${rows} ${rows === 1 ? "row" : "rows"}, ${seals} ${seals === 1 ? "seal" : "seals"}${last ? `; the last of ${last.day} is ${last.hash}` : ""}.`,
    ok ? "Every row is unchanged." : "Some rows were changed; the first row of each chain is named.",
  ].join("\n\n");
}

export const AUDIT_COMMANDS: Command[] = [
  {
    name: "audit verify",
    summary: "Prove that the audit log and the ledger are unchanged",
    details:
      "Names the first row of each chain that was changed, deleted, inserted or reordered, or that has no link " +
      "after ten minutes. --expect takes a hash that the worker returned earlier: a rebuilt chain does not have it. " +
      "Exit code 1 if something is wrong.",
    example: "audit verify",
    takes: [
      new Option("--partner <partner>", "only of this partner (id or slug)"),
      new Option("--expect <hash>", "a hash stored elsewhere, which must be in the chain").argParser(hash),
    ],
    ops: "audit_chains",
    perform: { also: ["audit_verify_part", "audit_verify_seals"], run: verify },
    fails: ({ ok }) => ok === false,
    view: verified,
  },
  {
    name: "audit show",
    summary: "Show the history of one account, in order: made, signed, delivered, booked, credited, sold, paid",
    details: "Shows personal data, so it leaves an audit row.",
    example: "audit show 871687110000000018",
    takes: [
      new Argument(
        "<account>",
        "account id or cpo_external_ref; an EAN that it has or had; or the e-mail address of its signatory or login",
      ),
    ],
    ops: "audit_story",
    view: ({ events, ...account }) =>
      `${fields(account)}\n\n${list("events", "at what period kwh ere eur by note")({ events })}`,
  },
  {
    name: "audit evidence",
    summary: "Write the evidence for a booking into one zip, for the verifier",
    details:
      "The zip has the file for the register, each row's mandate as PDF with its evidence, the deliveries as " +
      "received, sessions, meters, models, EAN checks, the audit trail, and a manifest with the SHA-256 of each. A " +
      "mandate whose PDF is not rendered yet is named, and the exit code is 1. Has personal data, so it leaves an " +
      "audit row; only you can read the file. It is read on the replica that OPERATOR_REPLICA_DATABASE_URL names.",
    example: "audit evidence 2026-Q2 --partner laadpunt-zuid --out 2026-Q2.zip",
    takes: [
      new Argument("<booking>", "id of the booking; or its run or quarter, if only one booking matches"),
      new Option("--partner <partner>", "only of this partner (id or slug)"),
      new Option(
        "--out <file>",
        "the file to write; a bare name is one in ./out, which git ignores",
      ).makeOptionMandatory(),
      new Option("--overwrite", "replace the file if it exists"),
    ],
    ops: "evidence_open",
    perform: { also: ["evidence_page", "replica_ready"], run: writeEvidence },
    fails: ({ missing_pdfs }) => (missing_pdfs as string[]).length > 0,
    view: ({ missing_pdfs, ...written }) =>
      [
        fields(written),
        ...((missing_pdfs as string[]).length > 0
          ? [
              "Not rendered yet, so missing from the file; repeat the command " +
                `later:\n${(missing_pdfs as string[]).join("\n")}`,
            ]
          : []),
      ].join("\n\n"),
  },
];
