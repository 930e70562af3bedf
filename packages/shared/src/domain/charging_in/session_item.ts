import type { oas31 } from "zod-openapi";
import { countryCode } from "#shared/values/countries.ts";
import { wattHours } from "#shared/values/energy.ts";
import { serialNumber } from "#shared/values/fields.ts";
import { isPlain, storable } from "#shared/values/text.ts";

/** An item of `sessions`, for the document only. Code judges each item by itself, so a malformed item fails alone. */
export const SESSION: oas31.SchemaObject = {
  type: "object",
  required: ["session_id", "started_at"],
  properties: {
    session_id: { type: "string", minLength: 1, maxLength: 120, description: "Your own id of the session" },
    charger_id: { type: "string", description: "The charger, by our id; or by one or more of your names below" },
    external_ref: { type: "string", description: "Your own name of the charger" },
    serial_number: { type: "string", description: "Its serial number" },
    evse_uid: { type: "string", description: "Your platform's id of the EVSE" },
    evse_id: { type: "string", description: "eMI3 id of the EVSE" },
    meter_id: { type: "string", description: "The id of the meter" },
    evse_no: { type: "integer", minimum: 1, maximum: 100, description: "Which EVSE of the charger; 1 if omitted" },
    started_at: { type: "string", description: "With a time zone", example: "2026-03-10T18:00:00+01:00" },
    ended_at: { type: "string", description: "With a time zone; omitted while the car is charging" },
    kwh: {
      type: "number",
      minimum: 0,
      maximum: 1_000_000,
      description: "Energy, stored with three decimals; may be omitted if you send both readings",
      example: 18.42,
    },
    meter_start_kwh: { type: "number", minimum: 0, description: "The meter's reading at the start", example: 4012.1 },
    meter_end_kwh: { type: "number", minimum: 0, description: "The meter's reading at the end", example: 4030.52 },
    power_type: { type: "string", enum: ["AC", "DC"], description: "A DC session may have up to 400 kW" },
    country: { type: "string", description: "Where it charged, NL if omitted; elsewhere is stored and not counted" },
    signed: {
      type: "array",
      maxItems: 20,
      items: { type: "string" },
      description: "Signed meter values, such as OCMF; kept as they are",
    },
  },
};

type Optional = {
  field: "power_type" | "country";
  /** Reads a value of JSON; one that cannot be read refuses the session. */
  read: (value: unknown) => unknown;
  /** Reads a word of a file; one that cannot be read is left out. */
  ofWord: (word: string) => string | null | undefined;
};

/** What a session may say besides. */
export const OPTIONAL: readonly Optional[] = [
  {
    field: "power_type",
    read: (value) => (value === "AC" || value === "DC" ? value : undefined),
    ofWord: (word) => /(?<![A-Z])[AD]C(?![A-Z])/.exec(word.toUpperCase())?.[0],
  },
  {
    field: "country",
    read: (value) => (typeof value === "string" && /^[A-Z]{2,3}$/.test(value) ? value : undefined),
    ofWord: countryCode,
  },
];

export const NAMES = ["external_ref", "serial_number", "evse_uid", "evse_id", "meter_id"] as const;

/** Made once: making it takes longer than reading a session. */
const SERIAL_NUMBER = serialNumber();

/** What SQL stores, without charger. Energy is in whole watt hours, moments are in UTC to the second. */
export type Item = { place: number; [field: string]: unknown };
export type Unreadable = { place: number; reason: string };

/** An instant with its zone, as `2026-03-10T17:00:00Z`; null where it is none. */
function readInstant(value: unknown): string | null {
  if (typeof value !== "string") return null;
  const parts = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,9})?)?(?:Z|[+-](?:0\d|1[0-4]):?[0-5]\d)$/.exec(
    value,
  );
  if (!parts) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts
    .slice(1)
    .map((part) => Number(part ?? 0));
  if (month < 1 || month > 12 || day < 1 || day > new Date(Date.UTC(year, month, 0)).getUTCDate()) return null;
  if (hour > 23 || minute > 59 || second > 59 || year < 1900) return null;
  // as we write it
  if (value.length === 20) return value;
  const zone = /([+-])(\d\d):?(\d\d)$/.exec(value.slice(16));
  const ahead = zone ? (zone[1] === "-" ? -1 : 1) * (Number(zone[2]) * 60 + Number(zone[3])) : 0;
  const moment = Date.UTC(year, month - 1, day, hour, minute - ahead, second);
  return moment < Date.UTC(10_000) ? writeInstant(moment) : null;
}

export const writeInstant = (moment: number): string => `${new Date(moment).toISOString().slice(0, 19)}Z`;

const text = (value: unknown, most = 120): string | null => {
  const trimmed = typeof value === "string" ? value.trim() : "";
  return trimmed && trimmed.length <= most && isPlain(trimmed) ? trimmed : null;
};

/** Watt hours of kWh; null if the value is no number from 0 to `most` kWh. */
const energyOf = (value: unknown, most: number): number | null =>
  typeof value === "number" && value >= 0 && value <= most ? wattHours(String(value), 3) : null;

/** What programs write where a session has no id. */
export const isNoId = (id: string): boolean =>
  /^(?:n\/a|n\.?v\.?t\.?|[-–—]+|null|nil|none|nan|undefined|unknown|onbekend|unbekannt|0+)$/i.test(id);

/** The largest reading that a meter shows. */
const MOST_READING = 1_000_000_000;

/**
 * Reads one session. What it does not know is ignored.
 * @param source `api`: the session has an id of the client's own. `file`: without one its EVSE and start identify it.
 */
export function readItem(raw: unknown, place: number, source: "api" | "file" = "api"): Item | Unreadable {
  const sent = (raw ?? {}) as Record<string, unknown>;
  const unreadable = (reason: string) => ({ place, reason });
  const absent = (field: string) => sent[field] === undefined || sent[field] === null;
  const item: Item = { place, source };
  const document: Record<string, unknown> = {};
  const keep = (field: string, value: unknown) => {
    item[field] = value;
    document[field] = sent[field];
  };

  if (source === "api") {
    const external_id = text(sent.session_id);
    if (!external_id) return unreadable("bad_session_id");
    if (isNoId(external_id)) return unreadable("no_session_id");
    item.external_id = document.session_id = external_id;
  }
  for (const name of NAMES) {
    if (absent(name)) continue;
    const value = name === "serial_number" ? SERIAL_NUMBER.safeParse(sent[name]).data : text(sent[name]);
    if (!value) return unreadable(`bad_${name}`);
    keep(name, value);
  }
  if (!absent("charger_id")) {
    const { charger_id } = sent;
    if (typeof charger_id !== "string" || !/^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(charger_id))
      return unreadable("bad_charger_id");
    keep("charger_id", charger_id.toLowerCase());
  } else if (NAMES.every(absent)) return unreadable("no_charger");

  const started_at = readInstant(sent.started_at);
  if (!started_at) return unreadable("bad_started_at");
  keep("started_at", started_at);
  if (!absent("ended_at")) {
    const ended_at = readInstant(sent.ended_at);
    if (!ended_at) return unreadable("bad_ended_at");
    keep("ended_at", ended_at);
  }
  for (const [field, column] of [
    ["meter_start_kwh", "meter_start_wh"],
    ["meter_end_kwh", "meter_end_wh"],
  ] as const) {
    if (absent(field)) continue;
    const wh = energyOf(sent[field], MOST_READING);
    if (wh === null) return unreadable(`bad_${field}`);
    item[column] = wh;
    document[field] = sent[field];
  }
  if (absent("kwh")) {
    if (item.meter_start_wh !== undefined && item.meter_end_wh !== undefined)
      item.wh = Number(item.meter_end_wh) - Number(item.meter_start_wh);
    else if (absent("ended_at")) item.wh = 0;
    else return unreadable("bad_kwh");
  } else {
    const wh = energyOf(sent.kwh, 1_000_000);
    if (wh === null) return unreadable("bad_kwh");
    item.wh = wh;
    document.kwh = sent.kwh;
  }
  if (!absent("evse_no")) {
    const { evse_no } = sent;
    if (!Number.isInteger(evse_no) || (evse_no as number) < 1 || (evse_no as number) > 100)
      return unreadable("bad_evse_no");
    keep("evse_no", evse_no);
  }
  for (const { field, read } of OPTIONAL) {
    if (absent(field)) continue;
    const value = read(sent[field]);
    if (value === undefined) return unreadable(`bad_${field}`);
    keep(field, value);
  }
  if (item.country !== undefined && item.country !== "NL" && item.country !== "NLD") item.flags = ["abroad"];
  if (!absent("signed")) {
    const { signed } = sent;
    if (!Array.isArray(signed) || signed.length > 20 || !signed.every((each) => typeof each === "string" && each))
      return unreadable("bad_signed");
    item.signed = signed.map((each: string) => storable(each));
  }
  item.document = document;
  return item;
}
