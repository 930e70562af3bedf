// The register's grants, read from a file.

import { readFileSync } from "node:fs";
import Papa from "papaparse";
import { OperatorError } from "./database.ts";

const COLUMNS = ["row_id", "accepted_kwh", "reason"] as const;

type CreditLine = { line: number; row_id: string; accepted_kwh: string; reason: string };

/**
 * The rows of a CSV with the columns row_id, accepted_kwh and reason, each with its line number. The database judges
 * their values.
 * @throws {OperatorError} if the file cannot be parsed
 */
export function readCreditFile(path: string): CreditLine[] {
  const text = textOf(path);
  const nul = text.indexOf("\0");
  if (nul >= 0) {
    const line = text.slice(0, nul).split(/\r\n|\r|\n/).length;
    throw new OperatorError(`Line ${line} of ${path} cannot be read: it has a sign that no text has (NUL).`);
  }
  const { data, errors, meta } = Papa.parse<Record<string, string>>(text, {
    header: true,
    skipEmptyLines: "greedy",
    transformHeader: (name) => name.trim(),
  });
  const missing = COLUMNS.filter((name) => !meta.fields?.includes(name));
  if (missing.length > 0)
    throw new OperatorError(`The first line of ${path} must name ${COLUMNS.join(",")}; it lacks ${missing.join(",")}.`);
  // otherwise one of two equal columns would be ignored silently
  const twice = COLUMNS.filter((name) => Object.values(meta.renamedHeaders ?? {}).includes(name));
  if (twice.length > 0) throw new OperatorError(`The first line of ${path} names ${twice.join(",")} more than once.`);
  const [error] = errors.filter(({ code }) => code !== "UndetectableDelimiter");
  if (error) {
    // papaparse counts from 0; it includes the header if a quote is wrong, and leaves it out if a field is
    const line = (error.row ?? 0) + (error.type === "Quotes" ? 1 : 2);
    throw new OperatorError(`Line ${line} of ${path} cannot be read: ${error.message}.`);
  }
  if (data.length === 0) throw new OperatorError(`${path} has no rows below its first line.`);
  return data.map((row, index) => ({
    line: index + 2,
    row_id: (row.row_id ?? "").trim(),
    accepted_kwh: (row.accepted_kwh ?? "").trim(),
    reason: row.reason ?? "",
  }));
}

/**
 * The text of a file that a command names.
 * @throws {OperatorError} if it cannot be read, or is not UTF-8
 */
export function textOf(path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    if (error instanceof TypeError) throw new OperatorError(`${path} is not written in UTF-8.`);
    throw new OperatorError(`${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}
