import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type LogLine, logTo } from "#shared/foundation/log.ts";
import { anyText } from "../harness/any_text.ts";

function written(keep: "all" | "sampled", lines: LogLine[]): Record<string, unknown>[] {
  const out: string[] = [];
  const log = logTo((line) => out.push(line), keep);
  for (const line of lines) log(line);
  for (const line of out) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(2_000);
  return out.map((line) => JSON.parse(line));
}

const request = (status: number, request_id: string = randomUUID()): LogLine => ({
  level: status >= 500 ? "error" : "info",
  event: "request",
  request_id,
  status,
});

describe("contract §1 the log", () => {
  test("contract §1 keeps one in twenty of the requests that succeeded, and says so in their lines", () => {
    const kept = written(
      "sampled",
      Array.from({ length: 20_000 }, () => request(200)),
    );
    expect(kept.length).toBeGreaterThan(800);
    expect(kept.length).toBeLessThan(1_200);
    expect(new Set(kept.map(({ one_in }) => one_in))).toEqual(new Set([20]));
  });

  test("contract §1 keeps or drops all lines of one request alike", () => {
    const ids = Array.from({ length: 200 }, () => randomUUID());
    const of = (lines: Record<string, unknown>[]) => lines.map(({ request_id }) => request_id);
    const first = of(
      written(
        "sampled",
        ids.map((id) => request(200, id)),
      ),
    );
    expect(
      of(
        written(
          "sampled",
          ids.map((id) => request(302, id)),
        ),
      ),
    ).toEqual(first);
  });

  test.each([400, 401, 404, 429, 500, 503])("contract §1 keeps every request that was answered %i", (status) => {
    expect(
      written(
        "sampled",
        Array.from({ length: 50 }, () => request(status)),
      ),
    ).toHaveLength(50);
  });

  test("contract §1 keeps what is no request, and every line where all are to be kept", () => {
    const other: LogLine = { level: "warn", event: "mail_failed", request_id: randomUUID() };
    expect(
      written(
        "sampled",
        Array.from({ length: 50 }, () => other),
      ),
    ).toHaveLength(50);
    expect(
      written(
        "all",
        Array.from({ length: 50 }, () => request(200)),
      ),
    ).toHaveLength(50);
  });

  test("contract §1 writes a line that fits as it is", () => {
    expect(written("all", [{ ...request(200), ms: 1.5 }])).toEqual([
      {
        time: expect.any(String),
        level: "info",
        event: "request",
        request_id: expect.any(String),
        status: 200,
        ms: 1.5,
      },
    ]);
  });

  test("contract §1 cuts a line that is too long, and keeps what happened and to which request", () => {
    const line: LogLine = {
      ...request(500),
      cause: { message: "é".repeat(5_000), stack: Array(50).fill("x".repeat(300)) },
    };
    const [cut] = written("sampled", [line]);
    expect(cut).toMatchObject({
      level: "error",
      event: "request",
      request_id: line.request_id,
      status: 500,
      cut: true,
    });
    expect(JSON.stringify(cut)).toContain("ééé");
  });

  test("contract §1 never writes more than 2 kB, whatever it is given", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), anyText({ maxLength: 9_000 }), (fields, long) => {
        const [line] = written("all", [{ ...fields, long, ...request(500) }]);
        expect(line).toMatchObject({ event: "request" });
      }),
      { numRuns: 80 },
    );
  });
});
