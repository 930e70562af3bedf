/** The words of the mandate, which signatories sign: change none without a lawyer. Dutch is the original. */
export const nl = {
  date_locale: "nl-NL",
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
      "De machtiging geldt voor hele kalenderjaren, stopt vanzelf na de laatste dag en wordt niet stilzwijgend verlengd.",
    allow: "Wat ik toesta",
    allowed: (service: string) => [
      `${service} mag de stroom die via deze aansluiting aan elektrische voertuigen is geleverd, inboeken bij de Nederlandse Emissieautoriteit (NEa), en de emissiereductie-eenheden (ERE) die daaruit volgen verkopen.`,
      "De NEa mag in het aansluitingenregister van de netbeheerder controleren of deze aansluiting van mij is.",
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
    stopping: (service: string, email: string) =>
      `Ik kan deze machtiging op elk moment intrekken: op de website van ${service}, of met een mail naar ${email}. Wat al is ingeboekt, blijft ingeboekt.`,
    filename: "machtiging.txt",
  },
};

export type MandateWords = typeof nl;
