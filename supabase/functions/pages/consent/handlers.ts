import { AUTHORIZE, authorize } from "#shared/auth/authorize.ts";
import { sameSecret } from "#shared/auth/tokens.ts";
import { callFor } from "#shared/foundation/call.ts";
import { ApiError } from "#shared/foundation/errors.ts";
import { readBearer } from "#shared/http/admit.ts";
import { signInHandlers } from "../kit/sign_in.ts";
import { type ConsentRequest, onRequest, SESSION_SECONDS } from "./request.ts";
import { decidedPage, donePage } from "./views.ts";

const show = onRequest(async (request) => {
  const session = await request.session();
  return session && !request.returned() ? request.ask(session) : request.signIn(request.waiting()?.email);
});

const signOut = onRequest(async (request) => {
  await request.end();
  return request.go("");
});

const allow = onRequest(async (request) => {
  const session = await request.session();
  const proof = request.form.get("proof") ?? "";
  if (!session) {
    // sent again after Back
    const decided = request.cookie("decided");
    if (decided && sameSecret(proof, decided)) return request.page(decidedPage(request.frame, request.asking));
    return request.signIn(undefined, "lost");
  }
  if (!sameSecret(proof, request.proof(session.jwt))) {
    request.logOutcome("changed");
    return request.ask(session, true);
  }

  let url: string;
  try {
    url = await allowed(request, session.jwt);
  } catch (error) {
    if (!(error instanceof ApiError) || (error.status !== 401 && error.code !== "recent_sign_in_required")) throw error;
    request.logOutcome(error.code);
    return request.signIn(undefined, "lost");
  }
  request.logOutcome("allowed");
  // the session ends with the decision
  await request.end();
  request.keep("decided", proof, SESSION_SECONDS);
  // Not a redirect: form-action 'self' would stop it in Chromium, wherever it leads. A page that leads on is a step of its own.
  request.c.header("Refresh", `0;url=${url}`);
  return request.page(donePage(request.frame, request.asking, url));
});

/** Where the application waits for its code. The session is admitted as a request of oauth-authorize would be. */
async function allowed({ environment, c, params }: ConsentRequest, jwt: string): Promise<string> {
  try {
    const admission = await readBearer(AUTHORIZE, jwt, environment, c.var.request_id);
    await admission.admit();
    return await authorize(environment, callFor(AUTHORIZE, environment, admission), params);
  } catch (error) {
    throw error instanceof ApiError && error.status === 503 ? new ApiError("service_unavailable", {}, error) : error;
  }
}

/** What each page of consent.ts does, and each form. */
export const handlers = { ...signInHandlers(onRequest), show, allow, signOut };
