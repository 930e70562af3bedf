// Where a request can say whose object it means: in the path, in the query, in the body. Read from openapi.json and the declarations.

import { readFileSync } from "node:fs";
import * as z from "zod";
import type { Routed } from "#shared/http/serve.ts";

/** A text of a request: `path` leads to it. */
export type Place = { in: "path" | "query" | "body"; name: string; path: readonly (string | number)[]; isId: boolean };

type Schema = {
  $ref?: string;
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
};
type Operation = {
  operationId: string;
  parameters?: { $ref?: string; in: "path" | "query"; name: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
};

const DOCUMENT = JSON.parse(readFileSync(new URL("../../openapi.json", import.meta.url), "utf8"));
const OPERATIONS = new Map(
  Object.values<Record<string, Operation>>(DOCUMENT.paths)
    .flatMap((methods) => Object.values(methods))
    .map((operation) => [operation.operationId, operation]),
);

function referred<T extends { $ref?: string }>(value: T): T {
  if (!value.$ref) return value;
  const keys = value.$ref.split("/").slice(1);
  return referred(keys.reduce((inner, key) => inner[key], DOCUMENT) as T);
}

/** Dates, addresses of the web and files mean nobody's object. */
const NO_IDENTIFIER = ["date", "date-time", "uri", "binary"];

function* textsOf(given: Schema, where: Place["in"], path: Place["path"]): Generator<Place> {
  const schema = referred(given);
  for (const choice of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
    yield* textsOf(choice, where, path);
  for (const [name, inner] of Object.entries(schema.properties ?? {})) yield* textsOf(inner, where, [...path, name]);
  if (schema.items) yield* textsOf(schema.items, where, [...path, 0]);
  if (![schema.type].flat().includes("string") || schema.enum || schema.const !== undefined) return;
  if (schema.format && NO_IDENTIFIER.includes(schema.format)) return;
  const name = path.findLast((part) => typeof part === "string") ?? "";
  if (path.length > 0) yield { in: where, name, path, isId: where === "path" || schema.format === "uuid" };
}

/** Every text that a request to the endpoint can have, once. */
export function placesOf(endpoint: Routed): Place[] {
  const operation = OPERATIONS.get(endpoint.id);
  const places: Place[] = [];
  for (const parameter of operation?.parameters ?? []) {
    const { in: where, name, schema } = referred(parameter);
    places.push(...textsOf(schema, where, [name]));
  }
  for (const { schema } of Object.values(operation?.requestBody?.content ?? {}))
    places.push(...textsOf(schema, "body", []));
  // the document leaves out our own machines
  if (!operation && endpoint.body)
    places.push(
      ...textsOf(z.toJSONSchema(endpoint.body, { io: "input", unrepresentable: "any" }) as Schema, "body", []),
    );
  return [...new Map(places.map((place) => [`${place.in} ${place.path.join(".")}`, place])).values()];
}

/** `target` with a value at the place; what leads there is made. */
export function withValue(target: unknown, [key, ...rest]: Place["path"], value: unknown): unknown {
  if (key === undefined) return value;
  if (typeof key === "number") {
    const list = Array.isArray(target) ? target : [];
    return [withValue(list[0], rest, value), ...list.slice(1)];
  }
  const object = typeof target === "object" && target !== null ? (target as Record<string, unknown>) : {};
  return { ...object, [key]: withValue(object[key], rest, value) };
}
