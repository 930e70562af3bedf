import type { Context } from "hono";
import { readUnsubscribeToken } from "#shared/domain/claim/links.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { unknown } from "./claim.ts";
import { claimKindPage, unsubscribePage } from "./claim_views.ts";
import type { Frame } from "./layout.ts";
import { callerOf } from "./mandate.ts";
import { acceptedLocale, isLocale, MESSAGES } from "./messages.ts";
import type { PagesEnv } from "./pages.ts";

/** The way out of a partner's mail, in the mail and in its List-Unsubscribe header. */
export const SQL = ["opt_out"] as const;

export const PATH = "/unsubscribe/:token";

type Handler = (c: Context<PagesEnv>, environment: Environment) => Promise<Response>;

function frameOf(c: Context<PagesEnv>, { config }: Environment): Frame {
  const wanted = c.req.query("lang");
  const locale = isLocale(wanted) ? wanted : acceptedLocale(c.req.header("accept-language"));
  return { config, locale, messages: MESSAGES[locale], root: c.var.root, inLanguage: (other) => `?lang=${other}` };
}

/** Asks first: mail scanners open links too. */
export const ask: Handler = async (c, environment) =>
  readUnsubscribeToken(environment, c.req.param("token") ?? "")
    ? c.html(unsubscribePage(frameOf(c, environment)))
    : unknown(c, environment);

/** From our page, or in one click from a mail program (RFC 8058), which sends no cookie, no origin and wants no question. */
export const optOut: Handler = async (c, environment) => {
  const email_hash = readUnsubscribeToken(environment, c.req.param("token") ?? "");
  if (!email_hash) return unknown(c, environment);
  await environment.db.call(SQL[0], callerOf(c, environment), { email_hash });
  return c.html(claimKindPage(frameOf(c, environment), "unsubscribed"));
};
