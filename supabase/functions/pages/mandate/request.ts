import { hashSecret } from "#shared/auth/tokens.ts";
import type { OpenFacts } from "#shared/domain/answers.ts";
import type { Facts } from "#shared/domain/mandate_text/mandate_text.ts";
import { documentOf } from "#shared/domain/mandate_text/signature.ts";
import type { SqlAnswer } from "#shared/foundation/answers.ts";
import { DEAD, type Handler, type PageAnswer, PageRequest } from "../kit/page_request.ts";
import { choicesOf, type SigningFrame, versionOf } from "../kit/signature.ts";
import { kindPage } from "../kit/views.ts";
import type { Opened } from "./model.ts";
import type { Name } from "./sql.ts";
import { declinedPage, signedPage } from "./views.ts";
import { WORDS } from "./words.ts";

const UNKNOWN: Opened = { state: "unknown", locale: null };

/** A request for a page of one link, the link having been opened. */
export class MandateRequest extends PageRequest<Name> {
  declare readonly frame: SigningFrame;
  readonly opened: Opened;

  private constructor({ c, environment, declared, token }: PageRequest<Name>, opened: Opened) {
    const seen = c.req.query("seen") ?? c.var.form.get("seen");
    const { years, kwh } = c.req.query();
    const wishes = { ...(years ? { years } : {}), ...(kwh ? { kwh } : {}) };
    super(c, environment, declared, {
      path: `/mandate/${token ?? "unknown"}`,
      locale: opened.locale,
      // the same page; one that answers a form is left for the page of that form
      inLanguage: (other) =>
        `${c.req.path.endsWith("/code") ? "sign" : ""}?${new URLSearchParams({ lang: other, ...wishes, ...(seen ? { seen } : {}) })}`,
    });
    this.opened = opened;
    this.frame = {
      ...this.frame,
      brand: opened.brand,
      place: { steps: WORDS[this.locale].steps, step: 1 },
    };
  }

  /** Every request counts against the address it comes from; a refused one throws. */
  static async open(request: PageRequest<Name>): Promise<MandateRequest> {
    const { token, address_hash } = request;
    if (!token) return new MandateRequest(request, UNKNOWN);
    const asked = { token_hash: hashSecret(token), address_hash };
    return new MandateRequest(request, await request.call("open_mandate_link", asked));
  }

  /** Does something with the link. */
  act<Called extends Exclude<Name, "open_mandate_link">>(name: Called, input: object): Promise<SqlAnswer<Called>> {
    return this.call(name, { token_hash: hashSecret(this.token ?? ""), ...input });
  }

  /** What may be signed: for each of the periods, the shortest first. */
  get choices(): Facts[] {
    const { facts, periods } = this.opened;
    return facts && periods ? choicesOf(facts, periods) : [];
  }

  /** The facts that were read; undefined where they are no longer what may be signed. */
  read(seen: string | null | undefined): Facts | undefined {
    return this.choices.find((facts) => versionOf(facts) === seen);
  }

  documentOf(facts: Facts): string {
    return documentOf(this.environment.config, facts, this.locale);
  }

  /** The page of a link that is no longer, or was never, open; null when it is. */
  closed(): PageAnswer | null {
    const { frame, opened } = this;
    const { state, signed, partner_name = "", return_url = null, held_until = null, may_sign_again = false } = opened;
    if (state === "open") return null;
    this.logOutcome(state);
    if (state === "signed" && signed)
      return this.page(signedPage(frame, signed, { partner_name, return_url, held_until, may_sign_again }));
    if (state === "declined") return this.page(declinedPage(frame, partner_name, return_url, held_until));
    const words = state === "expired" || state === "voided" ? WORDS[frame.locale][state] : frame.words.unknown;
    return this.page(kindPage(frame, words), DEAD);
  }
}

/** A step that only an open link has. A link that was signed or declined elsewhere meanwhile leads to what became of it. */
export function onOpenLink(run: (request: MandateRequest, facts: OpenFacts) => PageAnswer): Handler<Name> {
  return async (bare) => {
    const request = await MandateRequest.open(bare);
    const { state, facts } = request.opened;
    if (state === "signed" || state === "declined") return request.go("");
    return request.closed() ?? run(request, facts as OpenFacts);
  };
}
