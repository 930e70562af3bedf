import { type Cell, wordsOf } from "./model.ts";

/** Beginnings of the months' names, in Dutch, English and German. */
const NAMES = [
  ["jan"],
  ["feb"],
  ["mrt", "maart", "mar", "mär", "märz"],
  ["apr"],
  ["mei", "may", "mai"],
  ["jun"],
  ["jul"],
  ["aug"],
  ["sep"],
  ["okt", "oct"],
  ["nov"],
  ["dec", "dez"],
];
const WHOLE = new Set(
  (
    "januari februari maart april mei juni juli augustus september oktober november december " +
    "january february march may june july august october sept januar februar märz mai dezember"
  ).split(" "),
);

const YEAR_FIRST = /^(\d{4})[-/.](\d{1,2})(?:[-/.]0?1)?$/;
const MONTH_FIRST = /^(?:0?1[-/.])?(\d{1,2})[-/.](\d{4})$/;
const DAY_OR_MONTH = /^\d{1,2}([-/.])\d{1,2}\1\d{4}$/;
const FIRST_DAY_SECOND = /^(\d{1,2})([-/.])0?1\2(\d{4})$/;
/** Programs write a day as its midnight. */
const MIDNIGHT = /[t ]0?0:00(?::00)?$/;
const NAMED = /^(?:0?1[-/. ]+)?([a-zä]+)\.?[-/. ']+(\d{4}|\d{2})$/;

/**
 * The month that a cell names, as `2026-03`; null where it names none. `2026-03`, `03-2026`, `3/2026`, `mrt 2026`, `maart-26`,
 * `march 2026`, and the first day of a month, day first or as `order` says. A date cell counts where it is the first of a month, or
 * shown without a day.
 */
export function readMonth(cell: Cell, order: "dmy" | "mdy" = "dmy"): string | null {
  if (cell.kind === "date") return ofWall(cell);
  const text = dayOf(cell);
  if (text === null) return null;
  const yearFirst = YEAR_FIRST.exec(text);
  if (yearFirst) return written(yearFirst[1], Number(yearFirst[2]));
  if (order === "mdy" && DAY_OR_MONTH.test(text)) {
    const [, month, , year] = FIRST_DAY_SECOND.exec(text) ?? [];
    return written(year, Number(month));
  }
  const monthFirst = MONTH_FIRST.exec(text);
  if (monthFirst) return written(monthFirst[2], Number(monthFirst[1]));
  const [, name = "", year = ""] = NAMED.exec(text) ?? [];
  return written(year.length === 2 ? `20${year}` : year, monthNumber(name));
}

/** Whether a text is the first day of a month only if the month comes first: `4/1/2026`; with another sign only if `any` says so. */
export function isMonthFirst(cell: Cell, any: boolean): boolean {
  const [, month, sign] = FIRST_DAY_SECOND.exec(dayOf(cell) ?? "") ?? [];
  return (any || sign === "/") && Number(month) > 1 && Number(month) <= 12;
}

const dayOf = (cell: Cell): string | null => wordsOf(cell)?.replace(MIDNIGHT, "") ?? null;

function ofWall({ wall, shows }: Extract<Cell, { kind: "date" }>): string | null {
  const day = new Date(wall);
  if (shows === "time" || (shows !== "month" && day.getUTCDate() !== 1)) return null;
  return written(String(day.getUTCFullYear()), day.getUTCMonth() + 1);
}

/** The number of a month's name, from 1; 0 where it is none. */
export function monthNumber(name: string): number {
  const short = NAMES.findIndex(
    (names) => names.includes(name) || (WHOLE.has(name) && names.some((each) => name.startsWith(each))),
  );
  return short + 1;
}

const written = (year: string | undefined, month: number): string | null =>
  /^[12]\d{3}$/.test(year ?? "") && month >= 1 && month <= 12 ? `${year}-${String(month).padStart(2, "0")}` : null;
