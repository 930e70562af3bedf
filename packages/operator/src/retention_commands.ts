// Deletes rows that we need not keep any more.

import { Option } from "commander";
import { verify } from "./audit.ts";
import type { Command, Input, Machine, Row } from "./command.ts";
import { OperatorError, type OpsAnswer } from "./database.ts";
import { table } from "./text.ts";

const ROWS = 20_000;

/**
 * Rows that do not agree are evidence: while there are any, nothing is deleted. Each step checks again before it
 * deletes.
 */
async function requireAgreement(machine: Machine): Promise<void> {
  if (!(await machine.call("ledger_check", {})).ok)
    throw new OperatorError("Nothing was deleted: the books do not agree; see ledger check.");
  if (!(await verify({}, machine)).ok)
    throw new OperatorError("Nothing was deleted: some rows were changed; see audit verify.");
}

/** Deletes kind by kind, each in its own transaction. If interrupted, the next run continues there. */
async function forget({ dry_run }: Input, machine: Machine): Promise<OpsAnswer> {
  const { call, say } = machine;
  await requireAgreement(machine);
  if (dry_run) return call("retention_preview", {});
  const { before, kinds } = (await call("retention_kinds", {})) as { before: string; kinds: string[] };
  const done: Row[] = [];
  for (const kind of kinds) {
    let rows = 0;
    for (;;) {
      const step = (await call("retention_step", { kind, size: ROWS })) as { rows: number };
      if (step.rows === 0) break;
      rows += step.rows;
      say(`${kind}: ${rows} deleted\n`);
    }
    done.push({ kind, rows });
  }
  return { before, kinds: done };
}

export const RETENTION_COMMANDS: Command[] = [
  {
    name: "retention run",
    summary: "Delete rows that we need not keep any more",
    details:
      "Rows delivered in 2026 can be deleted from 1 January 2033 on; docs/retention.md lists the rules. If " +
      "interrupted, run the same command again. Refused while ledger check or audit verify finds a problem, because " +
      "deleted rows cannot be investigated. --dry-run counts the rows and changes nothing.",
    example: "retention run",
    takes: [new Option("--dry-run", "only count the rows of each kind that would be deleted")],
    ends: ({ dry_run }) =>
      dry_run
        ? undefined
        : "Rows that we need not keep any more will be deleted for good; retention run --dry-run counts them.",
    ops: "retention_kinds",
    perform: {
      also: [
        "retention_preview",
        "retention_step",
        "ledger_check",
        "audit_chains",
        "audit_verify_part",
        "audit_verify_seals",
      ],
      run: forget,
    },
    view: ({ before, kinds }) => `Rows from before ${before}:\n${table(kinds as Row[], ["kind", "rows"], ["rows"])}`,
  },
];
