/** Every sentence of the pages in Dutch: the original. Written at B1 level, with "u"; the mandate itself says "ik". */
import { nl as mandate } from "#shared/domain/mandate_text/nl.ts";

export const nl = {
  ...mandate,
  lang: "nl",
  language: "Taal",
  error_prefix: "Fout: ",
  error_title: "Er gaat iets niet goed",
  steps_label: "Stappen",
  steps: ["Lezen", "Ondertekenen", "Klaar"],
  step_done: "klaar",
  back: "Terug",
  questions: "Vragen? Mail naar",
  retry_in: (seconds: number) =>
    seconds < 90
      ? "Probeer het over een minuut opnieuw."
      : seconds < 5400
        ? `Probeer het over ${Math.ceil(seconds / 60)} minuten opnieuw.`
        : `Probeer het over ${Math.ceil(seconds / 3600)} uur opnieuw.`,

  read: {
    title: "Lees uw machtiging",
    who: (partner: string) => `${partner} vraagt uw machtiging.`,
    why: (partner: string, service: string) =>
      `Laadt u een elektrische auto op uw eigen laadpaal? Dan voorkomt u uitstoot. In opdracht van ${partner} laat ${service} die laadstroom registreren. Dat mag alleen met uw machtiging.`,
    how: (email: boolean): string =>
      email
        ? "Lees de machtiging hieronder. Klopt alles? Dan ondertekent u met uw naam en een code die wij u mailen. Dat duurt ongeveer drie minuten."
        : "Lees de machtiging hieronder. Klopt alles? Dan ondertekent u met uw naam. Dat duurt ongeveer twee minuten.",
    wrong: (partner: string) => `Klopt er iets niet? Onderteken dan niet en laat het ${partner} weten.`,
    save: "Bewaar als tekst",
    continue: "Verder naar ondertekenen",
    decline: "Ik wil niet ondertekenen",
  },

  ask_code: {
    title: "Vraag een code aan",
    why: "Zo weten wij zeker dat u het bent die ondertekent.",
    to: "Wij mailen een code naar",
    wrong: (partner: string) => `Is dit niet uw e-mailadres? Laat het ${partner} weten.`,
    send: "Mail mij de code",
  },

  sign: {
    title: "Onderteken de machtiging",
    no_email:
      "Wij hebben geen e-mailadres van u. Daarom ondertekent u alleen met uw naam. Wij leggen vast dat er geen code is gebruikt.",
    again: "Lees de machtiging nog eens",
    code: "Code uit de mail",
    code_hint: (email: string) => `6 cijfers, verstuurd naar ${email}. De code werkt 10 minuten.`,
    name: "Uw naam",
    name_hint: "Typ uw voornaam en achternaam. Dit is uw handtekening.",
    agree: "Ik heb de machtiging gelezen en ik ga akkoord.",
    authority: (company: string | null) =>
      company ? `Ik mag namens ${company} ondertekenen.` : "Ik mag namens het bedrijf of de vereniging ondertekenen.",
    submit: "Onderteken",
    no_code: "Geen code gekregen?",
    no_code_help: "Het kan een minuut duren. Kijk ook bij uw ongewenste mail.",
    resend: "Mail mij een nieuwe code",
    errors: {
      code_missing: "Vul de code van 6 cijfers in",
      wrong_code: "Deze code klopt niet. Kijk nog eens in de nieuwste mail",
      code_expired: "Deze code werkt niet meer. Vraag een nieuwe code aan",
      too_many_attempts: "U heeft te vaak een verkeerde code ingevuld. Vraag een nieuwe code aan",
      name: "Typ uw voornaam en achternaam",
      agree: "Vink aan dat u de machtiging heeft gelezen en akkoord gaat",
      authority: "Vink aan dat u mag ondertekenen",
    },
  },

  signed: {
    title: "U heeft ondertekend",
    thanks: (date: string) => `Uw machtiging is ondertekend op ${date}.`,
    mailed: (email: string) => `Een kopie gaat naar ${email}.`,
    next_title: "Hoe gaat het verder?",
    next: (partner: string, service: string) => [
      `${service} controleert of de aansluiting klopt en laat uw laadstroom registreren.`,
      `${partner} houdt u op de hoogte. U hoeft niets te doen.`,
      "Wilt u stoppen? U kunt de machtiging op elk moment intrekken. Stuur ons een mail.",
    ],
    keep: "Bewaar uw machtiging",
    keep_help: "Met de link naar deze pagina kunt u haar altijd weer lezen.",
    signature: "Handtekening",
    signed_name: "Naam",
    signed_at: "Ondertekend op",
    confirmed: "Bevestigd met",
    by_code: (email: string) => `een code, gemaild naar ${email}`,
    by_name: "alleen de naam",
    fingerprint: "Kenmerk van de tekst (SHA-256)",
    ended: {
      revoked: "Deze machtiging is ingetrokken. Zij geldt niet meer.",
      expired: "Deze machtiging is afgelopen. Zij geldt niet meer.",
    },
  },

  decline: {
    title: "Wilt u niet ondertekenen?",
    means: (partner: string) =>
      `Dan wordt uw laadstroom niet geregistreerd. ${partner} ziet dat u niet heeft ondertekend. U kunt deze link daarna niet meer gebruiken.`,
    later: "Weet u het nog niet? Sluit dan deze pagina. U kunt later terugkomen met dezelfde link.",
    confirm: "Ja, ik onderteken niet",
    back: "Nee, terug naar de machtiging",
  },

  declined: {
    title: "U heeft niet ondertekend",
    text: (partner: string) => `Dat hebben wij vastgelegd. Er is niets geregistreerd. U hoeft niets meer te doen.
Wilt u toch ondertekenen? Vraag ${partner} dan om een nieuwe link.`,
  },

  claim: {
    through: (service: string) => `via ${service}`,
    steps: ["E-mail", "Gegevens", "Aansluiting", "Vergoeding", "Laadpaal", "Machtiging"],
    continue: "Verder",
    save: "Opslaan",
    start: {
      title: "Uw aanmelding voor ERE",
      who: (partner: string) => `${partner} heeft een aanmelding voor u klaargezet.`,
      why: (partner: string, service: string) =>
        `Laadt u een elektrische auto op uw eigen laadpaal? Dan voorkomt u uitstoot. ${service} laat die laadstroom registreren, en daar staat een vergoeding tegenover. ${partner} heeft uw gegevens alvast aan ons doorgegeven.`,
      how: "U controleert uw gegevens, kiest waar de vergoeding heen gaat en ondertekent een machtiging. Dat duurt ongeveer vijf minuten. U kunt tussendoor stoppen en later verdergaan.",
      need: "Houd dit bij de hand",
      needed: [
        "uw e-mail, voor een code",
        "uw energierekening, als u de EAN-code wilt nakijken",
        "uw rekeningnummer (IBAN)",
        "merk en model van uw laadpaal",
      ],
      to: "Eerst mailen wij u een code, zodat niemand anders uw gegevens ziet. Hij gaat naar",
      send: "Mail mij de code",
      have_code: "Ik heb al een code",
      stop: "Wilt u niet meedoen? Sluit dan deze pagina. Er gebeurt niets zonder uw machtiging.",
      contact: (partner: string) => `Een vraag voor ${partner} zelf? Mail naar`,
    },
    proof: {
      title: "Vul de code in",
      submit: "Verder",
      no_code_help: "Het kan een minuut duren. Kijk ook bij uw ongewenste mail.",
      errors: {
        code_missing: "Vul de code van 6 cijfers in",
        wrong_code: "Deze code klopt niet. Kijk nog eens in de nieuwste mail",
        code_expired: "Deze code werkt niet meer. Vraag een nieuwe code aan",
        too_many_attempts: "U heeft te vaak een verkeerde code ingevuld. Vraag een nieuwe code aan",
      },
    },
    enter: {
      title: "Ga verder met uw aanmelding",
      text: (partner: string) => `Deze link is van ${partner}. Hij werkt één keer.`,
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
      house_number_hint: "Met toevoeging, zoals 12 of 12 A",
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
      typed_hint: "18 cijfers, en begint meestal met 87. De code staat op uw energierekening, bij stroom.",
      errors: {
        choose: "Kies een aansluiting",
        ean_code: "Vul de EAN-code van 18 cijfers in",
        ean_in_use: "Deze EAN-code is al door iemand aangemeld. Kijk of u de goede heeft gekozen",
        ean_address_mismatch: "Deze EAN-code hoort niet bij uw adres. Kijk de code en het adres na",
      },
    },
    payout: {
      title: "Waar mag de vergoeding heen?",
      legend: "Rekeningnummer",
      keep: (last4: string) => `Het nummer dat eindigt op ${last4}`,
      fresh: "Dit rekeningnummer",
      iban: "IBAN",
      iban_hint: "Zoals NL91 ABNA 0417 1643 00",
      later: "Ik geef het later door",
      later_hint: "Dat kan met dezelfde link. Uw laadstroom telt pas mee als wij uw rekeningnummer hebben.",
      now: (last4: string) => `Nu gaat de vergoeding naar het nummer dat eindigt op ${last4}.`,
      safe: "Wij bewaren uw rekeningnummer versleuteld en gebruiken het alleen om uit te betalen.",
      errors: {
        choose: "Kies een van deze mogelijkheden",
        iban: "Dit is geen geldig IBAN. Kijk het nummer nog eens na",
      },
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
        charger_claimed: "Deze laadpaal is al door iemand aangemeld. Kijk het serienummer nog eens na",
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
      title: "U bent aangemeld",
      thanks: (date: string) => `Uw machtiging is ondertekend op ${date}. Wij hebben u een kopie gemaild.`,
      ended: {
        revoked: {
          title: "Uw machtiging is ingetrokken",
          since: (date: string) => `Zij is ingetrokken op ${date} en geldt niet meer.`,
          means: "Uw laadstroom wordt niet meer geregistreerd. Wat al is ingeboekt, blijft ingeboekt.",
        },
        expired: {
          title: "Uw machtiging is afgelopen",
          since: (date: string) => `Zij gold tot en met ${date}.`,
          means: "Laadstroom van na die dag wordt niet geregistreerd. Wat al is ingeboekt, blijft ingeboekt.",
        },
      },
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
        ingediend: (service: string) => `Uw registratie is ingediend. ${service} beoordeelt haar nu.`,
        goedgekeurd: (_service: string): string => "Uw registratie is goedgekeurd.",
        afgekeurd: (service: string) =>
          `Uw registratie is afgekeurd. Geeft u een andere laadpaal door? Dan beoordeelt ${service} haar opnieuw. Weet u niet waarom? Mail ons.`,
      },
      complete: "Wij hebben alles van u wat nodig is.",
      mid_waits: "Wij kijken nog na of uw laadpaal een geijkte meter (MID) heeft. U hoeft daarvoor niets te doen.",
      ean_waits: "Wij konden de EAN-code nog niet nakijken. Dat proberen wij opnieuw. U hoeft daarvoor niets te doen.",
      ean_wrong: "De EAN-code hoort volgens het register niet bij uw adres. Mail ons, dan zoeken wij het samen uit.",
      yields: (partner: string, service: string) => `${partner} of ${service} laat u weten wat uw laadstroom oplevert.`,
      given: {
        title: "Wat u ons heeft doorgegeven",
        change_iban: "Rekeningnummer wijzigen",
        chargers: (count: number): string => (count === 1 ? "Laadpaal" : "Laadpalen"),
        add_charger: "Nog een laadpaal doorgeven",
      },
    },
    revoke: {
      title: "Machtiging intrekken",
      means: (service: string) => [
        `${service} laat uw laadstroom dan niet meer registreren, ook niet die van maanden die nog niet zijn ingeboekt.`,
        "Wat al is ingeboekt, blijft ingeboekt. De vergoeding daarvan krijgt u nog.",
        "Intrekken gaat meteen in, en u kunt het hier niet ongedaan maken. Wilt u later weer meedoen? Mail ons dan.",
      ],
      confirm: "Ja, trek mijn machtiging in",
      back: "Nee, terug",
    },
    used: {
      title: "Deze aanmelding is al afgerond",
      text: "De machtiging is ondertekend.",
      help: "Wilt u zien hoe het ervoor staat, iets doorgeven of de machtiging intrekken? Dan mailen wij u eerst een code.",
    },
    gone: {
      title: "Deze aanmelding bestaat niet meer",
      text: "Zij is ingetrokken, of te lang geleden verlopen. Er is niets geregistreerd.",
      help: "Wilt u toch meedoen? Vraag het bedrijf dat u de link stuurde om een nieuwe.",
    },
    expired: {
      title: "Deze aanmelding is verlopen",
      text: "De link werkte 60 dagen. Er is niets geregistreerd.",
      help: "Wilt u toch meedoen? Vraag het bedrijf dat u de link stuurde om een nieuwe.",
    },
    conflict: {
      title: "Deze aanmelding kan niet doorgaan",
      text: "Uw e-mailadres of uw aansluiting is al op een andere manier bij ons aangemeld. Er is nu niets veranderd.",
      help: "Denkt u dat dit niet klopt? Mail ons, dan zoeken wij het uit.",
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
      kept: "Een aanmelding die voor u klaarstaat, blijft staan: de link in uw mail werkt nog. Een code of een kopie die u zelf vraagt, mailen wij u wel.",
      submit: "Stuur mij geen berichten meer",
    },
    unsubscribed: {
      title: "U krijgt geen berichten meer",
      text: "Dat hebben wij vastgelegd. Wij nodigen u niet meer uit op dit e-mailadres.",
    },
  },

  return_to: (partner: string) => `Terug naar ${partner}`,

  unknown: {
    title: "Deze link werkt niet",
    text: "Misschien is de link niet helemaal overgenomen. Open hem nog eens vanuit de mail of het bericht dat u kreeg.",
    help: "Werkt hij dan nog niet? Vraag een nieuwe link aan het bedrijf dat u de link stuurde.",
  },
  expired: {
    title: "Deze link is verlopen",
    text: "De link werkte 14 dagen. Er is niets ondertekend.",
    help: "Vraag een nieuwe link aan het bedrijf dat u de link stuurde.",
  },
  voided: {
    title: "Deze link geldt niet meer",
    text: "Er is een nieuwere link gemaakt, of de gegevens zijn gewijzigd. Er is niets ondertekend.",
    help: "Gebruik de nieuwste link die u kreeg, of vraag er een aan het bedrijf dat u de link stuurde.",
  },
  changed: {
    title: "De gegevens zijn gewijzigd",
    text: "Sinds u de machtiging las, is er iets veranderd. Er is nog niets ondertekend.",
    help: "Lees de machtiging opnieuw. Klopt alles? Dan kunt u ondertekenen.",
    action: "Lees opnieuw",
  },
  too_many_codes: {
    title: "U heeft te veel codes aangevraagd",
    text: "Een code die u eerder kreeg, werkt misschien nog.",
    action: "Terug naar ondertekenen",
  },
  too_many_requests: {
    title: "Even geduld",
    text: "Er komen te veel aanvragen vanaf uw netwerk.",
  },
  refused: {
    title: "Dit kunnen wij niet verwerken",
    text: "Het formulier kwam niet van deze pagina, of was te groot. Er is niets ondertekend. Open de link opnieuw vanuit uw mail.",
  },
  failed: {
    title: "Er gaat iets mis bij ons",
    text: "Probeer het over een paar minuten opnieuw. Wat u al had ondertekend, blijft bewaard.",
    quote: "Blijft het misgaan? Mail ons dan dit nummer:",
  },
  not_found: {
    title: "Deze pagina bestaat niet",
    text: "Controleer het adres, of open de link opnieuw vanuit uw mail.",
  },

  consent: {
    bad_request: {
      title: "Deze link van de app klopt niet",
      text: "De app die u hierheen stuurde, kennen wij niet. Of de link van de app is niet goed. Er is niets gedeeld.",
      help: "Ga terug naar de app en probeer het opnieuw. Helpt dat niet? Vraag het dan aan de maker van de app.",
    },
    sign_in: {
      title: "Log in",
      why: (app: string, service: string) => `${app} vraagt toegang tot de gegevens die ${service} over u heeft.`,
      next: (app: string) =>
        `Log eerst in. Daarna ziet u wat ${app} vraagt, en beslist u zelf. ${app} krijgt uw wachtwoord niet te zien.`,
      email: "E-mailadres",
      password: "Wachtwoord",
      submit: "Log in",
      no_password: "Geen wachtwoord?",
      no_password_help: "Vul hierboven uw e-mailadres in. Wij mailen u een code waarmee u één keer kunt inloggen.",
      mail_code: "Mail mij een code",
      errors: {
        email: "Vul uw e-mailadres in",
        password: "Vul uw wachtwoord in",
        wrong: "Dit e-mailadres en dit wachtwoord horen niet bij elkaar",
        unconfirmed: "Bevestig eerst uw e-mailadres, met de link in de mail die u kreeg",
      },
    },
    code: {
      title: "Vul de code in",
      sent: (email: string) =>
        `Hoort ${email} bij een account? Dan krijgt u daar nu een mail met een code van 6 cijfers.`,
      hint: "De code werkt 10 minuten, alleen in deze browser.",
      submit: "Log in",
      back: "Log anders in",
      no_code_help: "Het kan een minuut duren. Kijk ook bij uw ongewenste mail, en of het e-mailadres klopt.",
    },
    ask: {
      title: (app: string) => `Geeft u ${app} toegang?`,
      who: (app: string, operator: string, service: string) =>
        `De app ${app}, van ${operator}, vraagt toegang tot de gegevens die ${service} over u heeft.`,
      who_unknown: (app: string, service: string) =>
        `De app ${app} vraagt toegang tot de gegevens die ${service} over u heeft.`,
      signed_in: "U bent ingelogd als",
      other: "Log in als iemand anders",
      may: (app: string) => `Dan mag ${app}:`,
      scopes: {
        "chargers:read": "zien welke laadpalen u heeft, en of zij aan het laden zijn",
        "chargers:write": "laadpalen voor u toevoegen",
        "sessions:read": "uw laadbeurten zien: wanneer, hoe lang en hoeveel kWh",
        "energy:read": "zien hoeveel u per maand laadt en wat uw ERE opbrengen",
        "profile:read": "uw naam en e-mailadres zien",
        "partners:read": "de cijfers zien van het bedrijf dat u beheert, zonder namen van klanten",
        "partners:write": "de instellingen wijzigen van het bedrijf dat u beheert, en klanten toevoegen",
      },
      may_not: (app: string) => `${app} ziet uw wachtwoord niet, en kan niet meer dan wat hierboven staat.`,
      stop: (email: string) => `De toegang blijft tot u haar stopt. Stoppen kan altijd, met een mail naar ${email}.`,
      back_to: (host: string) => `Na uw keuze gaat u terug naar ${host}.`,
      allow: "Ja, geef toegang",
      refuse: "Nee, geef geen toegang",
      again:
        "Uw keuze is nog niet verwerkt: de pagina was verlopen of de vraag is veranderd. Lees haar nog eens en kies opnieuw.",
    },
    done: {
      title: (app: string) => `U gaat terug naar ${app}`,
      text: "Gebeurt er niets? Gebruik dan de knop.",
      onward: (app: string) => `Verder naar ${app}`,
    },
  },

  home: {
    title: "Laadstroom wordt ERE",
    text: (service: string) =>
      `${service} is de dienst waarmee laadpaalbedrijven elektrisch laden omzetten in ERE: Nederlandse emissiereductie-eenheden.`,
    signatory:
      "Kreeg u een link om een machtiging te ondertekenen? Open dan die link. Op deze pagina hoeft u niets te doen.",
    developers: "Voor ontwikkelaars",
    openapi: "Beschrijving van de API (OpenAPI)",
  },
};

export type Messages = typeof nl;
