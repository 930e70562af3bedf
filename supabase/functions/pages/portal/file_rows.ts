import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { chipLinks } from "../kit/parts/filter_bar.ts";
import { inNumbers, type TableCell, table } from "../kit/signed_in_views.ts";
import { pageLinks, rangeOf } from "./paging.ts";
import type { PortalFrame, PortalRequest } from "./request.ts";
import { WORDS } from "./words.ts";

/** Rows on a page of the table. */
const PAGE_ROWS = 100;

/** We take good rows as they are. Somebody looks at rows to check. We do not take bad rows. */
const KINDS = ["good", "check", "bad"] as const;
export type Kind = (typeof KINDS)[number];

/** The rows of a file that somebody brought, on the page at `here`. */
type FileRows<Row> = {
  here: string;
  label: string;
  kinds: Record<Kind, string>;
  rows: readonly Row[];
  kindOf: (row: Row) => Kind;
};

export type RowsQuery = { page: number; show: Kind | null };

export const rowsAsked = ({ c, pageAsked }: PortalRequest): RowsQuery => ({
  page: pageAsked,
  show: KINDS.find((each) => each === c.req.query("show")) ?? null,
});

/** How many rows are of each kind; each count leads to its rows. */
export function kindLinks<Row>(
  frame: PortalFrame,
  { here, label, kinds, rows, kindOf }: FileRows<Row>,
  { show }: RowsQuery,
): Html {
  const link = (kind: Kind | null, name: string, of: readonly Row[]) => ({
    href: `${frame.to(here, kind ? { show: kind } : {})}#rows`,
    label: name,
    count: inNumbers(frame, of.length),
    on: kind === show,
    kind: kind ?? "all",
  });
  return chipLinks(label, [
    link(null, WORDS[frame.locale].bring.table.all, rows),
    ...KINDS.map((kind) =>
      link(
        kind,
        kinds[kind],
        rows.filter((row) => kindOf(row) === kind),
      ),
    ),
  ]);
}

/** A page of the rows, and where the others are. `what` is the head of what is said of a row. */
export function rowTable<Row>(
  frame: PortalFrame,
  { here, label, kinds, rows, kindOf }: FileRows<Row>,
  { page, show }: RowsQuery,
  what: string,
  oneRow: (row: Row) => TableCell[],
): Html {
  const { table: words } = WORDS[frame.locale].bring;
  const shown = show ? rows.filter((row) => kindOf(row) === show) : rows;
  const pages = Math.max(Math.ceil(shown.length / PAGE_ROWS), 1);
  const at = Math.min(page, pages);
  const from = (at - 1) * PAGE_ROWS;
  const some = shown.slice(from, from + PAGE_ROWS);
  const address = (to: number) =>
    `${frame.to(here, { ...(show ? { show } : {}), ...(to > 1 ? { page: String(to) } : {}) })}#rows`;
  return html`<h2 id="rows">${label}${show ? `: ${kinds[show].toLowerCase()}` : ""}</h2>
<p class="quiet">${rangeOf(frame, from, some.length, shown.length)}</p>
${table(label, [{ name: words.row }, { name: what, text: true }], some.map(oneRow))}
${pageLinks(words, { at, pages }, address)}`;
}
