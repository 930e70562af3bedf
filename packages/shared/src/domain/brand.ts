/**
 * The name, logo and color in which a page or a mail appears: private.partner_brand. A color is present only if it is
 * readable on its background.
 */
export type Brand = {
  name: string;
  reply_to?: string | null;
  light?: string | null;
  dark?: string | null;
  logo?: ShownLogo | null;
};

/** A logo that we store, by the SHA-256 of its PNG, with its display size in CSS pixels. */
export type ShownLogo = { hash: string; width: number; height: number };

/** The path of a logo, under the pages' root. The path has the hash, so its content never changes. */
export const logoPath = (hash: string): string => `/logo/${hash}.png`;

/** What a colour has to be read on, the hardest grounds there are, and what is written on it: kit/style.ts of the pages. */
const GROUNDS = { light: ["#e6f2ec"], dark: ["#1c2f27", "#06281c"] } as const;

/** Contrast to read by (WCAG 2.2). */
const READABLE = 4.5;

/**
 * Where a partner's own color, #rrggbb, is readable: on light, on dark, on both or on neither. Stored with the color
 * when it is chosen, because SQL fills it into mail that is composed once for many.
 */
export function accentsOf(primary_color: string | null): { light: string | null; dark: string | null } {
  const color = primary_color?.toLowerCase() ?? null;
  const on = (grounds: readonly string[]) =>
    color !== null && grounds.every((ground) => contrast(color, ground) >= READABLE) ? color : null;
  return { light: on(GROUNDS.light), dark: on(GROUNDS.dark) };
}

/** Contrast of two colours (WCAG 2.2): 1 to 21. */
function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** Relative luminance of #rrggbb (WCAG 2.2). */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((start) => Number.parseInt(color.slice(start, start + 2), 16) / 255)
    .map((level) => (level <= 0.04045 ? level / 12.92 : ((level + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
