// Every part of the pages on one page, in both themes at once.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Frame, layout } from "../../supabase/functions/pages/kit/frame.ts";
import { html } from "../../supabase/functions/pages/kit/html.ts";
import { ICONS } from "../../supabase/functions/pages/kit/parts/icons.ts";
import { STYLE } from "../../supabase/functions/pages/kit/style.ts";
import { WORDS } from "../../supabase/functions/pages/kit/words.ts";
import { lookAt, noBrowser, onPage, overflowOf } from "../harness/browser.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { createCustomerWorld } from "./customer.ts";

describe.skipIf(noBrowser)(
  `contract §6 one set of parts in a browser${noBrowser ? ` (skipped: ${noBrowser})` : ""}`,
  () => {
    let world: SandboxWorld;
    let url: string;
    beforeAll(async () => {
      world = await createCustomerWorld();
      url = `${world.environment.config.PAGES_URL}/docs/parts`;
    });
    afterAll(() => world.close());

    test("axe finds nothing, with both themes on one page", () =>
      lookAt({ name: "parts", go: (page, lang) => page.goto(`${url}?lang=${lang}`) }));

    test("a chart of twelve months is as wide as its card on a phone and on a desk, and one of three stays together", () =>
      onPage({}, async (page) => {
        await page.goto(url);
        const room = async (chart: string) =>
          page
            .locator(`.light ${chart}`)
            .evaluate((list) => 1 - (list.firstElementChild?.clientWidth ?? 0) / list.clientWidth);
        for (const width of [320, 390]) {
          await page.setViewportSize({ width, height: 844 });
          expect(await room(".many"), "each month has the whole line").toBe(0);
        }
        await page.setViewportSize({ width: 1280, height: 844 });
        expect(await room(".many")).toBeCloseTo(11 / 12, 1);
        const few = await page.locator(".light .chart:not(.many) li").last().boundingBox();
        const list = await page.locator(".light .chart:not(.many)").boundingBox();
        expect((few?.x ?? 0) + (few?.width ?? 0)).toBeLessThan((list?.x ?? 0) + 3 * 8 * 16 + 1);
      }));

    test("a partner's name of 120 signs takes two lines above a page, and is read whole", () =>
      onPage({}, async (page) => {
        const name = "Vereniging van Elektrische Rijders in de Regio Noordoost-Brabant en Omstreken, ".padEnd(120, "Q");
        const frame: Frame = {
          config: world.environment.config,
          locale: "nl",
          words: WORDS.nl,
          root: "/pages",
          to: (path) => path,
          inLanguage: () => "?lang=en",
          brand: { name },
        };
        const shown = String(layout(frame, { title: "Log in", body: html`<p>Log in.</p>` }));
        await page.setContent(shown.replace("</head>", `<style>${STYLE}</style></head>`));
        for (const width of [320, 390, 1280]) {
          await page.setViewportSize({ width, height: 844 });
          expect((await page.locator("header").boundingBox())?.height, `${width} px wide`).toBeLessThan(100);
          expect(await overflowOf(page)).toBeLessThanOrEqual(0);
        }
        expect(await page.locator("header .service").textContent()).toContain(name);
      }));

    test("every icon has strokes of its own, and none has a name", () =>
      onPage({}, async (page) => {
        await page.goto(url);
        const strokes = await page
          .locator(".light p > .icon path")
          .evaluateAll((all) => all.map((one) => one.getAttribute("d")));
        expect(new Set(strokes).size).toBe(ICONS.length);
        expect(await page.locator(".icon:not([aria-hidden=true])").count()).toBe(0);
      }));
  },
);
