import { wattHours } from "#shared/values/energy.ts";
import { type Cell, type EnergyUnit, isNone, MAX_VALUE } from "./model.ts";

export type Decimal = "," | ".";

/** What a column of energy says about all its cells. */
export type EnergyColumn = {
  /** The decimal sign. Null where no text has one; `mixed` where some rows use one and some the other. */
  decimal: Decimal | "mixed" | null;
  /**
   * The first row, from 0, whose text may have three decimals or thousands (`1.234`), where nothing in the column tells which. Only
   * the sender knows: ask, and decide again with the sign they name.
   */
  ambiguous: number | null;
  /** Of header and cells. kWh where nobody names one; `mixed` where they name more than one. */
  unit: EnergyUnit | "mixed";
  /** Units that cells name. */
  named: EnergyUnit[];
  /**
   * Its cells are money, percentages, powers or another quantity: most of them below a heading that names a unit of energy, one in
   * ten below another.
   */
  isOther: boolean;
};

const UNIT = /(?<![a-z])[km]?wh(?![a-z])/i;
/** Where words are joined: energyWh, kWhDelivered. */
const JOINED = /(?<=[a-z])(?:[kM][Ww][Hh]|K[Ww][Hh]|(?<!k)Wh)(?![a-z])|(?<![A-Za-z])(?:[kM]?Wh|K[Ww]h)(?=[A-Z])/;

/** A word that ends in k has its own k: peakWh. */
const AFTER_K = /(?<=(?:[Pp]eak|[Pp]iek|[Nn]etwork|[Nn]etwerk|[Vv]erbruik))Wh(?![a-z])/;

/** The unit that a text names, and the text without it and the brackets around it. */
export function unitOf(text: string): { unit: EnergyUnit | null; rest: string } {
  const found = (UNIT.exec(text) ?? AFTER_K.exec(text) ?? JOINED.exec(text))?.[0];
  if (!found) return { unit: null, rest: text };
  const rest = text
    .replace(found, "")
    .replace(/\(\s*\)|\[\s*\]/, "")
    .trim();
  const unit = found.toLowerCase();
  return { unit: unit === "wh" ? "Wh" : unit === "kwh" ? "kWh" : "MWh", rest };
}

/** Signs and words of what is no energy: money, prices, percentages, power, time, distance, temperature. */
const OTHER =
  /[€$£¥%‰°]|\/ ?k?wh|wh ?\/ ?[hu](?![a-z])|(?<![a-z])(?:eur|euro|usd|gbp|chf|sek|nok|dkk|kr|pln|zł|czk|ct|cent|kw|kva|[km]?ah|[kmg]j|joule|n?m[3³]|km|mijl|min|minuten|sec|uur|hours?|mins?|volt|ampere)(?![a-z])|\d ?[wavcf](?![a-z])/i;

/** What a text of a number says that it counts: energy, something else, or nothing (null). */
export function measureOf(text: string): EnergyUnit | "other" | null {
  return OTHER.test(text) ? "other" : unitOf(text).unit;
}

/** What text of a number is made of; digits in groups, and decimals after another sign. */
const GROUPED = /^\d{1,3}([ .,'])\d{3}(?:\1\d{3})*(?:(?!\1)([.,])\d+)?$/;
const PLAIN = /^\d+(?:([.,])\d+)?$/;
/** Thousands, or three decimals. */
const EITHER = /^[1-9]\d{0,2}[.,]\d{3}$/;

/** The decimal sign that a text shows by itself; `either` where it may be thousands; null where it shows none, or is no number. */
function shownBy(text: string): Decimal | "either" | null {
  if (EITHER.test(text)) return "either";
  const plain = PLAIN.exec(text);
  if (plain) return (plain[1] as Decimal | undefined) ?? null;
  const [, group, decimal] = GROUPED.exec(text) ?? [];
  if (decimal) return decimal as Decimal;
  return group === "." ? "," : group === "," ? "." : null;
}

/** Unit and digits of a text, without sideways spaces and full-width signs; neither of a text that is too long. */
function digitsOf(text: string): ReturnType<typeof unitOf> {
  if (PLAIN.test(text)) return { unit: null, rest: text };
  if (text.length > MAX_VALUE) return { unit: null, rest: "" };
  return unitOf(text.normalize("NFKC").replace(/\s+/g, " ").replaceAll("’", "'"));
}

/**
 * Decides how a column of energy is written, from all its cells: only commas, only points, or both in one order. Number cells say
 * nothing about the sign.
 * @param header the column's header, which may name a unit
 * @param sent the decimal sign that the sender named
 */
export function decideEnergy(header: string, cells: readonly Cell[], sent: Decimal | null = null): EnergyColumn {
  const signs = new Set<Decimal>();
  const units = new Set<EnergyUnit>();
  const ofHeader = unitOf(header).unit;
  const named = new Set<EnergyUnit>();
  let [filled, others] = [0, 0];
  let either: number | null = null;
  cells.forEach((cell, index) => {
    if (cell.kind !== "text" && cell.kind !== "number") return;
    filled++;
    const { unit, rest } = cell.kind === "text" ? digitsOf(cell.text) : { unit: cell.unit ?? null, rest: "" };
    if (unit === "other") others++;
    else if (unit) named.add(unit);
    units.add((unit === "other" ? null : unit) ?? ofHeader ?? "kWh");
    if (cell.kind === "number") return;
    const shown = shownBy(rest);
    if (shown === "either") either ??= index;
    else if (shown) signs.add(shown);
    else if (!PLAIN.test(rest) && OTHER.test(cell.text.slice(0, MAX_VALUE)) && !isNone(cell)) others++;
  });
  if (ofHeader) units.add(ofHeader);
  const [sign = null] = signs;
  const [unit = "kWh"] = units;
  return {
    decimal: sent ?? (signs.size > 1 ? "mixed" : sign),
    ambiguous: signs.size === 0 && !sent ? either : null,
    unit: units.size > 1 ? "mixed" : unit,
    named: [...named],
    isOther: others > 0 && others * (ofHeader ? 2 : 10) >= filled,
  };
}

/** Zeros from watt hour to the unit. */
const POWER: Readonly<Record<EnergyUnit, number>> = { Wh: 0, kWh: 3, MWh: 6 };

/**
 * The energy of a cell in whole watt hours, half a watt hour rounded up. Reckoned in decimals: 0.5005 kWh are 501 Wh. Null where it
 * is none: another kind of cell, a number that is money by its format, a sign, the other decimal sign than the column's, or text of a column that uses both or that names
 * more than one unit.
 */
export function readEnergy(cell: Cell, { decimal, unit }: Pick<EnergyColumn, "decimal" | "unit">): number | null {
  if (unit === "mixed") return null;
  if (cell.kind === "number")
    return cell.value < 0 || cell.unit === "other" ? null : wattHours(String(cell.value), POWER[unit]);
  if (cell.kind !== "text") return null;
  const text = digitsOf(cell.text).rest;
  const shown = shownBy(text);
  if (shown === "either" ? decimal === null || decimal === "mixed" : shown && shown !== decimal) return null;
  if (!PLAIN.test(text) && !GROUPED.test(text)) return null;
  const [whole = "", decimals = ""] = decimal && decimal !== "mixed" ? text.split(decimal) : [text];
  return wattHours(`${whole.replace(/\D/g, "")}.${decimals}`, POWER[unit]);
}
