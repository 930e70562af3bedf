import * as z from "zod";
import { createDocument, createSchema, type ZodOpenApiPathsObject, type ZodOpenApiResponsesObject } from "zod-openapi";
import { ERROR_FIELDS } from "#shared/foundation/error_fields.ts";
import { ERRORS, type ErrorCode, wireText } from "#shared/foundation/errors.ts";
import { bucketOf, type CallerRule, type Endpoint, errorsOf, isFile } from "#shared/http/endpoint.ts";
import { endpointsOf, type Routed, type Surface } from "#shared/http/serve.ts";
import { RATE_LIMITS } from "#shared/values/rate_limits.ts";
import { CPO_SCOPES, USER_SCOPES } from "#shared/values/scopes.ts";
import { WEBHOOK_HEADERS } from "./webhooks.ts";

/** Requests and answers as a test saw them: by operation, and errors by the name of their example. `form` is the fields of `body` in a form. */
export type Examples = {
  operations: Record<
    string,
    { path?: Record<string, string>; query?: Record<string, string>; body?: unknown; form?: unknown; answer?: unknown }
  >;
  errors: Record<string, unknown>;
};

const HEADERS = {
  "X-Request-Id": { schema: { type: "string" as const }, description: "Quote it when you ask about a request" },
  RateLimit: {
    schema: { type: "string" as const },
    description: "Remaining quota: r requests, full again in t seconds (IETF draft)",
  },
  "RateLimit-Policy": {
    schema: { type: "string" as const },
    description: "The quota: q requests per w seconds (IETF draft)",
  },
  "Retry-After": {
    schema: { type: "integer" as const },
    description: "Seconds to wait before the request is sent again",
  },
};

const headers = (...names: (keyof typeof HEADERS)[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` as const }]));

const SECURITY_SCHEMES = {
  cpo: {
    type: "oauth2" as const,
    description:
      "Client credentials of a CPO client, bound to one partner. Tokens live 3600 seconds; there is no refresh token. Without scope a token has all that its client was granted; more than that is refused.",
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
  personal_token: {
    type: "http" as const,
    scheme: "bearer",
    description: "A token that a person made for their own scripts.",
  },
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

const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

type Described = { surface: Surface; endpoint: Routed };

/**
 * The OpenAPI 3.1 document of the given surfaces: derived from the endpoints' declarations and recorded examples, so that it
 * says what the code does. `server` is the host's root; `webhooks` is what is sent to receivers.
 */
export async function describe(
  surfaces: readonly Surface[],
  {
    version,
    server,
    examples,
    webhooks,
  }: { version: string; server: string; examples: Examples; webhooks: ZodOpenApiPathsObject },
) {
  const paths: ZodOpenApiPathsObject = {};
  const described: Described[] = [];
  for (const surface of surfaces)
    for (const endpoint of await endpointsOf(surface))
      if (endpoint.caller.kind !== "worker") described.push({ surface, endpoint });
  for (const { surface, endpoint } of described) {
    paths[endpoint.path] = {
      ...paths[endpoint.path],
      [endpoint.method.toLowerCase()]: operation({ surface, endpoint }, examples),
    };
  }
  const used = new Set(described.flatMap(({ endpoint }) => securityOf(endpoint.caller).flatMap(Object.keys)));
  const document = createDocument({
    openapi: "3.1.0",
    info: {
      title: "Charging Data and ERE Registration API",
      version,
      // each host serves the document with its own address
      contact: { name: "Support", email: "support@example.com" },
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      description:
        "Turns electric-vehicle charging into ERE (emissiereductie-eenheden: 1 ERE is 1 kg CO2-eq of avoided emission). " +
        "Clients must ignore fields and values they do not know: additions come without notice, breaking changes never do.",
    },
    servers: [{ url: server }],
    tags: surfaces.map(({ slug, title = slug, about = slug }) => ({
      name: slug,
      "x-displayName": title,
      description: about,
    })),
    paths,
    webhooks,
    components: {
      schemas: { Error: createSchema(ERROR).schema },
      headers: HEADERS,
      parameters: WEBHOOK_HEADERS,
      responses: sharedResponses(described, examples),
      examples: Object.fromEntries(
        [...new Set(described.flatMap(({ surface, endpoint }) => exampleNames(surface, endpoint)))]
          .filter((name) => name in examples.errors)
          .map((name) => [name, { value: examples.errors[name] }]),
      ),
      securitySchemes: Object.fromEntries(Object.entries(SECURITY_SCHEMES).filter(([name]) => used.has(name))),
    },
  });
  return explained(tidy(document)) as typeof document;
}

function operation({ surface, endpoint }: Described, examples: Examples) {
  const encodings = isFile(endpoint)
    ? ["text/csv", XLSX]
    : [
        "application/json",
        ...(endpoint.accepts?.includes("form") ? ["application/x-www-form-urlencoded"] : []),
        ...(endpoint.accepts?.includes("multipart") ? ["multipart/form-data"] : []),
      ];
  const { id, body, query } = endpoint;
  const named = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const example = examples.operations[id];
  const limit = limitOf(endpoint);
  const description = [endpoint.description, limit?.sentence].filter(Boolean).join("\n\n");
  return {
    operationId: id,
    tags: [surface.slug],
    summary: endpoint.summary,
    ...(description ? { description } : {}),
    security: securityOf(endpoint.caller),
    ...(limit ? { "x-rate-limit": limit.published } : {}),
    ...(endpoint.idempotent ? { "x-idempotent": endpoint.idempotent } : {}),
    ...(query || named.length > 0
      ? {
          requestParams: {
            ...(query ? { query: query as z.ZodObject } : {}),
            ...(named.length > 0
              ? {
                  path: z.object(
                    Object.fromEntries(
                      named.map((name) => [name, z.string().meta({ description: endpoint.params?.[name] ?? "" })]),
                    ),
                  ),
                }
              : {}),
          },
        }
      : {}),
    ...(body
      ? {
          requestBody: {
            required: !endpoint.bodyOptional,
            content: Object.fromEntries(
              encodings.map((type) => {
                const sent = type === "application/json" || type === "text/csv" ? example?.body : example?.form;
                return [type, { schema: body, ...(sent === undefined ? {} : { example: sent }) }];
              }),
            ),
          },
        }
      : {}),
    responses: {
      [endpoint.status ?? 200]: {
        description: endpoint.status === 201 ? "Created" : "Done",
        headers: headers("X-Request-Id", ...(limit ? (["RateLimit", "RateLimit-Policy"] as const) : [])),
        content: {
          [endpoint.produces ?? "application/json"]: {
            schema: endpoint.response,
            ...(example?.answer !== undefined ? { example: example.answer } : {}),
          },
        },
      },
      ...errorResponses(surface, endpoint),
    },
  };
}

/** Whose requests a limit counts together, by who calls. */
const COUNTED_BY: Record<CallerRule["kind"], string> = {
  cpo: "for each client",
  user: "for each application and person, or for all of a person's own tokens together",
  session: "for all sign-ins of a person together",
  partner: "for each partner's key, or for each application and person",
  sandbox: "for each partner",
  anyone: "for each client",
  worker: "for the worker",
};

function limitOf(endpoint: Endpoint) {
  const bucket = bucketOf(endpoint);
  if (!bucket) return null;
  const { quota, window_seconds } = RATE_LIMITS[bucket];
  const sentence = `Limit: ${quota} requests in ${window_seconds} seconds ${COUNTED_BY[endpoint.caller.kind]}, shared by all endpoints of \`${bucket}\`. The limit refills continuously. Above it: 429 with \`Retry-After\`.`;
  return { published: { bucket, quota, window_seconds }, sentence };
}

/** The errors an endpoint declares, by status, always in the same order. */
function errorsByStatus(endpoint: Endpoint): [status: number, codes: ErrorCode[]][] {
  const codes = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => errorsOf(endpoint).has(code));
  return [...Map.groupBy(codes, (code) => ERRORS[code].status)];
}

const pascal = (name: string) => name.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());

/** What an error's example is called. The OAuth endpoints write their errors in a form of their own. */
export const exampleName = ({ errors }: Pick<Surface, "errors">, code: ErrorCode) =>
  (errors === "oauth" ? "OAuth" : "") + pascal(code);

const exampleNames = (surface: Surface, endpoint: Endpoint) =>
  [...errorsOf(endpoint)].map((code) => exampleName(surface, code));

/**
 * The name of a shared answer. More than three errors are named after their operation. A name such as `Token400` would
 * collide: generators give it to the types of an operation and a status.
 */
function responseName(surface: Surface, endpoint: Endpoint, status: number, codes: readonly ErrorCode[]): string {
  const style = surface.errors === "oauth" ? "OAuth" : "";
  return codes.length <= 3 ? style + codes.map(pascal).join("Or") : `${pascal(endpoint.id)}Errors${status}`;
}

function errorResponses(surface: Surface, endpoint: Endpoint): ZodOpenApiResponsesObject {
  return Object.fromEntries(
    errorsByStatus(endpoint).map(([status, codes]) => [
      String(status),
      { $ref: `#/components/responses/${responseName(surface, endpoint, status, codes)}` },
    ]),
  ) as ZodOpenApiResponsesObject;
}

function sharedResponses(described: readonly Described[], { errors }: Examples) {
  return Object.fromEntries(
    described.flatMap(({ surface, endpoint }) =>
      errorsByStatus(endpoint).map(([status, codes]) => [
        responseName(surface, endpoint, status, codes),
        {
          description: codes.map((code) => `\`${wireText(code)}\`: ${ERRORS[code].detail}`).join("\n\n"),
          headers: headers("X-Request-Id", ...(status === 429 || status === 503 ? (["Retry-After"] as const) : [])),
          content: {
            "application/json": {
              schema: errorSchema(codes),
              examples: Object.fromEntries(
                codes
                  .filter((code) => exampleName(surface, code) in errors)
                  .map((code) => [code, { $ref: `#/components/examples/${exampleName(surface, code)}` }]),
              ),
            },
          },
        },
      ]),
    ),
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
  doc_url: z.url().optional().meta({
    description: "This error in the documentation; absent on a host without one",
    example: "https://docs.example.com/errors.html#account_not_found",
  }),
  request_id: z.uuid().meta({ description: "Quote it when you ask about the error" }),
});

function errorSchema(codes: readonly ErrorCode[]) {
  const texts = [...new Set(codes.map((code) => wireText(code)))];
  // a text with a field in it is no value that an enum could list
  const values = texts.some((text) => text.includes("{")) ? { examples: texts } : { enum: texts };
  return {
    allOf: [{ $ref: "#/components/schemas/Error" }],
    type: "object" as const,
    required: ["error"],
    properties: { error: { type: "string" as const, description: "Which error it is; never renamed", ...values } },
  };
}

/**
 * Removes from the document what zod writes but no reader needs. It also removes a promise that we do not make: that
 * answers have no other fields (specification section 9.2). A default is given in words, and for programs as
 * `x-default`: type generators take the keyword `default` to mean that the field is always there.
 */
function tidy(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(tidy);
  if (!isObject(node)) return node;
  const schema = Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, key === "example" || key === "examples" ? value : tidy(value)]),
  );
  const { additionalProperties } = schema;
  if (
    additionalProperties === false ||
    (isObject(additionalProperties) && Object.keys(additionalProperties).length === 0)
  )
    delete schema.additionalProperties;
  // generators cannot read a constant boolean: they make a text of it, or fail
  if (typeof schema.const === "boolean") delete schema.const;
  if (schema.type === "number" && Array.isArray(schema.enum) && schema.enum.every(Number.isInteger))
    schema.type = "integer";
  if (schema.format) delete schema.pattern;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  // a field called default is an object
  if (schema.default !== undefined && !isObject(schema.default)) {
    schema["x-default"] = schema.default;
    delete schema.default;
  }
  if (!Array.isArray(schema.anyOf)) return schema;
  // an empty string stands for null everywhere, and null for absent: one line in the description, not three schemas
  const { anyOf, ...rest } = schema;
  const [first, second, ...more] = anyOf.filter((option) => option.const !== "");
  if (second?.type !== "null" || more.length || typeof first.type !== "string") {
    return { ...rest, anyOf: [first, second, ...more].filter(Boolean) };
  }
  return { ...first, ...rest, type: [first.type, "null"], ...(first.enum ? { enum: [...first.enum, null] } : {}) };
}

type Node = Record<string, unknown>;
const isObject = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The document with every default in words, behind what its field or parameter is: its own description, or its schema's. */
function explained(document: unknown): unknown {
  const { paths, webhooks, components } = document as {
    paths: Record<string, Node>;
    webhooks?: Record<string, Node>;
    components: { schemas: Node; responses: Node };
  };
  const explain = (field: Node) => {
    if (field["x-default"] === undefined) return;
    const referred = components.schemas[String(field.$ref).split("/").at(-1) ?? ""] as Node | undefined;
    const said = String(field.description ?? referred?.description ?? "").replace(/(?<=\w)$/, ".");
    field.description = `${said} Default: \`${field["x-default"]}\`.`.trimStart();
  };
  const walk = (node: unknown): void => {
    if (Array.isArray(node)) for (const each of node) walk(each);
    if (!isObject(node)) return;
    if (isObject(node.properties))
      for (const field of Object.values(node.properties)) {
        if (!isObject(field)) continue;
        explain(field);
        walk(field);
      }
    for (const [key, value] of Object.entries(node))
      if (!["properties", "example", "examples"].includes(key)) walk(value);
  };
  walk(components.schemas);
  for (const operations of [...Object.values(paths), ...Object.values(webhooks ?? {})]) {
    for (const operation of Object.values(operations) as Node[]) {
      for (const parameter of (operation.parameters ?? []) as Node[]) {
        if (parameter.$ref) continue;
        const schema = parameter.schema as Node;
        explain(schema);
        // the parameter says it, once
        parameter.description = schema.description;
        delete schema.description;
      }
      walk([operation.requestBody, operation.responses]);
    }
  }
  return document;
}
