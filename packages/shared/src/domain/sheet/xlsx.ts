import { type Style, serialToWall, stylesInto } from "./formats.ts";
import { unguarded } from "./guards.ts";
import {
  type Cell,
  EMPTY,
  MAX_CELL,
  MAX_CELLS,
  MAX_INFLATED,
  type OpenSheet,
  type Sheet,
  SheetError,
} from "./model.ts";
import type { Work } from "./work.ts";
import { decode, type Reader, readXml } from "./xml.ts";
import { type Part, partsOf, unpack } from "./zip.ts";

/**
 * Opens the visible sheets of an XLSX file (ECMA-376), in order. Only the workbook, its relations, its strings, its styles and what is
 * read of the sheets are inflated. Formulas count by their stored value. Nothing outside the file is followed.
 * @param most rows that are kept of a sheet
 * @throws {SheetError}
 */
export async function openXlsx(file: Uint8Array, work: Work, most: number): Promise<[OpenSheet, ...OpenSheet[]]> {
  const parts = partsOf(file);
  const names = [...parts.keys()];
  const budget = { left: MAX_INFLATED };
  /** Reads a part piece by piece, if it is there. A part is read once, so it is removed. */
  const open = (name: string | undefined, reader: Reader) => {
    const part = parts.get(name ?? "");
    parts.delete(name ?? "");
    return part && readPart(part, reader, budget, work);
  };
  const read = async (name: string | undefined, reader: Reader) => {
    const pieces = open(name, reader);
    while (pieces && !(await pieces.next()).done);
  };

  const workbook: Workbook = { sheets: [], is1904: false };
  const targets: Targets = new Map();
  const books = names.filter((name) => WORKBOOK.test(name));
  if (books.length === 0) throw new SheetError(kindOf(names));
  for (const name of books) await read(name, workbookInto(workbook));
  for (const name of names.filter((each) => RELATIONS.test(each))) await read(name, targetsInto(targets));

  const pages = workbook.sheets.flatMap(({ id, name }) => {
    const target = targets.get(id);
    return target?.type === "worksheet" ? [{ name, path: target.path }] : [];
  });
  const [first, ...others] = pages;
  if (!first) throw new SheetError(targets.size > 0 ? "no_sheet" : "broken");
  const byType = (type: string) => [...targets.values()].find((target) => target.type === type)?.path;
  const strings: string[] = [];
  const styles: Style[] = [];
  await read(byType("sharedStrings"), stringsInto(strings));
  await read(byType("styles"), stylesInto(styles));
  const { is1904 } = workbook;
  const openSheet = ({ name, path }: (typeof pages)[number]): OpenSheet => {
    const sheet: Sheet = { kind: "xlsx", encoding: null, rows: [], more: 0 };
    let pieces: ReturnType<typeof open>;
    return {
      name,
      async read(rows = Number.POSITIVE_INFINITY) {
        pieces ??= open(path, rowsInto(sheet, { strings, styles, is1904 }, most));
        if (!pieces) throw new SheetError("broken");
        while (sheet.rows.length < rows && !(await pieces.next()).done);
        return sheet;
      },
    };
  };
  return [openSheet(first), ...others.map(openSheet)];
}

// exports of some programs number their workbook
const WORKBOOK = /^xl\/workbook\d*\.xml$/;
const RELATIONS = /^xl\/_rels\/workbook\d*\.xml\.rels$/;

/** What a zip is that has no workbook. */
function kindOf(names: readonly string[]): SheetError["wrong"] {
  if (names.includes("xl/workbook.bin")) return "xlsb";
  if (names.includes("content.xml") && names.includes("mimetype")) return "ods";
  if (names.some((name) => /^index(\.zip|\/)/.test(name))) return "numbers";
  return names.some((name) => name.startsWith("xl/")) ? "broken" : "other";
}

/** Reads as many bytes as the zip says, and refuses it if others come out. Stops after each piece. */
async function* readPart(part: Part, reader: Reader, budget: { left: number }, work: Work): AsyncGenerator<void> {
  if (part.size > budget.left) throw new SheetError("too_large");
  const xml = readXml(reader);
  const decoder = new TextDecoder();
  let size = 0;
  try {
    for (const bytes of unpack(part)) {
      size += bytes.length;
      budget.left -= bytes.length;
      if (size > part.size) throw new SheetError("broken");
      xml.write(decoder.decode(bytes, { stream: true }));
      const pause = work.pause();
      if (pause) await pause;
      yield;
    }
    xml.write(decoder.decode());
    xml.end();
  } catch (thrown) {
    // what fflate throws is an Error of no class of its own
    throw thrown instanceof Error && thrown.constructor === Error ? new SheetError("broken") : thrown;
  }
  if (size !== part.size) throw new SheetError("broken");
}

type Workbook = {
  /** The relation and the name of each visible sheet, in order. */
  sheets: { id: string; name: string }[];
  /** Days are counted from 1904. */
  is1904: boolean;
};

function workbookInto(workbook: Workbook): Reader {
  return {
    open(name, attributes) {
      if (name === "workbookPr") workbook.is1904 = isTrue(attributes().date1904);
      if (name !== "sheet") return;
      const { state = "visible", name: title = "", ...others } = attributes();
      const id = Object.entries(others).find(([attribute]) => /^\w+:id$/.test(attribute))?.[1];
      if (id && state === "visible") workbook.sheets.push({ id, name: decode(title) });
    },
  };
}

const isTrue = (value: string | undefined): boolean => value === "1" || value === "true";

/** The parts that the workbook names, by relation. What lies outside the file is none. */
type Targets = Map<string, { type: string; path: string }>;

function targetsInto(targets: Targets): Reader {
  return {
    open(name, attributes) {
      if (name !== "Relationship") return;
      const { Id = "", Type = "", Target = "", TargetMode } = attributes();
      const target = decode(Target).toLowerCase();
      const path = target.startsWith("/") ? target.slice(1) : `xl/${target.replace(/^\.\//, "")}`;
      if (TargetMode !== "External") targets.set(Id, { type: Type.slice(Type.lastIndexOf("/") + 1), path });
    },
  };
}

/** The shared strings, in order; of rich text all its runs, without its phonetic readings. */
function stringsInto(strings: string[]): Reader {
  let text = "";
  let inText = false;
  let phonetic = false;
  return {
    open(name) {
      if (name === "si") text = "";
      else if (name === "rPh") phonetic = true;
      else if (name === "t") inText = !phonetic;
    },
    text(piece) {
      if (inText) text += piece;
    },
    close(name) {
      if (name === "t") inText = false;
      else if (name === "rPh") phonetic = false;
      // once for all the cells that show it
      else if (name === "si") strings.push(unguarded(text));
    },
  };
}

type Book = { strings: string[]; styles: Style[]; is1904: boolean };

function rowsInto(sheet: Sheet, book: Book, most: number): Reader {
  const { rows } = sheet;
  let count = 0;
  let sheet_row = 0;
  let cells: Cell[] = [];
  let says = false;
  let column = 0;
  let cell: Raw = { style: 0, type: "n", value: null, hasFormula: false };
  let inValue = false;
  let phonetic = false;
  return {
    open(name, attributes) {
      if (name === "row") {
        const { r } = attributes();
        sheet_row = r ? Number(r) : sheet_row + 1;
        if (!Number.isSafeInteger(sheet_row)) throw new SheetError("broken");
        says = false;
        cells = [];
        column = 0;
      } else if (name === "c") {
        const { r, s, t } = attributes();
        column = r ? columnOf(r) : column + 1;
        cell = { style: Number(s ?? 0), type: t ?? "n", value: null, hasFormula: false };
      } else if (name === "f") cell.hasFormula = true;
      else if (name === "rPh") phonetic = true;
      else if (name === "v" || (name === "t" && !phonetic)) inValue = true;
    },
    text(piece) {
      if (inValue) cell.value = (cell.value ?? "") + piece;
    },
    close(name) {
      if (name === "v" || name === "t") inValue = false;
      else if (name === "rPh") phonetic = false;
      else if (name === "c") {
        const read = readCell(cell, book);
        if (read.text.length > MAX_CELL) throw new SheetError("cell_too_long");
        if (read.kind === "empty") return;
        says = true;
        if (rows.length >= most) return;
        count += Math.max(column - cells.length, 1);
        if (count > MAX_CELLS) throw new SheetError("too_many_cells");
        while (cells.length < column - 1) cells.push(EMPTY);
        cells[column - 1] = read;
      } else if (name === "row" && says) {
        if (rows.length >= most) sheet.more++;
        else rows.push({ sheet_row, cells });
      }
    },
  };
}

/** The column of a reference such as `AB12`, from 1. */
function columnOf(reference: string): number {
  const letters = /^[A-Z]{1,3}/.exec(reference)?.[0];
  if (!letters) throw new SheetError("broken");
  return [...letters].reduce((column, letter) => column * 26 + letter.charCodeAt(0) - 64, 0);
}

/** A cell as written: `type` is its t, `value` what stands in it. */
type Raw = { style: number; type: string; value: string | null; hasFormula: boolean };

function readCell({ style, type, value, hasFormula }: Raw, { strings, styles, is1904 }: Book): Cell {
  // a program that does not calculate leaves its formulas without value
  if (value === null) return hasFormula ? { kind: "error", text: "#VALUE!" } : EMPTY;
  switch (type) {
    case "s":
      return textCell(strings[Number(value)]);
    case "str":
    case "inlineStr":
      return textCell(unguarded(value));
    case "b":
      return isTrue(value.trim())
        ? { kind: "boolean", text: "TRUE", value: true }
        : { kind: "boolean", text: "FALSE", value: false };
    case "e":
      return { kind: "error", text: value };
    case "d":
      return dateCell(Date.parse(`${value.trim().replace(/Z$/, "")}Z`), "moment", value);
    default:
      return numberCell(value, styles[style], is1904);
  }
}

function textCell(text: string | undefined): Cell {
  if (text === undefined) return { kind: "error", text: "#REF!" };
  return text ? { kind: "text", text } : EMPTY;
}

function numberCell(written: string, style: Style | undefined, is1904: boolean): Cell {
  // Excel is exact to 15 digits, and writes the others too
  const stored = written.trim() === "" ? Number.NaN : Number(written);
  // as the format shows it: a unit beside it counts what is shown
  const value = Number((stored / 1000 ** (style?.thousands ?? 0)).toPrecision(15));
  if (!Number.isFinite(value)) return { kind: "error", text: "#NUM!" };
  if (style?.shows) {
    const wall = serialToWall(value, is1904);
    if (wall !== null) {
      const cell = dateCell(wall, style.shows, written);
      const isLong = style.shows === "time" && value >= 1 && value < LONGEST;
      return cell.kind === "date" && isLong ? { ...cell, text: durationText(value) } : cell;
    }
  }
  const text = numberText(value, style?.digits ?? 0);
  return style?.unit ? { kind: "number", text, value, unit: style.unit } : { kind: "number", text, value };
}

/** A number of more digits than it is exact to stays one: it is nobody's EAN. */
function numberText(value: number, digits: number): string {
  if (Math.abs(value) >= 1e15) return value.toExponential();
  return Number.isInteger(value) && value >= 0 ? String(value).padStart(digits, "0") : String(value);
}

/** A cell of this many days or more is a date; with fewer it may be a duration. */
const LONGEST = 1000;

/** Hours, also above 24, minutes and seconds. */
function durationText(days: number): string {
  const seconds = Math.round(days * 86_400);
  const [minute, second] = [Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, "0"));
  return `${Math.floor(seconds / 3600)}:${minute}:${second}`;
}

function dateCell(wall: number, shows: Extract<Cell, { kind: "date" }>["shows"], written: string): Cell {
  if (Number.isNaN(wall)) return { kind: "error", text: written };
  const iso = new Date(wall).toISOString();
  const text = { month: iso.slice(0, 7), day: iso.slice(0, 10), time: iso.slice(11, 19), moment: iso.slice(0, 19) };
  return { kind: "date", text: text[shows].replace("T", " "), wall, shows };
}
