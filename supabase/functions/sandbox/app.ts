import type { Surface } from "#shared/http/surface.ts";
import { connectCharger, reviewCustomer, syncCustomer } from "./customers.ts";
import { claimDraft } from "./drafts.ts";
import { createFixtures } from "./fixtures.ts";
import { listMail } from "./mail.ts";
import { resetSandbox } from "./reset.ts";
import { settleQuarter } from "./settle.ts";
import { listWebhookAttempts } from "./webhooks.ts";

/** The sandbox helpers (specification section 4.3), in the order of a rehearsal. */
export const surface: Surface = {
  slug: "sandbox",
  title: "Sandbox",
  about: "On the sandbox host only: play the customer, the charger, the reviewer and the mailbox",
  prefix: "/sandbox",
  cors: true,
  host: "sandbox",
  endpoints: [
    claimDraft,
    connectCharger,
    syncCustomer,
    reviewCustomer,
    settleQuarter,
    createFixtures,
    listMail,
    listWebhookAttempts,
    resetSandbox,
  ],
};
