import { createHash } from "node:crypto";
import type { oas31 } from "zod-openapi";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { orNull, trimmedTo, uuid } from "#shared/values/fields.ts";
import { storable } from "#shared/values/text.ts";

/** The fields of an item of `months`: what the document says of them, and what readMonth() judges each item by itself with. */
const FIELDS = {
  period: {
    type: "string",
    description: "YYYY-MM, or YYYY-MM-01; not after the current month",
    example: "2026-03",
  },
  total_kwh: {
    type: "number",
    minimum: 0,
    maximum: 1_000_000,
    description: "kWh; stored with three decimals. Needed unless from_sessions is true",
    example: 312.5,
  },
  session_count: {
    type: "integer",
    minimum: 0,
    maximum: 1_000_000,
    default: 0,
    description: "Charging sessions in the month",
    example: 24,
  },
  from_sessions: {
    type: "boolean",
    description:
      "true instead of total_kwh: hands the month back to its charging sessions, whose sum becomes its total",
  },
} as const satisfies Record<string, oas31.SchemaObject>;

export const MonthResult = z
  .object({
    period: z.string().nullable().meta({ description: "The period you sent" }),
    status: z.enum(["ingested", "outside_mandate", "locked", "invalid"]).meta({
      description:
        "ingested: stored; outside_mandate: stored, not counted; locked: booked, and not changed; invalid: not " +
        "stored",
    }),
    reason: z
      .enum(["bad_period", "bad_kwh", "bad_session_count", "future_period", "duplicate_in_batch"])
      .optional()
      .meta({ description: "Why the month is invalid" }),
    change: z
      .enum(["created", "changed", "unchanged"])
      .optional()
      .meta({
        description:
          "Of a month that is stored: whether this made its total, replaced another one, or found the same kWh and " +
          "session count; absent if it is locked or invalid",
      }),
    flags: z
      .array(z.string())
      .optional()
      .meta({
        description:
          "What makes the month implausible: beyond_power, more kWh than the connection's chargers can give in it. It " +
          "is stored all the same: check it. A charger of unknown power counts as 50 kW",
      }),
  })
  .meta({ id: "MonthResult" });

/** A number that a field takes; null if the value is none. */
const within = (value: unknown, { type, minimum, maximum }: (typeof FIELDS)["total_kwh" | "session_count"]) =>
  typeof value === "number" && value >= minimum && value <= maximum && (type === "number" || Number.isInteger(value))
    ? value
    : null;

/**
 * What an item tells by itself. `period` is the text sent, `month` its first day; a number that is missing or invalid
 * is null.
 */
function readMonth(item: unknown) {
  const { period, total_kwh, session_count, from_sessions }: { [Field in keyof typeof FIELDS]?: unknown } = item ?? {};
  const sent = typeof period === "string" ? storable(period.slice(0, 40)) : null;
  const handed = from_sessions === true && total_kwh === undefined;
  // both: nobody knows what is meant
  const both = from_sessions === true && !handed;
  return {
    from_sessions: handed,
    period: sent,
    month: sent !== null && /^[12]\d{3}-(0[1-9]|1[0-2])(-01)?$/.test(sent) ? `${sent.slice(0, 7)}-01` : null,
    total_kwh: both ? null : within(total_kwh, FIELDS.total_kwh),
    session_count: handed ? null : within(session_count ?? FIELDS.session_count.default, FIELDS.session_count),
  };
}

/** A Postgres array literal, for values without comma or quote. Postgres parses it four times as fast as JSON. */
const array = (values: readonly (string | number | boolean | null)[]): string =>
  `{${values.map((value) => value ?? "NULL").join()}}`;

export const deliverMonths = endpoint(
  {
    id: "deliverMonths",
    summary: "Deliver monthly kWh totals of one connection",
    description:
      "A repeat for the same month replaces the stored total, unless the month is booked (`locked`). An invalid month " +
      "does not fail the batch. A month that occurs twice in it is invalid both times. Months wait until a mandate is " +
      "signed. Months that it does not cover are `outside_mandate` and do not count. Your total replaces the sum of the " +
      "month's charging sessions; `from_sessions: true` takes that sum again, also of later sessions.",
    caller: { kind: "cpo", scope: "cpo:sessions:write" },
    idempotent: true,
    limit: "cpo_sessions",
    sql: ["ingest_months"],
    body: z
      .object({
        account_id: uuid().meta({ description: "The account" }),
        connection_id: orNull(uuid()).meta({
          description: "Selects the connection if several are active; the first one if omitted",
        }),
        source: orNull(trimmedTo(40))
          .transform((value) => value ?? "cpo_api")
          .meta({
            description: "Where the totals come from, in your own words; cpo_api if omitted. Trimmed to 40 characters.",
          }),
        months: z
          .array(z.unknown())
          .min(1)
          .max(240)
          .meta({
            description: "The months; each is judged by itself",
            override: {
              type: "array",
              minItems: 1,
              maxItems: 240,
              items: { type: "object", required: ["period"], properties: FIELDS },
            },
          }),
      })
      .meta({ id: "DeliverMonths" }),
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        account_id: z.guid().meta({ description: "The account" }),
        connection_id: z.guid().meta({ description: "The connection: one metering point (EAN) of an account" }),
        accepted: z.int().meta({ description: "Number of months stored that may count" }),
        outside_mandate: z
          .int()
          .meta({ description: "Number of months stored that do not count, because no signed mandate covers them" }),
        locked: z.int().meta({ description: "Number of booked months, left unchanged" }),
        invalid: z.int().meta({ description: "Number of invalid months, not stored" }),
        results: z.array(MonthResult).meta({ description: "In the order of months" }),
      })
      .meta({ id: "DeliveredBatch" }),
    errors: ["account_not_found", "no_connection"],
    failure: "ingest_failed",
  },
  async ({ body: { months, ...about }, rawBody, call }) => {
    const items = months.map(readMonth);
    const times = new Map<string | null, number>();
    for (const { month } of items) times.set(month, (times.get(month) ?? 0) + 1);
    const judged = items.filter(({ month }) => month !== null && times.get(month) === 1);
    const { connection_id, verdicts, changes, beyond_power } = JSON.parse(
      await call("ingest_months", {
        ...about,
        periods: array(judged.map(({ month }) => month)),
        total_kwh: array(judged.map(({ total_kwh }) => total_kwh)),
        session_count: array(judged.map(({ session_count }) => session_count)),
        from_sessions: array(judged.map(({ from_sessions }) => from_sessions)),
        body: rawBody,
        body_sha256: createHash("sha256").update(rawBody).digest("hex"),
      }),
    );

    const counts = { accepted: 0, outside_mandate: 0, locked: 0, invalid: 0 };
    const results = items.map(({ period, month }) => {
      const verdict = month === null ? "bad_period" : (verdicts?.[month] ?? "duplicate_in_batch");
      switch (verdict) {
        case "ingested":
        case "outside_mandate":
          counts[verdict === "ingested" ? "accepted" : verdict] += 1;
          return {
            period,
            status: verdict,
            change: changes?.[month as string],
            ...(beyond_power?.includes(month as string) ? { flags: ["beyond_power"] } : {}),
          };
        case "locked":
          counts.locked += 1;
          return { period, status: verdict };
        default:
          counts.invalid += 1;
          return { period, status: "invalid" as const, reason: verdict };
      }
    });
    return { ok: true, account_id: about.account_id, connection_id, ...counts, results };
  },
);
