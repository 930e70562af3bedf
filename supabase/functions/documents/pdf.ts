// Writes headings, paragraphs, lists and tables as PDF/UA-1. The tags let it be read aloud, copied in order and shown
// on a small screen. The same content and moment give the same bytes.

import { Buffer } from "node:buffer";
// @ts-types="npm:@types/pdfkit@0.17.6"
import PDFDocument from "pdfkit";
import { lightColor } from "#shared/look/palette.ts";
import type { Locale } from "#shared/values/locale.ts";
import { alphabets, type Run, runsOf, type Style } from "./fonts.ts";

export type Block =
  | { kind: "heading"; text: string }
  | { kind: "paragraph"; text: string }
  | { kind: "points"; points: readonly string[] }
  | { kind: "details"; details: readonly Detail[] }
  /** The one number that the document is about, in large: what it is above it, when and where to below it. */
  | { kind: "figure"; label: string; value: string; said: string }
  /** Details of two parties beside each other, each under its heading. */
  | { kind: "parties"; parties: readonly { heading: string; details: readonly Detail[] }[] }
  /** The first column is text, the others are numbers, to the right. The last of the sums below them is the total. */
  | {
      kind: "table";
      head: readonly string[];
      rows: readonly (readonly string[])[];
      sums?: readonly (readonly string[])[];
    };

export type Detail = readonly [label: string, value: string];

export type Content = {
  locale: Locale;
  /** Who sends it, beside the title: the first line is the name. The logo is above it. */
  sender?: { lines: readonly string[]; logo: Logo | null };
  title: string;
  blocks: readonly Block[];
  /** At the foot of each page, with its number: "Page 1 of 2". */
  page: (number: number, of: number) => string;
  /** A text that goes along, to be saved from the document byte for byte. */
  attachment?: { name: string; description: string; text: string };
};

/** A PNG as base64, its size in CSS pixels, and whose it is. */
export type Logo = { name: string; png: string; width: number; height: number };

/** A4, in points of 1/72 inch. */
const PAGE = { width: 595.28, height: 841.89, margin: 64, foot: 40, strip: 6 };
const WIDTH = PAGE.width - 2 * PAGE.margin;
const BOTTOM = PAGE.height - PAGE.margin - 16;
const SIZES = { figure: 30, title: 20, heading: 12, text: 10, small: 8.5 };
const LEADING = 1.45;
const LABEL_WIDTH = 160;
const INDENT = 14;
/** What stands beside the title, and what is left for the title. */
const BESIDE = { width: 170, gap: 20 };
const PARTY = { gap: 24, label: 78 };
/** Around what stands on a tint. */
const PADDING = { x: 18, y: 14 };
/** For tables: the smallest width of the first column and of other columns, and the gap between columns. */
const FIRST = 94;
const COLUMN = 66;
const GAP = 10;
const TEXT = lightColor("ink");
const QUIET = lightColor("quiet");
const RULE = lightColor("line");
const ACCENT = lightColor("accent");
const TINT = lightColor("tint");

/** Its types do not know of it yet. */
const PDF_UA = "PDF/UA" as string as PDFKit.PDFDocumentOptions["subset"] & {};

/**
 * A letter stays one glyph. Otherwise the font writes its mark as a separate glyph, and copied text has a stray
 * character. In columns each digit is as wide as the next. fontkit turns a feature off by this form; the types know only
 * lists.
 */
const FEATURES = {
  text: { ccmp: false } as unknown as PDFKit.Mixins.OpenTypeFeatures[],
  columns: { ccmp: false, tnum: true } as unknown as PDFKit.Mixins.OpenTypeFeatures[],
};

type Element = PDFKit.PDFStructureElement;
type Line = { runs: Run[]; width: number; as: keyof typeof FEATURES };

/** @param created The moment that the document says it was made. */
export function writePdf(content: Content, created: Date): Promise<Uint8Array> {
  return new Writer(content, created).write();
}

class Writer {
  readonly #content: Content;
  readonly #doc: PDFKit.PDFDocument;
  readonly #chunks: Uint8Array[] = [];
  readonly #finished: Promise<void>;
  #y = PAGE.margin;

  constructor(content: Content, created: Date) {
    this.#content = content;
    this.#doc = new PDFDocument({
      size: "A4",
      // lines and pages are broken here: a line may have letters of several fonts, which pdfkit would break a word between
      margin: 0,
      bufferPages: true,
      pdfVersion: "1.7",
      subset: PDF_UA,
      tagged: true,
      displayTitle: true,
      lang: content.locale,
      // no standard font, which is not embedded
      font: "",
      info: { Title: content.title, CreationDate: created, ModDate: created },
    });
    this.#finished = new Promise((resolve, reject) => {
      this.#doc.on("data", (chunk: Uint8Array) => this.#chunks.push(chunk));
      this.#doc.on("end", resolve);
      this.#doc.on("error", reject);
    });
    for (const style of ["regular", "bold"] as const)
      for (const { name, data } of alphabets(style)) this.#doc.registerFont(name, data);
    if (content.attachment) {
      const { text, ...about } = content.attachment;
      const dates = { creationDate: created, modifiedDate: created };
      this.#doc.file(new TextEncoder().encode(text).buffer, { ...about, ...dates, type: "text/plain" });
    }
  }

  async write(): Promise<Uint8Array> {
    const doc = this.#doc;
    const root = doc.struct("Document");
    doc.addStructure(root);
    this.#strip();
    this.#head(root, this.#content);
    for (const block of this.#content.blocks) this.#block(root, block);
    root.end();
    this.#foot();
    doc.end();
    await this.#finished;
    const bytes = new Uint8Array(this.#chunks.reduce((sum, { length }) => sum + length, 0));
    let written = 0;
    for (const chunk of this.#chunks) {
      bytes.set(chunk, written);
      written += chunk.length;
    }
    return bytes;
  }

  #element(parent: Element, type: string, options: object = {}): Element {
    const element = this.#doc.struct(type, options);
    parent.add(element);
    return element;
  }

  /** The title, and beside it who sends the document. */
  #head(root: Element, { title, sender }: Content): void {
    const size = SIZES.title;
    const width = sender ? WIDTH - BESIDE.width - BESIDE.gap : WIDTH;
    this.#put(this.#element(root, "H1"), this.#lines(title, { width, style: "bold", size }), { size });
    if (sender) {
      const below = this.#y;
      this.#y = PAGE.margin;
      this.#sender(root, sender);
      this.#y = Math.max(this.#y, below) + 18;
    } else this.#y += 8;
  }

  #sender(root: Element, { lines: [name = "", ...lines], logo }: NonNullable<Content["sender"]>): void {
    const right = PAGE.width - PAGE.margin;
    if (logo) {
      const [width, height] = [logo.width * 0.75, logo.height * 0.75];
      const [left, top] = [right - width, PAGE.margin];
      const figure = this.#element(root, "Figure", {
        alt: logo.name,
        bbox: [left, top, left + width, top + height],
      });
      figure.add(() => this.#doc.image(Buffer.from(logo.png, "base64"), left, top, { width, height }));
      figure.end();
      this.#y = top + height + 8;
    }
    const put = (text: string, style: Style, size: number, color: string) => {
      const lines = this.#lines(text, { width: BESIDE.width, style, size });
      this.#put(this.#element(root, "P"), lines, { right, size, color });
    };
    put(name, "bold", SIZES.text, TEXT);
    for (const line of lines) put(line, "regular", SIZES.small, QUIET);
  }

  #block(root: Element, block: Block): void {
    switch (block.kind) {
      case "heading":
        this.#y += 12;
        // never alone at the end of a page
        this.#room(3 * SIZES.text * LEADING + SIZES.heading * LEADING);
        this.#heading(root, block.text);
        break;
      case "paragraph":
        this.#text(this.#element(root, "P"), block.text);
        this.#y += 4;
        break;
      case "points":
        this.#points(this.#element(root, "L"), block.points);
        break;
      case "details":
        this.#details(this.#element(root, "L"), block.details);
        break;
      case "figure":
        this.#figure(root, block);
        break;
      case "parties":
        this.#parties(root, block.parties);
        break;
      case "table":
        this.#table(this.#element(root, "Table"), block);
    }
  }

  #points(list: Element, points: readonly string[]): void {
    for (const point of points) {
      const item = this.#element(list, "LI");
      const lines = this.#lines(point, { width: WIDTH - INDENT });
      this.#room(SIZES.text * LEADING);
      this.#put(this.#element(item, "Lbl"), this.#lines("•"), { advance: false });
      this.#put(this.#element(item, "LBody"), lines, { x: PAGE.margin + INDENT });
      item.end();
      this.#y += 2;
    }
    list.end();
    this.#y += 2;
  }

  #heading(root: Element, text: string, x = PAGE.margin, width = WIDTH): void {
    const size = SIZES.heading;
    this.#put(this.#element(root, "H2"), this.#lines(text, { width, style: "bold", size }), { x, size, color: ACCENT });
    this.#y += 2;
  }

  #figure(root: Element, { label, value, said }: Extract<Block, { kind: "figure" }>): void {
    const width = WIDTH - 2 * PADDING.x;
    const size = SIZES.figure;
    const parts = [
      { lines: this.#lines(label, { width }), size: SIZES.text, color: QUIET },
      { lines: this.#lines(value, { width, style: "bold", size }), size, color: ACCENT },
      { lines: this.#lines(said, { width }), size: SIZES.text, color: TEXT },
    ];
    const height = parts.reduce((sum, { lines, size }) => sum + lines.length * size * LEADING, 2 * PADDING.y);
    this.#room(height);
    const top = this.#y;
    this.#decorate("Layout", () => this.#doc.roundedRect(PAGE.margin, top, WIDTH, height, 8).fill(TINT));
    this.#y += PADDING.y;
    for (const { lines, ...how } of parts)
      this.#put(this.#element(root, "P"), lines, { x: PAGE.margin + PADDING.x, ...how });
    this.#y = top + height + 16;
  }

  #parties(root: Element, parties: Extract<Block, { kind: "parties" }>["parties"]): void {
    this.#y += 8;
    const width = (WIDTH - PARTY.gap) / 2;
    const top = this.#y;
    let below = top;
    for (const [index, { heading, details }] of parties.entries()) {
      const x = PAGE.margin + index * (width + PARTY.gap);
      this.#y = top;
      this.#heading(root, heading, x, width);
      this.#details(this.#element(root, "L"), details, { x, width, label: PARTY.label });
      below = Math.max(below, this.#y);
    }
    this.#y = below;
  }

  /** Label and value beside each other. */
  #details(
    list: Element,
    details: readonly Detail[],
    { x, width, label: indent } = { x: PAGE.margin, width: WIDTH, label: LABEL_WIDTH },
  ): void {
    for (const [label, value] of details) {
      const item = this.#element(list, "LI");
      const labels = this.#lines(label, { width: indent - INDENT });
      const values = this.#lines(value, { width: width - indent });
      this.#room(labels.length * SIZES.text * LEADING);
      const top = this.#y;
      this.#put(this.#element(item, "Lbl"), labels, { x, color: QUIET });
      const below = this.#y;
      this.#y = top;
      this.#put(this.#element(item, "LBody"), values, { x: x + indent });
      // a value that went on to the next page ends above its label
      if (this.#y > top) this.#y = Math.max(this.#y, below);
      item.end();
      this.#y += 1;
    }
    list.end();
    this.#y += 4;
  }

  #table(table: Element, { head, rows, sums = [] }: Extract<Block, { kind: "table" }>): void {
    const edges = this.#edges([head, ...rows, ...sums]);
    const line = SIZES.text * LEADING + 6;
    const cells = (
      parent: Element | null,
      texts: readonly string[],
      type: "TH" | "TD",
      { style = "regular", color = TEXT, size = SIZES.text }: { style?: Style; color?: string; size?: number } = {},
    ) => {
      const row = parent && this.#element(parent, "TR");
      texts.forEach((text, index) => {
        const set = this.#measure(text, style, size, "columns");
        const x = PAGE.margin + (index === 0 ? 0 : (edges[index] ?? WIDTH) - set.width);
        const isHead = type === "TH" || index === 0;
        const options = isHead ? { scope: type === "TH" ? "Column" : "Row" } : {};
        const element = row && this.#element(row, isHead ? "TH" : "TD", options);
        this.#put(element, [set], { x, size, color, advance: false });
      });
      row?.end();
      this.#y += line;
    };
    const header = (parent: Element | null) => {
      cells(parent, head, "TH", { style: "bold", color: QUIET, size: SIZES.small });
      this.#rule(this.#y - 5, ACCENT, 1);
    };
    this.#room(3 * line);
    header(table);
    for (const [index, row] of rows.entries()) {
      if (this.#room(line)) header(null);
      else if (index > 0) this.#rule(this.#y - 4);
      cells(table, row, "TD");
    }
    for (const [index, row] of sums.entries()) {
      if (this.#room(line)) header(null);
      else if (rows.length > 0 && (index === 0 || index === sums.length - 1)) this.#rule(this.#y - 4, ACCENT, 1);
      cells(table, row, "TD", index === sums.length - 1 ? { style: "bold" } : {});
    }
    table.end();
    this.#y += 4;
  }

  /** Where each column ends: alike in all tables, unless one has larger numbers; the first has what is left. */
  #edges(rows: readonly (readonly string[])[]): number[] {
    const columns = rows[0] ?? [];
    const least = Math.min(COLUMN, (WIDTH - FIRST) / (columns.length - 1));
    const widths = columns.map((_, index) =>
      Math.max(least, ...rows.map((row) => this.#width(row[index] ?? "", "bold", "columns") * SIZES.text + GAP)),
    );
    return widths.map((_, index) => WIDTH - widths.slice(index + 1).reduce((sum, width) => sum + width, 0));
  }

  #text(element: Element, text: string, about: { style?: Style; size?: number } = {}): void {
    this.#put(element, this.#lines(text, about), about);
  }

  /** Sets lines one below the other, as content of an element that this ends; without one they are decoration. */
  #put(
    element: Element | null,
    lines: readonly Line[],
    {
      x = PAGE.margin,
      right,
      size = SIZES.text,
      color = TEXT,
      advance = true,
    }: {
      x?: number;
      /** Where each line ends, instead of where it begins. */
      right?: number;
      size?: number;
      color?: string;
      advance?: boolean;
    } = {},
  ): void {
    const doc = this.#doc;
    for (const { runs, width, as } of lines) {
      const features = FEATURES[as];
      if (advance) this.#room(size * LEADING);
      const y = this.#y;
      const show = () => {
        let left = right === undefined ? x : right - width;
        doc.fontSize(size).fillColor(color);
        for (const { font, text } of runs) {
          doc.font(font).text(text, left, y, { lineBreak: false, features });
          left += doc.widthOfString(text, { features });
        }
      };
      if (element) element.add(show);
      else this.#decorate("Pagination", show);
      if (advance) this.#y += size * LEADING;
    }
    element?.end();
  }

  /** Breaks text at spaces, and inside a word where it is longer than a line. */
  #lines(
    text: string,
    { width = WIDTH, style = "regular", size = SIZES.text }: { width?: number; style?: Style; size?: number } = {},
  ): Line[] {
    const lines: string[] = [];
    let line = "";
    const fits = (candidate: string) => this.#measure(candidate, style, size).width <= width;
    for (const word of text.split(" ")) {
      const longer = line ? `${line} ${word}` : word;
      if (fits(longer)) {
        line = longer;
        continue;
      }
      if (line) lines.push(line);
      line = word;
      while (!fits(line)) {
        const letters = Array.from(line);
        let count = letters.length - 1;
        while (count > 1 && !fits(letters.slice(0, count).join(""))) count -= 1;
        lines.push(letters.slice(0, count).join(""));
        line = letters.slice(count).join("");
      }
    }
    return [...lines, line].map((each) => this.#measure(each, style, size));
  }

  #measure(text: string, style: Style, size: number, as: Line["as"] = "text"): Line {
    return { runs: runsOf(text, style), width: this.#width(text, style, as) * size, as };
  }

  /** At size 1. Words come again and again, and lines are made of them. */
  #width(text: string, style: Style, as: Line["as"]): number {
    const words = text.split(" ");
    if (words.length > 1) {
      const spaces = (words.length - 1) * this.#width("\u00a0", style, as);
      return words.reduce((sum, word) => sum + this.#width(word, style, as), spaces);
    }
    const key = `${style} ${as} ${text}`;
    let width = this.#widths.get(key);
    if (width === undefined) {
      this.#doc.fontSize(1);
      width = runsOf(text, style).reduce(
        (sum, run) => sum + this.#doc.font(run.font).widthOfString(run.text, { features: FEATURES[as] }),
        0,
      );
      this.#widths.set(key, width);
    }
    return width;
  }
  readonly #widths = new Map<string, number>();

  /** Begins another page where so much does not fit on this one: whether it did. */
  #room(height: number): boolean {
    if (this.#y + height <= BOTTOM) return false;
    this.#doc.addPage();
    this.#y = PAGE.margin;
    return true;
  }

  #rule(y: number, color = RULE, width = 0.5): void {
    this.#decorate("Layout", () =>
      this.#doc
        .moveTo(PAGE.margin, y)
        .lineTo(PAGE.width - PAGE.margin, y)
        .lineWidth(width)
        .strokeColor(color)
        .stroke(),
    );
  }

  /** Above the first page, in the color of the house. */
  #strip(): void {
    this.#decorate("Layout", () => this.#doc.rect(0, 0, PAGE.width, PAGE.strip).fill(ACCENT));
  }

  #foot(): void {
    const { start, count } = this.#doc.bufferedPageRange();
    for (let index = 0; index < count; index += 1) {
      this.#doc.switchToPage(start + index);
      this.#y = PAGE.height - PAGE.foot;
      const lines = this.#lines(this.#content.page(index + 1, count), { size: SIZES.small });
      this.#put(null, lines, { size: SIZES.small, color: QUIET, advance: false });
    }
  }

  /** What is no part of the content: not read aloud, not copied. */
  #decorate(type: "Layout" | "Pagination", draw: () => void): void {
    this.#doc.markContent("Artifact", { type });
    draw();
    this.#doc.endMarkedContent();
  }
}
