import { html } from "hono/html";
import type { Html } from "../kit/frame.ts";
import { type Area, entrances, type OwnFrame, SignedInVisit } from "../kit/signed_in.ts";
import type { Visit } from "../kit/visit.ts";
import { OWN_SQL, PATH } from "./sql.ts";
import { WORDS } from "./words.ts";

/** The pages that the menu leads to, under PATH. */
export const SECTIONS = [
  "",
  "/charging",
  "/earnings",
  "/mandate",
  "/chargers",
  "/sharing",
  "/tokens",
  "/data",
] as const;
export type Section = (typeof SECTIONS)[number];

type Name = (typeof OWN_SQL)[number];

const AREA: Area<Section, Name> = {
  id: "the pages of a person",
  path: PATH,
  sections: SECTIONS,
  caller: { kind: "session" },
  sql: OWN_SQL,
};

/** A page of a person's own. */
export type MijnFrame = OwnFrame;

/** A request for a person's own pages, or for the page where they sign in to them. */
export class MijnVisit extends SignedInVisit<Section, Name> {
  constructor(request: Visit<Name>) {
    super(request, AREA);
  }

  protected why(out: string | null): Html {
    const { sign_in: words, data } = WORDS[this.locale];
    const { config, words: kit } = this.frame;
    return html`${out === null ? "" : html`<p class="panel" role="status">${out === "closed" ? data.closed : kit.sign_in.signed_out}</p>`}
<p class="lead">${words.why(config.SERVICE_NAME)}</p>
<p>${words.which}</p>`;
  }
}

export const { onSignIn, signedIn } = entrances<Section, Name, MijnVisit>((request) => new MijnVisit(request));
