import { html } from "hono/html";
import { STEP_NAMES, type StepName } from "#shared/domain/claim/flow.ts";
import { type Facts, inGroups, longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { radios, selectInput, textInput } from "./claim_fields.ts";
import { showDocument } from "./document.ts";
import { type Brand, type Frame, type Html, layout } from "./layout.ts";
import { languageOf, maskEmail, returnLink, type Signed, signatureOf } from "./mandate_views.ts";

/** What private.claim_view tells. What lies below `email` only an open or active draft has, the rest only a proven one. */
export type Claim = {
  state: "open" | "active" | "expired" | "conflict" | "gone";
  status?: "invited" | "claimed" | "active";
  locale?: "nl" | "en";
  brand?: Brand;
  partner_name?: string;
  email?: string;
  code_sent?: boolean;
  answers?: Partial<Answers>;
  open_step?: StepName | null;
  candidates?: { ean_code: string; street?: string | null; city?: string | null }[];
  iban_last4?: string | null;
  facts?: Facts | null;
  charger?: { name: string; mid_meter: boolean | null } | null;
  brands?: string[];
  models?: { id: string; model: string; mid_meter: boolean | null }[] | null;
  signed?: Signed & { ended_at: string | null };
  checklist?: Record<string, boolean>;
  registration_status?: "concept" | "ingediend" | "goedgekeurd" | "afgekeurd";
  ean_validation_status?: string | null;
  chargers?: Charger[];
  return_url?: string | null;
};

export type Answers = {
  type: "particulier" | "zakelijk" | "vve";
  full_name: string | null;
  phone: string | null;
  company_name: string | null;
  kvk: string | null;
  vat: string | null;
  postal_code: string | null;
  house_number: number | null;
  house_number_addition: string | null;
  street: string | null;
  city: string | null;
  ean_code: string | null;
  brand: string | null;
  catalog_charger_id?: string | null;
  serial_number: string | null;
};

type Charger = { name: string; serial_number: string | null; mid_eligible: boolean | null };

/** As many as private.complete_charger lets one person have. */
const MAX_CHARGERS = 10;

/** Where each page stands in the list of steps. */
const PLACE: Record<StepName | "proof" | "mandate", number> = {
  proof: 0,
  details: 1,
  company: 1,
  address: 2,
  ean: 2,
  payout: 3,
  charger: 4,
  mandate: 5,
};

export type ClaimFrame = Frame & {
  to: (page: string, query?: Record<string, string>) => string;
  /** Of a browser in which the address was proven. */
  form_token: string;
  /** A step then stands by itself: it leads back to the page of the signed claim. */
  signed: boolean;
};

/** The errors of a form: field to what to do. */
export type Errors = Record<string, string>;
/** What a field shows: what was just typed, or else what is known. */
export type Value = (name: string) => string | null;

export function mandateSteps({ messages, form_token }: ClaimFrame) {
  return { steps: messages.claim.steps, step: PLACE.mandate, form_token };
}

/** Who asks, why, what happens next, how to stop; and the way in. Nothing is mailed until the customer asks. */
export function startPage(frame: ClaimFrame, claim: Claim): Html {
  const { messages, config, to } = frame;
  const words = messages.claim.start;
  const partner = frame.brand?.name ?? "";
  return layout(frame, {
    title: words.title,
    ...at(frame, "proof"),
    body: html`<p class="lead"><strong>${words.who(partner)}</strong></p>
<p>${words.why(partner, config.SERVICE_NAME)}</p>
<p>${words.how}</p>
<h2>${words.need}</h2>
<ul>${words.needed.map((thing) => html`<li>${thing}</li>`)}</ul>
<p>${words.to}</p>
<p class="panel address">${maskEmail(claim.email ?? "")}</p>
<form method="post" action="${to("/code")}">
<div class="actions">
<button class="button">${words.send}</button>
${claim.code_sent ? html`<a class="link" href="${to("/proof")}">${words.have_code}</a>` : ""}
</div>
</form>
<p class="quiet apart">${words.stop}</p>
${frame.brand?.reply_to ? html`<p class="quiet">${words.contact(partner)} <a href="mailto:${frame.brand.reply_to}">${frame.brand.reply_to}</a></p>` : ""}`,
  });
}

export function proofPage(frame: ClaimFrame, email: string, error?: string): Html {
  const { messages, to } = frame;
  const words = messages.claim.proof;
  return layout(frame, {
    title: words.title,
    ...at(frame, "proof"),
    errors: error ? [{ id: "code", message: error }] : [],
    body: html`<form method="post" action="${to("/proof")}" novalidate>
${textInput({
  id: "code",
  label: messages.sign.code,
  hint: messages.sign.code_hint(maskEmail(email)),
  error,
  value: "",
  attributes: html` class="code" autocomplete="one-time-code" inputmode="numeric" maxlength="9" spellcheck="false" required`,
})}
<div class="actions">
<button class="button">${words.submit}</button>
<a class="link" href="${to("")}">${messages.back}</a>
</div>
</form>
<form class="sheet" method="post" action="${to("/code")}">
<h2>${messages.sign.no_code}</h2>
<p class="quiet">${words.no_code_help}</p>
<button class="button second">${messages.sign.resend}</button>
</form>`,
  });
}

/** A sign-in link, opened: the button uses it up, not the visit, which may be a mail scanner's. */
export function enterPage(frame: Frame, action: string): Html {
  const words = frame.messages.claim.enter;
  return layout(frame, {
    title: words.title,
    body: html`<p>${words.text(frame.brand?.name ?? "")}</p>
<form method="post" action="${action}"><div class="actions"><button class="button">${words.submit}</button></div></form>`,
  });
}

type StepView = (frame: ClaimFrame, claim: Claim, value: Value, errors: Errors) => Html;

const details: StepView = (frame, _claim, value, errors) => {
  const words = frame.messages.claim.details;
  return stepPage(frame, "details", words.title, errors, null, [
    html`<p>${words.intro(frame.brand?.name ?? "")}</p>`,
    textInput({
      id: "full_name",
      label: words.full_name,
      hint: words.full_name_hint,
      error: errors.full_name,
      value: value("full_name"),
      attributes: html` autocomplete="name" maxlength="120" autocapitalize="words" spellcheck="false" required`,
    }),
    radios({
      id: "type",
      label: words.type,
      error: errors.type,
      value: value("type"),
      options: (["particulier", "zakelijk", "vve"] as const).map((type) => ({ value: type, label: words.types[type] })),
    }),
    textInput({
      id: "phone",
      type: "tel",
      label: words.phone,
      hint: words.phone_hint,
      error: errors.phone,
      value: value("phone"),
      attributes: html` autocomplete="tel" inputmode="tel" maxlength="40"`,
    }),
  ]);
};

const company: StepView = (frame, { answers }, value, errors) => {
  const words = frame.messages.claim.company;
  const type = answers?.type === "vve" ? "vve" : "zakelijk";
  return stepPage(frame, "company", words.title[type], errors, "details", [
    textInput({
      id: "company_name",
      label: words.company_name,
      hint: words.company_name_hint,
      error: errors.company_name,
      value: value("company_name"),
      attributes: html` autocomplete="organization" maxlength="120" spellcheck="false" required`,
    }),
    textInput({
      id: "kvk",
      label: words.kvk,
      hint: words.kvk_hint[type],
      error: errors.kvk,
      value: value("kvk"),
      attributes: html` inputmode="numeric" maxlength="12"`,
    }),
    textInput({
      id: "vat",
      label: words.vat,
      value: value("vat"),
      attributes: html` maxlength="30" spellcheck="false"`,
    }),
  ]);
};

const address: StepView = (frame, { answers }, value, errors) => {
  const words = frame.messages.claim.address;
  return stepPage(frame, "address", words.title, errors, answers?.type === "particulier" ? "details" : "company", [
    html`<p>${words.hint}</p>`,
    html`<div class="pair">
${textInput({
  id: "postal_code",
  label: words.postal_code,
  error: errors.postal_code,
  value: value("postal_code"),
  attributes: html` autocomplete="postal-code" maxlength="10" autocapitalize="characters" spellcheck="false" required`,
})}
${textInput({
  id: "house_number",
  label: words.house_number,
  error: errors.house_number,
  value: value("house_number"),
  attributes: html` maxlength="20" spellcheck="false" required`,
})}
</div>`,
    textInput({
      id: "street",
      label: words.street,
      error: errors.street,
      value: value("street"),
      attributes: html` maxlength="120"`,
    }),
    textInput({
      id: "city",
      label: words.city,
      error: errors.city,
      value: value("city"),
      attributes: html` autocomplete="address-level2" maxlength="120"`,
    }),
  ]);
};

const ean: StepView = (frame, { candidates = [] }, value, errors) => {
  const words = frame.messages.claim.ean;
  const typed = textInput({
    id: "ean_code",
    label: words.typed,
    hint: words.typed_hint,
    error: errors.ean_code,
    value: value("ean_code"),
    attributes: html` inputmode="numeric" maxlength="30" autocomplete="off" spellcheck="false"`,
  });
  return stepPage(frame, "ean", words.title, errors, "address", [
    html`<p>${candidates.length === 0 ? words.none : candidates.length === 1 ? words.one : words.several}</p>`,
    candidates.length === 0
      ? html`<input type="hidden" name="point" value="other">${typed}`
      : radios({
          id: "point",
          label: words.legend,
          error: errors.point,
          value: value("point"),
          options: [
            ...candidates.map(({ ean_code, street, city }) => ({
              value: ean_code,
              label: inGroups(ean_code),
              hint: [street, city].filter(Boolean).join(", "),
            })),
            { value: "other", label: words.other, under: typed },
          ],
        }),
  ]);
};

const payout: StepView = (frame, { iban_last4 }, value, errors) => {
  const words = frame.messages.claim.payout;
  const iban = textInput({
    id: "iban",
    label: words.iban,
    hint: words.iban_hint,
    error: errors.iban,
    value: value("iban"),
    attributes: html` maxlength="50" autocomplete="off" autocapitalize="characters" spellcheck="false"`,
  });
  return stepPage(frame, "payout", words.title, errors, "ean", [
    frame.signed
      ? html`${iban_last4 ? html`<p>${words.now(iban_last4)}</p>` : ""}<input type="hidden" name="account" value="fresh">${iban}`
      : radios({
          id: "account",
          label: words.legend,
          error: errors.account,
          value: value("account"),
          options: [
            ...(iban_last4 ? [{ value: "keep", label: words.keep(iban_last4) }] : []),
            { value: "fresh", label: words.fresh, under: iban },
            { value: "later", label: words.later, hint: words.later_hint },
          ],
        }),
    html`<p class="quiet">${words.safe}</p>`,
  ]);
};

const charger: StepView = (frame, { brands = [], models, chargers = [] }, value, errors) => {
  const { messages, to, locale, form_token, signed } = frame;
  const words = messages.claim.charger;
  const brand = value("brand") ?? "";
  const chosen = models && brands.includes(brand) ? brand : null;
  const form = chosen
    ? html`<form method="post" action="${to("/charger")}" novalidate>
${hidden(form_token)}<input type="hidden" name="brand" value="${chosen}">
<p class="panel"><strong>${chosen}</strong><br><a class="link" href="${to("/charger", { other: "1" })}">${words.other_brand}</a></p>
${selectInput({
  id: "catalog_charger_id",
  label: words.model,
  error: errors.catalog_charger_id,
  empty: words.choose_model,
  value: value("catalog_charger_id"),
  options: (models ?? []).map(({ id, model, mid_meter }) => ({
    value: id,
    label: mid_meter === false ? `${model} (${words.no_mid})` : model,
  })),
})}
${textInput({
  id: "serial_number",
  label: chargers.length > 0 ? words.serial_number_needed : words.serial_number,
  hint: words.serial_number_hint,
  error: errors.serial_number,
  value: value("serial_number"),
  attributes: html` maxlength="80" autocomplete="off" autocapitalize="characters" spellcheck="false"`,
})}
${stepActions(frame, "payout")}
</form>`
    : html`<form method="get" action="${to("/charger").split("?")[0]}">
<input type="hidden" name="lang" value="${locale}">
${selectInput({
  id: "brand",
  label: words.brand,
  error: errors.brand,
  empty: words.choose_brand,
  value: brand,
  options: brands.map((name) => ({ value: name, label: name })),
})}
${stepActions(frame, "payout", messages.claim.continue)}
</form>`;
  return layout(frame, {
    title: words.title,
    ...at(frame, "charger"),
    errors: Object.entries(errors).map(([id, message]) => ({ id, message })),
    body: html`<p>${words.why}</p>
${form}
${
  signed
    ? ""
    : html`<form class="sheet" method="post" action="${to("/charger")}">
<input type="hidden" name="later" value="yes">${hidden(form_token)}
<h2>${words.later}</h2>
<p class="quiet">${words.later_hint}</p>
<button class="button second">${words.later_submit}</button>
</form>`
}`,
  });
};

export const STEP_VIEWS: Record<StepName, StepView> = { details, company, address, ean, payout, charger };

/** The last look before signing: the mandate in full, and what is not in it. */
export function mandatePage(frame: ClaimFrame, claim: Claim, document: string, seen: string): Html {
  const { messages, config, to } = frame;
  const words = messages.claim.mandate;
  const changes: [StepName, string][] = STEP_NAMES.filter(
    (name) => name !== "company" || claim.answers?.type !== "particulier",
  ).map((name) => [name, titleOf(frame, name, claim)]);
  return layout(frame, {
    title: words.title,
    ...at(frame, "mandate"),
    body: html`<p>${words.intro(config.SERVICE_NAME)}</p>
${showDocument(document, messages.lang)}
<h2>${words.rest}</h2>
<dl>
<div><dt>${words.payout}</dt><dd>${claim.iban_last4 ? words.payout_known(claim.iban_last4) : words.later}</dd></div>
<div><dt>${words.charger}</dt><dd>${claim.charger?.name ?? words.later}</dd></div>
</dl>
<details>
<summary>${words.change}</summary>
<ul>${changes.map(([name, title]) => html`<li><a class="link" href="${to(`/${name}`)}">${title}</a></li>`)}</ul>
</details>
<p class="save"><a class="link" href="${to("/document")}">${messages.read.save}</a></p>
<div class="actions">
<a class="button" href="${to("/sign", { seen })}">${messages.read.continue}</a>
<a class="link" href="${to("/charger")}">${messages.back}</a>
</div>`,
  });
}

function titleOf({ messages }: Frame, name: StepName, { answers }: Claim): string {
  if (name === "company") return messages.claim.company.title[answers?.type === "vve" ? "vve" : "zakelijk"];
  return messages.claim[name].title;
}

/** What became of a signed claim: what is still to be done, where it stands, and the ways to change or stop it. */
export function donePage(frame: ClaimFrame, claim: Claim, signed: NonNullable<Claim["signed"]>): Html {
  const { messages, config, to } = frame;
  const words = messages.claim.done;
  const partner = frame.brand?.name ?? "";
  const ended = signed.status === "signed" ? null : words.ended[signed.status];
  return layout(frame, {
    title: ended ? ended.title : words.title,
    ...(ended ? {} : { steps: messages.claim.steps, step: messages.claim.steps.length }),
    body: html`<div class="panel"><p class="lead">${words.thanks(longDate(signed.signed_at, messages))}</p>
${ended ? html`<p><strong>${ended.since(longDate((signed.status === "revoked" && signed.ended_at) || signed.valid_until, messages))}</strong></p>` : ""}</div>
${
  ended
    ? html`<p>${ended.means}</p>`
    : html`${todo(frame, claim)}
<h2>${messages.signed.next_title}</h2>
<ul>${[...standing(frame, claim), words.yields(partner, config.SERVICE_NAME)].map((line) => html`<li>${line}</li>`)}</ul>`
}
${returnLink(messages, partner, claim.return_url ?? null)}
${given(frame, claim)}
<h2>${messages.signed.keep}</h2>
<p class="save"><a class="link" href="${to("/document")}">${messages.read.save}</a></p>
<details><summary>${messages.sign.again}</summary>
${showDocument(signed.document, languageOf(signed.document))}
<h2>${messages.signed.signature}</h2>
<dl>${signatureOf(signed, messages).map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}
<div><dt>${messages.signed.fingerprint}</dt><dd class="fingerprint">${signed.document_sha256}</dd></div></dl>
</details>
${ended ? "" : html`<p class="save"><a class="link" href="${to("/revoke")}">${messages.claim.revoke.title}</a></p>`}`,
  });
}

/** What the customer has yet to give, each with the way to it. */
function todo({ messages, to }: ClaimFrame, { checklist, chargers = [] }: Claim): Html | "" {
  const words = messages.claim.done.todo;
  const charger = chargers.length === 0 ? "charger" : chargers.every(withoutMid) ? "mid_charger" : null;
  const missing = [
    ...(checklist?.iban_present ? [] : [{ ...words.iban, page: "/payout" }]),
    ...(charger && !checklist?.mid_charger_registered ? [{ ...words[charger], page: "/charger" }] : []),
  ];
  if (missing.length === 0) return "";
  return html`<h2>${words.title}</h2>
${missing.map(
  ({ text, action, page }) => html`<p>${text}</p>
<div class="actions"><a class="button" href="${to(page)}">${action}</a></div>`,
)}`;
}

/** Where the registration stands, and what of it is not the customer's to do. */
function standing({ messages, config }: ClaimFrame, claim: Claim): string[] {
  const words = messages.claim.done;
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

const withoutMid = ({ mid_eligible }: Charger) => mid_eligible === false;

/** What we have, to be changed or added to. */
function given({ messages, to }: ClaimFrame, { iban_last4, chargers = [], signed }: Claim): Html {
  const words = messages.claim.done.given;
  const add = signed?.status === "signed" && chargers.length > 0 && chargers.length < MAX_CHARGERS;
  if (!iban_last4 && chargers.length === 0) return html``;
  return html`<h2>${words.title}</h2>
<dl>
${
  iban_last4
    ? html`<div><dt>${messages.claim.mandate.payout}</dt><dd>${messages.claim.mandate.payout_known(iban_last4)}<br><a class="link" href="${to("/payout")}">${words.change_iban}</a></dd></div>`
    : ""
}
${
  chargers.length > 0
    ? html`<div><dt>${words.chargers(chargers.length)}</dt><dd>${chargers.map(
        (charger) =>
          html`${charger.name}${charger.serial_number ? html` <small>${charger.serial_number}</small>` : ""}${withoutMid(charger) ? html` (${messages.claim.charger.no_mid})` : ""}<br>`,
      )}
${add ? html`<a class="link" href="${to("/charger")}">${words.add_charger}</a>` : ""}</dd></div>`
    : ""
}
</dl>`;
}

/** Asked once more, with what it means. */
export function revokePage(frame: ClaimFrame): Html {
  const { messages, config, to, form_token } = frame;
  const words = messages.claim.revoke;
  return layout(frame, {
    title: words.title,
    body: html`<ul>${words.means(config.SERVICE_NAME).map((line) => html`<li>${line}</li>`)}</ul>
<form method="post" action="${to("/revoke")}">
${hidden(form_token)}
<div class="actions">
<button class="button second">${words.confirm}</button>
<a class="link" href="${to("")}">${words.back}</a>
</div>
</form>`,
  });
}

export type ClaimKind = "used" | "gone" | "expired" | "conflict" | "link_used" | "link_expired" | "unsubscribed";

/** A page that only says how things are and what to do: no personal data, whoever opens the link. */
export function claimKindPage(frame: Frame, kind: ClaimKind, action?: { href: string; label: string }): Html {
  const words: { title: string; text: string; help?: string } = frame.messages.claim[kind];
  return layout(frame, {
    title: words.title,
    body: html`<p>${words.text}</p>
${words.help ? html`<p>${words.help}</p>` : ""}
${action ? html`<form method="post" action="${action.href}"><div class="actions"><button class="button second">${action.label}</button></div></form>` : ""}`,
  });
}

export function unsubscribePage(frame: Frame): Html {
  const words = frame.messages.claim.unsubscribe;
  return layout(frame, {
    title: words.title,
    body: html`<p>${words.text}</p><p>${words.kept}</p>
<form method="post"><div class="actions"><button class="button">${words.submit}</button></div></form>`,
  });
}

function stepPage(
  frame: ClaimFrame,
  name: StepName,
  title: string,
  errors: Errors,
  back: StepName | null,
  fields: (Html | Promise<Html>)[],
): Html {
  const { to, form_token } = frame;
  return layout(frame, {
    title,
    ...at(frame, name),
    errors: Object.entries(errors).map(([id, message]) => ({ id, message })),
    body: html`<form method="post" action="${to(`/${name}`)}" novalidate>
${hidden(form_token)}
${fields}
${stepActions(frame, back)}
</form>`,
  });
}

function stepActions({ messages, to, signed }: ClaimFrame, back: StepName | null, label?: string): Html {
  return html`<div class="actions">
<button class="button">${label ?? messages.claim[signed ? "save" : "continue"]}</button>
${back ? html`<a class="link" href="${to(signed ? "" : `/${back}`)}">${messages.back}</a>` : ""}
</div>`;
}

const hidden = (form_token: string) => html`<input type="hidden" name="form_token" value="${form_token}">`;

/** Where a page stands among the steps; after the signature there are none any more. */
const at = ({ messages, signed }: ClaimFrame, page: keyof typeof PLACE) =>
  signed ? {} : { steps: messages.claim.steps, step: PLACE[page] };
