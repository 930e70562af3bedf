import { expect, test } from "vitest";
import { singleflight } from "#shared/foundation/singleflight.ts";

/** Work that ends when it is told to. */
function work() {
  const ends: (() => void)[] = [];
  const shared = singleflight(() => new Promise<number>((resolve) => ends.push(() => resolve(ends.length))));
  return { ends, shared };
}
const turn = () => new Promise((resolve) => setTimeout(resolve));

test("ten calls at once are one run; those that come while it runs are one more, which begins after it", async () => {
  const { ends, shared } = work();
  const first = Array.from({ length: 10 }, () => shared());
  await turn();
  expect(ends).toHaveLength(1);
  const second = Array.from({ length: 10 }, () => shared());
  await turn();
  expect(ends).toHaveLength(1);
  ends[0]?.();
  expect(await Promise.all(first)).toEqual(Array(10).fill(1));
  await turn();
  expect(ends).toHaveLength(2);
  ends[1]?.();
  expect(await Promise.all(second)).toEqual(Array(10).fill(2));
});

test("a run that fails fails for whoever shares it, and for nobody after it", async () => {
  let fails = true;
  const shared = singleflight(async () => {
    if (fails) throw new Error("away");
    return "done";
  });
  const outcomes = await Promise.allSettled([shared(), shared()]);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  fails = false;
  expect(await shared()).toBe("done");
});
