import type { Html } from "../frame.ts";
import { html } from "../html.ts";
import { type IconName, icon } from "./icons.ts";

/** How something stands, each with a color and an icon: done, on its way, the reader's to do, stopped, or of no weight. */
const KINDS = { done: "check", way: "clock", yours: "warning", stopped: "close", quiet: "dot" } as const;
export type ChipKind = keyof typeof KINDS;

/** A state as icon and word. `status` is the word of the API, said to screen readers where it is another. */
export function chip(
  kind: ChipKind,
  word: string,
  { of = KINDS[kind], status }: { of?: IconName; status?: string } = {},
): Html {
  return html`<span class="chip ${kind}">${icon(of)}<span>${word}</span>${status && status.toLowerCase() !== word.toLowerCase() ? html`<span class="hidden"> (${status})</span>` : ""}</span>`;
}
