import type { Surface } from "#shared/http/surface.ts";
import { listChargers, registerOwnCharger } from "./chargers.ts";
import { listChargingSessions } from "./charging_sessions.ts";
import { getEnergy } from "./energy.ts";
import { getErePosition } from "./ere_position.ts";
import { getProfile } from "./profile.ts";
import { createToken, listTokens, revokeToken } from "./tokens.ts";

/** The personal API (specification section 4.4): a person's own data, for their own token or an application they allowed. */
export const surface: Surface = {
  slug: "personal",
  title: "Personal API",
  about: "Your own chargers, charging sessions, energy and ERE position",
  prefix: "",
  cors: true,
  endpoints: [
    listChargers,
    registerOwnCharger,
    listChargingSessions,
    getEnergy,
    getErePosition,
    getProfile,
    listTokens,
    createToken,
    revokeToken,
  ],
};
