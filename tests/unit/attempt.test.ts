import { expect, test } from "vitest";
import { attempt } from "#shared/foundation/attempt.ts";
import { ApiError } from "#shared/foundation/errors.ts";

const refuse = async (code: "wrong_code" | "too_many_requests") => {
  throw new ApiError(code, { reason: "x" });
};

test("contract §1 what may be refused is handled by its code; any other error goes on to whoever can", async () => {
  expect(await attempt(Promise.resolve("done"), ["wrong_code"])).toEqual({ answer: "done", refused: null });
  const { refused } = await attempt(refuse("wrong_code"), ["wrong_code"]);
  expect([refused?.code, refused?.fields]).toEqual(["wrong_code", { reason: "x" }]);
  await expect(attempt(refuse("too_many_requests"), ["wrong_code"])).rejects.toThrow("too_many_requests");
  await expect(attempt(Promise.reject(new Error("ours")), ["wrong_code"])).rejects.toThrow("ours");
});
