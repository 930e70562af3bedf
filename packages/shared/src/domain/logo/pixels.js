// @ts-self-types="./pixels.d.ts"
// JavaScript, because the types of pngjs speak of Node's Buffer, which Deno's do not know as bytes.

import { Buffer } from "node:buffer";
import pngjs from "pngjs";

const { PNG } = pngjs;

export function decode(png) {
  return new Uint8Array(PNG.sync.read(Buffer.from(png)).data);
}

export function encode({ width, height, pixels, opaque }) {
  const picture = new PNG({ width, height });
  picture.data = Buffer.from(pixels);
  return new Uint8Array(PNG.sync.write(picture, { colorType: opaque ? 2 : 6, deflateLevel: 9 }));
}
