// What need not be kept any more.

import { Option } from "commander";
import { verify } from "./audit.ts";
import type { Command, Input, Machine, Row } from "./command.ts";
import { type Answer, OperatorError } from "./database.ts";
import { table } from "./text.ts";

const ROWS = 20_000;

/** What does not agree is evidence: as long as there is any, nothing is deleted. Each step looks again at what it deletes. */
async function requireAgreement(machine: Machine): Promise<void> {
  if (!(await machine.call("ledger_check", {})).ok)
    throw new OperatorError("Nothing was deleted: the books do not agree; ledger check says where.");
  if (!(await verify({}, machine)).ok)
    throw new OperatorError("Nothing was deleted: not everything is as it was written; audit verify says what.");
}

/** Deletes kind by kind, in transactions of their own: interrupted, the next run goes on where it stopped. */
async function forget({ dry_run }: Input, machine: Machine): Promise<Answer> {
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
    summary: "Delete what need not be kept any more",
    details:
      "What was delivered in 2026 can be deleted from 1 January 2033 on; docs/retention.md says what of what. Step by step: interrupted, the same command goes on. Refused while ledger check or audit verify finds anything: what is deleted could not be looked at any more. With --dry-run it counts, and changes nothing.",
    example: "retention run",
    takes: [new Option("--dry-run", "only say how many rows of each kind would be deleted")],
    ends: ({ dry_run }) =>
      dry_run
        ? undefined
        : "What need not be kept any more will be deleted for good; retention run --dry-run counts it.",
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
    view: ({ before, kinds }) => `What was before ${before}:\n${table(kinds as Row[], ["kind", "rows"])}`,
  },
];
