import { SIGN_IN_SQL } from "../kit/sign_in_sql.ts";

/** The api functions behind the pages. A form that allows then runs those of AUTHORIZE, in the name of who is signed in. */
export const SQL = ["describe_authorization", ...SIGN_IN_SQL] as const;

/** Where the pages are under the root, and the cookies of their visitors with them. */
export const PATH = "/consent";
