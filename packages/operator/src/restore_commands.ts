// Before and after the database is restored; docs/operations.md has the steps around them.

import { Argument, Option } from "commander";
import { type Command, count, type Row, titled } from "./command.ts";
import { applyAfter, saveBefore } from "./restore.ts";

export const RESTORE_COMMANDS: Command[] = [
  {
    name: "restore save",
    summary:
      "Save what a restore would lose and what protects somebody: opt-outs, ended credentials, files of the bank",
    details:
      "Run it on the database that will be replaced. The files of payout batches need IBAN_KEYS, as payout export. " +
      "Has personal data; only you can read the files. Leaves an audit row.",
    example: "restore save --since 2026-11-20T09:30:00Z --to before-restore",
    takes: [
      new Option("--since <moment>", "the moment to which you restore").makeOptionMandatory(),
      new Option("--to <folder>", "a new or empty folder; a bare name is one in ./out").makeOptionMandatory(),
    ],
    ops: "restore_save",
    perform: { also: ["payout_export", "payout_keep_file"], run: saveBefore },
    fails: ({ files }) => (files as Row[]).some(({ why }) => why !== null),
    view: ({ folder, since, opt_outs, deeds, files }) =>
      `Saved in ${folder}: ${count(opt_outs, "opt-out")}, and ${count(deeds, "deed")} since ${since}.\n\n` +
      titled("Files that the bank got since", files, "batch file why"),
  },
  {
    name: "restore apply",
    summary: "Do again in the restored database what restore save saved, and list what people have to do",
    details: "Run it before the functions get the database back. Repeated, it changes nothing that is done.",
    example: "restore apply out/before-restore",
    takes: [new Argument("<folder>", "the folder of restore save")],
    ends: () => "What ended after the moment of the restore will end again in this database.",
    ops: "restore_apply",
    perform: {
      also: ["mandate_revoke", "connection_archive", "token_revoke", "client_disable", "webhook_revoke"],
      run: applyAfter,
    },
    view: ({ since, opt_outs, logs, done, by_hand }) =>
      [
        `Since ${since}: ${count(opt_outs, "opt-out")} added, ${count(logs, "log")} raised.`,
        titled("Ended again", done, "at action subject_id outcome"),
        titled("For you to do", by_hand, "at action subject_id do"),
      ].join("\n\n"),
  },
];
