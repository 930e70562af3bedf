/**
 * Reads a CDR of OCPI 2.2.1 (module `cdrs`, document 2.2.1-d2): what it says about a charging session, for
 * `private.store_client_sessions`. It knows no database and no connection. Only the fields that we use must be right.
 */
import { createHash } from "node:crypto";
import { z } from "#shared/foundation/zod.ts";
import { wattHours } from "#shared/values/energy.ts";
import { isPlain } from "#shared/values/text.ts";
import { type Kept, keep } from "../kept.ts";

/** The specification's sign for "there is none", where a field is required. */
const NONE = "#NA";

/** A CiString: compared without case, so kept in upper case. */
const id = (longest: number) =>
  z
    .string()
    .transform((value) => value.trim().toUpperCase())
    .refine((value) => value.length >= 1 && value.length <= longest, `must have 1 to ${longest} characters`)
    .refine(isPlain, "must not contain control characters");

const optional = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? null);

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

const Cdr = z
  .object(
    {
      country_code: id(2).pipe(z.string().regex(/^[A-Z]{2}$/, "must be two letters, such as NL")),
      party_id: id(3).pipe(z.string().regex(/^[A-Z0-9]{3}$/, "must be three letters or digits, such as TNM")),
      id: id(39),
      start_date_time: dateTime(),
      end_date_time: dateTime(),
      total_energy: z.number(),
      cdr_location: z.object({
        country: id(3),
        evse_uid: optional(id(48)),
        evse_id: optional(id(48)),
        connector_power_type: optional(z.string()),
      }),
      meter_id: optional(id(255)),
      charging_periods: optional(
        z.array(z.object({ dimensions: z.array(z.object({ type: z.string(), volume: z.number() })) })),
      ),
      signed_data: optional(z.object({ signed_values: z.array(z.object({ signed_data: z.string() })) })),
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

type Json = Readonly<Record<string, unknown>>;

/** May differ between two tellings of one CDR. */
const isIncidental = (name: string) => name === "last_updated" || name === "currency" || name.endsWith("_cost");

/** The same text for the same content, in whatever order its fields come. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );

/** A CDR, as much of it as is ours to know. Ids are in upper case. */
type ReadCdr = {
  /** `NL-TNM`: ids are unique within it. */
  party: string;
  /** The CDR's own id. */
  id: string;
  /** What is kept of it. Personal data: the address of a home charger. */
  document: Json;
  /** SHA-256, in hex, of what must stay the same when a CDR of this id comes again: `document` without costs and `last_updated`. */
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

/** Whether the energy of all periods, if each tells it, is further from the total than 1 % and 0.1 kWh. */
function disagrees(kwh: number, periods: { dimensions: { type: string; volume: number }[] }[]): boolean {
  const volumes = periods.map(({ dimensions }) => dimensions.find(({ type }) => type === "ENERGY")?.volume);
  if (volumes.length === 0 || volumes.includes(undefined)) return false;
  const sum = volumes.reduce<number>((all, volume) => all + (volume ?? 0), 0);
  return Math.abs(sum - kwh) > Math.max(0.1, kwh * 0.01);
}

/**
 * Where a number stands that nobody measures: the database writes out each of the 308 digits of 1e308. Noise of a sum,
 * such as 5.6e-17, is none.
 */
function absurdNumber(kept: unknown, path: string[] = []): string | undefined {
  if (typeof kept === "number") {
    const size = Math.abs(kept);
    return size > 1e15 || (size > 0 && size < 1e-30) ? path.join(".") : undefined;
  }
  if (typeof kept !== "object" || kept === null) return undefined;
  for (const [name, inner] of Object.entries(kept)) {
    const found = absurdNumber(inner, [...path, name]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Reads a CDR as JSON.parse gave it.
 * @returns the CDR, or `refused`: the field and what is wrong with it, for `status_message` of status code 2001. It repeats no value.
 */
export function readCdr(sent: unknown): ReadCdr | { refused: string } {
  const { data, error } = Cdr.safeParse(sent, {
    error: ({ code, input }) => (code === "invalid_type" && input === undefined ? "is missing" : undefined),
  });
  if (!data) {
    const [issue] = error.issues;
    return { refused: [issue?.path.join("."), issue?.message].filter(Boolean).join(": ") };
  }
  const { cdr_location: location, total_energy, meter_id } = data;
  const kept = keep(sent, KEPT) as Json;
  const absurd = absurdNumber(kept);
  if (absurd !== undefined) return { refused: `${absurd}: is no number that can be kept` };
  const { country_code, party_id, id, start_date_time, end_date_time } = data;
  // the same CDR may come with its ids in other case and its times in another notation
  const told = { ...kept, country_code, party_id, id, start_date_time, end_date_time };
  const lasting = Object.entries(told).filter(([name]) => !isIncidental(name));
  const read = {
    party: `${country_code}-${party_id}`,
    id,
    document: kept,
    kept_sha256: createHash("sha256")
      .update(canonical(Object.fromEntries(lasting)))
      .digest("hex"),
  };
  if (data.credit_reference_id !== null) return { ...read, kind: "credit", credit_of: data.credit_reference_id };
  if (location.evse_uid === NONE) return { ...read, kind: "nothing", reason: "reservation" };
  const wh = wattHours(String(total_energy), 3);
  if (!wh) return { ...read, kind: "nothing", reason: "no_energy" };

  const named = (name: string, value: string | null) => (value === null || value === NONE ? {} : { [name]: value });
  const power = location.connector_power_type;
  const flags: CdrSession["flags"] = [];
  if (location.country !== "NLD" && location.country !== "NL") flags.push("abroad");
  if (disagrees(total_energy, data.charging_periods ?? [])) flags.push("meter_disagrees");
  const session: CdrSession = {
    source: "ocpi",
    external_id: `${read.party}:${read.id}`,
    party: read.party,
    started_at: start_date_time,
    ended_at: end_date_time,
    wh,
    ...named("evse_uid", location.evse_uid),
    ...named("evse_id", location.evse_id),
    ...named("meter_id", meter_id),
    ...(power ? { power_type: power.toUpperCase().startsWith("DC") ? "DC" : "AC" } : {}),
    flags,
    document: kept,
    signed: (data.signed_data?.signed_values ?? []).map(({ signed_data }) => signed_data),
  };
  return { ...read, kind: "session", session };
}
