import { html, raw } from "hono/html";
import { linkKeys } from "#shared/auth/keys.ts";
import { type Brand, logoPath, type ShownLogo } from "#shared/domain/brand.ts";
import type { Configuration } from "#shared/foundation/configuration.ts";
import type { Locale } from "#shared/values/locale.ts";
import { en } from "./en.ts";
import { nl } from "./nl.ts";

export const MAIL_MESSAGES = { nl, en } satisfies Record<Locale, object>;

/** Every template. docs/security.md says what each carries, and who reads it on the sandbox; a test holds it to that. */
export const MAIL_TEMPLATES = [
  "mandate_link",
  "mandate_code",
  "mandate_signed",
  "claim",
  "reminder",
  "sign_in",
  "manager_invitation",
  "managers_changed",
  "customer_withdrew",
  "claim_code",
  "iban_changed",
  "customer_iban_changed",
  "webhook_failing",
  "webhook_disabled",
  "registration_approved",
  "registration_rejected",
  "something_missing",
  "mandate_ending",
  "mandate_ended",
  "mandate_withdrawn",
  "payout_sent",
  "payout_failed",
  "payout_iban_changed",
  "login_secured",
] as const;

/** A mail as private.enqueue_mail takes it. `links` are the addresses in it, for whoever reads captured mail. */
export type Mail = {
  template: (typeof MAIL_TEMPLATES)[number];
  locale: Locale;
  subject: string;
  html: string;
  text: string;
  links: string[];
  /** What a mark stands for where the database knows nothing to put there. */
  defaults?: Record<string, string>;
  /** What the mark `{{sender}}` of the HTML stands for: the sender's logo where the database knows one, else its name. */
  sender?: { logo: string; name: string };
  /** Where an answer goes: the partner's address, on a mail that names the partner as its sender. */
  reply_to?: string;
  /** What SQL hashes the recipient with, to count mails by; the operator, whose mail is not counted, has none. */
  key?: string;
};

export type Sender = {
  config: Pick<Configuration, "SERVICE_NAME" | "SUPPORT_EMAIL" | "PAGES_URL"> &
    Partial<Pick<Configuration, "LINK_KEYS">>;
  locale: Locale;
};

/** The mail that brings a signatory the link. The database knows the names and fills the `{{…}}` marks. */
export function composeMandateLink({ config, locale, link }: Sender & { link: string }): Mail {
  const { greeting, mandate_link: message } = MAIL_MESSAGES[locale];
  return compose("mandate_link", config, locale, {
    subject: message.subject("{{partner_name}}"),
    logo: { of: "{{partner_name}}" },
    greeting: greeting("{{full_name}}"),
    lines: message.lines("{{partner_name}}", config.SERVICE_NAME),
    button: { label: message.button, link },
    after: message.after,
    unexpected: message.unexpected,
  });
}

/** The one-time code. The subject begins with it: a phone then shows it without the mail being opened. */
export function composeMandateCode({
  config,
  locale,
  code,
  full_name,
  partner_name,
}: Sender & { code: string; full_name: string; partner_name: string }): Mail {
  const { greeting, mandate_code: message } = MAIL_MESSAGES[locale];
  return compose("mandate_code", config, locale, {
    subject: message.subject(code),
    logo: { of: partner_name },
    greeting: greeting(full_name),
    lines: message.lines(partner_name),
    code,
    after: message.after,
    unexpected: message.unexpected,
  });
}

/** The signatory's copy: the text as signed, and where it can be read again. After a claim, in the name of its partner. */
export function composeMandateSigned({
  config,
  locale,
  link,
  full_name,
  partner_name,
  document,
  brand,
}: Sender & {
  config: Pick<Configuration, "PAGES_URL">;
  link: string;
  full_name: string;
  partner_name: string;
  document: string;
  brand?: Brand | null | undefined;
}): Mail {
  const { greeting, mandate_signed: message } = MAIL_MESSAGES[locale];
  return compose("mandate_signed", config, locale, {
    subject: message.subject,
    ...(brand ? sentBy(brand) : { logo: { of: partner_name } }),
    greeting: greeting(full_name),
    lines: message.lines(brand?.name ?? partner_name),
    button: { label: message.button, link },
    after: (brand ? message.after_claim : message.after)(`${config.PAGES_URL}/mijn`),
    unexpected: message.unexpected,
    document: { title: message.document, text: document },
  });
}

/**
 * The invitation to claim a draft, and its reminder. One composed mail for many: private.letter_fields gives the names, the
 * links, the partner's colour where it can be read, and the headers.
 */
export function composeClaim({ message, ...sender }: Sender & { message?: string }): Mail {
  return composeInvitation("claim", sender, message);
}

export function composeReminder(sender: Sender): Mail {
  return composeInvitation("reminder", sender);
}

function composeInvitation(template: "claim" | "reminder", { config, locale }: Sender, words?: string): Mail {
  const { greeting, invitation, ...messages } = MAIL_MESSAGES[locale];
  const message = messages[template];
  return compose(template, config, locale, {
    subject: message.subject("{{partner_name}}"),
    sender: "{{partner_name}}",
    logo: { of: "{{partner_name}}" },
    greeting: greeting("{{full_name}}"),
    lines: [
      ...message.lines("{{partner_name}}", config.SERVICE_NAME),
      // a partner's words must not contain marks of ours
      ...(words ? [invitation.message("{{partner_name}}", words.replaceAll("{{", "{ {"))] : []),
    ],
    button: { label: message.button, link: "{{claim_url}}" },
    after: message.after,
    unexpected: invitation.why("{{partner_name}}"),
    unsubscribe: { label: invitation.unsubscribe, link: "{{unsubscribe_url}}" },
  });
}

/** A sign-in link, for the 300 seconds that it works. Its marks are those of an invitation. */
export function composeSignIn({ config, locale, link }: Sender & { link: string }): Mail {
  const { sign_in: message, greeting, invitation } = MAIL_MESSAGES[locale];
  return compose("sign_in", config, locale, {
    subject: message.subject("{{partner_name}}"),
    sender: "{{partner_name}}",
    logo: { of: "{{partner_name}}" },
    greeting: greeting("{{full_name}}"),
    lines: message.lines("{{partner_name}}"),
    button: { label: message.button, link },
    after: message.after,
    unexpected: message.unexpected,
    unsubscribe: { label: invitation.unsubscribe, link: "{{unsubscribe_url}}" },
  });
}

/** The one-time code with which somebody signs in: where an application, `app`, asks for access; null for their own pages. */
export function composeSignInCode({ config, locale, code, app }: Sender & { code: string; app: string | null }): Mail {
  const { sign_in_code: message, hello } = MAIL_MESSAGES[locale];
  return compose("sign_in", config, locale, {
    subject: message.subject(code),
    greeting: hello,
    lines: message.lines(app, config.SERVICE_NAME),
    code,
    after: message.after,
    unexpected: message.unexpected,
  });
}

/** The invitation to manage a partner. The database knows who invites, and to what; the operator invites in the service's name. */
export function composeManagerInvitation({ config, locale, link }: Sender & { link: string }): Mail {
  const { manager_invitation: message, hello } = MAIL_MESSAGES[locale];
  const mail = compose("manager_invitation", config, locale, {
    subject: message.subject("{{partner_name}}"),
    greeting: hello,
    lines: message.lines("{{invited_by}}", "{{partner_name}}", config.SERVICE_NAME),
    button: { label: message.button, link },
    after: message.after,
    unexpected: message.unexpected,
  });
  return { ...mail, defaults: { invited_by: config.SERVICE_NAME } };
}

/** What can happen to who manages a partner; alone where nobody does any more. */
type ManagersChange = "invited" | "joined" | "removed" | "left" | "alone";

/** To the others who manage a partner; `alone` to the operator. The database knows whom it is about, and who did it, else the service. */
export function composeManagersChanged({ config, locale, change }: Sender & { change: ManagersChange }): Mail {
  const { managers_changed: message, hello } = MAIL_MESSAGES[locale];
  const { subject, line } = message[change];
  const mail = compose("managers_changed", config, locale, {
    subject: subject("{{partner_name}}"),
    greeting: hello,
    lines: [line("{{person}}", "{{partner_name}}", "{{by}}")],
    ...(change === "alone"
      ? {}
      : { button: { label: message.button, link: `${config.PAGES_URL}/portal/settings/colleagues?lang=${locale}` } }),
    after: change === "alone" ? message.operator : message.after,
    unexpected: message.unexpected,
  });
  return { ...mail, defaults: { by: config.SERVICE_NAME } };
}

/** The mail of a change in each language: which of them is sent, the partner's settings say. */
export const managersChanged = (config: Sender["config"], change: ManagersChange): Record<Locale, Mail> => ({
  nl: composeManagersChanged({ config, locale: "nl", change }),
  en: composeManagersChanged({ config, locale: "en", change }),
});

/** The one-time code by which somebody who was invited to manage a partner proves the address. */
export function composeInvitationCode({ config, locale, code }: Sender & { code: string }): Mail {
  const { invitation_code: message, sign_in_code, hello } = MAIL_MESSAGES[locale];
  return compose("sign_in", config, locale, {
    subject: sign_in_code.subject(code),
    greeting: hello,
    lines: message.lines(config.SERVICE_NAME),
    code,
    after: sign_in_code.after,
    unexpected: sign_in_code.unexpected,
  });
}

/** The one-time code of a claim: that the address is theirs, that they sign, change the IBAN or end the mandate. */
export function composeClaimCode({
  config,
  locale,
  code,
  purpose,
  brand,
}: Sender & { code: string; purpose: "prove" | "sign" | "iban" | "revoke"; brand: Brand }): Mail {
  const { claim_code: message, hello } = MAIL_MESSAGES[locale];
  return compose("claim_code", config, locale, {
    subject: message.subject[purpose](code),
    ...sentBy(brand),
    greeting: hello,
    lines: message.lines[purpose](brand.name),
    code,
    after: message.after[purpose],
    unexpected: message.unexpected,
  });
}

/**
 * The one-time code with which the signatory of a CPO's customer changes the IBAN, or withdraws the mandate. The database knows the
 * name of the CPO.
 */
export function composeAccountCode({
  config,
  locale,
  code,
  purpose,
}: Sender & { code: string; purpose: "iban" | "revoke" }): Mail {
  const { claim_code: message, hello } = MAIL_MESSAGES[locale];
  return compose("claim_code", config, locale, {
    subject: message.subject[purpose](code),
    greeting: hello,
    lines: message.lines[purpose]("{{partner_name}}"),
    code,
    after: message.after[purpose],
    unexpected: message.unexpected,
  });
}

/** To a person whose login somebody else may have made: what became of it. */
export function composeLoginSecured({ config, locale }: Sender): Mail {
  const { login_secured: message, hello } = MAIL_MESSAGES[locale];
  return compose("login_secured", config, locale, {
    subject: message.subject(config.SERVICE_NAME),
    greeting: hello,
    lines: message.lines(config.SERVICE_NAME),
    after: message.after,
    unexpected: message.unexpected,
  });
}

/** To whoever manages a partner: money goes elsewhere from now on. */
export function composeIbanChanged({
  config,
  locale,
  partner_name,
  iban_masked,
  account_holder,
}: Sender & { partner_name: string; iban_masked: string; account_holder: string }): Mail {
  const { iban_changed: message, hello } = MAIL_MESSAGES[locale];
  return compose("iban_changed", config, locale, {
    subject: message.subject(partner_name),
    greeting: hello,
    lines: message.lines(partner_name, iban_masked, account_holder),
    after: message.after,
    unexpected: message.unexpected,
  });
}

/** To whoever manages a partner, and to the operator: an endpoint that events are sent to fails, or is not sent to any more. The database fills the marks. */
export function composeWebhookMail({
  config,
  locale,
  about,
}: Sender & { about: "webhook_failing" | "webhook_disabled" }): Mail {
  const { [about]: message, hello } = MAIL_MESSAGES[locale];
  return compose(about, config, locale, {
    subject: message.subject("{{partner_name}}"),
    greeting: hello,
    lines: message.lines("{{url}}", "{{since}}"),
    after: message.after,
    unexpected: message.unexpected,
  });
}

/** To a customer who gave an account number after signing, the first one or another: their compensation goes there from now on. */
export function composeCustomerIbanChanged({
  config,
  locale,
  brand,
  iban_masked,
}: Sender & { brand: Brand; iban_masked: string }): Mail {
  const { customer_iban_changed: message, hello } = MAIL_MESSAGES[locale];
  return compose("customer_iban_changed", config, locale, {
    subject: message.subject,
    ...sentBy(brand),
    greeting: hello,
    lines: message.lines(brand.name, iban_masked),
    after: message.after,
    unexpected: message.unexpected,
  });
}

/** To whoever manages a CPO, in each language: one of its customers withdrew the mandate. The database knows which. */
export function customerWithdrew(config: Sender["config"]): Record<Locale, Mail> {
  const composed = (locale: Locale) => {
    const { customer_withdrew: message, hello } = MAIL_MESSAGES[locale];
    return compose("customer_withdrew", config, locale, {
      subject: message.subject("{{reference}}", "{{partner_name}}"),
      greeting: hello,
      lines: message.lines("{{reference}}", "{{partner_name}}"),
      after: message.after,
      unexpected: message.unexpected,
    });
  };
  return { nl: composed("nl"), en: composed("en") };
}

export function sentBy({
  name,
  light,
  reply_to,
  logo,
}: Brand): Pick<Content, "sender" | "logo" | "accent" | "reply_to"> {
  return {
    sender: name,
    ...(logo ? { logo: { of: name, shown: logo } } : {}),
    ...(light ? { accent: light } : {}),
    ...(reply_to ? { reply_to } : {}),
  };
}

export type Content = {
  subject: string;
  greeting: string;
  lines: string[];
  code?: string;
  button?: { label: string; link: string };
  after: string;
  unexpected: string;
  document?: { title: string; text: string };
  /** In whose name it is sent, where not in the service's own. */
  sender?: string;
  /** Whose logo stands above it, and which; without one the database looks. */
  logo?: { of: string; shown?: ShownLogo };
  /** The sender's colour, or the mark that stands for it. */
  accent?: string;
  reply_to?: string;
  unsubscribe?: { label: string; link: string };
};

const ACCENT = "#0b6b4f";

export function compose(template: Mail["template"], config: Sender["config"], locale: Locale, content: Content): Mail {
  return {
    template,
    locale,
    subject: content.subject,
    html: toHtml(config, locale, content),
    ...(content.logo && !content.logo.shown
      ? { sender: { logo: showLogo(config, content.logo.of, MARKED), name: nameOf(config, content) } }
      : {}),
    text: toText(config, locale, content),
    links: [content.button, content.unsubscribe].flatMap((linked) => (linked ? [linked.link] : [])),
    // an invitation is composed before it is known whom it greets and whose colour it takes
    ...(content.unsubscribe ? { defaults: { full_name: MAIL_MESSAGES[locale].somebody, accent: ACCENT } } : {}),
    ...(content.reply_to ? { reply_to: content.reply_to } : {}),
    ...(config.LINK_KEYS ? { key: mailKey(config.LINK_KEYS) } : {}),
  };
}

const mailKey = (LINK_KEYS: Configuration["LINK_KEYS"]) =>
  linkKeys({ config: { LINK_KEYS } }, "mail limits")[0].toString("hex");

const nameOf = ({ SERVICE_NAME }: Sender["config"], { sender }: Content) => sender ?? SERVICE_NAME;

/** Marks that private.head_of fills. */
const MARKED = { hash: "{{logo_hash}}", width: "{{logo_width}}", height: "{{logo_height}}" };

/** On a light plate, because a logo is made for paper and a mail may be dark. Where images are off, the name is read. */
function showLogo(
  { PAGES_URL }: Sender["config"],
  name: string,
  { hash, width, height }: ShownLogo | typeof MARKED,
): string {
  return html`<img src="${PAGES_URL}${logoPath(hash)}" alt="${name}" width="${width}" height="${height}" style="display: block; padding: 4px; border: 0; border-radius: 4px; background: #ffffff; color: #17211c">`.toString();
}

function toText({ SERVICE_NAME, SUPPORT_EMAIL }: Sender["config"], locale: Locale, content: Content): string {
  const { regards, questions } = MAIL_MESSAGES[locale];
  const { greeting, lines, code, button, after, unexpected, document, sender, unsubscribe } = content;
  return [
    greeting,
    ...lines,
    ...(code ? [`    ${code}`] : []),
    ...(button ? [`${button.label}:\n${button.link}`] : []),
    after,
    `${regards}\n${signedBy(locale, SERVICE_NAME, sender)}`,
    ...(document ? [`--------\n${document.title}:`, document.text, "--------"] : []),
    `${unexpected}\n${questions} ${SUPPORT_EMAIL}`,
    ...(unsubscribe ? [`${unsubscribe.label}:\n${unsubscribe.link}`] : []),
  ].join("\n\n");
}

function signedBy(locale: Locale, service: string, sender?: string): string {
  return sender ? MAIL_MESSAGES[locale].through(sender, service) : service;
}

// Mail clients know inline styles at best; those that honour a style element get the dark colours as well.
const DARK = `
  @media (prefers-color-scheme: dark) {
    body, .ground { background: #0f1512 !important; }
    .sheet { background: #18211c !important; border-color: #33413a !important; }
    .sheet, .sheet p, .code { color: #e9efeb !important; }
    .quiet, .quiet a { color: #a9b7af !important; }
    .code { background: #0f1512 !important; border-color: #33413a !important; }
    .button { background: #6fd3aa !important; color: #06281c !important; }
  }`;
const FONT = "font-family: -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
const TEXT = `margin: 0 0 16px; font-size: 17px; line-height: 1.55; color: #17211c; ${FONT}`;
const QUIET = `margin: 0 0 12px; font-size: 14px; line-height: 1.5; color: #55615a; ${FONT}`;

function toHtml(config: Sender["config"], locale: Locale, content: Content): string {
  const { SERVICE_NAME, SUPPORT_EMAIL } = config;
  const { lang, regards, questions, linkFallback } = MAIL_MESSAGES[locale];
  const { subject, greeting, lines, code, button, after, unexpected, document, sender, logo, unsubscribe } = content;
  const head = logo ? raw(logo.shown ? showLogo(config, logo.of, logo.shown) : "{{sender}}") : nameOf(config, content);
  const accent = content.accent ?? (unsubscribe ? "{{accent}}" : ACCENT);
  // what a partner writes may have lines
  const paragraph = (text: string) => html`<p style="${TEXT}; white-space: pre-line">${text}</p>`;
  return html`<!doctype html>
<html lang="${lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${subject}</title>
<style>${raw(DARK)}
</style>
</head>
<body style="margin: 0; background: #f3f6f4">
<div class="ground" role="article" lang="${lang}" style="padding: 32px 12px; background: #f3f6f4; overflow-wrap: break-word">
<div class="sheet" style="max-width: 544px; margin: 0 auto; padding: 32px 28px 20px; background: #ffffff; border: 1px solid #d8e0db; border-radius: 10px">
<p style="${TEXT}; font-weight: 600${sender ? `; padding: 0 0 12px; border-bottom: 3px solid ${accent}` : ""}">${head}</p>
${paragraph(greeting)}
${lines.map(paragraph)}
${
  code
    ? html`<p class="code" style="${TEXT}; padding: 16px; text-align: center; font-size: 32px; font-weight: 600; letter-spacing: 6px; background: #f3f6f4; border: 1px solid #d8e0db; border-radius: 8px">${code}</p>`
    : ""
}
${
  button
    ? html`<p style="margin: 24px 0"><a class="button" href="${button.link}" style="display: inline-block; padding: 14px 24px; font-size: 17px; font-weight: 600; text-decoration: none; background: ${accent}; color: #ffffff; border-radius: 8px; ${FONT}">${button.label}</a></p>`
    : ""
}
${paragraph(after)}
<p style="${TEXT}">${regards}<br>${signedBy(locale, SERVICE_NAME, sender)}</p>
${
  document
    ? html`<p style="${TEXT}; padding-top: 16px; border-top: 1px solid #d8e0db; font-weight: 600">${document.title}</p>
<p style="${TEXT}; font-size: 15px; white-space: pre-line">${document.text}</p>`
    : ""
}
</div>
<div style="max-width: 544px; margin: 0 auto; padding: 20px 28px">
${button ? html`<p class="quiet" style="${QUIET}">${linkFallback} <a href="${button.link}" style="color: #55615a; word-break: break-all">${button.link}</a></p>` : ""}
<p class="quiet" style="${QUIET}">${unexpected}</p>
<p class="quiet" style="${QUIET}">${questions} <a href="mailto:${SUPPORT_EMAIL}" style="color: #55615a">${SUPPORT_EMAIL}</a></p>
${unsubscribe ? html`<p class="quiet" style="${QUIET}"><a href="${unsubscribe.link}" style="color: #55615a">${unsubscribe.label}</a></p>` : ""}
</div>
</div>
</body>
</html>
`.toString();
}
