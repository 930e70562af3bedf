import { measureOf } from "./decimals.ts";
import type { Cell, EnergyUnit } from "./model.ts";
import { decode, type Reader } from "./xml.ts";

/** What the format of a number shows, as far as it changes what the number means. */
export type Style = {
  /** It is a date or time. */
  shows?: Extract<Cell, { kind: "date" }>["shows"];
  /** It has at least so many digits, with zeros in front. */
  digits?: number;
  /** It says what the number counts: energy, or money, a percentage and so on (`other`). */
  unit?: EnergyUnit | "other";
  /** It shows thousands of the number, or millions: how often it is divided by 1,000. */
  thousands?: number;
};

/** Reads the part `styles`: the style of each cell format, in order. */
export function stylesInto(styles: Style[]): Reader {
  const formats = new Map<string, Style>();
  let inCells = false;
  return {
    open(name, attributes) {
      if (name === "numFmt") {
        const { numFmtId = "", formatCode = "" } = attributes();
        // once for all the cell formats that name it
        formats.set(numFmtId, styleOf(decode(formatCode)));
      } else if (name === "cellXfs") inCells = true;
      else if (name === "xf" && inCells) {
        const { numFmtId = "0" } = attributes();
        styles.push(formats.get(numFmtId) ?? styleOf(BUILT_IN[Number(numFmtId)] ?? "General"));
      }
    },
    close(name) {
      if (name === "cellXfs") inCells = false;
    },
  };
}

/** Formats that need no code in the file (ECMA-376 part 1, 18.8.30): dates, also of East Asian programs, money and percentages. */
const BUILT_IN: Readonly<Record<number, string>> = {
  ...Object.fromEntries([5, 6, 7, 8, 42, 44].map((id) => [id, "$0"])),
  9: "0%",
  10: "0.00%",
  14: "dd-mm-yyyy",
  15: "d-mmm-yy",
  16: "d-mmm",
  17: "mmm-yy",
  18: "h:mm AM/PM",
  19: "h:mm:ss AM/PM",
  20: "h:mm",
  21: "h:mm:ss",
  22: "d-m-yy h:mm",
  45: "mm:ss",
  46: "[h]:mm:ss",
  47: "mm:ss.0",
  ...Object.fromEntries([27, 28, 29, 30, 31, 34, 35, 36, 50, 51, 52, 53, 54, 57, 58].map((id) => [id, "d-m-yy"])),
  ...Object.fromEntries([32, 33, 55, 56].map((id) => [id, "h:mm:ss"])),
};

function styleOf(code: string): Style {
  // without literal text, padding, colours, locales and conditions; of its sections the first
  const [plain = ""] = code
    .replace(/"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi, "")
    .replace(/general/gi, "")
    .toLowerCase()
    .split(";");
  if (/^0{2,}$/.test(plain)) return { digits: plain.length };
  const time = /[hs]/.test(plain);
  const day = /[dy]/.test(plain) || (!time && plain.includes("m"));
  if (!day && !time) {
    // its literal text, also of a currency such as [$€-413]
    const [words = ""] = code.replace(/\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|_.|\*./g, "$1").split(";");
    const unit = measureOf(words.replace(/["\\]/g, ""));
    const thousands = /[0#?](,+)(?![0#?,])/.exec(plain)?.[1]?.length;
    return { ...(unit && { unit }), ...(thousands && { thousands }) };
  }
  if (!day) return { shows: "time" };
  if (time) return { shows: "moment" };
  return { shows: plain.includes("d") || !plain.includes("m") ? "day" : "month" };
}

const DAY = 86_400_000;
/** The last day that a spreadsheet has: 31 December 9999. */
const LAST = 2_958_465;

/**
 * The time of a serial number, to the second, as `wall` of a cell; null where there is none. In the calendar of 1900 day 60 is
 * 29 February 1900, which never was.
 */
export function serialToWall(serial: number, is1904: boolean): number | null {
  const day = is1904 ? serial + 1462 : serial;
  if (day < 0 || day >= LAST + 1 || (!is1904 && day >= 60 && day < 61)) return null;
  const epoch = !is1904 && day < 60 ? Date.UTC(1899, 11, 31) : Date.UTC(1899, 11, 30);
  return epoch + Math.round((day * DAY) / 1000) * 1000;
}
