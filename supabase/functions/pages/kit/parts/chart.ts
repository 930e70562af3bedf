import type { Html } from "../frame.ts";
import { html } from "../html.ts";

/**
 * Columns of numbers, each with its value: HTML and SVG made here, so that they need no script, print, and follow the colors of the
 * page. A phone shows more than five as lines below each other. Show the same numbers as a table too.
 */
export type Chart = {
  title: string;
  /** At least one. */
  points: readonly Point[];
  /** Which point the page shows in full; the last one if nothing is said. */
  chosen?: number;
};

/** `short` names a column, `below` stands beneath it, `value` at its end; `said` has all its numbers. */
type Point = {
  short: string;
  below?: string;
  value: string;
  said: string;
  /** From the ground up, each drawn as the kind of its place; none negative. */
  values: readonly number[];
  /** Where its name leads. */
  href?: string | undefined;
};

/** The tallest column, in px. */
const TALL = 150;
const FEW = 5;

/** One column says no more than its numbers, so it is not drawn. */
export function chart({ title, points, chosen = points.length - 1 }: Chart): Html {
  const [one, ...others] = points.filter(({ values }) => sum(values) > 0);
  if (one && others.length === 0) return html`<p class="value">${one.said}</p>`;
  const highest = Math.max(...points.map(({ values }) => sum(values)), 0);
  return html`<ol class="${points.length > FEW ? "chart many" : "chart"}" aria-label="${title}">${points.map(
    ({ short, below, value, said, values, href }, at) => {
      const parts = values.map((each, kind) => {
        if (each <= 0) return "";
        const share = each / highest;
        // what is there is to be seen, however little
        return html`<svg width="${round(Math.max(share * 100, 1))}%" height="${Math.max(Math.round(share * TALL), 3)}"${kind > 0 ? html` class="kind-${kind}"` : ""} aria-hidden="true"><rect width="100%" height="100%"/></svg>`;
      });
      return html`<li data-value="${said}"${at === chosen ? html` class="chosen"` : ""}><span class="name">${href ? html`<a href="${href}">${short}</a>` : short}${below ? html`<small>${below}</small>` : ""}</span><span class="column">${parts}</span><span class="number">${value}</span></li>`;
    },
  )}</ol>
<p class="value" aria-live="polite">${points[chosen]?.said ?? ""}</p>`;
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** One tenth is less than anybody sees. */
const round = (value: number) => Math.round(value * 10) / 10;
