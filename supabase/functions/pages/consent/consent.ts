import { AUTHORIZE } from "#shared/auth/authorize.ts";
import type { Flow, Handler } from "../kit/visit.ts";
import type { pages } from "./pages.ts";
import { PATH, SQL } from "./sql.ts";

/** Loaded with the first of these pages that somebody asks for: most requests are for others. */
const does =
  (name: keyof typeof pages): Handler =>
  async (request) =>
    (await import("./pages.ts")).pages[name](request);

/**
 * The authorization endpoint of RFC 6749 for browsers: who asks, sign in with Supabase Auth, allow or refuse. Allowing is what
 * oauth-authorize does with the person's session: the page has no rules of its own.
 */
export const consent: Flow = {
  id: "the pages of consent",
  sql: [...SQL, ...AUTHORIZE.sql],
  routes: [
    { method: "GET", path: PATH, run: does("show") },
    { method: "POST", path: PATH, run: does("allow") },
    { method: "POST", path: `${PATH}/sign-in`, run: does("signInByPassword") },
    { method: "POST", path: `${PATH}/mail-code`, run: does("mailCode") },
    { method: "GET", path: `${PATH}/code`, run: does("showCode") },
    { method: "POST", path: `${PATH}/code`, run: does("signInByCode") },
    { method: "POST", path: `${PATH}/sign-out`, run: does("signOut") },
  ],
};
