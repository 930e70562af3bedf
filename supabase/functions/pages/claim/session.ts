import type { Context } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { newSecret, sameSecret } from "#shared/auth/tokens.ts";
import { mac } from "#shared/domain/claim/links.ts";
import type { Environment } from "#shared/foundation/environment.ts";

const NAME = "claim";
const SECONDS = 24 * 3600;

/** A browser in which the address of a draft was proven. A forwarded link has none, and is asked for a code. */
export type ClaimSession = {
  /** What every form of this session sends along, so that no other page can send one. */
  form_token: string;
};

/** The session of this draft that the browser shows, or null. Nothing is stored: the cookie is its own proof, bound to the draft. */
export function readClaimSession(c: Context, environment: Environment, draft_id: string): ClaimSession | null {
  const [expires = "", nonce = "", proof = ""] = (getCookie(c, NAME) ?? "").split(".");
  if (!proof || !sameSecret(proof, proofOf(environment, draft_id, expires, nonce))) return null;
  if (Number(expires) * 1000 <= environment.now().getTime()) return null;
  return { form_token: formTokenOf(environment, proof) };
}

/** Begins a session, on the pages of this claim alone; it ends with the browser, or after a day. */
export function beginClaimSession(c: Context, environment: Environment, draft_id: string, path: string): void {
  const expires = String(Math.floor(environment.now().getTime() / 1000) + SECONDS);
  const nonce = newSecret(16);
  setCookie(c, NAME, `${expires}.${nonce}.${proofOf(environment, draft_id, expires, nonce)}`, {
    path,
    httpOnly: true,
    secure: environment.config.PAGES_URL.startsWith("https:"),
    sameSite: "Lax",
  });
}

export function isFormOf(session: ClaimSession, form_token: string | null): boolean {
  return sameSecret(form_token ?? "", session.form_token);
}

function proofOf(environment: Environment, draft_id: string, expires: string, nonce: string): string {
  return mac(environment, `session:${draft_id}:${expires}:${nonce}`);
}

function formTokenOf(environment: Environment, proof: string): string {
  return mac(environment, `form:${proof}`).slice(0, 22);
}
