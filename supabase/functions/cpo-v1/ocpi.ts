import { versionsUrl } from "#shared/domain/charging_in/ocpi/credentials.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { instant } from "#shared/values/fields.ts";

export const Connection = z
  .object({
    versions_url: z.string().nullable().meta({
      description: "The versions URL to enter in your platform; null if this host has no OCPI",
      example: "https://api.example.nl/ocpi/versions",
    }),
    status: z.enum(["none", "invited", "registered", "unregistered", "disabled"]).meta({
      description: "none: ask the operator for a token. invited: your platform has not registered yet",
    }),
    parties: z.array(z.string()).meta({ description: "Whose CDRs are taken, such as NL-TNM", example: ["NL-TNM"] }),
    registered_at: instant().nullable().meta({ description: "When credentials were last exchanged" }),
    pushed_at: instant().nullable().meta({ description: "When your platform last sent a CDR, to the minute" }),
    pulls: z.boolean().meta({ description: "Whether your platform also lets us read its CDRs" }),
    pulled_to: instant().nullable().meta({ description: "Up to where we read all of its CDRs" }),
    cdrs_taken: z.int().meta({ description: "CDRs that we accepted, each counted once" }),
    cdrs_refused: z.int().meta({ description: "CDRs answered with status code 2001" }),
    last_refusal: z.string().nullable().meta({
      description: "The last CDR that was refused, and why",
      example: "NL-TNM:CDR-1 id: CDR exists; send a credit CDR",
    }),
    last_refused_at: instant().nullable().meta({ description: "When that was" }),
    failing_since: instant().nullable().meta({ description: "Since when we cannot read its CDRs" }),
    last_error: z.string().nullable().meta({ description: "Why, in a word", example: "http_404" }),
    last_error_detail: z.string().nullable().meta({
      description: "What we saw of its answer",
      example: "HTTP 404, text/html on the first page: …",
    }),
  })
  .meta({ id: "OcpiConnection" });

export const readOcpi = endpoint(
  {
    id: "readOcpi",
    summary: "Show how the OCPI connection with your platform stands",
    description: "Parked CDRs are in `GET /v1/charging-sessions/parked`, with the names that nobody knows.",
    caller: { kind: "cpo", scope: "cpo:accounts:read" },
    limit: "cpo_read",
    sql: ["get_ocpi"],
    response: Connection,
    errors: [],
    failure: "list_failed",
  },
  async ({ call, environment: { config } }) => ({
    versions_url: config.OCPI_PARTY ? versionsUrl(config) : null,
    ...JSON.parse(await call("get_ocpi")),
  }),
);
