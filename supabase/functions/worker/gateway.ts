// What the OCPP gateway asks and brings, with GATEWAY_SECRET as bearer.

import { hashSecret } from "#shared/auth/tokens.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { orNull, trimmedTo } from "#shared/values/fields.ts";
import { storable } from "#shared/values/text.ts";

const FIELDS = [
  "charger_id",
  "source",
  "external_id",
  "connector",
  "started_at",
  "ended_at",
  "wh",
  "status",
  "meter_wh",
] as const;

/** A charging session for SQL, which judges it. Text that cannot be stored rejects only its own session. */
function readable(item: unknown): object {
  const sent = (item ?? {}) as Record<string, unknown>;
  const scalar = (value: unknown) => {
    if (typeof value === "string") return storable(value.slice(0, 200));
    return typeof value === "number" ? value : null;
  };
  return Object.fromEntries(FIELDS.map((name) => [name, scalar(sent[name])]));
}

export const ingestChargingSessions = endpoint(
  {
    id: "ingestChargingSessions",
    summary: "Deliver charging sessions: new, running or corrected, of any charger",
    description:
      "`{sessions: [{charger_id, source, external_id, started_at, ended_at?, wh, connector?, status?, " +
      "meter_wh?}]}`. A session is identified by charger, `source` and `external_id`. Sending it again changes " +
      "nothing, or corrects it. Safe to repeat, in any order, in parallel. Each session has its own result.",
    caller: { kind: "worker", secret: "GATEWAY_SECRET" },
    limit: null,
    sql: ["ingest_charging_sessions"],
    slow: true,
    body: z.object({ sessions: z.array(z.unknown()).min(1).max(10_000) }),
    maxBody: 4 * 1024 * 1024,
    response: z.object({
      ok: z.literal(true),
      results: z
        .array(
          z.object({
            status: z.enum(["created", "updated", "unchanged", "superseded", "rejected"]),
            reason: z.string().optional(),
            session_id: z.guid().optional(),
            flags: z.array(z.string()).optional(),
          }),
        )
        .meta({ description: "In the order of sessions" }),
    }),
    errors: [],
    failure: "ingest_failed",
  },
  ({ body, call }) => call("ingest_charging_sessions", { sessions: body.sessions.map(readable) }),
);

export const admitCharger = endpoint(
  {
    id: "admitCharger",
    summary: "Check the HTTP Basic credentials a charger connects with, and record the contact",
    description:
      "Call it when a charger connects, and on each heartbeat with the same credentials: then a removed charger is " +
      "disconnected. After the BootNotification, also send the vendor, model and meter type. The resolver of " +
      "`/v1/catalog/chargers/resolve` then determines the model and whether its meter is MID.",
    caller: { kind: "worker", secret: "GATEWAY_SECRET" },
    limit: null,
    sql: ["admit_charger"],
    body: z.object({
      identity: z.string().max(64),
      password: z.string().max(200),
      ocpp_vendor: orNull(trimmedTo(120)),
      ocpp_model: orNull(trimmedTo(120)),
      ocpp_meter_type: orNull(trimmedTo(120)),
    }),
    response: z.object({ ok: z.boolean(), charger_id: z.guid().optional() }),
    errors: [],
    failure: "internal_error",
  },
  ({ body: { identity, password, ...boot }, call }) =>
    call("admit_charger", {
      ...boot,
      identity: storable(identity),
      password_hash: hashSecret(password),
    }),
);
