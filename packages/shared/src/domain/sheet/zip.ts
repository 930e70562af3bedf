import { Inflate } from "fflate";
import { MAX_PARTS, SheetError } from "./model.ts";

/** A part of a zip as it is packed. `size` is its bytes unpacked, as the zip says. */
export type Part = { packed: Uint8Array; method: number; size: number };

const LOCAL = 0x04034b50;
const ENTRY = 0x02014b50;
const END = 0x06054b50;
/** Bytes of the end of a zip, without the comment. */
const END_SIZE = 22;
/** Stands for a number of 64 bits, which follows elsewhere. */
const WIDE = 0xffffffff;
const STORED = 0;
const DEFLATED = 8;

/**
 * The parts of a zip by name, in lower case with slashes, as the directory at its end lists them.
 * @throws {SheetError} `too_many_parts`; `broken`, also if a name is listed twice or two parts share bytes
 */
export function partsOf(file: Uint8Array): Map<string, Part> {
  try {
    return readDirectory(file, new DataView(file.buffer, file.byteOffset, file.byteLength));
  } catch (error) {
    // it points outside the file
    throw error instanceof RangeError ? new SheetError("broken") : error;
  }
}

function readDirectory(file: Uint8Array, view: DataView): Map<string, Part> {
  const u16 = (at: number) => view.getUint16(at, true);
  const u32 = (at: number) => view.getUint32(at, true);
  const decoder = new TextDecoder();
  const parts = new Map<string, Part>();
  const spans: { from: number; to: number }[] = [];
  let end = file.length - END_SIZE;
  while (u32(end) !== END) end--;
  const directory = u32(end + 16);
  for (let at = directory; at < end && u32(at) === ENTRY; ) {
    if (spans.length >= MAX_PARTS) throw new SheetError("too_many_parts");
    const extra = at + 46 + u16(at + 28);
    const next = extra + u16(at + 30) + u16(at + 32);
    const name = decoder
      .decode(file.subarray(at + 46, extra))
      .replaceAll("\\", "/")
      .toLowerCase();
    const wide = wideNumbers(view, extra, extra + u16(at + 30));
    const number = (field: number) => (u32(field) === WIDE ? (wide.shift() ?? WIDE) : u32(field));
    // in this order the wide ones follow
    const size = number(at + 24);
    const packed = number(at + 20);
    const local = number(at + 42);
    const from = local + 30 + u16(local + 26) + u16(local + 28);
    const to = from + packed;
    if (u32(local) !== LOCAL || to > directory) throw new SheetError("broken");
    spans.push({ from: local, to });
    parts.set(name, { packed: file.subarray(from, to), method: u16(at + 10), size });
    at = next;
  }
  spans.sort((one, other) => one.from - other.from);
  const isShared = spans.some(({ from }, place) => from < (spans[place - 1]?.to ?? 0));
  if (isShared || parts.size < spans.length) throw new SheetError("broken");
  return parts;
}

/** The numbers of 64 bits in the extra field of an entry; some programs write all of them so. */
function wideNumbers(view: DataView, from: number, to: number): number[] {
  for (let at = from; at + 4 <= to; ) {
    const length = view.getUint16(at + 2, true);
    if (view.getUint16(at, true) === 1)
      return Array.from({ length: length >> 3 }, (_, n) => Number(view.getBigUint64(at + 4 + 8 * n, true)));
    at += 4 + length;
  }
  return [];
}

/** Packed bytes that are unpacked at once, and unpacked bytes that are handed on at once. Deflate makes at most 1,032 of one. */
const SLICE = 2 * 1024;
const PIECE = 128 * 1024;

/**
 * Unpacks a part slice by slice.
 * @throws {Error} of no class of its own: the part is damaged
 * @throws {SheetError} `broken`: it is packed in a way that we do not read
 */
export function* unpack({ packed, method }: Part): Generator<Uint8Array> {
  if (method !== STORED && method !== DEFLATED) throw new SheetError("broken");
  let unpacked: Uint8Array[] = [];
  const inflate = new Inflate((bytes) => void unpacked.push(bytes));
  for (let at = 0; at < packed.length; at += SLICE) {
    const slice = packed.subarray(at, at + SLICE);
    if (method === STORED) unpacked.push(slice);
    else inflate.push(slice, at + SLICE >= packed.length);
    for (const bytes of unpacked)
      for (let from = 0; from < bytes.length; from += PIECE) yield bytes.subarray(from, from + PIECE);
    unpacked = [];
  }
}
