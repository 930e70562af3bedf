// A partner leaves.

import { Option } from "commander";
import { type Command, count, partner, type Row } from "./command.ts";
import { exportPartner } from "./partner_export.ts";
import { table } from "./text.ts";

export const EXPORT_COMMANDS: Command[] = [
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
];
