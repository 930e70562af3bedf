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
