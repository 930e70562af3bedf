import { expect, test } from "vitest";
import { workThrough } from "#shared/foundation/work_through.ts";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test("every item is worked on once, in their order, and never more than the width at the same time", async () => {
  const begun: number[] = [];
  let running = 0;
  let most = 0;
  await workThrough([...Array(20).keys()], 3, async (item) => {
    begun.push(item);
    running += 1;
    most = Math.max(most, running);
    await pause(item % 3);
    running -= 1;
  });
  expect(begun).toEqual([...Array(20).keys()]);
  expect(most).toBe(3);
});

test("what is under way is finished and nothing else begun once it may not", async () => {
  let done = 0;
  const work = async () => {
    await pause(1);
    done += 1;
  };
  await workThrough([1, 2, 3, 4, 5, 6], 2, work, () => done < 3);
  expect(done).toBe(4);
});

test("a failure is the caller's to see", async () => {
  const work = async (item: number) => {
    if (item === 2) throw new Error("two");
  };
  await expect(workThrough([1, 2, 3], 2, work)).rejects.toThrow("two");
});
