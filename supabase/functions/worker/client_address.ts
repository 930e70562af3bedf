import { isIP } from "node:net";
import { z } from "#shared/foundation/zod.ts";
import { findAddress } from "#shared/http/client_address.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { networkOf } from "#shared/values/network.ts";

/**
 * For the person who sets CLIENT_ADDRESS: which headers hold addresses here, and which one we read (docs/deploy.md).
 */
export const showClientAddress = endpoint(
  {
    id: "showClientAddress",
    summary: "Show the network address that counts this request, and every header that holds addresses",
    caller: { kind: "worker", secret: "WORKER_SECRET" },
    limit: null,
    sql: [],
    response: z.object({
      client_address: z.string().nullable().meta({ description: "Null if CLIENT_ADDRESS names none" }),
      counted_as: z.string().nullable().meta({ description: "For IPv6 the network of 64 bits" }),
      headers: z.record(z.string(), z.string()).meta({ description: "Headers that contain only addresses" }),
    }),
    errors: [],
    failure: "internal_error",
  },
  async ({ request, environment: { config } }) => {
    const headers = [...request.headers].filter(([, value]) => value.split(",").every((part) => isIP(part.trim())));
    const client_address = findAddress(request, config);
    return {
      client_address,
      counted_as: client_address && networkOf(client_address),
      headers: Object.fromEntries(headers),
    };
  },
);
