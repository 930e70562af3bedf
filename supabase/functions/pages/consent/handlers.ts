import { AUTHORIZE, authorize } from "#shared/auth/authorize.ts";
import { sameSecret } from "#shared/auth/tokens.ts";
import { callFor } from "#shared/foundation/call.ts";
import { ApiError } from "#shared/foundation/errors.ts";
import { readBearer } from "#shared/http/admit.ts";
import { signInHandlers } from "../kit/sign_in.ts";
import { decidedPage, donePage } from "./views.ts";
import { type ConsentVisit, onRequest, SESSION_SECONDS } from "./visit.ts";

const show = onRequest(async (visit) => {
  const session = await visit.session();
  return session && !visit.returned() ? visit.ask(session) : visit.signIn(visit.waiting()?.email);
});

const signOut = onRequest(async (visit) => {
  await visit.end();
  return visit.go("");
});

const allow = onRequest(async (visit) => {
  const session = await visit.session();
  const proof = visit.form.get("proof") ?? "";
  if (!session) {
    // sent again after Back
    const decided = visit.cookie("decided");
    if (decided && sameSecret(proof, decided)) return visit.page(decidedPage(visit.frame, visit.asking));
    return visit.signIn(undefined, "lost");
  }
  if (!sameSecret(proof, visit.proof(session.jwt))) {
    visit.logOutcome("changed");
    return visit.ask(session, true);
  }

  let url: string;
  try {
    url = await allowed(visit, session.jwt);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    visit.logOutcome(error.code);
    return visit.signIn(undefined, "lost");
  }
  visit.logOutcome("allowed");
  // the session ends with the decision
  await visit.end();
  visit.keep("decided", proof, SESSION_SECONDS);
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

/** What each page of consent.ts does, and each form. */
export const pages = { ...signInHandlers(onRequest), show, allow, signOut };
