/** What a PNG says of itself (W3C, PNG third edition), every claim checked that can be without inflating. */
type Layout = {
  width: number;
  height: number;
  /** Bits of a pixel. */
  bits: number;
  interlaced: boolean;
  /** The chunks that a picture needs, as they are in the file; those of its data apart. */
  head: Uint8Array[];
  data: Uint8Array[];
};

const SIGNATURE = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Samples of a pixel, and the bits that each may have, by colour type: grey, RGB, palette, grey and RGB with alpha. */
const COLOURS: Readonly<Record<number, { samples: number; depths: readonly number[] }>> = {
  0: { samples: 1, depths: [1, 2, 4, 8, 16] },
  2: { samples: 3, depths: [8, 16] },
  3: { samples: 1, depths: [1, 2, 4, 8] },
  4: { samples: 2, depths: [8, 16] },
  6: { samples: 4, depths: [8, 16] },
};
const PALETTE_COLOUR = 3;
/** Length, type and checksum of a chunk. */
const AROUND = 12;

/** The layout of a PNG; `not_png` for a file of another kind, `broken` where it is none that holds together. */
export function readLayout(file: Uint8Array): Layout | "not_png" | "broken" {
  if (!SIGNATURE.every((byte, at) => file[at] === byte)) return "not_png";
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  let layout: (Layout & { colour: number; palette: number }) | undefined;
  for (let at = SIGNATURE.length; at + AROUND <= file.length; ) {
    const length = view.getUint32(at);
    const end = at + AROUND + length;
    if (end > file.length) return "broken";
    const chunk = file.subarray(at, end);
    if (checksum(chunk.subarray(4, -4)) !== view.getUint32(end - 4)) return "broken";
    const type = String.fromCharCode(...chunk.subarray(4, 8));
    const content = chunk.subarray(8, -4);
    at = end;
    if (!layout) {
      if (type !== "IHDR") return "broken";
      layout = readHeader(chunk, content);
      if (!layout) return "broken";
    } else if (type === "PLTE" && layout.data.length === 0 && layout.palette === 0) {
      layout.palette = length / 3;
      if (!Number.isInteger(layout.palette) || layout.palette < 1 || layout.palette > 256) return "broken";
      layout.head.push(chunk);
    } else if (type === "tRNS" && layout.data.length === 0) {
      if (!fitsColour(layout, length)) return "broken";
      layout.head.push(chunk);
    } else if (type === "IDAT") {
      layout.data.push(content);
    } else if (type === "IEND") {
      const whole = layout.data.length > 0 && (layout.colour !== PALETTE_COLOUR || layout.palette > 0);
      return whole ? layout : "broken";
    } else if (type[0] === type[0]?.toUpperCase()) {
      return "broken"; // of a kind that a reader must know, or twice
    }
  }
  return "broken";
}

function readHeader(chunk: Uint8Array, content: Uint8Array) {
  if (content.length !== 13) return undefined;
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  const [width, height] = [view.getUint32(0), view.getUint32(4)];
  const [depth = 0, colour = 0, compression, filter, interlace = 0] = content.subarray(8);
  const { samples = 0, depths = [] } = COLOURS[colour] ?? {};
  if (width === 0 || height === 0 || !depths.includes(depth) || compression !== 0 || filter !== 0 || interlace > 1)
    return undefined;
  return {
    width,
    height,
    bits: samples * depth,
    interlaced: interlace === 1,
    head: [chunk],
    data: [] as Uint8Array[],
    colour,
    palette: 0,
  };
}

/** Whether what says which colours are transparent is as long as the colour type wants it. */
function fitsColour({ colour, palette }: { colour: number; palette: number }, length: number): boolean {
  if (colour === PALETTE_COLOUR) return length >= 1 && length <= palette;
  return (colour === 0 && length === 2) || (colour === 2 && length === 6);
}

/** Where the seven passes of an interlaced picture begin, and their steps (Adam7): x, y, to the right, down. */
const PASSES = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

/** How many bytes the data of a picture is, once inflated. */
function inflatedSize({ width, height, bits, interlaced }: Layout): number {
  const passes = interlaced ? PASSES : [[0, 0, 1, 1] as const];
  return passes.reduce((sum, [x, y, right, down]) => {
    const columns = Math.ceil((width - x) / right);
    const rows = Math.ceil((height - y) / down);
    return columns > 0 && rows > 0 ? sum + rows * (1 + Math.ceil((columns * bits) / 8)) : sum;
  }, 0);
}

/** The picture alone, as a PNG for a decoder; null where its data is not as large as its header says. No more than that is ever inflated. */
export async function rebuild(layout: Layout): Promise<Uint8Array | null> {
  const data = joined(layout.data);
  if (!(await inflates(data, inflatedSize(layout)))) return null;
  return joined([SIGNATURE, ...layout.head, chunkOf("IDAT", data), chunkOf("IEND", new Uint8Array())]);
}

/** Whether zlib data inflates to exactly so many bytes. */
async function inflates(data: Uint8Array, size: number): Promise<boolean> {
  const reader = new Blob([data as BlobPart]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
  let seen = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return seen === size;
      seen += value.byteLength;
      if (seen > size) return false;
    }
  } catch {
    return false;
  } finally {
    reader.cancel().catch(() => {});
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function chunkOf(type: string, content: Uint8Array): Uint8Array {
  const chunk = new Uint8Array(content.length + AROUND);
  const view = new DataView(chunk.buffer);
  view.setUint32(0, content.length);
  chunk.set(new TextEncoder().encode(type), 4);
  chunk.set(content, 8);
  view.setUint32(8 + content.length, checksum(chunk.subarray(4, -4)));
  return chunk;
}

const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  return crc;
});

/** CRC-32. node:zlib has it from Node 22 on. */
function checksum(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) crc = (CRC[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  return ~crc >>> 0;
}
