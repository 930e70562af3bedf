// PNG files of every kind, and broken ones, written byte by byte.

import { crc32, deflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const PASSES = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;
const SAMPLES: Record<number, number> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

export type Chunk = [type: string, content: Uint8Array];

/** A chunk with its length and checksum. */
export function chunk(type: string, content: Uint8Array = new Uint8Array()): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), content]);
  const [length, crc] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  crc.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, crc]);
}

/** A picture that is one sample all over, unless told its rows. */
type Picture = {
  width?: number;
  height?: number;
  depth?: number;
  colour?: number;
  interlaced?: boolean;
  /** What the data is, once inflated. */
  raw?: Uint8Array;
  /** The data as it is in the file. */
  data?: Uint8Array;
  /** Chunks between the header and the data. */
  between?: readonly Chunk[];
  after?: Uint8Array;
};

export function png({
  width = 4,
  height = 4,
  depth = 8,
  colour = 6,
  interlaced = false,
  raw = rowsOf({ width, height, depth, colour, interlaced }, 0),
  data = deflateSync(raw),
  between = [],
  after = new Uint8Array(),
}: Picture = {}): Buffer {
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header(width, height, depth, colour, interlaced)),
    ...between.map(([type, content]) => chunk(type, content)),
    chunk("IDAT", data),
    chunk("IEND"),
    after,
  ]);
}

export function header(width: number, height: number, depth: number, colour: number, interlaced: boolean): Buffer {
  const content = Buffer.alloc(13);
  content.writeUInt32BE(width);
  content.writeUInt32BE(height, 4);
  content.set([depth, colour, 0, 0, interlaced ? 1 : 0], 8);
  return content;
}

/** Rows, unfiltered, whose bytes all are `byte`. */
export function rowsOf(
  {
    width,
    height,
    depth,
    colour,
    interlaced,
  }: Required<Pick<Picture, "width" | "height" | "depth" | "colour" | "interlaced">>,
  byte: number,
): Buffer {
  const rows: Buffer[] = [];
  for (const [x, y, right, down] of interlaced ? PASSES : [[0, 0, 1, 1] as const]) {
    const columns = Math.max(Math.ceil((width - x) / right), 0);
    const length = Math.ceil((columns * depth * (SAMPLES[colour] ?? 0)) / 8);
    if (columns === 0) continue;
    for (let row = y; row < height; row += down)
      rows.push(Buffer.concat([Buffer.from([0]), Buffer.alloc(length, byte)]));
  }
  return Buffer.concat(rows);
}

/** Rows of an RGB picture that is seen on every ground: four stripes. */
export function striped(width: number, height: number): Buffer {
  const stripe = (row: number) => [0xd0, 0x10, 0x60, 0xf0][Math.floor((row * 4) / height)] ?? 0;
  const rows = Array.from({ length: height }, (_, row) =>
    Buffer.concat([Buffer.from([0]), Buffer.alloc(width * 3, Buffer.from([stripe(row), 0x50, 0xa0]))]),
  );
  return Buffer.concat(rows);
}
