import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Db } from "#shared/foundation/db.ts";
import { ERRORS } from "#shared/foundation/errors.ts";
import { checkAnswer, listening } from "../harness/answers.ts";

describe("§7 the client of the tests takes no error that its row of the error table does not describe", () => {
  const request_id = randomUUID();
  const headers = new Headers({ "x-request-id": request_id, "x-content-type-options": "nosniff" });
  const { detail } = ERRORS.ean_in_use;
  const body = { error: "ean_in_use", detail, request_id };
  const check = (changed: Record<string, unknown>, status = 409, path = "/v1/accounts") =>
    checkAnswer("POST", path, { status, headers, body: JSON.parse(JSON.stringify({ ...body, ...changed })) });

  test.each([
    ["it is complete", {}],
    ["a field of its code comes along", { step: "activate" }],
  ])("taken: %s", (_case, changed) => {
    expect(() => check(changed)).not.toThrow();
  });

  test.each([
    ["a field that no code has", { surprise: 1 }],
    ["a field of another code", { gates: ["iban_present"] }],
    ["a field of its own code with another type", { step: 7 }],
    ["no detail", { detail: undefined }],
    ["a detail that is no text", { detail: null }],
    ["no request_id", { request_id: undefined }],
    ["the request_id of another request", { request_id: randomUUID() }],
    ["no error", { error: undefined }],
    ["an error that the endpoint does not declare", { error: "charger_claimed" }],
    ["the detail under the name that OAuth gives it", { detail: undefined, error_description: detail }],
  ])("refused: %s", (_case, changed) => {
    expect(() => check(changed)).toThrow();
  });

  test("refused: another status than the code has", () => {
    expect(() => check({}, 422)).toThrow();
  });

  test("the token endpoint says error_description where the others say detail", () => {
    const oauth = { error: "invalid_client", detail: undefined, error_description: ERRORS.invalid_client.detail };
    expect(() => check(oauth, 401, "/oauth-token")).not.toThrow();
    expect(() => check({ ...oauth, detail, error_description: undefined }, 401, "/oauth-token")).toThrow();
  });
});

function speaking(answer: string): Db {
  const open = async () => ({ answer, admission: "{}" });
  const db: Db = { call: async () => answer, open, withDeadlineFrom: () => db, end: async () => {} };
  return db;
}

test.each([
  ['{"outcome": "saved"}', ["api.sign_claim answers outcome"]],
  ['{"ask_login": true, "look_up": []}', ["api.sign_claim answers ask_login", "api.sign_claim answers look_up"]],
  ['{"refused": null, "need": {}}', ["api.sign_claim answers refused", "api.sign_claim answers need"]],
  ['{"state": "open", "draft": {"outcome": "saved"}}', []],
  ['[{"outcome": "saved"}]', []],
  ['"outcome"', []],
  ["null", []],
])("a test hears SQL answer in a dialect, and passes the answer on: %s", async (answer, expected) => {
  const heard: string[] = [];
  const db = listening(speaking(answer), heard);
  expect([await db.call("sign_claim"), heard]).toEqual([answer, expected]);
});

test.each([
  ['{"open_step": null}', []],
  ["{}", ["api.save_claim answers otherwise than its schema: open_step: Invalid"]],
  ['{"open_step": "shoes"}', ["api.save_claim answers otherwise than its schema: open_step: Invalid"]],
  ['{"open_step": null, "next": {"step": 1}}', ["api.save_claim answers more than its schema: next"]],
])("a test hears SQL answer otherwise than TypeScript reads it: %s", async (answer, expected) => {
  const heard: string[] = [];
  expect(await listening(speaking(answer), heard).call("save_claim")).toBe(answer);
  expect(heard).toEqual(expected.map((message) => expect.stringContaining(message)));
});
