/** The sentences of uploading months and charging sessions, in Dutch: the original. */
export const nl = {
  title: "Laadgegevens aanleveren",
  what: "Lever maanden of laadsessies aan met een bestand uit uw spreadsheet. U ziet eerst wat er met elke regel zou gebeuren. Er wordt niets opgeslagen voordat u dat bevestigt.",
  no_client:
    "Laadgegevens horen bij een koppeling voor laadpaalexploitanten (CPO), en die heeft u nog niet. Vraag ons er een aan te maken.",
  file: "Bestand uit Excel, of CSV",
  hint: "Een Excel-bestand (.xlsx) of CSV. Hoogstens 2 MB en 5.000 regels. Wij lezen het eerste zichtbare blad met sessies, of anders met maanden.",
  client: "Voor welke koppeling?",
  choose: "Kies",
  more: "Als wij het bestand verkeerd lezen",
  kind: "Wat staat er in het bestand?",
  by_header: "Dat zeggen de kolommen",
  kinds: { months: "Maanden", sessions: "Laadsessies" },
  decimal: "Wat is het decimaalteken?",
  by_column: "Dat zeggen de getallen",
  decimals: { ",": "Een komma: 7,5", ".": "Een punt: 7.5" },
  dates: "Wat komt eerst in een datum: de dag of de maand?",
  by_dates: "Dat zeggen de datums",
  orders: { dmy: "De dag: 31-3-2026", mdy: "De maand: 3/31/2026" },
  kwh_column: "In welke kolom staan de kWh?",
  kwh_column_hint: "Alleen nodig als wij daarnaar vragen. Vul de naam van de kolom in, of het nummer van links.",
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
      "Sessies: een naam van de laadpaal (laadpaal, serienummer of EVSE-id); start; eind of duur; en kWh of twee meterstanden. Sessie (uw eigen nummer), meterstanden en tijdzone mogen erbij. Dag en tijd mogen in aparte kolommen staan.",
  },
  errors: {
    client: "Kies voor welke koppeling",
    too_many_rows: "Dit bestand heeft meer dan 5.000 regels. Verdeel het over meer bestanden",
    no_rows: "Onder de kolommen staan geen regels",
    unknown_columns: (lacks: string, unread: string, row: string) =>
      `Er is geen kolom voor ${lacks}. Regel ${row} lijkt het meest op de namen van kolommen.${unread ? ` Deze kolommen kennen wij niet: ${unread}.` : ""} De namen van de kolommen moeten in een van de eerste 20 regels staan. Kijk hieronder welke kolommen nodig zijn`,
    ambiguous_columns: (columns: string) =>
      `Deze kolommen kunnen allemaal de kWh zijn, en ze verschillen: ${columns}. Vul hieronder in welke kolom de kWh heeft, en kies het bestand opnieuw`,
    ambiguous_units: (column: string, units: string) =>
      `De naam van kolom ${column} noemt een andere eenheid dan de cellen: ${units}. Verbeter het bestand en kies het opnieuw`,
    ambiguous_dates: (column: string, row: string, value: string, dmy: string | undefined, mdy: string | undefined) =>
      `In kolom ${column}, regel ${row}, staat ${value}. ${dmy && mdy ? `Is dat ${dmy} of ${mdy}?` : `Dat kan alleen ${dmy ?? mdy} zijn, maar andere datums kunnen ook anders.`} Kies hieronder wat eerst komt, en kies het bestand opnieuw`,
    unknown_zone: (column: string, row: string, value: string) =>
      `In kolom ${column}, regel ${row}, staat ${value}. Die tijdzone kennen wij niet. Schrijf bijvoorbeeld Europe/Amsterdam, UTC of +02:00, en kies het bestand opnieuw`,
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
    end: "het eind of de duur",
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
  read: {
    title: "Dit hebben wij gelezen",
    where: (sheet: string | null, row: string) =>
      sheet === null
        ? `De namen van de kolommen staan in regel ${row}.`
        : `Blad ${sheet}, met de namen van de kolommen in regel ${row}.`,
    sum: (kwh: string, sessions: string, first: string, last: string) =>
      `De leesbare regels zijn samen ${kwh} kWh in ${sessions === "1" ? "1 sessie" : `${sessions} sessies`}, van ${first} tot en met ${last}.`,
    sum_months: (kwh: string, first: string, last: string) =>
      `De leesbare regels zijn samen ${kwh} kWh, van ${first} tot en met ${last}.`,
    first: (date: string) => `De eerste regel is van ${date}.`,
    column: "Gegeven",
    heading: "Kolom in uw bestand",
    month: "Maand",
    kwh: "kWh",
    span: (sessions: string | null, first: string, last: string) =>
      `De leesbare regels ${sessions === null ? "gaan over" : `zijn ${sessions === "1" ? "1 sessie" : `${sessions} sessies`} van`} ${first} tot en met ${last}.`,
    fates: {
      look: {
        stored: "kWh die worden opgeslagen",
        waiting: "kWh die wachten op de laadpaal",
        left: "kWh die niet worden opgeslagen",
      },
      done: { stored: "kWh opgeslagen", waiting: "kWh die wachten op de laadpaal", left: "kWh niet opgeslagen" },
    },
    total: "Samen",
    ids_ignored:
      "De sessienummers in dit bestand horen bij meer dan één laadbeurt. Wij gebruiken ze niet: een sessie herkennen wij aan laadpunt en start.",
  },
  over_quota:
    "U had die dag al veel gestuurd, dus wij bewaarden de uitkomst van elke regel niet. Kies hetzelfde bestand nog eens om de regels te zien.",
  left_out: (fields: string) => `Weggelaten, want niet te lezen: ${fields}.`,
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
    summary: "Een totaal of kopjes: dat tellen wij niet mee",
  },
  unreadable: (column: string) => `${column} is niet te lezen`,
  reason: {
    unknown_charger:
      "Wij kennen geen laadpaal met deze naam. Klopt de naam in uw bestand? Mail ons dan de naam, en van welke klant de laadpaal is. Daarna telt de sessie vanzelf mee.",
    charger_removed: "De laadpaal met deze naam is verwijderd.",
    ambiguous_charger: "De namen horen bij twee laadpalen.",
    no_charger: "De laadpaal ontbreekt.",
    no_account: "De klant ontbreekt.",
    account_not_found: "Wij kennen deze klant niet.",
    ambiguous_connection: "De klant heeft meer aansluitingen. Vul ook de EAN in.",
    future_period: "Deze maand is nog niet begonnen.",
    duplicate_in_file: "Een andere regel zegt hetzelfde. Laat er één staan.",
    no_session_id: "Het sessienummer ontbreekt.",
    session_id_reused: "Dit sessienummer is van een andere laadbeurt.",
    too_many_cells:
      "Deze regel heeft meer cellen dan er kolommen zijn. Zet aanhalingstekens om een getal met een komma, of gebruik puntkomma's.",
    other_headings: "Deze regel staat in een tabel eronder, met andere kopjes. Stuur die tabel in een eigen bestand.",
    two_digit_year: "Het jaartal heeft twee cijfers. Schrijf het met vier.",
    rounded_ean:
      "Excel heeft de EAN afgerond. Maak de kolom op als tekst, vul alle 18 cijfers in en kies het bestand opnieuw.",
    other: "Deze regel is niet te lezen.",
  },
  beyond_power: "Dit is meer dan de laadpalen in een maand kunnen geven. Controleer de kWh.",
  flagged: (why: string | undefined) => `Telt niet mee: ${why ?? "dit kan niet kloppen"}.`,
  flags: {
    negative: "de kWh zijn negatief",
    ends_before_start: "het einde ligt voor het begin",
    wrong_clock: "de tijd ligt in de toekomst, of lang voordat wij de laadpaal kenden",
    too_long: "de sessie duurt langer dan 31 dagen",
    beyond_power: "zoveel kWh kan de laadpaal in die tijd niet geven",
    beyond_capacity: "er laadden meer auto's tegelijk dan de laadpaal kan",
    other_registration: "op dat moment was de laadpaal ergens anders aangemeld",
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
