import type { Surface } from "#shared/http/surface.ts";
import { createAccount, listAccounts } from "./accounts.ts";
import { listCatalogChargers, resolveCatalogCharger } from "./catalog.ts";
import { registerCharger } from "./chargers.ts";
import { updateConnection } from "./connections.ts";
import { listErePositions } from "./ere_positions.ts";
import { getEvent, listEvents } from "./events.ts";
import { readMandateDocument } from "./mandate_document.ts";
import { issueMandateLink } from "./mandate_links.ts";
import { deliverMonths } from "./months.ts";
import { listSettlements, readSettlement, writeSettlements } from "./settlements.ts";

/** The CPO API (specification section 4.1), in the order an integrator meets it. */
export const surface: Surface = {
  slug: "cpo-v1",
  title: "CPO API",
  about: "For charge-point operators: accounts, mandates, chargers, monthly kWh and ERE positions",
  prefix: "/v1",
  cors: true,
  endpoints: [
    createAccount,
    listAccounts,
    updateConnection,
    issueMandateLink,
    readMandateDocument,
    registerCharger,
    listCatalogChargers,
    resolveCatalogCharger,
    deliverMonths,
    listErePositions,
    listSettlements,
    writeSettlements,
    readSettlement,
    listEvents,
    getEvent,
  ],
};
