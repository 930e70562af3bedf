/** The words of a charger that are kept with the session they began, ended or signed. */

import { isObject } from "./lenient.ts";
import type { Happening, Protocol } from "./read.ts";

/** What names a card or its owner: never needed, so never kept. */
const TAGS = new Set(["idTag", "parentIdTag", "idToken", "groupIdToken", "groupIdTag", "iso15118CertificateHashData"]);

/** A value without tags, and without text that PostgreSQL cannot store. */
export function keepable(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed().replaceAll("\u0000", "\ufffd");
  if (Array.isArray(value)) return value.map(keepable);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !TAGS.has(name))
      .map(([name, each]) => [String(keepable(name)), keepable(each)]),
  );
}

export type Evidence = { document: object; sent_sha256: string; signed?: string[] };

/** The evidence of what happened; null for a running value, which only moves the session that is going on. */
export function evidenceOf(
  protocol: Protocol,
  { action, payload, sent_sha256 }: { action: string; payload: unknown; sent_sha256: string },
  happened: Happening,
): Evidence | null {
  if (happened.kind === "boot") return null;
  const readings = "readings" in happened ? happened.readings : happened.kind === "values" ? happened : null;
  const signed = readings?.signed ?? [];
  const isRunning =
    (happened.kind === "values" && !happened.begin && !happened.end) ||
    (happened.kind === "event" && happened.type === "Updated" && !readings?.begin && !readings?.end);
  if (isRunning && signed.length === 0) return null;
  return { document: { protocol, action, payload }, sent_sha256, ...(signed.length > 0 ? { signed } : {}) };
}
