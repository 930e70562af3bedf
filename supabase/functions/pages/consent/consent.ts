import { AUTHORIZE } from "#shared/auth/authorize.ts";
import { MAKING_LOGINS } from "../kit/login.ts";
import type { Flow } from "../kit/page_request.ts";
import { loadedLate, signInRoutes } from "../kit/routes.ts";
import { PATH, SQL } from "./sql.ts";

const does = loadedLate(() => import("./handlers.ts"));

/**
 * The authorization endpoint of RFC 6749 for browsers: who asks, sign in with Supabase Auth, allow or refuse.
 * oauth-authorize grants the consent with the person's session; the page has no rules of its own.
 */
export const consent: Flow = {
  id: "the pages of consent",
  sql: [...SQL, ...AUTHORIZE.sql],
  // a person who types the code of an address without a login gets a login
  needs: MAKING_LOGINS,
  routes: [
    { method: "GET", path: PATH, run: does("show") },
    { method: "POST", path: PATH, run: does("allow") },
    ...signInRoutes(PATH, does),
  ],
};
