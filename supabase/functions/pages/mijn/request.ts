import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { OWN_SECTIONS, type OwnSection } from "../kit/own_sections.ts";
import type { Handler, PageAnswer, PageRequest } from "../kit/page_request.ts";
import { type Area, COOKIE_SECONDS, entrances, type OwnFrame, SignedInRequest, whyOut } from "../kit/signed_in.ts";
import { OWN_SQL, PATH } from "./sql.ts";
import { WORDS } from "./words.ts";

type Name = (typeof OWN_SQL)[number];

const AREA: Area<Name> = {
  id: "the pages of a person",
  path: PATH,
  forms: /^\/(?:tokens|chargers(?:\/model\/[^/]+)?|account\/[^/]+)$/,
  caller: { kind: "session" },
  sql: OWN_SQL,
};

/** What a signatory of a CPO's customer has of them, who has no login. */
const SIGNATORY_SECTIONS: readonly OwnSection[] = ["", "/charging", "/earnings", "/mandate", "/sharing"];

/** A page of a person's own: which sections there are, and whether they have no login. */
export type MijnFrame = OwnFrame & { sections: readonly OwnSection[]; is_signatory: boolean };

/** A request for a person's own pages, or for the page where they sign in to them. */
export class MijnRequest extends SignedInRequest<Name> {
  declare readonly frame: MijnFrame;
  protected override readonly signatorySeconds = COOKIE_SECONDS;
  protected override readonly strangers = true;

  constructor(request: PageRequest<Name>) {
    super(request, AREA);
    const { isSignatory } = this;
    const sections = isSignatory ? SIGNATORY_SECTIONS : OWN_SECTIONS;
    this.frame = { ...this.frame, sections, is_signatory: isSignatory };
  }

  protected why(out: string | null): Html {
    const { sign_in: words, data } = WORDS[this.locale];
    const { config, words: kit } = this.frame;
    const closed = this.returned()?.typed.get("news") === "closed";
    return html`${closed ? html`<p class="panel" role="status">${data.closed}. ${kit.sign_in.signed_out}</p>` : whyOut(kit, out)}
<p class="lead">${words.why(config.SERVICE_NAME)}</p>
<p>${words.which}</p>
<p class="quiet">${words.signatory}</p>`;
  }
}

export const { onSignIn, signedIn } = entrances<Name, MijnRequest>((request) => new MijnRequest(request));

/** A page that only a person with a login has; a signatory is led to the pages that they have. */
export function withLogin(run: (request: MijnRequest) => PageAnswer): Handler<Name> {
  return signedIn((request) => (request.isSignatory ? request.go("") : run(request)));
}
