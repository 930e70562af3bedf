import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { inNumbers } from "../kit/signed_in_views.ts";
import type { PortalFrame } from "./request.ts";
import { WORDS } from "./words.ts";

/** Which of a list a page shows: `from` are before them. `all` is in words where not all were counted. */
export const rangeOf = (frame: PortalFrame, from: number, shown: number, all: number | string): string =>
  WORDS[frame.locale].range(
    inNumbers(frame, Math.min(from + 1, from + shown)),
    inNumbers(frame, from + shown),
    typeof all === "string" ? all : inNumbers(frame, all),
  );

/** Links to the next pages of a list; nothing on the only page. */
export function waysOn(label: string, ways: readonly { href: string; label: string }[]): Html {
  if (ways.length === 0) return html``;
  return html`<nav class="years" aria-label="${label}">${ways.map((way) => html`<a href="${way.href}">${way.label}</a>`)}</nav>`;
}

/** Links to pages by their number: the first, the last, and those around this one, so that Tab is soon past them. */
export function pageLinks(
  words: { pages: string; page: (page: string) => string },
  { at, pages }: { at: number; pages: number },
  address: (page: number) => string,
): Html {
  if (pages < 2) return html``;
  const shown = [...new Set([1, at - 1, at, at + 1, pages])].filter((page) => page >= 1 && page <= pages);
  return html`<nav class="years" aria-label="${words.pages}">${shown.map((page, index) => html`${index > 0 && page - 1 !== shown[index - 1] ? html`<span>…</span>` : ""}<a href="${address(page)}" aria-label="${words.page(String(page))}"${page === at ? html` aria-current="page"` : ""}>${String(page)}</a>`)}</nav>`;
}
