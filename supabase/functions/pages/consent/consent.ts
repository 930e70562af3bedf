import { AUTHORIZE, authorize } from "#shared/auth/authorize.ts";
import { sameSecret } from "#shared/auth/tokens.ts";
import { callFor } from "#shared/foundation/call.ts";
import { ApiError } from "#shared/foundation/errors.ts";
import { readBearer } from "#shared/http/admit.ts";
import { signInHandlers } from "../kit/sign_in.ts";
import type { Flow } from "../kit/visit.ts";
import { donePage } from "./views.ts";
import { type ConsentVisit, onRequest, PATH, SQL } from "./visit.ts";

const show = onRequest(async (visit) => {
  const session = await visit.session();
  return session && !visit.returned() ? visit.ask(session) : visit.signIn(visit.waiting()?.email);
});

const { signInByPassword, mailCode, showCode, signInByCode } = signInHandlers(onRequest);

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
 * oauth-authorize does with the person's session: the page has no rules of its own.
 */
export const consent: Flow = {
  id: "the pages of consent",
  sql: [...SQL, ...AUTHORIZE.sql],
  routes: [
    { method: "GET", path: PATH, run: show },
    { method: "POST", path: PATH, run: allow },
    { method: "POST", path: `${PATH}/sign-in`, run: signInByPassword },
    { method: "POST", path: `${PATH}/mail-code`, run: mailCode },
    { method: "GET", path: `${PATH}/code`, run: showCode },
    { method: "POST", path: `${PATH}/code`, run: signInByCode },
    { method: "POST", path: `${PATH}/sign-out`, run: signOut },
  ],
};
