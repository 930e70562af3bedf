import { SheetError } from "./model.ts";

export type Reader = {
  /** An element begins; its name is without prefix, its attributes are as written: entities are not decoded. */
  open: (name: string, attributes: () => Record<string, string>) => void;
  close?: (name: string) => void;
  /** A piece of the text in it. */
  text?: (piece: string) => void;
};

/**
 * XML that comes in pieces. Both throw a SheetError: `broken` if it is not well-formed or a tag has more than 64 attributes,
 * `declares` if it has a document type, and what the reader throws.
 */
export type Xml = { write: (piece: string) => void; end: () => void };

/** Characters that are read at once. What is not whole is read again once it is twice as long. */
const PIECE = 128 * 1024;
/** Characters of a tag. */
const MAX_TAG = 64 * 1024;
const MAX_ATTRIBUTES = 64;
const NAME = /^[A-Za-z_:][\w:.-]*(?=[\s/]|$)/;
const ATTRIBUTE = /([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
/** What is no element, by how it begins, and how it ends. */
const OTHERS = { "<!--": "-->", "<![CDATA[": "]]>", "<?": "?>" } as const;

/** Reads XML as it comes. A document type is refused, so no document defines entities. */
export function readXml({ open, close = () => {}, text = () => {} }: Reader): Xml {
  const inside: string[] = [];
  let hasRoot = false;
  let waiting = "";
  let due = PIECE;

  /** Each of these reads what begins at a "<". @returns where it ends; null if its end has not come yet */
  const readOther = (at: number): number | null => {
    const other = Object.entries(OTHERS).find(([begin]) => waiting.startsWith(begin, at));
    if (!other) {
      if (Object.keys(OTHERS).some((begin) => begin.startsWith(waiting.slice(at)))) return null;
      throw new SheetError("declares");
    }
    const [begin, last] = other;
    const end = waiting.indexOf(last, at + begin.length);
    if (end < 0) return null;
    if (last === "]]>") text(waiting.slice(at + begin.length, end));
    return end + last.length;
  };
  const readTag = (at: number): number | null => {
    let attributes = 0;
    for (let end = at + 1; end < waiting.length && end - at <= MAX_TAG; end++) {
      const sign = waiting[end];
      if (sign === ">") {
        readElement(waiting.slice(at + 1, end));
        return end + 1;
      }
      if (sign !== '"' && sign !== "'") continue;
      if (++attributes > MAX_ATTRIBUTES) throw new SheetError("broken");
      end = waiting.indexOf(sign, end + 1);
      if (end < 0) break;
    }
    if (waiting.length - at > MAX_TAG) throw new SheetError("broken");
    return null;
  };
  const readElement = (tag: string) => {
    if (tag.startsWith("/")) {
      const name = tag.slice(1).trimEnd();
      if (inside.pop() !== name) throw new SheetError("broken");
      close(local(name));
      return;
    }
    const name = NAME.exec(tag)?.[0];
    if (!name) throw new SheetError("broken");
    hasRoot = true;
    open(local(name), () => attributesOf(tag));
    if (tag.endsWith("/")) close(local(name));
    else inside.push(name);
  };
  const parse = () => {
    let read = 0;
    for (;;) {
      const at = waiting.indexOf("<", read);
      if (at < 0) break;
      if (at > read && inside.length > 0) text(decode(waiting.slice(read, at)));
      read = at;
      const sign = waiting[at + 1];
      const end = sign === "!" || sign === "?" ? readOther(at) : readTag(at);
      if (end === null) break;
      read = end;
    }
    waiting = waiting.slice(read);
  };
  return {
    write(piece) {
      waiting += piece;
      if (waiting.length < due) return;
      parse();
      due = PIECE + 2 * waiting.length;
    },
    end() {
      parse();
      if (inside.length > 0 || !hasRoot || waiting.trim()) throw new SheetError("broken");
    },
  };
}

function attributesOf(tag: string): Record<string, string> {
  const attributes: Record<string, string> = {};
  // most tags have none
  if (!tag.includes("=")) return attributes;
  for (const [, name = "", one, other] of tag.matchAll(ATTRIBUTE)) attributes[name] = one ?? other ?? "";
  return attributes;
}

/** Some programs write a prefix before every name. */
const local = (name: string): string => name.slice(name.indexOf(":") + 1);

const NAMED: Readonly<Record<string, string>> = { amp: "&", apos: "'", gt: ">", lt: "<", quot: '"' };

/** The text of XML, and of `_x000D_`, by which a workbook writes what XML cannot. */
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
