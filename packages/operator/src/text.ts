// Answers in a form for people. Headings are the field names, so that table, JSON and specification use the same words.

import { UNSEEN } from "#shared/values/text.ts";

type Row = Record<string, unknown>;

/** Amounts of money have two decimals; a price has as many as it needs. */
const isAmount = (column: string) => column.endsWith("_eur") && !column.startsWith("price_");

function cell(value: unknown, column = ""): string {
  if (typeof value === "number" && isAmount(column)) return value.toFixed(2);
  if (value === null || value === undefined || value === "") return "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.map((each) => cell(each, column)).join(" ") || "-";
  if (typeof value === "object") {
    return Object.entries(value)
      .map(([key, inner]) => `${key} ${cell(inner, key)}`)
      .join(", ");
  }
  return plain(String(value)).replaceAll("\n", " ");
}

const HIDDEN = new RegExp(`(?!\n)(?:${UNSEEN.source}|[\u200e\u200f])`, "gu");

/** Control and invisible characters as their number, `\u001b`, also within JSON: they could steer the terminal. */
export function plain(value: string): string {
  const numbers = (sign: string) =>
    sign.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return value.toWellFormed().replace(HIDDEN, (sign) => numbers(sign).join(""));
}

export function table(rows: Row[], columns: string[]): string {
  const lines = [columns, ...rows.map((row) => columns.map((column) => cell(row[column], column)))];
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
    .map(([key, value]) => `  ${key.padEnd(width)}  ${cell(value, key)}`)
    .join("\n");
}
