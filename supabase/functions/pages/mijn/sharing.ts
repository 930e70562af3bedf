import { longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { longMonth } from "../kit/document.ts";
import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { empty } from "../kit/parts/empty.ts";
import { doButton, doneOf } from "../kit/signed_in_views.ts";
import { askTwice, ownPage } from "./frame.ts";
import type { Application, Sharing } from "./model.ts";
import type { MijnFrame } from "./request.ts";
import { WORDS } from "./words.ts";

/** Of these sources a partner knows who its customer is: private.customer_page. */
const NAMED: readonly string[] = ["partner_upload", "partner_invite"];

/** The partner that brought the person and what it sees, and the applications they allowed. */
export function sharingPage(
  frame: MijnFrame,
  { email, partner, cpos, applications }: Sharing,
  news: string | null,
): Html {
  const words = WORDS[frame.locale].sharing;
  const said = { stopped: words.stopped, ended: words.ended }[news ?? ""];
  return ownPage(frame, "/sharing", email, {
    title: words.title,
    body: html`${doneOf(said)}
${cpos.map((cpo) => customerOf(frame, cpo))}
${frame.is_signatory ? whomToAsk(frame, cpos) : shared(frame, partner, applications)}`,
  });
}

/** What the CPO sees whose customer they signed as. */
function customerOf(frame: MijnFrame, cpo: string): Html {
  const words = WORDS[frame.locale].sharing;
  return html`<h2 class="first">${words.customer_of(cpo)}</h2>
<p>${words.cpo_sees(cpo)}</p>
<ul>${words.cpo.map((line) => html`<li>${line}</li>`)}</ul>
<p>${words.cpo_not(cpo)}</p>`;
}

/** Who has no login changes and ends nothing here by themselves: whom to ask. */
function whomToAsk(frame: MijnFrame, cpos: readonly string[]): Html {
  const words = WORDS[frame.locale].sharing;
  const { SERVICE_NAME, SUPPORT_EMAIL } = frame.config;
  return html`<h2>${words.ask_title}</h2>
<p>${words.ask_cpo(cpos.join(", "))}</p>
<p>${words.ask_us(SERVICE_NAME)} <a href="mailto:${SUPPORT_EMAIL}">${SUPPORT_EMAIL}</a></p>`;
}

/** The partner that brought a person with a login, and the applications they allowed. */
function shared(frame: MijnFrame, partner: Sharing["partner"], applications: readonly Application[]): Html {
  const words = WORDS[frame.locale].sharing;
  const sees = partner && [...(NAMED.includes(partner.source) ? words.named : words.unnamed), words.sums];
  return html`<div class="beside"><section>${
    partner
      ? html`<h2>${words.with(partner.name)}</h2>
<p>${words.since(partner.name, longMonth(partner.since, frame.words))}</p>
<ul>${sees?.map((line) => html`<li>${line}</li>`)}</ul>
<p>${words.not(partner.name)}</p>
<p><a class="link" href="${frame.to("/sharing/stop")}">${words.stop(partner.name)}</a></p>`
      : empty("person", words.nobody)
  }</section>
<section><h2>${words.apps}</h2>
${applications.length === 0 ? empty("gear", words.no_apps) : applications.map((each) => application(frame, each))}</section></div>`;
}

function application(frame: MijnFrame, { client_id, name, operated_by, scopes, ...at }: Application): Html {
  const words = WORDS[frame.locale].sharing;
  return html`<section class="sheet" aria-label="${name}"><h3>${name}${operated_by ? html` <small class="quiet">${words.by(operated_by)}</small>` : ""}</h3>
<p>${words.may}</p>
<ul>${scopes.map((scope) => html`<li>${frame.words.scopes[scope]}</li>`)}</ul>
<dl>
<div><dt>${words.allowed}</dt><dd>${longDate(at.allowed_at, frame.words)}</dd></div>
<div><dt>${words.used}</dt><dd>${longDate(at.last_used_at, frame.words)}</dd></div>
</dl>
${doButton(frame, "/sharing/application", { client: client_id }, words.end(name))}</section>`;
}

/** Before sharing stops: what that means. */
export function stopSharingPage(frame: MijnFrame, email: string, partner: NonNullable<Sharing["partner"]>): Html {
  const words = WORDS[frame.locale].sharing;
  const { name, partner_id } = partner;
  const asked = { title: words.stop_title(name), means: words.stop_means(name), yes: words.yes, no: words.no };
  return askTwice(frame, "/sharing", email, asked, "/sharing/stop", { partner: partner_id });
}
