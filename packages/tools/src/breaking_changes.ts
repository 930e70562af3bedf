// What of a change to openapi.json breaks a client (specification section 9.5): `node breaking_changes.ts <commit>` prints it, and
// fails unless CHANGELOG.md has a line since that commit that begins with ⚠️.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { ROOT } from "../../local/src/checkout.ts";

type Node = Record<string, unknown>;
export type Document = { paths: Record<string, Record<string, Node>>; components?: Node };
/** Which way a schema travels: a request may become laxer, an answer may only gain. */
type Way = "request" | "response";

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value);
const nodeOf = (value: unknown): Node => (isNode(value) ? value : {});
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : value === undefined ? [] : [value]);
const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** Bounds that make a request stricter when they grow, or when they shrink. */
const LOWER = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
const UPPER = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];

/** Each change that a client may notice, as a sentence that begins with where it is. Additions are none. */
export function breakingChanges(before: Document, after: Document): string[] {
  const found: string[] = [];
  const resolve = (document: Document, schema: unknown): Node => {
    const node = nodeOf(schema);
    if (typeof node.$ref !== "string") return node;
    const target = node.$ref
      .replace(/^#\//, "")
      .split("/")
      .reduce<unknown>((at, key) => nodeOf(at)[key], document as unknown);
    return nodeOf(target);
  };

  const compare = (way: Way, at: string, from: unknown, to: unknown, depth = 0): void => {
    const [old, now] = [resolve(before, from), resolve(after, to)];
    // a document of ours nests a handful deep; more is one that contains itself
    if (depth > 20 || (same(from, to) && same(old, now) && !JSON.stringify(old).includes("$ref"))) return;
    const say = (what: string) => found.push(`${at} ${what}`);

    const [oldTypes, newTypes] = [listOf(old.type), listOf(now.type)];
    if (way === "request" && newTypes.length > 0) {
      const lost = oldTypes.filter(
        (type) => !newTypes.includes(type) && !(type === "integer" && newTypes.includes("number")),
      );
      if (lost.length > 0 || oldTypes.length === 0) say(`takes ${newTypes.join(", ")} only`);
    }
    if (way === "response" && oldTypes.length > 0) {
      const gained = newTypes.filter(
        (type) => !oldTypes.includes(type) && !(type === "integer" && oldTypes.includes("number")),
      );
      if (gained.length > 0 || newTypes.length === 0) say(`may be ${newTypes.join(", ") || "anything"}`);
    }

    const valuesOf = ({ enum: values, const: value }: Node) =>
      values === undefined && value === undefined ? null : listOf(values ?? value);
    const [oldValues, newValues] = [valuesOf(old), valuesOf(now)];
    // a new value in an answer is announced as an addition: clients ignore what they do not know (9.2)
    if (way === "request" && newValues) {
      const lost = oldValues?.filter((value) => !newValues.includes(value));
      if (!lost) say(`takes ${newValues.join(", ")} only`);
      else if (lost.length > 0) say(`takes ${lost.join(", ")} no longer`);
    }

    if (way === "request") {
      for (const bound of LOWER)
        if (Number(now[bound]) > Number(old[bound] ?? -Infinity)) say(`has ${bound} ${now[bound]}`);
      for (const bound of UPPER)
        if (Number(now[bound]) < Number(old[bound] ?? Infinity)) say(`has ${bound} ${now[bound]}`);
      for (const rule of ["pattern", "format"])
        if (now[rule] !== undefined && !same(old[rule], now[rule])) say(`has ${rule} ${now[rule]}`);
    } else if (old.format !== undefined && !same(old.format, now.format)) say(`has no format ${old.format} any more`);

    const [oldRequired, newRequired] = [listOf(old.required), listOf(now.required)];
    if (way === "request") {
      for (const name of newRequired) if (!oldRequired.includes(name)) say(`requires ${name}`);
    } else for (const name of oldRequired) if (!newRequired.includes(name)) say(`may leave out ${name}`);

    const [oldFields, newFields] = [nodeOf(old.properties), nodeOf(now.properties)];
    for (const [name, field] of Object.entries(oldFields)) {
      if (name in newFields) compare(way, `${at}.${name}`, field, newFields[name], depth + 1);
      else say(`has no ${name} any more`);
    }
    if (old.items !== undefined && now.items !== undefined) compare(way, `${at}[]`, old.items, now.items, depth + 1);

    for (const union of ["anyOf", "oneOf", "allOf"]) {
      const [oldOptions, newOptions] = [listOf(old[union]), listOf(now[union])];
      if (oldOptions.length !== newOptions.length) say(`has other ${union}`);
      else
        for (const [index, option] of oldOptions.entries())
          compare(way, `${at}|${index}`, option, newOptions[index], depth + 1);
    }
  };

  for (const [path, methods] of Object.entries(before.paths)) {
    for (const [method, old] of Object.entries(methods)) {
      const at = `${method.toUpperCase()} ${path}`;
      const now = after.paths[path]?.[method];
      if (!now) {
        found.push(`${at} is gone`);
        continue;
      }
      const taken = (operation: Node) => listOf(operation.security).map((option) => JSON.stringify(option));
      for (const credential of taken(old))
        if (!taken(now).includes(credential)) found.push(`${at} takes no ${credential} any more`);
      if (taken(old).length === 0 && taken(now).length > 0) found.push(`${at} asks for a credential`);

      const parametersOf = (operation: Node) => listOf(operation.parameters).map(nodeOf);
      const find = (operation: Node, { name, in: place }: Node) =>
        parametersOf(operation).find((other) => other.name === name && other.in === place);
      for (const parameter of parametersOf(old)) {
        const kept = find(now, parameter);
        if (kept) compare("request", `${at} ?${parameter.name}`, parameter.schema, kept.schema);
        else found.push(`${at} has no parameter ${parameter.name} any more`);
      }
      for (const parameter of parametersOf(now))
        if (parameter.required && !find(old, parameter)?.required)
          found.push(`${at} requires parameter ${parameter.name}`);

      const [oldBody, newBody] = [nodeOf(old.requestBody), nodeOf(now.requestBody)];
      if (newBody.required && !oldBody.required) found.push(`${at} requires a body`);
      compareContent("request", `${at} body`, oldBody, newBody);

      for (const [status, answer] of Object.entries(nodeOf(old.responses))) {
        if (!status.startsWith("2")) continue; // an error that cannot happen any more breaks nobody
        const kept = nodeOf(now.responses)[status];
        if (kept) compareContent("response", `${at} ${status}`, nodeOf(answer), nodeOf(kept));
        else found.push(`${at} answers no ${status} any more`);
      }
    }
  }
  return found;

  function compareContent(way: Way, at: string, from: Node, to: Node): void {
    for (const [type, content] of Object.entries(nodeOf(from.content))) {
      const kept = nodeOf(to.content)[type];
      if (kept) compare(way, at, nodeOf(content).schema, nodeOf(kept).schema);
      else found.push(`${at} is no ${type} any more`);
    }
  }
}

/** The lines of the changelog that announce something breaking. */
export const announcements = (changelog: string): string[] =>
  changelog.split("\n").filter((line) => /^[-*\s]*⚠️/.test(line));

if (import.meta.main) {
  const [base] = process.argv.slice(2);
  if (!base) throw new Error("usage: breaking_changes.ts <commit>");
  const then = (file: string) =>
    execFileSync("git", ["show", `${base}:${file}`], { cwd: ROOT, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  const now = (file: string) => readFileSync(`${ROOT}${file}`, "utf8");
  const changes = breakingChanges(JSON.parse(then("openapi.json")), JSON.parse(now("openapi.json")));
  for (const change of changes) console.log(change);
  const known = announcements(then("CHANGELOG.md"));
  if (changes.length > 0 && announcements(now("CHANGELOG.md")).every((line) => known.includes(line))) {
    console.error("Breaking: say so in CHANGELOG.md, in a line that begins with ⚠️ and names the date it takes effect.");
    process.exitCode = 1;
  }
}
