import type { Surface } from "#shared/http/serve.ts";
import type {} from "./answers.ts";

export const surface: Surface = {
  slug: "worker",
  prefix: "/worker",
  endpoints: {
    "POST /worker/run": async () => (await import("./run.ts")).run,
    "POST /worker/kick": async () => (await import("./kick.ts")).kick,
    "GET /worker/client-address": async () => (await import("./client_address.ts")).showClientAddress,
    "GET /worker/metrics": async () => (await import("./metrics.ts")).showMetrics,
  },
};
