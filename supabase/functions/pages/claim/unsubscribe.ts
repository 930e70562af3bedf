import { readUnsubscribeToken } from "#shared/domain/claim/links.ts";
import type { Handler, Visit } from "../kit/visit.ts";
import type { Name } from "./sql.ts";
import { claimKindPage, unsubscribePage } from "./start_views.ts";

/** The way out of a partner's mail, in the mail and in its List-Unsubscribe header. */
const addressOf = ({ c, environment }: Visit) => readUnsubscribeToken(environment, c.req.param("token") ?? "");

/** Asks first: mail scanners open links too. */
export const askOptOut: Handler<Name> = (visit) =>
  addressOf(visit) ? visit.page(unsubscribePage(visit.frame)) : visit.unknown();

/** From our page, or in one click from a mail program (RFC 8058), which sends no cookie, no origin and wants no question. */
export const optOut: Handler<Name> = async (visit) => {
  const email_hash = addressOf(visit);
  if (!email_hash) return visit.unknown();
  await visit.call("opt_out", { email_hash });
  return visit.page(claimKindPage(visit.frame, "unsubscribed"));
};
