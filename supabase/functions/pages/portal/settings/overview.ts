import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { chip } from "../../kit/parts/chip.ts";
import { rowList } from "../../kit/parts/rows.ts";
import { portalPage } from "../frame.ts";
import type { Settings } from "../model.ts";
import { type PortalFrame, signedIn } from "../request.ts";
import { WORDS } from "../words.ts";
import { webhookChip } from "./webhook_views.ts";

export const showSettings = signedIn(async (request) =>
  request.page(settingsPage(request.frame, await request.own("read_portal_settings"))),
);

/** How a page of the settings stands: in words, and by a chip where it has a state. */
type State = { is: string; chip?: Html | null };

type Rows = [page: string, name: string, state: State][];

/** The pages of the settings in their order, those of the company and those of its software, and how each stands. */
function statesOf(frame: PortalFrame, settings: Settings): { company: Rows; software: Rows } {
  const { overview: words } = WORDS[frame.locale].settings;
  const { partner, invoices_need, webhooks } = settings;
  const { company, payout, return_url, api_key } = partner;
  const [todo, done] = [chip("yours", words.todo), chip("done", words.done)];
  const ofCompany: Rows = [
    [
      "/company",
      words.company,
      invoices_need ? { is: words.company_todo, chip: todo } : { is: company.name ?? partner.name, chip: done },
    ],
    [
      "/account",
      words.account,
      payout.iban_masked
        ? { is: words.account_is(payout.iban_masked, payout.account_holder ?? ""), chip: done }
        : { is: words.account_todo, chip: todo },
    ],
    ["/branding", words.branding, { is: words.branding_is }],
    ["/colleagues", words.colleagues, { is: words.colleagues_is }],
    ["/log", words.log, { is: words.log_is }],
  ];
  const ofSoftware: Rows = [
    ["/return", words.return_url, { is: return_url ?? words.return_url_none }],
    [
      "/keys",
      words.keys,
      api_key ? { is: words.keys_is(api_key.prefix, api_key.last4), chip: done } : { is: words.keys_none },
    ],
    [
      "/webhooks",
      words.webhooks,
      { is: words.webhooks_are(webhooks.enabled, webhooks.disabled), chip: webhookChip(frame, webhooks) },
    ],
    ...(settings.clients > 0
      ? ([["/clients", words.clients, { is: words.clients_are(settings.clients) }]] as Rows)
      : []),
  ];
  return { company: ofCompany, software: ofSoftware };
}

/** Every page of the settings, and how it stands. */
function settingsPage(frame: PortalFrame, settings: Settings): Html {
  const words = WORDS[frame.locale].settings.overview;
  const states = statesOf(frame, settings);
  const list = (title: string, pages: Rows) =>
    html`<section><h2>${title}</h2>${rowList(pages.map(([page, what, { is, chip }]) => ({ href: frame.to(`/settings${page}`), what, when: is, chip })))}</section>`;
  return portalPage(frame, "/settings", settings.who, {
    title: words.title,
    body: html`<div class="beside">${list(words.of_company, states.company)}${list(words.of_software, states.software)}</div>`,
  });
}
