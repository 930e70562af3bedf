// The schemas of what api functions answer, all together, and the check that SQL answers what they say and no more.

import { isDeepStrictEqual } from "node:util";
import { inject } from "vitest";
import type * as z from "zod";
import { ANSWERS as claims } from "#shared/domain/claim/answers.ts";
import { ANSWERS as imports } from "#shared/domain/import/answers.ts";
import { ANSWERS as endpoints } from "#shared/endpoints/answers.ts";
import { ANSWERS as admission } from "#shared/foundation/admission.ts";
import type { SqlAnswers } from "#shared/foundation/answers.ts";
import { ANSWERS as cpo } from "../../supabase/functions/cpo-v1/answers.ts";
import { ANSWERS as documents } from "../../supabase/functions/documents/answers.ts";
import { ANSWERS as oauthRevoke } from "../../supabase/functions/oauth-revoke/answers.ts";
import { ANSWERS as oauthToken } from "../../supabase/functions/oauth-token/answers.ts";
import { ANSWERS as ocpi } from "../../supabase/functions/ocpi/answers.ts";
import { ANSWERS as ocpp } from "../../supabase/functions/ocpp/answers.ts";
import { ANSWERS as claimPages } from "../../supabase/functions/pages/claim/model.ts";
import { ANSWERS as consent } from "../../supabase/functions/pages/consent/model.ts";
import { ANSWERS as kit } from "../../supabase/functions/pages/kit/model.ts";
import { ANSWERS as logo } from "../../supabase/functions/pages/logo/model.ts";
import { ANSWERS as mandate } from "../../supabase/functions/pages/mandate/model.ts";
import { ANSWERS as mijn } from "../../supabase/functions/pages/mijn/model.ts";
import { ANSWERS as colleagues } from "../../supabase/functions/pages/portal/colleagues/model.ts";
import { ANSWERS as customers } from "../../supabase/functions/pages/portal/customers/model.ts";
import { ANSWERS as drafts } from "../../supabase/functions/pages/portal/drafts/model.ts";
import { ANSWERS as importPages } from "../../supabase/functions/pages/portal/import/model.ts";
import { ANSWERS as portal } from "../../supabase/functions/pages/portal/model.ts";
import { ANSWERS as payouts } from "../../supabase/functions/pages/portal/payouts/model.ts";
import { ANSWERS as uploads } from "../../supabase/functions/pages/portal/uploads/model.ts";
import { ANSWERS as partner } from "../../supabase/functions/partner/answers.ts";
import { ANSWERS as personal } from "../../supabase/functions/personal/answers.ts";
import { ANSWERS as sandbox } from "../../supabase/functions/sandbox/answers.ts";
import { ANSWERS as worker } from "../../supabase/functions/worker/answers.ts";
import { noteAnswered } from "./answered.ts";

/** By the name of the api function. The compiler asks for a schema of each key of SqlAnswers. */
const SCHEMAS: { [Name in keyof SqlAnswers]: z.ZodType<SqlAnswers[Name]> } = {
  ...admission,
  ...claims,
  ...imports,
  ...endpoints,
  ...cpo,
  ...documents,
  ...oauthRevoke,
  ...oauthToken,
  ...ocpi,
  ...ocpp,
  ...claimPages,
  ...consent,
  ...kit,
  ...logo,
  ...mandate,
  ...mijn,
  ...colleagues,
  ...customers,
  ...drafts,
  ...importPages,
  ...portal,
  ...payouts,
  ...uploads,
  ...partner,
  ...personal,
  ...sandbox,
  ...worker,
};

const schemas = new Map<string, z.ZodType>(Object.entries(SCHEMAS));

/** The functions whose answer this process has checked. A whole run has to check each: see summary_reporter.ts. */
const checked = new Set<string>();

/** How an answer differs from what TypeScript takes it for; null if it does not, or if nothing reads it. */
export function misfitOf(name: string, answer: unknown): string | null {
  const schema = schemas.get(name);
  if (!schema) return null;
  const folder = inject("answered");
  if (folder && !checked.has(name)) {
    checked.add(name);
    noteAnswered(folder, name, schemas.keys());
  }
  const result = schema.safeParse(answer);
  if (!result.success) {
    const issues = result.error.issues.map(({ path, message }) => `${placeOf(path)}: ${message}`);
    return `api.${name} answers otherwise than its schema: ${[...new Set(issues)].join("; ")}`;
  }
  return isDeepStrictEqual(result.data, answer)
    ? null
    : `api.${name} answers more than its schema: ${[...new Set(unknownIn(answer, result.data).map(placeOf))].join(", ")}`;
}

/** Every item of a list is in one place. */
const placeOf = (path: readonly PropertyKey[]): string =>
  path.map((key) => (/^\d+$/.test(String(key)) ? "*" : String(key))).join(".") || "it";

/** Where an answer has a key that its schema, which drops what it does not know, has not. */
function unknownIn(answer: unknown, known: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof answer !== "object" || answer === null || typeof known !== "object" || known === null) return [];
  return Object.entries(answer).flatMap(([key, value]) => {
    const at = [...path, key];
    return Object.hasOwn(known, key) ? unknownIn(value, (known as Record<string, unknown>)[key], at) : [at];
  });
}
