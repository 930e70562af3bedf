/** Texts for broken field rules, which an integrator can act on: `issues[].message` of 400 `invalid_request`. */
import type * as z from "zod";

type Issue = Parameters<z.core.$ZodErrorMap>[0];

/** The text for a value of the wrong type, by expected type. */
const TYPES: Readonly<Record<string, string>> = {
  string: "must be text",
  number: "must be a number",
  int: "must be a whole number",
  boolean: "must be true or false",
  array: "must be a list",
  object: "must be an object",
  record: "must be an object",
  null: "must be null",
};

const FORMATS: Readonly<Record<string, string>> = {
  email: "must be an e-mail address",
  guid: "must be a UUID",
  uuid: "must be a UUID",
  url: "must be a URL",
  date: "must be a date such as 2026-03-01",
  datetime: "must be a date and time such as 2026-11-20T09:30:00Z",
  safeint: "must be a whole number",
};

const many = (count: number | bigint, one: string) => `${count} ${one}${Number(count) === 1 ? "" : "s"}`;
const oneOf = (values: readonly unknown[]) =>
  values.length === 1 ? `must be ${values[0]}` : `must be one of ${values.join(", ")}`;

function tooSmall({ origin, minimum, inclusive }: Extract<Issue, { code: "too_small" }>): string {
  if (origin === "string")
    return minimum === 1 ? "must not be empty" : `must have at least ${many(minimum, "character")}`;
  if (origin === "array") return minimum === 1 ? "must not be empty" : `must have at least ${many(minimum, "item")}`;
  return inclusive ? `must be ${minimum} or more` : `must be more than ${minimum}`;
}

function tooBig({ origin, maximum, inclusive }: Extract<Issue, { code: "too_big" }>): string {
  if (origin === "string") return `must have at most ${many(maximum, "character")}`;
  if (origin === "array") return `must have at most ${many(maximum, "item")}`;
  return inclusive ? `must be ${maximum} or less` : `must be less than ${maximum}`;
}

/** For `safeParse(value, { error: ruleText })`. A rule that has a text of its own keeps it. */
export function ruleText(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "is missing" : (TYPES[issue.expected] ?? `must be ${issue.expected}`);
    case "too_small":
      return tooSmall(issue);
    case "too_big":
      return tooBig(issue);
    case "invalid_format":
      return FORMATS[issue.format] ?? "does not have the form it must have";
    case "invalid_value":
      return issue.input === undefined ? "is missing" : oneOf(issue.values);
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    default:
      return issue.input === undefined ? "is missing" : "has none of the forms it may have";
  }
}
