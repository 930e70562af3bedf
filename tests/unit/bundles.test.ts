// What a function weighs, because that is what its first answer waits for.

import { expect, test } from "vitest";
import { bundle, functionFolders } from "../../packages/tools/src/bundle.ts";

const EVERY = ["hono"];

/** What each loads before its first request: packages, and thousands of bytes at most, minified. */
const STARTS: Record<string, { packages: string[]; at_most: number; whole?: number }> = {
  "cpo-v1": { packages: EVERY, at_most: 65 },
  docs: { packages: EVERY, at_most: 65 },
  // with what writes PDF, and its letters
  documents: { packages: EVERY, at_most: 65, whole: 1600 },
  "oauth-authorize": { packages: EVERY, at_most: 65 },
  "oauth-revoke": { packages: EVERY, at_most: 65 },
  "oauth-token": { packages: EVERY, at_most: 65 },
  // whole with what reads files of customers, and logos
  pages: { packages: EVERY, at_most: 65, whole: 1200 },
  partner: { packages: EVERY, at_most: 65 },
  personal: { packages: EVERY, at_most: 65 },
  sandbox: { packages: EVERY, at_most: 65 },
  // with what sends webhooks and connects to nothing but what was judged
  worker: { packages: EVERY, at_most: 65, whole: 1150 },
};

test("every function is weighed", () => {
  expect(functionFolders()).toEqual(Object.keys(STARTS).sort());
});

test.each(Object.entries(STARTS))(
  "%s starts with what a request always needs, and is no larger than a megabyte, or than it says",
  async (slug, { packages, at_most, whole: largest = 1000 }) => {
    const { start, whole, ...built } = await bundle(slug);
    expect(built.packages, "the rest is loaded where it is used").toEqual(packages.toSorted());
    expect(start).toBeLessThan(at_most * 1000);
    expect(whole).toBeLessThan(largest * 1000);
  },
);
