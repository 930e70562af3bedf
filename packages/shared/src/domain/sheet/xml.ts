import { SheetError } from "./model.ts";
import { Parser } from "./saxen.js";

export type Reader = {
  /** An element begins; its name is without prefix, its attributes are as written: entities are not decoded. */
  open: (name: string, attributes: () => Record<string, string>) => void;
  close?: (name: string) => void;
  /** A piece of the text in it. */
  text?: (piece: string) => void;
};

/** XML that comes in pieces. Both throw a SheetError: `broken` where it is not well-formed, and what the reader throws. */
export type Xml = { write: (piece: string) => void; end: () => void };

/** What a parser is given at once. It looks at what it could not yet use again with the next piece. */
const PIECE = 256 * 1024;

/** Reads XML as it comes. Entities that a document defines are not expanded. */
export function readXml({ open, close = () => {}, text = () => {} }: Reader): Xml {
  const parser = new Parser()
    .on("openTag", (name, attributes) => open(local(name), attributes))
    .on("closeTag", (name) => close(local(name)))
    .on("text", (piece) => text(decode(piece)))
    .on("cdata", text);
  let waiting = "";
  const parse = (end: boolean) => {
    try {
      parser.write(waiting);
      if (end) parser.end();
    } catch (error) {
      throw asDamage(error);
    }
    waiting = "";
  };
  return {
    write(piece) {
      waiting += piece;
      if (waiting.length >= PIECE) parse(false);
    },
    end: () => parse(true),
  };
}

/** What fflate and saxen throw is an Error of no class of its own: the file is damaged. Anything else is passed on. */
export const asDamage = (thrown: unknown): unknown =>
  thrown instanceof Error && thrown.constructor === Error ? new SheetError("broken") : thrown;

/** Some programs write a prefix before every name. */
const local = (name: string): string => name.slice(name.indexOf(":") + 1);

const NAMED: Readonly<Record<string, string>> = { amp: "&", apos: "'", gt: ">", lt: "<", quot: '"' };

/** The text of XML, and of `_x000D_`, by which a workbook writes what XML cannot. saxen's own decoder knows 16 bits of a character. */
export function decode(text: string): string {
  const plain = text.includes("&")
    ? text.replace(/&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|(\w+));/gi, (whole, hex, decimal, name) => {
        if (name) return NAMED[name] ?? whole;
        const code = hex ? Number.parseInt(hex, 16) : Number(decimal);
        return code > 0x10ffff ? "\ufffd" : String.fromCodePoint(code);
      })
    : text;
  return plain.includes("_x")
    ? plain.replace(/_x([0-9a-f]{4})_/gi, (_whole, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    : plain;
}
