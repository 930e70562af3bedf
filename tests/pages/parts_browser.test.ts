// Every part of the pages on one page, in both themes at once.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ICONS } from "../../supabase/functions/pages/kit/parts/icons.ts";
import { lookAt, noBrowser, onPage } from "../harness/browser.ts";
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
