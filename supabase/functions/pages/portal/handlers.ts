import { signInHandlers } from "../kit/sign_in.ts";
import { brandingPages } from "./branding/handlers.ts";
import { colleaguePages } from "./colleagues/handlers.ts";
import { invitationPages } from "./colleagues/invitation.ts";
import { customerPages } from "./customers/handlers.ts";
import { draftPages } from "./drafts/handlers.ts";
import { importPages } from "./import/handlers.ts";
import { payoutPages } from "./payouts/handlers.ts";
import { onSignIn, signedIn } from "./request.ts";
import { settingsPages } from "./settings/handlers.ts";
import { showStart } from "./start.ts";
import { uploadPages } from "./uploads/handlers.ts";

const showSignIn = onSignIn((request) => request.signIn(request.waiting()?.email));

const signOut = signedIn(async (request) => {
  await request.endSession();
  return request.go("/sign-in", { out: "" });
});

const goToOwn = signedIn((request) => request.goOn("/mijn"));

/** What each page of portal.ts does, and each form. */
export const handlers = {
  ...signInHandlers(onSignIn),
  showSignIn,
  signOut,
  goToOwn,
  showStart,
  ...customerPages,
  ...draftPages,
  ...importPages,
  ...uploadPages,
  ...payoutPages,
  ...settingsPages,
  ...brandingPages,
  ...colleaguePages,
  ...invitationPages,
};
