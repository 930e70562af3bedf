// Answers in a form for people. Headings are the field names, so that table, JSON and specification use the same words.

import { UNSEEN } from "#shared/values/text.ts";

type Row = Record<string, unknown>;

export const euro = (amount: unknown): string => `€ ${Number(amount).toFixed(2)}`;

/** Amounts of money have two decimals; a price has as many as it needs. */
const isAmount = (column: string) => column.endsWith("_eur") && !column.startsWith("price_");

function cell(value: unknown, column = ""): string {
  if (typeof value === "number" && isAmount(column)) return value.toFixed(2);
  if (value === null || value === undefined || value === "") return "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.map((each) => cell(each, column)).join(" ") || "-";
  if (typeof value === "object") {
    const parts = Object.entries(value).map(([key, inner]) => [key, cell(inner, key)]);
    return parts.every(([, part]) => part === "-") ? "-" : parts.map((part) => part.join(" ")).join(", ");
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

/** Where a view is shown: how many characters fit on a line, whether it takes colors, and whether all fields are asked for. */
export type Screen = { width?: number; color?: boolean; verbose?: boolean };

// set while a view runs, which is synchronous
let screen: Screen = {};
let headings = new Set<string>();

/** The text of a view, fitted to the screen. Without a screen, lines are as long as they need to be. */
export function onScreen(where: Screen, view: () => string): string {
  screen = where;
  headings = new Set();
  try {
    const said = plain(view()).split("\n").map(inWords).join("\n");
    return where.color ? said.split("\n").map(paint).join("\n") : said;
  } finally {
    screen = {};
  }
}

const style = (code: number) => (text: string) => `\u001b[${code}m${text}\u001b[0m`;
const [bold, red, green] = [style(1), style(31), style(32)];
/** One of these words as a whole cell of a table, or as the value of a field; not as its name, indented by two. */
const cells = (words: string) => new RegExp(`(?<=^| {2})(?<!^ {2})(?:${words})(?= {2}|$)`, "g");
const BAD = cells("failed|mismatch|not_found|rejected|afgekeurd|conflict|cancelled|withdrawn|revoked");
const GOOD = cells("paid|settled|registered|verified|goedgekeurd|signed|sent|done");

const paint = (line: string) => (headings.has(line) ? bold(line) : line.replace(BAD, red).replace(GOOD, green));

const INDENT = "    ";
const widest = () => screen.width ?? Number.POSITIVE_INFINITY;
const sumOf = (widths: number[]) => widths.reduce((sum, width) => sum + width + 2, -2);

/** A sentence that is wider than the screen, broken at spaces. A command to copy stays whole. */
function inWords(line: string): string {
  if (line.length <= widest() || /^\s*(?:npm run|Next\b)/.test(line)) return line;
  const [indent = ""] = /^\s*/.exec(line) ?? [];
  const room = widest() - indent.length;
  const lines = line.match(new RegExp(`\\S.{0,${room - 1}}(?= |$)|\\S+`, "g")) ?? [];
  return lines.map((each) => indent + each).join("\n");
}

/** Breaks a text at spaces, and inside a word that is longer than a line. */
function wrap(text: string, indent: string): string {
  const room = Math.max(widest() - indent.length, 8);
  if (text.length <= room) return indent + text;
  const lines = text.match(new RegExp(`\\S.{0,${room - 1}}(?= |$)|\\S{${room}}`, "g")) ?? [];
  return lines.map((line) => indent + line).join("\n");
}

/** As many columns on a line as the screen has room for; the others follow below, indented. */
function fold(widths: number[]): number[][] {
  const groups: number[][] = [];
  widths.forEach((width, index) => {
    const group = groups.at(-1);
    const used = group && sumOf([...group.map((each) => widths[each] ?? 0), width]);
    if (group && used && used + (groups.length > 1 ? INDENT.length : 0) <= widest()) group.push(index);
    else groups.push([index]);
  });
  return groups;
}

type Column = { name: string; texts: string[]; width: number; isNumber: boolean; isEmpty: boolean };

const decimalsOf = (text: string) => (text.includes(".") ? text.length - text.indexOf(".") - 1 : 0);

/** Numbers with as many signs after the point as the longest of them, so that the points stand below each other. */
function aligned(texts: string[]): string[] {
  const after = (text: string) => (text.includes(".") ? decimalsOf(text) + 1 : 0);
  const most = Math.max(...texts.map(after));
  return texts.map((text) => text + " ".repeat(most - after(text)));
}

/** What a column comes to, with as many decimals as its numbers have. */
function sumIn(column: string, values: unknown[]): string {
  const numbers = values.filter((value) => typeof value === "number");
  const decimals = Math.max(...numbers.map((number) => decimalsOf(String(number))), 0);
  const sum = numbers.reduce((all, each) => all + each, 0);
  return cell(Number(sum.toFixed(decimals)), column);
}

/** `sum` adds the column up below its rows; `label` stands there instead. */
function readColumn(rows: Row[], name: string, sum: boolean, label: string | undefined): Column {
  const values = rows.map((row) => row[name] ?? null).filter((value) => value !== null);
  const isNumber = values.length > 0 && values.every((value) => typeof value === "number");
  const below = sum ? [sumIn(name, values)] : label === undefined ? [] : [label];
  const cells = [...rows.map((row) => cell(row[name], name)), ...below];
  const texts = isNumber ? aligned(cells) : cells;
  return {
    name,
    texts,
    width: Math.max(...[name, ...texts].map(({ length }) => length)),
    isNumber,
    isEmpty: values.every((value) => value === "" || value === 0),
  };
}

/**
 * A row for each line, or several lines for each row if the screen is too narrow. Numbers stand to the right. Below more than one row
 * stand the sums of the columns named in `sums`.
 */
export function table(rows: Row[], names: string[], sums: string[] = []): string {
  const summed = rows.length > 1 ? names.filter((name) => sums.includes(name)) : [];
  const labeled = summed.length > 0 ? names.find((name) => !summed.includes(name)) : undefined;
  const all = names.map((name) =>
    readColumn(
      rows,
      name,
      summed.includes(name),
      summed.length === 0 ? undefined : name === labeled ? `sum of ${rows.length}` : "",
    ),
  );
  // without room for all columns, those without a value, or of zeros, go first
  const columns = sumOf(all.map(({ width }) => width)) <= widest() ? all : all.filter(({ isEmpty }) => !isEmpty);
  const groups = fold(columns.map(({ width }) => width));
  const last = rows.length + (summed.length > 0 ? 1 : 0);
  const lines = Array.from({ length: last + 1 }, (_, at) =>
    groups.map((group, below) => {
      const texts = group.map((index) => {
        const { name, texts, width, isNumber } = columns[index] as Column;
        const text = at === 0 ? name : (texts[at - 1] ?? "");
        return isNumber ? text.padStart(width) : text.padEnd(width);
      });
      return wrap(texts.join("  ").trimEnd(), below > 0 ? INDENT : "");
    }),
  ).map((row, at) => (at === 0 ? row : withoutEnd(row)));
  headings = new Set([...headings, ...(lines[0] ?? []), ...(summed.length > 0 ? (lines.at(-1) ?? []) : [])]);
  // rows of several lines stand apart
  return lines.map((row) => row.join("\n")).join(groups.length > 1 ? "\n\n" : "\n");
}

/** A row without the lines at its end that say nothing. */
function withoutEnd(lines: string[]): string[] {
  const last = lines.findLastIndex((line) => !/^[\s-]*$/.test(line));
  return lines.slice(0, Math.max(last, 0) + 1);
}

/** All fields of a thing if they were asked for, on lines of their own. */
export const details = (row: Row): string => (screen.verbose ? `\n${fields(row)}` : "");

export function fields(row: Row): string {
  const width = Math.max(...Object.keys(row).map((key) => key.length));
  const indent = " ".repeat(width + 4);
  return Object.entries(row)
    .map(([key, value]) => `  ${key.padEnd(width)}  ${wrap(cell(value, key), indent).trimStart()}`)
    .join("\n");
}
