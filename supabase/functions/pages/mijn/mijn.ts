import { MAKING_LOGINS } from "../kit/login.ts";
import type { Flow } from "../kit/page_request.ts";
import { ID, loadedLate, signInRoutes } from "../kit/routes.ts";
import { areaSql } from "../kit/sign_in_sql.ts";
import { OWN_SQL, PATH } from "./sql.ts";

const does = loadedLate(() => import("./handlers.ts"));

/**
 * The pages that a customer comes back to: what they charged, what it earns, and what they signed. They sign in with Supabase Auth;
 * whatever they read or do runs as themselves.
 */
export const mijn: Flow = {
  id: "the pages of a person",
  sql: areaSql(OWN_SQL),
  // a person who types the code of an address without a login gets a login
  needs: MAKING_LOGINS,
  routes: [
    { method: "GET", path: PATH, run: does("showOverview") },
    { method: "GET", path: `${PATH}/sign-in`, run: does("showSignIn") },
    ...signInRoutes(PATH, does),
    { method: "POST", path: `${PATH}/portal`, run: does("goToPortal") },
    { method: "GET", path: `${PATH}/charging`, run: does("showCharging") },
    { method: "GET", path: `${PATH}/charging.csv`, run: does("downloadCharging") },
    { method: "GET", path: `${PATH}/earnings`, run: does("showEarnings") },
    { method: "GET", path: `${PATH}/statement/${ID}`, run: does("downloadStatement") },
    { method: "GET", path: `${PATH}/overview/${ID}/:year{20\\d\\d}`, run: does("downloadOverview") },
    { method: "GET", path: `${PATH}/settlement/${ID}`, run: does("downloadSettlement") },
    { method: "GET", path: `${PATH}/account/${ID}`, run: does("showAccount") },
    { method: "POST", path: `${PATH}/account/${ID}`, run: does("changeAccount") },
    { method: "POST", path: `${PATH}/account/${ID}/code`, run: does("mailAccountCode") },
    { method: "GET", path: `${PATH}/mandate`, run: does("showMandates") },
    { method: "GET", path: `${PATH}/mandate/${ID}`, run: does("downloadMandate") },
    { method: "GET", path: `${PATH}/withdraw/${ID}`, run: does("showWithdrawal") },
    { method: "POST", path: `${PATH}/withdraw/${ID}`, run: does("withdrawMandate") },
    { method: "POST", path: `${PATH}/withdraw/${ID}/code`, run: does("mailWithdrawalCode") },
    { method: "POST", path: `${PATH}/renew`, run: does("renewMandate") },
    { method: "POST", path: `${PATH}/open`, run: does("openClaim") },
    { method: "GET", path: `${PATH}/chargers`, run: does("showChargers") },
    { method: "POST", path: `${PATH}/chargers`, run: does("addCharger") },
    { method: "GET", path: `${PATH}/chargers/${ID}`, run: does("askRemoveCharger") },
    { method: "POST", path: `${PATH}/chargers/${ID}`, run: does("removeCharger") },
    { method: "POST", path: `${PATH}/chargers/${ID}/password`, run: does("renewChargerPassword") },
    { method: "POST", path: `${PATH}/chargers/model/${ID}`, run: does("chooseChargerModel") },
    { method: "GET", path: `${PATH}/sharing`, run: does("showSharing") },
    { method: "GET", path: `${PATH}/sharing/stop`, run: does("askStopSharing") },
    { method: "POST", path: `${PATH}/sharing/stop`, run: does("stopSharing") },
    { method: "POST", path: `${PATH}/sharing/application`, run: does("stopApplication") },
    { method: "GET", path: `${PATH}/tokens`, run: does("showTokens") },
    { method: "POST", path: `${PATH}/tokens`, run: does("createToken") },
    { method: "POST", path: `${PATH}/tokens/revoke`, run: does("revokeToken") },
    { method: "GET", path: `${PATH}/data`, run: does("showData") },
    { method: "GET", path: `${PATH}/data.json`, run: does("downloadData") },
    { method: "GET", path: `${PATH}/data.csv`, run: does("downloadTable") },
    { method: "GET", path: `${PATH}/closed`, run: does("showClosed") },
    { method: "GET", path: `${PATH}/data/end`, run: does("askEnd") },
    { method: "POST", path: `${PATH}/data/end`, run: does("endAccount") },
    { method: "GET", path: "/me", run: does("inEnglish") },
    { method: "GET", path: "/me/*", run: does("inEnglish") },
  ],
};
