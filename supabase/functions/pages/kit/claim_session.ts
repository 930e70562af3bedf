import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { newSecret, sameSecret } from "#shared/auth/tokens.ts";
import type { ClaimProof, Stage } from "#shared/domain/claim/flow.ts";
import { claimTokens, keyOfMac, mac } from "#shared/domain/claim/links.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { ENTER } from "./routes.ts";

const NAME = "claim";
const PROOFS = ["code", "link"] as const;
const STAGES: readonly Stage[] = ["invited", "claimed", "active"];
const SECONDS = 24 * 3600;
/** As long as private.require_recent_sign_in calls a sign-in recent. */
const FRESH_SECONDS = 15 * 60;

/**
 * A browser in which the address of a draft was proven. A forwarded link has none, and is asked for a code. What of it still
 * holds is for private.is_proven: what a partner's sign-in link began ends when the customer types a code, or signs.
 */
export type ClaimSession = ClaimProof & {
  /** What every form of this session sends along, so that no other page can send one. */
  form_token: string;
  /** Begun a moment ago: it may go on to the own pages without another code. */
  is_fresh: boolean;
};

/** The session of this draft that the browser shows, or null. Nothing is stored: the cookie is its own proof, bound to the draft. */
export function readClaimSession(c: Context, environment: Environment, draft_id: string): ClaimSession | null {
  const shown = readShown(c, environment, draft_id);
  return shown && shown.left > 0 ? shown.session : null;
}

/** Whether a form is one that this browser was shown in a session of this draft that has ended since. */
export function isLateForm(c: Context, environment: Environment, draft_id: string, form_token: string | null): boolean {
  const shown = readShown(c, environment, draft_id);
  return shown !== null && shown.left <= 0 && isFormOf(shown.session, form_token);
}

/** The session of the cookie, and how many seconds are left of it. */
function readShown(
  c: Context,
  environment: Environment,
  draft_id: string,
): { session: ClaimSession; left: number } | null {
  const cookie = isSecure(environment) ? getCookie(c, NAME, "secure") : getCookie(c, NAME);
  const [expires = "", by = "", at = "", nonce = "", proof = ""] = (cookie ?? "").split(".");
  const proved_by = PROOFS.find((each) => each === by);
  const stage = STAGES.find((each) => each === at);
  if (!proof || !proved_by || !stage) return null;
  const key = keyOfMac(environment, provedIn(draft_id, expires, { proved_by, stage }, nonce), proof);
  if (!key) return null;
  const left = Number(expires) - environment.now().getTime() / 1000;
  // under the key of the session, so that a form that was open while keys rotate is still its own
  const form_token = mac(environment, `form:${proof}`, key).slice(0, 22);
  return { session: { proved_by, stage, form_token, is_fresh: left > SECONDS - FRESH_SECONDS }, left };
}

/** A draft, by the link that its customer came by: the newest, unless told. */
type Claimed = { draft_id: string; token?: string };

/** Where the pages of a draft begin. */
export function claimPath(root: string, environment: Environment, { draft_id, token }: Claimed): string {
  return `${root}/claim/${token ?? claimTokens(environment, draft_id)[0]}`;
}

/** Begins a session, on the pages of this claim alone; it ends with the browser, or after a day. A used link there knows it too. */
export function beginClaimSession(
  c: Context,
  environment: Environment,
  claim: Claimed,
  how: ClaimProof,
  root: string,
  seconds = SECONDS,
): void {
  const expires = String(Math.floor(environment.now().getTime() / 1000) + seconds);
  const nonce = newSecret(16);
  const proof = mac(environment, provedIn(claim.draft_id, expires, how, nonce));
  const value = [expires, how.proved_by, how.stage, nonce, proof].join(".");
  for (const path of [root + ENTER, claimPath(root, environment, claim)])
    setCookie(c, NAME, value, attributesOf(environment, path));
}

/** Ends the session of a draft that this browser may have. */
export function endClaimSession(c: Context, environment: Environment, draft_id: string, root: string): void {
  const tokens = claimTokens(environment, draft_id);
  for (const path of [root + ENTER, ...tokens.map((token) => claimPath(root, environment, { draft_id, token }))])
    deleteCookie(c, NAME, attributesOf(environment, path));
}

function attributesOf(environment: Environment, path: string) {
  const secure = isSecure(environment);
  // no page of another scheme or host can put one in its place
  const prefix = secure ? { prefix: "secure" as const } : {};
  return { path, httpOnly: true, secure, sameSite: "Lax" as const, ...prefix };
}

const isSecure = ({ config }: Environment) => config.PAGES_URL.startsWith("https:");

export function isFormOf(session: ClaimSession, form_token: string | null): boolean {
  return sameSecret(form_token ?? "", session.form_token);
}

const provedIn = (draft_id: string, expires: string, { proved_by, stage }: ClaimProof, nonce: string) =>
  `session:${draft_id}:${expires}:${proved_by}:${stage}:${nonce}`;
