import type { Offer } from "#shared/domain/answers.ts";
import type { Claim } from "#shared/domain/claim/answers.ts";
import { STEP_NAMES, type StepName } from "#shared/domain/claim/model.ts";
import { type Facts, longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import type { Gate } from "#shared/values/gates.ts";
import { showDocument } from "../kit/document.ts";
import { codeInput } from "../kit/fields.ts";
import { type Frame, type Html, layout } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { asQuery, choosePeriod, showOffer, sumOf, type Wishes, wishErrors } from "../kit/offer.ts";
import { bottomBar, skipToBar } from "../kit/parts/bottom_bar.ts";
import { keptText, showValidity, versionOf } from "../kit/signature.ts";
import { lastClick, maskEmail, returnLink, saveLinks } from "../kit/views.ts";
import { whatIsKept, whatIsLost } from "../kit/withdrawal.ts";
import { type ClaimFrame, formToken, placeOf } from "./frame.ts";
import { WORDS } from "./words.ts";

/** As many as private.complete_charger lets one person have. */
const MAX_CHARGERS = 10;

/** The last look before signing: what it yields, the mandate in full, and what is not in it. */
export function mandatePage(frame: ClaimFrame, claim: Claim, facts: Facts, document: string, wishes: Wishes): Html {
  const { words: kit, config, to } = frame;
  const words = WORDS[frame.locale].mandate;
  const { held_until, periods, offer, signed } = claim;
  return layout(frame, {
    title: words.title,
    place: placeOf(frame, "mandate"),
    errors: wishErrors(frame, wishes, offer as Offer),
    body: html`${skipToBar(kit.read.to_button)}<p>${words.intro(config.SERVICE_NAME)}</p>
${held_until ? html`<p class="panel">${kit.period.renews(longDate(held_until, kit), longDate(facts.valid_from, kit))}</p>` : ""}
${showOffer(frame, "/mandate", facts, offer as Offer, frame.brand?.name ?? "", wishes)}
${choosePeriod(frame, "/mandate", periods ?? [], facts, wishes)}
${showDocument(document, kit.lang, true)}
${signed ? "" : whatElse(frame, claim)}
<p class="save" data-print><a class="link" href="${to("/document", asQuery({ ...wishes, years: facts.validity_years, typed: null }))}">${kit.read.save}</a></p>
${bottomBar(
  sumOf(frame, offer as Offer, facts.fee_pct, frame.brand?.name ?? "", wishes),
  html`<a class="button" href="${to("/sign", { seen: versionOf(facts) })}">${kit.read.continue}</a>`,
  true,
)}
<p><a class="link" href="${to(signed ? "" : "/charger")}">${kit.back}</a></p>`,
  });
}

/** What was given besides the mandate, and the ways to change something. */
function whatElse(frame: ClaimFrame, claim: Claim): Html {
  const { to } = frame;
  const words = WORDS[frame.locale].mandate;
  const changes: [StepName, string][] = STEP_NAMES.filter(
    (name) => name !== "company" || claim.answers?.type !== "particulier",
  ).map((name) => [name, titleOf(frame, name, claim)]);
  return html`<h2>${words.rest}</h2>
<dl class="known">
<div><dt>${words.payout}</dt><dd>${claim.iban_last4 ? words.payout_known(claim.iban_last4) : words.later}</dd></div>
<div><dt>${words.charger}</dt><dd>${claim.charger?.name ?? words.later}</dd></div>
</dl>
<details>
<summary>${words.change}</summary>
<ul>${changes.map(([name, title]) => html`<li><a class="link" href="${to(`/${name}`)}">${title}</a></li>`)}</ul>
</details>`;
}

function titleOf({ locale }: Frame, name: StepName, { answers }: Claim): string {
  if (name === "company") return WORDS[locale].company.title[answers?.type === "vve" ? "vve" : "zakelijk"];
  return WORDS[locale][name].title;
}

/** What became of a signed claim: what is still to be done, where it stands, and the ways to change or stop it. */
export function donePage(frame: ClaimFrame, claim: Claim, signed: NonNullable<Claim["signed"]>): Html {
  const { words: kit, to } = frame;
  const { done: words } = WORDS[frame.locale];
  const ended = signed.status === "signed" ? null : words.ended[signed.status];
  const missing = ended ? "" : todo(frame, claim);
  return layout(frame, {
    title: ended ? ended.title : words.title,
    body: html`${
      ended
        ? html`<div class="status ${signed.status === "revoked" ? "withdrawn" : "ended"}"><p class="lead">${ended.since(longDate((signed.status === "revoked" && signed.ended_at) || signed.valid_until, kit))}</p>
<p>${words.signed_on(longDate(signed.signed_at, kit))}</p></div>`
        : html`<div class="status done"><p class="lead">${words.thanks(longDate(signed.signed_at, kit))}</p></div>`
    }
${missing}
${ownPages(frame, missing !== "" || Boolean(claim.facts))}
${showValidity(
  frame,
  signed,
  claim.held_until ?? null,
  claim.facts
    ? (label) => html`<a class="${missing ? "button second" : "button"}" href="${to("/mandate")}">${label}</a>`
    : null,
)}
${
  ended
    ? html`<p>${ended.means}${signed.status === "revoked" && signed.covered_until && claim.may_still_book ? html` ${words.kept(longDate(signed.covered_until, kit))}` : ""}</p>`
    : html`<h2>${kit.signed.next_title}</h2>
<ul>${statusLines(frame, claim).map((line) => html`<li>${line}</li>`)}</ul>`
}
${frame.brand ? returnLink(kit, frame.brand.name, claim.return_url ?? null) : ""}
${given(frame, claim)}
${paid(frame, claim)}
<h2>${kit.signed.keep}</h2>
${saveLinks(frame)}
${keptText(frame, signed)}
${
  claim.renewal
    ? html`<h3>${kit.signed.renewal}</h3>
${saveLinks(frame, { of: "renewal" })}
${keptText(frame, claim.renewal)}`
    : ""
}
${ended ? "" : html`<p class="save"><a class="link" href="${to("/revoke")}">${kit.withdrawal.title}</a></p>`}
`,
  });
}

/**
 * On to their own pages: signed in, where the code that signed was typed in this browser a moment ago. `second` where something else
 * is to be done first.
 */
function ownPages(frame: ClaimFrame, second: boolean): Html {
  const look = second ? "button second" : "button";
  const { own_pages, own_pages_are } = WORDS[frame.locale].done;
  return html`<p>${own_pages_are}</p>
${
  frame.opens_own
    ? html`<form class="actions" method="post" action="${frame.to("/mijn")}">${formToken(frame)}<button class="${look}">${own_pages}</button></form>`
    : html`<div class="actions"><a class="${look}" href="${frame.root}/mijn?lang=${frame.locale}">${own_pages}</a></div>`
}`;
}

/** What was paid, each with its statement. */
function paid({ locale, words: kit, to }: ClaimFrame, { payouts = [] }: Claim): Html | "" {
  if (payouts.length === 0) return "";
  const words = WORDS[locale].done.paid;
  const euro = new Intl.NumberFormat(kit.date_locale, { style: "currency", currency: "EUR" });
  return html`<h2>${words.title}</h2>
<ul>${payouts.map(
    ({ line_id, paid_on, amount_eur }) =>
      html`<li><a class="link" href="${to(`/statement/${line_id}`)}">${words.payout(euro.format(amount_eur), longDate(paid_on, kit))}</a></li>`,
  )}</ul>`;
}

/** What the customer has yet to give, each with the way to it. */
function todo({ locale, to }: ClaimFrame, { checklist, chargers = [] }: Claim): Html | "" {
  const words = WORDS[locale].done.todo;
  const charger = chargers.length === 0 ? "charger" : chargers.every(withoutMid) ? "mid_charger" : null;
  // what they can do for each gate: they have signed, and what is said of the EAN stands under the status
  const ways: Record<Gate, { text: string; action: string; page: string } | null> = {
    iban_present: { ...words.iban, page: "/payout" },
    mid_charger_registered: charger && { ...words[charger], page: "/charger" },
    ean_validated: null,
    mandate_signed: null,
  };
  const missing = Object.entries(ways).flatMap(([gate, way]) => (way && !checklist?.[gate as Gate] ? [way] : []));
  if (missing.length === 0) return "";
  return html`<h2>${words.title}</h2>
<ul class="todo">${missing.map(
    ({ text, action, page }, at) => html`<li><p>${text}</p>
<div class="actions"><a class="${at === 0 ? "button" : "button second"}" href="${to(page)}">${action}</a></div></li>`,
  )}</ul>`;
}

/** The status of the registration, and what the customer need not do. */
function statusLines({ locale, config }: ClaimFrame, claim: Claim): string[] {
  const words = WORDS[locale].done;
  const { checklist, chargers = [], ean_validation_status, registration_status = "concept" } = claim;
  const complete = Object.values(checklist ?? {}).every(Boolean);
  const waits = !checklist?.mid_charger_registered && chargers.some(({ mid_eligible }) => mid_eligible === null);
  return [
    words.registration[registration_status](config.SERVICE_NAME),
    ...(complete && registration_status !== "afgekeurd" ? [words.complete] : []),
    ...(waits ? [words.mid_waits] : []),
    ...(checklist?.ean_validated
      ? []
      : [
          ean_validation_status === "mismatch" || ean_validation_status === "not_found"
            ? words.ean_wrong
            : words.ean_waits,
        ]),
  ];
}

const withoutMid = ({ mid_eligible }: NonNullable<Claim["chargers"]>[number]) => mid_eligible === false;

/** What we have, to be changed or added to. */
function given({ locale, to }: ClaimFrame, { iban_last4, chargers = [], signed }: Claim): Html {
  const { done, mandate, charger: each } = WORDS[locale];
  const words = done.given;
  const add = signed?.status === "signed" && chargers.length > 0 && chargers.length < MAX_CHARGERS;
  if (!iban_last4 && chargers.length === 0) return html``;
  return html`<h2>${words.title}</h2>
<dl>
${
  iban_last4
    ? html`<div><dt>${mandate.payout}</dt><dd>${mandate.payout_known(iban_last4)}<br><a class="link" href="${to("/payout")}">${words.change_iban}</a></dd></div>`
    : ""
}
${
  chargers.length > 0
    ? html`<div><dt>${words.chargers(chargers.length)}</dt><dd>${chargers.map(
        (charger) =>
          html`${charger.name}${charger.serial_number ? html` <small>${charger.serial_number}</small>` : ""}${withoutMid(charger) ? html` (${each.no_mid})` : ""}<br>`,
      )}
${add ? html`<a class="link" href="${to("/charger")}">${words.add_charger}</a>` : ""}</dd></div>`
    : ""
}
</dl>`;
}

/** The form at `path` by which a person asks for a code, or for another one where it was sent already. */
export function askCode(frame: ClaimFrame, claim: Claim, path: string): Html {
  const { code, ask_code, back } = frame.words;
  return claim.code_sent
    ? html`<form class="sheet" method="post" action="${frame.to(path)}">
${formToken(frame)}<h2>${code.no_code}</h2>
<p class="quiet">${code.no_code_help}</p>
<button class="button second">${code.resend}</button>
</form>`
    : html`<p>${ask_code.to}</p>
<p class="panel address">${maskEmail(claim.email ?? "")}</p>
<form method="post" action="${frame.to(path)}">
${formToken(frame)}
<div class="actions">
<button class="button">${ask_code.send}</button>
<a class="link" href="${frame.to("")}">${back}</a>
</div>
</form>`;
}

/** Shown before an account number is replaced. */
export function askIbanCodePage(frame: ClaimFrame, claim: Claim): Html {
  const words = WORDS[frame.locale].payout;
  return layout(frame, {
    title: words.title,
    body: html`<p>${words.now(claim.iban_last4 ?? "")}</p>
<p>${words.why_code}</p>
${askCode(frame, claim, "/iban-code")}`,
  });
}

/** What a withdrawal leaves and loses, to the kWh. */
function whatItMeans(frame: ClaimFrame, { withdrawal, renewal, ...registration }: Claim): string[] {
  const { means } = WORDS[frame.locale].revoke;
  const { covered_until = null, month = "", lost_kwh = 0 } = withdrawal ?? {};
  return [
    ...whatIsKept(frame, covered_until, registration, means),
    ...whatIsLost(frame, { month, lost_kwh }, renewal?.valid_until ?? null),
    means.at_once,
  ];
}

/** Asked once more, with what it means; a code that is mailed now ends it. */
export function revokePage(frame: ClaimFrame, claim: Claim, error?: string): Html {
  const { to, words: kit } = frame;
  const words = kit.withdrawal;
  const means = html`<ul>${whatItMeans(frame, claim).map((line) => html`<li>${line}</li>`)}</ul>`;
  if (!claim.code_sent && !error)
    return layout(frame, {
      title: words.title,
      body: html`${means}<p>${words.why_code}</p>${askCode(frame, claim, "/revoke-code")}`,
    });
  return layout(frame, {
    title: words.title,
    errors: { code: error },
    body: html`${means}
<form method="post" action="${to("/revoke")}" novalidate>
${formToken(frame)}
${codeInput({ label: kit.code.label, hint: kit.code.hint(maskEmail(claim.email ?? "")), error })}
<div class="actions">${lastClick(words.confirm, to(""), words.back)}</div>
</form>
${askCode(frame, { ...claim, code_sent: true }, "/revoke-code")}`,
  });
}
