import { readUnsubscribeToken } from "#shared/domain/claim/links.ts";
import type { Handler, PageRequest } from "../kit/page_request.ts";
import type { Name } from "./sql.ts";
import { claimKindPage, unsubscribePage } from "./start_views.ts";

/** The way out of a partner's mail, in the mail and in its List-Unsubscribe header. */
const addressOf = ({ c, environment }: PageRequest) => readUnsubscribeToken(environment, c.req.param("token") ?? "");

/** Asks first: mail scanners open links too. */
export const askOptOut: Handler<Name> = (request) =>
  addressOf(request) ? request.page(unsubscribePage(request.frame)) : request.unknown();

/** From our page, or in one click from a mail program (RFC 8058), which sends no cookie, no origin and wants no question. */
export const optOut: Handler<Name> = async (request) => {
  const email_hash = addressOf(request);
  if (!email_hash) return request.unknown();
  await request.call("opt_out", { email_hash });
  return request.page(claimKindPage(request.frame, "unsubscribed"));
};
