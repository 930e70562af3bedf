// What customers are brought by: a file, a form for one, a list of e-mail addresses. Each is kept, and then looked at.

import type { RawRow } from "#shared/domain/import/rows.ts";
import type { Table } from "#shared/domain/import/table.ts";
import { linesOf } from "#shared/values/fields.ts";
import { AccountType } from "#shared/values/models.ts";
import { toCsv } from "../../kit/csv.ts";
import { csvFile, workbook, XLSX } from "../../kit/download.ts";
import { radios, textInput, tick } from "../../kit/fields.ts";
import type { Errors, Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { rowList } from "../../kit/parts/rows.ts";
import type { Returned } from "../../kit/returned.ts";
import { formToken } from "../../kit/sign_in_views.ts";
import { inNumbers } from "../../kit/signed_in_views.ts";
import { portalPage } from "../frame.ts";
import type { Who } from "../model.ts";
import { type PortalFrame, type PortalRequest, signedIn } from "../request.ts";
import { WORDS } from "../words.ts";
import { fileOf, keep, MOST_ROWS, mayBeKept, readKept } from "./kept.ts";

const FILE = "/import";
const ONE = "/import/customer";
const INVITE = "/import/invite";

/** What a file may have, in the order of the template. */
export const COLUMNS = [
  "type",
  "naam",
  "email",
  "phone",
  "bedrijfsnaam",
  "contactpersoon",
  "kvk",
  "btw",
  "postcode",
  "huisnummer",
  "toevoeging",
  "plaats",
  "ean",
  "external_ref",
  "referral_code",
] as const;
/** The names of them in a spreadsheet of the reader's language, where these are others. */
const HEADERS: Record<"nl" | "en", Partial<Record<(typeof COLUMNS)[number], string>>> = {
  nl: { phone: "telefoon", external_ref: "klantnummer" },
  en: {
    naam: "name",
    bedrijfsnaam: "company_name",
    contactpersoon: "contact_name",
    btw: "vat",
    postcode: "postal_code",
    huisnummer: "house_number",
    toevoeging: "house_number_addition",
    plaats: "city",
    external_ref: "customer_ref",
  },
};
const headerOf = (locale: "nl" | "en", column: (typeof COLUMNS)[number]): string => HEADERS[locale][column] ?? column;

export const showImportFile = signedIn(async (request) => {
  const kept = await readKept(request);
  const news = request.news();
  return request.pageOf(filePage(request.frame, kept, news), news);
});

export const bringFile = signedIn(async (request) => {
  const { file: words, consent } = WORDS[request.locale].bring;
  const missing = unanswered(request, consent.missing);
  const refuse = (message: string) => request.refuse(FILE, { file: message, ...missing });
  const file = fileOf(request);
  if (typeof file === "string") return refuse(file);
  const { customersOf, hasEmail, isFileFault, readTableToShow } = await import("#shared/domain/import/table.ts");
  let table: Table;
  try {
    table = await readTableToShow(new Uint8Array(await file.arrayBuffer()));
  } catch (error) {
    if (!isFileFault(error)) throw error;
    request.logOutcome(error.wrong);
    return refuse(words.errors[error.wrong]);
  }
  const { header, rows, more } = table;
  // a first line of one column, or with somebody's address in it, names no columns
  if (!hasEmail(customersOf(table)) && (header.length < 2 || header.some((each) => each.includes("@"))))
    return refuse(words.errors.no_header);
  if (rows.length === 0) return refuse(words.errors.no_rows);
  if (more > 0)
    return refuse(
      words.errors.too_many(inNumbers(request.frame, rows.length + more), inNumbers(request.frame, MOST_ROWS)),
    );
  if (!mayBeKept(table)) return refuse(words.errors.no_text);
  // a file that was chosen stays chosen
  const unagreed = Object.keys(missing).length > 0 ? ({ unagreed: true } as const) : {};
  return keep(request, { source: "csv", message: null, table, ...mailOf(request.form), ...unagreed }, rows.length);
});

export const agreed = (form: Returned["typed"]): boolean => form.get("consent") === "yes";

/** Who mails the customers their link, where somebody chose. */
export const mailOf = (form: Returned["typed"]): { mail?: boolean } => {
  const chosen = form.get("mail");
  return chosen === "yes" || chosen === "no" ? { mail: chosen === "yes" } : {};
};

/** What was not answered before customers are looked at. */
export function unanswered({ form, locale }: PortalRequest, consent: string): Errors {
  return {
    ...(mailOf(form).mail === undefined ? { mail: WORDS[locale].bring.mail.missing } : {}),
    ...(agreed(form) ? {} : { consent }),
  };
}

/** Chosen openly, as it was the last time; the first time nothing is. */
export function mailRadios(frame: PortalFrame, { typed, errors }: Returned, before: boolean | null | undefined): Html {
  const { mail: words } = WORDS[frame.locale].bring;
  return radios({
    id: "mail",
    label: words.label,
    error: errors.mail,
    value: typed.get("mail") ?? (before == null ? null : before ? "yes" : "no"),
    options: [
      { value: "yes", label: words.yes, hint: words.yes_hint },
      { value: "no", label: words.no, hint: words.no_hint },
    ],
  });
}

/** Asked before anything is shown: what would happen to a row also tells who is known already. */
export function consentTick(frame: PortalFrame, { typed, errors }: Returned, who: "all" | "one" | "invited"): Html {
  const { consent: words } = WORDS[frame.locale].bring;
  return tick({
    id: "consent",
    label: words[who](frame.config.SERVICE_NAME),
    error: errors.consent,
    checked: agreed(typed),
  });
}

/** An empty workbook, whose columns are text, so that Excel keeps an EAN and a leading zero as they are typed. */
export const downloadTemplate = signedIn(async (request) => {
  // only the signed-in person may see it, as on all these pages
  await readKept(request);
  const { locale } = request;
  const header = COLUMNS.map((column) => headerOf(locale, column));
  return workbook(request, locale === "nl" ? "klanten" : "customers", [header]);
});

/** The same as CSV, with the semicolons of Excel as it is set up in the Netherlands, in whichever language the page is read. */
export const downloadCsvTemplate = signedIn(async (request) => {
  await readKept(request);
  return csvFile(request, "klanten", toCsv("nl", [COLUMNS.map((column) => headerOf("nl", column))]));
});

function filePage(
  frame: PortalFrame,
  { who, cap, mailed_before }: Awaited<ReturnType<typeof readKept>>,
  news: Returned,
): Html {
  const { errors } = news;
  const { bring: words } = WORDS[frame.locale];
  return portalPage(frame, FILE, who, {
    title: words.title,
    errors,
    body: html`<p class="lead">${words.what}</p>
<p>${words.cap(inNumbers(frame, cap.remaining), inNumbers(frame, cap.rolling_cap), cap.rolling_days)}</p>
<div class="beside"><section><h2>${words.file.title}</h2>
<form method="post" action="${frame.to(FILE)}" enctype="multipart/form-data" novalidate>
${formToken(frame.form_token)}
<div class="field">
<label for="file">${words.file.label}</label>
<p class="hint" id="file-hint">${words.file.hint(inNumbers(frame, MOST_ROWS))}</p>
${errors.file ? html`<p class="wrong" id="file-error">${errors.file}</p>` : ""}
<input type="file" id="file" name="file" accept=".xlsx,.csv,text/csv,${XLSX}" required aria-describedby="file-hint${errors.file ? " file-error" : ""}"${errors.file ? html` aria-invalid="true"` : ""}>
</div>
<p class="quiet">${words.file.kept}</p>
${mailRadios(frame, news, mailed_before)}
${consentTick(frame, news, "all")}
<div class="actions"><button class="button">${words.file.submit}</button></div>
</form></section>
<section>${rowList([
      { href: frame.to("/import/template.xlsx"), what: words.file.template, opens: "csv", as: "xlsx" },
      { href: frame.to("/import/template.csv"), what: words.file.template_csv, opens: "csv", as: "csv" },
      { href: frame.to(ONE), what: words.one.link },
      { href: frame.to(INVITE), what: words.invite.link },
    ])}
<details><summary>${words.file.columns}</summary>
<p>${words.file.columns_what}</p>
<dl>${COLUMNS.map((name) => html`<div><dt><code>${headerOf(frame.locale, name)}</code></dt><dd>${words.column[name]}</dd></div>`)}</dl>
</details></section></div>`,
  });
}

/** What the form of one customer has, in its order. */
const FIELDS = [
  "type",
  "naam",
  "email",
  "phone",
  "bedrijfsnaam",
  "contactpersoon",
  "kvk",
  "postcode",
  "huisnummer",
  "toevoeging",
  "plaats",
  "ean",
  "external_ref",
] as const;

export const showImportOne = signedIn(async (request) => {
  const { who, mailed_before } = await readKept(request);
  const news = request.news();
  return request.pageOf(onePage(request.frame, who, mailed_before, news), news);
});

export const bringOne = signedIn(async (request) => {
  const { one, consent } = WORDS[request.locale].bring;
  const { wrong: messages } = one;
  const missing = unanswered(request, consent.missing_one);
  const row: RawRow = Object.fromEntries(FIELDS.map((field) => [field, (request.form.get(field) ?? "").trim()]));
  const { readRows } = await import("#shared/domain/import/import_rows.ts");
  const [read] = await readRows(request.environment, { rows: [row], source: "csv" });
  const refuse = (column: string) =>
    request.refuse(ONE, { [column]: messages[column as keyof typeof messages] ?? messages.other, ...missing });
  if (read?.wrong) return refuse(read.wrong.column);
  if (read?.reason === "missing_kvk") return refuse("kvk");
  if (Object.keys(missing).length > 0) return request.refuse(ONE, missing);
  return keep(request, { source: "csv", message: null, rows: [row], ...mailOf(request.form) }, 1);
});

function onePage(frame: PortalFrame, who: Who, mailed_before: boolean | null, news: Returned): Html {
  const { typed, errors } = news;
  const { one: words } = WORDS[frame.locale].bring;
  const input = (
    id: Exclude<(typeof FIELDS)[number], "type">,
    more: { type?: "text" | "tel" | "email"; hint?: string; required?: boolean } = {},
  ) =>
    textInput({
      id,
      label: words[id],
      error: errors[id],
      value: typed.get(id),
      attributes: html` autocomplete="off" maxlength="254"`,
      ...more,
    });
  return portalPage(frame, FILE, who, {
    title: words.title,
    errors,
    body: html`<p>${words.what}</p>
<form method="post" action="${frame.to(ONE)}" novalidate>
${formToken(frame.form_token)}
<div class="beside"><div>${radios({
      id: "type",
      label: words.type,
      error: errors.type,
      value: typed.get("type") ?? "particulier",
      options: AccountType.options.map((value) => ({ value, label: words.types[value] })),
    })}
${input("naam", { hint: words.naam_hint })}
${input("email", { type: "email", required: true })}
${input("phone", { type: "tel" })}
${input("bedrijfsnaam")}
${input("contactpersoon")}
${input("kvk", { hint: words.kvk_hint })}</div>
<div><div class="pair">${input("postcode")}${input("huisnummer")}</div>
<div class="pair">${input("toevoeging")}${input("plaats")}</div>
${input("ean", { hint: words.ean_hint })}
${input("external_ref")}
${mailRadios(frame, news, mailed_before)}
${consentTick(frame, news, "one")}
<div class="actions"><button class="button">${words.submit}</button></div></div></div>
</form>`,
  });
}

/** As many as a request of the API may invite. */
const MOST_INVITED = 100;
const Message = linesOf(1, 1000);

export const showImportInvite = signedIn(async (request) => {
  const { who } = await readKept(request);
  const news = request.news();
  return request.pageOf(invitePage(request.frame, who, news), news);
});

export const bringInvited = signedIn(async (request) => {
  const { invite, consent } = WORDS[request.locale].bring;
  const { errors } = invite;
  const emails = (request.form.get("emails") ?? "").split(/[\s,;]+/).filter((email) => email !== "");
  const words = (request.form.get("message") ?? "").trim();
  const message = words === "" ? null : Message.safeParse(words).data;
  const wrong: Errors =
    emails.length === 0
      ? { emails: errors.none }
      : emails.length > MOST_INVITED
        ? { emails: errors.too_many }
        : message === undefined
          ? { message: errors.message }
          : {};
  if (!agreed(request.form)) wrong.consent = consent.missing;
  if (message === undefined || Object.keys(wrong).length > 0) {
    // answered at once: a form that goes back by a redirect keeps no text as long as these
    const { who } = await readKept(request);
    return request.page(invitePage(request.frame, who, { typed: request.form, errors: wrong }), 422);
  }
  return keep(request, { source: "invite", message, rows: emails.map((email) => ({ email })) }, emails.length);
});

function invitePage(frame: PortalFrame, who: Who, news: Returned): Html {
  const { typed, errors } = news;
  const { invite: words } = WORDS[frame.locale].bring;
  const area = (id: "emails" | "message", label: string, hint: string, rows: number) => html`<div class="field">
<label for="${id}">${label}</label>
<p class="hint" id="${id}-hint">${hint}</p>
${errors[id] ? html`<p class="wrong" id="${id}-error">${errors[id]}</p>` : ""}
<textarea id="${id}" name="${id}" rows="${rows}" aria-describedby="${id}-hint${errors[id] ? ` ${id}-error` : ""}"${errors[id] ? html` aria-invalid="true"` : ""}>${typed.get(id) ?? ""}</textarea>
</div>`;
  return portalPage(frame, FILE, who, {
    title: words.title,
    errors,
    body: html`<p>${words.what}</p>
<form method="post" action="${frame.to(INVITE)}" novalidate>
${formToken(frame.form_token)}
${area("emails", words.emails, words.emails_hint, 6)}
${area("message", words.message, words.message_hint, 4)}
${consentTick(frame, news, "invited")}
<div class="actions"><button class="button">${words.submit}</button></div>
</form>`,
  });
}
