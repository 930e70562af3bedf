import { NAMES } from "../session_item.ts";
import { type Field, type Heading, KINDS, type Kind, readHeading } from "./headings.ts";

/** The field of each header, as far as headers say; several may be of one field. */
export const fieldsOf = (kind: Kind, headers: readonly string[]): (Field | null)[] =>
  headers.map((header) => readHeading(header).fields[kind]);

/** What a file must have, each by one of these columns; readings need both. */
const NEEDS = {
  months: { customer: ["cpo_external_ref", "ean", "connection_id"], month: ["period"], kwh: ["kwh"] },
  sessions: {
    charger: ["charger_id", ...NAMES],
    start: ["started_at", "date"],
    end: ["ended_at", "duration"],
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

/** A row of headings as one kind reads it. */
export type Head = {
  kind: Kind;
  headers: readonly string[];
  headings: readonly Heading[];
  needs: Need[];
  known: number;
};

/** What a row of headings is to each of these kinds; the best first: what lacks least, then what has most columns. */
export function headsOf(headers: readonly string[], kinds: readonly Kind[] = KINDS): Head[] {
  const headings = headers.map(readHeading);
  return kinds
    .map((kind) => {
      const fields = headings.map((heading) => heading.fields[kind]);
      return { kind, headers, headings, needs: lacks(kind, fields), known: new Set(fields.filter(Boolean)).size };
    })
    .sort((one, other) => one.needs.length - other.needs.length || other.known - one.known);
}
