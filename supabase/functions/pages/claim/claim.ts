import { STEP_NAMES } from "#shared/domain/claim/flow.ts";
import { makeLogin } from "#shared/domain/claim/login.ts";
import { ENTER } from "../kit/claim_session.ts";
import type { Flow } from "../kit/visit.ts";
import { showEnter, useEnter } from "./enter.ts";
import { prove, sendCode, showProof, start } from "./prove.ts";
import {
  download,
  downloadPdf,
  downloadStatement,
  revoke,
  sendRevokeCode,
  sendSignCode,
  showMandate,
  showRevoke,
  showSign,
  sign,
} from "./sign.ts";
import { saveStep, sendPayoutCode, showStep } from "./steps.ts";
import { askOptOut, optOut } from "./unsubscribe.ts";
import { SQL } from "./visit.ts";

const PATH = "/claim/:token";
const STEP = `${PATH}/:step{${STEP_NAMES.join("|")}}`;

/** What a customer does with the draft that a partner made: claim it, sign, and see to it afterwards. */
export const claim: Flow = {
  id: "the pages of a claim",
  sql: SQL,
  next: { login: makeLogin },
  routes: [
    // mail programs post here in one click, and the token is all the credential there is
    { method: "POST", path: "/unsubscribe/:token", run: optOut, from_anywhere: true },
    { method: "GET", path: "/unsubscribe/:token", run: askOptOut },
    { method: "GET", path: `${ENTER}/:token`, run: showEnter },
    { method: "POST", path: `${ENTER}/:token`, run: useEnter },
    { method: "GET", path: PATH, run: start },
    { method: "POST", path: `${PATH}/code`, run: sendCode },
    { method: "GET", path: `${PATH}/proof`, run: showProof },
    { method: "POST", path: `${PATH}/proof`, run: prove },
    { method: "GET", path: STEP, run: showStep },
    { method: "POST", path: STEP, run: saveStep },
    { method: "POST", path: `${PATH}/iban-code`, run: sendPayoutCode },
    { method: "GET", path: `${PATH}/mandate`, run: showMandate },
    { method: "GET", path: `${PATH}/sign`, run: showSign },
    { method: "POST", path: `${PATH}/sign-code`, run: sendSignCode },
    { method: "POST", path: `${PATH}/sign`, run: sign },
    { method: "GET", path: `${PATH}/document`, run: download },
    { method: "GET", path: `${PATH}/pdf`, run: downloadPdf },
    { method: "GET", path: `${PATH}/statement/:line`, run: downloadStatement },
    { method: "GET", path: `${PATH}/revoke`, run: showRevoke },
    { method: "POST", path: `${PATH}/revoke-code`, run: sendRevokeCode },
    { method: "POST", path: `${PATH}/revoke`, run: revoke },
  ],
};
