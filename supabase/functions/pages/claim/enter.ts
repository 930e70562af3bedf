import { hashSecret } from "#shared/auth/tokens.ts";
import { isLocale } from "#shared/values/locale.ts";
import { claimPath, readClaimSession } from "../kit/claim_session.ts";
import { DEAD, type Handler, PageRequest } from "../kit/page_request.ts";
import { welcome } from "./request.ts";
import type { Name } from "./sql.ts";
import { claimKindPage, enterPage } from "./start_views.ts";

/** A sign-in link that a partner's own portal leads a customer through: it lets in, once, and until the customer signs. */

/** Opening uses nothing up: mail scanners open links too. */
export const showEnter: Handler<Name> = async (bare) => {
  const { c, environment, declared, token, address_hash } = bare;
  if (!token) return bare.unknown();
  const asked = { token_hash: hashSecret(token), address_hash };
  const { state, locale, brand, draft_id } = await bare.call("open_sign_in_link", asked);
  const request = new PageRequest(c, environment, declared, { locale });
  request.logOutcome(state);
  switch (state) {
    case "open":
    case "active":
      return request.formPage(() => enterPage({ ...request.frame, brand }, `?lang=${request.locale}`));
    case "used":
      // this browser went through it, or was let in otherwise
      if (draft_id && readClaimSession(c, environment, draft_id))
        return c.redirect(claimPath(c.var.root, environment, { draft_id }), 303);
      return request.page(claimKindPage(request.frame, "link_used"), DEAD);
    case "expired":
      return request.page(claimKindPage(request.frame, "link_expired"), DEAD);
    case "conflict":
      return request.page(claimKindPage(request.frame, "conflict"), DEAD);
    case "gone":
      return request.page(claimKindPage(request.frame, "gone"), DEAD);
    default:
      return request.unknown();
  }
};

/** A second click of the same browser leads on as the first one did, whose answer it may never have seen. */
export const useEnter: Handler<Name> = async (request) => {
  const { token, browser } = request;
  if (!token) return request.unknown();
  const browser_hash = browser ? hashSecret(`${browser}:${token}`) : null;
  const asked = { token_hash: hashSecret(token), browser_hash };
  const using = request.call("use_sign_in_link", asked);
  const { answer, refused } = await request.attempt(using, ["link_not_open", "claim_conflict"]);
  if (refused) return showEnter(request);
  request.logOutcome("proven");
  const lang = request.c.req.query("lang");
  const { draft_id, stage } = answer;
  return welcome(request, { draft_id }, { proved_by: "link", stage }, isLocale(lang) ? `?lang=${lang}` : "");
};
