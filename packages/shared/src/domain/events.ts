/**
 * The types of events, their readers and their data. `core.events` stores them; supabase/schemas/outbox/events has the
 * rules.
 */

import { z } from "#shared/foundation/zod.ts";
import { filter, instant, limit } from "#shared/values/fields.ts";
import { checklist } from "#shared/values/gates.ts";
import { MailFailure } from "#shared/values/mail_failure.ts";
import {
  calendarDate,
  EanValidationStatus,
  type MandateStatus,
  type RegistrationStatus,
} from "#shared/values/models.ts";

const account = {
  account_id: z.guid().meta({ description: "The account" }),
  cpo_external_ref: z.string().nullable().meta({ description: "Your own customer number" }),
};
const connection_id = z.guid().meta({ description: "The connection: one metering point (EAN) of an account" });
const connection = { ...account, connection_id };
const customer = {
  customer_ref: z.string().meta({ description: "As in GET /partner/customers" }),
  external_ref: z
    .string()
    .nullable()
    .meta({ description: "Your own reference; null if a person or application reads it, or created the endpoint" }),
};
const draft = { draft_id: z.guid().meta({ description: "The draft" }), external_ref: customer.external_ref };
/**
 * MD5 of partner and quarter, so not a UUID by RFC 9562. Validators generated from `format: uuid`, such as Zod's,
 * refuse most of them.
 */
export const payoutId = z.guid().meta({
  description: "The payout. Its id never changes. Treat it as text: it looks like a UUID, but has no version",
  override: { type: "string", format: undefined, pattern: undefined },
});
const payout = {
  payout_id: payoutId,
  period: z.string().meta({ description: "The quarter of delivery", example: "2026-Q1" }),
};

type Shape = Readonly<Record<string, z.ZodType>>;
/** A type of event, with its `data` in a client's log and in a partner's log; null if that log does not have it. */
type EventRow = { about: string; client: Shape | null; partner: Shape | null };

const mandate = (about: string, status: z.infer<typeof MandateStatus>): EventRow => ({
  about,
  client: { ...connection, mandate_status: z.literal(status).meta({ description: "Current status of the mandate" }) },
  partner: customer,
});
const months = (about: string, status: string): EventRow => ({
  about,
  client: {
    ...account,
    periods: z.array(calendarDate()).meta({ description: "The months, each as its first day" }),
    status: z.literal(status).meta({ description: "Current status of these months" }),
  },
  partner: null,
});
const rejectedMonths = months("The register rejected months, which can be delivered again", "rejected");
const RejectedMonth = z
  .object({
    period: calendarDate().meta({ description: "The first of the month" }),
    connection_id,
    reason: z
      .string()
      .nullable()
      .meta({ description: "Why, in the register's own words", example: "The EAN was on another name in this month" }),
  })
  .meta({ id: "RejectedMonth" });
const registration = (about: string, status: z.infer<typeof RegistrationStatus>): EventRow => {
  const registration_status = z.literal(status).meta({ description: "Status of the registration" });
  return {
    about,
    client: { ...connection, registration_status },
    partner: { ...customer, registration_status },
  };
};
const ofDraft = (about: string, status: string): EventRow => ({
  about,
  client: null,
  partner: { ...draft, status: z.literal(status).meta({ description: "Current status of the draft" }) },
});
const sale = (about: string): EventRow => ({
  about,
  client: { ...account, delivery_year: z.int().meta({ description: "The year of charging" }) },
  partner: payout,
});
const payment = (about: string, name: string): EventRow => {
  const status = z.literal(name).meta({ description: "Current status of the payment" });
  return { about, client: { ...account, status }, partner: { ...payout, status } };
};
const webhook = {
  webhook_id: z.guid().meta({ description: "The id of the endpoint" }),
  disabled_reason: z.string().meta({ description: "Why we stopped sending to it" }),
};
const MID = "Whether its kWh may become ERE; null until we have judged the evidence of its MID meter";
const charger = {
  charger_id: z.guid().meta({ description: "The charger" }),
  connection_id,
  mid_eligible: z.boolean().nullable().meta({ description: MID }),
};
const mid = {
  mid_eligible: z.boolean().optional().meta({
    description: "Whether its kWh may become ERE; absent until we have judged the evidence of its MID meter",
  }),
};

const table = {
  "account.created": { about: "A CPO created an account", client: connection, partner: null },
  "account.eligibility_changed": {
    about: "All four gates are open, or one of them has closed",
    client: {
      ...account,
      ere_eligible: z.boolean().meta({ description: "Whether all four gates are open" }),
      checklist: checklist().meta({ description: "The four gates" }),
    },
    partner: null,
  },
  "mandate.signed": mandate("The customer signed a mandate", "signed"),
  "mandate.renewed": mandate("The customer signed for the next years", "signed"),
  "mandate.declined": { ...mandate("The customer declined to sign", "declined"), partner: null },
  "mandate.revoked": mandate("A signed mandate was ended", "revoked"),
  "mandate.expired": mandate("The last year of a mandate is over, and nobody signed for the next", "expired"),
  "mandate.mail_failed": {
    about:
      "Mail to the customer begins to fail: the link to sign by, or a later mail. It is refused, comes back or is given up",
    client: {
      ...account,
      connection_id: connection_id.nullable().meta({ description: "The connection; null if the mail was about none" }),
      reason: MailFailure.meta({ description: "Why the mail failed" }),
    },
    partner: { ...customer, reason: MailFailure.meta({ description: "Why the mail failed" }) },
  },
  "ean.status_changed": {
    about: "The EAN register or the operator changed the status of a connection's EAN",
    client: { ...connection, ean_validation_status: EanValidationStatus },
    partner: null,
  },
  "charger.registered": { about: "The customer added a charger", client: null, partner: { ...customer, ...mid } },
  "charger.connected": {
    about: "A charger connected to our OCPP gateway for the first time, and said what it is",
    client: { ...account, ...charger },
    partner: { ...customer, ...mid },
  },
  "charger.mid_confirmed": {
    about: "We decided whether a charger's meter is MID",
    client: { ...account, ...charger },
    partner: { ...customer, ...mid },
  },
  "registration.submitted": registration("The registration was submitted and waits for review", "ingediend"),
  "registration.approved": registration("The registration was approved", "goedgekeurd"),
  "registration.rejected": registration("The registration was rejected", "afgekeurd"),
  "draft.claimed": ofDraft("The customer proved the e-mail address of a draft", "claimed"),
  "draft.active": ofDraft("The customer signed, and the draft is now an account", "active"),
  "draft.expired": ofDraft("Nobody claimed the draft in time", "expired"),
  "draft.conflict": ofDraft("The draft's address or EAN is already registered in another way", "conflict"),
  "draft.mail_failed": {
    about: "Mail to the customer of a draft begins to fail: it is refused, comes back or is given up",
    client: null,
    partner: {
      ...draft,
      status: z
        .enum(["invited", "claimed", "expired", "conflict"])
        .meta({ description: "Current status of the draft" }),
      reason: MailFailure.meta({ description: "Why the mail failed" }),
    },
  },
  "customer.sharing_ended": { about: "A customer is no longer yours", client: null, partner: customer },
  "charging.parked": {
    about: "Charging sessions named chargers that we do not know; they wait until you give these names to chargers",
    client: {
      names: z
        .array(
          z.object({
            kind: z.string().meta({
              description: "external_ref, serial_number, evse_uid, evse_id or meter_id",
              example: "evse_id",
            }),
            value: z.string().meta({ description: "The name, as it is compared", example: "NLTNME77" }),
          }),
        )
        .meta({ description: "Up to 20 names that no parked session had before" }),
      name_count: z.int().meta({ description: "Number of such names", example: 1 }),
    },
    partner: null,
  },
  "charging.evidence_over_quota": {
    about:
      "You told more charging data in a day than we keep of a source. Until midnight in Amsterdam, sessions are stored " +
      "with the hash of what you sent, and none can wait for its charger; reported once a day",
    client: {
      charger_id: z.guid().nullable().meta({ description: "The OCPP charger; null: you, or your OCPI platform" }),
      bytes_a_day: z.int().meta({ description: "What we keep in a day", example: 67108864 }),
    },
    partner: null,
  },
  "ocpi.pull_failed": {
    about: "For 24 hours we could not read the CDRs of your OCPI platform; reported once until a pull succeeds",
    client: {
      since: instant().meta({ description: "When it began to fail" }),
      reason: z.string().meta({
        description: "timeout, connection_refused, tls, http_500, status_2001, not_json, another_origin and the like",
        example: "http_500",
      }),
    },
    partner: null,
  },
  "account.months_locked": months("Months were booked, and are locked", "submitted"),
  "account.months_registered": months("The register credited months", "registered"),
  "account.months_rejected": {
    ...rejectedMonths,
    client: { ...rejectedMonths.client, months: z.array(RejectedMonth).meta({ description: "Each, and why" }) },
  },
  "account.months_reopened": months("A booking was withdrawn, and its months can be delivered again", "staged"),
  "ere.sold": sale(
    "ERE were sold. For a client: of an account that you settle with yourself. For a partner: with a share for you",
  ),
  "ere.sale_reversed": sale("A sale of ERE was taken back"),
  "payout.approved": payment("Money is on its way to your bank", "approved"),
  "payout.paid": payment("Money was paid", "paid"),
  "payout.failed": payment("The bank could not pay", "failed"),
  "payout.reversed": payment("A payment was recalled before it was sent, or what it paid for was reversed", "pending"),
  "webhook_endpoint.disabled": {
    about: "We stopped sending to a webhook endpoint",
    client: webhook,
    partner: webhook,
  },
} as const satisfies Record<string, EventRow>;

export type EventType = keyof typeof table;
export const EVENTS: Readonly<Record<EventType, EventRow>> = table;
export const EVENT_TYPES = Object.keys(table) as [EventType, ...EventType[]];

/** The types in the log of a CPO client, or of a partner. */
export const typesOf = (log: "client" | "partner") => EVENT_TYPES.filter((type) => EVENTS[type][log]);

const pascal = (type: string) => type.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase());

/**
 * The event and page schemas of `GET /v1/events` (client) or `GET /partner/events` (partner). Call it once per log,
 * because its schemas have names in the document.
 */
export function eventLog(log: "client" | "partner") {
  const prefix = log === "client" ? "" : "Partner";
  const events = typesOf(log).map((type) =>
    z
      .object({
        id: z.guid().meta({ description: "The event's id; it never changes; a delivery sends it as webhook-id" }),
        type: z.literal(type).meta({ description: "The type, which determines the fields of `data`" }),
        created_at: instant().meta({ description: "When it happened" }),
        sequence: z
          .int()
          .meta({ description: "Its place in this log; a later change of an account has a higher sequence" }),
        account_id: z
          .guid()
          .nullable()
          .meta({ description: "The account, for an event about an account of a CPO client" }),
        data: z.object(EVENTS[type][log] ?? {}).meta({
          description: "Ids, references, status and reasons. No personal data, unless the register's words have any",
        }),
      })
      .meta({ id: `${prefix}Event${pascal(type)}`, description: EVENTS[type].about }),
  );
  type Event = (typeof events)[number];
  const Event = z.discriminatedUnion("type", events as [Event, ...Event[]]).meta({
    id: `${prefix}Event`,
    description: "An event; `type` tells which. New types may be added: ignore a type that you do not know",
  });
  const Page = z
    .object({
      events: z.array(Event).meta({ description: "Oldest first" }),
      next_cursor: z.string().meta({
        description: "Send it as after; also present on the last page",
        example: "AAAAAAAAACrfEo7qk0lR5g",
      }),
      has_more: z.boolean().meta({ description: "Whether more events are available now" }),
    })
    .meta({ id: `${prefix}EventPage` });
  return { Event, Page };
}

/** The query of both logs. */
export const EVENT_QUERY = {
  after: filter(200).meta({ description: "next_cursor of an earlier response" }),
  limit: limit(100),
  type: z
    .string()
    .transform((value) =>
      value
        .split(",")
        .map((type) => type.trim())
        .filter(Boolean),
    )
    .pipe(z.array(z.enum(EVENT_TYPES, "is no event type; GET /openapi.json lists them under webhooks")))
    .transform((types) => (types.length > 0 ? types : null))
    .optional()
    .meta({
      description: "Only these types, separated by commas",
      override: { type: "string" },
      example: "mandate.signed,mandate.revoked",
    }),
};

export const LOG_DESCRIPTION =
  "Returns every event of the last 90 days once, in an order that never changes. Continue from the cursor of the " +
  "last response, and you miss none. Without `after` it begins with the oldest. A cursor belongs to one log, with " +
  "any filter. If an event after the cursor is already older than 90 days, the call returns 410 with " +
  "`oldest_cursor`: read on from there. With a filter, a page may be empty and still have `has_more`.";

export const WebhookAttempt = z
  .object({
    event_id: z.guid().meta({ description: "The header webhook-id" }),
    type: z
      .string()
      .meta({ description: "Type of the event that was sent; ping for a test", example: "mandate.signed" }),
    attempt: z.int().meta({ description: "1 to 10; after attempt 10 we give the event up, but it stays in the log" }),
    at: instant().meta({ description: "When it was sent" }),
    status: z.int().nullable().meta({ description: "Status of the response; null if there was none" }),
    ms: z.int().meta({ description: "Duration of the call, in milliseconds" }),
    error: z
      .string()
      .nullable()
      .meta({
        description:
          "timeout, redirect, address_not_allowed, url_not_allowed, name_not_found, connection_refused, tls or " +
          "connection_failed; secret_unreadable if we could not sign, which uses up no attempt",
      }),
    next_attempt_at: instant().nullable().meta({ description: "When we send it again; null if we do not" }),
  })
  .meta({ id: "WebhookAttempt" });
