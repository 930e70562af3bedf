/**
 * Reads a CDR of OCPI 2.2.1 (module `cdrs`, document 2.2.1-d2): what it says about a charging session, for
 * `private.store_client_sessions`. It knows no database and no connection. Only the fields that we use must be right:
 * any other costs at most a check.
 */
import { createHash } from "node:crypto";
import { z } from "#shared/foundation/zod.ts";
import { wattHours } from "#shared/values/energy.ts";
import { isPlain, storable } from "#shared/values/text.ts";
import { type Kept, keep } from "../kept.ts";

/** An EVSE id as names of chargers are compared. */
const bareEvse = (evse_id: string | null) => evse_id?.replace(/[*\s-]/g, "") ?? null;

/** The specification's sign for "there is none", where a field is required. */
const NONE = "#NA";

/** A CiString: compared without case, so kept in upper case. */
const id = (longest: number) =>
  z
    .string()
    .transform((value) => value.trim().toUpperCase())
    .refine((value) => value.length >= 1 && value.length <= longest, `must have 1 to ${longest} characters`)
    .refine(isPlain, "must not contain control characters");

/** An optional CiString; null if it is empty, a word for nothing, or none that can be used. */
const name = (longest: number, ofText = id(longest)) =>
  z
    .unknown()
    .optional()
    .transform((value) => ofText.safeParse(Number.isSafeInteger(value) ? `${value}` : value).data ?? null)
    .transform((value) => (value !== null && /^(?:N\/A|NULL|NONE|UNKNOWN|UNDEFINED|-+)$/.test(value) ? null : value));

/** Null if it is not there, or a text without a sign. */
const optional = <T extends z.ZodType>(schema: T) =>
  z
    .preprocess((value) => (typeof value === "string" && !value.trim() ? null : value), schema.nullish())
    .transform((value) => value ?? null);

/** Year, month and day, also without leading zeros; then a time and a zone. Both may be missing. */
const DATE_TIME =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)\s*(Z|[+-]\d{2}:?\d{2})?)?$/i;

/**
 * A DateTime in UTC, to the millisecond. Without a zone it is UTC (types, 2.2.1-d2), and an offset is honored. Null if it is of 1970,
 * or in UTC not of the years 1 to 9999: that is how platforms write a time that they do not know. PostgreSQL reads no such year.
 */
function momentOf(text: string): string | null | undefined {
  const [, year = "", month = "", day = "", time, zone] = DATE_TIME.exec(text.trim()) ?? [];
  if (year === "1970") return null;
  if (time === undefined) return undefined;
  const date = `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`;
  // the 30th of February would become the 2nd of March
  const midnight = new Date(`${date}T00:00:00Z`);
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(date)) return undefined;
  const offset = !zone || /^z$/i.test(zone) ? "Z" : zone.replace(/^(...):?/, "$1:");
  const moment = new Date(`${date}T${time}${offset}`);
  if (Number.isNaN(moment.getTime())) return undefined;
  const written = moment.toISOString();
  return /^(?!0000)\d{4}-/.test(written) ? written : null;
}

const dateTime = () =>
  z.string().transform((text, context) => {
    const moment = momentOf(text);
    if (moment !== undefined) return moment;
    context.addIssue("must be a date and time such as 2026-03-31T21:39:09Z");
    return z.NEVER;
  });

/** More than a charger can give in a month. */
const MOST_KWH = 1_000_000;

const Ids = z.object({
  country_code: id(2).pipe(z.string().regex(/^[A-Z]{2}$/, "must be two letters, such as NL")),
  party_id: id(3).pipe(z.string().regex(/^[A-Z0-9]{3}$/, "must be three letters or digits, such as TNM")),
  id: id(39),
});

const Cdr = z
  .object(
    {
      ...Ids.shape,
      start_date_time: dateTime(),
      end_date_time: dateTime(),
      total_energy: z.number(),
      cdr_location: z.object({
        country: id(60),
        evse_uid: name(48),
        evse_id: name(48),
        connector_power_type: z.unknown().optional(),
      }),
      meter_id: name(255),
      charging_periods: z.unknown().optional(),
      signed_data: z.unknown().optional(),
      credit: optional(z.boolean()),
      credit_reference_id: optional(id(39)),
    },
    { error: ({ code }) => (code === "invalid_type" ? "must be one CDR object" : undefined) },
  )
  .refine((cdr) => (cdr.credit ?? false) === (cdr.credit_reference_id !== null), {
    path: ["credit_reference_id"],
    error: "credit and credit_reference_id come together",
  })
  .refine((cdr) => cdr.credit_reference_id !== cdr.id, {
    path: ["credit_reference_id"],
    error: "must be the id of another CDR",
  })
  // a credit only names the CDR that it takes back: some platforms make its energy negative too
  .refine(({ credit, total_energy }) => credit || (total_energy >= 0 && total_energy <= MOST_KWH), {
    path: ["total_energy"],
    error: `must be 0 to ${MOST_KWH} kWh`,
  })
  .refine(
    ({ credit, total_energy, charging_periods }) => credit || total_energy !== 0 || !disagrees(0, charging_periods),
    {
      path: ["total_energy"],
      error: "is 0, but the charging periods have energy",
    },
  )
  .refine(({ cdr_location, meter_id }) => cdr_location.evse_uid ?? cdr_location.evse_id ?? meter_id, {
    path: ["cdr_location", "evse_uid"],
    error: "is missing, and so are evse_id and meter_id",
  });

const PRICE = { excl_vat: true, incl_vat: true } as const;

/** What we keep of a CDR as evidence: no card, no tariff, no remark, nothing that the specification does not know. */
const KEPT = {
  country_code: true,
  party_id: true,
  id: true,
  start_date_time: true,
  end_date_time: true,
  session_id: true,
  auth_method: true,
  cdr_location: {
    id: true,
    name: true,
    address: true,
    city: true,
    postal_code: true,
    country: true,
    coordinates: { latitude: true, longitude: true },
    evse_uid: true,
    evse_id: true,
    connector_id: true,
    connector_standard: true,
    connector_format: true,
    connector_power_type: true,
  },
  meter_id: true,
  currency: true,
  charging_periods: { start_date_time: true, dimensions: { type: true, volume: true }, tariff_id: true },
  total_cost: PRICE,
  total_fixed_cost: PRICE,
  total_energy: true,
  total_energy_cost: PRICE,
  total_time: true,
  total_time_cost: PRICE,
  total_parking_time: true,
  total_parking_cost: PRICE,
  total_reservation_cost: PRICE,
  credit: true,
  credit_reference_id: true,
  home_charging_compensation: true,
  last_updated: true,
} as const satisfies Kept;

/** What we keep of one that cannot be read: what a later reading may need. */
const WORDS = { ...KEPT, signed_data: { signed_values: { signed_data: true } } } as const satisfies Kept;

type Json = Readonly<Record<string, unknown>>;

/** As `NLD`, which the specification wants, and as platforms write it. */
const DUTCH = new Set(["NLD", "NL", "NEDERLAND", "NETHERLANDS", "THE NETHERLANDS"]);

/** A CDR, as much of it as is ours to know. Ids are in upper case. */
type ReadCdr = {
  /** `NL-TNM`: ids are unique within it. */
  party: string;
  /** The CDR's own id. */
  id: string;
  /** What is kept of it. Personal data: the address of a home charger. */
  document: Json;
  /** SHA-256, in hex, of what must stay the same when a CDR of this id comes again: charger, times, energy and credit. */
  kept_sha256: string;
} & (
  | { kind: "session"; session: CdrSession }
  /** `#NA` for the EVSE is a reservation that nobody charged on. */
  | { kind: "nothing"; reason: "no_energy" | "reservation" }
  /** Takes the CDR of the same party with this id back, whole. Its own `total_energy` is never added. */
  | { kind: "credit"; credit_of: string }
);

/** A session as `private.store_client_sessions` takes it. Times are null where the platform does not know them: then it is parked. */
type CdrSession = {
  source: "ocpi";
  /** `NL-TNM:` and the CDR's id. */
  external_id: string;
  party: string;
  started_at: string | null;
  ended_at: string | null;
  wh: number;
  evse_uid?: string;
  evse_id?: string;
  meter_id?: string;
  power_type?: "AC" | "DC";
  flags: ("abroad" | "meter_disagrees")[];
  document: Json;
  /** Signed meter values, as they came. They may name the card. */
  signed: string[];
};

/** The objects of a list; none if it is no list. */
const objectsIn = (list: unknown): Json[] =>
  Array.isArray(list) ? list.filter((each) => typeof each === "object" && each !== null) : [];

/**
 * Whether the energy of all periods, if each tells it, is further from the total than 1 % and 0.1 kWh. Some platforms tell it in Wh, as
 * an example of the specification does.
 */
function disagrees(kwh: number, periods: unknown): boolean {
  const told = objectsIn(periods).map(({ dimensions }) =>
    objectsIn(dimensions).flatMap(({ type, volume }) => (type === "ENERGY" ? [volume] : [])),
  );
  const volumes = told.flat();
  if (told.length === 0 || !told.every(({ length }) => length > 0)) return false;
  if (!volumes.every((volume) => typeof volume === "number")) return false;
  const sum = volumes.reduce((all, volume) => all + volume, 0);
  const isNear = (other: number) => Math.abs(other - kwh) <= Math.max(0.1, kwh * 0.01);
  return !isNear(sum) && !(kwh >= 1 && isNear(sum / 1000));
}

/** The signed texts that can be stored. */
const signedIn = (signed_data: unknown): string[] =>
  objectsIn((signed_data as Json | null | undefined)?.signed_values).flatMap(({ signed_data: text }) =>
    typeof text === "string" && text !== "" && storable(text) === text ? [text] : [],
  );

/** A CDR that cannot be read. */
type UnreadCdr = {
  kind: "unread";
  /** The field and what is wrong with it, for `status_message` of status code 2001. It repeats no value. */
  refused: string;
  /** What is kept of it, signed texts too; null where it is no object. */
  words: unknown;
  /** Null where these cannot be read either. */
  party: string | null;
  id: string | null;
};

function unread(sent: unknown, { issues }: z.ZodError): UnreadCdr {
  const [issue] = issues;
  const known = Ids.safeParse(sent).data;
  return {
    kind: "unread",
    refused: [issue?.path.join("."), issue?.message].filter(Boolean).join(": "),
    words: keep(sent, WORDS) ?? null,
    party: known ? `${known.country_code}-${known.party_id}` : null,
    id: known?.id ?? null,
  };
}

/** Reads a CDR as JSON.parse gave it. */
export function readCdr(sent: unknown): ReadCdr | UnreadCdr {
  const { data, error } = Cdr.safeParse(sent, {
    error: ({ code, input }) => (code === "invalid_type" && input === undefined ? "is missing" : undefined),
  });
  if (!data) return unread(sent, error);
  const { country_code, party_id, id, start_date_time, end_date_time, total_energy, meter_id } = data;
  const { evse_uid, evse_id, country, connector_power_type: power } = data.cdr_location;
  const document = keep(sent, KEPT) as Json;
  const wh = wattHours(String(total_energy), 3);
  const abroad = !DUTCH.has(country);
  // of a second telling the notation may be another, and whatever is not used
  const lasting =
    data.credit_reference_id === null
      ? [start_date_time?.slice(0, 19), end_date_time?.slice(0, 19), wh, evse_uid, bareEvse(evse_id), meter_id, abroad]
      : [data.credit_reference_id];
  const party = `${country_code}-${party_id}`;
  const kept_sha256 = createHash("sha256")
    .update(JSON.stringify([party, id, ...lasting]))
    .digest("hex");
  const read = { party, id, document, kept_sha256 };
  if (data.credit_reference_id !== null) return { ...read, kind: "credit", credit_of: data.credit_reference_id };
  if (evse_uid === NONE) return { ...read, kind: "nothing", reason: "reservation" };
  if (!wh) return { ...read, kind: "nothing", reason: "no_energy" };

  const named = (name: string, value: string | null) => (value === null || value === NONE ? {} : { [name]: value });
  const flags: CdrSession["flags"] = [];
  if (abroad) flags.push("abroad");
  if (disagrees(total_energy, data.charging_periods)) flags.push("meter_disagrees");
  const session: CdrSession = {
    source: "ocpi",
    external_id: `${read.party}:${read.id}`,
    party: read.party,
    started_at: start_date_time,
    ended_at: end_date_time,
    wh,
    ...named("evse_uid", evse_uid),
    ...named("evse_id", evse_id),
    ...named("meter_id", meter_id),
    ...(power && typeof power === "string" ? { power_type: power.toUpperCase().startsWith("DC") ? "DC" : "AC" } : {}),
    flags,
    document,
    signed: signedIn(data.signed_data),
  };
  return { ...read, kind: "session", session };
}
