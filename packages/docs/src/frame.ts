import { FONT_NAME } from "#shared/look/font_name.ts";
import { CHAPTERS, PAGES, type Page } from "./chapters.ts";
import { escapeHtml } from "./markdown.ts";

export type SiteOptions = {
  /** The address of the API, without a slash at its end. Left out, it is where the site itself is. */
  api?: string | undefined;
  /** What commands show as the address of the API where it is where the site is and no script says so. */
  shown?: string | undefined;
  /** The client that the reference is filled in with: the demo's of npm start, on this machine only. */
  demo?: { client_id: string; client_secret: string } | undefined;
};

// the mark of the pages: decoration, so it has no name
const MARK = `<svg width="28" height="28" viewBox="0 0 28 28" aria-hidden="true" focusable="false"><path class="leaf" d="M4 24V14C4 8.5 8.5 4 14 4h10v10c0 5.5-4.5 10-10 10z"/><path class="bolt" d="M15.6 7.5 9.5 15.2h4.1l-1.2 5.3 6.1-7.7h-4.1z"/></svg>`;

/** A guide loads a style sheet, its letters, one script and the search index, all from its own site. */
const GUIDE_POLICY =
  "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; font-src 'self'; img-src data:; base-uri 'none'; form-action 'none'";

const SEARCH = `<div role="search"><label for="search">Search</label><input id="search" type="search" autocomplete="off" spellcheck="false" aria-describedby="found"><p id="found" role="status"></p><ol id="results" aria-label="Results" hidden></ol></div>`;

const head = (title: string, policy: string, style: string, script = "") => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${escapeHtml(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<link rel="preload" as="font" type="font/woff2" crossorigin href="${FONT_NAME}">
<link rel="stylesheet" href="${style}">${script && `\n<script src="${script}" defer></script>`}
</head>`;

type Framed = { site: string; title: string; html: string; here: Page; titles: ReadonlyMap<string, string> };

function menu(here: Page | null, titles: ReadonlyMap<string, string>): string {
  const link = ({ name }: Page) =>
    `<li><a href="${name}.html"${name === here?.name ? ' aria-current="page"' : ""}>${escapeHtml(titles.get(name) ?? name)}</a></li>`;
  const chapters = CHAPTERS.map(
    ({ title, pages }) => `<p class="chapter">${title}</p>\n<ul>${pages.map(link).join("")}</ul>`,
  );
  return `${chapters.join("\n")}
<p class="chapter">Reference</p>
<ul><li><a href="reference.html">Every operation, to try</a></li><li><a href="openapi.json">openapi.json</a></li></ul>`;
}

/** A guide as a whole page. */
export function frame({ site, title, html, here, titles }: Framed): string {
  const at = PAGES.indexOf(here);
  const beside = (page: Page | undefined, rel: "prev" | "next", words: string) =>
    page
      ? `<a rel="${rel}" href="${page.name}.html"><small>${words}</small>${escapeHtml(titles.get(page.name) ?? "")}</a>`
      : "";
  return `${head(here.name === "index" ? `${title} – documentation` : `${title} – ${site}`, GUIDE_POLICY, "style.css", "guide.js")}
<body>
<a class="skip" href="#content">To the text</a>
<header>
<p class="service"><a href="index.html">${MARK}<span>${site} <small>documentation</small></span></a></p>
${SEARCH}
<nav aria-label="Main"><a href="first_call.html">First call</a><a href="reference.html">Reference</a></nav>
</header>
<div class="columns">
<details class="narrow"><summary>All pages</summary><nav aria-label="Pages">
${menu(here, titles)}
</nav></details>
<nav class="wide" aria-label="Pages">
${menu(here, titles)}
</nav>
<main id="content">
${html}
</main>
</div>
<footer>
<nav aria-label="Before and after this page">${beside(PAGES[at - 1], "prev", "Before")}${beside(PAGES[at + 1], "next", "Next")}</nav>
<p>This page as <a href="${here.name}.md">Markdown</a> · all of them: <a href="llms.txt">llms.txt</a></p>
</footer>
</body>
</html>
`;
}

/** What a wrong address shows: Cloudflare Pages and Netlify know it by its name, `404.html`. */
export const lostPage = (site: string, titles: ReadonlyMap<string, string>): string =>
  `${head(`No such page – ${site}`, GUIDE_POLICY, "style.css", "guide.js")}
<body>
<a class="skip" href="#content">To the text</a>
<header>
<p class="service"><a href="index.html">${MARK}<span>${site} <small>documentation</small></span></a></p>
${SEARCH}
</header>
<div class="columns lost">
<main id="content">
<h1>There is no such page</h1>
<p>Search for it, or choose one of these:</p>
<nav aria-label="Pages">
${menu(null, titles)}
</nav>
</main>
</div>
</body>
</html>
`;

/**
 * The reference: Scalar, which may talk to this site and to the API and to nobody else. It sets styles on elements, hence
 * 'unsafe-inline' for styles; scripts are ours alone.
 */
export function referencePage(site: string, api: string | undefined, demo: SiteOptions["demo"]): string {
  const connect = ["'self'", ...(api ? [new URL(api).origin] : [])].join(" ");
  const policy = `default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src ${connect}; base-uri 'none'; form-action 'none'`;
  const filled = demo
    ? ` data-client-id="${escapeHtml(demo.client_id)}" data-client-secret="${escapeHtml(demo.client_secret)}"`
    : "";
  return `${head(`Reference – ${site}`, policy, "reference.css")}
<body>
<header>
<p class="service"><a href="index.html">${MARK}<span>${site} <small>documentation</small></span></a></p>
<nav aria-label="Main"><a href="first_call.html">First call</a><a href="errors.html">Errors</a><a href="openapi.json">openapi.json</a></nav>
</header>
<div id="reference" data-api="${escapeHtml(api ?? "")}"${filled}><noscript><p>The reference to try calls from needs scripts. Everything in it is in <a href="openapi.json">openapi.json</a>.</p></noscript></div>
<script src="scalar.js"></script>
<script src="reference.js"></script>
</body>
</html>
`;
}
