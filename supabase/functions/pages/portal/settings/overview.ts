import type { Html } from "../../kit/frame.ts";
import { chip } from "../../kit/parts/chip.ts";
import { rowList } from "../../kit/parts/rows.ts";
import { portalPage } from "../frame.ts";
import type { Settings } from "../model.ts";
import { type PortalFrame, signedIn } from "../request.ts";
import { WORDS } from "../words.ts";

export const showSettings = signedIn(async (request) =>
  request.page(settingsPage(request.frame, await request.own("read_portal_settings"))),
);

/** How a page of the settings stands: in words, and by a chip where it has a state. */
type State = { is: string; chip?: Html };

/** The pages of the settings in their order, and how each stands. */
function statesOf({ locale }: PortalFrame, settings: Settings): [page: string, name: string, state: State][] {
  const { overview: words } = WORDS[locale].settings;
  const { partner, invoices_need, webhooks } = settings;
  const { company, payout, return_url, api_key } = partner;
  const [todo, done] = [chip("yours", words.todo), chip("done", words.done)];
  return [
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
    ["/return", words.return_url, { is: return_url ?? words.return_url_none }],
    [
      "/keys",
      words.keys,
      api_key ? { is: words.keys_is(api_key.prefix, api_key.last4), chip: done } : { is: words.keys_none },
    ],
    [
      "/webhooks",
      words.webhooks,
      {
        is: words.webhooks_are(webhooks.enabled, webhooks.disabled),
        ...(webhooks.disabled > 0 ? { chip: chip("stopped", words.off) } : webhooks.enabled > 0 ? { chip: done } : {}),
      },
    ],
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
    body: rowList(
      statesOf(frame, settings).map(([page, name, { is, chip }]) => ({
        href: frame.to(`/settings${page}`),
        what: name,
        when: is,
        chip,
      })),
    ),
  });
}
