import { signInHandlers } from "../kit/sign_in.ts";
import { onSignIn, signedIn } from "./request.ts";
import { showStart } from "./start.ts";

const showSignIn = onSignIn((request) => request.signIn(request.waiting()?.email));

const signOut = signedIn(async (request) => {
  await request.endSession();
  return request.go("/sign-in", { out: "" });
});

const goToOwn = signedIn((request) => request.goOn("/mijn"));

/** Signing in, and the first page. */
export const handlers = {
  ...signInHandlers(onSignIn),
  showSignIn,
  signOut,
  goToOwn,
  showStart,
};
