import { expect, test } from "vitest";
import { oneAtATime } from "#shared/domain/charging_in/file/one_at_a_time.ts";

test("§4.1 a client's other file waits until the last of two equal confirmations ends", async () => {
  const first = Promise.withResolvers<string>();
  const second = Promise.withResolvers<string>();
  const runs = [oneAtATime("client", "a", () => first.promise), oneAtATime("client", "a", () => second.promise)];
  const other = () => oneAtATime("client", "b", () => Promise.resolve("b"));
  const refused = { code: "too_many_requests", fields: { reason: "upload_running" } };
  await expect(other()).rejects.toMatchObject(refused);
  first.resolve("a");
  await runs[0];
  await expect(other()).rejects.toMatchObject(refused);
  expect(await oneAtATime("another client", "b", () => Promise.resolve("b"))).toBe("b");
  second.resolve("a");
  await Promise.all(runs);
  expect(await other()).toBe("b");
});
