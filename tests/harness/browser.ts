// A real browser in front of our functions: Chromium by playwright-core, and an HTTP server that hands its requests to `fetch`.

import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import type { AxeResults } from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
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

export function startBrowser(): Promise<Browser> {
  return chromium.launch({
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
    ],
  });
}

/** Pages that are looked at, by browser and options: in a new renderer axe takes three times as long to load. */
const kept = new WeakMap<Browser, Map<string, Page>>();

/** Runs on one page of a context of its own, which asks for Dutch unless told; one that `look` looks at starts without cookies, and light. */
export async function onPage(
  browser: Browser,
  options: Parameters<Browser["newContext"]>[0],
  run: (page: Page, context: BrowserContext) => Promise<void>,
): Promise<void> {
  const here = kept.get(browser) ?? new Map<string, Page>();
  kept.set(browser, here);
  const key = JSON.stringify(options ?? {});
  const free = here.get(key);
  here.delete(key);
  const page = free ?? (await (await browser.newContext({ locale: "nl", ...options })).newPage());
  const context = page.context();
  // Playwright's 30 s are those of a quiet machine
  context.setDefaultTimeout(180_000);
  try {
    await run(page, context);
    if (!options?.bypassCSP) return;
    await context.clearCookies();
    await page.emulateMedia({ media: null, colorScheme: "light" });
    await page.setViewportSize(options.viewport ?? { width: 1280, height: 720 });
    here.set(key, page.removeAllListeners());
  } finally {
    if (here.get(key) !== page) await context.close();
  }
}

/** Set to a folder to get a PNG of every page, to be looked at. */
const SCREENSHOTS = process.env.SCREENSHOTS;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
type Look = readonly ["light" | "dark", number];
const BOTH: readonly Look[] = [
  ["light", 390],
  ["dark", 1280],
];
/** Each scheme at each width. */
export const EVERY_LOOK: readonly Look[] = [
  ["light", 390],
  ["light", 1280],
  ["dark", 1280],
  ["dark", 390],
];
/** Both schemes and both widths; every pair of them where somebody wants to look. */
export const LOOKS = SCREENSHOTS ? EVERY_LOOK : BOTH;

/** Nothing sticks out of the page as it stands, and axe finds nothing, in each of the looks; `but` names its rules that others' markup breaks. */
export async function look(page: Page, name: string, locale: string, looks = LOOKS, but: string[] = []): Promise<void> {
  await examine(page, name, locale, looks, looks, but);
}

/**
 * The same for a page that a test looks at in Dutch and in English: axe sees every other look in Dutch and the rest in English. No
 * style depends on the language, so its rules about colors and about texts meet all that they judge. Both languages are
 * measured at each width.
 */
export async function lookInTurn(page: Page, name: string, locale: string, looks = LOOKS): Promise<void> {
  const seen = SCREENSHOTS ? looks : looks.filter((_, n) => (n % 2 === 0) === (locale === "nl"));
  const widths = seen.map(([, width]) => width);
  await examine(page, name, locale, [...seen, ...looks.filter(([, width]) => !widths.includes(width))], seen, []);
  // a test goes on in the last look, whichever language it is in
  const [colorScheme, width] = looks.at(-1) ?? ["light", 1280];
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width, height: 844 });
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

async function examine(
  page: Page,
  name: string,
  locale: string,
  looks: readonly Look[],
  seenByAxe: readonly Look[],
  but: string[],
): Promise<void> {
  // a mail lies within the page of a mail program, which has the landmarks
  const rules = name.startsWith("mail") ? { runOnly: ["wcag2a", "wcag2aa", "wcag21aa"] } : {};
  // what axe found in order is not described: that is most of its work; only a rule that is off by default reads the style sheets again
  const quick = { resultTypes: ["violations"], selectors: false, preload: { assets: ["media"] } };
  const options = JSON.stringify({ ...rules, ...quick });
  await bringAxe(page);
  for (const each of looks) {
    const [colorScheme, width] = each;
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 844 });
    expect(await overflowOf(page), "nothing sticks out").toBeLessThanOrEqual(0);
    if (!seenByAxe.includes(each)) continue;
    const { violations } = (await page.evaluate(
      `axe.run(${options}).then(({ violations }) => ({ violations }))`,
    )) as Pick<AxeResults, "violations">;
    const found = violations.filter(({ id }) => !but.includes(id));
    expect(found.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
    if (!SCREENSHOTS) continue;
    mkdirSync(SCREENSHOTS, { recursive: true });
    await page.screenshot({ path: `${SCREENSHOTS}/${name}-${locale}-${colorScheme}-${width}.png`, fullPage: true });
  }
}

export type Answerer = (request: Request) => Response | Promise<Response>;

/** Listens on a loopback port; what it answers with may be said later, when the port is part of the configuration. */
export async function serveHttp() {
  const state = { answer: (() => new Response(null, { status: 503 })) as Answerer };
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const headers = new Headers({ "x-forwarded-for": "192.0.2.7" });
    for (const [name, value] of Object.entries(incoming.headersDistinct)) headers.set(name, (value ?? []).join(", "));
    const { method = "GET" } = incoming;
    const request = new Request(new URL(incoming.url ?? "/", `http://${incoming.headers.host}`), {
      method,
      headers,
      ...(method === "GET" || method === "HEAD" ? {} : { body: Buffer.concat(chunks) }),
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
