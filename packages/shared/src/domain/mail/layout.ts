import { html, raw } from "hono/html";
import type { Brand, ShownLogo } from "#shared/domain/answers.ts";
import { logoPath, shadesOf } from "#shared/domain/brand.ts";
import type { Configuration } from "#shared/foundation/configuration.ts";
import type { Locale } from "#shared/values/locale.ts";
import { en } from "./en.ts";
import { nl } from "./nl.ts";

export const MAIL_MESSAGES = { nl, en } satisfies Record<Locale, object>;

/** What a mail takes of the configuration: who writes, and where its pages are. */
export type Service = Pick<Configuration, "SERVICE_NAME" | "SUPPORT_EMAIL" | "PAGES_URL">;

export function sentBy({
  name,
  color,
  reply_to,
  logo,
}: Brand): Pick<Content, "sender" | "logo" | "color" | "reply_to"> {
  return {
    sender: name,
    ...(logo ? { logo: { of: name, shown: logo } } : {}),
    ...(color ? { color } : {}),
    ...(reply_to ? { reply_to } : {}),
  };
}

export type Content = {
  subject: string;
  greeting: string;
  lines: string[];
  /** The sum it is about, in large above the lines that say it. */
  amount?: string;
  code?: string;
  button?: { label: string; link: string };
  after: string;
  unexpected: string;
  document?: { title: string; text: string };
  /** In whose name it is sent, where not in the service's own. */
  sender?: string;
  /** Whose logo stands above it, and which. */
  logo?: { of: string; shown: ShownLogo };
  /** The sender's color, #rrggbb. */
  color?: string;
  reply_to?: string;
  unsubscribe?: { label: string; link: string };
};

const OURS = "#0b6b4f";

/** A mail as it is sent. `links` are the addresses in it, for whoever reads captured mail. */
export type Written = {
  subject: string;
  html: string;
  text: string;
  links: string[];
  /** Where an answer goes: the partner's address, on a mail that names the partner as its sender. */
  reply_to?: string | undefined;
  /** For the header List-Unsubscribe (RFC 8058); none where the mail answers what its reader just did. */
  unsubscribe_url?: string | undefined;
};

export function layOut(config: Service, locale: Locale, content: Content): Written {
  return {
    subject: content.subject,
    html: toHtml(config, locale, content),
    text: toText(config, locale, content),
    links: [content.button, content.unsubscribe].flatMap((linked) => (linked ? [linked.link] : [])),
    reply_to: content.reply_to,
    unsubscribe_url: content.unsubscribe?.link,
  };
}

/** On a light plate, because a logo is made for paper and a mail may be dark. Where images are off, the name is read. */
function showLogo({ PAGES_URL }: Service, name: string, { hash, width, height }: ShownLogo): string {
  return html`<img src="${PAGES_URL}${logoPath(hash)}" alt="${name}" width="${width}" height="${height}" style="display: block; padding: 4px; border: 0; border-radius: 4px; background: #ffffff; color: #17211c">`.toString();
}

function toText({ SERVICE_NAME, SUPPORT_EMAIL }: Service, locale: Locale, content: Content): string {
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
  return sender && sender !== service ? MAIL_MESSAGES[locale].through(sender, service) : service;
}

// A phone has no room for the margins of a desk.
const NARROW = `
  @media (max-width: 480px) { .sheet { padding: 22px 18px 10px !important; } .below { padding: 20px 18px !important; } }`;
// Most mail clients support inline styles only; clients that support a style element also get the dark colors.
const DARK = `
  @media (prefers-color-scheme: dark) {
    body, .ground { background: #0f1512 !important; }
    .sheet { background: #18211c !important; border-color: #33413a !important; }
    .sheet, .sheet p, .sheet ul, .code { color: #e9efeb !important; }
    .quiet, .quiet a { color: #a9b7af !important; }
    .code { background: #0f1512 !important; border-color: #33413a !important; }
  }`;
/** The button in dark. A partner's color stays, with letters that can be read on it, and an edge that is seen. */
const darkButton = (edge: string | undefined) => `
  @media (prefers-color-scheme: dark) { .button { ${edge ? `border-color: ${edge} !important` : "background: #6fd3aa !important; border-color: #6fd3aa !important; color: #06281c !important"}; } }`;
const FONT = "font-family: -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
const TEXT = `margin: 0 0 16px; font-size: 17px; line-height: 1.55; color: #17211c; ${FONT}`;
const QUIET = `margin: 0 0 12px; font-size: 14px; line-height: 1.5; color: #55615a; ${FONT}`;

function toHtml(config: Service, locale: Locale, content: Content): string {
  const { SERVICE_NAME, SUPPORT_EMAIL } = config;
  const { lang, regards, questions, linkFallback } = MAIL_MESSAGES[locale];
  const { subject, greeting, amount, lines, code, button, after, unexpected, document, sender, logo, unsubscribe } =
    content;
  const head = logo ? raw(showLogo(config, logo.of, logo.shown)) : (sender ?? SERVICE_NAME);
  const chosen = shadesOf(content.color);
  const { accent, fill, on_fill } = chosen?.light ?? { accent: OURS, fill: OURS, on_fill: "#ffffff" };
  // what a partner writes may have lines
  const paragraph = (text: string) => {
    const items = text.split("\n").map((line) => /^- (.+)$/.exec(line)?.[1]);
    return items.every((item) => item !== undefined)
      ? html`<ul style="${TEXT}; padding-left: 22px">${items.map((item) => html`<li>${item}</li>`)}</ul>`
      : html`<p style="${TEXT}; white-space: pre-line">${text}</p>`;
  };
  return html`<!doctype html>
<html lang="${lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${subject}</title>
<style>${raw(NARROW)}${raw(DARK)}${raw(darkButton(chosen?.dark.accent))}
</style>
</head>
<body style="margin: 0; background: #f3f6f4">
<div class="ground" role="article" lang="${lang}" style="padding: 32px 12px; background: #f3f6f4; overflow-wrap: break-word">
<div class="sheet" style="max-width: 544px; margin: 0 auto; padding: 32px 28px 20px; background: #ffffff; border: 1px solid #d8e0db; border-radius: 10px">
<p style="${TEXT}; font-weight: 600${sender ? `; padding: 0 0 12px; border-bottom: 3px solid ${fill}` : ""}">${head}</p>
${paragraph(greeting)}
${amount ? html`<p style="${TEXT}; font-size: 32px; font-weight: 700; line-height: 1.2">${amount}</p>` : ""}
${lines.map(paragraph)}
${
  code
    ? html`<p class="code" style="${TEXT}; padding: 16px; text-align: center; font-size: 32px; font-weight: 600; letter-spacing: 6px; background: #f3f6f4; border: 1px solid #d8e0db; border-radius: 8px">${code}</p>`
    : ""
}
${
  button
    ? html`<p style="margin: 24px 0"><a class="button" href="${button.link}" style="display: inline-block; padding: 12px 22px; text-align: center; border: 2px solid ${accent}; font-size: 17px; font-weight: 600; text-decoration: none; background: ${fill}; color: ${on_fill}; border-radius: 8px; ${FONT}">${button.label}</a></p>`
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
<div class="below" style="max-width: 544px; margin: 0 auto; padding: 20px 28px">
${button ? html`<p class="quiet" style="${QUIET}">${linkFallback} <a href="${button.link}" style="display: block; color: #55615a; word-break: break-all">${button.link}</a></p>` : ""}
<p class="quiet" style="${QUIET}">${unexpected}</p>
<p class="quiet" style="${QUIET}">${questions} <a href="mailto:${SUPPORT_EMAIL}" style="color: #55615a">${SUPPORT_EMAIL}</a></p>
${unsubscribe ? html`<p class="quiet" style="${QUIET}"><a href="${unsubscribe.link}" style="color: #55615a">${unsubscribe.label}</a></p>` : ""}
</div>
</div>
</body>
</html>
`.toString();
}
