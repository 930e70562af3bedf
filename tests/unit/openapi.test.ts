import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { EVENTS, type EventType, typesOf } from "#shared/domain/events.ts";
import { ERROR_FIELDS } from "#shared/foundation/error_fields.ts";
import { ERRORS, wireText } from "#shared/foundation/errors.ts";
import { bucketOf, type CallerRule, type Endpoint, errorsOf } from "#shared/http/endpoint.ts";
import { RATE_LIMITS } from "#shared/values/rate_limits.ts";
import { openapi } from "../../packages/tools/src/write_openapi.ts";
import { ENDPOINTS, named, scopeOf } from "../contract/samples.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const committed = readFileSync(`${root}openapi.json`, "utf8");
const document = JSON.parse(committed);

test("§9.5 the committed openapi.json is what the code declares: npm run openapi", async () => {
  expect(committed === (await openapi()), "openapi.json is out of date: run `npm run openapi` and commit it").toBe(
    true,
  );
});

test("§9.5 it is good OpenAPI 3.1 by the recommended rules of Redocly, its examples included", () => {
  const program = createRequire(import.meta.url).resolve("@redocly/cli/bin/cli.js");
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  const report = execFileSync(process.execPath, [program, "lint", "openapi.json", "--format=json"], {
    cwd: root,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  expect(JSON.parse(report)).toMatchObject({ totals: { errors: 0, warnings: 0 }, problems: [] });
});

const isOurs = ({ caller }: Endpoint) => caller.kind === "worker";

test.each(named(ENDPOINTS.filter(isOurs)))("§9.5 %s is in no document: integrators never see it", (_, endpoint) => {
  expect(document.paths).not.toHaveProperty([endpoint.path]);
});

describe.each(named(ENDPOINTS.filter((endpoint) => !isOurs(endpoint))))("%s", (_, endpoint) => {
  const operation = document.paths[endpoint.path]?.[endpoint.method.toLowerCase()];

  test("contract §1 says every error it may answer, under its status", () => {
    for (const code of errorsOf(endpoint)) {
      const [, name = ""] =
        /^#\/components\/responses\/(.+)$/.exec(operation.responses[ERRORS[code].status].$ref) ?? [];
      const { content } = document.components.responses[name];
      // a text with a field in it is an example: no value that an enum could list
      const { enum: texts, examples = texts } = content["application/json"].schema.properties.error;
      expect(examples).toContain(wireText(code));
    }
    const declared = new Set([...errorsOf(endpoint)].map((code) => String(ERRORS[code].status)));
    expect(Object.keys(operation.responses).filter((status) => status >= "400")).toEqual([...declared].sort());
  });

  test("§5.1 says which credential and scope it takes", () => {
    const scopes = [scopeOf(endpoint)].filter((scope) => scope !== null);
    const security: Record<Exclude<CallerRule["kind"], "worker">, object[]> = {
      cpo: [{ cpo: scopes }],
      user: [{ user: scopes }, { personal_token: [] }],
      partner: [...("key" in endpoint.caller && endpoint.caller.key ? [{ partner_key: [] }] : []), { user: scopes }],
      sandbox: [{ partner_key: [] }],
      session: [{ session: [] }],
      anyone: [],
    };
    const { kind } = endpoint.caller;
    expect(operation.security).toEqual(kind === "worker" ? undefined : security[kind]);
  });

  test("§8 publishes its limit, for programs and in words", () => {
    const bucket = bucketOf(endpoint);
    expect(operation["x-rate-limit"]).toEqual(bucket ? { bucket, ...RATE_LIMITS[bucket] } : undefined);
    if (bucket) expect(operation.description).toContain(`${RATE_LIMITS[bucket].quota} requests in`);
  });

  test("§9.5 has an example of its request, its answer, and each of its errors", () => {
    if (endpoint.body)
      // a workbook is no text
      for (const [type, media] of Object.entries<{ example?: unknown }>(operation.requestBody.content))
        if (!type.includes("spreadsheetml")) expect(media.example, type).toBeDefined();
    const { content } = operation.responses[endpoint.status ?? 200];
    for (const [type, media] of Object.entries<{ example?: unknown }>(content))
      if (type !== "application/pdf") expect(media.example, type).toBeDefined();
    for (const code of errorsOf(endpoint)) {
      const [, name = ""] = /([^/]+)$/.exec(operation.responses[ERRORS[code].status].$ref) ?? [];
      const { $ref } = document.components.responses[name].content["application/json"].examples[code] ?? {};
      const example = document.components.examples[String($ref).replace("#/components/examples/", "")];
      expect(example?.value.error, `npm run generate -- examples records ${code}`).toBe(wireText(code, example?.value));
    }
  });
});

test("§7 the Error schema lists every field that an error may carry, each at the top of the body", () => {
  const { properties, required } = document.components.schemas.Error;
  const always = ["error", "detail", "error_description", "doc_url", "request_id"];
  expect(Object.keys(properties).sort()).toEqual([...always, ...Object.keys(ERROR_FIELDS)].sort());
  expect(required).toEqual(["error", "request_id"]);
  expect(Object.keys(properties.issues.items.properties)).toEqual(["path", "message"]);
});

test("§9.5 no component has the name that a generator gives an answer: an operation and a status", () => {
  type Operation = { operationId: string; responses: Record<string, unknown> };
  const operations = [document.paths, document.webhooks].flatMap((paths: Record<string, Record<string, Operation>>) =>
    Object.values(paths).flatMap((methods) => Object.values(methods)),
  );
  const generated = new Set(
    operations.flatMap(({ operationId, responses }) =>
      [...Object.keys(responses), "default"].map((status) => `${operationId}${status}`.toLowerCase()),
    ),
  );
  expect(generated.size).toBeGreaterThan(500);
  const { schemas, responses } = document.components;
  const names = [...Object.keys(schemas), ...Object.keys(responses)];
  expect(names.filter((name) => generated.has(name.toLowerCase()))).toEqual([]);
});

test("§9.2 promises of no answer that it has no further fields", () => {
  expect(committed).not.toContain("additionalProperties");
});

type Field = { path: string; name: string; schema: Record<string, unknown> };

/** Every field of every schema, and where it stands. */
function fieldsOf(node: unknown, path: string): Field[] {
  if (Array.isArray(node)) return node.flatMap((each) => fieldsOf(each, path));
  if (typeof node !== "object" || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) => {
    if (key === "example" || key === "examples") return [];
    if (key !== "properties") return fieldsOf(value, path ? path : key);
    return Object.entries(value as Record<string, Record<string, unknown>>).flatMap(([name, schema]) => [
      { path: `${path}.${name}`, name, schema },
      ...fieldsOf(schema, `${path}.${name}`),
    ]);
  });
}
const FIELDS = [
  ...Object.entries(document.components.schemas).flatMap(([name, schema]) => fieldsOf(schema, name)),
  ...fieldsOf([document.paths, document.webhooks, document.components.responses], ""),
];
type Parameter = { name: string; in: string; description?: string; schema: Record<string, unknown> };
const PARAMETERS: Parameter[] = Object.values(
  document.paths as Record<string, Record<string, { parameters?: Parameter[] }>>,
)
  .flatMap((operations) => Object.values(operations))
  .flatMap(({ parameters = [] }) => parameters);

test("§9.5 every field and parameter says what it is, itself or by the schema it refers to", () => {
  const said = ({ description, $ref }: Record<string, unknown>): boolean =>
    typeof description === "string" ||
    (typeof $ref === "string" && said(document.components.schemas[$ref.split("/").at(-1) ?? ""]));
  expect(FIELDS.length).toBeGreaterThan(500);
  expect(FIELDS.filter(({ schema }) => !said(schema)).map(({ path }) => path)).toEqual([]);
  expect(PARAMETERS.filter(({ description }) => !description)).toEqual([]);
});

test("§9.5 only text has a pattern: generators write code for that of a number which does not compile", () => {
  const withPattern = [...FIELDS, ...PARAMETERS.map(({ name, schema }) => ({ path: name, schema }))].filter(
    ({ schema }) => "pattern" in schema,
  );
  expect(withPattern.filter(({ schema: { type } }) => ![type].flat().includes("string"))).toEqual([]);
});

test("§9.5 every webhook has an example, of each log that it is in", () => {
  for (const [type, { post }] of Object.entries<{ post: { requestBody: { content: Record<string, unknown> } } }>(
    document.webhooks,
  )) {
    const { examples } = post.requestBody.content["application/json"] as { examples: Record<string, unknown> };
    const { client = {}, partner = null } = EVENTS[type as EventType] ?? {};
    const logs = Object.entries({ client, partner }).flatMap(([log, shape]) => (shape ? [log] : []));
    expect(Object.keys(examples), type).toEqual(logs);
    for (const example of Object.values(examples)) {
      expect(example, type).toMatchObject({ value: { type, timestamp: expect.any(String) } });
      expect(JSON.stringify(example), type).toBe(JSON.stringify(JSON.parse(JSON.stringify(example))));
    }
  }
});

test("§9.5 an event is one of those of its log, told apart by its type, which nobody takes for a kind of customer", () => {
  const { schemas } = document.components;
  for (const [log, name] of [
    ["client", "Event"],
    ["partner", "PartnerEvent"],
  ] as const) {
    const { oneOf, discriminator } = schemas[name];
    expect(discriminator.propertyName).toBe("type");
    expect(Object.keys(discriminator.mapping).sort()).toEqual(typesOf(log).sort());
    for (const [type, ref] of Object.entries(discriminator.mapping)) {
      expect(oneOf).toContainEqual({ $ref: ref });
      expect(schemas[String(ref).split("/").at(-1) ?? ""].properties.type.const).toBe(type);
    }
  }
  const explained = (field: string, text: RegExp) =>
    FIELDS.filter(({ name, schema }) => name === field && text.test(String(schema.description)));
  // the kinds of customers have a schema of their own, and the words stand there
  expect(
    explained("type", /VvE|vve/)
      .map(({ path }) => path)
      .sort(),
  ).toEqual(["AddCustomers.type", "CreateAccount.type", "CustomerRow.type"]);
  expect(explained("period", /month/i).filter(({ path }) => /webhook|Event|Payout/.test(path))).toEqual([]);
  expect(explained("to", /^The recipient$/).map(({ path }) => path)).toEqual(["CapturedMail.to"]);
  // an invoice that is read has a number, and a client's endpoints are not a partner's
  const said = Object.fromEntries(PARAMETERS.map(({ name, description }) => [name, String(description)]));
  expect(said.invoice_number).not.toContain("null");
  expect(said.webhook_id).not.toContain("/partner/");
  expect(explained("display_name", /account/).map(({ path }) => path.split(".")[0])).toEqual(
    expect.not.arrayContaining(["PartnerBranding", "SetPartnerBranding"]),
  );
});

test("§9.5 a default is said in words and never by the keyword, which makes generated types require the field", () => {
  const schemas = [...FIELDS, ...PARAMETERS].map(({ schema }) => schema);
  expect(schemas.filter((schema) => "default" in schema)).toEqual([]);
  const saying = [
    ...FIELDS.map(({ schema }) => schema),
    ...PARAMETERS.map(({ schema, description }) => ({ ...schema, description })),
  ].filter((schema): schema is Record<string, unknown> => "x-default" in schema);
  expect(saying.length).toBeGreaterThan(15);
  for (const { description, "x-default": value } of saying) expect(description).toContain(`Default: \`${value}\`.`);
});

test("§4.2 consent is required, also of a dry run, which may say false", () => {
  const { ImportDrafts, UploadDrafts, AddCustomers, CustomerRow } = document.components.schemas;
  for (const schema of [ImportDrafts, UploadDrafts, AddCustomers])
    expect(schema).toMatchObject({ type: "object", required: ["consent"] });
  expect(CustomerRow.required).toEqual(["email"]);
  expect(Object.keys(AddCustomers.properties)).toEqual(expect.arrayContaining(Object.keys(CustomerRow.properties)));
});

/** Every schema in a part of the document, and where. */
function schemasOf(node: unknown, path: string[] = []): [path: string, schema: Record<string, unknown>][] {
  if (typeof node !== "object" || node === null) return [];
  const inner = Object.entries(node).flatMap(([key, value]) =>
    /^examples?$/.test(key) ? [] : schemasOf(value, [...path, key]),
  );
  return Array.isArray(node) ? inner : [[path.join("."), node as Record<string, unknown>], ...inner];
}

test("§9.5 nothing in it stops a generated client: no constant boolean, and a union only of named objects or of formats", () => {
  const all = schemasOf(document);
  expect(all.filter(([, { const: value }]) => typeof value === "boolean").map(([path]) => path)).toEqual([]);
  const unions = all.filter(([path, { anyOf }]) => anyOf && !path.startsWith("webhooks."));
  const others = unions.filter(([, { anyOf }]) => {
    const options = anyOf as Record<string, unknown>[];
    const isNullable = options.length === 2 && options[0]?.$ref && options[1]?.type === "null";
    return !isNullable && !options.every(({ type, format }) => type === "string" && format);
  });
  expect(others.map(([path]) => path)).toEqual([]);
  const { ConnectionInput, ConnectionChange, CustomerRow, IssueMandateLink } = document.components.schemas;
  expect(ConnectionInput.properties.house_number).toMatchObject({ type: "string" });
  for (const { house_number = {}, huisnummer = house_number } of [
    ConnectionChange.properties,
    CustomerRow.properties,
  ]) {
    expect(huisnummer).toMatchObject({ type: ["string", "null"] });
    expect(huisnummer.description).toMatch(/numbers are taken too/i);
  }
  expect(IssueMandateLink.properties.validity_years).toMatchObject({
    type: ["integer", "null"],
    enum: [1, 3, 5, null],
  });
});

test("§9.5 each tag has a title and says what it is about", () => {
  const tags: { name: string; "x-displayName": string; description: string }[] = document.tags;
  for (const { name, "x-displayName": title, description } of tags) {
    expect(title).not.toBe(name);
    expect(description).not.toBe(name);
  }
});
