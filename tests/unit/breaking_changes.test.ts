import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { announcements, breakingChanges, type Document } from "../../packages/tools/src/breaking_changes.ts";
import { openapi } from "../../packages/tools/src/write_openapi.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const COMMITTED = openapi();
const committed = () => JSON.parse(COMMITTED) as Document;

const document = (): Document =>
  structuredClone({
    paths: {
      "/things": {
        get: {
          security: [{ key: [] }, { user: ["things:read"] }],
          parameters: [{ name: "limit", in: "query", schema: { type: "integer", maximum: 200 } }],
          responses: {
            200: { content: { "application/json": { schema: { $ref: "#/components/schemas/Things" } } } },
            404: { description: "gone" },
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
    components: {
      schemas: {
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
          },
        },
        NewThing: {
          type: "object",
          required: ["name"],
          properties: {
            name: { type: "string", maxLength: 120 },
            kind: { type: "string", enum: ["x", "y"] },
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

test.each<[string, Change]>([
  ["a new path", (d) => Object.assign(d.paths, { "/others": { get: { responses: {} } } })],
  ["a new optional field", schema("NewThing", (s) => Object.assign(s.properties, { note: { type: "string" } }))],
  ["a new field of an answer", schema("Thing", (s) => Object.assign(s.properties, { note: { type: "string" } }))],
  ["a new value of an answer", schema("Thing", (s) => s.properties.state.enum.push("c"))],
  ["a new value that is taken", schema("NewThing", (s) => s.properties.kind.enum.push("z"))],
  ["a looser bound", schema("NewThing", (s) => Object.assign(s.properties.name, { maxLength: 500 }))],
  ["a field that need not be sent any more", schema("NewThing", (s) => s.required.splice(0))],
  ["a field that is always there now", schema("Thing", (s) => s.required.push("at"))],
  ["another credential that is taken", get((o) => o.security.push({ session: [] }))],
  [
    "a new optional parameter",
    get((o) => o.parameters.push({ name: "search", in: "query", schema: { type: "string" } })),
  ],
  ["an error that is not answered any more", get((o) => delete o.responses[404])],
  ["a description", get((o) => Object.assign(o, { summary: "Things" }))],
])("§9.2 %s breaks nobody", (_, change) => {
  const after = document();
  change(after);
  expect(breakingChanges(document(), after)).toEqual([]);
});

test.each<[string, Change, string]>([
  ["a path that is gone", (d) => delete d.paths["/things"].post, "POST /things is gone"],
  [
    "a renamed field",
    schema("Thing", (s) => Object.assign(s.properties, { ident: s.properties.id, id: undefined })),
    "GET /things 200.things[] has no id any more",
  ],
  ["a removed field", schema("Thing", (s) => delete s.properties.at), "GET /things 200.things[] has no at any more"],
  [
    "a field that may be missing",
    schema("Thing", (s) => s.required.pop()),
    "GET /things 200.things[] may leave out state",
  ],
  [
    "a field that may be null",
    schema("Thing", (s) => Object.assign(s.properties.id, { type: ["string", "null"] })),
    "GET /things 200.things[].id may be string, null",
  ],
  [
    "another form",
    schema("Thing", (s) => delete s.properties.id.format),
    "GET /things 200.things[].id has no format uuid any more",
  ],
  [
    "a list that is none",
    schema("Things", (s) => Object.assign(s.properties.things, { type: "object" })),
    "GET /things 200.things may be object",
  ],
  [
    "another status of success",
    get((o) => Object.assign(o.responses, { 200: undefined, 204: {} })),
    "GET /things answers no 200 any more",
  ],
  ["a removed parameter", get((o) => o.parameters.pop()), "GET /things has no parameter limit any more"],
  [
    "a required parameter",
    get((o) => o.parameters.push({ name: "of", in: "query", required: true })),
    "GET /things requires parameter of",
  ],
  [
    "a tighter parameter",
    get((o) => Object.assign(o.parameters[0].schema, { maximum: 100 })),
    "GET /things ?limit has maximum 100",
  ],
  ["a credential that is not taken", get((o) => o.security.shift()), 'GET /things takes no {"key":[]} any more'],
  [
    "another scope",
    get((o) => Object.assign(o.security[1], { user: ["things:all"] })),
    'GET /things takes no {"user":["things:read"]} any more',
  ],
  ["a required field", schema("NewThing", (s) => s.required.push("kind")), "POST /things body requires kind"],
  [
    "a field that is not taken",
    schema("NewThing", (s) => delete s.properties.size),
    "POST /things body has no size any more",
  ],
  [
    "null that is not taken",
    schema("NewThing", (s) => Object.assign(s.properties.size, { type: "number" })),
    "POST /things body.size takes number only",
  ],
  [
    "a value that is not taken",
    schema("NewThing", (s) => s.properties.kind.enum.pop()),
    "POST /things body.kind takes y no longer",
  ],
  [
    "a list of values",
    schema("NewThing", (s) => Object.assign(s.properties.name, { enum: ["one"] })),
    "POST /things body.name takes one only",
  ],
  [
    "a shorter text",
    schema("NewThing", (s) => Object.assign(s.properties.name, { maxLength: 60 })),
    "POST /things body.name has maxLength 60",
  ],
  [
    "a first bound",
    schema("NewThing", (s) => Object.assign(s.properties.size, { minimum: 1 })),
    "POST /things body.size has minimum 1",
  ],
  [
    "a pattern",
    schema("NewThing", (s) => Object.assign(s.properties.name, { pattern: "^x" })),
    "POST /things body.name has pattern ^x",
  ],
  [
    "fewer kinds of value",
    schema("NewThing", (s) => s.properties.code.anyOf.pop()),
    "POST /things body.code has other anyOf",
  ],
])("§9.3 %s breaks a client, and is named", (_, change, sentence) => {
  const after = document();
  change(after);
  expect(breakingChanges(document(), JSON.parse(JSON.stringify(after)))).toContain(sentence);
});

test("§9.5 every operation of ours that goes is noticed", () => {
  for (const [path, methods] of Object.entries(committed().paths)) {
    for (const method of Object.keys(methods)) {
      const after = committed();
      delete after.paths[path]?.[method];
      expect(breakingChanges(committed(), after)).toEqual([`${method.toUpperCase()} ${path} is gone`]);
    }
  }
});

test("§9.5 a line of the changelog that begins with ⚠️ announces", () => {
  expect(announcements("# x\n- ⚠️ 2027-01-01: gone\n- new ⚠️ thing\n⚠️ two\n")).toEqual(["- ⚠️ 2027-01-01: gone", "⚠️ two"]);
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
    for (const name of ["packages/tools/src", "packages/local/src/checkout.ts"])
      cpSync(join(ROOT, name), join(folder, name), { recursive: true });
    git("init", "-q");
    write("openapi.json", JSON.stringify(document()));
    write("CHANGELOG.md", "# Changelog\n\n- ⚠️ 2026-01-01: something else\n");
    git("add", ".");
    git("commit", "-qm", "first");
    expect(run()).toEqual([0, ""]);

    const after = document();
    delete after.paths["/things"]?.post;
    write("openapi.json", JSON.stringify(after));
    expect(run()).toEqual([1, "POST /things is gone\n"]);
    write("CHANGELOG.md", "# Changelog\n\n- ⚠️ 2027-03-01: POST /things goes\n- ⚠️ 2026-01-01: something else\n");
    expect(run()).toEqual([0, "POST /things is gone\n"]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
