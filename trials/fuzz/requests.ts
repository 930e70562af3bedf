// Requests: valid, nearly valid and hostile. Ids that answers gave are used again.

import type { Operation, Schema } from "../kit/document.ts";
import type { Random } from "../kit/random.ts";

export type Sent = {
  operation: Operation;
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string;
  /** Whether it is for that operation: a path may have become another one. */
  meant: boolean;
};

const MOST_KNOWN = 200;

/** Values of answers by the name of their field: what later requests may mean. */
export class Known {
  readonly #values = new Map<string, string[]>();

  /** Keeps some of each name, the newest too. */
  learn(answer: unknown, random: Random, name = ""): void {
    if (Array.isArray(answer)) for (const item of answer.slice(0, 20)) this.learn(item, random, name);
    else if (typeof answer === "object" && answer !== null)
      for (const [field, value] of Object.entries(answer)) this.learn(value, random, field);
    else if (typeof answer === "string" && /(^|_)(id|ref|number|cursor|code)$|email|serial/.test(name))
      this.teach(name, answer, random);
  }

  teach(name: string, value: string, random: Random): void {
    const values = this.#values.get(name) ?? [];
    if (values.includes(value)) return;
    if (values.length < MOST_KNOWN) values.push(value);
    else values[random.below(MOST_KNOWN)] = value;
    this.#values.set(name, values);
  }

  /** A value of this name. */
  of(name: string, random: Random): string | undefined {
    const values = this.#values.get(name);
    return values && random.pick(values);
  }
}

/** What troubles parsers, databases and people who format. */
const HOSTILE: readonly unknown[] = [
  "",
  " ",
  "\u0000",
  "\ud800",
  "\u202e⚡",
  "'; drop table core.accounts; --",
  "{{7*7}}",
  "<script>alert(1)</script>",
  "=HYPERLINK(1)",
  "../../etc/passwd",
  "%00",
  "x".repeat(5_000),
  "9".repeat(400),
  "2026-02-30",
  "0000-00",
  "99999-12-31T23:59:60Z",
  "1.234,5",
  "NaN",
  -1,
  -0,
  0.1 + 0.2,
  1e308,
  2 ** 53,
  -(2 ** 63),
  true,
  null,
  {},
  [],
  [[]],
  { toString: 1, __proto__: null, constructor: {} },
];

export type Maker = {
  random: Random;
  known: Known;
  schemaOf: (schema: Schema) => Schema;
  /** A credential of each kind. */
  credentials: Record<string, string>;
};

export function makeRequest(maker: Maker, operation: Operation): Sent {
  const { random, known } = maker;
  let path = operation.path;
  let meant = true;
  const query = new URLSearchParams();
  for (const parameter of operation.parameters) {
    const value = () => textOf(fitting(maker, parameter.schema ?? {}, parameter.name, parameter.example));
    if (parameter.in === "path") {
      // {id} of /drafts/{id} is a draft_id elsewhere
      const [, plural = ""] = /([a-z]+)s\/\{id\}/.exec(path) ?? [];
      const names = parameter.name === "id" ? [`${plural}_id`, "account_id", "id"] : [parameter.name];
      const usual = random.happens(0.8) ? names.map((name) => known.of(name, random)).find(Boolean) : undefined;
      const named = usual ?? value();
      meant &&= !["", ".", ".."].includes(named);
      path = path.replace(`{${parameter.name}}`, () => encode(named));
    } else if (parameter.in === "query" && random.happens(0.4)) query.append(parameter.name, value());
  }
  if (random.happens(0.03)) query.append(textOf(random.pick(HOSTILE)), textOf(random.pick(HOSTILE)));
  const headers: Record<string, string> = { "x-forwarded-for": `192.0.2.${1 + random.below(250)}` };
  const kinds = Object.keys(maker.credentials);
  const kind = random.happens(0.93) && operation.credentials.length ? random.pick(operation.credentials) : undefined;
  const credential = kind ? maker.credentials[kind] : maker.credentials[random.pick(kinds)];
  if (credential && (operation.credentials.length || random.happens(0.1)))
    headers.authorization = `Bearer ${random.happens(0.02) ? credential.slice(1) : credential}`;
  const method = random.happens(0.01)
    ? random.pick(["GET", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"])
    : operation.method;
  meant &&= method === operation.method;
  const sent: Sent = { operation, method, path: `${path}${query.size ? `?${query}` : ""}`, headers, meant };
  const types = Object.keys(operation.body);
  if (types.length && method !== "GET") {
    const type = random.pick(types);
    headers["content-type"] = random.happens(0.02) ? "text/plain" : type;
    sent.body = bodyOf(maker, operation, type);
  }
  if (random.happens(0.01)) headers["accept-language"] = "x".repeat(random.below(3_000));
  return sent;
}

/** As text that a URL can carry: lone surrogates cannot be encoded. */
const encode = (text: string): string => encodeURIComponent(text.toWellFormed());
const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value)).toWellFormed();

function bodyOf(maker: Maker, operation: Operation, type: string): string {
  const { random } = maker;
  const content = operation.body[type];
  const examples = Object.values(content?.examples ?? {}).map(({ value }) => value);
  const example = content?.example ?? (examples.length ? random.pick(examples) : undefined);
  const usual = random.happens(0.5) && example !== undefined ? refreshed(maker, example, "") : undefined;
  const value = usual ?? fitting(maker, content?.schema ?? {}, "", example);
  const mutated = random.happens(0.4) ? mutatedOf(maker, value) : value;
  if (!type.includes("json")) {
    if (type.includes("urlencoded") && typeof mutated === "object" && mutated !== null)
      return new URLSearchParams(Object.entries(mutated).map(([name, inner]) => [name, textOf(inner)])).toString();
    return textOf(mutated);
  }
  const text = JSON.stringify(mutated) ?? "";
  if (random.happens(0.02)) return text.slice(0, random.below(text.length + 1));
  return random.happens(0.005) ? `${"[".repeat(20_000)}${text}` : text;
}

/** The recorded example with ids that are known here. */
function refreshed(maker: Maker, value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map((item) => refreshed(maker, item, name));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, refreshed(maker, inner, field)]));
  return (maker.random.happens(0.8) ? maker.known.of(name, maker.random) : undefined) ?? value;
}

/** A value that the schema takes, as far as a schema tells; now and then one that troubles. */
function fitting(maker: Maker, schema: Schema, name: string, example?: unknown, depth = 0): unknown {
  const { random, known, schemaOf } = maker;
  if (random.happens(0.04)) return random.pick(HOSTILE);
  const { type, properties, required = [], items, ...rest } = schemaOf(schema);
  const usual = random.happens(0.6) ? known.of(name, random) : undefined;
  if (usual !== undefined) return usual;
  if (rest.const !== undefined) return rest.const;
  if (rest.enum) return random.pick(rest.enum);
  const choices = rest.anyOf ?? rest.oneOf;
  if (choices) return fitting(maker, random.pick(choices), name, example, depth);
  const given = example ?? rest.example;
  if (given !== undefined && random.happens(0.7)) return given;
  switch (Array.isArray(type) ? random.pick(type) : type) {
    case "object":
      return Object.fromEntries(
        Object.entries(properties ?? {})
          .filter(([field]) => random.happens(required.includes(field) ? 0.95 : 0.4))
          .map(([field, inner]) => [field, fitting(maker, inner, field, undefined, depth + 1)]),
      );
    case "array":
      return Array.from({ length: random.happens(0.02) ? 300 : random.below(4) }, () =>
        depth > 6 ? null : fitting(maker, items ?? {}, name, undefined, depth + 1),
      );
    case "integer":
    case "number": {
      const { minimum = 0, maximum = minimum + 1_000 } = rest;
      return random.pick([minimum, maximum, minimum + random.below(Math.min(maximum - minimum, 2 ** 31) + 1)]);
    }
    case "boolean":
      return random.happens(0.5);
    case "null":
      return null;
    default:
      return stringOf(random, rest);
  }
}

function stringOf(random: Random, { format, maxLength = 40 }: Schema): string {
  const day = `20${20 + random.below(12)}-${String(1 + random.below(12)).padStart(2, "0")}-${String(1 + random.below(31)).padStart(2, "0")}`;
  switch (format) {
    case "date":
      return day;
    case "date-time":
      return `${day}T${String(random.below(24)).padStart(2, "0")}:30:00Z`;
    case "email":
      return `fuzz-${random.below(1_000)}@voorbeeld.nl`;
    case "uri":
      return `https://example.nl/${random.below(1_000)}`;
    case "uuid":
      return "00000000-0000-4000-8000-".concat(String(random.below(1_000)).padStart(12, "0"));
    default:
      return String.fromCodePoint(
        ...Array.from(
          { length: random.below(Math.min(maxLength + 2, 60)) },
          () => 32 + random.below(random.happens(0.1) ? 50_000 : 95),
        ),
      );
  }
}

/** The same with one place in it, however deep, holding something else, twice, or nothing. */
function mutatedOf(maker: Maker, value: unknown): unknown {
  const { random } = maker;
  if (typeof value !== "object" || value === null || random.happens(0.15)) return random.pick(HOSTILE);
  const keys = Object.keys(value);
  if (keys.length === 0) return { [textOf(random.pick(HOSTILE))]: random.pick(HOSTILE) };
  const key = random.pick(keys);
  if (Array.isArray(value)) {
    const inner = mutatedOf(maker, value[Number(key)]);
    return random.happens(0.2) ? [...value, ...value] : value.with(Number(key), inner);
  }
  if (random.happens(0.15)) return Object.fromEntries(Object.entries(value).filter(([field]) => field !== key));
  return { ...value, [key]: mutatedOf(maker, (value as Record<string, unknown>)[key]) };
}
