import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { linkKeys } from "#shared/auth/keys.ts";
import { newSecret } from "#shared/auth/tokens.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import type { Errors } from "./frame.ts";

/**
 * A form with an error goes back to its page by a redirect, so that reload and Back work. A cookie keeps what was typed
 * and what is wrong (flash message). It is encrypted, bound to the page and to who is signed in, and shown once.
 */
export type Returned = {
  /** What was typed, without what is never kept. */
  typed: URLSearchParams;
  errors: Errors;
};

/** Tells that the browser keeps cookies, and one browser from another. A browser without is answered at once. */
const KEEPS = "forms";
const NAME = "form";
/** A redirect is followed at once; this is for a slow network. */
const SECONDS = 120;
/** Browsers drop a cookie above 4096 bytes, name and attributes included. */
const MAX_LENGTH = 3500;
/** Longer than any field may be, so that what was too long is still seen to be. */
const MAX_VALUE = 501;

const ALGORITHM = "aes-256-gcm";
const TAG = { authTagLength: 16 };

type Left = { until: number; typed: [string, string][]; errors: Record<string, string> };

const keysOf = (environment: Environment) => linkKeys(environment, "returned forms");

/** A password is never stored, even encrypted; the page makes its own form token. */
const NEVER_KEPT = ["password", "form_token"];

/**
 * The fields of a form that its page may show again to who typed them. A one-time code is shown again only if another
 * field is wrong. The code was not used then, and the person need not look it up again.
 */
export function fieldsToKeep(form: URLSearchParams, errors: Errors, longest = MAX_VALUE): URLSearchParams {
  const dropped = errors.code ? [...NEVER_KEPT, "code"] : NEVER_KEPT;
  const fields = [...form].filter(([name]) => !dropped.includes(name));
  return new URLSearchParams(fields.map(([name, value]) => [name, value.slice(0, longest)]));
}

/** Asks the browser to show, with the form that it sends next, that it keeps cookies. */
export function askToKeep(c: Context, environment: Environment): void {
  if (browserOf(c, environment)) return;
  const { name, attributes } = cookieOf(environment, KEEPS, c.var.root || "/");
  setCookie(c, name, newSecret(), attributes);
}

/** The secret of a browser that keeps cookies. */
export function browserOf(c: Context, environment: Environment): string | undefined {
  return getCookie(c, cookieOf(environment, KEEPS, "/").name);
}

/** The page that a form waits for, and the person who may see it there. */
type Place = { path: string; whose: string };

/**
 * Stores a form for its page, and returns whether the typed fields fit into the cookie. If they do not, only the errors
 * are stored.
 */
export function putFlash(
  c: Context,
  environment: Environment,
  place: Place,
  { typed, errors }: Returned,
  seconds = SECONDS,
): boolean {
  const until = environment.now().getTime() + seconds * 1000;
  const whole = seal(environment, place, JSON.stringify({ until, typed: [...typed], errors }));
  const fits = whole.length <= MAX_LENGTH;
  const value = fits ? whole : seal(environment, place, JSON.stringify({ until, typed: [], errors }));
  const { name, attributes } = cookieOf(environment, NAME, place.path);
  setCookie(c, name, value, { ...attributes, maxAge: seconds });
  return fits;
}

/** The form that was stored for this page, once; null if there is none, or we did not store it. */
export function takeFlash(c: Context, environment: Environment, place: Place): Returned | null {
  const { name, attributes } = cookieOf(environment, NAME, place.path);
  const value = getCookie(c, name);
  if (value === undefined) return null;
  const opened = open(environment, place, value);
  if (!opened || opened.until <= environment.now().getTime()) return null;
  deleteCookie(c, name, attributes);
  return { typed: new URLSearchParams(opened.typed), errors: opened.errors };
}

/** Nonce, ciphertext and tag, apart by dots. It opens for its page and person alone. */
function seal(environment: Environment, place: Place, text: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv(ALGORITHM, keysOf(environment)[0], nonce, TAG);
  cipher.setAAD(boundTo(place));
  const sealed = cipher.update(text, "utf8", "base64url") + cipher.final("base64url");
  return [nonce.toString("base64url"), sealed, cipher.getAuthTag().toString("base64url")].join(".");
}

function boundTo({ path, whose }: Place): Buffer {
  return Buffer.from(JSON.stringify([path, whose]));
}

function open(environment: Environment, place: Place, value: string): Left | null {
  const [nonce = "", sealed = "", tag = ""] = value.split(".");
  for (const key of keysOf(environment))
    try {
      const decipher = createDecipheriv(ALGORITHM, key, Buffer.from(nonce, "base64url"), TAG);
      decipher.setAAD(boundTo(place));
      decipher.setAuthTag(Buffer.from(tag, "base64url"));
      // the tag proves that we sealed it
      return JSON.parse(decipher.update(sealed, "base64url", "utf8") + decipher.final("utf8"));
    } catch {
      // under another key; or forged, another page's, another person's
    }
  return null;
}

function cookieOf({ config }: Environment, name: string, path: string) {
  const secure = config.PAGES_URL.startsWith("https:");
  return {
    name: secure ? `__Secure-${name}` : name,
    attributes: { path, httpOnly: true, secure, sameSite: "Lax" } as const,
  };
}
