import * as z from "zod";
import { createDocument, createSchema, type ZodOpenApiPathsObject, type ZodOpenApiResponsesObject } from "zod-openapi";
import { ERROR_FIELDS } from "#shared/foundation/error_fields.ts";
import { ERRORS, type ErrorCode, wireText } from "#shared/foundation/errors.ts";
import { CPO_SCOPES, USER_SCOPES } from "#shared/values/scopes.ts";
import { type CallerRule, type Endpoint, errorsOf } from "./endpoint.ts";
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

const SECURITY_SCHEMES = {
  cpo: {
    type: "oauth2" as const,
    description:
      "Client credentials of a CPO client, bound to one partner. Tokens live 3600 seconds; there is no refresh token.",
    flows: { clientCredentials: { tokenUrl: "/oauth-token", scopes: CPO_SCOPES } },
  },
  user: {
    type: "oauth2" as const,
    description: "An application acting for a person (authorization code with PKCE, S256).",
    flows: {
      authorizationCode: {
        authorizationUrl: "/pages/consent",
        tokenUrl: "/oauth-token",
        refreshUrl: "/oauth-token",
        scopes: USER_SCOPES,
      },
    },
  },
  personal_token: { type: "http" as const, scheme: "bearer", description: "A token a person made in the dashboard." },
  partner_key: {
    type: "http" as const,
    scheme: "bearer",
    description: "A partner's API key: <prefix>_live_… on the production host, <prefix>_test_… on the sandbox host.",
  },
  session: { type: "http" as const, scheme: "bearer", description: "The session JWT of a person who is signed in." },
};

/** The credentials an endpoint takes; any one of them will do. */
function securityOf(caller: CallerRule): Record<string, string[]>[] {
  if (caller.kind === "cpo") return [{ cpo: caller.scope ? [caller.scope] : [] }];
  if (caller.kind === "user") return [{ user: [caller.scope] }, { personal_token: [] }];
  if (caller.kind === "partner") return [...(caller.key ? [{ partner_key: [] }] : []), { user: [caller.scope] }];
  if (caller.kind === "sandbox") return [{ partner_key: [] }];
  if (caller.kind === "session") return [{ session: [] }];
  return [];
}

/**
 * The OpenAPI 3.1 document of the given surfaces: derived from the endpoints' declarations and nothing else, so that it says
 * what the code does. `server` is the host's root.
 */
export function describe(surfaces: readonly Surface[], version: string, server: string) {
  const paths: ZodOpenApiPathsObject = {};
  const described: Endpoint[] = [];
  for (const surface of surfaces) {
    for (const endpoint of surface.endpoints) {
      if (endpoint.caller.kind === "worker") continue;
      described.push(endpoint);
      paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method.toLowerCase()]: operation(surface, endpoint) };
    }
  }
  const used = new Set(
    surfaces.flatMap(({ endpoints }) => endpoints.flatMap(({ caller }) => securityOf(caller).flatMap(Object.keys))),
  );
  const document = createDocument({
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
    tags: surfaces.map(({ slug, about = slug }) => ({ name: slug, description: about })),
    paths,
    components: {
      schemas: { Error: createSchema(ERROR).schema },
      responses: sharedResponses(described),
      securitySchemes: Object.fromEntries(Object.entries(SECURITY_SCHEMES).filter(([name]) => used.has(name))),
    },
  });
  return tidy(document) as typeof document;
}

function operation(surface: Surface, endpoint: Endpoint) {
  const encodings = [
    "application/json",
    ...(endpoint.accepts?.includes("form") ? ["application/x-www-form-urlencoded"] : []),
    ...(endpoint.accepts?.includes("multipart") ? ["multipart/form-data"] : []),
  ];
  const { body, query } = endpoint;
  const named = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, z.string()]);
  return {
    operationId: endpoint.id,
    tags: [surface.slug],
    summary: endpoint.summary,
    ...(endpoint.description ? { description: endpoint.description } : {}),
    security: securityOf(endpoint.caller),
    ...(query || named.length > 0
      ? {
          requestParams: {
            ...(query ? { query: query as z.ZodObject } : {}),
            ...(named.length > 0 ? { path: z.object(Object.fromEntries(named)) } : {}),
          },
        }
      : {}),
    ...(body
      ? {
          requestBody: {
            required: !endpoint.bodyOptional,
            content: Object.fromEntries(encodings.map((type) => [type, { schema: body }])),
          },
        }
      : {}),
    responses: {
      [endpoint.status ?? 200]: {
        description: "Done",
        headers: {
          ...REQUEST_ID,
          ...(endpoint.limit || endpoint.errors.includes("too_many_requests") ? RATE_HEADERS : {}),
        },
        content: { [endpoint.produces ?? "application/json"]: { schema: endpoint.response } },
      },
      ...errorResponses(endpoint),
    },
  };
}

/** The errors an endpoint declares, by status, in one order whoever declares them. */
function errorsByStatus(endpoint: Endpoint): [status: number, codes: ErrorCode[]][] {
  const codes = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => errorsOf(endpoint).has(code));
  return [...Map.groupBy(codes, (code) => ERRORS[code].status)];
}

/** A set of errors of one status is described once, under their names. */
const nameOf = (codes: readonly ErrorCode[]) => codes.join(".");

function errorResponses(endpoint: Endpoint): ZodOpenApiResponsesObject {
  return Object.fromEntries(
    errorsByStatus(endpoint).map(([status, codes]) => [
      String(status),
      { $ref: `#/components/responses/${nameOf(codes)}` },
    ]),
  ) as ZodOpenApiResponsesObject;
}

function sharedResponses(endpoints: readonly Endpoint[]) {
  return Object.fromEntries(
    endpoints.flatMap(errorsByStatus).map(([status, codes]) => [
      nameOf(codes),
      {
        description: codes.map((code) => `\`${wireText(code)}\`: ${ERRORS[code].detail}`).join("\n\n"),
        ...(status === 429 || status === 503
          ? { headers: { "Retry-After": { schema: { type: "integer" as const }, description: "Seconds" } } }
          : {}),
        content: { "application/json": { schema: errorSchema(codes) } },
      },
    ]),
  );
}

/** Every error body, whatever the route; which of the optional fields come along follows from the code. */
const ERROR = z.object({
  error: z.string().meta({ description: "What went wrong; never renamed" }),
  detail: z.string().optional().meta({ description: "What to do about it" }),
  error_description: z
    .string()
    .optional()
    .meta({ description: "The same on the token endpoint (RFC 6749 section 5.2)" }),
  ...z.object(ERROR_FIELDS).partial().shape,
  request_id: z.uuid().meta({ description: "Quote it when you ask about the error" }),
});

function errorSchema(codes: ErrorCode[]) {
  const texts = codes.map((code) => wireText(code));
  // a text with a field in it is no value that an enum could list
  const values = texts.some((text) => text.includes("{")) ? { examples: texts } : { enum: texts };
  return {
    allOf: [{ $ref: "#/components/schemas/Error" }],
    properties: { error: { type: "string" as const, ...values } },
  };
}

/**
 * The document without what zod can say but no reader needs, and without a promise we do not make: that answers have no other
 * fields than these (specification section 9.2).
 */
function tidy(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(tidy);
  if (typeof node !== "object" || node === null) return node;
  const schema = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, tidy(value)]));
  const { additionalProperties } = schema;
  if (additionalProperties === false || (additionalProperties && Object.keys(additionalProperties).length === 0))
    delete schema.additionalProperties;
  if (schema.format) delete schema.pattern;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (!Array.isArray(schema.anyOf)) return schema;
  // an empty string stands for null everywhere, and null for absent: one line in the description, not three schemas
  const { anyOf, ...rest } = schema;
  const [first, second, ...more] = anyOf.filter((option) => option.const !== "");
  if (second?.type !== "null" || more.length || typeof first.type !== "string") {
    return { ...rest, anyOf: [first, second, ...more].filter(Boolean) };
  }
  return { ...first, ...rest, type: [first.type, "null"], ...(first.enum ? { enum: [...first.enum, null] } : {}) };
}
