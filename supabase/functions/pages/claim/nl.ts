import { ended } from "#shared/values/sentence.ts";
/** The sentences of a claim, from its link to what can be changed after the signature, in Dutch: the original. */
export const nl = {
  steps: ["E-mail", "Gegevens", "Aansluiting", "Vergoeding", "Laadpaal", "Machtiging"],
  continue: "Verder",
  save: "Opslaan",
  start: {
    title: "Geld voor uw laadstroom",
    benefit: (partner: string) =>
      `Laadt u een elektrische auto op uw eigen laadpaal? Dan kunt u daar geld voor krijgen. ${partner} heeft uw aanmelding klaargezet.`,
    why_title: "Waar komt dat geld vandaan?",
    why: (service: string) =>
      `Wie benzine of diesel verkoopt, moet bewijzen kopen dat er ook schoon gereden wordt: die bewijzen heten ERE. ${service} laat uw laadstroom registreren, verkoopt de ERE daarvan, en u krijgt de opbrengst min de kosten van onze dienst.`,
    given: (partner: string) => `${partner} heeft uw gegevens alvast aan ons doorgegeven.`,
    how_title: "Wat gaat u doen?",
    how: "U controleert uw gegevens, kiest waar het geld heen gaat en ondertekent een machtiging. Dat duurt ongeveer vijf minuten. U kunt tussendoor stoppen en later verdergaan.",
    need: "Houd dit bij de hand:",
    needed: [
      "uw e-⁠mail, voor een code",
      "uw energierekening, als u de EAN-code wilt controleren",
      "uw rekeningnummer (IBAN)",
      "merk en model van uw laadpaal",
    ],
    to: "Wij mailen u eerst een code, zodat niemand anders uw gegevens ziet. De code gaat naar",
    send: "Mail mij de code",
    have_code: "Ik heb al een code",
    stop: "Wilt u niet meedoen? Sluit dan deze pagina. Er gebeurt niets zonder uw machtiging.",
    contact: (partner: string) => `Een vraag voor ${partner} zelf? Mail naar`,
  },
  out: {
    kept: "Het duurde te lang, daarom vragen wij u opnieuw om een code. Wat u net invulde, staat daarna klaar op dezelfde stap.",
    lost: "Wij vragen u opnieuw om een code. Wat u net deed, is niet verstuurd. Doe het daarna nog eens.",
  },
  proof: {
    title: "Vul de code in",
    submit: "Verder",
  },
  enter: {
    title: "Ga verder met uw aanmelding",
    text: (partner: string) => `Deze link is van ${ended(partner)} Hij werkt één keer.`,
    submit: "Ga verder",
  },
  details: {
    title: "Wie bent u?",
    intro: (partner: string) => `Dit gaf ${partner} ons door. Klopt er iets niet? Pas het dan aan.`,
    full_name: "Uw naam",
    full_name_hint: "Voornaam en achternaam. U bent degene die de machtiging ondertekent.",
    type: "Voor wie meldt u zich aan?",
    types: {
      particulier: "Voor mijzelf, als particulier",
      zakelijk: "Voor een bedrijf",
      vve: "Voor een vereniging van eigenaars (VvE)",
    },
    phone: "Telefoonnummer (niet verplicht)",
    phone_hint: "Wij bellen alleen als er iets met uw aanmelding is.",
    errors: {
      full_name: "Vul uw voornaam en achternaam in",
      type: "Kies voor wie u zich aanmeldt",
      phone: "Vul een telefoonnummer in, zoals 06 12345678 of +32 470 12 34 56",
    },
  },
  company: {
    title: { zakelijk: "Uw bedrijf", vve: "Uw vereniging van eigenaars" },
    company_name: "Naam",
    company_name_hint: "Zoals bij de Kamer van Koophandel",
    kvk: "KvK-nummer",
    kvk_hint: { zakelijk: "8 cijfers", vve: "8 cijfers. Weet u het niet? Laat dit dan leeg." },
    vat: "Btw-nummer (niet verplicht)",
    errors: { company_name: "Vul de naam in", kvk: "Vul een KvK-nummer van 8 cijfers in" },
  },
  address: {
    title: "Waar staat de laadpaal?",
    hint: "Het adres van de stroomaansluiting waarop u laadt.",
    postal_code: "Postcode",
    house_number: "Huisnummer",
    street: "Straat (niet verplicht)",
    city: "Plaats (niet verplicht)",
    errors: {
      postal_code: "Vul een postcode in, zoals 1234 AB",
      house_number: "Vul een huisnummer in, zoals 12 of 12 A",
      street: "Vul een straat in van hooguit 120 tekens",
      city: "Vul een plaats in van hooguit 120 tekens",
    },
  },
  ean: {
    title: "Welke aansluiting is het?",
    one: "Op dit adres is één stroomaansluiting bekend.",
    several:
      "Op dit adres zijn meer stroomaansluitingen bekend. Kies die van uw laadpaal. Op uw energierekening staat welke van u is.",
    none: "Wij kunnen de aansluiting op dit adres niet opzoeken. Vul de code zelf in.",
    legend: "EAN-code",
    other: "Een andere EAN-code",
    typed: "EAN-code",
    typed_hint: "18 cijfers; meestal begint de code met 87. De code staat op uw energierekening, bij stroom.",
    errors: {
      choose: "Kies een aansluiting",
      ean_code: "Vul de EAN-code van 18 cijfers in",
      ean_in_use: "Deze EAN-code is al door iemand aangemeld. Controleer of u de goede heeft gekozen",
      ean_address_mismatch: "Deze EAN-code hoort niet bij uw adres. Controleer de code en het adres",
    },
  },
  payout: {
    why_code:
      "Uw rekeningnummer wijzigen kan alleen met een code die wij u nu mailen. Zo weten wij zeker dat u het bent.",
    title: "Waar mag de vergoeding heen?",
    keep: (last4: string) =>
      `Wij hebben het nummer dat eindigt op ${last4}. Vul alleen iets in als het een ander moet zijn.`,
    iban: "IBAN",
    iban_hint: "Zoals NL91 ABNA 0417 1643 00",
    later: "Heeft u het nummer niet bij de hand?",
    later_hint:
      "Ga dan verder zonder. U kunt het later doorgeven met dezelfde link. Uw laadstroom telt pas mee als wij uw rekeningnummer hebben.",
    later_submit: "Ik geef het later door",
    now: (last4: string) => `Nu gaat de vergoeding naar het nummer dat eindigt op ${last4}.`,
    safe: "Wij bewaren uw rekeningnummer versleuteld en gebruiken het alleen om uit te betalen.",
    errors: { iban: "Dit is geen geldig IBAN. Controleer het nummer" },
  },
  charger: {
    title: "Welke laadpaal heeft u?",
    why: "Alleen laadstroom die een geijkte meter (MID) heeft gemeten, telt mee.",
    brand: "Merk",
    choose_brand: "Kies een merk",
    model: "Model",
    choose_model: "Kies een model",
    no_mid: "zonder MID-meter: telt niet mee",
    serial_number: "Serienummer (niet verplicht)",
    serial_number_needed: "Serienummer",
    serial_number_hint: "Staat op een sticker op de laadpaal",
    other_brand: "Een ander merk kiezen",
    later: "Weet u het niet, of staat uw laadpaal er niet bij?",
    later_hint:
      "Ga dan verder zonder. U kunt uw laadpaal later doorgeven met dezelfde link. Uw laadstroom telt pas mee als wij hem kennen.",
    later_submit: "Ik weet het nog niet",
    errors: {
      brand: "Kies een merk",
      model: "Kies een model",
      serial_number: "Vul een serienummer in van hooguit 64 letters en cijfers",
      charger_claimed: "Deze laadpaal is al door iemand aangemeld. Controleer het serienummer",
      charger_limit_reached: "U heeft al tien laadpalen, en meer kan niet. Mail ons als er een weg is",
      serial_number_required: "Vul het serienummer in. Zo weten wij dat het een andere laadpaal is",
    },
  },
  mandate: {
    title: "Controleer en lees uw machtiging",
    intro: (service: string) =>
      `Met deze machtiging mag ${service} uw laadstroom laten registreren. Klopt alles? Dan ondertekent u met uw naam en een code die wij u mailen.`,
    rest: "Wat u verder heeft ingevuld",
    payout: "Rekeningnummer",
    payout_known: (last4: string) => `eindigt op ${last4}`,
    charger: "Laadpaal",
    later: "geeft u later door",
    change: "Iets aanpassen",
  },
  done: {
    own_pages: "Naar uw eigen pagina's",
    own_pages_are: "Op uw eigen pagina's ziet u wat u laadt, wat het oplevert en hoe ver uw aanmelding is.",
    title: "U bent aangemeld",
    thanks: (date: string) => `Uw machtiging is ondertekend op ${date}. Wij hebben u een kopie gemaild.`,
    signed_on: (date: string) => `U had de machtiging ondertekend op ${date}.`,
    ended: {
      revoked: {
        title: "Uw machtiging is ingetrokken",
        since: (date: string) => `Deze is ingetrokken op ${date} en geldt niet meer.`,
        means: "Uw laadstroom wordt niet meer geregistreerd. Wat al is ingeboekt, blijft ingeboekt.",
      },
      expired: {
        title: "Uw machtiging is afgelopen",
        since: (date: string) => `Deze gold tot en met ${date}.`,
        means: "Laadstroom van na die dag wordt niet geregistreerd. Wat al is ingeboekt, blijft ingeboekt.",
      },
    },
    kept: (until: string) => `Wat u tot en met ${until} laadde, telt nog mee.`,
    todo: {
      title: "Wat u nog moet doen",
      iban: {
        text: "Wij hebben uw rekeningnummer nog niet. Zonder rekeningnummer telt uw laadstroom niet mee.",
        action: "Rekeningnummer doorgeven",
      },
      charger: {
        text: "Wij kennen uw laadpaal nog niet. Zonder laadpaal met een geijkte meter (MID) telt uw laadstroom niet mee.",
        action: "Laadpaal doorgeven",
      },
      mid_charger: {
        text: "De laadpaal die u doorgaf, heeft geen geijkte meter (MID). Daarom telt uw laadstroom niet mee. Heeft u er een met zo'n meter?",
        action: "Laadpaal met MID-meter doorgeven",
      },
    },
    registration: {
      concept: (_service: string): string =>
        "Uw registratie is nog niet ingediend. Dat doen wij zodra wij uw laadpaal kennen.",
      ingediend: (service: string) => `Uw registratie is ingediend. ${service} beoordeelt die nu.`,
      goedgekeurd: (_service: string): string => "Uw registratie is goedgekeurd.",
      afgekeurd: (service: string) =>
        `Uw registratie is afgekeurd. Geeft u een andere laadpaal door? Dan beoordeelt ${service} de registratie opnieuw. Weet u niet waarom? Mail ons.`,
    },
    complete: "Wij hebben alles van u wat nodig is.",
    mid_waits: "Wij controleren nog of uw laadpaal een geijkte meter (MID) heeft. U hoeft daarvoor niets te doen.",
    ean_waits: "Wij konden de EAN-code nog niet controleren. Dat proberen wij opnieuw. U hoeft daarvoor niets te doen.",
    ean_wrong: "De EAN-code hoort volgens het register niet bij uw adres. Mail ons, dan zoeken wij het samen uit.",
    paid: {
      title: "Wat u kreeg",
      payout: (amount: string, date: string) => `${amount} op ${date}: bekijk het overzicht`,
    },
    given: {
      title: "Wat u ons heeft doorgegeven",
      change_iban: "Rekeningnummer wijzigen",
      chargers: (count: number): string => (count === 1 ? "Laadpaal" : "Laadpalen"),
      add_charger: "Nog een laadpaal doorgeven",
    },
  },
  revoke: {
    means: {
      kept: (until: string) => `Wat u tot en met ${until} laadde, telt nog mee. De vergoeding daarvan krijgt u nog.`,
      nothing_kept: "Wat al is ingeboekt, blijft ingeboekt. De vergoeding daarvan krijgt u nog.",
      at_once: "Intrekken gaat meteen in. Wilt u later weer meedoen? Dan tekent u opnieuw.",
    },
  },
  used: {
    title: "Deze aanmelding is al afgerond",
    text: "De machtiging is ondertekend.",
    help: "Wilt u zien hoe het ervoor staat, iets doorgeven of de machtiging intrekken? Dan mailen wij u eerst een code.",
  },
  gone: {
    title: "Deze aanmelding bestaat niet meer",
    text: "Deze is ingetrokken, of te lang geleden verlopen. Er is niets geregistreerd.",
    help: "Wilt u toch meedoen? Vraag het bedrijf dat u de link stuurde om een nieuwe.",
  },
  expired: {
    title: "Deze aanmelding is verlopen",
    text: "De link werkte 60 dagen. Er is niets geregistreerd.",
    help: "Wilt u toch meedoen? Vraag het bedrijf dat u de link stuurde om een nieuwe.",
  },
  conflict: {
    title: "Deze aanmelding kan niet doorgaan",
    text: "Uw e-⁠mailadres of uw aansluiting is al op een andere manier bij ons aangemeld. Er is nu niets veranderd.",
    help: "Heeft u al een account bij ons? Log dan daar in. Denkt u dat dit niet klopt? Mail ons, dan zoeken wij het uit.",
    sign_in: "Inloggen",
  },
  link_used: {
    title: "Deze link is al gebruikt",
    text: "Een link om verder te gaan werkt één keer. Zo kan niemand anders hem gebruiken.",
    help: "Vraag een nieuwe link aan bij het bedrijf dat u deze gaf.",
  },
  link_expired: {
    title: "Deze link werkt niet meer",
    text: "Een link om verder te gaan werkt 5 minuten, en tot er een nieuwere is gemaakt.",
    help: "Vraag een nieuwe link aan bij het bedrijf dat u deze gaf.",
  },
  unsubscribe: {
    title: "Geen berichten meer ontvangen?",
    text: "Dan schrijven wij u niet meer om u uit te nodigen, ook niet voor een ander bedrijf.",
    kept: "Een aanmelding die voor u klaarstaat, blijft staan: de link in uw mail werkt nog. Een code of een kopie die u zelf aanvraagt, mailen wij u wel.",
    submit: "Stuur mij geen berichten meer",
  },
  unsubscribed: {
    title: "U krijgt geen berichten meer",
    text: "Dat hebben wij vastgelegd. Wij nodigen u niet meer uit op dit e-⁠mailadres.",
  },
};

export type ClaimWords = typeof nl;
