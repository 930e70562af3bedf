/** The path of a logo, under the pages' root. The path has the hash, so its content never changes. */
export const logoPath = (hash: string): string => `/logo/${hash}.png`;

/** The hardest backgrounds that a link has to be read on, and what is written on it: look/palette.ts. */
const GROUNDS = { light: ["#e6f2ec"], dark: ["#1c2f27", "#06281c"] } as const;

/** Contrast to read by (WCAG 2.2). */
const READABLE = 4.5;

/** How a color is used on a background. All are #rrggbb. */
export type Shade = {
  /** Of links and lines: the color itself if it can be read there, else the nearest shade of it that can. */
  accent: string;
  /** Of a button: the color itself, always. */
  fill: string;
  /** Of the letters on a button: white or black. One of the two can be read on any color. */
  on_fill: "#ffffff" | "#000000";
};

/** How a partner's color is used on light and on dark. Null if it is no color of the form #rrggbb. */
export function shadesOf(color: string | null | undefined): { light: Shade; dark: Shade } | null {
  if (!/^#[0-9a-f]{6}$/i.test(color ?? "")) return null;
  const fill = (color as string).toLowerCase();
  const on_fill = contrast(fill, "#ffffff") >= READABLE ? "#ffffff" : "#000000";
  return {
    light: { accent: readable(fill, "#000000", GROUNDS.light), fill, on_fill },
    dark: { accent: readable(fill, "#ffffff", GROUNDS.dark), fill, on_fill },
  };
}

/** The color with as little of another as makes it readable, in steps of 2 %. */
function readable(color: string, toward: string, grounds: readonly string[]): string {
  for (let share = 0; share < 1; share += 0.02) {
    const mixed = mix(color, toward, share);
    if (grounds.every((ground) => contrast(mixed, ground) >= READABLE)) return mixed;
  }
  return toward;
}

const channels = (color: string): number[] =>
  [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16));

function mix(color: string, other: string, share: number): string {
  const to = channels(other);
  const mixed = channels(color).map((level, index) => Math.round(level + ((to[index] ?? 0) - level) * share));
  return `#${mixed.map((level) => level.toString(16).padStart(2, "0")).join("")}`;
}

/** Contrast of two colors, #rrggbb (WCAG 2.2): 1 to 21. */
export function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** Relative luminance of #rrggbb (WCAG 2.2). */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channels(color)
    .map((level) => level / 255)
    .map((level) => (level <= 0.04045 ? level / 12.92 : ((level + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
