import type { Surface } from "#shared/http/serve.ts";
import type {} from "./answers.ts";

/** What the OCPP gateway asks, with GATEWAY_SECRET as bearer. It may call nothing else. */
export const surface: Surface = {
  slug: "ocpp",
  prefix: "/ocpp",
  endpoints: {
    "POST /ocpp/chargers:admit": async () => (await import("./admit.ts")).admitCharger,
    "POST /ocpp/messages": async () => (await import("./messages.ts")).takeMessages,
    "POST /ocpp/seen": async () => (await import("./seen.ts")).seeChargers,
  },
};
