import { newPartnerKey } from "#shared/auth/tokens.ts";
import { longMoment } from "../../kit/document.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import type { Returned } from "../../kit/returned.ts";
import { doButton, newOnce, newsOf, shownOnce } from "../../kit/signed_in_views.ts";
import type { Partner, Settings } from "../model.ts";
import { type PortalFrame, type PortalRequest, signedIn } from "../request.ts";
import { WORDS } from "../words.ts";
import { askTwicePage, codeFirst, settingPage } from "./frame.ts";

const PAGE = "/settings/keys";
const ROTATE = `${PAGE}/rotate`;
const REVOKE = `${PAGE}/revoke`;

const read = (request: PortalRequest) => request.own("read_portal_settings");

export const showKeys = signedIn(async (request) =>
  request.page(keysPage(request.frame, await read(request), request.news())),
);

/** A new key, which `rotate` puts in the place of the one there is. */
const mint = (rotate: boolean) =>
  signedIn(async (request) => {
    const secret = request.secretOf("api key");
    if (!secret) return request.foreign();
    const { api_key, stored } = newPartnerKey(request.environment.config, secret);
    const minting = request.own("mint_partner_key", { rotate, ...stored });
    const { refused } = await request.attempt(minting, ["api_key_exists", "recent_sign_in_required"]);
    if (refused?.code === "recent_sign_in_required") return request.codeBefore(rotate ? ROTATE : PAGE);
    if (refused) return request.told(PAGE, "exists");
    return request.told(PAGE, "minted", { secret: api_key });
  });

export const mintKey = mint(false);
export const rotateKey = mint(true);

export const askRotateKey = signedIn(async (request) => {
  const settings = await read(request);
  const { frame } = request;
  const words = WORDS[frame.locale].settings.keys;
  if (!settings.partner.api_key) return request.go(PAGE);
  const before = codeFirst(frame, settings);
  return request.page(askTwicePage(frame, settings.who, words.rotate, ROTATE, { once: newOnce() }, PAGE, before));
});

export const askRevokeKey = signedIn(async (request) => {
  const { who, partner } = await read(request);
  const words = WORDS[request.locale].settings.keys;
  return partner.api_key
    ? request.page(askTwicePage(request.frame, who, words.revoke, REVOKE, {}, PAGE))
    : request.go(PAGE);
});

export const revokeKey = signedIn(async (request) => {
  const { revoked } = await request.own("revoke_partner_key");
  return revoked ? request.told(PAGE, "revoked") : request.go(PAGE);
});

function keysPage(frame: PortalFrame, settings: Settings, { typed }: Returned): Html {
  const { who, partner } = settings;
  const words = WORDS[frame.locale].settings.keys;
  const news = { exists: words.exists, revoked: words.revoked }[typed.get("news") ?? ""];
  return settingPage(frame, who, {
    title: words.title,
    body: html`${newsOf(news)}
${shownOnce(words.new_title, words.new_once, typed.get("secret"))}
<p>${words.what}</p>
${
  partner.api_key
    ? theKey(frame, partner.api_key)
    : html`<p>${words.none}</p>
${codeFirst(frame, settings)}${doButton(frame, PAGE, { once: newOnce() }, words.mint)}`
}`,
  });
}

function theKey(frame: PortalFrame, key: NonNullable<Partner["api_key"]>): Html {
  const words = WORDS[frame.locale].settings.keys;
  return html`<section class="sheet" aria-labelledby="key"><h2 id="key">${words.yours}</h2>
<dl>
<div><dt>${words.looks}</dt><dd><code>${key.prefix}…${key.last4}</code></dd></div>
<div><dt>${words.made}</dt><dd>${longMoment(key.created_at, frame.words)}</dd></div>
<div><dt>${words.used}</dt><dd>${key.last_used_at ? longMoment(key.last_used_at, frame.words) : words.never_used}</dd></div>
</dl>
<div class="actions"><a class="button second" href="${frame.to(ROTATE)}">${words.rotate.title}</a><a class="button second" href="${frame.to(REVOKE)}">${words.revoke.title}</a></div>
</section>`;
}
