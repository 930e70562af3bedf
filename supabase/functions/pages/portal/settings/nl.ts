/** The sentences of a partner's settings in Dutch: the original. */
export const settings = {
  back: "Terug naar instellingen",
  overview: {
    title: "Instellingen",
    todo: "Nog te doen:",
    company: "Bedrijfsgegevens",
    company_todo: "gegevens die op uw facturen moeten",
  },

  company: {
    title: "Bedrijfsgegevens",
    what: "Deze gegevens staan op de facturen van uw aandeel, die wij namens u maken.",
    invoices_need_nothing: "Wij hebben alles wat wij voor uw facturen nodig hebben.",
    invoices_need: {
      vat_regime_missing:
        "Voor uw facturen moeten wij eerst weten hoe u btw rekent: gewoon, met de kleineondernemersregeling, vanuit een ander land of niet. Mail dat naar het adres onderaan deze pagina.",
      vat_number_missing: "Voor uw facturen hebben wij nog uw btw-nummer nodig.",
      vat_number_not_dutch:
        "U rekent Nederlandse btw, maar dit is geen Nederlands btw-nummer. Verbeter het nummer, of mail ons.",
      vat_number_dutch:
        "Volgens onze gegevens zit uw bedrijf in een ander land, maar dit is een Nederlands btw-nummer. Verbeter het nummer, of mail ons.",
      address_missing: "Voor uw facturen hebben wij nog uw straat en plaats nodig.",
    },
    fields: {
      name: "Naam van het bedrijf",
      kvk: "KvK-nummer",
      vat: "Btw-nummer",
      street: "Straat",
      house_number: "Huisnummer",
      postal_code: "Postcode",
      city: "Plaats",
    },
    hints: {
      name: "Zoals het bij de Kamer van Koophandel staat.",
      kvk: "8 cijfers.",
      vat: "Bijvoorbeeld NL123456789B01.",
      street: undefined,
      house_number: undefined,
      postal_code: undefined,
      city: undefined,
    },
    errors: {
      name: "Vul een naam in van hoogstens 120 tekens",
      kvk: "Een KvK-nummer heeft 8 cijfers",
      vat: "Een btw-nummer heeft 4 tot 20 tekens",
      street: "Vul een straat in van hoogstens 120 tekens",
      house_number: "Vul een huisnummer in van hoogstens 20 tekens",
      postal_code: "Een postcode ziet eruit als 1234 AB",
      city: "Vul een plaats in van hoogstens 120 tekens",
    },
    submit: "Bewaar",
    saved: "De gegevens zijn bewaard.",
  },
};

export type SettingsWords = typeof settings;
