import { AUTHORIZE, authorize } from "#shared/auth/authorize.ts";
import { secretKey, signInByMail, signInByPassword } from "#shared/auth/supabase_auth.ts";
import { hashAddress, hashSecret, newCode, newSecret, sameSecret } from "#shared/auth/tokens.ts";
import { composeSignInCode } from "#shared/domain/mail/mail.ts";
import { callFor } from "#shared/foundation/call.ts";
import { ApiError, CODE_REFUSALS } from "#shared/foundation/errors.ts";
import { readBearer } from "#shared/http/admit.ts";
import { email } from "#shared/values/fields.ts";
import { readCode } from "../kit/code.ts";
import type { Flow } from "../kit/visit.ts";
import { deviceHash } from "./device.ts";
import { donePage } from "./views.ts";
import { type ConsentVisit, onRequest, onSignInForm, PATH, SQL } from "./visit.ts";
import { WORDS } from "./words.ts";

/** Longer than the code works, so that whoever comes late is told so. */
const CODE_COOKIE_SECONDS = 3600;

/** The address in a form, as it is known; undefined where it can be none. */
function addressIn({ form }: ConsentVisit): string | undefined {
  return email().safeParse((form.get("email") ?? "").slice(0, 254)).data;
}

/** Whose sign-in is counted, and from where; by the browser alone where its owner signed in before. */
function counted(visit: ConsentVisit, address: string) {
  const { environment, address_hash } = visit;
  const device_hash = deviceHash(environment, address, visit.cookie("consent-device"));
  return { address_hash, email_hash: hashAddress(environment, address), device_hash };
}

const show = onRequest(async (visit) => {
  const session = await visit.session();
  return session && !visit.returned() ? visit.ask(session) : visit.signIn(visit.waiting()?.email);
});

const signIn = onSignInForm(async (visit) => {
  const words = WORDS[visit.locale].sign_in.errors;
  const address = addressIn(visit);
  const password = visit.form.get("password") ?? "";
  if (!address || !password) {
    return visit.refuseSignIn({
      ...(address ? {} : { email: words.email }),
      ...(password ? {} : { password: words.password }),
    });
  }

  await visit.call("count_sign_in", counted(visit, address));
  const jwt = await signInByPassword(visit.environment, address, password);
  if (jwt === "wrong" || jwt === "unconfirmed") {
    visit.became(jwt);
    return visit.refuseSignIn({ password: words[jwt] });
  }
  return visit.begin(jwt);
});

/** Mails a code, if there is a login to sign in to. Nothing that is answered says whether there is. */
const mailCode = onSignInForm(async (visit) => {
  const { frame, asking, environment } = visit;
  const address = addressIn(visit);
  if (!address) return visit.refuseSignIn({ email: WORDS[frame.locale].sign_in.errors.email });

  secretKey(environment); // without one the code would be mailed in vain
  const { config, locale } = frame;
  const [token, code] = [newSecret(), newCode()];
  const sending = visit.call("send_sign_in_code", {
    ...counted(visit, address),
    ...hashesOf(token, code),
    email: address,
    mail: composeSignInCode({ config, locale, code, app: asking.name }),
  });
  const { refused } = await visit.attempt(sending, ["too_many_codes"]);
  if (refused) return visit.tooManyCodes(refused, frame.to("/code"));
  visit.became("sent");
  visit.keep("consent-code", `${token} ${address}`, CODE_COOKIE_SECONDS);
  return visit.go("/code");
});

/** The token never leaves the browser it was given to; a code without it is worth nothing. */
function hashesOf(token: string, code: string) {
  return { token_hash: hashSecret(token), code_hash: hashSecret(`${token}:${code}`) };
}

const showCode = onRequest(async (visit) => {
  const waiting = visit.waiting();
  return waiting ? visit.askCode(waiting.email) : visit.go("");
});

const signInByCode = onSignInForm(async (visit) => {
  const waiting = visit.waiting();
  if (!waiting) return visit.go("");
  const code = readCode(visit.form);
  if (code === null) return visit.refuseCode(waiting.email, "code_missing");

  const redeeming = visit.call<{ email: string }>("redeem_sign_in_code", hashesOf(waiting.token, code));
  const { answer, refused } = await visit.attempt(redeeming, CODE_REFUSALS);
  if (refused) return visit.refuseCode(waiting.email, refused.code);
  visit.became("right_code");
  const jwt = await signInByMail(visit.environment, answer.email);
  return jwt ? visit.begin(jwt) : visit.refuseCode(waiting.email, "code_expired");
});

const signOut = onRequest(async (visit) => {
  await visit.end();
  return visit.go("");
});

const allow = onRequest(async (visit) => {
  const session = await visit.session();
  if (!session) return visit.signIn();
  if (!sameSecret(visit.form.get("proof") ?? "", visit.proof(session.jwt))) {
    visit.became("changed");
    return visit.ask(session, true);
  }

  let url: string;
  try {
    url = await allowed(visit, session.jwt);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    visit.became(error.code);
    return visit.signIn();
  }
  visit.became("allowed");
  // the session ends with the decision
  await visit.end();
  // Not a redirect: form-action 'self' would stop it in Chromium, wherever it leads. A page that leads on is a step of its own.
  visit.c.header("Refresh", `0;url=${url}`);
  return visit.page(donePage(visit.frame, visit.asking, url));
});

/** Where the application waits for its code. The session is admitted as a request of oauth-authorize would be. */
async function allowed({ environment, c, request }: ConsentVisit, jwt: string): Promise<string> {
  try {
    const visitor = await readBearer(AUTHORIZE, jwt, environment, c.var.request_id);
    await visitor.admit();
    return await authorize(environment, callFor(AUTHORIZE, environment, visitor), request);
  } catch (error) {
    throw error instanceof ApiError && error.status === 503 ? new ApiError("service_unavailable", {}, error) : error;
  }
}

/**
 * The authorization endpoint of RFC 6749 for browsers: who asks, sign in with Supabase Auth, allow or refuse. Allowing is what
 * oauth-authorize does with the person's session: the page has no rules of its own. Whoever has no password, as after a claim,
 * signs in by a mailed code, which only the browser that asked for it can use.
 */
export const consent: Flow = {
  id: "the pages of consent",
  sql: [...SQL, ...AUTHORIZE.sql],
  routes: [
    { method: "GET", path: PATH, run: show },
    { method: "POST", path: PATH, run: allow },
    { method: "POST", path: `${PATH}/sign-in`, run: signIn },
    { method: "POST", path: `${PATH}/mail-code`, run: mailCode },
    { method: "GET", path: `${PATH}/code`, run: showCode },
    { method: "POST", path: `${PATH}/code`, run: signInByCode },
    { method: "POST", path: `${PATH}/sign-out`, run: signOut },
  ],
};
