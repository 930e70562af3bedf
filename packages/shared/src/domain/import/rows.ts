import { isRoundedEan } from "#shared/values/ean.ts";
import { eanCode, houseNumber, postalCode, serialNumber, signatoryName, typedEmail } from "#shared/values/fields.ts";
import { AccountType } from "#shared/values/models.ts";
import { phone } from "#shared/values/phone.ts";
import { cut, houseNumberAddition, isPlain } from "#shared/values/text.ts";

/** A row as received, by column name. */
export type RawRow = Record<string, unknown>;

/**
 * A row as api.import_drafts takes it, under the English names of the database. `reason` says why it creates no
 * draft, as far as the row alone shows.
 */
export type DraftRow = {
  place: number;
  email: string | null;
  reason?: "invalid" | "reserved_domain" | "missing_kvk";
  /** The fault, as an English sentence and as a value that a page can put in the reader's language. */
  detail?: string;
  wrong?: Wrong;
  /** The line number in a spreadsheet. */
  sheet_row?: number | null;
  postal_code?: string;
  house_number?: number;
  house_number_addition?: string | null;
  [field: string]: unknown;
};

/** Columns and their other names (specification section 4.2). Case, spaces, dashes and underscores do not matter: "E-mail" is email. */
const ALIASES: Record<string, string[]> = {
  type: ["soort"],
  naam: ["name"],
  email: ["emailadres", "mail", "emailaddress"],
  ean: ["eancode"],
  kvk: ["kvknummer"],
  btw: ["btwnummer", "vat"],
  bedrijfsnaam: ["bedrijf", "company_name", "company"],
  contactpersoon: ["contact_name", "contact"],
  referral_code: ["referral", "vriendencode"],
  external_ref: ["customer_ref", "klantnummer", "referentie", "extref"],
  postcode: ["postal_code", "zip", "zipcode"],
  huisnummer: ["house_number"],
  toevoeging: ["huisnummertoevoeging", "house_number_addition", "house_number_suffix"],
  plaats: ["woonplaats", "stad", "city"],
  straat: ["street"],
  phone: [
    "telefoon",
    "telefoonnummer",
    "tel",
    "telnr",
    "mobiel",
    "mobielnummer",
    "telephone",
    "phone_number",
    "mobile",
  ],
  charger: [],
};
/** Columns that a file may have; a charger and a street come only as JSON rows. */
export const COLUMNS: ReadonlySet<string> = new Set(
  Object.keys(ALIASES).filter((column) => !["straat", "charger"].includes(column)),
);

const keyOf = (name: string) => name.toLowerCase().replace(/[\s_-]/g, "");
const KNOWN = new Map(
  Object.entries(ALIASES).flatMap(([column, others]) => [column, ...others].map((name) => [keyOf(name), column])),
);

/** The column a header or key names, if any. */
export const columnOf = (name: string): string | undefined => KNOWN.get(keyOf(name.replace(/^\ufeff/, "")));

/** Headers of a part of a name, in the order in which one is written. */
const NAME_PARTS = [
  ["voornaam", "voornamen", "voorletters", "roepnaam", "firstname", "givenname"],
  ["tussenvoegsel", "tussenvoegsels", "middlename"],
  ["achternaam", "familienaam", "lastname", "surname", "familyname"],
];

/** Where the part of a name stands that a header names; -1 if it names none. */
export const namePartOf = (header: string): number => NAME_PARTS.findIndex((part) => part.includes(keyOf(header)));

/** The column that a header may mean that names none: a longer or shorter name, or one with two letters wrong. Null for none. */
export function suggestionFor(header: string): string | null {
  if (namePartOf(header) >= 0) return "naam";
  const key = keyOf(header)
    .replace(/[^\p{L}\d]/gu, "")
    .slice(0, 60);
  if (key.length < 2) return null;
  const names = [...KNOWN].filter(([, column]) => COLUMNS.has(column));
  const longest = (found: [string, string][]) => found.sort(([one], [other]) => other.length - one.length)[0]?.[1];
  return (
    longest(names.filter(([name]) => name.length > 3 && key.includes(name))) ??
    // Huisnr, pc
    names.filter(([name]) => isShortFor(key, name)).sort(([one], [other]) => one.length - other.length)[0]?.[1] ??
    names.find(([name]) => name.length > 4 && distance(key, name) < 3)?.[1] ??
    null
  );
}

/** Whether the letters of a short form stand in a name, in order, from its first one on. */
function isShortFor(short: string, name: string): boolean {
  let at = 0;
  for (const letter of name) if (letter === short[at]) at++;
  return short[0] === name[0] && at === short.length && short.length < name.length;
}

/** Letters to add, drop or change to make one of the other (Levenshtein). */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_each, index) => index);
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1];
    for (let place = 1; place <= other.length; place++)
      next[place] = Math.min(
        (row[place] ?? 0) + 1,
        (next[place - 1] ?? 0) + 1,
        (row[place - 1] ?? 0) + (letter === other[place - 1] ? 0 : 1),
      );
    row = next;
  }
  return row[other.length] ?? 0;
}

/** A row object under its column names; if two keys name one column, the first counts. */
function byColumn(row: object): RawRow {
  const columns: RawRow = {};
  for (const [key, value] of Object.entries(row)) {
    const column = columnOf(key);
    if (column && !(column in columns)) columns[column] = value;
  }
  return columns;
}

/** The rule that a field breaks, as a sentence for the partner. */
const DETAILS = {
  no_text: "must be text",
  control_characters: "must not contain control characters",
  not_utf8: 'is not UTF-8; save the file as "CSV UTF-8" and send it again',
  error_cell: "has an error in the spreadsheet, such as #N/A",
  no_email: "must be an e-mail address",
  no_type: "must be particulier, zakelijk or vve",
  no_name: "is required for particulier",
  name_length: "must have 2 to 120 characters",
  no_kvk: "must be 8 digits; format the column as text, spreadsheets drop a leading zero",
  no_charger: "must be {brand, serial_number}",
  charger_parts: "needs a brand, and a serial_number of 1 to 64 characters",
} as const;
type Wrong = { column: string; what: keyof typeof DETAILS };

const said = (wrong: Wrong) => ({ detail: `${wrong.column}: ${DETAILS[wrong.what]}`, wrong });

/** A field that cannot be stored. */
class Unreadable extends Error {
  readonly wrong: Wrong;

  constructor(column: string, what: Wrong["what"]) {
    super();
    this.wrong = { column, what };
  }
}

/** UTF-8 that was read as Windows-1252: é has become Ã©. */
const MOJIBAKE = /[ÃÂ][\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€/;

/** A cell of a spreadsheet whose formula has no result. */
const isErrorCell = (value: unknown): boolean => typeof value === "object" && value !== null && "error" in value;

function textOf(row: RawRow, column: string, length = 120): string | null {
  const value = row[column];
  if (value === undefined || value === null) return null;
  if (isErrorCell(value)) throw new Unreadable(column, "error_cell");
  if (typeof value !== "string" && !Number.isSafeInteger(value)) throw new Unreadable(column, "no_text");
  // a space without width is no space
  const text = String(value)
    .trim()
    .replace(/[^\S\ufeff]+/g, " ");
  if (!isPlain(text)) throw new Unreadable(column, "control_characters");
  if (text.includes("\ufffd") || MOJIBAKE.test(text)) throw new Unreadable(column, "not_utf8");
  return cut(text, length) || null;
}

/** A name that appears in the mandate; reject now a name that could not sign later. */
function signatory(row: RawRow, column: string): string | null {
  const text = textOf(row, column);
  if (text !== null && !READ.name.safeParse(text).success) throw new Unreadable(column, "name_length");
  return text;
}

/** The same as textOf, but undefined if the value cannot be read: for optional fields. */
function textIfReadable(...about: Parameters<typeof textOf>): string | null | undefined {
  try {
    return textOf(...about);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return undefined;
  }
}

/** The readers of a row's fields. Built once, because building takes ten times as long as reading a row. */
const READ = {
  email: typedEmail(),
  phone: phone(),
  ean: eanCode(),
  postcode: postalCode(),
  huisnummer: houseNumber(),
  name: signatoryName(),
  serial_number: serialNumber(),
};

type Rules = { named: boolean; reserved: (domain: string) => boolean };

/** Reads one row by itself. Never throws: `reason` and `detail` have the fault. */
export function readRow(sent: unknown, place: number, { named, reserved }: Rules): DraftRow {
  const row = typeof sent === "object" && sent !== null && !Array.isArray(sent) ? byColumn(sent) : {};
  const shown =
    typeof row.email === "string"
      ? cut(row.email.replace(/[\s\p{Control}\p{Surrogate}]+/gu, " ").trim(), 254) || null
      : null;
  try {
    return { place, ...read(row, named, reserved) };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { place, email: shown, reason: "invalid", ...said(error.wrong) };
  }
}

function read(row: RawRow, named: boolean, reserved: Rules["reserved"]) {
  const email = READ.email.safeParse(textOf(row, "email", 320) ?? "").data;
  if (!email) throw new Unreadable("email", "no_email");
  const type = textOf(row, "type")?.toLowerCase() ?? "particulier";
  if (!AccountType.safeParse(type).success) throw new Unreadable("type", "no_type");
  const name = signatory(row, "naam");
  if (type === "particulier" && named && !name) throw new Unreadable("naam", "no_name");
  const kvk = textOf(row, "kvk")?.replace(/[\s.]/g, "") ?? "";
  const fields = {
    email,
    type,
    name,
    kvk: /^\d{8}$/.test(kvk) ? kvk : null,
    vat: textOf(row, "btw"),
    company_name: signatory(row, "bedrijfsnaam"),
    contact_name: signatory(row, "contactpersoon"),
    referral_code: textOf(row, "referral_code"),
    external_ref: textOf(row, "external_ref"),
    // drop an invalid number; the customer is asked for it when they claim
    phone: readPhone(row),
    charger: readCharger(row.charger),
    ...readEan(row),
    ...readAddress(row),
  };
  if (reserved(email.slice(email.lastIndexOf("@") + 1))) return { ...fields, reason: "reserved_domain" as const };
  if (type !== "zakelijk" || fields.kvk !== null) return fields;
  const wrong = kvk ? said({ column: "kvk", what: "no_kvk" }) : {};
  return { ...fields, reason: "missing_kvk" as const, ...wrong };
}

function readPhone(row: RawRow): string | null {
  const sent = textIfReadable(row, "phone");
  return sent == null ? null : (READ.phone.safeParse(sent).data ?? null);
}

/**
 * An EAN that cannot be read, such as one rounded by a spreadsheet, is dropped: the address is looked up, or the
 * customer types it.
 */
function readEan(row: RawRow) {
  const sent = textIfReadable(row, "ean");
  if (sent === null) return { ean: null };
  const ean = sent !== undefined && isRoundedEan(sent) ? undefined : READ.ean.safeParse(sent).data;
  return ean ? { ean } : { ean: null, ean_ignored: "invalid_ean" };
}

/** With the one dash that we store, whatever dash was typed. */
const dashed = (text: string | null | undefined): string | null | undefined =>
  text?.replace(/[\p{Dash_Punctuation}\u2212]/gu, "-") ?? text;

function readAddress(row: RawRow) {
  const postcode = textIfReadable(row, "postcode");
  const huisnummer = dashed(textIfReadable(row, "huisnummer"));
  const toevoeging = dashed(textIfReadable(row, "toevoeging", 10));
  const city = textOf(row, "plaats");
  if (postcode === null && huisnummer === null) return { city };
  const postal_code = READ.postcode.safeParse(postcode ?? "").data;
  const house = READ.huisnummer.safeParse(huisnummer?.replace(/^0+(?=\d)/, "") ?? "").data;
  // drop a partial address: neither the EAN register nor the customer could confirm it
  if (!postal_code) return { address_ignored: "invalid_postal_code" };
  if (!house || toevoeging === undefined) return { address_ignored: "invalid_house_number" };
  return {
    postal_code,
    house_number: house.number,
    house_number_addition: houseNumberAddition(toevoeging) ?? house.addition,
    street: textOf(row, "straat"),
    city,
  };
}

function readCharger(sent: unknown): { brand: string; serial_number: string } | null {
  if (sent === undefined || sent === null) return null;
  if (typeof sent !== "object") throw new Unreadable("charger", "no_charger");
  const brand = textOf(sent as RawRow, "brand");
  const serial_number = READ.serial_number.safeParse(textOf(sent as RawRow, "serial_number") ?? "").data;
  if (!brand || !serial_number) throw new Unreadable("charger", "charger_parts");
  return { brand, serial_number };
}
