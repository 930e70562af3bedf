import { saveAccount, showAccount } from "./account.ts";
import { askRotateClient, rotateClient, showClient, showClients } from "./clients.ts";
import { saveCompany, showCompany } from "./company.ts";
import { askRevokeKey, askRotateKey, mintKey, revokeKey, rotateKey, showKeys } from "./keys.ts";
import { downloadLog, showLog } from "./log.ts";
import { showSettings } from "./overview.ts";
import { saveReturn, showReturn } from "./return_url.ts";
import {
  addWebhook,
  askRemoveWebhook,
  askRotateWebhook,
  changeWebhook,
  downloadAttempts,
  removeWebhook,
  replayWebhook,
  rotateWebhook,
  sendEventAgain,
  showChangeWebhook,
  showSentEvent,
  showWebhook,
  showWebhooks,
  switchWebhook,
  testWebhook,
} from "./webhooks.ts";

/** What each page of a partner's settings does, and each form. */
export const handlers = {
  showSettings,
  showCompany,
  saveCompany,
  showAccount,
  saveAccount,
  showReturn,
  saveReturn,
  showKeys,
  mintKey,
  askRotateKey,
  rotateKey,
  askRevokeKey,
  revokeKey,
  showWebhooks,
  addWebhook,
  changeWebhook,
  showWebhook,
  testWebhook,
  switchWebhook,
  replayWebhook,
  askRotateWebhook,
  rotateWebhook,
  sendEventAgain,
  showChangeWebhook,
  showSentEvent,
  askRemoveWebhook,
  removeWebhook,
  showClients,
  showClient,
  askRotateClient,
  rotateClient,
  showLog,
  downloadLog,
  downloadAttempts,
};
