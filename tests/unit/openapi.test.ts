import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { ERROR_FIELDS } from "#shared/foundation/error_fields.ts";
import { ERRORS, wireText } from "#shared/foundation/errors.ts";
import { type CallerRule, type Endpoint, errorsOf } from "#shared/http/endpoint.ts";
import { openapi } from "../../packages/tools/src/write_openapi.ts";
import { ENDPOINTS, named, scopeOf } from "../contract/samples.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const committed = readFileSync(`${root}openapi.json`, "utf8");
const document = JSON.parse(committed);

test("§9.5 the committed openapi.json is what the code declares: npm run openapi", () => {
  expect(committed === openapi(), "openapi.json is out of date: run `npm run openapi` and commit it").toBe(true);
});

test("§9.5 it is good OpenAPI 3.1 by the recommended rules of Redocly", () => {
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
});

test("§7 the Error schema lists every field that an error may carry, each at the top of the body", () => {
  const { properties, required } = document.components.schemas.Error;
  const always = ["error", "detail", "error_description", "request_id"];
  expect(Object.keys(properties).sort()).toEqual([...always, ...Object.keys(ERROR_FIELDS)].sort());
  expect(required).toEqual(["error", "request_id"]);
  expect(Object.keys(properties.issues.items.properties)).toEqual(["path", "message"]);
});

test("§9.2 promises of no answer that it has no further fields", () => {
  expect(committed).not.toContain("additionalProperties");
});
