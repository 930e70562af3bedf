import { unitOf } from "../../sheet/decimals.ts";
import { NAMES } from "../session_item.ts";

export const KINDS = ["months", "sessions"] as const;
export type Kind = (typeof KINDS)[number];

/**
 * The fields of each kind and the headers that name them, in Dutch and English. Case, spaces, signs and a unit do not
 * matter: "Meterstand begin (kWh)" is meterstandbegin.
 */
const FIELDS = {
  months: {
    cpo_external_ref: "cpoexternalref klantnummer klantreferentie customernumber customerref referentie ref",
    ean: "ean eancode",
    connection_id: "connectionid",
    period: "period periode maand month",
    kwh: "kwh energie energy verbruik geladen totaal total",
    session_count: "sessioncount sessies aantalsessies laadsessies sessions numberofsessions",
  },
  sessions: {
    session_id: "sessionid sessie sessieid sessienummer session transactieid transactionid",
    charger_id: "chargerid",
    external_ref: "externalref laadpaal laadpaalid laadpaalnummer laadpunt paal charger chargername",
    serial_number: "serialnumber serienummer serial",
    evse_uid: "evseuid",
    evse_id: "evseid evse",
    meter_id: "meterid meternummer meternumber meter",
    evse_no: "evseno evsenr evsenummer",
    started_at: "startedat start begin starttijd begintijd starttime startdatum startdate",
    ended_at: "endedat eind einde end eindtijd endtime einddatum enddate stop stoptijd",
    kwh: "kwh energie energy verbruik geladen totaal total",
    meter_start_kwh: "meterstart meterstandbegin meterstandstart beginstand meterreadingstart",
    meter_end_kwh: "meterend meterstandeind meterstandeinde eindstand meterreadingend",
    power_type: "powertype laadtype",
    country: "country land",
  },
} as const;

export type MonthField = keyof (typeof FIELDS)["months"];
export type SessionField = keyof (typeof FIELDS)["sessions"];
export type Field = MonthField | SessionField;

const KNOWN = Object.fromEntries(
  KINDS.map((kind) => [
    kind,
    new Map(Object.entries(FIELDS[kind]).flatMap(([field, names]) => names.split(" ").map((name) => [name, field]))),
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

/** Whether a file with these fields tells months, or sessions. */
export function fits(kind: Kind, fields: readonly (Field | null)[]): boolean {
  const has = (...any: Field[]) => any.some((field) => fields.includes(field));
  if (kind === "months") return has("cpo_external_ref", "ean", "connection_id") && has("period") && has("kwh");
  const readings = has("meter_start_kwh") && has("meter_end_kwh");
  return has("charger_id", ...NAMES) && has("started_at") && (has("kwh") || readings);
}
