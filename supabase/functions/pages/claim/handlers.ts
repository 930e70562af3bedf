import { showEnter, useEnter } from "./enter.ts";
import { openOwnPages } from "./own.ts";
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

/** What each page of claim.ts does, and each form. */
export const handlers = {
  optOut,
  askOptOut,
  showEnter,
  useEnter,
  start,
  sendCode,
  showProof,
  prove,
  showStep,
  saveStep,
  sendPayoutCode,
  showMandate,
  showSign,
  sendSignCode,
  sign,
  download,
  downloadPdf,
  downloadStatement,
  openOwnPages,
  showRevoke,
  sendRevokeCode,
  revoke,
};
