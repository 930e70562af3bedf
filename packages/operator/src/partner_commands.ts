// A partner leaves, or moves to another database.

import { Option } from "commander";
import { type Command, count, partner, type Row } from "./command.ts";
import { exportPartner } from "./partner_export.ts";
import { movePartner } from "./partner_move.ts";
import { table } from "./text.ts";

export const PARTNER_MOVING_COMMANDS: Command[] = [
  {
    name: "partner export",
    summary: "Write all rows of a partner into a folder, for a partner that leaves",
    details:
      "A file for each table has a JSON object a line; manifest.json has the rows and the SHA-256 of each file. All " +
      "files show one moment. Secrets and logins are withheld. Customers whom the partner brought are not in it: what " +
      "is theirs is in the house. The files are personal data, which only you can read. Leaves an audit row.",
    example: "partner export laadpunt-zuid --to /srv/exports/laadpunt-zuid",
    takes: [partner(), new Option("--to <folder>", "a new or empty folder").makeOptionMandatory()],
    ops: "partner_export",
    perform: { also: ["partner_export_rows"], run: exportPartner },
    view: ({ folder, rows, tables, manifest_sha256 }) =>
      `${count(rows, "row")} in ${folder}. The SHA-256 of manifest.json is ${manifest_sha256}.\n` +
      table(
        (tables as Row[]).filter((row) => row.rows),
        ["table", "rows"],
      ),
  },
  {
    name: "partner move",
    summary: "Move all rows of a partner to another database",
    details:
      "MOVE_TO_DATABASE_URL, or standard input, has the URL of that database. Needs the owner of both databases, and " +
      "connections without a transaction pooler. The partner's writes are answered 503 while the last rows are copied " +
      "and compared, a second or two. Then its rows here are deleted. If it breaks off, run it again, or undo it. " +
      "Managers stay with their logins: invite them again there. Refused if the partner brought people, who live in the house.",
    example: "partner move laadpunt-zuid",
    takes: [partner(), new Option("--undo", "delete what was copied, and stay; until the partner has arrived")],
    ends: ({ partner, undo }) =>
      undo
        ? undefined
        : `All rows of partner ${partner} will be deleted here, once they are in the other database. Its requests have to go there then.`,
    ops: "move_begin",
    owner: true,
    perform: { also: [], run: movePartner },
    view: ({ moved, partner, rows, held_ms }) =>
      moved
        ? `${partner} has moved${rows === undefined ? "" : `, with ${count(rows, "row")}. Its writes waited ${held_ms} ms`}.`
        : `${partner} stays. Nothing of it is left there.`,
  },
];
