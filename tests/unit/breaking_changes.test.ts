import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { announcements, breakingChanges, type Document } from "../../packages/tools/src/breaking_changes.ts";
import { openapi } from "../../packages/tools/src/write_openapi.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const COMMITTED = await openapi();
const committed = () => JSON.parse(COMMITTED) as Document;

const document = (): Document =>
  structuredClone({
    paths: {
      "/things": {
        get: {
          operationId: "listThings",
          description: "Things",
          security: [{ key: [] }, { user: ["things:read"] }],
          parameters: [{ $ref: "#/components/parameters/Limit" }],
          responses: {
            200: {
              headers: { RateLimit: { schema: { type: "string" } } },
              content: { "application/json": { schema: { $ref: "#/components/schemas/Things" } } },
            },
            404: { $ref: "#/components/responses/NotFound" },
            409: { content: { "application/json": { schema: { $ref: "#/components/schemas/Conflict" } } } },
            429: { headers: { "Retry-After": { schema: { type: "integer" } } } },
          },
        },
        post: {
          security: [{ key: [] }],
          requestBody: {
            required: true,
            content: { "application/json": { schema: { $ref: "#/components/schemas/NewThing" } } },
          },
          responses: { 201: { content: { "application/json": { schema: { type: "object" } } } } },
        },
      },
    },
    webhooks: {
      "thing.made": {
        post: { requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" } } } } },
      },
    },
    components: {
      parameters: { Limit: { name: "limit", in: "query", schema: { type: "integer", maximum: 200, "x-default": 50 } } },
      responses: {
        NotFound: { content: { "application/json": { schema: { $ref: "#/components/schemas/NotFound" } } } },
      },
      schemas: {
        Error: { type: "object", required: ["error"], properties: { error: { type: "string" } } },
        NotFound: {
          allOf: [{ $ref: "#/components/schemas/Error" }],
          properties: { error: { type: "string", enum: ["thing_not_found", "owner_not_found"] } },
        },
        Conflict: {
          allOf: [{ $ref: "#/components/schemas/Error" }],
          properties: { error: { type: "string", examples: ['A thing named "{name}" exists'] } },
        },
        Things: {
          type: "object",
          required: ["things"],
          properties: { things: { type: "array", items: { $ref: "#/components/schemas/Thing" } } },
        },
        Thing: {
          type: "object",
          required: ["id", "state"],
          properties: {
            id: { type: "string", format: "uuid" },
            state: { type: "string", enum: ["a", "b"] },
            at: { type: ["string", "null"] },
            period: { type: "string", pattern: "^\\d{4}-Q[1-4]$" },
            size: { type: "integer", maximum: 10 },
            of: { anyOf: [{ $ref: "#/components/schemas/Owner" }, { type: "null" }] },
          },
        },
        Owner: { type: "object", required: ["id"], properties: { id: { type: "string" } } },
        NewThing: {
          type: "object",
          required: ["name"],
          properties: {
            name: { type: "string", maxLength: 120 },
            kind: { type: "string", enum: ["x", "y"], "x-default": "x" },
            size: { type: ["number", "null"], minimum: 0 },
            code: { anyOf: [{ type: "string" }, { type: "integer" }] },
          },
        },
      },
    },
  } as Document);

// biome-ignore lint/suspicious/noExplicitAny: each mutation reaches for one place of the document above
type Change = (d: any) => void;
const schema =
  (name: string, change: Change): Change =>
  (d) =>
    change(d.components.schemas[name]);
const get =
  (change: Change): Change =>
  (d) =>
    change(d.paths["/things"].get);

test("§9.5 a document breaks nothing of itself: the committed one, and the one below", () => {
  expect(breakingChanges(committed(), committed())).toEqual([]);
  expect(breakingChanges(document(), document())).toEqual([]);
});

test("§9.5 a parameter that moves to components breaks nothing", () => {
  const inline = document();
  Object.assign(inline.paths["/things"]?.get ?? {}, {
    parameters: [{ name: "limit", in: "query", schema: { type: "integer", maximum: 200, "x-default": 50 } }],
  });
  expect([breakingChanges(inline, document()), breakingChanges(document(), inline)]).toEqual([[], []]);
});

/** By their kind, as docs/versioning.md names it. */
const ADDITIONS: [kind: string, what: string, change: Change][] = [
  [
    "an operation, a field, an optional parameter, a header or a webhook is new",
    "a new path",
    (d) => Object.assign(d.paths, { "/others": { get: { responses: {} } } }),
  ],
  [
    "an operation, a field, an optional parameter, a header or a webhook is new",
    "a new optional field",
    schema("NewThing", (s) => Object.assign(s.properties, { note: { type: "string" } })),
  ],
  [
    "an operation, a field, an optional parameter, a header or a webhook is new",
    "a new field of an answer",
    schema("Thing", (s) => Object.assign(s.properties, { note: { type: "string" } })),
  ],
  [
    "an operation, a field, an optional parameter, a header or a webhook is new",
    "a new optional parameter",
    get((o) => o.parameters.push({ name: "search", in: "query", schema: { type: "string" } })),
  ],
  [
    "an operation, a field, an optional parameter, a header or a webhook is new",
    "a new header",
    get((o) => Object.assign(o.responses[200].headers, { "X-Request-Id": {} })),
  ],
  [
    "an operation, a field, an optional parameter, a header or a webhook is new",
    "a new webhook",
    (d) => Object.assign(d.webhooks, { "thing.gone": { post: {} } }),
  ],
  ["an answer has a new value", "a new value of an answer", schema("Thing", (s) => s.properties.state.enum.push("c"))],
  [
    "an answer has a new value",
    "an answer that is no closed list any more",
    schema("Thing", (s) => delete s.properties.state.enum),
  ],
  [
    "an answer is of fewer types, or has tighter bounds",
    "an answer that is never null any more",
    schema("Thing", (s) => Object.assign(s.properties.at, { type: "string" })),
  ],
  [
    "an answer is of fewer types, or has tighter bounds",
    "an answer that is one of fewer schemas",
    schema("Thing", (s) => s.properties.of.anyOf.pop()),
  ],
  [
    "an answer is of fewer types, or has tighter bounds",
    "an answer that is a whole number of a smaller range",
    schema("Thing", (s) => Object.assign(s.properties.size, { maximum: 5, minimum: 0 })),
  ],
  [
    "a field of an answer is always there now",
    "a field that is always there now",
    schema("Thing", (s) => s.required.push("at")),
  ],
  ["an error code is new", "a new error code", schema("NotFound", (s) => s.properties.error.enum.push("gone"))],
  [
    "an error code is new",
    "a new status of an error",
    get((o) => Object.assign(o.responses, { 422: o.responses[409], 409: o.responses[409] })),
  ],
  ["an error code is gone", "an error code that is gone", schema("NotFound", (s) => s.properties.error.enum.pop())],
  ["an error code is gone", "an error that is not answered any more", get((o) => delete o.responses[404])],
  [
    "more types, values or options are taken",
    "a new value that is taken",
    schema("NewThing", (s) => s.properties.kind.enum.push("z")),
  ],
  [
    "more types, values or options are taken",
    "any value that is taken",
    schema("NewThing", (s) => delete s.properties.kind.enum),
  ],
  [
    "more types, values or options are taken",
    "null that is taken",
    schema("NewThing", (s) => Object.assign(s.properties.name, { type: ["string", "null"] })),
  ],
  [
    "more types, values or options are taken",
    "a third option",
    schema("NewThing", (s) => s.properties.code.anyOf.unshift({ type: "boolean" })),
  ],
  [
    "more types, values or options are taken",
    "another form of the body beside the one there was",
    (d) => {
      const { NewThing } = d.components.schemas;
      d.components.schemas.NewThing = {
        anyOf: [
          { type: "object", required: ["things"], properties: { things: { type: "array" } } },
          { allOf: [{ $ref: "#/components/schemas/OneThing" }] },
        ],
      };
      d.components.schemas.OneThing = NewThing;
    },
  ],
  [
    "a bound is looser, or a pattern or format is gone",
    "a looser bound",
    schema("NewThing", (s) => Object.assign(s.properties.name, { maxLength: 500 })),
  ],
  [
    "a field or parameter need not be sent any more",
    "a field that need not be sent any more",
    schema("NewThing", (s) => s.required.splice(0)),
  ],
  ["another credential is taken", "another credential", get((o) => o.security.push({ session: [] }))],
  [
    "words: descriptions, titles, examples",
    "a description",
    get((o) => Object.assign(o, { summary: "Things", description: "Other" })),
  ],
  [
    "a limit (`x-rate-limit`)",
    "a limit",
    get((o) => Object.assign(o, { "x-rate-limit": { bucket: "b", quota: 1, window_seconds: 60 } })),
  ],
];

test.each(ADDITIONS)("§9.2 %s: %s breaks nobody", (_kind, _what, change) => {
  const after = document();
  change(after);
  expect(breakingChanges(document(), JSON.parse(JSON.stringify(after)))).toEqual([]);
});

const BREAKS: [kind: string, what: string, change: Change, sentence: string][] = [
  [
    "an operation, or a webhook, is gone or has another path",
    "a path that is gone",
    (d) => delete d.paths["/things"].post,
    "POST /things is gone",
  ],
  [
    "an operation, or a webhook, is gone or has another path",
    "another path",
    (d) => {
      d.paths["/stuff"] = d.paths["/things"];
      delete d.paths["/things"];
    },
    "GET /things is gone",
  ],
  [
    "an operation, or a webhook, is gone or has another path",
    "a webhook that is gone",
    (d) => delete d.webhooks["thing.made"],
    "POST thing.made is gone",
  ],
  [
    "an operation has another `operationId`",
    "a renamed operation",
    get((o) => Object.assign(o, { operationId: "getThings" })),
    "GET /things is called getThings and no longer listThings",
  ],
  [
    "a field of an answer is gone, or has another name",
    "a renamed field",
    schema("Thing", (s) => Object.assign(s.properties, { ident: s.properties.id, id: undefined })),
    "GET /things 200.things[] has no id any more",
  ],
  [
    "a field of an answer is gone, or has another name",
    "a removed field",
    schema("Thing", (s) => delete s.properties.at),
    "GET /things 200.things[] has no at any more",
  ],
  [
    "a field of an answer is gone, or has another name",
    "a removed field of a webhook",
    schema("Thing", (s) => delete s.properties.at),
    "POST thing.made body has no at any more",
  ],
  [
    "a field of an answer may be missing",
    "a field that may be missing",
    schema("Thing", (s) => s.required.pop()),
    "GET /things 200.things[] may leave out state",
  ],
  [
    "an answer may be of another type, `null` included",
    "a field that may be null",
    schema("Thing", (s) => Object.assign(s.properties.id, { type: ["string", "null"] })),
    "GET /things 200.things[].id may be string, null",
  ],
  [
    "an answer may be of another type, `null` included",
    "a whole number that may be any",
    schema("Thing", (s) => Object.assign(s.properties.size, { type: "number" })),
    "GET /things 200.things[].size may be number",
  ],
  [
    "an answer may be of another type, `null` included",
    "a field that may be anything",
    schema("Thing", (s) => delete s.properties.at.type),
    "GET /things 200.things[].at may be anything",
  ],
  [
    "an answer may be of another type, `null` included",
    "one schema more",
    schema("Thing", (s) => s.properties.of.anyOf.push({ type: "string" })),
    "GET /things 200.things[].of may be string",
  ],
  [
    "an answer may be of another type, `null` included",
    "a list that is none",
    schema("Things", (s) => Object.assign(s.properties.things, { type: "object" })),
    "GET /things 200.things may be object",
  ],
  [
    "an answer has another format or pattern, or wider bounds",
    "another format",
    schema("Thing", (s) => delete s.properties.id.format),
    "GET /things 200.things[].id has no format uuid any more",
  ],
  [
    "an answer has another format or pattern, or wider bounds",
    "another pattern",
    schema("Thing", (s) => Object.assign(s.properties.period, { pattern: "^x" })),
    "GET /things 200.things[].period has no pattern ^\\d{4}-Q[1-4]$ any more",
  ],
  [
    "an answer has another format or pattern, or wider bounds",
    "a wider bound",
    schema("Thing", (s) => Object.assign(s.properties.size, { maximum: 11 })),
    "GET /things 200.things[].size has maximum 11",
  ],
  [
    "an answer has another format or pattern, or wider bounds",
    "a bound that is gone",
    schema("Thing", (s) => delete s.properties.size.maximum),
    "GET /things 200.things[].size has maximum no more",
  ],
  [
    "a success has another status or media type",
    "another status of success",
    get((o) => Object.assign(o.responses, { 200: undefined, 204: {} })),
    "GET /things answers no 200 any more",
  ],
  [
    "a success has another status or media type",
    "another media type",
    get((o) => {
      o.responses[200].content = { "text/csv": {} };
    }),
    "GET /things 200 is no application/json any more",
  ],
  [
    "an answer's header is lost",
    "a lost header of an answer",
    get((o) => delete o.responses[200].headers),
    "GET /things 200 has no header RateLimit any more",
  ],
  [
    "an answer's header is lost",
    "a lost header of an error",
    get((o) => Object.assign(o.responses, { 429: {} })),
    "GET /things 429 has no header Retry-After any more",
  ],
  [
    "an error code moves to another status",
    "an error code at another status",
    (d) => {
      d.components.schemas.NotFound.properties.error.enum.pop();
      d.components.schemas.Conflict.properties.error.examples.push("owner_not_found");
    },
    "GET /things answers owner_not_found with 409 and no longer 404",
  ],
  [
    "an error code moves to another status",
    "an error text with a field in it at another status",
    get((o) => Object.assign(o.responses, { 409: undefined, 422: o.responses[409] })),
    'GET /things answers A thing named "{name}" exists with 422 and no longer 409',
  ],
  [
    "a field, parameter or body becomes required",
    "a required field",
    schema("NewThing", (s) => s.required.push("kind")),
    "POST /things body requires kind",
  ],
  [
    "a field, parameter or body becomes required",
    "a required parameter",
    get((o) => o.parameters.push({ name: "of", in: "query", required: true })),
    "GET /things requires parameter of",
  ],
  [
    "a field, parameter or body becomes required",
    "a required body",
    get((o) => Object.assign(o, { requestBody: { required: true } })),
    "GET /things requires a body",
  ],
  [
    "a field, parameter or option is not taken any more",
    "a field that is not taken",
    schema("NewThing", (s) => delete s.properties.size),
    "POST /things body has no size any more",
  ],
  [
    "a field, parameter or option is not taken any more",
    "a removed parameter",
    get((o) => o.parameters.pop()),
    "GET /things has no parameter limit any more",
  ],
  [
    "a field, parameter or option is not taken any more",
    "fewer kinds of value",
    schema("NewThing", (s) => s.properties.code.anyOf.pop()),
    "POST /things body.code takes no integer any more",
  ],
  [
    "a field, parameter or option is not taken any more",
    "another kind of value in its place",
    schema("NewThing", (s) => s.properties.code.anyOf.splice(1, 1, { type: "boolean" })),
    "POST /things body.code takes boolean only",
  ],
  [
    "other fields are not taken any more (`additionalProperties: false`)",
    "no other fields",
    schema("NewThing", (s) => Object.assign(s, { additionalProperties: false })),
    "POST /things body takes no other fields any more",
  ],
  [
    "fewer types or values are taken",
    "null that is not taken",
    schema("NewThing", (s) => Object.assign(s.properties.size, { type: "number" })),
    "POST /things body.size takes number only",
  ],
  [
    "fewer types or values are taken",
    "a value that is not taken",
    schema("NewThing", (s) => s.properties.kind.enum.pop()),
    "POST /things body.kind takes y no longer",
  ],
  [
    "fewer types or values are taken",
    "a list of values",
    schema("NewThing", (s) => Object.assign(s.properties.name, { enum: ["one"] })),
    "POST /things body.name takes one only",
  ],
  [
    "a bound is tighter, or a pattern or format is new",
    "a shorter text",
    schema("NewThing", (s) => Object.assign(s.properties.name, { maxLength: 60 })),
    "POST /things body.name has maxLength 60",
  ],
  [
    "a bound is tighter, or a pattern or format is new",
    "a first bound",
    schema("NewThing", (s) => Object.assign(s.properties.size, { minimum: 1 })),
    "POST /things body.size has minimum 1",
  ],
  [
    "a bound is tighter, or a pattern or format is new",
    "a tighter parameter",
    (d) => Object.assign(d.components.parameters.Limit.schema, { maximum: 100 }),
    "GET /things ?limit has maximum 100",
  ],
  [
    "a bound is tighter, or a pattern or format is new",
    "a pattern",
    schema("NewThing", (s) => Object.assign(s.properties.name, { pattern: "^x" })),
    "POST /things body.name has pattern ^x",
  ],
  [
    "a bound is tighter, or a pattern or format is new",
    "a bound inside allOf",
    schema("NewThing", (s) =>
      Object.assign(s, { allOf: [{ properties: { note: { maxLength: 5 } }, required: ["note"] }] }),
    ),
    "POST /things body requires note",
  ],
  [
    "a default is another one",
    "another default",
    schema("NewThing", (s) => Object.assign(s.properties.kind, { "x-default": "y" })),
    'POST /things body.kind has default "y"',
  ],
  [
    "a default is another one",
    "a default that is gone",
    (d) => delete d.components.parameters.Limit.schema["x-default"],
    "GET /things ?limit has default no more",
  ],
  [
    "a credential or scope is not taken any more",
    "a credential that is not taken",
    get((o) => o.security.shift()),
    'GET /things takes no {"key":[]} any more',
  ],
  [
    "a credential or scope is not taken any more",
    "another scope",
    get((o) => Object.assign(o.security[1], { user: ["things:all"] })),
    'GET /things takes no {"user":["things:read"]} any more',
  ],
];

test.each(BREAKS)("§9.3 %s: %s breaks a client, and is named", (_kind, _what, change, sentence) => {
  const after = document();
  change(after);
  expect(breakingChanges(document(), JSON.parse(JSON.stringify(after)))).toContain(sentence);
});

test("§9.5 docs/versioning.md states each kind of change, and each kind has a case here", () => {
  const page = readFileSync(join(ROOT, "docs/versioning.md"), "utf8");
  const [, breaking = "", harmless = ""] = page.split(/^## .*$/m);
  const kinds = (section: string) =>
    [...section.matchAll(/^\| (.*?) \| (?:both|answer|request) \|/gm)].map(([, kind]) => kind).sort();
  const tried = (cases: readonly (readonly [string, ...unknown[]])[]) =>
    [...new Set(cases.map(([kind]) => kind))].sort();
  expect(kinds(breaking)).toEqual(tried(BREAKS));
  expect(kinds(harmless)).toEqual(tried(ADDITIONS));
});

test("§9.5 every operation of ours that goes is noticed", () => {
  const after = committed();
  const gone = Object.entries(after.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path} is gone`),
  );
  for (const path of Object.keys(after.paths)) after.paths[path] = {};
  expect(breakingChanges(committed(), after).toSorted()).toEqual(gone.toSorted());
});

test("§9.5 a line of the changelog that begins with ⚠️ and a date announces", () => {
  expect(announcements("# x\n- ⚠️ 2027-01-01: gone\n- new ⚠️ thing\n- ⚠️ two\n")).toEqual(["- ⚠️ 2027-01-01: gone"]);
});

test("§9.5 each breaking line of the changelog names its date, and each kind of reader has a list", () => {
  const changelog = readFileSync(join(ROOT, "CHANGELOG.md"), "utf8");
  const marked = changelog.split("\n").filter((line) => /^\s*[-*].*⚠️/.test(line));
  expect(announcements(changelog)).toEqual(marked);

  const releases = changelog.split(/^## /m).slice(1);
  expect(releases.length).toBeGreaterThan(0);
  for (const release of releases) {
    const [head, ...lists] = release.split(/^### /m);
    expect(head, "a line stands in one of the lists").not.toMatch(/^[-*]/m);
    const readers = ["For integrators", "For customers", "For operators", "For contributors"];
    const names = lists.map((list) => list.split("\n")[0] ?? "");
    expect(names).toEqual(readers.filter((reader) => names.includes(reader)));
  }
});

test("§9.5 the program refuses a breaking change that nobody announced", () => {
  const folder = mkdtempSync(join(tmpdir(), "ere-breaking-"));
  // as on any machine, whatever its owner has set up for git
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", folder, "-c", "user.name=t", "-c", "user.email=t@example.com", ...args], { env });
  const run = () => {
    try {
      const script = join(folder, "packages/tools/src/breaking_changes.ts");
      return [
        0,
        execFileSync(process.execPath, [script, "HEAD"], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }),
      ];
    } catch (error) {
      const { status, stdout } = error as { status: number; stdout: string };
      return [status, stdout];
    }
  };
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  try {
    for (const name of ["package.json", "packages/tools/src", "packages/local/src/checkout.ts"])
      cpSync(join(ROOT, name), join(folder, name), { recursive: true });
    git("init", "-q");
    write("openapi.json", JSON.stringify(document()));
    const commit = (changelog: string) => {
      write("CHANGELOG.md", changelog);
      git("add", ".");
      git("commit", "-qm", "changelog");
    };
    const released = "## 1.0.0 (2026-01-01)\n\n- ⚠️ 2026-01-01: something else\n";
    commit("# Changelog\n\n## Unreleased\n");
    expect(run()).toEqual([0, ""]);

    const after = document();
    delete after.paths["/things"]?.post;
    write("openapi.json", JSON.stringify(after));
    expect(run(), "nothing is released that could break").toEqual([0, "POST /things is gone\n"]);
    write("openapi.json", JSON.stringify(document()));
    commit(`# Changelog\n\n${released}`);
    write("openapi.json", JSON.stringify(after));
    expect(run()).toEqual([1, "POST /things is gone\n"]);
    write("CHANGELOG.md", `# Changelog\n\n## Unreleased\n\n- ⚠️ 2027-03-01: POST /things goes\n\n${released}`);
    expect(run()).toEqual([0, "POST /things is gone\n"]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
