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
  mandate_link: {
    subject: (partner: string) => `${partner} vraagt uw machtiging voor uw laadstroom`,
    lines: (partner: string, service: string) => [
      `${partner} wil de stroom die u thuis of op uw terrein laadt, laten registreren als emissiereductie (ERE). Dat doet ${service}. Daarvoor is uw machtiging nodig.`,
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
    after:
      "Wilt u stoppen? U kunt de machtiging op elk moment intrekken. Laat het ons weten; het adres staat onder aan deze mail.",
    after_claim:
      "Met deze knop ziet u ook hoe uw aanmelding ervoor staat. Daar kunt u iets doorgeven, en de machtiging op elk moment intrekken.",
    document: "Dit heeft u ondertekend",
    unexpected: "Heeft u dit niet zelf ondertekend? Laat het ons meteen weten.",
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
    message: (partner: string, words: string) => `${partner} schrijft u: “${words}”`,
    why: (partner: string) => `U krijgt dit bericht omdat ${partner} ons uw e-mailadres gaf om u uit te nodigen.`,
    unsubscribe: "Geen berichten meer ontvangen",
  },
  sign_in: {
    subject: (partner: string) => `Uw link om verder te gaan bij ${partner}`,
    lines: (partner: string) => [`Met deze link gaat u verder met uw aanmelding bij ${partner}.`],
    button: "Ga verder",
    after: "De link werkt 5 minuten en maar één keer. Stuur hem niet door.",
    unexpected: "Heeft u deze link niet aangevraagd? Dan hoeft u niets te doen.",
  },
  sign_in_code: {
    subject: (code: string) => `${code} is uw code om in te loggen`,
    lines: (app: string, service: string) => [
      `U wilt inloggen bij ${service}, omdat de app ${app} om toegang vraagt. Vul deze code in op de pagina:`,
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
  iban_changed: {
    subject: (partner: string) => `Het rekeningnummer van ${partner} is gewijzigd`,
    lines: (partner: string, iban: string, holder: string) => [
      `Uitbetalingen aan ${partner} gaan voortaan naar ${iban}, op naam van ${holder}.`,
    ],
    after: "Heeft u dit zelf gewijzigd? Dan hoeft u niets te doen.",
    unexpected: "Heeft u dit niet gewijzigd? Laat het ons dan meteen weten.",
  },
  customer_iban_changed: {
    subject: "Uw rekeningnummer is vastgelegd",
    lines: (partner: string, iban: string) => [
      `De vergoeding van uw aanmelding via ${partner} gaat voortaan naar rekeningnummer ${iban}.`,
    ],
    after: "Heeft u dit zelf gedaan? Dan hoeft u niets te doen.",
    unexpected: "Heeft u dit niet gedaan? Laat het ons dan meteen weten.",
  },
};

export type MailMessages = typeof nl;
