import { type Decimal, decideEnergy } from "../../sheet/decimals.ts";
import { EMPTY } from "../../sheet/model.ts";
import { ENERGY } from "./headings.ts";
import type { ReadUpload } from "./read_upload.ts";

/**
 * Writes rows of a file as texts that are read as the same energy again. A number cell has no decimal sign of its own, so it gets
 * the sign of its column, and a fourth decimal where three could be thousands.
 * @param sent the decimal sign that the sender named
 * @param otherwise the sign of a column whose texts show none
 * @returns the texts of a row, from 1, one for each header
 */
export function rowsAsText(
  { columns, table }: Pick<ReadUpload, "columns" | "table">,
  sent: Decimal | null,
  otherwise: Decimal,
): (row: number) => string[] {
  const signs = columns.map(({ header, field }, place) => {
    if (!field || !ENERGY.includes(field)) return null;
    const { decimal } = decideEnergy(
      header,
      table.map(({ cells }) => cells[place] ?? EMPTY),
      sent,
    );
    return decimal === null || decimal === "mixed" ? otherwise : decimal;
  });
  return (row) =>
    signs.map((sign, place) => {
      const cell = table[row - 1]?.cells[place] ?? EMPTY;
      if (!sign || cell.kind !== "number") return cell.text;
      const text = cell.text.replace(/\.\d{3}$/, "$&0").replace(".", sign);
      // a format that showed the unit is lost
      return cell.unit && cell.unit !== "other" ? `${text} ${cell.unit}` : text;
    });
}
