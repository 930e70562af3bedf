import type { Surface } from "#shared/http/serve.ts";
import type {} from "./answers.ts";

/**
 * The personal API (specification section 4.4): a person's own data, for their own token or an application they
 * allowed.
 */
export const surface: Surface = {
  slug: "personal",
  title: "Personal API",
  about: "Your own chargers, charging sessions, energy and ERE position",
  prefix: "",
  cors: true,
  endpoints: {
    "GET /chargers": async () => (await import("./chargers.ts")).listChargers,
    "POST /chargers": async () => (await import("./chargers.ts")).registerOwnCharger,
    "POST /chargers/{id}/ocpp-credentials": async () => (await import("./chargers.ts")).renewOcppCredentials,
    "GET /sessions": async () => (await import("./charging_sessions.ts")).listChargingSessions,
    "GET /energy": async () => (await import("./energy.ts")).getEnergy,
    "GET /ere-position": async () => (await import("./ere_position.ts")).getErePosition,
    "GET /profile": async () => (await import("./profile.ts")).getProfile,
    "GET /tokens": async () => (await import("./tokens.ts")).listTokens,
    "POST /tokens": async () => (await import("./tokens.ts")).createToken,
    "DELETE /tokens/{id}": async () => (await import("./tokens.ts")).revokeToken,
  },
};
