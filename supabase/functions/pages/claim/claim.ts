import { STEP_NAMES } from "#shared/domain/claim/model.ts";
import { MAKING_LOGINS } from "../kit/login.ts";
import type { Flow } from "../kit/page_request.ts";
import { ENTER, loadedLate } from "../kit/routes.ts";
import { SQL } from "./sql.ts";

const does = loadedLate(() => import("./handlers.ts"));

const PATH = "/claim/:token";
const STEP = `${PATH}/:step{${STEP_NAMES.join("|")}}`;

/** What a customer does with the draft that a partner made: claim it, sign, and see to it afterwards. */
export const claim: Flow = {
  id: "the pages of a claim",
  sql: SQL,
  needs: MAKING_LOGINS,
  routes: [
    // mail programs post here in one click, and the token is all the credential there is
    { method: "POST", path: "/unsubscribe/:token", run: does("optOut"), from_anywhere: true },
    { method: "GET", path: "/unsubscribe/:token", run: does("askOptOut") },
    { method: "GET", path: `${ENTER}/:token`, run: does("showEnter") },
    { method: "POST", path: `${ENTER}/:token`, run: does("useEnter") },
    { method: "GET", path: PATH, run: does("start") },
    { method: "POST", path: `${PATH}/code`, run: does("sendCode") },
    { method: "GET", path: `${PATH}/proof`, run: does("showProof") },
    { method: "POST", path: `${PATH}/proof`, run: does("prove") },
    { method: "GET", path: STEP, run: does("showStep") },
    { method: "POST", path: STEP, run: does("saveStep") },
    { method: "POST", path: `${PATH}/iban-code`, run: does("sendPayoutCode") },
    { method: "GET", path: `${PATH}/mandate`, run: does("showMandate") },
    { method: "GET", path: `${PATH}/sign`, run: does("showSign") },
    { method: "POST", path: `${PATH}/sign-code`, run: does("sendSignCode") },
    { method: "POST", path: `${PATH}/sign`, run: does("sign") },
    { method: "GET", path: `${PATH}/document`, run: does("download") },
    { method: "GET", path: `${PATH}/pdf`, run: does("downloadPdf") },
    { method: "GET", path: `${PATH}/statement/:line`, run: does("downloadStatement") },
    { method: "POST", path: `${PATH}/mijn`, run: does("openOwnPages") },
    { method: "GET", path: `${PATH}/revoke`, run: does("showRevoke") },
    { method: "POST", path: `${PATH}/revoke-code`, run: does("sendRevokeCode") },
    { method: "POST", path: `${PATH}/revoke`, run: does("revoke") },
  ],
};
