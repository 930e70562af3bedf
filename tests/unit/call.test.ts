import { describe, expect, test } from "vitest";
import { callFor } from "#shared/foundation/call.ts";
import { type Db, UnmetNeed } from "#shared/foundation/db.ts";
import type { Environment } from "#shared/foundation/environment.ts";

test("whoever declared its SQL runs that in its caller's name, and nothing else", async () => {
  const calls: unknown[] = [];
  const db = { call: async (...args: unknown[]) => `${calls.push(args)}` } as unknown as Db;
  const caller = { kind: "anyone", host: "sandbox", request_id: "1" } as const;
  const declared: { id: string; sql: readonly string[] } = { id: "a page", sql: ["open_claim"] };
  const call = callFor(declared, { db } as Environment, caller);
  expect(await call("open_claim", { draft_id: "x" })).toBe("1");
  expect(() => call("opt_out", {})).toThrow("a page does not declare api.opt_out");
  expect(calls).toEqual([["open_claim", caller, { draft_id: "x" }]]);
});

test("a text that the database cannot store is refused by the path of its field, before anything is run", async () => {
  const db = { call: async () => "1" } as unknown as Db;
  const caller = { kind: "anyone", host: "sandbox", request_id: "1" } as const;
  const call = callFor({ id: "a page", sql: ["open_claim"] }, { db } as Environment, caller);
  for (const [input, path] of [
    [{ from: "\ud800" }, "from"],
    [{ rows: [{ naam: "Jan" }, { naam: "a\u0000" }] }, "rows.1.naam"],
    [{ about: { "\udc00": 1 } }, "about"],
  ] as const)
    expect(() => call("open_claim", input), path).toThrow(
      expect.objectContaining({
        code: "invalid_request",
        fields: expect.objectContaining({ issues: [{ path, message: expect.any(String) }] }),
      }),
    );
  expect(await call("open_claim", { name: "👩\u200d👧", none: null, count: 1 })).toBe("1");
});

describe("a function that needs something first", () => {
  const caller = { kind: "anyone", host: "sandbox", request_id: "1" } as const;
  type About = { of: string };
  /** Answers its input once it has every kind, and needs the first that is missing until then. */
  const needing = (...kinds: string[]) => {
    const inputs: unknown[] = [];
    const call: Db["call"] = async (name, _caller, sent) => {
      const input = sent as Record<string, unknown>;
      inputs.push(input);
      const need = kinds.find((kind) => input[kind] == null);
      if (need) throw new UnmetNeed(name, { need, about: { of: input.of } });
      return JSON.stringify(input);
    };
    const begun: number[] = [];
    const db: Db = {
      ...({ call } as Db),
      withDeadlineFrom(moment) {
        begun.push(moment);
        return db;
      },
    };
    return { inputs, begun, environment: { db } as Environment };
  };
  const shout = async (_environment: Environment, { of }: About) => `${of}!`;

  test("is called again with what was fetched beside its input, once for each kind", async () => {
    const { inputs, environment } = needing("ean_register", "login");
    const declared = { id: "a page", sql: ["open_claim"], needs: { ean_register: shout, login: shout } };
    const call = callFor(declared, environment, caller);
    expect(JSON.parse(await call("open_claim", { of: "EAN" }))).toEqual({
      of: "EAN",
      ean_register: "EAN!",
      login: "EAN!",
    });
    expect(inputs).toHaveLength(3);
    // what was fetched for one call is not handed to the next
    expect(JSON.parse(await call("open_claim", { of: "IBAN" }))).toMatchObject({ ean_register: "IBAN!" });
  });

  test("waits for the database as long as is left of the time for both", async () => {
    const { begun, environment } = needing("ean_register");
    const before = performance.now();
    const waits = () => new Promise<string>((resolve) => setTimeout(() => resolve("known"), 50));
    await callFor(
      { id: "a page", sql: ["open_claim"], needs: { ean_register: waits } },
      environment,
      caller,
    )("open_claim", { of: "EAN" });
    expect(begun).toHaveLength(1);
    expect(begun[0] as number).toBeGreaterThanOrEqual(before);
    expect(begun[0] as number, "not since it was fetched").toBeLessThanOrEqual(performance.now() - 49);
  });

  test("asks nobody where it was given: the usual request stays one statement", async () => {
    const { inputs, environment } = needing("ean_register");
    const call = callFor({ id: "a page", sql: ["open_claim"], needs: { ean_register: shout } }, environment, caller);
    await call("open_claim", { of: "EAN", ean_register: "known" });
    expect(inputs).toEqual([{ of: "EAN", ean_register: "known" }]);
  });

  test.each([
    ["nobody is declared to fetch it", {}, "api.open_claim needs ean_register, which a page does not declare"],
    ["another kind is", { login: shout }, "api.open_claim needs ean_register, which a page does not declare"],
    [
      "what was fetched does not content it",
      { ean_register: async () => null },
      "api.open_claim needs ean_register again",
    ],
    ["it cannot be fetched", { ean_register: () => Promise.reject(new Error("Auth is down")) }, "Auth is down"],
  ])("fails loudly where %s", async (_case, needs, message) => {
    const { environment } = needing("ean_register");
    const call = callFor({ id: "a page", sql: ["open_claim"], needs }, environment, caller);
    await expect(call("open_claim", { of: "EAN" })).rejects.toThrow(message);
  });
});
