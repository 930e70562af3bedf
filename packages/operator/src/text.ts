// Answers as a person reads them. Headings are the field names, so that table, JSON and specification say the same words.

type Row = Record<string, unknown>;

function cell(value: unknown): string {
  if (value === null || value === undefined || value === "") return "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.map(cell).join(" ") || "-";
  if (typeof value === "object") {
    return Object.entries(value)
      .map(([key, inner]) => `${key} ${cell(inner)}`)
      .join(", ");
  }
  return plain(String(value)).replaceAll("\n", " ");
}

/** Without what would steer the terminal. */
export function plain(value: string): string {
  return value.replace(/[^\P{Cc}\n]/gu, "");
}

export function table(rows: Row[], columns: string[]): string {
  const lines = [columns, ...rows.map((row) => columns.map((column) => cell(row[column])))];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((text, index) => text.padEnd(widths[index] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

export function fields(row: Row): string {
  const width = Math.max(...Object.keys(row).map((key) => key.length));
  return Object.entries(row)
    .map(([key, value]) => `  ${key.padEnd(width)}  ${cell(value)}`)
    .join("\n");
}
