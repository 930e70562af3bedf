import { compareIbans } from "#shared/values/iban.ts";
import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import type { PageAnswer, PageRequest } from "../kit/page_request.ts";
import { type Area, entrances, type OwnFrame, SignedInRequest, whyOut } from "../kit/signed_in.ts";
import { kindPage, onward } from "../kit/views.ts";
import { notTheirsPage } from "./not_theirs.ts";
import { PATH, PORTAL_SQL, SLOW_SQL } from "./sql.ts";
import { WORDS } from "./words.ts";

/** The pages that the menu leads to, under PATH. */
export const SECTIONS = ["", "/customers", "/drafts", "/import", "/uploads", "/payouts", "/settings"] as const;
export type Section = (typeof SECTIONS)[number];

/** Where forms go whose page shows again what was typed in them, and those pages. */
const FORMS =
  /^\/(?:import\/(?:customer|invite|[^/]+\/(?:columns|consent))|drafts(?:\/act)?|settings\/(?:account|branding|clients\/[^/]+\/rotate|colleagues|company|return|webhooks(?:\/[^/]+(?:\/(?:change|replay))?)?))$/;

type Name = (typeof PORTAL_SQL)[number];

const AREA: Area<Name> = {
  id: "the pages of a partner",
  path: PATH,
  forms: FORMS,
  // as the partner, by a person and never by its key
  caller: { kind: "partner", scope: "partners:write", key: false },
  sql: PORTAL_SQL,
  slow_sql: SLOW_SQL,
  needs: { same_iban: compareIbans },
};

/** A page of a partner. */
export type PortalFrame = OwnFrame;

/** A request for the pages of a partner, or for the page where people sign in to them. */
export class PortalRequest extends SignedInRequest<Name> {
  constructor(request: PageRequest<Name>) {
    super(request, AREA);
  }

  protected why(out: string | null): Html {
    const { config, words: kit } = this.frame;
    const words = WORDS[this.locale].sign_in;
    return html`${whyOut(kit, out)}
<p class="lead">${words.why(config.SERVICE_NAME)}</p>
<p>${words.which}</p>`;
  }

  /** For a form that needs a recent sign-in: as codeFirst(), to whoever is signed in. */
  async codeBefore(page: string): Promise<Response> {
    const { who } = await this.own("read_portal_settings");
    return this.codeFirst(page, who.email);
  }

  /** They manage another partner than when they opened the page: what is in its form is about that one. */
  override tenantChanged(): PageAnswer {
    this.logOutcome("tenant_changed");
    const { title, text, home } = WORDS[this.locale].other_partner;
    return this.page(kindPage(this.frame, { title, text }, onward(this.frame.to(""), home)), 409);
  }

  /** They have a login, and manage no partner, or no longer. */
  override notTheirs(): PageAnswer {
    this.logOutcome("no_partner_linked");
    return this.page(notTheirsPage(this.frame), 403);
  }
}

export const { onSignIn, signedIn } = entrances<Name, PortalRequest>((request) => new PortalRequest(request));
