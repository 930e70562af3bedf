import { MAX_IMPORT } from "#shared/domain/import/model.ts";
import { MAKING_LOGINS } from "../kit/login.ts";
import { ID, loadedLate, signInRoutes } from "../kit/routes.ts";
import { areaSql } from "../kit/sign_in_sql.ts";
import type { Flow } from "../kit/visit.ts";
import { PATH, PORTAL_SQL } from "./sql.ts";

const EVENT = "event/:event{[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}}";

const does = loadedLate(() => import("./handlers.ts"));

/**
 * The pages of a partner that does not program, for the people who manage it: its customers and drafts, what it earns, its settings.
 * They sign in with Supabase Auth; whatever they read or do runs as the partner, with their name in the audit log.
 */
export const portal: Flow = {
  id: "the pages of a partner",
  sql: areaSql(PORTAL_SQL),
  // an invitation makes a login for a person without one
  next: MAKING_LOGINS,
  routes: [
    { method: "GET", path: PATH, run: does("showStart") },
    { method: "GET", path: `${PATH}/sign-in`, run: does("showSignIn") },
    ...signInRoutes(PATH, does),
    { method: "GET", path: `${PATH}/customers`, run: does("showCustomers") },
    { method: "GET", path: `${PATH}/customers.csv`, run: does("downloadCustomers") },
    { method: "GET", path: `${PATH}/customers/:ref{cus_[0-9a-f]{32}}`, run: does("showCustomer") },
    { method: "GET", path: `${PATH}/drafts`, run: does("showDrafts") },
    { method: "GET", path: `${PATH}/drafts.csv`, run: does("downloadDrafts") },
    { method: "POST", path: `${PATH}/drafts/act`, run: does("actOnDrafts") },
    { method: "GET", path: `${PATH}/drafts/withdraw`, run: does("askWithdrawDrafts") },
    { method: "POST", path: `${PATH}/drafts/withdraw`, run: does("withdrawDrafts") },
    { method: "GET", path: `${PATH}/drafts/${ID}`, run: does("showDraft") },
    { method: "POST", path: `${PATH}/drafts/${ID}/link`, run: does("showLink") },
    { method: "POST", path: `${PATH}/drafts/${ID}/invite`, run: does("inviteAgain") },
    { method: "GET", path: `${PATH}/drafts/${ID}/withdraw`, run: does("askWithdraw") },
    { method: "POST", path: `${PATH}/drafts/${ID}/withdraw`, run: does("withdraw") },
    { method: "GET", path: `${PATH}/import`, run: does("showImportFile") },
    { method: "POST", path: `${PATH}/import`, run: does("bringFile"), upload: MAX_IMPORT },
    { method: "GET", path: `${PATH}/import/template.csv`, run: does("downloadTemplate") },
    { method: "GET", path: `${PATH}/import/customer`, run: does("showImportOne") },
    { method: "POST", path: `${PATH}/import/customer`, run: does("bringOne") },
    { method: "GET", path: `${PATH}/import/invite`, run: does("showImportInvite") },
    { method: "POST", path: `${PATH}/import/invite`, run: does("bringInvited") },
    { method: "GET", path: `${PATH}/import/:id`, run: does("showImport") },
    { method: "POST", path: `${PATH}/import/:id`, run: does("confirmImport") },
    { method: "POST", path: `${PATH}/import/:id/columns`, run: does("chooseColumns") },
    { method: "GET", path: `${PATH}/import/:id/mend.csv`, run: does("downloadBad") },
    { method: "GET", path: `${PATH}/import/:id/result.csv`, run: does("downloadImport") },
    { method: "GET", path: `${PATH}/payouts`, run: does("showPayouts") },
    { method: "GET", path: `${PATH}/payouts/:number{20[0-9]{2}-[0-9]{4,9}}`, run: does("downloadInvoice") },
    { method: "GET", path: `${PATH}/settings`, run: does("showSettings") },
    { method: "GET", path: `${PATH}/settings/log`, run: does("showLog") },
    { method: "GET", path: `${PATH}/settings/company`, run: does("showCompany") },
    { method: "POST", path: `${PATH}/settings/company`, run: does("saveCompany") },
    { method: "GET", path: `${PATH}/settings/account`, run: does("showAccount") },
    { method: "POST", path: `${PATH}/settings/account`, run: does("saveAccount") },
    { method: "GET", path: `${PATH}/settings/return`, run: does("showReturn") },
    { method: "POST", path: `${PATH}/settings/return`, run: does("saveReturn") },
    { method: "GET", path: `${PATH}/settings/keys`, run: does("showKeys") },
    { method: "POST", path: `${PATH}/settings/keys`, run: does("mintKey") },
    { method: "GET", path: `${PATH}/settings/keys/rotate`, run: does("askRotateKey") },
    { method: "POST", path: `${PATH}/settings/keys/rotate`, run: does("rotateKey") },
    { method: "GET", path: `${PATH}/settings/keys/revoke`, run: does("askRevokeKey") },
    { method: "POST", path: `${PATH}/settings/keys/revoke`, run: does("revokeKey") },
    { method: "GET", path: `${PATH}/settings/branding`, run: does("showBranding") },
    { method: "POST", path: `${PATH}/settings/branding`, run: does("saveBranding") },
    { method: "POST", path: `${PATH}/settings/branding/logo`, run: does("saveLogo"), upload: 1024 * 1024 },
    { method: "GET", path: `${PATH}/settings/branding/logo/remove`, run: does("askRemoveLogo") },
    { method: "POST", path: `${PATH}/settings/branding/logo/remove`, run: does("removeLogo") },
    { method: "GET", path: `${PATH}/settings/branding/preview.css`, run: does("showPreviewStyle") },
    { method: "GET", path: `${PATH}/settings/webhooks`, run: does("showWebhooks") },
    { method: "POST", path: `${PATH}/settings/webhooks`, run: does("addWebhook") },
    { method: "GET", path: `${PATH}/settings/webhooks/${ID}`, run: does("showWebhook") },
    { method: "GET", path: `${PATH}/settings/webhooks/${ID}/change`, run: does("showChangeWebhook") },
    { method: "POST", path: `${PATH}/settings/webhooks/${ID}/change`, run: does("changeWebhook") },
    { method: "GET", path: `${PATH}/settings/webhooks/${ID}/${EVENT}`, run: does("showSentEvent") },
    { method: "POST", path: `${PATH}/settings/webhooks/${ID}/${EVENT}`, run: does("sendEventAgain") },
    { method: "POST", path: `${PATH}/settings/webhooks/${ID}/test`, run: does("testWebhook") },
    { method: "POST", path: `${PATH}/settings/webhooks/${ID}/switch`, run: does("switchWebhook") },
    { method: "POST", path: `${PATH}/settings/webhooks/${ID}/replay`, run: does("replayWebhook") },
    { method: "GET", path: `${PATH}/settings/webhooks/${ID}/rotate`, run: does("askRotateWebhook") },
    { method: "POST", path: `${PATH}/settings/webhooks/${ID}/rotate`, run: does("rotateWebhook") },
    { method: "GET", path: `${PATH}/settings/webhooks/${ID}/remove`, run: does("askRemoveWebhook") },
    { method: "POST", path: `${PATH}/settings/webhooks/${ID}/remove`, run: does("removeWebhook") },
    { method: "GET", path: `${PATH}/settings/colleagues`, run: does("showColleagues") },
    { method: "POST", path: `${PATH}/settings/colleagues`, run: does("inviteColleague") },
    { method: "POST", path: `${PATH}/settings/colleagues/withdraw`, run: does("withdrawInvitation") },
    { method: "GET", path: `${PATH}/settings/colleagues/:id/remove`, run: does("askRemoveColleague") },
    { method: "POST", path: `${PATH}/settings/colleagues/:id/remove`, run: does("removeColleague") },
    { method: "GET", path: `${PATH}/invitation/:token`, run: does("showInvitation") },
    { method: "POST", path: `${PATH}/invitation/:token/mail-code`, run: does("mailInvitationCode") },
    { method: "GET", path: `${PATH}/invitation/:token/code`, run: does("showInvitationCode") },
    { method: "POST", path: `${PATH}/invitation/:token/code`, run: does("acceptInvitation") },
  ],
};
