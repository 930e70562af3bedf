import { COMPANY } from "#shared/domain/partner_settings.ts";
import { z } from "#shared/foundation/zod.ts";
import { textInput } from "../../kit/fields.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import type { Returned } from "../../kit/returned.ts";
import { formToken } from "../../kit/sign_in_views.ts";
import { newsOf } from "../../kit/signed_in_views.ts";
import type { Company, Settings } from "../model.ts";
import { type PortalFrame, signedIn } from "../request.ts";
import { WORDS } from "../words.ts";
import { settingPage } from "./frame.ts";

const PAGE = "/settings/company";
const FIELDS = Object.keys(COMPANY) as (keyof Company)[];
const Form = z.object(COMPANY);

export const showCompany = signedIn(async (request) => {
  const news = request.news();
  return request.pageOf(companyPage(request.frame, await request.own("read_portal_settings"), news), news);
});

export const saveCompany = signedIn(async (request) => {
  const { form, locale } = request;
  const read = Form.safeParse(Object.fromEntries(FIELDS.map((field) => [field, (form.get(field) ?? "").trim()])));
  if (!read.success) {
    const wrong = read.error.issues.map(({ path }) => path[0]);
    const messages = WORDS[locale].settings.company.errors;
    return request.refuse(
      PAGE,
      Object.fromEntries(FIELDS.filter((field) => wrong.includes(field)).map((field) => [field, messages[field]])),
    );
  }
  await request.own("set_partner_company", read.data);
  return request.told(PAGE, "saved");
});

function companyPage(frame: PortalFrame, { who, partner, invoices_need }: Settings, { typed, errors }: Returned): Html {
  const words = WORDS[frame.locale].settings.company;
  const input = (id: keyof Company, autocomplete: string, maxlength: number) =>
    textInput({
      id,
      label: words.fields[id],
      hint: words.hints[id],
      error: errors[id],
      value: typed.get(id) ?? partner.company[id],
      attributes: html` autocomplete="${autocomplete}" maxlength="${maxlength}"`,
    });
  return settingPage(frame, who, {
    title: words.title,
    errors,
    body: html`${newsOf(typed.get("news") === "saved" ? words.saved : undefined)}
<p>${words.what}</p>
${invoices_need ? html`<p class="panel waits">${words.invoices_need[invoices_need]}</p>` : html`<p>${words.invoices_need_nothing}</p>`}
<form method="post" action="${frame.to(PAGE)}" novalidate>
${formToken(frame.form_token)}
<div class="beside"><div>${input("name", "organization", 120)}
${input("kvk", "off", 12)}
${input("vat", "off", 24)}</div>
<div>${input("street", "address-line1", 120)}
<div class="pair">${input("house_number", "off", 20)}${input("postal_code", "postal-code", 10)}</div>
${input("city", "address-level2", 120)}</div></div>
<div class="actions"><button class="button">${words.submit}</button></div>
</form>`,
  });
}
