/** The sentences of a partner's settings in Dutch: the original. */
export const settings = {
  back: "Terug naar instellingen",
  sign_in_again: {
    why: "U bent langer dan 15 minuten geleden ingelogd. Log opnieuw in, dan weten wij zeker dat u het bent en niet iemand die uw browser open vond.",
    link: "Log opnieuw in",
  },
  overview: {
    title: "Instellingen",
    todo: "Nog te doen:",
    company: "Bedrijfsgegevens",
    company_todo: "gegevens die op uw facturen moeten",
    account: "Rekeningnummer",
    account_todo: "waar wij uw aandeel naartoe overmaken",
    account_is: (iban: string, holder: string) => `${iban}, op naam van ${holder}`,
    return_url: "Adres voor inloglinks",
    return_url_none: "Niet ingevuld: een inloglink leidt niet terug naar uw website.",
    keys: "API-sleutel",
    keys_none: "Er is geen sleutel.",
    keys_is: (prefix: string, last4: string) => `Er is een sleutel: ${prefix}…${last4}`,
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

  account: {
    title: "Rekeningnummer",
    none: "Wij hebben nog geen rekeningnummer van u. Uw aandeel blijft staan tot u er een invult.",
    change: "Wijzig het rekeningnummer",
    add: "Vul een rekeningnummer in",
    what: "Wij mailen iedereen die deze pagina's beheert over de wijziging. Daarna wachten wij 48 uur met betalen, zodat niemand uw geld kan omleiden.",
    iban: "Rekeningnummer (IBAN)",
    iban_hint: "Bijvoorbeeld NL91 ABNA 0417 1643 00. Een buitenlands nummer mag ook.",
    account_holder: "Op naam van",
    account_holder_hint: "Zoals het op het afschrift van uw bank staat.",
    held: (moment: string) =>
      `Dit nummer is kort geleden ingevuld of gewijzigd. Voor uw veiligheid maken wij er niets naar over tot ${moment}.`,
    submit: "Bewaar",
    saved: "Het rekeningnummer is bewaard. Iedereen die deze pagina's beheert, krijgt een mail.",
    errors: {
      iban: "Dit is geen rekeningnummer. Controleer de letters en cijfers",
      account_holder: "Vul in op wiens naam de rekening staat, in 2 tot 120 tekens",
    },
  },

  return_url: {
    title: "Adres voor inloglinks",
    what: "Maakt u met de API een inloglink voor een klant? Dan kan die de klant na afloop terugleiden naar uw website. Dat mag alleen naar dit adres, zodat niemand uw klanten ergens anders naartoe leidt.",
    below:
      "Een inloglink mag naar dit adres zelf leiden en naar alles wat erachter komt: bij https://www.uwbedrijf.nl/laden hoort ook https://www.uwbedrijf.nl/laden/klaar?klant=12.",
    now: "Nu",
    none: "niet ingevuld",
    label: "Adres op uw website",
    hint: "Begint met https://. Laat het leeg als u geen inloglinks met een weg terug gebruikt.",
    submit: "Bewaar",
    saved: "Het adres is bewaard.",
    cleared: "Het adres is weg. Inloglinks leiden niet meer terug naar uw website.",
    errors: {
      return_url:
        "Vul een adres in dat met https:// begint, van hoogstens 500 tekens, zonder gebruikersnaam, vraagteken of hekje",
    },
  },

  keys: {
    title: "API-sleutel",
    what: "Met een API-sleutel brengt uw eigen software klanten aan en leest zij uw cijfers. Met de sleutel kan niemand uw rekeningnummer of instellingen wijzigen. Er werkt één sleutel tegelijk.",
    none: "U heeft nog geen sleutel.",
    mint: "Maak een sleutel",
    new_title: "Uw nieuwe sleutel",
    new_once: "Kopieer de sleutel nu: wij laten hem niet nog eens zien.",
    exists: "Er is al een sleutel, of dit formulier is al eens gebruikt. Er is niets gewijzigd.",
    revoked: "De sleutel is ingetrokken en werkt niet meer.",
    yours: "Uw sleutel",
    looks: "Begin en einde",
    made: "Gemaakt",
    used: "Laatst gebruikt",
    never_used: "nooit",
    rotate: {
      title: "Vervang de sleutel",
      means: [
        "U krijgt een nieuwe sleutel, die wij één keer laten zien.",
        "De oude sleutel werkt op dat moment niet meer: software die hem gebruikt, staat stil tot u de nieuwe invult.",
      ],
      yes: "Vervang de sleutel nu",
      no: "Laat de sleutel zoals hij is",
    },
    revoke: {
      title: "Trek de sleutel in",
      means: [
        "De sleutel werkt op dat moment niet meer: software die hem gebruikt, staat stil.",
        "U kunt daarna een nieuwe sleutel maken. De ingetrokken sleutel komt niet terug.",
      ],
      yes: "Trek de sleutel nu in",
      no: "Laat de sleutel zoals hij is",
    },
  },
};

export type SettingsWords = typeof settings;
