// Every function of ours, and the check that an answer is one that its endpoint declares.

import { expect } from "vitest";
import type * as z from "zod";
import { ERRORS, type ErrorCode, wireText } from "#shared/foundation/errors.ts";
import { type Endpoint, errorsOf } from "#shared/http/endpoint.ts";
import { pathsOf, type Surface } from "#shared/http/surface.ts";
import { surface as cpo } from "../../supabase/functions/cpo-v1/app.ts";
import { surface as oauthAuthorize } from "../../supabase/functions/oauth-authorize/app.ts";
import { surface as oauthRevoke } from "../../supabase/functions/oauth-revoke/app.ts";
import { surface as oauthToken } from "../../supabase/functions/oauth-token/app.ts";
import { surface as partner } from "../../supabase/functions/partner/app.ts";
import { surface as personal } from "../../supabase/functions/personal/app.ts";
import { surface as sandbox } from "../../supabase/functions/sandbox/app.ts";
import { surface as worker } from "../../supabase/functions/worker/app.ts";

export const SURFACES: readonly Surface[] = [oauthToken, oauthAuthorize, oauthRevoke, cpo, partner, sandbox, personal];
/** With what integrators never see. */
export const SERVED: readonly Surface[] = [...SURFACES, worker];

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
      expect(answer.body, `${endpoint.id} answers what it declares, and no more`).toEqual(
        strictly(endpoint.response, answer.body),
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
  expect(answer.body.detail ?? answer.body.error_description, "every error says what to do").toBeTypeOf("string");
}

function endpointAt(method: string, path: string): Endpoint | undefined {
  const sent = path.replace(/%3A/gi, ":");
  for (const surface of SERVED) {
    for (const endpoint of surface.endpoints) {
      const fits = (declared: string) =>
        new RegExp(`^${declared.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`).test(sent);
      if (endpoint.method === method && pathsOf(surface, endpoint).some(fits)) return endpoint;
    }
  }
  return undefined;
}

/** The answer as its schema sees it: unknown keys are dropped, so a difference is something undeclared. */
function strictly(schema: z.ZodType, body: unknown): unknown {
  const result = schema.safeParse(body);
  return result.success ? result.data : { "does not fit": result.error.issues };
}
