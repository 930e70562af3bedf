import { html } from "hono/html";
import type { Configuration } from "#shared/foundation/environment.ts";
import { LANGUAGES, type Locale, MESSAGES, type Messages } from "./messages.ts";

export type Html = ReturnType<typeof html>;

/** What every page is made with: where it is, in which language, for whom. */
export type Frame = {
  config: Pick<Configuration, "SERVICE_NAME" | "SUPPORT_EMAIL" | "PAGES_URL" | "BASE_URL">;
  locale: Locale;
  messages: Messages;
  /** The path of the pages' root on this host, without a slash at its end. */
  root: string;
  /** The address of this page in another language. */
  inLanguage: (locale: Locale) => string;
  /** In whose name the page speaks, where not in the service's own. */
  brand?: Brand | undefined;
};

/** How a page names a partner: private.partner_brand. A colour is there only where it can be read. */
export type Brand = { name: string; reply_to: string | null; light: string | null; dark: string | null };

export type Page = {
  title: string;
  body: Html;
  /** Where the reader is among the steps of signing, from 0. */
  step?: number;
  /** The names of the steps, where they are not those of signing. */
  steps?: readonly string[];
  /** The fields that need attention: an id and what to do. */
  errors?: { id: string; message: string }[];
};

export function layout({ config, locale, messages, root, inLanguage, brand }: Frame, page: Page): Html {
  const { title, body, step, steps = messages.steps, errors = [] } = page;
  return html`<!doctype html>
<html lang="${messages.lang}">
<head>
<meta charset="utf-8">
<title>${errors.length > 0 ? messages.error_prefix : ""}${title} – ${config.SERVICE_NAME}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta name="format-detection" content="telephone=no">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${root}/style.css">
${brand?.light || brand?.dark ? html`<link rel="stylesheet" href="${root}/brand.css?${new URLSearchParams({ light: brand.light ?? "", dark: brand.dark ?? "" })}">` : ""}
</head>
<body>
<header>
<p class="service">${MARK}${brand ? html`<span>${brand.name} <small>${messages.claim.through(config.SERVICE_NAME)}</small></span>` : html`<span>${config.SERVICE_NAME}</span>`}</p>
<nav aria-label="${messages.language}">
${(Object.keys(MESSAGES) as Locale[]).map((other) =>
  other === locale
    ? html`<span aria-current="true">${LANGUAGES[other]}</span>`
    : html`<a href="${inLanguage(other)}" lang="${other}" hreflang="${other}">${LANGUAGES[other]}</a>`,
)}
</nav>
</header>
<main>
${step === undefined ? "" : showSteps(step, steps, messages)}
${
  errors.length > 0
    ? html`<div class="errors" role="alert" tabindex="-1" autofocus aria-labelledby="errors-title">
<h2 id="errors-title">${messages.error_title}</h2>
<ul>${errors.map(({ id, message }) => html`<li><a href="#${id}">${message}</a></li>`)}</ul>
</div>`
    : ""
}
<h1>${title}</h1>
${body}
</main>
<footer>
<p>${messages.questions} <a href="mailto:${config.SUPPORT_EMAIL}">${config.SUPPORT_EMAIL}</a></p>
</footer>
</body>
</html>
`;
}

// a bolt in a leaf: decoration, so it has no name
const MARK = html`<svg width="28" height="28" viewBox="0 0 28 28" aria-hidden="true" focusable="false"><path class="leaf" d="M4 24V14C4 8.5 8.5 4 14 4h10v10c0 5.5-4.5 10-10 10z"/><path class="bolt" d="M15.6 7.5 9.5 15.2h4.1l-1.2 5.3 6.1-7.7h-4.1z"/></svg>`;

function showSteps(current: number, steps: readonly string[], messages: Messages): Html {
  return html`<ol class="steps" aria-label="${messages.steps_label}">
${steps.map((label, index) =>
  index < current
    ? html`<li class="past"><span class="number" aria-hidden="true">✓</span>${label}<span class="hidden"> (${messages.step_done})</span></li>`
    : html`<li${index === current ? html` aria-current="step"` : ""}><span class="number" aria-hidden="true">${index + 1}</span>${label}</li>`,
)}
</ol>`;
}
