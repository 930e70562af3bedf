// What a client reads of a broken field rule.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { ruleText } from "#shared/http/rules.ts";
import { email, orNull, uuid } from "#shared/values/fields.ts";
import { loadNumberingPlans } from "#shared/values/phone.ts";
import { ENDPOINTS, named } from "../contract/samples.ts";

const said = (schema: z.ZodType, value: unknown) =>
  schema.safeParse(value, { error: ruleText }).error?.issues.map(({ message }) => message);

test.each<[string, z.ZodType, unknown, string]>([
  ["what is not there", z.object({ a: z.string() }), {}, "is missing"],
  ["a choice that is not there", z.enum(["a"]), undefined, "is missing"],
  ["no text", z.string(), 5, "must be text"],
  ["no number", z.number(), "5", "must be a number"],
  ["no whole number", z.int(), 1.5, "must be a whole number"],
  ["no truth", z.boolean(), "true", "must be true or false"],
  ["no list", z.array(z.string()), {}, "must be a list"],
  ["no object", z.object({}), [], "must be an object"],
  ["nothing", z.string().min(1), "", "must not be empty"],
  ["too little", z.string().min(2), "S", "must have at least 2 characters"],
  ["too much", z.string().max(1), "Sa", "must have at most 1 character"],
  ["no items", z.array(z.string()).min(1), [], "must not be empty"],
  ["too many items", z.array(z.string()).max(2), ["a", "b", "c"], "must have at most 2 items"],
  ["too small", z.number().min(0.1), 0, "must be 0.1 or more"],
  ["too large", z.number().max(5), 6, "must be 5 or less"],
  ["not above", z.number().positive(), 0, "must be more than 0"],
  ["no e-mail address", email(), "sanne", "must be an e-mail address"],
  ["no UUID", uuid(), "1", "must be a UUID"],
  ["no UUID, nor null", orNull(uuid()), "1", "must be a UUID"],
  ["no date", z.iso.date(), "1 March", "must be a date such as 2026-03-01"],
  ["no time", z.iso.datetime(), "1 March", "must be a date and time such as 2026-11-20T09:30:00Z"],
  ["no URL", z.url(), "x", "must be a URL"],
  ["no choice", z.enum(["a", "b"]), "c", "must be one of a, b"],
  ["not the one", z.literal(true), false, "must be true"],
  ["none of several", z.union([z.string(), z.number()]), [], "has none of the forms it may have"],
  ["a rule with words of its own", z.string().regex(/^x/, "must begin with x"), "y", "must begin with x"],
])("§7 %s is told in our words", (_, schema, value, text) => {
  expect(said(schema, value)).toEqual([text]);
});

const ZODS = /^(?:Invalid|Too (?:small|big)|Unrecognized|Expected|Required)\b/;

describe.each(named(ENDPOINTS.filter(({ body }) => body)))("%s", (_, { body = z.never() }) => {
  test("§7 no wrong body is told in the validator's words", async () => {
    await loadNumberingPlans();
    const names = body instanceof z.ZodObject ? Object.keys(body.shape) : ["x"];
    const wrong = fc.dictionary(fc.constantFrom(...names), fc.jsonValue({ maxDepth: 2 }));
    fc.assert(
      fc.property(wrong, (value) => (said(body, value) ?? []).every((text) => !ZODS.test(text))),
      { numRuns: 20 },
    );
  });
});
