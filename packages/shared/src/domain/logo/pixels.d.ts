/**
 * The pixels of a PNG that readLayout and rebuild let through: RGBA, eight bits each.
 * @throws {Error} for one that cannot be decoded.
 */
export function decode(png: Uint8Array): Uint8Array;

/** A PNG of pixels as decode gives them; without alpha where all are opaque. */
export function encode(picture: { width: number; height: number; pixels: Uint8Array; opaque: boolean }): Uint8Array;
