import { unitOf } from "../../sheet/decimals.ts";
import { NAMES } from "../session_item.ts";

export const KINDS = ["months", "sessions"] as const;
export type Kind = (typeof KINDS)[number];

/**
 * The fields of each kind and the headers that name them, in Dutch and English. Case, spaces, signs and a unit do not
 * matter: "Meterstand begin (kWh)" is meterstandbegin.
 */
export const HEADINGS = {
  months: {
    cpo_external_ref: "cpoexternalref klantnummer klantreferentie customernumber customerref referentie ref",
    ean: "ean eancode",
    connection_id: "connectionid",
    period: "period periode maand month",
    kwh: "kwh energie energy totalenergy verbruik geladen volume hoeveelheid totaal total",
    session_count: "sessioncount sessies aantalsessies laadsessies sessions numberofsessions",
  },
  sessions: {
    session_id: "sessionid sessie sessieid sessienummer session transactieid transactionid",
    charger_id: "chargerid",
    external_ref:
      "externalref laadpaal laadpaalid laadpaalnummer laadpunt laadpuntid paal station charger chargername chargepoint chargepointid",
    serial_number: "serialnumber serienummer serienummerlaadpaal serial",
    evse_uid: "evseuid",
    evse_id: "evseid evse",
    meter_id: "meterid meternummer meternumber meter",
    evse_no: "evseno evsenr evsenummer",
    started_at:
      "startedat start begin starttijd begintijd starttime startdatum startdatumtijd datumstart startlaadsessie startdate startdatetime",
    ended_at:
      "endedat eind einde end eindtijd endtime einddatum einddatumtijd datumeind datumeinde eindlaadsessie eindelaadsessie enddate enddatetime stop stoptijd",
    kwh: "kwh energie energy totalenergy verbruik geladen volume hoeveelheid totaal total",
    meter_start_kwh: "meterstart meterstandbegin meterstandstart beginstand meterreadingstart",
    meter_end_kwh: "meterend meterstandeind meterstandeinde eindstand meterreadingend",
    power_type: "powertype laadtype",
    country: "country land",
  },
} as const;

export type MonthField = keyof (typeof HEADINGS)["months"];
export type SessionField = keyof (typeof HEADINGS)["sessions"];
export type Field = MonthField | SessionField;

const KNOWN = Object.fromEntries(
  KINDS.map((kind) => [
    kind,
    new Map(Object.entries(HEADINGS[kind]).flatMap(([field, names]) => names.split(" ").map((name) => [name, field]))),
  ]),
) as Record<Kind, Map<string, Field>>;

/** Columns whose cells are energy. */
export const ENERGY: readonly Field[] = ["kwh", "meter_start_kwh", "meter_end_kwh"];

function fieldOf(kind: Kind, header: string): Field | null {
  const { unit, rest } = unitOf(header.normalize("NFKC"));
  const name = rest.toLowerCase().replace(/[^a-z0-9]/g, "");
  return KNOWN[kind].get(name || (unit ? "kwh" : "")) ?? null;
}

/** Whether a header is a column of either kind: it helps to find the delimiter of a CSV file. */
export const isColumn = (header: string): boolean => KINDS.some((kind) => fieldOf(kind, header) !== null);

/** The field of each header; of two headers for one field the first counts. */
export function fieldsOf(kind: Kind, headers: readonly string[]): (Field | null)[] {
  const found = headers.map((header) => fieldOf(kind, header));
  return found.map((field, place) => (field && found.indexOf(field) === place ? field : null));
}

/** What a file must have, each by one of these columns; readings need both. */
const NEEDS = {
  months: { customer: ["cpo_external_ref", "ean", "connection_id"], month: ["period"], kwh: ["kwh"] },
  sessions: {
    charger: ["charger_id", ...NAMES],
    start: ["started_at"],
    kwh_or_readings: ["kwh", "meter_start_kwh"],
  },
} as const satisfies Record<Kind, Record<string, readonly Field[]>>;

export type Need = { [K in Kind]: keyof (typeof NEEDS)[K] }[Kind];

/** What a file with these fields lacks to tell months, or sessions. */
export function lacks(kind: Kind, fields: readonly (Field | null)[]): Need[] {
  const one = !fields.includes("kwh") && fields.includes("meter_start_kwh") !== fields.includes("meter_end_kwh");
  return Object.entries<readonly Field[]>(NEEDS[kind]).flatMap(([need, any]) =>
    any.some((field) => fields.includes(field)) && !(need === "kwh_or_readings" && one) ? [] : [need as Need],
  );
}
