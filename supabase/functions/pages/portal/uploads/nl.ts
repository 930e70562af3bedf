/** The sentences of uploading months and charging sessions, in Dutch: the original. */
export const nl = {
  title: "Laadgegevens aanleveren",
  what: "Lever maanden of laadsessies aan met een bestand uit uw spreadsheet. U ziet eerst wat er met elke regel zou gebeuren. Er wordt niets opgeslagen voordat u dat bevestigt.",
  no_client:
    "Laadgegevens horen bij een koppeling voor laadpaalexploitanten (CPO), en die heeft u nog niet. Vraag ons er een aan te maken.",
  file: "Bestand uit Excel, of CSV",
  hint: "Een Excel-bestand (.xlsx) of CSV. Hoogstens 2 MB en 5.000 regels. Wij lezen het eerste zichtbare blad.",
  client: "Voor welke koppeling?",
  choose: "Kies",
  more: "Als wij het bestand verkeerd lezen",
  kind: "Wat staat er in het bestand?",
  by_header: "Dat zeggen de kolommen",
  kinds: { months: "Maanden", sessions: "Laadsessies" },
  decimal: "Wat is het decimaalteken?",
  by_column: "Dat zeggen de getallen",
  decimals: { ",": "Een komma: 7,5", ".": "Een punt: 7.5" },
  kept: "Wij bewaren het bestand een uur, versleuteld. Alleen u kunt het zien. Daarna bewaren wij de regels als bewijs.",
  submit: "Bekijk wat er zou gebeuren",
  examples: [
    { name: "maanden", label: "Voorbeeld met maanden" },
    { name: "sessies", label: "Voorbeeld met sessies" },
  ],
  columns: "Welke kolommen heeft het bestand nodig?",
  columns_what: {
    months: "Maanden: klantnummer, EAN of connection_id; maand; en kWh. Het aantal sessies mag erbij.",
    sessions:
      "Sessies: een naam van de laadpaal (laadpaal, serienummer of EVSE-id); start; en kWh of twee meterstanden. Eind, sessie (uw eigen nummer) en meterstanden mogen erbij.",
  },
  errors: {
    client: "Kies voor welke koppeling",
    too_many_rows: "Dit bestand heeft meer dan 5.000 regels. Verdeel het over meer bestanden",
    no_rows: "Onder de kolommen staan geen regels",
    unknown_columns: (lacks: string, unread: string) =>
      `Er is geen kolom voor ${lacks}.${unread ? ` Deze kolommen kennen wij niet: ${unread}.` : ""} De namen van de kolommen moeten in regel 1 staan. Kijk hieronder welke kolommen nodig zijn`,
    both_kinds:
      "De kolommen zijn die van maanden en ook die van sessies. Kies hieronder wat er in het bestand staat, en kies het bestand opnieuw",
    ambiguous_decimals: (column: string, row: string, value: string) =>
      `In kolom ${column}, regel ${row}, staat ${value}. Dat kan een duizendtal zijn of drie decimalen. Kies het decimaalteken, en kies het bestand opnieuw`,
  },
  needs: {
    customer: "de klant",
    month: "de maand",
    kwh: "de kWh",
    charger: "de laadpaal",
    start: "de start",
    kwh_or_readings: "kWh of twee meterstanden",
  },
  look: {
    title: "Dit zou er gebeuren",
    sum: (good: string, all: string) =>
      `Van ${all === "1" ? "1 regel wordt" : `${all} regels worden`} er ${good} opgeslagen. Er is nog niets opgeslagen.`,
    confirm: (rows: string) => `Lever ${rows} regels aan`,
    confirm_one: "Lever deze regel aan",
    none: "Geen enkele regel kan worden opgeslagen. Verbeter het bestand en kies het opnieuw.",
    other: "Kies een ander bestand",
  },
  done: {
    title: "Aangeleverd",
    title_none: "Niets opgeslagen",
    sum: (good: string, all: string) =>
      `Van ${all === "1" ? "1 regel is" : `${all} regels zijn`} er ${good} opgeslagen.`,
    known: "Dit bestand was al opgeslagen. Er is niets veranderd.",
    more: "Nog een bestand aanleveren",
  },
  gone: {
    title: "Dit bestand bewaren wij niet meer",
    text: "Een bestand bewaren wij een uur, en alleen voor wie het heeft gekozen. Kies het bestand opnieuw: wat al is opgeslagen, tellen wij niet dubbel.",
  },
  waiting: (rows: string) =>
    rows === "1" ? "1 regel wacht tot wij de laadpaal kennen." : `${rows} regels wachten tot wij de laadpaal kennen.`,
  ignored: (headers: string) => `Deze kolommen slaan wij over: ${headers}.`,
  good: "Goed",
  check: "Let op",
  bad: "Niet opgeslagen",
  rows: "Elke regel en wat ermee gebeurt",
  outcome: "Regel en uitkomst",
  mend: "Download de regels om te verbeteren (CSV)",
  mend_why: "Wat er mis is",
  status: {
    ingested: "Maand opgeslagen",
    outside_mandate: "Opgeslagen, maar telt niet: de machtiging dekt deze maand niet",
    locked: "Niet veranderd: deze maand is al ingeboekt",
    created: "Sessie opgeslagen",
    updated: "Sessie verbeterd",
    unchanged: "Was al bekend",
    superseded: "Een latere regel heeft dezelfde sessie",
    parked: "Bewaard tot wij de laadpaal kennen",
    invalid: "Niet opgeslagen",
  },
  unreadable: (column: string) => `${column} is niet te lezen`,
  reason: {
    unknown_charger:
      "Wij kennen geen laadpaal met deze naam. Klopt de naam in uw bestand? Mail ons dan de naam, en van welke klant de laadpaal is. Daarna telt de sessie vanzelf mee.",
    charger_removed: "De laadpaal met deze naam is verwijderd.",
    ambiguous_charger: "De namen horen bij twee laadpalen.",
    name_moved:
      "De naam hoorde bij een andere laadpaal toen u deze sessie aanleverde. De sessie blijft bij die laadpaal.",
    no_charger: "De laadpaal ontbreekt.",
    no_account: "De klant ontbreekt.",
    account_not_found: "Wij kennen deze klant niet.",
    ambiguous_connection: "De klant heeft meer aansluitingen. Vul ook de EAN in.",
    future_period: "Deze maand is nog niet begonnen.",
    duplicate_in_file: "Een andere regel zegt hetzelfde. Laat er één staan.",
    other: "Deze regel is niet te lezen.",
  },
  flagged: (why: string | undefined) => `Telt niet mee: ${why ?? "dit kan niet kloppen"}.`,
  flags: {
    negative: "de kWh zijn negatief",
    ends_before_start: "het einde ligt voor het begin",
    wrong_clock: "de tijd ligt in de toekomst of is van voor 2010",
    too_long: "de sessie duurt langer dan 31 dagen",
    beyond_power: "zoveel kWh kan de laadpaal in die tijd niet geven",
    no_end: "het einde ontbreekt",
    meter_disagrees: "de kWh en de meterstanden kloppen niet met elkaar",
    abroad: "de laadpaal staat niet in Nederland",
    duplicate: "deze laadbeurt kennen wij al",
    overlapping: "op dat moment laadde er al een andere auto op dit laadpunt",
    withdrawn: "deze sessie is teruggenomen",
  },
  not_counted: {
    mid: "Telt nog niet mee: de meter van de laadpaal is niet als MID bevestigd.",
    typed_total: "Telt niet mee: u leverde van deze maand een totaal aan.",
    outside_mandate: "Telt niet mee: de machtiging dekt deze maand niet.",
    running: "Telt nog niet mee: de sessie heeft geen eind.",
    locked: "Telt niet mee: de maand was al ingeboekt.",
  },
};

export type UploadWords = typeof nl;
