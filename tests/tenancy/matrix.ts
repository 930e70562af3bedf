// What each credential got for each kind of identifier, as a table of docs/results/tenancy.md.

export class Matrix {
  readonly #cells = new Map<string, Map<string, Set<string>>>();
  readonly #columns: readonly string[];

  constructor(columns: readonly string[]) {
    this.#columns = columns;
  }

  tell(row: string, column: string, outcome: string): void {
    const cells = this.#cells.get(row) ?? new Map<string, Set<string>>();
    this.#cells.set(row, cells);
    cells.set(column, (cells.get(column) ?? new Set()).add(outcome));
  }

  rows(): string[] {
    return [...this.#cells.keys()];
  }

  toString(): string {
    const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
    return [
      line(["identifier", ...this.#columns]),
      line(["identifier", ...this.#columns].map(() => "---")),
      ...[...this.#cells]
        .toSorted(([one], [other]) => one.localeCompare(other))
        .map(([row, cells]) =>
          line([
            `\`${row}\``,
            ...this.#columns.map((column) => [...(cells.get(column) ?? ["–"])].toSorted().join(", ")),
          ]),
        ),
    ].join("\n");
  }
}

const BEGIN = "<!-- tenancy -->\n\n";
const END = "\n\n<!-- /tenancy -->";

/** The page with the table in it. */
export function withMatrix(page: string, matrix: string): string {
  const from = page.indexOf(BEGIN) + BEGIN.length;
  const to = page.indexOf(END, from);
  if (from < BEGIN.length || to < 0) throw new Error("docs/results/tenancy.md has no place for the matrix of tenancy");
  return page.slice(0, from) + matrix + page.slice(to);
}
