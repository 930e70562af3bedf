/** Every sentence of the pages in Dutch: the original. Written at B1 level, with "u"; the mandate itself says "ik". */
export const nl = {
  lang: "nl",
  date_locale: "nl-NL",
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
      errors: {
        email: "Vul uw e-mailadres in",
        password: "Vul uw wachtwoord in",
        wrong: "Dit e-mailadres en dit wachtwoord horen niet bij elkaar",
        unconfirmed: "Bevestig eerst uw e-mailadres, met de link in de mail die u kreeg",
      },
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

  document: {
    title: "Machtiging voor het registreren van laadstroom (ERE)",
    who: "Ik machtig",
    service: "Naam",
    on_request_of: "Op verzoek van",
    holder: "Wie ik ben",
    full_name: "Naam",
    company: { zakelijk: "Bedrijf", vve: "Vereniging van eigenaars" },
    kvk: "KvK-nummer",
    connection: "Voor deze aansluiting",
    ean: "EAN-code",
    address: "Adres",
    house_number: "huisnummer",
    validity: "Voor deze periode",
    from: "Van",
    until: "Tot en met",
    whole_years:
      "De machtiging geldt voor hele kalenderjaren. Zij stopt vanzelf na de laatste dag en wordt niet stilzwijgend verlengd.",
    allow: "Wat ik toesta",
    allowed: (service: string) => [
      `${service} mag de stroom die via deze aansluiting aan elektrische voertuigen is geleverd, inboeken bij de Nederlandse Emissieautoriteit (NEa), en de emissiereductie-eenheden (ERE) die daaruit volgen verkopen.`,
      "De NEa mag in het aansluitingenregister van de netbeheerder nakijken of deze aansluiting van mij is.",
      "De verificateur, die de inboeking controleert, mag op het adres komen kijken naar de laadpaal en de meter.",
    ],
    declare: "Wat ik verklaar",
    declared: (company: string | null) => [
      "De gegevens hierboven kloppen.",
      "Voor deze aansluiting en deze periode heb ik niemand anders gemachtigd.",
      ...(company === null ? [] : [`Ik mag namens ${company} ondertekenen.`]),
    ],
    the_company: "het bedrijf of de vereniging",
    stop: "Stoppen",
    stopping: (email: string) =>
      `Ik kan deze machtiging op elk moment intrekken met een mail naar ${email}. Wat al is ingeboekt, blijft ingeboekt.`,
    filename: "machtiging.txt",
  },
};

export type Messages = typeof nl;
