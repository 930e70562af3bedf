import type { Surface } from "#shared/http/surface.ts";
import { listCustomers } from "./customers.ts";
import { issueAuthLink, listDrafts, withdrawDraft } from "./drafts.ts";
import { getPartnerEvent, listPartnerEvents } from "./events.ts";
import { addCustomers, importDrafts, invitePeople, uploadDrafts } from "./import.ts";
import { listInvoices, readInvoice } from "./invoices.ts";
import { getDashboard, getPartner, listPayouts } from "./reads.ts";
import { mintApiKey, revokeApiKey, setBranding, setCompany, setPayoutIban } from "./settings.ts";
import {
  createWebhook,
  disableWebhook,
  enableWebhook,
  listWebhooks,
  replayWebhook,
  revokeWebhook,
  rotateWebhook,
  testWebhook,
} from "./webhooks.ts";

/** The Partner API (specification section 4.2), in the order a partner meets it. */
export const surface: Surface = {
  slug: "partner",
  title: "Partner API",
  about: "For partners: customers, drafts that customers claim, figures, and the partner's own settings",
  prefix: "/partner",
  cors: true,
  endpoints: [
    addCustomers,
    importDrafts,
    listDrafts,
    withdrawDraft,
    issueAuthLink,
    listCustomers,
    getPartner,
    listPayouts,
    listInvoices,
    readInvoice,
    getDashboard,
    listPartnerEvents,
    getPartnerEvent,
    setCompany,
    setPayoutIban,
    setBranding,
    invitePeople,
    uploadDrafts,
    mintApiKey,
    revokeApiKey,
    createWebhook,
    listWebhooks,
    testWebhook,
    rotateWebhook,
    enableWebhook,
    disableWebhook,
    replayWebhook,
    revokeWebhook,
  ],
};
