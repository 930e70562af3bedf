// The documentation, built in memory: what is in it, and that nothing in it leads astray. tests/docs/guides.test.ts runs its commands,
// and looks at it in a browser.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { EVENT_TYPES } from "#shared/domain/events.ts";
import { PAGES } from "../../packages/docs/src/chapters.ts";
import { render } from "../../packages/docs/src/markdown.ts";
import { clientFile } from "../../packages/docs/src/pack_client.ts";
import { buildSite } from "../../packages/docs/src/site.ts";
import { withTables } from "../../packages/docs/src/tables.ts";

const site = buildSite();
const text = (name: string) => {
  const file = site.get(name);
  if (file === undefined) throw new Error(`no ${name}`);
  return file.toString();
};
const HTML = [...site.keys()].filter((name) => name.endsWith(".html"));

test("§9.5 every guide of docs/guides is a page, with a heading, in HTML and in Markdown", () => {
  const guides = readdirSync(`${ROOT}docs/guides`).map((name) => `docs/guides/${name}`);
  expect(guides.filter((source) => !PAGES.some((page) => page.source === source))).toEqual([]);
  for (const { name } of PAGES) {
    expect(text(`${name}.html`).match(/<h1 /g), name).toHaveLength(1);
    expect(text(`${name}.md`)).toMatch(/^# /);
    expect(text("llms-full.txt")).toContain(text(`${name}.md`).trim());
  }
});

/** The addresses that a page names. */
const addresses = (html: string) => [...html.matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, target = ""]) => target);

test.each(HTML)("§9.5 every link of %s leads to a file of the site, and to a heading that is there", (name) => {
  const faults = addresses(text(name)).filter((target) => {
    if (target === "data:,") return false;
    const [file, hash] = target.split("#");
    const there = site.get(file || name)?.toString();
    return there === undefined || (hash !== undefined && !there.includes(` id="${hash}"`));
  });
  expect(faults).toEqual([]);
});

test("§9.5 llms.txt names every page and openapi.json, and each is there", () => {
  const named = [...text("llms.txt").matchAll(/\]\(([^)]+)\)/g)].map(([, file = ""]) => file);
  expect(named.filter((file) => !site.has(file))).toEqual([]);
  expect(named).toEqual(expect.arrayContaining(["openapi.json", ...PAGES.map(({ name }) => `${name}.md`)]));
});

test("§9.5 what the Markdown of the site links to is on the site", () => {
  for (const { name } of PAGES) {
    const prose = text(`${name}.md`)
      .replace(/^```.*?^```/gms, "")
      .replace(/`[^`\n]*`/g, "");
    const targets = [...prose.matchAll(/\]\(([^)\s#]+)/g)].map(([, file = ""]) => file);
    expect(
      targets.filter((file) => !site.has(file)),
      name,
    ).toEqual([]);
  }
});

describe("§9.5 what a page may load", () => {
  const policy = (name: string) => /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(text(name))?.[1] ?? "";

  test("a guide has one script of the site and none inline, and loads a style sheet, letters and the search index of the site", () => {
    for (const { name } of PAGES) {
      const html = text(`${name}.html`);
      expect(html.match(/<script.*?<\/script>/g)).toEqual(['<script src="guide.js" defer></script>']);
      expect(html).not.toMatch(/ on\w+="| style="/i);
      expect(policy(`${name}.html`)).toBe(
        "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; font-src 'self'; img-src data:; base-uri 'none'; form-action 'none'",
      );
    }
  });

  test("the reference runs scripts of the site, and connects to it and to the API", () => {
    expect(policy("reference.html")).toContain("script-src 'self';");
    expect(policy("reference.html")).toContain("connect-src 'self';");
    const elsewhere = buildSite({ api: "https://api.example.com/functions/v1" });
    expect(elsewhere.get("reference.html")?.toString()).toContain("connect-src 'self' https://api.example.com;");
    const { servers, components } = JSON.parse(`${elsewhere.get("openapi.json")}`);
    expect(servers).toEqual([{ url: "https://api.example.com/functions/v1" }]);
    expect(components.securitySchemes.cpo.flows.clientCredentials).toMatchObject({
      tokenUrl: "https://api.example.com/functions/v1/oauth-token",
      "x-scalar-credentials-location": "body",
    });
  });
});

describe("§9.5 the address in commands", () => {
  const written = "http://127.0.0.1:54321";

  test("beside the API a script finds it; until then it is the one of npm start", () => {
    expect(text("first_call.html")).toContain(`API=<span class="api">${written}</span>`);
    expect(text("first_call.md")).toContain(`export API=${written}\n`);
    const moved = buildSite({ shown: "http://127.0.0.1:4000" });
    expect(`${moved.get("first_call.html")}`).toContain('API=<span class="api">http://127.0.0.1:4000</span>');
    expect([...moved].filter(([name, file]) => /\.(html|md|txt)$/.test(name) && `${file}`.includes(written))).toEqual(
      [],
    );
  });

  test("of an API elsewhere it is written into every page and file", () => {
    const elsewhere = buildSite({ api: "https://api.example.nl/functions/v1" });
    const files = [...elsewhere].filter(([name]) => /\.(html|md|txt)$/.test(name));
    expect(files.filter(([, file]) => /127\.0\.0\.1:54321|class="api"/.test(`${file}`))).toEqual([]);
    for (const name of ["first_call.html", "first_call.md", "llms-full.txt"])
      expect(`${elsewhere.get(name)}`).toContain("API=https://api.example.nl/functions/v1\n");
  });
});

describe("§9.5 the search index", () => {
  type Section = [href: string, page: string, heading: string, text: string];
  const sections: Section[] = JSON.parse(text("search.json"));

  test("every section leads to a page and a heading that is there; every operation is in it, with its fields", () => {
    const faults = sections.filter(([href]) => {
      const [file = "", hash] = href.split("#");
      if (file === "reference.html") return false;
      return !site.has(file) || (hash !== undefined && !text(file).includes(` id="${hash}"`));
    });
    expect(faults).toEqual([]);
    const { paths } = JSON.parse(text("openapi.json"));
    const operations = Object.entries<object>(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const headings = sections.filter(([, page]) => page === "Reference").map(([, , heading]) => heading);
    expect(headings).toEqual(operations);
    const update = sections.find(([, , heading]) => heading === "POST /v1/connections:update");
    expect(update?.[3]).toContain("acknowledge_mandate_lapses");
    expect(update?.[0]).toBe("reference.html#tag/cpo-v1/POST/v1/connections:update");
  });

  test("it weighs less than 200 KB, and has no marks of Markdown", () => {
    expect(text("search.json").length).toBeLessThan(200_000);
    expect(
      sections.filter(([, , heading, words]) => /\]\([^)]*\.(md|html)|[^/]\*\*\w|^\|/.test(heading + words)),
    ).toEqual([]);
  });
});

describe("§9.5 the tables of the guides", () => {
  test("every error that an operation declares is in that of errors, every limit and every event in theirs", () => {
    const { paths, components } = JSON.parse(text("openapi.json"));
    const wire = Object.values<{ content: Record<string, { schema: { properties: { error: { enum?: string[] } } } }> }>(
      components.responses,
    ).flatMap(({ content }) => content["application/json"]?.schema.properties.error.enum ?? []);
    expect(wire.length).toBeGreaterThan(50);
    expect([...new Set(wire)].filter((error) => !text("errors.md").includes(`\`${error}\``))).toEqual([]);
    expect(EVENT_TYPES.filter((type) => !text("events.md").includes(`\`${type}\``))).toEqual([]);
    const limited = Object.entries<Record<string, { "x-rate-limit"?: object }>>(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, operation]) =>
        operation["x-rate-limit"] ? [`\`${method.toUpperCase()} ${path}\``] : [],
      ),
    );
    expect(limited.filter((name) => !text("limits.md").includes(name))).toEqual([]);
  });

  test("a table that there is not is refused, and none is left out", () => {
    expect(() => withTables("<!-- table: prices -->", { paths: {}, components: { responses: {} } })).toThrow("prices");
    expect([...site].filter(([name, file]) => name.endsWith(".md") && `${file}`.includes("<!--"))).toEqual([]);
  });
});

test("§9.5 code is coloured when the site is built, and none of it is markup", () => {
  const { html } = render('# <i>One</i>\n\n```ts\nconst a = "</script>";\n```\n\n```unknown\n<b>\n```\n');
  expect(html).toContain('<span class="hljs-keyword">const</span>');
  expect(html).toContain("&#60;b&#62;");
  expect(html).not.toContain("</script>");
});

test("§9.5 the guides install the client of this version", () => {
  for (const page of [text("client.md"), readFileSync(`${ROOT}examples/cpo/README.md`, "utf8")]) {
    const named = [...page.matchAll(/ere-client-[\d.]+\.tgz/g)].map(String);
    expect([...new Set(named)]).toEqual([clientFile()]);
  }
});

test("§9.5 npm run docs writes the site into a folder, empties it first, and says what it does not know", () => {
  const folder = mkdtempSync(join(tmpdir(), "ere-docs-"));
  const docs = (...args: string[]) =>
    execFileSync(process.execPath, [`${ROOT}packages/docs/src/main.ts`, ...args], { encoding: "utf8", stdio: "pipe" });
  try {
    expect(docs("--out", folder)).toBe(`${site.size + 1} files in ${folder}\n`);
    expect(readdirSync(folder).sort()).toEqual([...site.keys(), clientFile()].sort());
    expect(() => docs("--api", "example.com")).toThrow(/--api is an address/);
    expect(docs("--help")).toContain("npm run docs -- [options]");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
