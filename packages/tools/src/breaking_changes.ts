// What of a change to openapi.json breaks a client (specification section 9.5): `node breaking_changes.ts <commit>` prints it, and
// fails unless CHANGELOG.md has a line since that commit that begins with ⚠️ and a date. Before the first release nobody has to be told.
// It also fails if a migration changed that databases of a release ran.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { ROOT } from "#local/checkout.ts";
import { namesRelease } from "./released.ts";

type Node = Record<string, unknown>;
type Operations = Record<string, Record<string, Node>>;
export type Document = { paths: Operations; webhooks?: Operations; components?: Node };
/** Which way a schema travels: a request may become laxer, an answer may only gain. What we send to a webhook is as an answer. */
type Way = "request" | "response";

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value);
const nodeOf = (value: unknown): Node => (isNode(value) ? value : {});
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : value === undefined ? [] : [value]);
const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** Bounds that make a schema stricter when they grow, or when they shrink. */
const LOWER = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
const UPPER = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];

/** A document of ours nests a handful deep; more is one that contains itself. */
const DEEPEST = 20;

/** A schema as it is: what it refers to, and all of `allOf` in one. What stands beside a reference goes before it. */
function whole(document: Document, schema: unknown, depth = 0): Node {
  const { $ref, allOf, ...own } = nodeOf(schema);
  if (depth > DEEPEST || ($ref === undefined && allOf === undefined)) return own;
  const all = { ...own };
  for (const part of [...(typeof $ref === "string" ? [lookUp(document, $ref)] : []), ...listOf(allOf)]) {
    for (const [key, value] of Object.entries(whole(document, part, depth + 1))) {
      if (key === "properties") all.properties = { ...nodeOf(value), ...nodeOf(all.properties) };
      else if (key === "required") all.required = [...new Set([...listOf(all.required), ...listOf(value)])];
      else all[key] ??= value;
    }
  }
  return all;
}

function lookUp(document: Document, ref: string): unknown {
  return ref
    .replace(/^#\//, "")
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>((at, key) => nodeOf(at)[key], document);
}

/** The alternatives of a schema: a value has to fit one of them. */
function optionsOf({ anyOf, oneOf, ...rest }: Node): Node[] {
  const options = listOf(anyOf ?? oneOf);
  return options.length === 0 ? [rest] : options.map((option) => ({ ...rest, ...nodeOf(option) }));
}

/** Each change that a client may notice, as a sentence that begins with where it is; docs/versioning.md says which those are. */
export function breakingChanges(before: Document, after: Document): string[] {
  return [
    ...changedOperations(before, after, before.paths, after.paths, "response"),
    ...changedOperations(before, after, before.webhooks ?? {}, after.webhooks ?? {}, "request"),
  ];
}

/** `answers` is how an answer travels: to us, where we are the ones who ask. */
function changedOperations(
  before: Document,
  after: Document,
  from: Operations,
  to: Operations,
  answers: Way,
): string[] {
  const requests = answers === "response" ? "request" : "response";
  const found: string[] = [];
  for (const [path, methods] of Object.entries(from)) {
    for (const [method, old] of Object.entries(methods)) {
      const at = `${method.toUpperCase()} ${path}`;
      const now = to[path]?.[method];
      if (!now) {
        found.push(`${at} is gone`);
        continue;
      }
      const say = (what: string) => found.push(`${at} ${what}`);
      if (old.operationId !== undefined && old.operationId !== now.operationId)
        say(`is called ${now.operationId} and no longer ${old.operationId}`);
      compareCredentials(say, old, now);
      compareParameters(say, old, now);
      const [oldBody, newBody] = [nodeOf(old.requestBody), nodeOf(now.requestBody)];
      if (newBody.required && !oldBody.required) say("requires a body");
      compareContent(requests, `${at} body`, oldBody, newBody);
      compareAnswers(at, old, now);
    }
  }
  return found;

  function compareCredentials(say: (what: string) => void, old: Node, now: Node): void {
    const taken = (operation: Node) => listOf(operation.security).map((option) => JSON.stringify(option));
    for (const credential of taken(old)) if (!taken(now).includes(credential)) say(`takes no ${credential} any more`);
    if (taken(old).length === 0 && taken(now).length > 0) say("asks for a credential");
  }

  function compareParameters(say: (what: string) => void, old: Node, now: Node): void {
    const parametersOf = (operation: Node) =>
      listOf(operation.parameters).map((parameter) => whole(operation === old ? before : after, parameter));
    const find = (operation: Node, { name, in: place }: Node) =>
      parametersOf(operation).find((other) => other.name === name && other.in === place);
    for (const parameter of parametersOf(old)) {
      const kept = find(now, parameter);
      if (kept)
        for (const what of changesOf(requests, "", parameter.schema, kept.schema)) say(`?${parameter.name}${what}`);
      else say(`has no parameter ${parameter.name} any more`);
    }
    for (const parameter of parametersOf(now))
      if (parameter.required && !find(old, parameter)?.required) say(`requires parameter ${parameter.name}`);
  }

  function compareAnswers(at: string, old: Node, now: Node): void {
    const [oldAnswers, newAnswers] = [old, now].map(({ responses }, index) =>
      Object.fromEntries(
        Object.entries(nodeOf(responses)).map(([status, answer]) => [
          status,
          whole(index === 0 ? before : after, answer),
        ]),
      ),
    ) as [Record<string, Node>, Record<string, Node>];
    for (const [status, answer] of Object.entries(oldAnswers)) {
      const kept = newAnswers[status];
      if (kept)
        for (const name of Object.keys(nodeOf(answer.headers)))
          if (!(name in nodeOf(kept.headers))) found.push(`${at} ${status} has no header ${name} any more`);
      if (!status.startsWith("2")) continue; // an error that cannot happen any more breaks nobody
      if (kept) compareContent(answers, `${at} ${status}`, answer, kept);
      else found.push(`${at} answers no ${status} any more`);
    }
    const [oldCodes, newCodes] = [codesOf(before, oldAnswers), codesOf(after, newAnswers)];
    for (const [code, statuses] of oldCodes) {
      const others = newCodes.get(code) ?? statuses;
      for (const status of statuses)
        if (!others.includes(status))
          found.push(`${at} answers ${code} with ${others.join(", ")} and no longer ${status}`);
    }
  }

  /** The codes that errors carry in `error`, each with its statuses. */
  function codesOf(document: Document, responses: Record<string, Node>): Map<string, string[]> {
    const codes = new Map<string, string[]>();
    for (const [status, { content }] of Object.entries(responses).filter(([each]) => each >= "400")) {
      for (const media of Object.values(nodeOf(content))) {
        const { error } = nodeOf(whole(document, nodeOf(media).schema).properties);
        const { enum: values, const: value, examples } = whole(document, error);
        for (const code of listOf(values ?? value ?? examples).map(String))
          codes.set(code, [...(codes.get(code) ?? []), status]);
      }
    }
    return codes;
  }

  function compareContent(way: Way, at: string, old: Node, now: Node): void {
    for (const [type, content] of Object.entries(nodeOf(old.content))) {
      const kept = nodeOf(now.content)[type];
      if (kept) found.push(...changesOf(way, at, nodeOf(content).schema, nodeOf(kept).schema));
      else found.push(`${at} is no ${type} any more`);
    }
  }

  /** What of a schema breaks a client that writes, or reads, what fitted it before. */
  function changesOf(way: Way, at: string, old: unknown, now: unknown, depth = 0): string[] {
    if (depth > DEEPEST) return [];
    const [olds, news] = [optionsOf(whole(before, old)), optionsOf(whole(after, now))];
    const [first, last] = [olds[0], news[0]];
    if (olds.length === 1 && news.length === 1 && first && last) return changesOfOne(way, at, first, last, depth);
    // a request: whatever fitted an option fits one now. An answer: whatever fits an option now fitted one
    const [needed, given] = way === "request" ? [olds, news] : [news, olds];
    return needed.flatMap((option, index) => {
      const tried = given.map((other) =>
        way === "request" ? changesOf(way, at, option, other, depth + 1) : changesOf(way, at, other, option, depth + 1),
      );
      if (tried.some((changes) => changes.length === 0)) return [];
      // what has changed of the option in the same place says more than that one is gone
      const place = olds.length === news.length ? tried[index] : undefined;
      const name = option.title ?? listOf(option.type).join(", ");
      return place ?? [`${at} ${way === "request" ? `takes no ${name} any more` : `may be ${name}`}`];
    });
  }

  function changesOfOne(way: Way, at: string, oldSchema: Node, newSchema: Node, depth: number): string[] {
    const [old, now] = [whole(before, oldSchema), whole(after, newSchema)];
    const changes: string[] = [];
    const say = (what: string) => changes.push(`${at} ${what}`);

    const [oldTypes, newTypes] = [listOf(old.type), listOf(now.type)];
    const covers = (types: unknown[], type: unknown) =>
      types.includes(type) || (type === "integer" && types.includes("number"));
    if (way === "request" && newTypes.length > 0) {
      if (oldTypes.length === 0 || oldTypes.some((type) => !covers(newTypes, type)))
        say(`takes ${newTypes.join(", ")} only`);
    }
    if (way === "response" && oldTypes.length > 0) {
      if (newTypes.length === 0 || newTypes.some((type) => !covers(oldTypes, type)))
        say(`may be ${newTypes.join(", ") || "anything"}`);
    }

    const valuesOf = ({ enum: values, const: value }: Node) =>
      values === undefined && value === undefined ? null : listOf(values ?? value);
    const [oldValues, newValues] = [valuesOf(old), valuesOf(now)];
    // a new value in an answer is an addition: clients ignore what they do not know (9.2)
    if (way === "request" && newValues) {
      const lost = oldValues?.filter((value) => !newValues.includes(value));
      if (!lost) say(`takes ${newValues.join(", ")} only`);
      else if (lost.length > 0) say(`takes ${lost.join(", ")} no longer`);
    }

    for (const bound of LOWER) {
      const [was, is] = [Number(old[bound] ?? -Infinity), Number(now[bound] ?? -Infinity)];
      if (way === "request" ? is > was : is < was) say(`has ${bound} ${now[bound] ?? "no more"}`);
    }
    for (const bound of UPPER) {
      const [was, is] = [Number(old[bound] ?? Infinity), Number(now[bound] ?? Infinity)];
      if (way === "request" ? is < was : is > was) say(`has ${bound} ${now[bound] ?? "no more"}`);
    }
    for (const rule of ["pattern", "format"]) {
      if (same(old[rule], now[rule])) continue;
      if (way === "request" && now[rule] !== undefined) say(`has ${rule} ${now[rule]}`);
      if (way === "response" && old[rule] !== undefined) say(`has no ${rule} ${old[rule]} any more`);
    }
    const defaultOf = (schema: Node) => schema.default ?? schema["x-default"];
    if (way === "request" && defaultOf(old) !== undefined && !same(defaultOf(old), defaultOf(now)))
      say(`has default ${JSON.stringify(defaultOf(now)) ?? "no more"}`);
    if (way === "request" && now.additionalProperties === false && old.additionalProperties !== false)
      say("takes no other fields any more");
    if (isNode(old.additionalProperties) && isNode(now.additionalProperties))
      changes.push(...changesOf(way, `${at}.*`, old.additionalProperties, now.additionalProperties, depth + 1));

    const [oldRequired, newRequired] = [listOf(old.required), listOf(now.required)];
    if (way === "request") {
      for (const name of newRequired) if (!oldRequired.includes(name)) say(`requires ${name}`);
    } else for (const name of oldRequired) if (!newRequired.includes(name)) say(`may leave out ${name}`);

    const [oldFields, newFields] = [nodeOf(old.properties), nodeOf(now.properties)];
    for (const [name, field] of Object.entries(oldFields)) {
      if (name in newFields) changes.push(...changesOf(way, `${at}.${name}`, field, newFields[name], depth + 1));
      else say(`has no ${name} any more`);
    }
    if (old.items !== undefined && now.items !== undefined)
      changes.push(...changesOf(way, `${at}[]`, old.items, now.items, depth + 1));
    return changes;
  }
}

/** The lines of the changelog that announce something breaking: each names the date it takes effect. */
export const announcements = (changelog: string): string[] =>
  changelog.split("\n").filter((line) => /^[-*\s]*⚠️ \d{4}-\d{2}-\d{2}: /.test(line));

/** The migrations that a released commit has and the files of `root` lack or have otherwise. Databases that ran them never run them again. */
export function changedMigrations(base: string, root: string): string[] {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: root, encoding: "utf8" });
  if (!namesRelease(git("show", `${base}:CHANGELOG.md`))) return [];
  const named = git("diff", "--name-only", "--no-renames", "--diff-filter=a", base, "--", "supabase/migrations");
  return named.split("\n").filter(Boolean);
}

if (import.meta.main) {
  const [base] = process.argv.slice(2);
  if (!base) throw new Error("usage: breaking_changes.ts <commit>");
  const then = (file: string) =>
    execFileSync("git", ["show", `${base}:${file}`], { cwd: ROOT, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  const now = (file: string) => readFileSync(`${ROOT}${file}`, "utf8");
  const changes = breakingChanges(JSON.parse(then("openapi.json")), JSON.parse(now("openapi.json")));
  for (const change of changes) console.log(change);
  const changelog = then("CHANGELOG.md");
  const known = announcements(changelog);
  const isAnnounced = announcements(now("CHANGELOG.md")).some((line) => !known.includes(line));
  if (changes.length > 0 && namesRelease(changelog) && !isAnnounced) {
    console.error("Breaking: say so in CHANGELOG.md, in a line that begins with ⚠️ and names the date it takes effect.");
    process.exitCode = 1;
  }
  const changed = changedMigrations(base, ROOT);
  if (changed.length > 0) {
    console.error(`Write another migration instead of changing ${changed.join(", ")}, which deployed databases ran.`);
    process.exitCode = 1;
  }
}
