// The logo of a partner: what is taken of a file, and which are refused.

import { deflateSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { MAX_LOGO, readLogo } from "#shared/domain/logo/logo.ts";
import { decode } from "#shared/domain/logo/pixels.js";
import { type Chunk, chunk, header, png, rowsOf } from "../harness/png.ts";

const text = (value: string) => Buffer.from(value, "latin1");

async function kept(file: Uint8Array) {
  const read = await readLogo(file);
  if ("refused" in read) throw new Error(read.refused);
  return { ...read.logo, pixels: decode(read.logo.png) };
}

/** Noise that does not compress, the same each time. */
function noise(length: number): Buffer {
  let state = 1;
  const next = () => {
    state = (state * 48271) % 2147483647;
    return state & 0xff;
  };
  return Buffer.from(Array.from({ length }, next));
}

describe("contract §4 a logo is decoded and written again", () => {
  const palette: Chunk[] = [["PLTE", new Uint8Array([200, 100, 50, 1, 2, 3])]];
  test.each([
    ["grey of 1 bit", { colour: 0, depth: 1 }, [255, 255, 255, 255]],
    ["grey of 2 bits", { colour: 0, depth: 2 }, [255, 255, 255, 255]],
    ["grey of 8 bits", { colour: 0, depth: 8 }, [255, 255, 255, 255]],
    ["grey of 16 bits", { colour: 0, depth: 16 }, [255, 255, 255, 255]],
    ["RGB", { colour: 2, depth: 8 }, [255, 255, 255, 255]],
    ["RGB of 16 bits", { colour: 2, depth: 16 }, [255, 255, 255, 255]],
    ["grey with alpha", { colour: 4, depth: 8 }, [255, 255, 255, 255]],
    ["RGB with alpha", { colour: 6, depth: 8 }, [255, 255, 255, 255]],
    ["RGB with alpha of 16 bits", { colour: 6, depth: 16 }, [255, 255, 255, 255]],
  ])("%s, interlaced or not", async (_kind, { colour, depth }, pixel) => {
    for (const interlaced of [false, true]) {
      const kind = { width: 13, height: 9, colour, depth, interlaced };
      const { pixels, width, height } = await kept(png({ ...kind, raw: rowsOf(kind, 0xff) }));
      expect([width, height, pixels.length]).toEqual([13, 9, 13 * 9 * 4]);
      expect([...pixels.subarray(-4)]).toEqual(pixel);
    }
  });

  test.each([1, 2, 4, 8])("a palette of %i bits, with transparent colors", async (depth) => {
    const kind = { width: 9, height: 9, colour: 3, depth, interlaced: true };
    const { pixels } = await kept(png({ ...kind, between: palette }));
    expect([...pixels.subarray(0, 4)]).toEqual([200, 100, 50, 255]);
    const clear = await kept(png({ ...kind, between: [...palette, ["tRNS", new Uint8Array([0])]] }));
    expect([...clear.pixels.subarray(0, 4)], "and no colour stays behind it").toEqual([0, 0, 0, 0]);
  });

  test("text, time, profiles, an animation, private chunks and what stands behind the picture are gone", async () => {
    const secret = "GPS 52.1 5.1 <script>alert(1)</script>";
    const file = png({
      between: [
        ["tEXt", text(`Comment\0${secret}`)],
        ["eXIf", text(secret)],
        ["iCCP", Buffer.concat([text("p\0\0"), deflateSync(Buffer.alloc(5_000_000))])],
        ["acTL", new Uint8Array(8)],
        ["fcTL", new Uint8Array(26)],
        ["fdAT", text(secret)],
        ["prVt", text(secret)],
      ],
      after: text(`PK\x03\x04${secret}`),
    });
    const { png: written } = await kept(file);
    const types: string[] = [];
    for (let at = 8; at < written.length; ) {
      const view = new DataView(written.buffer, written.byteOffset + at);
      types.push(String.fromCharCode(...written.subarray(at + 4, at + 8)));
      at += view.getUint32(0) + 12;
    }
    expect(types).toEqual(["IHDR", "IDAT", "IEND"]);
    expect(Buffer.from(written).includes("script")).toBe(false);
    expect((await kept(written)).png, "one that we wrote stays as it is").toEqual(written);
  });

  test.each([
    [1000, 1000, 48, 48],
    [1000, 50, 200, 10],
    [120, 40, 120, 40],
    [1000, 1, 200, 1],
    [1, 1, 1, 1],
  ])("%i by %i is shown at %i by %i", async (width, height, shownWidth, shownHeight) => {
    const shown = await kept(png({ width, height, colour: 0 }));
    expect([shown.width, shown.height]).toEqual([shownWidth, shownHeight]);
  });
});

describe("contract §4 a file that is no logo is refused, and never decoded beyond its size", () => {
  const bomb = { width: 1000, height: 1000, colour: 6, depth: 8 };
  test.each<[string, () => Uint8Array, string]>([
    ["nothing", () => new Uint8Array(), "not_png"],
    ["an SVG with a script", () => text('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'), "not_png"],
    ["a JPEG", () => new Uint8Array([0xff, 0xd8, 0xff, 0xe0]), "not_png"],
    ["a PNG of 20 MB", () => Buffer.concat([png(), Buffer.alloc(20 * 1024 * 1024)]), "too_heavy"],
    ["one byte too many", () => png({ after: Buffer.alloc(MAX_LOGO + 1 - png().length) }), "too_heavy"],
    ["1001 pixels wide", () => png({ width: 1001, height: 1, colour: 0 }), "too_wide"],
    [
      "a header that says 4 billion pixels",
      () => png({ width: 2 ** 32 - 1, height: 1, raw: Buffer.alloc(9) }),
      "too_wide",
    ],
    ["a header that says less than there is", () => png({ height: 2, raw: Buffer.alloc(17 * 4) }), "broken"],
    ["a header that says more than there is", () => png({ height: 5, raw: Buffer.alloc(17 * 4) }), "broken"],
    ["data that inflates to 90 MB", () => png({ ...bomb, data: deflateSync(Buffer.alloc(90_000_000)) }), "broken"],
    ["data that ends too early", () => png({ data: deflateSync(Buffer.alloc(68)).subarray(0, -6) }), "broken"],
    ["data that is none", () => png({ data: text("not zlib") }), "broken"],
    ["a filter that there is not", () => png({ raw: Buffer.alloc(68, 9) }), "broken"],
    [
      "a palette colour that there is not",
      () =>
        png({
          colour: 3,
          raw: rowsOf({ width: 4, height: 4, depth: 8, colour: 3, interlaced: false }, 7),
          between: [["PLTE", new Uint8Array(3)]],
        }),
      "broken",
    ],
    ["no palette", () => png({ colour: 3 }), "broken"],
    ["a palette of 257 colours", () => png({ colour: 3, between: [["PLTE", new Uint8Array(771)]] }), "broken"],
    [
      "transparency for more colours than there are",
      () =>
        png({
          colour: 3,
          between: [
            ["PLTE", new Uint8Array(3)],
            ["tRNS", new Uint8Array(2)],
          ],
        }),
      "broken",
    ],
    ["no width", () => png({ width: 0, raw: new Uint8Array(8) }), "broken"],
    ["a colour type that there is not", () => png({ colour: 5, raw: new Uint8Array(8) }), "broken"],
    ["two headers", () => png({ between: [["IHDR", header(4, 4, 8, 6, false)]] }), "broken"],
    ["a chunk that must be known, and is not", () => png({ between: [["ABCD", new Uint8Array(1)]] }), "broken"],
    ["no end", () => png().subarray(0, -12), "broken"],
    [
      "a chunk longer than the file",
      () => Buffer.concat([png().subarray(0, 8), new Uint8Array([0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4, 5, 6, 7, 8])]),
      "broken",
    ],
    ["only a signature", () => png().subarray(0, 8), "broken"],
    ["data before the header", () => Buffer.concat([png().subarray(0, 8), chunk("IDAT"), chunk("IEND")]), "broken"],
    [
      "noise that takes more than is kept",
      () =>
        png({
          width: 316,
          height: 316,
          colour: 3,
          // each row after its filter, which is 0
          raw: noise(317 * 316).map((byte, at) => (at % 317 === 0 ? 0 : byte)),
          between: [
            ["PLTE", noise(768)],
            ["tRNS", noise(256)],
          ],
        }),
      "too_detailed",
    ],
  ])("%s", async (_what, file, refused) => {
    expect(await readLogo(file())).toEqual({ refused });
  });

  test("a bit that fell over, anywhere, is refused or changes nothing that is kept", async () => {
    const file = png({ width: 3, height: 3 });
    const { png: whole } = await kept(file);
    for (let at = 0; at < file.length; at += 1) {
      const broken = Buffer.from(file);
      broken[at] = (broken[at] ?? 0) ^ 0x10;
      const read = await readLogo(broken);
      expect("refused" in read ? null : Buffer.compare(read.logo.png, whole), `byte ${at}`).toBe(
        "refused" in read ? null : 0,
      );
    }
  });
});
