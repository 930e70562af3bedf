import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { portalPage } from "../frame.ts";
import type { Settings } from "../model.ts";
import { type PortalFrame, signedIn } from "../request.ts";
import { WORDS } from "../words.ts";

export const showSettings = signedIn(async (request) =>
  request.page(settingsPage(request.frame, await request.own("read_portal_settings"))),
);

/** How a page of the settings stands: in words, and whether something has to be done there. */
type State = { is: string; todo?: boolean };

/** The pages of the settings in their order, and how each stands. */
function statesOf({ locale }: PortalFrame, settings: Settings): [page: string, name: string, state: State][] {
  const { overview: words } = WORDS[locale].settings;
  const { partner, invoices_need, webhooks } = settings;
  const { company, payout, return_url, api_key } = partner;
  return [
    [
      "/company",
      words.company,
      invoices_need ? { is: words.company_todo, todo: true } : { is: company.name ?? partner.name },
    ],
    [
      "/account",
      words.account,
      payout.iban_masked
        ? { is: words.account_is(payout.iban_masked, payout.account_holder ?? "") }
        : { is: words.account_todo, todo: true },
    ],
    ["/branding", words.branding, { is: words.branding_is }],
    ["/colleagues", words.colleagues, { is: words.colleagues_is }],
    ["/return", words.return_url, { is: return_url ?? words.return_url_none }],
    ["/keys", words.keys, { is: api_key ? words.keys_is(api_key.prefix, api_key.last4) : words.keys_none }],
    ["/webhooks", words.webhooks, { is: words.webhooks_are(webhooks.enabled, webhooks.disabled) }],
    ...(settings.clients > 0
      ? ([["/clients", words.clients, { is: words.clients_are(settings.clients) }]] as [string, string, State][])
      : []),
    ["/log", words.log, { is: words.log_is }],
  ];
}

/** Every page of the settings, and how it stands. */
function settingsPage(frame: PortalFrame, settings: Settings): Html {
  const words = WORDS[frame.locale].settings.overview;
  return portalPage(frame, "/settings", settings.who, {
    title: words.title,
    body: html`<ul class="pages">
${statesOf(frame, settings).map(
  ([page, name, { is, todo }]) =>
    html`<li><a href="${frame.to(`/settings${page}`)}">${name}</a><small>${todo ? html`<strong>${words.todo}</strong> ` : ""}${is}</small></li>`,
)}
</ul>`,
  });
}
