import type { Brand, ShownLogo } from "#shared/domain/answers.ts";
import { logoPath } from "#shared/domain/brand.ts";
import type { Configuration, TEST_SERVICE } from "#shared/foundation/configuration.ts";
import { FONT_NAME } from "#shared/look/font_name.ts";
import { LOCALES, type Locale } from "#shared/values/locale.ts";
import { html } from "./html.ts";
import { LEAF } from "./parts/icons.ts";
import { SCRIPTS } from "./script.ts";
import { STYLE_VERSION } from "./style.ts";
import { type KitWords, LANGUAGES } from "./words.ts";

export type Html = ReturnType<typeof html>;

/** What every page is made with: where it is, in which language, for whom. */
export type Frame = {
  config: Pick<Configuration, keyof typeof TEST_SERVICE | "PAGES_URL" | "BASE_URL">;
  locale: Locale;
  words: KitWords;
  /** The path of the pages' root on this host, without a slash at its end. */
  root: string;
  /** The path of another page of the same flow, in the same language. */
  to: (page: string, query?: Record<string, string>) => string;
  /** The address of this page in another language. */
  inLanguage: (locale: Locale) => string;
  /** In whose name the page speaks, where not in the service's own. */
  brand?: Brand | null | undefined;
  /** What stands around each of its pages, as Page has it for one. */
  around?: Pick<Page, "menu" | "who"> | undefined;
};

/** Where a page stands among the steps of its flow, from 0. */
export type Place = { steps: readonly string[]; step: number };

/** What is wrong with a form: the id of a field to what to do, in the order of the form. */
export type Errors = Record<string, string | undefined>;

export type Page = {
  title: string;
  body: Html;
  place?: Place | undefined;
  errors?: Errors;
  /** The path of a style sheet of its own, under the root. */
  style?: string;
  /** The page above this one. */
  up?: { href: string; label: string };
  /** The pages beside this one: somebody is signed in. */
  menu?: Html;
  /** Who is signed in, for the header. */
  who?: Html;
};

export function layout(
  { config, locale, words, root, inLanguage, brand, around }: Frame,
  { title, body, place, errors = {}, style, up, menu = around?.menu, who = around?.who }: Page,
): Html {
  const wrong = Object.entries(errors).filter(([, message]) => message);
  return html`<!doctype html>
<html lang="${words.lang}">
<head>
<meta charset="utf-8">
<title>${wrong.length > 0 ? words.error_prefix : ""}${title} – ${config.SERVICE_NAME}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta name="format-detection" content="telephone=no">
<meta name="theme-color" content="#ffffff" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#18211c" media="(prefers-color-scheme: dark)">
<link rel="icon" type="image/svg+xml" href="${root}${LEAF.path}">
<link rel="preload" as="font" type="font/woff2" crossorigin href="${root}/${FONT_NAME}">
<link rel="stylesheet" href="${root}/style.css?v=${STYLE_VERSION}">${style ? html`<link rel="stylesheet" href="${root}${style}">` : ""}${brand?.color ? html`<link rel="stylesheet" href="${root}/brand.css?${new URLSearchParams({ color: brand.color })}">` : ""}
<script defer src="${root}${SCRIPTS[locale].path}"></script>
</head>
<body${menu ? html` class="area"` : ""}>
${menu ? html`<a class="skip" href="#main">${words.skip}</a>` : ""}
<header>
<p class="service">${showSender(brand, { config, words, root })}</p>
<div class="right"><nav aria-label="${words.language}">
${LOCALES.map((other) =>
  other === locale
    ? html`<span aria-current="true">${LANGUAGES[other]}</span> `
    : html`<a href="${inLanguage(other)}" lang="${other}" hreflang="${other}">${LANGUAGES[other]}</a> `,
)}
</nav>${who ?? ""}</div>
</header>
${menu ?? ""}
<main id="main">${place ? showSteps(place, words) : ""}${up ? html`<p class="up"><a class="link" href="${up.href}">${up.label}</a></p>` : ""}${
    wrong.length > 0
      ? html`<div class="errors" role="alert" tabindex="-1" autofocus aria-labelledby="errors-title">
<h2 id="errors-title">${words.error_title}</h2>
<ul>${wrong.map(([id, message]) => html`<li><a href="#${id}">${message}</a></li>`)}</ul>
</div>`
      : ""
  }
<h1>${title}</h1>
${body}
</main>
<footer>
<p>${words.questions} <a href="mailto:${config.SUPPORT_EMAIL}">${config.SUPPORT_EMAIL}</a></p>
</footer>
</body>
</html>
`;
}

/** In whose name a page speaks: a partner's logo, or its name beside the service's mark. */
export function showSender(
  brand: Brand | null | undefined,
  { config, words, root }: Pick<Frame, "config" | "words" | "root">,
): Html {
  if (!brand) return html`<span class="mark">${config.SERVICE_NAME}</span>`;
  const { name, logo } = brand;
  const through = html`<small>${words.through(config.SERVICE_NAME)}</small>`;
  if (!logo) return html`<span class="mark"><span class="name" title="${name}">${name}</span> ${through}</span>`;
  return html`<span>${showLogo(name, logo, root)} ${through}</span>`;
}

/** A logo, which says its name to who does not see it. */
export function showLogo(name: string, { hash, width, height }: ShownLogo, root: string): Html {
  return html`<img class="logo" src="${root}${logoPath(hash)}" alt="${name}" width="${width}" height="${height}">`;
}

/** Where the reader is, in words and as a bar; nothing after the last step. */
function showSteps({ steps, step: current }: Place, words: KitWords): Html | "" {
  const here = steps[current];
  if (here === undefined) return "";
  return html`<div class="steps">
<p>${words.step(current + 1, steps.length)}: <strong>${here}</strong></p>
<div class="track" aria-hidden="true">${steps.map((_, index) => html`<span${index <= current ? html` class="past"` : ""}></span>`)}</div>
</div>`;
}
