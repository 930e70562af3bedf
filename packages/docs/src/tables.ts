// What guides show of the code itself, so that it is never said twice: `<!-- errors -->` in a guide is the table of errors.

import { readFileSync } from "node:fs";
import { HEADINGS } from "#shared/domain/charging_in/file/headings.ts";
import { EVENT_TYPES, EVENTS } from "#shared/domain/events.ts";
import { ERRORS, type ErrorCode, wireText } from "#shared/foundation/errors.ts";
import { RATE_LIMITS } from "#shared/values/rate_limits.ts";
import { CPO_SCOPES, USER_SCOPES } from "#shared/values/scopes.ts";

type Operation = { "x-rate-limit"?: { bucket: string }; responses: Record<string, { $ref?: string }> };
/** What of openapi.json is read here. */
export type Described = {
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, { content: Record<string, { examples?: Record<string, unknown> }> }> };
};

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("<", "&lt;");
const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");

/** Every operation as `GET /v1/accounts`, with what the document says of it. */
const operationsOf = ({ paths }: Described) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
  );

const namesOf = (described: Described, has: (operation: Operation) => boolean) =>
  operationsOf(described)
    .filter(({ operation }) => has(operation))
    .map(({ name }) => `\`${name}\``);

/** The codes among the responses of an operation; each has an example by its name. */
function codesOf({ components }: Described, { responses }: Operation): Set<string> {
  const names = Object.values(responses).flatMap(({ $ref }) => ($ref ? [$ref.slice($ref.lastIndexOf("/") + 1)] : []));
  return new Set(
    names.flatMap((name) => Object.keys(components.responses[name]?.content["application/json"]?.examples ?? {})),
  );
}

/** From so many operations on an error is said to be of any. */
const MANY = 8;

function errors(described: Described): string {
  const codes = new Map(operationsOf(described).map(({ operation }) => [operation, codesOf(described, operation)]));
  const rows = (Object.keys(ERRORS) as ErrorCode[]).flatMap((code) => {
    const places = namesOf(described, (operation) => codes.get(operation)?.has(code) ?? false);
    // errors between our own pages and functions, which no integrator meets
    if (places.length === 0 && code !== "not_found") return [];
    const { status, detail } = ERRORS[code];
    const where = code === "not_found" ? "any path" : places.length > MANY ? "many" : places.join("<br>");
    // doc_url of an error's body leads here
    const name = `<a id="${code}"></a>\`${cell(wireText(code))}\``;
    return [[String(status), name, cell(detail), where]];
  });
  return table(["status", "`error`", "what it means, and what to do", "answered by"], rows);
}

function limits(described: Described): string {
  const rows = Object.entries(RATE_LIMITS).map(([bucket, { quota, window_seconds }]) => {
    const names = namesOf(described, (operation) => operation["x-rate-limit"]?.bucket === bucket);
    return [`\`${bucket}\``, `${quota} in ${window_seconds} s`, names.join("<br>")];
  });
  return table(["bucket", "requests", "operations, counted together"], rows);
}

const scopes = (of: Readonly<Record<string, string>>) =>
  table(
    ["scope", "lets"],
    Object.entries(of).map(([scope, lets]) => [`\`${scope}\``, lets]),
  );

function events(): string {
  const rows = EVENT_TYPES.map((type) => {
    const { about, client, partner } = EVENTS[type];
    return [`\`${type}\``, cell(about), client ? "yes" : "", partner ? "yes" : ""];
  });
  return table(["type", "when", "`/v1/events`", "`/partner/events`"], rows);
}

/** What a column of a file may be called. Files of months and of sessions know the same headings for kWh. */
function headings(): string {
  const { kwh, ...months } = HEADINGS.months;
  const fields = [...Object.entries(HEADINGS.sessions).map((field) => ["sessions", ...field])];
  for (const field of Object.entries(months)) fields.push(["months", ...field]);
  const rows = fields.map(([kind = "", field = "", names = ""]) => [
    names === kwh ? "both" : kind,
    `\`${field}\``,
    names.replace(/\S+/g, "`$&`").replaceAll(" ", ", "),
  ]);
  return table(["file", "field", "headings"], rows);
}

const TABLES: Readonly<Record<string, (described: Described) => string>> = {
  errors,
  limits,
  events,
  headings,
  "cpo scopes": () => scopes(CPO_SCOPES),
  "user scopes": () => scopes(USER_SCOPES),
};

/**
 * A guide with its tables, and with the files of the repository that it shows: `<!-- file: examples/… -->`.
 * @throws {Error} for a table or a file that there is not
 */
export function withTables(markdown: string, described: Described): string {
  return markdown
    .replace(/^<!-- table: ([\w ]+) -->$/gm, (_, name: string) => {
      const make = TABLES[name];
      if (!make) throw new Error(`there is no table "${name}"`);
      return make(described);
    })
    .replace(/^<!-- file: ([\w/]+\.(\w+)) -->$/gm, (_, path: string, language: string) => {
      const text = readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
      return `\`\`\`${language}\n${text}\`\`\``;
    });
}
