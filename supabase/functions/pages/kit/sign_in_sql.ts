/** What signing in runs, before there is anybody to act for. */
export const SIGN_IN_SQL = ["count_sign_in", "send_sign_in_code", "redeem_sign_in_code"] as const;

/** What begins the session of a browser, lets it on to other pages, and ends it. */
export const SESSION_SQL = ["begin_page_session", "share_page_session", "end_page_session"] as const;

/** Every api function that an area may run, those of signing in included. */
export const areaSql = (sql: readonly string[]): string[] => [...SIGN_IN_SQL, ...SESSION_SQL, ...sql];
