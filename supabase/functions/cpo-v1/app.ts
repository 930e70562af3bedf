import type { Surface } from "#shared/http/serve.ts";
import type {} from "./answers.ts";

/** The CPO API (specification section 4.1), in the order an integrator meets it. */
export const surface: Surface = {
  slug: "cpo-v1",
  title: "CPO API",
  about: "For charge-point operators: accounts, mandates, chargers, monthly kWh and ERE positions",
  prefix: "/v1",
  cors: true,
  endpoints: {
    "POST /v1/accounts": async () => (await import("./accounts.ts")).createAccount,
    "GET /v1/accounts": async () => (await import("./accounts.ts")).listAccounts,
    "POST /v1/accounts:update": async () => (await import("./account_update.ts")).updateAccount,
    "POST /v1/connections:update": async () => (await import("./connections.ts")).updateConnection,
    "POST /v1/mandate-links": async () => (await import("./mandate_links.ts")).issueMandateLink,
    "GET /v1/connections/{connection_id}/mandate": async () =>
      (await import("./mandate_document.ts")).readMandateDocument,
    "POST /v1/chargers": async () => (await import("./chargers.ts")).registerCharger,
    "GET /v1/chargers": async () => (await import("./charger_list.ts")).listClientChargers,
    "POST /v1/chargers:update": async () => (await import("./charger_list.ts")).updateCharger,
    "POST /v1/chargers:remove": async () => (await import("./charger_list.ts")).removeCharger,
    "GET /v1/catalog/chargers": async () => (await import("./catalog.ts")).listCatalogChargers,
    "GET /v1/catalog/chargers/resolve": async () => (await import("./catalog.ts")).resolveCatalogCharger,
    "POST /v1/sessions:batch": async () => (await import("./months.ts")).deliverMonths,
    "POST /v1/charging-sessions": async () => (await import("./charging_sessions.ts")).deliverChargingSessions,
    "POST /v1/charging-sessions:withdraw": async () =>
      (await import("./charging_sessions.ts")).withdrawChargingSessions,
    "GET /v1/charging-sessions": async () => (await import("./charging_session_list.ts")).listChargingSessions,
    "GET /v1/charging-sessions/parked": async () => (await import("./charging_session_list.ts")).listParkedSessions,
    "GET /v1/charging-sessions/{charging_session_id}": async () =>
      (await import("./charging_session_list.ts")).readChargingSession,
    "POST /v1/uploads": async () => (await import("./uploads.ts")).deliverUpload,
    "GET /v1/uploads/{upload_id}": async () => (await import("./uploads.ts")).readStoredUpload,
    "GET /v1/ocpi": async () => (await import("./ocpi.ts")).readOcpi,
    "GET /v1/ere-positions": async () => (await import("./ere_positions.ts")).listErePositions,
    "GET /v1/settlements": async () => (await import("./settlements.ts")).listSettlements,
    "GET /v1/settlements.csv": async () => (await import("./settlements.ts")).writeSettlements,
    "GET /v1/settlements/{settlement_id}": async () => (await import("./settlements.ts")).readSettlement,
    "GET /v1/events": async () => (await import("./events.ts")).listEvents,
    "GET /v1/events/{event_id}": async () => (await import("./events.ts")).getEvent,
    "POST /v1/webhooks": async () => (await import("./webhooks.ts")).createClientWebhook,
    "GET /v1/webhooks": async () => (await import("./webhooks.ts")).listClientWebhooks,
    "GET /v1/webhooks/{webhook_id}": async () => (await import("./webhooks.ts")).readClientWebhook,
    "GET /v1/webhooks/{webhook_id}/attempts": async () => (await import("./webhooks.ts")).readClientWebhookAttempts,
    "POST /v1/webhooks/{webhook_id}/update": async () => (await import("./webhooks.ts")).updateClientWebhook,
    "POST /v1/webhooks/{webhook_id}/test": async () => (await import("./webhooks.ts")).testClientWebhook,
    "POST /v1/webhooks/{webhook_id}/rotate": async () => (await import("./webhooks.ts")).rotateClientWebhook,
    "POST /v1/webhooks/{webhook_id}/enable": async () => (await import("./webhooks.ts")).enableClientWebhook,
    "POST /v1/webhooks/{webhook_id}/disable": async () => (await import("./webhooks.ts")).disableClientWebhook,
    "POST /v1/webhooks/{webhook_id}/replay": async () => (await import("./webhooks.ts")).replayClientWebhook,
    "POST /v1/webhooks/{webhook_id}/revoke": async () => (await import("./webhooks.ts")).revokeClientWebhook,
  },
};
