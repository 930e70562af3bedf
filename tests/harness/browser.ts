// A real browser in front of our functions: Chromium by playwright-core, and an HTTP server that hands its requests to `fetch`.

import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { AxeResults } from "axe-core";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { expect } from "vitest";

/** The shell without a window first: it takes half the processor time for the same pages. */
const PLACES = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
const CHROMIUM = process.env.CHROMIUM_PATH ?? PLACES.find(existsSync) ?? "/usr/bin/chromium";

/** Why there is no browser on this machine, or null: for `describe.skipIf`. */
export const noBrowser = existsSync(CHROMIUM) ? null : `${CHROMIUM} does not exist; CHROMIUM_PATH may name another`;

/**
 * A new frame for every document costs a third of the processor time of a page. The others are Playwright's own that matter here:
 * the last list that Chromium is given counts.
 */
const OFF = [
  "RenderDocument",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "HttpsUpgrades",
  "PaintHolding",
  "ThirdPartyStoragePartitioning",
];

let started: Promise<Browser> | undefined;

/** One for all files of a worker. It ends with the worker. */
function sharedBrowser(): Promise<Browser> {
  started ??= chromium.launch({
    executablePath: CHROMIUM,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      `--disable-features=${OFF}`,
      // half the processor time of a large page is the collector's: with more room it runs less, and alone it need not agree with others
      "--js-flags=--min-semi-space-size=32,--single-threaded-gc",
    ],
  });
  return started;
}

/** Pages that are looked at, by options: in a new renderer axe takes three times as long to load. */
const kept = new Map<string, Page>();

/** Runs on one page of a context of its own, which asks for Dutch unless told; one that `look` looks at starts without cookies, and light. */
export async function onPage(
  options: BrowserContextOptions,
  run: (page: Page, context: BrowserContext) => Promise<void>,
): Promise<void> {
  const browser = await sharedBrowser();
  const key = JSON.stringify(options);
  const free = kept.get(key);
  kept.delete(key);
  const page = free ?? (await (await browser.newContext({ locale: "nl", ...options })).newPage());
  const context = page.context();
  // Playwright's 30 s are those of a quiet machine
  context.setDefaultTimeout(180_000);
  try {
    await run(page, context);
    if (!options.bypassCSP) return;
    await context.clearCookies();
    await page.unrouteAll();
    await page.emulateMedia({ media: null, colorScheme: "light" });
    await page.setViewportSize(options.viewport ?? { width: 1280, height: 720 });
    kept.set(key, page.removeAllListeners());
  } finally {
    if (kept.get(key) !== page) await context.close();
  }
}

/** Set to a folder to get a PNG of every look, by `npm run trial -- accessibility --screenshots <folder>`. */
const SCREENSHOTS = process.env.SCREENSHOTS;
/** Both languages, each scheme at each width, and 200 % on a desk: `npm run trial -- accessibility`. */
export const EVERY_LOOK = process.env.LOOKS === "every";
if (EVERY_LOOK && noBrowser) throw new Error(noBrowser);
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
type Look = readonly ["light" | "dark", number];
/** A desk shows what a phone folds; tests/unit/brand.test.ts proves that the other theme can be read. */
const LOOKS: readonly Look[] = [["light", 1280]];
/** A mail brings colors of its own. */
const MAIL_LOOKS: readonly Look[] = [...LOOKS, ["dark", 390]];
const MORE_LOOKS: readonly Look[] = [
  ["dark", 390],
  ["light", 390],
  ["light", 640],
  ["dark", 1280],
];

/** A page that is looked at, and the way to it; whether its tables may scroll within themselves on a phone. */
export type Scene = {
  name: string;
  go: (page: Page, lang: "nl" | "en") => Promise<unknown>;
  tables?: "fit" | "scroll";
};

/** Looks at a page in Dutch and measures it in English; the trial looks at it in both. */
export const lookAt = ({ name, go, tables = "scroll" }: Scene): Promise<void> =>
  walk(async (page, lang) => {
    await go(page, lang);
    expect(await page.locator("html").getAttribute("lang"), `${name} is in ${lang}`).toBe(lang);
    await look(page, name, lang, { tables });
    if (!EVERY_LOOK) await measureInEnglish(page, name);
  });

/** Walks over pages that are looked at on the way, in Dutch; the trial walks in both languages. */
export async function walk(run: (page: Page, lang: "nl" | "en") => Promise<void>): Promise<void> {
  for (const lang of EVERY_LOOK ? (["nl", "en"] as const) : (["nl"] as const))
    await onPage({ locale: lang, bypassCSP: true }, (page) => run(page, lang));
}

/** Nothing sticks out of the page as it stands, and axe finds nothing; `but` names its rules that others' markup breaks. */
export async function look(
  page: Page,
  name: string,
  lang = "nl",
  {
    looks = name.startsWith("mail") ? MAIL_LOOKS : LOOKS,
    but = [],
    tables = "scroll",
  }: { looks?: readonly Look[]; but?: string[]; tables?: Scene["tables"] } = {},
): Promise<void> {
  // by this title the trial finds it
  expect(expect.getState().currentTestName).toContain("axe finds nothing");
  // a mail lies within the page of a mail program, which has the landmarks
  const every = name.startsWith("mail") ? ["wcag2a", "wcag2aa", "wcag21aa"] : undefined;
  const all = EVERY_LOOK ? [...MORE_LOOKS, ...looks] : looks;
  // as people see it: what is folded stays folded until it is measured
  for (const [colorScheme, width] of SCREENSHOTS ? all : []) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 844 });
    await page.screenshot({ path: `${SCREENSHOTS}/${name}-${lang}-${colorScheme}-${width}.png`, fullPage: true });
  }
  await bringAxe(page);
  for (const [colorScheme, width] of all) {
    await page.emulateMedia({ colorScheme });
    await measure(page, `${name} in ${lang}`, width);
    const found = await runAxe(page, every);
    const wrong = found
      .filter(({ id }) => !but.includes(id))
      .map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
    expect(wrong, `${name} in ${lang}, ${colorScheme}, ${width} px wide`).toEqual([]);
  }
  for (const width of WIDTHS) await measure(page, `${name} in ${lang}`, width, tables);
}

/** English words are other words: by the link that every page has to the other language. */
async function measureInEnglish(page: Page, name: string): Promise<void> {
  const href = await page.evaluate(() => document.querySelector<HTMLAnchorElement>("nav a[hreflang=en]")?.href);
  if (!href) return;
  await page.goto(href);
  expect(await page.locator("html").getAttribute("lang"), `${name} is in en`).toBe("en");
  // from the width at which the page stands: to change it draws all anew
  for (const width of WIDTHS.toReversed()) await measure(page, `${name} in en`, width);
}

/** A window in which a table has least room, and the narrowest phone. */
const WIDTHS = [1000, 320];

/** Nothing sticks out, what is folded included; nor of a table that has to fit. */
async function measure(page: Page, name: string, width: number, tables: Scene["tables"] = "scroll"): Promise<void> {
  if (page.viewportSize()?.width !== width) await page.setViewportSize({ width, height: 844 });
  const [out, hidden] = await page.evaluate(() => {
    for (const folded of document.querySelectorAll("main details")) folded.setAttribute("open", "");
    const inside = [...document.querySelectorAll("main .scroll")].map((table) => table.scrollWidth - table.clientWidth);
    return [document.documentElement.scrollWidth - innerWidth, Math.max(0, ...inside)] as const;
  });
  expect(out, `${name}, ${width} px wide: so many px stick out`).toBeLessThanOrEqual(0);
  if (tables === "fit") expect(hidden, `${name}, ${width} px wide: so many px of a table are out of sight`).toBe(0);
}

/** How many px stick out of the page as it stands. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

/** Its 600 kB take a second to reach a page, and as a script tag four: the tab keeps them for the next page of the same origin. */
async function bringAxe(page: Page): Promise<void> {
  const kept = "try { (0, eval)(sessionStorage.axe) } catch {} typeof axe";
  if ((await page.evaluate(kept)) !== "undefined") return;
  await page.evaluate((source) => {
    // a page that was never loaded has no storage
    if (location.protocol !== "about:") sessionStorage.axe = source;
    // biome-ignore lint/security/noGlobalEval: in the browser of a test
    globalThis.eval(source);
  }, AXE);
}

/** What axe finds by these rules, or tags of rules. */
async function runAxe(page: Page, runOnly?: string[]): Promise<AxeResults["violations"]> {
  // what axe found in order is not described: that is most of its work; only a rule that is off by default reads the style sheets again
  const quick = { resultTypes: ["violations"], selectors: false, preload: { assets: ["media"] } };
  const options = JSON.stringify({ ...quick, ...(runOnly ? { runOnly } : {}) });
  return (await page.evaluate(`axe.run(${options}).then(({ violations }) => violations)`)) as AxeResults["violations"];
}

export type Answerer = (request: Request) => Response | Promise<Response>;

/** Listens on a loopback port; what it answers with may be said later, when the port is part of the configuration. */
export async function serveHttp() {
  const state = { answer: (() => new Response(null, { status: 503 })) as Answerer };
  const server = createServer(async (incoming, outgoing) => {
    // a browser that closes its page cuts off what it sends
    const body = await buffer(incoming).catch(() => null);
    if (!body) return;
    const headers = new Headers({ "x-forwarded-for": "192.0.2.7" });
    for (const [name, value] of Object.entries(incoming.headersDistinct)) headers.set(name, (value ?? []).join(", "));
    const { method = "GET" } = incoming;
    const request = new Request(new URL(incoming.url ?? "/", `http://${incoming.headers.host}`), {
      method,
      headers,
      ...(method === "GET" || method === "HEAD" ? {} : { body }),
    });
    const response = await state.answer(request);
    // flat, for there may be several cookies
    outgoing.writeHead(response.status, [...response.headers].flat());
    outgoing.end(Buffer.from(await response.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
