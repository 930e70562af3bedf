import { unzlibSync } from "fflate";

/**
 * The TrueType font in a WOFF file (W3C, WOFF File Format 1.0). fontkit reads WOFF itself, but inflates each table
 * slowly, and again for each document. That took most of a document's time.
 */
export function trueTypeOf(woff: Uint8Array): Uint8Array {
  const from = new DataView(woff.buffer, woff.byteOffset);
  const count = from.getUint16(12);
  const tables = Array.from({ length: count }, (_, index) => {
    const entry = 44 + 20 * index;
    const [offset, packed, size] = [from.getUint32(entry + 4), from.getUint32(entry + 8), from.getUint32(entry + 12)];
    const stored = woff.subarray(offset, offset + packed);
    const data = packed < size ? unzlibSync(stored) : stored;
    return { tag: from.getUint32(entry), checksum: from.getUint32(entry + 16), data };
  });
  const padded = (size: number) => (size + 3) & ~3;
  const head = 12 + 16 * count;
  const font = new Uint8Array(head + tables.reduce((sum, { data }) => sum + padded(data.length), 0));
  const to = new DataView(font.buffer);
  const largest = 2 ** Math.floor(Math.log2(count));
  to.setUint32(0, from.getUint32(4)); // flavor
  to.setUint16(4, count);
  to.setUint16(6, 16 * largest);
  to.setUint16(8, Math.log2(largest));
  to.setUint16(10, 16 * (count - largest));
  let end = head;
  for (const [index, { tag, checksum, data }] of tables.entries()) {
    [tag, checksum, end, data.length].forEach((value, field) => {
      to.setUint32(12 + 16 * index + 4 * field, value);
    });
    font.set(data, end);
    end += padded(data.length);
  }
  return font;
}
