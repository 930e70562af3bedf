// What is sent to receivers, as `webhooks` of the OpenAPI document.

import { createHash } from "node:crypto";
import * as z from "zod";
import type { ZodOpenApiPathsObject } from "zod-openapi";
import { EVENT_TYPES, EVENTS } from "#shared/domain/events.ts";
import { instant } from "#shared/values/fields.ts";

const header = (name: string, description: string) => ({
  in: "header" as const,
  name,
  schema: { type: "string" as const },
  required: true,
  description,
});

/** The parameters that every webhook has. */
export const WEBHOOK_HEADERS = Object.fromEntries(
  [
    header("webhook-id", "The id of the event: the same on every attempt and replay"),
    header("webhook-timestamp", "When this attempt was signed, in seconds since 1970"),
    header(
      "webhook-signature",
      "v1, and the HMAC-SHA256 of id.timestamp.body; for a day after a rotation two of them, separated by a space",
    ),
  ].map((parameter) => [parameter.name, parameter]),
);

type Shape = Readonly<Record<string, z.ZodType>> | null;

/** What a field is in an example: its own, where its schema names one, and else one of its kind. */
const OF_A_KIND: Record<string, unknown> = { boolean: true, int: 1, date: "2026-01-01" };
const OF_A_NAME: Record<string, unknown> = {
  sequence: 42,
  delivery_year: 2026,
  cpo_external_ref: "KL-1001",
  external_ref: "KL-1001",
  customer_ref: "cus_b9b37ba757af0c70e52f48e009317912",
  disabled_reason: "failing",
};

function exampleOf(name: string, schema: z.core.$ZodType): unknown {
  if (name in OF_A_NAME) return OF_A_NAME[name];
  const example = z.globalRegistry.get(schema)?.example;
  if (example !== undefined) return example;
  if (schema instanceof z.ZodLiteral) return schema.value;
  if (schema instanceof z.ZodEnum) return schema.options[0];
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) return exampleOf(name, schema.unwrap());
  if (schema instanceof z.ZodArray) return [exampleOf(name, schema.element)];
  if (schema instanceof z.ZodObject) return exampleOfAll(schema.shape);
  if (schema instanceof z.ZodGUID) return exampleId(name);
  return OF_A_KIND[schema._zod.def.type];
}

const exampleOfAll = (shape: NonNullable<Shape>) =>
  Object.fromEntries(Object.entries(shape).map(([name, field]) => [name, exampleOf(name, field)]));

/** The same id for the same field, wherever it stands. */
function exampleId(name: string): string {
  const hex = createHash("sha256").update(name).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** One entry a type: its `data` in a CPO client's log and in a partner's log, with an example of each. */
export function describeWebhooks(): ZodOpenApiPathsObject {
  const described = (type: string, about: string, client: Shape, partner: Shape) => {
    const logs = Object.entries({ client, partner }).flatMap(([log, shape]) => (shape ? [{ log, shape }] : []));
    const [first = {}, second] = new Set(logs.map(({ shape }) => shape));
    const envelope = {
      type: z.literal(type).meta({ description: "The type, which determines the fields of `data`" }),
      timestamp: instant().meta({ description: "When it happened" }),
      // a ping is in no log
      ...(type === "ping"
        ? {}
        : {
            sequence: z
              .int()
              .meta({ description: "Its place in the log, as in GET /v1/events or GET /partner/events" }),
          }),
    };
    const body = z.object({
      ...envelope,
      data: (second ? z.union([z.object(first), z.object(second)]) : z.object(first)).meta({
        description: "Ids, your own references and statuses; no personal data",
      }),
    });
    const example = (shape: NonNullable<Shape>) => ({ value: exampleOfAll({ ...envelope, data: z.object(shape) }) });
    const operation = {
      operationId: `on ${type}`.replace(/[ ._](\w)/g, (_, letter: string) => letter.toUpperCase()),
      summary: about,
      security: [],
      parameters: Object.keys(WEBHOOK_HEADERS).map((name) => ({ $ref: `#/components/parameters/${name}` as const })),
      requestBody: {
        required: true,
        content: {
          "application/json": {
            schema: body,
            examples: Object.fromEntries(logs.map(({ log, shape }) => [log, example(shape)])),
          },
        },
      },
      responses: {
        "2XX": { description: "Received. Anything else, or nothing within ten seconds, is sent again" },
        "410": { description: "Send nothing here any more: the endpoint is disabled" },
      },
    } as const;
    return [type, { post: operation }];
  };
  return Object.fromEntries([
    ...EVENT_TYPES.map((type) => described(type, EVENTS[type].about, EVENTS[type].client, EVENTS[type].partner)),
    described("ping", "A test of the endpoint; it is in no log", {}, null),
  ]);
}
