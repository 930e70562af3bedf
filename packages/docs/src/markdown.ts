// Markdown to HTML, once, when the site is built: no page needs a script for it.

import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import http from "highlight.js/lib/languages/http";
import json from "highlight.js/lib/languages/json";
import typescript from "highlight.js/lib/languages/typescript";
import { Marked, type Tokens } from "marked";

hljs.registerLanguage("sh", bash);
hljs.registerLanguage("http", http);
hljs.registerLanguage("json", json);
for (const name of ["ts", "js"]) hljs.registerLanguage(name, typescript);

export const escapeHtml = (text: string) => text.replace(/[&<>"]/g, (sign) => `&#${sign.codePointAt(0)};`);

/** The anchor of a heading, as GitHub makes it, so that a link works in both places. */
export function anchor(heading: string, taken: Set<string> = new Set()): string {
  const slug = heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\-_ ]/gu, "")
    .replaceAll(" ", "-");
  let name = slug;
  for (let count = 1; taken.has(name); count++) name = `${slug}-${count}`;
  taken.add(name);
  return name;
}

/** What is read of a heading or a link: its text without marks. */
const textOf = (tokens: readonly Tokens.Generic[]): string =>
  tokens.map((token) => (token.tokens ? textOf(token.tokens) : (token.text ?? ""))).join("");

/** From so many sections on a page begins with a list of them. */
const LONG = 5;

/** A page's HTML, and its first heading, which is its title. */
export function render(markdown: string): { title: string; html: string; anchors: Set<string> } {
  const anchors = new Set<string>();
  const sections: string[] = [];
  let title = "";
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const words = textOf(tokens);
        if (depth === 1) title = words;
        const name = anchor(words, anchors);
        if (depth === 2) sections.push(`<li><a href="#${name}">${escapeHtml(words)}</a></li>`);
        return `<h${depth} id="${name}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      code({ text, lang = "" }) {
        const [language = "", kind] = lang.split(" ");
        const code = hljs.getLanguage(language)
          ? // the style sheet has no colour for punctuation, which is half of the marks of JSON
            hljs
              .highlight(text, { language, ignoreIllegals: true })
              .value.replace(/<span class="hljs-punctuation">(.*?)<\/span>/g, "$1")
          : escapeHtml(text);
        if (kind === "answer") return `<pre class="answer"><small>Answer</small><code>${code}\n</code></pre>\n`;
        return `<pre><code>${code}\n</code></pre>\n`;
      },
      table({ header, rows }) {
        const row = (cells: readonly Tokens.TableCell[], tag: "th" | "td") =>
          `<tr>${cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join("")}</tr>`;
        const body = rows.map((cells) => row(cells, "td")).join("\n");
        return `<div class="scroll" tabindex="0"><table>\n<thead>${row(header, "th")}</thead>\n<tbody>${body}</tbody>\n</table></div>\n`;
      },
    },
  });
  const html = marked.parse(markdown, { async: false });
  const contents = `<nav class="contents" aria-label="On this page"><ul>${sections.join("")}</ul></nav>\n`;
  return { html: sections.length < LONG ? html : html.replace("</h1>\n", (end) => end + contents), title, anchors };
}
