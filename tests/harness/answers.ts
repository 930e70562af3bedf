// Every function of ours, and the check that an answer is one that its endpoint declares.

import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import * as z from "zod";
import type { Db } from "#shared/foundation/db.ts";
import { ERROR_FIELDS } from "#shared/foundation/error_fields.ts";
import { ERRORS, type ErrorCode, wireText } from "#shared/foundation/errors.ts";
import { errorsOf } from "#shared/http/endpoint.ts";
import { functionFor } from "#shared/http/routes.ts";
import { endpointsOf, pathsOf, type Routed, type Surface } from "#shared/http/serve.ts";
import { CatalogCharger, RegistrationStatus } from "#shared/values/models.ts";
import { surface as cpo } from "../../supabase/functions/cpo-v1/app.ts";
import { surface as documents } from "../../supabase/functions/documents/app.ts";
import { surface as oauthAuthorize } from "../../supabase/functions/oauth-authorize/app.ts";
import { surface as oauthRevoke } from "../../supabase/functions/oauth-revoke/app.ts";
import { surface as oauthToken } from "../../supabase/functions/oauth-token/app.ts";
import { surface as gateway } from "../../supabase/functions/ocpp/app.ts";
import { surface as partner } from "../../supabase/functions/partner/app.ts";
import { surface as personal } from "../../supabase/functions/personal/app.ts";
import { surface as sandbox } from "../../supabase/functions/sandbox/app.ts";
import { surface as worker } from "../../supabase/functions/worker/app.ts";
import { misfitOf } from "./sql_answers.ts";

export const SURFACES: readonly Surface[] = [oauthToken, oauthAuthorize, oauthRevoke, cpo, partner, sandbox, personal];
/** With what integrators never see. */
export const SERVED: readonly Surface[] = [...SURFACES, worker, documents, gateway];
/** The endpoints of each, by its slug. */
export const ENDPOINTS_OF: ReadonlyMap<string, readonly Routed[]> = new Map(
  await Promise.all(SERVED.map(async (surface) => [surface.slug, await endpointsOf(surface)] as const)),
);

// biome-ignore lint/suspicious/noExplicitAny: a test reads an answer it has just checked against its schema
export type Answer = { status: number; headers: Headers; body: any };

/** Fails the test where an answer does not fit what its endpoint declares. */
export function checkAnswer(method: string, path: string, answer: Answer): void {
  expect(answer.headers.get("x-request-id"), "every answer carries X-Request-Id").toMatch(/^[0-9a-f-]{36}$/);
  expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  const endpoint = endpointAt(method, path);
  if (answer.status < 400) {
    expect(endpoint, `${method} ${path} succeeded without being declared`).toBeDefined();
    if (endpoint)
      expectEqual(
        answer.body,
        strictly(endpoint.response, answer.body),
        `${endpoint.id} answers what it declares, and no more`,
      );
    return;
  }
  const codes: ErrorCode[] = endpoint ? [...errorsOf(endpoint)] : ["not_found"];
  const matching = codes.filter(
    (code) => wireText(code, answer.body) === answer.body?.error && ERRORS[code].status === answer.status,
  );
  expect(
    matching,
    `${method} ${path} answered ${answer.status} ${answer.body?.error}, which it does not declare`,
  ).not.toEqual([]);
  expect(answer.body.request_id).toBe(answer.headers.get("x-request-id"));
  // of two codes that read the same, either may be meant
  const surface = SERVED.find(({ slug }) => slug === functionFor(path));
  const schemas = matching.map((code) => errorBody(code, surface?.errors));
  const fitting = schemas.find((schema) => schema.safeParse(answer.body).success) ?? schemas[0] ?? z.never();
  expectEqual(
    answer.body,
    strictly(fitting, answer.body),
    `${matching} carries what its row of the error table names, and no more`,
  );
}

/** `toEqual` walks a document byte by byte, so it is asked only where Node sees a difference. */
function expectEqual(actual: unknown, expected: unknown, message: string): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual, message).toEqual(expected);
}

/** With the two that error_fields.ts may only name. */
const FIELDS = { ...ERROR_FIELDS, suggestions: z.array(CatalogCharger), registration_status: RegistrationStatus };

/** The bodies of errors, by their row of the error table: made once, because Zod compiles each. */
const ERROR_BODIES = new Map<string, z.ZodType>();

function errorBody(code: ErrorCode, style: Surface["errors"]): z.ZodType {
  const text = style === "oauth" ? "error_description" : "detail";
  const known = ERROR_BODIES.get(`${code} ${text}`);
  if (known) return known;
  const named = (ERRORS[code].fields ?? []).map((field) => [field, FIELDS[field].optional()]);
  const body = z.object({
    error: z.string(),
    [text]: z.string(),
    ...Object.fromEntries(named),
    doc_url: z.string().optional(),
    request_id: z.string(),
  });
  ERROR_BODIES.set(`${code} ${text}`, body);
  return body;
}

/** Keys that meant something before there was one envelope, and the envelope's own, which db.ts lets nobody else see. */
const DIALECT = /^(?:outcome|wrong_kind|look_up|ask_\w+|refused|need)$/;

/**
 * A database that adds to `heard` each answer that speaks of refusals or needs otherwise than by the envelope of db.ts, and each that
 * differs from its schema.
 */
export function listening(db: Db, heard: string[]): Db {
  const hear = (name: string, answer: string) => {
    const parsed = JSON.parse(answer);
    const keys = Array.isArray(parsed) ? [] : Object.keys(parsed ?? {});
    for (const key of keys) if (DIALECT.test(key)) heard.push(`api.${name} answers ${key}`);
    const misfit = misfitOf(name, parsed);
    if (misfit) heard.push(misfit);
  };
  return {
    ...db,
    withDeadlineFrom: (begun) => listening(db.withDeadlineFrom(begun), heard),
    async call(name, ...args) {
      const answer = await db.call(name, ...args);
      hear(name, answer);
      return answer;
    },
    async open(name, ...args) {
      const opened = await db.open(name, ...args);
      // an envelope comes whole: db.ts has yet to read it
      if (!/^\s*\{\s*"(?:refused|need)"/.test(opened.answer)) hear(name, opened.answer);
      hear("charge", opened.admission);
      return opened;
    },
  };
}

/** Every endpoint, with the forms of its path. */
const FORMS = SERVED.flatMap((surface) =>
  (ENDPOINTS_OF.get(surface.slug) ?? []).map((endpoint) => ({
    endpoint,
    forms: pathsOf(surface, endpoint.path).map(
      (path) => new RegExp(`^${path.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`),
    ),
  })),
);

function endpointAt(method: string, path: string): Routed | undefined {
  const sent = path.replace(/%3A/gi, ":");
  const fits = (form: RegExp) => form.test(sent);
  return FORMS.find(({ endpoint, forms }) => endpoint.method === method && forms.some(fits))?.endpoint;
}

/** The answer as its schema sees it: unknown keys are dropped, so a difference is something undeclared. */
function strictly(schema: z.ZodType, body: unknown): unknown {
  const result = schema.safeParse(body);
  return result.success ? result.data : { "does not fit": result.error.issues };
}
