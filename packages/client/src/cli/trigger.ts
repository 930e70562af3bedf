import { setTimeout as sleep } from "node:timers/promises";
import type { ApiClient } from "../api_client.ts";
import { orThrow } from "../error.ts";
import { type Event, type EventLog, events } from "../events.ts";
import { type Access, asCpo, asPartner, logOf, UsageError } from "./account.ts";
import { endOf } from "./log.ts";
import { Sandbox } from "./sandbox.ts";

type TypeOf<Log extends EventLog> = Event<Log>["type"];
/** How the sandbox produces an event, or why it cannot. */
type Way = ((sandbox: Sandbox) => Promise<unknown>) | string;

const OPERATOR = "Only the operator does this";
const LATER = "It happens as time passes";
const BOUNCED = "A mail server refuses our mail or sends it back; the sandbox mails nobody";

/** Every type of a CPO client's log. */
const CLIENT: Readonly<Record<TypeOf<"/v1/events">, Way>> = {
  "account.created": (sandbox) => sandbox.account(),
  "account.eligibility_changed": (sandbox) => sandbox.eligible(),
  "account.months_locked": (sandbox) => sandbox.settledAccount(),
  "account.months_registered": (sandbox) => sandbox.settledAccount(),
  "account.months_rejected": (sandbox) => sandbox.settledAccount("service_pays_customer", "reject"),
  "account.months_reopened": `${OPERATOR}, who withdraws a booking`,
  "charger.connected": "A charger connects to the OCPP gateway; a CPO's chargers connect to its own back office",
  "charger.mid_confirmed": `${OPERATOR}, or the charger's first connection, where its model leaves the meter open`,
  "charging.parked": (sandbox) => sandbox.parked(),
  "charging.evidence_over_quota": "You send more charging data in a day than we keep; see the limits",
  "ocpi.pull_failed": `${LATER}: your OCPI platform does not answer for 24 hours`,
  "ean.status_changed": `${OPERATOR}, or the weekly check of an unverified EAN`,
  "ere.sold": (sandbox) => sandbox.settledAccount("via_cpo_invoicing"),
  "ere.sale_reversed": `${OPERATOR}, who takes a sale back`,
  "mandate.declined": (sandbox) => sandbox.declined(),
  "mandate.mail_failed": BOUNCED,
  "mandate.expired": (sandbox) => sandbox.expiredAccount(),
  "mandate.renewed": `${LATER}: a customer signs again in the last weeks of the signed years`,
  "mandate.revoked": (sandbox) => sandbox.revokedAccount(),
  "mandate.signed": (sandbox) => sandbox.signed(),
  "payout.approved": `${OPERATOR}: settle pays at once`,
  "payout.failed": (sandbox) => sandbox.paid("fail"),
  "payout.paid": (sandbox) => sandbox.paid(),
  "payout.reversed": `${OPERATOR}, who recalls a payment or reverses what it paid for`,
  "registration.approved": (sandbox) => sandbox.reviewedAccount("goedgekeurd"),
  "registration.rejected": (sandbox) => sandbox.reviewedAccount("afgekeurd"),
  "registration.submitted": (sandbox) => sandbox.eligible(),
  "webhook_endpoint.disabled": "An endpoint is disabled when it answers 410, fails for five days, or on request",
};

const SHARE =
  "Your share begins with the month in which a customer joins, and settle takes months that are over: settle next month";

/** Every type of a partner's log. */
const PARTNER: Readonly<Record<TypeOf<"/partner/events">, Way>> = {
  "charger.connected": "The customer's charger connects to the OCPP gateway for the first time",
  "charger.mid_confirmed": CLIENT["charger.mid_confirmed"],
  "charger.registered": (sandbox) => sandbox.customer(true),
  "customer.sharing_ended": "The customer ends it on their own pages, or ends their account",
  "draft.active": (sandbox) => sandbox.customer(false),
  "draft.claimed": (sandbox) => sandbox.customer(false),
  "draft.conflict": (sandbox) => sandbox.conflict(),
  "draft.mail_failed": BOUNCED,
  "draft.expired": `${LATER}: nobody claims a draft for 60 days`,
  "ere.sold": SHARE,
  "ere.sale_reversed": CLIENT["ere.sale_reversed"],
  "mandate.expired": (sandbox) => sandbox.expiredCustomer(),
  "mandate.mail_failed": CLIENT["mandate.mail_failed"],
  "mandate.renewed": CLIENT["mandate.renewed"],
  "mandate.revoked": (sandbox) => sandbox.revoked(),
  "mandate.signed": (sandbox) => sandbox.customer(false),
  "payout.approved": CLIENT["payout.approved"],
  "payout.failed": SHARE,
  "payout.paid": SHARE,
  "payout.reversed": CLIENT["payout.reversed"],
  "registration.approved": (sandbox) => sandbox.reviewedCustomer("goedgekeurd"),
  "registration.rejected": (sandbox) => sandbox.reviewedCustomer("afgekeurd"),
  "registration.submitted": (sandbox) => sandbox.customer(true),
  "webhook_endpoint.disabled": CLIENT["webhook_endpoint.disabled"],
};

const WAYS: Readonly<Record<EventLog, Readonly<Record<string, Way>>>> = {
  "/v1/events": CLIENT,
  "/partner/events": PARTNER,
};

/** Every type of both logs: `why` says why the sandbox cannot produce it, null where it can. */
export function listTypes(): { log: "client" | "partner"; type: string; why: string | null }[] {
  return (["client", "partner"] as const).flatMap((log) =>
    Object.entries(log === "client" ? CLIENT : PARTNER).map(([type, way]) => ({
      log,
      type,
      why: typeof way === "string" ? way : null,
    })),
  );
}

/** Production has no helpers, and nobody wants invented customers there. */
async function onlyOnSandbox(partner: ApiClient): Promise<void> {
  const answer = await partner.GET("/sandbox/v1/mail", { params: { query: { limit: 1 } } });
  if (answer.response.status === 404) throw new Error("trigger works on the sandbox only. Check BASE_URL.");
  orThrow(answer);
}

/** How long the event may take to be in the log. */
const WAIT_MS = 20_000;

async function newsOf(client: ApiClient, log: EventLog, after: string | null): Promise<Event[]> {
  const news: Event[] = [];
  for await (const page of events(client, { log, after })) news.push(...page.events);
  return news;
}

/**
 * Makes the sandbox produce an event, by the requests that produce it in production and by the helpers that play the other parts.
 * @returns every event that followed.
 * @throws {UsageError} for a type that there is not, or that cannot be produced; {Error} on production, before anything is made.
 */
export async function trigger(type: string | undefined, access: Access): Promise<Event[]> {
  if (!type) throw new UsageError("name a type of event");
  const log = logOf(access);
  const way = WAYS[log][type];
  if (way === undefined) {
    const other = Object.hasOwn(log === "/v1/events" ? PARTNER : CLIENT, type);
    throw new UsageError(
      !other
        ? `there is no type ${type}; trigger --list names each type`
        : log === "/v1/events"
          ? `${type} is in the log of a partner: add --log partner`
          : `${type} is in the log of a CPO client: set CLIENT_ID and CLIENT_SECRET`,
    );
  }
  if (typeof way === "string") throw new UsageError(`the sandbox cannot produce ${type} on request. ${way}.`);
  const partner = await asPartner(access);
  await onlyOnSandbox(partner);
  const cpo = log === "/v1/events" ? await asCpo(access) : null;
  const reader = cpo ?? partner;
  const before = await endOf(reader, log);
  await way(new Sandbox(partner, cpo ?? partner));
  const deadline = performance.now() + WAIT_MS;
  for (;;) {
    const news = await newsOf(reader, log, before);
    if (news.some((event) => event.type === type)) return news;
    if (performance.now() > deadline) throw new Error(`no ${type} came within ${WAIT_MS / 1000} s`);
    await sleep(500);
  }
}
