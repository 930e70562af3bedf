import type { Locale } from "#shared/values/locale.ts";
import { measureOf, unitOf } from "../../sheet/decimals.ts";
import { unitOfTime } from "../../sheet/durations.ts";
import type { EnergyUnit } from "../../sheet/model.ts";
import { type Zone, zoneOf } from "../../sheet/zones.ts";

export const KINDS = ["months", "sessions"] as const;
export type Kind = (typeof KINDS)[number];

const KWH =
  "kwh kilowatthours energie energy totalenergy energytotal energietotaal totaleenergie energydelivered deliveredenergy energyconsumed " +
  "consumedenergy consumedkwh deliveredkwh chargedenergy energycharged energyadded addedenergy energyused chargeenergy chargingenergy sessionenergy " +
  "energieverbruik totaalverbruik totaalenergie totaalgeladen geladenenergie geladen verbruik verbruikt volume hoeveelheid consumption totalconsumption totalvolume " +
  "verbrauch geladeneenergie energiemenge lademenge ladeenergie energieverbrauch strommenge";

/**
 * The fields of each kind and the headings that name them, in Dutch, English and German. Case, spaces, signs, accents and a unit do not
 * matter: "Meterstand begin (kWh)" is meterstandbegin.
 */
export const HEADINGS = {
  months: {
    cpo_external_ref:
      "cpoexternalref klantnummer klantnr klantreferentie klantid customernumber customerno customerref customerid customerreference " +
      "referentie reference ref kundennummer kundennr kundenreferenz",
    ean: "ean eancode eannummer eannumber",
    connection_id: "connectionid",
    period:
      "period periode maand month monat jaarmaand yearmonth leveringsmaand billingmonth zeitraum abrechnungsmonat",
    kwh: KWH,
    session_count:
      "sessioncount sessies aantalsessies laadsessies aantallaadsessies sessions numberofsessions totalsessions chargingsessions " +
      "sitzungen ladevorgange anzahlladevorgange anzahlsitzungen",
  },
  sessions: {
    session_id:
      "sessionid sessie sessieid sessienummer sessienr session sessionnumber sessionidentifier laadsessie laadsessieid laadsessienummer " +
      "transactie transactieid transactienummer transaction transactionid transactionnumber id cdrid cdr chargesessionid " +
      "chargingsessionid chargeid plugineventid sitzungsid sitzungsnummer sitzung ladevorgang ladevorgangid ladevorgangsid " +
      "ladevorgangnummer transaktionsid transaktion transaktionsnummer",
    charger_id: "chargerid",
    external_ref:
      "externalref laadpaal laadpaalid laadpaalnummer laadpaalnaam laadpunt laadpuntid laadpuntnaam laadpuntnummer " +
      "laadstation laadstationid laadstationnaam lader laderid ladernaam paal paalid paalnaam paalnummer oplaadpunt oplaadpunten station stationid " +
      "stationname stationnaam charger chargername chargebox chargeboxid chargeboxidentity chargepoint chargepointid chargepointname " +
      "chargingpoint chargingpointid chargingpointname chargingstation chargingstationid chargingstationname " +
      "chargestation chargestationid chargestationname loadpoint wallbox wallboxid wallboxname devicename device ladepunkt " +
      "ladepunktid ladepunktname ladestation ladestationid ladestationname ladesaule ladesaulenid ladegerat",
    serial_number:
      "serialnumber serialno serial serienummer serienr serienummerlaadpaal serienummerlader chargerserial chargerserialnumber " +
      "deviceserial deviceserialnumber deviceid systemsn seriennummer geratenummer",
    evse_uid: "evseuid",
    evse_id: "evseid evse evseidentifier evsecode",
    meter_id: "meterid meternummer meternumber meter meterserial meterserialnumber zahlernummer zahlerid",
    evse_no:
      "evseno evsenr evsenummer evsenumber connector connectorid connectorno connectornumber connectornr port portnumber portid outlet " +
      "outletid socket socketid stopcontact aansluiting plug plugid stecker anschluss ladebuchse",
    started_at:
      "startedat start started startedon begin starttijd begintijd starttime startdatum begindatum startdatumtijd starttijdstip " +
      "startmoment begindatumtijd startlaadsessie beginlaadsessie startdate startdatetime " +
      "transactionstart transactiestart startdateandtime starttimestamp startat sessionstart " +
      "sessionstarttime sessionstartdate sessionstarted sessiestart sessiebegin chargingstart chargestart chargestarttime chargingstartdatetime " +
      "chargingstarttime created createdat aangemaakt gestart gestartop beginn startzeit startzeitpunkt startdatumzeit " +
      "gestartet ladebeginn anfang beginnzeit ladestart begonnen plugintime plugin connectionstartdatetime carconnected",
    ended_at:
      "endedat eind einde end ended endedon eindtijd eindetijd endtime einddatum einddatumtijd eindtijdstip eindmoment " +
      "datumeinde einddatumentijd eindlaadsessie eindelaadsessie enddate enddatetime transactionend transactieeinde " +
      "enddateandtime endtimestamp endat sessionend sessionendtime sessionenddate sessionended " +
      "sessieeinde eindsessie chargingend chargingstop chargeend chargeendtime chargingendtime chargingenddatetime stop stoptijd stoptime " +
      "stopdate stopdatum stopdatetime stoptimestamp stopped stoppedat stopmoment finish finished finishedat finishedon finishtime " +
      "completed completedat beeindigd beeindigdop geeindigd gestopt gestoptop afgerond ende endzeit endzeitpunkt enddatum " +
      "enddatumzeit beendet ladeende stoppzeit plugouttime unplugged connectionenddatetime cardisconnected",
    date: "datum date dag day tag laaddatum sessiedatum chargedate chargingdate sessiondate ladedatum",
    duration:
      "duur duration dauer laadduur sessieduur tijdsduur totaleduur totalduration laadtijd chargingduration " +
      "chargeduration sessionduration sessionlength chargingtime chargetime totaltime ladedauer ladezeit " +
      "sitzungsdauer gesamtdauer elapsedtime",
    time_zone:
      "tijdzone timezone tz zeitzone utcoffset starttimezone starttijdzone timezoneid endtimezone eindtijdzone",
    kwh: KWH,
    meter_start_kwh:
      "meterstart meterstandbegin meterstandstart beginstand startstand beginmeterstand startmeterstand meterreadingstart " +
      "startmeterreading startmetervalue metervaluestart startmeter meterbegin beginwaardemeter startwaardemeter zahlerstandstart " +
      "zahlerstandbeginn zahlerstandanfang anfangszahlerstand startzahlerstand",
    meter_end_kwh:
      "meterend meterstop meterstandeind meterstandeinde meterstandstop eindstand stopstand eindmeterstand meterreadingend " +
      "meterreadingstop endmeterreading stopmeterreading endmeter stopmeter metereind metereinde endmetervalue metervalueend metervaluestop eindwaardemeter " +
      "zahlerstandende zahlerstandstop endzahlerstand zahlerstandstopp",
    power_type: "powertype laadtype stroomtype currenttype ladetyp acdc",
    country: "country countrycode land landcode",
  },
} as const;

export type MonthField = keyof (typeof HEADINGS)["months"];
export type SessionField = keyof (typeof HEADINGS)["sessions"];
export type Field = MonthField | SessionField;

/** What people read for each field. */
export const FIELD_NAMES: Readonly<Record<Field, Readonly<Record<Locale, string>>>> = {
  cpo_external_ref: { nl: "Klantnummer", en: "Customer number" },
  ean: { nl: "EAN", en: "EAN" },
  connection_id: { nl: "Aansluiting", en: "Connection" },
  period: { nl: "Maand", en: "Month" },
  kwh: { nl: "kWh", en: "kWh" },
  session_count: { nl: "Aantal sessies", en: "Number of sessions" },
  session_id: { nl: "Sessie", en: "Session" },
  charger_id: { nl: "Laadpaal (ons id)", en: "Charger (our id)" },
  external_ref: { nl: "Laadpaal", en: "Charger" },
  serial_number: { nl: "Serienummer", en: "Serial number" },
  evse_uid: { nl: "EVSE-uid", en: "EVSE uid" },
  evse_id: { nl: "EVSE-id", en: "EVSE id" },
  meter_id: { nl: "Meter", en: "Meter" },
  evse_no: { nl: "Nummer van de EVSE", en: "Number of the EVSE" },
  started_at: { nl: "Start", en: "Start" },
  ended_at: { nl: "Eind", en: "End" },
  date: { nl: "Datum", en: "Date" },
  duration: { nl: "Duur", en: "Duration" },
  time_zone: { nl: "Tijdzone", en: "Time zone" },
  meter_start_kwh: { nl: "Meterstand begin", en: "Meter start" },
  meter_end_kwh: { nl: "Meterstand eind", en: "Meter end" },
  power_type: { nl: "Soort stroom", en: "Kind of current" },
  country: { nl: "Land", en: "Country" },
};

/** Every field, of months and of sessions. */
export const FIELDS = [...new Set(KINDS.flatMap((kind) => Object.keys(HEADINGS[kind]) as Field[]))];

const KNOWN = Object.fromEntries(
  KINDS.map((kind) => [
    kind,
    new Map(Object.entries(HEADINGS[kind]).flatMap(([field, names]) => names.split(" ").map((name) => [name, field]))),
  ]),
) as Record<Kind, Map<string, Field>>;

/** Columns whose cells are energy. */
export const ENERGY: readonly Field[] = ["kwh", "meter_start_kwh", "meter_end_kwh"];
const TIMES: readonly Field[] = ["started_at", "ended_at", "date"];

/** Names that another heading of the same field outdoes, where both can be read. */
const WEAK = new Set(
  "created createdat aangemaakt plugin plugintime connectionstartdatetime connectionenddatetime carconnected cardisconnected plugouttime unplugged completed completedat id transaction device devicename deviceid chargingtime chargetime laadtijd meter".split(
    " ",
  ),
);
/** Words by which numbers are no energy of a charge, also inside longer words. */
const OTHER_WORDS =
  /prijs|price|preis|kost|cost|tarief|tariff|tarif|bedrag|betrag|vergoeding|reimburse|belasting|omzet|revenue|vermogen|leistung|procent|percent|prozent|capacit|kapazit|limiet|kilometer|odometer|afstand|distance|temperat|uitstoot|emiss|forecast|prognos|request|gevraagd|angefordert|remain|resterend|expected|verwacht|planned|gepland|geplant|teruglever|einspeis|export|ontlad|entlad|discharg|cumul|kumul|lifetime|levensduur|gemiddeld|average|durchschnitt/;
const OTHER_NAMES = new Set(
  "per pro je rate avg since sinds seit ytd fee fees btw vat mwst valuta currency euros power kw soc co2 ghg accu battery batterij batterie limit max min maximum minimum target doel budget".split(
    " ",
  ),
);
/** Words of a meter's register, which is no energy of a charge. */
const REGISTER =
  /^(?:begin|beginn|start|anfang|eind|einde|end|ende|stop|slot|stopp|index|register)$|meter(?!ed|ing)|teller|zahler|counter|reading|stand(?:en)?$/;
const METER = /meter|teller|zahler|counter|stand|reading/;
const BEGIN = /begin|start|anfang/;
const END = /eind|end|stop/;

/** Where energy came from, or went to: a part of a charge, where another column has all of it. */
const PART =
  /^(?:solar|pv|zon|zonne.*|sonne.*|sun|grid|net|netz|net(?:z)?strom|netstroom|home|huis|haus|surplus|overschot|uberschuss|green|groene?|grune?|grijze?|grauer?|free|gratis|paid|betaald|peak|offpeak|piek|dal|hoog|laag|nacht|night)$/;
/** Energy that no car got, unless a heading says that it is included or not. */
const LOST = /^(?:(?:laad|lade)?(?:verlies|verlust)(?:en|e)?|loss(?:es)?|idle|standby)$/;
const INCLUDED = /^(?:in|ex)cl/;

/** A unit that is not counted by one: 0.1 Wh, x1000 kWh. */
const MULTIPLE = /(?<![\w.,])(?:0[.,]0*1|10+|1[.,]000|[x×*] ?\d+) ?[x×*]? ?[km]?wh/i;
const LOCAL = /^(?:local|lokaal|lokale|lokal|ortszeit)$/;

/** What a bracket may say without changing what the column is. */
const REMARK =
  /^(?!m{1,2}:s)(?:[dmyjuhst]{1,4}(?:[-/.: ,]+[dmyjuhst]{1,4})*|lokaal|lokale tijd|local|local time|nl|datum|date|tijd|time|datum en tijd|date and time|ortszeit)$/;
const ZONE = /^(?:utc|gmt|z|cet|cest|met|mest|(?:utc|gmt)?[+-]\d[\d:]*|[a-z]+\/[a-z_/]+)$/;

/** What a heading says. */
export type Heading = {
  /** Its field in each kind. */
  fields: Record<Kind, Field | null>;
  /** The unit of energy that it names. */
  unit: EnergyUnit | null;
  /** The zone that it names for its times. */
  zone: Zone | null;
  /** Milliseconds of the unit of time that it names. */
  timeUnit: number | null;
  /** Another heading of the same field outdoes it. */
  isWeak: boolean;
  /** It says that its times are those of the place. */
  isLocal: boolean;
  /** It names a part of the energy, such as what came from the sun. */
  isPart: boolean;
};

/** Lower case without accents. */
const plainOf = (text: string): string =>
  text.normalize("NFKD").replace(/\p{M}/gu, "").replaceAll("ß", "ss").toLowerCase();
const nameOf = (text: string): string => plainOf(text).replace(/[^a-z0-9]/g, "");

export function readHeading(written: string): Heading {
  const heading: Heading = {
    fields: { months: null, sessions: null },
    unit: null,
    zone: null,
    timeUnit: null,
    isWeak: false,
    isLocal: false,
    isPart: false,
  };
  if (!written || written.length > 120) return heading;
  const text = written.normalize("NFKC");
  const { unit, rest } = unitOf(text);
  const words = plainOf(rest.replace(/([a-z])([A-Z])/g, "$1 $2"))
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
  const name = nameOf(rest);
  const bracket = /[([]([^()[\]]*)[)\]]\s*$/.exec(rest);
  const remark = plainOf(bracket?.[1] ?? "").trim();
  const bare = bracket ? nameOf(rest.slice(0, bracket.index)) : name;
  const isLocal = words.some((word) => LOCAL.test(word));
  const isZoned = ZONE.test(bracket ? remark : (words.at(-1) ?? ""));
  const timeUnit = words.map(unitOfTime).find((ms) => ms !== null) ?? null;

  const fieldIn = (kind: Kind): Field | null => {
    const names = KNOWN[kind];
    const known =
      names.get(name) ??
      (bracket && REMARK.test(remark) ? names.get(bare) : null) ??
      (isLocal ? names.get(words.filter((word) => !LOCAL.test(word)).join("")) : null) ??
      zonedField(names.get(bracket ? bare : words.slice(0, -1).join(""))) ??
      durationOf(names.get(words.filter((word) => word !== "in" && unitOfTime(word) === null).join(""))) ??
      turnedField(names);
    const isOther =
      OTHER_WORDS.test(words.join(" ")) ||
      words.some((word) => OTHER_NAMES.has(word)) ||
      (words.some((word) => LOST.test(word)) && !words.some((word) => INCLUDED.test(word))) ||
      MULTIPLE.test(text) ||
      measureOf(text) === "other";
    if (known && !ENERGY.includes(known) && unit === null)
      return TIMES.includes(known) && /[€$£¥%]/.test(text) ? null : known;
    if (isOther || (unit === null && !known)) return null;
    if (known && ENERGY.includes(known)) return known;
    if (!words.some((word) => REGISTER.test(word))) return "kwh";
    if (kind === "months" || !METER.test(name) || BEGIN.test(name) === END.test(name)) return null;
    return BEGIN.test(name) ? "meter_start_kwh" : "meter_end_kwh";
  };
  const zonedField = (field: Field | undefined) => (field && isZoned && TIMES.includes(field) ? field : null);
  /** Of words in another order: Tijdstip start is starttijdstip. */
  const turnedField = (names: Map<string, Field>) =>
    words
      .map((_word, first) => names.get([...words.slice(first), ...words.slice(0, first)].join("")))
      .find((field) => field && !ENERGY.includes(field)) ?? null;
  const durationOf = (field: Field | undefined) => (field === "duration" ? field : null);

  const fields = { months: fieldIn("months"), sessions: fieldIn("sessions") };
  const isTime = fields.sessions !== null && TIMES.includes(fields.sessions);
  const zone = isTime && isZoned ? zoneOf(bracket ? remark : (words.at(-1) ?? "")) : null;
  return {
    fields,
    unit,
    zone,
    timeUnit,
    isWeak: WEAK.has(name),
    isLocal,
    isPart: words.some((word) => PART.test(word)),
  };
}

/** Whether a header is a column of either kind: it helps to find the delimiter of a CSV file. */
export function isColumn(header: string): boolean {
  const { months, sessions } = readHeading(header).fields;
  return months !== null || sessions !== null;
}

/** Whether the headings are in Dutch or German, where the day comes before the month. */
export const areDayFirst = (headers: readonly string[]): boolean =>
  headers.some((header) =>
    /laad|lader|paal|eind|tijd|datum|klant|maand|periode|sessie|verbruik|geladen|energie|hoeveelheid|meterstand|nummer|duur|lade|zeit|zahler|verbrauch|beginn|dauer|vorgang|monat|kunde/.test(
      plainOf(header),
    ),
  );
