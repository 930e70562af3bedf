import { cut, storable } from "#shared/values/text.ts";
import { HEAD_ROWS, MAX_COLUMNS, MAX_ROWS, type OpenSheet, type Sheet, SheetError } from "../../sheet/model.ts";
import { type Head, headsOf, type Need } from "./columns.ts";
import { UploadFault } from "./fault.ts";
import { KINDS, type Kind } from "./headings.ts";

/** Where the headings of a file stand. */
export type Found = {
  head: Head;
  /** The sheet's name; null for CSV. */
  name: string | null;
  sheet: Sheet;
  /** The place of the headings among its rows, from 0. */
  at: number;
};

/**
 * Finds the headings: in each visible sheet the first of the first 20 rows that has the columns a kind needs; the first sheet with
 * sessions, or else with months.
 * @throws {UploadFault} no sheet has them, or the chosen one too many rows below them
 */
export async function findHead(sheets: readonly OpenSheet[], said: Kind | undefined): Promise<Found> {
  const kinds = said ? [said] : KINDS;
  let found: Found | null = null;
  let near: (Omit<Found, "sheet"> & { sheet_row: number }) | null = null;
  let open: OpenSheet | undefined;
  let rows = 0;
  for (const each of sheets) {
    const sheet = await each.read(HEAD_ROWS + 1);
    rows = Math.max(rows, sheet.rows.length);
    for (const [at, { cells, sheet_row }] of sheet.rows.slice(0, HEAD_ROWS).entries()) {
      if (cells.length > MAX_COLUMNS) throw new SheetError("too_many_columns");
      const [head, other] = headsOf(
        cells.map(({ text }) => storable(cut(text, 120))),
        kinds,
      );
      if (!head) break;
      if (head.needs.length > 0) {
        const isNearer =
          !near ||
          (head.known > 0 && near.head.known === 0) ||
          (head.known > 0 && head.needs.length < near.head.needs.length);
        if (isNearer) near = { head, name: each.name, at, sheet_row };
        continue;
      }
      if (other?.needs.length === 0 && other.known === head.known) throw fitsBoth(head);
      if (sheet.rows.length > at + 1 && (!found || head.kind === "sessions")) {
        found = { head, name: each.name, sheet, at };
        open = each;
      }
      break;
    }
    if (found?.head.kind === "sessions" || (found && said)) break;
  }
  if (found && open) {
    await open.read();
    const count = found.sheet.rows.length - found.at - 1 + found.sheet.more;
    if (count <= MAX_ROWS) return found;
    const detail = `The file has ${count} rows below its header; at most 5,000 are read. Send it in parts.`;
    throw new UploadFault("payload_too_large", { detail }, "too_many_rows");
  }
  if (rows < 2 || !near)
    throw new UploadFault(
      "unreadable_file",
      {
        detail:
          rows === 0
            ? "The body has no rows at all. Send the file itself as the body."
            : "The file has no rows below its header.",
      },
      "no_rows",
    );
  throw unknownColumns(near.head, near.head.needs, near.sheet_row, near.name);
}

/** What a file needs, in English, as the API says it. */
const NEED_WORDS: Record<Need, string> = {
  customer: "the customer (cpo_external_ref, ean or connection_id)",
  month: "the month",
  kwh: "kWh",
  charger: "the charger",
  start: "the start",
  end: "the end or a duration",
  kwh_or_readings: "kWh or both readings",
};

function fitsBoth({ headers }: Head): UploadFault {
  return new UploadFault("unknown_columns", {
    headers: headers.slice(0, 40),
    detail: "The headings fit months and sessions alike: send kind=months or kind=sessions.",
  });
}

/** Says which headings were not understood, and what the file lacks to be of the kind that it comes closest to. */
export function unknownColumns(
  { kind, headers, headings }: Head,
  needs: Need[],
  sheet_row: number,
  name: string | null,
  unusable: readonly string[] = [],
): UploadFault {
  const unread = headers
    .filter((header, place) => header && (!headings[place]?.fields[kind] || unusable.includes(header)))
    .slice(0, 10);
  const detail = [
    `Row ${sheet_row}${name === null ? "" : ` of the sheet ${name}`} comes nearest to headings.`,
    `The file reads as ${kind}, but has no column for ${needs.map((need) => NEED_WORDS[need]).join(", or for ")}.`,
    ...(unread.length > 0 ? [`Not understood: ${unread.join(", ")}.`] : []),
    "The headings must be in one of the first 20 rows. The guide on sessions lists those that we know.",
  ];
  const fields = { headers: headers.slice(0, 40), sheet_row, detail: detail.join(" ") };
  return new UploadFault("unknown_columns", fields, null, { unread, lacks: needs });
}
