import type { Html } from "../frame.ts";
import { html } from "../html.ts";

/** `place`: where a phone, which has room for two lines, shows it beside who it is. It shows no other column, and no `day`. */
export type RecordColumn = {
  name: string;
  place?: "state" | "figure" | "date" | "day";
  /** The address that sorts by it, and how it is sorted now. */
  sort?: { href: string; is?: "ascending" | "descending" };
};

/**
 * A line for each of many things that one opens: the link in its first cell is as large as the line. A desk shows columns whose head
 * stays in sight, a phone two lines. It states its roles, because some browsers drop them from a table that is not displayed as one.
 * Who does not see the head hears the name of a column with its cell. A column in which nobody has anything is left out.
 */
export function records(
  label: string,
  columns: readonly RecordColumn[],
  rows: readonly (readonly (Html | string | null)[])[],
): Html {
  const said = columns.map(
    ({ sort }, at) => at === 0 || sort?.is !== undefined || rows.some((row) => row[at] !== null),
  );
  const shown = <Of>(of: readonly Of[]) => of.filter((_, at) => said[at]);
  const placed = (place: string | undefined, is_none = false) =>
    place || is_none ? html` class="${[place, is_none && "none"].filter(Boolean).join(" ")}"` : "";
  const kept = shown(columns);
  return html`<table class="records" role="table" aria-label="${label}">
<thead role="rowgroup"><tr role="row">${kept.map(({ name, place, sort }) => html`<th scope="col" role="columnheader"${placed(place)}${sort?.is ? html` aria-sort="${sort.is}"` : ""}>${sort ? html`<a href="${sort.href}">${name}</a>` : name}</th>`)}</tr></thead>
<tbody role="rowgroup">${rows.map((row) => {
    const [head, ...cells] = shown(row);
    return html`<tr role="row"><th scope="row" role="rowheader">${head}</th>${cells.map((cell, at) => html`<td role="cell"${placed(kept[at + 1]?.place, cell === null)} data-column="${kept[at + 1]?.name}">${cell ?? "–"}</td>`)}</tr>
`;
  })}</tbody>
</table>`;
}
