/** The sentences of documents in Dutch: the original. */
export const nl = {
  date_locale: "nl-NL",
  page: (number: number, of: number) => `Pagina ${number} van ${of}`,

  signature: {
    title: "Handtekening",
    name: "Naam",
    moment: "Ondertekend op",
    confirmed: "Bevestigd met",
    by_code: (email: string) => `een code, gemaild naar ${email}`,
    by_name: "alleen de naam",
  },
  evidence: {
    title: "Bewijs",
    mandate: "Kenmerk van de machtiging",
    connection: "Kenmerk van de aansluiting",
    period: "Geldt",
    from_until: (from: string, until: string) => `van ${from} tot en met ${until}`,
    kept: "Bij het kenmerk van de machtiging is bewaard hoe deze is ondertekend.",
    attached: (file: string) =>
      `De tekst zoals die is ondertekend, zit als bestand ${file} in dit document. Het kenmerk van die tekst (SHA-256) is:`,
    attachment: "De tekst van de machtiging, zoals ondertekend",
  },

  statement: {
    title: "Overzicht van uw uitbetaling",
    customer: "Naam",
    amount: "Uitbetaald",
    amount_via: "Betaald aan uw laadpuntexploitant",
    paid_on: "Op",
    to: "Naar",
    iban: (last4: string) => `rekening die eindigt op ${last4}`,
    reference: "Kenmerk van de betaling",
    connection: (ean: string) => `Aansluiting ${ean}`,
    head: ["Maand", "kWh", "ERE", "Opbrengst", "Vergoeding", "Voor u"],
    euro: (amount: string) => `€ ${amount}`,
    total: "Totaal",
    other: (amount: string) => `Verrekend met eerdere uitbetalingen: ${amount}.`,
    how_title: "Hoe dit is berekend",
    how: (service: string) => [
      "1 ERE (emissiereductie-eenheid) staat voor 1 kg vermeden CO2. De overheid bepaalt elk jaar hoeveel ERE een kWh geeft.",
      `Opbrengst: uw deel van wat ${service} voor de ERE heeft gekregen.`,
      `Vergoeding: wat ${service} daarvan houdt, zoals getoond toen u de machtiging ondertekende, inclusief btw.`,
    ],
  },

  invoice: {
    title: (number: string) => `Factuur ${number}`,
    credit_note: (number: string) => `Creditfactuur ${number}`,
    issued_on: "Factuurdatum",
    quarter: "Kwartaal van levering",
    corrects: "Corrigeert",
    corrected: (number: string, date: string) => `factuur ${number} van ${date}`,
    from: "Van",
    to: "Aan",
    name: "Naam",
    address: "Adres",
    kvk: "KvK-nummer",
    vat_number: "Btw-nummer",
    what: "Aandeel in de vergoedingen",
    head: ["Maand", "Klanten", "ERE", "Vergoeding", "Aandeel"],
    amount: "Bedrag",
    net: "Zonder btw",
    vat: "Btw",
    vat_at: (rate: string) => `Btw ${rate}%`,
    total: "Totaal",
    self_billing: "Factuur uitgereikt door afnemer.",
    regimes: {
      none: "Geen btw: de leverancier is geen ondernemer voor de btw.",
      small_business: "Vrijgesteld van btw: kleineondernemersregeling (artikel 25 Wet op de omzetbelasting 1968).",
      reverse_charge: "Btw verlegd.",
    },
  },
};

export type DocumentWords = typeof nl;
