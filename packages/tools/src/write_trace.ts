// Writes tests/TRACE.md from the titles of the tests: `npm run generate -- trace`. Git ignores the file.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { SECTIONS } from "../../../tests/sections.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const SECTION = /(?:contract )?§\d+(?:\.\d+)?/;
const REFERENCE = new RegExp(`^${SECTION.source}(?:, ${SECTION.source})*(?= |$)`);

/** A test as its file writes it: a table of cases is one test. */
export type Titled = { file: string; titles: string[]; sections: string[] };

/** Every test of the tree. Vitest reads their titles without running them. */
export function listTests(): Titled[] {
  const variables = Object.entries(process.env).filter(([name]) => !name.startsWith("VITEST"));
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [`${root}node_modules/vitest/vitest.mjs`, "list", "--static-parse", "--json"],
    { cwd: root, encoding: "utf8", env: Object.fromEntries(variables), maxBuffer: 2 ** 26 },
  );
  if (!stdout.startsWith("[")) throw new Error(`vitest lists no tests: ${stdout}${stderr}`);
  const listed: { name: string; file: string; location: { line: number; column: number } }[] = JSON.parse(stdout);
  const sources = new Map<string, string[]>();
  return listed.flatMap(({ name, file, location }) => {
    const lines = sources.get(file) ?? readFileSync(file, "utf8").split("\n");
    sources.set(file, lines);
    // a method of what is named `it`, and a function whose name begins with `test`, pass there for tests
    if (/^(?:it\.|test[A-Z])/.test(lines[location.line - 1]?.slice(location.column) ?? "")) return [];
    const titles = name.split(" > ");
    return [{ file: relative(`${root}tests`, file), titles, sections: sectionsOf(titles) }];
  });
}

/** The sections that a test proves: those its own title begins with, else those of what it stands in. */
function sectionsOf(titles: string[]): string[] {
  const reference = titles.findLast((title) => REFERENCE.test(title))?.match(REFERENCE)?.[0] ?? "";
  // "contract §1, §9" is twice the contract
  const contract = reference.startsWith("contract") ? "contract " : "";
  return reference
    .split(", ")
    .filter(Boolean)
    .map((section) => (section.startsWith("§") ? contract + section : section));
}

/** The page: each section with what it rules and the tests that prove it. */
export function trace(tests: readonly Titled[]): string {
  const sections = Object.entries(SECTIONS).map(
    ([section, rule]) =>
      `## ${section}\n\n${rule}\n\n${byFile(tests.filter((each) => each.sections.includes(section)))}`,
  );
  const beside = byFile(tests.filter((each) => each.sections.length === 0));
  return `${[
    "# Which test proves which rule",
    "Written by `npm run generate -- trace` from the titles of the tests: change a title, or `tests/sections.ts`, and run it again. `§4.1` is a section of the API\nspecification, `contract §2` one of [docs/decisions.md](../docs/decisions.md). A table of cases is one line, with its marks as the file writes them.",
    ...sections,
    "## Beside the specification",
    "The tree, its tools, the database as such and the local stack.",
    beside,
  ].join("\n\n")}\n`;
}

function byFile(tests: readonly Titled[]): string {
  const files = [...Map.groupBy(tests, ({ file }) => file)].sort(([a], [b]) => (a < b ? -1 : 1));
  return files.map(([file, its]) => [`- **${file}**`, ...tree(its.map(({ titles }) => titles))].join("\n")).join("\n");
}

/** A list in which what several tests stand in is said once. */
function tree(tests: string[][], indent = "  "): string[] {
  const branches = Map.groupBy(tests, ([first = ""]) => first);
  return [...branches].flatMap(([title, its]) => {
    const within = its.map(([, ...rest]) => rest).filter((rest) => rest.length > 0);
    return [`${indent}- ${shown(title)}`, ...tree(within, `${indent}  `)];
  });
}

/** A title without its section, as Markdown text. */
function shown(title: string): string {
  return title
    .replace(REFERENCE, "")
    .trim()
    .replace(/[\\<*`[\]]/g, "\\$&");
}

if (import.meta.main) writeFileSync(`${root}tests/TRACE.md`, trace(listTests()));
