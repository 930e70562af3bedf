import type { Surface } from "#shared/http/serve.ts";
import type {} from "./answers.ts";

/** The sandbox helpers (specification section 4.3), in the order of a rehearsal. */
export const surface: Surface = {
  slug: "sandbox",
  title: "Sandbox",
  about: "On the sandbox host only: play the customer, the charger, the reviewer and the mailbox",
  prefix: "/sandbox",
  cors: true,
  host: "sandbox",
  endpoints: {
    "POST /sandbox/v1/drafts/{id}/claim": async () => (await import("./drafts.ts")).claimDraft,
    "POST /sandbox/v1/customers/{id}/chargers": async () => (await import("./customers.ts")).connectCharger,
    "POST /sandbox/v1/customers/{id}/sync": async () => (await import("./customers.ts")).syncCustomer,
    "POST /sandbox/v1/customers/{id}/review": async () => (await import("./customers.ts")).reviewCustomer,
    "POST /sandbox/v1/customers/{id}/sign": async () => (await import("./mandates.ts")).signCustomer,
    "POST /sandbox/v1/customers/{id}/expire-mandate": async () => (await import("./mandates.ts")).expireMandate,
    "POST /sandbox/v1/settle": async () => (await import("./settle.ts")).settleQuarter,
    "POST /sandbox/v1/fixtures": async () => (await import("./fixtures.ts")).createFixtures,
    "GET /sandbox/v1/mail": async () => (await import("./mail.ts")).listMail,
    "GET /sandbox/v1/webhooks": async () => (await import("./webhooks.ts")).listWebhookAttempts,
    "POST /sandbox/v1/reset": async () => (await import("./reset.ts")).resetSandbox,
  },
};
