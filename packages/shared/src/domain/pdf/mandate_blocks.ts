import { readMandateText } from "../mandate_text/read_text.ts";
import type { Block } from "./pdf.ts";

/** The text of a mandate, formatted: every word of it, in its order. */
export function mandateBlocks(text: string) {
  const { locale, title, sections } = readMandateText(text);
  const blocks = sections.flatMap(({ heading, details, points, rest }): Block[] => [
    { kind: "heading", text: heading },
    ...(details.length > 0 ? [{ kind: "details", details } as const] : []),
    ...(points.length > 0 ? [{ kind: "points", points } as const] : []),
    ...rest.map((line) => ({ kind: "paragraph", text: line }) as const),
  ]);
  return { locale, title, blocks };
}
