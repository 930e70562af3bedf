import type { Html } from "../kit/frame.ts";
import { filterBar } from "../kit/parts/filter_bar.ts";
import type { PortalFrame } from "./request.ts";
import { WORDS } from "./words.ts";

type Asked = Readonly<Record<string, string>>;
type Chip = { href: string; label: string; count?: string };

/** Values with their names, for a field that chooses one. */
export const optionsOf = <Of extends string>(of: readonly Of[], names: Readonly<Record<Of, string>>) =>
  of.map((value) => ({ value, label: names[value] }));

/** The address of a list without one of the things that were asked for. */
export function without(frame: PortalFrame, page: string, asked: Asked, id: string): string {
  const { [id]: _, ...others } = asked;
  return frame.to(page, others);
}

/**
 * The filter of a list: what was looked for, what else is `chosen`, and what is chosen `often`. `fields` are all choices; `kept` is
 * what was chosen and is no field.
 */
export function listFilter(
  frame: PortalFrame,
  page: string,
  asked: Asked,
  words: { search: string; search_hint: string },
  {
    chosen,
    often,
    fields,
    kept = {},
  }: { chosen: Chip[]; often: Chip[]; fields?: Html; kept?: Readonly<Record<string, string | undefined>> },
): Html {
  const { filters } = WORDS[frame.locale];
  return filterBar({
    action: frame.to(page).split("?")[0] ?? "",
    kept: { lang: frame.locale, ...kept },
    label: words.search,
    hint: words.search_hint,
    value: asked.q ?? "",
    submit: words.search,
    chips: filters,
    chosen: [...(asked.q ? [{ href: without(frame, page, asked, "q"), label: `“${asked.q}”` }] : []), ...chosen],
    often,
    clear: { href: frame.to(page), label: filters.clear },
    ...(fields ? { more: { label: filters.label, fields } } : {}),
  });
}
