// The documentation as a folder of files that any web server can serve, under any path.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { FONT_DATA } from "#shared/look/font_data.ts";
import { FONT_NAME } from "#shared/look/font_name.ts";
import { CHAPTERS, PAGES, type Page } from "./chapters.ts";
import { frame, lostPage, referencePage, type SiteOptions } from "./frame.ts";
import { HEADERS } from "./headers.ts";
import { render } from "./markdown.ts";
import { searchIndex } from "./search_index.ts";
import { REFERENCE_STYLE, STYLE } from "./style.ts";
import { type Described, withTables } from "./tables.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const TITLE = "ERE API";

/** How the guides write the address of the API: that of npm start. */
const ADDRESS = "http://127.0.0.1:54321";

/** Each file of the site by its name. */
type Site = Map<string, string | Buffer>;

/**
 * The whole site, in memory.
 * @throws {Error} for a guide that has no heading, a table that there is not, or a link that leads nowhere
 */
export function buildSite({ api, shown = api, demo }: SiteOptions = {}): Site {
  const site: Site = new Map();
  const openapi = readFileSync(join(ROOT, "openapi.json"), "utf8");
  const described: Described = JSON.parse(openapi);
  const addressed = (markdown: string) => (shown === undefined ? markdown : markdown.replaceAll(ADDRESS, shown));
  const texts = PAGES.map((page) => ({ page, markdown: addressed(withTables(localised(page), described)) }));
  const rendered = texts.map(({ page, markdown }) => ({ page, markdown, ...render(markdown) }));
  const titles = new Map(rendered.map(({ page, title }) => [page.name, page.menu ?? title]));

  // beside the API the script shows the address that the page was read from
  const marked = (html: string) =>
    api === undefined ? html.replaceAll(shown ?? ADDRESS, '<span class="api">$&</span>') : html;
  for (const { page, markdown, title, html } of rendered) {
    if (title === "") throw new Error(`${page.source} has no heading`);
    site.set(`${page.name}.md`, markdown);
    const linked = marked(html.replace(/href="([\w]+)\.md/g, 'href="$1.html'));
    site.set(`${page.name}.html`, frame({ site: TITLE, title, html: linked, here: page, titles }));
  }
  site.set("404.html", lostPage(TITLE, titles));
  site.set("guide.js", readFileSync(new URL("guide.js", import.meta.url)));
  site.set("search.json", JSON.stringify(searchIndex(rendered, described, titles)));
  site.set("openapi.json", `${JSON.stringify(forReaders(JSON.parse(openapi), api))}\n`);
  site.set("reference.html", referencePage(TITLE, api, demo));
  site.set("reference.js", readFileSync(new URL("reference.js", import.meta.url)));
  site.set("scalar.js", readFileSync(scalarBundle()));
  site.set("style.css", STYLE);
  site.set(FONT_NAME, Buffer.from(FONT_DATA, "base64"));
  site.set("reference.css", REFERENCE_STYLE);
  site.set("llms.txt", llms(titles));
  // Cloudflare Pages and Netlify send what this file says
  site.set(
    "_headers",
    `/*\n${Object.entries(HEADERS)
      .map(([name, value]) => `  ${name}: ${value}\n`)
      .join("")}`,
  );
  site.set(
    "llms-full.txt",
    texts
      .map(({ markdown }) => markdown.trim())
      .join("\n\n---\n\n")
      .concat("\n"),
  );
  return site;
}

/** Scalar's own bundle, everything in one file, out of the package that carries it. */
function scalarBundle(): string {
  const entry = createRequire(import.meta.url).resolve("@scalar/fastify-api-reference");
  return join(dirname(entry), "js/standalone.js");
}

/**
 * A page's Markdown with its links to other pages as they are on the site. What lies in the repository only is no link
 * there.
 * @throws {Error} if a guide links to a page that is not on the site
 */
function localised(page: Page): string {
  const text = readFileSync(join(ROOT, page.source), "utf8");
  return text.replace(/\[([^\]]*)\]\(([^)\s]+)\)/g, (link, words: string, target: string) => {
    if (/^(https?:|mailto:|#)/.test(target)) return link;
    const [path = "", hash] = target.split("#");
    const file = normalize(join(dirname(page.source), path));
    const other = PAGES.find(({ source }) => source === file);
    if (other) return `[${words}](${other.name}.md${hash === undefined ? "" : `#${hash}`})`;
    if (file === "openapi.json") return `[${words}](openapi.json)`;
    if (page.source.startsWith("docs/guides/"))
      throw new Error(`${page.source} links to ${target}, which is not on the site`);
    return words;
  });
}

type OpenApi = Record<string, unknown> & {
  components: { securitySchemes: Record<string, { flows?: Record<string, Record<string, unknown>> }> };
};

/** The document for the reference: with the API's own address, and with where our token endpoint reads credentials. */
function forReaders(document: OpenApi, api: string | undefined): OpenApi {
  for (const { flows = {} } of Object.values(document.components.securitySchemes)) {
    for (const flow of Object.values(flows)) {
      flow["x-scalar-credentials-location"] = "body";
      if (api)
        for (const key of ["tokenUrl", "refreshUrl", "authorizationUrl"])
          if (typeof flow[key] === "string") flow[key] = new URL(`${api}${flow[key]}`).href;
    }
  }
  return { ...document, servers: [{ url: api ?? "/" }] };
}

/** The index for language models: https://llmstxt.org */
function llms(titles: ReadonlyMap<string, string>): string {
  const chapters = CHAPTERS.map(({ title, pages }) => {
    const lines = pages.map(({ name, about }) => `- [${titles.get(name)}](${name}.md): ${about}`);
    return `## ${title}\n\n${lines.join("\n")}`;
  });
  return `# ${TITLE}

> Charge-point operators and partners deliver the charging of electric cars; the service registers it as ERE (1 ERE = 1 kg CO2-eq) and pays for it.

${chapters.join("\n\n")}

## Reference

- [openapi.json](openapi.json): every operation, field, error and limit, OpenAPI 3.1
- [llms-full.txt](llms-full.txt): all of the pages above in one file
`;
}
