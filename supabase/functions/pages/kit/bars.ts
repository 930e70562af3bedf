import type { Html } from "./frame.ts";
import { html } from "./html.ts";

/**
 * Bars as SVG, made here so that they need no script, scale, print, and follow the colours of the page. They are one
 * picture with a name and a description. Show the same numbers as a table too.
 */
export type Bars = {
  /** Tells the elements of several plots on a page apart. */
  id: string;
  title: string;
  description: string;
  /** At least one. */
  points: readonly Bar[];
  /** How the end of the scale is written. */
  format: (value: number) => string;
};

/** `short` stands under the bar, and `below` beneath it; `said` is read where the bar is chosen. */
type Bar = {
  short: string;
  below?: string;
  said: string;
  /** From the ground up, each drawn as the kind of its place; none negative. */
  values: readonly number[];
};

const WIDTH = 360;
const HEIGHT = 190;
/** Where the plot lies: room for the scale above it and the names below. */
const TOP = 22;
const BOTTOM = 164;

export function bars({ id, title, description, points, format }: Bars): Html {
  const highest = roundUp(Math.max(...points.map(({ values }) => sum(values))));
  const step = WIDTH / points.length;
  const width = round(Math.min(step * 0.64, 40));
  const height = points.some(({ below }) => below) ? HEIGHT + 18 : HEIGHT;
  const names: Html[] = [];
  const heightOf = (value: number) => round(highest === 0 ? 0 : (value / highest) * (BOTTOM - TOP));
  return html`<svg class="bars" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="${id}-title ${id}-description">
<title id="${id}-title">${title}</title>
<desc id="${id}-description">${description}</desc>
${
  highest === 0
    ? ""
    : html`<text x="0" y="${TOP - 5}">${format(highest)}</text>
${[highest, highest / 2].map((value) => html`<line class="rule" x1="0" x2="${WIDTH}" y1="${round(BOTTOM - heightOf(value))}" y2="${round(BOTTOM - heightOf(value))}"/>`)}
`
}<line class="ground" x1="0" x2="${WIDTH}" y1="${BOTTOM}" y2="${BOTTOM}"/>
${points.map(({ short, below, said, values }, index) => {
  const x = round(index * step + (step - width) / 2);
  const middle = round(x + width / 2);
  let top = BOTTOM;
  const rects = values.map((value, kind) => {
    if (value <= 0 && values.length > 1) return "";
    // what is there is to be seen, however little
    const tall = value > 0 ? Math.max(heightOf(value), 2) : 0;
    top = round(top - tall);
    return html`<rect x="${x}" y="${top}" width="${width}" height="${tall}"${kind > 0 ? html` class="kind-${kind}"` : ""}${values.length > 1 ? "" : html` data-value="${said}"`}/>`;
  });
  names.push(html`<text x="${middle}">${short}</text>${below ? html`<text x="${middle}" y="17">${below}</text>` : ""}`);
  return values.length > 1 ? html`<g data-value="${said}">${rects}</g>` : html`${rects}`;
})}<g class="names" transform="translate(0 ${HEIGHT - 8})">${names}</g></svg>`;
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** One tenth is less than anybody sees. */
const round = (value: number) => Math.round(value * 10) / 10;

/** The end of a scale: a round number, and at least the value. */
function roundUp(value: number): number {
  if (value <= 0) return 0;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 2.5, 3, 4, 5, 6, 8].find((factor) => factor * power >= value) ?? 10) * power;
}
