// What is sent to receivers, as `webhooks` of the OpenAPI document.

import * as z from "zod";
import type { ZodOpenApiPathsObject } from "zod-openapi";
import { EVENT_TYPES, EVENTS } from "#shared/domain/events.ts";
import { instant } from "#shared/values/fields.ts";

const HEADERS = z.object({
  "webhook-id": z.string().meta({ description: "The id of the event: the same on every attempt and replay" }),
  "webhook-timestamp": z.string().meta({ description: "When this attempt was signed, in seconds since 1970" }),
  "webhook-signature": z.string().meta({
    description: "v1, and the HMAC-SHA256 of id.timestamp.body; several, apart by spaces, in the day after a rotation",
  }),
});

type Shape = Readonly<Record<string, z.ZodType>> | null;

/** One entry a type: its `data` in the log of a CPO client, or in that of a partner. */
export function describeWebhooks(): ZodOpenApiPathsObject {
  const described = (type: string, about: string, ...shapes: Shape[]) => {
    const [first = z.object({}), second] = [...new Set(shapes)]
      .filter((shape) => shape !== null)
      .map((shape) => z.object(shape));
    const body = z.object({
      type: z.literal(type),
      timestamp: instant().meta({ description: "When it happened" }),
      // a ping is in no log
      ...(type === "ping"
        ? {}
        : {
            sequence: z
              .int()
              .meta({ description: "Its place in the log, as GET /v1/events or /partner/events has it" }),
          }),
      data: (second ? z.union([first, second]) : first).meta({
        description: "What is new, by ids, your own references and statuses; nothing of a person",
      }),
    });
    const operation = {
      operationId: `on ${type}`.replace(/[ ._](\w)/g, (_, letter: string) => letter.toUpperCase()),
      summary: about,
      security: [],
      requestParams: { header: HEADERS },
      requestBody: { required: true, content: { "application/json": { schema: body } } },
      responses: {
        "2XX": { description: "Received. Anything else, or nothing within ten seconds, is sent again" },
        "410": { description: "Send nothing here any more: the endpoint is disabled" },
      },
    } as const;
    return [type, { post: operation }];
  };
  return Object.fromEntries([
    ...EVENT_TYPES.map((type) => described(type, EVENTS[type].about, EVENTS[type].client, EVENTS[type].partner)),
    described("ping", "Somebody tests the endpoint; it is not in the log", {}),
  ]);
}
