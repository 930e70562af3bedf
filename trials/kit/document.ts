// openapi.json as trials read it: what can be asked, and what may be answered.

import { readFileSync } from "node:fs";
import { z } from "zod";
import { ROOT } from "#local/checkout.ts";

export type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  example?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
};
type Content = Record<string, { schema?: Schema; example?: unknown; examples?: Record<string, { value?: unknown }> }>;
type Response = { $ref?: string; content?: Content };
type Parameter = { in: string; name: string; schema?: Schema; example?: unknown };

export type Operation = {
  id: string;
  method: string;
  path: string;
  /** Names of the credentials that it takes; none where anybody may ask. */
  credentials: string[];
  parameters: Parameter[];
  body: Content;
  /** What is wrong with an answer, or null. */
  fault(status: number, type: string, text: string): string | null;
};

const DEFINITIONS = "#/$defs/";

/** All operations of the document. */
export function readDocument(): { operations: Operation[]; schemaOf: (schema: Schema) => Schema } {
  const text = readFileSync(`${ROOT}openapi.json`, "utf8").replaceAll("#/components/schemas/", DEFINITIONS);
  const document = JSON.parse(text);
  const { schemas, responses } = document.components as {
    schemas: Record<string, Schema>;
    responses: Record<string, Response>;
  };
  const schemaOf = (schema: Schema): Schema =>
    schema.$ref ? schemaOf(schemas[schema.$ref.slice(DEFINITIONS.length)] ?? {}) : schema;

  const operations: Operation[] = [];
  for (const [path, methods] of Object.entries(document.paths as Record<string, Record<string, Declared>>))
    for (const [method, declared] of Object.entries(methods)) {
      const validators = new Map<Schema, z.ZodType>();
      const validator = (schema: Schema) => {
        const known = validators.get(schema);
        if (known) return known;
        const made = z.fromJSONSchema({ ...schema, $defs: schemas } as Parameters<typeof z.fromJSONSchema>[0]);
        validators.set(schema, made);
        return made;
      };
      operations.push({
        id: declared.operationId,
        method: method.toUpperCase(),
        path,
        credentials: (declared.security ?? []).flatMap((choice) => Object.keys(choice)),
        parameters: declared.parameters ?? [],
        body: declared.requestBody?.content ?? {},
        fault(status, type, answer) {
          const named = declared.responses[status];
          if (!named) return "its status is not declared";
          const response = named.$ref ? responses[named.$ref.split("/").at(-1) ?? ""] : named;
          const contents = response?.content ?? {};
          const [, content] = Object.entries(contents).find(([name]) => type.startsWith(name)) ?? [];
          if (!content) return Object.keys(contents).length ? `its type ${type} is not declared` : null;
          if (!content.schema || !type.startsWith("application/json")) return null;
          let parsed: unknown;
          try {
            parsed = JSON.parse(answer);
          } catch {
            return "it is no JSON";
          }
          const { error } = validator(content.schema).safeParse(parsed);
          return error ? z.prettifyError(error) : null;
        },
      });
    }
  return { operations, schemaOf };
}

type Declared = {
  operationId: string;
  security?: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: { content: Content };
  responses: Record<string, Response>;
};
