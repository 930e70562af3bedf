import { ended } from "#shared/values/sentence.ts";
/** The sentences of every mail, in Dutch: the original. Written at B1 level, with "u". */
export const nl = {
  lang: "nl",
  greeting: (name: string) => `Beste ${name},`,
  hello: "Hallo,",
  somebody: "heer of mevrouw",
  through: (partner: string, service: string) => `${partner}, via ${service}`,
  regards: "Met vriendelijke groet,",
  questions: "Vragen? Mail naar",
  linkFallback: "Werkt de knop niet? Kopieer dan dit adres naar uw browser:",
  manager_invitation: {
    subject: (partner: string) => `Uitnodiging om ${partner} te beheren`,
    lines: (invitedBy: string, partner: string, service: string) => [
      `${invitedBy} nodigt u uit om ${partner} te beheren bij ${ended(service)} U ziet daar de klanten van ${partner}, en wat het oplevert, en u kunt instellingen wijzigen.`,
      "Open de link en vul de code in die wij u dan mailen. Een wachtwoord heeft u niet nodig.",
    ],
    button: "Neem de uitnodiging aan",
    after: "De link werkt zeven dagen, één keer, en alleen voor dit e-mailadres.",
    unexpected: "Verwacht u dit niet? Dan hoeft u niets te doen.",
  },
  /** `person` came or went, `by` did it; `operator` is for us. */
  managers_changed: {
    invited: {
      subject: (partner: string) => `Er is iemand uitgenodigd om ${partner} te beheren`,
      line: (person: string, partner: string, by: string) =>
        `${by} heeft ${person} uitgenodigd om ${partner} ook te beheren.`,
    },
    joined: {
      subject: (partner: string) => `Er is een beheerder van ${partner} bij`,
      line: (person: string, partner: string, _by: string) =>
        `${person} beheert vanaf nu ook ${partner}: klanten, uitbetalingen en instellingen.`,
    },
    removed: {
      subject: (partner: string) => `Een beheerder van ${partner} is verwijderd`,
      line: (person: string, partner: string, by: string) =>
        `${by} heeft ${person} verwijderd: die beheert ${partner} niet meer.`,
    },
    left: {
      subject: (partner: string) => `Een beheerder van ${partner} is gestopt`,
      line: (person: string, partner: string, _by: string) => `${person} beheert ${partner} niet meer.`,
    },
    alone: {
      subject: (partner: string) => `Niemand beheert ${partner} nog`,
      line: (person: string, partner: string, _by: string) =>
        `${person} was de enige die ${partner} beheerde, en heeft het eigen account beëindigd.`,
    },
    button: "Bekijk wie beheert",
    after: "Is dit goed zo? Dan hoeft u niets te doen.",
    operator: "Nodig iemand anders uit met: operator partner invite",
    unexpected: "Klopt dit niet? Laat het ons dan meteen weten.",
  },
  invitation_code: {
    lines: (service: string) => [
      `U neemt een uitnodiging aan om bij ${service} een partner te beheren. Vul deze code in op de pagina:`,
    ],
  },
  mandate_link: {
    subject: (partner: string) => `${partner} vraagt uw machtiging voor uw laadstroom`,
    lines: (partner: string, service: string) => [
      `${partner} wil de stroom die u thuis of op uw terrein laadt, laten registreren als emissiereductie (ERE). Dat doet ${ended(service)} Daarvoor is uw machtiging nodig.`,
      "U leest eerst wat u tekent. Daarna tekent u met uw naam en een code die wij u mailen. Dat duurt ongeveer drie minuten.",
    ],
    button: "Lees en onderteken",
    after: "De link werkt 14 dagen en is alleen voor u. Stuur hem niet door.",
    unexpected:
      "U krijgt dit bericht omdat er om uw handtekening wordt gevraagd. Verwacht u dit niet? Dan hoeft u niets te doen.",
  },
  mandate_code: {
    subject: (code: string) => `${code} is uw code om te ondertekenen`,
    lines: (partner: string) => [
      `U wilt de machtiging ondertekenen waar ${partner} om vraagt. Vul deze code in op de pagina:`,
    ],
    after: "De code werkt 10 minuten. Geef hem aan niemand: met deze code zet u uw handtekening.",
    unexpected: "Heeft u deze code niet aangevraagd? Dan hoeft u niets te doen.",
  },
  mandate_signed: {
    subject: "Uw machtiging is ondertekend",
    lines: (partner: string) => [
      `Dank u wel. U heeft de machtiging ondertekend waar ${partner} om vroeg. Bewaar deze mail: hieronder staat wat u heeft ondertekend.`,
    ],
    button: "Bekijk uw machtiging",
    after: (ownPages: string) =>
      `Wat u laadt en wat het oplevert, ziet u op ${ownPages}. Wilt u stoppen? U kunt de machtiging daar op elk moment intrekken, of ons mailen; het adres staat onder aan deze mail.`,
    after_claim: (ownPages: string) =>
      `Met deze knop ziet u ook hoe uw aanmelding ervoor staat. Daar kunt u iets doorgeven, en de machtiging op elk moment intrekken. Wat u laadt en wat het oplevert, ziet u op ${ownPages}.`,
    document: "Dit heeft u ondertekend",
    unexpected: "Heeft u dit niet zelf ondertekend? Laat het ons meteen weten.",
  },
  contact_changed: {
    subject: "Uw contactgegevens zijn gewijzigd",
    email: (partner: string) =>
      `${partner} heeft uw e-mailadres bij ons gewijzigd. Mail over uw machtiging en uw vergoeding gaat vanaf nu naar het nieuwe adres, en niet meer naar dit adres.`,
    phone: (partner: string) => `${partner} heeft uw telefoonnummer bij ons gewijzigd.`,
    iban: (partner: string, last4: string) =>
      `${partner} heeft ook uw rekeningnummer gewijzigd. Het eindigt nu op ${last4}.`,
    after: (partner: string) => `Klopt dit? Dan hoeft u niets te doen. Vragen? Stel ze aan ${partner}.`,
    unexpected: "Klopt dit niet? Laat het ons dan meteen weten. Ons adres staat onderaan deze mail.",
  },
  claim: {
    subject: (partner: string) => `${partner} heeft uw aanmelding voor ERE klaargezet`,
    lines: (partner: string, service: string) => [
      `Laadt u een elektrische auto op uw eigen laadpaal? Dan voorkomt u uitstoot, en daar staat een vergoeding tegenover: ERE. ${partner} heeft uw aanmelding bij ${service} alvast klaargezet.`,
      "U controleert uw gegevens, kiest waar de vergoeding heen gaat en tekent een machtiging. Dat duurt ongeveer vijf minuten.",
    ],
    button: "Bekijk uw aanmelding",
    after: "De link werkt 60 dagen en is alleen voor u. U kunt tussendoor stoppen en later verdergaan.",
  },
  reminder: {
    subject: (partner: string) => `Uw aanmelding voor ERE bij ${partner} staat nog klaar`,
    lines: (partner: string, service: string) => [
      `Een tijd geleden heeft ${partner} uw aanmelding bij ${service} klaargezet. Daarmee krijgt u een vergoeding voor de stroom die u thuis of op uw terrein laadt.`,
      "Zonder uw machtiging gebeurt er niets. Meedoen duurt ongeveer vijf minuten.",
    ],
    button: "Maak uw aanmelding af",
    after: "Wilt u niet meedoen? Dan hoeft u niets te doen: de aanmelding verloopt vanzelf.",
  },
  invitation: {
    amount: (about: string, kwh: string) =>
      `Wat het u oplevert: ${about} per jaar, bij ${kwh} kWh. Onze kosten zijn er al af. Het is een schatting.`,
    message: (partner: string, words: string) => `${partner} schrijft u: “${words}”`,
    why: (partner: string) => `U krijgt dit bericht omdat ${partner} ons uw e-mailadres gaf om u uit te nodigen.`,
    unsubscribe: "Geen berichten meer ontvangen",
  },
  sign_in: {
    subject: (partner: string) => `Uw link om verder te gaan bij ${partner}`,
    lines: (partner: string) => [`Met deze link gaat u verder met uw aanmelding bij ${ended(partner)}`],
    button: "Ga verder",
    after: "De link werkt 5 minuten en maar één keer. Stuur hem niet door.",
    unexpected: "Heeft u deze link niet aangevraagd? Dan hoeft u niets te doen.",
  },
  sign_in_code: {
    subject: (code: string) => `${code} is uw code om in te loggen`,
    lines: (app: string | null, service: string) => [
      app
        ? `U wilt inloggen bij ${service}, omdat de app ${app} om toegang vraagt. Vul deze code in op de pagina:`
        : `U wilt inloggen bij ${ended(service)} Vul deze code in op de pagina:`,
    ],
    after: "De code werkt 10 minuten. Geef hem aan niemand: wie de code heeft, kan inloggen als u.",
    unexpected: "Heeft u deze code niet aangevraagd? Dan hoeft u niets te doen.",
  },
  claim_code: {
    subject: {
      prove: (code: string) => `${code} is uw code om verder te gaan`,
      sign: (code: string) => `${code} is uw code om te ondertekenen`,
      iban: (code: string) => `${code} is uw code om uw rekeningnummer te wijzigen`,
      revoke: (code: string) => `${code} is uw code om uw machtiging in te trekken`,
    },
    lines: {
      prove: (partner: string) => [
        `U opende de aanmelding die ${partner} voor u klaarzette. Vul deze code in op de pagina:`,
      ],
      sign: (partner: string) => [
        `U wilt de machtiging bij uw aanmelding via ${partner} ondertekenen. Vul deze code in op de pagina:`,
      ],
      iban: (partner: string) => [
        `U wilt het rekeningnummer bij uw aanmelding via ${partner} wijzigen. Vul deze code in op de pagina:`,
      ],
      revoke: (partner: string) => [
        `U wilt de machtiging bij uw aanmelding via ${partner} intrekken. Vul deze code in op de pagina:`,
      ],
    },
    after: {
      prove: "De code werkt 10 minuten. Geef hem aan niemand.",
      sign: "De code werkt 10 minuten. Geef hem aan niemand: met deze code zet u uw handtekening.",
      iban: "De code werkt 10 minuten. Geef hem aan niemand: met deze code gaat uw vergoeding naar een ander rekeningnummer.",
      revoke: "De code werkt 10 minuten. Geef hem aan niemand: met deze code wordt uw machtiging ingetrokken.",
    },
    unexpected: "Heeft u deze code niet aangevraagd? Dan hoeft u niets te doen.",
  },
  customer_withdrew: {
    subject: (reference: string, _partner: string) => `Klant ${reference} heeft de machtiging ingetrokken`,
    lines: (reference: string, partner: string) => [
      `Klant ${reference} van ${partner} heeft de machtiging voor de laadstroom ingetrokken, op de eigen pagina's bij ons.`,
      "Hele maanden daarvoor tellen nog mee. Wat daarna wordt geladen niet: geeft u het door, dan valt het buiten de machtiging (outside_mandate).",
    ],
    after: "U hoeft niets te doen. Wil de klant later weer meedoen? Stuur dan een nieuwe link om te tekenen.",
    unexpected: "U krijgt dit bericht omdat u deze partner bij ons beheert.",
  },
  iban_changed: {
    subject: (partner: string) => `Het rekeningnummer van ${partner} is gewijzigd`,
    lines: (partner: string, iban: string, holder: string) => [
      `Uitbetalingen aan ${partner} gaan voortaan naar ${iban}, op naam van ${ended(holder)}`,
    ],
    after: "Heeft u dit zelf gewijzigd? Dan hoeft u niets te doen.",
    unexpected: "Heeft u dit niet gewijzigd? Laat het ons dan meteen weten.",
  },
  key_minted: {
    subject: (partner: string) => `${partner} heeft een nieuwe API-sleutel`,
    line: (partner: string, key: string, by: string) =>
      `${by} maakte een nieuwe API-sleutel voor ${partner}: ${key}. Een eerdere sleutel werkt niet meer.`,
    application: (name: string) =>
      `Dat ging via de app ${name}. De sleutel stopt als u de toegang van deze app beëindigt, en toont geen namen van klanten.`,
    button: "Naar de instellingen",
    after: "Klopt dit? Dan hoeft u niets te doen.",
    unexpected: "Klopt dit niet? Trek de sleutel dan meteen in bij de instellingen, en laat het ons weten.",
  },
  login_secured: {
    subject: (service: string) => `Wij hebben uw toegang tot ${service} beveiligd`,
    lines: (service: string) => [
      `Op uw e-mailadres was al een inlog bij ${service} gemaakt, misschien door iemand anders.`,
      "U heeft nu met een code laten zien dat het adres van u is. Daarom werken het wachtwoord en alles waarmee op die inlog toegang was niet meer: sessies, apps, tokens en het wachtwoord van laadpunten.",
    ],
    after:
      "Voortaan logt u in met een code die wij u mailen. Heeft u een app of laadpunt gekoppeld? Koppel die dan opnieuw.",
    unexpected: "Heeft u geen code ingevuld? Laat het ons dan meteen weten.",
  },
  account_closed: {
    subject: (service: string) => `Uw account bij ${service} is beëindigd`,
    access: "U kunt niet meer inloggen. Uw laadpalen, apps en tokens hebben geen toegang meer.",
    mandate: "Uw machtiging is geëindigd. Wij registreren uw laadstroom niet meer.",
    month: (kwh: string, month: string) =>
      `U verliest de ${kwh} van ${month}, want een deel van een maand telt niet mee.`,
    lost: (kwh: string) => `U verliest ${kwh} van eerdere maanden, want uw registratie was niet goedgekeurd.`,
    paid: (euro: string) => `Wij betalen u nog ${euro}. Komt er later nog iets bij, dan betalen wij dat ook.`,
    paid_later: "Brengen uw ERE later nog iets op, dan betalen wij u dat.",
    kept: (date: string) =>
      `Wij moeten zeven jaar bewaren hoe uw laadstroom geld werd: uw machtigingen met uw naam en adres, de maanden en de betalingen. Wij verwijderen dat vanaf ${date}.`,
    nothing_kept: "Wij bewaren niets meer van u.",
    after:
      "Het bedrijf dat u bij ons aanmeldde, kan u via ons niet meer uitnodigen. Wilt u later weer meedoen? Mail ons.",
    unexpected: "Heeft u dit niet zelf gedaan? Laat het ons dan meteen weten.",
  },
  webhook_failing: {
    subject: (partner: string) => `Meldingen aan ${partner} komen niet aan`,
    lines: (url: string, since: string) => [
      `Sinds ${since} is geen enkele melding (webhook) aangekomen op ${url}.`,
      "Vijf dagen na het begin van de storing sturen wij er niets meer heen. Er gaat niets verloren: wat wacht wordt alsnog verstuurd zodra het adres weer antwoordt.",
    ],
    after: "Kijk of het adres bereikbaar is en binnen tien seconden met een status 200 tot 299 antwoordt.",
    unexpected: "Is het adres niet meer in gebruik? Trek het dan in.",
  },
  webhook_disabled: {
    subject: (partner: string) => `Meldingen aan ${partner} worden niet meer verstuurd`,
    lines: (url: string) => [
      `Naar ${url} sturen wij geen meldingen (webhooks) meer: het adres antwoordde vijf dagen lang niet goed, of met de status 410.`,
      "Er gaat niets verloren: na het inschakelen gaat het verder waar het gebleven was. Meldingen worden 90 dagen bewaard.",
    ],
    after: "Herstel het adres en schakel het daarna weer in.",
    unexpected: "Is het adres niet meer in gebruik? Trek het dan in.",
  },
  ocpi_pull_failed: {
    subject: (partner: string) => `Laadsessies van ${partner} kunnen niet worden opgehaald`,
    lines: (url: string, since: string) => [
      `Sinds ${since} kunnen wij geen laadsessies (CDR's) ophalen bij het OCPI-platform op ${url}.`,
      "Wij proberen het elk kwartier opnieuw. Er gaat niets verloren: wat daar wacht wordt opgehaald zodra het platform weer antwoordt.",
    ],
    after: "Kijk of het platform bereikbaar is, en of ons token daar nog geldig is.",
    unexpected: "Is het platform niet meer in gebruik? Laat het ons weten, dan stoppen wij.",
  },
  customer_iban_changed: {
    subject: "Uw rekeningnummer is vastgelegd",
    lines: (partner: string, iban: string) => [
      `De vergoeding van uw aanmelding via ${partner} gaat voortaan naar rekeningnummer ${iban}.`,
    ],
    held: (moment: string) => `Voor uw veiligheid maken wij er 48 uur niets naar over: tot ${moment}.`,
    after: "Heeft u dit zelf gedaan? Dan hoeft u niets te doen.",
    unexpected: "Heeft u dit niet gedaan? Laat het ons dan meteen weten.",
  },
  /** What becomes of a registration, a mandate and money afterwards. `own` is a person with a page of their own; the others are a CPO's customers. */
  notices: {
    why: "U krijgt dit bericht omdat u een machtiging heeft ondertekend.",
    view: "Bekijk uw aanmelding",
    earnings: "Bekijk uw overzicht",
    you: "U",
    registration_approved: {
      subject: "Uw registratie is goedgekeurd",
      lines: (service: string) => [
        `${service} heeft uw registratie goedgekeurd. De laadstroom die onder uw machtiging valt, telt mee voor ERE.`,
      ],
      after: {
        own: "Op uw eigen pagina's ziet u of uw laadpaal ons laadstroom doorgeeft. Elk kwartaal boeken wij die in. Is die verkocht, dan maken wij uw vergoeding over.",
        cpo: (partner: string) =>
          `U hoeft niets te doen. Elk kwartaal boeken wij uw laadstroom in. ${partner} houdt u op de hoogte.`,
      },
    },
    registration_rejected: {
      subject: "Uw registratie is afgekeurd: wat u kunt doen",
      lines: ["Uw registratie is afgekeurd. Uw laadstroom telt nu niet mee. Wat u ons gaf, blijft bewaard."],
      grounds: {
        mandate_signed: "Uw machtiging geldt niet meer. Zonder machtiging mogen wij uw laadstroom niet registreren.",
        ean_validated:
          "Wij konden niet bevestigen dat de EAN-code bij uw adres hoort. Controleer de code op uw energierekening, en mail ons wat daar staat.",
        mid_charger_registered:
          "Wij kennen nog geen laadpaal van u met een geijkte meter (MID). Geef die door, dan beoordelen wij uw registratie opnieuw.",
      },
      unknown: "Weet u niet waarom? Mail ons, dan zoeken wij het samen uit.",
      cpo: (partner: string) =>
        `Vraag ${partner} wat er nodig is. Is het in orde, dan beoordelen wij uw registratie opnieuw.`,
      button: "Bekijk wat er nodig is",
    },
    something_missing: {
      subject: "Wij missen nog iets van u",
      lines: ["U heeft uw machtiging ondertekend. Uw laadstroom telt pas mee als wij ook dit hebben:"],
      missing: {
        iban: "uw rekeningnummer (IBAN), want daar gaat de vergoeding heen",
        charger: "uw laadpaal met een geijkte meter (MID), want alleen wat die meet, telt mee",
      },
      button: "Geef het nu door",
      after: "Het duurt een paar minuten. Wij vragen dit één keer.",
    },
    mandate_ending: {
      subject: (until: string) => `Uw machtiging eindigt op ${until}`,
      reminder: (until: string) => `Nog niet verlengd: uw machtiging eindigt op ${until}`,
      lines: (until: string) => [
        `Uw machtiging om uw laadstroom te registreren geldt tot en met ${until}. De machtiging wordt niet vanzelf verlengd. Wat u daarna laadt, telt alleen mee als u opnieuw tekent.`,
        "Dat kan nu al: u leest de machtiging voor de jaren daarna en tekent met uw naam en een code. Het duurt ongeveer twee minuten.",
      ],
      button: "Verleng uw machtiging",
      after: "Wilt u niet verlengen? Dan hoeft u niets te doen.",
    },
    mandate_ended: {
      subject: "Uw machtiging is afgelopen",
      lines: (until: string) => [
        `Uw machtiging gold tot en met ${until}. Wat u daarna laadt, wordt niet geregistreerd.`,
        "Wat u tot en met die dag laadde, telt nog mee. De vergoeding daarvan krijgt u nog.",
      ],
      button: "Teken opnieuw",
      after: "Wilt u weer meedoen? Dan tekent u opnieuw. Wilt u stoppen? Dan hoeft u niets te doen.",
    },
    mandate_withdrawn: {
      subject: "Uw machtiging geldt niet meer",
      by: {
        customer: "U heeft uw machtiging ingetrokken. Die geldt niet meer.",
        operator: "Wij hebben uw machtiging beëindigd. Die geldt niet meer.",
        connection_updated:
          "De EAN-code of het adres van uw aansluiting is gewijzigd. De machtiging die u tekende was voor de oude gegevens, en geldt niet meer.",
        connection_archived: "Uw aansluiting is bij ons afgemeld. Daarmee is ook uw machtiging geëindigd.",
      },
      covered: (until: string) => `Wat u tot en met ${until} laadde, telt nog mee. De vergoeding daarvan krijgt u nog.`,
      not_covered: "Wat al is ingeboekt, blijft ingeboekt. De vergoeding daarvan krijgt u nog.",
      lost: (kwh: string) => `U verliest ${kwh} die u al had geladen: die tellen niet meer mee.`,
      again: (partner: string) =>
        `Wilt u dat uw laadstroom weer meetelt? Vraag ${partner} dan om een nieuwe machtiging.`,
      after: "Had u dit niet verwacht? Laat het ons weten; het adres staat onder aan deze mail.",
    },
    net: "Het is de vergoeding voor de laadstroom die is verkocht. Onze kosten, inclusief btw, zijn er al af.",
    payout_sent: {
      subject: (amount: string) => `Uw vergoeding van ${amount} is onderweg`,
      between: (from: string, until: string) => `tussen ${from} en ${until}`,
      lines: (amount: string, iban: string, days: string) => [
        `${amount} is onderweg naar de rekening die eindigt op ${iban}. Wij verwachten dat het bedrag er ${days} op staat.`,
      ],
      after: "U hoeft niets te doen. U krijgt nog een mail als het bedrag is overgemaakt.",
    },
    payout_paid: {
      subject: (amount: string) => `Uw vergoeding van ${amount} is overgemaakt`,
      lines: (amount: string, iban: string) => [
        `Wij hebben ${amount} overgemaakt naar de rekening die eindigt op ${iban}.`,
      ],
      quarter: (quarter: number, year: string) => `het ${quarter}e kwartaal van ${year}`,
      covers: (quarters: string, kwh: string) => `Het is voor ${quarters}: de ${kwh} die u toen laadde.`,
      after: "U hoeft niets te doen.",
    },
    payout_failed: {
      subject: "Uw vergoeding kon niet worden overgemaakt",
      lines: (amount: string, iban: string) => [
        `Wij wilden ${amount} overmaken naar de rekening die eindigt op ${iban}. De bank kon het bedrag daar niet afleveren.`,
        "Het bedrag blijft voor u staan.",
      ],
      button: "Geef een ander rekeningnummer door",
      own: "Geef ons een ander rekeningnummer door, dan maken wij het bedrag daarheen over.",
      cpo: (partner: string) =>
        `Geef ${partner} een ander rekeningnummer door, dan maken wij het bedrag daarheen over.`,
    },
    payout_iban_changed: {
      subject: "Uw vergoeding gaat naar een ander rekeningnummer",
      lines: (partner: string, iban: string) => [
        `${partner} gaf ons een ander rekeningnummer door voor uw vergoeding. Het eindigt op ${iban}.`,
      ],
      held: (until: string | null) =>
        until
          ? `Voor uw veiligheid maken wij er 48 uur niets naar over: tot ${until}.`
          : "Pas na 48 uur maken wij daar iets naar over.",
      after: (partner: string) =>
        `Klopt dit niet? Laat het ${partner} of ons dan meteen weten; ons adres staat onder aan deze mail.`,
    },
  },
};

export type MailMessages = typeof nl;
