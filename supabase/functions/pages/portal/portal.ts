import { MAX_IMPORT } from "#shared/domain/import/model.ts";
import { MAKING_LOGINS } from "../kit/login.ts";
import type { Flow } from "../kit/page_request.ts";
import { ID, loadedLate, signInRoutes } from "../kit/routes.ts";
import { areaSql } from "../kit/sign_in_sql.ts";
import { PATH, PORTAL_SQL, SLOW_SQL } from "./sql.ts";

const EVENT = "event/:event{[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}}";
const CUSTOMER = ":ref{(?:cus_[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})}";
const EXAMPLE = ":file{(?:maanden|sessies|months|sessions)[.](?:csv|xlsx)}";

const does = loadedLate(() => import("./handlers.ts"));
const branding = loadedLate(() => import("./branding/handlers.ts"));
const colleagues = loadedLate(() => import("./colleagues/handlers.ts"));
const customers = loadedLate(() => import("./customers/handlers.ts"));
const drafts = loadedLate(() => import("./drafts/handlers.ts"));
const imports = loadedLate(() => import("./import/handlers.ts"));
const invitation = loadedLate(() => import("./colleagues/invitation.ts"));
const payouts = loadedLate(() => import("./payouts/handlers.ts"));
const settings = loadedLate(() => import("./settings/handlers.ts"));
const uploads = loadedLate(() => import("./uploads/handlers.ts"));

/**
 * The pages of a partner that does not program, for the people who manage it: its customers and drafts, what it earns, its settings.
 * They sign in with Supabase Auth; whatever they read or do runs as the partner, with their name in the audit log.
 */
export const portal: Flow = {
  id: "the pages of a partner",
  sql: areaSql(PORTAL_SQL),
  slow_sql: SLOW_SQL,
  // an invitation makes a login for a person without one
  needs: MAKING_LOGINS,
  routes: [
    { method: "GET", path: PATH, run: does("showStart") },
    { method: "GET", path: `${PATH}/sign-in`, run: does("showSignIn") },
    ...signInRoutes(PATH, does),
    { method: "POST", path: `${PATH}/mijn`, run: does("goToOwn") },
    { method: "GET", path: `${PATH}/customers`, run: customers("showCustomers") },
    { method: "GET", path: `${PATH}/customers.csv`, run: customers("downloadCustomers") },
    { method: "GET", path: `${PATH}/customers/${CUSTOMER}`, run: customers("showCustomer") },
    { method: "GET", path: `${PATH}/drafts`, run: drafts("showDrafts") },
    { method: "GET", path: `${PATH}/drafts.csv`, run: drafts("downloadDrafts") },
    { method: "POST", path: `${PATH}/drafts/act`, run: drafts("actOnDrafts") },
    { method: "GET", path: `${PATH}/drafts/withdraw`, run: drafts("askWithdrawDrafts") },
    { method: "POST", path: `${PATH}/drafts/withdraw`, run: drafts("withdrawDrafts") },
    { method: "GET", path: `${PATH}/drafts/${ID}`, run: drafts("showDraft") },
    { method: "POST", path: `${PATH}/drafts/${ID}/link`, run: drafts("showLink") },
    { method: "POST", path: `${PATH}/drafts/${ID}/invite`, run: drafts("inviteAgain") },
    { method: "GET", path: `${PATH}/drafts/${ID}/withdraw`, run: drafts("askWithdraw") },
    { method: "POST", path: `${PATH}/drafts/${ID}/withdraw`, run: drafts("withdraw") },
    { method: "GET", path: `${PATH}/import`, run: imports("showImportFile") },
    { method: "POST", path: `${PATH}/import`, run: imports("bringFile"), upload: MAX_IMPORT },
    { method: "GET", path: `${PATH}/import/template.xlsx`, run: imports("downloadTemplate") },
    { method: "GET", path: `${PATH}/import/template.csv`, run: imports("downloadCsvTemplate") },
    { method: "GET", path: `${PATH}/import/customer`, run: imports("showImportOne") },
    { method: "POST", path: `${PATH}/import/customer`, run: imports("bringOne") },
    { method: "GET", path: `${PATH}/import/invite`, run: imports("showImportInvite") },
    { method: "POST", path: `${PATH}/import/invite`, run: imports("bringInvited") },
    { method: "GET", path: `${PATH}/import/:id`, run: imports("showImport") },
    { method: "POST", path: `${PATH}/import/:id`, run: imports("confirmImport") },
    { method: "POST", path: `${PATH}/import/:id/consent`, run: imports("agreeImport") },
    { method: "POST", path: `${PATH}/import/:id/mail`, run: imports("mailImport") },
    { method: "POST", path: `${PATH}/import/:id/columns`, run: imports("chooseColumns") },
    { method: "GET", path: `${PATH}/import/:id/mend.csv`, run: imports("downloadBad") },
    { method: "GET", path: `${PATH}/import/:id/result.csv`, run: imports("downloadImport") },
    { method: "GET", path: `${PATH}/uploads`, run: uploads("showUploads") },
    { method: "POST", path: `${PATH}/uploads`, run: uploads("bringUpload"), upload: MAX_IMPORT },
    { method: "GET", path: `${PATH}/uploads/example/${EXAMPLE}`, run: uploads("downloadExample") },
    { method: "GET", path: `${PATH}/uploads/${ID}`, run: uploads("showUpload") },
    { method: "POST", path: `${PATH}/uploads/${ID}`, run: uploads("confirmUpload") },
    { method: "GET", path: `${PATH}/uploads/${ID}/mend.csv`, run: uploads("downloadBadRows") },
    { method: "GET", path: `${PATH}/payouts`, run: payouts("showPayouts") },
    { method: "GET", path: `${PATH}/payouts.csv`, run: payouts("downloadPayouts") },
    { method: "GET", path: `${PATH}/payouts/settlements`, run: payouts("showSettlements") },
    { method: "GET", path: `${PATH}/payouts/settlements.csv`, run: payouts("downloadSettlements") },
    { method: "GET", path: `${PATH}/payouts/settlements/${ID}`, run: payouts("downloadSettlement") },
    { method: "GET", path: `${PATH}/payouts/:number{20[0-9]{2}-[0-9]{4,9}}`, run: payouts("downloadInvoice") },
    { method: "GET", path: `${PATH}/settings`, run: settings("showSettings") },
    { method: "GET", path: `${PATH}/settings/log`, run: settings("showLog") },
    { method: "GET", path: `${PATH}/settings/log.csv`, run: settings("downloadLog") },
    { method: "GET", path: `${PATH}/settings/company`, run: settings("showCompany") },
    { method: "POST", path: `${PATH}/settings/company`, run: settings("saveCompany") },
    { method: "GET", path: `${PATH}/settings/account`, run: settings("showAccount") },
    { method: "POST", path: `${PATH}/settings/account`, run: settings("saveAccount") },
    { method: "GET", path: `${PATH}/settings/return`, run: settings("showReturn") },
    { method: "POST", path: `${PATH}/settings/return`, run: settings("saveReturn") },
    { method: "GET", path: `${PATH}/settings/keys`, run: settings("showKeys") },
    { method: "POST", path: `${PATH}/settings/keys`, run: settings("mintKey") },
    { method: "GET", path: `${PATH}/settings/keys/rotate`, run: settings("askRotateKey") },
    { method: "POST", path: `${PATH}/settings/keys/rotate`, run: settings("rotateKey") },
    { method: "GET", path: `${PATH}/settings/keys/revoke`, run: settings("askRevokeKey") },
    { method: "POST", path: `${PATH}/settings/keys/revoke`, run: settings("revokeKey") },
    { method: "GET", path: `${PATH}/settings/clients`, run: settings("showClients") },
    { method: "GET", path: `${PATH}/settings/clients/${ID}`, run: settings("showClient") },
    { method: "GET", path: `${PATH}/settings/clients/${ID}/rotate`, run: settings("askRotateClient") },
    { method: "POST", path: `${PATH}/settings/clients/${ID}/rotate`, run: settings("rotateClient") },
    { method: "GET", path: `${PATH}/settings/branding`, run: branding("showBranding") },
    { method: "POST", path: `${PATH}/settings/branding`, run: branding("saveBranding") },
    { method: "POST", path: `${PATH}/settings/branding/logo`, run: branding("saveLogo"), upload: 1024 * 1024 },
    { method: "GET", path: `${PATH}/settings/branding/logo/remove`, run: branding("askRemoveLogo") },
    { method: "POST", path: `${PATH}/settings/branding/logo/remove`, run: branding("removeLogo") },
    { method: "GET", path: `${PATH}/settings/branding/preview.css`, run: branding("showPreviewStyle") },
    { method: "GET", path: `${PATH}/settings/webhooks`, run: settings("showWebhooks") },
    { method: "POST", path: `${PATH}/settings/webhooks`, run: settings("addWebhook") },
    { method: "GET", path: `${PATH}/settings/webhooks/${ID}`, run: settings("showWebhook") },
    { method: "GET", path: `${PATH}/settings/webhooks/${ID}/attempts.csv`, run: settings("downloadAttempts") },
    { method: "GET", path: `${PATH}/settings/webhooks/${ID}/change`, run: settings("showChangeWebhook") },
    { method: "POST", path: `${PATH}/settings/webhooks/${ID}/change`, run: settings("changeWebhook") },
    { method: "GET", path: `${PATH}/settings/webhooks/${ID}/${EVENT}`, run: settings("showSentEvent") },
    { method: "POST", path: `${PATH}/settings/webhooks/${ID}/${EVENT}`, run: settings("sendEventAgain") },
    { method: "POST", path: `${PATH}/settings/webhooks/${ID}/test`, run: settings("testWebhook") },
    { method: "POST", path: `${PATH}/settings/webhooks/${ID}/switch`, run: settings("switchWebhook") },
    { method: "POST", path: `${PATH}/settings/webhooks/${ID}/replay`, run: settings("replayWebhook") },
    { method: "GET", path: `${PATH}/settings/webhooks/${ID}/rotate`, run: settings("askRotateWebhook") },
    { method: "POST", path: `${PATH}/settings/webhooks/${ID}/rotate`, run: settings("rotateWebhook") },
    { method: "GET", path: `${PATH}/settings/webhooks/${ID}/remove`, run: settings("askRemoveWebhook") },
    { method: "POST", path: `${PATH}/settings/webhooks/${ID}/remove`, run: settings("removeWebhook") },
    { method: "GET", path: `${PATH}/settings/colleagues`, run: colleagues("showColleagues") },
    { method: "POST", path: `${PATH}/settings/colleagues`, run: colleagues("inviteColleague") },
    { method: "POST", path: `${PATH}/settings/colleagues/withdraw`, run: colleagues("withdrawInvitation") },
    { method: "GET", path: `${PATH}/settings/colleagues/:id/remove`, run: colleagues("askRemoveColleague") },
    { method: "POST", path: `${PATH}/settings/colleagues/:id/remove`, run: colleagues("removeColleague") },
    { method: "GET", path: `${PATH}/invitation/:token`, run: invitation("showInvitation") },
    { method: "POST", path: `${PATH}/invitation/:token/mail-code`, run: invitation("mailInvitationCode") },
    { method: "GET", path: `${PATH}/invitation/:token/code`, run: invitation("showInvitationCode") },
    { method: "POST", path: `${PATH}/invitation/:token/code`, run: invitation("acceptInvitation") },
  ],
};
