import { readLayout, rebuild } from "./guard.ts";

/**
 * A partner's logo as it is kept: written by us, so that nothing of the file is in it but the picture. Width and height are those it
 * is shown at, in CSS pixels.
 */
type KeptLogo = { png: Uint8Array; width: number; height: number };

/** Why a file is refused. */
type LogoRefusal = "not_png" | "too_heavy" | "too_wide" | "broken" | "too_detailed";

/** Bytes of a file: 100 kB, however its reader counts them. */
export const MAX_LOGO = 100 * 1024;
/** Pixels on a side. */
const MAX_SIDE = 1000;
/** Bytes that are kept. Colours from a palette, and what is interlaced, take more once they are written plainly. */
const MAX_KEPT_LOGO = 300 * 1024;
/** The frame that a logo is fitted in, on pages and in mail; a smaller one is not made larger. */
const SHOWN = { width: 200, height: 48 } as const;

/**
 * A logo as somebody sent it: judged before anything of it is decoded, decoded, and written again. Animation, colour profiles, text,
 * what stands behind the picture, and colours where it is transparent are gone then.
 */
export async function readLogo(file: Uint8Array): Promise<{ logo: KeptLogo } | { refused: LogoRefusal }> {
  if (file.length > MAX_LOGO) return { refused: "too_heavy" };
  const layout = readLayout(file);
  if (typeof layout === "string") return { refused: layout };
  const { width, height } = layout;
  if (Math.max(width, height) > MAX_SIDE) return { refused: "too_wide" };
  const plain = await rebuild(layout);
  if (!plain) return { refused: "broken" };

  const { decode, encode } = await import("./pixels.js");
  let pixels: Uint8Array;
  try {
    pixels = decode(plain);
  } catch {
    return { refused: "broken" };
  }
  const opaque = clear(pixels);
  const png = encode({ width, height, pixels, opaque });
  return png.length > MAX_KEPT_LOGO ? { refused: "too_detailed" } : { logo: { png, ...shownAt(width, height) } };
}

/** Takes the colour from pixels, RGBA, that are transparent. Whether all are opaque. */
function clear(pixels: Uint8Array): boolean {
  let opaque = true;
  for (let at = 0; at < pixels.length; at += 4) {
    if (pixels[at + 3] === 0) pixels.fill(0, at, at + 3);
    if (pixels[at + 3] !== 255) opaque = false;
  }
  return opaque;
}

/** How large a picture is shown. */
function shownAt(width: number, height: number): { width: number; height: number } {
  const scale = Math.min(SHOWN.width / width, SHOWN.height / height, 1);
  return { width: Math.max(Math.round(width * scale), 1), height: Math.max(Math.round(height * scale), 1) };
}
