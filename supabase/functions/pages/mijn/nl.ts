import { ended } from "#shared/values/sentence.ts";
/** The sentences of a customer's own pages in Dutch: the original. */
export const nl = {
  sign_in: {
    why: (service: string) =>
      `Hier ziet u wat u laadt, wat het oplevert en wat er van u nodig is bij ${ended(service)}`,
    which: "Log in met het e-⁠mailadres waarop u onze mail krijgt.",
    signatory:
      "Heeft u via uw laadpaalbedrijf een machtiging getekend? Log dan in met een code. U heeft daarvoor geen account nodig.",
  },

  months: {
    title: (year: number) => `Geladen per maand in ${year}, in kWh`,
    description: (total: string, most: string) => `In totaal ${total} kWh, het meest in ${most}.`,
    none: "Er is in dit jaar niets geladen.",
    month: "Maand",
    kwh: "kWh",
    of_sessions: (count: number): string => (count === 1 ? "laadbeurt" : "laadbeurten"),
    sessions: "Laadbeurten",
    ere: "ERE",
    total: "Totaal",
  },

  left_out: {
    title: "Wat niet meetelt",
    line: (kwh: string, month: string) => `Van ${month} telt ${kwh} kWh niet mee.`,
    before_ere: "ERE zijn er vanaf januari 2026.",
    outside_mandate: "Uw machtiging gold toen niet.",
    mandate_ended:
      "Uw machtiging eindigde voordat wij die maand konden inboeken. De maand waarin een machtiging eindigt, telt niet mee.",
    register: "De overheid heeft dit niet ingeschreven.",
    after_booking:
      "Wij hadden die maand al ingeboekt toen deze kWh binnenkwamen, of toen bleek dat uw laadpaal een MID-meter heeft.",
    no_factor: "Hoeveel ERE een kWh in dat jaar oplevert, staat nog niet vast. Zodra dat vaststaat, telt dit mee.",
    charger: (kwh: string, name: string) => `De ${kwh} kWh van ${name} tellen niet mee.`,
    no_mid:
      "Deze laadpaal heeft geen MID-meter, en alleen wat zo'n geijkte meter meet, levert ERE op. Wilt u dat dit meetelt? Vraag uw installateur om een laadpaal of meter met MID.",
    mid_unknown: "Wij zoeken nog uit of deze laadpaal een MID-meter heeft. U hoeft daarvoor niets te doen.",
    no_connection:
      "Deze laadpaal hoort nog niet bij een aansluiting met een machtiging. Mail ons, dan zoeken wij dat uit.",
    reason: (reason: string) => `De reden: “${reason}”.`,
  },

  overview: {
    title: (name: string | null) => (name ? `Dag ${name}` : "Uw overzicht"),
    got: (year: number | null) => (year ? `kreeg u in ${year}` : "kreeg u tot nu toe"),
    got_via: (cpo: string | null, year: number | null) =>
      `is ${year ? `in ${year}` : "tot nu toe"} betaald aan uw ${cpo ? `laadpaalbeheerder ${cpo}, die met u afrekent` : "laadpaalbeheerders, die met u afrekenen"}`,
    got_any: (year: number | null) => `is ${year ? `in ${year}` : "tot nu toe"} betaald`,
    got_ever: (amount: string) => `${amount} in alle jaren samen`,
    expected: "Nog verwacht",
    to_come: "krijgt u nog, voor wat u tot nu toe laadde",
    to_come_via: (cpo: string | null) => `komt nog via ${cpo ?? "uw laadpaalbeheerders"}, voor wat u tot nu toe laadde`,
    to_come_any: "komt nog, voor wat u tot nu toe laadde",
    so_far: "Betaald tot nu toe",
    estimated: (amount: string | null) => (amount ? `${amount} geschat` : "een schatting"),
    taken_back: (amount: string) =>
      `Een verkoop ging niet door, maar was al betaald. Daarom gaat ${amount} van de volgende betaling af.`,
    debt: (amount: string) => `min ${amount} van een verkoop die niet doorging en al betaald was`,
    withdrawn: {
      done: "Uw machtiging is ingetrokken. Dat geldt meteen.",
      kept: (euro: string, kwh: string) => `Voor de ${kwh} die nog meetellen, komt nog ${euro}.`,
      kept_unknown: (kwh: string) => `${kwh} tellen nog mee. Hoeveel geld dat is, weten wij nog niet.`,
      nothing: "Er komt daarna geen geld meer.",
    },
    unknown: "nog niet bekend",
    unknown_rest: "de rest is nog niet bekend",
    unknown_why:
      "Wat het in euro oplevert, is nog niet bekend. Dat hangt af van de prijs waarvoor de ERE worden verkocht.",
    charged: (when: number | string) => `Geladen in ${when}`,
    before: (kwh: string, month: string) => `tot nu toe; ${kwh} in heel ${month}`,
    counted: (kwh: string, ere: string) => `${kwh} kWh telt mee: ${ere} ERE`,
    charged_only: (kwh: string, year: number) =>
      `U laadde in ${year} ${kwh} kWh. Daarvan telt nog niets mee: hieronder ziet u waarom.`,
    estimate_how: "Hoe wij dat rekenen",
    estimate_computed: (ere: string, price: string, fee: string, net: string) =>
      `Geschat: ${ere} ERE die nog niet zijn verkocht × ${price}, de laatste gemiddelde prijs. Daar gaat ${fee}% voor onze dienst af. Dan blijft er ongeveer ${net} over. De prijs kan hoger of lager worden.`,
    ere_hint: "1 ERE is 1 kg CO2 die minder wordt uitgestoten. Oliebedrijven kopen ze.",
    payments: "Betalingen",
    by_quarter: "Euro per kwartaal",
    kinds: {
      paid: "betaald",
      paid_via: (cpo: string) => `betaald aan ${cpo}`,
      waits: "nog te betalen",
      sent: "onderweg",
      estimated: "geschat",
    },
    plot: (waits: string) => `Euro per kwartaal: betaald, ${waits} en geschat`,
    plot_total: (total: string) => `Samen ${total}.`,
    quarter_short: (quarter: string, year: string) => `K${quarter} '${year}`,
    earlier: (year: number) => `Vóór ${year}`,
    of_earlier: (year: number, amount: string) => `Van vóór ${year} krijgt u nog ${amount}.`,
    quarter_table: "Bekijk de kwartalen als tabel",
    kwh: "kWh",
    ere: (ere: string) => `${ere} ERE`,
    portal_of: (partner: string) => `Naar het portaal van ${partner}`,
    more_money: "Bekijk elk jaar, uw overzichten en uw rekeningnummer",
    more: "Bekijk de laadbeurten van elke maand",
    more_months: "Bekijk alle maanden en jaren",
    progress: "Hoe het ervoor staat",
    no_account:
      "U heeft nog geen aansluiting bij ons aangemeld. Kreeg u een mail met een link om dat te doen? Open dan die link.",
    iban: {
      text: "Wij weten nog niet op welke rekening u uw geld wilt krijgen.",
      action: "Vul uw IBAN in",
    },
    back: {
      account: {
        text: (last4: string) =>
          `Onze betaling kwam terug: de bank kan niets afleveren op de rekening die eindigt op ${last4}. Wij betalen pas weer na een ander rekeningnummer.`,
        action: "Geef een ander rekeningnummer door",
      },
      holder: {
        text: (_last4: string) => "Onze betaling kwam terug. Wij betalen pas weer als wij met u overlegd hebben.",
        action: "Mail ons",
      },
    },
    charger: { text: "Wij weten nog niet welke laadpaal u heeft.", action: "Voeg uw laadpaal toe" },
    mid_charger: {
      text: "Alleen wat een laadpaal met MID-meter laadt, levert ERE op. De laadpaal die wij van u kennen, heeft die niet.",
      action: "Voeg een laadpaal toe",
    },
    sign_again: {
      text: "Uw machtiging loopt af of is afgelopen. Teken opnieuw, dan blijft wat u laadt meetellen.",
      action: "Lees en onderteken",
    },
    unsigned: "Er is nog geen machtiging ondertekend. Open daarvoor de link in de mail die u kreeg.",
    ean: "De EAN-code van uw aansluiting klopt niet met uw adres. Mail ons, dan zoeken wij het samen uit.",
    mail_us: "Mail ons",
    most: (most: string) =>
      `U tekende voor veel klanten. Wij tonen hier de ${most} nieuwste, en tellen alleen die bij elkaar op.`,
    iban_via: (cpo: string) =>
      `Geef ${cpo} uw rekeningnummer door. ${cpo} rekent met u af, maar uw laadstroom telt pas mee als ook uw rekeningnummer bij ons bekend is.`,
    ask_cpo: (cpo: string) => `Vraag ${cpo} om uw laadpaal bij ons aan te melden.`,
    ean_via: (cpo: string) =>
      `De EAN-code van uw aansluiting klopt niet met uw adres. Vraag ${cpo} om dat te herstellen.`,
  },

  next_payout: {
    title: "Volgende betaling",
    of: (quarters: string) => `voor ${quarters}`,
    quarters: (quarters: string, year: string) => `het ${quarters} kwartaal ${year}`,
    quarter: (quarter: string) => `${quarter}e`,
    when: "Wanneer",
    to: "Naar",
    sent: "Het geld is onderweg. Reken op enkele werkdagen.",
    sold: "De ERE zijn verkocht. U krijgt een mail zodra het geld onderweg is.",
    sold_via: "De ERE zijn verkocht. Wij betalen uw laadpaalbeheerders, die met u afrekenen.",
    held: (moment: string) => `Na ${moment}: uw rekeningnummer is kort geleden ingevuld of gewijzigd.`,
    least: (amount: string) => `Zodra er ${amount} of meer voor u klaarstaat.`,
    no_account: "Zodra wij uw rekeningnummer weten.",
    running: (date: string) => `Het kwartaal loopt tot en met ${date}. Reken daarna op enkele maanden.`,
    over: "Wij boeken dit kwartaal in en verkopen dan de ERE. Reken op enkele maanden.",
    booked: "Wij verkopen de ERE. Dat duurt vaak enkele maanden.",
    account: (last4: string) => `de rekening die eindigt op ${last4}`,
    cpo: (cpo: string) => `${cpo}, dat met u afrekent`,
  },

  progress: {
    steps: {
      signed: { done: "Getekend", open: "Ondertekening" },
      approved: { done: "Goedgekeurd", open: "Goedkeuring" },
      charger: { done: "Laadpaal geregistreerd", open: "Laadpaal registreren" },
      first_kwh: { done: "Eerste kWh", open: "Eerste kWh" },
      booked: { done: "Ingeboekt", open: "Inboeken" },
      sold: { done: "Verkocht", open: "Verkoop" },
      paid: { done: "Betaald", open: "Betaling" },
    },
    of_quarter: (step: string, quarter: string) => `${step}: ${quarter}`,
    rest: {
      booked: (count: number) =>
        count === 1 ? "1 ander kwartaal is nog niet ingeboekt." : `${count} andere kwartalen zijn nog niet ingeboekt.`,
      sold: (count: number) =>
        count === 1 ? "1 ander kwartaal is nog niet verkocht." : `${count} andere kwartalen zijn nog niet verkocht.`,
      paid: (count: number) =>
        count === 1 ? "1 ander kwartaal is nog niet betaald." : `${count} andere kwartalen zijn nog niet betaald.`,
    },
    done: "gedaan",
    later: "komt later",
    latest: (date: string) => `laatst op ${date}`,
    who: { you: "Nu aan u", us: "Nu aan ons", cpo: (cpo: string) => `Nu aan ${cpo}` },
    next: (step: string) => `volgende stap: ${step}`,
    others: (count: string) => `Bij uw andere ${count} aansluitingen hoeft u nu niets te doen.`,
    goes_on:
      "Alles is geregeld. Na elk kwartaal boeken wij uw kWh in, verkopen wij de ERE en betalen wij u. U hoeft niets te doen.",
    goes_on_via: (cpo: string) =>
      `Alles is geregeld. Na elk kwartaal boeken wij uw kWh in, verkopen wij de ERE en betalen wij ${cpo}, dat met u afrekent. U hoeft niets te doen.`,
    goes_on_short: "alles is geregeld",
    reviewing: "Wij beoordelen uw registratie. U krijgt een mail zodra dat klaar is.",
    checking: "Wij controleren uw gegevens en dienen daarna uw registratie in.",
    rejected:
      "Uw registratie is afgekeurd. In onze mail staat waarom, en wat u kunt doen. Komt u er niet uit? Mail ons.",
    rejected_mid:
      "Uw registratie is afgekeurd, want wij weten nog niet of uw laadpaal een geijkte meter (MID) heeft. Heeft hij die, dan beoordelen wij uw registratie opnieuw.",
    silent: (names: string) =>
      `Wij horen nog niets van ${ended(names)} Vul het adres, de identiteit en het wachtwoord in de laadpaal in.`,
    silent_action: "Verbind uw laadpaal",
    mid_waits: "Wij zoeken uit of uw laadpaal een geijkte meter (MID) heeft. U hoeft daarvoor niets te doen.",
    first_kwh:
      "Laad uw auto: binnen een dag ziet u het hier. Ziet u dan nog niets? Dan geeft uw laadpaal ons niets door, en moet u hem nog verbinden.",
    first_kwh_via: (cpo: string) => `${cpo} geeft ons door wat u per maand laadt.`,
    booking: "Wij boeken uw kWh in bij de overheid zodra het kwartaal voorbij is.",
    selling: "Wij verkopen de ERE. Dat duurt vaak enkele maanden.",
    paying: "Wij maken het geld over. U krijgt een mail zodra het onderweg is.",
    paying_via: (cpo: string) => `Wij betalen ${cpo}, dat met u afrekent.`,
    withdrawn: "Machtiging ingetrokken",
    withdrawn_short: "machtiging ingetrokken",
    withdrawn_kept:
      "Wat al is ingeboekt of nog meetelt, wordt gewoon verkocht en betaald. Wat u nu laadt, telt niet mee.",
    withdrawn_nothing: "Wat u nu laadt, telt niet mee.",
    again: "Wilt u weer meedoen? Wij helpen u daarmee.",
    sign_again: "Wilt u weer meedoen? Tekent u opnieuw, dan telt uw laadstroom van dit jaar weer mee.",
    again_via: (cpo: string) => `Wilt u weer meedoen? Vraag ${cpo} om een nieuwe link.`,
  },

  charging: {
    title: (year: number) => `Wat u laadde in ${year}`,
    years: "Kies een jaar",
    table: (year: number) => `De maanden van ${year}`,
    as_table: "Bekijk de maanden als tabel",
    download_months: "Download de maanden als CSV",
    sessions: (month: string) => `Laadbeurten in ${month}`,
    session_table: "Laadbeurten",
    no_sessions: "In deze maand zijn er geen laadbeurten.",
    download_sessions: "Download deze laadbeurten als CSV",
    start: "Begonnen",
    end: "Geëindigd",
    charger: "Laadpaal",
    going_on: "bezig",
    not_counted: "telt niet mee",
    not_counted_why:
      "Een laadbeurt telt niet mee als hij niet kan kloppen, bijvoorbeeld omdat hij langer duurt dan 31 dagen of tegelijk was met een andere.",
    no_ere: "Bij een laadbeurt zonder ERE had de laadpaal geen MID-meter, of gold uw machtiging toen niet.",
    newer: "Nieuwere",
    older: "Oudere",
    pages: "Meer laadbeurten",
    file: "laden",
  },

  earnings: {
    title: (year: number) => `Geld in ${year}`,
    nothing_counts: (year: number) =>
      `Er telt voor ${year} niets mee. Verandert dat, dan ziet u hier per kwartaal wat het oplevert.`,
    brought: (year: number) => `krijgt u voor wat u in ${year} laadde`,
    brought_net: (year: number) => `na onze kosten, voor wat u in ${year} laadde`,
    quarters: "Per kwartaal",
    quarter: "Kwartaal",
    kwh: "kWh die meetelt",
    quarter_name: (quarter: string, year: string) => `${quarter}e kwartaal ${year}`,
    in_year: (quarter: string) => `${quarter}e kwartaal`,
    you: "Voor u",
    status: {
      open: "loopt nog",
      closed: "nog niet verkocht",
      reversed: "verkoop teruggedraaid",
      empty: "niets dat meetelt",
      paid: "betaald",
    },
    steps:
      "Een kwartaal loopt, wordt daarna ingeboekt bij de overheid, dan verkocht en dan uitbetaald. Reken op enkele maanden.",
    rounded: "Wij ronden elk kwartaal af, dus het totaal kan iets afwijken.",
    price: (price: string) => `${price} per ERE`,
    forecast: (ere: string, year: number, euro: string | null) =>
      `Gaat u zo door, dan komt u in ${year} uit op ongeveer ${euro ? `${euro} (${ere} ERE)` : `${ere} ERE`}.`,
    paid: (year: number) => `Wat wij u in ${year} hebben betaald`,
    payment: "Betaling",
    paid_to: (cpo: string) => `aan ${cpo}`,
    settled_later: "betaald, wordt verrekend",
    pdf: "pdf",
    nothing_paid: (year: number) => `In ${year} is niets uitbetaald.`,
    overviews: "Jaaroverzichten",
    overview: (year: number, which: string | null) => `Jaaroverzicht ${year}${which ? `, ${which}` : ""} (pdf)`,
    account: "Uw rekeningnummer",
    iban_is: (last4: string) => `De rekening die eindigt op ${last4}`,
    no_iban: "Er is nog geen rekeningnummer. Zonder rekeningnummer kunnen wij u niet betalen.",
    back: {
      account: (amount: string, last4: string, day: string) =>
        `Wij maakten ${amount} over, en het kwam op ${day} terug: de bank kan niets afleveren op de rekening die eindigt op ${last4}. Het bedrag staat voor u klaar. Geef hieronder een ander rekeningnummer door.`,
      holder: (amount: string, _last4: string, day: string) =>
        `Wij maakten ${amount} over, en het kwam op ${day} terug. Het bedrag staat klaar. Neem contact met ons op over de uitbetaling.`,
      none: (amount: string, _last4: string, day: string) =>
        `Onze betaling van ${amount} kwam niet aan. Dat meldde de bank op ${day}. Het bedrag staat voor u klaar en gaat mee met de volgende uitbetaling. U hoeft niets te doen.`,
    },
    held: (moment: string) =>
      `Dit nummer is kort geleden ingevuld of gewijzigd. Voor uw veiligheid maken wij er niets naar over tot ${moment}.`,
    change: "Wijzig uw rekeningnummer",
    add: "Vul uw rekeningnummer in",
    change_how: "Voor een wijziging mailen wij u een code.",
    change_wait: "Na een wijziging wachten wij 48 uur met betalen, zodat niemand uw geld kan omleiden.",
    by_mail: "Wilt u uw rekeningnummer doorgeven of wijzigen? Mail ons dan.",
    via: "Uw laadpaalbedrijf rekent met u af.",
    at: (cpo: string, address: string) => (address ? `${cpo}: ${address}` : cpo),
    via_cpo: (cpo: string) => `${cpo} rekent met u af. Wij betalen ${cpo}, en ${cpo} betaalt u.`,
    via_iban: (last4: string) =>
      `Van u is de rekening bekend die eindigt op ${last4}. Die moeten wij kennen om uw laadstroom te laten meetellen; wij betalen er niets naartoe.`,
    via_no_iban: (cpo: string | null) =>
      `Er is nog geen rekeningnummer van u. Uw laadstroom telt pas mee als wij dat hebben, ook al betalen wij er niets naartoe. Geef het door aan ${ended(cpo ?? "uw laadpaalbedrijf")}`,
    net: "Na onze kosten",
    paid_via: (cpo: string | null, year: number) =>
      `Wat wij in ${year} voor u aan ${cpo ?? "uw laadpaalbeheerders"} hebben betaald`,
    paid_any: (year: number) => `Wat wij in ${year} hebben betaald`,
    changed: (moment: string) =>
      `Uw rekeningnummer is gewijzigd. Wij hebben u dat ook gemaild. Voor uw veiligheid maken wij er 48 uur niets naar over: tot ${moment}. Daarna betalen wij u op dit nummer.`,
    fee: "Wat onze dienst kost",
    fee_is: (percent: string) =>
      `${percent}% van wat uw ERE opbrengen, inclusief btw. Wij houden dat in; u betaalt nooit zelf iets. Dit percentage staat in uw machtiging en verandert niet zolang die geldt.`,
    fee_differs:
      "Zoveel houden wij in van wat uw ERE opbrengen, inclusief btw; u betaalt nooit zelf iets. Elk percentage staat in een machtiging en verandert niet zolang die geldt.",
    fee_unknown: "Wat onze dienst kost, staat in uw machtiging. U heeft er nog geen ondertekend.",
  },

  account: {
    title: "Uw rekeningnummer",
    now: (last4: string, cpo: string) =>
      `De vergoeding voor wat u bij ${cpo} laadt, gaat nu naar de rekening die eindigt op ${last4}.`,
    none: (cpo: string) => `Wij weten nog niet waar de vergoeding heen mag voor wat u bij ${cpo} laadt.`,
    why_code:
      "Uw rekeningnummer wijzigen kan alleen met een code die wij u nu mailen. Zo weten wij zeker dat u het bent.",
    iban: "IBAN",
    hint: (cpo: string) => `Voor de vergoeding van wat u bij ${cpo} laadt. Zoals NL91 ABNA 0417 1643 00`,
    wrong: "Dit is geen geldig IBAN. Controleer het nummer",
    submit: "Wijzig het rekeningnummer",
    back: "Nee, terug",
  },

  mandate: {
    title: "Uw machtiging",
    cpo: "Klant van",
    none: "U heeft nog geen machtiging ondertekend.",
    connection: "Aansluiting",
    ean: "EAN-code",
    status: "Machtiging",
    statuses: {
      pending: "nog niet ondertekend",
      signed: (until: string) => `geldt tot en met ${until}`,
      expired: (until: string) => `afgelopen op ${until}`,
      revoked: "ingetrokken",
      declined: "niet ondertekend",
    },
    renewed: (until: string) => `Ook voor daarna is getekend, tot en met ${until}.`,
    registration: "Registratie",
    registrations: {
      concept: "nog niet ingediend",
      ingediend: "wordt beoordeeld",
      goedgekeurd: "goedgekeurd",
      afgekeurd: "afgekeurd",
    },
    renew: "Lees en onderteken opnieuw",
    stop: "Stoppen",
    revoke: "Trek uw machtiging in",
    revoke_means: "U ziet eerst wat dat betekent. Daarna mailen wij u een code.",
    by_mail: "Wilt u uw machtiging intrekken? Mail ons dan.",
    revoke_for: (cpo: string, address: string) => `Trek uw machtiging in: ${cpo}, ${address}`,
    signed: "U heeft getekend. Hieronder staat wat u tekende.",
    documents: "Wat u heeft ondertekend",
    document: (from: string, until: string) => `Machtiging van ${from} tot en met ${until}`,
    read: "Lees de machtiging",
    pdf: "Bewaar als pdf",
  },

  withdraw: {
    which: (cpo: string, ean: string) => `Uw machtiging als klant van ${cpo}, voor de aansluiting met EAN-code ${ean}.`,
    means: {
      kept: (until: string) => `Wat u tot en met ${until} laadde, telt nog mee. De vergoeding daarvan komt nog.`,
      nothing_kept: "Wat al is ingeboekt, blijft ingeboekt. De vergoeding daarvan komt nog.",
      told: (cpo: string) =>
        `${cpo} hoort van ons dat u stopt. Uw laadpaal en uw contract met ${cpo} blijven zoals ze zijn.`,
      again: (cpo: string) =>
        `Intrekken gaat meteen in, en u kunt het hier niet ongedaan maken. Wilt u later weer meedoen? Vraag ${cpo} dan om een nieuwe link.`,
    },
  },

  sharing: {
    title: "Wie ziet wat",
    nobody: "U deelt niets met een bedrijf.",
    with: (partner: string) => `U deelt met ${partner}`,
    since: (partner: string, month: string) => `U kwam via ${partner} bij ons. Vanaf ${month} ziet ${partner}:`,
    named: ["uw naam, adres, e-⁠mailadres en telefoonnummer", "hoe ver u bent: machtiging, registratie en laadpaal"],
    unnamed: ["uw woonplaats, zonder uw naam", "of uw machtiging geldt, en welke laadpaal u heeft"],
    sums: "wat al zijn klanten samen laden en opbrengen",
    not: (partner: string) => `${partner} ziet niet wanneer u laadt, en niet wat u verdient.`,
    customer_of: (cpo: string) => `U bent klant van ${cpo}`,
    cpo_sees: (cpo: string) => `${cpo} meldde u bij ons aan, en ziet:`,
    cpo: [
      "uw naam, e-⁠mailadres, adres en EAN-code",
      "of uw machtiging geldt, en de machtiging zelf",
      "welke laadpaal u heeft",
      "wat u per maand laadt, want dat geeft het bedrijf zelf aan ons door",
      "hoeveel ERE dat zijn, en wat die opbrengen",
    ],
    cpo_not: (cpo: string) => `${cpo} ziet uw rekeningnummer niet, alleen dat wij er een hebben.`,
    ask_title: "Iets wijzigen, inzien of verwijderen",
    ask_cpo: (cpo: string) => `Klopt uw naam, adres, EAN-code of laadpaal niet? Vraag ${cpo} om dat te wijzigen.`,
    ask_us: (service: string) =>
      `Wij moeten zeven jaar bewaren hoe uw laadstroom geld werd. Wilt u uw gegevens krijgen, of dat wij de rest verwijderen? Mail ${service}:`,
    stop: (partner: string) => `Stop met delen met ${partner}`,
    stop_title: (partner: string) => `Stopt u met delen met ${partner}?`,
    stop_means: (partner: string) => [
      `${partner} ziet vanaf nu niets meer van u.`,
      `Wat u tot deze maand laadde, telt nog mee voor het aandeel van ${ended(partner)} Wat u daarna laadt niet meer.`,
      "Uw machtiging blijft gelden, met hetzelfde percentage. U krijgt uw geld zoals altijd.",
      "U kunt dit niet zelf terugdraaien.",
    ],
    yes: "Ja, stop met delen",
    no: "Nee, terug",
    stopped: "U deelt niet meer. Dat geldt meteen. Aan uw machtiging en uw geld verandert niets.",
    apps: "Apps die u toegang heeft gegeven",
    no_apps: "U heeft geen app toegang gegeven.",
    by: (operator: string) => `van ${operator}`,
    may: "Deze app mag:",
    allowed: "Toegang gegeven op",
    used: "Laatst gebruikt op",
    end: (app: string) => `Stop de toegang van ${app}`,
    ended: "De app heeft geen toegang meer.",
  },

  tokens: {
    title: "Eigen programma's",
    what: "Een programma van uzelf kan uw gegevens lezen, bijvoorbeeld Home Assistant. U maakt daarvoor hier een sleutel (een token), en vult die in het programma in. Deel een token met niemand: wie het heeft, kan hetzelfde als dat programma.",
    yours: "Uw tokens",
    none: "U heeft geen tokens.",
    made: "Gemaakt op",
    used: "Laatst gebruikt op",
    never_used: "nog nooit",
    until: "Werkt tot",
    forever: "tot u het intrekt",
    may: "Mag",
    ends_in: (last4: string) => `eindigt op ${last4}`,
    revoke: (name: string) => `Trek ${name} in`,
    revoked: "Het token is ingetrokken en werkt niet meer.",
    new_title: "Uw nieuwe token",
    new_once: "Kopieer het nu. Wij laten het maar één keer zien.",
    create: "Maak een token",
    name: "Naam",
    name_hint: "Waarvoor gebruikt u het? Bijvoorbeeld Home Assistant.",
    scopes: "Wat mag het programma?",
    expires: "Hoe lang werkt het?",
    lasts: { "30": "30 dagen", "365": "1 jaar", never: "Tot u het intrekt" },
    never_hint: "Hiervoor vragen wij een code, als u langer dan 15 minuten geleden bent ingelogd.",
    submit: "Maak het token",
    errors: {
      name: "Vul een naam in van hoogstens 100 tekens",
      scopes: "Kies wat het programma mag",
      expires: "Kies hoe lang het token werkt",
      limit: "U heeft al 50 tokens. Trek er eerst een in",
    },
  },

  chargers: {
    title: "Uw laadpalen",
    none: "Wij kennen nog geen laadpaal van u.",
    status: "Verbinding",
    comes: "Gegevens",
    no_kwh: "nog geen kWh ontvangen",
    last_kwh: "Laatste kWh",
    by: {
      ocpp: "van de laadpaal zelf",
      company: "via uw laadpaalbedrijf",
      sandbox: "uit de proefomgeving",
    },
    not_heard: "nog niets gehoord",
    connected_at: (clock: string) => `verbonden, ${clock}`,
    online: "verbonden",
    offline: "niet verbonden",
    charging: (kwh: string, since: string) => `laadt nu: ${kwh} kWh sinds ${since}`,
    mid: "MID-meter",
    mid_yes: "ja, levert ERE op",
    mid_yes_unsigned: "ja; levert ERE op zodra u een machtiging heeft getekend",
    mid_no: "nee, levert geen ERE op",
    mid_unknown: "nog niet bekend: wij zoeken dat uit",
    heard: "Laatst gehoord",
    meter: "Meterstand",
    silent: "Wij hebben deze laadpaal nog nooit gehoord. Wat klopt er voor u?",
    silent_own: "Mijn laadpaal verbindt zelf met u",
    silent_copy: "Mijn laadpaal heeft al een backoffice",
    silent_address: "kijk in de app of op de webpagina van de laadpaal bij “OCPP”: het adres van de server is",
    silent_identity: "de identiteit (ook wel “ChargePoint ID”) is",
    silent_password:
      "het wachtwoord is dat wat u kreeg toen u de laadpaal toevoegde. Heeft u het niet meer? Maak dan een nieuw.",
    silent_mirror:
      "Stuurt uw backoffice, of een proxy, al een kopie? Controleer daar het adres. Heeft u het adres niet meer? Maak hieronder een nieuw.",
    refused: (when: string) =>
      `Op ${when} kwam met deze identiteit een verkeerd wachtwoord binnen. Het kan de laadpaal van iemand anders zijn: een identiteit is niet geheim. Was u uw laadpaal toen niet aan het instellen? Dan hoeft u niets te doen.`,
    renewals: {
      own: {
        ask: "Maak een nieuw wachtwoord",
        means:
          "Het oude wachtwoord werkt dan niet meer. Een adres voor een kopie werkt dan ook niet meer. Vul het nieuwe wachtwoord in uw laadpaal in.",
        action: "Maak een nieuw wachtwoord",
      },
      short: {
        ask: "Mijn laadpaal neemt zo'n lang wachtwoord niet",
        means:
          "Dan maken wij een wachtwoord van 16 tekens. Het oude werkt daarna niet meer. Een adres voor een kopie werkt dan ook niet meer.",
        action: "Maak een korter wachtwoord",
      },
      copy: {
        ask: "Maak een nieuw adres voor een kopie",
        means:
          "Voor een laadpaal die al een backoffice heeft. Een oud adres voor een kopie en het oude wachtwoord werken dan niet meer. Vul het nieuwe adres in bij uw backoffice of proxy.",
        action: "Maak een nieuw adres",
      },
    },
    what_mid: "Wat is een MID-meter?",
    mid_means:
      "Een MID-meter is een geijkte meter: de overheid vertrouwt wat hij meet. Alleen stroom die zo is gemeten, levert ERE op.",
    remove: (name: string) => `Haal ${name} weg`,
    remove_title: (name: string) => `Haalt u ${name} weg?`,
    remove_means: [
      "De laadpaal kan geen verbinding meer maken met ons.",
      "Wat hij al laadde, blijft staan en telt mee. Wat hij nu aan het laden is, telt niet mee.",
    ],
    yes: "Ja, haal weg",
    no: "Nee, terug",
    add: "Voeg een laadpaal toe",
    add_model: "Weet u merk en model? Dan vult u die in, met het serienummer.",
    add_model_action: "Kies merk en model",
    add_ocpp: "Of laat de laadpaal zelf verbinding maken (OCPP)",
    ask: "Heeft uw laadpaal al een backoffice?",
    ask_means:
      "Een backoffice is het systeem waar uw laadpaal nu al mee praat, bijvoorbeeld van de leverancier, uw werkgever of uw laadpas.",
    ways: {
      copy: {
        answer: "Ja, hij heeft er al een",
        how: "Verander niets in de laadpaal. Vul het adres dat u van ons krijgt in bij uw backoffice, of bij een programma ertussen (een OCPP-proxy), als tweede server.",
      },
      own: {
        answer: "Nee, nog niet",
        how: "U krijgt een adres, een identiteit en een wachtwoord. Zoek in de app of op de webpagina van uw laadpaal naar “OCPP”, “backend” of “server”, en vul die drie daar in.",
      },
    },
    check: "Kijk daarna hier of wij de laadpaal horen. Lukt het niet? Vraag uw backoffice of uw installateur om hulp.",
    submit: "Maak het adres",
    name: "Naam",
    name_hint: "Hoe noemt u deze laadpaal? Bijvoorbeeld Oprit.",
    own_identity: "Identiteit (niet verplicht)",
    own_identity_hint: "Heeft uw laadpaal er al een? Vul die dan hier in. Anders maken wij er een.",
    new_title: "Vul dit in uw laadpaal in",
    new_title_copy: "Vul dit adres in bij uw backoffice of proxy",
    new_once: "Schrijf het wachtwoord nu op. Wij laten het maar één keer zien.",
    address: "Adres van onze server",
    identity: "Identiteit",
    password: "Wachtwoord",
    model_unknown: "Deze laadpaal heeft ons merk en model niet gemeld. Kies ze hier.",
    serial_unknown:
      "Deze laadpaal heeft ons geen serienummer gemeld, en u heeft nog een laadpaal. De kWh tellen mee zodra wij het serienummer weten: pas dan kunnen wij de twee uit elkaar houden.",
    serial_submit: "Bewaar serienummer",
    elsewhere: (own: string | null) =>
      own
        ? `U heeft dit serienummer ook bij ${own}. De kWh tellen daar mee, en hier niet. Zijn het twee laadpalen? Geef elke laadpaal zijn eigen adres.`
        : "Iemand anders heeft een laadpaal met dit serienummer aangemeld. De kWh van deze laadpaal tellen niet mee. Is hij van u? Stuur ons een foto van het typeplaatje.",
    elsewhere_until: (own: string | null, since: string | null, until: string) => {
      const when = since ? `van ${since} tot ${until}` : `tot ${until}`;
      return own
        ? `U had deze laadpaal eerder aangemeld als ${own}. Wat hij laadde ${when}, telt daar mee, en hier niet.`
        : `Iemand anders had deze laadpaal aangemeld. Wat hij laadde ${when}, telt niet voor u mee. Klopt dat niet? Stuur ons een foto van het typeplaatje.`;
    },
    mixed: (serial: string, when: string) =>
      `Op het adres voor een kopie meldde zich ook een andere laadpaal, met serienummer ${serial}, laatst op ${when}. Wat die laadt, telt hier niet mee. Elke laadpaal heeft een eigen adres nodig: maak hieronder een nieuw adres en gebruik het alleen voor deze laadpaal. Heeft deze laadpaal zelf een nieuw serienummer? Haal hem dan weg en voeg hem opnieuw toe.`,
    unplaced: (when: string, kwh: string | null) =>
      `Op ${when} eindigde een laadbeurt${kwh ? `, met meterstand ${kwh} kWh` : ""}, maar wij weten niet welke: er ontbreekt een bericht, of de nummers ervan verschillen. De kWh na de laatste stand die wij kregen, tellen nog niet mee. Laat uw backoffice of proxy alle berichten doorsturen.`,
    model: "Merk en model",
    choose_model: "Kies merk en model",
    serial: "Serienummer",
    serial_hint: "Het staat op een sticker op de laadpaal, of in de app",
    model_submit: "Bewaar merk en model",
    news: {
      removed: "De laadpaal is weggehaald.",
      chosen: "Merk en model zijn bewaard.",
      numbered: "Het serienummer is bewaard.",
    },
    only_address: "Is er alleen een veld voor het adres? Vul dan dit in",
    mirror_means:
      "Laat uw laadpaal zoals hij is. Laat uw backoffice, of een programma ertussen (een OCPP-proxy), ons een kopie sturen op dit adres. Een identiteit en een wachtwoord zijn niet nodig. Gebruik dit adres voor deze ene laadpaal. Herstart de laadpaal daarna één keer: dan meldt hij merk en model. Wij laten dit adres maar één keer zien: wie het heeft, kan ons meterstanden sturen.",
    mirror_address: "Adres voor een kopie",
    errors: {
      name: "Vul een naam in van hoogstens 100 tekens",
      way: "Kies of uw laadpaal al een backoffice heeft",
      limit: "U heeft al 10 laadpalen. Haal er eerst een weg",
      identity: "Vul hoogstens 64 letters, cijfers, spaties of tekens als - _ * : in, en geen wachtwoord",
      identity_taken: "U heeft al een laadpaal met deze identiteit",
      model: "Kies merk en model",
      serial: "Vul het serienummer in",
      claimed: "Deze laadpaal is al door iemand aangemeld. Controleer het serienummer",
    },
  },

  data: {
    title: "Uw gegevens",
    download_title: "Alles in één bestand",
    download_what:
      "Hier krijgt u wat wij onder uw naam bewaren: uw gegevens, machtigingen, laadbeurten en betalingen. De tabel opent u in Excel of een ander rekenprogramma. Het JSON-bestand heeft ook de tekst van uw machtigingen, en is voor andere programma's.",
    download_table: "Download uw gegevens als tabel (CSV)",
    download: "Download uw gegevens als JSON",
    table: {
      head: [
        "Wat",
        "Datum",
        "Omschrijving",
        "Getal",
        "Eenheid",
        "Einde",
        "Meterstand begin (kWh)",
        "Meterstand eind (kWh)",
        "Bron",
      ],
      email: "E-mailadres",
      partner: "Aangemeld via",
      name: "Naam",
      phone: "Telefoon",
      iban: "Rekening eindigt op",
      connection: "Aansluiting",
      mandate: "Machtiging",
      holds: (from: string, until: string) => `van ${from} tot en met ${until}`,
      month: "Maand",
      payout: "Uitbetaling",
      to: (last4: string) => `naar de rekening die eindigt op ${last4}`,
      charger: "Laadpaal",
      app: "App met toegang",
      token: "Token",
      session: "Laadbeurt",
    },
    file: "mijn-gegevens",
    end_title: "Stop met uw account",
    end_what: "Wilt u helemaal stoppen? U ziet eerst wat dat betekent.",
    end_link: "Beëindig uw account",
    ask_title: "Wilt u uw account beëindigen?",
    press_again: "Uw code klopt. Uw account bestaat nog: druk nog eens op de knop om het te beëindigen.",
    mandate_ends:
      "Uw machtiging eindigt. Wat u tot deze maand laadde, telt nog mee. Wat u deze maand laadde niet meer.",
    lost: (kwh: string) =>
      `${kwh} van eerdere maanden telt niet meer mee: uw registratie is niet goedgekeurd. Wilt u dat dit nog meetelt? Maak uw aanmelding dan eerst in orde, en beëindig uw account daarna.`,
    access_ends:
      "U kunt niet meer inloggen. Uw tokens en de apps die u toegang heeft gegeven, werken niet meer. U deelt niets meer.",
    managed_alone: (partner: string) =>
      `U bent de enige die ${partner} bij ons beheert. Nodig eerst een collega uit. Doet u dat niet, dan horen wij dat niemand het meer beheert, en nodigen wij iemand anders van ${partner} uit.`,
    chargers_end: "Uw laadpalen maken geen verbinding meer met ons.",
    paid: (euro: string) =>
      `Wij betalen u nog ${euro}, ook als dat minder is dan het gewone minimum. Komt er later nog iets bij, dan betalen wij dat ook.`,
    paid_later:
      "Brengen uw ERE later nog iets op, dan betalen wij u dat, ook als het minder is dan het gewone minimum.",
    kept: (date: string) =>
      `Wij moeten zeven jaar bewaren hoe uw laadstroom geld werd: uw machtigingen met uw naam en adres, de maanden en de betalingen. Wij verwijderen dat vanaf ${date}.`,
    nothing_kept: "Wij bewaren daarna niets meer van u.",
    gone: "U kunt dit niet terugdraaien.",
    first_download: "Wilt u uw gegevens bewaren? Download ze dan eerst.",
    iban: "U krijgt nog geld, maar wij weten niet op welke rekening. Vul eerst uw rekeningnummer in, bij Geld.",
    yes: "Ja, beëindig mijn account",
    no: "Nee, terug",
    closed: "Uw account is beëindigd",
    closed_mailed: "Wij hebben u gemaild wat dat betekent.",
    closed_again: "Wilt u later weer meedoen, of heeft u nog een vraag? Mail ons:",
  },
};

export type MijnWords = typeof nl;
