import { isPlain } from "#shared/values/text.ts";
import { type Cell, isNone } from "../../sheet/model.ts";

/** The text of a cell that names something: no boolean, date or error. Undefined if it says nothing, null if it is no such text. */
export function nameIn(cell: Cell): string | null | undefined {
  if (isNone(cell)) return undefined;
  const named = cell.kind === "text" || cell.kind === "number";
  return named && cell.text.length <= 120 && isPlain(cell.text) ? cell.text : null;
}

/** Whether a name is a number that a spreadsheet rounded: `1.2E+10` is nobody's. */
export const isRoundedName = (name: string): boolean => /^\d(?:[.,]\d+)?e\+\d{2,}$/i.test(name);

/** Words in front of the sum of a column. */
const TOTAL =
  /^(?:eind|sub|grand |gesamt)?-?(?:totaal|totalen|total|totals|som|sum|summe|gesamt|insgesamt)(?:[ :.]*(?:kwh|energie|energy|verbruik|sessies|sessions|aantal|alle laadpalen|overall)?[ :.]*)$/i;
const OF_MONTH = /^(?:sub)?(?:totaal|total|summe) (?:[a-zä]{3,9}\.? )?\d{4}(?:-\d{2})?:?$/i;

const ABOUT_TOTAL =
  /(?<![a-z])(?:(?:sub|eind|grand )?-?(?:totaal|totals?)|som|sum|summe|gesamt|gemiddeld|average|durchschnitt)(?![a-z])/i;

/** Whether the name in a row without a time means a sum, such as `Totaal PAAL-17`. */
export const tellsOfTotal = ({ text }: Cell): boolean => ABOUT_TOTAL.test(text);

/** Whether a cell says that its row is a sum. */
export const isTotal = ({ kind, text }: Cell): boolean =>
  kind === "text" && text.length <= 40 && (TOTAL.test(text) || OF_MONTH.test(text));
