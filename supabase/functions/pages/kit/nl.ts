import { nl as mandate } from "#shared/domain/mandate_text/nl.ts";

/** Every sentence that pages share in Dutch: the original. Written at B1 level, with "u"; the mandate itself says "ik". */
export const nl = {
  ...mandate,
  lang: "nl",
  language: "Taal",
  error_prefix: "Fout: ",
  error_title: "Er gaat iets niet goed",
  step: (number: number, of: number) => `Stap ${number} van ${of}`,
  back: "Terug",
  skip: "Naar de inhoud",
  more: "Meer",
  script: {
    print: "Print of bewaar als pdf",
    not_found: "Zoeken lukte niet. Hieronder staat nog wat u eerder zocht. Probeer het met de knop.",
    copy: "Kopieer",
    copied: "Gekopieerd",
    not_copied: "Kopiëren mag niet van uw browser: selecteer de tekst",
    busy: "Even geduld…",
  },
  questions: "Vragen? Mail naar",
  through: (service: string) => `via ${service}`,
  retry_in: (seconds: number) =>
    seconds < 90
      ? "Probeer het over een minuut opnieuw."
      : seconds < 5400
        ? `Probeer het over ${Math.ceil(seconds / 60)} minuten opnieuw.`
        : `Probeer het over ${Math.ceil(seconds / 3600)} uur opnieuw.`,

  code: {
    label: "Code uit de mail",
    hint: (email: string) => `6 cijfers, verstuurd naar ${email}. De code werkt 10 minuten.`,
    no_code: "Geen code gekregen?",
    no_code_help:
      "Het kan een minuut duren. Kijk ook bij uw ongewenste mail. Alleen de nieuwste code werkt. Wij sturen naar één adres niet meer dan een paar codes per dag: komt er geen meer, probeer het dan morgen opnieuw.",
    resend: "Mail mij een nieuwe code",
    errors: {
      code_missing: "Vul de code van 6 cijfers in",
      wrong_code: "Deze code klopt niet. Kijk nog eens in de nieuwste mail",
      code_expired: "Deze code werkt niet meer. Vraag een nieuwe code aan",
      too_many_attempts: "U heeft te vaak een verkeerde code ingevuld. Vraag een nieuwe code aan",
      too_many_guesses: "Er is vandaag te vaak een verkeerde code ingevuld. Probeer het morgen opnieuw",
    },
  },

  sign_in: {
    again: "Dit formulier kwam niet van de pagina die u zag, of uw browser bewaart geen cookies. Log hier in.",
    title: "Log in",
    email: "E-mailadres",
    password: "Wachtwoord",
    sign_out: "Log uit",
    signed_out: "U bent uitgelogd.",
    kept: "Log eerst opnieuw in. Wat u invulde, staat daarna weer klaar: controleer het en verstuur het dan.",
    lost: "U was niet meer ingelogd. Wat u net deed, is niet verstuurd. Log opnieuw in en doe het daarna nog eens.",
    submit: "Log in",
    how: "Wij mailen u een code waarmee u één keer kunt inloggen. Een wachtwoord heeft u niet nodig.",
    by_password: "Log in met een wachtwoord",
    mail_code: "Mail mij een code",
    errors: {
      email: "Vul uw e-⁠mailadres in",
      password: "Vul uw wachtwoord in, of laat u hierboven een code mailen",
      wrong: "Dit e-⁠mailadres en dit wachtwoord horen niet bij elkaar",
      unconfirmed: "Bevestig eerst uw e-⁠mailadres, met de link in de mail die u kreeg",
    },
    code: {
      title: "Vul de code in",
      again: (email: string) =>
        `Voor deze stap willen wij zeker weten dat u het bent. Wij hebben een code gemaild naar ${email}. Daarna gaat u verder waar u was.`,
      confirm: "Bevestig met deze code",
      sent: (email: string) => `Kennen wij ${email}? Dan krijgt u daar nu een mail met een code van 6 cijfers.`,
      hint: "De code werkt 10 minuten, alleen in deze browser.",
      back: "Log anders in",
      no_code_help:
        "Het kan een minuut duren. Kijk ook bij uw ongewenste mail, en of het e-⁠mailadres klopt. Alleen de nieuwste code werkt. Wij sturen naar één adres niet meer dan een paar mails per dag: komt er geen code, probeer het dan morgen opnieuw.",
    },
  },

  scopes: {
    "chargers:read": "zien welke laadpalen u heeft, en of die aan het laden zijn",
    "chargers:write": "laadpalen voor u toevoegen",
    "sessions:read": "uw laadbeurten zien: wanneer, hoe lang en hoeveel kWh",
    "energy:read": "zien hoeveel u per maand laadt en wat uw ERE opbrengen",
    "profile:read": "uw naam en e-⁠mailadres zien",
    "partners:read": "de cijfers zien van het bedrijf dat u beheert, zonder namen van klanten",
    "partners:write": "de instellingen wijzigen van het bedrijf dat u beheert, en klanten toevoegen",
  },

  /** To end a mandate: on the pages of a claim, and on those of who signed for a CPO's customer. */
  withdrawal: {
    title: "Machtiging intrekken",
    why_code: "Intrekken kan alleen met een code die wij u nu mailen. Zo weten wij zeker dat u het bent.",
    means: {
      lost: (kwh: string, month: string) =>
        `U verliest de ${kwh} van ${month}, want een deel van een maand telt niet mee.`,
      nothing_lost: (month: string) =>
        `Van ${month} hebben wij nog geen kWh. Wat u deze maand laadt, telt niet meer mee.`,
      from_now: (service: string) => `${service} laat uw laadstroom van nu af niet meer registreren.`,
      renewal: (until: string) => `Ook uw verlenging tot en met ${until} vervalt.`,
      if_approved: "Uw registratie wordt nog beoordeeld: dit geldt als die wordt goedgekeurd.",
      unregistered:
        "Uw registratie is nog niet in orde. Trekt u nu in, dan telt ook niet mee wat u eerder laadde, behalve wat al is ingeboekt.",
    },
    confirm: "Ja, trek mijn machtiging in",
    back: "Nee, terug",
  },

  /** A person's own pages: their menu, and who is signed in. */
  own: {
    menu: {
      label: "Mijn pagina's",
      "": "Overzicht",
      "/charging": "Laden",
      "/earnings": "Geld",
      "/mandate": "Machtiging",
      "/chargers": "Laadpalen",
      "/sharing": "Wie ziet wat",
      "/tokens": "Eigen programma's",
      "/data": "Gegevens",
    },
    signed_in: (email: string) => `U bent ingelogd als ${email}.`,
  },

  read: {
    to_button: "Naar de knop onderaan",
    save: "Bewaar als tekst",
    continue: "Verder naar ondertekenen",
    decline: "Ik wil niet ondertekenen",
  },

  period: {
    title: "Voor hoe lang tekent u?",
    hint: "Een machtiging geldt voor hele kalenderjaren. U kunt de machtiging op elk moment intrekken.",
    until: (until: string) => `Tot en met ${until}`,
    calendar_years: (years: number, first: number, last: number) =>
      years === 1 ? `1 kalenderjaar: ${first}` : `${years} kalenderjaren: ${first} tot en met ${last}`,
    signs_for: (from: string, until: string) => `U tekent voor de periode van ${from} tot en met ${until}.`,
    renews: (until: string, from: string) =>
      `Uw huidige machtiging geldt tot en met ${until}. Daar verandert niets aan. Deze nieuwe begint op ${from}.`,
  },

  offer: {
    title: "Wat het oplevert en kost",
    unknown:
      "Wat uw laadstroom oplevert, is nog niet bekend. Dat hangt af van de prijs waarvoor de ERE worden verkocht.",
    kwh: "Hoeveel kWh laadt u ongeveer per jaar?",
    kwh_hint: (kwh: string) => `Een auto die thuis laadt, gebruikt vaak zo'n ${kwh} kWh per jaar.`,
    kwh_error: "Vul een aantal kWh in, van 1 tot 1.000.000",
    compute: "Reken uit",
    a_year: (kwh: string) => `per jaar voor u, bij ${kwh} kWh`,
    a_year_to: (kwh: string, partner: string) => `per jaar naar ${partner}, bij ${kwh} kWh`,
    fee_is_off: (percent: string) =>
      `Dit is een schatting, met de laatste prijs. De kosten van onze dienst (${percent}%) zijn er al af.`,
    sum: "Schatting per jaar",
    gross: "Opbrengst van uw ERE",
    costs: (percent: string) => `Kosten van onze dienst (${percent}%)`,
    for_you: "Voor u",
    for_partner: (partner: string) => `Naar ${partner}`,
    ask_partner: (partner: string) =>
      `Wij betalen dit aan ${partner}, dat met u afrekent. Vraag ${partner} wat u daarvan krijgt.`,
    how: "Zo rekenen wij",
    computed: (kwh: string, factor: string, price: string) =>
      `Dit is een schatting. Zo rekenen wij: ${kwh} kWh × ${factor} ERE per kWh × ${price} per ERE, de laatste gemiddelde prijs. De prijs kan hoger of lager worden.`,
    fee: "Wat onze dienst kost",
    fee_is: (percent: string) =>
      `${percent}% van wat uw ERE opbrengen, inclusief btw. Wij houden dat in; u betaalt nooit zelf iets.`,
    when: "Wanneer u geld krijgt",
    when_paid: (least: string) =>
      `Na elk kwartaal boeken wij uw laadstroom in. Zijn de ERE verkocht, dan maken wij het geld over, vanaf ${least}. Reken op enkele maanden na het kwartaal.`,
    when_via: (partner: string) =>
      `Na elk kwartaal boeken wij uw laadstroom in. Zijn de ERE verkocht, dan rekent ${partner} met u af. Reken op enkele maanden na het kwartaal.`,
    read: "Lees ook de",
    conditions: "voorwaarden",
    and: "en de",
    privacy: "privacyverklaring",
    who: (service: string) => `Wie is ${service}?`,
    kvk: "KvK-nummer",
    phone: "Telefoon",
    mail: "E-mail",
  },

  ask_code: {
    title: "Vraag een code aan",
    why: "Zo weten wij zeker dat u het bent die ondertekent.",
    to: "Wij mailen een code naar",
    wrong: (partner: string) => `Is dit niet uw e-⁠mailadres? Laat het ${partner} weten.`,
    send: "Mail mij de code",
  },

  sign: {
    title: "Onderteken de machtiging",
    no_email:
      "Wij hebben geen e-⁠mailadres van u. Daarom ondertekent u alleen met uw naam. Wij leggen vast dat er geen code is gebruikt.",
    again: "Lees de machtiging nog eens",
    name: "Uw naam",
    name_hint: "Typ uw voornaam en achternaam. Dit is uw handtekening.",
    agree: "Ik heb de machtiging gelezen en ik ga akkoord.",
    authority: (company: string | null) =>
      company ? `Ik mag namens ${company} ondertekenen.` : "Ik mag namens het bedrijf of de vereniging ondertekenen.",
    submit: "Onderteken",
    errors: {
      name: "Typ uw voornaam en achternaam",
      agree: "Vink aan dat u de machtiging heeft gelezen en akkoord gaat",
      authority: "Vink aan dat u mag ondertekenen",
    },
  },

  signed: {
    next_title: "Hoe gaat het verder?",
    keep: "Bewaar uw machtiging",
    save_pdf: "Bewaar als pdf",
    signature: "Handtekening",
    signed_name: "Naam",
    signed_at: "Ondertekend op",
    confirmed: "Bevestigd met",
    by_code: (email: string) => `een code, gemaild naar ${email}`,
    by_name: "alleen de naam",
    fingerprint: "Kenmerk van de tekst (SHA-256)",
    holds: (until: string) => `Uw machtiging geldt tot en met ${until}.`,
    renewed: (until: string) => `U heeft de machtiging al verlengd, tot en met ${until}.`,
    renewal: "Uw machtiging voor de jaren daarna",
    renew: {
      title: "Verleng uw machtiging",
      text: (until: string) =>
        `Uw machtiging eindigt op ${until} en wordt niet vanzelf verlengd. Wat u daarna laadt, telt alleen mee als u opnieuw tekent.`,
      action: "Lees en onderteken de nieuwe",
    },
    sign_again: {
      title: "Weer meedoen?",
      text: "Tekent u opnieuw, dan telt uw laadstroom van dit jaar weer mee.",
      action: "Lees en onderteken opnieuw",
    },
  },

  return_to: (partner: string) => `Terug naar ${partner}`,

  unknown: {
    title: "Deze link werkt niet",
    text: "Misschien is de link niet helemaal overgenomen. Open hem nog eens vanuit de mail of het bericht dat u kreeg.",
    help: "Werkt hij dan nog niet? Vraag een nieuwe link aan het bedrijf dat u de link stuurde.",
  },
  changed: {
    title: "De gegevens zijn gewijzigd",
    text: "Sinds u de machtiging las, is er iets veranderd. Er is nog niets ondertekend.",
    help: "Lees de machtiging opnieuw. Klopt alles? Dan kunt u ondertekenen.",
    action: "Lees opnieuw",
  },
  too_many_codes: {
    title: "Er zijn vandaag te veel codes aangevraagd",
    text: "Gebruik de nieuwste code die u kreeg: die werkt tien minuten. Werkt die niet meer, vraag dan later een nieuwe aan.",
  },
  document_not_ready: {
    title: "Uw document wordt gemaakt",
    text: "Dat duurt een paar seconden. Probeer het daarna opnieuw.",
    action: "Probeer opnieuw",
  },
  too_many_requests: {
    title: "Even geduld",
    text: "Er komen te veel aanvragen vanaf uw netwerk.",
  },
  refused: {
    title: "Dit kunnen wij niet verwerken",
    text: "Het formulier kwam niet van deze pagina, was te groot of kwam niet heel aan. Er is niets ondertekend. Open de link opnieuw vanuit uw mail.",
  },
  file_too_large: {
    title: "Dit bestand is te groot",
    text: "Wij hebben er niets van gelezen en er is niets veranderd. Ga terug naar de vorige pagina: daar staat hoe groot een bestand mag zijn.",
  },
  failed: {
    title: "Er gaat iets mis bij ons",
    text: "Probeer het over een paar minuten opnieuw. Wat u al had ondertekend, blijft bewaard.",
    quote: "Blijft het misgaan? Mail ons dan dit nummer:",
  },
  not_found: {
    title: "Deze pagina bestaat niet",
    text: "Controleer het adres, of open de link opnieuw vanuit uw mail.",
    home: "Naar het begin",
  },
};

export type KitWords = typeof nl;
