import type { Claim } from "#shared/domain/claim/answers.ts";
import type { StepName } from "#shared/domain/claim/model.ts";
import { inGroups } from "#shared/domain/mandate_text/mandate_text.ts";
import { AccountType } from "#shared/values/models.ts";
import { codeInput, radios, selectInput, textInput } from "../kit/fields.ts";
import { type Errors, type Html, layout } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { maskEmail } from "../kit/views.ts";
import { type ClaimFrame, formToken, placeOf } from "./frame.ts";
import { askCode } from "./signed_views.ts";
import { WORDS } from "./words.ts";

/** Whether this replaces an account number, which needs a code. */
export const changesIban = ({ signed, iban_last4 }: Claim): boolean => signed !== undefined && Boolean(iban_last4);

/** What a field shows: what was just typed, or else what is known. */
export type Value = (name: string) => string | null;

type StepView = (frame: ClaimFrame, claim: Claim, value: Value, errors: Errors) => Html;

const details: StepView = (frame, _claim, value, errors) => {
  const words = WORDS[frame.locale].details;
  return stepPage(frame, "details", words.title, errors, null, [
    html`<p>${words.intro(frame.brand?.name ?? "")}</p>`,
    textInput({
      id: "full_name",
      label: words.full_name,
      hint: words.full_name_hint,
      error: errors.full_name,
      value: value("full_name"),
      required: true,
      attributes: html` autocomplete="name" maxlength="120" autocapitalize="words" spellcheck="false"`,
    }),
    radios({
      id: "type",
      label: words.type,
      error: errors.type,
      value: value("type"),
      options: AccountType.options.map((type) => ({ value: type, label: words.types[type] })),
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
  const words = WORDS[frame.locale].company;
  const type = answers?.type === "vve" ? "vve" : "zakelijk";
  return stepPage(frame, "company", words.title[type], errors, "details", [
    textInput({
      id: "company_name",
      label: words.company_name,
      hint: words.company_name_hint,
      error: errors.company_name,
      value: value("company_name"),
      required: true,
      attributes: html` autocomplete="organization" maxlength="120" spellcheck="false"`,
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
  const words = WORDS[frame.locale].address;
  return stepPage(frame, "address", words.title, errors, answers?.type === "particulier" ? "details" : "company", [
    html`<p>${words.hint}</p>`,
    html`<div class="pair">
${textInput({
  id: "postal_code",
  label: words.postal_code,
  error: errors.postal_code,
  value: value("postal_code"),
  required: true,
  attributes: html` autocomplete="postal-code" maxlength="10" autocapitalize="characters" spellcheck="false"`,
})}
${textInput({
  id: "house_number",
  label: words.house_number,
  error: errors.house_number,
  value: value("house_number"),
  required: true,
  attributes: html` maxlength="20" spellcheck="false"`,
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
  const words = WORDS[frame.locale].ean;
  const typed = textInput({
    id: "ean_code",
    label: words.typed,
    hint: words.typed_hint,
    error: errors.ean_code,
    value: value("ean_code"),
    attributes: html` inputmode="numeric" maxlength="30" autocomplete="off" spellcheck="false" data-group="4"`,
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

const payout: StepView = (frame, claim, value, errors) => {
  const { iban_last4 } = claim;
  const { code } = frame.words;
  const words = WORDS[frame.locale].payout;
  const iban = textInput({
    id: "iban",
    label: words.iban,
    hint: words.iban_hint,
    error: errors.iban,
    value: value("iban"),
    attributes: html` maxlength="50" autocomplete="off" autocapitalize="characters" spellcheck="false" data-group="4"`,
  });
  const given = iban_last4 ? html`<p>${frame.signed ? words.now(iban_last4) : words.keep(iban_last4)}</p>` : "";
  const proof = changesIban(claim)
    ? codeInput({
        label: code.label,
        hint: code.hint(maskEmail(claim.email ?? "")),
        error: errors.code,
        value: value("code"),
      })
    : "";
  const fields = [html`${given}${iban}${proof}<p class="quiet">${words.safe}</p>`];
  const below = changesIban(claim)
    ? askCode(frame, { ...claim, code_sent: true }, "/iban-code")
    : frame.signed || iban_last4
      ? ""
      : html`<form class="sheet" method="post" action="${frame.to("/payout")}">
<input type="hidden" name="later" value="yes">${formToken(frame)}
<h2>${words.later}</h2>
<p class="quiet">${words.later_hint}</p>
<button class="button second">${words.later_submit}</button>
</form>`;
  return stepPage(frame, "payout", words.title, errors, "ean", fields, below);
};

const charger: StepView = (frame, { brands = [], models, chargers = [] }, value, errors) => {
  const { to, locale, signed } = frame;
  const words = WORDS[frame.locale].charger;
  const brand = value("brand") ?? "";
  const chosen = models && brands.includes(brand) ? brand : null;
  const form = chosen
    ? html`<form method="post" action="${to("/charger")}" novalidate>
${formToken(frame)}<input type="hidden" name="brand" value="${chosen}">
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
${stepActions(frame, "payout", WORDS[locale].continue)}
</form>`;
  return layout(frame, {
    title: words.title,
    place: placeOf(frame, "charger"),
    errors,
    body: html`<p>${words.why}</p>
${form}
${
  signed
    ? ""
    : html`<form class="sheet" method="post" action="${to("/charger")}">
<input type="hidden" name="later" value="yes">${formToken(frame)}
<h2>${words.later}</h2>
<p class="quiet">${words.later_hint}</p>
<button class="button second">${words.later_submit}</button>
</form>`
}`,
  });
};

export const STEP_VIEWS: Record<StepName, StepView> = { details, company, address, ean, payout, charger };

function stepPage(
  frame: ClaimFrame,
  name: StepName,
  title: string,
  errors: Errors,
  back: StepName | null,
  fields: (Html | Promise<Html>)[],
  below: Html | "" = "",
): Html {
  return layout(frame, {
    title,
    place: placeOf(frame, name),
    errors,
    body: html`<form method="post" action="${frame.to(`/${name}`)}" novalidate>
${formToken(frame)}
${fields}
${stepActions(frame, back)}
</form>
${below}`,
  });
}

function stepActions({ locale, words, to, signed }: ClaimFrame, back: StepName | null, label?: string): Html {
  return html`<div class="actions">
<button class="button">${label ?? WORDS[locale][signed ? "save" : "continue"]}</button>
${back ? html`<a class="link" href="${to(signed ? "" : `/${back}`)}">${words.back}</a>` : ""}
</div>`;
}
