import type { Html } from "./frame.ts";
import { html } from "./html.ts";

/**
 * Bars as SVG, made here so that they need no script, scale, print, and follow the colours of the page. They are one picture with a
 * name and a description: whoever shows them shows the same numbers as a table too.
 */
export type Bars = {
  /** Tells the elements of several plots on a page apart. */
  id: string;
  title: string;
  description: string;
  /** At least one, none negative. `short` stands under the bar. */
  /** `short` stands under the bar, `name` before its value where the bar is chosen. */
  points: readonly { short: string; name: string; value: number }[];
  /** How the end of the scale is written. */
  format: (value: number) => string;
};

const WIDTH = 360;
const HEIGHT = 190;
/** Where the plot lies: room for the scale above it and the names below. */
const TOP = 22;
const BOTTOM = 164;

export function bars({ id, title, description, points, format }: Bars): Html {
  const highest = roundUp(Math.max(...points.map(({ value }) => value)));
  const step = WIDTH / points.length;
  const width = round(step * 0.64);
  const yOf = (value: number) => round(BOTTOM - (highest === 0 ? 0 : (value / highest) * (BOTTOM - TOP)));
  return html`<svg class="bars" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="${id}-title ${id}-description">
<title id="${id}-title">${title}</title>
<desc id="${id}-description">${description}</desc>
${
  highest === 0
    ? ""
    : html`<text x="0" y="${TOP - 5}">${format(highest)}</text>
${[highest, highest / 2].map((value) => html`<line class="rule" x1="0" x2="${WIDTH}" y1="${yOf(value)}" y2="${yOf(value)}"/>`)}
`
}<line class="ground" x1="0" x2="${WIDTH}" y1="${BOTTOM}" y2="${BOTTOM}"/>
${points.map(({ short, name, value }, index) => {
  const x = round(index * step + (step - width) / 2);
  const y = yOf(value);
  // what is there is to be seen, however little
  const height = value > 0 ? Math.max(round(BOTTOM - y), 2) : 0;
  return html`<rect x="${x}" y="${round(BOTTOM - height)}" width="${width}" height="${height}" rx="2" data-value="${name}: ${format(value)}"/>
<text class="name" x="${round(x + width / 2)}" y="${HEIGHT - 8}">${short}</text>
`;
})}</svg>`;
}

/** One tenth is less than anybody sees. */
const round = (value: number) => Math.round(value * 10) / 10;

/** The end of a scale: a round number, and at least the value. */
function roundUp(value: number): number {
  if (value <= 0) return 0;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 2.5, 3, 4, 5, 6, 8].find((factor) => factor * power >= value) ?? 10) * power;
}
