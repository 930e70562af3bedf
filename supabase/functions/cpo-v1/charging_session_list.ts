import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { filter, instant, limit, offset, uuid } from "#shared/values/fields.ts";
import { pageFields } from "#shared/values/models.ts";

const READER = { kind: "cpo", scope: "cpo:accounts:read" } as const;

export const flags = () =>
  z.array(z.string()).meta({
    description:
      "Why it is implausible: negative, ends_before_start, wrong_clock, too_long, beyond_power, beyond_capacity (more " +
      "sessions at once than EVSEs, or over 1,000,000 kWh in a month of the connection), no_end, " +
      "meter_disagrees (readings and kWh differ by more than 1 % and 0.1 kWh), abroad, other_registration " +
      "(the charger was registered elsewhere then), duplicate (another source or id " +
      "told the same charge first), overlapping (another session of the EVSE, received earlier); withdrawn: you took " +
      "it back. None of these is counted. after_lock: it came or changed after its month was booked",
  });

export const NotCounted = z.enum(["flagged", "mid", "typed_total", "outside_mandate", "running", "locked"]).meta({
  id: "NotCounted",
  description:
    "Why it is not in its month's total now. flagged: see flags. mid: its charger has no confirmed MID meter. " +
    "typed_total: you delivered a total of the month. running: it has no end yet. locked: the month was booked before",
});

const Session = z
  .object({
    charging_session_id: z.guid().meta({ description: "Our id of the session" }),
    session_id: z.string().nullable().meta({ description: "The source's id; null for a row of a file without one" }),
    source: z.string().meta({ description: "api (JSON, or a file with ids), file, ocpi, ocpp or sandbox" }),
    account_id: z.guid().meta({ description: "The account" }),
    charger_id: z.guid().meta({ description: "The charger" }),
    evse_no: z.int().meta({ description: "The EVSE of the charger, from 1" }),
    started_at: instant().meta({ description: "When it started; the Dutch month of this moment is its month" }),
    ended_at: instant().nullable().meta({ description: "When it ended; null while the car is charging" }),
    kwh: z.number().meta({ description: "Energy, in kWh", example: 18.42 }),
    meter_start_kwh: z.number().nullable().meta({ description: "The meter's reading at the start, in kWh" }),
    meter_end_kwh: z.number().nullable().meta({ description: "The meter's reading at the end, in kWh" }),
    meter_id: z.string().nullable().meta({ description: "The id of the meter, if the source named it" }),
    period: z.string().meta({ description: "Its month", example: "2026-03" }),
    flags: flags(),
    counted: z.boolean().meta({ description: "Whether it is in its month's total now" }),
    not_counted: NotCounted.nullable().meta({ description: "Why it is not counted; null if it is" }),
    received_at: instant().meta({ description: "When it came, or was last changed" }),
  })
  .meta({ id: "ClientChargingSession" });

const border = () =>
  z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}$/, "must be a date like 2026-03-01")
    .refine((day) => !Number.isNaN(Date.parse(day)) && new Date(day).toISOString().startsWith(day), "is no date")
    .optional();

export const listChargingSessions = endpoint(
  {
    id: "listChargingSessions",
    summary: "Read your charging sessions: first all that is stored, then what changes",
    description:
      "Without `after` it begins with all sessions, newest first. Continue from `next_cursor` until `has_more` is " +
      "false. Then the same cursor returns each session that changed since, as it is now. With a filter, a page may be " +
      "empty and still have `has_more`. Changes are kept 90 days: after that the call returns 410; begin again " +
      "without `after`.",
    caller: READER,
    limit: "cpo_read",
    sql: ["list_charging_sessions"],
    query: z.object({
      after: filter(200).meta({ description: "next_cursor of an earlier response" }),
      limit: limit(100),
      account_id: uuid().optional().meta({ description: "Return only sessions of this account" }),
      charger_id: uuid().optional().meta({ description: "Return only sessions of this charger" }),
      from: border().meta({ description: "First Dutch day on which sessions started", example: "2026-03-01" }),
      to: border().meta({ description: "The day after the last one", example: "2026-04-01" }),
      counted: z
        .enum(["true", "false"])
        .optional()
        .meta({ description: "Return only sessions that are in their month's total now, or only the others" }),
    }),
    response: z
      .object({
        sessions: z.array(Session).meta({ description: "The sessions" }),
        next_cursor: z.string().meta({ description: "Send it as after; also present on the last page" }),
        has_more: z.boolean().meta({ description: "Whether more is available now" }),
      })
      .meta({ id: "ClientChargingSessionPage" }),
    errors: ["invalid_request", "invalid_cursor", "cursor_expired"],
    failure: "list_failed",
  },
  ({ query, call }) => call("list_charging_sessions", query),
);

export const readChargingSession = endpoint(
  {
    id: "readChargingSession",
    summary: "Read one charging session",
    params: { charging_session_id: "Our id of the session" },
    caller: READER,
    limit: "cpo_read",
    sql: ["get_charging_session"],
    response: Session,
    errors: ["charging_session_not_found"],
    failure: "list_failed",
  },
  ({ param, call, fail }) =>
    call("get_charging_session", {
      charging_session_id: uuid().safeParse(param("charging_session_id")).data ?? fail("charging_session_not_found"),
    }),
);

const Name = z.object({
  kind: z.string().meta({ description: "external_ref, serial_number, evse_uid, evse_id or meter_id" }),
  value: z.string().meta({ description: "The name, as it is compared" }),
});

export const listParkedSessions = endpoint(
  {
    id: "listParkedSessions",
    summary: "List sessions that wait until you name their charger, newest first",
    description:
      "Give a name to a charger with `POST /v1/chargers:update`, and its sessions are stored. After 400 days they are " +
      "deleted.",
    caller: READER,
    limit: "cpo_read",
    sql: ["list_parked_charging"],
    query: z.object({ limit: limit(100), offset: offset() }),
    response: z
      .object({
        parked: z
          .array(
            z.object({
              parked_id: z.guid().meta({ description: "Its id; :withdraw takes it" }),
              session_id: z.string().nullable().meta({ description: "The session_id you sent" }),
              source: z.string().meta({ description: "api, file or ocpi" }),
              reason: z
                .enum(["unknown_charger", "charger_removed", "ambiguous_charger", "no_times", "unreadable"])
                .meta({ description: "Why it waits. unreadable: a CDR of your platform; send it again, mended" }),
              detail: z.string().nullable().meta({
                description: "What is wrong with a CDR that is unreadable",
                example: "total_energy: is missing",
              }),
              names: z.array(Name).meta({ description: "The names it was sent with" }),
              started_at: instant().nullable().meta({ description: "When it started" }),
              ended_at: instant().nullable().meta({ description: "When it ended" }),
              kwh: z.number().nullable().meta({ description: "Energy, in kWh" }),
              received_at: instant().meta({ description: "When it came" }),
            }),
          )
          .meta({ description: "This page of parked sessions" }),
        names: z
          .array(Name.extend({ sessions: z.int().meta({ description: "Number of parked sessions with it" }) }))
          .meta({ description: "The 100 most frequent names of the 10,000 newest" }),
        ...pageFields,
      })
      .meta({ id: "ParkedSessionPage" }),
    errors: [],
    failure: "list_failed",
  },
  ({ query, call }) => call("list_parked_charging", query),
);
