import { type Cell, wordsOf } from "./model.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const CLOCK = /^(?:(\d{1,3})(?:\.| days?,? ?| dag(?:en)?,? ?))?(\d{1,5}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?$/;
const NUMBER = /^\d{1,9}(?:[.,]\d+)?$/;
const PART = /(\d{1,9}(?:[.,]\d+)?) ?([a-z]+)[,.]? ?/y;

/** Milliseconds of a unit of time, in Dutch, English or German; null of another word. */
export function unitOfTime(word: string): number | null {
  if (/^(?:s|secs?|seconds?|seconden?|sek|sekunden?)$/.test(word)) return SECOND;
  if (/^(?:m|mins?|minutes?|minuten?|minuut)$/.test(word)) return MINUTE;
  if (/^(?:h|hrs?|hours?|u|uur|uren|std|stunden?)$/.test(word)) return HOUR;
  return /^(?:d|days?|dag|dagen|tage?)$/.test(word) ? DAY : null;
}

/**
 * A duration in milliseconds: `2:10` or `2:10:00`, `2 u 10 min`, `PT2H10M`, a time cell, or a number of the column's unit. Null where it
 * is none.
 * @param unit milliseconds of the unit that the heading names
 */
export function readDuration(cell: Cell, unit: number | null): number | null {
  if (cell.kind === "date") {
    if (cell.shows !== "time") return null;
    // days are counted from 31 December 1899, or from 1 January 1904
    const since = cell.wall - Date.UTC(1899, 11, 31);
    return since < 1461 * DAY ? since : since - 1461 * DAY;
  }
  if (cell.kind === "number") return unit !== null && cell.value >= 0 ? Math.round(cell.value * unit) : null;
  const text = wordsOf(cell);
  if (text === null) return null;
  const [found, days = "0", hours, minutes = "0", seconds = "0"] = CLOCK.exec(text) ?? [];
  if (found) {
    if (Number(minutes) > 59 || Number(seconds) > 59) return null;
    return Number(days) * DAY + Number(hours) * HOUR + Number(minutes) * MINUTE + Number(seconds) * SECOND;
  }
  if (NUMBER.test(text)) return unit === null ? null : Math.round(Number(text.replace(",", ".")) * unit);
  return ofWords(text.replace(/^p(?:(\d+d))?t?(?=\d|$)/, "$1").replace(/ en | and | und /g, " "));
}

function ofWords(text: string): number | null {
  let sum = 0;
  PART.lastIndex = 0;
  while (PART.lastIndex < text.length) {
    const [, number = "", word = ""] = PART.exec(text) ?? [];
    const unit = unitOfTime(word);
    if (unit === null) return null;
    sum += Number(number.replace(",", ".")) * unit;
  }
  return text ? Math.round(sum) : null;
}
