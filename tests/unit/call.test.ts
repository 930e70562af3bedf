import { expect, test } from "vitest";
import { callFor } from "#shared/foundation/call.ts";
import type { Db } from "#shared/foundation/db.ts";

test("whoever declared its SQL runs that in its caller's name, and nothing else", async () => {
  const calls: unknown[] = [];
  const db = { call: async (...args: unknown[]) => `${calls.push(args)}` } as unknown as Db;
  const caller = { kind: "anyone", host: "sandbox", request_id: "1" } as const;
  const declared: { id: string; sql: readonly string[] } = { id: "a page", sql: ["open_claim"] };
  const call = callFor(declared, { db }, caller);
  expect(await call("open_claim", { draft_id: "x" })).toBe("1");
  expect(() => call("opt_out", {})).toThrow("a page does not declare api.opt_out");
  expect(calls).toEqual([["open_claim", caller, { draft_id: "x" }]]);
});
