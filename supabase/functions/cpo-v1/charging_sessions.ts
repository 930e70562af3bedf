import { createHash } from "node:crypto";
import { type Item, readItem, SESSION, type Unreadable } from "#shared/domain/charging_in/session_item.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { instant } from "#shared/values/fields.ts";
import { MAX_LEVELS } from "#shared/values/json.ts";
import { storable } from "#shared/values/text.ts";
import { flags, NotCounted } from "./charging_session_list.ts";

const STATUSES = ["created", "updated", "unchanged", "superseded", "parked", "invalid"] as const;

export const SessionResult = z
  .object({
    session_id: z.string().nullable().meta({ description: "The session_id you sent" }),
    status: z.enum(STATUSES).meta({
      description:
        "created, updated, unchanged: stored. superseded: a later item has the same session. parked: kept until you " +
        "name its charger. invalid: not stored",
    }),
    reason: z
      .string()
      .optional()
      .meta({
        description:
          "Why it is invalid: bad_ and the field, no_session_id (it is 0, N/A, unknown and so on), " +
          "session_id_reused (another charge of the charger has this id), no_charger, unknown_charger (charger_id), " +
          "ambiguous_charger (its names mean two chargers). Or why it is parked: unknown_charger, charger_removed",
      }),
    stored_started_at: instant()
      .optional()
      .meta({ description: "With session_id_reused: when the charge began that has this id" }),
    charging_session_id: z.guid().optional().meta({ description: "Our id of the stored session" }),
    flags: flags().optional(),
    counted: z.boolean().meta({ description: "Whether it is in its month's total now" }),
    not_counted: NotCounted.optional(),
  })
  .meta({ id: "ChargingSessionResult" });

/** Counts results by status, under the names of the statuses. */
const countBy = <Status extends string>(statuses: readonly Status[], results: readonly { status: Status }[]) =>
  Object.fromEntries(
    statuses.map((status) => [status, results.filter((result) => result.status === status).length]),
  ) as Record<Status, number>;

const count = (status: string) => z.int().meta({ description: `Number of sessions with status ${status}` });

export const deliverChargingSessions = endpoint(
  {
    id: "deliverChargingSessions",
    summary: "Deliver charging sessions with meter readings",
    description:
      "Up to 1,000 sessions, of any of your chargers. A session is known by charger and `session_id`: a repeat changes " +
      "nothing, or corrects it. We keep what you sent as evidence for the verifier. Sessions become the month's total, " +
      "unless you typed one with `POST /v1/sessions:batch`. What cannot be true is stored with `flags` and not " +
      "counted. If we do not know the charger's name, the session is `parked`, and stored once you give the name to a " +
      "charger. With `dry_run` nothing is stored.",
    caller: { kind: "cpo", scope: "cpo:sessions:write" },
    idempotent: true,
    limit: "cpo_sessions",
    sql: ["store_charging_sessions"],
    slow: true,
    levels: MAX_LEVELS,
    body: z
      .object({
        sessions: z
          .array(z.unknown())
          .min(1)
          .max(1000)
          .meta({
            description: "The sessions; each is judged by itself",
            override: { type: "array", minItems: 1, maxItems: 1000, items: SESSION },
          }),
        dry_run: z.boolean().default(false).meta({ description: "Judge only, and store nothing" }),
      })
      .meta({ id: "DeliverChargingSessions" }),
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        created: count("created"),
        updated: count("updated"),
        unchanged: count("unchanged"),
        superseded: count("superseded"),
        parked: count("parked"),
        invalid: count("invalid"),
        results: z.array(SessionResult).meta({ description: "In the order of sessions" }),
      })
      .meta({ id: "DeliveredChargingSessions" }),
    errors: ["parked_limit"],
    failure: "ingest_failed",
  },
  async ({ body: { sessions, dry_run }, rawBody, call }) => {
    const sent_sha256 = createHash("sha256").update(rawBody).digest("hex");
    const read = sessions.map((session, place) => readItem(session, place));
    const items = read.filter((item): item is Item => !("reason" in item));
    const stored = JSON.parse(await call("store_charging_sessions", { sessions: items, sent_sha256, dry_run }));
    const undone = new Set(
      stored.filter(({ status }) => status === "created").map(({ charging_session_id }) => charging_session_id),
    );
    const byPlace = new Map(stored.map((result) => [result.place, result]));
    const results = read.map((item, place) => {
      const { place: _, ...result } = byPlace.get(place) ?? {
        place,
        status: "invalid" as const,
        reason: (item as Unreadable).reason,
        counted: false,
      };
      // a dry run undoes it, so the id is nobody's
      if (dry_run && undone.has(result.charging_session_id)) delete result.charging_session_id;
      const { session_id } = (sessions[place] ?? {}) as { session_id?: unknown };
      return { session_id: typeof session_id === "string" ? storable(session_id.slice(0, 120)) : null, ...result };
    });
    return { ok: true, ...countBy(STATUSES, results), results };
  },
);

const WITHDRAWN = ["withdrawn", "unchanged", "not_found"] as const;

export const WithdrawnSession = z.object({
  session_id: z.string().meta({ description: "The id you sent" }),
  status: z.enum(WITHDRAWN).meta({ description: "unchanged: it was withdrawn before" }),
});

export const withdrawChargingSessions = endpoint(
  {
    id: "withdrawChargingSessions",
    summary: "Take charging sessions back",
    description:
      "For sessions that you delivered by JSON or file. They stay stored with the flag `withdrawn` and leave every " +
      "total; a parked session is deleted. A booked month keeps its total. Deliver the session again to undo it.",
    caller: { kind: "cpo", scope: "cpo:sessions:write" },
    idempotent: true,
    limit: "cpo_sessions",
    sql: ["withdraw_charging_sessions"],
    slow: true,
    body: z
      .object({
        session_ids: z
          .array(
            z
              .string()
              .min(1)
              .max(120)
              .transform((id) => storable(id).trim()),
          )
          .min(1)
          .max(1000)
          .meta({ description: "Your session_id, or our charging_session_id, of each" }),
      })
      .meta({ id: "WithdrawChargingSessions" }),
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        withdrawn: count("withdrawn"),
        unchanged: count("unchanged"),
        not_found: count("not_found"),
        results: z.array(WithdrawnSession).meta({ description: "In the order of session_ids" }),
      })
      .meta({ id: "WithdrawnChargingSessions" }),
    errors: ["ambiguous_session"],
    failure: "update_failed",
  },
  async ({ body, rawBody, call }) => {
    const sent_sha256 = createHash("sha256").update(rawBody).digest("hex");
    const results = JSON.parse(await call("withdraw_charging_sessions", { ...body, sent_sha256 }));
    return { ok: true, ...countBy(WITHDRAWN, results), results };
  },
);
