/** The sentences of every mail, in Dutch: the original. Written at B1 level, with "u". */
export const nl = {
  lang: "nl",
  greeting: (name: string) => `Beste ${name},`,
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
    document: "Dit heeft u ondertekend",
    unexpected: "Heeft u dit niet zelf ondertekend? Laat het ons meteen weten.",
  },
};

export type MailMessages = typeof nl;
