// Writes headings, paragraphs, lists and tables as PDF/UA-1. The tags let it be read aloud, copied in order and shown
// on a small screen. The same content and moment give the same bytes.

import { Buffer } from "node:buffer";
// @ts-types="npm:@types/pdfkit@0.17.6"
import PDFDocument from "pdfkit";
import type { Locale } from "#shared/values/locale.ts";
import { alphabets, type Run, runsOf, type Style } from "./fonts.ts";

export type Block =
  | { kind: "heading"; text: string }
  | { kind: "paragraph"; text: string }
  | { kind: "points"; points: readonly string[] }
  | { kind: "details"; details: readonly Detail[] }
  /** The first column is text, the others are numbers, to the right. The last row may be a total. */
  | { kind: "table"; head: readonly string[]; rows: readonly (readonly string[])[]; total?: readonly string[] };

export type Detail = readonly [label: string, value: string];

export type Content = {
  locale: Locale;
  /** Who sends it, below the title: the first line is the name. The logo is beside the title. */
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
const PAGE = { width: 595.28, height: 841.89, margin: 64, foot: 40 };
const WIDTH = PAGE.width - 2 * PAGE.margin;
const BOTTOM = PAGE.height - PAGE.margin - 16;
const SIZES = { title: 19, heading: 12.5, text: 10.5, small: 8.5 };
const SMALL = { size: SIZES.small };
const LEADING = 1.42;
const LABEL_WIDTH = 170;
const INDENT = 14;
/** For tables: the smallest width of the first column and of other columns, and the gap between columns. */
const FIRST = 94;
const COLUMN = 67;
const GAP = 10;
const TEXT = "#1a1a1a";
const QUIET = "#595959";
const RULE = "#b3b3b3";

/** Its types do not know of it yet. */
const PDF_UA = "PDF/UA" as string as PDFKit.PDFDocumentOptions["subset"] & {};

/**
 * A letter stays one glyph. Otherwise the font writes its mark as a separate glyph, and copied text has a stray
 * character. fontkit turns a feature off by this form; the types know only lists.
 */
const FEATURES = { ccmp: false } as unknown as PDFKit.Mixins.OpenTypeFeatures[];

type Element = PDFKit.PDFStructureElement;
type Line = { runs: Run[]; width: number };

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
    this.#text(this.#element(root, "H1"), this.#content.title, { style: "bold", size: SIZES.title });
    if (this.#content.sender) this.#sender(root, this.#content.sender);
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

  #sender(root: Element, { lines: [name = "", ...lines], logo }: NonNullable<Content["sender"]>): void {
    if (logo) {
      const [width, height] = [logo.width * 0.75, logo.height * 0.75];
      const [left, top] = [PAGE.width - PAGE.margin - width, PAGE.margin];
      const figure = this.#element(root, "Figure", {
        alt: logo.name,
        bbox: [left, top, left + width, top + height],
      });
      figure.add(() => this.#doc.image(Buffer.from(logo.png, "base64"), left, top, { width, height }));
      figure.end();
      this.#y = Math.max(this.#y, top + height);
    }
    this.#text(this.#element(root, "P"), name, { style: "bold" });
    for (const line of lines) this.#put(this.#element(root, "P"), this.#lines(line, SMALL), { ...SMALL, color: QUIET });
    this.#y += 10;
  }

  #block(root: Element, block: Block): void {
    switch (block.kind) {
      case "heading":
        this.#y += 12;
        // never alone at the end of a page
        this.#room(3 * SIZES.text * LEADING + SIZES.heading * LEADING);
        this.#text(this.#element(root, "H2"), block.text, { style: "bold", size: SIZES.heading });
        this.#y += 2;
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
      case "table":
        this.#table(this.#element(root, "Table"), block);
    }
  }

  #points(list: Element, points: readonly string[]): void {
    for (const point of points) {
      const item = this.#element(list, "LI");
      const lines = this.#lines(point, { width: WIDTH - INDENT });
      this.#room(SIZES.text * LEADING);
      this.#put(this.#element(item, "Lbl"), [{ runs: runsOf("•", "regular"), width: 0 }], { advance: false });
      this.#put(this.#element(item, "LBody"), lines, { x: PAGE.margin + INDENT });
      item.end();
      this.#y += 2;
    }
    list.end();
    this.#y += 2;
  }

  /** Label and value beside each other. */
  #details(list: Element, details: readonly Detail[]): void {
    for (const [label, value] of details) {
      const item = this.#element(list, "LI");
      const labels = this.#lines(label, { width: LABEL_WIDTH - INDENT });
      const values = this.#lines(value, { width: WIDTH - LABEL_WIDTH });
      this.#room(labels.length * SIZES.text * LEADING);
      const top = this.#y;
      this.#put(this.#element(item, "Lbl"), labels, { color: QUIET });
      const below = this.#y;
      this.#y = top;
      this.#put(this.#element(item, "LBody"), values, { x: PAGE.margin + LABEL_WIDTH });
      // a value that went on to the next page ends above its label
      if (this.#y > top) this.#y = Math.max(this.#y, below);
      item.end();
      this.#y += 1;
    }
    list.end();
    this.#y += 4;
  }

  #table(table: Element, { head, rows, total }: Extract<Block, { kind: "table" }>): void {
    const edges = this.#edges([head, ...rows, ...(total ? [total] : [])]);
    const line = SIZES.text * LEADING + 3;
    const cells = (parent: Element | null, texts: readonly string[], type: "TH" | "TD", style: Style) => {
      const row = parent && this.#element(parent, "TR");
      texts.forEach((text, index) => {
        const [set = { runs: [], width: 0 }] = this.#lines(text, { width: Number.POSITIVE_INFINITY, style });
        const x = PAGE.margin + (index === 0 ? 0 : (edges[index] ?? WIDTH) - set.width);
        const isHead = type === "TH" || index === 0;
        const options = isHead ? { scope: type === "TH" ? "Column" : "Row" } : {};
        this.#put(row && this.#element(row, isHead ? "TH" : "TD", options), [set], { x, advance: false });
      });
      row?.end();
      this.#y += line;
    };
    const header = (parent: Element | null) => {
      cells(parent, head, "TH", "bold");
      this.#rule(this.#y - 2);
    };
    this.#room(3 * line);
    header(table);
    for (const row of rows) {
      if (this.#room(line)) header(null);
      cells(table, row, "TD", "regular");
    }
    if (total) {
      if (this.#room(line)) header(null);
      this.#rule(this.#y - 2);
      cells(table, total, "TD", "bold");
    }
    table.end();
    this.#y += 4;
  }

  /** Where each column ends: alike in all tables, unless one has larger numbers; the first has what is left. */
  #edges(rows: readonly (readonly string[])[]): number[] {
    const columns = rows[0] ?? [];
    const least = Math.min(COLUMN, (WIDTH - FIRST) / (columns.length - 1));
    const widths = columns.map((_, index) =>
      Math.max(least, ...rows.map((row) => this.#width(row[index] ?? "", "bold") * SIZES.text + GAP)),
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
      size = SIZES.text,
      color = TEXT,
      advance = true,
    }: { x?: number; size?: number; color?: string; advance?: boolean } = {},
  ): void {
    const doc = this.#doc;
    for (const { runs } of lines) {
      if (advance) this.#room(size * LEADING);
      const y = this.#y;
      const show = () => {
        let left = x;
        doc.fontSize(size).fillColor(color);
        for (const { font, text } of runs) {
          doc.font(font).text(text, left, y, { lineBreak: false, features: FEATURES });
          left += doc.widthOfString(text, { features: FEATURES });
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

  #measure(text: string, style: Style, size: number): Line {
    return { runs: runsOf(text, style), width: this.#width(text, style) * size };
  }

  /** At size 1. Words come again and again, and lines are made of them. */
  #width(text: string, style: Style): number {
    const words = text.split(" ");
    if (words.length > 1) {
      const spaces = (words.length - 1) * this.#width("\u00a0", style);
      return words.reduce((sum, word) => sum + this.#width(word, style), spaces);
    }
    const key = `${style} ${text}`;
    let width = this.#widths.get(key);
    if (width === undefined) {
      this.#doc.fontSize(1);
      width = runsOf(text, style).reduce(
        (sum, run) => sum + this.#doc.font(run.font).widthOfString(run.text, { features: FEATURES }),
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

  #rule(y: number): void {
    this.#decorate("Layout", () =>
      this.#doc
        .moveTo(PAGE.margin, y)
        .lineTo(PAGE.width - PAGE.margin, y)
        .lineWidth(0.5)
        .strokeColor(RULE)
        .stroke(),
    );
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
