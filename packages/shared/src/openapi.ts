import * as z from "zod";
import { createDocument, type ZodOpenApiPathsObject, type ZodOpenApiResponsesObject } from "zod-openapi";
import { type Endpoint, errorsOf } from "./endpoint.ts";
import { ERRORS, type ErrorCode, wireText } from "./errors.ts";
import { CPO_SCOPES } from "./scopes.ts";
import type { Surface } from "./surface.ts";

const RATE_HEADERS = {
  RateLimit: {
    schema: { type: "string" as const },
    description: "What is left: r requests, full again in t seconds (IETF draft)",
  },
  "RateLimit-Policy": {
    schema: { type: "string" as const },
    description: "The quota: q requests per w seconds (IETF draft)",
  },
};
const REQUEST_ID = {
  "X-Request-Id": { schema: { type: "string" as const }, description: "Quote it when you ask about a request" },
};

/**
 * The OpenAPI 3.1 document of the given surfaces: derived from the endpoints' declarations and nothing else, so that it says
 * what the code does. `server` is the host's root.
 */
export function describe(surfaces: readonly Surface[], version: string, server: string) {
  const paths: ZodOpenApiPathsObject = {};
  for (const surface of surfaces) {
    for (const endpoint of surface.endpoints) {
      if (endpoint.caller.kind === "worker") continue;
      paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method.toLowerCase()]: operation(surface, endpoint) };
    }
  }
  return createDocument({
    openapi: "3.1.0",
    info: {
      title: "Charging Data and ERE Registration API",
      version,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      description:
        "Turns electric-vehicle charging into ERE (emissiereductie-eenheden: 1 ERE is 1 kg CO2-eq of avoided emission). " +
        "Clients must ignore fields and values they do not know: additions come without notice, breaking changes never do.",
    },
    servers: [{ url: server }],
    tags: surfaces.map(({ slug }) => ({ name: slug })),
    paths,
    components: {
      securitySchemes: {
        cpo: {
          type: "oauth2",
          description:
            "Client credentials of a CPO client, bound to one partner. Tokens live 3600 seconds; there is no refresh token.",
          flows: { clientCredentials: { tokenUrl: `${server}/oauth-token`, scopes: CPO_SCOPES } },
        },
      },
    },
  });
}

function operation(surface: Surface, endpoint: Endpoint) {
  const encodings = [
    "application/json",
    ...(endpoint.accepts?.includes("form") ? ["application/x-www-form-urlencoded"] : []),
  ];
  const { body } = endpoint;
  return {
    operationId: endpoint.id,
    tags: [surface.slug],
    summary: endpoint.summary,
    ...(endpoint.description ? { description: endpoint.description } : {}),
    security: endpoint.caller.kind === "cpo" ? [{ cpo: endpoint.caller.scope ? [endpoint.caller.scope] : [] }] : [],
    ...(endpoint.query ? { requestParams: { query: endpoint.query as z.ZodObject } } : {}),
    ...(body
      ? {
          requestBody: {
            required: true,
            content: Object.fromEntries(encodings.map((type) => [type, { schema: body }])),
          },
        }
      : {}),
    responses: {
      "200": {
        description: "Done",
        headers: {
          ...REQUEST_ID,
          ...(endpoint.limit || endpoint.errors.includes("too_many_requests") ? RATE_HEADERS : {}),
        },
        content: { "application/json": { schema: endpoint.response } },
      },
      ...errorResponses(surface, endpoint),
    },
  };
}

/** One response per status, listing every error an endpoint declares under it. */
function errorResponses(surface: Surface, endpoint: Endpoint): ZodOpenApiResponsesObject {
  const byStatus = Map.groupBy(errorsOf(endpoint), (code) => ERRORS[code].status);
  return Object.fromEntries(
    [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, codes]) => [
        String(status),
        {
          description: codes.map((code) => `\`${wireText(code)}\`: ${ERRORS[code].detail}`).join("\n\n"),
          ...(status === 429 || status === 503
            ? { headers: { "Retry-After": { schema: { type: "integer" as const }, description: "Seconds" } } }
            : {}),
          content: { "application/json": { schema: errorSchema(surface, codes) } },
        },
      ]),
  ) as ZodOpenApiResponsesObject;
}

const FIELDS: Record<string, z.ZodType> = {
  issues: z.array(z.object({ path: z.string(), message: z.string() })),
  required_scope: z.string(),
  retry_after_seconds: z.int(),
  message: z.string(),
  suggestions: z.array(z.object({ catalog_charger_id: z.guid(), brand: z.string(), model: z.string() })),
};

function errorSchema(surface: Surface, codes: ErrorCode[]) {
  const extra = new Set(codes.flatMap((code) => ERRORS[code].fields ?? []));
  return z.object({
    error: z.enum(codes.map(wireText) as [string, ...string[]]),
    [surface.errors === "oauth" ? "error_description" : "detail"]: z.string(),
    request_id: z.guid(),
    ...Object.fromEntries([...extra].map((field) => [field, (FIELDS[field] ?? z.unknown()).optional()])),
  });
}
