/**
 * Events: which there are, who is told them, and what each says. `core.events` holds them; its rules are in supabase/schemas/events.
 */

import { z } from "#shared/foundation/zod.ts";
import { filter, instant, limit } from "#shared/values/fields.ts";
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
    .meta({ description: "Your own reference; null where a person or application reads, or made the endpoint" }),
};
const draft = { draft_id: z.guid().meta({ description: "The draft" }), external_ref: customer.external_ref };
/** MD5 of partner and quarter, so no UUID by RFC 9562: validators that are generated from `format: uuid`, such as Zod's, refuse most. */
export const payoutId = z.guid().meta({
  description: "The payout. Its id never changes. Read it as text: it looks like a UUID, but has no version",
  override: { type: "string", format: undefined, pattern: undefined },
});
const payout = {
  payout_id: payoutId,
  period: z.string().meta({ description: "The quarter of delivery", example: "2026-Q1" }),
};
const checklist = z.object({
  mandate_signed: z.boolean().meta({ description: "A mandate is signed and holds" }),
  ean_validated: z.boolean().meta({ description: "The EAN belongs to the address" }),
  mid_charger_registered: z.boolean().meta({ description: "A charger with a MID meter is registered" }),
  iban_present: z.boolean().meta({ description: "There is an IBAN to pay to" }),
});

type Shape = Readonly<Record<string, z.ZodType>>;
/** What an event is about, and its `data` in the log of a CPO client and in that of a partner; null where it is in none. */
type EventRow = { about: string; client: Shape | null; partner: Shape | null };

const mandate = (about: string, status: z.infer<typeof MandateStatus>): EventRow => ({
  about,
  client: { ...connection, mandate_status: z.literal(status).meta({ description: "Where the mandate stands now" }) },
  partner: customer,
});
const months = (about: string, status: string): EventRow => ({
  about,
  client: {
    ...account,
    periods: z.array(calendarDate()).meta({ description: "The months, each by its first day" }),
    status: z.literal(status).meta({ description: "Where these months stand now" }),
  },
  partner: null,
});
const registration = (about: string, status: z.infer<typeof RegistrationStatus>): EventRow => {
  const registration_status = z.literal(status).meta({ description: "Where the registration stands" });
  return {
    about,
    client: { ...connection, registration_status },
    partner: { ...customer, registration_status },
  };
};
const ofDraft = (about: string, status: string): EventRow => ({
  about,
  client: null,
  partner: { ...draft, status: z.literal(status).meta({ description: "Where the draft stands now" }) },
});
const sale = (about: string): EventRow => ({
  about,
  client: { ...account, delivery_year: z.int().meta({ description: "The year in which was charged" }) },
  partner: payout,
});
const payment = (about: string, name: string): EventRow => {
  const status = z.literal(name).meta({ description: "Where the payment stands now" });
  return { about, client: { ...account, status }, partner: { ...payout, status } };
};
const webhook = {
  webhook_id: z.guid().meta({ description: "The id of the endpoint" }),
  disabled_reason: z.string().meta({ description: "Why nothing is sent there any more" }),
};
const MID = "Whether its kWh may become ERE; null while the evidence of its MID meter is still to be judged";
const charger = {
  charger_id: z.guid().meta({ description: "The charger" }),
  connection_id,
  mid_eligible: z.boolean().nullable().meta({ description: MID }),
};
const mid = {
  mid_eligible: z.boolean().optional().meta({
    description: "Whether its kWh may become ERE; absent while the evidence of its MID meter is still to be judged",
  }),
};

const table = {
  "account.created": { about: "A CPO created an account", client: connection, partner: null },
  "account.eligibility_changed": {
    about: "All four gates hold, or one of them does not any more",
    client: {
      ...account,
      ere_eligible: z.boolean().meta({ description: "Whether all four gates hold" }),
      checklist: checklist.meta({ description: "The four gates" }),
    },
    partner: null,
  },
  "mandate.signed": mandate("The customer signed a mandate", "signed"),
  "mandate.renewed": mandate("The customer signed for the years after those that are signed for", "signed"),
  "mandate.declined": { ...mandate("The customer declined to sign", "declined"), partner: null },
  "mandate.revoked": mandate("A signed mandate was ended", "revoked"),
  "mandate.expired": mandate("The last year of a mandate is over, and nobody signed for the next", "expired"),
  "ean.status_changed": {
    about: "The EAN register, or the operator, said something new of a connection's EAN",
    client: { ...connection, ean_validation_status: EanValidationStatus },
    partner: null,
  },
  "charger.registered": { about: "The customer added a charger", client: null, partner: { ...customer, ...mid } },
  "charger.mid_confirmed": {
    about: "It is known now whether the meter of a charger is MID",
    client: { ...account, ...charger },
    partner: { ...customer, ...mid },
  },
  "registration.submitted": registration("Everything is there, and the registration waits for review", "ingediend"),
  "registration.approved": registration("The registration was approved", "goedgekeurd"),
  "registration.rejected": registration("The registration was rejected", "afgekeurd"),
  "draft.claimed": ofDraft("The customer proved the e-mail address of a draft", "claimed"),
  "draft.active": ofDraft("The customer signed, and is a customer now", "active"),
  "draft.expired": ofDraft("Nobody claimed the draft in time", "expired"),
  "draft.conflict": ofDraft("The draft's address or EAN is registered in another way", "conflict"),
  "customer.sharing_ended": { about: "A customer is not yours any more", client: null, partner: customer },
  "account.months_locked": months("Months were taken into a booking, and are locked", "submitted"),
  "account.months_registered": months("The register credited months", "registered"),
  "account.months_rejected": months("The register rejected months, which can be delivered again", "rejected"),
  "account.months_reopened": months("A booking was withdrawn, and its months can be delivered again", "staged"),
  "ere.sold": sale("ERE were sold: of an account that you settle with yourself, or with a share for you"),
  "ere.sale_reversed": sale("A sale of ERE was taken back"),
  "payout.approved": payment("Money is on its way to your bank", "approved"),
  "payout.paid": payment("Money was paid", "paid"),
  "payout.failed": payment("The bank could not pay", "failed"),
  "payout.reversed": payment("A payment was taken back before it left, or what it was for was", "pending"),
  "webhook_endpoint.disabled": {
    about: "Nothing is sent to a webhook endpoint any more",
    client: webhook,
    partner: webhook,
  },
} as const satisfies Record<string, EventRow>;

export type EventType = keyof typeof table;
export const EVENTS: Readonly<Record<EventType, EventRow>> = table;
export const EVENT_TYPES = Object.keys(table) as [EventType, ...EventType[]];

/** The types that the log of a CPO client, or of a partner, has. */
export const typesOf = (log: "client" | "partner") => EVENT_TYPES.filter((type) => EVENTS[type][log]);

const pascal = (type: string) => type.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase());

/**
 * What `GET /v1/events` (client) or `GET /partner/events` (partner) answers: an event of that log, told apart by `type`, and a page of them.
 * To be called once: its schemas are named in the document.
 */
export function eventLog(log: "client" | "partner") {
  const prefix = log === "client" ? "" : "Partner";
  const events = typesOf(log).map((type) =>
    z
      .object({
        id: z.guid().meta({ description: "Of the event; never changes; also the webhook-id of a delivery" }),
        type: z.literal(type).meta({ description: "Which event it is: it tells what `data` is" }),
        created_at: instant().meta({ description: "When it happened" }),
        sequence: z
          .int()
          .meta({ description: "Its place in this log; one change of an account after another has a higher one" }),
        account_id: z.guid().nullable().meta({ description: "Of an event about an account of a CPO client" }),
        data: z
          .object(EVENTS[type][log] ?? {})
          .meta({ description: "Ids, references and status; nothing of a person" }),
      })
      .meta({ id: `${prefix}Event${pascal(type)}`, description: EVENTS[type].about }),
  );
  type Event = (typeof events)[number];
  const Event = z.discriminatedUnion("type", events as [Event, ...Event[]]).meta({
    id: `${prefix}Event`,
    description: "An event, told apart by `type`. Types may be added: pass over one that you do not know",
  });
  const Page = z
    .object({
      events: z.array(Event).meta({ description: "Oldest first" }),
      next_cursor: z.string().meta({
        description: "Send it as after; always there, also behind the last event",
        example: "AAAAAAAAACrfEo7qk0lR5g",
      }),
      has_more: z.boolean().meta({ description: "Whether there are more by now" }),
    })
    .meta({ id: `${prefix}EventPage` });
  return { Event, Page };
}

/** What may be asked of a log, whoever's it is; of the types some, apart by commas. */
export const EVENT_QUERY = {
  after: filter(200).meta({ description: "next_cursor of an earlier answer" }),
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
      description: "Only these types, apart by commas",
      override: { type: "string" },
      example: "mandate.signed,mandate.revoked",
    }),
};

export const LOG_DESCRIPTION =
  "Every event once, in an order that never changes, for 90 days: read from the cursor that the last answer ended with, and none is missed. " +
  "Without `after` it begins with the oldest. A cursor belongs to one log, with any filter. Once an event behind it is older than 90 days it is " +
  "answered 410 with `oldest_cursor`, from which on all that is left can be read. Filtered, a page may be empty with `has_more`.";

export const WebhookAttempt = z
  .object({
    event_id: z.guid().meta({ description: "The header webhook-id" }),
    type: z.string().meta({ description: "Of the event that was sent; ping for a test", example: "mandate.signed" }),
    attempt: z.int().meta({ description: "1 to 10; after the tenth the event is given up, and stays in the log" }),
    at: instant().meta({ description: "When it was sent" }),
    status: z.int().nullable().meta({ description: "Of the answer; null where there was none" }),
    ms: z.int().meta({ description: "How long the call took, in milliseconds" }),
    error: z.string().nullable().meta({
      description:
        "timeout, redirect, address_not_allowed, url_not_allowed, name_not_found, connection_refused, tls or connection_failed; secret_unreadable where it is we who cannot sign, which uses up no attempt",
    }),
    next_attempt_at: instant().nullable().meta({ description: "When it is sent again; null where it is not" }),
  })
  .meta({ id: "WebhookAttempt" });
