import type { Surface } from "#shared/http/serve.ts";

/** What the OCPP gateway asks, with GATEWAY_SECRET as bearer. It may call nothing else. */
export const surface: Surface = {
  slug: "gateway",
  prefix: "/gateway",
  endpoints: {
    "POST /gateway/chargers:admit": async () => (await import("./admit.ts")).admitCharger,
    "POST /gateway/messages": async () => (await import("./messages.ts")).takeMessages,
    "POST /gateway/seen": async () => (await import("./seen.ts")).seeChargers,
  },
};
