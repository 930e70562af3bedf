// What the search of the site looks through: the sections of the guides, and the operations of the reference.

import type { Page } from "./chapters.ts";
import { anchor } from "./markdown.ts";
import type { Described } from "./tables.ts";

/** Where it is, the page it is on, its heading, and its words. */
type Section = readonly [href: string, page: string, heading: string, text: string];

/** The changelog repeats what the other pages say. */
const LEFT_OUT = "changelog";

type Written = { page: Page; markdown: string };

/** The sections of all pages and every operation, in the order of the menu. */
export function searchIndex(
  pages: readonly Written[],
  described: Described,
  titles: ReadonlyMap<string, string>,
): Section[] {
  const guides = pages.filter(({ page }) => page.name !== LEFT_OUT);
  return [
    ...guides.flatMap(({ page, markdown }) => sectionsOf(page.name, titles.get(page.name) ?? page.name, markdown)),
    ...operationsOf(described),
  ];
}

function sectionsOf(name: string, title: string, markdown: string): Section[] {
  const anchors = new Set<string>();
  const sections: [string, string, string, string][] = [];
  let code = false;
  let skipped = false; // what nobody looks for: ids and figures of an example, and programs to copy
  for (const line of markdown.split("\n")) {
    if (line.startsWith("```")) {
      code = !code;
      skipped = code && /^```(?:.* answer|yaml|python|go)$/.test(line);
    }
    const heading = code ? null : /^#{1,3} +(.*?) *$/.exec(line);
    if (heading) {
      const words = plain(heading[1] ?? "");
      const hash = anchor(words, anchors);
      sections.push([sections.length === 0 ? `${name}.html` : `${name}.html#${hash}`, title, words, ""]);
    } else if (!skipped && !line.startsWith("```")) {
      const section = sections.at(-1);
      if (section) section[3] += `${code ? line.replace(COMMON, "") : plain(line)} `;
    }
  }
  return sections.map(([href, page, heading, text]) => [
    href,
    page,
    heading,
    unlinked(text.replace(/\s+/g, " ").trim()),
  ]);
}

/** What nearly every command or program has. */
const COMMON = /^import .*| -H "Authorization: Bearer \$\w+"| -H 'Content-Type: application\/json'/g;

/** Links by their words. The words of a link may stand on two lines. */
const unlinked = (text: string) => text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");

/** Markdown as it is read: links by their words, tables by their cells, no marks. */
const plain = (line: string) =>
  unlinked(line)
    .replace(/^\|?[-| ]+\|$/, "")
    // a list of operations, each of which is found by itself
    .replace(/`[^`|]*`(<br>`[^`|]*`)+/g, "")
    .replace(/<a id="\w+"><\/a>|[`*|]/g, " ")
    .replace(/ +/g, " ")
    .trim();

type Schema = { $ref?: string; [key: string]: unknown };

/** An operation by its method and path; found by its summary, its description, and the names of its parameters and fields. */
function operationsOf(described: Described): Section[] {
  const document = described as unknown as { paths: Record<string, Record<string, Schema>> };
  const resolved = (path: string) =>
    path
      .slice(2)
      .split("/")
      .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], document);
  const namesIn = (value: unknown, names = new Set<string>(), seen = new Set<unknown>()): Set<string> => {
    if (typeof value !== "object" || value === null || seen.has(value)) return names;
    seen.add(value);
    const { $ref, properties, name, examples, example, ...rest } = value as Schema;
    if ($ref) namesIn(resolved($ref), names, seen);
    if (typeof name === "string") names.add(name);
    for (const [key, property] of Object.entries(properties ?? {})) {
      names.add(key);
      namesIn(property, names, seen);
    }
    for (const inner of Object.values(rest)) namesIn(inner, names, seen);
    return names;
  };
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Section => {
      const { tags, summary, description, parameters, requestBody, responses } = operation as Schema & {
        tags: string[];
        responses: Record<string, unknown>;
      };
      const answers = Object.entries(responses).flatMap(([status, answer]) => (status.startsWith("2") ? [answer] : []));
      const names = [...namesIn([parameters, requestBody, answers])];
      const verb = method.toUpperCase();
      return [
        `reference.html#tag/${tags[0]}/${verb}${path}`,
        "Reference",
        `${verb} ${path}`,
        plain(`${summary}. ${description ?? ""} ${names.join(" ")}`.replace(/\s+/g, " ")),
      ];
    }),
  );
}
