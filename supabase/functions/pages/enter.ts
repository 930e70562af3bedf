import type { Context } from "hono";
import { hashAddress, hashSecret } from "#shared/auth/tokens.ts";
import { withLogin } from "#shared/domain/claim/flow.ts";
import type { AskLogin } from "#shared/domain/claim/login.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { DEAD, unknown, welcome } from "./claim.ts";
import { claimKindPage, enterPage } from "./claim_views.ts";
import type { Brand, Frame } from "./layout.ts";
import { callerOf } from "./mandate.ts";
import { acceptedLocale, isLocale, type Locale, MESSAGES } from "./messages.ts";
import type { PagesEnv } from "./pages.ts";

/** A sign-in link that a partner's own portal leads a customer through: it proves the address, once. */
export const SQL = ["open_sign_in_link", "use_sign_in_link"] as const;

export const PATH = "/enter/:token";

/** A token of newSecret(). Anything else is not looked up. */
const TOKEN = /^[0-9A-Za-z]{43}$/;

type Handler = (c: Context<PagesEnv>, environment: Environment) => Promise<Response>;
type Opened = {
  state: "open" | "active" | "expired" | "conflict" | "gone" | "used" | "unknown";
  locale?: Locale;
  brand?: Brand;
};

async function open(c: Context<PagesEnv>, environment: Environment): Promise<{ opened: Opened; frame: Frame }> {
  const { config } = environment;
  const token = c.req.param("token") ?? "";
  const opened: Opened = TOKEN.test(token)
    ? JSON.parse(
        await environment.db.call("open_sign_in_link", callerOf(c, environment), {
          token_hash: hashSecret(token),
          address_hash: hashAddress(environment, c.var.address),
        }),
      )
    : { state: "unknown" };
  const wanted = c.req.query("lang");
  const locale = isLocale(wanted) ? wanted : (opened.locale ?? acceptedLocale(c.req.header("accept-language")));
  const inLanguage = (other: Locale) => `?lang=${other}`;
  return { opened, frame: { config, locale, messages: MESSAGES[locale], root: c.var.root, inLanguage } };
}

/** Opening uses nothing up: mail scanners open links too. */
export const show: Handler = async (c, environment) => {
  const { opened, frame } = await open(c, environment);
  c.set("outcome", opened.state);
  switch (opened.state) {
    case "open":
    case "active":
      return c.html(enterPage({ ...frame, brand: opened.brand }, `?lang=${frame.locale}`));
    case "used":
      return c.html(claimKindPage(frame, "link_used"), DEAD);
    case "expired":
      return c.html(claimKindPage(frame, "link_expired"), DEAD);
    case "conflict":
      return c.html(claimKindPage(frame, "conflict"), DEAD);
    default:
      return unknown(c, environment);
  }
};

export const use: Handler = async (c, environment) => {
  const token = c.req.param("token") ?? "";
  if (!TOKEN.test(token)) return unknown(c, environment);
  const ask = async () =>
    JSON.parse(
      await environment.db.call("use_sign_in_link", callerOf(c, environment), { token_hash: hashSecret(token) }),
    ) as { outcome: "proven" | "conflict" | "not_open"; draft_id: string } | AskLogin;
  const { outcome, draft_id } = await withLogin(environment, ask);
  c.set("outcome", outcome);
  if (outcome !== "proven") return show(c, environment);
  const lang = c.req.query("lang");
  return welcome(c, environment, draft_id, isLocale(lang) ? `?lang=${lang}` : "");
};
