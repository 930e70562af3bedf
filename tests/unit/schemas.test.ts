// What the schema files say, where no behaviour shows that it is said everywhere.

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { errorsOf } from "#shared/http/endpoint.ts";
import { SENTENCES } from "../../packages/operator/src/refusals.ts";
import { SERVED } from "../harness/answers.ts";

const folder = fileURLToPath(new URL("../../supabase/schemas/", import.meta.url));
const sql = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".sql"))
  .map((name) => readFileSync(folder + name, "utf8").replace(/--.*$/gm, ""))
  .join("\n");
/** Each function with its schema, and its text: up to the end of its quoted body, or of the expression that it returns. */
const functions = [...sql.matchAll(/^create function ([\w.]+)(\(.*?(?:\$\$|^return [^;]*);)$/gms)].map(
  ([, name = "", text = ""]) => ({
    name,
    text,
  }),
);
const textOf = (name: string) => functions.flatMap((each) => (each.name === name ? [each.text] : [])).join("\n");
const refusalsOf = (name: string) =>
  [...textOf(name).matchAll(/private\.refus(?:e|al)\('(\w+)'/g)].map(([, code = ""]) => code);
/** A function, and every helper that it calls, however deep. */
function reachedFrom(name: string, seen = new Set<string>()): Set<string> {
  seen.add(name);
  for (const [called] of textOf(name).matchAll(/\b(?:private|api)\.\w+(?=\()/g))
    if (!seen.has(called)) reachedFrom(called, seen);
  return seen;
}

test("every function is found", () => {
  expect(functions.length).toBe(sql.match(/^create function /gm)?.length);
});

test("time is told by private.now() only", () => {
  const clocks =
    /\b(?:current_date|current_time|current_timestamp|localtime|localtimestamp|clock_timestamp|statement_timestamp|transaction_timestamp)\b|(?<!private\.)\bnow\(/;
  expect(sql.split("\n").filter((line) => clocks.test(line.replace("create function private.now()", "")))).toEqual([
    expect.stringContaining("return pg_catalog.now();"),
  ]);
});

/** What a helper says to others only: who revokes asks for no grant, and these take the first of several connections. */
const NEVER_THERE = [
  "revoke: unauthorized_client",
  ...["registerCharger", "deliverMonths", "claimSandboxDraft", "connectVirtualCharger", "createSandboxFixtures"].map(
    (id) => `${id}: ambiguous_connection`,
  ),
];

test("what an api function, or a helper of it, refuses with is declared by every endpoint that runs it", () => {
  const undeclared = SERVED.flatMap(({ endpoints }) => endpoints).flatMap((endpoint) => {
    const declared: ReadonlySet<string> = new Set(errorsOf(endpoint));
    return endpoint.sql
      .flatMap((name) => [...reachedFrom(`api.${name}`)].flatMap(refusalsOf))
      .filter((code) => !declared.has(code))
      .map((code) => `${endpoint.id}: ${code}`);
  });
  expect(undeclared).toEqual(NEVER_THERE);
});

test("every refusal of an ops function, and of the helpers of ops alone, has a sentence for the operator", () => {
  const granted = new Set(
    [...sql.matchAll(/^grant execute on function (private\.\w+)\(.* to api_owner;$/gm)].map(([, name]) => name),
  );
  const codes = functions
    .map(({ name }) => name)
    .filter((name) => name.startsWith("ops.") || (name.startsWith("private.") && !granted.has(name)))
    .flatMap(refusalsOf);
  expect([...new Set(codes)].sort()).toEqual(Object.keys(SENTENCES).sort());
  for (const say of Object.values(SENTENCES)) expect(say({})).toMatch(/^[^\n]+\.$/);
});
