import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { claimLinks } from "#shared/domain/claim/links.ts";
import { MAX_IMPORT } from "#shared/domain/import/model.ts";
import type { DraftRow, RawRow } from "#shared/domain/import/rows.ts";
import type { Customers, Table } from "#shared/domain/import/table.ts";
import { MAX_ROWS } from "#shared/domain/sheet/model.ts";
import { open, type Sealed, seal } from "#shared/values/sealed.ts";
import { isId } from "../../kit/routes.ts";
import type { Who } from "../model.ts";
import type { PortalRequest } from "../request.ts";
import { WORDS } from "../words.ts";
import type { Cap, State, Verdict } from "./model.ts";

/** Rows that may be looked at and imported in one go, in stretches of as many as a request of the API may bring. */
export const MOST_ROWS = MAX_ROWS;

/** What somebody brought, as it is kept: a file, with the column of each header where they chose them, or the rows of a form. */
export type Brought = {
  source: "csv" | "invite";
  message: string | null;
  /** Whether we mail the customers, as somebody chose before they looked; whom a list of addresses names is always mailed. */
  mail?: boolean;
} & ({ table: Table; chosen?: (string | null)[]; unagreed?: true } | { rows: RawRow[] }); // `unagreed`: nothing of it is shown before they confirm that its customers agreed, and say who mails

export type Kept = {
  id: string;
  brought: Brought;
  customers: Customers;
  read: DraftRow[];
  /** The first row of each address that can be read, from 1. */
  firstRows: Map<string | null, number>;
  state: State;
  /** Of the rows that are done. */
  outcomes: Verdict[];
};

/** Three megabytes as JSON, which are six as they are stored, in hex; less the column that is chosen for each header. */
const MOST_KEPT = (3 * 1024 - 16) * 1024;

/**
 * Whether a file is small enough to store. A quote or a line end takes two bytes, a control character six; no row may
 * have control characters. The largest file fits, unless half of it is quotes.
 */
export const mayBeKept = (table: Table): boolean => Buffer.byteLength(JSON.stringify(table)) <= MOST_KEPT;

/** The file that somebody chose, or what is wrong with it. */
export function fileOf({ file, locale }: PortalRequest): File | string {
  const words = WORDS[locale].bring.file.errors;
  if (!file) return words.missing;
  return file.size === 0 ? words.empty : file.size > MAX_IMPORT ? words.too_large_file : file;
}

/** Keeps what somebody brought, encrypted and for an hour, and leads to where they look at it. */
export async function keep(request: PortalRequest, brought: Brought, row_count: number): Promise<Response> {
  const id = randomUUID();
  await request.own("keep_import", { id, row_count, ...sealKept(request, id, brought) });
  return request.go(`/import/${id}`);
}

/** Seals what core.imports keeps: customers, or a file of months or sessions. One name for both, so that a typed address opens either. */
export const sealKept = ({ environment }: PortalRequest, id: string, kept: object): Sealed =>
  seal(environment, `import ${id}`, JSON.stringify(kept));

/** What sealKept() sealed under this id; null where it is of another kind, which has no `field`. */
export function openKept<What>(
  { environment }: PortalRequest,
  id: string,
  field: keyof What,
  sealed: Sealed,
): What | null {
  const kept = JSON.parse(open(environment, `import ${id}`, sealed));
  return field in kept ? kept : null;
}

/** What is kept under the id in the path, with its rows read; null where it is somebody else's, or no longer kept. */
export async function readKept(
  request: PortalRequest,
): Promise<{ who: Who; cap: Cap; mailed_before: boolean | null; kept: Kept | null }> {
  const { environment } = request;
  const asked = request.c.req.param("id") ?? "";
  const id = isId(asked) ? asked : null;
  const answer = await request.own("read_portal_import", { id, links: claimLinks(environment) });
  const { who, cap, mailed_before, import: found } = answer;
  const brought = id && found && openKept<Brought>(request, id, "source", found.sealed);
  if (!brought) return { who, cap, mailed_before, kept: null };
  const customers = await customersIn(brought);
  const { readRows } = await import("#shared/domain/import/import_rows.ts");
  const read = await readRows(environment, { ...customers, source: brought.source });
  const firstRows = new Map(
    read
      .filter(({ reason }) => !reason)
      .map(({ email, place }): [string | null, number] => [email, place])
      .toReversed(),
  );
  const kept = { id, brought, customers, read, firstRows, state: found.state, outcomes: found.outcomes };
  return { who, cap, mailed_before, kept };
}

async function customersIn(brought: Brought): Promise<Customers> {
  if ("rows" in brought)
    return { columns: [], rows: brought.rows, sheet_rows: brought.rows.map((_row, index) => index + 1) };
  const { customersOf, suggestColumns } = await import("#shared/domain/import/table.ts");
  const customers = customersOf(brought.table, brought.chosen);
  if (!brought.chosen) suggestColumns(customers, brought.table.rows);
  return customers;
}
