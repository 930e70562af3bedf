import { html } from "../html.ts";

/** Strokes of our own on a field of 24. */
const STROKES = {
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  pdf: "M14 3H6v18h12V7zM14 3v4h4M9 13h6M9 17h4",
  csv: "M4 5h16v14H4zM4 10h16M4 15h16M10 5v14",
  mail: "M3 6h18v12H3zM3 7l9 7 9-7",
  person: "M12 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM4 21c1-5 4-6 8-6s7 1 8 6",
  charger: "M5 21V4h9v17M3 21h13M8 8h3M14 12h2a2 2 0 0 1 2 2v2a1.5 1.5 0 0 0 3 0V9l-3-3",
  bolt: "M13 3 5 14h6l-1 7 8-11h-6z",
  bank: "M3 10 12 4l9 6zM5 10v8M10 10v8M14 10v8M19 10v8M3 20h18",
  clock: "M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18zM12 7v5l3 2",
  check: "M5 12l5 5 9-10",
  warning: "M12 4 2 20h20zM12 10v4M12 17v.1",
  arrow: "M9 5l7 7-7 7",
  search: "M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM16 16l5 5",
  filter: "M4 6h16M7 12h10M10 18h4",
  plus: "M12 5v14M5 12h14",
  gear: "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M19 5l-2 2M7 17l-2 2",
  close: "M6 6l12 12M18 6 6 18",
  dot: "M12 9a3 3 0 1 1 0 6 3 3 0 0 1 0-6z",
} as const;
export type IconName = keyof typeof STROKES;
export const ICONS = Object.keys(STROKES) as IconName[];

/** Decoration beside a word: its size is its own, so that it stays small where the style sheet is blocked. */
export const icon = (name: IconName): ReturnType<typeof html> =>
  html`<svg class="icon" width="20" height="20" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="${STROKES[name]}"/></svg>`;

/** The mark of the service as a file: the leaf with a bolt. */
const LEAF_SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 28 28"><path fill="#0b6b4f" fill-rule="evenodd" d="M4 24V14C4 8.5 8.5 4 14 4h10v10c0 5.5-4.5 10-10 10zM15.6 7.5 9.5 15.2h4.100l-1.200 5.300 6.100-7.700h-4.100z"/></svg>';
export const LEAF = { text: LEAF_SVG, path: "/leaf.svg" };
