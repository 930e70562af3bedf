/**
 * Field rules that more than one endpoint uses. Each trims and normalises, so that a handler never sees raw text, and refuses
 * text that is not plain.
 */
import { z } from "#shared/foundation/zod.ts";
import { cut, houseNumberAddition, isPlain, storable } from "./text.ts";

const line = () =>
  z
    .string()
    .transform((value) => value.trim())
    .refine(isPlain, "must not contain control characters");

/** One line of text, trimmed, cut to `length` and never refused for its length; empty is null (specification section 8). */
export const trimmedTo = (length: number) => line().transform((value) => cut(value, length) || null);

/** One line of text, trimmed, refused outside `min` to `max` characters. */
export const lineOf = (min: number, max: number) => line().pipe(z.string().min(min).max(max));

/** The name of a person or a company that signs, wherever it comes from. */
export const signatoryName = () => lineOf(2, 120);

/** A return URL, as it was sent: with a space before it, it is another one. */
export const returnUrl = () => z.string().min(1).max(500).refine(isPlain, "must not contain control characters");

/** Text of several lines, trimmed, refused outside `min` to `max` characters. */
export const linesOf = (min: number, max: number) =>
  z
    .string()
    .transform((value) => value.replace(/\r\n?/g, "\n").trim())
    .refine((value) => isPlain(value.replace(/[\n\t]/g, " ")), "must not contain control characters")
    .pipe(z.string().min(min).max(max));

/** For the document: one type of several that are taken, because generated clients are better without unions. */
export const describedAs = (type: "string" | "boolean") => ({
  override({ jsonSchema }: { jsonSchema: { anyOf?: unknown; type?: unknown } }) {
    delete jsonSchema.anyOf;
    jsonSchema.type = type;
  },
});

/** Optional and nullable: absent, null and empty are all null. */
export const orNull = <T extends z.ZodType>(schema: T) =>
  z
    .union([z.literal("").transform(() => null), schema, z.null()], {
      // what a value that is no null does wrong is for the schema to say
      error: ({ code, ...issue }) => (code === "invalid_union" ? issue.errors[1]?.[0]?.message : undefined),
    })
    .optional()
    .transform((value) => value ?? null);

export const uuid = () => z.guid().transform((value) => value.toLowerCase());

/** 18 digits; spaces and dots are forgiven. The GS1 check digit is the EAN register's business. */
export const eanCode = () =>
  z
    .string()
    .transform((value) => value.replace(/[\s.]/g, ""))
    .pipe(z.string().regex(/^\d{18}$/, "must be 18 digits"))
    .meta({
      description: "EAN of the connection, 18 digits; spaces and dots are forgiven",
      example: "871687000000000016",
    });

/** Dutch postal code as `1234AB`; a space and lower case are forgiven. */
export const postalCode = () =>
  z
    .string()
    .transform((value) => value.replace(/\s/g, "").toUpperCase())
    .pipe(z.string().regex(/^[1-9]\d{3}[A-Z]{2}$/, "must look like 1234AB"));

type HouseNumber = { number: number; addition: string | null };

const HOUSE_NUMBER_RULE = "must be a house number such as 12, 12a or 12-2";

/** `12`, `"12a"`, `"12 A"`, `"12-2"`, `"12 bis"`: number and addition apart, the addition in upper case. */
export const houseNumber = () =>
  z
    .union([z.int().min(1).max(99_999), line()], HOUSE_NUMBER_RULE)
    .meta(describedAs("string"))
    .transform((value, context): HouseNumber => {
      const parts = /^([1-9]\d{0,4})(?!\d)(?:[\s-]*([0-9A-Za-z][0-9A-Za-z -]{0,9}))?$/.exec(String(value));
      if (parts) return { number: Number(parts[1]), addition: houseNumberAddition(parts[2]) };
      context.addIssue(HOUSE_NUMBER_RULE);
      return z.NEVER;
    });

/** The serial number of a charger, up to 64 characters, compared in upper case and without spaces; empty is null. */
export const serialNumber = () =>
  z
    .string()
    .transform((value) => value.replace(/\s/g, "").toUpperCase())
    .refine((value) => isPlain(value) && /^.{0,64}$/u.test(value), "must be 1 to 64 visible characters")
    .transform((value) => value || null);

/** The signs of OCPP 2.0.1, and spaces within; no address ends in one or two dots. The gateway takes no secret for one. */
const IDENTITY = /^(?! |\.{1,2}$|.*[0-9A-Fa-f]{40})[A-Za-z0-9*_=:+|@. -]{1,64}(?<! )$/;

/** How a charger calls itself by OCPP. */
export const ocppIdentity = () =>
  z
    .string()
    .regex(
      IDENTITY,
      "must be 1 to 64 letters, digits, spaces or * - _ = : + | @ ., without 40 hexadecimal digits in a row",
    );

/** Whitespace removed and upper-cased, then 15 to 34 letters and digits; no checksum (specification section 4.1). */
export const iban = () =>
  z
    .string()
    .transform((value) => value.replace(/\s/g, "").toUpperCase())
    .pipe(z.string().regex(/^[A-Z0-9]{15,34}$/, "must be 15 to 34 letters and digits"));

/** As browsers take it (WHATWG HTML, valid e-mail address), with a dot in the domain, and none at an end of the name. */
const EMAIL =
  /^(?!\.)[a-z0-9.!#$%&'*+/=?^_`{|}~-]+(?<!\.)@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export const email = () =>
  line()
    .transform((value) => value.toLowerCase())
    .pipe(z.email({ pattern: EMAIL }).max(254));

/**
 * An e-mail address as people type it. Spaces around it are removed. A domain with letters beyond ASCII is stored in
 * its ASCII form, as mail servers use it (RFC 5891).
 */
export const typedEmail = () =>
  line()
    .transform((value) => {
      const [, local, domain] = /^([^@\s]+)@([^@\s/?#:[\]\\]+)$/.exec(value) ?? [];
      if (local === undefined || domain === undefined || !/[^\p{ASCII}]/u.test(domain)) return value;
      const ascii = URL.parse(`http://${domain}`)?.hostname;
      return ascii ? `${local}@${ascii}` : value;
    })
    .pipe(email());

/** Dates and times that Postgres takes too: it has no year 0, and offsets below 16 hours. */
export const postgresTime = <Moment extends z.ZodType<string>>(moment: Moment) =>
  moment
    .refine((value) => !value.startsWith("0000"), "there is no year 0")
    .refine((value) => !/[+-](?:1[6-9]|2\d):\d\d$/.test(value), "an offset is at most 15:59");

/** A date and time with its offset, in any form of ISO 8601. */
export const moment = () => postgresTime(z.iso.datetime({ offset: true }));

/** A date and time in UTC without fractions, as every answer writes it. */
export const instant = () => z.iso.datetime({ precision: 0 }).meta({ example: "2026-11-20T09:30:00Z" });

/**
 * `limit` of a list, lenient (specification section 8): missing, zero or non-numeric is the default, negative is 1, above
 * `max` is `max`. Never an error.
 */
export const limit = (fallback: number, max = 200) =>
  z
    .string()
    .optional()
    .transform((value) => {
      const wanted = Math.floor(Number(value));
      if (Number.isNaN(wanted) || wanted === 0) return fallback;
      return Math.min(Math.max(wanted, 1), max);
    })
    .meta({
      description: `Items per page, 1 to ${max}; read leniently`,
      override: { type: "integer", default: fallback },
    });

/** `offset` of a list, lenient: negative or non-numeric is 0. */
export const offset = () =>
  z
    .string()
    .optional()
    .transform((value) => {
      const wanted = Math.floor(Number(value));
      return wanted > 0 ? Math.min(wanted, Number.MAX_SAFE_INTEGER) : 0;
    })
    .meta({ description: "Items to skip; read leniently", override: { type: "integer", default: 0 } });

/** A filter in the query string: trimmed, cut, never refused. */
export const filter = (length: number) =>
  z
    .string()
    .optional()
    .transform((value) => cut(storable(value ?? "").trim(), length) || null);

/** For a schema in the document: fields it requires that it takes as `unknown`, because a refusal of theirs has a name of its own. */
export const requiring =
  (...names: string[]) =>
  ({ jsonSchema }: { jsonSchema: { required?: string[] } }) => {
    jsonSchema.required = [...new Set([...(jsonSchema.required ?? []), ...names])];
  };
