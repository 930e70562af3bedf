import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { inNumbers } from "../kit/signed_in_views.ts";
import { ownPage } from "./frame.ts";
import type { Overview } from "./model.ts";
import { byQuarter, money } from "./money.ts";
import { leftOut } from "./months.ts";
import { progressOf } from "./progress.ts";
import type { MijnFrame } from "./request.ts";
import { WORDS } from "./words.ts";

/** Of a CPO's customers: private.signed_accounts finds no more. */
const MOST = 100;

/** What a person sees first: what they got and may expect, how far they are and who must act, and euro by quarter. */
export function overviewPage(frame: MijnFrame, overview: Overview): Html {
  const words = WORDS[frame.locale].overview;
  const { accounts, quarters } = overview;
  const [first] = (overview.name ?? "").split(" ");
  const progress = progressOf(frame, overview);
  const plot = quarters.length === 0 ? "" : byQuarter(frame, overview);
  // what a person must do stands before what they may look at
  return ownPage(frame, "", overview.email, {
    title: words.title(first || null),
    body: html`${money(frame, overview)}
${accounts.length < MOST ? "" : html`<p class="panel">${words.most(inNumbers(frame, MOST))}</p>`}
${progress.asks ? "" : plot}
<section aria-labelledby="progress"><h2 id="progress">${words.progress}</h2>
${accounts.length === 0 ? html`<p>${words.no_account}</p>` : progress.shown}</section>
${progress.asks ? plot : ""}
${leftOut(frame, overview)}
<p><a class="link" href="${frame.to("/charging")}">${frame.is_signatory ? words.more_months : words.more}</a></p>`,
  });
}
