import { ended } from "#shared/values/sentence.ts";
import { branding } from "./branding/nl.ts";
import { colleagues, invitation } from "./colleagues/nl.ts";
import { customer, customers } from "./customers/nl.ts";
import { drafts } from "./drafts/nl.ts";
import { nl as bring } from "./import/nl.ts";
import { payouts } from "./payouts/nl.ts";
import { settings } from "./settings/nl.ts";
import { nl as uploads } from "./uploads/nl.ts";

/** The sentences of a partner's pages in Dutch: the original. */
export const nl = {
  sign_in: {
    why: (service: string) => `Hier ziet u de klanten die u bij ${service} heeft aangebracht, en wat dat u oplevert.`,
    which: "Log in met het e-⁠mailadres waarop u bent uitgenodigd.",
  },
  menu: {
    label: "Uw pagina's",
    "": "Overzicht",
    "/customers": "Klanten",
    "/import": "Klanten aanmelden",
    "/uploads": "Laadgegevens",
    "/drafts": "Aanmeldingen",
    "/payouts": "Uitbetalingen",
    "/settings": "Instellingen",
  },
  filters: { label: "Filters", without: "haal dit filter weg", clear: "Wis alles" },
  range: (from: string, to: string, all: string) => `${from} tot en met ${to} van ${all}`,
  signed_in: (email: string, partner: string) => `U bent ingelogd als ${email}, voor ${ended(partner)}`,
  not_theirs: {
    title: "U beheert geen partner",
    why: "U bent ingelogd, maar met dit e-⁠mailadres beheert u geen partner, of niet meer. Vraag een collega om u uit te nodigen, of log in met een ander e-⁠mailadres.",
  },

  other_partner: {
    title: "U beheert nu een andere partner",
    text: "Deze pagina stond nog open voor de partner die u eerder beheerde. Er is niets veranderd: niet bij die partner, en niet bij de partner die u nu beheert.",
    home: "Naar het overzicht",
  },

  /** Why mail did not arrive. */
  mail_failures: {
    unknown_address: "het adres bestaat niet",
    mailbox_full: "de mailbox is vol",
    refused: "de mailserver van de klant weigerde de mail",
    given_up: "geen mailserver nam de mail aan, ook niet na vaker proberen",
  },

  start: {
    title: (partner: string) => `Overzicht van ${partner}`,
    attention: {
      title: "Vraagt uw aandacht",
      look: "Bekijk",
      nothing: "Niets op dit moment.",
      conflict: (count: string, one: boolean) =>
        `${count} ${one ? "aanmelding is" : "aanmeldingen zijn"} al bij ons bekend`,
      draft_mail: (count: string, one: boolean) =>
        `Bij ${count} ${one ? "aanmelding" : "aanmeldingen"} kwam onze mail niet aan`,
      ean: (count: string, one: boolean) =>
        `Bij ${count} ${one ? "aanmelding" : "aanmeldingen"} is de aansluiting niet gevonden, of meer dan één`,
      expiring: (count: string, one: boolean) =>
        `${count} ${one ? "aanmelding verloopt" : "aanmeldingen verlopen"} binnen 14 dagen`,
      rejected: (count: string, one: boolean) =>
        `Van ${count} ${one ? "klant" : "klanten"} is de registratie afgekeurd`,
      customer_mail: (count: string, one: boolean) =>
        `Bij ${count} ${one ? "klant" : "klanten"} kwam onze mail niet aan`,
      account_mail: (count: string, one: boolean) =>
        `Bij ${count} ${one ? "klant" : "klanten"} uit uw software kwam onze mail niet aan`,
      without_charger: (count: string, one: boolean) =>
        `${count} ${one ? "klant heeft" : "klanten hebben"} nog geen laadpaal`,
      without_mid: (count: string, one: boolean) =>
        `Bij ${count} ${one ? "klant" : "klanten"} heeft de nieuwste laadpaal geen MID-meter`,
      disabled: (count: string, one: boolean) => `${count} ${one ? "webhook staat" : "webhooks staan"} uit`,
      failing: (count: string, one: boolean) => `${count} ${one ? "webhook geeft" : "webhooks geven"} fouten`,
      invoices: "Voor uw facturen hebben wij nog gegevens van u nodig",
      holds: "houdt geld tegen",
      payment_back: {
        account: "Onze laatste betaling aan u is mislukt. Controleer uw rekeningnummer",
        holder: "Onze laatste betaling aan u is mislukt. Mail ons",
        none: "Onze laatste betaling aan u is mislukt. Wij betalen het bedrag opnieuw, bij de volgende uitbetaling",
      },
      iban_wrong: (count: string, one: boolean) =>
        `Van ${count} ${one ? "klant klopt het rekeningnummer niet. Die kan" : "klanten klopt het rekeningnummer niet. Die kunnen"} wij niet betalen`,
      paid_back: (count: string, one: boolean) =>
        `Bij ${count} ${one ? "klant" : "klanten"} kon de bank onze betaling niet doen. Geef een ander rekeningnummer`,
      months_rejected: (count: string, one: boolean) =>
        `Van ${count} ${one ? "klant" : "klanten"} uit uw software is een maand afgewezen. Lever die opnieuw`,
      unsigned: (count: string, one: boolean) =>
        `Bij ${count} ${one ? "klant" : "klanten"} uit uw software wacht de machtiging op een handtekening`,
      account_ean: (count: string, one: boolean) =>
        `Bij ${count} ${one ? "klant" : "klanten"} uit uw software klopt de aansluiting (EAN) niet`,
      /** Of an API client, by its name. */
      of_client: (client: string, what: string) => `${client}: ${what}`,
      parked: (count: string, one: boolean) =>
        `${count} ${one ? "laadbeurt wacht" : "laadbeurten wachten"} op een laadpaal die wij niet kennen`,
      no_account: "Er is nog geen rekening waarop wij u kunnen betalen",
      cap: (left: string, cap: string) => `U kunt in deze 30 dagen nog ${left} van ${cap} klanten aanmelden`,
      newest_drafts: (count: string) => `Geteld onder uw nieuwste ${count} aanmeldingen.`,
      newest_customers: (count: string) => `Geteld onder uw nieuwste ${count} klanten.`,
    },
    funnel: {
      title: "Van uitnodiging tot klant",
      invited: "uitgenodigd",
      claimed: "begonnen",
      signed: "getekend",
      of: (share: string) => `${share}% van wie is uitgenodigd`,
      customers: (count: string, one: boolean, active: string) =>
        `${count} ${one ? "klant" : "klanten"} in totaal, ${active} met een machtiging die geldt`,
    },
    quarters: {
      title: "Uw verdiensten",
      plot: "Uw aandeel per kwartaal, in euro",
      earned: (quarters: number) => `verdiend in ${quarters} ${quarters === 1 ? "kwartaal" : "kwartalen"}`,
      to_come: (euro: string) =>
        `Er komt nog ± ${euro}: wij schatten dat met de ERE die nog niet verkocht zijn, tegen de laatste gemiddelde prijs.`,
      all: "Alle uitbetalingen en facturen",
    },
    period: {
      choose: "Kies een periode",
      month: "Deze maand",
      customers: "Nieuwe klanten",
      charged: "Geladen",
      euro: "Voor u, geschat",
      unknown: "nog niet bekend",
      no_factor: "Hoeveel ERE een kWh in dat jaar oplevert, staat nog niet vast.",
      unknown_why: "Zodra er ERE verkocht zijn, kennen wij een prijs.",
      at_least: (count: string) => `${count} of meer`,
      more: (value: string, than: string) => `${value} meer dan in heel ${than}`,
      less: (value: string, than: string) => `${value} minder dan in heel ${than}`,
      same: (than: string) => `Evenveel als in heel ${than}`,
    },
    next: {
      title: "Volgende uitbetaling",
      none: "nog geen",
      none_why: "Wij betalen uw deel zodra de ERE van een kwartaal verkocht zijn.",
      to: (last4: string) => `Op de rekening die eindigt op ${last4}.`,
    },
    months_of: (year: number) => `Per maand in ${year}`,
    months_said: (kwh: string, ere: string, count: string, one: boolean) =>
      `${kwh} kWh, ${ere} ERE, ${count} ${one ? "klant laadde" : "klanten laadden"}`,
    figures: "Cijfers",
    chargers: "Laadpalen",
    as_of: (moment: string) => `Stand van ${moment}.`,
    total: "Geladen in totaal",
    ere: "ERE",
    ere_hint: "Van maanden die onder een machtiging vallen.",
    months_title: "Geladen door uw klanten per maand, in kWh",
    months_description: (total: string, most: string) => `In totaal ${total} kWh, het meest in ${most}.`,
    own_pages: "Naar uw eigen pagina's als klant",
    counting: "Wij tellen uw cijfers voor het eerst. Kom over een minuut terug.",
    no_months_in: (year: number, runs: boolean) => `In ${year} is ${runs ? "nog " : ""}niets geladen.`,
    no_months: "Wij weten nog van geen laadbeurt van uw huidige klanten.",
    table: "Geladen per maand",
    month: "Maand",
    all_months: "Samen",
    kwh: "kWh",
    active: "Klanten die laadden",
  },

  bring,
  uploads,
  settings,
  customers,
  customer,
  drafts,
  payouts,
  branding,
  colleagues,
  invitation,
};

export type PortalWords = typeof nl;
